"""The low-level function: a matrix, a target and two parameters in, a `Solution` out."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._parameters import LIMITS
from .._threads import threads
from .._typing import ArrayLike, MatrixLike
from .._validation import (
    check_number,
    check_vector,
    check_weights,
    shown,
)
from ..matrix import DataMatrix, RowBlocks, Standardized, check_matrix, moments_of_blocks
from ..problem import Problem
from ._smo import SMO
from ._solution import Solution, Status
from ._solver import Solver
from ._working_set import WorkingSet


def solve(
    K: MatrixLike | DataMatrix | RowBlocks,
    y: ArrayLike | None = None,
    C: float = np.inf,
    *,
    epsilon: float,
    solver: Literal["auto"] | Solver = "auto",
    tol: float = 1e-4,
    max_iter: int | None = None,
    max_time: float | None = None,
    warm_start: ArrayLike | Solution | None = None,
    sample_weight: ArrayLike | None = None,
) -> Solution:
    """Solve the P-SVM problem of a matrix and a target.

    The columns of K are centred and scaled to unit norm, implicitly: K is never copied. With the
    standardised matrix K̃ and the centred y the problem is::

        minimise   1/2 ||y - K̃ alpha||^2 + epsilon ||alpha||_1    subject to -C <= alpha_j <= C

    Parameters
    ----------
    K : {array-like, sparse matrix, DataMatrix} of shape (L, P), or RowBlocks
        Rows are objects, columns are descriptive objects. K need not be square, symmetric or
        positive definite. `RowBlocks` with y are read once, to compute their moments.
    y : array-like of shape (L,)
        The target: -1 and +1 for two classes, any numbers for regression. Not with `RowBlocks`.
    C : float, default=inf
        Bound of the variables.
    epsilon : float
        Correlation threshold; the solution is 0 if it is ``||K̃'y||_inf`` or larger.
    solver : {"auto"}, SMO or WorkingSet, default="auto"
        The solver and its options.
    tol : float, default=1e-4
        Largest KKT violation relative to epsilon, or to ``||K̃'y||_inf`` if epsilon is 0.
    max_iter : int, default=None
        Largest number of iterations.
    max_time : float, default=None
        Largest time in seconds.
    warm_start : array-like of shape (P,) or Solution, default=None
        Where to start.
    sample_weight : array-like of shape (L,), default=None
        Weights of the rows. A weight of 2 is the same as repeating the row.

    Returns
    -------
    Solution
        alpha in the units of the standardised matrix, the certificate, and `coef` and `intercept`
        for ``K_new @ coef + intercept``.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped before the tolerance was reached. The solution can be used as a
        warm start.

    Examples
    --------
    >>> import numpy as np, psvm
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(50, 200))
    >>> y = 2 * K[:, 3] - K[:, 8]
    >>> solution = psvm.solve(K, y, epsilon=4.0)
    >>> solution.support
    array([3, 8])
    >>> bool(np.corrcoef(K @ solution.coef + solution.intercept, y)[0, 1] > 0.98)
    True
    """
    check_number("C", C, above=0, infinite=True)
    check_number("epsilon", epsilon, least=0)
    solver = make_solver(solver, tol=tol, max_iter=max_iter, max_time=max_time)
    matrix, y, weights = check_data(K, y, sample_weight)
    start = _check_start(warm_start, matrix.shape[1])
    with threads():
        problem = Problem.create(Standardized(matrix, weights, y=y), y, C, epsilon)
        solution = solver.minimise(problem, start=start)
    warn_if_not_optimal(solution)
    return solution


def make_solver(solver, *, tol, max_iter=None, max_time=None):
    """The solver object of the `solver` parameter, its open limits filled in."""
    limits = {"tol": tol, "max_iter": max_iter, "max_time": max_time}
    for name, value in limits.items():
        LIMITS[name](name, value)
    if isinstance(solver, str) and solver == "auto":
        solver = WorkingSet()
    if not isinstance(solver, (SMO, WorkingSet)):
        raise ValueError(
            f"solver must be 'auto' or an instance of psvm.SMO or psvm.WorkingSet, got "
            f"{shown(solver)}."
        )
    return solver.with_defaults(**limits)


def warn_if_not_optimal(solution, stacklevel=3):
    """Say how far an unfinished solution is from the optimum and what to change."""
    remedy = {
        Status.MAX_ITER: "Increase max_iter, or increase tol or epsilon.",
        Status.MAX_TIME: "Increase max_time, or increase tol or epsilon.",
        Status.STALLED: "Double precision allows no better; increase tol or epsilon.",
    }.get(solution.status)
    if remedy is not None:
        warnings.warn(
            f"The solver stopped ({solution.status.value}) after {solution.n_iter} iterations "
            f"with a KKT violation of {solution.kkt_violation:.3g} at epsilon = "
            f"{solution.epsilon:.3g} and a duality gap of {solution.gap:.3g} at an objective of "
            f"{solution.objective:.6g}. {remedy} The solution can be used as a warm start.",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def check_data(K, y, sample_weight):
    """The matrix, the target and the weights (or None) of a problem, checked.

    Blocks of rows are represented by a few rows that have the same moments.
    """
    if isinstance(K, RowBlocks):
        if y is not None or sample_weight is not None:
            raise ValueError("The blocks contain y and the weights: leave y out.")
        K, Y, sample_weight = moments_of_blocks(K).equivalent_rows()
        y = Y[:, 0] if Y.shape[1] == 1 else Y
    matrix = check_matrix(K)
    y = check_vector("y", y)
    L = matrix.shape[0]
    if L != len(y):
        raise ValueError(f"K has {L} rows but y has {len(y)} entries; they must agree.")
    return matrix, y, check_weights(sample_weight, L)


def _check_start(warm_start, P):
    if warm_start is None:
        return None
    alpha = warm_start.alpha if isinstance(warm_start, Solution) else warm_start
    alpha = check_vector("warm_start", alpha)
    if alpha.shape != (P,):
        raise ValueError(
            f"warm_start must have one entry for each of the {P} columns, got an array of shape "
            f"{alpha.shape}."
        )
    return alpha
