"""Bounds of the expected number of false selections of stability selection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from .._parameters import Integer, Number
from .._validation import check_choice, check_integer, check_number

SAMPLING = ("pairs", "subsamples")
ASSUMPTIONS = ("none", "unimodal", "r-concave")
THRESHOLD, PFER = 0.75, 1.0
"""What is taken where fewer than two of q, threshold and pfer are given."""
MOST_SUBSAMPLES = 10_000
SLACK = 1e-9
"""Share of a subsample by which a threshold may exceed a frequency for its rounding."""
ZOOMS, POINTS = 6, 17
"""How often the best point of a grid becomes the middle of a finer one, and points of a grid."""
NARROWEST, WIDEST = 1e-12, 1e12
"""Range of the parameter a of an extreme distribution, where it is a point mass or uniform."""


@dataclass(frozen=True)
class StabilityParameters:
    """Parameters of a stability selection that fit each other, from `stability_parameters`.

    Attributes
    ----------
    q : int
        Features that each subsample selects.
    threshold : float
        Features are selected that so large a share of the subsamples selects, a multiple of
        ``1 / n_subsamples``.
    pfer : float
        Bound of the expected number of false selections.
    n_features : int
        Features among which to select.
    n_subsamples : int
        Subsamples in all, two for each complementary pair.
    sampling : {"pairs", "subsamples"}
        What they are.
    assumption : {"none", "unimodal", "r-concave"}
        What the bound assumes.

    Examples
    --------
    >>> from psvm.selection import stability_parameters
    >>> found = stability_parameters(1000, q=20, threshold=0.9, assumption="none")
    >>> round(found.pfer, 6)
    0.5
    """

    q: int
    threshold: float
    pfer: float
    n_features: int
    n_subsamples: int
    sampling: str
    assumption: str

    _fitted: ClassVar = {
        **dict.fromkeys(("q", "n_features", "n_subsamples"), Integer(least=1)),
        **dict.fromkeys(("threshold", "pfer"), Number(above=0)),
    }

    @property
    def n_needed(self) -> int:
        """Number of subsamples that have to select a feature."""
        return _needed(self.threshold, self.n_subsamples)

    def __str__(self):
        assumed = {"none": "", "unimodal": ", unimodal", "r-concave": ", r-concave"}
        return (
            f"at most {self.pfer:.3g} false selections expected ({self.q} of {self.n_features} "
            f"features in each of {self.n_subsamples} subsamples, threshold "
            f"{self.threshold:.3g}{assumed[self.assumption]})"
        )


def stability_parameters(
    n_features: int,
    *,
    q: int | None = None,
    threshold: float | None = None,
    pfer: float | None = None,
    n_subsamples: int = 100,
    sampling: Literal["pairs", "subsamples"] = "pairs",
    assumption: Literal["none", "unimodal", "r-concave"] = "unimodal",
) -> StabilityParameters:
    """The third one of q, threshold and error bound of a stability selection.

    Each of `n_subsamples` subsamples of half of the rows selects q of p features, and those are
    selected that a share of at least `threshold` of the subsamples selects. Then the expected
    number of false selections is at most `pfer`. Without an assumption about their distribution
    the bound is ``q^2 / ((2 threshold - 1) p)``.

    Parameters
    ----------
    n_features : int
        Number of features p.
    q : int, default=None
        Features that each subsample selects.
    threshold : float, default=None
        Share of the subsamples, more than 1/2. It is 0.75 unless both q and `pfer` are given.
    pfer : float, default=None
        Bound of the expected number of false selections (per-family error rate). It is 1 if
        neither `pfer` nor q is given.
    n_subsamples : int, default=100
        Number of subsamples; an even one for pairs.
    sampling : {"pairs", "subsamples"}, default="pairs"
        Complementary pairs, two halves of the rows without a common row (Shah & Samworth 2013), or
        independent subsamples (Meinshausen & Bühlmann 2010).
    assumption : {"none", "unimodal", "r-concave"}, default="unimodal"
        What is assumed about the share of the pairs that select a false feature: nothing, a
        unimodal distribution, or an r-concave one. Pairs only.

    Returns
    -------
    StabilityParameters

    Examples
    --------
    >>> from psvm.selection import stability_parameters
    >>> found = stability_parameters(1000, pfer=1, threshold=0.75, assumption="none")
    >>> found.q, round(found.pfer, 3)  # floor(sqrt(0.5 * 1000))
    (22, 0.968)
    >>> stability_parameters(1000, pfer=1, threshold=0.75, assumption="r-concave").q
    61
    """
    _check(n_features, q, threshold, pfer, n_subsamples, sampling, assumption)
    if threshold is None and (q is None or pfer is None):
        threshold = THRESHOLD
    if q is None and pfer is None:
        pfer = PFER
    setting = n_features, n_subsamples, assumption
    most = n_subsamples if threshold is None else _needed(threshold, n_subsamples)
    if q is None:
        q = _largest_q(pfer, most, *setting)
    elif pfer is not None and threshold is None:
        most = _fewest(q, pfer, *setting)
    return StabilityParameters(
        q=int(q),
        threshold=most / n_subsamples,
        pfer=_bound(q, most, *setting),
        n_features=int(n_features),
        n_subsamples=int(n_subsamples),
        sampling=sampling,
        assumption=assumption,
    )


def check_setting(q, threshold, pfer, n_subsamples, sampling, assumption):
    """Check the parameters as far as they do not depend on the data."""
    if q is not None:
        check_integer("q", q, least=1)
    if threshold is not None:
        check_number("threshold", threshold, above=0.5, most=1)
    if pfer is not None:
        check_number("pfer", pfer, above=0)
    if None not in (q, threshold, pfer):
        raise ValueError(
            "Give two of q, threshold and pfer; the third follows from them. Leave one of "
            f"q={q}, threshold={threshold} and pfer={pfer} out."
        )
    check_integer("n_subsamples", n_subsamples, least=2, most=MOST_SUBSAMPLES)
    check_choice("sampling", sampling, SAMPLING)
    check_choice("assumption", assumption, ASSUMPTIONS)
    if sampling == "pairs" and n_subsamples % 2:
        raise ValueError(
            f"n_subsamples must be even for complementary pairs, two each, got {n_subsamples}."
        )
    if sampling == "subsamples" and assumption != "none":
        raise ValueError(
            f"The bound with assumption={assumption!r} holds for complementary pairs. Use "
            "sampling='pairs', or assumption='none'."
        )


def _check(n_features, q, threshold, pfer, *others):
    check_integer("n_features", n_features, least=1)
    check_setting(q, threshold, pfer, *others)
    if q is not None and q > n_features:
        raise ValueError(
            f"q={q} is impossible: there are {n_features} features. Choose a number from 1 to "
            f"{n_features}, a small one for a small error."
        )


def _needed(threshold, n_subsamples):
    """Subsamples that make up a share; more than half of them."""
    return max(math.ceil(threshold * n_subsamples - SLACK), n_subsamples // 2 + 1)


def _largest_q(pfer, needed, p, n, assumption):
    """The largest q with the bound; it grows with q."""
    low, high = 0, p + 1
    while high - low > 1:
        middle = (low + high) // 2
        if _bound(middle, needed, p, n, assumption) <= pfer:
            low = middle
        else:
            high = middle
    if low == 0:
        raise ValueError(
            f"pfer={pfer} cannot be had with {p} features and the threshold {needed / n:.3g}: one "
            f"feature in each subsample has the bound {_bound(1, needed, p, n, assumption):.3g}. "
            "Increase pfer or threshold."
        )
    return low


def _fewest(q, pfer, p, n, assumption):
    """The fewest subsamples with the bound."""
    for needed in range(n // 2 + 1, n + 1):
        if _bound(q, needed, p, n, assumption) <= pfer:
            return needed
    raise ValueError(
        f"pfer={pfer} cannot be had with q={q} of {p} features: features that all subsamples "
        f"select have the bound {_bound(q, n, p, n, assumption):.3g}. Decrease q or increase pfer."
    )


def _bound(q, needed, p, n, assumption):
    """Bound of the expected number of false selections by `needed` of n subsamples."""
    threshold, theta = needed / n, q / p
    bounds = [p * theta**2 / (2 * threshold - 1)]
    if assumption != "none":
        bounds.append(p * theta**2 * unimodal_factor(threshold, n // 2, theta))
    if assumption == "r-concave":
        # r-concave distributions are unimodal, so that the bounds above hold as well.
        both = r_concave_tail(theta**2, needed - n // 2, n // 2, 2)
        bounds.append(p * min(both, r_concave_tail(theta, needed, n, 4)))
    return float(min(*bounds, p) if len(bounds) > 1 else min(bounds[0], p))


def unimodal_factor(threshold, B, theta):
    """What ``theta q`` is multiplied by (Shah & Samworth 2013, theorem 2); infinite out of range.

    B is the number of pairs and theta the share of features that each half selects.
    """
    lowest = 0.5 + min(theta**2, 1 / (2 * B) + 0.75 * theta**2)
    if theta > 1 / math.sqrt(3) or threshold <= lowest:
        return math.inf
    if threshold <= 0.75:
        width = 2 * threshold - 1 - 1 / (2 * B)
        return 1 / (2 * width) if width > 0 else math.inf
    return 4 * (1 - threshold + 1 / (2 * B)) / (1 + 1 / B)


def r_concave_tail(eta, t, B, s):
    """Largest ``P(X >= t/B)`` of an r-concave X on 0, 1/B, ..., 1 with mean at most eta, r = -1/s.

    Shah & Samworth 2013, section 3.4: f is r-concave if ``f^r`` is convex. The extreme
    distributions have ``f(i) = (a + i)^(-s)`` on 0, ..., k and some mass at k + 1, which the mean
    determines; ``a`` lies between the values with which the mass at k + 1 is that of the same
    formula and with which it is 0. Below twice the mean the bound is 1.
    """
    mean = eta * B
    first = max(math.ceil(2 * mean - SLACK), t - 1)
    if t <= 2 * mean + SLACK or first >= B:
        return 1.0
    k = np.arange(first, B)
    edges = _shapes(mean, np.arange(first, B + 1), s)
    low, high = np.log(edges[1:]), np.log(edges[:-1])
    for _ in range(ZOOMS):
        grid = np.linspace(low, high, POINTS)
        tails = np.array([_tail(np.exp(at), mean, t, k, s) for at in grid])
        best = tails.argmax(axis=0)
        at, step = grid[best, np.arange(len(k))], (high - low) / (POINTS - 1)
        low, high = np.maximum(at - step, low), np.minimum(at + step, high)
    return float(min(tails.max(), 1.0))


def _weights(a, k, s):
    """``(a + i)^(-s) / a^(-s)`` for i = 0, ..., k, one row for each a and k; zero beyond."""
    i = np.arange(k.max() + 1)
    root = 1 / (1 + i / a[:, None])
    return np.where(i <= k[:, None], root**2 if s == 2 else root**4, 0.0)


def _shapes(mean, k, s):
    """For each k the a with which the distribution on 0, ..., k has this mean."""
    low, high = np.full(len(k), np.log(NARROWEST)), np.full(len(k), np.log(WIDEST))
    for _ in range(60):
        middle = (low + high) / 2
        weights = _weights(np.exp(middle), k, s)
        small = weights @ np.arange(weights.shape[1]) < mean * weights.sum(axis=1)
        low, high = np.where(small, middle, low), np.where(small, high, middle)
    return np.exp((low + high) / 2)


def _tail(a, mean, t, k, s):
    """``P(X >= t)`` of the distributions with these a, which reach to k + 1."""
    weights = _weights(a, k, s)
    i = np.arange(weights.shape[1])
    whole = ((k[:, None] + 1 - i) * weights).sum(axis=1)
    return 1 - (k + 1 - mean) * weights[:, :t].sum(axis=1) / whole
