"""Tables: reading, checking, encoding and writing data files."""

import typing as _t

from .._atomic import atomic_write
from ._blocks import open_blocks
from ._check import check_file
from ._describe import ColumnDescription, FileDescription, describe_file
from ._errors import DataError, Finding, Severity
from ._kinds import are_dates, relates_rows
from ._quality import find_warnings, is_numeric
from ._read import read_table
from ._schema import Column, Kind, Schema, numbers_schema
from ._table import Table
from ._write import write_table

if _t.TYPE_CHECKING:
    from ._encoder import TableEncoder as TableEncoder

__all__ = [
    "Column",
    "ColumnDescription",
    "DataError",
    "FileDescription",
    "Finding",
    "Kind",
    "Schema",
    "Severity",
    "Table",
    "TableEncoder",
    "atomic_write",
    "check_file",
    "describe_file",
    "open_blocks",
    "read_table",
    "write_table",
]


def __getattr__(name):
    """`TableEncoder` when it is used: what only reads files does without scikit-learn."""
    if name != "TableEncoder":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ._encoder import TableEncoder

    return TableEncoder


def __dir__():
    return __all__
