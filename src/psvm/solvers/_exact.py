"""The exact path of a problem with few columns, from their products alone."""

import numpy as np

from ._homotopy import homotopy_workspace

AHEAD = 2
"""Points of the path that the compiled loop visits at once."""


def exact_path(problem, epsilons, gram=None):
    """Solutions along decreasing epsilon, exact, without a pass over the rows between them.

    They are not certified: `Solver.minimise` does that, from one of them as its start.

    Parameters
    ----------
    problem : Problem
    epsilons : ndarray
        Decreasing, all below epsilon_max.
    gram : ndarray of shape (P, P), default=None
        ``Q = K̃'K̃``, if it is known.

    Yields
    ------
    ndarray of shape (P,)
        alpha.
    """
    K, largest, P = problem.K, problem.epsilon_max, problem.K.shape[1]
    workspace = homotopy_workspace(K)
    workspace.whole = True
    workspace.take_whole(K.gram() if gram is None else gram)
    index = workspace.index
    workspace.small.start(problem.C, largest, largest, np.zeros(P), -problem.l, index)
    for first in range(0, len(epsilons), AHEAD):
        _, alphas = workspace.small.trace(epsilons[first : first + AHEAD], AHEAD, False)
        for some in alphas:
            alpha = np.zeros(P)
            alpha[index] = some
            yield alpha
