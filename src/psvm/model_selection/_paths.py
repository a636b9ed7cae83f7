"""The paths along epsilon of one kernel matrix, and what they say about rows left out."""

import time
from typing import NamedTuple

import numpy as np

from .._progress import say, steps
from ..estimators import (
    LEAP,
    JudgedPath,
    LeftOutConstant,
    SharedPath,
    Task,
    path_is_over,
)
from ..solvers import WorkingSet, follow

AHEAD = 2
"""Points in folds that are solved before it is asked whether the paths should go on."""
GAINS = 1e-3, 0.01
"""A loss that improves by less than the first share has turned; with more support objects than the
best point so far, by less than the second."""
STANDARD_ERRORS = 1.0
"""Those of the difference by which a path that is given up is worse than the best so far."""


class Fold(NamedTuple):
    """Which rows train and which are held out, as indices."""

    train: np.ndarray
    test: np.ndarray


class Rival(NamedTuple):
    """The best point so far, which ends paths that stay behind it."""

    scores: np.ndarray
    """Of the folds, of shape (k,)."""
    most: float
    """Paths with so many support objects should have come near."""

    def beats(self, scores, n_support):
        """Whether a point that should have come near is worse by more than chance."""
        behind = self.scores - scores
        error = behind.std(ddof=1) / np.sqrt(len(behind))
        return n_support >= self.most and behind.mean() > STANDARD_ERRORS * error


class Known(NamedTuple):
    """What other paths say about the end of one that is judged by its loss."""

    n_support: float = np.inf
    """The support objects of the best point so far."""
    rival: Rival | None = None


UNKNOWN = Known()


class Followed(NamedTuple):
    """The paths of one C, with the solutions of each machine, of shape (m, n_columns)."""

    judged: "Judged"
    alphas: list


class Judged(NamedTuple):
    """What m points of the paths of one C are worth in k folds."""

    scores: np.ndarray
    """Of shape (m, k)."""
    n_support: np.ndarray
    """Of shape (m, k)."""
    fit_time: np.ndarray
    """Seconds of each point, of shape (m,)."""


def best_mean(judged):
    """The best mean score of some points; NaN does not count."""
    return float(np.nan_to_num(judged.scores.mean(axis=1), nan=-np.inf).max())


def joined(parts, axis):
    """Judgements of more points (axis 0) or of more folds (axis 1)."""
    scores, n_support, fit_time = zip(*parts, strict=True)
    times = np.concatenate(fit_time) if axis == 0 else np.mean(fit_time, axis=0)
    return Judged(np.concatenate(scores, axis), np.concatenate(n_support, axis), times)


def left_out_paths(description, target, grid, score, relaxation, tol, turned, known=UNKNOWN):
    """Follow the paths of all rows, and judge them by leave-one-out values of the rows.

    Parameters
    ----------
    description : Description
        With its digests.
    target : Labels or Numbers
    grid : Grid
    score : Score
        The rows of each of its folds are judged together.
    relaxation : callable
        ``relaxation(C)`` is how far solutions are relaxed.
    tol : float
        Tolerance of machines that share their support; other paths are exact.
    turned : callable or None
        ``turned(scores, share)`` of all points so far says whether the paths of a C end; `share` is
        that of the support objects among the rows. None: they end as for ``epsilon="auto"``.
    known : Known, default=UNKNOWN
        What else ends them.

    Returns
    -------
    list of Followed
        One for each C.
    """
    tasks = target.tasks()
    if target.shares:
        tasks = [Task(tasks[0].rows, np.array([task.target for task in tasks]))]
    parts = [description.part(task.rows) for task in tasks]
    found = []
    for C in steps(grid.Cs, "C"):
        shared = grid.epsilons, relaxation(C), not score.needs_all
        if target.shares:
            machines = [SharedPath(parts[0], tasks[0].target, *shared, tol)]
        else:
            pairs = zip(tasks, parts, strict=True)
            shared = C, *shared, target.classifies
            machines = [JudgedPath(part, task.target, *shared) for task, part in pairs]
        found.append(_follow(description, tasks, parts, machines, score, turned, known))
    return found


def _follow(description, tasks, parts, machines, score, turned, known):
    """What the points of the paths of all machines are worth, until they end."""
    done, sizes, n_distinct = [], [], sum(len(set(part.digests)) for part in parts)
    solutions = []
    most, least = sum(m.most for m in machines), np.mean([m.least for m in machines])
    began = time.perf_counter()
    for points in _together(machines):
        if score.needs_all:
            scores = score.of_folds(_all_decisions(description, tasks, machines, points, score))
        else:
            scores = score.of_losses(tasks, machines, points)
        solutions.append([some.alphas for some in points])
        alphas = [some.alphas.any(axis=1) for some in points]
        used = _count_support(description, parts, alphas)
        now = time.perf_counter()
        times, began = np.full(len(scores), (now - began) / len(scores)), now
        done.append(Judged(scores, np.repeat(used[:, None], scores.shape[1], axis=1), times))
        sizes += sum(alpha.sum(axis=1) for alpha in alphas).tolist()
        each = np.concatenate([some.scores for some in done])
        say(f"{sizes[-1]} support objects")
        if turned is not None and turned(each, sizes[-1] / n_distinct):
            break
        losses = np.nan_to_num(-each.mean(axis=1), nan=np.inf)
        gain = GAINS[int(used[-1] > known.n_support)]
        if turned is None and path_is_over(losses, sizes, most, least, gain):
            break
        if known.rival is not None and known.rival.beats(scores[-1], used[-1]):
            break
    judged = joined(done, axis=0)
    # The last points may have leapt to a support that is too large to be a choice.
    kept = np.flatnonzero(np.array(sizes) <= LEAP * most) if turned is None else []
    if len(kept):
        judged = Judged(*(values[: kept[-1] + 1] for values in judged))
    return Followed(judged, [np.concatenate(some) for some in zip(*solutions, strict=True)])


def _together(paths):
    """The next points of several paths, as many of each as all have; their number varies."""
    paths = [iter(path) for path in paths]
    ready = [None] * len(paths)
    while True:
        for k, path in enumerate(steps(paths, "machine")):
            if ready[k] is None:
                ready[k] = next(path, None)
            if ready[k] is None:
                return
        count = min(len(points.alphas) for points in ready)
        yield [points[:count] for points in ready]
        ready = [points[count:] if len(points.alphas) > count else None for points in ready]


def _all_decisions(description, tasks, machines, points, score):
    """Leave-one-out values of all machines, of shape (m, L, n_machines).

    Rows that a machine does not learn from are predicted by it.
    """
    L, found = description.matrix.shape[0], []
    for task, machine, (alphas, left_out, shifts, _) in zip(tasks, machines, points, strict=True):
        if not score.shifted:
            left_out, shifts = left_out - shifts[..., None], np.zeros_like(shifts)
        decisions = np.zeros((len(alphas), L, alphas.shape[1]))
        decisions[:, task.rows] = left_out.transpose(0, 2, 1)
        if len(task.rows) < L:
            other = np.setdiff1d(np.arange(L), task.rows, assume_unique=True)
            coefs, intercepts = _coefficients(machine.problem, machine.relaxed(alphas[:, 0]))
            columns, intercepts = machine.description.columns, intercepts + shifts[:, 0]
            f = _predicted(description.matrix, other, columns, coefs, intercepts)
            decisions[:, other, 0] = f.T
        found.append(decisions)
    return np.concatenate(found, axis=2)


def _coefficients(problem, alphas):
    """Coefficients of the raw columns, and constants, of solutions."""
    fits = [problem.K.coef(alpha) for alpha in alphas]
    constants = np.array([constant for _, constant in fits]) + problem.b
    return np.array([coef for coef, _ in fits]), constants


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
    relaxation : float
    """

    def __init__(self, description, target, score, number, tol, relaxation):
        self.description, self.score, self.number = description, score, number
        L, fold = description.matrix.shape[0], score.folds[number]
        training = description.counting(np.bincount(fold.train, minlength=L))
        self.machines = [
            _MachinePaths(training.part(t.rows), t.target, tol, relaxation, score)
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

    def __init__(self, description, y, tol, relaxation, score):
        self.description, self.y = description, y
        self.relaxation, self.score = relaxation, score
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
        alphas, shifts = np.array([solution.alpha for solution in points]), 0.0
        if self.score.shifted or self.relaxation > 0:
            alphas, shifts = self.constant.left_out(alphas, relaxation=self.relaxation)
        self.coefs, self.intercepts = _coefficients(self.problem, alphas)
        self.intercepts += shifts if self.score.shifted else 0.0

    def _begin(self, C, epsilons):
        stated = self.problem.with_parameters(C=C)
        self.C, self.place = C, 0
        self.path = follow(stated, epsilons, self.solver, workspace=self.workspace)
        sigmoid = self.score.sigmoid
        self.constant = LeftOutConstant(self.description, stated, self.y, sigmoid)
