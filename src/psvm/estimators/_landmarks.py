"""Landmarks: descriptive vectors other than the training vectors.

Hochreiter & Obermayer 2004, section 2.4.3, call them complex features.
"""

import numbers
from collections.abc import Iterable

import numpy as np
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from .._parameters import Integer, Seed
from .._validation import check_choice, check_positive_integer, random_numbers, shown
from ..kernels import Kernel, Linear, Rescaled
from ..matrix import as_dense, row_digests, scaled_columns

RULES = ("all", "kmeans", "random", "pca")
FITTED = ("cluster_centers_", "means_", "components_")
"""Where a fitted object may have vectors that describe."""
MOST = 2_000
"""Up to so many distinct training objects describe unless the user says which."""
FEW, FEWEST, WORK = 700, 500, 3e10
"""Of just over `MOST`, so many describe, slowly more with their number, as far as that many
products of kernel values in a Gram matrix allow, but at least `FEWEST`."""
ROOM = 2e7
"""Products of landmarks that are summed for each of several classes."""
LARGE = 20_000
"""From so many rows on, centres are found from small batches of them."""


def _check_rule(name, rule):
    """The constraint of the parameter `landmarks`."""
    if isinstance(rule, str):
        check_choice(name, rule, RULES)
    elif _is_count(rule):
        check_positive_integer(name, rule)
    elif rule is not None and not is_rule(rule) and not isinstance(rule, Iterable):
        raise TypeError(
            f"{name} must be objects, a number of them, one of {', '.join(RULES)} or an "
            f"object with fit, got {shown(rule)}."
        )


LANDMARKS = {"landmarks": _check_rule, "n_landmarks": Integer(least=1), "random_state": Seed()}
"""Constraints of the parameters that choose descriptive objects."""


def check_landmarks(rule, kernel):
    """Check that the parameters `landmarks` and `kernel` suit each other."""
    any_objects = isinstance(rule, str) and rule in ("all", "random")
    if is_rule(rule) and not any_objects and not getattr(kernel, "takes_vectors", True):
        raise ValueError(
            f"landmarks={rule!r} needs vectors, which {kernel!r} does not take. Use 'random' or "
            "give the descriptive objects themselves."
        )
    if isinstance(rule, str) and rule == "pca" and not _is_linear(kernel):
        raise ValueError(
            "landmarks='pca' are directions, not points: they need kernel='linear', got "
            f"{kernel!r}."
        )


def landmarks_for(model, X, weights, kernel):
    """The descriptive objects of a model with the parameters; None if the rows describe."""
    if by_rows(model.landmarks):
        return None
    return find_landmarks(
        model.landmarks,
        X,
        weights,
        count=model.n_landmarks,
        kernel=kernel,
        names=getattr(model, "feature_names_in_", None),
        random_state=model.random_state,
    )


def find_landmarks(rule, X, weights, *, count, kernel, names, random_state):
    """The descriptive objects that the parameter `landmarks` means.

    Parameters
    ----------
    rule : objects, int, {"kmeans", "random", "pca"} or object with fit
    X : checked objects
    weights : ndarray of shape (L,)
    count : int
        How many of them, if `rule` leaves it open.
    kernel : Kernel or callable
        It checks objects that are given.
    names : ndarray of str or None
        Names of the features of X.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    Objects of the same kind as X.
    """
    if not is_rule(rule):
        return _check_given(rule, X, kernel, names)
    if isinstance(kernel, Rescaled):
        # Centres of clusters of the features that the kernel sees, in the units of X.
        X = scaled_columns(X, kernel.centre, kernel.scale)
        options = {"kernel": kernel.kernel, "names": names, "random_state": random_state}
        found = find_landmarks(rule, X, weights, count=count, **options)
        centre = 0.0 if kernel.centre is None else kernel.centre
        return as_dense(found) * kernel.scale + centre
    rows = np.flatnonzero(weights > 0)
    if len(rows) < X.shape[0]:
        X, weights = X[rows], weights[rows]
    rng = random_numbers(random_state)
    if hasattr(rule, "fit"):
        return _fitted_vectors(clone(rule), X, weights)
    if _is_count(rule):
        rule, count = "kmeans", rule
    return {"kmeans": _centres, "random": _sample, "pca": _directions}[rule](X, weights, count, rng)


def n_drawn(n_distinct, n_classes=1):
    """How many of so many training objects describe."""
    if n_distinct <= MOST:
        return n_distinct
    most = FEW * (n_distinct / MOST) ** 0.25
    count = np.clip(np.sqrt(WORK / n_distinct), FEWEST, most)
    return int(min(count, np.sqrt(ROOM / n_classes)))


def drawn_rows(hashes, codes, count):
    """The rows that describe, drawn by their content only.

    Parameters
    ----------
    hashes : ndarray of shape (n,)
        Equal for equal rows. Their order is as good as any draw.
    codes : ndarray of int of shape (n,) or None
        Classes: pairs of them need objects of both.
    count : int
        About how many are drawn.

    Returns
    -------
    ndarray of int, increasing
    """
    rows = np.unique(hashes, return_index=True)[1]
    if count >= len(rows):
        return np.sort(rows)
    codes = np.zeros(len(hashes), dtype=np.intp) if codes is None else codes
    present, drawn = np.unique(codes[rows]), []
    for c in present:
        members = rows[codes[rows] == c]
        share = round(count * len(members) / len(rows))
        drawn.append(members[: max(share, count // (2 * len(present)))])
    return np.sort(np.concatenate(drawn))


def _is_count(rule):
    return isinstance(rule, numbers.Number | np.bool_)


def by_rows(rule):
    """Whether the parameter `landmarks` means training objects at their own places."""
    return rule is None or (isinstance(rule, str) and rule == "all")


def is_rule(rule):
    """Whether the parameter `landmarks` says how they are found, not what they are."""
    return isinstance(rule, str) or _is_count(rule) or hasattr(rule, "fit")


def _is_linear(kernel):
    return isinstance(kernel, Linear) or (isinstance(kernel, str) and kernel == "linear")


def _check_given(Z, X, kernel, names):
    """Objects that the user gives."""
    checker = kernel if isinstance(kernel, Kernel) else Linear()
    columns = getattr(Z, "columns", None)
    if names is not None and columns is not None and list(columns) != list(names):
        raise ValueError(
            "The columns of landmarks and of X have different names or orders: "
            f"{list(columns)[:5]} and {list(names)[:5]}."
        )
    Z = checker.check_objects(Z, "landmarks")
    if Z.shape[0] == 0:
        raise ValueError("landmarks is empty; at least one object must describe.")
    if Z.ndim == 2:
        if Z.shape[1] != X.shape[1]:
            raise ValueError(
                f"landmarks has {Z.shape[1]} features, but X has {X.shape[1]}; they must agree."
            )
        Z = Z.astype(X.dtype, copy=False)
    return Z


def _sample(X, weights, count, rng):
    """Distinct objects, drawn in proportion to the weight of all their copies."""
    first, total = {}, {}
    for i, digest in enumerate(row_digests(X)):
        first.setdefault(digest, i)
        total[digest] = total.get(digest, 0.0) + weights[i]
    # Sorted by content, so that the order of the rows does not matter.
    index = np.array([first[digest] for digest in sorted(first)])
    if len(index) > count:
        share = np.array([total[digest] for digest in sorted(first)])
        drawn = rng.choice(len(index), size=count, replace=False, p=share / share.sum())
        index = index[np.sort(drawn)]
    return X[index]


def _centres(X, weights, count, rng):
    """Centres of clusters."""
    distinct = _at_most_distinct(X, count)
    if distinct <= count:
        return _sample(X, weights, count, rng)
    # It brings half of scikit-learn along, and few models have such landmarks.
    from sklearn.cluster import KMeans, MiniBatchKMeans

    if X.shape[0] < LARGE:
        clusters = KMeans(count, n_init=1, random_state=rng)
    else:
        clusters = MiniBatchKMeans(
            count, n_init=1, batch_size=max(4096, 4 * count), compute_labels=False, random_state=rng
        )
    return clusters.fit(X, sample_weight=weights).cluster_centers_


def _at_most_distinct(X, count):
    """The number of distinct rows, or more than `count` if there are more than that."""
    seen = set()
    for start in range(0, X.shape[0], 4 * count):
        seen.update(row_digests(X[start : start + 4 * count]))
        if len(seen) > count:
            break
    return len(seen)


def _directions(X, weights, count, rng):
    """Principal directions: right singular vectors of the centred and weighted rows."""
    root, mean = np.sqrt(weights), weights @ X / weights.sum()
    count = min(count, *X.shape)
    if count < min(X.shape):
        operator = LinearOperator(
            X.shape,
            matvec=lambda v: root * (X @ v.ravel() - mean @ v.ravel()),
            rmatvec=lambda u: X.T @ (root * u.ravel()) - mean * (root @ u.ravel()),
            dtype=np.float64,
        )
        start = rng.uniform(-1, 1, size=min(X.shape))
        _, values, V = svds(operator, k=count, v0=start, return_singular_vectors="vh")
        V = V[np.argsort(-values)]
    else:
        X = as_dense(X)
        V = np.linalg.svd(root[:, None] * (X - mean), full_matrices=False)[2]
    largest = V[np.arange(len(V)), np.abs(V).argmax(axis=1)]
    return V * np.sign(largest)[:, None]


def _fitted_vectors(model, X, weights):
    """What describes the vectors, from a model of them."""
    options = {}
    if has_fit_parameter(model, "sample_weight"):
        options["sample_weight"] = weights
    elif (weights != weights[0]).any():
        raise ValueError(f"{model!r}, the landmarks, cannot be fitted with sample weights.")
    try:
        model.fit(X, **options)
    except TypeError as error:
        raise TypeError(f"{model!r}, the landmarks, cannot be fitted to X. {error}") from error
    for name in FITTED:
        Z = getattr(model, name, None)
        if Z is not None:
            return _check_given(Z, X, Linear(), None)
    raise ValueError(
        f"landmarks must have one of {', '.join(FITTED)} after it was fitted, {model!r} has not."
    )
