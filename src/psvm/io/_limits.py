"""How much a small file may ask for."""

import os

from ._errors import DataError

LARGEST_RATIO, SMALL = 100, 2**28
"""A file that unfolds to more than this many times its size is refused, unless it is small."""
MANY_ROWS = 2**24
"""A sparse matrix with more rows must have entries in some of them."""


def refuse_bomb(unfolded, packed, path):
    """Complain if a file of `packed` bytes unfolds to more than it should."""
    if unfolded > SMALL and unfolded > LARGEST_RATIO * packed:
        raise DataError(
            f"The file unfolds to {unfolded} bytes or more, over {LARGEST_RATIO} times its size.",
            file=path,
            advice="Unpack it yourself if you trust it.",
        )


def refuse_categories(n_rows, n_values, name, path):
    """Complain about a column of text with so many values that columns of 0 and 1 explode."""
    size = 8 * n_rows * n_values
    if size > SMALL and size > LARGEST_RATIO * os.path.getsize(path):
        raise DataError(
            f"The column {name!r} has {n_values} different values in {n_rows} rows, too many for a "
            "column of 0 and 1 each.",
            file=path,
            advice="Ignore it, or make it the row names.",
        )


def refuse_empty_rows(n_rows, n_entries, path, line=None):
    """Complain if nearly all rows of a sparse matrix are empty, since each row takes memory."""
    if n_rows > MANY_ROWS and n_rows > LARGEST_RATIO * n_entries:
        raise DataError(
            f"The sparse matrix has {n_rows} rows, but only {n_entries} entries.",
            file=path,
            line=line,
            advice="Check its size.",
        )
