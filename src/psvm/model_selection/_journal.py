"""Results of a search in a file of JSON lines, from which it can be resumed."""

import hashlib
import json
from pathlib import Path

import numpy as np

from ._paths import FoldResult


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
    """Finished folds by their key; with a file, each is written as soon as it is there.

    The first line of the file says which search it belongs to. A last line that was cut off is
    forgotten.

    Parameters
    ----------
    path : path-like or None
    search : str
        The `fingerprint` of data and settings.
    """

    def __init__(self, path, search):
        self.path = None if path is None else Path(path)
        self.done = {}
        if self.path is None:
            return
        lines = self.path.read_text().splitlines(keepends=True) if self.path.exists() else []
        lines = [line for line in lines if line.endswith("\n")]
        if not lines:
            lines = [json.dumps({"search": search}) + "\n"]
        elif _parse(lines[0], self.path).get("search") != search:
            raise ValueError(
                f"results_file {str(self.path)!r} holds another search: the data, the folds or "
                "the parameters differ. Use another file, or delete it to start again."
            )
        for line in lines[1:]:
            entry = _parse(line, self.path)
            self.done[tuple(entry["key"])] = FoldResult(
                *(np.array(entry[name]) for name in FoldResult._fields)
            )
        self.path.write_text("".join(lines))

    def add(self, key, result):
        """Keep a finished fold."""
        self.done[key] = result
        if self.path is not None:
            values = {name: value.tolist() for name, value in result._asdict().items()}
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, **values}) + "\n")


def _parse(line, path):
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"results_file {str(path)!r} is not a file of results: {error}. Use another file."
        ) from error
