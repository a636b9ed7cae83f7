"""Sequences as objects: strings with names, FASTA files, and what their kernels share."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .._parameters import Choice, Flag
from .._typing import StrPath
from .._validation import check_flag, check_path, is_iterable, shown
from ._base import Kernel

ALPHABETS = {"dna": "ACGT", "rna": "ACGU", "protein": "ACDEFGHIKLMNPQRSTVWY"}


class Sequence(str):
    """A string that knows its name, so that errors and support objects can tell it.

    Parameters
    ----------
    letters : str
    name : str, default=""
    description : str, default=""
        The whole header line of a FASTA record.

    Examples
    --------
    >>> from psvm.kernels import Sequence
    >>> s = Sequence("ACGT", name="lacZ")
    >>> s, s.name, s == "ACGT"
    ('ACGT', 'lacZ', True)
    """

    def __new__(cls, letters, name="", description=""):
        if not isinstance(letters, str):
            raise TypeError(f"letters must be a string, got {shown(letters)}.")
        self = super().__new__(cls, letters)
        self.name, self.description = name, description
        return self


def read_fasta(path: StrPath, *, upper: bool = False) -> list[Sequence]:
    r"""Read the records of a FASTA file, compressed by gzip or not.

    Parameters
    ----------
    path : str or path-like
    upper : bool, default=False
        Whether to write lower case letters, which many files use for masked regions, in upper
        case. They are letters of their own otherwise.

    Returns
    -------
    list of Sequence
        Strings with the first word of the header as `name` and all of it as `description`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from psvm.kernels import read_fasta
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.fa")
    ...     _ = path.write_text(">a first\nACG\nT\n>b\nggc\n")
    ...     records = read_fasta(path, upper=True)
    >>> records, records[0].name, records[0].description
    (['ACGT', 'GGC'], 'a', 'a first')
    """
    check_path("path", path)
    check_flag("upper", upper)
    text = Path(path).read_bytes()
    try:
        if text.startswith(b"\x1f\x8b"):
            text = gzip.decompress(text)
        text = text.decode()
    except (UnicodeDecodeError, EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{os.fspath(path)!r} is not a FASTA file: {error}.") from error
    return parse_fasta(text, path, upper=upper)


def parse_fasta(text, path, *, upper=False):
    """The records of a text; `path` is what an error calls it."""
    before, *records = ("\n" + text.replace("\r", "\n")).split("\n>")
    if before.strip() or not records:
        raise ValueError(f"{os.fspath(path)!r} is not a FASTA file: it must begin with '>'.")
    sequences = []
    for record in records:
        header, _, lines = record.partition("\n")
        letters = "".join(lines.split())
        name = header.split(maxsplit=1)[0] if header.strip() else ""
        sequences.append(Sequence(letters.upper() if upper else letters, name, header.strip()))
    return sequences


def check_sequences(X, name="X"):
    """Sequences as a one-dimensional array of strings, or an error that names the wrong one."""
    if isinstance(X, str | os.PathLike):
        if not os.path.isfile(X):
            raise ValueError(
                f"{name} must be a list, array or Series of strings or the path of a FASTA file, "
                f"got one string that is no file: {os.fspath(X)[:60]!r}."
            )
        X = read_fasta(X)
    elif hasattr(X, "iloc") and getattr(X, "ndim", 0) == 1:
        labels = (str(label) for label in X.index)
        X = [_named(x, label) for x, label in zip(X, labels, strict=True)]
    elif not is_iterable(X):
        raise TypeError(f"{name} must be a list, array or Series of strings, got {shown(X)}.")
    if getattr(X, "ndim", 1) != 1:
        raise ValueError(
            f"{name} must be one-dimensional, a list, array or Series of strings; got an array of "
            f"shape {X.shape}."
        )
    X = list(X)
    for i, x in enumerate(X):
        if not isinstance(x, str):
            raise TypeError(f"{name} must contain strings, but {called(X, i)} is {shown(x)}.")
        if not x:
            raise ValueError(f"{called(X, i)} of {name} is empty.")
    array = np.empty(len(X), dtype=object)
    array[:] = X
    return array


def _named(x, label):
    """A string of a pandas Series with its label; what is no string, as it is."""
    return Sequence(x, label) if isinstance(x, str) and not isinstance(x, Sequence) else x


def called(X, i):
    """How an error speaks of a sequence: by number and, if it has one, by name."""
    name = getattr(X[i], "name", "")
    return f"sequence {i} ({name!r})" if name and name != str(i) else f"sequence {i}"


def check_equal_lengths(X, length, name):
    """Raise a ValueError that names the first sequence of another length."""
    for i, x in enumerate(X):
        if len(x) != length:
            raise ValueError(
                f"{called(X, i)} of {name} has {len(x)} letters where the first one has {length}; "
                "sequences must have equal lengths here."
            )


def code_points(X):
    """All letters of an array of strings as one array of code points, and where each starts."""
    text = "".join(X.tolist()).encode("utf-32-le", "surrogatepass")
    starts = np.zeros(len(X) + 1, dtype=np.intp)
    np.cumsum([len(x) for x in X], out=starts[1:])
    return np.frombuffer(text, dtype="<u4").astype(np.int32), starts


class SequenceKernel(Kernel):
    """What the kernels of sequences share: strings as objects, alphabet, normalisation.

    Objects are a list, tuple, array or pandas Series of strings, or the path of a FASTA file.
    """

    takes_vectors = False
    alphabet: str | None = None
    unknown: str = "error"

    _constraints: ClassVar = {"normalize": Flag(), "unknown": Choice("error", "skip")}

    @property
    def shortest(self) -> int:
        """Letters that a sequence must have."""
        return 1

    @property
    def letters(self) -> Any:
        """The sorted letters of the alphabet; None if every letter is known."""
        if self.alphabet is None:
            return None
        return "".join(sorted(ALPHABETS.get(self.alphabet, self.alphabet)))

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.alphabet is None:
            return
        text = isinstance(self.alphabet, str)
        if not text or len(set(self.letters)) < max(len(self.letters), 1):
            names = ", ".join(repr(name) for name in ALPHABETS)
            raise ValueError(
                f"alphabet must be a string of distinct letters, one of {names}, or None for the "
                f"letters that occur; got {shown(self.alphabet)}."
            )

    def check_objects(self, X: Any, name: str = "X") -> Any:
        X = check_sequences(X, name)
        for i, x in enumerate(X):
            if len(x) < self.shortest:
                raise ValueError(
                    f"{called(X, i)} of {name} has {len(x)} letters; {self!r} needs at least "
                    f"{self.shortest}."
                )
        if self.letters is not None and self.unknown == "error":
            self._check_letters(X, name)
        return X

    def _check_letters(self, X, name):
        points, starts = self._encode(X)
        if (points >= 0).all():
            return
        place = int(np.argmax(points < 0))
        i = int(np.searchsorted(starts, place, side="right")) - 1
        position = place - starts[i]
        letter = X[i][position]
        hint = " Write it in upper case." if letter.upper() in self.letters else ""
        raise ValueError(
            f"{called(X, i)} of {name} has the letter {letter!r} at position {position} (counted "
            f"from 0), which is not in the alphabet {self.letters!r}.{hint}"
        )

    def _encode(self, X):
        """Code points of the letters, -1 for unknown ones, and where each sequence starts."""
        points, starts = code_points(X)
        if self.letters is not None:
            points[~np.isin(points, [ord(letter) for letter in self.letters])] = -1
        return points, starts
