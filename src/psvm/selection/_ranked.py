"""The features that matter, how surely, and which others could stand in for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .._parallel import run
from .._progress import progress
from .._typing import ArrayLike, MatrixLike
from .._validation import (
    check_array,
    check_flag,
    check_integer,
    check_jobs,
    check_members,
    check_positive_integer,
)
from ._redundancy import StandIns, stand_ins
from ._selector import PSVMSelector

N_HALVES = 20


@dataclass(frozen=True, eq=False)
class FeatureRanking:
    """Features in the order of a selection.

    Attributes
    ----------
    indices : ndarray
        Best first.
    importance : ndarray
        ``|alpha|``.
    stability : ndarray
        Share of random halves of the rows in which the same selection takes a feature.
    stand_ins : list of StandIns
        One per feature.
    selector : PSVMSelector
        Fitted to all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.selection import rank_features
    >>> X = np.random.default_rng(0).normal(size=(60, 50))
    >>> found = rank_features(X, X[:, 7] - X[:, 42] > 0, n_features=2)
    >>> sorted(found.indices.tolist()), bool(found.stability.min() > 0.8)
    ([7, 42], True)
    """

    indices: np.ndarray
    importance: np.ndarray
    stability: np.ndarray
    stand_ins: Sequence[StandIns | None]
    selector: PSVMSelector


def rank_features(
    X: MatrixLike,
    y: ArrayLike,
    *,
    n_features: int | None = 10,
    epsilon: float | Literal["auto", "cv", "aicc"] = "auto",
    task: Literal["auto", "classification", "regression"] = "auto",
    random_state: int = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> FeatureRanking:
    """Select features and say how often random halves of the rows give the same ones.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,)
        Labels of classes, or numbers.
    n_features : int or None, default=10
        The largest number of features; None leaves the choice to `epsilon`.
    epsilon : default="auto"
        As for `PSVMSelector`, if `n_features` is None.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is.
    random_state : int, Generator or None, default=0
        Random numbers for the halves.
    n_jobs : int, default=None
        Number of processes.
    verbose : bool, default=False
        Show progress with the time left on stderr, if it takes more than two seconds.

    Returns
    -------
    FeatureRanking
    """
    if random_state is not None and not isinstance(random_state, np.random.Generator):
        check_integer("random_state", random_state)
    check_jobs(n_jobs)
    check_flag("verbose", verbose)
    y = check_members("y", y)
    X = check_array("X", X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if n_features is not None:
        check_positive_integer("n_features", n_features)
        n_features = min(n_features, X.shape[1])
    random = np.random.default_rng(random_state)
    with progress("rank_features", verbose):
        selector = PSVMSelector(epsilon, n_features=n_features, task=task).fit(X, y)
        halves = [_half(y, random, hasattr(selector, "classes_")) for _ in range(N_HALVES)]
        found = run(_selected, [(selector, X, y, half) for half in halves], n_jobs, "halves")
    indices = selector.order_[: selector.n_features_]
    nearest = (
        stand_ins(X, indices, n=min(3, X.shape[1] - len(indices)))
        if len(indices) < X.shape[1] and len(indices)
        else [None] * len(indices)
    )
    return FeatureRanking(
        indices=indices,
        importance=selector.importance_[indices],
        stability=np.mean(found, axis=0)[indices],
        stand_ins=nearest,
        selector=selector,
    )


def _half(y, random, classes):
    """Half of the rows; of each class if there are classes."""
    if not classes:
        return random.permutation(len(y))[: (len(y) + 1) // 2]
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    return np.concatenate([random.permutation(m)[: (len(m) + 1) // 2] for m in members])


def _selected(selector, X, y, rows):
    """Which features the same selection takes of some rows."""
    fitted = PSVMSelector(**selector.get_params()).fit(X[rows], y[rows])
    return fitted.get_support()
