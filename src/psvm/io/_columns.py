"""Columns of a table: features in an order, categories, labels."""

import re
from collections.abc import Sequence

import numpy as np

from .._core._csv import parse_number
from ._dialect import find_column
from ._limits import refuse_categories


class Numbered(Sequence):
    """The names x0, x1, ... of unnamed columns; a sparse matrix may have billions of them."""

    def __init__(self, n):
        self._places = range(n)

    def __len__(self):
        return len(self._places)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return [f"x{j}" for j in self._places[place]]
        return f"x{self._places[place]}"

    def __contains__(self, name):
        match = re.fullmatch(r"x(0|[1-9]\d{0,18})", name) if isinstance(name, str) else None
        return match is not None and int(match[1]) in self._places

    def index(self, name):
        """The place of a name."""
        if name not in self:
            raise ValueError(f"{name!r} is not one of {len(self)} names.")
        return int(name[1:])


def names_of(table):
    """The names of the columns, or numbers in place of them."""
    return Numbered(table.X.shape[1]) if table.feature_names is None else table.feature_names


def expand_categories(table, columns):
    """Columns of 0 and 1 for the levels of categories, behind the numbers."""
    coded = [j for j, column in enumerate(columns) if column.kind == "category"]
    plain = [j for j, column in enumerate(columns) if column.kind != "category"]
    names = names_of(table)
    blocks, labels = [table.X[:, plain]], [names[j] for j in plain]
    for j in coded:
        levels, codes = columns[j].levels, table.X[:, j]
        refuse_categories(len(codes), len(levels), names[j], table.source)
        block = np.zeros((len(codes), len(levels)))
        known = np.flatnonzero(~np.isnan(codes))
        block[known, codes[known].astype(int)] = 1
        block[np.isnan(codes)] = np.nan
        blocks.append(block)
        labels += [f"{names[j]}={level}" for level in levels]
    table.X, table.feature_names = np.hstack(blocks), labels
    table.detection.append(
        "Columns of text are written as columns of 0 and 1: "
        + ", ".join(names[j] for j in coded)
        + "."
    )


def select_features(table, features):
    """The features that are asked for, in that order."""
    names = names_of(table)
    index = [find_column(str(f), names, table.source, "one of features") for f in features]
    table.X, table.feature_names = table.X[:, index], [names[j] for j in index]


def as_labels(cells):
    """A target: integers if all are, else floats if all are numbers, else strings."""
    if not isinstance(cells, np.ndarray):
        numbers = [parse_number(str(cell).encode("utf-8", "replace")) for cell in cells]
        if None in numbers:
            labels = np.empty(len(cells), dtype=object)
            labels[:] = cells
            return labels
        cells = np.array(numbers)
    if cells.dtype.kind == "f" and (np.abs(cells) < 2**53).all() and (cells % 1 == 0).all():
        return cells.astype(np.int64)
    return cells
