"""`describe_file`: a data dictionary of a file, and what stands out in it."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import StrPath
from .._validation import check_path
from ..matrix import storage_of
from ._check import find_errors, of_error
from ._errors import DataError, Finding, Severity
from ._kinds import are_dates, judge_numbers, judge_text, relates_rows
from ._notation import read_cell
from ._quality import find_warnings, is_numeric
from ._raw import DOUBTFUL, Raw, as_written, matrix_of, prepare, target_of
from ._read import check_options, join_target
from ._schema import Column, Kind
from ._table import ReadOptions, Table

LOOKS_MISSING = DOUBTFUL | {"*", "unknown", "missing", "not available"}
"""Words that often stand for a missing value but are no default marker."""
CODES = (-9999.0, -999.0, -99.0)
"""Numbers that often stand for a missing value, if all others are at least 0."""
FEWEST = 10
"""Rows from which a column that determines the target is no chance."""
MOST_NAMED = 5


@dataclass(frozen=True)
class ColumnDescription:
    """One line of a data dictionary.

    Attributes
    ----------
    name : str
    kind : Kind
    values : str
        The levels with their numbers of rows, or the range.
    missing : float
        Share of the rows without a value, in percent.
    use : str
        How the column would be used.

    Examples
    --------
    >>> from psvm.io import ColumnDescription, Kind
    >>> ColumnDescription("age", Kind.NUMBER, "17 to 90", 0.0, "used").use
    'used'
    """

    name: str
    kind: Kind
    values: str
    missing: float
    use: str


@dataclass(frozen=True)
class FileDescription:
    """What is in a file.

    Attributes
    ----------
    n_rows : int
    columns : tuple of ColumnDescription
        All columns of the file in their order; none for sequences and sparse matrices.
    findings : tuple of Finding
        Errors first, then warnings, then what was detected.
    target : str or None
        Name of the target.
    classes : dict of str to int, or None
        Rows of each class, if the target looks like classes.
    options : dict
        Options of `read_table` with which the file can be read, as far as known.

    Examples
    --------
    >>> from psvm.io import FileDescription
    >>> FileDescription(0).columns
    ()
    """

    n_rows: int
    columns: tuple[ColumnDescription, ...] = ()
    findings: tuple[Finding, ...] = ()
    target: str | None = None
    classes: dict[str, int] | None = None
    options: dict[str, Any] | None = None


def describe_file(path: StrPath, **options: Any) -> FileDescription:
    r"""Describe each column of a data file and how it would be used.

    Parameters
    ----------
    path : str or path-like
    **options
        As for `read_table` with ``schema="infer"``.

    Returns
    -------
    FileDescription

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from psvm.io import describe_file
    >>> text = "age,sex,sick\n30,f,no\n40,m,yes\n,f,no\n50,m,yes\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "patients.csv")
    ...     _ = path.write_text(text)
    ...     found = describe_file(path, target="sick")
    >>> for column in found.columns:
    ...     print(column.name, column.kind.value, column.values, column.missing, sep="; ")
    age; number; 30 to 50; 25.0
    sex; category; f 2x, m 2x; 0.0
    sick; target; no 2x, yes 2x; 0.0
    >>> found.options
    {'missing': 'nan'}
    """
    check_path("path", path)
    path, given = os.fspath(path), ReadOptions(**{**options, "schema": "infer"})
    check_options(given)
    try:
        found, errors = find_errors(path, replace(given, raw=True))
        if found is None:
            return FileDescription(0, findings=tuple(errors))
        return _describe(_as_raw(found, given), given, errors)
    except DataError as error:
        return FileDescription(0, findings=(of_error(error),))
    except ImportError as error:
        return FileDescription(0, findings=(Finding(Severity.ERROR, str(error)),))


def _as_raw(found, options):
    """Columns as they were read; a matrix of numbers has such, too."""
    if isinstance(found, Raw) or not is_numeric(found.X) or storage_of(found.X) != "dense":
        return found
    X = np.asarray(found.X, dtype=np.float64)
    names = found.feature_names or [f"column {j + 1}" for j in range(X.shape[1])]
    raw = Raw(list(names), found.feature_names is not None, X, list(range(len(names))), {},
              found.source, found.format, detection=found.detection)  # fmt: skip
    raw.labels = found.row_names
    if found.y is not None:
        raw.names, raw.target = [*names, found.target_name or "target"], len(names)
        if found.y.dtype.kind in "fiu":
            raw.target_values = found.y.astype(np.float64)
        else:
            raw.texts[raw.target] = [str(label) for label in found.y]
    return raw


def _describe(found, options, errors):
    """The description of what was read."""
    if isinstance(found, Table):  # sequences and sparse matrices have no columns to describe
        return _of_table(found, errors)
    survey = _Survey(found, options)
    columns = survey.columns()
    warnings = survey.warnings(columns)
    notes = [Finding(Severity.INFO, note) for note in found.detection]
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.INFO: 2}
    # Python sorts stably: errors first, else the order in which they were found.
    findings = sorted([*errors, *survey.found, *warnings, *notes], key=lambda f: order[f.severity])
    return FileDescription(
        found.n_rows,
        tuple(survey.describe(j, column) for j, column in enumerate(columns)),
        tuple(findings),
        survey.target_name,
        survey.classes,
        survey.advice,
    )


def _of_table(table, errors):
    y, classes = table.y, None
    if are_classes(y):
        classes = {str(k): int(v) for k, v in sorted(Counter(y.tolist()).items())}
    found = find_warnings(table.X, y, names=table.feature_names, classes=classes is not None)
    notes = [Finding(Severity.INFO, note) for note in table.detection]
    findings = (*errors, *found, *notes)
    return FileDescription(table.X.shape[0], (), findings, table.target_name, classes, {})


def are_classes(y):
    """Whether a target looks like classes: few words or whole numbers."""
    return y is not None and y.dtype.kind != "f" and len(np.unique(y)) <= max(20, len(y) // 20)


class _Survey:
    """A look at all columns that goes on after a problem."""

    def __init__(self, raw, options):
        self.raw, self.options = raw, options
        self.found, self.advice = [], {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.found += map(of_error, prepare(raw, options))
        self.found += [Finding(Severity.WARNING, str(one.message)) for one in caught]
        self.y, self.absent = target_of(raw, options)
        self.target_name = None if raw.target is None else raw.names[raw.target]
        if options.target_file is not None and raw.target is None:
            self._join()
        y = None if self.y is None else self.y[~self.absent]
        self.classes = None
        if y is not None and len(y) and (y.dtype == object or are_classes(y)):
            counts = Counter(y.tolist())
            self.classes = {str(label): n for label, n in sorted(counts.items(), key=_by_size)}

    def _join(self):
        """The target from a file of its own."""
        raw = self.raw
        labels = raw.texts.get(raw.row_names, raw.labels)
        table = Table(np.empty((raw.n_rows, 0)), row_names=labels, source=raw.source)
        try:
            join_target(table, self.options)
        except DataError as error:
            self.found.append(of_error(error))
            return
        raw.detection += table.detection
        self.y, self.target_name = table.y, table.target_name or "target"

    # --- columns

    def columns(self):
        """What each column is; problems become findings."""
        raw = self.raw
        columns = [None] * len(raw.names)
        if raw.target is not None:
            columns[raw.target] = Column(raw.names[raw.target], Kind.TARGET, False)
        if raw.row_names is not None:
            columns[raw.row_names] = Column(
                raw.names[raw.row_names], Kind.IDENTIFIER, False, why="it names the rows"
            )
        self._numbers(columns)
        for j, cells in raw.texts.items():
            if columns[j] is None:
                columns[j] = self._text(j, cells)
        ignored = Kind.IGNORED
        columns = [c or Column(raw.names[j], ignored, False, why="it is ignored")
                   for j, c in enumerate(columns)]  # fmt: skip
        self._missing(columns)
        if not any(column.used for column in columns):
            self.found.append(Finding(Severity.ERROR, "No column is left to learn from."))
        return columns

    def _numbers(self, columns):
        raw, options = self.raw, self.options
        kept = [k for k, j in enumerate(raw.numbers) if columns[j] is None]
        names, values = [raw.names[raw.numbers[k]] for k in kept], raw.values[:, kept]
        labels = raw.texts.get(raw.row_names, raw.labels)
        relations = relates_rows(values, names if raw.named else None, labels)
        leave_out = options.leave_out and not relations
        found = judge_numbers(names, values, raw.named, options.types, leave_out)
        for k, column in zip(kept, found, strict=True):
            columns[raw.numbers[k]] = as_written(raw, raw.numbers[k], column)

    def _text(self, j, cells):
        """The kind of a column of text."""
        raw, name = self.raw, self.raw.names[j]
        kind = self.options.types.get(name)
        if kind is Kind.CATEGORY:
            return Column(name, kind, levels=tuple(sorted({c for c in cells if c is not None})))
        if kind is not None:
            return Column(name, kind, kind is Kind.DATE, why="" if kind is Kind.DATE else "by type")
        if j in raw.unclear:
            return Column(name, Kind.TEXT, False, why="its cells are written in different ways")
        column, problem = judge_text(name, cells, self.options.categorical)
        if problem == "date":
            advice = f"Set types={{{name!r}: 'date'}} to use the days since 1970-01-01."
            self._complain(f"Column {name!r} holds dates, not numbers.", j, advice)
            self.advice.setdefault("types", {})[name] = "date"
        elif problem == "mixed":
            self._complain_of_words(j, name, cells)
        return column

    def _complain(self, message, j, advice, row=None):
        line = None if row is None or self.raw.lines is None else int(self.raw.lines[row])
        self.found.append(Finding(Severity.ERROR, message, line, j + 1, advice))

    def _complain_of_words(self, j, name, cells):
        """Most cells are numbers, others are not."""
        rows = [i for i, c in enumerate(cells) if c is not None and read_cell(c) is None]
        words = Counter(cells[i] for i in rows)
        shown = ", ".join(f"{word!r} {n}x" for word, n in words.most_common(MOST_NAMED))
        more = f" and {len(words) - MOST_NAMED} more" if len(words) > MOST_NAMED else ""
        if len(words) <= MOST_NAMED:
            advice = f"If {'it stands' if len(words) == 1 else 'they stand'} for a missing value, "
            advice += f"use na_values={list(words)!r}."
            self.advice.setdefault("na_values", []).extend(words)
            self.advice["missing"] = "nan"
        else:
            advice = f"Fix the cells; for words use types={{{name!r}: 'category'}}; or ignore it."
            self.advice.setdefault("types", {})[name] = "category"
        text = (
            f"{len(rows)} of {len(cells)} cells of column {name!r} are not numbers: {shown}{more}."
        )
        self._complain(text, j, advice, rows[0])

    # --- missing values

    def gaps(self, j):
        """Which rows have no value in a column."""
        raw = self.raw
        if j == raw.target:
            return self.absent
        if j in raw.texts:
            return np.array([cell is None for cell in raw.texts[j]], dtype=bool)
        if j in self._places:
            return np.isnan(raw.values[:, self._places[j]])
        return np.zeros(raw.n_rows, dtype=bool)

    @cached_property
    def _places(self):
        """Columns of the matrix of numbers by their places in the file."""
        return {j: k for k, j in enumerate(self.raw.numbers)}

    def _missing(self, columns):
        """Cells of columns in use, and targets, that are missing."""
        raw = self.raw
        rows, cells = np.zeros(raw.n_rows, dtype=bool), 0
        used = [j for j, column in enumerate(columns) if column.used]
        numbers = [self._places[j] for j in used if j in self._places]
        if numbers:
            gaps = np.isnan(raw.values[:, numbers])
            rows, cells = gaps.any(axis=1), int(gaps.sum())
        for j in used:
            if j in raw.texts:
                gaps = self.gaps(j)
                rows, cells = rows | gaps, cells + int(gaps.sum())
        if cells:
            self.advice["missing"] = "nan"
            if self.options.missing == "error":
                text = f"{cells} cells are missing, in {rows.sum()} of {raw.n_rows} rows."
                advice = "Use missing='nan' to fill them in, or missing='drop' to leave rows out."
                self.found.append(Finding(Severity.ERROR, text, advice=advice))
        if self.absent.any() and self.options.missing != "drop":
            text = f"The target is missing in {self.absent.sum()} of {raw.n_rows} rows."
            advice = "missing='drop' leaves them out."
            self.found.append(Finding(Severity.ERROR, text, advice=advice))
            self.advice["missing"] = "drop"

    # --- lines

    def describe(self, j, column):
        """A line of the dictionary."""
        use = "the target" if column.kind is Kind.TARGET else "used"
        if column.kind is Kind.CATEGORY and column.used:
            use = f"{len(column.levels)} columns of 0 and 1"
        elif column.kind is Kind.DATE and column.used:
            use = "used as days"
        elif column.used and column.unit:
            use = f"used, in {column.unit}"
        elif column.why:
            use = f"left out: {column.why}"
        missing = 100 * float(self.gaps(j).mean())
        return ColumnDescription(column.name, column.kind, self._values(j), missing, use)

    def _values(self, j):
        """Levels or range."""
        raw = self.raw
        if j == raw.target and self.classes is not None:
            return _levels(self.classes.items())
        if j in raw.texts:
            counts = Counter(cell for cell in raw.texts[j] if cell is not None)
            if len(counts) > max(MOST_NAMED, sum(counts.values()) // 2):
                first = next(cell for cell in raw.texts[j] if cell is not None)
                return f"{len(counts)} different, such as {first}"
            return _levels(sorted(counts.items(), key=_by_size))
        values = raw.target_values if j == raw.target else None
        if j in self._places:
            values = raw.values[:, self._places[j]]
        if values is None:
            return ""
        values = values[~np.isnan(values)]
        if not len(values):
            return "no values"
        low, high = values.min(), values.max()
        return f"{low:g}" if low == high else f"{low:g} to {high:g}"

    # --- what stands out

    def warnings(self, columns):
        """Findings about the data as a whole."""
        found = [*self._looks_missing(columns)]
        known = () if self.y is None else self.y[~self.absent].tolist()
        if len(known) and are_dates(known):
            found.append(
                Finding(
                    Severity.ERROR,
                    f"The target {self.target_name!r} holds dates, such as {known[0]!r}.",
                    advice="Write it as numbers or as classes.",
                )
            )
        used = [(j, column) for j, column in enumerate(columns) if column.used
                and column.kind is not Kind.DATE]  # fmt: skip
        if not used:
            return found
        X, y, keep = matrix_of(self.raw, used), self.y, ~self.absent
        if y is not None and not keep.any():
            return found
        names = [column.name for _, column in used] if self.raw.named else None
        X, y = X[keep], None if y is None else y[keep]
        classes = self.classes is not None
        y = np.array([str(label) for label in y]) if y is not None and y.dtype == object else y
        some = find_warnings(X, y, names=names, classes=classes, scaled=True)
        if y is not None:
            said = {finding.column for finding in some}
            leaks = _determine(X, y, classes, [column.name for _, column in used])
            some += [finding for finding in leaks if finding.column not in said]
        # they count the columns in use
        places = {k + 1: j + 1 for k, (j, _) in enumerate(used)} | {None: None}
        return found + [replace(finding, column=places[finding.column]) for finding in some]

    def _looks_missing(self, columns):
        """Levels and numbers that may stand for a missing value."""
        for j, column in enumerate(columns):
            counts = Counter(self.raw.texts[j]) if j in self.raw.texts and column.used else {}
            for level in column.levels:
                if level in LOOKS_MISSING or level.lower() in LOOKS_MISSING:
                    yield Finding(
                        Severity.WARNING,
                        f"{level!r} in column {column.name!r} ({counts[level]} rows) looks like a "
                        "missing value.",
                        column=j + 1, advice=f"If so, use na_values=[{level!r}].",
                    )  # fmt: skip
        values = self.raw.values
        if not len(values) or not values.shape[1]:
            return
        low = np.fmin.reduce(values, axis=0)
        for k in np.flatnonzero(np.isin(low, CODES)):
            others = values[values[:, k] != low[k], k]
            if len(others) and np.nanmin(others) >= 0:
                j = self.raw.numbers[k]
                yield Finding(
                    Severity.WARNING,
                    f"{low[k]:g} in column {self.raw.names[j]!r} looks like a missing value; all "
                    "others are at least 0.",
                    column=j + 1, advice=f"If so, use na_values=['{low[k]:g}'].",
                )  # fmt: skip


def _by_size(item):
    return -item[1], str(item[0])


def _levels(pairs):
    pairs = list(pairs)
    shown = ", ".join(f"{level} {n}x" for level, n in pairs[:MOST_NAMED])
    return shown + (f" and {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else "")


def _determine(X, y, classes, names):
    """Columns that alone say the target of every row."""
    if len(y) < FEWEST or len(np.unique(y)) < 2:
        return
    code = np.unique(y, return_inverse=True)[1]
    for k, name in enumerate(names):
        values = X[:, k]
        known = ~np.isnan(values)
        if known.sum() < max(FEWEST, 0.5 * len(y)) or len(np.unique(code[known])) < 2:
            continue
        how = _says(values[known], code[known], classes)
        if how:
            yield Finding(
                Severity.WARNING,
                f"Column {name!r} alone determines the target: {how}.",
                column=k + 1,
                advice="Leave it out unless it is known before the target.",
            )


def _says(values, code, classes):
    """How values determine the target, if they do."""
    order = np.lexsort((code, values))
    values, code = values[order], code[order]
    same = values[1:] == values[:-1]
    if (code[1:] != code[:-1])[same].any():
        return None  # one value has several targets
    if len(np.unique(values)) <= len(values) // 2:
        return "each of its values has only one target"
    changes = np.count_nonzero(code[1:] != code[:-1])
    if classes and changes == len(np.unique(code)) - 1:
        return "each class has its own range"
    steps = np.diff(code)
    if not classes and (np.all(steps >= 0) or np.all(steps <= 0)):
        return "it rises or falls with the target in every row"
    return None
