"""`write_table`: data in another format."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
from collections.abc import Sequence
from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp

from .._atomic import atomic_write
from .._typing import ArrayLike, MatrixLike, StrPath
from .._validation import (
    as_stored,
    check_choice,
    check_list,
    check_members,
    check_path,
    check_text,
    shown,
)
from ..matrix import as_dense
from ._formats import _extra
from ._read import FORMATS, SUFFIXES
from ._streams import plain_name
from ._table import Table


def write_table(
    data: Table | MatrixLike,
    path: StrPath,
    *,
    y: ArrayLike | None = None,
    feature_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    target_name: str | None = None,
    format: str = "auto",
) -> list[str]:
    """Write data to a file of another format, atomically.

    Numbers in text are written with all digits, so that reading gives the same values.

    Parameters
    ----------
    data : Table, ndarray, sparse matrix or array of sequences
    path : str or path-like
        The suffix gives the format; ".gz", ".bz2" and ".xz" compress text.
    y : array-like, default=None
        The target. Target and names of a `Table` are used by default.
    feature_names, row_names : list of str, default=None
    target_name : str, default=None
        Name of the target column, "target" by default.
    format : str, default="auto"
        As for `read_table`; "auto" uses the suffix, and CSV if the suffix is unknown.

    Returns
    -------
    list of str
        Sentences about what the format cannot hold.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from psvm.io import read_table, write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.npz")
    ...     notes = write_table(np.eye(2), path, y=["x", "y"])
    ...     read_table(path).y
    array(['x', 'y'], dtype=object)
    """
    check_choice("format", format, ("auto", *FORMATS))
    check_path("path", path)
    check_text("target_name", target_name)
    given = data if isinstance(data, Table) else Table(data)
    table = Table(
        as_stored("data", given.X),
        given.y if y is None else check_members("y", y),
        _names("feature_names", feature_names, given.feature_names),
        _names("row_names", row_names, given.row_names),
        given.target_name if target_name is None else target_name,
    )
    _check(table)
    kind = _format_of(path) if format == "auto" else format
    if kind not in _WRITERS:
        raise ValueError(f"format: {kind} files can be read, but not written. Write CSV instead.")
    sequences = table.X.ndim == 1
    if sequences != (kind == "fasta"):
        raise ValueError(f"format: {kind} files hold {'numbers' if sequences else 'sequences'}.")
    _WRITERS[kind](table, os.fspath(path))
    return _losses(table, kind)


def _names(name, value, default):
    """The names of rows or columns as a list of strings."""
    if value is None:
        return default
    names = check_list(name, value)
    if not all(isinstance(item, str) for item in names):
        raise TypeError(f"{name} must hold strings, got {shown(value)}.")
    return names


def _check(table):
    if table.X.ndim not in (1, 2) or table.X.dtype.kind not in "biufOUS":
        raise ValueError(
            "data must be a matrix of real numbers or a list of sequences, got "
            f"{table.X.dtype} data of shape {table.X.shape}."
        )
    n = table.X.shape[0]
    for name in ("y", "row_names"):
        value = getattr(table, name)
        if value is not None and len(value) != n:
            raise ValueError(f"{name} has {len(value)} entries for {n} rows.")
    if table.feature_names is not None and len(table.feature_names) != table.X.shape[1]:
        raise ValueError(
            f"feature_names has {len(table.feature_names)} names for {table.X.shape[1]} columns."
        )


def _format_of(path):
    name = plain_name(path)
    found = (kind for kind, suffixes in SUFFIXES.items() if name.endswith(suffixes))
    return next(found, "csv")


def _losses(table, kind):
    notes = []
    if table.y is not None and kind in ("npy", "mtx"):
        notes.append(f"A file of the format {kind} does not hold the target.")
    if kind in ("svmlight", "npy", "mtx") and (table.feature_names or table.row_names):
        notes.append(f"A file of the format {kind} does not hold names.")
    return notes


@contextmanager
def _text(path):
    """A text file, compressed as its suffix says."""
    openers = {".gz": _gzip, ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
    suffix = os.path.splitext(path)[1].lower()
    with atomic_write(path) as file:
        if suffix in openers:
            with (
                openers[suffix](file, mode="wb") as packed,
                io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
            ):
                yield text
        else:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            yield text
            text.flush()
            text.detach()


def _gzip(file, mode):
    return gzip.GzipFile(fileobj=file, mode=mode, mtime=0)


def _write_csv(table, path):
    X, y = table.X, table.y
    tab = plain_name(path).endswith((".tsv", ".tab"))
    names = table.feature_names or [f"x{j}" for j in range(X.shape[1])]
    header = [""] * (table.row_names is not None) + list(names)
    header += [] if y is None else [table.target_name or "target"]
    with _text(path) as text:
        writer = csv.writer(text, delimiter="\t" if tab else ",", lineterminator="\n")
        writer.writerow(header)
        for i in range(X.shape[0]):
            row = as_dense(X[[i]])[0].tolist()
            before = [] if table.row_names is None else [table.row_names[i]]
            writer.writerow([*before, *row, *([] if y is None else [y[i]])])


def _write_svmlight(table, path):
    from sklearn.datasets import dump_svmlight_file

    y = np.zeros(table.X.shape[0]) if table.y is None else table.y
    if y.dtype.kind not in "biuf":
        raise ValueError("svmlight files hold numbers as targets; code the classes as integers.")
    buffer = io.BytesIO()
    dump_svmlight_file(table.X, y, buffer, zero_based=False)
    with _text(path) as text:
        text.write(buffer.getvalue().decode())


def _write_npy(table, path):
    X = as_dense(table.X)
    with atomic_write(path) as file:
        np.save(file, X, allow_pickle=False)


def _write_npz(table, path):
    arrays = {"X": table.X}
    if sp.issparse(table.X):
        X = sp.csr_array(table.X)
        arrays = {"format": b"csr", "shape": X.shape, "data": X.data}
        arrays |= {"indices": X.indices, "indptr": X.indptr}
    for name in ("y", "feature_names", "row_names", "target_name"):
        value = getattr(table, name)
        if value is not None:
            value = np.asarray(value)
            arrays[name] = value.astype(str) if value.dtype == object else value
    with atomic_write(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _write_mtx(table, path):
    from scipy.io import mmwrite

    buffer = io.BytesIO()
    mmwrite(buffer, table.X, precision=17)
    with _text(path) as text:
        text.write(buffer.getvalue().decode())


def _write_arrow(table, path):
    pyarrow = _extra("pyarrow", "io")
    X = as_dense(table.X)
    names = table.feature_names or [f"x{j}" for j in range(X.shape[1])]
    columns = dict(zip(names, X.T, strict=True))
    if table.row_names is not None:
        columns["__index_level_0__"] = table.row_names
    if table.y is not None:
        columns[table.target_name or "target"] = table.y
    arrow = pyarrow.table(columns)
    with atomic_write(path) as file:
        if plain_name(path).endswith(SUFFIXES["parquet"]):
            _extra("pyarrow.parquet", "io").write_table(arrow, file)
        else:
            _extra("pyarrow.feather", "io").write_feather(arrow, file)


def _write_fasta(table, path):
    with _text(path) as text:
        for i, sequence in enumerate(table.X):
            name = getattr(sequence, "description", "") or getattr(sequence, "name", "") or f"s{i}"
            label = f" {table.target_name or 'target'}={table.y[i]}" if table.y is not None else ""
            label = "" if label.strip() in name else label
            text.write(f">{name}{label}\n{sequence}\n")


def _write_h5ad(table, path):
    anndata = _extra("anndata", "anndata")
    X = sp.csr_matrix(table.X) if sp.issparse(table.X) else table.X
    data = anndata.AnnData(X)
    if table.feature_names is not None:
        data.var_names = table.feature_names
    if table.row_names is not None:
        data.obs_names = table.row_names
    if table.y is not None:
        data.obs[table.target_name or "target"] = table.y
    with atomic_write(path, lock=False) as file:
        data.write_h5ad(file.name)


_WRITERS = {
    "csv": _write_csv,
    "svmlight": _write_svmlight,
    "npy": _write_npy,
    "npz": _write_npz,
    "mtx": _write_mtx,
    "parquet": _write_arrow,
    "feather": _write_arrow,
    "fasta": _write_fasta,
    "h5ad": _write_h5ad,
}
