"""The exact path of a problem with few columns, from their products alone."""

import numpy as np

from .._core._active_set import ActiveSet
from ..problem import PRECISION as SMALLEST_ALLOWED
from ..problem import gap_of_products, kkt_violation, objective
from ._solution import Solution, Status

AHEAD = 2
"""Points of a path that are looked at together."""
TOL, PRECISION = 1e-6, 1e-13
"""Violation that ends an exact solve, as a share of epsilon and of ``||K̃'y||_inf``: the Newton
steps before it leave rounding errors."""
DEPENDENT = 1e-13
"""Squared distance from the others below which a column counts as their combination."""
WORK = 5e8
"""Operations of one uninterrupted run of the core: less than half a second."""


def exact_path(Q, l, C, epsilons, rank=None):
    """Solutions along decreasing epsilon, exact, without the rows behind the products.

    They are not certified: `Solver.minimise` does that, from one of them as its start.

    Parameters
    ----------
    Q : ndarray of shape (P, P)
        ``K̃'K̃`` with a diagonal of ones, or zeros for columns that take no part.
    l : ndarray of shape (P,)
        ``K̃'y``.
    C : float
    epsilons : ndarray
        Decreasing.
    rank : int, default=None
        Upper bound of the rank of Q, if it is less than P.

    Yields
    ------
    ndarray of shape (P,)
        alpha.
    """
    P, largest = len(l), np.abs(l).max(initial=0.0)
    index = np.flatnonzero(Q.diagonal() > 0)
    small = ActiveSet(P if rank is None else rank, max(len(index), 1))
    if len(index):
        some = Q if len(index) == P else Q[np.ix_(index, index)]
        small.adopt(np.ascontiguousarray(some).T)  # symmetric
    small.S.dependent, small.F[:] = DEPENDENT, -l[index]
    for epsilon in epsilons:
        small.begin(C, epsilon, max(TOL * epsilon, PRECISION * largest), 0)
        while not small.solve(WORK):
            pass
        alpha = np.zeros(P)
        alpha[index] = small.alpha
        yield alpha


def products_solution(alpha, F, l, rr, problem, tol, *, source, n_iter=1, time=0.0):
    """The certified solution alpha of a problem that is known by products alone.

    Parameters
    ----------
    alpha, F : ndarray of shape (P,)
        The variables and their gradient.
    l : ndarray of shape (P,)
        ``K̃'y``.
    rr : float
        ``||y - K̃ alpha||^2``.
    problem : dict
        `C`, `epsilon`, `coef` and `intercept` of the solution.
    tol : float
        KKT violation that is allowed, relative to epsilon.
    source : {"rows", "moments"}
        What F was computed from.
    n_iter, time
        As in `Solution`.

    Returns
    -------
    Solution
    """
    C, epsilon = problem["C"], problem["epsilon"]
    violation = float(kkt_violation(alpha, F, C, epsilon).max(initial=0.0))
    largest = np.abs(l).max(initial=0.0)
    allowed = max(tol * (epsilon or largest), SMALLEST_ALLOWED * largest)
    return Solution(
        alpha=alpha,
        F=F,
        objective=objective(alpha, F, l, epsilon),
        gap=gap_of_products(alpha, F, rr, C, epsilon),
        kkt_violation=violation,
        status=Status.OPTIMAL if violation <= allowed else Status.STALLED,
        n_iter=n_iter,
        n_q_columns=len(alpha),
        n_blocks=0,
        time=time,
        source=source,
        **problem,
    )
