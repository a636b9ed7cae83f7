"""What values of rows that a model has not seen are worth, and the constant that they ask for.

New objects are not their own neighbours: where the diagonal of K is strong, all their values are
shifted. The values of rows without their own part in the model show the shift. For classes a
sigmoid is fitted to them, whose middle is the threshold and whose log loss is the criterion; for
numbers the mean of the residuals is the shift and their variance the criterion.
"""

from typing import NamedTuple

import numpy as np

from .._core._leave_one_out import sigmoids

LIMIT = 3.0
"""Values beyond so many times the targets of -1 and +1 count as if they were there: near
interpolation they may be anything."""
CERTAIN = 1e-12
"""Probabilities are at least that far from 0 and 1."""


class Verdicts(NamedTuple):
    """What several models are worth."""

    losses: np.ndarray
    """Of each group of equal rows, of shape (m, n_groups)."""
    shifts: np.ndarray
    """What is to be added to the constant, of shape (m,)."""
    slopes: np.ndarray
    """Those of the sigmoids, 0 where there is none."""


class Judge:
    """Judges values of rows.

    Parameters
    ----------
    y : ndarray of shape (L,)
        The target; -1 and +1 for classes.
    weights : ndarray of shape (L,)
    group : ndarray of int of shape (L,)
        Equal numbers for equal rows.
    classifies : bool
    """

    def __init__(self, y, weights, group, classifies):
        self.y, self.weights, self.group, self.classifies = y, weights, group, classifies
        self.total = np.bincount(group, weights)
        self.share = self.total / self.total.sum()
        if classifies:
            self.targets = self._smoothed()

    def __call__(self, decisions):
        """Judge values of shape (m, L); a row of them with NaN is worth nothing."""
        judge = self._classes if self.classifies else self._numbers
        losses, shifts, slopes = judge(np.where(self.weights > 0, decisions, 0.0))
        losses = np.where(self.weights > 0, self.weights * losses, 0.0)
        by_group = np.array([np.bincount(self.group, row) for row in losses])
        by_group /= np.where(self.total > 0, self.total, 1.0)
        by_group[~np.isfinite(by_group).all(axis=1)] = np.inf
        return Verdicts(by_group, shifts, slopes)

    def known(self, decisions):
        """A verdict on values of shape (L,) of which some mean nothing; these do not count."""
        known = np.isfinite(decisions) & (self.weights > 0)
        if not known.any():
            return 0.0, 0.0
        part = Judge(self.y, np.where(known, self.weights, 0.0), self.group, self.classifies)
        verdict = part(decisions[None])
        return float(verdict.shifts[0]), float(verdict.slopes[0])

    def mean(self, losses):
        """The mean loss of each model."""
        finite = np.isfinite(losses[:, 0])
        return np.where(finite, np.where(finite[:, None], losses, 0.0) @ self.share, np.inf)

    def differences(self, losses, best):
        """How much larger the mean loss is than that of the best one, and its standard error."""
        finite = np.isfinite(losses[:, 0])
        beyond = np.where(finite[:, None], losses - losses[best], 0.0)
        mean = beyond @ self.share
        error = np.sqrt(np.square(beyond - mean[:, None]) @ np.square(self.share))
        return np.where(finite, mean, np.inf), error

    def _classes(self, decisions):
        slopes, thresholds = sigmoids(
            np.ascontiguousarray(decisions), self.targets, self.weights, LIMIT
        )
        signed = np.where(self.y > 0, 1.0, -1.0)
        inside = np.where(np.isnan(decisions), np.nan, np.clip(decisions, -LIMIT, LIMIT))
        margins = signed * slopes[:, None] * (inside - thresholds[:, None])
        # Without a sigmoid the share of a class is its probability.
        share = np.clip(self.weights @ (self.y > 0) / self.weights.sum(), CERTAIN, 1 - CERTAIN)
        margins[slopes == 0] = signed * np.log(share / (1 - share))
        return np.logaddexp(0.0, -margins), -thresholds, slopes

    def _numbers(self, decisions):
        residual = np.where(self.weights > 0, self.y - decisions, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = residual @ self.weights / self.weights.sum()
            losses = np.square(residual - mean[:, None])
        return losses, np.where(np.isfinite(mean), mean, 0.0), np.zeros(len(mean))

    def _smoothed(self):
        """Targets between 0 and 1 (Platt 2000), so that no class is certain."""
        positive = self.y > 0
        high, low = (
            (count + 1) / (count + 2)
            for count in (self._effective(positive), self._effective(~positive))
        )
        return np.where(positive, high, 1.0 - low)

    def _effective(self, rows):
        """The number of distinct rows that weigh as much as these."""
        total = np.bincount(self.group[rows], self.weights[rows])
        squares = total @ total
        return total.sum() ** 2 / squares if squares > 0 else 0.0
