"""`open_blocks`: files larger than memory as blocks of rows."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Sequence
from typing import Literal

from .._typing import StrPath
from .._validation import check_choice, check_number, check_path, is_iterable, shown
from ..matrix import RowBlocks
from ._block_arrays import ArrayFile, is_zarr
from ._block_arrow import FeatherFile, ParquetFile, TextFile
from ._block_columns import choose_columns
from ._dialect import check_column
from ._errors import DataError
from ._read import SUFFIXES, format_of

MEGABYTE = 2**20
FOLDER_SUFFIXES = tuple(s for kind in ("csv", "parquet", "feather") for s in SUFFIXES[kind])
"""Files of a folder that are read."""


def open_blocks(
    source: StrPath | Iterable[StrPath],
    *,
    target: str | int,
    weight: str | int | None = None,
    features: Sequence[str] | None = None,
    memory: float = 64.0,
    target_type: Literal["auto", "text", "number"] = "auto",
    checkpoint: StrPath | None = None,
    qr: bool = False,
) -> RowBlocks:
    r"""Open files that need not fit into memory as blocks of rows, to fit `PSVC` and `PSVR`.

    Columns are found by name; their types and names are checked in all files at once, before the
    first row is read. Features are numbers: text and missing values are errors that name the file,
    the column and the rows.

    Parameters
    ----------
    source : str, path-like or list of them
        Parquet, Feather, CSV or TSV files (extra `io`); npy files, which are memory-mapped; zarr
        stores (extra `zarr`); HDF5 files, among them AnnData h5ad (extra `anndata`). A folder
        stands for all Parquet, Feather and CSV files in it. In zarr and HDF5 the matrix is the
        array X or the only one, and target and weights are arrays beside it; in AnnData they are
        columns of obs.
    target : str or int
        Name or index of the target column. The columns of a matrix without names are
        called x0, x1, ...
    weight : str or int, default=None
        Name or index of the column with the sample weights.
    features : list of str, default=None
        The columns to use, in this order. None takes all other columns; all files must then
        have the same columns.
    memory : float, default=64
        Largest size of the features of a block in megabytes. Reading needs a few times as much.
    target_type : {"auto", "text", "number"}, default="auto"
        The type of the target; "auto" looks at the first file.
    checkpoint, qr
        Options of a fit, as for `RowBlocks`.

    Returns
    -------
    RowBlocks
        They can be read repeatedly; no file is open in between.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from psvm import PSVC
    >>> from psvm.io import open_blocks
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> data = np.column_stack([X, np.hypot(*X.T) < 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rows.npy")
    ...     np.save(path, data)
    ...     model = PSVC(landmarks=30).fit(open_blocks(path, target=-1))
    >>> model.predict([[0.1, 0.2], [2.0, 1.0]])
    array([1, 0])
    """
    check_number("memory", memory, above=0)
    check_column("target", target)
    check_column("weight", weight)
    check_choice("target_type", target_type, ("auto", "text", "number"))
    for name, column in (("target", target), ("weight", weight)):
        if not isinstance(column, str | numbers.Integral | None):
            raise TypeError(
                f"{name} must be the name or the place of a column, got {shown(column)}."
            )
    if features is not None and (isinstance(features, str) or not is_iterable(features)):
        raise TypeError(f"features must be a list of columns, got {shown(features)}.")
    features = None if features is None else list(features)
    files = [_opened(path, target, features) for path in _paths(source)]
    columns = choose_columns(files, target, weight, features, target_type)

    def blocks():
        for file in files:
            yield from file.blocks(columns, memory * MEGABYTE)

    names = columns.features if columns.named else None
    return RowBlocks(
        blocks,
        memory=memory,
        names=names,
        checkpoint=checkpoint,
        qr=qr,
    )


def _paths(source):
    """The files and zarr stores that are meant."""
    if isinstance(source, str | os.PathLike):
        source = [source]
    elif hasattr(source, "shape") or not is_iterable(source):
        raise TypeError(f"source must be a path or a list of paths, got {shown(source)}.")
    found = []
    for path in source:
        check_path("source", path)
        path = os.fspath(path)
        found += _files_of(path) if os.path.isdir(path) and not is_zarr(path) else [path]
    if not found:
        raise ValueError("source has no files.")
    return found


def _files_of(folder):
    """The tables in a folder, also below it; hidden files are left out."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_")))
        found += [
            os.path.join(place, name)
            for name in sorted(names)
            if not name.startswith((".", "_")) and _is_table(name)
        ]
    if not found:
        raise DataError(
            "There are no Parquet, Feather or CSV files in the folder.",
            file=folder,
            advice="Give the files themselves if they have other names.",
        )
    return found


def _is_table(name):
    name = name.lower()
    for suffix in (".gz", ".bz2", ".xz", ".zst"):
        name = name.removesuffix(suffix)
    return name.endswith(FOLDER_SUFFIXES)


def _opened(path, target, features):
    """A file of one of the known kinds."""
    if os.path.isdir(path):
        return ArrayFile(path, "zarr")
    kind = format_of(path)
    if kind == "csv":
        return TextFile(path, target, features)
    if kind == "h5ad":
        return ArrayFile(path, "hdf5")
    if kind == "npy":
        return ArrayFile(path, "npy")
    readers = {"parquet": ParquetFile, "feather": FeatherFile}
    if kind not in readers:
        raise DataError(
            f"Files of the format {kind} cannot be read in blocks.",
            file=path,
            advice="Write the rows as Parquet, Feather, CSV, npy, zarr or HDF5.",
        )
    return readers[kind](path)
