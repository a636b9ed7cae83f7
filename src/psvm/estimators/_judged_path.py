"""Paths of solutions with the values of rows left out, and the constant that these ask for."""

from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from ..solvers import exact_path
from ._judge import NumbersJudge, PairJudge
from ._loo import LeaveOneOut
from ._sigmoid import fit_sigmoid


class JudgedPoints(NamedTuple):
    """Successive points of a path."""

    alphas: np.ndarray
    """Solutions, of shape (m, P)."""
    decisions: np.ndarray
    """Leave-one-out values of all rows, of shape (m, L), with the constant of the model; NaN where
    they mean nothing."""
    shifts: np.ndarray
    """What is added to the mean of the target for that constant, of shape (m,)."""


class LeftOutConstant:
    """The constant of the solutions of one machine, from their leave-one-out values.

    Parameters
    ----------
    description : Description
        With its digests.
    problem : Problem
    y : ndarray of shape (L,)
    classifies : bool
        Whether the constant is the threshold of a sigmoid; else it has the least squared error.
    """

    def __init__(self, description, problem, y, classifies):
        self.loo, self.y, self.classifies = LeaveOneOut(description, problem, y), y, classifies
        kind = PairJudge if classifies else NumbersJudge
        self.judge = kind(description.weights, self.loo.group, y)

    def left_out(self, alphas, Q=None):
        """Leave-one-out values with the constant, and what it adds to the mean of the target.

        Values that mean nothing are NaN and do not count for the constant.
        """
        decisions, _ = self.loo.decisions(alphas, Q)
        shifts = self.judge(decisions).shifts
        for point in np.flatnonzero(np.isnan(decisions[:, self.loo.weights > 0]).any(axis=1)):
            shifts[point] = self._known_shift(decisions[point])
        return decisions + shifts[:, None], shifts

    def _known_shift(self, f):
        """That of values of which some mean nothing."""
        if self.classifies:
            return -fit_sigmoid(f, self.y > 0, self.loo.weights, self.loo.unit).threshold
        return self.judge.known_shift(f)


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
    classifies : bool or None
        As for `LeftOutConstant`; None leaves the mean of the target as the constant.
    """

    def __init__(self, description, y, C, shares, classifies):
        self.problem = problem = description.problem(y, C)
        self.constant = LeftOutConstant(description, problem, y, bool(classifies))
        self.mended, self.Q = classifies is not None, description.gram()
        epsilons, largest = problem.epsilon_max * shares, problem.epsilon_max
        empty = np.zeros((np.count_nonzero(epsilons >= largest), problem.K.shape[1]))
        stops = epsilons[epsilons < largest]
        path = exact_path(self.Q, problem.l, C, stops, len(y))
        self._alphas = chain(empty, path)

    def ahead(self, count):
        """The next points, at least one of which must be left."""
        alphas = np.array(list(islice(self._alphas, count)))
        if self.mended:
            return JudgedPoints(alphas, *self.constant.left_out(alphas, self.Q))
        decisions, _ = self.constant.loo.decisions(alphas, self.Q)
        return JudgedPoints(alphas, decisions, np.zeros(len(alphas)))
