"""From the cells of a file to a `Table`: kinds of columns, codes, target, missing values."""

import warnings
from dataclasses import dataclass, field

import numpy as np

from .._core._csv import parse_number
from ._columns import as_labels, expand_categories
from ._complaints import MISSING_ADVICE, SHOWN
from ._dialect import find_column, suggestion
from ._errors import DataError
from ._kinds import days_of, judge_numbers, judge_text, relates_rows
from ._schema import NA_VALUES, Column, Kind, Schema
from ._table import Table

WORDS = frozenset(("NA", "N/A", "n/a", "None", "NULL", "null"))
"""Markers of missing values that may also be the name of a class."""
DOUBTFUL = frozenset(("?", "-", "--", ".", "none", "NAN", "N.A.", "n.a.", *NA_VALUES))
"""Levels that somebody may have written for a missing value."""
MOST_NAMED = 8
"""Columns or levels that a sentence names."""


@dataclass
class Raw:
    """The columns of a file as they were read."""

    names: list[str]
    """Of all columns."""
    named: bool
    """Whether the file has names."""
    values: np.ndarray
    """Columns of numbers; NaN where they are missing."""
    numbers: list[int]
    """Which columns these are."""
    texts: dict[int, list]
    """Cells of columns of text; None where an array format has no value."""
    source: str
    format: str
    decimal: str = "."
    delimiter: str | None = None
    target: int | None = None
    target_values: np.ndarray | None = None
    """The target, if it is numbers; it is not among `values`."""
    row_names: int | None = None
    labels: list[str] | None = None
    """Names of the rows, if they are not a column."""
    lines: np.ndarray | None = None
    """The line of each row in a text file."""
    detection: list[str] = field(default_factory=list)

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.values)

    def place(self, row):
        """How an error names a row."""
        return f"row {row + 1}" if self.lines is None else f"line {self.lines[row]}"

    def error(self, message, column, row=None, advice=""):
        """A `DataError` at a cell."""
        line = None if self.lines is None or row is None else int(self.lines[row])
        return DataError(message, file=self.source, line=line, column=column + 1, advice=advice)


def assemble(raw, options):
    """The `Table` of a file."""
    if options.raw:
        return raw
    refuse_repeated(raw.names, raw.source)
    markers = options.markers
    for j, cells in raw.texts.items():
        if j != raw.target:
            raw.texts[j] = [None if cell is None or cell in markers else cell for cell in cells]
    if isinstance(options.schema, Schema):
        columns, places = apply_schema(raw, options.schema)
    else:
        columns, places = _judge(raw, options)
    used = [(places[k], column) for k, column in enumerate(columns) if column.used]
    X = matrix_of(raw, used)
    y, absent = target_of(raw, options)
    labels = _labels(raw, columns if options.schema == "infer" else ())
    keep = _treat_missing(raw, options, X, used, absent)
    if keep is not None:
        X, y = X[keep], None if y is None else y[keep]
        labels = None if labels is None else [v for v, k in zip(labels, keep, strict=True) if k]
        raw.detection.append(f"{(~keep).sum()} rows with missing values were left out.")
    numbers = np.arange(1, raw.n_rows + 1)
    if not len(X):
        raise DataError(
            "There are no rows of data.",
            file=raw.source,
            advice="Lines with missing values were left out." if raw.n_rows else "",
        )
    table = Table(
        X,
        y,
        [column.name for _, column in used] if raw.named else None,
        labels,
        None if raw.target is None else raw.names[raw.target],
        raw.detection,
        raw.source,
        raw.format,
        numbers if keep is None else numbers[keep],
    )
    if isinstance(options.schema, Schema):
        table.schema = options.schema
    elif options.schema is not None:
        table.schema = _schema(raw, options, columns, len(used))
    elif any(column.kind is Kind.CATEGORY for _, column in used):
        expand_categories(table, [column for _, column in used])
    return table


def refuse_repeated(names, source, what="columns", places=None):
    """Complain about names of features that come twice."""
    seen = {}
    for j, name in enumerate(names):
        if name in seen:
            i, j = (seen[name] + 1, j + 1) if places is None else (places[seen[name]], places[j])
            raise DataError(
                f"The {what} {i} and {j} have the same name {name!r}.",
                file=source,
                advice="Rename one of them, or leave one out of the file.",
            )
        seen[name] = j


# --- what the columns are


def _judge(raw, options):
    """All columns of a file in their order, and their places."""
    columns = [None] * len(raw.names)
    if raw.target is not None:
        columns[raw.target] = Column(raw.names[raw.target], Kind.TARGET, False)
    if raw.row_names is not None:
        why = "it names the rows"
        columns[raw.row_names] = Column(raw.names[raw.row_names], Kind.IDENTIFIER, False, why=why)
    _judge_numbers(raw, options, columns)
    for j, cells in raw.texts.items():
        if columns[j] is None:
            columns[j] = _judge_text(raw, options, j, cells)
    for j, name in enumerate(raw.names):
        columns[j] = columns[j] or Column(name, Kind.IGNORED, False, why="it is ignored")
    if options.schema is not None:
        _refuse_nothing(raw, columns)
    if options.features is not None:
        order = [find_column(str(f), raw.names, raw.source, "one of features")
                 for f in options.features]  # fmt: skip
        return [columns[j] for j in order], order
    return columns, list(range(len(columns)))


def _judge_numbers(raw, options, columns):
    kept = [k for k, j in enumerate(raw.numbers) if columns[j] is None]
    names = [raw.names[raw.numbers[k]] for k in kept]
    labels = raw.labels if raw.row_names is None else raw.texts[raw.row_names]
    leave_out = options.schema is not None and options.leave_out
    values = raw.values if len(kept) == len(raw.numbers) else raw.values[:, kept]
    if leave_out and relates_rows(values, names if raw.named else None, labels):
        leave_out = False
    found = judge_numbers(names, values, raw.named, options.types, leave_out)
    alone = not any(column.used for column in found) and not set(raw.texts) - {
        raw.target, raw.row_names
    }  # fmt: skip
    for k, column in zip(kept, found, strict=True):
        if alone and column.kind is Kind.IDENTIFIER and not column.used:
            column = Column(column.name, Kind.NUMBER)  # a single column may well count
        columns[raw.numbers[k]] = column


def _judge_text(raw, options, j, cells):
    """The kind of a column of text, as it is asked for or as it seems to be."""
    name, kind = raw.names[j], options.types.get(raw.names[j])
    if options.schema is None:
        if options.categorical == "drop":
            return Column(name, Kind.TEXT, False, why="it is not numbers")
        return Column(name, Kind.CATEGORY, levels=_levels(cells))
    if kind == Kind.CATEGORY:
        return Column(name, Kind.CATEGORY, levels=_levels(cells))
    if kind == Kind.DATE:
        return Column(name, Kind.DATE)
    if kind in (Kind.IDENTIFIER, Kind.TEXT):
        return Column(name, kind, False, why="it is said to be one")
    column, problem = judge_text(name, cells, raw.decimal, options.categorical)
    if problem == "date":
        row = _first(cells, lambda cell: True)
        raise raw.error(
            f"{cells[row]!r} in column {name!r} is a date, and dates are no numbers.",
            j, row,
            f"Say types={{{name!r}: 'date'}} to use the days since 1970-01-01, or ignore it.",
        )  # fmt: skip
    if problem == "mixed":
        code = ord(raw.decimal)
        row = _first(cells, lambda cell: parse_number(cell.encode(), code) is None)
        raise raw.error(
            f"{cells[row]!r} in column {name!r} is not a number, but most of its cells are.",
            j, row,
            f"Fix the cell; if it stands for a missing value, say na_values=[{cells[row]!r}]; if "
            f"these are words, types={{{name!r}: 'category'}}; or ignore the column.",
        )  # fmt: skip
    return column


def _levels(cells):
    return tuple(sorted({cell for cell in cells if cell is not None}))


def _first(cells, wrong):
    """The row of the first cell that is there and for which something holds."""
    return next(i for i, cell in enumerate(cells) if cell is not None and wrong(cell))


def _refuse_nothing(raw, columns):
    """Complain if no column is left."""
    if any(column.used for column in columns):
        return
    reasons = [f"{column.name!r} ({column.why})" for column in columns if column.why]
    raise DataError(
        f"There is no column left to learn from: {_some(reasons)}.",
        file=raw.source,
        advice=f"Say what a column is, such as types={{{raw.names[0]!r}: 'number'}}.",
    )


def _schema(raw, options, columns, n_columns):
    """What was found out about the columns; it is said, too."""
    coded = [f"{c.name} ({len(c.levels)} levels)" for c in columns if c.kind is Kind.CATEGORY
             and c.used]  # fmt: skip
    if coded:
        raw.detection.append(f"Columns of words are encoded as columns of 0 and 1: {_some(coded)}.")
    left_out = [
        f"{c.name} ({c.why})" for c in columns if c.why and c.name != _name(raw, raw.row_names)
    ]
    if left_out:
        raw.detection.append(f"Columns that are left out: {_some(left_out)}.")
    _warn_of_doubtful(columns)
    own = raw.row_names if raw.row_names is not None else _own_names(raw, columns)
    missing = {"nan": "impute"}.get(options.missing, options.missing)
    return Schema(
        tuple(columns),
        n_columns,
        raw.named,
        _name(raw, raw.target),
        row_names=_name(raw, own),
        missing=missing,
        na_values=options.all_na_values,
        transpose=options.transpose,
        delimiter=raw.delimiter,
    )


def _warn_of_doubtful(columns):
    """Name levels that look like missing values."""
    found = {}
    for column in columns:
        for level in DOUBTFUL.intersection(column.levels if column.used else ()):
            found.setdefault(level, []).append(column.name)
    for level, names in sorted(found.items()):
        warnings.warn(
            f"{level!r} is taken for a level of {_some(names)}. If it stands for a missing value, "
            f"say na_values=[{level!r}].",
            UserWarning,
            stacklevel=6,
        )


def _name(raw, place):
    return None if place is None else raw.names[place]


def _some(items):
    more = f" and {len(items) - MOST_NAMED} more" if len(items) > MOST_NAMED else ""
    return ", ".join(items[:MOST_NAMED]) + more


# --- a schema that is there already


def apply_schema(raw, schema):
    """The columns of a schema and their places in a file, by name or, without names, by place."""
    if not schema.named:
        columns = schema.used or (Column("", Kind.NUMBER),) * schema.n_columns
        return columns, _by_place(raw, schema)
    taken = {_name(raw, raw.target), _name(raw, raw.row_names)}
    places, notes = by_name(schema, raw.names, raw.source, taken)
    raw.detection += notes
    return schema.used, places


def by_name(schema, names, source, taken=()):
    """Places of the columns in use among names, and a sentence about others."""
    place = {name: j for j, name in enumerate(names)}
    absent = [column.name for column in schema.used if column.name not in place]
    if absent:
        raise DataError(
            f"There is no column {_some([repr(name) for name in absent])}; the model needs "
            f"{schema.n_columns} columns, and {len(absent)} of them are not there.",
            file=source,
            advice=suggestion(absent[0], names),
        )
    known = {column.name for column in schema.columns}
    extra = [name for name in names if name not in known and name not in taken]
    note = f"Columns that the model does not know are ignored: {_some(extra)}."
    return [place[column.name] for column in schema.used], [note] if extra else []


def _by_place(raw, schema):
    """Places of the columns in use: the file has those of the fit, with or without the target."""
    free = [j for j in range(len(raw.names)) if j not in (raw.row_names, raw.target)]
    before = [c for c in schema.columns if c.name != schema.row_names]
    if not schema.columns:
        before = [Column("", Kind.NUMBER)] * schema.n_columns
    if len(before) != len(free) or raw.target is not None:
        before = [column for column in before if column.kind is not Kind.TARGET]
    if len(before) != len(free):
        raise DataError(
            f"There are {len(free)} columns, but the model was fitted to {len(before)} that have "
            "no names.",
            file=raw.source,
        )
    return [j for j, column in zip(free, before, strict=True) if column.used]


# --- the matrix


def matrix_of(raw, used):
    """Numbers and codes of the columns in use."""
    where = {j: k for k, j in enumerate(raw.numbers)}
    whole = [where.get(j) for j, _ in used]
    if whole == list(range(len(raw.numbers))):
        return raw.values
    X = np.empty((raw.n_rows, len(used)))
    plain = [k for k, source in enumerate(whole) if source is not None]
    X[:, plain] = raw.values[:, [whole[k] for k in plain]]
    unseen = {}
    for k, (j, column) in enumerate(used):
        if whole[k] is None and column.kind is Kind.DATE:
            X[:, k] = _days(raw, j)
        elif whole[k] is None:
            X[:, k], new = _codes(raw.texts[j], column.levels)
            unseen.update({column.name: new} if new else {})
    if unseen:
        shown = "; ".join(f"{name}: {_some(levels)}" for name, levels in unseen.items())
        warnings.warn(
            f"Some levels were not there when the model was fitted: {shown}. They count as rare "
            "levels if there were such, else as none of the known ones.",
            UserWarning,
            stacklevel=5,
        )
    return X


def _codes(cells, levels):
    """The place of the level of each cell, NaN where it is missing, and unknown levels."""
    code = {level: float(k) for k, level in enumerate(levels)}
    new = sorted({cell for cell in cells if cell is not None and cell not in code})
    code |= {level: float(len(levels) + k) for k, level in enumerate(new)}
    code[None] = np.nan
    return np.array([code[cell] for cell in cells]), new


def _days(raw, j):
    found = np.full(raw.n_rows, np.nan)
    for i, cell in enumerate(raw.texts[j]):
        if cell is not None:
            try:
                found[i] = days_of(cell)
            except ValueError as error:
                raise raw.error(f"In column {raw.names[j]!r} {error}.", j, i) from None
    return found


# --- rows


def _labels(raw, columns):
    """Names of the rows: a column of the file, or the first identifier."""
    place = raw.row_names
    if place is None and raw.labels is None:
        place = _own_names(raw, columns)
    if place is None:
        return raw.labels
    if place in raw.texts:
        return ["" if cell is None else cell for cell in raw.texts[place]]
    numbers = raw.values[:, raw.numbers.index(place)]
    return [f"{number:.0f}" for number in numbers]


def _own_names(raw, columns):
    """The first column that is an identifier and has no repetitions, if there is one."""
    for j, column in enumerate(columns):
        if column.kind is Kind.IDENTIFIER:
            cells = raw.texts[j] if j in raw.texts else raw.values[:, raw.numbers.index(j)].tolist()
            if None not in cells and len(set(cells)) == len(cells):
                return j
    return None


def target_of(raw, options):
    """The target, and which rows have none."""
    j = raw.target
    if j is None:
        return None, np.zeros(raw.n_rows, dtype=bool)
    if j in raw.texts:
        cells = raw.texts[j]
        markers = _target_markers(raw, options, cells)
        absent = np.array([cell is None or cell in markers for cell in cells], dtype=bool)
        if not absent.any():
            return as_labels(cells), absent
        y = np.full(len(cells), None, dtype=object)
        known = as_labels([cell for cell, gone in zip(cells, absent, strict=True) if not gone])
        if known.dtype.kind in "fiu":
            y = np.full(len(cells), np.nan)
        y[~absent] = known
        return y, absent
    y = raw.target_values
    absent = np.isnan(y)
    return (y if absent.any() else as_labels(y)), absent


def _target_markers(raw, options, cells):
    """The markers of missing targets: a word that is the name of a class is none."""
    if isinstance(options.schema, Schema):
        levels = {str(level) for level in options.schema.target_levels or ()}
        return options.markers - levels
    classes = sorted((WORDS & options.markers & set(cells)).difference(options.na_values))
    for word in classes:
        warnings.warn(
            f"{word!r} is taken for a class of the target {raw.names[raw.target]!r}, in "
            f"{cells.count(word)} rows. If these rows have no target, say na_values=[{word!r}].",
            UserWarning,
            stacklevel=5,
        )
    return options.markers - set(classes)


def _treat_missing(raw, options, X, used, absent):
    """Which rows are kept, None for all; or an error that names the gaps."""
    gaps = np.isnan(X)
    applied = isinstance(options.schema, Schema)
    if options.missing == "drop":
        gone = gaps.any(axis=1) | absent
        return ~gone if gone.any() else None
    places = [j for j, _ in used]
    found = []
    number = 0
    if options.missing == "error":
        number += int(gaps.sum())
        found = [(i, places[k]) for i, k in np.argwhere(gaps)[:SHOWN]]
    if not applied:
        number += int(absent.sum())
        found += [(i, raw.target) for i in np.flatnonzero(absent)[:SHOWN]]
    if number:
        raise _missing_error(raw, sorted(found)[:SHOWN], number)
    return None


def _missing_error(raw, gaps, number):
    """There are missing values; the first ones are at `gaps`."""
    called = [f" {raw.names[j]!r}" if raw.named else "" for _, j in gaps]
    shown = "; ".join(
        f"{raw.place(i)}, column {j + 1}{name}" for (i, j), name in zip(gaps, called, strict=True)
    )
    more = f" and {number - len(gaps)} more" if number > len(gaps) else ""
    message = f"{number} missing value{'s' * (number > 1)}: {shown}{more}."
    i, j = gaps[0]
    return raw.error(message, int(j), int(i), MISSING_ADVICE)
