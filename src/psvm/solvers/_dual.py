"""The dual of a support vector machine on a matrix R, and how an answer is checked.

With the signed variables ``v = Y alpha`` (Hochreiter, Mohr & Obermayer 2004, eq. 43)::

    minimise   D(v) = 1/2 v'R v - y'v    subject to 1'v = 0,  0 <= y_i v_i <= C s_i

with the weights s of the points, which are one in the paper.
R is anything with `block(index)`, the dense ``R[index][:, index]``, `product(v)` and `diagonal()`.
The gradient is ``F = R v - y``; ``-F_i`` is the constant b that puts point i on its margin.
"""

from dataclasses import dataclass, replace
from math import fsum

import numpy as np
import scipy.linalg as sl

from .._core._svm import smo
from ._clock import Clock
from ._solution import Status, StatusByName

EPS = np.finfo(np.float64).eps
PRECISION = 1e-13
"""Violations below this share of the largest value cannot be certified in double precision."""
SMALL = 400
"""So many variables join the working set at once; problems up to this size are solved whole."""
TURN = 20
"""Steps for each variable before the free ones are minimised together."""
SLICE = 50_000_000
"""Variables that steps pass over before the clock is asked: a fraction of a second."""
STEPS = 1000
"""Steps for each variable without `max_iter`: some fifty times what usual problems take,"""
FEWEST_STEPS = 1_000_000
"""and this number for small problems, which takes seconds."""
PATIENCE = 5
"""Turns without progress that end the search."""
RIDGES = 1e-13, 1e-11, 1e-8, 1e-4, 1.0
"""Shares of the trace, the first of which that suffices makes a system definite."""
CUTS = 50
"""So often the bounds may shorten a Newton step before the next steps of pairs."""
UNLIMITED = Clock()


class OutOfTime(Exception):
    """The time was over before there was a matrix to solve the dual with."""


@dataclass(frozen=True, eq=False)
class BinaryTarget:
    """Labels y of -1 and +1, how often each point counts, and the penalty C of the slack."""

    y: np.ndarray
    weights: np.ndarray
    C: float

    @property
    def bound(self):
        """Largest values of alpha: a point that counts twice has two variables up to C."""
        return self.C * self.weights

    @property
    def share(self):
        """Share of each point in a mean."""
        return self.weights / self.weights.sum()


@dataclass(frozen=True)
class Limits:
    """When to stop: the tolerated KKT violation, how many steps there are, and the time."""

    tol: float = 1e-4
    max_iter: int | None = None
    clock: Clock = UNLIMITED

    def check_time(self):
        """Raise `OutOfTime` if the time is over."""
        if self.clock.over:
            raise OutOfTime

    def rest(self, n_iter, tol):
        """What is left after `n_iter` steps, with another tolerance."""
        steps = None if self.max_iter is None else max(self.max_iter - n_iter, 0)
        return replace(self, tol=tol, max_iter=steps)


@dataclass(frozen=True, eq=False)
class DualSolution(StatusByName):
    """Answer of the dual, with its certificate recomputed from v.

    Attributes
    ----------
    v : ndarray of shape (L,)
        The signed variables ``y_i alpha_i``.
    values : ndarray of shape (L,)
        ``R v``, which is f without its constant.
    b : float
        The constant of f.
    objective : float
        ``-D(v)``, a lower bound of the primal objective.
    gap : float
        Primal minus dual objective.
    kkt_violation : float
        Largest violation of the optimality conditions, in the units of f.
    status : Status
    n_iter : int
        Steps of the Sequential Minimal Optimization.
    """

    v: np.ndarray
    values: np.ndarray
    b: float
    objective: float
    gap: float
    kkt_violation: float
    status: Status
    n_iter: int


class DenseGram:
    """R as an array."""

    def __init__(self, R):
        self.R = R

    def block(self, index):
        """``R[index][:, index]``."""
        if len(index) == len(self.R):
            return self.R
        return np.ascontiguousarray(self.R[np.ix_(index, index)])

    def product(self, v):
        """``R v``."""
        support = np.flatnonzero(v)
        if 4 * len(support) < len(v):
            return v[support] @ self.R[support]
        return self.R @ v

    def diagonal(self):
        """The diagonal of R."""
        return np.diagonal(self.R)


class FactorGram:
    """``R = Z Z'`` with few columns in Z."""

    def __init__(self, Z):
        self.Z = Z

    def block(self, index):
        """``R[index][:, index]``."""
        Z = self.Z[index]
        return Z @ Z.T

    def product(self, v):
        """``R v``."""
        return self.Z @ (v @ self.Z)

    def diagonal(self):
        """The diagonal of R."""
        return np.einsum("ij,ij->i", self.Z, self.Z)


@dataclass(frozen=True, eq=False)
class DualPoint:
    """A feasible v with its gradient, computed from v and not from that of another point."""

    v: np.ndarray
    F: np.ndarray
    violation: float
    objective: float
    rounding: float

    @classmethod
    def at(cls, v, R, y, box, norms):
        """Evaluate v; norms are the roots of the diagonal of R."""
        F = R.product(v) - y
        # Terms of both signs cancel in the sum, their errors do not: |R_ij| <= norms_i norms_j.
        terms = (norms @ np.abs(v)) ** 2 + np.abs(v).sum()
        return cls(
            v=v.copy(),
            F=F,
            violation=kkt_violation(v, F, *box),
            objective=0.5 * v @ (F - y),
            rounding=EPS * terms,
        )

    def is_lower(self, other):
        """Whether the objective decreased beyond rounding."""
        return self.objective < other.objective - max(self.rounding, other.rounding)

    def is_nearer(self, other):
        """Whether it is the better one of two points with the same objective up to rounding."""
        return not other.is_lower(self) and self.violation < 0.9 * other.violation


def minimise(R, target, limits, start=None, *, small=SMALL):
    """Solve the dual; `start` is a feasible v, and up to `small` variables are solved at once.

    Each turn improves a working set: all non-zero variables and the worst violators among the
    others. Pairs of variables find out quickly which ones are free; the last digits of these are
    the solution of a linear system. The gradient is computed anew in each turn, an increase of the
    objective is taken back, and turns that neither decrease the objective nor the violation end
    the search, which therefore ends for every matrix.
    """
    norms = np.sqrt(np.maximum(R.diagonal(), 0.0))
    y, box = target.y, _box(norms, target)
    v = np.zeros(len(y)) if start is None else start.copy()
    left = max(STEPS * len(y), FEWEST_STEPS) if limits.max_iter is None else limits.max_iter
    n_iter, idle, best, work = 0, 0, None, None
    while True:
        point = DualPoint.at(v, R, y, box, norms)
        if best is None or point.is_lower(best) or point.is_nearer(best):
            idle, best = 0, point
        else:
            idle += 1
            if best.is_lower(point):
                point, v = best, best.v.copy()
        threshold = max(limits.tol, PRECISION * np.abs(point.F).max())
        if np.isinf(target.C) and np.abs(best.v).max() >= box[1].max():
            status = Status.STALLED  # not separable in double precision
        elif point.violation <= threshold:
            best, status = point, Status.OPTIMAL
        elif n_iter >= left:
            status = Status.MAX_ITER
        elif limits.clock.over:
            status = Status.MAX_TIME
        else:
            status = Status.STALLED if idle >= PATIENCE else None
        if status is not None:
            return _certified(best, target, box, status=status, n_iter=n_iter)
        if work is None or work.is_done(point):
            work = Work.choose(R, point, box, threshold, small)
        n_iter += work.turn(v, point.F, left - n_iter, limits)


def start_solution(target):
    """``v = 0``, the feasible point that needs no matrix, for want of time."""
    v = np.zeros(len(target.y))
    box = _box(v, target)
    point = DualPoint(v, -target.y, kkt_violation(v, -target.y, *box), 0.0, 0.0)
    return _certified(point, target, box, status=Status.MAX_TIME, n_iter=0)


def _box(norms, target):
    """Lower and upper bounds of v; without slack the largest ones that have a meaning.

    With a hard margin alpha is at most ``||w||^2``. Where that times the squared norm of a point
    is beyond the inverse of the precision, rounding errors of R decide whether there is a margin.
    """
    bound = target.bound
    if not np.isfinite(target.C):
        largest = norms.max() ** 2
        bound = np.full(len(bound), 1.0 / (EPS * (largest if largest > 0 else 1.0)))
    y = target.y
    return np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)


def kkt_violation(v, F, lower, upper):
    """``max_{v_i < upper_i} -F_i - min_{v_j > lower_j} -F_j``, at most 0 at an optimum."""
    most = np.max(-F, where=v < upper, initial=-np.inf)
    least = np.min(-F, where=v > lower, initial=np.inf)
    return float(max(most - least, 0.0))


def constant(v, F, lower, upper):
    """The constant b: the mean of ``-F`` over the free variables, else the middle of its range."""
    free = (v > lower) & (v < upper)
    if free.any():
        return float(-F[free].mean())
    most = np.max(-F, where=v < upper, initial=-np.inf)
    least = np.min(-F, where=v > lower, initial=np.inf)
    if not np.isfinite(most + least):
        return float(most if np.isfinite(most) else least)
    return float(0.5 * (most + least))


def _certified(point, target, box, **how):
    v, y, b = point.v, target.y, constant(point.v, point.F, *box)
    values = point.F + y
    square = v @ values
    gap = primal(square, y * (values + b), target.bound) - (y @ v - 0.5 * square)
    return DualSolution(
        v=v,
        values=values,
        b=b,
        objective=float(y @ v - 0.5 * square),
        gap=float(max(gap, 0.0)),
        kkt_violation=point.violation,
        **how,
    )


def primal(square, margins, bound):
    """``1/2 w'(..)w + bound'xi``; without slack w is scaled until all margins are at least one."""
    if np.isfinite(bound).all():
        return 0.5 * square + bound @ np.maximum(0.0, 1.0 - margins)
    smallest = margins.min()
    return 0.5 * square / min(smallest, 1.0) ** 2 if smallest > 0 else np.inf


class Work:
    """The problem of some variables, the others staying where they are.

    Attributes
    ----------
    W : ndarray of int
        The variables, as increasing indices.
    R : ndarray of shape (len(W), len(W))
    lower, upper : ndarray of shape (len(W),)
    enough : float
        KKT violation among them that is small enough.
    """

    def __init__(self, W, R, lower, upper, enough):
        self.W, self.R, self.lower, self.upper, self.enough = W, R, lower, upper, enough
        self.is_new = True

    @classmethod
    def choose(cls, R, point, box, threshold, small):
        """All variables of a small problem, else the support and the worst violators."""
        W = _working_set(point.v, point.F, *box, small)
        # While others wait to join, more accuracy than this would be wasted.
        wasted = 0.1 * point.violation if len(W) < len(point.v) else 0.0
        return cls(W, R.block(W), box[0][W], box[1][W], max(threshold / 2, wasted))

    def is_done(self, point):
        """Whether others can join."""
        v, F = point.v[self.W], point.F[self.W]
        return kkt_violation(v, F, self.lower, self.upper) <= self.enough

    def turn(self, v, F, max_steps, limits):
        """Change v by a Newton step, unless it is the first turn, and by steps of pairs.

        Returns the number of these steps.
        """
        problem = self.R, v[self.W], F[self.W], self.lower, self.upper
        if not self.is_new:
            _newton(*problem)
        self.is_new = False
        n = len(self.W)
        n_iter, turn, part = 0, min(max(TURN * n, 1000), max_steps), max(SLICE // n, 1)
        while n_iter < turn and not limits.clock.over:
            steps = smo(*problem, self.enough, min(part, turn - n_iter))
            n_iter += steps
            if steps < part:
                break
        _balance(problem[1], self.lower, self.upper, v.sum() - v[self.W].sum())
        v[self.W] = problem[1]
        return n_iter


def _working_set(v, F, lower, upper, small):
    """The support and the worst of the others, as increasing indices."""
    if len(v) <= small:
        return np.arange(len(v))
    b = constant(v, F, lower, upper)
    # How far b is beyond what the bound allows: -F <= b at the upper bound of an increase.
    excess = np.where(v < upper, -F - b, -np.inf)
    excess = np.maximum(excess, np.where(v > lower, b + F, -np.inf))
    excess[v != 0] = np.inf
    count = np.count_nonzero(v) + max(small, np.count_nonzero(v) // 2)
    count = min(count, np.count_nonzero(excess > 0))
    # Both ends of the violation are in it, so that there is a pair that can move.
    ends = [
        np.argmax(np.where(v < upper, -F, -np.inf)),
        np.argmin(np.where(v > lower, -F, np.inf)),
    ]
    chosen = np.argpartition(-excess, count - 1)[:count] if count else np.empty(0, np.intp)
    return np.union1d(chosen, ends)


def _newton(R, v, F, lower, upper):
    """Minimise over the free variables, and again without those that reach their bounds."""
    for _ in range(CUTS):
        free = np.flatnonzero((v > lower) & (v < upper))
        if len(free) < 2:
            return
        step = _newton_step(R[np.ix_(free, free)], F[free])
        if not F[free] @ step < 0:
            return
        bound = np.where(step > 0, upper[free], lower[free])
        room = np.divide(bound - v[free], step, out=np.full(len(free), np.inf), where=step != 0)
        first = room.argmin()
        moved = np.clip(v[free] + min(room[first], 1.0) * step, lower[free], upper[free])
        if room[first] <= 1.0:
            moved[first] = bound[first]
        F += (moved - v[free]) @ R[free]
        v[free] = moved
        if room[first] > 1.0:
            return


def _newton_step(R, F):
    """The step of sum zero to the minimum of ``1/2 s'R s + F's``, shortened by a small ridge.

    The point of the smallest norm takes what the others give, so that these are unconstrained. The
    ridge makes the matrix of their problem definite, if the points are dependent, and the result a
    descent direction whose full length does not increase the objective.
    """
    n, k = len(F), np.diagonal(R).argmin()
    others = np.arange(n) != k
    H = R[np.ix_(others, others)] - R[others, k, None] - R[k, others] + R[k, k]
    square = np.diagonal(H).copy()
    floor = EPS * (square.max() if square.max() > 0 else max(R.max(), 1.0))
    scale = 1.0 / np.sqrt(np.maximum(square, floor))
    H *= scale
    H *= scale[:, None]
    step = np.zeros(n)
    for ridge in RIDGES:
        system = H.copy()
        system.flat[::n] += n * ridge
        factor, failed = sl.lapack.dpotrf(system, lower=True, clean=False, overwrite_a=True)
        if not failed:
            s, _ = sl.lapack.dpotrs(factor, scale * (F[k] - F[others]), lower=True)
            step[others] = scale * s
            step[k] = -step.sum()
            break
    return step


def _balance(v, lower, upper, others):
    """Let ``1'v + others`` be zero again after rounding, by a change of the freest variable."""
    excess = fsum(v) + others
    room = np.where((v > lower) & (v < upper), v - lower if excess > 0 else upper - v, 0.0)
    k = room.argmax()
    if room[k] > abs(excess):
        v[k] -= excess
