"""Folds and scores of a cross-validation, whatever describes them."""

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import get_scorer_names
from sklearn.model_selection import check_cv

from ._validation import check_choice, shown


def make_splits(cv, X, y, *, classifier, groups=None):
    """The folds that a parameter `cv` means, as a list of pairs of indices: training and test."""
    if sp.issparse(cv):
        raise ValueError("cv must be a number, a splitter or a list of folds, not a sparse matrix.")
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
        check_choice("scoring", scoring, get_scorer_names())
    elif scoring is not None and not callable(scoring):
        raise ValueError(f"scoring must be a name or a callable, got {shown(scoring)}.")
