"""The exact path of a problem with few columns, from their products alone."""

import numpy as np

from .._core._homotopy import Homotopy

AHEAD = 8
"""Points of the path that the compiled loop visits at once."""


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
        Decreasing. The solution is 0 for those that are not below ``||l||_inf``.
    rank : int, default=None
        Upper bound of the rank of Q, if it is less than P.

    Yields
    ------
    ndarray of shape (P,)
        alpha.
    """
    P, largest = len(l), np.abs(l).max(initial=0.0)
    below = epsilons[epsilons < largest]
    for _ in range(len(epsilons) - len(below)):
        yield np.zeros(P)
    index = np.flatnonzero(Q.diagonal() > 0)
    small = Homotopy(P if rank is None else rank, len(index))
    small.extend(np.asfortranarray(Q if len(index) == P else Q[np.ix_(index, index)]))
    small.start(C, largest, largest, np.zeros(P), -l, index)
    for first in range(0, len(below), AHEAD):
        _, alphas = small.trace(below[first : first + AHEAD], AHEAD, False)
        for some in alphas:
            alpha = np.zeros(P)
            alpha[index] = some
            yield alpha
