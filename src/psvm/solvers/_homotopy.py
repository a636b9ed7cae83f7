"""The exact path: the homotopy of a working set, certified on all columns block by block."""

from dataclasses import dataclass

import numpy as np

from .._core._homotopy import Homotopy, largest_violations, screen
from ..matrix import BLOCK_BYTES
from ..problem import lasso_gap
from ._solution import Status
from ._working_set import Workspace

AHEAD, WHOLE = 16, 64
"""Points of the path that are certified together, and of one whose W is all columns."""
FIRST = 100
"""Columns that the working set starts with."""
GROW = 50
"""Columns that join at once."""
NEAR = 0.8
"""A column joins when it has come that near to epsilon."""
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
    gaps, violations : ndarray of shape (m,)
        The certificate.
    """

    epsilons: np.ndarray
    index: np.ndarray
    alphas: np.ndarray
    gaps: np.ndarray
    violations: np.ndarray

    def first(self, count):
        """The first points."""
        parts = (self.epsilons, self.alphas, self.gaps, self.violations)
        epsilons, alphas, gaps, violations = (part[:count] for part in parts)
        return Points(epsilons, self.index, alphas, gaps, violations)


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
        self.length = WHOLE if self.workspace.whole else AHEAD
        self.alpha, self.epsilon = np.zeros(P), self.scale
        self.R, self.F = -problem.y, -problem.l  # of the last good point
        start = np.zeros((1, 0))
        gap = np.zeros(1)  # of alpha = 0 at epsilon_max
        self.done = [Points(np.array([self.scale]), self.workspace.index, start, gap, gap)]
        self.n_points = 1

    def run(self, first):
        """Returns the points and how it ended."""
        status = Status.OPTIMAL
        if len(self.stops):
            if first is None or self.workspace.whole:
                self.extend(np.abs(self.F), FIRST)
            else:
                self.workspace.extend(first)
            self.restart()
            status = None
        while status is None:
            block, outside = self.ahead()
            good = self.count_good(block)
            self.accept(block.first(good), outside)
            if good < len(block.epsilons):
                status = self.end(block, good) or self.go_back(block, outside, good)
            elif self.epsilon <= self.stops[-1]:
                status = Status.OPTIMAL
        return self.done, status

    def ahead(self):
        """Follow the path of W through some points, and certify them with all columns."""
        problem, W = self.problem, self.workspace
        epsilons, alphas = W.small.trace(self.stops, self.length, self.knots)
        R = W.fits(alphas.T)
        R -= problem.y[:, None]
        F_W = W.gradients(R)
        outside = self.look_outside(epsilons, R)
        gaps, violations = certify(problem, epsilons, alphas, R, F_W, outside)
        return Points(epsilons, W.index, alphas, gaps, violations), outside

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
        bad |= np.count_nonzero(block.alphas, axis=1) > self.max_features
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
        """Whether the path is to end before a point that is not accepted, and why."""
        if block.violations[good] > self.threshold:
            return None
        return Status.MAX_ITER if self.n_points >= self.max_iter else Status.OPTIMAL

    def go_back(self, block, outside, good):
        """Let W grow and start again behind the last good point."""
        score = np.abs(outside.F_last) - block.epsilons[-1]
        near = np.abs(outside.F_near[:, good:]) - block.epsilons[good:]
        score[outside.near] = np.maximum(score[outside.near], near.max(axis=1))
        before = len(self.workspace.index)
        self.extend(score + self.epsilon, GROW)
        if good == 0 and len(self.workspace.index) == before:
            return Status.STALLED
        self.restart()
        return None

    def extend(self, score, count):
        """Let the columns with the largest scores join W."""
        W = self.workspace
        outside = ~W.member & (self.problem.K.norms > 0)
        if W.whole:
            if outside.any():
                W.take_whole()
            return
        new = np.flatnonzero(outside & (score > NEAR * score[outside].max(initial=0.0)))
        if len(new) > count:
            new = new[np.argpartition(-score[new], count)[:count]]
        if len(new):
            W.extend(np.sort(new))

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
    """Duality gaps and largest KKT violations of some points, as in `psvm.problem`.

    The variables of W are ``alphas[i]`` at point i with the gradients ``F_W[:, i]``, and the
    others are 0; column i of R is the negative residual.
    """
    C = problem.C
    penalty = epsilons * np.abs(alphas).sum(axis=1)
    violations = largest_violations(alphas, F_W, epsilons, C)
    beyond = np.abs(np.concatenate([F_W, outside.F_near])) - epsilons
    largest = np.maximum(beyond.max(axis=0, initial=-np.inf), outside.beyond)
    near = beyond[len(F_W) :].max(axis=0, initial=0.0)
    violations = np.maximum(violations, np.maximum(near, outside.beyond))
    if np.isfinite(C):
        excess = np.maximum(beyond, 0.0).sum(axis=0) + outside.excess
        gaps = (alphas.T * F_W).sum(axis=0) + penalty + C * excess
    else:
        gaps = lasso_gap(-R, problem.y, penalty, epsilons + largest, epsilons)
    return np.maximum(gaps, 0.0), violations
