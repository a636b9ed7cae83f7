"""Held-out values from paths of parts of the rows; and a criterion that needs none."""

import numpy as np

from ..solvers import exact_path, follow
from ._left_out import LARGEST_GRAM, Point
from ._policy import POLICY

MANY = 1e300
"""The criterion of more non-zeros than it allows: larger than any other."""


class Folds:
    """The source of held-out values that follows the path of the training rows of each fold.

    A part of the rows with the share s of the weight is solved with ``sqrt(s) epsilon`` and
    ``sqrt(s) C``: K̃'y and alpha grow like the root of the sample.

    Parameters
    ----------
    description : Description
    y : ndarray of shape (L,)
    C : float
    splits : list of (ndarray, ndarray)
        For each fold how often each row trains, of shape (L,), and the numbers of the rows that
        are held out. The values of all folds follow one another.
    solver : Solver
        Of paths with many columns.
    """

    def __init__(self, description, y, C, splits, solver):
        self.description, self.y, self.C = description, y, C
        self.splits, self.solver = splits, solver

    def points(self, epsilons):
        """The points of a walk, as they are asked for."""
        for found in zip(*(self._fold(*split, epsilons) for split in self.splits), strict=True):
            values, counts = zip(*found, strict=True)
            yield Point(np.concatenate(values)[None], max(counts), None)

    def _fold(self, times, out, epsilons):
        """Values of the held-out rows of a fold, and the number of support objects."""
        part = self.description.counting(times)
        scale = np.sqrt(part.weights.sum() / self.description.weights.sum())
        problem = part.problem(self.y, scale * self.C)
        Q = problem.K.gram() if problem.K.shape[1] <= LARGEST_GRAM else None
        for alpha in path_of(problem, Q, scale * epsilons, self.solver):
            used = np.flatnonzero(alpha)
            coef, shift = problem.K.coef(alpha)
            f = np.full(len(out), problem.b + shift)
            if len(used):  # a user's kernel need not know what to do with no objects
                f += part.matrix.submatrix(out, used) @ coef[used]
            yield f, len(used)


def path_of(problem, Q, epsilons, solver):
    """Solutions alpha along decreasing epsilons: exact if the products of all columns are given."""
    if Q is not None:
        return exact_path(Q, problem.l, problem.C, epsilons, len(problem.y))
    return (solution.alpha for solution in follow(problem, epsilons, solver))


class Akaike:
    """The corrected Akaike criterion along the path of all rows, in place of held-out values.

    ``L log(RSS / RSS_0) + 2 df + 2 df (df + 1) / (L - df - 1)``, L the weight of all rows, RSS the
    sum of the squared residuals, RSS_0 that of a constant, df the number of non-zeros. The path
    ends where RSS is at most the share `Policy.least` of RSS_0.
    """

    def __init__(self, total, squares, constant, path):
        self.total, self.squares, self.constant, self.path = total, squares, constant, path

    def points(self, epsilons):
        """The points of a walk, as they are asked for."""
        L = self.total
        for alpha in self.path(epsilons):
            df, criterion = np.count_nonzero(alpha), MANY
            constant = self.constant or 1.0  # of a target without variance
            share = max(self.squares(alpha) / constant, np.finfo(float).tiny)
            if L - df - 1 > 0:
                criterion = L * np.log(share) + 2 * df + 2 * df * (df + 1) / (L - df - 1)
            yield Point(np.array([[criterion]]), df, alpha)
            if share <= POLICY.least:
                return


class Criterion:
    """The loss of a criterion: its value."""

    least, weights = -np.inf, np.ones(1)

    def __call__(self, values):
        """The value, and no shift."""
        return values[0], np.zeros(1)

    def mean(self, losses):
        """The value."""
        return losses[..., 0]

    def error(self, differences):
        """Nothing is known of it."""
        return np.full(differences.shape[:-1], np.inf)
