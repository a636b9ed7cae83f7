"""The fast solver: small problems over a growing working set, solved exactly or by descent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._core._active_set import ActiveSet
from .._core._dense import diverse
from .._parameters import Integer
from ..matrix import Standardized
from ..problem import Problem, kkt_violation
from ._clock import Clock
from ._descent import Alternative, Descent, sweep_work
from ._solution import Solution, Status
from ._solver import Solver

BATCH = 100
"""Violators that join the working set at once."""
POOL = 6
"""Candidates that are looked at for one that joins."""
CORRELATED = 0.9
"""A candidate that is more correlated than this with a better one waits."""
SAMPLE = 256
"""Rows on which the correlations are estimated."""
FAIR = 3.0
"""Factor by which the sampled rows of a column may miss their share of its norm."""
SWEEPS = 5
"""Sweeps of coordinate descent over the products before the exact method."""
DESCENT, AGAIN = 10, 2
"""Sweeps over the columns for which descent is tried, where the exact method would cost more of
them; and the factor by which W has to grow before that happens again after it was too slow."""
NEAR_ENOUGH = 0.1
"""Violation that descent leaves, as a share of the largest of the whole problem."""
FACTOR, SMALL = 24.0, 20.0
"""Cube of the size of W over the work for a factor, and square root of that for the sweeps over
the products and the Newton steps, as shares of it."""
PRODUCTS = 128 * 2**20
"""Bytes of products of columns beyond which only descent is left, unless the columns need more."""
EXACT = 0.3
"""Violation left in the small problem, as a share of the one allowed: room for rounding."""
LOOSE = 0.01
"""The same as a share of the largest violation of the whole problem."""
PRODUCTIVE = 0.7
"""Share of new variables that have to become non-zero for the next batch to be larger."""
LARGEST_BATCH, FOLD = 2000, 500
"""Limits of a growing batch, and of the variables at +-C that stay in the working set."""
ROOM = 100 * 2**20
"""Bytes of dense columns, beyond which variables at 0 leave the working set."""
WORK = 5e8
"""Operations of one uninterrupted run of the core: less than half a second."""
DEPENDENT, BOLD = 1e-10, 1e-13
"""Squared distance from the others below which a column counts as their combination, and the same
after a slow round: where many columns nearly depend on each other, more of them are needed."""
CAUTION = 100.0
"""Factor of that distance after a round in which rounding errors undid the progress."""
PATIENCE, UNDONE = 32, 8
"""Slow rounds in a row after which double precision allows no more, and how many of them a round
counts for that rounding errors undid: it is repeated with fewer columns and seldom ends better."""
NOISE = 64 * np.finfo(float).eps
"""Rounding error of a gradient as a share of ``||alpha||_1``, the columns having norm one."""
SLOW = 0.95
"""A round that leaves more than this of the objective and of the smallest violation is slow, once
the violation may be rounding."""

SLIGHT = 1e-9
"""A round that gains no more than this share of the objective, and no smaller violation, is slow
as well: steps along columns that almost depend on each other may be as small as that for ever."""


@dataclass(frozen=True, kw_only=True)
class WorkingSet(Solver):
    """Options of the working-set method, the fast solver.

    Each round finds the variables that violate the KKT conditions most by one product with K,
    adds those that differ enough from each other to the working set W, and solves the problem
    of W with the others fixed: exactly, from products of the columns of W with each other, or by
    coordinate descent on the residual where these products would cost more.

    Parameters
    ----------
    batch : int, default=100
        Violators that join the working set in a round.
    tol : float, default=None
        Largest KKT violation relative to epsilon (to ``||K̃'y||_inf`` if epsilon is 0). None takes
        the `tol` of the caller.
    max_iter : int, default=None
        Largest number of rounds. None takes the limit of the caller, if it has one.
    max_time : float, default=None
        Largest time in seconds. None takes the limit of the caller, if it has one.

    Examples
    --------
    >>> import numpy as np, psvm
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(30, 10))
    >>> psvm.solve(K, K[:, 0] + K[:, 1], epsilon=0.5, solver=psvm.WorkingSet(tol=1e-8)).status
    <Status.OPTIMAL: 'optimal'>
    """

    _constraints: ClassVar = {"batch": Integer(least=1)}

    batch: int = BATCH

    def workspace(self, K: Standardized) -> Any:
        """Columns, their products and their factor."""
        return Workspace(K)

    def minimise(
        self, problem: Problem, *, start: np.ndarray | None = None, workspace: Any = None
    ) -> Solution:
        """Solve a problem. See `Solver.minimise`."""
        if workspace is None:
            workspace = Workspace(problem.K)
        elif workspace.K is not problem.K:
            raise ValueError("The workspace belongs to another matrix; make one for this K.")
        return _WorkingSetRun(self, problem, start, workspace).solve()


class Workspace:
    """The working set W of one matrix: its columns and their products ``G = K̃_W'K̃_W``.

    The columns that joined last may be without products, until `form` is called.

    Parameters
    ----------
    K : Standardized
        K̃.
    small : ActiveSet, default=None
        The solver of the problem of W.
    whole : bool, default=None
        Whether W is to be all columns; None means if they are few.
    fold : int
        Variables at +-C that stay in W.
    room : int
        Bytes of dense columns, beyond which variables at 0 leave W.
    work : float
        Operations of one uninterrupted run of the core.

    Attributes
    ----------
    index : ndarray
        The columns of K that are in W.
    member : ndarray of bool
        Whether a column of K is in W.
    whole : bool
        Whether W is to be all columns, because they are few.
    small : ActiveSet
        The problem of W, with G.
    n_added : int
        Columns that ever joined.
    last : tuple of (y, alpha, r, F), or None
        Where the last solve ended.
    """

    def __init__(self, K, small=None, *, whole=None, fold=FOLD, room=ROOM, work=WORK):
        L, P = K.shape
        self.K = K
        self.whole = K.few if whole is None else whole
        self.fold, self.room, self.work = fold, room, work
        self.index = np.empty(0, dtype=np.intp)
        self.member = np.zeros(P, dtype=bool)
        self.small = ActiveSet(L) if small is None else small
        self.n_added = 0
        self.last = None
        self._columns = K.column_block()

    def fits(self, alphas):
        """``alphas @ K̃_W.T`` for some rows of variables of W."""
        if not self.whole:
            return np.ascontiguousarray(self._columns.matvec(alphas.T).T)
        whole = np.zeros((self.K.shape[1], len(alphas)))
        whole[self.index] = alphas.T
        return np.ascontiguousarray(self.K.matvec(whole).T)

    def gradients(self, R):
        """``R @ K̃_W`` for some rows of residuals."""
        F = self.K.rmatvec(R.T)[self.index] if self.whole else self._columns.rmatvec(R.T)
        return np.ascontiguousarray(F.T)

    def residual(self, y, alpha):
        """``y - K̃_W alpha_W``."""
        return y - self._columns.matvec(alpha[self.index])

    @property
    def entries(self):
        """Stored entries of the columns of W."""
        return self._columns.entries

    def exact_work(self, m, q=0):
        """Operations of the exact method with m free variables, if q more are in W.

        That includes the products it has to form.
        """
        n, m = len(self.index) + q, min(m, self.K.shape[0])
        return self._columns.work(self.small.n, q) + m**3 / FACTOR + SMALL * n**2

    @property
    def formable(self):
        """Whether the products of W need little memory, or no more than its columns."""
        return 8 * len(self.index) ** 2 <= max(PRODUCTS, 8 * self.entries)

    def form(self):
        """Form the products of the columns that have none."""
        if self.small.n < len(self.index):
            self.small.extend(self._columns.products(self.small.n))

    def descent(self, alpha, r, F, C, epsilon):
        """A `Descent` of the variables of W."""
        return Descent(self._columns, alpha[self.index], r.copy(), F[self.index], C, epsilon)

    def take_whole(self):
        """Add all columns that have variance; their copies are not needed then."""
        self.index = np.flatnonzero(self.K.norms > 0)
        self.member[self.index] = True
        Q = self.K.gram()
        if not self.member.all():
            Q = Q[np.ix_(self.index, self.index)]
        self.small.extend(np.asfortranarray(Q))
        self.n_added += len(self.index)

    def extend(self, new):
        """Add the columns `new` of K; `form` is for their products."""
        self._columns.extend(new)
        self.index = np.concatenate([self.index, new])
        self.member[new] = True
        self.n_added += len(new)

    def keep(self, mask):
        """Remove the members of W that are not marked."""
        kept = np.flatnonzero(mask)
        self.member[self.index[~mask]] = False
        self._columns.keep(kept)
        self.index = self.index[kept]
        self.small.keep(kept[kept < self.small.n])


class _WorkingSetRun:
    """One solve: the rounds around the small problems."""

    def __init__(self, options, problem, start, workspace):
        self.clock = Clock(options.max_time)
        self.options, self.problem, self.workspace = options, problem, workspace
        self.threshold = problem.threshold(options.tol)
        self.n_iter, self.patience, self.batch = 0, PATIENCE, options.batch
        self.smallest = self.lowest = np.inf
        self.waiting = 0  # violators that did not join W
        self.retry = 0  # size of W from which descent is tried
        self.alternative = Alternative(EXACT * self.threshold)
        self.added, self.steps = workspace.n_added, workspace.small.n_steps
        self.workspace.small.S.dependent = DEPENDENT
        self.alpha = np.zeros(problem.K.shape[1])
        self.fixed = None
        self.know(problem.y, -problem.l)
        if start is not None:
            self.alpha[:] = np.clip(start, -problem.C, problem.C)
            self.alpha[problem.K.norms == 0] = 0.0
            self.resume()

    def solve(self):
        status = None
        while status is None:
            if self.d.max(initial=0.0) <= self.threshold:
                status = Status.OPTIMAL
            else:
                status = self.limit() or self.round()
        return self.solution(status)

    def resume(self):
        """Evaluate the start; nothing has to be done if it is where the last solve ended."""
        y, alpha, r, F = self.workspace.last or (None,) * 4
        if y is self.problem.y and np.array_equal(alpha, self.alpha):
            self.know(r, F)
        else:
            self.evaluate()

    def round(self):
        """Extend W, solve its problem, and evaluate the whole problem there."""
        new = self.choose(self.d)
        self.extend(new)
        self.n_iter += 1
        before = self.alpha.copy(), self.r, self.F, self.d
        status = self.solve_small(self.d.max())
        self.fold(new)
        self.evaluate()
        return status or self.judge(before)

    def extend(self, new):
        """Let variables join W."""
        if not len(new):
            return
        if self.alpha[new].any():
            self.fixed = None
        if self.workspace.whole:
            self.workspace.take_whole()
        else:
            self.workspace.extend(new)

    def fold(self, new):
        """Let variables leave W: those at +-C if they are many, those at 0 if they need room."""
        W, C = self.workspace, self.problem.C
        if W.whole:
            return
        if np.count_nonzero(np.abs(self.alpha[new]) >= C) > len(new) / 2:
            self.batch = max(min(2 * self.batch, LARGEST_BATCH), self.batch)
        elif self.alternative.spent == 0:
            self.batch = self.options.batch
            if np.count_nonzero(self.alpha[new]) > PRODUCTIVE * max(len(new), self.batch):
                self.grow_batch()
        alpha = self.alpha[W.index]
        leaves = np.abs(alpha) >= C
        if np.count_nonzero(leaves) <= max(len(alpha) / 2, W.fold):
            leaves[:] = False
        if len(alpha) > max(3 * np.count_nonzero(alpha), W.fold, W.room // (8 * len(self.r))):
            leaves |= alpha == 0
        if leaves.any():
            W.keep(~leaves)
            self.fixed = None

    def grow_batch(self):
        """Double the batch if descent is to be tried with so many new variables."""
        W, q = self.workspace, 2 * self.batch
        m = np.count_nonzero(self.alpha[W.index]) + q
        entries = W.entries * (1 + q / len(W.index))
        if m <= len(self.r) and W.exact_work(m, q) > DESCENT * sweep_work(entries):
            self.batch = q

    def solve_small(self, worst):
        """Minimise over W, the other variables fixed."""
        W = self.workspace
        if W.whole:
            return self.solve_exactly(worst, SWEEPS)
        if self.tries_descent():
            if self.descend(worst):
                return None
            if self.clock.over:
                return Status.MAX_TIME
            if not W.formable:
                return None
            return self.solve_exactly(worst, 0)
        return self.solve_exactly(worst, SWEEPS)

    def tries_descent(self):
        """Whether descent may be faster than the exact method, the alternative."""
        W, alternative, n = self.workspace, self.alternative, len(self.workspace.index)
        if not W.formable:
            alternative.work = np.inf
            return True
        m = np.count_nonzero((self.alpha[W.index] != 0) | (self.d[W.index] > 0))
        least = max(DESCENT * sweep_work(W.entries), alternative.spent / AGAIN)
        # W grows by what waits: all of it counts for the exact method, which it makes slower.
        more = min(self.waiting, n)
        alternative.work = W.exact_work(m + more, more)
        return n >= self.retry and W.exact_work(m) > least

    def descend(self, worst):
        """Descend over W; whether that was enough."""
        problem, W = self.problem, self.workspace
        threshold = max(EXACT * self.threshold, NEAR_ENOUGH * worst)
        descent = W.descent(self.alpha, self.r, self.F, problem.C, problem.epsilon)
        reached = descent.run(threshold, self.alternative, lambda: self.clock.over)
        self.alpha[W.index], self.F[W.index] = descent.alpha, descent.F
        self.alternative.spent += descent.work
        self.batch = self.options.batch
        if reached:
            # No more than as many again, and as the rank allows
            m = np.count_nonzero(descent.alpha)
            self.batch = max(min(m, len(self.r) - m), self.batch)
        else:
            self.retry = AGAIN * len(W.index)
            self.drop(descent)
        return reached

    def drop(self, descent):
        """Let variables leave W at which there is nothing to do, before products are formed."""
        W = self.workspace
        d = kkt_violation(descent.alpha, descent.F, self.problem.C, self.problem.epsilon)
        idle = (descent.alpha == 0) & (d <= 0)
        idle[: W.small.n] = False
        if idle.any():
            W.keep(~idle)

    def solve_exactly(self, worst, sweeps):
        """Solve the problem of W by products of its columns."""
        small, problem, index = self.workspace.small, self.problem, self.workspace.index
        self.workspace.form()
        self.alternative.spent = 0.0
        small.alpha[:] = self.alpha[index]
        small.F[:] = self.F[index]
        threshold = EXACT * self.threshold
        if not self.workspace.whole:
            threshold = max(threshold, LOOSE * worst)
        small.begin(problem.C, problem.epsilon, threshold, sweeps)
        status = None
        while status is None and not small.solve(self.workspace.work):
            status = self.limit(inside=True)
        self.alpha[index] = small.alpha
        return status

    def choose(self, d):
        """The violators that join W: the largest that are not alike, and all free variables."""
        problem, K, W = self.problem, self.problem.K, self.workspace
        outside = ~W.member & (K.norms > 0)
        if W.whole:
            return np.flatnonzero(outside)
        free = outside & (self.alpha != 0) & (np.abs(self.alpha) < problem.C)
        if self.n_iter == 0 and self.alpha.any() and (d[W.index] > self.threshold).any():
            # On a path a smaller epsilon makes violators of many variables that are none any
            # more when those of W have found their new values.
            return np.flatnonzero(free)
        candidates = np.flatnonzero(outside & ~free & (d > self.threshold))
        batch = self.batch
        self.waiting = max(len(candidates) - batch, 0)
        if len(candidates) > batch:
            candidates = self.different(candidates[np.argsort(-d[candidates])], batch)
        return np.concatenate([np.flatnonzero(free), candidates])

    def different(self, candidates, batch):
        """The first candidates that are not alike, as far as some rows can tell."""
        rows = self.problem.K.sample_rows(SAMPLE)
        if not len(rows):
            return candidates[:batch]
        for spare in (BATCH, (POOL - 1) * BATCH):  # often a few are enough
            pool = candidates[: batch + spare]
            chosen = pool[diverse(self.sample(rows, pool), batch, CORRELATED)]
            if len(chosen) == batch:
                break
        return chosen

    def sample(self, rows, index):
        """Some rows of columns of K̃, scaled to norm one there.

        A column whose sampled rows do not have about their share of its norm, as those of a
        sparse matrix, says nothing about correlations: it becomes zero.
        """
        L = self.problem.K.shape[0]
        X = self.problem.K.submatrix(rows, index)
        size = np.square(X).sum(axis=0) * (L / len(rows))
        fair = (size > 1 / FAIR) & (size < FAIR)
        X *= np.sqrt(np.divide(L / len(rows), size, out=np.zeros_like(size), where=fair))
        return np.asfortranarray(X)

    def evaluate(self):
        """Residual and gradient of alpha, from scratch."""
        problem, W = self.problem, self.workspace
        if W.whole:
            self.know(*problem.evaluate(self.alpha))
            return
        if self.fixed is None:
            outside = np.where(W.member, 0.0, self.alpha)
            self.fixed = problem.y - problem.K.matvec(outside) if outside.any() else problem.y
        r = W.residual(self.fixed, self.alpha)
        self.know(r, problem.gradient(r))

    def know(self, r, F):
        """Residual and gradient of alpha, and what follows from them."""
        self.r, self.F = r, F
        self.d = kkt_violation(self.alpha, F, self.problem.C, self.problem.epsilon)

    def limit(self, inside=False):
        options = self.options
        if self.clock.over:
            return Status.MAX_TIME
        if not inside and options.max_iter is not None and self.n_iter >= options.max_iter:
            return Status.MAX_ITER
        return None

    def judge(self, before):
        """Take a round back that made things worse; too many of them, or slow ones, are the end."""
        alpha, r, F, d = before
        value, old_value = self.value(self.alpha, self.r), self.value(alpha, r)
        worst, old_worst = self.d.max(), d.max()
        worse = value >= (1 - 1e-15) * old_value and worst >= 0.99 * old_worst
        crawls = value > (1 - SLIGHT) * old_value
        slow = worst > SLOW * self.smallest and (
            crawls or (value > SLOW * old_value and self.noisy())
        )
        self.smallest = min(self.smallest, worst)
        if old_value <= self.lowest:
            self.lowest, self.best = old_value, before
        if not (worse or slow):
            self.patience = PATIENCE
            return None
        if worse:
            self.alpha, self.r, self.F, self.d = alpha.copy(), r, F, d
            self.fixed = None
            self.workspace.small.S.dependent *= CAUTION
        else:
            self.workspace.small.S.dependent = BOLD
        self.patience -= UNDONE if worse else 1
        if self.patience > 0:
            return None
        if self.lowest < value:  # a smaller violation was paid for by a larger objective
            self.alpha, self.r, self.F, self.d = self.best
        return Status.STALLED

    def noisy(self):
        """Whether the violations may be nothing but rounding errors of the gradient."""
        return self.d.max() <= NOISE * np.abs(self.alpha).sum()

    def value(self, alpha, r):
        """The objective plus ``1/2 y'y``: a sum without cancellation."""
        return 0.5 * r @ r + self.problem.epsilon * np.abs(alpha).sum()

    def solution(self, status):
        self.workspace.last = self.problem.y, self.alpha.copy(), self.r, self.F.copy()
        return Solution.certified(
            self.problem,
            self.alpha,
            self.r,
            self.F,
            status=status,
            n_iter=self.n_iter,
            n_q_columns=self.workspace.n_added - self.added,
            n_blocks=self.workspace.small.n_steps - self.steps,
            time=self.clock.passed,
        )
