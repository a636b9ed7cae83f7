"""The exact path of a problem with few columns, from their products alone."""

import numpy as np

from .._core._active_set import ActiveSet

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
