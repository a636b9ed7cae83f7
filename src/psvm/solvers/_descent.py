"""Coordinate descent on the residual of a working set, with extrapolation and a budget."""

from dataclasses import dataclass

import numpy as np

from ..problem import kkt_violation

SWEEPS = 5
"""Sweeps between two looks at all variables; what they did is extrapolated."""
STALL = 25
"""Looks in a row without a smaller violation, after which rounding errors are all that moves."""
HASTE, LITTLE = 2.0, 0.25
"""Factor of the predicted work, which tends to be more, and share of the work of the exact method
that is tried without a prospect of solving the whole problem."""
SLOWEST = 1e-3
"""Logarithm of the factor by which the violation has fallen, at least."""
CALL = 1e5
"""Operations that could be done while a sweep is called and its result looked at."""


def sweep_work(entries):
    """Operations of a sweep over columns with as many entries."""
    return 4 * entries + CALL


@dataclass
class Alternative:
    """The exact method, and what the descents since it was used have cost.

    Parameters
    ----------
    threshold : float
        Violation at which the whole problem is solved.
    work : float
        Operations of the exact method; infinite if its products need too much memory.
    spent : float
        Operations of the descents.
    """

    threshold: float
    work: float = np.inf
    spent: float = 0.0

    def wins(self, trace, threshold, work):
        """Whether a descent of so much work so far should end.

        It goes on as long as its pace lets it solve the whole problem in a part of the work of the
        exact method, and the smaller a part the more was spent, or if all it needs is little.
        """
        looks, best = len(trace) - 1, min(trace)
        if looks < 1 or self.work == np.inf:
            return False
        pace = work / max(np.log(trace[0] / best), SLOWEST)
        spent = self.spent + work
        left = pace * np.log(best / min(threshold, self.threshold))
        if HASTE * left * max(spent / self.work, 1.0) <= self.work:
            return False
        return spent + pace * np.log(best / threshold) > LITTLE * self.work


class Descent:
    """Sweeps over the columns of a working set W; the other variables are fixed.

    The sweeps go over the free variables and those that violate the conditions. After a few of
    them the sequence of the variables is extrapolated (Anderson acceleration, Bertrand & Massias
    2021), which is kept if the objective falls. No products of columns are formed.

    Parameters
    ----------
    block : ColumnBlock
        ``K̃_W``.
    alpha : ndarray of shape (n,)
        The variables of W; updated.
    r : ndarray of shape (L,)
        The residual; updated.
    F : ndarray of shape (n,)
        The gradient there.
    C, epsilon : float

    Attributes
    ----------
    alpha, r, F : ndarray
        Where the descent is.
    work : float
        Operations so far.
    """

    def __init__(self, block, alpha, r, F, C, epsilon):
        self.block, self.C, self.epsilon = block, C, epsilon
        self.alpha, self.r, self.F = alpha, r, F
        self.work = 0.0

    def run(self, threshold, alternative, over):
        """Descend until no violation exceeds the threshold.

        Parameters
        ----------
        threshold : float
        alternative : Alternative
            The method that takes over if it is faster.
        over : callable
            Whether the time is over.

        Returns
        -------
        bool
            Whether the threshold was reached.
        """
        trace = []
        while True:
            d = kkt_violation(self.alpha, self.F, self.C, self.epsilon)
            worst = d.max(initial=0.0)
            if worst <= threshold:
                return True
            trace.append(worst)
            if over() or self._stalls(trace) or alternative.wins(trace, threshold, self.work):
                return False
            inside = (self.alpha != 0) & (np.abs(self.alpha) < self.C)
            self._sweep(np.flatnonzero((d > 0) | inside))
            self.F = -self.block.rmatvec(self.r)
            self.work += 2 * self.block.entries

    def _stalls(self, trace):
        return len(trace) > STALL and min(trace[-STALL:]) >= min(trace[:-STALL])

    def _sweep(self, some):
        """Some sweeps, and one behind their extrapolation, which may have turned some signs."""
        self._extrapolate(some)
        self.block.sweep(some, self.alpha, self.r, self.C, self.epsilon)
        self.work += sweep_work(self.block.entries * len(some) / len(self.alpha))

    def _extrapolate(self, some):
        alphas, residuals = np.empty((SWEEPS, len(some))), np.empty((SWEEPS, len(self.r)))
        first = self.alpha[some]
        for t in range(SWEEPS):
            self.block.sweep(some, self.alpha, self.r, self.C, self.epsilon)
            alphas[t], residuals[t] = self.alpha[some], self.r
        self.work += SWEEPS * sweep_work(self.block.entries * len(some) / len(self.alpha))
        # The affine combination of the sweeps whose steps add up to least.
        steps = np.diff(alphas, axis=0, prepend=first[None])
        products = steps @ steps.T
        try:
            weights = np.linalg.solve(products, np.ones(SWEEPS))
        except np.linalg.LinAlgError:  # nothing moves any more
            return
        weights /= weights.sum()
        if not np.isfinite(weights).all():
            return
        guess = weights @ alphas
        if np.abs(guess).max() > self.C:
            return
        r = weights @ residuals
        # The change of the objective as a sum of small terms
        change = 0.5 * (r - self.r) @ (r + self.r)
        change += self.epsilon * (np.abs(guess) - np.abs(alphas[-1])).sum()
        if change < 0:
            self.alpha[some], self.r[:] = guess, r
