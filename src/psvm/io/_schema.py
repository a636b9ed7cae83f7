"""What the columns of a table are, what is done with them, and how new tables are matched."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import check_choice

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

NA_VALUES = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""Cells that stand for a missing value, as in pandas."""
RARE = 0.01
"""Levels with a smaller share of the rows are put together."""
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
    """Words of which each is one of a few levels."""
    DATE = "date"
    """Used as days since 1970-01-01 if that is asked for."""
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
        Those of a category, sorted.
    why : str
        Why it is left out; empty if it is used.

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

    def __str__(self):
        text = f"{self.name}: {self.kind.value}"
        if self.kind is Kind.CATEGORY:
            more = ", ..." if len(self.levels) > 5 else ""
            text += f" of {len(self.levels)} levels ({', '.join(self.levels[:5])}{more})"
        return text if self.used or not self.why else f"{text}, left out: {self.why}"


@dataclass(frozen=True)
class Schema:
    r"""What the columns of a table are, and what a model does with them.

    `read_table` makes one if ``schema="infer"``, and applies one to a new table: columns are found
    by name, whatever their order. The matrix has a column for each column in use, in their order.
    A category is coded there by the place of its level; the ColumnTransformer of `transformer`
    encodes it.

    Attributes
    ----------
    columns : tuple of Column
        All columns of the file in their order; empty for a matrix whose columns have no names.
    n_columns : int
        Number of columns in use.
    named : bool
        Whether the columns have names; else they are found by their places.
    target : str or None
        Name of the target.
    target_levels : tuple or None
        Classes; None for numbers.
    row_names : str or None
        The column with the names of the rows.
    missing : {"error", "drop", "impute"}
        What is done about missing values, of numbers and categories alike. "impute" fills in the
        median or the most frequent level.
    na_values : tuple of str
        Cells that stand for a missing value.
    transpose : bool
        Whether the columns of the table are the rows of the file.
    delimiter : str or None
        What separated the cells of a text file; tried first in new ones, as a file of one column
        and a decimal comma does not tell.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from psvm.io import read_table
    >>> text = "age,sex,sick\n30,f,no\n40,m,yes\n,f,no\n50,m,yes\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "patients.csv")
    ...     _ = path.write_text(text)
    ...     table = read_table(path, target="sick", schema="infer", missing="nan")
    >>> print(*table.schema.columns, sep="\n")
    age: number
    sex: category of 2 levels (f, m)
    sick: target
    >>> transformer = table.schema.transformer()
    >>> transformer.fit_transform(table.X)
    array([[30.,  1.,  0.],
           [40.,  0.,  1.],
           [40.,  1.,  0.],
           [50.,  0.,  1.]])
    >>> table.schema.feature_names_out(transformer)
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

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns in use, or None if they have none."""
        return [column.name for column in self.used] if self.named and self.columns else None

    @property
    def has_categories(self) -> bool:
        """Whether some column in use is a category."""
        return any(column.kind is Kind.CATEGORY for column in self.used)

    @property
    def is_missing(self) -> frozenset[str]:
        """The markers of missing values as a set."""
        return frozenset((*self.na_values, ""))

    def transformer(self, by: str = "place") -> ColumnTransformer:
        """The transformer that fills in missing values and encodes categories.

        Parameters
        ----------
        by : {"place", "name"}, default="place"
            How it finds its columns: by their places in the matrix of a `Table`, or by their names
            in a DataFrame with categories as strings.

        Returns
        -------
        ColumnTransformer
            Not fitted. Numbers come first, then a column of 0 and 1 for each level.
        """
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder

        check_choice("by", by, ("place", "name"))
        if not self.columns:
            keys, coded = list(range(self.n_columns)), []
        else:
            pairs = [(c.name if by == "name" else j, c) for j, c in enumerate(self.used)]
            keys = [key for key, c in pairs if c.kind is not Kind.CATEGORY]
            coded = [key for key, c in pairs if c.kind is Kind.CATEGORY]
        impute = self.missing == "impute"
        encoder = OneHotEncoder(
            handle_unknown="infrequent_if_exist", min_frequency=RARE, sparse_output=False
        )
        fill = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
        parts = []
        if keys:
            parts.append(("numbers", median_imputer() if impute else "passthrough", keys))
        if coded:
            parts.append(("categories", make_pipeline(fill, encoder) if impute else encoder, coded))
        return ColumnTransformer(parts, verbose_feature_names_out=False)

    def feature_names_out(self, transformer: ColumnTransformer) -> list[str]:
        """Names of the columns that a fitted transformer makes, such as "sex=f"."""
        categories = [column for column in self.used if column.kind is Kind.CATEGORY]
        names = [column.name for column in self.used if column.kind is not Kind.CATEGORY]
        if not categories:
            return names
        encoder = transformer.named_transformers_["categories"]
        encoder = encoder[-1] if hasattr(encoder, "steps") else encoder
        rare = encoder.infrequent_categories_
        for column, codes, few in zip(categories, encoder.categories_, rare, strict=True):
            together = set() if few is None else set(few.tolist())
            levels = [code for code in codes.tolist() if code not in together]
            names += [f"{column.name}={_level(column, code)}" for code in levels]
            names += [f"{column.name}=rare levels"] if together else []
        return names

    def rare_levels(self, X: Any) -> dict[str, list[str]]:
        """Levels of each category that are rare among the rows of X, and so put together."""
        found = {}
        for j, column in enumerate(self.used):
            if column.kind is Kind.CATEGORY:
                codes = X[:, j][~np.isnan(X[:, j])].astype(int)
                counts = np.bincount(codes, minlength=len(column.levels))
                few = np.flatnonzero((counts > 0) & (counts < RARE * X.shape[0]))
                if len(few):
                    found[column.name] = [column.levels[k] for k in few]
        return found

    def to_dict(self) -> dict[str, Any]:
        """The schema as JSON can hold it; columns of numbers take no more than their names."""
        plain = [
            column.used and column.kind is Kind.NUMBER and not column.levels
            for column in self.columns
        ]
        return {
            "names": [column.name for column in self.columns],
            "special": {
                str(j): [c.kind.value, c.used, list(c.levels), c.why]
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
        for place, (kind, used, levels, why) in special.items():
            j = int(place)
            if not 0 <= j < len(names) or type(used) is not bool:
                raise TypeError("a column is not there")
            columns[j] = Column(names[j], Kind(kind), used, _strings(levels), str(why))
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


def median_imputer():
    """What fills in the missing values of numbers."""
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy="median", keep_empty_features=True)


def numbers_schema(names: Sequence[str] | None, n_columns: int, **fields: Any) -> Schema:
    """The schema of a matrix of numbers."""
    if names is None:
        return Schema((), n_columns, named=False, **fields)
    return Schema(tuple(Column(name, Kind.NUMBER) for name in names), n_columns, **fields)


def _level(column, code):
    return column.levels[int(code)] if 0 <= code < len(column.levels) else f"level {code:g}"


def _strings(values: Iterable[Any]) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
        raise TypeError("names and levels must be strings")
    return tuple(values)


def _text(value):
    if value is not None and not isinstance(value, str):
        raise TypeError("a name must be a string")
    return value
