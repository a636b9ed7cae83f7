"""Readers of all formats but delimited text."""

import importlib
import io
import re

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from ..kernels import parse_fasta
from ..matrix import as_dense, drop_columns, missing_entries, stored_values
from ._columns import as_labels, names_of, one_hot, select_features
from ._complaints import MISSING_ADVICE
from ._dialect import find_column, suggestion
from ._errors import DataError
from ._h5ad import read_parts
from ._limits import refuse_empty_rows
from ._matrix_market import read_matrix
from ._numpy_files import read_array, read_arrays
from ._streams import Source, read_all
from ._table import Table

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
    text = read_all(path)
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
    """The first line that cannot be read, found by halving."""
    lines = text.splitlines(keepends=True)
    low, high = 0, len(lines)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            load_svmlight_file(io.BytesIO(b"".join(lines[low:middle])), zero_based="auto")
            low = middle
        except (ValueError, OverflowError):
            high = middle
    try:
        load_svmlight_file(io.BytesIO(lines[low] if lines else b""), zero_based="auto")
    except (ValueError, OverflowError) as reason:
        if isinstance(reason, OverflowError):
            reason = "an index is greater than 2147483647"
        shown = lines[low].strip()[:60].decode("utf-8", "replace")
        return DataError(f"{shown!r} is not readable: {reason}.", file=path, line=low + 1)
    return DataError(f"{error}.", file=path)


def read_npy(path, options):
    """One array."""
    array = read_npy_array(path)
    table = Table(_as_matrix(array, path), source=path, format="npy")
    table.detection.append(f"The file is a NumPy array of {array.dtype}.")
    return _finish(table, options)


def read_npy_array(path):
    """The array of an npy file, compressed or not."""
    with Source(path) as source:
        return read_array(source, path)


def read_npz(path, options):
    """Arrays X, y, feature_names and row_names, or a sparse matrix of SciPy."""
    arrays = read_arrays(path)
    table = Table(None, source=path, format="npz")
    name = _take_matrix(table, arrays)
    table.detection.append(f"The file holds NumPy arrays; X is {name!r}.")
    for key in ("feature_names", "row_names"):
        if key in arrays:
            setattr(table, key, [str(v) for v in _vector(arrays, key, path)])
    if options.target_file is None:
        _take_target(table, arrays, options.target)
    return _finish(table, options)


def _vector(arrays, name, path):
    """An array of one dimension as a list."""
    array = arrays[name]
    if array.ndim != 1 or array.dtype.kind not in "biufSU":
        raise DataError(
            f"{name!r} must be a vector of numbers or text, not {array.dtype} of the shape "
            f"{array.shape}.",
            file=path,
        )
    try:
        return (np.char.decode(array) if array.dtype.kind == "S" else array).tolist()
    except ValueError as error:  # bytes that are no text, code points that are no characters
        raise DataError(f"{name!r} is damaged: {error}.", file=path) from None


def _take_matrix(table, arrays):
    """Set X; returns its name."""
    parts = ("data", "indices", "indptr", "shape")
    if all(part in arrays for part in parts):
        kind = arrays.get("format", np.array("csr"))
        kind = kind.item() if kind.ndim == 0 else ""
        kind = kind.decode("latin-1") if isinstance(kind, bytes) else str(kind)
        table.X = _as_sparse(arrays, kind, arrays["shape"].ravel().tolist(), table.source)
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


def _as_sparse(arrays, kind, shape, path):
    """A `csr_array` of its parts, each of which may be damaged."""
    maker = {"csr": sp.csr_array, "csc": sp.csc_array}.get(kind)
    if maker is None:
        raise DataError(f"Sparse matrices of the format {kind!r} are not read.", file=path)
    parts = [arrays[name] for name in ("data", "indices", "indptr")]
    whole = all(part.ndim == 1 for part in parts)
    if not whole or [part.dtype.kind in "iu" for part in parts[1:]] != [True, True]:
        raise DataError("The indices of the sparse matrix are not vectors of integers.", file=path)
    if parts[0].dtype.kind not in "biuf":
        raise DataError(f"The matrix holds {parts[0].dtype} values, not numbers.", file=path)
    if len(shape) != 2 or not all(type(n) is int and 0 < n < 2**63 for n in shape):
        raise DataError(f"{shape} is not the shape of a matrix.", file=path)
    refuse_empty_rows(shape[0], len(parts[0]), path)
    if not _fits(*parts, *(shape if kind == "csr" else shape[::-1])):
        raise DataError("The indices of the sparse matrix are damaged.", file=path)
    # SciPy computes with neither halves nor foreign byte orders.
    data, indices, indptr = (np.asarray(p, k) for p, k in zip(parts, "dqq", strict=True))
    X = maker((data, indices, indptr), shape=tuple(shape))
    X.sum_duplicates()
    return sp.csr_array(X)


def _fits(data, indices, indptr, n_major, n_minor):
    """Whether the parts of a compressed matrix fit each other and its shape.

    SciPy's `check_format` does not look at `indptr` if its last entry is 0, and its compiled code
    then writes where it must not.
    """
    return (
        len(indptr) == n_major + 1
        and indptr[0] == 0
        and (indptr[1:] >= indptr[:-1]).all()
        and indptr[-1] == len(indices) == len(data)
        and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < n_minor))
    )


def _take_target(table, arrays, wanted):
    name = wanted if wanted in arrays else next((n for n in NAMES_OF_TARGETS if n in arrays), None)
    if wanted is not None and name != wanted and wanted != str(arrays.get("target_name", "")):
        raise DataError(
            f"There is no array {wanted!r} (the target).",
            file=table.source,
            advice=suggestion(wanted, list(arrays)),
        )
    if name is not None:
        y = _vector(arrays, name, table.source)
        table.y = as_labels(arrays[name] if arrays[name].dtype.kind in "biuf" else y)
        table.target_name = str(arrays["target_name"]) if "target_name" in arrays else name


def read_mtx(path, options):
    """Matrix Market."""
    table = Table(read_matrix(read_all(path), path), source=path, format="mtx")
    table.detection.append("The file is in the Matrix Market format.")
    return _finish(table, options)


def read_arrow(path, options):
    """Parquet or Feather."""
    pyarrow = _extra("pyarrow", "io")
    kind = "parquet" if _starts_with(path, b"PAR1") else "feather"
    module = _extra(f"pyarrow.{kind}", "io")
    table = Table(None, source=path, format=kind)
    table.detection.append(f"The file is in the {kind.capitalize()} format.")
    try:
        arrow = module.read_table(path)
        arrow.validate(full=True)  # else a wrong offset of a string would be followed
        columns = dict(zip(arrow.column_names, arrow.columns, strict=True))
        if len(columns) < arrow.num_columns:
            raise DataError("Two columns have the same name.", file=path)
        _take_index(table, columns, options)
        _take_column_target(table, columns, options)
        _take_columns(table, columns, options, pyarrow)
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(f"This is not a readable {kind} file: {error}", file=path) from None
    return _finish(table, options, columns_chosen=not options.transpose)


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
    all_names, ignored, wanted = list(columns), set(), None
    if not options.transpose:
        ignore = [find_column(c, all_names, table.source, "ignore") for c in options.ignore]
        ignored, wanted = {all_names[j] for j in ignore}, options.features
    for place, (name, column) in enumerate(columns.items(), 1):
        if name in ignored or (wanted is not None and name not in wanted):
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
            block, labels = one_hot(name, [str(v) for v in column.to_pylist()], table.source)
            numbers.extend(block.T)
            names += labels
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
    target = options.target if options.target_file is None else None
    reply, arrays = read_parts(path, target)
    if "X" in arrays:
        X = _as_matrix(arrays["X"], path)
    else:
        X = _as_sparse(arrays, reply["format"], reply["shape"], path)
    table = Table(X, source=path, format="h5ad")
    table.feature_names, table.row_names = reply["var_names"], reply["obs_names"]
    table.detection.append("The file holds AnnData; X is its matrix.")
    if target is not None:
        names = reply["columns"]
        if "target" not in reply:
            raise DataError(
                f"obs has no column {target!r} (the target).",
                file=path,
                advice=suggestion(target, names) if names else "It has no columns.",
            )
        if None in reply["target"]:
            row = reply["target"].index(None) + 1
            raise DataError(f"The target {target!r} is missing in row {row}.", file=path)
        table.y, table.target_name = as_labels(reply["target"]), target
    return _finish(table, options)


def _as_matrix(array, path):
    """A two-dimensional array of doubles."""
    if array.dtype.kind not in "biuf":
        raise DataError(f"The array holds {array.dtype} values, not numbers.", file=path)
    if array.ndim != 2:
        raise DataError(
            f"The array has {array.ndim} dimensions, not two.", file=path, advice="Reshape it."
        )
    if array.size == 0:
        raise DataError(f"The array has the shape {array.shape}, so it is empty.", file=path)
    return np.ascontiguousarray(array, dtype=np.float64)


def _finish(table, options, columns_chosen=False):
    """Transpose, take the target out of the matrix, choose features, look for missing values."""
    if options.target_file is not None:
        table.y = None
    if options.transpose:
        _transpose(table)
    _check_lengths(table, options)
    names = names_of(table)
    ignore = () if columns_chosen else options.ignore
    drop = [find_column(c, names, table.source, "ignore") for c in ignore]
    if options.target is not None and options.target_file is None and table.y is None:
        j = find_column(options.target, names, table.source, "the target")
        column = table.X[:, j : j + 1]
        table.y = as_labels(as_dense(column).ravel())
        table.target_name = names[j]
        drop.append(j)
    if drop:
        _drop_columns(table, np.unique(drop))
    if options.features is not None and table.feature_names is not None:
        select_features(table, options.features)
    _treat_missing(table, options)
    return table


def _transpose(table):
    if sp.issparse(table.X):
        refuse_empty_rows(table.X.shape[1], table.X.nnz, table.source)
    table.X = table.X.T.tocsr() if sp.issparse(table.X) else table.X.T
    table.feature_names, table.row_names = table.row_names, table.feature_names
    table.detection.append("The table is transposed: its columns are the samples.")


def _check_lengths(table, options):
    """Complain about a target or names that do not belong to the matrix."""
    n, p = table.X.shape
    if table.y is not None and len(table.y) != n:
        raise DataError(
            f"There are {len(table.y)} targets for {n} rows"
            + (" of the transposed matrix." if options.transpose else "."),
            file=table.source,
            advice="The target is that of the samples; give it by target_file if this file holds "
            "another one.",
        )
    for names, length, what in ((table.row_names, n, "rows"), (table.feature_names, p, "columns")):
        if names is not None and len(names) != length:
            raise DataError(f"There are {len(names)} names for {length} {what}.", file=table.source)


def _drop_columns(table, drop):
    """Leave out columns and their names."""
    table.X = drop_columns(table.X, drop)
    if table.feature_names is not None:
        left_out = set(drop.tolist())
        table.feature_names = [v for j, v in enumerate(table.feature_names) if j not in left_out]


def _treat_missing(table, options):
    values = stored_values(table.X)
    if np.isfinite(values).all():
        return
    if np.isinf(values).any():
        raise DataError("There are infinite numbers.", file=table.source)
    if options.missing == "nan":
        return
    rows, columns = missing_entries(table.X)
    if options.missing == "error":
        raise DataError(
            f"{len(rows)} missing values, the first one in row {rows[0] + 1}, "
            f"column {columns[0] + 1}.",
            file=table.source,
            advice=MISSING_ADVICE,
        )
    keep = np.ones(table.X.shape[0], dtype=bool)
    keep[rows] = False
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
