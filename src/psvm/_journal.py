"""Results of long work in a file of JSON lines, from which it can be resumed."""

import errno
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

import numpy as np

REMEDY = "Use another file, or delete it to start again."
FAR = 2**30
"""Where Windows locks a byte: nobody may read what is locked there, so it lies behind all lines."""


def fingerprint(*parts):
    """Digest of arrays, bytes and whatever has a `repr` that says all."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        part = part.to_numpy() if hasattr(part, "to_numpy") else part
        if isinstance(part, np.ndarray) and part.dtype.kind != "O":
            digest.update(f"{part.shape}{part.dtype}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(part if isinstance(part, bytes) else repr(part).encode())
        digest.update(b";")
    return digest.hexdigest()


def as_json(value):
    """What is read back when a value has been written as JSON; NumPy arrays become lists."""
    return json.loads(json.dumps(value, default=_plain))


class Journal:
    """Finished parts by their key; with a file, each is written as soon as it is there.

    The file only grows, by whole lines that are brought to the disk at once, so that a full disk or
    an interruption cannot harm what is there. The first line says which search it belongs to; each
    other one carries its own digest. A last line that was cut off is forgotten.

    The file is locked until the journal is closed, as it is at the end of a ``with`` block. The
    system takes the lock from a process that was killed.

    Parameters
    ----------
    path : path-like or None
    search : str
        The `fingerprint` of data and settings.
    kind : type
        The named tuple of arrays that a part is.
    """

    name = "results_file"
    """The option that names the file, for errors."""
    other = "another search: the data, the folds or the parameters differ"
    """What a file holds whose first line says something else."""

    def __init__(self, path, search, kind):
        self.path, self.kind = None if path is None else Path(path), kind
        self.done, self.file = {}, None
        if self.path is None:
            return
        self.file = self.path.open("a+b", buffering=0)
        try:
            self._lock()
            self._read(search)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        """Let others use the file."""
        if self.file is not None:
            self.file.close()

    def add(self, key, result):
        """Keep a finished part."""
        self.done[key] = result
        if self.file is not None:
            # The digest is of what will be read back, in which a tuple is a list.
            entry = as_json({"key": key, **result._asdict()})
            self._append(_line({**entry, "digest": fingerprint(entry)}))

    def restore(self, values):
        """A part from its values as JSON."""
        return self.kind(*map(np.array, values))

    def _lock(self):
        try:
            _lock(self.file)
        except (BlockingIOError, PermissionError):
            raise ValueError(
                f"{self._what} is in use by another run. Wait until it has ended, or use another "
                "file."
            ) from None
        except OSError:  # a file system that knows no locks
            pass

    def _read(self, search):
        header = _line({"search": search})
        self.file.seek(0)
        text = self.file.read()
        *lines, cut_off = text.split(b"\n")
        if not lines and not header.startswith(cut_off):
            raise ValueError(f"{self._what} is not a file of results. {REMEDY}")
        for number, line in enumerate(lines, start=1):
            entry = self._parse(line, number)
            if number == 1:
                self._check_search(entry, search)
            else:
                self._remember(entry, number)
        if cut_off:
            self.file.truncate(len(text) - len(cut_off))
        if not lines:
            self._append(header)

    def _append(self, line):
        """Write a line and have it on the disk; after an error nothing of it is left."""
        before = self.file.seek(0, os.SEEK_END)
        try:
            written = self.file.write(line)
            if written < len(line):
                raise OSError(
                    errno.ENOSPC, f"only {written} of {len(line)} bytes were written", self.path
                )
            os.fsync(self.file.fileno())
        except BaseException:
            with suppress(OSError):
                self.file.truncate(before)
            raise

    def _parse(self, line, number):
        try:
            entry = json.loads(line)
        except ValueError as error:
            raise self._damaged(number, f"it is not JSON: {error}") from error
        if not isinstance(entry, dict):
            raise self._damaged(number, "it is not a JSON object")
        return entry

    def _check_search(self, entry, search):
        if "search" not in entry:
            raise self._damaged(1, "it names no search")
        if entry["search"] != search:
            raise ValueError(f"{self._what} holds {self.other}. {REMEDY}")

    def _remember(self, entry, number):
        if entry.pop("digest", None) != fingerprint(entry):
            raise self._damaged(number, "it differs from what was written")
        for name in ("key", *self.kind._fields):
            if name not in entry:
                raise self._damaged(number, f"it has no {name!r}")
        values = [entry[name] for name in self.kind._fields]
        self.done[tuple(entry["key"])] = self.restore(values)

    @property
    def _what(self):
        return f"{self.name} {str(self.path)!r}"

    def _damaged(self, number, why):
        if number == 1:
            return ValueError(f"{self._what} is not a file of results (line 1: {why}). {REMEDY}")
        return ValueError(
            f"{self._what} is damaged: line {number}: {why}. Delete this line to compute its part "
            "again, or delete the file to start again."
        )


def _line(entry):
    return json.dumps(entry).encode() + b"\n"


def _plain(value):
    """NumPy arrays and scalars as Python's lists and numbers."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(
        f"{value!r} cannot be written as JSON. Use numbers, strings, and lists or dicts of them."
    )


def _lock(file):
    """Lock a file until it is closed; BlockingIOError or PermissionError if it is locked."""
    if os.name == "nt":
        import msvcrt

        file.seek(FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
