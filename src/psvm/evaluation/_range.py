"""The range of decision values: capacity, bounds of the papers and what lies outside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import ArrayLike, Estimator, MatrixLike
from .._validation import check_has, check_integer, check_number
from ..solvers import check_weights

ROUNDING = 1e-9
"""Values beyond the range by this share are those of the training rows, computed again."""


class DecisionRange(NamedTuple):
    """Where the decision values of the training rows lie.

    Each entry is a float for two classes, and an array with an entry for each value otherwise.

    Examples
    --------
    >>> from psvm import PSVC
    >>> from psvm.evaluation import decision_range
    >>> X = [[-2.0], [-1.0], [1.0], [2.0]]
    >>> centre, radius, norm = decision_range(PSVC(kernel="linear").fit(X, [0, 0, 1, 1]), X)
    >>> radius <= norm
    True
    """

    centre: float | np.ndarray
    """Mean of the values."""
    radius: float | np.ndarray
    """``m / gamma = max_i |f(x_i) - centre|``, the capacity of the papers."""
    norm: float | np.ndarray
    """``||X'w|| = sqrt(sum_i (f(x_i) - centre)^2)``, the upper bound that is minimised."""


def decision_range(
    estimator: Estimator, X: MatrixLike, sample_weight: ArrayLike | None = None
) -> DecisionRange:
    """The range of the decision values of training rows, and the capacity that it bounds.

    The bounds of Hochreiter & Obermayer 2003 and Hochreiter, Mohr & Obermayer 2004 depend on a
    linear classifier only by ``m / gamma = max_i |<w, x_i>|`` with centred points, which is the
    largest deviation of a decision value from the mean. The P-SVM and the Sphered SVM minimise
    ``||X'w||``, which is at least as large; of `SpheredSVC` the two are `capacity_` and
    `capacity_bound_`.

    Parameters
    ----------
    estimator : fitted classifier
        With `decision_function`.
    X : objects
        The training rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Their weights; rows of weight zero do not count.

    Returns
    -------
    DecisionRange
        Centre, radius and norm of the values.

    See Also
    --------
    covering_bound, range_bound : The bounds of the error that follow.
    RejectOption : With ``rule="range"`` it rejects values outside the range.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVC
    >>> from psvm.evaluation import decision_range
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    >>> model = PSVC(kernel="linear", epsilon=0).fit(X, y)
    >>> found = decision_range(model, X)
    >>> bool(found.radius <= found.norm), round(float(found.radius), 2)
    (True, 1.2)
    """
    check_has("estimator", estimator, "decision_function", what="a fitted classifier")
    values = np.asarray(estimator.decision_function(X), dtype=np.float64)
    weights = check_weights(sample_weight, len(values))
    weights = np.ones(len(values)) if weights is None else np.asarray(weights)
    centre = np.average(values, axis=0, weights=weights)
    away = values - centre
    radius = np.abs(away[weights > 0]).max(axis=0)
    norm = np.sqrt(weights @ away**2)
    if values.ndim == 1:
        return DecisionRange(float(centre), float(radius), float(norm))
    return DecisionRange(centre, radius, norm)


def outside(estimator, X, centre, radius):
    """Which objects have a decision value outside the range."""
    values = np.asarray(estimator.decision_function(X), dtype=np.float64)
    beyond = np.abs(values - centre) > radius * (1 + ROUNDING)
    return beyond if values.ndim == 1 else beyond.any(axis=1)


def covering_bound(
    capacity: float, n_rows: int, log2_covering: float, *, delta: float = 0.05
) -> float:
    """The covering-number bound of the generalisation error (Hochreiter & Obermayer 2003, eq. 3).

    It holds for a linear classifier that classifies all training rows correctly, if no object has a
    value outside the range: reject those that do (`RejectOption` with ``rule="range"``). Values of
    one or more say nothing.

    Parameters
    ----------
    capacity : float
        ``a / gamma``, approximated by ``m / gamma``: the `radius` of a `DecisionRange`.
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
    check_number("capacity", capacity, above=0)
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
        ``m / gamma``, the `radius` of a `DecisionRange` or `capacity_` of `SpheredSVC`.
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
    check_number("capacity", capacity, least=0)
    check_number("delta", delta, above=0, below=1)
    # Twice the bound for the range a = m + 2 gamma: two events, each with half of delta (eq. 70).
    return 2 * covering_bound(capacity + 2, n_rows, log2_covering, delta=delta / 2)


def outlier_bound(n_rows: int, *, delta: float = 0.05) -> float:
    """The share of new objects outside the range (Hochreiter & Obermayer 2003, eq. 7).

    It is a Chernoff bound for one function. That of a fitted model depends on the rows, and
    the share outside can be larger, above all with many columns.

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
