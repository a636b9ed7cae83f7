"""Feature rankings to compare with: each is ``score(X, y) -> scores``, larger is better.

All of them can be the `score_func` of scikit-learn's `SelectKBest`. Criteria of two classes score
a feature in a problem of more classes by its best one-vs-rest value, which is the rule of
`PSVMSelector` as well.
"""

from __future__ import annotations

import warnings

import numpy as np
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC

from .._typing import ArrayLike
from .._validation import check_number, check_positive_integer, check_X_y, target_type
from ..matrix import Standardized, as_matrix

__all__ = ["fisher", "pearson", "r2w2", "relief", "rfe", "signal_to_noise", "t_test"]


def __dir__():
    return __all__


LARGEST_RIDGE = 1e6
"""Beyond this, the kernel matrix is its diagonal."""
STEPS = 200_000
"""Steps of one support vector machine: some seconds at most for some thousand samples."""


def fisher(X: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Fisher criterion ``(m_1 - m_2)^2 / (v_1 + v_2)`` of class means and variances.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of classes.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.selection.rankings import fisher
    >>> print(fisher([[0.0, 1.0], [1.0, 2.0], [4.0, 1.0], [5.0, 2.0]], ["a", "a", "b", "b"]))
    [16.  0.]
    """
    return _best_over_classes(X, y, lambda a, b: _ratio(_shift(a, b) ** 2, _var(a) + _var(b)))


def signal_to_noise(X: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Signal-to-noise ratio ``|m_1 - m_2| / (s_1 + s_2)`` of means and standard deviations.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of classes.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.feature_selection import SelectKBest
    >>> from psvm.selection.rankings import signal_to_noise
    >>> X, y = load_iris(return_X_y=True)
    >>> SelectKBest(signal_to_noise, k=2).fit(X, y).get_support()
    array([False, False,  True,  True])
    """
    return _best_over_classes(
        X, y, lambda a, b: _ratio(np.abs(_shift(a, b)), np.sqrt(_var(a)) + np.sqrt(_var(b)))
    )


def t_test(X: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Absolute value of Welch's t statistic.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of classes, each with at least two samples.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> from psvm.selection.rankings import t_test
    >>> print(t_test([[0.0, 1.0], [1.0, 2.0], [4.0, 1.0], [5.0, 2.0]], [0, 0, 1, 1]).round(3))
    [5.657 0.   ]
    """
    return _best_over_classes(
        X,
        y,
        lambda a, b: _ratio(np.abs(_shift(a, b)), np.sqrt(_var(a) / len(a) + _var(b) / len(b))),
    )


def pearson(X: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Absolute correlation with the target: numbers, or classes coded as -1 and +1.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of classes, or real numbers.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> from psvm.selection.rankings import pearson
    >>> pearson([[-2.0, 3.0], [2.0, -3.0], [-2.0, 1.0], [2.0, -1.0]], [1.0, -1.0, -1.0, 1.0])
    array([0.       , 0.4472136])
    """
    X, y = _check_data(X, y)
    if target_type("y", y).startswith("continuous"):
        return _correlation(X, y)
    return _best_over_sides(X, y, _correlation)


def _correlation(X, target):
    """Absolute correlations, 0 where nothing varies."""
    centred = target - target.mean()
    return np.abs(Standardized(as_matrix(X)).rmatvec(centred)) / (np.linalg.norm(centred) or 1.0)


def relief(X: ArrayLike, y: ArrayLike, n_neighbors: int = 10) -> np.ndarray:
    """ReliefF: how much farther neighbours of other classes are than those of the same class.

    Features are scaled to [0, 1] and distances are sums of absolute differences. For each sample
    the mean distance to its `n_neighbors` nearest hits is subtracted from that to the nearest
    misses of every other class, weighted by how frequent that class is.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of classes, each with at least two samples.
    n_neighbors : int, default=10
        Neighbours per class; fewer if a class is smaller.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.selection.rankings import relief
    >>> X = np.random.default_rng(0).normal(size=(80, 5))
    >>> y = X[:, 1] * X[:, 3] > 0  # no feature alone says anything
    >>> np.sort(np.argsort(relief(X, y))[-2:])
    array([1, 3])
    """
    check_positive_integer("n_neighbors", n_neighbors)
    X, y = _check_data(X, y)
    _sides(y)  # complains about a single class
    X = _ratio(X - X.min(axis=0), np.ptp(X, axis=0))
    classes, counts = np.unique(y, return_counts=True)
    scores = np.zeros(X.shape[1])
    for c, n_c in zip(classes, counts, strict=True):
        own = X[y == c]
        for d, n_d in zip(classes, counts, strict=True):
            other = X[y == d]
            k = min(n_neighbors, n_d - (c == d))
            if k == 0:
                continue
            nearest = NearestNeighbors(n_neighbors=k, metric="manhattan").fit(other)
            # Without an argument the points are their own queries, each without itself.
            index = nearest.kneighbors(None if c == d else own, return_distance=False)
            distance = sum(np.abs(own - other[column]).sum(axis=0) for column in index.T) / k
            scores += -distance if c == d else distance * n_d / (len(y) - n_c)
    return scores / len(y)


def rfe(
    X: ArrayLike, y: ArrayLike, C: float = 1.0, step: float = 0.1, max_iter: int = STEPS
) -> np.ndarray:
    """Recursive feature elimination with a linear support vector machine.

    In each round the share `step` of the features that are left, at least one, with the smallest
    squared weights is dropped. This is scikit-learn's `RFE` with a step that shrinks together
    with the features, so that the best ones are told apart one by one at the cost of few rounds.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of classes.
    C : float, default=1.0
        Parameter of the support vector machine.
    step : float, default=0.1
        Share of the features that one round drops.
    max_iter : int, default=200000
        Largest number of steps of one support vector machine. Where C is so large that the classes
        have to be separated and the features do not separate them, it would take a very long time.

    Returns
    -------
    ndarray of shape (n_features,)
        The place from the end: 0 was dropped first, ``n_features - 1`` is the best one.

    Warns
    -----
    ConvergenceWarning
        If a machine needs more steps. It is used as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.selection.rankings import rfe
    >>> X = np.random.default_rng(0).normal(size=(80, 50))
    >>> y = X[:, 1] - X[:, 3] > 0
    >>> np.sort(np.argsort(rfe(X, y))[-2:])
    array([1, 3])
    """
    check_number("C", C, above=0)
    check_number("step", step, least=0, most=1)
    check_positive_integer("max_iter", max_iter)
    X, y = _check_data(X, y)
    left, dropped, unfinished = np.arange(X.shape[1]), [], []
    while len(left):
        machine = _fit(SVC(kernel="linear", C=C, max_iter=max_iter), X[:, left], y)
        if machine.fit_status_ != 0:
            unfinished.append(len(left))
        order = np.argsort(np.square(machine.coef_).sum(axis=0), kind="stable")
        n_drop = max(1, int(step * len(left)))
        dropped.append(left[order[:n_drop]])
        left = np.sort(left[order[n_drop:]])
    scores = np.empty(X.shape[1])
    scores[np.concatenate(dropped)] = np.arange(X.shape[1])
    if unfinished:
        warnings.warn(
            f"{len(unfinished)} of {len(dropped)} support vector machines needed more than "
            f"{max_iter} steps, the first that of {unfinished[0]} features. Decrease C, "
            "standardise the features or increase max_iter.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return scores


def _fit(machine, X, y):
    """Fit a machine, whose `fit_status_` tells whether it needed too many steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return machine.fit(X, y)


def r2w2(X: ArrayLike, y: ArrayLike, ridge: float = 0.1, max_iter: int = 50) -> np.ndarray:
    """Scaling factors of the features that minimise the bound ``R^2 W^2`` of Weston et al. (2000).

    R is the radius of the smallest ball around the scaled samples and 1/W the margin of the
    linear support vector machine on them. The bound is minimised over non-negative factors by
    L-BFGS; its gradient follows from the two dual solutions.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels of classes.
    ridge : float, default=0.1
        Share of the mean squared norm of a sample that is added to the diagonal of the kernel
        matrix: squared slack, without which few features may not separate the classes.
    max_iter : int, default=50
        Largest number of iterations.

    Returns
    -------
    ndarray of shape (n_features,)
        The scaling factors.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.selection.rankings import r2w2
    >>> X = np.random.default_rng(0).normal(size=(60, 30))
    >>> y = X[:, 1] - X[:, 3] > 0
    >>> np.sort(np.argsort(r2w2(X, y))[-2:])
    array([1, 3])
    """
    check_number("ridge", ridge, least=0, most=LARGEST_RIDGE)
    check_positive_integer("max_iter", max_iter)
    return _best_over_sides(X, y, lambda X, signs: _scaling_factors(X, signs, ridge, max_iter))


def _scaling_factors(X, signs, ridge, max_iter):
    X = X - X.mean(axis=0)
    squares = np.square(X)
    varies = squares.any(axis=0)
    if not varies.any():
        raise ValueError("X must have a feature that varies, by more than the root of 1e-308.")

    def bound(sigma):
        """``log R^2 W^2`` and its gradient."""
        K = (X * np.square(sigma)) @ X.T
        K.flat[:: len(K) + 1] += ridge * np.trace(K) / len(K)
        a, W2 = _margin(K, signs)
        beta, R2 = _ball(K)
        shift = ridge * squares.mean(axis=0)  # derivative of the diagonal
        wider = beta @ squares - np.square(beta @ X) + shift * (1 - beta @ beta)
        narrower = np.square(a @ X) + shift * (a @ a)
        return np.log(R2) + np.log(W2), 2 * sigma * (wider / R2 - narrower / W2)

    found = minimize(
        bound,
        np.ones(X.shape[1]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(1e-6, None)] * X.shape[1],
        options={"maxiter": max_iter},
    )
    return found.x * varies / found.x.max()


def _margin(K, signs):
    """Signed dual variables of the hard-margin machine of a kernel matrix, and W^2."""
    machine = SVC(kernel="precomputed", C=1e8 / np.trace(K), tol=1e-4, max_iter=STEPS)
    machine = _fit(machine, K, signs)
    a = np.zeros(len(K))
    a[machine.support_] = machine.dual_coef_[0]
    return a, a @ K @ a


def _ball(K, tol=1e-4, max_iter=2000):
    """Weights of the samples that span the smallest ball around them, and its squared radius.

    Maximises ``beta'diag(K) - beta'K beta`` over the simplex by pairwise Frank-Wolfe steps.
    """
    n, diagonal = len(K), K.diagonal()
    beta = np.full(n, 1.0 / n)
    product = K @ beta
    for _ in range(max_iter):
        slope = diagonal - 2 * product
        far = np.argmax(slope)
        near = np.argmin(np.where(beta > 0, slope, np.inf))
        radius = beta @ diagonal - beta @ product
        if slope[far] - slope[near] <= tol * radius:
            break
        curvature = 2 * (K[far, far] - 2 * K[far, near] + K[near, near])
        step = min((slope[far] - slope[near]) / curvature, beta[near])
        beta[far] += step
        beta[near] = 0.0 if step == beta[near] else beta[near] - step
        product += step * (K[far] - K[near])
    return beta, radius


def _best_over_classes(X, y, criterion):
    """The largest ``criterion(X of one side, X of the other side)`` over one-vs-rest problems."""
    X, y = _check_data(X, y)
    return np.max([criterion(X[in_a], X[~in_a]) for in_a in _sides(y)], axis=0)


def _best_over_sides(X, y, score):
    X, y = _check_data(X, y)
    return np.max([score(X, np.where(in_a, 1.0, -1.0)) for in_a in _sides(y)], axis=0)


def _check_data(X, y):
    """Checked samples and target."""
    X, y = check_X_y(X, y, dtype=np.float64)
    with np.errstate(over="ignore"):
        if not np.isfinite(np.square(X).sum()):
            raise ValueError("X has entries too large to be squared in double precision; scale it.")
    return X, y


def _sides(y):
    """One boolean vector per one-vs-rest problem; a single one for two classes."""
    kind = target_type("y", y)
    classes = np.unique(y)
    if kind not in ("binary", "multiclass") or len(classes) < 2:
        raise ValueError(
            f"y must hold the labels of at least two classes, got {kind} values with "
            f"{len(classes)} distinct ones."
        )
    return [y == c for c in (classes[1:] if len(classes) == 2 else classes)]


def _shift(a, b):
    return a.mean(axis=0) - b.mean(axis=0)


def _var(a):
    """Unbiased variance, 0 for a single sample."""
    return a.var(axis=0, ddof=min(1, len(a) - 1))


def _ratio(numerator, denominator):
    """The quotient, 0 where nothing varies."""
    shape = np.broadcast_shapes(np.shape(numerator), np.shape(denominator))
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator > 0)
