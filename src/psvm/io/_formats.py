"""Readers of all formats but delimited text."""

import importlib
import io
import re

import numpy as np
import scipy.sparse as sp

from ..matrix import as_dense, drop_columns, missing_entries, stored_values
from ._columns import as_labels, names_of, select_features
from ._complaints import MISSING_ADVICE
from ._dialect import find_column, suggestion
from ._errors import DataError
from ._frames import columns_of, not_numbers, take_columns
from ._h5ad import read_parts
from ._limits import refuse_empty_rows
from ._matrix_market import read_matrix
from ._numpy_files import read_array, read_arrays
from ._raw import Raw, assemble, by_name, refuse_repeated
from ._schema import Kind, Schema, numbers_schema
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
    from sklearn.datasets import load_svmlight_file

    n_features = None if options.features is None else len(options.features)
    if isinstance(options.schema, Schema):
        n_features = options.schema.n_columns
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
    from sklearn.datasets import load_svmlight_file

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
        columns = dict(zip(*columns_of(arrow), strict=True))
        if len(columns) < arrow.num_columns:
            raise DataError("Two columns have the same name.", file=path)
        if options.transpose:
            _take_index(table, columns, options)
            _take_columns(table, columns)
            return _finish(table, options)
        return assemble(_raw_columns(table, columns, options), options)
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(f"This is not a readable {kind} file: {error}", file=path) from None


def _starts_with(path, magic):
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _take_index(table, columns, options):
    """Row names: the index of pandas, or the column that is asked for; returns its name."""
    choice = options.row_names
    if choice == "auto":
        known = getattr(options.schema, "row_names", None)
        choice = next((n for n in columns if re.fullmatch(r"__index_level_\d+__", n)), False)
        choice = known if choice is False and known in columns else choice
    if choice is True:
        choice = next(iter(columns))
    if choice is False:
        return None
    name = list(columns)[find_column(choice, list(columns), table.source, "row_names")]
    table.row_names = ["" if word is None else word for word in columns[name].words()]
    if options.transpose or name.startswith("__index_level"):
        del columns[name]
        return None
    return name


def _raw_columns(table, columns, options):
    """The columns as they are read from text, too: numbers, words, target."""
    row_names = _take_index(table, columns, options)
    names, n_rows = list(columns), len(next(iter(columns.values())).column) if columns else 0
    raw = Raw(
        names, True, np.empty((n_rows, 0)), [], {}, table.source, table.format,
        labels=table.row_names, detection=table.detection,
    )  # fmt: skip
    raw.row_names = None if row_names is None else names.index(row_names)
    if options.target is not None and options.target_file is None:
        raw.target = find_column(options.target, names, table.source, "the target")
    take_columns(raw, list(columns.values()), options)
    if options.schema is None and options.categorical == "drop":
        for j in set(raw.texts) - {raw.target, raw.row_names}:
            del raw.texts[j]
    return raw


def _take_columns(table, columns):
    """All columns, which must be numbers."""
    for place, column in enumerate(columns.values(), 1):
        if not column.is_numbers:
            raise not_numbers(column, table.source, place)
    if not columns:
        raise DataError("There is no column of numbers.", file=table.source)
    table.X = np.column_stack([column.numbers() for column in columns.values()])
    table.feature_names = list(columns)


def read_fasta_table(path, options):
    """Sequences, with the target in their headers."""
    from ..kernels import parse_fasta

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


def _finish(table, options):
    """Transpose, take the target out of the matrix, choose features, look for missing values."""
    if options.target_file is not None:
        table.y = None
    if options.transpose:
        _transpose(table)
    _check_lengths(table, options)
    names = names_of(table)
    drop = [find_column(c, names, table.source, "ignore") for c in options.ignore]
    if options.target is not None and options.target_file is None and table.y is None:
        j = find_column(options.target, names, table.source, "the target")
        column = table.X[:, j : j + 1]
        table.y = as_labels(as_dense(column).ravel())
        table.target_name = names[j]
        drop.append(j)
    if drop:
        _drop_columns(table, np.unique(drop))
    if table.feature_names is not None and (options.schema is not None or options.features):
        refuse_repeated(table.feature_names, table.source)
    if options.features is not None and table.feature_names is not None:
        select_features(table, options.features)
    if isinstance(options.schema, Schema):
        _apply_schema(table, options.schema)
    table.row_numbers = np.arange(1, table.X.shape[0] + 1)
    _treat_missing(table, options)
    if options.schema == "infer":
        table.schema = numbers_schema(
            table.feature_names, table.X.shape[1], target=table.target_name,
            missing={"nan": "impute"}.get(options.missing, options.missing),
            na_values=options.all_na_values, transpose=options.transpose,
        )  # fmt: skip
    return table


def _apply_schema(table, schema):
    """The columns that a schema needs, by name or by place."""
    table.schema = schema
    if any(column.kind is not Kind.NUMBER for column in schema.used):
        names = [column.name for column in schema.used if column.kind is not Kind.NUMBER]
        raise DataError(
            f"The model needs words in {', '.join(map(repr, names[:5]))}, but a file of the format "
            f"{table.format} holds numbers.",
            file=table.source,
        )
    if schema.named and table.feature_names is not None:
        index, notes = by_name(schema, table.feature_names, table.source)
        table.X, table.feature_names = table.X[:, index], schema.feature_names
        table.detection += notes
    elif table.X.shape[1] != schema.n_columns:
        raise DataError(
            f"There are {table.X.shape[1]} columns, but the model was fitted to "
            f"{schema.n_columns}.",
            file=table.source,
        )


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
            advice="The target must belong to the samples; use target_file if this file has "
            "another target.",
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
    table.row_numbers = table.row_numbers[keep]
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
