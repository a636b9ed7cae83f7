"""What is wrong with a row of delimited text, in words."""

import re

from ._dialect import DELIMITERS, not_utf8
from ._errors import DataError

SHOWN = 5
"""Missing cells that an error names."""
MISSING_ADVICE = (
    "Fill in the values, or read with missing='drop' (leaves the rows out) or missing='nan'."
)
TEXT_ADVICE = (
    "Fix the cell; or make the column the target or the row names, ignore it, or read it with "
    "categorical='onehot' (a column of 0 and 1 for each value) or 'drop'."
)


class Complaints:
    """Errors that name the place in a file; columns are counted from 0 here, from 1 in an error.

    Parameters
    ----------
    path : str
    dialect : Dialect
    """

    def __init__(self, path, dialect):
        self.path, self.dialect = path, dialect

    def called(self, column):
        """How an error speaks of a column, if that has a name."""
        names = self.dialect.names
        named = self.dialect.has_header and column < len(names) and names[column]
        return f" in column {names[column]!r}" if named else ""

    def not_a_number(self, line, column, cell, advice=TEXT_ADVICE):
        """A cell of a column of numbers is something else."""
        try:
            cell.encode()
        except UnicodeEncodeError:
            return not_utf8(cell, self.path, line, column + 1)
        if cell.startswith('"') and cell.count('"') % 2:
            return self.stray_quote(line, column, cell)
        message = f"{_short(cell)}{self.called(column)} is not a number."
        return self._error(message, line, column, advice)

    def too_large(self, line, column):
        """A number is beyond the range of doubles."""
        return self._error(
            f"The number{self.called(column)} is too large for a double.", line, column
        )

    def stray_quote(self, line, column, cell):
        """A quote stands where none may."""
        return self._error(
            f"Stray quote{self.called(column)}: {_short(cell)} opens or closes a quoted cell where "
            "none may, or it is never closed.",
            line,
            column,
            "Remove it, or write a quote within a quoted cell twice.",
        )

    def ragged(self, line, n_cells):
        """A row has too few or too many cells."""
        expected = len(self.dialect.names)
        delimiter = DELIMITERS.get(self.dialect.delimiter, repr(self.dialect.delimiter))
        return self._error(
            f"This row has {n_cells} cells, but {expected} are expected.",
            line,
            min(n_cells, expected + 1) - 1,
            f"Add or remove cells, or quote those that contain a {delimiter}.",
        )

    def _error(self, message, line, column, advice=""):
        return DataError(message, file=self.path, line=line, column=column + 1, advice=advice)


def split_line(line, delimiter):
    """The cells of a line, for an error about it; quotes need not be in order."""
    if delimiter == " ":
        return re.split("[ \t]+", line.strip(" \t"))
    joined = []
    for cell in line.split(delimiter):
        if joined and joined[-1].startswith('"') and joined[-1].count('"') % 2:
            joined[-1] += delimiter + cell
        else:
            joined.append(cell.strip())
    return [c[1:-1].replace('""', '"') if _is_quoted(c) else c for c in joined]


def _is_quoted(cell):
    return len(cell) > 1 and cell[0] == cell[-1] == '"' and cell.count('"') % 2 == 0


def _short(cell):
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")
