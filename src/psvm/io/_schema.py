"""What the columns of a table are, what is done with them, and how new tables are matched."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .._validation import check_choice

NA_VALUES = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""Cells that stand for a missing value, as in pandas."""
MISSING = ("error", "drop", "impute")


class Kind(enum.StrEnum):
    """What a column of a table holds.

    Examples
    --------
    >>> from psvm.io import Kind
    >>> Kind.CATEGORY.value
    'category'
    """

    NUMBER = "number"
    CATEGORY = "category"
    """Words with a few levels."""
    DATE = "date"
    """Used as days since 1970-01-01 if requested."""
    IDENTIFIER = "identifier"
    """A name or number of the row."""
    TEXT = "text"
    """Words with too many levels to be a category."""
    IGNORED = "ignored"
    """Left out by the user."""
    TARGET = "target"


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    kind : Kind
    used : bool
        Whether it is a feature of the model.
    levels : tuple of str
        The levels of a category, sorted.
    why : str
        Why it is left out; empty if it is used.
    decimal : {".", ","}
        The decimal sign of numbers in text.
    unit : str
        What stands behind or before numbers in text, such as "%", "€" or "kg".

    Examples
    --------
    >>> from psvm.io import Column, Kind
    >>> print(Column("sex", Kind.CATEGORY, levels=("f", "m")))
    sex: category of 2 levels (f, m)
    """

    name: str
    kind: Kind
    used: bool = True
    levels: tuple[str, ...] = ()
    why: str = ""
    decimal: str = "."
    unit: str = ""

    @property
    def plain(self) -> bool:
        """Whether numbers without text say all; 50 % may be 50 or 0.5."""
        return self.kind is Kind.NUMBER and self.unit != "%"

    def __str__(self):
        text = f"{self.name}: {self.kind.value}"
        if self.kind is Kind.CATEGORY:
            more = ", ..." if len(self.levels) > 5 else ""
            text += f" of {len(self.levels)} levels ({', '.join(self.levels[:5])}{more})"
        text += f" in {self.unit}" * bool(self.unit)
        return text if self.used or not self.why else f"{text}, left out: {self.why}"


@dataclass(frozen=True)
class Schema:
    r"""What the columns of a table are, and what a model does with them.

    `read_table` makes a schema if ``schema="infer"``, and applies one to a new table: columns are
    found by name, in any order. The matrix has a column for each column in use, in their order.
    It holds a category as the index of its level; a `TableEncoder` encodes it.

    Attributes
    ----------
    columns : tuple of Column
        All columns of the file in their order; empty for a matrix whose columns have no names.
    n_columns : int
        Number of columns in use.
    named : bool
        Whether the columns have names; otherwise they are found by their positions.
    target : str or None
        Name of the target.
    target_levels : tuple or None
        The classes; None for regression.
    row_names : str or None
        The column with the names of the rows.
    missing : {"error", "drop", "impute"}
        What to do with missing values of numbers and categories. "impute" fills in the
        median or the most frequent level.
    na_values : tuple of str
        Cells that stand for a missing value.
    transpose : bool
        Whether the columns of the table are the rows of the file.
    delimiter : str or None
        The delimiter of a text file. It is tried first in new files, because a file of one column
        with a decimal comma does not show its delimiter.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from psvm.io import TableEncoder, read_table
    >>> text = "age,sex,sick\n30,f,no\n40,m,yes\n,f,no\n50,m,yes\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "patients.csv")
    ...     _ = path.write_text(text)
    ...     table = read_table(path, target="sick", schema="infer", missing="nan")
    >>> print(*table.schema.columns, sep="\n")
    age: number
    sex: category of 2 levels (f, m)
    sick: target
    >>> encoder = TableEncoder(schema=table.schema)
    >>> encoder.fit_transform(table.X)
    array([[30.,  1.,  0.],
           [40.,  0.,  1.],
           [40.,  1.,  0.],
           [50.,  0.,  1.]])
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'sex=f', 'sex=m']
    """

    columns: tuple[Column, ...]
    n_columns: int
    named: bool = True
    target: str | None = None
    target_levels: tuple[Any, ...] | None = None
    row_names: str | None = None
    missing: str = "error"
    na_values: tuple[str, ...] = NA_VALUES
    transpose: bool = False
    delimiter: str | None = None

    def __post_init__(self):
        check_choice("missing", self.missing, MISSING)

    @cached_property
    def used(self) -> tuple[Column, ...]:
        """The columns in use."""
        return tuple(column for column in self.columns if column.used)

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """The columns in use by their names."""
        return {column.name: column for column in self.used}

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns in use, or None if they have none."""
        return [column.name for column in self.used] if self.named and self.columns else None

    @property
    def has_categories(self) -> bool:
        """Whether some column in use is a category."""
        return any(column.kind is Kind.CATEGORY for column in self.used)

    @property
    def plain(self) -> bool:
        """Whether all columns in use are plain numbers, so that a matrix of numbers will do."""
        return all(column.plain for column in self.used)

    def to_dict(self) -> dict[str, Any]:
        """The schema as JSON can hold it; columns of numbers take no more than their names."""
        plain = [column == Column(column.name, Kind.NUMBER) for column in self.columns]
        return {
            "names": [column.name for column in self.columns],
            "special": {
                str(j): [
                    c.kind.value,
                    c.used,
                    list(c.levels),
                    c.why,
                    c.decimal,
                    c.unit,
                ]
                for j, c in enumerate(self.columns)
                if not plain[j]
            },
            "n_columns": self.n_columns,
            "named": self.named,
            "target": self.target,
            "target_levels": None if self.target_levels is None else list(self.target_levels),
            "row_names": self.row_names,
            "missing": self.missing,
            "na_values": list(self.na_values),
            "transpose": self.transpose,
            "delimiter": self.delimiter,
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Schema:
        """The schema that `to_dict` has written; a ValueError if it makes no sense."""
        try:
            return cls._checked(content)
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise ValueError(f"The schema is damaged ({error!r}).") from None

    @classmethod
    def _checked(cls, content):
        names, special = _strings(content["names"]), content["special"]
        columns = [Column(name, Kind.NUMBER) for name in names]
        for place, (kind, used, levels, why, decimal, unit) in special.items():
            j = int(place)
            if not 0 <= j < len(names) or type(used) is not bool:
                raise TypeError("a column is missing")
            if decimal not in (".", ","):
                raise TypeError("a decimal sign is wrong")
            words = _strings([why, decimal, unit])
            columns[j] = Column(names[j], Kind(kind), used, _strings(levels), *words)
        levels = content["target_levels"]
        schema = cls(
            tuple(columns),
            int(content["n_columns"]),
            bool(content["named"]),
            _text(content["target"]),
            None if levels is None else tuple(levels),
            _text(content["row_names"]),
            content["missing"],
            _strings(content["na_values"]),
            bool(content["transpose"]),
            _text(content["delimiter"]),
        )
        if columns and len(schema.used) != schema.n_columns:
            raise TypeError("the number of columns is wrong")
        return schema


def numbers_schema(names: Sequence[str] | None, n_columns: int, **fields: Any) -> Schema:
    """The schema of a matrix of numbers."""
    if names is None:
        return Schema((), n_columns, named=False, **fields)
    return Schema(tuple(Column(name, Kind.NUMBER) for name in names), n_columns, **fields)


def _strings(values: Iterable[Any]) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
        raise TypeError("names and levels must be strings")
    return tuple(values)


def _text(value):
    if value is not None and not isinstance(value, str):
        raise TypeError("a name must be a string")
    return value
