"""What values of rows that a model has not seen are worth, and the constant that they ask for.

New objects are not their own neighbours: where the diagonal of K is strong, all their values are
shifted. The values of rows without their own part in the model show the shift. For two classes a
sigmoid is fitted to them, whose middle is the threshold and whose log loss is the criterion. For
numbers the mean of the residuals is the shift and their variance the criterion. Several classes
with a machine each have the shifts of numbers and the log loss of all values together.
"""

from typing import NamedTuple

import numpy as np

from .._core._leave_one_out import sigmoids
from ._sigmoid import smoothed, weight_of_one

LIMIT = 3.0
"""Values beyond so many times the targets of -1 and +1 count as if they were there: near
interpolation they may be anything."""
NEAR = 1.5
"""A log loss of no more than that many times the smallest possible one is as good as that."""
CERTAIN = 1e-12
"""Probabilities are at least that far from 0 and 1."""
STEPS, CLOSE, FLAT = 50, 1e-4, 1e-7
"""Newton steps for the scale of values, the share of it that ends them (the loss is smallest there
and changes by its square), and the curvature of the loss below which there is no best scale."""


class Verdicts(NamedTuple):
    """What several models are worth."""

    losses: np.ndarray
    """Of each group of equal rows, of shape (m, n_groups)."""
    shifts: np.ndarray
    """What is to be added to the constant, of shape (m,) or (m, n_machines)."""


class Judge:
    """Judges values of rows.

    Parameters
    ----------
    weights : ndarray of shape (L,)
    group : ndarray of int of shape (L,)
        Equal numbers for equal rows.
    """

    def __init__(self, weights, group):
        self.weights, self.group = weights, group
        self.total = np.bincount(group, weights)
        self.share = self.total / self.total.sum()

    def __call__(self, decisions):
        """Judge values of shape (m, L) or (m, n_machines, L); NaN among them is worth nothing."""
        losses, shifts = self._judge(np.where(self.weights > 0, decisions, 0.0))
        losses = np.where(self.weights > 0, self.weights * losses, 0.0)
        by_group = np.array([np.bincount(self.group, row) for row in losses])
        by_group /= np.where(self.total > 0, self.total, 1.0)
        by_group[~np.isfinite(by_group).all(axis=1)] = np.inf
        return Verdicts(by_group, shifts)

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

    def mean_residuals(self, residuals):
        """The weighted means of residuals of shape (..., L), 0 where they mean nothing."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = residuals @ self.weights / self.weights.sum()
        return np.where(np.isfinite(mean), mean, 0.0)


class NumbersJudge(Judge):
    """Judges by the squared error."""

    least = 0.0

    def __init__(self, weights, group, y):
        super().__init__(weights, group)
        self.y = y

    def _judge(self, decisions):
        residuals = np.where(self.weights > 0, self.y - decisions, 0.0)
        shifts = self.mean_residuals(residuals)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.square(residuals - shifts[:, None]), shifts

    def known_shift(self, decisions):
        """The shift that values of shape (..., L) ask for, of which some mean nothing."""
        known = np.isfinite(decisions).reshape(-1, len(self.weights)).all(axis=0)
        weights = np.where(known, self.weights, 0.0)
        if not weights.any():
            return np.zeros(decisions.shape[:-1])
        part = Judge(weights, self.group)
        return part.mean_residuals(np.where(weights > 0, self.y - decisions, 0.0))


class PairJudge(Judge):
    """Judges two classes, of targets -1 and +1, by the log loss of a sigmoid.

    Targets are not quite 0 and 1, so that losses near `least` tell nothing any more.
    """

    def __init__(self, weights, group, y):
        super().__init__(weights, group)
        self.signs = np.where(y > 0, 1.0, -1.0)
        self.targets = smoothed(y > 0, weights, weight_of_one(self.total))
        own = np.where(y > 0, self.targets, 1.0 - self.targets)
        self.least = -NEAR * (weights @ np.log(own)) / weights.sum()

    def _judge(self, decisions):
        decisions = np.ascontiguousarray(decisions)
        slopes, thresholds = sigmoids(decisions, self.targets, self.weights, LIMIT)
        inside = np.where(np.isnan(decisions), np.nan, np.clip(decisions, -LIMIT, LIMIT))
        margins = self.signs * slopes[:, None] * (inside - thresholds[:, None])
        # Without a sigmoid the share of a class is its probability.
        share = self.weights @ (self.signs > 0) / self.weights.sum()
        share = np.clip(share, CERTAIN, 1 - CERTAIN)
        margins[slopes == 0] = self.signs * np.log(share / (1 - share))
        return np.logaddexp(0.0, -margins), -thresholds


class ClassesJudge(NumbersJudge):
    """Judges machines of one class against the rest by the log loss of all of them together.

    Their values times a scale are the logarithms of the probabilities, up to a constant.
    """

    least = -np.inf

    def __init__(self, weights, group, Y):
        super().__init__(weights, group, Y)
        self.counts = np.flatnonzero(weights > 0)
        self.code = Y.argmax(axis=0)[self.counts]
        self.scale = 1.0

    def _judge(self, decisions):
        shifts = self.mean_residuals(self.y - decisions)
        values = np.clip(decisions[..., self.counts] + shifts[..., None], -LIMIT, LIMIT)
        losses = np.zeros((len(decisions), len(self.weights)))
        losses[:, self.counts] = [self._log_loss(f) for f in values]
        return losses, shifts

    def _log_loss(self, f):
        """Minus the logarithm of the probability of the own class, with the best scale."""
        if not np.isfinite(f).all():
            return np.full(f.shape[1], np.inf)
        behind = f - np.take_along_axis(f, self.code[None], 0)[0]
        top = behind.max(axis=0)
        below = behind - top
        weights, scale = self.weights[self.counts], self.scale
        for _ in range(STEPS):
            e = np.exp(scale * below)
            total = e.sum(axis=0)
            losses = scale * top + np.log(total)
            e *= behind
            mean = e.sum(axis=0) / total
            e *= behind
            square = e.sum(axis=0) / total
            slope, curvature = weights @ mean, weights @ (square - mean**2)
            if not curvature > FLAT * weights.sum():
                break
            # at most half or twice the scale, so that it stays positive
            step = np.clip(slope / curvature, -scale, scale / 2)
            if abs(step) <= CLOSE * scale:
                self.scale = scale  # near that of the next point of a path
                break
            scale -= step
        return losses
