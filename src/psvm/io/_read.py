"""`read_table`: one function for all kinds of files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

from .._typing import StrPath
from .._validation import check_choice, check_flag, check_integer, check_path, shown
from ._columns import as_labels
from ._csv import read_csv
from ._dialect import check_column, find_column, split_rows
from ._errors import DataError
from ._formats import READERS, read_npy_array
from ._notation import looks_numeric
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
    skip_lines: int | None = None,
) -> Table:
    r"""Read a data file, and report what was detected.

    Parameters
    ----------
    path : str or path-like
        CSV or TSV, LIBSVM/svmlight, NumPy npy or npz, Matrix Market, Parquet, Feather or Excel
        (extra `io`), FASTA, AnnData h5ad (extra `anndata`). It may be compressed by gzip, bzip2,
        xz, zip (one member) or zstandard.
    target : str or int, default=None
        Name or index (from 0, negative from the end) of the target column. In a transposed table
        the name of the row, in npz the name of the array, in h5ad a column of `obs`. In FASTA a
        word, for headers with ``word=value``, or a regular expression with a group.
    target_file : str or path-like, default=None
        A file with the target: a column, or row names and targets, which are matched by row name.
    transpose : bool, default=False
        Whether the columns are the samples, as in tables of genes x samples.
    header, row_names : "auto" or bool, default="auto"
        Whether there is a line with the names of the columns, and a column with the names of the
        rows; `row_names` may also be the name or index of that column.
    delimiter, decimal, encoding : str, default="auto"
        Format of text. The encoding is UTF-8 unless a byte order mark says UTF-16.
    format : str, default="auto"
        "csv", "xlsx", "svmlight", "npy", "npz", "mtx", "parquet", "feather", "fasta" or "h5ad";
        "auto" looks at the content, then at the name.
    missing : {"error", "nan", "drop"}, default="error"
        What to do with missing values: raise an error that names them, keep them as NaN, or leave
        out their rows.
    categorical : {"auto", "error", "onehot", "drop"}, default="auto"
        What to do with columns that are not numbers: raise an error that names the cell, make a
        column of 0 and 1 for each value, or leave out the column. With a schema, "auto" treats
        words with few values as a category and leaves out others, and "onehot" treats all as
        categories. Without a schema, "auto" is "error".
    features : list of str, default=None
        The features to read, in this order; other columns are ignored.
    ignore : list of str or int, default=()
        Columns to leave out (rows if transposed).
    schema : Schema, "infer" or None, default=None
        "infer" detects the types of the columns, see `Schema`. A schema finds its columns by name.
    na_values : list of str, default=None
        More markers of missing values, in addition to the empty cell and the markers of pandas or,
        if given, of the schema.
    keep_default_na : bool, default=True
        Whether to use the markers of missing values of pandas. A marker that is a class of the
        target, such as "None", stays a class, with a warning, unless it is in `na_values`.
    types : dict, default=None
        Types of some columns, by name: "number", "category", "date", "identifier", "text" or
        "ignored". Needs a schema.
    leave_out : bool, default=True
        Whether ``schema="infer"`` leaves out columns that are constant or name the rows.
    sheet : str or int, default=None
        The sheet of an Excel file, by its name or its number from 1; by default the first one that
        is not empty.
    skip_lines : int, default=None
        Lines of text, or rows of a sheet, above the header. None recognises a title and other lines
        with few cells.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        If the file cannot be used; the message names file, line and column.

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
        skip_lines=skip_lines,
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
    if options.skip_lines is not None:
        check_integer("skip_lines", options.skip_lines)
    check_choice("format", options.format, ("auto", *FORMATS))
    check_flag("transpose", options.transpose)
    if not (isinstance(options.header, str) and options.header == "auto"):
        check_flag("header", options.header)
    if options.target_file is not None:
        check_path("target_file", options.target_file)
    for name in ("target", "row_names"):
        check_column(name, getattr(options, name))
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
                advice=_transpose_advice(table, options, names),
            )
        values = [values[place[name]] for name in table.row_names]
        table.detection.append("The target file is matched by the names of the rows.")
    elif len(values) != n:
        raise DataError(
            f"There are {len(values)} targets for {n} rows of {table.source}.",
            file=options.target_file,
            advice=_transpose_advice(table, options, _first_cells(options.target_file, options))
            or "If both files have the same row names, rows are matched by name.",
        )
    table.y, table.target_name = as_labels(values), title


def _has_header(rows, n):
    """Whether the first of the rows names the columns, where there should be n others."""
    if len(rows) in (n, n + 1):
        return len(rows) == n + 1
    others = [cell for row in rows[1:] for cell in row]
    labels = len(set(others)) < len(others)  # which come again, unlike a name of theirs
    return labels and not any(cell in others or looks_numeric(cell) for cell in rows[0])


def _first_cells(path, options):
    """The first cell of each row of a target file of text."""
    if format_of(path) == "npy":
        return []
    plain = replace(options, header="auto", row_names=False, transpose=False, features=None)
    return [row[0] for row in split_rows(read_all(path, options.encoding), plain, path)[0]]


def _transpose_advice(table, options, names):
    """What to do if the names of a target file are those of the columns."""
    columns = set(table.feature_names or ())
    if not columns or 2 * len(columns.intersection(names)) <= len(columns):
        return ""
    if options.transpose:
        return "These are the names of its rows: read it without transpose=True."
    return "These are the names of its columns: read it with transpose=True."


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
    has_header = rows[0][0] not in known if named else _has_header(rows, n)
    header = rows.pop(0) if has_header else [f"x{j}" for j in range(len(rows[0]))]
    lines = lines[1:] if has_header else lines
    wanted = -1 if options.target is None else options.target
    j = find_column(wanted, header, path, "the target")
    for line, row in zip(lines, rows, strict=True):
        if len(row) <= j or row[j] in options.markers:
            raise DataError("The target is missing.", file=path, line=line, column=j + 1)
    names = [row[0] for row in rows] if named else None
    return names, [row[j] for row in rows], header[j] if has_header else None
