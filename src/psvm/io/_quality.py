"""What stands out in data before any model is fitted."""

from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from ..matrix import (
    Standardized,
    as_matrix,
    fill_missing,
    row_digests,
    storage_of,
    stored_columns,
)
from ._errors import Finding, Severity

MOST = 20
"""Findings of one kind."""
MOST_CLASSES = 5
"""The same for classes."""
SCALES = 1e3
"""Ratio of the ranges of two columns beyond which one of them is hardly seen."""
LEAK = 0.999
"""Correlation with the target beyond which a column is taken for the target."""
FEW_MEMBERS = 5
IMBALANCE = 10
"""Ratio of the sizes of two classes beyond which the error rate says little."""


def is_numeric(X):
    """Whether X is a matrix of numbers, not a list of sequences."""
    return np.ndim(X) == 2


def find_warnings(X, y=None, *, names=None, classes=False, scaled=False, most=MOST):
    """Findings about what may make results worth less than they look.

    Parameters
    ----------
    X : {array-like, sparse matrix} of numbers, or objects of any kind
    y : ndarray, default=None
        The target.
    names : sequence of str, default=None
        Names of the columns; numbers from 1 by default.
    classes : bool, default=False
        Whether y holds classes.
    scaled : bool, default=False
        Whether the model ignores the scales of the columns.
    most : int, default=20
        Largest number of findings of one kind.

    Returns
    -------
    list of Finding
    """
    found = []
    if is_numeric(X):
        with np.errstate(over="ignore", invalid="ignore"):  # any numbers may be in a file
            columns = _columns(fill_missing(X), names)
            found += _some(_constant(columns), most, "columns")
            found += _without_entries(columns)
            found += [] if scaled else _scales(columns)
            found += _some(_repeated(columns), most, "columns")
            found += [] if y is None else _some(_leaks(columns, y), most, "columns")
            found += _repeated_rows(columns.X)
    return found if y is None else found + _look_at_target(y, classes)


def _warning(message, advice, column=None):
    return Finding(Severity.WARNING, message, column=column, advice=advice)


def _some(found, most, what):
    """The first findings, and how many more there are."""
    first = list(islice(found, most + 1))
    if len(first) > most:
        more = f"{1 + sum(1 for _ in found)} more {what} have the same problem."
        first[most] = replace(first[most], message=more, column=None, advice="")
    return first


@dataclass(frozen=True)
class _Columns:
    """Columns that may have entries.

    A sparse matrix may have billions of columns, so nothing here is as long.
    """

    X: object
    """These columns."""
    places: object
    """Their places in the whole matrix."""
    low: np.ndarray
    high: np.ndarray
    empty: int
    """Number of columns without entries."""
    names: list | None

    def called(self, k):
        """What the k-th one is called at the beginning of a sentence."""
        j = self.places[k]
        return f"Column {j + 1}" if self.names is None else f"Column {self.names[j]!r}"

    def warning(self, k, message, advice):
        """A finding about the k-th one."""
        return _warning(f"{self.called(k)} {message}", advice, int(self.places[k]) + 1)


def _columns(X, names):
    stored, places, low, high = stored_columns(X)
    return _Columns(stored, places, low, high, X.shape[1] - len(places), names)


def _constant(columns):
    for k in np.flatnonzero(columns.low == columns.high):
        message = f"is constant ({columns.low[k]:g})."
        yield columns.warning(k, message, "It says nothing; leave it out.")


def _without_entries(columns):
    if columns.empty:
        message = f"{columns.empty} columns have no entries, so all their values are 0."
        yield _warning(message, "Leave them out.")


def _scales(columns):
    spread = columns.high - columns.low
    spread = spread[spread > 0]
    if len(spread) > 1 and spread.max() > SCALES * spread.min():
        message = f"The ranges of columns differ by a factor of {spread.max() / spread.min():.0f}."
        yield _warning(message, "Standardise the features, unless X is a matrix of relations.")


def _repeated(columns):
    """Columns of a dense matrix that another column repeats."""
    X, seen = columns.X, {}
    for k in range(X.shape[1] if storage_of(X) == "dense" else 0):
        first = seen.setdefault(hash(X[:, k].tobytes()), k)
        if first < k and (X[:, first] == X[:, k]).all():
            message = f"repeats {columns.called(first).lower()}."
            yield columns.warning(k, message, "Leave one of them out.")


def _leaks(columns, y):
    """Columns that say the target almost exactly."""
    values, code = np.unique(y, return_inverse=True)
    if len(y) < 3 or len(values) < 2 or not columns.X.shape[1]:
        return
    target = y.astype(np.float64) if y.dtype.kind in "fiu" else code
    target = target / np.abs(target).max()
    target = target - target.mean()
    try:
        K = Standardized(as_matrix(columns.X))
    except ValueError:  # a model will say which numbers are out of range
        return
    for k in np.flatnonzero(np.abs(K.rmatvec(target)) > LEAK * np.linalg.norm(target)):
        message = "is almost the target itself."
        yield columns.warning(k, message, "Leave it out unless it is known before the target.")


def _repeated_rows(X):
    n = X.shape[0]
    repeated = n - len(set(row_digests(X)))
    if repeated:
        message = f"{repeated} of {n} rows repeat other rows."
        yield _warning(message, "In cross-validation copies fall into training and test sets.")


def _look_at_target(y, classes):
    values, counts = np.unique(y, return_counts=True)
    values = values.tolist()  # a message shows 1, not np.int64(1)
    if len(values) == 1:
        message = f"All rows have the same target {values[0]!r}."
        return [Finding(Severity.ERROR, message, advice="There is nothing to learn.")]
    return _look_at_classes(values, counts, len(y)) if classes else []


def _look_at_classes(values, counts, n):
    found = _some(
        (
            _warning(
                f"The class {value!r} has only {count} of {n} rows.",
                "Cross-validation with more folds than that cannot be stratified.",
            )
            for value, count in zip(values, counts, strict=True)
            if count < FEW_MEMBERS
        ),
        MOST_CLASSES,
        "classes",
    )
    if counts.max() >= IMBALANCE * counts.min():
        ratio = counts.max() / counts.min()
        message = f"The largest class has {ratio:.0f} times as many rows as the smallest."
        found.append(
            _warning(message, "Look at the confusion matrix, not at the error rate alone.")
        )
    return found
