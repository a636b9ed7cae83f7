"""The SMO of Knebel et al. 2008: its options and its outer loop."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._core._smo import Core
from .._parameters import Flag
from ..matrix import Standardized
from ..problem import Problem, kkt_violation, objective
from ._clock import Clock
from ._solution import Solution, Status
from ._solver import Solver

ANNEAL_START, ANNEAL_FACTOR, ANNEAL_TOL = 0.1, 0.9, 4.0
CHUNK = 2_000_000
"""Variables looked at in one uninterrupted run of the core: a few hundredths of a second."""
PATIENCE = 20
"""Runs of the core without a new low after which double precision allows no more."""
SMALL, WIDTH = 1024, 128
"""Up to `SMALL` columns of K, those of Q are formed `WIDTH` at once: one matrix product costs less
than many, and limits of time are seen between two of them."""


class Event(enum.IntEnum):
    """Why the core returned."""

    CONVERGED = 0
    NEED_COLUMN = 1
    MAX_STEPS = 2
    STALLED = 3


@dataclass(frozen=True, kw_only=True)
class SMO(Solver):
    """Options of the papers' Sequential Minimal Optimization.

    The eight variants of the papers are the combinations of `pair`, `block` and `anneal`.

    Parameters
    ----------
    pair : bool, default=True
        Optimise two variables per step ("dual SMO") instead of one ("single SMO").
    block : bool, default=True
        From time to time solve for all recently changed variables at once.
    anneal : bool, default=True
        Approach the target epsilon from above. A warm start skips this.
    tol : float, default=None
        Largest KKT violation relative to epsilon (to ``||K̃'y||_inf`` if epsilon is 0). None takes
        the `tol` of the caller.
    max_iter : int, default=None
        Largest number of steps. None takes the limit of the caller, if it has one.
    max_time : float, default=None
        Largest time in seconds. None takes the limit of the caller, if it has one.

    Examples
    --------
    >>> import numpy as np, psvm
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(30, 10))
    >>> single = psvm.SMO(pair=False, anneal=False)
    >>> psvm.solve(K, K[:, 0] + K[:, 1], epsilon=0.5, solver=single).status
    <Status.OPTIMAL: 'optimal'>
    """

    _constraints: ClassVar = {"pair": Flag(), "block": Flag(), "anneal": Flag()}

    pair: bool = True
    block: bool = True
    anneal: bool = True

    def workspace(self, K: Standardized) -> Any:
        """The columns of Q that were evaluated."""
        return GramColumns(K)

    def minimise(
        self,
        problem: Problem,
        *,
        start: np.ndarray | None = None,
        workspace: Any = None,
        core: Any = Core,
    ) -> Solution:
        """Solve a problem; `core` is the inner loop. See `Solver.minimise`."""
        columns = self.workspace(problem.K) if workspace is None else workspace
        return _SMORun(self, problem, start, columns, core).solve()


class GramColumns:
    """The columns of ``Q = K̃'K̃`` that a solver asked for.

    Attributes
    ----------
    kept : dict of int to ndarray
        The columns.
    address : ndarray of shape (P,)
        Their addresses for the compiled core, 0 for a column that is not there.
    """

    def __init__(self, K):
        self.K = K
        self.kept = {}
        self.address = np.zeros(K.shape[1], dtype=np.uintp)
        self._width = WIDTH if K.shape[1] <= SMALL else 1
        self._formed = {}

    def fetch(self, j):
        """Evaluate column j."""
        number, place = divmod(j, self._width)
        if number not in self._formed:
            first = number * self._width
            index = np.arange(first, min(first + self._width, self.K.shape[1]))
            self._formed[number] = np.ascontiguousarray(self.K.gram_columns(index).T)
        column = self._formed[number][place]
        self.kept[j] = column
        self.address[j] = column.ctypes.data


class _SMORun:
    """One solve: the loop around the core."""

    def __init__(self, options, problem, start, columns, core):
        self.clock = Clock(options.max_time)
        self.options, self.problem, self.columns = options, problem, columns
        P = problem.K.shape[1]
        self.alpha = np.zeros(P)
        self.F = -problem.l
        self.epsilon = problem.epsilon
        if start is not None:
            self.alpha[:] = np.clip(start, -problem.C, problem.C)
            self.alpha[problem.K.norms == 0] = 0.0
            self.F = self.certify()[1]
        elif options.anneal:
            self.epsilon = max(problem.epsilon, ANNEAL_START * problem.epsilon_max)
        self.core = core(self.alpha, self.F, columns, problem.C, options.pair, options.block)
        self.known = len(columns.kept)
        self.expect_progress()

    def solve(self):
        status = None
        while status is None:
            steps = self.core.n_iter
            status = self.iterate()
            if status is None:
                # The core has met the tolerance or cannot go on, by an F of accumulated updates.
                self.F[:] = self.certify()[1]
                if self.worst() <= self.problem.threshold(self.options.tol):
                    status = Status.OPTIMAL
                else:
                    stuck = self.core.n_iter == steps or not self.progress()
                    status = self.limit() or (Status.STALLED if stuck else None)
        return self.solution(status)

    def iterate(self):
        """Run the core; None when it has converged or stalled at the final epsilon."""
        while True:
            annealing = self.epsilon > self.problem.epsilon
            tol = self.options.tol * (ANNEAL_TOL if annealing else 1.0)
            event = Event(self.core.run(self.epsilon, self.problem.threshold(tol), self.steps()))
            if event is Event.NEED_COLUMN:
                self.columns.fetch(self.core.needed)
            elif event is Event.MAX_STEPS and self.progress():
                pass
            elif annealing:
                self.anneal()
            else:
                return None
            limit = self.limit()
            if limit is not None:
                return limit

    def steps(self):
        """Steps until the next look at the clock and at signals."""
        steps = max(1, CHUNK // len(self.alpha))
        if self.options.max_iter is not None:
            steps = min(steps, self.options.max_iter - self.core.n_iter)
        return steps

    def limit(self):
        options = self.options
        if options.max_iter is not None and self.core.n_iter >= options.max_iter:
            return Status.MAX_ITER
        if self.clock.over:
            return Status.MAX_TIME
        return None

    def worst(self):
        """The largest violation at the present epsilon."""
        return kkt_violation(self.alpha, self.F, self.problem.C, self.epsilon).max(initial=0.0)

    def progress(self):
        """Whether objective or violation have reached a new low in one of the last calls."""
        value, worst = objective(self.alpha, self.F, self.problem.l, self.epsilon), self.worst()
        if value < self.lowest - 1e-15 * abs(value) or worst < 0.99 * self.smallest:
            self.patience = PATIENCE
        self.lowest, self.smallest = min(value, self.lowest), min(worst, self.smallest)
        self.patience -= 1
        return self.patience > 0

    def expect_progress(self):
        self.lowest, self.smallest, self.patience = np.inf, np.inf, PATIENCE

    def anneal(self):
        problem, epsilon = self.problem, ANNEAL_FACTOR * self.epsilon
        # A target of 0 is never reached by factors: below the tolerance epsilon has no effect.
        if problem.epsilon == 0 and epsilon < problem.threshold(self.options.tol):
            epsilon = 0.0
        self.epsilon = max(problem.epsilon, epsilon)
        self.expect_progress()

    def certify(self):
        """Residual and gradient, recomputed from alpha."""
        r = self.problem.residual(self.alpha)
        return r, self.problem.gradient(r)

    def solution(self, status):
        r, F = self.certify()
        return Solution.certified(
            self.problem,
            self.alpha,
            r,
            F,
            status=status,
            n_iter=self.core.n_iter,
            n_q_columns=len(self.columns.kept) - self.known,
            n_blocks=self.core.n_blocks,
            time=self.clock.passed,
        )
