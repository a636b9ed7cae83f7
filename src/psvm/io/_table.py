"""What reading gives, and what may be asked of it."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, field
from typing import Any

from .._typing import DataFrame
from .._validation import is_iterable, shown


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
    categorical: str = "error"
    features: Any = None
    ignore: Any = ()

    def __post_init__(self):
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


@dataclass(eq=False)
class Table:
    r"""Data from a file.

    Attributes
    ----------
    X : ndarray of float64, csr_array, or object array of strings
        Rows are the samples; sequences of a FASTA file are strings.
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

    def to_frame(self) -> DataFrame:
        """X as a pandas DataFrame with its names."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError('pandas is needed: pip install "psvm[io]"') from None
        X = self.X
        if hasattr(X, "tocsr"):
            return pd.DataFrame.sparse.from_spmatrix(X, self.row_names, self.feature_names)
        return pd.DataFrame(X, index=self.row_names, columns=self.feature_names)
