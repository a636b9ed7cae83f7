"""Folds and scores of a cross-validation, whatever describes them."""

import numpy as np

from ._validation import check_choice, refuse_sparse, shown

N_FOLDS = 5
"""Folds by content."""
DIGITS = 9
"""Decimals of the targets, as shares of half their range, that count: others are rounding."""


def make_splits(cv, X, y, *, classifier, groups=None):
    """The folds that a parameter `cv` means, as a list of pairs of indices: training and test."""
    from sklearn.model_selection import check_cv

    refuse_sparse(cv, "cv must be a number, a splitter or a list of folds, not a sparse matrix.")
    try:
        folds = list(check_cv(cv, y, classifier=classifier).split(X, y, groups))
        splits = [(_indices(train, len(y)), _indices(test, len(y))) for train, test in folds]
    except (TypeError, ValueError, AttributeError, OverflowError, MemoryError) as error:
        raise ValueError(
            f"cv={shown(cv)} does not describe folds of {len(y)} rows. {error}"
        ) from error
    if not splits:
        raise ValueError(f"cv={shown(cv)} has no folds.")
    return splits


def _indices(part, n):
    """Row numbers of one side of a fold, which may be a mask."""
    part = np.asarray(part)
    part = np.flatnonzero(part) if part.dtype == bool and part.shape == (n,) else part
    if part.ndim != 1 or part.dtype.kind not in "iu" or not len(part):
        raise ValueError("Each side of a fold must be a list of row numbers and not empty.")
    if part.min() < 0 or part.max() >= n:
        raise ValueError(f"Row numbers must lie between 0 and {n - 1}.")
    return part


def check_scoring(scoring):
    """Check the parameter `scoring`: None, a name that scikit-learn knows, or a scorer."""
    if isinstance(scoring, str):
        from sklearn.metrics import get_scorer_names

        check_choice("scoring", scoring, get_scorer_names())
    elif scoring is not None and not callable(scoring):
        raise ValueError(f"scoring must be a name or a callable, got {shown(scoring)}.")


def assign_folds(digests, y, weights, n_folds=N_FOLDS, order=None):
    """Fold of each row, by content: equal rows share a fold; -1 for rows without weight.

    The distinct rows are sorted by target and digest and dealt out in turn, so that the folds are
    stratified and depend neither on the order of the rows nor on how often one is written. Below
    the middle of the targets digests ascend, above they descend: the folds of -y are those of y.

    Parameters
    ----------
    digests : array-like of shape (n,)
        Equal for equal rows.
    y, weights : array-like of shape (n,)
    n_folds : int
    order : array-like of shape (n,), default=None
        Numbers of the rows that are sorted by before the digests.

    Returns
    -------
    ndarray of int of shape (n,)
    """
    y, weights = np.asarray(y, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    folds, rows = np.full(len(y), -1), np.flatnonzero(weights > 0)
    distinct, first, number = np.unique(
        np.asarray(digests)[rows], return_index=True, return_inverse=True
    )
    means = np.bincount(number, weights[rows] * y[rows]) / np.bincount(number, weights[rows])
    low, high = means.min(initial=np.inf), means.max(initial=-np.inf)
    varies = high - low > 10.0**-DIGITS * max(abs(low), abs(high))
    target = np.round((2 * means - low - high) / (high - low), DIGITS) if varies else 0 * means
    keys = np.arange(len(distinct))
    if order is not None:
        keys = np.lexsort((keys, np.asarray(order)[rows][first])).argsort()
    dealt = np.lexsort((np.where(target > 0, -keys, keys), target))
    fold = np.empty(len(distinct), dtype=np.intp)
    fold[dealt] = np.arange(len(distinct)) % min(n_folds, max(len(distinct), 1))
    folds[rows] = fold[number]
    return folds
