"""The choice of epsilon along a path of solutions."""

import warnings
from itertools import islice
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._folds import assign_folds
from ..solvers import AHEAD, Clock, WorkingSet, exact_path, follow
from ._loo import LeaveOneOut

PER_DECADE = 10
"""Grid points of epsilon / epsilon_max in a factor of ten."""
DECADES = {"loo": 8, "cv": 5, "aicc": 5}
"""Length of the grid: exact paths go on until the error has turned, the others get slow."""
PATIENCE = 8
"""The path ends when the criterion has not improved for so many points,"""
DENSEST = 0.7
"""or when there are more support objects than this share of the distinct rows,"""
NOTHING = 1e-12
"""or when no more than this share of the variance of the target is left."""
LARGEST_GRAM = 2048
"""Columns up to which the products of all of them are formed for leave-one-out values."""
PATH_TOL = 0.01
"""Tolerance on paths that are not exact: errors of prediction need no more."""
SLACK = 0.005
"""The largest epsilon wins whose error exceeds the smallest by at most this share."""
MANY, TALL = 1024, 16
"""Up to so many columns of so many times more rows, paths keep products of all columns instead of
copies of those in use."""
FALLBACK = 0.1
"""epsilon / epsilon_max where there are too few distinct rows to choose it."""


class Judgement(NamedTuple):
    """What a point of a path is worth."""

    value: float
    """The criterion, the smaller the better."""
    n_support: int
    alpha: np.ndarray | None = None
    """The exact solution for all rows, if that is what the path has."""


class Chosen(NamedTuple):
    """The chosen epsilon, and the solution there if the path has it."""

    epsilon: float
    alpha: np.ndarray | None = None


def choose_epsilon(rule, description, y, C, solver):
    """Choose epsilon for the P-SVM of a target.

    Parameters
    ----------
    rule : {"auto", "cv", "aicc"}
        Squared error of leave-one-out values where the columns are few enough to form their
        products, and of five folds where they are not ("auto"); always of five folds ("cv"); the
        corrected Akaike criterion.
    description : Description
        With its digests: equal rows leave together.
    y : ndarray of shape (L,)
    C : float
    solver : Solver
        The solver of the final fit, whose limits hold for the paths as well.

    Returns
    -------
    Chosen
    """
    problem = description.problem(y, C)
    largest = problem.epsilon_max
    weighted = [d for d, w in zip(description.digests, description.weights, strict=True) if w > 0]
    n_distinct = len(set(weighted))
    if n_distinct < 3 or largest == 0:
        return Chosen(FALLBACK * largest)
    if rule == "auto":
        rule = "loo" if problem.K.shape[1] <= LARGEST_GRAM else "cv"
    # Half of the time is left for the final solve.
    clock = Clock(None if solver.max_time is None else solver.max_time / 2)
    steps = range(PER_DECADE * DECADES[rule] + 1)
    epsilons = [largest * 10 ** (-step / PER_DECADE) for step in steps]
    found, values, least = [], [], NOTHING * (problem.y @ problem.y) if rule != "aicc" else -np.inf
    for judgement in JUDGES[rule](description, problem, y, epsilons, solver):
        found.append(judgement)
        values.append(judgement.value)
        behind = len(values) - 1 - np.argmin(values)
        dense = judgement.n_support > DENSEST * n_distinct
        if behind >= PATIENCE or dense or judgement.value <= least:
            break
        if clock.over:
            _warn_of_time(epsilons[len(values) - 1] / largest)
            break
    chosen = int(np.argmax(np.array(values) <= _good_enough(min(values), rule)))
    return Chosen(epsilons[chosen], found[chosen].alpha)


def _good_enough(best, rule):
    """The value of the criterion up to which the largest epsilon wins."""
    return best if rule == "aicc" else best * (1 + SLACK)


def _left_out(description, problem, y, epsilons, solver):
    """The squared leave-one-out error along the exact path of all rows."""
    K, weights = problem.K, description.weights
    loo, Q = LeaveOneOut(description, problem, y), K.gram()
    path = exact_path(Q, problem.l, problem.C, np.array(epsilons[1:]), len(y))
    alphas = [np.zeros(K.shape[1])]
    while alphas:
        for alpha, f in zip(alphas, loo.decisions(np.array(alphas), Q), strict=True):
            value = weights @ np.square(np.where(weights > 0, y - f, 0.0))
            value = value if np.isfinite(value) else np.inf  # rows that are interpolated
            yield Judgement(value, np.count_nonzero(alpha), alpha)
        alphas = list(islice(path, AHEAD))


def _held_out(description, problem, y, epsilons, solver):
    """The squared error on the rows of each fold along the path of the others."""
    solver = _exact(solver)
    folds = assign_folds(description.digests, y, description.weights)
    total, paths, criteria = description.weights.sum(), [], []
    for fold in range(folds.max() + 1):
        part = description.counting(folds != fold)
        # K̃'y and alpha grow like the root of the sample size, and epsilon and C with them.
        scale = np.sqrt(part.weights.sum() / total)
        stated = part.problem(y, scale * problem.C)
        paths.append(_path(stated, [scale * epsilon for epsilon in epsilons], solver))
        criteria.append(_held_out_error(description, y, folds == fold))
    for solutions in zip(*paths, strict=True):
        value = sum(error(s) for error, s in zip(criteria, solutions, strict=True))
        yield Judgement(value, max(len(solution.support) for solution in solutions))


def _informed(description, problem, y, epsilons, solver):
    """The corrected Akaike criterion along the path of all rows."""
    criterion = _aicc(problem)
    for solution in _path(problem, epsilons, _exact(solver)):
        yield Judgement(criterion(solution), len(solution.support))


JUDGES = {"loo": _left_out, "cv": _held_out, "aicc": _informed}


def _exact(solver):
    """Paths need exact small solves, whichever solver is to have the last word."""
    return WorkingSet(
        tol=max(solver.tol, PATH_TOL), max_iter=solver.max_iter, max_time=solver.max_time
    )


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
