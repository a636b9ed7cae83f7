"""The range of decision values: capacity, bounds of the papers and what lies outside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import ArrayLike, Estimator, MatrixLike
from .._validation import (
    as_array,
    check_has,
    check_integer,
    check_members,
    check_number,
    check_rows,
)
from ..solvers import check_weights


class DecisionRange(NamedTuple):
    """Where the decision values of the training rows lie.

    `centre`, `radius` and `norm` are floats for one decision value per row, and arrays with an
    entry for each value otherwise. All but `capacity` are in units of the decision value.

    Examples
    --------
    >>> from psvm import PSVC
    >>> from psvm.evaluation import decision_range
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 0, 1, 1]
    >>> model = PSVC(kernel="linear", epsilon=0, threshold="mean").fit(X, y)
    >>> found = decision_range(model, X, y)
    >>> found.radius <= found.norm
    True
    >>> round(found.margin, 2), round(found.capacity, 2)
    (0.6, 2.0)
    """

    centre: float | np.ndarray
    """Mean of the values."""
    radius: float | np.ndarray
    """``max_i |f(x_i) - centre|``, over rows of positive weight."""
    norm: float | np.ndarray
    """``||X'w|| = sqrt(sum_i s_i (f(x_i) - centre)^2)`` with the weights s, which is minimised."""
    margin: float = np.nan
    """``min_i y_i f(x_i)``, over rows of positive weight; negative with training errors, NaN
    without `y`."""

    @property
    def capacity(self) -> float:
        """``m / gamma = radius / margin``, which the bounds take.

        It is at least 1, infinite with training errors, which the bounds do not allow, and NaN
        without `y`.
        """
        if np.isnan(self.margin):
            return np.nan
        # Both classes have a value at least a margin from 0: below 1 there is only rounding.
        return max(float(self.radius / self.margin), 1.0) if self.margin > 0 else np.inf


def decision_range(
    estimator: Estimator,
    X: MatrixLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> DecisionRange:
    """The range of the decision values of training rows, and the capacity that follows.

    The bounds of Hochreiter & Obermayer 2003 and Hochreiter, Mohr & Obermayer 2004 depend on a
    linear classifier only by ``m / gamma``, the range of its values over its margin. Both papers
    scale w so that ``min_i y_i f(x_i) = 1``; then ``gamma = 1 / ||w||``, and with centred points
    ``m / gamma = max_i |<w, x_i>|``. The values of a P-SVM are smaller, the more so the more it is
    regularised, so that `radius` alone is not the capacity: `capacity` is `radius` over `margin`.

    Parameters
    ----------
    estimator : fitted classifier
        With `decision_function`.
    X : objects
        The training rows.
    y : array-like of shape (n_samples,), default=None
        Their classes, for `margin` and `capacity`. Only for classifiers of two classes: with more
        it depends on the classifier what its values mean.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights; rows of weight zero do not count.

    Returns
    -------
    DecisionRange
        Centre, radius, norm, margin and capacity of the values.

    See Also
    --------
    covering_bound, range_bound : The bounds of the error that follow.
    RejectOption : With ``rule="range"`` it rejects values outside the range.

    Notes
    -----
    The paper of 2004 defines m as ``max_i |<w, x_i>| / ||w||`` for centred points, which is
    ``radius / ||w||``. That of 2003 takes half of the distance of the largest from the smallest
    value, which is between half of the radius and the radius; the radius gives the larger bound.

    The P-SVM and the Sphered SVM minimise ``||X'w||``, the `norm`. It is at least the radius if no
    positive weight is below one, as without weights.

    `SpheredSVC` has the constraints ``y_i f(x_i) >= 1 - xi_i``: its `capacity_` and
    `capacity_bound_` are `radius` and `norm` for two classes and centred points. Without slack its
    margin is 1 and `capacity_` is `capacity`; with slack `capacity` is larger.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVC
    >>> from psvm.evaluation import decision_range
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    >>> machine = PSVC(kernel="linear", epsilon=0, threshold="mean")
    >>> for C in (1.0, 0.05):  # the smaller C shrinks the values, not the capacity
    ...     found = decision_range(machine.set_params(C=C).fit(X, y), X, y)
    ...     print(round(found.radius, 2), round(found.capacity, 2))
    1.2 2.0
    0.13 2.0
    """
    check_has("estimator", estimator, "decision_function", what="a fitted classifier")
    values = _decision_values(estimator, X).astype(np.float64)
    weights = check_weights(sample_weight, len(values))
    weights = np.ones(len(values)) if weights is None else weights
    signs = None if y is None else _signs(estimator, values, y)
    used = weights > 0
    found = _range_of(_finite(values[used]), weights[used])
    return found if signs is None else found._replace(margin=_margin(values[used], signs[used]))


def _range_of(values, weights):
    """Centre, radius and norm."""
    centre = np.average(values, axis=0, weights=weights)
    away = values - centre
    radius, norm = np.abs(away).max(axis=0), np.sqrt(weights @ away**2)
    if values.ndim == 1:
        return DecisionRange(float(centre), float(radius), float(norm))
    return DecisionRange(centre, radius, norm)


def _margin(values, signs):
    """The smallest value towards the class of its row."""
    if len(np.unique(signs)) < 2:
        raise ValueError("y must hold both classes, in rows of positive weight.")
    return float((signs * values).min())


def _signs(estimator, values, y):
    """The classes of the rows as -1 and +1."""
    classes = getattr(estimator, "classes_", ())
    if len(classes) != 2 or values.ndim != 1:
        raise ValueError(
            "y must be None unless the estimator has two classes (classes_) and one decision value "
            "for each row: a margin is defined for these only."
        )
    y = check_members("y", y)
    if len(y) != len(values):
        raise ValueError(f"y has {len(y)} labels, but X has {len(values)} objects.")
    if not np.isin(y, classes).all():
        raise ValueError(f"y must hold the classes of the estimator, {classes.tolist()}, only.")
    return np.where(y == classes[1], 1.0, -1.0)


def _decision_values(estimator, X):
    """Decision values, a number or a row of numbers for each object, in their own precision."""
    name = "The result of estimator.decision_function"
    found = estimator.decision_function(X)
    values = as_array(name, found)
    if (
        isinstance(found, list | tuple)
        or values.dtype.kind not in "biuf"
        or values.ndim not in (1, 2)
    ):
        raise ValueError(
            f"{name} must be an array with a real number, or a row of them, for each object, got "
            f"{type(found).__name__} of {values.dtype} data with shape {values.shape}."
        )
    check_rows(X, values, name)
    return values


def _finite(values):
    """The values, checked: there is no range of NaN."""
    wrong = np.count_nonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
    if wrong or not len(values):
        raise ValueError(
            f"estimator.decision_function must return finite values for the training rows, got NaN "
            f"or infinity for {wrong} of {len(values)}."
        )
    return values


def outside(estimator, X, centre, radius):
    """Which objects have a decision value outside the range; NaN lies outside.

    The same row has other roundings in another batch. Half of the digits of the values' type are
    left to them, as large terms of a value may cancel.
    """
    values = _decision_values(estimator, X)
    kind = values.dtype if values.dtype.kind == "f" else np.float64
    slack = np.sqrt(np.finfo(kind).eps) * (np.abs(centre) + radius)
    within = np.abs(values.astype(np.float64) - centre) <= radius + slack
    return ~within if values.ndim == 1 else ~within.all(axis=1)


def covering_bound(
    capacity: float, n_rows: int, log2_covering: float, *, delta: float = 0.05
) -> float:
    """The covering-number bound of the generalisation error (Hochreiter & Obermayer 2003, eq. 3).

    The statement is for a linear classifier that classifies all training rows correctly, for
    ``a / gamma`` fixed before the rows are drawn and ``|f(x)| <= a`` for all objects that may
    occur. The paper puts ``m / gamma`` of the training rows in its place, to choose between models:
    that is no guarantee. `RejectOption` with ``rule="range"`` keeps other objects within the range,
    but the range still depends on the rows. Values of one or more say nothing.

    Parameters
    ----------
    capacity : float
        ``a / gamma``, at least 1, or in its place ``m / gamma``: the `capacity` of a
        `DecisionRange`. Infinity, as of a classifier with training errors, gives infinity.
    n_rows : int
        Number of training rows L.
    log2_covering : float
        Binary logarithm of the expected covering number of the linear functions to [0, 1], at the
        scale ``1 / (2 capacity)`` and with 2 L points.
    delta : float, default=0.05
        The bound holds with probability ``1 - delta``.

    Returns
    -------
    float

    See Also
    --------
    range_bound : A bound that counts objects outside the range as well.

    Examples
    --------
    >>> from psvm.evaluation import covering_bound
    >>> round(covering_bound(1.5, 10_000, 100.0), 4)
    0.024
    """
    check_number("capacity", capacity, least=1, infinite=True)
    check_integer("n_rows", n_rows, least=1)
    check_number("log2_covering", log2_covering, least=0)
    check_number("delta", delta, above=0, below=1)
    confidence = np.log2(capacity) + np.log2(4 * n_rows) - np.log2(delta)  # never overflows
    return float(2 / n_rows * (log2_covering + confidence))


def range_bound(
    capacity: float, n_rows: int, log2_covering: float, *, delta: float = 0.05
) -> float:
    """The range bound of the generalisation error (Hochreiter, Mohr & Obermayer 2004, eq. 62).

    It holds, under the assumptions of its proof, for a linear classifier that classifies all
    training rows correctly; values of one or more say nothing.

    Parameters
    ----------
    capacity : float
        ``m / gamma``, at least 1: the `capacity` of a `DecisionRange`, which is `capacity_` of a
        `SpheredSVC` without slack. Infinity, as of a classifier with training errors, gives
        infinity.
    n_rows : int
        Number of training rows L.
    log2_covering : float
        Binary logarithm of the expected covering number of the linear functions to [0, 1], at the
        scale ``1 / (2 capacity + 4)`` and with 2 L points.
    delta : float, default=0.05
        The bound holds with probability ``1 - delta``.

    Returns
    -------
    float

    Examples
    --------
    >>> from psvm.evaluation import range_bound
    >>> round(range_bound(1.5, 10_000, 100.0), 4)
    0.049
    """
    check_number("capacity", capacity, least=1, infinite=True)
    check_number("delta", delta, above=0, below=1)
    # Twice the bound for the range a = m + 2 gamma: two events, each with half of delta (eq. 70).
    return 2 * covering_bound(capacity + 2, n_rows, log2_covering, delta=delta / 2)


def outlier_bound(n_rows: int, *, delta: float = 0.05) -> float:
    """The share of new objects outside the range (Hochreiter & Obermayer 2003, eq. 7).

    It is a Chernoff bound for one function and one centre, both fixed before the rows are drawn.
    Those of a fitted model depend on the rows, and the share outside can be larger, above all with
    many columns.

    Parameters
    ----------
    n_rows : int
        Number of training rows L.
    delta : float, default=0.05
        The bound holds with probability ``1 - delta``.

    Returns
    -------
    float
        ``sqrt(-log(delta) / (2 L))``.

    Examples
    --------
    >>> from psvm.evaluation import outlier_bound
    >>> round(outlier_bound(200), 4)
    0.0865
    """
    check_integer("n_rows", n_rows, least=1)
    check_number("delta", delta, above=0, below=1)
    return float(np.sqrt(-np.log(delta) / (2 * n_rows)))
