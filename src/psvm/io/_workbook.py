"""Excel and other spreadsheets: a sheet, read as the text that it could be saved as."""

import csv
import datetime
import io
import os
import zipfile
from dataclasses import replace

from ._csv import read_text
from ._errors import DataError
from ._formats import _extra
from ._limits import refuse_bomb


class SheetSource(io.BytesIO):
    """The rows of a sheet as delimited text."""

    compression, encoding = None, "utf-8"

    def __init__(self, path, text):
        self.path, self._size = path, max(len(text), 1)
        super().__init__(text)

    def share(self):
        """How much of it was read, from 0 to 1."""
        return self.tell() / self._size


def read_workbook(path, options):
    """A `Table` of a sheet: the one that is asked for, or the first one that has cells."""
    name, rows, others = _find_sheet(path, options.sheet, _extra("python_calamine", "io"))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow([_text(cell) for cell in row])
    data = text.getvalue().encode()
    plain = replace(options, delimiter=",", encoding="auto", typed=True)
    table = read_text(lambda: SheetSource(path, data), plain)
    table.format = "xlsx"
    notes = [note for note in table.detection if not note.startswith("The delimiter is")]
    more = f"; others are {', '.join(map(repr, others))}" if others else ""
    table.detection = [f"The sheet {name!r} of the workbook is read{more}.", *notes]
    return table


def _find_sheet(path, sheet, calamine):
    """Name and rows of a sheet, and the names of the others."""
    try:
        _refuse_bomb(path)
        workbook = calamine.CalamineWorkbook.from_path(path)
        names = workbook.sheet_names
        for name in names if sheet is None else [_called(sheet, names, path)]:
            rows = workbook.get_sheet_by_name(name).to_python(skip_empty_area=False)
            if rows:
                return name, rows, [other for other in names if other != name]
    except (DataError, KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # compiled code that gives up is no Exception
        raise DataError(f"This is not a readable workbook: {error}.", file=path) from None
    empty = "workbook" if sheet is None else f"sheet {sheet!r}"
    raise DataError(f"The {empty} is empty.", file=path)


def _called(sheet, names, path):
    """The name of the sheet that is meant by a name or by a number from 1."""
    if sheet in names:
        return sheet
    number = int(sheet) if not isinstance(sheet, str) or sheet.isdecimal() else 0
    if 1 <= number <= len(names):
        return names[number - 1]
    raise DataError(
        f"There is no sheet {sheet!r}; the workbook has {', '.join(map(repr, names))}.", file=path
    )


def _refuse_bomb(path):
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        refuse_bomb(size, os.path.getsize(path), path)


def _text(cell):
    """A cell as text: numbers with all digits, dates as 2024-03-01."""
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() else repr(cell)
    if isinstance(cell, datetime.datetime):
        whole = cell.time() == datetime.time()
        return cell.date().isoformat() if whole else cell.isoformat(" ")
    return " ".join(str(cell).splitlines())  # one line per row, so that errors count as Excel does
