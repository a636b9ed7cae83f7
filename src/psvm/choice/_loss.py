"""What values of held-out rows are worth, and the constant that they ask for.

New objects are not their own neighbours: where the diagonal of K is strong, all their values are
shifted. The values of rows without their own part in the model show the shift. For numbers it is
the mean of their residuals, and the loss is the squared error. For two classes a sigmoid is fitted
to them, whose middle is the threshold and whose log loss is the loss. Several machines of one class
against the rest have the shifts of numbers and the log loss of all values together.

A shift counts only as far as it is certain: with a standard error s the shift d becomes
``d max(0, 1 - s^2 / d^2)``; that of numbers counts with `Policy.doubt` times s^2. So a single row,
whatever its value, moves no constant: it moves the mean by as much as the standard error.
"""

import numpy as np
from scipy.special import expit

from .._core._leave_one_out import sigmoids
from ._policy import POLICY
from ._sigmoid import log_odds, smoothed, weight_of_one

CERTAIN = 1e-12
"""Probabilities are at least that far from 0 and 1."""
NEAR = 1.5
"""A log loss of no more than that many times the smallest possible one is as good as that."""
STEPS, CLOSE, FLAT = 50, 1e-4, 1e-7
"""Newton steps for the scale of values, the share of it that ends them (the loss is smallest there
and changes by its square), and the curvature of the loss below which there is no best scale."""


class Loss:
    """The loss of values of shape (T, G), and the shifts that they ask for.

    Parameters
    ----------
    weights : ndarray of shape (G,)
        Of groups of equal rows.
    targets : ndarray of shape (T, G)
        Their mean targets.
    ends : (float, float), default=None
        The range of the targets; None: of these.

    Attributes
    ----------
    least : float
        A mean loss that means no error.
    doubt : float
        What the variances of shifts are multiplied with.
    """

    least, doubt = 0.0, 1.0

    def __init__(self, weights, targets, ends=None):
        self.weights, self.targets = weights, targets
        self.share = weights / weights.sum()
        low, high = (targets.min(axis=1), targets.max(axis=1)) if ends is None else ends
        reach = POLICY.reach * (high - low)
        self.low = np.atleast_1d(low - reach)[:, None]
        self.high = np.atleast_1d(high + reach)[:, None]

    def mean(self, losses):
        """The weighted mean of losses of shape (..., G)."""
        return losses @ self.share

    def error(self, differences):
        """The standard error of the mean of paired differences of shape (..., G)."""
        return standard_error(differences, self.share)

    def inside(self, values):
        """Values within reach of the targets; where nothing can be said, the worst of these."""
        middle = (self.low + self.high) / 2
        worst = np.where(self.targets > middle, self.low, self.high)
        return np.clip(np.where(np.isnan(values), worst, values), self.low, self.high)

    def shifts(self, values):
        """What is added to the constants, of shape (T,)."""
        residuals = self.targets - self.inside(values)
        means = residuals @ self.share
        variances = np.square(residuals - means[:, None]) @ np.square(self.share)
        return certain(means, self.doubt * variances)


class SquaredLoss(Loss):
    """The squared error of one machine; `variances` are those of the targets within groups."""

    doubt = POLICY.doubt

    def __init__(self, weights, targets, variances=0.0, ends=None):
        super().__init__(weights, targets, ends)
        self.variances = variances
        centred = targets - targets @ self.share
        self.least = POLICY.least * float(np.square(centred[0]) @ self.share)

    def __call__(self, values):
        """Losses of the groups, and shifts."""
        shifts = self.shifts(values)
        residual = self.targets - self.inside(values) - shifts[:, None]
        return np.square(residual[0]) + self.variances, shifts


class LogLoss(Loss):
    """The log loss of a sigmoid for two classes; targets are between -1 and +1."""

    def __init__(self, weights, targets):
        super().__init__(weights, targets, (np.full(1, -1.0), np.full(1, 1.0)))
        self.positive = (1.0 + targets[0]) / 2
        self.unit = weight_of_one(weights)
        above, below = weights @ self.positive, weights @ (1.0 - self.positive)
        high, low = smoothed(above, below, self.unit)
        self.smoothed = self.positive * high + (1.0 - self.positive) * low
        self.least = -NEAR * (above * np.log(high) + below * np.log1p(-low)) / (above + below)
        self.constant = log_odds(above, below, self.unit)

    def curve(self, values):
        """Slope, middle and variance of the middle of the sigmoid; slope 0 if none rises."""
        inside = np.ascontiguousarray(self.inside(values))
        (slope,), (middle,) = sigmoids(inside, self.smoothed, self.share, np.inf)
        if not slope > 0:
            return 0.0, 0.0, 0.0
        p = expit(slope * (inside[0] - middle))
        information = self.weights / self.unit * p * (1.0 - p)
        distance = inside[0] - middle
        # of (slope, offset), around the middle: the middle is -offset / slope
        square, cross, total = (information @ distance**k for k in (2, 1, 0))
        determinant = square * total - cross**2
        variance = square / determinant / slope**2 if determinant > 0 else np.inf
        return slope, middle, variance

    def shifts(self, values):
        """What is added to the constant, of shape (1,): the middle of the sigmoid becomes 0."""
        _, middle, variance = self.curve(values)
        return certain(np.array([-middle]), variance)

    def __call__(self, values):
        """Losses of the groups, and shifts."""
        slope, middle, variance = self.curve(values)
        z = slope * (self.inside(values)[0] - middle) if slope else self.constant
        losses = self.positive * np.logaddexp(0.0, -z) + (1 - self.positive) * np.logaddexp(0.0, z)
        return losses + np.zeros_like(self.share), certain(np.array([-middle]), variance)


class ClassesLoss(Loss):
    """The log loss of machines of one class against the rest, all of them together.

    Their values times a scale are the logarithms of the probabilities, up to a constant.
    """

    least = -np.inf

    def __init__(self, weights, targets):
        ends = np.full(len(targets), -1.0), np.full(len(targets), 1.0)
        super().__init__(weights, targets, ends)
        self.classes = (1.0 + targets) / 2

    def __call__(self, values):
        """Losses of the groups, and shifts."""
        shifts, scale = self.shifts(values), 1.0
        f = self.inside(values) + shifts[:, None]
        f = f - f.max(axis=0)
        own = np.einsum("tg,tg->g", self.classes, f)
        for _ in range(STEPS):
            e = np.exp(scale * f)
            total = e.sum(axis=0)
            losses = np.log(total) - scale * own
            mean = (e * f).sum(axis=0) / total
            square = (e * f * f).sum(axis=0) / total
            slope, curvature = self.share @ (mean - own), self.share @ (square - mean**2)
            if not curvature > FLAT:
                break
            # at most half or twice the scale, so that it stays positive
            step = np.clip(slope / curvature, -scale, scale / 2)
            if abs(step) <= CLOSE * scale:
                break
            scale -= step
        return losses, shifts


def standard_error(differences, share):
    """The standard error of a weighted mean of differences of shape (..., G)."""
    around = differences - (differences @ share)[..., None]
    return np.sqrt(np.square(around) @ np.square(share))


def certain(shifts, variances):
    """Shifts as far as they are certain."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = 1.0 - variances / np.square(shifts)
    return np.where(shifts == 0, 0.0, shifts * np.maximum(np.nan_to_num(share), 0.0))


class FoldLoss:
    """The squared error of folds that are known by their errors and mean residuals."""

    def __init__(self, weights, least):
        self.weights, self.share, self.least = weights, weights / weights.sum(), least

    mean, error = Loss.mean, Loss.error

    def shifts(self, values):
        """The certain part of the mean residual, of shape (1,)."""
        mean = self.share @ values[1]
        return certain(np.array([mean]), np.square(values[1] - mean) @ np.square(self.share))

    def __call__(self, values):
        """Losses of the folds, and shifts."""
        shifts = self.shifts(values)
        return values[0] - 2 * shifts * values[1] + np.square(shifts), shifts
