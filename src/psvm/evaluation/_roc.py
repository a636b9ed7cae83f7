"""ROC curves with confidence bands, and the area under them with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import stats

from .._plotting import new_axes
from .._typing import ArrayLike, Axes, RandomState
from .._validation import (
    check_choice,
    check_list,
    check_members,
    check_positive_integer,
    check_seed,
    check_text,
    check_vector,
    random_numbers,
    shown,
    target_type,
)
from ._significance import Significance, check_level, ratio

MOST = 10**6
"""Bootstrap samples that are kept at a time."""
GRID = np.linspace(0, 1, 201)
"""False positive rates at which curves are averaged."""


class AreaEstimate(NamedTuple):
    """Area under a ROC curve with DeLong's standard error.

    Attributes
    ----------
    area : float
    standard_error : float
    interval : (float, float)
        Normal confidence interval, within 0 and 1.
    confidence_level : float

    Examples
    --------
    >>> from psvm.evaluation import roc_area
    >>> estimate = roc_area([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.7, 0.9])
    >>> [round(limit, 2) for limit in estimate.interval]
    [0.58, 1.0]
    """

    area: float
    standard_error: float
    interval: tuple[float, float]
    confidence_level: float


@dataclass(frozen=True, eq=False)
class RocBand:
    """A ROC curve with a confidence band.

    Attributes
    ----------
    fpr : ndarray of shape (n_points,)
        False positive rates.
    tpr, lower, upper : ndarray of shape (n_points,)
        True positive rates there: the curve and its band.
    area : float
        Area under the curve.
    method : str
        What the band is.
    confidence_level : float

    Examples
    --------
    >>> from psvm.evaluation import roc_band
    >>> band = roc_band([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.7, 0.9], method="ks")
    >>> round(band.area, 4)
    0.8889
    """

    fpr: np.ndarray
    tpr: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    area: float
    method: str
    confidence_level: float

    def plot(self, ax: Axes | None = None, *, name: str | None = None) -> Axes:
        """Draw the curve and its band.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Name of the model in the legend.

        Returns
        -------
        matplotlib Axes
        """
        check_text("name", name)
        ax = new_axes(ax, "A ROC curve")
        label = f"area {self.area:.3f}" if name is None else f"{name} (area {self.area:.3f})"
        (line,) = ax.plot(self.fpr, self.tpr, label=label)
        ax.fill_between(self.fpr, self.lower, self.upper, color=line.get_color(), alpha=0.2, lw=0)
        ax.plot([0, 1], [0, 1], color="0.6", lw=0.8, ls="--")
        ax.set(xlabel="false positive rate", ylabel="true positive rate", aspect="equal")
        ax.legend(loc="lower right")
        return ax


def roc_band(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    pos_label: Any = None,
    method: Literal["bootstrap", "ks"] = "bootstrap",
    confidence_level: float = 0.95,
    n_bootstrap: int = 1000,
    random_state: RandomState = None,
) -> RocBand:
    """ROC curve of test objects with a confidence band.

    Parameters
    ----------
    y_true : array-like of shape (n_objects,)
        True labels of two classes.
    y_score : array-like of shape (n_objects,)
        Decision values or probabilities, larger for the positive class.
    pos_label : label, default=None
        The positive class; None means the larger one.
    method : {"bootstrap", "ks"}, default="bootstrap"
        "bootstrap": a pointwise band, percentiles of vertically averaged curves [1]_ of objects
        that are resampled within each class. At each single false positive rate it covers the
        true curve with about the given confidence, but not everywhere at once, and with less
        confidence if there are few objects or no errors. "ks": a simultaneous band
        [2]_ from the Kolmogorov-Smirnov bands of the scores of both classes. The whole true
        curve lies inside with at least the given confidence, for any number of objects.
    confidence_level : float, default=0.95
    n_bootstrap : int, default=1000
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    RocBand

    References
    ----------
    .. [1] S. A. Macskassy, F. Provost: Confidence bands for ROC curves: methods and an empirical
       study. ROCAI (2004).
    .. [2] G. Campbell: Advances in statistical methodology for the evaluation of diagnostic and
       laboratory tests. Statistics in Medicine 13 (1994).

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.evaluation import roc_band
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> band = roc_band(y, y + rng.normal(size=200), method="ks")
    >>> bool(np.all(band.lower <= band.tpr) and np.all(band.tpr <= band.upper))
    True
    """
    check_choice("method", method, ("bootstrap", "ks"))
    check_level(confidence_level)
    check_positive_integer("n_bootstrap", n_bootstrap, most=MOST)
    check_seed("random_state", random_state)
    positive, negative = _by_class(y_true, y_score, pos_label)
    if method == "bootstrap":
        rng = random_numbers(random_state)
        curves = [
            _curve(rng.choice(positive, len(positive)), rng.choice(negative, len(negative)))
            for _ in range(n_bootstrap)
        ]
        tail = (1 - confidence_level) / 2
        lower, upper = np.quantile(curves, [tail, 1 - tail], axis=0)
        tpr = _curve(positive, negative)
        # Percentiles need not contain the curve itself where there are few objects.
        lower, upper = np.minimum(lower, tpr), np.maximum(upper, tpr)
    else:
        tpr, lower, upper = _ks_band(positive, negative, confidence_level)
    return RocBand(
        GRID, tpr, lower, upper, _placements(positive, negative)[0], method, confidence_level
    )


def roc_band_of_folds(
    y_true: Sequence[ArrayLike],
    y_score: Sequence[ArrayLike],
    *,
    pos_label: Any = None,
    confidence_level: float = 0.95,
) -> RocBand:
    """Mean ROC curve over the folds of a cross-validation, by vertical averaging.

    The band is the pointwise t-interval of the mean true positive rate. As the training sets of the
    folds overlap, it is narrower than it should be; it shows how much folds differ.

    Parameters
    ----------
    y_true, y_score : list of array-like
        Labels and decision values of the test objects of each fold.
    pos_label : label, default=None
        The positive class; None means the larger one.
    confidence_level : float, default=0.95

    Returns
    -------
    RocBand
        Its area is the mean of the areas of the folds.

    References
    ----------
    T. Fawcett: An introduction to ROC analysis. Pattern Recognition Letters 27 (2006), section 8.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.evaluation import roc_band_of_folds
    >>> rng = np.random.default_rng(0)
    >>> ys = [rng.integers(0, 2, 50) for _ in range(5)]
    >>> band = roc_band_of_folds(ys, [y + rng.normal(size=50) for y in ys])
    >>> bool(0.6 < band.area < 0.9)
    True
    """
    check_level(confidence_level)
    y_true, y_score = check_list("y_true", y_true), check_list("y_score", y_score)
    if len(y_true) != len(y_score) or len(y_true) < 2:
        raise ValueError(
            "y_true and y_score must be lists with the labels and the decision values of at least "
            f"two folds, got {len(y_true)} and {len(y_score)}."
        )
    folds = [_by_class(y, s, pos_label) for y, s in zip(y_true, y_score, strict=True)]
    curves = np.array([_curve(*fold) for fold in folds])
    mean, deviation = curves.mean(axis=0), curves.std(axis=0, ddof=1) / np.sqrt(len(folds))
    half = stats.t.ppf((1 + confidence_level) / 2, len(folds) - 1) * deviation
    return RocBand(
        fpr=GRID,
        tpr=mean,
        lower=np.maximum(mean - half, 0.0),
        upper=np.minimum(mean + half, 1.0),
        area=float(np.mean([_placements(*fold)[0] for fold in folds])),
        method="folds",
        confidence_level=confidence_level,
    )


def roc_area(
    y_true: ArrayLike, y_score: ArrayLike, *, pos_label: Any = None, confidence_level: float = 0.95
) -> AreaEstimate:
    """Area under the ROC curve with DeLong's confidence interval.

    Parameters
    ----------
    y_true : array-like of shape (n_objects,)
        True labels of two classes.
    y_score : array-like of shape (n_objects,)
        Decision values or probabilities, larger for the positive class.
    pos_label : label, default=None
        The positive class; None means the larger one.
    confidence_level : float, default=0.95

    Returns
    -------
    AreaEstimate

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson: Comparing the areas under two or more
    correlated receiver operating characteristic curves. Biometrics 44 (1988).

    Examples
    --------
    >>> from psvm.evaluation import roc_area
    >>> roc_area([0, 0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.4, 0.7, 0.9]).area.__round__(4)
    0.8889
    """
    check_level(confidence_level)
    area, of_positive, of_negative = _placements(*_by_class(y_true, y_score, pos_label))
    error = float(np.sqrt(_mean_variance(of_positive) + _mean_variance(of_negative)))
    half = stats.norm.ppf((1 + confidence_level) / 2) * error
    interval = (float(max(area - half, 0.0)), float(min(area + half, 1.0)))
    return AreaEstimate(area, error, interval, confidence_level)


def delong_test(
    y_true: ArrayLike,
    score_a: ArrayLike,
    score_b: ArrayLike,
    *,
    pos_label: Any = None,
    confidence_level: float = 0.95,
) -> Significance:
    """DeLong's test of two areas under ROC curves of the same objects.

    Parameters
    ----------
    y_true : array-like of shape (n_objects,)
        True labels of two classes.
    score_a, score_b : array-like of shape (n_objects,)
        Decision values of both models.
    pos_label : label, default=None
        The positive class; None means the larger one.
    confidence_level : float, default=0.95

    Returns
    -------
    Significance
        Here a positive difference means that the first model is better.

    Examples
    --------
    >>> from psvm.evaluation import delong_test
    >>> y = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> a, b = [1, 2, 3, 5, 4, 6, 7, 8], [3, 2, 8, 5, 4, 6, 7, 1]
    >>> delong_test(y, a, b).difference
    0.4375
    """
    check_level(confidence_level)
    area_a, positive_a, negative_a = _placements(*_by_class(y_true, score_a, pos_label, "score_a"))
    area_b, positive_b, negative_b = _placements(*_by_class(y_true, score_b, pos_label, "score_b"))
    variance = _mean_variance(positive_a - positive_b) + _mean_variance(negative_a - negative_b)
    difference, deviation = area_a - area_b, np.sqrt(variance)
    z = ratio(difference, deviation)
    half = stats.norm.ppf((1 + confidence_level) / 2) * deviation
    return Significance(
        method="DeLong's test",
        statistic=z,
        pvalue=float(2 * stats.norm.sf(abs(z))),
        difference=difference,
        interval=(float(difference - half), float(difference + half)),
        confidence_level=confidence_level,
    )


def _by_class(y_true, y_score, pos_label, name="y_score"):
    """Scores of the positive and of the negative objects."""
    y, score = check_members("y_true", y_true), check_vector(name, y_score)
    if len(y) != len(score):
        raise ValueError(f"y_true has {len(y)} labels, but {name} has {len(score)} values.")
    classes = np.unique(y)
    if len(classes) != 2 or target_type("y_true", y) != "binary":
        raise ValueError(
            f"y_true must hold the labels of exactly two classes, got {len(classes)} distinct ones."
        )
    if pos_label is None:
        pos_label = classes[1]
    elif not np.isscalar(pos_label) or pos_label not in classes.tolist():
        raise ValueError(f"pos_label must be one of {classes.tolist()}, got {shown(pos_label)}.")
    return score[y == pos_label], score[y != pos_label]


def _points(positive, negative):
    """All points of the curve, from (0, 0) on: rates of scores of at least each threshold."""
    thresholds = np.unique(np.concatenate([positive, negative]))[::-1]
    rates = (
        np.append(0.0, 1 - np.searchsorted(np.sort(s), thresholds) / len(s))
        for s in (negative, positive)
    )
    return tuple(rates)


def _curve(positive, negative):
    """True positive rates on the grid; where the curve is vertical, its upper end."""
    fpr, tpr = _points(positive, negative)
    last = np.append(np.diff(fpr) > 0, True)
    return np.interp(GRID, fpr[last], tpr[last])


def _ks_band(positive, negative, confidence_level):
    """The curve and its band: both distribution functions stay inside with the given confidence.

    A threshold of true rates (t, R(t)) has an empirical point within the distance d0 of t and d1 of
    R(t). The empirical points form a monotone chain, so R(t) lies between the lowest of
    those with ``fpr >= t - d0``, minus d1, and the highest with ``fpr <= t + d0``, plus d1.
    """
    d1, d0 = (stats.kstwo.ppf(np.sqrt(confidence_level), len(s)) for s in (positive, negative))
    fpr, tpr = _points(positive, negative)
    room = 1e-12  # the grid and the rates are sums of rounded numbers
    first = np.searchsorted(fpr, GRID - d0 - room, side="left")
    last = np.searchsorted(fpr, GRID + d0 + room, side="right") - 1
    lower = np.maximum(tpr[np.minimum(first, len(tpr) - 1)] - d1, 0.0)
    upper = np.minimum(tpr[last] + d1, 1.0)
    return _curve(positive, negative), lower, upper


def _placements(positive, negative):
    """Area, and for each object the share of the other class that it is on the right side of."""
    m, n = len(positive), len(negative)
    ranks = stats.rankdata(np.concatenate([positive, negative]))
    of_positive = (ranks[:m] - stats.rankdata(positive)) / n
    of_negative = 1 - (ranks[m:] - stats.rankdata(negative)) / m
    return float(of_positive.mean()), of_positive, of_negative


def _mean_variance(values):
    """Estimated variance of the mean."""
    return values.var(ddof=1) / len(values) if len(values) > 1 else np.nan
