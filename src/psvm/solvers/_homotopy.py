"""The exact path: the homotopy of a working set, certified on all columns block by block."""

import sys
from dataclasses import dataclass

import numpy as np

from .._core._homotopy import Homotopy, certify, joining, screen
from .._progress import say
from ..matrix import Standardized
from ._solution import Status
from ._working_set import Workspace

SHORTEST, LONGEST, GUESSED, WHOLE = 4, 24, 36, 64
"""Points of the path that are certified together: at first and later, if the first W was given,
and if W is all columns."""
NEAR, GROW, GROW_GUESSED = 0.85, 50, 200
"""Columns join when they have come that near to epsilon, but only so many at once; more of them
if the first W was given."""
FAR, SHARE, ROOM = 0.8, 1.3, 30
"""Columns at 0 that are that far from epsilon leave if W has more than ``SHARE`` times the others
and ``ROOM``."""
ENTRIES = 2**23
"""Gradients of all columns that are kept at once, if the first W was given."""
USUAL = 200
"""Columns that W usually has at most."""
ROUNDING = 1e-13
"""Share of epsilon_max by which a bound of ``|F_j|`` may exceed epsilon."""


@dataclass(frozen=True, eq=False)
class Points:
    """Successive points of the path.

    Attributes
    ----------
    epsilons : ndarray of shape (m,)
    index : ndarray of shape (n,)
        The working set.
    alphas : ndarray of shape (m, n)
        Its variables; all others are 0.
    counts : ndarray of int of shape (m,)
        Numbers of those that are not 0.
    gaps, violations : ndarray of shape (m,)
        The certificate.
    """

    epsilons: np.ndarray
    index: np.ndarray
    alphas: np.ndarray
    counts: np.ndarray
    gaps: np.ndarray
    violations: np.ndarray

    def first(self, count):
        """The first points."""
        if count == len(self.epsilons):
            return self
        parts = (self.alphas, self.counts, self.gaps, self.violations)
        return Points(self.epsilons[:count], self.index, *(part[:count] for part in parts))


def homotopy_workspace(K):
    """An empty workspace for `trace`, which also serves the working-set solver."""
    return Workspace(K, Homotopy(K.shape[0], USUAL))


def trace(problems, stops, *, tol, knots=True, workspace=None, max_features=None, max_iter=None):
    """Follow the paths of problems of one matrix from epsilon_max down, side by side.

    The path of a working set W is followed ahead through some knots, and then all columns are
    looked at. Between two knots alpha and F are linear in epsilon, so that ``|F_j| - epsilon`` is
    largest at one of them: where the conditions hold at the knots they hold between. Where a
    column outside of W violates them, the path goes back to the knot before, and W grows. All
    paths look at all columns together, so that one pass over K serves them all.

    Parameters
    ----------
    problems : list of Problem
        Their epsilons play no part.
    stops : list of ndarrays
        For each of them decreasing epsilons below epsilon_max at which a point is wanted; the
        last one is the end.
    knots : bool
        Whether the knots are wanted as well. Without them only the stops are certified.
    tol : float
        Largest violation as a share of epsilon_max.
    workspace : Workspace, default=None
        One for `Homotopy` that holds the first working set of the only problem; without one the
        columns come one after the other.
    max_features : int or None
        A path ends before more variables are non-zero.
    max_iter : int or None
        Largest number of points.

    Returns
    -------
    list of (list of Points, Status)
    """
    paths = [
        _Tracer(problem, its_stops, workspace, knots, tol, max_features, max_iter)
        for problem, its_stops in zip(problems, stops, strict=True)
    ]
    tracers = [path.run() for path in paths]
    found, answers = [None] * len(tracers), dict.fromkeys(range(len(tracers)))
    while answers:
        say(f"epsilon {max(paths[i].epsilon for i in answers):.2g}")
        asked = {}
        for i, answer in answers.items():
            try:
                asked[i] = tracers[i].send(answer)
            except StopIteration as end:
                found[i] = end.value
        products = Standardized.joint_rmatvec([problems[i].K for i in asked], list(asked.values()))
        answers = dict(zip(asked, products, strict=True))
    return found


class _Tracer:
    """One path. Its generators yield a vector v where they need ``K̃'v``, and are sent that."""

    def __init__(self, problem, stops, workspace, knots, tol, max_features, max_iter):
        self.problem, self.stops, self.knots = problem, stops, knots
        self.scale = problem.epsilon_max
        self.threshold = tol * self.scale
        self.max_features = sys.maxsize if max_features is None else max_features
        self.max_iter = sys.maxsize if max_iter is None else max_iter
        self.workspace = homotopy_workspace(problem.K) if workspace is None else workspace
        self.guessed = workspace is not None and not workspace.whole
        self.length = WHOLE if self.workspace.whole else SHORTEST
        if self.guessed:
            self.length = min(GUESSED, max(SHORTEST, ENTRIES // problem.K.shape[1]))
        self.most = GROW_GUESSED if self.guessed else GROW
        self.alpha, self.epsilon = np.zeros(problem.K.shape[1]), self.scale
        self.R, self.F = -problem.y, -problem.l  # of the last good point
        zero = np.zeros(1)  # all is 0 at epsilon_max
        start = (np.zeros((1, 0)), zero.astype(np.intp), zero, zero)
        self.done = [Points(np.array([self.scale]), np.empty(0, dtype=np.intp), *start)]
        self.n_points = 1

    def run(self):
        """Follow the path; returns the points and how it ended."""
        if not len(self.stops):
            return self.done, Status.OPTIMAL
        self.grow(np.empty(0, dtype=np.intp))
        status = None
        while status is None:
            block, outside = yield from self.ahead()
            good = self.count_good(block)
            yield from self.accept(block.first(good), outside)
            status = self.end(block, good) or self.go_on(block, outside, good)
        return self.done, status

    def ahead(self):
        """Follow the path of W through some points, and certify them with all columns."""
        problem, W = self.problem, self.workspace
        epsilons, alphas = W.small.trace(self.stops, self.length, self.knots)
        R = W.fits(alphas)
        R -= problem.y
        F_W = W.gradients(R)
        outside = self.look_at_all(R) if self.guessed else (yield from self.look(epsilons, R))
        certificate = certify(
            alphas,
            F_W,
            outside.F_near,
            R,
            problem.y,
            epsilons,
            problem.C,
            outside.beyond,
            outside.excess,
        )
        return Points(epsilons, W.index, alphas, *certificate), outside

    def look(self, epsilons, R):
        """The columns outside of W: at the last point all, between only those that come near."""
        K, member = self.problem.K, self.workspace.member
        F_last = yield R[-1]
        near, beyond, excess = screen(
            self.epsilon,
            self.R,
            self.F,
            epsilons,
            R,
            F_last,
            member.view(np.uint8),
            ROUNDING * self.scale,
        )
        if len(near) == 0:
            F_near = np.empty((len(R), 0))
        elif 4 * len(near) < K.shape[1]:
            F_near = R @ K.columns(near)
        else:
            F_near = np.ascontiguousarray(K.rmatvec(R.T)[near].T)
        return Outside(R, F_last[None], near, F_near, beyond, excess)

    def look_at_all(self, R):
        """The columns outside of W where they are too much alike to be told from those of W."""
        F = np.ascontiguousarray(self.problem.K.rmatvec(R.T).T)
        outside = np.flatnonzero(~self.workspace.member)
        return Outside(R, F, outside, np.take(F, outside, axis=1), 0.0, 0.0)

    def count_good(self, block):
        """The number of points before the first one that is not wanted or not a solution."""
        bad = (block.violations > self.threshold) | (block.counts > self.max_features)
        first = int(bad.argmax())
        return min(first if bad[first] else len(bad), self.max_iter - self.n_points)

    def accept(self, block, outside):
        count = len(block.epsilons)
        if count == 0:
            return
        self.done.append(block)
        self.n_points += count
        self.epsilon = block.epsilons[-1]
        self.alpha[block.index] = block.alphas[-1]
        self.R = outside.R[count - 1]
        behind = len(outside.R) - count
        self.F = outside.F[-1 - behind] if behind < len(outside.F) else (yield self.R)

    def end(self, block, good):
        """Whether the path ends behind the good points, and why."""
        if good == len(block.epsilons):
            return Status.OPTIMAL if self.epsilon <= self.stops[-1] else None
        if block.violations[good] > self.threshold:
            return None
        return Status.MAX_ITER if self.n_points >= self.max_iter else Status.OPTIMAL

    def go_on(self, block, outside, good):
        """Start again behind the last good point with a better W, unless there is none."""
        violators = np.empty(0, dtype=np.intp)
        if good < len(block.epsilons):
            beyond = (np.abs(outside.F_near[good:]).T - block.epsilons[good:]).max(axis=1)
            worst = np.argsort(-beyond)[: self.most]
            violators = np.sort(outside.near[worst[beyond[worst] > 0]])
            if good == 0 and not len(violators):
                return Status.STALLED
        else:
            if self.workspace.whole or self.guessed:
                return None
            self.length = min(2 * self.length, LONGEST)
            self.forget()
        self.grow(violators)
        return None

    def grow(self, violators):
        """Let W have the violators and, if its first columns were not given, those near epsilon."""
        W, new = self.workspace, violators
        if W.whole:
            if len(W.index) == 0:
                W.take_whole()
        elif not self.guessed:
            member = W.member.view(np.uint8)
            new = joining(self.F, member, violators, NEAR * self.epsilon)
            if len(new) > self.most:
                size = np.abs(self.F[new])
                size[np.isin(new, violators)] = np.inf
                new = np.sort(new[np.argpartition(-size, self.most)[: self.most]])
        if len(new):
            W.extend(new)
        self.restart()

    def forget(self):
        """Let columns leave W that are far from epsilon, if they are many."""
        W = self.workspace
        stays = (self.alpha[W.index] != 0) | (np.abs(self.F[W.index]) > FAR * self.epsilon)
        if len(stays) > SHARE * np.count_nonzero(stays) + ROOM:
            W.keep(stays)

    def restart(self):
        W = self.workspace
        W.form()
        W.small.start(self.problem.C, self.epsilon, self.scale, self.alpha, self.F, W.index)


@dataclass(frozen=True, eq=False)
class Outside:
    """What is outside of the columns outside of W at m points of the path.

    Attributes
    ----------
    R : ndarray of shape (m, L)
        Negative residuals.
    F : ndarray of shape (k, P)
        Gradients of all columns at the last k points.
    near : ndarray of int
        Columns that may violate the conditions.
    F_near : ndarray of shape (m, len(near))
        Their gradients.
    beyond, excess : float
        Bounds of the largest and of the sum of what the others have beyond epsilon.
    """

    R: np.ndarray
    F: np.ndarray
    near: np.ndarray
    F_near: np.ndarray
    beyond: float
    excess: float
