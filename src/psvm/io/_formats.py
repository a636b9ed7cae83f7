"""Readers of all formats but delimited text."""

import importlib
import io
import os
import re
import zipfile

import numpy as np
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from ..kernels._sequence import parse_fasta
from ._columns import as_labels, select_features
from ._complaints import MISSING_ADVICE
from ._dialect import find_column, suggestion
from ._errors import DataError
from ._streams import Source, read_all
from ._table import Table

LARGEST_RATIO, SMALL = 100, 2**30
"""An archive that unfolds to more than this many times its size is refused, unless it is small."""
NAMES_OF_TARGETS = ("y", "target", "targets", "label", "labels")


def _extra(module, extra):
    """Import a module of an extra."""
    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.split(".")[0]
        raise ImportError(f'{name} is needed to read this: pip install "psvm[{extra}]"') from None


def read_svmlight(path, options):
    """LIBSVM or svmlight: ``label index:value ...``."""
    n_features = None if options.features is None else len(options.features)
    with Source(path) as source:
        text = source.read()
    try:
        X, y = load_svmlight_file(io.BytesIO(text), n_features=n_features, zero_based="auto")
    except (ValueError, OverflowError) as error:
        raise _svmlight_error(path, text, error) from None
    first = X.indices.min(initial=1)
    table = Table(sp.csr_array(X), as_labels(y), source=path, format="svmlight")
    table.detection.append("The file is in the format of LIBSVM and svmlight.")
    table.detection.append(
        f"Features are counted from {0 if first == 0 and _counts_from_zero(text) else 1}."
    )
    return _finish(table, options)


def _counts_from_zero(text):
    return re.search(rb"[ \t]0:", text) is not None


def _svmlight_error(path, text, error):
    """The first line that cannot be read by itself."""
    for number, line in enumerate(text.splitlines(), 1):
        try:
            load_svmlight_file(io.BytesIO(line + b"\n"), zero_based="auto")
        except (ValueError, OverflowError) as reason:
            shown = line[:60].decode("utf-8", "replace")
            return DataError(f"{shown!r} is not readable: {reason}.", file=path, line=number)
    return DataError(f"{error}.", file=path)


def read_npy(path, options):
    """One array."""
    try:
        array = np.load(io.BytesIO(read_all(path)), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"This is not a readable npy file: {error}", file=path) from None
    table = Table(_as_matrix(array, path), source=path, format="npy")
    table.detection.append(f"The file is a NumPy array of {array.dtype}.")
    return _finish(table, options)


def read_npz(path, options):
    """Arrays X, y, feature_names and row_names, or a sparse matrix of SciPy."""
    _refuse_bomb(path)
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise DataError(f"This is not a readable npz file: {error}", file=path) from None
    table = Table(None, source=path, format="npz")
    name = _take_matrix(table, arrays)
    table.detection.append(f"The file holds NumPy arrays; X is {name!r}.")
    for key in ("feature_names", "row_names"):
        if key in arrays:
            setattr(table, key, [str(v) for v in arrays[key]])
    _take_target(table, arrays, options.target)
    return _finish(table, options, target_done=True)


def _refuse_bomb(path):
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
    except zipfile.BadZipFile as error:
        raise DataError(f"This is not a readable npz file: {error}", file=path) from None
    if size > SMALL and size > LARGEST_RATIO * os.path.getsize(path):
        raise DataError(
            f"The archive unfolds to {size} bytes, more than {LARGEST_RATIO} times its size.",
            file=path,
            advice="Unpack it yourself if you trust it.",
        )


def _take_matrix(table, arrays):
    """Set X; returns its name."""
    parts = ("data", "indices", "indptr", "shape")
    if all(part in arrays for part in parts):
        kind = str(
            arrays.get("format", np.array("csr")).item().decode()
            if arrays.get("format", np.array(b"csr")).dtype.kind == "S"
            else arrays["format"].item()
        )
        maker = {"csr": sp.csr_array, "csc": sp.csc_array}.get(kind)
        if maker is None:
            raise DataError(
                f"Sparse matrices of the format {kind!r} are not read.", file=table.source
            )
        try:
            X = maker(tuple(arrays[p] for p in parts[:3]), shape=tuple(arrays["shape"].tolist()))
            X.check_format(full_check=True)
        except ValueError as error:
            raise DataError(f"The sparse matrix is damaged: {error}", file=table.source) from None
        table.X = sp.csr_array(X, dtype=np.float64)
        return "data"
    two = [name for name, a in arrays.items() if a.ndim == 2 and a.dtype.kind in "biuf"]
    name = "X" if "X" in two else two[0] if len(two) == 1 else None
    if name is None:
        raise DataError(
            f"There must be an array X or a single matrix; there are {', '.join(arrays)}.",
            file=table.source,
        )
    table.X = _as_matrix(arrays[name], table.source)
    return name


def _take_target(table, arrays, wanted):
    name = wanted if wanted in arrays else next((n for n in NAMES_OF_TARGETS if n in arrays), None)
    if wanted is not None and name != wanted and wanted != str(arrays.get("target_name", "")):
        raise DataError(
            f"There is no array {wanted!r} (the target).",
            file=table.source,
            advice=suggestion(wanted, list(arrays)),
        )
    if name is not None:
        y = arrays[name]
        table.y = as_labels(y.tolist() if y.dtype.kind == "U" else y)
        table.target_name = str(arrays["target_name"]) if "target_name" in arrays else name


def read_mtx(path, options):
    """Matrix Market."""
    try:
        X = scipy.io.mmread(io.BytesIO(read_all(path)))
    except (ValueError, OverflowError, TypeError) as error:
        line = re.match(r"Line (\d+): ", str(error))
        raise DataError(
            f"This is not readable: {str(error).removeprefix(line[0] if line else '')}",
            file=path,
            line=int(line[1]) if line else None,
        ) from None
    X = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else _as_matrix(X, path)
    table = Table(X, source=path, format="mtx")
    table.detection.append("The file is in the Matrix Market format.")
    return _finish(table, options)


def read_arrow(path, options):
    """Parquet or Feather."""
    pyarrow = _extra("pyarrow", "io")
    kind = "parquet" if _starts_with(path, b"PAR1") else "feather"
    module = _extra(f"pyarrow.{kind}", "io")
    try:
        arrow = module.read_table(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise DataError(f"This is not a readable {kind} file: {error}", file=path) from None
    table = Table(None, source=path, format=kind)
    table.detection.append(f"The file is in the {kind.capitalize()} format.")
    names, columns = list(arrow.column_names), {}
    for name in names:
        columns[name] = arrow.column(name)
    _take_index(table, columns, options)
    _take_column_target(table, columns, options)
    _take_columns(table, columns, options, pyarrow)
    return _finish(table, options, target_done=True)


def _starts_with(path, magic):
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _take_index(table, columns, options):
    """Row names: the index of pandas, or the column that is asked for."""
    choice = options.row_names
    if choice == "auto":
        choice = next((n for n in columns if re.fullmatch(r"__index_level_\d+__", n)), False)
    if choice is True:
        choice = next(iter(columns))
    if choice is not False:
        name = list(columns)[find_column(choice, list(columns), table.source, "row_names")]
        table.row_names = [str(v) for v in columns.pop(name).to_pylist()]


def _take_column_target(table, columns, options):
    if options.target is None or options.target_file is not None or options.transpose:
        return
    names = list(columns)
    name = names[find_column(options.target, names, table.source, "the target")]
    values = columns.pop(name).to_pylist()
    if any(v is None for v in values):
        row = values.index(None)
        raise DataError(f"The target {name!r} is missing in row {row + 1}.", file=table.source)
    numbers = all(isinstance(v, int | float) for v in values)
    table.y = as_labels(np.array(values, dtype=float) if numbers else [str(v) for v in values])
    table.target_name = name


def _take_columns(table, columns, options, pyarrow):
    """All columns of numbers, and those of text as the options say."""
    numbers, names = [], []
    ignored = {
        list(columns)[find_column(c, list(columns), table.source, "ignore")] for c in options.ignore
    }
    for place, (name, column) in enumerate(columns.items(), 1):
        if name in ignored or (options.features is not None and name not in options.features):
            continue
        kind = column.type
        types = pyarrow.types
        if (
            types.is_integer(kind)
            or types.is_floating(kind)
            or types.is_boolean(kind)
            or types.is_decimal(kind)
        ):
            numbers.append(column.cast(pyarrow.float64()).to_numpy().astype(np.float64))
            names.append(name)
        elif options.categorical == "onehot":
            values, code = np.unique([str(v) for v in column.to_pylist()], return_inverse=True)
            numbers.extend(np.eye(len(values))[code].T)
            names += [f"{name}={value}" for value in values]
        elif options.categorical == "error":
            raise DataError(
                f"The column {name!r} is of the type {kind}, not numbers.",
                file=table.source,
                column=place,
                advice="Make it the target or the row names, ignore it, or read it with "
                "categorical='onehot' or 'drop'.",
            )
    if not numbers:
        raise DataError("There is no column of numbers.", file=table.source)
    table.X, table.feature_names = np.column_stack(numbers), names


def read_fasta_table(path, options):
    """Sequences, with the target in their headers."""
    raw = read_all(path, options.encoding)
    try:
        records = parse_fasta(raw.decode(), path)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"The byte 0x{raw[error.start]:02x} is not UTF-8.", file=path, line=line
        ) from None
    except ValueError as error:
        raise DataError(str(error), file=path, line=1) from None
    X = np.empty(len(records), dtype=object)
    X[:] = records
    for i, record in enumerate(records):
        if not record:
            raise DataError(f"The sequence {record.name!r} (number {i + 1}) is empty.", file=path)
    table = Table(X, source=path, format="fasta", row_names=[r.name for r in records])
    table.detection.append(f"The file holds {len(records)} sequences in the FASTA format.")
    if options.target is not None and options.target_file is None:
        table.y, table.target_name = _header_labels(records, str(options.target), path)
    return table


def _header_labels(records, target, path):
    """Labels from headers: ``target=value``, or the group of a regular expression."""
    pattern = target if "(" in target else rf"\b{re.escape(target)}\s*[=:]\s*([^\s;|,]+)"
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"target {target!r} is not a regular expression: {error}.") from None
    labels = []
    for record in records:
        match = expression.search(record.description)
        if match is None:
            raise DataError(
                f"The header {record.description[:60]!r} has no target {target!r}.",
                file=path,
                advice="Use headers such as '>name class=value', a regular expression with a "
                "group, or a file with the targets.",
            )
        labels.append(match[1])
    return as_labels(labels), None if "(" in target else target


def read_h5ad(path, options):
    """AnnData."""
    anndata = _extra("anndata", "anndata")
    try:
        data = anndata.read_h5ad(path)
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise DataError(f"This is not a readable h5ad file: {error}", file=path) from None
    X = data.X
    X = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else _as_matrix(np.asarray(X), path)
    table = Table(X, source=path, format="h5ad")
    table.feature_names, table.row_names = list(data.var_names), list(data.obs_names)
    table.detection.append("The file holds AnnData; X is its matrix.")
    if options.target is not None and options.target_file is None:
        names = list(data.obs.columns)
        if options.target not in names:
            raise DataError(
                f"obs has no column {options.target!r} (the target).",
                file=path,
                advice=suggestion(options.target, names) if names else "It has no columns.",
            )
        table.y, table.target_name = as_labels(data.obs[options.target].tolist()), options.target
    return _finish(table, options, target_done=True)


def _as_matrix(array, path):
    """A two-dimensional array of doubles."""
    if array.dtype.kind not in "biuf":
        raise DataError(f"The array holds {array.dtype} values, not numbers.", file=path)
    if array.ndim != 2:
        raise DataError(
            f"The array has {array.ndim} dimensions, not two.", file=path, advice="Reshape it."
        )
    return np.ascontiguousarray(array, dtype=np.float64)


def _finish(table, options, target_done=False):
    """Transpose, take the target out of the matrix, choose features, look for missing values."""
    if options.transpose:
        table.X = table.X.T if isinstance(table.X, np.ndarray) else table.X.T.tocsr()
        table.feature_names, table.row_names = table.row_names, table.feature_names
        table.detection.append("The table is transposed: its columns are the samples.")
    names = table.feature_names or [f"x{j}" for j in range(table.X.shape[1])]
    drop = [
        find_column(c, names, table.source, "ignore") for c in options.ignore if not target_done
    ]
    if (
        options.target is not None
        and not target_done
        and options.target_file is None
        and table.y is None
    ):
        j = find_column(options.target, names, table.source, "the target")
        column = table.X[:, [j]]
        table.y = as_labels((column.toarray() if sp.issparse(column) else column).ravel())
        table.target_name = names[j]
        drop.append(j)
    if drop:
        keep = np.setdiff1d(np.arange(table.X.shape[1]), drop)
        table.X = table.X[:, keep]
        table.feature_names = None if table.feature_names is None else [names[j] for j in keep]
    if options.features is not None and table.feature_names is not None:
        select_features(table, options.features)
    _treat_missing(table, options)
    return table


def _treat_missing(table, options):
    values = table.X.data if sp.issparse(table.X) else table.X
    if np.isfinite(values).all():
        return
    if np.isinf(values).any():
        raise DataError("There are infinite numbers.", file=table.source)
    if options.missing == "nan":
        return
    dense = table.X.toarray() if sp.issparse(table.X) else table.X
    gaps = np.isnan(dense)
    if options.missing == "error":
        i, j = np.argwhere(gaps)[0]
        raise DataError(
            f"{gaps.sum()} missing values, the first one in row {i + 1}, column {j + 1}.",
            file=table.source,
            advice=MISSING_ADVICE,
        )
    keep = ~gaps.any(axis=1)
    table.X = table.X[np.flatnonzero(keep)]
    table.y = None if table.y is None else table.y[keep]
    if table.row_names is not None:
        table.row_names = [name for name, k in zip(table.row_names, keep, strict=True) if k]
    table.detection.append(f"{(~keep).sum()} rows with missing values were left out.")


READERS = {
    "svmlight": read_svmlight,
    "npy": read_npy,
    "npz": read_npz,
    "mtx": read_mtx,
    "parquet": read_arrow,
    "feather": read_arrow,
    "fasta": read_fasta_table,
    "h5ad": read_h5ad,
}
