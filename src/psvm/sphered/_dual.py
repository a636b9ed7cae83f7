"""The dual of a support vector machine on a matrix R, and how an answer is checked.

With the signed variables ``v = Y alpha`` (`004` eq. 43)::

    minimise   D(v) = 1/2 v'R v - y'v    subject to 1'v = 0,  0 <= y_i v_i <= C s_i

with the weights s of the points, which are one in the paper.
R is anything with `block(index)`, the dense ``R[index][:, index]``, and `product(v)`. The gradient
is ``F = R v - y``; ``-F_i`` is the constant b that puts point i on its margin.
"""

import time
import warnings
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from .._core._svm import smo
from ..solvers import Status
from ..solvers._solution import StatusByName

PRECISION = 1e-13
"""Violations below this share of the largest value cannot be certified in double precision."""
SMALL = 400
"""So many variables join the working set at once; problems up to this size are solved whole."""
MAX_STEPS = 10_000_000


@dataclass(frozen=True, eq=False)
class Target:
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
    """When to stop: the tolerated KKT violation, and how many steps and seconds there are."""

    tol: float = 1e-4
    max_iter: int | None = None
    max_time: float | None = None

    def rest(self, began, n_iter, tol):
        """What is left after `n_iter` steps since the time `began`, with another tolerance."""
        steps = None if self.max_iter is None else max(self.max_iter - n_iter, 0)
        seconds = None
        if self.max_time is not None:
            seconds = max(self.max_time - (time.perf_counter() - began), 0.0)
        return Limits(tol, steps, seconds)


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


class DenseMatrix:
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


class FactorMatrix:
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


def minimise(R, target, limits, start=None):
    """Solve the dual; `start` is a feasible v.

    Each round solves the problem of a working set: all non-zero variables and the worst violators
    among the others. A variable that went to zero and belongs there leaves it.
    """
    deadline = np.inf if limits.max_time is None else time.perf_counter() + limits.max_time
    y, bound = target.y, target.bound
    lower, upper = np.where(y > 0, 0.0, -bound), np.where(y > 0, bound, 0.0)
    v = np.zeros(len(y)) if start is None else start.copy()
    left = MAX_STEPS if limits.max_iter is None else limits.max_iter
    n_iter, before = 0, np.inf
    while True:
        F = R.product(v) - y
        violation = kkt_violation(v, F, lower, upper)
        threshold = max(limits.tol, PRECISION * np.abs(F).max())
        objective = 0.5 * v @ (F - y)
        if violation <= threshold:
            status = Status.OPTIMAL
        elif n_iter >= left:
            status = Status.MAX_ITER
        elif time.perf_counter() > deadline:
            status = Status.MAX_TIME
        elif not objective < before:
            status = Status.STALLED
        else:
            status = None
        if status is not None:
            return _certified(v, F, target, lower, upper, status=status, n_iter=n_iter)
        before = objective
        W = _working_set(v, F, lower, upper)
        v_W, F_W = v[W], F[W]
        problem = R.block(W), v_W, F_W, lower[W], upper[W]
        # While others wait to join, more accuracy than this would be wasted.
        enough = 0.1 * violation if len(W) < len(v) else 0.0
        n_iter += _solve_small(problem, max(threshold / 2, enough), left - n_iter, deadline)
        v[W] = v_W


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


def _certified(v, F, target, lower, upper, **how):
    y, b = target.y, constant(v, F, lower, upper)
    values = F + y
    square = v @ values
    gap = _primal(square, y * (values + b), target.bound) - (y @ v - 0.5 * square)
    return DualSolution(
        v=v,
        values=values,
        b=b,
        objective=float(y @ v - 0.5 * square),
        gap=float(max(gap, 0.0)),
        kkt_violation=kkt_violation(v, F, lower, upper),
        **how,
    )


def _primal(square, margins, bound):
    """``1/2 w'(..)w + bound'xi``; without slack w is scaled until all margins are at least one."""
    if np.isfinite(bound).all():
        return 0.5 * square + bound @ np.maximum(0.0, 1.0 - margins)
    smallest = margins.min()
    return 0.5 * square / min(smallest, 1.0) ** 2 if smallest > 0 else np.inf


def _working_set(v, F, lower, upper):
    """The support and the worst of the others, as increasing indices."""
    if len(v) <= SMALL:
        return np.arange(len(v))
    b = constant(v, F, lower, upper)
    # How far b is beyond what the bound allows: -F <= b at the upper bound of an increase.
    excess = np.where(v < upper, -F - b, -np.inf)
    excess = np.maximum(excess, np.where(v > lower, b + F, -np.inf))
    excess[v != 0] = np.inf
    count = np.count_nonzero(v) + max(SMALL, np.count_nonzero(v) // 2)
    count = min(count, np.count_nonzero(excess > 0))
    # Both ends of the violation are in it, so that there is a pair that can move.
    ends = [
        np.argmax(np.where(v < upper, -F, -np.inf)),
        np.argmin(np.where(v > lower, -F, np.inf)),
    ]
    chosen = np.argpartition(-excess, count - 1)[:count] if count else np.empty(0, np.intp)
    return np.union1d(chosen, ends)


def _solve_small(problem, threshold, max_steps, deadline):
    """SMO in turns with Newton steps on the free variables; changes v and F in place.

    SMO finds out quickly which variables are free and needs long for their last digits; these
    are the solution of a small linear system.
    """
    n_iter, turn = 0, max(20 * len(problem[1]), 1000)
    while n_iter < max_steps and time.perf_counter() <= deadline:
        steps = smo(*problem, threshold, min(turn, max_steps - n_iter))
        n_iter += steps
        if steps < turn:
            break
        _newton(*problem)
    return n_iter


def _newton(R, v, F, lower, upper):
    """Minimise over the free variables, as far as the box allows."""
    free = np.flatnonzero((v > lower) & (v < upper))
    if len(free) < 2:
        return
    system = np.ones((len(free) + 1, len(free) + 1))
    system[:-1, :-1] = R[np.ix_(free, free)]
    system[-1, -1] = 0.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", sl.LinAlgWarning)
            step = sl.solve(system, np.append(-F[free], 0.0), assume_a="sym")[:-1]
    except (sl.LinAlgError, sl.LinAlgWarning):
        return  # the free points are dependent: there is no unique minimum
    step -= step.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(step > 0, (upper[free] - v[free]) / step, (lower[free] - v[free]) / step)
    length = min(1.0, np.nanmin(room))
    F += length * (step @ R[free])
    v[free] = np.clip(v[free] + length * step, lower[free], upper[free])
