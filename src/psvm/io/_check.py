"""`check_file`: everything that is wrong with a file, not only the first thing."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._typing import StrPath
from .._validation import check_path
from ._csv import Reading, TextColumn
from ._errors import DataError, Finding, Severity
from ._read import check_options, format_of, read_with
from ._streams import Source
from ._table import ReadOptions

MOST = 20
"""Findings of one kind."""
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
        Errors first, then warnings, then what was detected. Without an error the file can be
        read with these options.

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
        kind = format_of(path) if options.format == "auto" else options.format
        if kind == "csv":
            found = _check_text(path, options)
            if found:
                return found
        table = read_with(path, options)
    except DataError as error:
        return [_of_error(error)]
    except ImportError as error:
        return [Finding(Severity.ERROR, str(error))]
    if table.X.ndim == 1:
        warnings = _look_at_target(table)
    else:
        warnings = [*_look_at_columns(table), *_look_at_rows(table), *_look_at_target(table)]
    return [*warnings, *(Finding(Severity.INFO, note) for note in table.detection)]


def _of_error(error):
    return Finding(Severity.ERROR, error.message, error.line, error.column, error.advice)


def _check_text(path, options):
    """The rows that cannot be read."""
    text = set()
    while True:
        try:
            with Source(path, options.encoding) as source:
                checking = _Checking(source, options, text)
                try:
                    checking.table()
                except DataError as error:
                    checking.found.append(_of_error(error))
                return _gathered(checking.found)
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
            more = f"{same[kind] - ALIKE + 1} more cells of column {finding.column} are like that."
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
            self.found.append(_of_error(error))
            if len(self.found) >= MOST:
                raise DataError(
                    f"There are more than {MOST} errors; the rest of the file was not read."
                ) from None
            self._skip_line()

    def _skip_line(self):
        end = self.block.data.find(b"\n", self.block.start, self.block.stop)
        self.block.start = self.block.stop if end < 0 else end + 1
        self._start_parser(self.parser.line + 1)


def _called(table, j):
    return f"Column {table.feature_names[j]!r}" if table.feature_names else f"Column {j + 1}"


def _some(found):
    """The first findings, and how many more there are."""
    first = list(islice(found, MOST + 1))
    if len(first) > MOST:
        more = f"{1 + sum(1 for _ in found)} more columns are like that."
        first[MOST] = replace(first[MOST], message=more, column=None, advice="")
    return first


def _look_at_columns(table):
    places, low, high = _ranges(table.X)
    found = _some(
        Finding(
            Severity.WARNING,
            f"{_called(table, j)} is constant ({low[k]:g}).",
            column=int(j) + 1,
            advice="It says nothing; leave it out.",
        )
        for k, j in enumerate(places)
        if low[k] == high[k]
    )
    empty = table.X.shape[1] - len(places)
    if empty:
        found.append(
            Finding(
                Severity.WARNING,
                f"{empty} columns have no entries, so all their values are 0.",
                advice="Leave them out.",
            )
        )
    spread = high - low
    spread = spread[spread > 0]
    if len(spread) > 1 and spread.max() > 1000 * spread.min():
        found.append(
            Finding(
                Severity.WARNING,
                f"The ranges of columns differ by a factor of {spread.max() / spread.min():.0f}.",
                advice="Standardise the features, unless X is a matrix of relations.",
            )
        )
    if not sp.issparse(table.X):
        found += _some(_equal_columns(table))
    return found


def _ranges(X):
    """Places, least and greatest values of columns; of a sparse matrix only those with entries.

    A sparse matrix may have billions of columns, so nothing here is as long.
    """
    if not sp.issparse(X):
        return range(X.shape[1]), X.min(axis=0), X.max(axis=0)
    places, column = np.unique(X.indices, return_inverse=True)
    low, high = np.full(len(places), np.inf), np.full(len(places), -np.inf)
    np.fmin.at(low, column, X.data)
    np.fmax.at(high, column, X.data)
    gaps = np.bincount(column, minlength=len(places)) < X.shape[0]
    low[gaps], high[gaps] = np.minimum(low[gaps], 0), np.maximum(high[gaps], 0)
    return places, low, high


def _equal_columns(table):
    """Columns that another column repeats."""
    seen = {}
    for j in range(table.X.shape[1]):
        first = seen.setdefault(hash(table.X[:, j].tobytes()), j)
        if first < j and (table.X[:, first] == table.X[:, j]).all():
            yield Finding(
                Severity.WARNING,
                f"{_called(table, j)} repeats {_called(table, first).lower()}.",
                column=j + 1,
                advice="Leave one of them out.",
            )


def _look_at_rows(table):
    if sp.issparse(table.X):
        return []
    n = len(table.X)
    different = len({table.X[i].tobytes() for i in range(n)})
    found = []
    if different < n:
        found.append(
            Finding(
                Severity.WARNING,
                f"{n - different} of {n} rows repeat other ones.",
                advice="In cross-validation copies fall into training and test sets.",
            )
        )
    names = table.row_names
    if names is not None and len(set(names)) < len(names):
        found.append(Finding(Severity.WARNING, "Some names of rows come more than once."))
    return found


def _look_at_target(table):
    if table.y is None:
        return []
    values, counts = np.unique(table.y, return_counts=True)
    values = values.tolist()  # an error shows 1, not np.int64(1)
    if len(values) == 1:
        return [
            Finding(
                Severity.ERROR,
                f"All rows have the same target {values[0]!r}.",
                advice="There is nothing to learn.",
            )
        ]
    rare = counts.min()
    classes = table.y.dtype.kind != "f" and len(values) <= max(20, len(table.y) // 20)
    if classes and rare < 5:
        return [
            Finding(
                Severity.WARNING,
                f"The class {values[counts.argmin()]!r} has only {rare} of {len(table.y)} rows.",
                advice="Cross-validation with more folds than that cannot be stratified.",
            )
        ]
    return []
