"""The data of a report: what it is, and what stands out."""

import numpy as np
from sklearn.compose import ColumnTransformer

from ..estimators import unwrap_psvm
from ..io import TableEncoder, find_warnings, is_numeric
from ..matrix import storage_of, stored_values

FEW_ROWS = 30
MOST_COLUMNS = 5
"""Columns that are named for one reason."""


def column_names(X, names=None):
    """Names of the columns: given, those of a DataFrame, or numbers."""
    if names is None and hasattr(X, "columns"):
        names = X.columns
    if names is None:
        return [f"column {j + 1}" for j in range(X.shape[1])]
    return [str(name) for name in names]


def check_names(X, columns, rows):
    """Complain if names of columns or rows are given that are not one for each."""
    for given, n, what in ((columns, 1, "feature_names"), (rows, 0, "row_names")):
        if given is not None and (n == 0 or is_numeric(X)) and len(given) != np.shape(X)[n]:
            raise ValueError(
                f"{what} must hold one name for each of the {np.shape(X)[n]} "
                f"{'columns' if n else 'rows'} of X, got {len(given)}."
            )


def as_numbers(model, X, names):
    """X as a matrix of numbers with the names of its columns: categories are encoded."""
    steps = unwrap_psvm(model).steps
    if not steps or not isinstance(steps[0][1], ColumnTransformer | TableEncoder):
        return X, names
    first = steps[0][1]
    if isinstance(first, TableEncoder) and first.schema_.plain:
        return X, names
    return first.transform(X), [str(name) for name in first.get_feature_names_out()]


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
        [str(label), int(count), float(100 * count / len(y))]
        for label, count in zip(labels, counts, strict=True)
    ]


def suspicions(X, y, classifier, names=None, *, scaled=True):
    """Sentences about what may make the results worth less than they look.

    `scaled` says that the scales of the columns do not matter to the model.
    """
    if names is None and hasattr(X, "columns"):
        names = column_names(X)
    found = find_warnings(X, y, names=names, classes=classifier, scaled=scaled, most=MOST_COLUMNS)
    sentences = [f"{finding.message} {finding.advice}".rstrip() for finding in found]
    if len(y) < FEW_ROWS:
        sentences.insert(0, f"There are only {len(y)} rows: all error estimates are rough.")
    return sentences
