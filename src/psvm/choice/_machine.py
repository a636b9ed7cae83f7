"""One machine, or several with a common support: from described rows to what they say of others."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._folds import N_FOLDS, assign_folds
from ..solvers import WorkingSet, group_solve
from ._calibration import Curve, fit_steps
from ._folds import Akaike, Criterion, Folds, path_of
from ._left_out import LARGEST_GRAM, LeaveOneOut, SharedLeaveOneOut, judge_rows
from ._loss import ClassesLoss, LogLoss, SquaredLoss
from ._sigmoid import Sigmoid
from ._walk import grid, walk

PATH_TOL = 0.01
"""Tolerance on paths that are not exact: losses need no more."""
NOISE = 1e-4
"""Where rounding changes the gradient by more than this share of epsilon, no solver gets to the
default tolerance."""


class Fitted(NamedTuple):
    """What one machine has learnt."""

    columns: np.ndarray
    """Places of its variables among all columns."""
    means: np.ndarray
    norms: np.ndarray
    intercept: float
    """The constant b, with its shift."""
    solution: object
    """`Solution`, or the `GroupSolution` of all machines with a common support."""
    alpha: np.ndarray
    """Its variables."""
    curve: Curve | None
    """What turns its decision values into probabilities."""
    left_out: np.ndarray | None
    """Values of its rows without themselves; NaN for rows that are not judged, or interpolated."""


class Machine:
    """One machine: it follows walks, is solved, and gets its constant from held-out rows.

    `RowsMachine` has its rows in memory, `SumsMachine` sums over them. Both have the following
    attributes.

    Attributes
    ----------
    columns : ndarray of int
        Places of its variables among all columns.
    means, norms : ndarray of shape (P,)
        Statistics of the columns.
    b : float
        The mean target.
    C : float
    largest : float
        The smallest epsilon without support objects.
    n_distinct : int
        The number of distinct rows.
    judged : JudgedRows
        The rows that are held out one by one.
    numbers : ndarray of int
        For each row that is in memory its number among these, or -1.
    products : ndarray of shape (P, P), or callable
        ``K̃'K̃``, or a function that returns that of some columns.
    classifies : bool
        Whether the target is -1 and +1 for two classes.
    """

    def choose(self, source, rule, clock, rival=None):
        """The walk that chooses epsilon, from "loo", "cv" or "aicc"; None with too few rows.

        `rival` is the best walk so far of the same rows.
        """
        if self.n_distinct < 3:
            return None
        held_out, loss = {"loo": self.left_out, "cv": self.folds, "aicc": self.criterion}[source]()
        rule = "best" if source == "aicc" else rule  # a criterion has no standard error
        epsilons = grid(self.largest)
        most, half = self.n_distinct - 1, clock.half()
        return walk(held_out, loss, epsilons, most, half, rule, rival=rival)

    def left_out(self):
        """Leave-one-out values, and their loss."""
        return self.source, self.loss

    def criterion(self):
        """The corrected Akaike criterion."""
        constant = self.squares(np.zeros(len(self.columns)))
        return Akaike(self.total, self.squares, constant, self.path), Criterion()

    @cached_property
    def source(self):
        """Leave-one-out values."""
        return LeaveOneOut(self.judged, self.products, self.C, self.path)

    @cached_property
    def loss(self):
        """The loss of the judged rows."""
        judged = self.judged
        if self.classifies:
            return LogLoss(judged.weights, judged.targets)
        return SquaredLoss(judged.weights, judged.targets, judged.variances, self.ends)

    def finish(self, solution, threshold, probability):
        """The machine of a solution, with the constant that new objects need.

        `threshold` and `probability` are those of `PSVC`.
        """
        shift, curve, left_out = 0.0, None, None
        if threshold == "loo" or probability or "source" in vars(self):
            values = self.source.values(solution.alpha)
            shift = float(self.loss.shifts(values[None])[0]) if threshold == "loo" else 0.0
            curve = curve_of(self.loss, values, shift, probability) if probability else None
            left_out = _of_rows(values + shift, self.numbers)
        constants = self.means, self.norms, self.b + shift
        return Fitted(self.columns, *constants, solution, solution.alpha, curve, left_out)


class RowsMachine(Machine):
    """A machine whose rows are in memory.

    Parameters
    ----------
    description : Description
        Of its rows. With its digests, if values of held-out rows will be asked for.
    y : ndarray of shape (L,)
        The target.
    C : float
    classifies : bool
    solver : Solver
    """

    def __init__(self, description, y, C, classifies, solver):
        self.description, self.y, self.C = description, y, C
        self.classifies, self.solver = classifies, solver
        self.problem = description.problem(y, C)
        self.columns, self.b, self.largest = (
            description.columns,
            self.problem.b,
            self.problem.epsilon_max,
        )
        self.means, self.norms = self.problem.K.means, self.problem.K.norms
        self.total = description.weights.sum()

    @property
    def n_distinct(self):
        """The number of distinct rows with weight."""
        return self.description.n_distinct

    def solve(self, epsilon, clock, start=None):
        """The certified solution."""
        problem = self.problem.with_parameters(epsilon=epsilon)
        return clock.limit(self.solver).minimise(problem, start=start)

    def folds(self):
        """Five folds by content, and the loss of their rows."""
        weights, digests = self.description.weights, self.description.digests
        order = self.description.order
        return self.of_folds(folds_by_content(digests, self.y, weights, order=order))

    def of_folds(self, splits):
        """Given folds, as for `Folds`, and the loss of their rows; equal ones count together."""
        parts = [self._distinct(out) for _, out in splits]
        rows = [first for first, *_ in parts]
        weights, means, variances = (np.concatenate(x) for x in list(zip(*parts, strict=True))[1:])
        splits = [(times, out) for (times, _), out in zip(splits, rows, strict=True)]
        if self.classifies:
            loss = LogLoss(weights, means[None])
        else:
            loss = SquaredLoss(weights, means[None], variances, self.ends)
        return Folds(self.description, self.y, self.C, splits, self._solver), loss

    def _distinct(self, rows):
        """One of each group of equal rows, their weights, mean targets and variances of these."""
        weights, y = self.description.weights[rows], self.y[rows]
        _, first, number = np.unique(
            self.description.groups[rows], return_index=True, return_inverse=True
        )
        total = np.bincount(number, weights)
        share = weights / np.where(total > 0, total, 1.0)[number]
        means = np.bincount(number, share * y)
        return rows[first], total, means, np.bincount(number, share * np.square(y - means[number]))

    @cached_property
    def judged(self):
        return self._judged[0]

    @property
    def numbers(self):
        return self._judged[1]

    @cached_property
    def _judged(self):
        return judge_rows(self.description, self.problem.K, self.y[None])

    @property
    def products(self):
        few = self.problem.K.shape[1] <= LARGEST_GRAM
        return self.description.gram if few else self._products

    def _products(self, used):
        Z = self.problem.K.columns(used)
        return Z.T @ Z

    @property
    def ends(self):
        """The range of the target."""
        y = self.y[self.description.weights > 0]
        return np.array([y.min()]), np.array([y.max()])

    @property
    def _solver(self):
        """Paths need exact small solves, whichever solver is to have the last word."""
        limits = {"max_iter": self.solver.max_iter, "max_time": self.solver.max_time}
        return WorkingSet(tol=max(self.solver.tol, PATH_TOL), **limits)

    def path(self, epsilons):
        """Solutions of all rows, as long as they can be certified in double precision."""
        Q = None if callable(self.products) else self.products
        path = path_of(self.problem, Q, epsilons, self._solver)
        for epsilon, alpha in zip(epsilons, path, strict=False):
            rounding = np.finfo(float).eps * np.abs(alpha).sum()
            if rounding > NOISE * epsilon:
                return
            yield alpha

    def squares(self, alpha):
        """The sum of the squared residuals of a solution."""
        residual = self.problem.residual(alpha)
        return float(residual @ residual)


def folds_by_content(digests, y, weights, n_folds=N_FOLDS, order=None):
    """Splits for `Folds` that depend on the content of the rows only; equal rows share a fold."""
    number = assign_folds(digests, y, weights, n_folds, order)
    folds = range(number.max() + 1)
    return [((number != fold) & (number >= 0), np.flatnonzero(number == fold)) for fold in folds]


class SharedMachines:
    """Machines of one class against the rest that choose from a common set of support objects.

    Parameters
    ----------
    columns, means, norms : ndarray of shape (P,)
        As those of a `Machine`.
    products : tuple
        ``K̃'K̃``, ``K̃'Y`` and the sum of the squares of the centred targets.
    b : ndarray of shape (T,)
        The mean targets.
    judged, numbers, n_distinct
        As those of a `Machine`.
    solver : Solver
        Its tolerance and limit of iterations hold.
    """

    def __init__(self, columns, means, norms, products, b, judged, numbers, n_distinct, solver):
        self.columns, self.means, self.norms, self.b = columns, means, norms, b
        self.products, self.solver = products, solver
        self.judged, self.numbers, self.n_distinct = judged, numbers, n_distinct
        self.largest = float(np.sqrt(np.square(products[1]).sum(axis=1)).max(initial=0.0))
        self.loss = ClassesLoss(judged.weights, judged.targets)

    @classmethod
    def of_rows(cls, description, Y, solver):
        """Machines whose rows are in memory, with targets of shape (T, L)."""
        K = description.standardized(Y[0])
        targets = np.array([K.target(y) for y in Y])
        products = description.gram, np.ascontiguousarray(K.rmatvec(targets.T))
        squares, b = float(np.square(targets).sum()), np.array([K.mean(y) for y in Y])
        judged = judge_rows(description, K, Y)
        statistics = description.columns, K.means, K.norms, (*products, squares), b
        return cls(*statistics, *judged, description.n_distinct, solver)

    @property
    def source(self):
        """Leave-one-out values."""
        return SharedLeaveOneOut(self.judged, *self.products, max(self.solver.tol, PATH_TOL))

    def choose(self, source, rule, clock, rival=None):
        """The walk that chooses epsilon; None with too few rows."""
        if self.n_distinct < 3:
            return None
        epsilons, half = grid(self.largest), clock.half()
        most = self.n_distinct - 1
        return walk(self.source, self.loss, epsilons, most, half, rule, rival=rival)

    def solve(self, epsilon, clock, start=None):
        """The certified solution of all machines."""
        limit = {} if self.solver.max_iter is None else {"max_iter": self.solver.max_iter}
        Q, B, squares = self.products
        return group_solve(
            Q, B, epsilon, self.solver.tol, squares, start=start, clock=clock, **limit
        )

    def finish(self, solution, threshold, probability):
        """The machines of a solution, as for `Machine.finish`."""
        values, alphas = self.source.values(solution.A)
        shifts = self.loss.shifts(values) * (threshold == "loo")
        asked = threshold == "loo" or probability
        for place, b in enumerate(self.b):
            curve, left_out, shift = None, None, float(shifts[place])
            if probability:
                loss = LogLoss(self.judged.weights, self.judged.targets[place : place + 1])
                curve = curve_of(loss, values[place], shift, probability)
            if asked:
                left_out = _of_rows(values[place] + shift, self.numbers)
            constants, alpha = (self.means, self.norms, b + shift), alphas[:, place]
            yield Fitted(self.columns, *constants, solution, alpha, curve, left_out)


def curve_of(loss, values, shift, probability):
    """The curve that turns values plus a shift into probabilities."""
    if probability == "isotonic":
        inside = loss.inside(values[None])[0]
        return fit_steps(inside + shift, loss.positive, loss.weights, loss.unit)
    slope, middle, _ = loss.curve(values[None])
    if not slope:
        return Sigmoid(0.0, loss.constant)
    # Both classes are equally probable at 0 exactly, if the threshold has been moved there.
    return Sigmoid(slope, 0.0 if shift else -slope * middle)


def _of_rows(values, numbers):
    """Values of judged rows for all rows, NaN for rows that are not judged; None without rows."""
    return None if numbers is None else np.where(numbers >= 0, values[numbers], np.nan)
