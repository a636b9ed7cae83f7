"""The search of the technical report: C and the kernel, on a coarse and then on a fine grid."""

import numpy as np

from psvm import solve
from psvm.problem import from_variance_units

SMALL = {"classification": 0.1, "regression": 0.01}
"""Epsilon for columns of variance one: the report takes a small one for a stable solution."""
FINE = 7


class SmallEpsilon:
    """The P-SVM with slack variables: C is the parameter, epsilon is small.

    C is a value for columns of variance one; the constant is the mean of the target.
    """

    def __init__(self, C, task):
        self.C, self.task = C, task

    def fit(self, K, y):
        self.mean, self.offset = K.mean(axis=0), y.mean()
        self.norms = np.linalg.norm(K - self.mean, axis=0)
        self.norms[self.norms <= 1e-12 * np.abs(K).max()] = np.inf  # constant columns
        epsilon, C = from_variance_units(SMALL[self.task], self.C, len(y))
        self.alpha = solve(K, y, C, epsilon=epsilon, tol=1e-3, max_iter=2000).alpha
        self.support_ = np.flatnonzero(self.alpha)
        return self

    def predict(self, K):
        values = (K - self.mean) / self.norms @ self.alpha + self.offset
        return values if self.task == "regression" else np.where(values > 0, 1.0, -1.0)


def around(value, coarse):
    """Values from one step of the coarse grid below to one above, on a logarithmic scale."""
    step = coarse[1] / coarse[0]
    return value * step ** np.linspace(-1, 1, FINE)


def coarse_to_fine(losses, values, first, second=(0,), fixed=False):
    """The best (value, first, second): all coarse points, then a fine grid around the best one.

    ``losses(value, first, second)`` yields the losses of the folds; a point is given up as soon as
    their sum exceeds that of the best one. The second parameter stays as found on the coarse grid;
    `fixed`: the values as well.
    """
    coarse = [(v, f, s) for s in second for f in first for v in values]
    value, at, other = best_point(losses, coarse)
    finer = values if fixed else around(value, values)
    fine = [(v, f, other) for f in around(at, first) for v in finer]
    return tuple(map(float, best_point(losses, fine)))


def best_point(losses, points):
    """The first point with the least sum of losses."""
    least, best = np.inf, points[0]
    for point in points:
        total = 0.0
        for loss in losses(*point):
            total += loss
            if total >= least:
                break
        else:
            least, best = total, point
    return best
