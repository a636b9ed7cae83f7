"""What the columns of a table seem to be: numbers, categories, dates, identifiers."""

import datetime
import re
from collections import Counter

import numpy as np

from .._core._csv import parse_number
from ..matrix import stored_values
from ._dialect import NAMES_OF_ROWS
from ._notation import read_cell
from ._schema import Column, Kind

MOST_LEVELS, FEW_LEVELS = 50, 10
"""Words are a category if a quarter of the rows are as many as their levels, or half of the rows if
the levels are few, but never with more than most levels."""
FEWEST_NUMBERS = 10
"""Numbers that count the rows are an identifier if there are so many."""
NEARLY_ALL = 0.95
"""The share of different values from which words are identifiers."""
NAME_OF_NUMBERS = re.compile(
    r"(.*[ _.-])?([iI][dD]|[nN][rR]|[nN]o|[nN]umber|NUMBER|[rR]ecord|[iI]ndex|[kK]ey|[uU][iI][dD])"
    r"|.*[a-z](ID|Id|Nr|No)"
)
DATES = (
    (re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"), "iso"),
    (re.compile(r"(\d{4})/(\d{1,2})/(\d{1,2})"), "ymd"),
    (re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})"), "dmy"),
    (re.compile(r"\d{1,2}/\d{1,2}/(\d{4}|\d\d)"), "unclear"),
)


def judge_numbers(names, values, named, types, leave_out):
    """A `Column` for each column of a matrix of numbers."""
    columns = [Column(name, Kind.NUMBER) for name in names]
    if not leave_out or not len(values):
        return columns
    low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
    for j in np.flatnonzero(~(low < high)):
        why = "it has no values" if np.isnan(low[j]) else "it is constant"
        columns[j] = Column(names[j], Kind.NUMBER, False, why=why)
    for j in _candidates(names, values, named):
        if columns[j].used and names[j] not in types and _counts(values[:, j]):
            why = "its numbers name the rows"
            columns[j] = Column(names[j], Kind.IDENTIFIER, False, why=why)
    return columns


def _candidates(names, values, named):
    """Columns that have the name of an identifier, or numbers that count the rows."""
    n = len(values)
    far = values[-1] - values[0] == n - 1 if n >= FEWEST_NUMBERS else np.zeros(len(names), bool)
    words = (NAME_OF_NUMBERS, NAMES_OF_ROWS) if named else ()
    for j, name in enumerate(names):
        consecutive = far[j] and (np.diff(values[:, j]) == 1).all()
        if consecutive or any(word.fullmatch(name) for word in words):
            yield j


def _counts(values):
    """Whether numbers are different integers, each of which may be that of a row."""
    return (
        len(values) > 2 and bool((values % 1 == 0).all()) and len(np.unique(values)) == len(values)
    )


def judge_text(name, cells, categorical):
    """The `Column` of cells of text, None where they are missing, and what is wrong with it."""
    counts = Counter(cell for cell in cells if cell is not None)
    levels, n = tuple(sorted(counts)), sum(counts.values())
    if not levels:
        return Column(name, Kind.TEXT, False, why="it has no values"), None
    if date_form(levels):
        return Column(name, Kind.DATE, False, why="dates are not numbers"), "date"
    if categorical == "onehot":
        return Column(name, Kind.CATEGORY, levels=levels), None
    numbers = sum(counts[level] for level in levels if read_cell(level) is not None)
    if n / 2 <= numbers < n:  # if all are, they are not meant as such
        return Column(name, Kind.TEXT, False, why="numbers and words"), "mixed"
    if len(levels) == 1:
        return Column(name, Kind.CATEGORY, False, levels, "it is constant"), None
    if len(levels) == n or (n >= 20 and len(levels) >= NEARLY_ALL * n):
        return Column(name, Kind.IDENTIFIER, False, why="its values name the rows"), None
    if len(levels) > min(MOST_LEVELS, max(n // 4, min(FEW_LEVELS, n // 2))):
        why = f"{len(levels)} different values in {n} rows"
        return Column(name, Kind.TEXT, False, why=why), None
    if categorical == "drop":
        return Column(name, Kind.CATEGORY, False, levels, "it holds words"), None
    return Column(name, Kind.CATEGORY, levels=levels), None


def spellings(cells):
    """Words that differ from a more frequent one in capitals and blanks only, and that one."""
    counts = Counter(cell for cell in cells if cell is not None)
    groups = {}
    for word in sorted(counts, key=lambda word: (-counts[word], word)):
        groups.setdefault(_folded(word), []).append(word)
    if len(groups) > MOST_LEVELS or len(counts) == sum(counts.values()):
        return {}  # text or names, and no levels
    return {word: first for first, *others in groups.values() for word in others}


def _folded(word):
    """A word without capitals; those of one letter, such as the genes "Aa" and "AA", as it is."""
    folded = " ".join(word.casefold().split())
    return folded if len(set(folded)) > 1 else word


def level_finder(levels):
    """A function that gives the place of the level that a word means; None if it is none.

    A word is compared as it is; then as a number, since libraries read "01" as 1 or as 1.0; and
    then without capitals. What fits two levels is none of them.
    """
    exact = {level: k for k, level in enumerate(levels)}
    others = [_places(levels, _as_number), _places(levels, _folded)]

    def find(word):
        if word in exact:
            return exact[word]
        for key, places in zip((_as_number, _folded), others, strict=True):
            place = places.get(key(word))
            if place is not None and place >= 0:
                return place
        return None

    return find


def _places(levels, key):
    """Where a key leads to; -1 if several levels have it."""
    places = {None: -1}
    for k, level in enumerate(levels):
        places[key(level)] = -1 if key(level) in places else k
    return places


def _as_number(word):
    return parse_number(word.encode("utf-8", "replace"))


def date_form(cells):
    """How dates are written if all cells are dates, else None."""
    cells = list(cells)
    for pattern, form in DATES:
        if cells and all(pattern.fullmatch(cell) for cell in cells):
            if form == "unclear":
                return form
            try:
                for cell in cells:
                    days_of(cell)
            except ValueError:
                return None
            return form
    return None


def are_dates(values):
    """Whether all values are strings that look like dates."""
    values = list(values)
    return all(isinstance(value, str) for value in values) and date_form(values) is not None


def days_of(cell):
    """Days since 1970-01-01 of a date; a ValueError if it is none or not clear."""
    for pattern, form in DATES[:3]:
        match = pattern.fullmatch(cell)
        if match is None:
            continue
        if form == "iso":
            moment = datetime.datetime.fromisoformat(cell)
        else:
            parts = [int(part) for part in match.groups()]
            moment = datetime.datetime(*(parts if form == "ymd" else parts[::-1]))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        return (moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)).total_seconds() / 86400
    raise ValueError(f"{cell!r} is not a date such as 2024-03-01 or 1.3.2024")


def relates_rows(X, names, row_names):
    """Whether a matrix holds relations among its rows: it is square and symmetric, or so named."""
    if np.ndim(X) != 2 or X.shape[0] != X.shape[1] or X.shape[0] < 3:
        return False
    if names is not None and row_names is not None and list(names) == list(row_names):
        return True
    return not stored_values(X - X.T).any()
