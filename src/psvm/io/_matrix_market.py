"""Matrix Market, read by the compiled parser of numbers."""

import re
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._core._csv import Entry, read_entries
from ._errors import DataError
from ._limits import refuse_empty_rows

FORMATS = ("coordinate", "array")
FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
SYMMETRIES = ("general", "symmetric", "skew-symmetric")
SIZE = re.compile(rb"[ \t]*(\d{1,17})[ \t]+(\d{1,17})(?:[ \t]+(\d{1,17}))?[ \t\r]*")
CONTENT = re.compile(rb"\S")
COMPLAINTS = {
    Entry.NO_INDEX: "The index of a row or column is expected, but there is {}.",
    Entry.OUTSIDE: "The index {} is outside the matrix, which has {} rows and {} columns.",
    Entry.NO_VALUE: "A number is expected, but there is {}.",
    Entry.MORE_ON_LINE: "The entry is followed by {}.",
}


@dataclass(frozen=True)
class MarketHeader:
    """The first lines of a file.

    Attributes
    ----------
    dense : bool
        Whether all values are there, column by column, without indices.
    field, symmetry : str
    shape : (int, int)
    n_entries : int
        Entries in the file.
    position : int
        The byte at which they begin.
    """

    dense: bool
    field: str
    symmetry: str
    shape: tuple
    n_entries: int
    position: int


def read_matrix(text, path):
    """The matrix in a text of the Matrix Market format.

    Parameters
    ----------
    text : bytearray
    path : str
        What an error calls it.

    Returns
    -------
    ndarray or csr_array
    """
    header = _read_header(text, path)
    row, column, values = _read_entries(text, header, path)
    if header.field.endswith("integer") and (values % 1 != 0).any():
        wrong = values[values % 1 != 0][0]
        raise DataError(f"The file declares integers, but has the number {wrong:g}.", file=path)
    if header.dense:
        return _fill(values, header)
    if header.symmetry != "general":
        row, column, values = _mirror(row, column, values, header, path)
    return sp.coo_array((values, (row, column)), shape=header.shape).tocsr()


def _read_header(text, path):
    first, _, _ = text[:1024].partition(b"\n")
    words = first.decode("latin-1").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise DataError(
            "This is not a Matrix Market file of a matrix.",
            file=path,
            line=1,
            advice="The first line must be like '%%MatrixMarket matrix coordinate real general'.",
        )
    kind, field, symmetry = words[2:]
    if field == "complex" or symmetry == "hermitian":
        raise DataError(
            "The matrix is complex; psvm reads real numbers.",
            file=path,
            line=1,
            advice="Write its real part, its imaginary part or its absolute values.",
        )
    for word, known in ((kind, FORMATS), (field, FIELDS), (symmetry, SYMMETRIES)):
        if word not in known:
            raise DataError(f"{word!r} is not one of {', '.join(known)}.", file=path, line=1)
    if field == "pattern" and (kind == "array" or symmetry == "skew-symmetric"):
        raise DataError(f"A pattern cannot be {kind} {symmetry}.", file=path, line=1)
    return _read_size(text, kind == "array", field, symmetry, path)


def _read_size(text, dense, field, symmetry, path):
    """Complete the header by the line with the size, checked against that of the text."""
    start, line = text.find(b"\n") + 1 or len(text), 2
    while start < len(text):
        end = text.find(b"\n", start)
        end = len(text) if end < 0 else end
        content = text[start : min(end, start + 1024)].strip()
        if content and not content.startswith(b"%"):
            break
        start, line = end + 1, line + 1
    else:
        raise DataError("The line with the size of the matrix is missing.", file=path, line=line)
    match = SIZE.fullmatch(text, start, end)
    if match is None or dense == (match[3] is not None):
        expected = "rows and columns" if dense else "rows, columns and entries"
        raise DataError(
            f"The number of {expected} is expected, but there is {_shown(content)}.",
            file=path,
            line=line,
        )
    rows, columns = int(match[1]), int(match[2])
    if symmetry != "general" and rows != columns:
        raise DataError(
            f"A {symmetry} matrix cannot have {rows} rows and {columns} columns.",
            file=path,
            line=line,
        )
    if rows == 0 or columns == 0:
        raise DataError(
            f"The matrix has {rows} rows and {columns} columns, so it is empty.",
            file=path,
            line=line,
        )
    n_entries = _dense_entries(rows, columns, symmetry) if dense else int(match[3])
    position = min(end + 1, len(text))
    shortest = 2 if dense else 4 if field == "pattern" else 6  # "0\n", "1 1\n", "1 1 0\n"
    if n_entries * shortest > len(text) - position + 1:
        raise DataError(
            f"The file declares {n_entries} entries, but it is too short for them.",
            file=path,
            line=line,
            advice="Copy or download it again.",
        )
    if not dense:
        refuse_empty_rows(rows, n_entries, path, line)
    return MarketHeader(dense, field, symmetry, (rows, columns), n_entries, position)


def _dense_entries(rows, columns, symmetry):
    """Values that a file holds: only the lower triangle if the other follows from it."""
    if symmetry == "general":
        return rows * columns
    return rows * (rows + 1) // 2 if symmetry == "symmetric" else rows * (rows - 1) // 2


def _read_entries(text, header, path):
    """Indices of rows and columns from 0, none if the matrix is dense, and values."""
    n = header.n_entries
    index = np.int32 if max(header.shape) <= np.iinfo(np.int32).max else np.int64
    row, column = (np.empty(0 if header.dense else n, dtype=index) for _ in range(2))
    values = np.ones(n) if header.field == "pattern" else np.empty(n)
    what, position = read_entries(
        text, header.position, header.shape, row, column, values, header.field == "pattern"
    )
    if what == Entry.RIGHT and (rest := CONTENT.search(text, position)):
        position = rest.start()
        message = f"The file declares {n} entries, but there are more."
    elif what == Entry.ABSENT:
        message = f"The file declares {n} entries, but ends too early."
    elif what != Entry.RIGHT:
        message = COMPLAINTS[what].format(_shown(text[position : position + 60]), *header.shape)
    else:
        return row, column, values
    line = text.count(b"\n", 0, position) + 1
    raise DataError(message, file=path, line=line, advice="Correct the file.")


def _shown(text):
    """The beginning of a text, up to a blank or the end of the line."""
    line, _, _ = text.partition(b"\n")
    word = line.split(maxsplit=1)[0] if line.strip() else b""
    return repr(word[:40].decode("utf-8", "replace")) if word else "the end of the line"


def _fill(values, header):
    """The matrix of dense values, which are stored column by column."""
    if header.symmetry == "general":
        return np.ascontiguousarray(values.reshape(header.shape, order="F"))
    X = np.zeros(header.shape)
    skew = header.symmetry == "skew-symmetric"
    column, row = np.triu_indices(len(X), k=int(skew))
    X[row, column] = values
    X[column, row] = -values if skew else values
    return X


def _mirror(row, column, values, header, path):
    """Entries of the other triangle."""
    skew = header.symmetry == "skew-symmetric"
    apart = row != column
    if skew and not apart.all():
        raise DataError(
            "A skew-symmetric matrix has no entries on the diagonal, but there are some.",
            file=path,
        )
    mirrored = -values if skew else values[apart]
    return (
        np.concatenate([row, column[apart]]),
        np.concatenate([column, row[apart]]),
        np.concatenate([values, mirrored]),
    )
