"""`check_file`: everything that is wrong with a file, not only the first thing."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np

from .._typing import StrPath
from .._validation import check_path
from ._csv import Reading, TextColumn
from ._errors import DataError, Finding, Severity
from ._quality import MOST, find_warnings
from ._read import check_options, format_of, read_with
from ._streams import Source
from ._table import ReadOptions

ALIKE = 3
"""Findings with the same advice about the same column."""


def check_file(path: StrPath, **options: Any) -> list[Finding]:
    r"""Look for everything that is wrong with a data file.

    Parameters
    ----------
    path : str or path-like
    **options
        As for `read_table`.

    Returns
    -------
    list of Finding
        Errors first, then warnings, then what was detected. If there are no errors, the file can
        be read with these options.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from psvm.io import check_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "bad.csv")
    ...     _ = path.write_text("a,b\n1,2\n3,x\n4\n5,2\n")
    ...     for finding in check_file(path)[:2]:
    ...         print(finding.severity.value, finding.line, finding.column, finding.message)
    error 3 2 'x' in column 'b' is not a number.
    error 4 1 This row has 1 cells, but 2 are expected.
    """
    check_path("path", path)
    path, options = os.fspath(path), ReadOptions(**options)
    check_options(options)
    try:
        table, errors = find_errors(path, options)
        if errors or table is None:
            return errors
        if options.target_file is not None:
            table = read_with(path, options)
    except DataError as error:
        return [of_error(error)]
    except ImportError as error:
        return [Finding(Severity.ERROR, str(error))]
    return [*_look_at(table), *(Finding(Severity.INFO, note) for note in table.detection)]


def of_error(error):
    """An error as a finding."""
    return Finding(Severity.ERROR, error.message, error.line, error.column, error.advice)


def find_errors(path, options):
    """What a file holds, None if that cannot be told, and the rows that cannot be read."""
    kind = format_of(path) if options.format == "auto" else options.format
    if kind == "csv":
        return _check_text(path, options)
    return read_with(path, options), []


def _check_text(path, options):
    """The same of text."""
    text = set()
    while True:
        try:
            with Source(path, options.encoding) as source:
                checking = _Checking(source, options, text)
                table = None
                try:
                    table = checking.table()
                except DataError as error:
                    checking.found.append(of_error(error))
                return table, _gathered(checking.found)
        except TextColumn as found:
            text.add(found.column)


def _gathered(found):
    """Findings; of those with the same advice about one column, the first ones and a number."""
    same = Counter((finding.column, finding.advice) for finding in found if finding.column)
    seen, kept = Counter(), []
    for finding in found:
        kind = finding.column, finding.advice
        seen[kind] += 1
        if same[kind] <= ALIKE or seen[kind] < ALIKE:
            kept.append(finding)
        elif seen[kind] == ALIKE:
            more = f"{same[kind] - ALIKE + 1} more such cells in column {finding.column}."
            kept.append(Finding(finding.severity, more, finding.line, finding.column))
    return kept


class _Checking(Reading):
    """A reading that notes what is wrong with a row and goes on behind it."""

    def __init__(self, source, options, text):
        self.found = []
        super().__init__(source, options, text)

    def _stopped(self, why):
        try:
            super()._stopped(why)
        except DataError as error:
            self.found.append(of_error(error))
            if len(self.found) >= MOST:
                raise DataError(
                    f"There are more than {MOST} errors; the rest of the file was not read."
                ) from None
            self._skip_line()

    def _skip_line(self):
        end = self.block.data.find(b"\n", self.block.start, self.block.stop)
        self.block.start = self.block.stop if end < 0 else end + 1
        self._start_parser(self.parser.line + 1)


def _look_at(table):
    """What stands out in the data."""
    y, names = table.y, table.row_names
    found = find_warnings(table.X, y, names=table.feature_names, classes=_are_classes(y))
    if names is not None and len(set(names)) < len(names) and table.X.ndim == 2:
        found.append(Finding(Severity.WARNING, "Some row names are repeated."))
    # Python sorts stably: errors first, else the order in which they were found.
    return sorted(found, key=lambda finding: finding.severity is not Severity.ERROR)


def _are_classes(y):
    """Whether a target looks like classes: few words or whole numbers."""
    return y is not None and y.dtype.kind != "f" and len(np.unique(y)) <= max(20, len(y) // 20)
