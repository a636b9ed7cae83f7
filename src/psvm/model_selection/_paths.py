"""The paths along epsilon of one kernel matrix, and what they say about rows left out."""

import time
from typing import NamedTuple

import numpy as np

from .._progress import steps
from ..estimators import JudgedPath, LeftOutConstant
from ..solvers import WorkingSet, follow

AHEAD = 2
"""Points in folds that are solved before it is asked whether the paths should go on,"""
TOGETHER, CHEAP = 8, 2e7
"""and points that are judged together by leave-one-out values, if all of them have no more than so
many operations; a point too many must not cost more than the call."""


class Fold(NamedTuple):
    """Which rows train and which are held out, as indices."""

    train: np.ndarray
    test: np.ndarray


class Judged(NamedTuple):
    """What m points of the paths of one C are worth in k folds."""

    scores: np.ndarray
    """Of shape (m, k)."""
    n_support: np.ndarray
    """Of shape (m, k)."""
    fit_time: np.ndarray
    """Seconds of each point, of shape (m,)."""


def joined(parts, axis):
    """Judgements of more points (axis 0) or of more folds (axis 1)."""
    scores, n_support, fit_time = zip(*parts, strict=True)
    times = np.concatenate(fit_time) if axis == 0 else np.mean(fit_time, axis=0)
    return Judged(np.concatenate(scores, axis), np.concatenate(n_support, axis), times)


def left_out_paths(description, target, grid, score, turned):
    """Follow the paths of all rows, and judge them by leave-one-out values of the rows.

    Parameters
    ----------
    description : Description
        With its digests.
    target : Labels or Numbers
    grid : Grid
    score : Score
        The rows of each of its folds are judged together.
    turned : callable
        ``turned(scores, share)`` of all points so far says whether the paths of a C end; `share` is
        that of the support objects among the rows of the sparsest machine.

    Returns
    -------
    list of Judged
        One for each C.
    """
    tasks = target.tasks()
    parts = [description.part(task.rows) for task in tasks]
    n_distinct = np.array([len(set(part.digests)) for part in parts])
    found = []
    for C in steps(grid.Cs, "C"):
        machines = [
            JudgedPath(part, task.target, C, grid.epsilons, score.constant)
            for part, task in zip(parts, tasks, strict=True)
        ]
        done, first, count = [], 0, TOGETHER
        while first < len(grid.epsilons):
            began = time.perf_counter()
            points = [machine.ahead(count) for machine in steps(machines, "machine")]
            decisions = _all_decisions(description, tasks, parts, points, score.needs_all)
            scores = score.of_folds(decisions)
            used = _count_support(description, parts, [some.alphas for some in points])
            times = np.full(len(scores), (time.perf_counter() - began) / len(scores))
            done.append(Judged(scores, np.repeat(used[:, None], scores.shape[1], axis=1), times))
            sizes = np.array([np.count_nonzero(some.alphas[-1]) for some in points])
            if turned(np.concatenate([some.scores for some in done]), (sizes / n_distinct).min()):
                break
            operations = max(
                len(part.weights) * n**2 for part, n in zip(parts, sizes.tolist(), strict=True)
            )
            first += count
            count = int(np.clip(CHEAP / max(operations, 1), 1, TOGETHER))
        found.append(joined(done, axis=0))
    return found


def _all_decisions(description, tasks, parts, points, needs_all):
    """Leave-one-out values of all machines, of shape (m, L, n_machines).

    Rows that a machine does not learn from are predicted by it if they are needed, else 0.
    """
    L = description.matrix.shape[0]
    decisions = np.zeros((len(points[0].alphas), L, len(tasks)))
    for k, (task, part, (alphas, left_out, added)) in enumerate(
        zip(tasks, parts, points, strict=True)
    ):
        decisions[:, task.rows, k] = left_out
        if needs_all and len(task.rows) < L:
            problem = part.problem(task.target, np.inf)
            coefs, shifts = zip(*(problem.K.coef(alpha) for alpha in alphas), strict=True)
            other = np.setdiff1d(np.arange(L), task.rows, assume_unique=True)
            intercepts = np.array(shifts) + problem.b + added
            f = _predicted(description.matrix, other, part.columns, np.array(coefs), intercepts)
            decisions[:, other, k] = f.T
    return decisions


def _predicted(matrix, rows, columns, coefs, intercepts):
    """Values of some rows for coefficients of some columns, of shape (len(rows), m)."""
    support = np.flatnonzero(coefs.any(axis=0))
    if not len(support):
        return np.tile(intercepts, (len(rows), 1))
    return matrix.part(rows, columns[support]).matvec(coefs[:, support].T) + intercepts


def _count_support(description, parts, coefs):
    """The number of objects that support one machine or more, at each point."""
    used = np.zeros((len(coefs[0]), description.matrix.shape[1]), dtype=bool)
    for part, some in zip(parts, coefs, strict=True):
        used[:, part.columns] |= some != 0
    return used.sum(axis=1)


class FoldPaths:
    """The paths of all machines in one fold.

    Parameters
    ----------
    description : Description
        Of all rows.
    target : Labels or Numbers
        Of all rows.
    score : Score
    number : int
        Of the fold in `score`.
    tol : float
        Tolerance of the solutions.
    """

    def __init__(self, description, target, score, number, tol):
        self.description, self.score, self.number = description, score, number
        L, fold = description.matrix.shape[0], score.folds[number]
        training = description.counting(np.bincount(fold.train, minlength=L))
        self.machines = [
            _MachinePaths(training.part(t.rows), t.target, tol, score.constant)
            for t in target.tasks()
        ]

    def judged(self, C, epsilons, first, count):
        """Points of the paths of a C along shares of epsilon_max, from number `first` on."""
        began = time.perf_counter()
        for machine in steps(self.machines, "machine"):
            machine.follow(C, epsilons, first, count)
        took = time.perf_counter() - began
        test = self.score.folds[self.number].test
        decisions = [
            _predicted(self.description.matrix, test, m.columns, m.coefs, m.intercepts)
            for m in self.machines
        ]
        scores = self.score(np.transpose(decisions, (2, 1, 0)), self.number)
        used = _count_support(self.description, self.machines, [m.coefs for m in self.machines])
        return Judged(scores[:, None], used[:, None], np.full(len(scores), took / len(scores)))


class _MachinePaths:
    """The paths of one machine, which share columns and products.

    `coefs`, the coefficients of the raw columns, and `intercepts` have a row for each of the
    last points.
    """

    def __init__(self, description, y, tol, classifies):
        self.description, self.y, self.classifies = description, y, classifies
        self.columns, self.problem = description.columns, description.problem(y, np.inf)
        self.solver = WorkingSet(tol=tol)
        self.workspace = self.solver.workspace(self.problem.K)
        self.C = None

    def follow(self, C, epsilons, first, count):
        """Go on to `count` points from number `first` on, on a path that may begin here."""
        if self.C != C:
            self._begin(C, epsilons * self.problem.epsilon_max)
        points = [next(self.path) for _ in range(self.place, first + count)][first - self.place :]
        self.place = first + count
        self.coefs = np.array([solution.coef for solution in points])
        self.intercepts = np.array([solution.intercept for solution in points])
        if self.classifies is not None:
            alphas = np.array([solution.alpha for solution in points])
            self.intercepts += self.constant.left_out(alphas)[1]

    def _begin(self, C, epsilons):
        stated = self.problem.with_parameters(C=C)
        self.C, self.place = C, 0
        self.path = follow(stated, epsilons, self.solver, workspace=self.workspace)
        if self.classifies is not None:
            self.constant = LeftOutConstant(self.description, stated, self.y, self.classifies)
