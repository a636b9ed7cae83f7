"""Probabilities of the classes from the decision values of all machines of a model.

Each machine has a curve: the probability of its positive class as a function of its decision value.
The curves are fitted to leave-one-out values, so a model is fitted once.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from scipy.special import expit

from .._fitted import ArrayOf, Count, Instance, is_increasing, n_pairs
from .._parameters import Choice
from ..matrix import block_slices
from ._sigmoid import Sigmoid, log_odds, smoothed

LEAST = 1e-7
"""Probabilities of machines are kept away from 0 and 1 by this much where they are combined."""


@dataclass(frozen=True, eq=False)
class Steps:
    """A monotone curve: linear between knots, constant beyond them.

    Attributes
    ----------
    knots, values : ndarray of shape (n_knots,)
        Decision values in increasing order, and the probabilities there.
    """

    knots: np.ndarray
    values: np.ndarray

    _fitted: ClassVar = {
        "knots": ArrayOf("knots"),
        "values": ArrayOf("knots", least=0),
    }

    @property
    def rises(self):
        """Whether the probability depends on the decision value."""
        return self.values[-1] > self.values[0]

    def __call__(self, f):
        """Probability of the positive class."""
        return np.interp(f, self.knots, self.values)

    def _check_fitted(self, state):
        """Probabilities that do not fall, at knots in increasing order."""
        ordered = len(self.knots) > 0 and is_increasing(self.knots)
        state.require(ordered, "its knots are not in order")
        rise = (np.diff(self.values, append=1.0) >= 0).all()
        state.require(rise, "its values are not probabilities in order")


def fit_steps(f, positive, weights, unit):
    """Isotonic regression on decision values; `positive` are shares of the second class."""
    above, below = weights @ positive, weights @ (1.0 - positive)
    constant = Steps(np.zeros(1), np.array([expit(log_odds(above, below, unit))]))
    known = np.isfinite(f) & (weights > 0)
    if not (above > 0 and below > 0 and known.any()):
        return constant
    from sklearn.isotonic import IsotonicRegression

    high, low = smoothed(above, below, unit)
    targets = positive * high + (1.0 - positive) * low
    found = IsotonicRegression().fit(f[known], targets[known], weights[known])
    steps = Steps(found.X_thresholds_, found.y_thresholds_)
    return steps if steps.rises else constant


Curve = Sigmoid | Steps


@dataclass(frozen=True, eq=False)
class Calibration:
    """What turns the decision values of all machines into probabilities of the classes.

    Attributes
    ----------
    scheme : {"ovo", "ovr"}
        As in `Labels`.
    n_classes : int
    curves : tuple of Sigmoid or of Steps
        One for each machine.
    """

    scheme: str
    n_classes: int
    curves: tuple[Curve, ...]

    _fitted: ClassVar = {
        "scheme": Choice("ovo", "ovr"),
        "n_classes": Count(least=2),
        "curves": Instance(tuple),
    }

    @property
    def rises(self):
        """Whether probabilities depend on decision values at all."""
        return any(curve.rises for curve in self.curves)

    def probabilities(self, decisions):
        """Probabilities of the classes.

        Parameters
        ----------
        decisions : ndarray of shape (n, n_machines)
            Positive for the second class of a pair ("ovo"), or for the class ("ovr").

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        p = np.column_stack([curve(f) for curve, f in zip(self.curves, decisions.T, strict=True)])
        if self.scheme == "ovo":
            return couple(p, self.n_classes)
        p = np.maximum(p, LEAST)
        return p / p.sum(axis=1, keepdims=True)

    def _check_fitted(self, state):
        """A curve for each machine, all of one kind."""
        n, kinds = self.n_classes, {type(curve) for curve in self.curves}
        ok = len(self.curves) == (n_pairs(n) if self.scheme == "ovo" else n)
        state.require(ok, "its curves are wrong")
        state.require(kinds in ({Sigmoid}, {Steps}), "its curves are of a wrong kind")


def couple(pairwise, n_classes):
    """Probabilities of the classes from those of all pairs.

    The second method of Wu, Lin and Weng (2004), as in LIBSVM: with r_ij the probability of class i
    among the classes i and j, p minimises ``sum_ij (r_ji p_i - r_ij p_j)^2`` subject to
    ``sum_i p_i = 1``, which makes it positive.

    Parameters
    ----------
    pairwise : ndarray of shape (n, n_pairs)
        Probabilities of the second class of each pair, ``(0, 1), (0, 2), ...``.
    n_classes : int

    Returns
    -------
    ndarray of shape (n, n_classes)

    Examples
    --------
    Pairs that agree with each other have the probabilities that they come from:

    >>> import numpy as np
    >>> p = np.array([0.2, 0.3, 0.5])
    >>> pairs = [[p[1] / (p[0] + p[1]), p[2] / (p[0] + p[2]), p[2] / (p[1] + p[2])]]
    >>> couple(np.array(pairs), 3).round(6)
    array([[0.2, 0.3, 0.5]])
    """
    if n_classes == 2:
        return np.column_stack([1 - pairwise[:, 0], pairwise[:, 0]])
    blocks = block_slices(len(pairwise), 8 * (n_classes + 1) ** 2)
    return np.concatenate([_couple(pairwise[rows], n_classes) for rows in blocks])


def _couple(pairwise, n_classes):
    """The conditions of the minimum, one linear system for each row."""
    systems = np.zeros((len(pairwise), n_classes + 1, n_classes + 1))
    systems[:, :-1, -1] = systems[:, -1, :-1] = 1.0
    for r, (i, j) in zip(
        np.clip(pairwise, LEAST, 1 - LEAST).T, combinations(range(n_classes), 2), strict=True
    ):
        systems[:, i, i] += r**2
        systems[:, j, j] += (1 - r) ** 2
        systems[:, i, j] = systems[:, j, i] = -r * (1 - r)
    right = np.zeros((len(pairwise), n_classes + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(np.linalg.solve(systems, right)[:, :-1, 0], 0.0)  # but for rounding
    return p / p.sum(axis=1, keepdims=True)
