"""Results of long work in a file of JSON lines, from which it can be resumed."""

import errno
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

import numpy as np

REMEDY = "Use another file, or delete it to start again."


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


class Journal:
    """Finished parts by their key; with a file, each is written as soon as it is there.

    The file only grows, by whole lines that are brought to the disk at once, so that a full disk or
    an interruption cannot harm what is there. The first line says which search it belongs to; each
    other one carries its own digest. A last line that was cut off is forgotten.

    Parameters
    ----------
    path : path-like or None
    search : str
        The `fingerprint` of data and settings.
    kind : type
        The named tuple of arrays that a part is.
    """

    def __init__(self, path, search, kind):
        self.path, self.kind = None if path is None else Path(path), kind
        self.done = {}
        if self.path is None:
            return
        header = _line({"search": search})
        text = self.path.read_bytes() if self.path.exists() else b""
        *lines, cut_off = text.split(b"\n")
        if not lines and not header.startswith(cut_off):
            raise ValueError(f"results_file {str(self.path)!r} is not a file of results. {REMEDY}")
        for number, line in enumerate(lines, start=1):
            entry = self._parse(line, number)
            if number == 1:
                self._check_search(entry, search)
            else:
                self._remember(entry, number)
        if cut_off:
            os.truncate(self.path, len(text) - len(cut_off))
        if not lines:
            self._append(header)

    def add(self, key, result):
        """Keep a finished part."""
        self.done[key] = result
        if self.path is not None:
            values = {name: value.tolist() for name, value in result._asdict().items()}
            entry = {"key": list(key), **values}
            self._append(_line({**entry, "digest": fingerprint(entry)}))

    def _append(self, line):
        """Write a line and have it on the disk; after an error nothing of it is left."""
        with self.path.open("ab", buffering=0) as file:
            before = file.tell()
            try:
                written = file.write(line)
                if written < len(line):
                    raise OSError(
                        errno.ENOSPC, f"only {written} of {len(line)} bytes were written", self.path
                    )
                os.fsync(file.fileno())
            except BaseException:
                with suppress(OSError):
                    file.truncate(before)
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
            raise ValueError(
                f"results_file {str(self.path)!r} holds another search: the data, the folds or "
                f"the parameters differ. {REMEDY}"
            )

    def _remember(self, entry, number):
        if entry.pop("digest", None) != fingerprint(entry):
            raise self._damaged(number, "it differs from what was written")
        values = (np.array(entry[name]) for name in self.kind._fields)
        self.done[tuple(entry["key"])] = self.kind(*values)

    def _damaged(self, number, why):
        if number == 1:
            return ValueError(
                f"results_file {str(self.path)!r} is not a file of results (line 1: {why}). "
                f"{REMEDY}"
            )
        return ValueError(
            f"results_file {str(self.path)!r} is damaged: line {number}: {why}. Delete this line "
            "to compute its part again, or delete the file to start again."
        )


def _line(entry):
    return json.dumps(entry).encode() + b"\n"
