"""The choice of epsilon along a path of warm-started solutions."""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._folds import assign_folds
from ..matrix import Standardized
from ..problem import Problem
from ..solvers import WorkingSet

PER_DECADE = 10
"""Grid points of epsilon / epsilon_max in a factor of ten."""
DECADES = 5
"""Length of the grid."""
PATIENCE = 8
"""The path ends when the criterion has not improved for so many points,"""
DENSEST = 0.7
"""or when there are more support objects than this share of the distinct rows."""
PATH_TOL = 0.01
"""Tolerance on the path: errors of prediction need no more."""
SLACK = 0.005
"""The largest epsilon wins whose error exceeds the smallest by at most this share."""
MANY, TALL = 1024, 16
"""Up to so many columns of so many times more rows, paths keep products of all columns instead of
copies of those in use."""
FALLBACK = 0.1
"""epsilon / epsilon_max where there are too few distinct rows to choose it."""


def choose_epsilon(rule, matrix, y, *, weights, usable, digests, own_columns, C, solver):
    """Choose epsilon for the P-SVM of a matrix.

    Parameters
    ----------
    rule : {"auto", "aicc"}
        Cross-validated squared error, or the corrected Akaike criterion.
    matrix : DataMatrix of shape (L, P)
    y : ndarray of shape (L,)
    weights : ndarray of shape (L,)
    usable : boolean ndarray of shape (P,)
        The columns that take part.
    digests : list of bytes
        One per row, equal for equal rows (`row_digests`).
    own_columns : bool
        Whether column j describes by row j, so that it has to leave a fold together with it.
    C : float
    solver : Solver
        The solver of the final fit, whose limits hold for the path as well.

    Returns
    -------
    float
    """
    full = _Path(matrix, y, weights, usable, C, solver)
    epsilon_max = full.problem.epsilon_max
    folds = assign_folds(digests, y, weights)
    n_distinct = len({digest for digest, fold in zip(digests, folds, strict=True) if fold >= 0})
    if folds.max() < 2:
        return FALLBACK * epsilon_max
    if rule == "aicc":
        paths, criterion = [full], _aicc
    else:
        paths, criterion = [], _held_out_error
        for fold in range(folds.max() + 1):
            out = folds == fold
            keep = usable & ~out if own_columns else usable
            path = _Path(matrix, y, np.where(out, 0.0, weights), keep, C, solver)
            path.held_out, path.held_out_weights = out, weights[out]
            paths.append(path)
    return _follow(paths, criterion, epsilon_max, weights.sum(), n_distinct, solver)


def _follow(paths, criterion, epsilon_max, total, n_distinct, solver):
    """Lower epsilon on all paths together and choose one."""
    epsilons, values = [], []
    # Half of the time is left for the final solve.
    deadline = np.inf if solver.max_time is None else time.perf_counter() + solver.max_time / 2
    for step in range(PER_DECADE * DECADES + 1):
        epsilon = epsilon_max * 10 ** (-step / PER_DECADE)
        for path in paths:
            # K̃'y and alpha grow like the root of the sample size, and epsilon and C with them.
            path.advance(epsilon, np.sqrt(path.total / total))
        epsilons.append(epsilon)
        values.append(sum(criterion(path) for path in paths))
        n_support = max(len(path.solution.support) for path in paths)
        if step - np.argmin(values) >= PATIENCE or n_support > DENSEST * n_distinct:
            break
        if time.perf_counter() >= deadline:
            warnings.warn(
                f"max_time ended the search for epsilon at {epsilon / epsilon_max:.2g} of "
                "epsilon_max. Increase max_time, or give epsilon a number.",
                ConvergenceWarning,
                stacklevel=2,
            )
            break
    return epsilons[np.argmax(np.array(values) <= _good_enough(min(values), criterion))]


def _good_enough(best, criterion):
    return best * (1 + SLACK) if criterion is _held_out_error else best


class _Path:
    """Warm-started solutions of one training set for decreasing epsilon."""

    def __init__(self, matrix, y, weights, usable, C, solver):
        self.matrix, self.y, self.C = matrix, y, C
        self.problem = Problem.create(Standardized(matrix, weights, usable, y), y, C, 0.0)
        # Paths need exact small solves, whichever solver is to have the last word.
        self.solver = WorkingSet(
            tol=max(solver.tol, PATH_TOL), max_iter=solver.max_iter, max_time=solver.max_time
        )
        self.workspace = self.solver.workspace(self.problem.K)
        # Copies of the columns of a tall matrix, one for each path, would be several times K.
        self.workspace.whole |= _is_tall(*matrix.shape)
        self.total = weights.sum()
        self.alpha = np.zeros(matrix.shape[1])

    def advance(self, epsilon, scale):
        problem = self.problem.with_parameters(epsilon=scale * epsilon, C=scale * self.C)
        self.solution = self.solver.minimise(problem, start=self.alpha, workspace=self.workspace)
        self.alpha = self.solution.alpha

    def predictions(self):
        support = self.solution.support
        fit = self.matrix.columns_matvec(support, self.solution.coef[support])
        return fit + self.solution.intercept


def _is_tall(L, P):
    return P <= MANY and L >= TALL * P


def _held_out_error(path):
    out = path.held_out
    return path.held_out_weights @ np.square(path.predictions()[out] - path.y[out])


def _aicc(path):
    """``L log(RSS / L) + 2 df + 2 df (df + 1) / (L - df - 1)``, df the number of non-zeros."""
    L, df = path.total, len(path.solution.support)
    if L - df - 1 <= 0:
        return np.inf
    residual = path.problem.residual(path.alpha)
    rss = max(residual @ residual, np.finfo(float).tiny)
    return L * np.log(rss / L) + 2 * df + 2 * df * (df + 1) / (L - df - 1)
