"""Values of held-out rows along exact paths, from the moments of the folds."""

from itertools import islice

import numpy as np

from ..matrix import moments_of
from ..solvers import AHEAD, exact_path


def fold_values(description, y, C, epsilons, folds):
    """The values of the rows of each fold along the exact path of the others.

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
    values : ndarray of shape (m, L)
        For the next m epsilons, NaN for rows without weight.
    n_support : ndarray of int of shape (m,)
        Support objects of the fold that has the most.
    """
    runs = _Fold.all(description, y, C, np.asarray(epsilons), folds)
    for first in range(0, len(epsilons), AHEAD):
        values = np.full((len(epsilons[first : first + AHEAD]), len(y)), np.nan)
        n_support = np.zeros(len(values), dtype=int)
        for run in runs:
            values[:, run.out], counts = run.ahead()
            n_support = np.maximum(n_support, counts)
        yield values, n_support


class _Fold:
    """The path of the training part of one fold, and the values of its held-out rows."""

    def __init__(self, matrix, columns, moments, out, path):
        self.matrix, self.columns, self.out = matrix, columns, out
        self.moments, self.path = moments, path

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
            runs.append(cls(matrix, np.flatnonzero(usable), moments, out, path))
        return runs

    def ahead(self):
        """Values and numbers of support objects for the next epsilons."""
        alphas = list(islice(self.path, AHEAD))
        fits = [self.moments.coef(alpha) for alpha in alphas]
        coefs = np.array([coef for coef, _ in fits])
        used = np.flatnonzero(coefs.any(axis=0))
        f = np.array([[intercept] * len(self.out) for _, intercept in fits])
        if len(used):  # a user's kernel need not know what to do with no objects
            K = self.matrix.submatrix(self.out, self.columns[used])
            f += coefs[:, used] @ K.T
        return f, np.count_nonzero(alphas, axis=1)
