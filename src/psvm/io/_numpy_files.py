"""NumPy's npy and npz, without unpickling and without trust in what they declare."""

import ast
import math
import os
import re
import struct
import warnings
import zipfile
from dataclasses import dataclass

import numpy as np

from ._errors import DataError
from ._limits import refuse_bomb
from ._streams import read_exactly

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 10_000
"""Bytes, as in NumPy; more could exhaust Python's parser."""
LENGTHS = {(1, 0): "<H", (2, 0): "<I", (3, 0): "<I"}
"""How the length of the header is written in each version of the format."""
PYTHON2_INTEGER = re.compile(r"(?<=\d)L(?=[,)])")


@dataclass(frozen=True)
class ArrayHeader:
    """What an npy file says about its array."""

    dtype: np.dtype
    shape: tuple
    order: str


def read_array(stream, path):
    """The array of a stream in the npy format.

    Parameters
    ----------
    stream : file-like
    path : str
        What an error calls it.

    Returns
    -------
    ndarray
        It can be written to.
    """
    header = _read_header(stream, path)
    size = math.prod(header.shape) * header.dtype.itemsize
    data = read_exactly(stream, size)
    if len(data) < size:
        raise _unreadable(
            path,
            f"An array of the shape {header.shape} takes {size} bytes, but there are {len(data)}.",
        )
    if header.dtype.kind == "U" and not _is_text(data, header.dtype):
        raise _unreadable(path, "Its text has code points that are not characters.")
    try:
        return np.ndarray(header.shape, header.dtype, buffer=data, order=header.order)
    except (ValueError, OverflowError) as error:  # such as more than 64 dimensions
        raise _unreadable(path, f"{error}.") from None


def read_arrays(path):
    """The arrays of an npz file by name.

    Parameters
    ----------
    path : str

    Returns
    -------
    dict of str to ndarray
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist() if m.filename.endswith(".npy")]
            refuse_bomb(sum(m.file_size for m in members), os.path.getsize(path), path)
            arrays = {}
            for member in members:
                with archive.open(member) as stream:
                    arrays[member.filename.removesuffix(".npy")] = read_array(stream, path)
                    stream.read(1)  # the checksum is verified at the end
            return arrays
    except (DataError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # zipfile and its decoders raise a dozen types
        raise DataError(f"This is not a readable npz file: {error}.", file=path) from None


def _read_header(stream, path):
    start = bytes(read_exactly(stream, 8))
    layout = LENGTHS.get(tuple(start[6:8]))
    if not start.startswith(MAGIC) or layout is None:
        raise _unreadable(path, "It does not begin as one.")
    length = bytes(read_exactly(stream, struct.calcsize(layout)))
    n = struct.unpack(layout, length)[0] if len(length) == struct.calcsize(layout) else 0
    if n > LONGEST_HEADER:
        raise _unreadable(path, f"Its header has {n} bytes.")
    text = bytes(read_exactly(stream, n)).decode("latin-1")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes and numbers in damaged headers
            return _as_header(ast.literal_eval(PYTHON2_INTEGER.sub("", text.strip())))
    except Exception as error:  # whatever Python's parser makes of a damaged text
        raise _unreadable(path, f"Its header is damaged ({error}).") from None


def _as_header(content):
    """Check the dictionary of a header."""
    descr, fortran, shape = (content[key] for key in ("descr", "fortran_order", "shape"))
    dtype = np.lib.format.descr_to_dtype(descr)
    if dtype.hasobject:
        raise ValueError("arrays of Python objects are not read")
    if dtype.itemsize == 0 or dtype.subdtype is not None:
        raise ValueError(f"the type {descr!r} is not read")
    if not isinstance(shape, tuple) or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError(f"{shape!r} is not a shape")
    return ArrayHeader(dtype, shape, "F" if fortran else "C")


def _is_text(data, dtype):
    """Whether all code points are characters; Python cannot make strings of others."""
    codes = np.ndarray(len(data) // 4, np.dtype(f"{dtype.byteorder}u4"), buffer=data)
    return not ((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes < 0xE000))).any()


def _unreadable(path, reason):
    return DataError(f"This is not a readable npy array: {reason}", file=path)
