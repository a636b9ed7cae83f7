"""A sigmoid of decision values: the threshold between two classes, and their probabilities.

The sigmoid ``P(+) = 1 / (1 + exp(-(slope f + offset)))`` maximises the weighted likelihood of
targets that are almost 0 and 1 (Platt 2000), so that it is finite for classes that do not overlap.
The decision values f are those of rows that the machine has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from .._core._leave_one_out import sigmoids
from .._parameters import Number

SMOOTHING = 0.25
"""Rows by which each class counts in the other one. Platt's one row gives the same thresholds, but
probabilities that are too close to 1/2, most of all where those of several pairs are coupled."""
TAIL = 0.1
"""Share at each end of a class whose values may be of any size."""


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """Probability of the positive class as a function of the decision value.

    Attributes
    ----------
    slope : float
        Zero if decision values say nothing about the class: the probability is constant.
    offset : float
    """

    slope: float
    offset: float

    _fitted: ClassVar = {"slope": Number(least=0), "offset": Number()}

    @property
    def rises(self):
        """Whether the probability depends on the decision value."""
        return self.slope > 0

    @property
    def threshold(self):
        """The decision value where both classes are equally probable; 0 if there is none."""
        return -self.offset / self.slope if self.rises else 0.0

    def __call__(self, f):
        """Probability of the positive class."""
        with np.errstate(over="ignore"):
            return expit(self.slope * f + self.offset)


def fit_sigmoid(f, positive, weights, unit=1.0):
    """Fit a sigmoid to decision values by maximum likelihood.

    Parameters
    ----------
    f : ndarray of shape (n,)
        Decision values. Rows with NaN or infinity take no part.
    positive : ndarray of bool of shape (n,)
        The classes.
    weights : ndarray of shape (n,)
        Weight 2 equals the row twice; rows with weight 0 take no part.
    unit : float, default=1.0
        The weight that counts as one row where targets are smoothed.

    Returns
    -------
    Sigmoid
        Of slope 0 and the share of the class where no sigmoid that rises fits, or a class has less
        than two different values: without its only row, nothing is known of it.

    Examples
    --------
    >>> import numpy as np
    >>> f = np.array([-2.0, -1.0, 1.0, 0.0, 2.0, 3.0])
    >>> positive = np.array([False, False, False, True, True, True])
    >>> sigmoid = fit_sigmoid(f, positive, np.ones(6))
    >>> round(float(sigmoid.threshold), 6), round(float(sigmoid(0.5)), 6)
    (0.5, 0.5)
    """
    constant = Sigmoid(0.0, log_odds(positive, weights, unit))
    f, positive, weights = known_rows(f, positive, weights)
    if not (_vary(f[positive]) and _vary(f[~positive])):
        return constant
    targets = smoothed(positive, weights, unit)
    f, weights = clipped(f, positive, weights), weights / weights.sum()
    slopes, thresholds = sigmoids(np.ascontiguousarray(f[None]), targets, weights, np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        sigmoid = Sigmoid(float(slopes[0]), float(-slopes[0] * thresholds[0]))
    usable = sigmoid.rises and np.isfinite([sigmoid.slope, sigmoid.offset]).all()
    return sigmoid if usable else constant


def known_rows(f, positive, weights):
    """The rows that have a value and weight."""
    known = np.isfinite(f) & (weights > 0)
    return f[known], positive[known], weights[known]


def _vary(values):
    return len(values) > 0 and values.min() < values.max()


def log_odds(positive, weights, unit):
    """Logarithm of the ratio of the classes, each of which has `SMOOTHING` rows more."""
    more = SMOOTHING * unit
    return float(np.log((weights[positive].sum() + more) / (weights[~positive].sum() + more)))


def smoothed(positive, weights, unit):
    """Targets that are almost 0 and 1: `SMOOTHING` rows of each class are in the other one.

    ``(N+ + s) / (N+ + 2s)`` and ``s / (N- + 2s)`` for classes of N+ and N- rows.
    """
    more = SMOOTHING * unit
    above, below = weights[positive].sum(), weights[~positive].sum()
    return np.where(positive, (above + more) / (above + 2 * more), more / (below + 2 * more))


def clipped(f, positive, weights):
    """The values that are off by more than the range of most moved to there.

    Leave-one-out values near interpolation can be of any size. Most are all but the outer tenths
    of both classes: a small class far away from the other one stays where it is.
    """
    ends = [quantiles(f[of], weights[of], [TAIL, 1 - TAIL]) for of in (positive, ~positive)]
    low, high = np.min(ends), np.max(ends)
    if low == high:
        return f
    return np.clip(f, low - (high - low), high + (high - low))


def quantiles(values, weights, shares):
    """The smallest values up to which there are some shares of the weight."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return values[order[np.searchsorted(below, np.array(shares) * below[-1])]]


def weight_of_one(total):
    """The weight that counts as one row, where groups of equal rows have these weights in all.

    It is Kish's: as many rows of that weight would be worth as much. So it makes no difference in
    which unit weights are given, nor whether a row stands there twice or has the weight 2.
    """
    return total @ total / total.sum()
