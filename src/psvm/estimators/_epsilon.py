"""The choice of epsilon along paths of warm-started solutions."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._folds import assign_folds
from ..solvers import Clock, WorkingSet, follow

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


def choose_epsilon(rule, description, y, C, solver):
    """Choose epsilon for the P-SVM of a target.

    Parameters
    ----------
    rule : {"auto", "aicc"}
        Cross-validated squared error, or the corrected Akaike criterion.
    description : Description
        With its digests: equal rows share a fold.
    y : ndarray of shape (L,)
    C : float
    solver : Solver
        The solver of the final fit, whose limits hold for the paths as well.

    Returns
    -------
    float
    """
    problem = description.problem(y, C)
    largest, folds = problem.epsilon_max, assign_folds(description.digests, y, description.weights)
    if folds.max() < 2:
        return FALLBACK * largest
    # Paths need exact small solves, whichever solver is to have the last word.
    exact = WorkingSet(
        tol=max(solver.tol, PATH_TOL), max_iter=solver.max_iter, max_time=solver.max_time
    )
    epsilons = [largest * 10 ** (-step / PER_DECADE) for step in range(PER_DECADE * DECADES + 1)]
    if rule == "aicc":
        paths, criteria = [_path(problem, epsilons, exact)], [_aicc(problem)]
    else:
        paths, criteria = _fold_paths(description, y, C, folds, epsilons, exact)
    n_distinct = len({d for d, fold in zip(description.digests, folds, strict=True) if fold >= 0})
    # Half of the time is left for the final solve.
    clock = Clock(None if solver.max_time is None else solver.max_time / 2)
    values = []
    for solutions in zip(*paths, strict=True):
        values.append(sum(value(s) for value, s in zip(criteria, solutions, strict=True)))
        n_support = max(len(solution.support) for solution in solutions)
        if len(values) - 1 - np.argmin(values) >= PATIENCE or n_support > DENSEST * n_distinct:
            break
        if clock.over:
            _warn_of_time(epsilons[len(values) - 1] / largest)
            break
    return epsilons[np.argmax(np.array(values) <= _good_enough(min(values), rule))]


def _good_enough(best, rule):
    """The value of the criterion up to which the largest epsilon wins."""
    return best * (1 + SLACK) if rule == "auto" else best


def _fold_paths(description, y, C, folds, epsilons, solver):
    """A path without each fold, and the function of its solutions that judges them."""
    total, paths, criteria = description.weights.sum(), [], []
    for fold in range(folds.max() + 1):
        part = description.counting(folds != fold)
        # K̃'y and alpha grow like the root of the sample size, and epsilon and C with them.
        scale = np.sqrt(part.weights.sum() / total)
        problem = part.problem(y, scale * C)
        paths.append(_path(problem, [scale * epsilon for epsilon in epsilons], solver))
        criteria.append(_held_out_error(description, y, folds == fold))
    return paths, criteria


def _path(problem, epsilons, solver):
    """Solutions along a path."""
    workspace = solver.workspace(problem.K)
    # Copies of the columns of a tall matrix, one for each path, would be several times K.
    workspace.whole |= _is_tall(*problem.K.shape)
    return follow(problem, epsilons, solver, workspace=workspace)


def _is_tall(L, P):
    return P <= MANY and L >= TALL * P


def _held_out_error(description, y, out):
    """The squared error of a solution on rows that it has not seen."""
    matrix, weights = description.matrix, description.weights[out]

    def error(solution):
        support = solution.support
        f = matrix.columns_matvec(support, solution.coef[support]) + solution.intercept
        return weights @ np.square(f[out] - y[out])

    return error


def _aicc(problem):
    """``L log(RSS / L) + 2 df + 2 df (df + 1) / (L - df - 1)``, df the number of non-zeros."""
    L = problem.K.weights.sum()

    def criterion(solution):
        df = len(solution.support)
        if L - df - 1 <= 0:
            return np.inf
        residual = problem.residual(solution.alpha)
        rss = max(residual @ residual, np.finfo(float).tiny)
        return L * np.log(rss / L) + 2 * df + 2 * df * (df + 1) / (L - df - 1)

    return criterion


def _warn_of_time(share):
    warnings.warn(
        f"max_time ended the search for epsilon at {share:.2g} of epsilon_max. Increase max_time, "
        "or give epsilon a number.",
        ConvergenceWarning,
        stacklevel=3,
    )
