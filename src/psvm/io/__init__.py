"""Reading and writing data files, and models without pickle."""

from ._atomic import atomic_write
from ._check import check_file
from ._errors import DataError, Finding, ModelFileError, Severity
from ._export import export_numpy, export_text
from ._models import load, model_info, save
from ._read import read_table
from ._registry import register
from ._table import Table
from ._write import write_table

__all__ = [
    "DataError",
    "Finding",
    "ModelFileError",
    "Severity",
    "Table",
    "atomic_write",
    "check_file",
    "export_numpy",
    "export_text",
    "load",
    "model_info",
    "read_table",
    "register",
    "save",
    "write_table",
]
