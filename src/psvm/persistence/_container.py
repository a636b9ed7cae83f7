"""A model file as a container: JSON and arrays in a zip archive that is stored, not compressed.

The last 64 bytes of the file are the SHA-256 of everything before them, in hexadecimal digits. They
are the comment of the archive, so that any zip program and `numpy.load` can open it. The sum is
compared before anything is interpreted. As nothing is compressed, nothing can unfold.
"""

import hashlib
import json
import math
import os
import re
import zipfile

import numpy as np

from .._fitted import UnsoundError
from ..io import atomic_write
from ._codec import KINDS, LONGEST
from ._errors import ModelFileError

FORMAT, VERSION = "psvm-model", 1
FORMATS = {FORMAT: "a model", "psvm-plan": "a plan of sums", "psvm-moments": "sums of a site"}
"""What files of this kind hold."""
METADATA = "model.json"
DIGEST = 64
MAX_ARRAYS, MAX_METADATA, MAX_HEADER = 100_000, 2**28, 10_000
MAX_VALUES = 2**20
"""Lists and objects in the description. Each takes a hundred times the memory of its two letters;
names, numbers and sequences are not among them."""
STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)


def write_container(path, metadata, arrays, format=FORMAT, *, make=None):
    """Write a dict for JSON and a list of arrays, atomically; the same content is the same file.

    Before the file replaces another one it is read back, and ``make(metadata, arrays)`` makes
    again what is in it. If that fails nothing is written, and the error says so.
    """
    described = [{"dtype": a.dtype.str, "shape": list(a.shape)} for a in arrays]
    metadata = {"format": format, "version": VERSION, **metadata, "arrays": described}
    text = json.dumps(metadata, allow_nan=False, indent=1, ensure_ascii=True).encode()
    with atomic_write(path, "w+b") as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.comment = b"0" * DIGEST
            with archive.open(_member(METADATA), "w") as member:
                member.write(text)
            for i, array in enumerate(arrays):
                with archive.open(_member(_array_name(i)), "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
        file.flush()
        file.seek(0)
        digest = _digest(file, file.seek(0, os.SEEK_END) - DIGEST)
        file.seek(-DIGEST, os.SEEK_END)
        file.write(digest)
        if make is not None:
            _read_back(file, path, format, make)


def _read_back(file, path, format, make):
    """Refuse to write what cannot be loaded."""
    file.flush()
    try:
        make(*_read(file, format))
    except ImportError:
        raise
    except Exception as error:
        raise ModelFileError(
            f"{os.fspath(path)} was not written, since it could not be loaded again: {why(error)} "
            "Please report this with the parameters of the model."
        ) from error


def read_container(path, format=FORMAT):
    """Metadata and arrays of a file, after all checks; `ModelFileError` if anything is wrong."""
    with open(path, "rb") as file:
        try:
            return _read(file, format)
        except ModelFileError as error:
            raise ModelFileError(f"{os.fspath(path)}: {error}") from None
        except Exception as error:
            raise ModelFileError(
                f"{os.fspath(path)}: the file is not a valid model file ({error!r})."
            ) from error


def why(error):
    """What an error says; the type as well, if it is none of ours."""
    return str(error) if isinstance(error, ModelFileError | UnsoundError) else repr(error)


def _member(name):
    member = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    member.external_attr = 0o644 << 16
    member.create_system = 3
    return member


def _array_name(i):
    return f"arrays/{i}.npy"


def _digest(file, n):
    """SHA-256 of the first n bytes."""
    file.seek(0)
    total = hashlib.sha256()
    while n > 0:
        part = file.read(min(n, 2**20))
        if not part:
            break
        total.update(part)
        n -= len(part)
    return total.hexdigest().encode()


def _read(file, format):
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(4) != b"PK\x03\x04":
        raise ModelFileError("the file is not a model file.")
    file.seek(max(size - DIGEST, 0))
    stated = file.read()
    if size <= DIGEST or _digest(file, size - DIGEST) != stated:
        raise ModelFileError(
            "the checksum is wrong: the file is damaged, cut short or not a model file. Copy it "
            "again or save the model again."
        )
    with zipfile.ZipFile(file) as archive:
        members = {member.filename: member for member in archive.infolist()}
        _check_members(archive, members, size)
        metadata = _read_metadata(archive, members[METADATA], format)
        arrays = metadata["arrays"]
        if set(members) != {METADATA, *map(_array_name, range(len(arrays)))}:
            raise ModelFileError("the list of arrays does not agree with the archive.")
        found = [
            _read_array(archive, members[_array_name(i)], described)
            for i, described in enumerate(arrays)
        ]
    return metadata, found


def _check_members(archive, members, size):
    infos = archive.infolist()
    if METADATA not in members or len(members) < len(infos) or len(infos) > MAX_ARRAYS:
        raise ModelFileError(f"the archive does not hold a model: it has {len(infos)} members.")
    for member in infos:
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise ModelFileError(f"{member.filename} is compressed or encrypted.")
        if member.file_size != member.compress_size:
            raise ModelFileError(f"{member.filename} has two different sizes.")
    if sum(member.file_size for member in infos) > size:
        raise ModelFileError("the members of the archive are larger than the file.")


def _read_metadata(archive, member, format):
    if member.file_size > MAX_METADATA:
        raise ModelFileError(f"its description has {member.file_size} bytes, which is too much.")
    text = archive.read(member)
    without_strings = STRING.sub(b"", text)
    if without_strings.count(b"[") + without_strings.count(b"{") > MAX_VALUES:
        raise ModelFileError(f"its description has more than {MAX_VALUES} lists and objects.")
    del without_strings
    metadata = json.loads(text)
    found = metadata.get("format") if isinstance(metadata, dict) else None
    if not isinstance(found, str) or found not in FORMATS:
        raise ModelFileError("the archive does not hold a model.")
    if found != format:
        raise ModelFileError(f"the file holds {FORMATS[found]}, not {FORMATS[format]}.")
    version = metadata.get("version")
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"its version {version!r} makes no sense.")
    if version > VERSION:
        raise ModelFileError(
            f"the file has version {version} of the format, written by psvm "
            f"{metadata.get('psvm')}; this one reads versions up to {VERSION}. Upgrade psvm."
        )
    if not isinstance(metadata.get("arrays"), list):
        raise ModelFileError("the list of arrays is missing.")
    return metadata


def _read_array(archive, member, described):
    """One array whose dtype, shape and size agree with the description."""
    with archive.open(member) as file:
        version = np.lib.format.read_magic(file)
        if version != (1, 0):
            raise ModelFileError(f"{member.filename} has the unknown version {version}.")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(
            file, max_header_size=MAX_HEADER
        )
        raw = file.read()
    if dtype.kind not in KINDS or dtype.itemsize > LONGEST or dtype.str != described["dtype"]:
        raise ModelFileError(f"{member.filename} has the dtype {dtype}.")
    if list(shape) != described["shape"] or min(shape, default=0) < 0:
        raise ModelFileError(f"{member.filename} has the shape {shape}.")
    if math.prod(shape) * dtype.itemsize != len(raw):
        raise ModelFileError(f"{member.filename} has {len(raw)} bytes for the shape {shape}.")
    array = np.frombuffer(raw, dtype=dtype).reshape(shape, order="F" if fortran else "C")
    return array.astype(dtype.newbyteorder("="), order="K", copy=True)
