"""Machines of the same rows and columns, from sums over rows and a sample of the rows."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from ..choice import POLICY, SharedSums, SumsMachine, inverse, judge_sample
from ..matrix import Moments, row_hashes
from ._moments_certificate import warn_of_rounding
from ._trial import chosen


class Function(NamedTuple):
    """Machines as functions of the columns of K."""

    columns: np.ndarray
    coef: np.ndarray
    """Of shape (P, T)."""
    intercept: np.ndarray
    """Of shape (T,)."""
    middle: np.ndarray
    """The mean targets."""
    targets: list
    """Numbers of the targets; of a pair of classes, both."""
    pair: bool

    def residuals(self, K, Y, origin):
        """The rows that count, None for all, and ``[r, y - middle]`` of these."""
        rows, Y = None, Y[:, self.targets]
        if self.pair:
            rows = np.flatnonzero(Y.max(axis=1) > 0)
            Y, K = (Y[rows, 1:] - Y[rows, :1]) / 2, K[rows]
        K = K if len(self.columns) == K.shape[1] else K[:, self.columns]
        R = Y - K @ self.coef - (self.intercept + origin[self.columns] @ self.coef)
        return rows, np.hstack([R, Y - self.middle])


class Group:
    """One machine, or T that share their support.

    Parameters
    ----------
    machine : SumsMachine or SharedSums
    targets : list of int
        The numbers of its targets; of a pair of classes, both.
    pair : bool
    """

    def __init__(self, machine, targets, pair, tol):
        self.machine, self.targets, self.pair, self.tol = machine, targets, pair, tol
        self.moments, self.columns = machine.moments, machine.columns

    def solve(self, model, clock):
        """Choose epsilon and solve."""
        epsilon, walk = model.epsilon, None
        if isinstance(epsilon, str):
            source = "loo" if epsilon == "auto" else epsilon
            walk = self.machine.choose(source, model.rule, clock)
        epsilon, start = chosen(model, self.machine, walk)
        self.solution = self.machine.solve(epsilon, clock, start)

    def refine(self, factor):
        """Solve once more with a few rows that have the triangular factor of all rows."""
        rows, P = factor.centred_rows(), self.moments.n_columns
        K, Y = rows[:, :P] * inverse(self.moments.norms), rows[:, P:][:, self.targets]
        self.solution = self.machine.refined(self.solution, K, Y)

    def function(self):
        """The machines of the solution."""
        alphas = np.atleast_2d(getattr(self.solution, "A", self.solution.alpha).T)
        fits = [self.moments.coef(alpha, t) for t, alpha in enumerate(alphas)]
        coefs, intercepts = zip(*fits, strict=True)
        middle = self.moments.target_means
        coef = np.column_stack(coefs), np.array(intercepts)
        return Function(self.columns, *coef, middle, self.targets, self.pair)

    def certify(self, F, squares):
        """Replace the certificate by one from products with the rows."""
        self.solution = self.machine.certified(self.solution, F, squares)

    def warn(self):
        """Warn if the sums do not have the digits that the solution needs."""
        warn_of_rounding(self.solution, self.tol)

    def finish(self, model):
        """What the machines have learnt."""
        asked = model.threshold, getattr(model, "probability", False)
        found = self.machine.finish(self.solution, *asked)
        return list(found) if isinstance(self.machine, SharedSums) else [found]


def groups_of(model, plan, sums, survey, solver):
    """All machines of a plan."""
    target = plan.target_for(model)
    sample = None if survey is None else _Sample(plan, survey.sample)
    every = list(range(plan.n_targets))
    classes = range(plan.n_classes)
    numbers = sums.n_rows, sums.n_terms + len(sums.folds) + len(sums.rest)
    if target.shares:
        moments = sums.total
        judged = sample.judged(moments, every, np.arange(plan.n_columns), classes)
        return [Group(SharedSums(moments, judged, *numbers, solver), every, False, solver.tol)]
    if plan.n_classes > 1 and target.scheme == "ovo":
        tasks = [list(pair) for pair in combinations(classes, 2)]
    else:
        tasks = [[t] for t in every]
    groups = []
    for targets in tasks:
        pair = len(targets) == 2
        rows, columns = (targets if pair else classes), plan.columns_of(targets if pair else None)
        moments = of_target(sums.of_classes(rows), columns, targets)
        folds = [(sums.without(f, rows), sums.held_out(f, rows)) for f in range(sums.n_folds)]
        folds = [
            tuple(of_target(part, columns, targets) for part in fold)
            for fold in folds
            if fold[0] is not None and fold[1] is not None
        ]
        judged = None if sample is None else sample.judged(moments, targets, columns, rows)
        machine = SumsMachine(
            moments, columns, model.C, plan.classes is not None, solver.tol, judged, folds, *numbers
        )
        groups.append(Group(machine, targets, pair, solver.tol))
    return groups


def of_target(moments, columns, targets):
    """Moments of some columns and one target, or the target of -1 and +1 of a pair of classes."""
    index = np.asarray(columns)
    parts = np.concatenate([index, moments.n_columns + np.asarray(targets)])
    origin, rest, cross = (
        moments.origin[parts],
        moments.rest[parts],
        moments.cross[np.ix_(parts, parts)],
    )
    if len(targets) == 2:
        # (second - first) / 2
        change = np.zeros((len(parts), len(index) + 1))
        change[: len(index), : len(index)] = np.eye(len(index))
        change[-2:, -1] = -0.5, 0.5
        origin, rest, cross = change.T @ origin, change.T @ rest, change.T @ cross @ change
    return Moments(moments.weight, origin, rest, cross, 1)


class _Sample:
    """The rows of a survey's sample, from which judged rows are taken."""

    def __init__(self, plan, sample):
        self.plan, self.hashes, self.X = plan, sample.hashes, sample.X
        self.Y, self.weights = plan.coded(sample.y), sample.weights
        self.codes = np.zeros(len(self.Y), dtype=np.intp)
        if plan.classes is not None:
            codes = plan.class_codes(sample.y)
            self.codes = codes if plan.n_classes > 1 else self.codes
            if plan.class_factors is not None:
                self.weights = self.weights * plan.class_factors[codes]
        self.objects = None if plan.objects is None else row_hashes(plan.objects)

    def judged(self, moments, targets, columns, classes):
        """The judged rows of some classes: of many distinct ones, some drawn by content."""
        rows = np.flatnonzero(np.isin(self.codes, list(classes)) & (self.weights > 0))
        distinct, first, number = np.unique(
            self.hashes[rows], return_index=True, return_inverse=True
        )
        total = np.bincount(number, self.weights[rows])
        chosen = np.arange(len(distinct))[:: max(-(-len(distinct) // POLICY.judged), 1)]
        Y = self.Y[rows][:, targets]
        Y = (Y[:, 1:] - Y[:, :1]) / 2 if moments.n_targets == 1 and len(targets) == 2 else Y
        means = np.array([np.bincount(number, self.weights[rows] * y) / total for y in Y.T])
        around = np.square(Y[:, 0] - means[0][number])
        variances = (np.bincount(number, self.weights[rows] * around) / total)[chosen]
        own = np.full(len(columns), -1)
        if self.objects is not None:
            own = np.minimum(
                np.searchsorted(distinct[chosen], self.objects[columns]), len(chosen) - 1
            )
            own[distinct[chosen][own] != self.objects[columns]] = -1
        K = self.plan.columns(self.X[rows[first[chosen]]])
        K = K if len(columns) == K.shape[1] else K[:, columns]
        return judge_sample(K, moments, means[:, chosen], total[chosen], own, variances)
