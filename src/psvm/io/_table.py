"""What reading gives, and what may be asked of it."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._core._csv import parse_number
from .._typing import DataFrame
from .._validation import check_choice, check_flag, is_iterable, shown
from ._schema import NA_VALUES, Kind, Schema


@dataclass(frozen=True)
class ReadOptions:
    """The keywords of `read_table`."""

    target: Any = None
    target_file: Any = None
    transpose: bool = False
    header: Any = "auto"
    row_names: Any = "auto"
    delimiter: str = "auto"
    decimal: str = "auto"
    encoding: str = "auto"
    format: str = "auto"
    missing: str = "error"
    categorical: str = "auto"
    features: Any = None
    ignore: Any = ()
    schema: Any = None
    na_values: Any = None
    keep_default_na: bool = True
    types: Any = None
    leave_out: bool = True
    sheet: Any = None
    skip_lines: Any = None
    typed: bool = False
    """Whether numbers have types of their own, so that they do not tell how others are written."""
    raw: bool = False
    """Whether the columns as they were read are wanted, a `Raw` where there is one."""

    def __post_init__(self):
        self._check_lists()
        self._check_markers()
        self._check_types()
        if self.schema is None and isinstance(self.categorical, str) and self.categorical == "auto":
            object.__setattr__(self, "categorical", "error")

    @cached_property
    def all_na_values(self):
        """Cells that stand for a missing value: by default, or of the schema, and those given."""
        default = self.schema.na_values if isinstance(self.schema, Schema) else NA_VALUES
        return (*dict.fromkeys((*(default if self.keep_default_na else ()), *self.na_values)),)

    @cached_property
    def markers(self):
        """The same as a set; the empty cell is always missing."""
        return frozenset(("", *self.all_na_values))

    @cached_property
    def number_markers(self):
        """Those that are numbers."""
        found = (parse_number(marker.encode()) for marker in self.all_na_values)
        return [number for number in found if number is not None]

    def _check_markers(self):
        check_flag("keep_default_na", self.keep_default_na)
        markers = () if self.na_values is None else self.na_values
        listed = is_iterable(markers) and not isinstance(markers, str | bytes)
        markers = list(markers) if listed else markers
        if not listed or not all(isinstance(m, str) and "\n" not in m for m in markers):
            raise TypeError(f"na_values must be a list of strings, got {shown(markers)}.")
        object.__setattr__(self, "na_values", tuple(markers))

    def _check_types(self):
        types = {} if self.types is None else self.types
        if not isinstance(types, dict):
            raise TypeError(f"types must be a dict of names and kinds, got {shown(types)}.")
        kinds = [kind.value for kind in Kind if kind is not Kind.TARGET]
        for name, kind in types.items():
            check_choice(f"the type of {name!r}", kind, kinds)
        object.__setattr__(self, "types", {str(name): Kind(k) for name, k in types.items()})

    def _check_lists(self):
        for name in ("features", "ignore"):
            value = getattr(self, name)
            if name == "features" and value is None:
                continue
            listed = is_iterable(value) and not isinstance(value, str | bytes)
            if not listed or getattr(value, "ndim", 1) != 1:
                raise TypeError(f"{name} must be a list of columns, got {shown(value)}.")
            value = list(value)
            if not all(isinstance(column, str | numbers.Integral) for column in value):
                raise TypeError(f"{name} must hold names or places of columns, got {shown(value)}.")
            object.__setattr__(self, name, value)


class Coded(np.ndarray):
    """Columns of a table that are not all plain numbers: categories as the places of their levels.

    Only a `TableEncoder` with the schema of the table knows what it means. Some of its rows are
    such a matrix again, also in other processes.
    """


@dataclass(eq=False)
class Table:
    r"""Data from a file.

    Attributes
    ----------
    X : ndarray of float64, csr_array, or object array of strings
        Rows are the samples; sequences of a FASTA file are strings. With a schema, categories are
        the places of their levels, for `TableEncoder`.
    y : ndarray or None
        The target: integers, floats, or strings.
    feature_names : list of str or None
    row_names : list of str or None
    target_name : str or None
    detection : list of str
        Sentences about what was detected.
    source : str
        The path.
    format : str
        What the file is, such as "csv".
    row_numbers : ndarray of int or None
        The number of each row in the file, from 1, without the rows that were left out.
    schema : Schema or None
        The types of the columns, if `read_table` was given `schema`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from psvm.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "iris.csv")
    ...     _ = path.write_text("name,length,width,kind\na,1.5,2,x\nb,3,4.5,y\n")
    ...     table = read_table(path, target="kind")
    >>> table.X
    array([[1.5, 2. ],
           [3. , 4.5]])
    >>> table.y, table.row_names, table.feature_names
    (array(['x', 'y'], dtype=object), ['a', 'b'], ['length', 'width'])
    """

    X: Any
    y: Any = None
    feature_names: list[str] | None = None
    row_names: list[str] | None = None
    target_name: str | None = None
    detection: list[str] = field(default_factory=list)
    source: str = ""
    format: str = ""
    row_numbers: np.ndarray | None = None
    schema: Schema | None = None

    @property
    def row_labels(self) -> list[str]:
        """The names of the rows, or their numbers in the file."""
        if self.row_names is not None:
            return self.row_names
        numbers = range(1, self.X.shape[0] + 1) if self.row_numbers is None else self.row_numbers
        return [str(number) for number in numbers]

    def to_frame(self) -> DataFrame:
        """X as a pandas DataFrame with its names; categories are words."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError('pandas is needed: pip install "psvm[io]"') from None
        X = self.X
        if hasattr(X, "tocsr"):
            return pd.DataFrame.sparse.from_spmatrix(X, self.row_names, self.feature_names)
        frame = pd.DataFrame(X, index=self.row_names, columns=self.feature_names)
        for j, column in enumerate(() if self.schema is None else self.schema.used):
            if column.kind is Kind.CATEGORY:
                words = dict(enumerate(column.levels))
                frame.isetitem(j, frame.iloc[:, j].map(words).astype(object))
        return frame
