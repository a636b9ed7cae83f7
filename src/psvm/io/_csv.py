"""Delimited text, block by block: no more of it is in memory than a few megabytes."""

import warnings
from itertools import count

import numpy as np

from .._core._csv import Place, RowParser, Stop
from .._progress import steps
from ._complaints import Complaints, split_line
from ._dialect import detect, find_column, not_utf8, suggestion
from ._errors import DataError
from ._raw import MOST_NAMED, Raw, apply_schema, assemble, refuse_repeated, shown_decimals
from ._schema import Kind, Schema
from ._streams import Source

BLOCK = 1 << 21
"""Bytes of text in memory; more if a line is longer."""
SCRATCH_ROWS = 1 << 15
"""Rows that the compiled parser reads at once."""


class TextColumn(Exception):
    """A column turned out to be text."""

    def __init__(self, column):
        self.column = column


def read_csv(path, options):
    """Read delimited text as a `Table`; the target is a column, or a row if it is transposed."""
    return read_text(lambda: Source(path, options.encoding), options)


def read_text(opened, options):
    """The same of the stream that a function opens, again for each column that is text."""
    text = set()
    while True:
        try:
            with opened() as source:
                return Reading(source, options, text).table()
        except TextColumn as found:
            text.add(found.column)


class TextBlock:
    """A piece of the text, followed by a byte that is not part of it."""

    def __init__(self, source):
        self._source = source
        self.data = bytearray(BLOCK + 1)
        self.start = self.stop = 0
        self.final = False

    def fill(self):
        """Move what is left to the front and read on; more room if nothing was used."""
        left = self.stop - self.start
        if self.start == 0 and self.stop == len(self.data) - 1:
            self.data.extend(bytes(len(self.data)))
        self.data[:left] = self.data[self.start : self.stop]
        self.start, self.stop = 0, left
        with memoryview(self.data) as view:
            while self.stop < len(self.data) - 1:
                n = self._source.readinto(view[self.stop : len(self.data) - 1])
                self.stop += n
                if n == 0:
                    self.final = True
                    break
            view[self.stop] = 0

    def head(self):
        """Complete lines, at least three with content if there are."""
        self.fill()
        while not self.final:
            lines = bytes(self.data[: self.stop]).splitlines(keepends=True)[:-1]
            if sum(bool(line.strip()) and line[:1] != b"#" for line in lines) >= 3:
                return b"".join(lines)
            self.fill()
        return bytes(self.data[: self.stop])


class Reading:
    """One pass over a file."""

    def __init__(self, source, options, text):
        self.source, self.options, self.path = source, options, source.path
        self.block = TextBlock(source)
        head = self.block.head()
        if b"\0" in head[:4096]:
            raise DataError(
                "This is not a text file: it has bytes that are zero.",
                file=self.path,
                advice="Give its format if it is a known one.",
            )
        self.dialect = detect(head, options, self.path)
        self.complaints = Complaints(self.path, self.dialect)
        self.block.start = self.dialect.start
        self.text = set(text) | self.dialect.text
        self.markers = b"".join(f"{marker}\n".encode() for marker in options.markers)
        self.values, self.numbers = np.empty((0, 0)), []
        self._assign_columns()
        self._start_parser(self.dialect.line)
        self.n = 0
        self.values = np.empty((0, len(self.numbers)))
        self.target = np.empty(0)
        self.labels = [[] for _ in self.texts]
        self.lines = []
        self.known = {}
        self.text_rows = {}
        schema = options.schema
        known = isinstance(schema, Schema) and schema.named
        self.needed = frozenset(c.name for c in schema.used) if known else None
        """Names of the columns that a model needs; None if all are."""

    def table(self):
        """Read all rows."""
        for _ in steps(count(), "reading", share=self.source.share):
            self._make_room()
            room = min(len(self.values) - self.n, SCRATCH_ROWS)
            spans = np.empty((room, max(len(self.texts), 1), 2), dtype=np.int64)
            lines = np.empty(room, dtype=np.int64)
            rows = slice(self.n, self.n + room)
            why = self.parser.parse(
                self.block.data,
                self.block.start,
                self.block.stop,
                self.block.final,
                self.values[rows],
                self.target[rows],
                spans,
                lines,
            )
            self._take(self.parser.n_rows, spans, lines)
            self.block.start = self.parser.position
            if why == Stop.MORE:
                if self.block.final:
                    break
                self.block.fill()
            elif why != Stop.FULL:
                self._stopped(Stop(why))
        return self._finish()

    # --- columns

    def _assign_columns(self):
        """Say of each column whether it is read as numbers, target or text, or skipped."""
        options, names = self.options, self.dialect.names
        self.target_column = None
        if options.target is not None and not options.transpose and options.target_file is None:
            self.target_column = find_column(options.target, names, self.path, "the target")
        self.texts = []
        place = np.full(len(names), Place.SKIP, dtype=np.int64)
        if self.dialect.row_names is not None:
            self._add_text(place, self.dialect.row_names)
        if self.target_column is not None:
            if self.target_column in self.text:
                self._add_text(place, self.target_column)
            else:
                place[self.target_column] = Place.TARGET
        features = list(dict.fromkeys(self._choose_features()))
        self.numbers = [j for j in features if not self._is_text(j)]
        for j in features:
            if self._is_text(j):
                self._add_text(place, j)
        place[self.numbers] = np.arange(len(self.numbers))
        self.place = place
        if len(self.texts) + len(self.numbers) == (self.dialect.row_names is not None) and (
            self.target_column is None
        ):
            raise DataError(
                "There is no column of numbers.",
                file=self.path,
                advice="Check delimiter, header and row names.",
            )

    def _is_text(self, j):
        """Whether a feature is read as text: it must be, or it turned out to be and may."""
        options = self.options
        if options.transpose:
            return False
        if isinstance(options.schema, Schema):
            return j in self.schema_texts or j in self.text
        kind = options.types.get(self.dialect.names[j])
        if kind is not None:
            return kind is not Kind.NUMBER or j in self.text
        return options.categorical != "error" and j in self.text

    def _add_text(self, place, column):
        place[column] = Place.TEXT - len(self.texts)
        self.texts.append(column)

    def _choose_features(self):
        """The columns that are features, in order."""
        options, names = self.options, self.dialect.names
        if options.transpose:
            return [j for j in range(len(names)) if j != self.dialect.row_names]
        if isinstance(options.schema, Schema):
            return self._schema_features()
        if options.features is not None:
            place = {name: j for j, name in reversed(list(enumerate(names)))}
            return [
                place[str(f)]
                if str(f) in place
                else find_column(str(f), names, self.path, "one of features")
                for f in options.features
            ]
        left_out = {self.dialect.row_names, self.target_column}
        left_out |= {find_column(c, names, self.path, "ignore") for c in options.ignore}
        ignored = {name for name, kind in options.types.items() if kind is Kind.IGNORED}
        return [j for j in range(len(names)) if j not in left_out and names[j] not in ignored]

    def _schema_features(self):
        """The columns that a schema needs; which of them are text is its to say."""
        columns, places = apply_schema(self._new_raw(), self.options.schema)
        self.schema_texts = {
            j
            for column, j in zip(columns, places, strict=True)
            if column.kind is not Kind.NUMBER
            or column.unit
            or column.decimal != self.dialect.decimal
        }
        return places

    # --- rows

    def _make_room(self):
        """Room for more rows, as many as the file seems to have; the memory grows in place."""
        if self.n < len(self.values):
            return
        if self.n == 0:
            end = self.block.data.find(b"\n", self.block.start, self.block.stop)
            line = max(end - self.block.start, 1) if end >= 0 else BLOCK
            size = (self.block.stop - self.block.start) // line + 16
        else:
            size = int(self.n / max(self.source.share(), 1e-3) * 1.01) + 64
            size = min(max(size, self.n + self.n // 20 + 64), 4 * self.n + 64)
        self.values.resize((size, len(self.numbers)), refcheck=False)
        self.target.resize(size, refcheck=False)

    def _take(self, n, spans, lines):
        """Look at rows that were just read."""
        rows = slice(self.n, self.n + n)
        for number in self.options.number_markers:
            self.values[rows][self.values[rows] == number] = np.nan
            self.target[rows][self.target[rows] == number] = np.nan
        self._refuse_infinite(self.values[rows], self.numbers, lines)
        if self.target_column is not None:
            self._refuse_infinite(self.target[rows, None], [self.target_column], lines)
        for t, kept in enumerate(self.labels):
            kept.extend(self._cells(spans[:n, t], lines, t))
        self.lines.append(lines[:n].copy())
        self.n += n

    def _cells(self, spans, lines, t):
        """Text cells; equal ones are one string."""
        cells, data = [], self.block.data
        for i, (start, stop) in enumerate(spans.tolist()):
            raw = bytes(data[start:stop])
            cell = self.known.get(raw)
            if cell is None:
                cell = self._decode(raw, int(lines[i]), self.texts[t] + 1)
                if len(self.known) < 100_000:
                    self.known[raw] = cell
            cells.append(cell)
        return cells

    def _decode(self, raw, line, column):
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode("utf-8", "surrogateescape")
            raise not_utf8(text, self.path, line, column) from None
        if text.startswith('"'):
            text = text[1:-1].replace('""', '"')
        return text.strip()

    def _refuse_infinite(self, values, columns, lines):
        if np.isinf(values).any():
            i, j = np.argwhere(np.isinf(values))[0]
            raise self.complaints.too_large(int(lines[i]), columns[j])

    # --- problems

    def _stopped(self, why):
        """Raise what is wrong, or go on if a row or a column is text and may be."""
        line, column = self.parser.bad_line, self.parser.bad_column
        cells = self._row_cells()
        cell = cells[column] if column < len(cells) else ""
        if why is Stop.QUOTE:
            raise self.complaints.stray_quote(line, column, cell)
        if why is not Stop.NOT_A_NUMBER:
            n_cells = column + 1 if why is Stop.TOO_FEW else max(len(cells), column + 1)
            raise self.complaints.ragged(line, n_cells)
        if self._is_target_row(cells):
            self._keep_text_row(cells)
        elif column == self.target_column or self._may_be_text(column):
            raise TextColumn(column)
        else:
            advice = {}
            if self.options.transpose:
                advice = {"advice": self._advise_transposed(cells)}
            elif self.n == 0 and not self.dialect.has_header:
                advice = {"advice": "If the first line names the columns, use header=True."}
            raise self.complaints.not_a_number(line, column, cell, **advice)

    def _may_be_text(self, column):
        options = self.options
        if options.transpose:
            return False
        if isinstance(options.schema, Schema) or options.types.get(self.dialect.names[column]):
            return True  # a number may be written in another way
        return options.categorical != "error"

    def _advise_transposed(self, cells):
        """What to do about a word in a table whose columns are the samples."""
        names = self.dialect.row_names
        row = "" if names is None else f" {cells[names]!r}"
        leave = "" if names is None else f", leave the row out (ignore=[{cells[names]!r}])"
        return (
            "A transposed table holds numbers only, but for its target. Fix the cell"
            f"{leave}, name the row{row} as the target, or write the table with a row for each "
            "sample."
        )

    def _row_cells(self):
        """The cells of the row at which the parser stopped, split in the plainest way."""
        data, start = self.block.data, self.block.start
        ends = [data.find(c, start, self.block.stop) for c in (b"\n", b"\r")]
        end = min((e for e in ends if e >= 0), default=self.block.stop)
        line = bytes(data[start:end]).decode("utf-8", "surrogateescape")
        self._row_end = end
        return split_line(line, self.dialect.delimiter)

    def _is_target_row(self, cells):
        """Whether this is the row of labels of a transposed table, or one that is not needed."""
        options, names = self.options, self.dialect.row_names
        if not options.transpose or names is None or len(cells) != len(self.place):
            return False
        name = cells[names]
        unknown = self.needed is not None and name not in self.needed
        return name == options.target or name in options.ignore or unknown

    def _keep_text_row(self, cells):
        self.text_rows[cells[self.dialect.row_names]] = [cells[j] for j in self.numbers]
        self.block.start = self._row_end
        self._start_parser(self.parser.line)

    def _start_parser(self, line):
        """Read on at the start of the block, which is this line."""
        delimiter, decimal = ord(self.dialect.delimiter), ord(self.dialect.decimal)
        self.parser = RowParser(self.place, delimiter, decimal, line, self.markers)

    # --- the table

    def _finish(self):
        if self.n == 0:
            raise DataError(
                "There are no rows of data"
                + (" below the header." if self.dialect.has_header else "."),
                file=self.path,
            )
        self.values.resize((self.n, len(self.numbers)), refcheck=False)
        self.target.resize(self.n, refcheck=False)
        raw = self._new_raw()
        raw.texts = dict(zip(self.texts, self.labels, strict=True))
        raw.lines = np.concatenate(self.lines)
        if self.target_column is not None and self.target_column not in raw.texts:
            raw.target_values = self.target
        if self.options.transpose:
            raw = self._transposed(raw)
        else:
            self._read_unclear(raw)
        raw.detection[:0] = self._notes()
        return assemble(raw, self.options)

    def _read_unclear(self, raw):
        """Read columns again as text whose points or commas other cells show to mean thousands."""
        dialect, options = self.dialect, self.options
        raw.decimals = frozenset() if options.typed else dialect.decimals
        unclear = dialect.unclear.intersection(self.numbers)
        if not unclear or options.decimal != "auto" or options.typed:
            return
        shown = shown_decimals(raw, options)
        if shown - {dialect.decimal}:
            raise TextColumn(min(unclear))
        if not shown and self.dialect.delimiter != ",":
            self._warn_of_unclear(sorted(unclear))

    def _warn_of_unclear(self, unclear):
        """Say that points may separate thousands where all numbers have three digits behind."""
        values = self.values[:, [self.numbers.index(j) for j in unclear]]
        whole = np.nanmax(np.abs(values), axis=0, initial=0) >= 1000  # no groups there
        names = [repr(self.dialect.names[j]) for j, w in zip(unclear, whole, strict=True) if not w]
        if names:
            sign = "points" if self.dialect.decimal == "." else "commas"
            warnings.warn(
                f"The {sign} of {', '.join(names[:MOST_NAMED])}"
                f"{', ...' if len(names) > MOST_NAMED else ''} are taken for decimal signs. If "
                f"they separate thousands, use decimal={',' if sign == 'points' else '.'!r}.",
                UserWarning,
                stacklevel=5,
            )

    def _new_raw(self):
        dialect = self.dialect
        return Raw(
            dialect.names,
            dialect.has_header,
            self.values,
            self.numbers,
            {},
            self.path,
            "csv",
            dialect.decimal,
            dialect.delimiter,
            self.target_column,
            row_names=dialect.row_names,
        )

    def _notes(self):
        notes = []
        if self.source.compression:
            notes.append(f"The file is compressed by {self.source.compression}.")
        if self.source.encoding != "utf-8":
            notes.append(f"The text is {self.source.encoding}.")
        notes += self.dialect.notes
        return notes

    def _transposed(self, raw):
        """Rows become features; the target is one of them."""
        names, target = raw.texts.get(raw.row_names), self.options.target
        ignored = {name for name, kind in self.options.types.items() if kind is Kind.IGNORED}
        ignored |= set(self.options.ignore)
        places = range(self.n)
        if names is not None:
            places = [i for i in places if names[i] not in ignored and names[i] != target]
            wanted = [names[i] for i in places]
            refuse_repeated(wanted, self.path, "lines", [int(raw.lines[i]) for i in places])
        features = [f"x{i}" for i in places] if names is None else wanted
        values = self.values if len(places) == self.n else self.values[places]
        samples = [self.dialect.names[j] for j in self.numbers] if raw.named else None
        found = Raw(
            features,
            names is not None,
            values.T,
            list(range(len(features))),
            {},
            self.path,
            "csv",
            labels=samples,
            detection=["The table is transposed: its columns are the samples."],
        )
        if target is not None and self.options.target_file is None:
            found.names, found.target = [*features, str(target)], len(features)
            self._take_target_row(found, names, target)
        return found

    def _take_target_row(self, raw, names, target):
        if target in self.text_rows:
            raw.texts[raw.target] = self.text_rows[target]
        elif names is not None and target in names:
            raw.target_values = self.values[names.index(target)].copy()
        else:
            raise DataError(
                f"There is no row {target!r} (the target).",
                file=self.path,
                advice=suggestion(target, [*self.text_rows, *(names or [])]),
            )
