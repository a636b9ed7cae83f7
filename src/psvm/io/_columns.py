"""Columns of a table: features in an order, categories, labels."""

import numpy as np

from .._core._csv import parse_number
from ._dialect import find_column


def append_categories(table, names, categories, texts):
    """Columns of 0 and 1 for the values of text columns."""
    columns, labels = (
        [table.X],
        list(table.feature_names or [f"x{j}" for j in range(table.X.shape[1])]),
    )
    for j in categories:
        values, code = np.unique(np.array(texts[j], dtype=object), return_inverse=True)
        columns.append(np.eye(len(values))[code])
        labels += [f"{names[j]}={value}" for value in values]
    table.X, table.feature_names = np.hstack(columns), labels
    table.detection.append(
        "Columns of text are written as columns of 0 and 1: "
        + ", ".join(names[j] for j in categories)
        + "."
    )


def select_features(table, features):
    """The features that are asked for, in that order."""
    names = table.feature_names or [f"x{j}" for j in range(table.X.shape[1])]
    index = [find_column(str(f), names, table.source, "a feature") for f in features]
    table.X, table.feature_names = table.X[:, index], [names[j] for j in index]


def as_labels(cells):
    """A target: integers if all are, else floats if all are numbers, else strings."""
    if not isinstance(cells, np.ndarray):
        numbers = [parse_number(str(cell).encode()) for cell in cells]
        if None in numbers:
            labels = np.empty(len(cells), dtype=object)
            labels[:] = cells
            return labels
        cells = np.array(numbers)
    if cells.dtype.kind == "f" and (np.abs(cells) < 2**53).all() and (cells % 1 == 0).all():
        return cells.astype(np.int64)
    return cells
