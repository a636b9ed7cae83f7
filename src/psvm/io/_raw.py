"""From the cells of a file to a `Table`: kinds of columns, codes, target, missing values."""

import warnings
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from ._columns import as_labels, expand_categories
from ._complaints import MISSING_ADVICE, SHOWN
from ._dialect import find_column, suggestion
from ._errors import DataError
from ._kinds import days_of, judge_numbers, judge_text, level_finder, relates_rows, spellings
from ._notation import Mixed, NumberColumn, read_cell
from ._schema import NA_VALUES, Column, Kind, Schema
from ._table import Coded, Table

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
    decimals: frozenset[str] = frozenset()
    """Decimal signs that cells of columns of numbers show."""
    lines: np.ndarray | None = None
    """The line of each row in a text file."""
    detection: list[str] = field(default_factory=list)
    written: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Decimal sign and unit of numbers that were read as text."""
    unclear: set[int] = field(default_factory=set)
    """Columns of text whose cells do not go together."""

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
    for problem in prepare(raw, options):
        raise problem
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
    if table.schema is not None:
        table.X = X if table.schema.plain else X.view(Coded)
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


# --- how cells are written


def prepare(raw, options):
    """Read numbers and words as they are meant, however they are written.

    Returns
    -------
    list of DataError
        What is wrong with columns whose cells do not go together.
    """
    markers = options.markers
    for j, cells in raw.texts.items():
        if j != raw.target:
            raw.texts[j] = [None if cell is None or cell in markers else cell for cell in cells]
    problems = read_numbers(raw, options)
    if options.schema == "infer":
        _merge_spellings(raw, options)
    return problems


def _may_be_numbers(raw, options, j):
    """The cells of a column that may be numbers, None if they are not meant as such."""
    schema, kind = options.schema, options.types.get(raw.names[j])
    if j == raw.row_names:
        return None
    if isinstance(schema, Schema):
        column = _of_schema(raw, schema, j)
        kind = Kind.TEXT if column is None else column.kind
        if j == raw.target:
            words = any(isinstance(level, str) for level in schema.target_levels or ())
            kind = Kind.TEXT if words else None
    elif j == raw.target:
        kind = None
    if kind not in (None, Kind.NUMBER):
        return None
    return [None if cell in options.markers else cell for cell in raw.texts[j]]


def _of_schema(raw, schema, j):
    """The column of a schema that a column of the file is."""
    if schema.named:
        return schema.by_name.get(raw.names[j])
    columns, places = apply_schema(raw, schema)
    raw.detection.clear()
    return dict(zip(places, columns, strict=True)).get(j)


def shown_decimals(raw, options):
    """The decimal signs that cells of the table show."""
    found = set(raw.decimals)
    for j in raw.texts:
        cells = _may_be_numbers(raw, options, j)
        with suppress(Mixed):
            numbers = None if cells is None else NumberColumn.of(cells)
            found |= set() if numbers is None else {numbers.evidence} - {None}
    return found


def read_numbers(raw, options):
    """Make numbers of columns of text that hold numbers; returns the problems."""
    known, problems, values = shown_decimals(raw, options), [], {}
    for j, cells in raw.texts.items():
        cells = _may_be_numbers(raw, options, j)
        if cells is None:
            continue
        try:
            found = _numbers_in(raw, options, j, cells, known)
        except Mixed as error:
            problems.append(raw.error(
                f"In column {raw.names[j]!r} {error.message}.", j, raw.texts[j].index(error.cell),
                error.advice,
            ))  # fmt: skip
            raw.unclear.add(j)
            continue
        if found is not None:
            values[j] = found
    for j, found in values.items():
        del raw.texts[j]
        if j == raw.target:
            raw.target_values = found
        else:
            raw.values = np.column_stack([raw.values, found])
            raw.numbers = [*raw.numbers, j]
    return problems


def _numbers_in(raw, options, j, cells, known):
    """The values of a column of text, None if it holds words; how they are written is noted."""
    schema, name = options.schema, raw.names[j]
    before = _of_schema(raw, schema, j) if isinstance(schema, Schema) and j != raw.target else None
    if before is not None and not any(cell is not None for cell in cells):
        return np.full(raw.n_rows, np.nan)
    numbers = NumberColumn.of(cells)
    if numbers is None:
        if before is not None or options.types.get(name) is Kind.NUMBER:
            cell = next(c for c in cells if c is not None and read_cell(c) is None)
            raise Mixed(f"{cell!r} is not a number", cell, f"Fix the cell; {_marker_advice(cell)}.")
        return None
    if before is not None and numbers.unit != before.unit:
        cell = next(iter(numbers.counts))
        unit = f"is in {before.unit!r}" if before.unit else "has no unit"
        raise Mixed(f"{cell!r} does not fit: the training data {unit}", cell)
    given = None if options.decimal == "auto" else options.decimal
    prior = set() if before is None else {before.decimal}
    hint = "," if raw.delimiter == ";" else None
    decimal = numbers.decimal(given, known | prior, hint)
    raw.written[j] = decimal, numbers.unit
    if numbers.guess and prior != {decimal}:
        _warn(f"In column {name!r} {numbers.guess}.")
    if numbers.bounds and before is None:
        (cell, _), *_ = numbers.bounds.items()
        rows = sum(numbers.bounds.values())
        _warn(
            f"{cell!r} in column {name!r} is read as {numbers.written[cell].values[decimal]:g}: "
            f"bounds are taken for their numbers, in {rows} rows."
        )
    return numbers.values(cells, decimal)


def _marker_advice(cell):
    return f"if it stands for a missing value, use na_values=[{cell!r}]"


def _merge_spellings(raw, options):
    """Words that differ in capitals or blanks only are one word, the most frequent; it is said."""
    for j, cells in raw.texts.items():
        if j == raw.row_names or options.types.get(raw.names[j]) not in (None, Kind.NUMBER):
            continue
        merged = spellings(cells)
        if not merged:
            continue
        raw.texts[j] = [merged.get(cell, cell) for cell in cells]
        shown = _some([f"{one!r} for {other!r}" for one, other in sorted(merged.items())])
        apart = (
            "fix the cells" if j == raw.target else f"use types={{{raw.names[j]!r}: 'category'}}"
        )
        _warn(
            f"Words that differ in capitals only are taken for one in column {raw.names[j]!r}: "
            f"{shown}. If they are different, {apart}."
        )


def _warn(text):
    warnings.warn(text, UserWarning, stacklevel=7)


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
    elif options.categorical == "drop" and any(c.kind is Kind.TEXT for c in columns):
        dropped = ", ".join(column.name for column in columns if column.kind is Kind.TEXT)
        raw.detection.append(f"Columns that are not numbers are left out: {dropped}.")
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
        columns[raw.numbers[k]] = as_written(raw, raw.numbers[k], column)


def as_written(raw, j, column):
    """The same column, with the way in which its numbers are written."""
    decimal, unit = raw.written.get(j, (raw.decimal, ""))
    return replace(column, decimal=decimal, unit=unit)


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
        return Column(name, kind, False, why="by type")
    column, problem = judge_text(name, cells, options.categorical)
    if problem == "date":
        row = _first(cells, lambda cell: True)
        raise raw.error(
            f"{cells[row]!r} in column {name!r} is a date, not a number.",
            j, row,
            f"Set types={{{name!r}: 'date'}} to use the days since 1970-01-01, or ignore it.",
        )  # fmt: skip
    if problem == "mixed":
        row = _first(cells, lambda cell: read_cell(cell) is None)
        raise raw.error(
            f"{cells[row]!r} in column {name!r} is not a number, but most of its cells are.",
            j, row,
            f"Fix the cell; {_marker_advice(cells[row])}; for words use "
            f" types={{{name!r}: 'category'}}; or ignore the column.",
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
        f"No column is left to learn from: {_some(reasons)}.",
        file=raw.source,
        advice=f"Set the type of a column, such as types={{{raw.names[0]!r}: 'number'}}.",
    )


def _schema(raw, options, columns, n_columns):
    """What was found out about the columns; it is said, too."""
    coded = [f"{c.name} ({len(c.levels)} levels)" for c in columns if c.kind is Kind.CATEGORY
             and c.used]  # fmt: skip
    if coded:
        raw.detection.append(f"Columns of words are encoded as columns of 0 and 1: {_some(coded)}.")
    for column in columns:
        comma = " with a decimal comma" if column.decimal == "," != raw.decimal else ""
        if column.used and (comma or column.unit):
            unit = f" in {column.unit}" if column.unit else ""
            raw.detection.append(f"Column {column.name!r} holds numbers{comma}{unit}.")
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
            f"use na_values=[{level!r}].",
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
            f"{schema.n_columns} columns, and {len(absent)} of them are missing.",
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
            f"Some levels were not in the training data: {shown}. They count as rare levels if "
            "the training data had rare levels; otherwise all their columns are 0.",
            UserWarning,
            stacklevel=5,
        )
    return X


def _codes(cells, levels):
    """The place of the level of each cell, NaN where it is missing, and unknown levels."""
    find = level_finder(levels)
    code = {cell: find(cell) for cell in set(cells) - {None}}
    new = sorted(cell for cell, place in code.items() if place is None)
    code |= {level: len(levels) + k for k, level in enumerate(new)}
    code[None] = np.nan
    return np.array([code[cell] for cell in cells], dtype=np.float64), new


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
        cells = _as_classes(cells, options.schema)
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


def _as_classes(cells, schema):
    """Classes in the spelling of those that a model knows."""
    levels = schema.target_levels if isinstance(schema, Schema) else None
    if not levels or not all(isinstance(level, str) for level in levels):
        return cells
    find = level_finder(levels)
    places = {cell: find(cell) for cell in set(cells) - {None}}
    return [cell if places.get(cell) is None else levels[places[cell]] for cell in cells]


def _target_markers(raw, options, cells):
    """The markers of missing targets: a word that is the name of a class is none."""
    if isinstance(options.schema, Schema):
        levels = {str(level) for level in options.schema.target_levels or ()}
        return options.markers - levels
    classes = sorted((WORDS & options.markers & set(cells)).difference(options.na_values))
    for word in classes:
        warnings.warn(
            f"{word!r} is taken for a class of the target {raw.names[raw.target]!r}, in "
            f"{cells.count(word)} rows. If these rows have no target, use na_values=[{word!r}].",
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
