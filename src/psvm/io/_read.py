"""`read_table`: one function for all kinds of files."""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from .._typing import StrPath
from .._validation import LARGEST, check_choice, check_flag, check_integer, check_path, shown
from ._columns import as_labels
from ._csv import read_csv
from ._dialect import find_column, split_rows
from ._errors import DataError
from ._formats import READERS, read_npy_array
from ._schema import Schema, numbers_schema
from ._streams import Source, compression_of, member_names, plain_name, read_all
from ._table import ReadOptions, Table
from ._workbook import read_workbook

MAGIC = {
    b"\x93NUMPY": "npy",
    b"%%MatrixMarket": "mtx",
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"\x89HDF": "h5ad",
    b"\xd0\xcf\x11\xe0": "xlsx",
    b">": "fasta",
}
SUFFIXES = {
    "csv": (".csv", ".tsv", ".tab"),
    "svmlight": (".svm", ".svmlight", ".libsvm"),
    "npz": (".npz",),
    "npy": (".npy",),
    "mtx": (".mtx",),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow", ".ipc"),
    "fasta": (".fasta", ".fa", ".faa", ".fna"),
    "h5ad": (".h5ad",),
    "xlsx": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
}
FORMATS = (*SUFFIXES,)
WORKBOOK = {"[Content_Types].xml", "content.xml"}
"""Members of the archives of spreadsheets."""
SVMLIGHT = re.compile(rb"\s*[^\s:,;]+(\s+(qid|\d+):[^\s:]+)+\s*(#.*)?")


def read_table(
    path: StrPath,
    *,
    target: str | int | None = None,
    target_file: StrPath | None = None,
    transpose: bool = False,
    header: bool | Literal["auto"] = "auto",
    row_names: bool | Literal["auto"] = "auto",
    delimiter: str = "auto",
    decimal: str = "auto",
    encoding: str = "auto",
    format: str = "auto",
    missing: Literal["error", "nan", "drop"] = "error",
    categorical: Literal["auto", "error", "onehot", "drop"] = "auto",
    features: Iterable[str] | None = None,
    ignore: Iterable[str | int] = (),
    schema: Schema | Literal["infer"] | None = None,
    na_values: Iterable[str] | None = None,
    keep_default_na: bool = True,
    types: Mapping[str, str] | None = None,
    leave_out: bool = True,
    sheet: str | int | None = None,
) -> Table:
    r"""Read a file with data, and say what was detected.

    Parameters
    ----------
    path : str or path-like
        CSV or TSV, LIBSVM/svmlight, NumPy npy or npz, Matrix Market, Parquet, Feather or Excel
        (extra `io`), FASTA, AnnData h5ad (extra `anndata`). It may be compressed by gzip, bzip2,
        xz, zip (one member) or zstandard.
    target : str or int, default=None
        Name or place (from 0, negative from the end) of the target column. In a transposed table
        the name of the row, in npz the name of the array, in h5ad a column of `obs`. In FASTA a
        word, for headers with ``word=value``, or a regular expression with a group.
    target_file : str or path-like, default=None
        A file with the target: a column, or names of rows and targets, which are then matched.
    transpose : bool, default=False
        Whether the columns are the samples, as in tables of genes x samples.
    header, row_names : "auto" or bool, default="auto"
        Whether there is a line with the names of the columns and a column with the names of the
        rows; the latter also by name or place.
    delimiter, decimal, encoding : str, default="auto"
        How text is written. The encoding is UTF-8 unless a byte order mark says UTF-16.
    format : str, default="auto"
        "csv", "xlsx", "svmlight", "npy", "npz", "mtx", "parquet", "feather", "fasta" or "h5ad";
        "auto" looks at the content, then at the name.
    missing : {"error", "nan", "drop"}, default="error"
        What to do about missing values: name them in an error, keep them as NaN, or leave out the
        rows that have any.
    categorical : {"auto", "error", "onehot", "drop"}, default="auto"
        What to do about columns that are not numbers: name the cell in an error, make a column of
        0 and 1 for each value, or leave out the column. With a schema "auto" takes words with few
        values for a category and leaves out others, and "onehot" takes all for categories; without
        one "auto" is "error".
    features : list of str, default=None
        The features wanted, in this order; other columns are not looked at.
    ignore : list of str or int, default=()
        Columns to leave out (rows if transposed).
    schema : Schema, "infer" or None, default=None
        "infer" finds out what the columns are, see `Schema`. A schema finds its columns by name.
    na_values : list of str, default=None
        Further cells that stand for a missing value, beside the empty ones and those of pandas or,
        if one is given, of the schema.
    keep_default_na : bool, default=True
        Whether the cells that pandas takes for missing are so here. One of them that is a class of
        the target, such as "None", stays a class, with a warning, unless `na_values` has it.
    types : dict, default=None
        What some columns are, by name: "number", "category", "date", "identifier", "text" or
        "ignored". With a schema.
    leave_out : bool, default=True
        Whether ``schema="infer"`` leaves out columns that are constant or name the rows.
    sheet : str or int, default=None
        The sheet of an Excel file by its name or its number from 1; by default the first one that
        has cells.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file cannot be used; it names file, line and column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from psvm.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "small.tsv")
    ...     _ = path.write_text("a\tb\tclass\n1\t2\tyes\n3\t4\tno\n")
    ...     table = read_table(path, target="class")
    >>> print(*table.detection, sep="\n")
    The delimiter is a tab.
    Line 1 is the header with the names of the columns.
    >>> table.X.tolist(), table.y.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], ['yes', 'no'])
    """
    options = ReadOptions(
        target=target,
        target_file=target_file,
        transpose=transpose,
        header=header,
        row_names=row_names,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        format=format,
        missing=missing,
        categorical=categorical,
        features=features,
        ignore=ignore,
        schema=schema,
        na_values=na_values,
        keep_default_na=keep_default_na,
        types=types,
        leave_out=leave_out,
        sheet=sheet,
    )
    check_path("path", path)
    return read_with(os.fspath(path), options)


def read_with(path, options):
    """The same with an object of options."""
    check_options(options)
    kind = format_of(path) if options.format == "auto" else options.format
    if options.sheet is not None and kind != "xlsx":
        raise DataError(f"Only a workbook has sheets; this file is {kind}.", file=path)
    reader = {"csv": read_csv, "xlsx": read_workbook, **READERS}[kind]
    table = reader(path, options)
    if options.raw and not isinstance(table, Table):
        return table
    if options.target_file is not None:
        join_target(table, options)
    if table.schema is None and options.schema is not None:  # sequences have no columns
        given = isinstance(options.schema, Schema)
        table.schema = options.schema if given else numbers_schema(None, 0)
    if table.X.shape[0] == 0:
        raise DataError("There are no rows of data.", file=path)
    return table


def check_options(options):
    """Complain about options that make no sense."""
    check_choice("missing", options.missing, ("error", "nan", "drop"))
    check_choice("categorical", options.categorical, ("auto", "error", "onehot", "drop"))
    schema = options.schema
    if not (schema is None or isinstance(schema, Schema | str)) or (
        isinstance(schema, str) and schema != "infer"
    ):
        raise TypeError(f"schema must be a Schema, 'infer' or None, got {shown(schema)}.")
    check_flag("leave_out", options.leave_out)
    sheet = options.sheet
    if not (sheet is None or isinstance(sheet, str)):
        check_integer("sheet", sheet, least=1)
    check_choice("format", options.format, ("auto", *FORMATS))
    check_flag("transpose", options.transpose)
    if not (isinstance(options.header, str) and options.header == "auto"):
        check_flag("header", options.header)
    if options.target_file is not None:
        check_path("target_file", options.target_file)
    for name in ("target", "row_names"):
        value = getattr(options, name)
        if value is not None and not isinstance(value, str | bool | np.bool_ | numbers.Integral):
            raise TypeError(
                f"{name} must be the name or the place of a column, got {shown(value)}."
            )
        if isinstance(value, numbers.Integral) and not isinstance(value, bool):
            check_integer(name, value, least=-LARGEST)
    if not isinstance(options.encoding, str):
        raise TypeError(f"encoding must be a string, got {shown(options.encoding)}.")
    check_choice("decimal", options.decimal, ("auto", ".", ","))
    delimiter = options.delimiter
    single = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter.isascii()
    auto = isinstance(delimiter, str) and delimiter == "auto"
    if not auto and (not single or delimiter in '"\r\n' or delimiter.isalnum()):
        raise ValueError(f"delimiter must be 'auto' or a single character, got {shown(delimiter)}.")


def format_of(path):
    """What a file is, by its content and else by its name."""
    if compression_of(path) == "zip":
        members = member_names(path)
        if "model.json" in members:
            raise DataError("This is a model file, not data.", file=path)
        if members and all(member.endswith(".npy") for member in members):
            return "npz"
        if not WORKBOOK.isdisjoint(members):
            return "xlsx"
    with Source(path) as source:
        head = source.head(4096)
    name = plain_name(path)
    for magic, kind in MAGIC.items():
        if head.startswith(magic):
            return kind
    for kind, suffixes in SUFFIXES.items():
        if name.endswith(suffixes):
            return kind
    first = next((line for line in head.splitlines() if line.strip() and line[:1] != b"#"), b"")
    return "svmlight" if SVMLIGHT.fullmatch(first) and b"," not in first else "csv"


def join_target(table, options):
    """Set the target of a table from a file of its own."""
    names, values, title = _read_target(os.fspath(options.target_file), table, options)
    n = table.X.shape[0]
    if names is not None and table.row_names is not None:
        place = {name: i for i, name in enumerate(names)}
        absent = [name for name in table.row_names if name not in place]
        if absent:
            raise DataError(
                f"There is no target for {len(absent)} rows, such as {absent[0]!r}.",
                file=options.target_file,
            )
        values = [values[place[name]] for name in table.row_names]
        table.detection.append("The target file is matched by the names of the rows.")
    elif len(values) != n:
        raise DataError(
            f"There are {len(values)} targets for {n} rows of {table.source}.",
            file=options.target_file,
            advice="With the same names of rows in both files they are matched by name.",
        )
    table.y, table.target_name = as_labels(values), title


def _read_target(path, table, options):
    """Names of rows or None, targets, and the name of the target."""
    if format_of(path) == "npy":
        values = read_npy_array(path)
        if values.ndim != 1 or values.dtype.kind not in "biufU":
            raise DataError(
                f"The target has the shape {values.shape} and the type {values.dtype}, not one "
                "column of numbers or text.",
                file=path,
            )
        return None, values.tolist() if values.dtype.kind == "U" else values, None
    simple = replace(options, header="auto", row_names=False, transpose=False, features=None)
    text = read_all(path, options.encoding)
    rows, lines = split_rows(text, simple, path)
    n = table.X.shape[0]
    known = set(table.row_names or ())
    named = bool(known) and sum(row[0] in known for row in rows) > len(rows) // 2
    has_header = len(rows) == n + 1 if not named else rows[0][0] not in known
    header = rows.pop(0) if has_header else [f"x{j}" for j in range(len(rows[0]))]
    lines = lines[1:] if has_header else lines
    wanted = -1 if options.target is None else options.target
    j = find_column(wanted, header, path, "the target")
    for line, row in zip(lines, rows, strict=True):
        if len(row) <= j or row[j] in options.markers:
            raise DataError("The target is missing.", file=path, line=line, column=j + 1)
    names = [row[0] for row in rows] if named else None
    return names, [row[j] for row in rows], header[j] if has_header else None
