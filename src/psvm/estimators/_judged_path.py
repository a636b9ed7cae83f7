"""The exact path of a problem, and what each row without itself says about its solutions."""

from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from ..solvers import exact_path
from ._loo import LeaveOneOut


class JudgedPoints(NamedTuple):
    """Successive points of a path."""

    alphas: np.ndarray
    """Solutions, of shape (m, P)."""
    decisions: np.ndarray
    """Leave-one-out values of all rows, of shape (m, L); NaN where they mean nothing."""


class JudgedPath:
    """Solutions along decreasing epsilon with their leave-one-out values, as they are asked for.

    Parameters
    ----------
    description : Description
        With its digests, and columns few enough for their products.
    y : ndarray of shape (L,)
    C : float
    shares : ndarray
        Decreasing epsilons as shares of epsilon_max.
    """

    def __init__(self, description, y, C, shares):
        self.problem = problem = description.problem(y, C)
        self.loo, self.Q = LeaveOneOut(description, problem, y), description.gram()
        epsilons, largest = problem.epsilon_max * shares, problem.epsilon_max
        empty = np.zeros((np.count_nonzero(epsilons >= largest), problem.K.shape[1]))
        path = exact_path(problem, epsilons[epsilons < largest], self.Q, ahead=1)
        self._alphas = chain(empty, path)

    def ahead(self, count):
        """The next points, at least one of which must be left."""
        alphas = np.array(list(islice(self._alphas, count)))
        return JudgedPoints(alphas, self.loo.decisions(alphas, self.Q))
