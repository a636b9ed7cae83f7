"""What is wrong with a file, where, and what to do."""

from __future__ import annotations

import enum
import os
from dataclasses import dataclass

from .._typing import StrPath


class DataError(ValueError):
    """A data file that cannot be used: the message names file, line and column.

    Parameters
    ----------
    message : str
        What is wrong.
    file : str or path-like, default=None
    line, column : int, default=None
        Where, counted from 1.
    advice : str, default=""
        What to do.

    Examples
    --------
    >>> from psvm.io import DataError
    >>> print(DataError("'x' is not a number.", file="a.csv", line=3, column=2, advice="Fix it."))
    a.csv, line 3, column 2: 'x' is not a number. Fix it.
    """

    def __init__(
        self,
        message: str,
        *,
        file: StrPath | None = None,
        line: int | None = None,
        column: int | None = None,
        advice: str = "",
    ) -> None:
        self.message, self.advice = message, advice
        self.file = None if file is None else os.fspath(file)
        self.line, self.column = line, column
        super().__init__(message)

    def __str__(self):
        places = [self.file or "", f"line {self.line}", f"column {self.column}"]
        known = [True, self.line is not None, self.column is not None]
        where = ", ".join(text for text, ok in zip(places, known, strict=True) if ok and text)
        text = f"{self.message} {self.advice}".strip()
        return f"{where}: {text}" if where else text

    def __reduce__(self):
        return _rebuild, (self.message, self.file, self.line, self.column, self.advice)


def _rebuild(message, file, line, column, advice):
    return DataError(message, file=file, line=line, column=column, advice=advice)


class Severity(enum.Enum):
    """How serious a finding is.

    Examples
    --------
    >>> from psvm.io import Severity
    >>> Severity.ERROR.value
    'error'
    """

    ERROR = "error"
    """The file cannot be used."""
    WARNING = "warning"
    """The file can be used, but the result may be wrong."""
    INFO = "info"
    """What was detected."""


@dataclass(frozen=True)
class Finding:
    """One result of `check_file`.

    Attributes
    ----------
    severity : Severity
    message : str
    line, column : int or None
        Where, counted from 1.
    advice : str
        What to do.

    Examples
    --------
    >>> from psvm.io import Finding, Severity
    >>> print(Finding(Severity.WARNING, "Column 'a' is constant.", column=1, advice="Remove it."))
    warning, column 1: Column 'a' is constant. Remove it.
    """

    severity: Severity
    message: str
    line: int | None = None
    column: int | None = None
    advice: str = ""

    def __str__(self):
        where = [self.severity.value]
        where += [] if self.line is None else [f"line {self.line}"]
        where += [] if self.column is None else [f"column {self.column}"]
        return f"{', '.join(where)}: {self.message} {self.advice}".rstrip()
