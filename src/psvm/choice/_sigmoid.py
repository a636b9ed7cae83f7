"""A sigmoid of decision values: the probabilities of two classes.

The sigmoid ``P(+) = 1 / (1 + exp(-(slope f + offset)))`` maximises the weighted likelihood of
targets that are almost 0 and 1 (Platt 2000), so that it is finite for classes that do not overlap.
The decision values f are those of rows that the machine has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from .._parameters import Number

SMOOTHING = 0.25
"""Rows by which each class counts in the other one. Platt's one row gives the same thresholds, but
probabilities that are too close to 1/2, most of all where those of several pairs are coupled."""


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """Probability of the positive class as a function of the decision value.

    Attributes
    ----------
    slope : float
        Zero if decision values say nothing about the class: the probability is constant.
    offset : float
    """

    _fitted: ClassVar = {"slope": Number(least=0), "offset": Number()}

    slope: float
    offset: float

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


def smoothed(above, below, unit):
    """Targets that are almost 1 and 0: `SMOOTHING` rows of each class are in the other one.

    ``(N+ + s) / (N+ + 2s)`` and ``s / (N- + 2s)`` for classes of N+ and N- rows.

    Examples
    --------
    >>> smoothed(9.5, 4.5, 1.0)
    (0.975, 0.05)
    """
    more = SMOOTHING * unit
    return (above + more) / (above + 2 * more), more / (below + 2 * more)


def log_odds(above, below, unit):
    """Logarithm of the ratio of the classes, each of which has `SMOOTHING` rows more."""
    more = SMOOTHING * unit
    return float(np.log((above + more) / (below + more)))


def weight_of_one(total):
    """The weight that counts as one row, where groups of equal rows have these weights in all.

    It is Kish's: as many rows of that weight would be worth as much. So it makes no difference in
    which unit weights are given, nor whether a row stands there twice or has the weight 2.
    """
    return total @ total / total.sum()
