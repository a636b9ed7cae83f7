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
from ._landmarks import MOST
from ._loo import LeaveOneOut
from ._sigmoid import weight_of_one

PER_DECADE, DECADES = 4, 6
"""Points of epsilon / epsilon_max in a factor of ten, and how many such factors."""
STANDARD_ERRORS = 1.0
"""Those that the loss may exceed the smallest by: a common support is small as it is."""
DENSEST = 0.3
"""Support objects as a share of the distinct rows that end the path: each point costs more than
all before it."""
JUDGED = 1000
"""Of more distinct rows, half decide at most."""
GAIN = 2.0
"""The path ends when two points together gain less than so many standard errors."""

LOOSE = 0.1
"""Tolerance of the points of the path that have a large support: a few objects more or less make
no difference there, and the final solution has its own tolerance."""
SMALL, STEPS = 300, 3
"""Beyond so many columns all points are loose, and those with a large support have only so many
Newton steps: what they are worth is that of solutions of as many support objects. The final
solution is judged as well, and if it is worth less, the path is followed once more."""
WORSE = 2.0
"""By how many standard errors; less may be chance."""

CROWDED = 0.6
"""Columns that are some of the training objects are too few if more than this share of them is in
the support."""


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
    if isinstance(epsilon, str):
        solution, (left_out, alphas) = task.choose(solver, clock)
    else:
        epsilon = epsilon * task.largest if unit == "max" else epsilon
        solution = task.solve(epsilon, solver, clock)
        left_out, alphas = task.left_out(solution.A)
    judge = task.judge()
    return Shared(
        solution, alphas, judge.known_shift(left_out), left_out, weight_of_one(judge.total)
    )


def is_crowded(description, solution):
    """Whether the training objects that describe are too few, and the others could as well."""
    P, n_distinct = description.matrix.shape[1], count_distinct(description)
    drawn = description.own is not None and P < n_distinct <= MOST
    return drawn and len(solution.support) > CROWDED * P


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

    def choose(self, solver, clock):
        """The solution for the chosen epsilon, with what `left_out` says of it."""
        n_distinct = count_distinct(self.description)
        if n_distinct < 3 or self.largest == 0:
            solution = self.solve(FALLBACK * self.largest, solver, clock)
            return solution, self.left_out(solution.A)
        epsilons = self.largest * 10 ** (-np.arange(PER_DECADE * DECADES + 1) / PER_DECADE)
        most = largest_support(self.description, DENSEST * n_distinct, self.relaxation)
        judged, search = judged_rows(self.description, JUDGED), clock.half()
        judge = self.judge(judged)
        # Standard errors are those of all rows.
        errors = STANDARD_ERRORS * np.sqrt(judged.mean())
        for hurried in (True, False) if len(self.Q) > SMALL else (False,):
            path = self.path(epsilons, solver.tol, judged, search, hurried)
            chosen = best_of_path(
                path, judge, epsilons, most, search, errors, least_gain=GAIN * errors
            )
            near, values = chosen.alpha
            solution = self.solve(chosen.epsilon, solver, clock, start=near)
            found = self.left_out(solution.A)
            losses, _ = judge(np.array([values, found[0]]))
            beyond, error = judge.differences(losses, 0)
            if beyond[1] <= WORSE * error[1] or search.over:
                break
        return solution, found

    def solve(self, epsilon, solver, clock, start=None):
        """The solution for one epsilon."""
        limit = {} if solver.max_iter is None else {"max_iter": solver.max_iter}
        products = self.Q, self.B, epsilon, solver.tol, self.squares
        return group_solve(*products, start=start, clock=clock, **limit)

    def path(self, epsilons, tol, judged, clock=None, hurried=False):
        """The leave-one-out values of some rows along the path, one point at a time.

        Small supports are those of the final solution, large ones almost; or all are near those of
        solutions for a somewhat larger epsilon, and the path is hurried.
        """
        loo = self.loo
        if not judged.all():
            rows = np.flatnonzero(judged)
            loo = LeaveOneOut(self.description, self.problem, self.Y[0], rows)
        limits = {"max_iter": STEPS} if hurried else {}
        products = self.Q, self.B, epsilons, max(tol, LOOSE) if hurried else tol, self.squares
        for solution in group_path(*products, loose=LOOSE, clock=clock, **limits):
            decisions, alphas = self.left_out(solution.A, loo)
            count = np.count_nonzero(alphas.any(axis=0))
            yield [PathPoint(decisions, count, (solution, decisions))]

    def left_out(self, A, loo=None):
        """Leave-one-out values, of all rows or of some, and relaxed variables."""
        found = loo or self.loo
        return found.shared(A, self.Q, self.B, self.targets, self.Y, self.relaxation)

    def judge(self, counts=True):
        """What the values of the rows that count are worth."""
        weights = np.where(counts, self.description.weights, 0.0)
        return ClassesJudge(weights, self.groups, self.Y)
