"""How a text file is written: delimiter, decimal point, header, row names; from its first lines."""

import csv
import difflib
import numbers
import re
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from .._core._csv import parse_number
from .._validation import LARGEST, check_integer, shown
from ._errors import DataError
from ._notation import UNCLEAR, looks_numeric, read_cell
from ._schema import Kind, Schema

DELIMITERS = {"\t": "tab", ";": "semicolon", ",": "comma", "|": "bar", " ": "blank"}
"""Those that are tried, in the order of preference, and what they are called."""
NAMES_OF_ROWS = re.compile(
    r"|unnamed: 0|(row|sample|object|patient|probe|gene|protein)?[ _.-]?(id|name|names|symbol)s?"
    r"|index|rownames?|accession|sample|gene|probe|protein|identifier",
    re.IGNORECASE,
)
SUGGESTED = 100_000
"""Names among which similar ones are looked for."""
MOST_TITLES = 20
"""Rows above a header."""
SAMPLE_ROWS, SAMPLE_CELLS = 100, 200_000
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """How a text file is written.

    Attributes
    ----------
    delimiter, decimal : str
    names : list of str
        One per column.
    has_header : bool
    row_names : int or None
        The column with the names of the rows.
    text : frozenset of int
        Columns that are not numbers in the first rows.
    start : int
        The byte at which the rows begin.
    line : int
        The line there, counted from 1.
    decimals : frozenset of str
        The decimal signs that numbers in the first rows show.
    unclear : frozenset of int
        Columns of numbers all of whose decimal signs may as well separate thousands.
    notes : list of str
        What was detected.
    """

    delimiter: str
    decimal: str
    names: list
    has_header: bool
    row_names: int | None
    text: frozenset
    start: int
    line: int
    decimals: frozenset = frozenset()
    unclear: frozenset = frozenset()
    notes: list = field(default_factory=list)


def is_number(cell, decimal):
    """Whether a cell is a number, however it is written."""
    return _is_plain(cell, decimal) or looks_numeric(cell)


def _is_plain(cell, decimal):
    return parse_number(cell.strip().encode("utf-8", "replace"), ord(decimal)) is not None


def detect(head, options, path):
    """Find out how a text is written.

    Parameters
    ----------
    head : bytes
        Some complete lines from the beginning of the file.
    options : ReadOptions
    path : str

    Returns
    -------
    Dialect
    """
    lines = head.splitlines(keepends=True)
    skipped = options.skip_lines or 0
    while skipped < len(lines) and (not lines[skipped].strip() or lines[skipped][:1] == b"#"):
        skipped += 1
    if skipped >= len(lines):
        raise DataError("The file is empty.", file=path, advice="There must be rows of numbers.")
    texts = [line.decode("utf-8", "surrogateescape") for line in lines[skipped:]]
    delimiter = options.delimiter
    if delimiter == "auto":
        delimiter = _known_delimiter(texts, options.schema) or _find_delimiter(texts)
    rows, used = _split(texts, delimiter, SAMPLE_ROWS)
    titles = (
        _count_titles(rows) if options.skip_lines is None and options.header is not False else 0
    )
    above = [text for text in (" ".join(filter(None, row)) for row in rows[:titles]) if text]
    if titles:
        skipped += used[titles - 1]
        used = [line - used[titles - 1] for line in used[titles:]]
        rows = rows[titles:]
    rows = rows[: max(3, SAMPLE_CELLS // len(rows[0]))]
    used = used[:1]
    if options.transpose:  # rows that may be text
        special = {options.target, *options.ignore}
        rows = [rows[0], *(row for row in rows[1:] if row[0] not in special)]
    decimal = options.decimal
    if options.typed:
        decimal = "."
    elif decimal == "auto":
        decimal = _find_decimal(rows, delimiter)
    has_header = options.header
    if has_header == "auto":
        has_header = _find_header(rows, decimal, options)
    header, body = (rows[0], rows[1:]) if has_header else (None, rows)
    width = len(body[0]) if body else len(rows[0])
    if has_header and len(header) == width - 1:
        header = ["", *header]  # as R writes tables with row names
    names = [f"x{j}" for j in range(width)] if header is None else _tidy(header, path, skipped + 1)
    text = frozenset(j for j in range(width) if _is_text(body, j, decimal, options.markers))
    given = names if has_header else None
    row_names = _find_row_names(given, body, text, decimal, options, names, path)
    start_line = skipped + (used[0] if has_header else 0)
    dialect = Dialect(
        delimiter,
        decimal,
        names,
        bool(has_header),
        row_names,
        text,
        sum(map(len, lines[:start_line])),
        start_line + 1,
        *_shown_decimals(body, text),
    )
    dialect.notes.extend(_describe(dialect, skipped, above))
    return dialect


def _count_titles(rows):
    """Rows above the header, such as a title or merged cells: fewer of their cells are filled."""
    widths = [len(row) for row in rows]
    width = max(set(widths), key=widths.count)
    for i, row in enumerate(rows[: MOST_TITLES + 1]):
        below = rows[i + 1] if i + 1 < len(rows) else []
        of_names = _is_filled(below, width) and not _may_be_header(below, width)
        if _may_be_header(row, width) or (of_names and _may_be_header(row, width - 1)):
            return i
        if _is_filled(row, width):
            return 0  # a row of the table
    return 0


def _is_filled(row, width):
    """Whether a row has all cells, and more than half of them are not empty."""
    return len(row) >= width and 2 * sum(map(bool, row)) > width


def _may_be_header(row, width):
    """Whether a row has a word in each cell but the first, which may be empty."""
    whole = width > 1 and len(row) == width and all(row[1:])
    return whole and not any(looks_numeric(cell) for cell in row if cell)


def _split(texts, delimiter, n_rows):
    """Cells of the first rows, and the number of lines up to the end of each row."""
    if delimiter == " ":
        lines = [(i, line.strip(" \t\r\n")) for i, line in enumerate(texts[:n_rows], 1)]
        lines = [(i, line) for i, line in lines if line] or [(1, "")]
        rows = [re.split("[ \t]+", line.replace('"', "")) for _, line in lines]
        return rows, [i for i, _ in lines]
    reader = csv.reader(texts, delimiter=delimiter, skipinitialspace=True)
    rows, used = [], []
    try:
        for row in islice(reader, n_rows):
            if row:
                rows.append([cell.strip() for cell in row])
                used.append(reader.line_num)
    except csv.Error:
        pass  # a quote that is not closed; the parser names its line
    if not rows:
        rows, used = [texts[0].strip().split(delimiter)], [1]
    return rows, used


def _known_delimiter(texts, schema):
    """The delimiter of a schema, if with it the first line has its names and all are as long."""
    known = getattr(schema, "delimiter", None)
    if known is None or not schema.named or schema.transpose:
        return None
    rows, _ = _split(texts, known, 20)
    same = all(len(row) == len(rows[0]) for row in rows)
    return known if same and {column.name for column in schema.used} <= set(rows[0]) else None


def _find_delimiter(texts):
    """The delimiter that cuts the first lines into equally many cells; or all but the header."""
    best, best_score = ",", 0
    for delimiter in DELIMITERS:
        rows, _ = _split(texts, delimiter, 20)
        widths = [len(row) for row in rows]
        body = widths[1:] or widths
        width = max(set(body), key=body.count)
        if width < 2:
            continue
        same = len(set(body)) == 1
        if same and widths[0] == width:
            return delimiter
        score = body.count(width) / len(body) + (same and widths[0] == width - 1)
        if score > best_score:
            best, best_score = delimiter, score
    return best


def _find_decimal(rows, delimiter):
    if delimiter == ",":
        return "."
    cells = [cell for row in rows[:20] for cell in row[:1000]]
    points = any(map(POINT_NUMBER.fullmatch, cells))
    commas = any(COMMA_NUMBER.fullmatch(cell) and not UNCLEAR.fullmatch(cell) for cell in cells)
    return "," if commas and not points else "."


def _shown_decimals(body, text):
    """The decimal signs that columns of numbers show, and the columns that leave it open."""
    shown, unclear = set(), set()
    for j in range(len(body[0]) if body else 0):
        if j in text:
            continue
        marked = [row[j] for row in body if j < len(row) and ("." in row[j] or "," in row[j])]
        written = [cell for cell in map(read_cell, marked) if cell is not None]
        if marked and all(cell.mark for cell in written):
            unclear.add(j)
        else:
            clear = [cell.values.keys() for cell in written if len(cell.values) == 1]
            shown.update(*clear)
    return frozenset(shown), frozenset(unclear)


def _find_header(rows, decimal, options):
    """Whether the first row names the columns.

    It does if it has text where the next rows have numbers, if it is shorter by one than they
    are, or if the target is named in it. Columns may be called by numbers, such as samples or
    wavelengths: then its first cell tells that names of rows stand below it.
    """
    first, body = rows[0], rows[1:]
    if isinstance(options.target, str) and not options.transpose and options.target in first:
        return True
    schema = options.schema
    if isinstance(schema, Schema) and schema.named and not options.transpose:
        return not {column.name for column in schema.used}.isdisjoint(first)
    if body and len(first) == len(body[0]) - 1:
        return True
    if not body:
        return not any(is_number(cell, decimal) for cell in first)
    for j, cell in enumerate(first):
        named = not is_number(cell, decimal) and cell not in options.markers
        if named and not _is_words(body, j, decimal, options.markers):
            return True
    above_names = NAMES_OF_ROWS.fullmatch(first[0]) and first[0] not in (row[0] for row in body)
    if above_names and len(first) > 1 and _is_text(body, 0, decimal, options.markers):
        return len(set(first)) == len(first)
    # A single column of text, such as labels: its name does not come again.
    if all(_is_text(body, j, decimal, options.markers) for j in range(len(first))):
        below = {cell for row in body for cell in row}
        return not any(cell in below for cell in first) and len(below) < len(body) * len(first)
    return first[0] == "" and not any(is_number(cell, decimal) for cell in first[1:])


def _is_text(body, j, decimal, markers):
    """Whether a column has a cell that is neither a plain number nor missing."""
    cells = (row[j] for row in body if j < len(row))
    return any(not _is_plain(cell, decimal) and cell not in markers for cell in cells)


def _is_words(body, j, decimal, markers):
    """Whether a column has a cell that is neither missing nor a number, however it is written."""
    cells = (row[j] for row in body if j < len(row))
    return any(not is_number(cell, decimal) and cell not in markers for cell in cells)


def _tidy(header, path, line):
    """Names of the columns; an empty one is called after its place."""
    names = [cell.strip() or f"x{j}" for j, cell in enumerate(header)]
    seen = {}
    for j, name in enumerate(names):
        if name in seen:
            raise DataError(
                f"The columns {seen[name] + 1} and {j + 1} have the same name {name!r}.",
                file=path,
                line=line,
                column=j + 1,
                advice="Rename one of them.",
            )
        seen[name] = j
        try:
            name.encode()
        except UnicodeEncodeError:
            raise not_utf8(name, path, line, j + 1) from None
    if header[0].strip() == "":
        names[0] = ""
    return names


def not_utf8(text, path, line, column):
    """The error for a cell with bytes that are not UTF-8."""
    raw = text.encode("utf-8", "surrogateescape")
    try:
        raw.decode()
        byte = raw[0]
    except UnicodeDecodeError as error:
        byte = raw[error.start]
    return DataError(
        f"The cell {raw.decode('utf-8', 'replace')!r} has the byte 0x{byte:02x}, which is not "
        "UTF-8.",
        file=path,
        line=line,
        column=column,
        advice="Save the file as UTF-8, or give its encoding, such as 'latin-1'.",
    )


def _find_row_names(header, body, text, decimal, options, names, path):
    """The column with the names of rows: the first one, if it looks like that."""
    choice = options.row_names
    if choice is False or len(names) == 1:
        return None
    if choice is True:
        return 0
    if choice != "auto":
        return find_column(choice, names, path, "row_names")
    target = options.target
    if target is not None and not options.transpose and target in (0, names[0]):
        return None
    if options.features is not None and names[0] in options.features:
        return None
    if isinstance(options.schema, Schema) and options.schema.named and not options.transpose:
        known = options.schema.row_names
        if known in names:
            return names.index(known)
        if names[0] in {column.name for column in options.schema.used}:
            return None
    given = options.types.get(names[0])
    if given not in (None, Kind.IDENTIFIER):
        return None
    cells = [row[0] for row in body]
    different = len(set(cells)) == len(cells)
    if header is not None and NAMES_OF_ROWS.fullmatch(header[0]):
        return 0 if different or options.transpose else None
    if 0 not in text or 1 in text or not different or len(cells) < 2:
        return None
    # Numbers and a few words, such as "?" or "inf", are a column with mistakes and no names.
    return 0 if 2 * sum(is_number(cell, decimal) for cell in cells) < len(cells) else None


def check_column(name, value):
    """Complain about what can be neither the name nor the place of a column."""
    if value is not None and not isinstance(value, str | bool | np.bool_ | numbers.Integral):
        raise TypeError(f"{name} must be the name or the place of a column, got {shown(value)}.")
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        check_integer(name, value, least=-LARGEST)


def find_column(wanted, names, path, what):
    """The place of a column that is given by name or place, or an error with near misses."""
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    try:
        place = int(wanted)
    except (ValueError, TypeError):
        place = None
    if place is not None and -len(names) <= place < len(names):
        return place % len(names)
    raise DataError(
        f"There is no column {wanted!r} ({what}); there are {len(names)} columns.",
        file=path,
        advice=suggestion(wanted, names),
    )


def suggestion(wanted, names):
    """What may have been meant by a name that is not there."""
    lower = {name.lower(): name for name in islice(names, SUGGESTED)}
    near = difflib.get_close_matches(str(wanted).lower(), lower, n=3, cutoff=0.6)
    if near:
        return f"Did you mean {' or '.join(repr(lower[name]) for name in near)}?"
    shown = ", ".join(repr(name) for name in names[:8])
    return f"They are {shown}{', ...' if len(names) > 8 else ''}."


def _describe(dialect, skipped, above):
    """Sentences about what was detected."""
    yield f"The delimiter is a {DELIMITERS.get(dialect.delimiter, repr(dialect.delimiter))}."
    if dialect.decimal == ",":
        yield "Numbers are written with a decimal comma."
    if above:
        shown = "; ".join(repr(text[:40]) for text in above[:3])
        yield (
            f"The first {dialect.line - 2} lines are skipped, since they stand above the header: "
            f"{shown}{'; ...' if len(above) > 3 else ''}."
        )
    elif skipped:
        yield f"{skipped} blank or comment lines at the beginning are skipped."
    if dialect.has_header:
        yield f"Line {dialect.line - 1} is the header with the names of the columns."
    else:
        yield "There is no header; the columns are called x0, x1, ..."
    if dialect.row_names is not None:
        yield f"Column {dialect.row_names + 1} holds the names of the rows."


def split_rows(text, options, path):
    """All rows of a small text as lists of strings, and the line of each."""
    try:
        lines = text.decode().splitlines(keepends=True)
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise not_utf8(
            text[error.start : error.end].decode("utf-8", "surrogateescape"), path, line, None
        ) from None
    if not any(line.strip() for line in lines):
        raise DataError("The file is empty.", file=path)
    delimiter = _find_delimiter(lines) if options.delimiter == "auto" else options.delimiter
    return _split(lines, delimiter, None)
