"""Tables in memory: pandas and Polars DataFrames and Arrow tables, as the columns of a file."""

import datetime
import sys
from dataclasses import replace

import numpy as np

from ._dialect import find_column
from ._errors import DataError
from ._raw import Raw, apply_schema, assemble
from ._schema import Kind, Schema

NUMBERS = ("int", "uint", "float", "double", "halffloat", "bool", "decimal", "sparse[")
WORDS = ("object", "string", "large_string", "utf8", "large_utf8", "null")
DATES = ("datetime", "date", "timestamp")
CATEGORIES = ("categor", "dictionary", "enum")
"""How the types of columns begin that hold these, in lower case, in pandas, Polars and Arrow."""


def is_frame(X):
    """Whether X is a table with named columns."""
    return (hasattr(X, "iloc") and hasattr(X, "columns")) or hasattr(X, "column_names") or (
        hasattr(X, "get_column") and hasattr(X, "columns")
    )  # fmt: skip


class TypedColumn:
    """A column of a table with types.

    Parameters
    ----------
    name : str
    column : Series of pandas or Polars, or array of Arrow
    """

    def __init__(self, name, column):
        self.name, self.column = name, column
        self.type = str(column.type if hasattr(column, "type") else column.dtype)
        kind = self.type.lower()
        self.is_numbers, self.is_dates, self.is_category, self.is_words = (
            kind.startswith(some) for some in (NUMBERS, DATES, CATEGORIES, WORDS)
        )
        self.is_words |= kind == "str"

    def numbers(self):
        """Its values as doubles, NaN where they are missing."""
        column = self.column
        if hasattr(column, "iloc"):
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        double = "double" if hasattr(column, "to_pylist") else sys.modules["polars"].Float64
        return np.array(column.cast(double).to_numpy(), dtype=np.float64)

    def words(self):
        """Its values as a text file has them; None where they are missing."""
        for method in ("to_pylist", "to_list"):
            if hasattr(self.column, method):
                return [text_of(value) for value in getattr(self.column, method)()]
        raise TypeError(f"The column {self.name!r} has no values.")


def text_of(value):
    """A value of a typed column as a text file has it; None if it is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    if isinstance(value, float):
        return None if value != value else str(int(value)) if value.is_integer() else str(value)
    return str(value).strip()


def columns_of(frame):
    """The names of a table and its columns as `TypedColumn`."""
    if hasattr(frame, "column_names"):
        columns = list(frame.columns)
        names = list(frame.column_names)
    elif hasattr(frame, "iloc"):
        names = [str(name) for name in frame.columns]
        columns = [frame.iloc[:, j] for j in range(len(names))]
    else:
        names = list(frame.columns)
        columns = [frame.get_column(name) for name in names]
    return names, [TypedColumn(n, c) for n, c in zip(names, columns, strict=True)]


def table_of_frame(frame, options):
    """The `Table` of a table in memory: what its columns are follows from their types first."""
    names, columns = columns_of(frame)
    if not columns or not frame.shape[0]:
        raise ValueError(f"X has the shape {frame.shape}: there is no data.")
    raw = Raw(names, True, np.empty((frame.shape[0], 0)), [], {}, "X", "frame")
    if not isinstance(options.schema, Schema):
        dates = {c.name: Kind.DATE for c in columns if c.is_dates}
        coded = {c.name: Kind.CATEGORY for c in columns if c.is_category}
        options = replace(options, types={**dates, **coded, **options.types})
    return assemble(take_columns(raw, columns, options), options)


def take_columns(raw, columns, options):
    """Read the columns that are looked at as numbers or words."""
    as_words, blocks = _columns_of_words(raw, options), []
    for j in _wanted_columns(raw, options):
        column, words = columns[j], as_words(j)
        if j == raw.row_names or words or not column.is_numbers:
            known = column.is_words or column.is_dates or column.is_category or column.is_numbers
            free = not (words or j in (raw.row_names, raw.target))
            if not known or (free and not _may_be_words(options)):
                raise not_numbers(column, raw.source, j + 1)
            raw.texts[j] = column.words()
        elif j == raw.target:
            raw.target_values = _numbers_of(column, raw, options)
        else:
            raw.numbers.append(j)
            blocks.append(_numbers_of(column, raw, options))
    raw.values = np.column_stack(blocks) if blocks else raw.values
    if not blocks and not set(raw.texts) - {raw.target, raw.row_names}:
        raise DataError("There is no column of numbers.", file=raw.source)
    return raw


def _numbers_of(column, raw, options):
    numbers = column.numbers()
    if np.isinf(numbers).any():
        where = f"row {int(np.isinf(numbers).argmax()) + 1} of column {column.name!r}"
        raise DataError(f"There are infinite numbers, such as in {where}.", file=raw.source)
    numbers[np.isin(numbers, options.number_markers)] = np.nan
    return numbers


def _columns_of_words(raw, options):
    """A function that says whether a column must be read as words."""
    if isinstance(options.schema, Schema):
        columns, places = apply_schema(raw, options.schema)
        raw.detection.clear()
        coded = {
            j
            for column, j in zip(columns, places, strict=True)
            if column.kind in (Kind.CATEGORY, Kind.DATE)
        }
        return coded.__contains__
    kinds = (None, Kind.NUMBER, Kind.IGNORED)
    return lambda j: options.types.get(raw.names[j]) not in kinds


def _wanted_columns(raw, options):
    """The columns that are looked at."""
    own = [j for j in (raw.row_names, raw.target) if j is not None]
    if isinstance(options.schema, Schema):
        return list(dict.fromkeys([*apply_schema(raw, options.schema)[1], *own]))
    find = (find_column(c, raw.names, raw.source, "ignore") for c in options.ignore)
    left_out = set(find) - set(own)
    wanted = None if options.features is None else set(map(str, options.features))
    return [
        j
        for j, name in enumerate(raw.names)
        if j not in left_out
        and options.types.get(name) is not Kind.IGNORED
        and (wanted is None or j in own or name in wanted)
    ]


def _may_be_words(options):
    return options.categorical != "error"


def not_numbers(column, path, place):
    """The error about a column of another type."""
    return DataError(
        f"The column {column.name!r} is of the type {column.type}, not numbers.",
        file=path,
        column=place,
        advice="Make it the target or the row names, ignore it, or read it with "
        "categorical='onehot' or 'drop'.",
    )
