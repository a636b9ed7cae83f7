"""What stands out in the data before any model is fitted."""

import numpy as np

from ..matrix import Standardized, as_matrix, fill_missing, row_digests, storage_of, stored_values

FEW_ROWS, FEW_MEMBERS = 30, 5
LEAK = 0.999
IMBALANCE = 10
SCALES = 1e3


def is_numeric(X):
    """Whether X is a matrix of numbers, not a list of sequences."""
    return np.ndim(X) == 2


def column_names(X, names=None):
    """Names of the columns: given, those of a DataFrame, or numbers."""
    if names is None and hasattr(X, "columns"):
        names = X.columns
    if names is None:
        return [f"column {j}" for j in range(X.shape[1])]
    return [str(name) for name in names]


def describe(X, y, classifier):
    """Pairs of what and how much."""
    facts = [("rows", len(y))]
    if is_numeric(X):
        facts.append(("columns", X.shape[1]))
        facts.append(("storage", storage_of(X)))
        numbers = np.asarray(stored_values(X), dtype=np.float64)
        missing = int(np.isnan(numbers).sum())
        facts += [("missing values", missing)] * (missing > 0)
        if numbers.size > missing:
            facts.append(("smallest value", float(np.nanmin(numbers))))
            facts.append(("largest value", float(np.nanmax(numbers))))
        if storage_of(X) == "sparse":
            facts.append(("entries that are not zero", X.nnz))
    else:
        lengths = [len(s) for s in X]
        facts.append(("shortest sequence", min(lengths)))
        facts.append(("longest sequence", max(lengths)))
    if classifier:
        return facts
    return [*facts, ("mean of the target", float(np.mean(y))),
            ("standard deviation of the target", float(np.std(y)))]  # fmt: skip


def class_counts(y):
    """Rows of label, number and share."""
    labels, counts = np.unique(y, return_counts=True)
    return [
        [str(label), int(count), float(count / len(y))]
        for label, count in zip(labels, counts, strict=True)
    ]


def find_warnings(X, y, classifier, names=None, *, scaled=True):
    """Sentences about what may make the results worth less than they look.

    `scaled` says that the scales of the columns do not matter to the model.
    """
    found = []
    if len(y) < FEW_ROWS:
        found.append(f"There are {len(y)} rows only: all errors are rough.")
    if classifier:
        found += _class_warnings(y)
    if is_numeric(X):
        found += _column_warnings(X, y, column_names(X, names), scaled)
    return found


def _class_warnings(y):
    labels, counts = np.unique(y, return_counts=True)
    found = [
        f"Class {label!s} has {count} members only."
        for label, count in zip(labels, counts, strict=True)
        if count < FEW_MEMBERS
    ]
    if counts.max() >= IMBALANCE * counts.min():
        found.append(
            f"The largest class has {counts.max() / counts.min():.0f} times as many members as the "
            "smallest: look at the confusion matrix, not at the error rate alone."
        )
    return found


def _column_warnings(X, y, names, scaled):
    numbers = fill_missing(X)
    K = Standardized(as_matrix(numbers))
    found = []
    constant = np.flatnonzero(K.norms == 0)
    if len(constant):
        found.append(f"{_columns(constant, names)} without variance: nothing can be learnt there.")
    repeated = len(y) - len(set(row_digests(numbers)))
    if repeated:
        found.append(
            f"{repeated} rows repeat others. A repeated row in a test fold is no news to the model."
        )
    spread = K.norms[K.norms > 0]
    if len(spread) and spread.max() > SCALES * spread.min() and not scaled:
        found.append(
            f"Columns differ in scale by a factor of {spread.max() / spread.min():.0g}: the "
            "kernel sees little but the largest. Standardise them."
        )
    return found + _leaks(K, y, names)


def _leaks(K, y, names):
    """Columns that say the target almost exactly."""
    _, code = np.unique(y, return_inverse=True)
    target = code if y.dtype.kind not in "fiu" else y.astype(np.float64)
    target = target - target.mean()
    size = np.linalg.norm(target)
    if size == 0:
        return []
    leaks = np.flatnonzero(np.abs(K.rmatvec(target)) > LEAK * size)
    if not len(leaks):
        return []
    return [f"{_columns(leaks, names)} with almost the target itself: is that known beforehand?"]


def _columns(index, names, most=5):
    listed = ", ".join(names[j] for j in index[:most]) + (", …" if len(index) > most else "")
    return f"{len(index)} column{'s' if len(index) > 1 else ''} ({listed})"
