"""The exact path: the homotopy of a working set, certified on all columns block by block."""

from dataclasses import dataclass

import numpy as np

from .._core._homotopy import Homotopy, judge, screen
from ..problem import lasso_gap
from ._solution import Status
from ._working_set import Workspace

SHORTEST, LONGEST, WHOLE = 4, 24, 64
"""Points of the path that are certified together, and those of one whose W is all columns."""
NEAR, GROW = 0.85, 50
"""Columns join when they have come that near to epsilon, but only so many at once."""
FAR, SHARE, ROOM = 0.8, 1.3, 30
"""Columns at 0 that are that far from epsilon leave if W has more than ``SHARE`` times the others
and ``ROOM``."""
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
        parts = (self.alphas, self.counts, self.gaps, self.violations)
        return Points(self.epsilons[:count], self.index, *(part[:count] for part in parts))


def trace(problem, stops, *, tol, knots=True, first=None, max_features=None, max_iter=None):
    """Follow the path from epsilon_max down.

    The path of a working set W is followed ahead through some knots, and then all columns are
    looked at. Between two knots alpha and F are linear in epsilon, so that ``|F_j| - epsilon`` is
    largest at one of them: where the conditions hold at the knots they hold between. Where a
    column outside of W violates them, the path goes back to the knot before, and W grows.

    Parameters
    ----------
    problem : Problem
        Its epsilon plays no part.
    stops : ndarray
        Decreasing epsilons below epsilon_max at which a point is wanted; the last one is the end.
    knots : bool
        Whether the knots are wanted as well. Without them only the stops are certified.
    tol : float
        Largest violation as a share of epsilon_max.
    first : ndarray of int, default=None
        The columns of the first working set; None takes those that come first on the path.
    max_features : int or None
        The path ends before more variables are non-zero.
    max_iter : int or None
        Largest number of points.

    Returns
    -------
    list of Points, Status
    """
    return _Tracer(problem, stops, knots, tol, max_features, max_iter).run(first)


class _Tracer:
    def __init__(self, problem, stops, knots, tol, max_features, max_iter):
        self.problem, self.stops, self.knots = problem, stops, knots
        self.scale = problem.epsilon_max
        self.threshold = tol * self.scale
        self.max_features = np.inf if max_features is None else max_features
        self.max_iter = np.inf if max_iter is None else max_iter
        L, P = problem.K.shape
        self.workspace = Workspace(problem.K, Homotopy(L))
        self.length = WHOLE if self.workspace.whole else SHORTEST
        self.alpha, self.epsilon = np.zeros(P), self.scale
        self.R, self.F = -problem.y, -problem.l  # of the last good point
        zero = np.zeros(1)  # all is 0 at epsilon_max
        start = (np.zeros((1, 0)), zero.astype(np.intp), zero, zero)
        self.done = [Points(np.array([self.scale]), self.workspace.index, *start)]
        self.n_points, self.guessed = 1, False

    def run(self, first):
        """Returns the points and how it ended."""
        if not len(self.stops):
            return self.done, Status.OPTIMAL
        if first is not None and not self.workspace.whole:
            self.guessed, self.length = True, LONGEST
            self.workspace.extend(first)
        self.grow(np.empty(0, dtype=np.intp))
        status = None
        while status is None:
            block, outside = self.ahead()
            good = self.count_good(block)
            self.accept(block.first(good), outside)
            status = self.end(block, good) or self.go_on(block, outside, good)
        return self.done, status

    def ahead(self):
        """Follow the path of W through some points, and certify them with all columns."""
        problem, W = self.problem, self.workspace
        epsilons, alphas = W.small.trace(self.stops, self.length, self.knots)
        R = W.fits(alphas.T)
        R -= problem.y[:, None]
        F_W = W.gradients(R)
        outside = self.look_outside(epsilons, R)
        certificate = certify(problem, epsilons, alphas, R, F_W, outside)
        return Points(epsilons, W.index, alphas, *certificate), outside

    def look_outside(self, epsilons, R):
        """The columns outside of W: exactly at the last point, between only those that come near.

        At a share s of the way from (epsilon, r) to (epsilon', r') let the residual be
        ``(1 - s) r + s r' + bend``. Columns have norm one, so that ``|F_j|`` is at most
        ``(1 - s) |F_j| + s |F_j'| + ||bend||``, and most columns stay below epsilon by that.
        """
        K, member = self.problem.K, self.workspace.member
        last, R_last = epsilons[-1], R[:, -1]
        share = (self.epsilon - epsilons) / (self.epsilon - last)
        bend = R - self.R[:, None]
        bend -= np.multiply.outer(R_last - self.R, share)
        distance = np.sqrt(np.square(bend).sum(axis=0))
        F_last = K.rmatvec(R_last)
        ends = np.array([self.epsilon, last])
        near, beyond, excess = screen(
            self.F, F_last, member.view(np.uint8), ends, share, distance, ROUNDING * self.scale
        )
        few = 4 * len(near) < len(member)
        F_near = K.columns(near).T @ R if few else K.rmatvec(R)[near]
        return Outside(R, F_last, near, F_near, beyond, excess)

    def count_good(self, block):
        """The number of points before the first one that is not wanted or not a solution."""
        bad = block.violations > self.threshold
        bad |= block.counts > self.max_features
        bad |= self.n_points + np.arange(len(bad)) >= self.max_iter
        return int(np.argmax(bad)) if bad.any() else len(bad)

    def accept(self, block, outside):
        count = len(block.epsilons)
        if count == 0:
            return
        self.done.append(block)
        self.n_points += count
        self.epsilon = block.epsilons[-1]
        self.alpha[block.index] = block.alphas[-1]
        self.R = outside.R[:, count - 1]
        whole = count == outside.R.shape[1]
        self.F = outside.F_last if whole else self.problem.K.rmatvec(self.R)

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
            beyond = (np.abs(outside.F_near[:, good:]) - block.epsilons[good:]).max(axis=1)
            worst = np.argsort(-beyond)[:GROW]
            violators = np.sort(outside.near[worst[beyond[worst] > 0]])
            if good == 0 and not len(violators):
                return Status.STALLED
        else:
            self.length = min(2 * self.length, max(self.length, LONGEST))
            if self.workspace.whole or self.guessed:
                return None
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
            size = np.abs(self.F)
            size[W.index] = 0.0
            size[violators] = np.inf
            new = np.flatnonzero(size > NEAR * self.epsilon)
            if len(new) > GROW:
                new = np.sort(new[np.argpartition(-size[new], GROW)[:GROW]])
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
        small, index = self.workspace.small, self.workspace.index
        small.alpha[:] = self.alpha[index]
        small.F[:] = self.F[index]
        small.start(self.problem.C, self.epsilon, self.scale)


@dataclass(frozen=True, eq=False)
class Outside:
    """What is known of the columns outside of W at m points of the path.

    Attributes
    ----------
    R : ndarray of shape (L, m)
        Negative residuals.
    F_last : ndarray of shape (P,)
        Gradient of all columns at the last point.
    near : ndarray of int
        Columns that may violate the conditions.
    F_near : ndarray of shape (len(near), m)
        Their gradients.
    beyond, excess : ndarray of shape (m,)
        Bounds of the largest and of the sum of what the others have beyond epsilon.
    """

    R: np.ndarray
    F_last: np.ndarray
    near: np.ndarray
    F_near: np.ndarray
    beyond: np.ndarray
    excess: np.ndarray


def certify(problem, epsilons, alphas, R, F_W, outside):
    """Numbers of variables, duality gaps and largest KKT violations, as in `psvm.problem`.

    The variables of W are ``alphas[i]`` at point i with the gradients ``F_W[:, i]``, and the
    others are 0; column i of R is the negative residual.
    """
    C = problem.C
    counts, norms, products, violations, largest, excess = judge(
        alphas, F_W, outside.F_near, epsilons, C, outside.beyond, outside.excess
    )
    if np.isfinite(C):
        gaps = products + epsilons * norms + C * excess
    else:
        gaps = lasso_gap(-R, problem.y, epsilons * norms, largest, epsilons)
    return counts, np.maximum(gaps, 0.0), violations
