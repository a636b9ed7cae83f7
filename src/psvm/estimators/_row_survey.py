"""What must be known of rows before they are summed: scale, classes, and some of the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._typing import ArrayLike, MatrixLike, Stored
from .._validation import check_flag, shown, target_type
from ..matrix import (
    RowBlock,
    can_be_centred,
    check_block,
    column_moments,
    row_hashes,
    stacked_rows,
    stored_bytes,
)
from ._landmarks import MOST

SAMPLE, SAMPLE_BYTES = 20_000, 2**26
"""Rows that are kept, and the memory that more than `MOST` of them may take."""
LEAST = 1e-12
"""A difference of weights that is at most this share of them is rounding."""


class RowSample(NamedTuple):
    """Distinct rows with their targets, in the order of their hashes."""

    hashes: np.ndarray
    X: Stored
    y: np.ndarray
    weights: np.ndarray
    """Those of all rows that are equal and have the same target."""


@dataclass(frozen=True, eq=False, repr=False)
class RowSurvey:
    """What a plan needs to know of all rows: scale, classes, and a sample of the rows.

    Surveys add up: ``a + b`` is that of both sets of rows. The sample has the rows whose hashes are
    the smallest, so that it depends neither on the order of the rows nor on how they are cut into
    blocks. Make surveys by `RowSurvey.of`.

    Parameters
    ----------
    n_rows : int
        The number of rows with weight.
    weight : float
        The sum of the weights.
    means, squares : ndarray of shape (n_features,)
        Weighted means of the columns and their centred sums of squares.
    classes, class_weights : ndarray or None
        The labels and the weights of their rows, of a classification.
    sample : RowSample
        Some of the rows.
    bound : int or None
        The sample has all distinct rows with smaller hashes; None if it has all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import RowSurvey
    >>> X, y = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
    >>> survey = RowSurvey.of(X[:4], y[:4], labels=True) + RowSurvey.of(X[4:], y[4:], labels=True)
    >>> survey
    RowSurvey(n_rows=6, n_features=2, classes=2)
    >>> survey.means
    array([5., 6.])
    """

    n_rows: int
    weight: float
    means: np.ndarray
    squares: np.ndarray
    classes: np.ndarray | None
    class_weights: np.ndarray | None
    sample: RowSample
    bound: int | None

    @classmethod
    def of(
        cls,
        X: MatrixLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        labels: bool,
    ) -> RowSurvey:
        """The survey of some rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
        labels : bool
            Whether y are labels of classes; otherwise they are numbers.

        Returns
        -------
        RowSurvey
        """
        check_flag("labels", labels)
        return survey_of(check_block(RowBlock(X, y, sample_weight, "rows")), labels)

    @property
    def variances(self) -> np.ndarray:
        """Variances of the columns."""
        return self.squares / self.weight

    @property
    def n_distinct(self) -> int:
        """The number of distinct rows, about, if the sample has not all of them."""
        sampled = len(np.unique(self.sample.hashes))
        return sampled if self.bound is None else max(sampled, int(sampled * (2**64 / self.bound)))

    def __add__(self, other: RowSurvey) -> RowSurvey:
        if not isinstance(other, RowSurvey):
            return NotImplemented
        if len(self.means) != len(other.means) or (self.classes is None) != (other.classes is None):
            raise ValueError(
                f"Surveys of {len(self.means)} and {len(other.means)} columns, of labels or of "
                "numbers, do not add up."
            )
        if not (self.weight and other.weight):
            return self if self.weight else other
        weight, difference = self.weight + other.weight, other.means - self.means
        share = other.weight / weight
        squares = self.squares + other.squares + self.weight * share * np.square(difference)
        classes, class_weights = _joined_classes(self, other)
        bounds = [bound for bound in (self.bound, other.bound) if bound is not None]
        sample, bound = _smallest(_joined(self.sample, other.sample), min(bounds, default=None))
        return replace(
            self,
            n_rows=self.n_rows + other.n_rows,
            weight=weight,
            means=self.means + share * difference,
            squares=squares,
            classes=classes,
            class_weights=class_weights,
            sample=sample,
            bound=bound,
        )

    def with_classes(self, classes: ArrayLike) -> RowSurvey:
        """The survey of rows that may have more classes than those seen.

        Parameters
        ----------
        classes : array-like
            All labels.

        Returns
        -------
        RowSurvey
        """
        if self.classes is None or self.class_weights is None:
            raise ValueError("The survey is one of numbers: there are no classes.")
        labels = np.unique(np.asarray(classes))
        strange = np.setdiff1d(self.classes, labels)
        if len(strange):
            raise ValueError(f"The label {shown(strange[0])} is not among the classes.")
        weights = np.zeros(len(labels))
        weights[np.searchsorted(labels, self.classes)] = self.class_weights
        return replace(self, classes=labels, class_weights=weights)

    def without(self, other: RowSurvey) -> RowSurvey:
        """The survey with the rows of another one taken from its sample.

        Parameters
        ----------
        other : RowSurvey
            Of some of the rows.

        Returns
        -------
        RowSurvey
            Its means, squares and classes are still those of all rows.
        """
        mine, its = self.sample, other.sample
        negative = its._replace(weights=-its.weights)
        sample, bound = _smallest(_joined(mine, negative), self.bound)
        left = np.flatnonzero(sample.weights > LEAST * np.abs(its.weights).max(initial=0.0))
        sample = RowSample(*(part[left] for part in sample))
        n_rows, weight = self.n_rows - other.n_rows, self.weight - other.weight
        return replace(self, n_rows=n_rows, weight=weight, sample=sample, bound=bound)

    def __radd__(self, other: int) -> RowSurvey:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # for `sum`

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + stored_bytes(self.means, self.squares, *self.sample)

    def __repr__(self) -> str:
        classes = "" if self.classes is None else f", classes={len(self.classes)}"
        return f"RowSurvey(n_rows={self.n_rows}, n_features={len(self.means)}{classes})"


def survey_of(block, labels, bound=None):
    """The survey of a checked block; its sample has no hash of `bound` or more."""
    X, y, weights, where = block
    counted = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    if len(counted) < X.shape[0]:
        X, y, weights = X[counted], y[counted], weights[counted]
    weights = np.ones(X.shape[0]) if weights is None else weights
    classes = class_weights = None
    if labels:
        _check_labels(y, where)
        classes, code = np.unique(y, return_inverse=True)
        class_weights = np.bincount(code, weights, len(classes))
    elif y.dtype.kind not in "biuf":
        raise ValueError(f"{where}: y must hold numbers, got {y.dtype} data.")
    with np.errstate(over="ignore", invalid="ignore"):  # a plan that needs the squares says so
        means, squares = column_moments(X, weights) if len(counted) else np.zeros((2, X.shape[1]))
    hashes = row_hashes(X)
    sample, bound = _smallest(RowSample(hashes, X, y, weights), bound)
    return RowSurvey(
        n_rows=len(counted),
        weight=float(weights.sum()),
        means=means,
        squares=squares,
        classes=classes,
        class_weights=class_weights,
        sample=sample,
        bound=bound,
    )


def _check_labels(y, where):
    if y.ndim == 2 or (y.dtype.kind == "f" and target_type("y", y[:1000]) == "continuous"):
        raise ValueError(
            f"{where}: y must be one label for each row: blocks of rows know neither several "
            "labels nor numbers with a fraction as classes."
        )


def _joined(a, b):
    """Both samples in one."""
    return RowSample(
        np.concatenate([a.hashes, b.hashes]),
        stacked_rows([a.X, b.X]),
        np.concatenate([a.y, b.y]),
        np.concatenate([a.weights, b.weights]),
    )


def _joined_classes(a, b):
    """The labels of both, and the weights of their rows."""
    if a.classes is None:
        return None, None
    classes, code = np.unique(np.concatenate([a.classes, b.classes]), return_inverse=True)
    return classes, np.bincount(code, np.concatenate([a.class_weights, b.class_weights]))


def _smallest(sample, bound):
    """The rows with the smallest hashes below a bound, each with its target once; the new bound.

    Of equal hashes all are kept or none, so that blocks in any order end with the same rows.
    """
    hashes, X, y, weights = sample
    if bound is not None:
        below = np.flatnonzero(hashes < np.uint64(bound))
        hashes, X, y, weights = hashes[below], X[below], y[below], weights[below]
    axis = None if y.ndim == 1 else 0  # labels may be objects, which have no axis
    code = np.unique(y, axis=axis, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((code, hashes))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (hashes[order[1:]] != hashes[order[:-1]]) | (np.diff(code[order]) != 0)
    first, most = np.flatnonzero(new), _size(X)
    total = np.add.reduceat(weights[order], first) if len(first) else weights
    kept = order[first]
    if len(kept) > most:
        bound = int(hashes[kept[most]])
        end = np.searchsorted(hashes[kept], hashes[kept[most]])
        kept, total = kept[:end], total[:end]
    return RowSample(hashes[kept], X[kept], y[kept], total), bound


def _size(X):
    """How many rows a sample may have."""
    if not can_be_centred(X):
        return SAMPLE
    return int(min(SAMPLE, max(SAMPLE_BYTES // (8 * max(X.shape[1], 1)), MOST + 1)))
