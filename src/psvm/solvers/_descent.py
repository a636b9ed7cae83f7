"""Coordinate descent on the residual of a working set, with extrapolation and a budget."""

import numpy as np

from ..problem import kkt_violation

SWEEPS = 5
"""Sweeps between two looks at all variables; what they did is extrapolated."""
LOOKS = 3
"""Looks back from which the pace is told."""
STALL = 25
"""Looks in a row without a smaller violation, after which rounding errors are all that moves."""
PATIENT = 2.0
"""Factor by which the predicted work may exceed the budget: the pace varies."""


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

    def run(self, threshold, budget, over):
        """Descend until no violation exceeds the threshold.

        Parameters
        ----------
        threshold : float
        budget : float
            Work after which another method is better. The descent ends as soon as its pace shows
            that this will not do.
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
            if over() or self._stalls(trace) or self._exceeds(trace, threshold, budget):
                return False
            inside = (self.alpha != 0) & (np.abs(self.alpha) < self.C)
            self._sweep(np.flatnonzero((d > 0) | inside))
            self.F = -self.block.rmatvec(self.r)
            self.work += 2 * self.block.entries

    def _stalls(self, trace):
        return len(trace) > STALL and min(trace[-STALL:]) >= min(trace[:-STALL])

    def _exceeds(self, trace, threshold, budget):
        """Whether the work at this pace is more than the budget."""
        if self.work > budget:
            return True
        looks = min(len(trace) - 1, LOOKS)
        if looks < 2 or budget == np.inf:
            return False
        fall = np.log(trace[-1 - looks] / trace[-1]) / looks
        left = np.log(trace[-1] / threshold) / max(fall, 1e-3)
        return self.work * (1 + left / (len(trace) - 1)) > PATIENT * budget

    def _sweep(self, some):
        """Some sweeps and their extrapolation."""
        alphas, residuals = np.empty((SWEEPS, len(some))), np.empty((SWEEPS, len(self.r)))
        first = self.alpha[some]
        for t in range(SWEEPS):
            self.block.sweep(some, self.alpha, self.r, self.C, self.epsilon)
            alphas[t], residuals[t] = self.alpha[some], self.r
        self.work += 4 * SWEEPS * self.block.entries * len(some) / len(self.alpha)
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
