"""Which columns of files are features, target and weights, and blocks of them with checks."""

from dataclasses import dataclass

import numpy as np

from ..matrix import RowBlock, missing_entries, stored_values
from ._columns import as_labels
from ._dialect import find_column, suggestion
from ._errors import DataError

LEAST_ROWS = 16
"""Rows of a block, however long they are."""


@dataclass(frozen=True)
class BlockColumns:
    """The columns that are read, by name."""

    target: str
    weight: str | None
    features: list
    text: bool
    """Whether the target is text; otherwise it is numbers."""
    named: bool
    """Whether the files name the features."""

    @property
    def names(self):
        """All of them, each once."""
        return list(dict.fromkeys([*self.features, *filter(None, (self.target, self.weight))]))

    def n_rows(self, size):
        """Rows of a block whose features take `size` bytes."""
        return max(int(size / (8 * len(self.features))), LEAST_ROWS)


def choose_columns(files, target, weight, features, target_type):
    """Find the columns in the first file, and check that the others have them too.

    Parameters
    ----------
    files : list of files
        Each has `path`, `names`, `features` (names that may be features), `named` and
        `why_not_numbers(name)`.
    target, weight, features, target_type
        As for `open_blocks`.

    Returns
    -------
    BlockColumns
    """
    first = files[0]
    target = first.names[find_column(target, first.names, first.path, "the target")]
    if weight is not None:
        weight = first.names[find_column(weight, first.names, first.path, "the weights")]
    known = first.features
    if features is None:
        chosen = [name for name in known if name not in (target, weight)]
    else:
        places = [find_column(f, known, first.path, "one of features") for f in features]
        chosen = [known[place] for place in places]
    if not chosen:
        raise DataError("There is no column of features.", file=first.path)
    if target in chosen:
        raise DataError(f"The target {target!r} is one of the features.", file=first.path)
    text = target_type == "text"
    if target_type == "auto":
        text = first.why_not_numbers(target) is not None
    columns = BlockColumns(target, weight, chosen, text, first.named)
    for file in files:
        _check_columns(file, columns, every=features is None, first=first)
    return columns


def _check_columns(file, columns, every, first):
    """Refuse a file that lacks columns, has columns of text, or others than the first file."""
    names, features = set(file.names), set(file.features)
    for name in columns.names:
        if name not in (features if name in columns.features else names):
            raise DataError(
                f"There is no column {name!r}.", file=file.path, advice=suggestion(name, file.names)
            )
    others = features.difference(columns.names) if every else ()
    if others:
        raise DataError(
            f"The column {min(others)!r} is not in {first.path}.",
            file=file.path,
            advice="Name the columns that are wanted by features=.",
        )
    for name in (*columns.features, *filter(None, [columns.weight])):
        why = file.why_not_numbers(name)
        if why is not None:
            raise DataError(
                f"The column {name!r} {why}, not numbers.",
                file=file.path,
                advice="Leave it out by features=, or write it as numbers.",
            )


def row_range(first, n):
    """How errors call some rows of a file, counted from 1."""
    return f"rows {first + 1} to {first + n}"


def make_block(X, y, weights, columns, path, first):
    """A block of rows of a file; missing and infinite values are refused by name and place.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, n_features)
    y : list, or ndarray of numbers
    weights : ndarray or None
    columns : BlockColumns
    path : str
    first : int
        Place of the first row in the file.

    Returns
    -------
    RowBlock
    """
    rows = row_range(first, X.shape[0])
    _refuse_gaps(X, columns.features, path, first)
    if weights is not None:
        _refuse_gaps(weights[:, None], [columns.weight], path, first)
    return RowBlock(X, as_target(y, columns, path, first), weights, f"{path}, {rows}")


def refuse_missing(name, place, path, first, n):
    """The error for a missing value."""
    raise DataError(
        f"The value of the column {name!r} is missing in row {first + place + 1} "
        f"({row_range(first, n)}).",
        file=path,
        advice="Fill in the value, or leave out the row.",
    )


def _refuse_gaps(X, names, path, first):
    """Refuse NaN by name and place; infinity is refused with the block."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(stored_values(X).sum()):
            return
    rows, columns = missing_entries(X)
    if len(rows):
        refuse_missing(names[columns[0]], rows[0], path, first, X.shape[0])


def as_target(y, columns, path, first):
    """Labels as text, or numbers."""
    if not isinstance(y, np.ndarray):
        for place, value in enumerate(y):
            if value is None or value != value:
                refuse_missing(columns.target, place, path, first, len(y))
    elif y.dtype.kind == "f" and np.isnan(y).any():
        refuse_missing(columns.target, int(np.argmax(np.isnan(y))), path, first, len(y))
    y = as_labels(y) if len(y) else np.empty(0)
    if columns.text:
        return np.array([str(value) for value in y.tolist()])
    if y.dtype.kind not in "biuf":
        raise DataError(
            f"The target {columns.target!r} has text ({row_range(first, len(y))}), but numbers are "
            "expected after the first rows.",
            file=path,
            advice="Use target_type='text' if the target is labels.",
        )
    return y
