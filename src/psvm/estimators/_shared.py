"""Machines of several classes that choose from a common set of support objects.

The penalty counts the norm of the variables that an object has in all machines, so that it
supports all of them or none. The variables are the least squares of that support, or go some way
to it, and their leave-one-out values have one factor for all machines.
"""

from typing import NamedTuple

import numpy as np

from ..solvers import GroupSolution, group_path, group_solve
from ._epsilon import (
    FALLBACK,
    PathPoint,
    best_of_path,
    count_distinct,
    judged_rows,
    largest_support,
)
from ._judge import ClassesJudge
from ._loo import LeaveOneOut
from ._sigmoid import weight_of_one

PER_DECADE, DECADES = 4, 6
"""Points of epsilon / epsilon_max in a factor of ten, and how many such factors."""
STANDARD_ERRORS = 1.0
"""Those that the loss may exceed the smallest by: a common support is small as it is."""
DENSEST = 0.3
"""Support objects as a share of the distinct rows that end the path: each point costs more than
all before it."""


LOOSE = 0.1
"""Tolerance of the points of the path that have a large support: a few objects more or less make
no difference there, and the final solution has its own tolerance."""


class Shared(NamedTuple):
    """What all machines have learnt together."""

    solution: GroupSolution
    alphas: np.ndarray
    """The variables of each machine, which may be relaxed, of shape (n_machines, P)."""
    shifts: np.ndarray
    """What the leave-one-out values ask to add to each constant."""
    left_out: np.ndarray
    """The leave-one-out values, of shape (n_machines, L)."""
    unit: float
    """The weight that counts as one row."""


def fit_shared(description, Y, epsilon, unit, relaxation, solver, clock):
    """Fit machines that share their support.

    Parameters
    ----------
    description : Description
        With its digests.
    Y : ndarray of shape (n_machines, L)
        +1 for the class of a machine and -1 for the rest.
    epsilon : float or "auto"
    unit : {"absolute", "max"}
        The unit of a number.
    relaxation : float
    solver : Solver
        Its tolerance and limit of iterations hold.
    clock : Clock

    Returns
    -------
    Shared
    """
    task = SharedTask(description, Y, relaxation)
    start = None
    if isinstance(epsilon, str):
        epsilon, start = task.choose(solver.tol, clock)
    elif unit == "max":
        epsilon = epsilon * task.largest
    limit = {} if solver.max_iter is None else {"max_iter": solver.max_iter}
    products = task.Q, task.B, epsilon, solver.tol, task.squares
    solution = group_solve(*products, start=start, clock=clock, **limit)
    left_out, alphas = task.left_out(solution.A)
    judge = task.judge()
    return Shared(
        solution, alphas, judge.known_shift(left_out), left_out, weight_of_one(judge.total)
    )


class SharedTask:
    """The products of the columns and the targets, and what the values of rows are worth."""

    def __init__(self, description, Y, relaxation):
        self.description, self.Y, self.relaxation = description, Y, relaxation
        self.problem, self.groups = description.problem(Y[0], np.inf), description.groups
        K = self.problem.K
        self.targets = np.array([K.target(y) for y in Y])
        self.Q, self.B = description.gram(), np.ascontiguousarray(K.rmatvec(self.targets.T))
        self.squares = float(np.square(self.targets).sum())
        self.largest = float(np.sqrt(np.square(self.B).sum(axis=1)).max(initial=0.0))
        self.loo = LeaveOneOut(description, self.problem, Y[0])

    def choose(self, tol, clock):
        """The chosen epsilon, and the solution of the path there."""
        n_distinct = count_distinct(self.description)
        if n_distinct < 3 or self.largest == 0:
            return FALLBACK * self.largest, None
        epsilons = self.largest * 10 ** (-np.arange(PER_DECADE * DECADES + 1) / PER_DECADE)
        most = largest_support(self.description, DENSEST * n_distinct, self.relaxation)
        judged = judged_rows(self.description)
        clock = clock.half()
        path = self.path(epsilons, tol, judged, clock)
        # Standard errors are those of all rows.
        errors = STANDARD_ERRORS * np.sqrt(judged.mean())
        chosen = best_of_path(path, self.judge(judged), epsilons, most, clock, errors)
        return chosen.epsilon, chosen.alpha

    def path(self, epsilons, tol, judged, clock=None):
        """The leave-one-out values of some rows along the path, one point at a time.

        Small supports are those of the final solution, large ones almost.
        """
        loo = self.loo
        if not judged.all():
            rows = np.flatnonzero(judged)
            loo = LeaveOneOut(self.description, self.problem, self.Y[0], rows)
        products = self.Q, self.B, epsilons, tol, self.squares
        for solution in group_path(*products, loose=LOOSE, clock=clock):
            decisions, alphas = self.left_out(solution.A, loo)
            yield [PathPoint(decisions, np.count_nonzero(alphas.any(axis=0)), solution)]

    def left_out(self, A, loo=None):
        """Leave-one-out values, of all rows or of some, and relaxed variables."""
        found = loo or self.loo
        return found.shared(A, self.Q, self.B, self.targets, self.Y, self.relaxation)

    def judge(self, counts=True):
        """What the values of the rows that count are worth."""
        weights = np.where(counts, self.description.weights, 0.0)
        return ClassesJudge(weights, self.groups, self.Y)
