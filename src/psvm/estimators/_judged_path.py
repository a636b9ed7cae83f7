"""Paths of solutions with the values of rows left out, and what these are worth."""

from typing import NamedTuple

import numpy as np

from ._epsilon import (
    NOTHING,
    count_distinct,
    judged_rows,
    largest_support,
    left_out_points,
)
from ._judge import NumbersJudge, PairJudge
from ._loo import LeaveOneOut
from ._shared import DENSEST as DENSEST_SHARED
from ._shared import SharedTask
from ._sigmoid import fit_sigmoid

DENSEST = 0.7
"""Support objects as a share of the distinct rows that end the path of a machine in a search, which
looks for a small error where a single model looks for a small support."""


class JudgedPoints(NamedTuple):
    """Successive points of the path of one machine, or of T that share their support."""

    alphas: np.ndarray
    """Solutions before they are relaxed, of shape (m, T, P)."""
    decisions: np.ndarray
    """Leave-one-out values of the rows, of shape (m, T, L), with the constant of the model; NaN
    where they mean nothing."""
    shifts: np.ndarray
    """What is added to the mean of the target for that constant, of shape (m, T)."""
    losses: np.ndarray
    """What the values of each row lose, of shape (m, L)."""

    def __getitem__(self, some):
        return JudgedPoints(*(array[some] for array in tuple(self)))


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
    rows : ndarray of bool of shape (L,), default=None
        The rows that count; equal ones must be together. None means all.
    """

    def __init__(self, description, problem, y, classifies, rows=None):
        counts = np.full(len(y), True) if rows is None else rows
        self.loo = LeaveOneOut(description, problem, y, np.flatnonzero(counts))
        self.y, self.classifies = y, classifies
        kind = PairJudge if classifies else NumbersJudge
        self.judge = kind(np.where(counts, description.weights, 0.0), self.loo.group, y)

    def left_out(self, alphas, Q=None, relaxation=0.0):
        """Relaxed solutions, and what is added to the mean of their target."""
        decisions, relaxed = self.loo.decisions(alphas, Q, relaxation)
        return relaxed, self.judged(decisions)[0]

    def judged(self, decisions):
        """What leave-one-out values ask to add to their constant, and what each row loses.

        Values that mean nothing are NaN and do not count for the constant.
        """
        losses, shifts = self.judge(decisions)
        for point in np.flatnonzero(np.isnan(decisions[:, self.judge.weights > 0]).any(axis=1)):
            shifts[point] = self._known_shift(decisions[point])
        return shifts, losses[:, self.loo.group]

    def _known_shift(self, f):
        """That of values of which some mean nothing."""
        if self.classifies:
            return -fit_sigmoid(f, self.y > 0, self.judge.weights, self.loo.unit).threshold
        return self.judge.known_shift(f)


class JudgedPath:
    """Solutions of one machine along decreasing epsilon, with their leave-one-out values.

    Parameters
    ----------
    description : Description
        With its digests, and columns few enough for their products.
    y : ndarray of shape (L,)
    C : float
    shares : ndarray
        Decreasing epsilons as shares of epsilon_max.
    relaxation : float
    some : bool
        Whether the values of some rows are enough if there are very many.
    classifies : bool
        Whether y is -1 and +1 for two classes.

    Attributes
    ----------
    weights : ndarray of shape (L,)
        Of the rows in the mean loss.
    most : float
        The number of support objects that ends the path.
    least : float
        The loss that does.
    """

    def __init__(self, description, y, C, shares, relaxation, some, classifies):
        self.problem, self.shares = description.problem(y, C), shares
        self.description, self.relaxation = description, relaxation
        self.y, self.counts = y, judged_rows(description) if some else np.full(len(y), True)
        self.constant = LeftOutConstant(description, self.problem, y, classifies, self.counts)
        judge, y = self.constant.judge, self.problem.y
        self.weights, self.least = judge.weights, judge.least
        if not classifies:
            self.least = NOTHING * (y @ y) / description.weights.sum()
        dense = DENSEST * count_distinct(description)
        self.most = largest_support(description, dense, relaxation)

    def __iter__(self):
        """Some points after some."""
        inside = self.shares[self.shares < 1]
        # A path begins where all variables are 0; there may be several such points, or none.
        n_empty = len(self.shares) - len(inside)
        epsilons = self.problem.epsilon_max * np.concatenate([[1.0], inside])
        rows, most = np.flatnonzero(self.counts), self.most
        blocks = left_out_points(
            self.description, self.problem, self.y, epsilons, self.relaxation, rows, most
        )
        first = True
        for block in blocks:
            points = block[:1] * n_empty + block[1:] if first else block
            first = False
            if points:
                yield self._judged(points)

    def _judged(self, points):
        alphas = np.array([point.alpha for point in points])
        decisions = np.array([point.decisions for point in points])
        shifts, losses = self.constant.judged(decisions)
        decisions = decisions + shifts[:, None]
        return JudgedPoints(alphas[:, None], decisions[:, None], shifts[:, None], losses)

    def relaxed(self, alphas):
        """Solutions that have gone their way to least squares."""
        if self.relaxation == 0:
            return alphas
        return self.constant.left_out(alphas, self.description.gram(), self.relaxation)[0]


class SharedPath:
    """The same of machines that share their support.

    `Y` has the shape (n_machines, L), +1 for the class of a machine and -1 for the rest; `tol` is
    that of the solutions.
    """

    def __init__(self, description, Y, shares, relaxation, some, tol):
        self.task, self.shares, self.tol = SharedTask(description, Y, relaxation), shares, tol
        self.rows = judged_rows(description) if some else np.full(Y.shape[1], True)
        self.judge = self.task.judge(self.rows)
        self.weights, self.least = self.judge.weights, self.judge.least
        dense = DENSEST_SHARED * count_distinct(description)
        self.most = largest_support(description, dense, relaxation)

    def __iter__(self):
        """One point after the other."""
        epsilons = self.task.largest * self.shares
        for (point,) in self.task.path(epsilons, self.tol, self.rows):
            losses, _ = self.judge(point.decisions[None])
            shifts = self.judge.known_shift(point.decisions)
            decisions = point.decisions + shifts[:, None]
            losses = losses[:, self.judge.group]
            yield JudgedPoints(point.alpha[0].A.T[None], decisions[None], shifts[None], losses)
