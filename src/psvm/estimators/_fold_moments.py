"""Squared errors of held-out folds along exact paths, from the moments of the folds."""

from itertools import islice
from typing import NamedTuple

import numpy as np

from ..matrix import moments_of
from ..solvers import AHEAD, exact_path


class FoldError(NamedTuple):
    """What the folds say of one epsilon."""

    error: float
    """Weighted sum of the squared errors of all rows, each held out once."""
    n_support: int
    """Support objects of the fold that has the most."""


def fold_errors(description, y, C, epsilons, folds):
    """The squared error on the rows of each fold along the exact path of the others.

    One pass over K gives the moments of the folds. Those of the other folds add up to a training
    part, without the columns that describe by rows of the fold.

    Parameters
    ----------
    description : Description
        Few of its columns are usable: products of all of them are formed.
    y : ndarray of shape (L,)
    C : float
    epsilons : ndarray
        Decreasing. Those of a fold, and its C, are smaller by the root of its share of the weight.
    folds : ndarray of int of shape (L,)
        The fold of each row, -1 for rows without weight. Equal rows share a fold.

    Yields
    ------
    FoldError
        For each epsilon.
    """
    runs = _Fold.all(description, y, C, np.asarray(epsilons), folds)
    for _ in range(0, len(epsilons), AHEAD):
        ahead = [run.ahead() for run in runs]
        errors, counts = (np.array(values) for values in zip(*ahead, strict=True))
        yield from map(FoldError, errors.sum(axis=0).tolist(), counts.max(axis=0).tolist())


class _Fold:
    """The path of the training part of one fold, and the error on its held-out rows."""

    def __init__(self, description, y, columns, moments, out, path):
        self.matrix, self.weights, self.y = description.matrix, description.weights[out], y[out]
        self.columns, self.moments, self.out, self.path = columns, moments, out, path

    @classmethod
    def all(cls, description, y, C, epsilons, folds):
        """Those of all folds."""
        matrix, weights, total = description.matrix, description.weights, description.weights.sum()
        columns = np.flatnonzero(description.usable)
        rows = [np.flatnonzero(folds == fold) for fold in range(folds.max() + 1)]
        parts = [moments_of(matrix.part(r, columns), y[r], weights[r]) for r in rows]
        runs = []
        for fold, out in enumerate(rows):
            usable = description.counting(folds != fold).usable
            others = (part for other, part in enumerate(parts) if other != fold)
            moments = sum(others).keep(usable[columns])
            # K̃'y and alpha grow like the root of the sample size, and epsilon and C with them.
            scale = np.sqrt(moments.weight / total)
            rank = len(folds) - len(out)
            path = exact_path(moments.Q, moments.correlations(), scale * C, scale * epsilons, rank)
            runs.append(cls(description, y, np.flatnonzero(usable), moments, out, path))
        return runs

    def ahead(self):
        """Errors and numbers of support objects for the next epsilons."""
        alphas = list(islice(self.path, AHEAD))
        fits = [self.moments.coef(alpha) for alpha in alphas]
        coefs = np.array([coef for coef, _ in fits])
        used = np.flatnonzero(coefs.any(axis=0))
        f = np.array([[intercept] for _, intercept in fits])
        if len(used):  # a user's kernel need not know what to do with no objects
            K = self.matrix.submatrix(self.out, self.columns[used])
            f = f + coefs[:, used] @ K.T
        counts = [np.count_nonzero(alpha) for alpha in alphas]
        return np.square(self.y - f) @ self.weights, counts
