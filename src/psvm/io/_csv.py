"""Delimited text, block by block: no more of it is in memory than a few megabytes."""

import numpy as np

from .._core._csv import Place, RowParser, Stop
from ._columns import append_categories, as_labels, select_features
from ._complaints import SHOWN, Complaints, split_line
from ._dialect import detect, find_column, is_missing, not_utf8, suggestion
from ._errors import DataError
from ._streams import Source
from ._table import Table

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
    text = set()
    while True:
        try:
            with Source(path, options.encoding) as source:
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
        self._assign_columns()
        self._start_parser(self.dialect.line)
        self.n = 0
        self.values = np.empty((0, len(self.numbers)))
        self.target = np.empty(0)
        self.labels = [[] for _ in self.texts]
        self.known = {}
        self.dropped = 0
        self.gaps, self.n_gaps = [], 0
        self.text_rows = {}

    def table(self):
        """Read all rows."""
        while True:
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
        self.categories = []
        self.numbers = self._choose_features()
        if options.categorical != "error":
            found = [j for j in self.numbers if j in self.text]
            self.numbers = [j for j in self.numbers if j not in self.text]
            if options.categorical == "onehot":
                self.categories = found
                for j in found:
                    self._add_text(place, j)
        place[self.numbers] = np.arange(len(self.numbers))
        self.place = place
        if not self.numbers and not self.categories and self.target_column is None:
            raise DataError(
                "There is no column of numbers.",
                file=self.path,
                advice="Check delimiter, header and row names.",
            )

    def _add_text(self, place, column):
        place[column] = Place.TEXT - len(self.texts)
        self.texts.append(column)

    def _choose_features(self):
        """The columns that are features, in order."""
        options, names = self.options, self.dialect.names
        if options.features is not None and not options.transpose:
            place = {name: j for j, name in reversed(list(enumerate(names)))}
            return [
                place[str(f)]
                if str(f) in place
                else find_column(str(f), names, self.path, "one of features")
                for f in options.features
            ]
        left_out = {self.dialect.row_names, self.target_column}
        if not options.transpose:
            left_out |= {find_column(c, names, self.path, "ignore") for c in options.ignore}
        return [j for j in range(len(names)) if j not in left_out]

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
        labels = [self._cells(spans[:n, t], lines, t) for t in range(len(self.texts))]
        keep = self._keep(rows, labels, lines[:n])
        if keep is not None:
            k = int(keep.sum())
            self.values[self.n : self.n + k] = self.values[rows][keep]
            self.target[self.n : self.n + k] = self.target[rows][keep]
            labels = [[c for c, ok in zip(cells, keep, strict=True) if ok] for cells in labels]
            self.dropped += n - k
            n = k
        for kept, cells in zip(self.labels, labels, strict=True):
            kept.extend(cells)
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

    def _keep(self, rows, labels, lines):
        """Which rows are kept, None for all; infinite numbers are an error."""
        values, target = self.values[rows], self.target[rows]
        numeric_target = self.target_column is not None and self.target_column not in self.texts
        gaps = np.zeros(len(values), dtype=bool)
        if not np.isfinite(values).all():
            self._refuse_infinite(values, self.numbers, lines)
            gaps |= np.isnan(values).any(axis=1)
            if self.options.missing == "error":
                for i, j in np.argwhere(np.isnan(values)):
                    self._note_gap(lines[i], self.numbers[j])
        without_target = np.zeros(len(values), dtype=bool)
        if numeric_target:
            self._refuse_infinite(target[:, None], [self.target_column], lines)
            without_target = np.isnan(target)
        elif self.target_column is not None:
            cells = labels[self.texts.index(self.target_column)]
            without_target = np.fromiter(map(is_missing, cells), dtype=bool, count=len(cells))
        if self.options.missing != "drop":
            for i in np.flatnonzero(without_target):
                self._note_gap(lines[i], self.target_column)
            return None
        gaps |= without_target
        return ~gaps if gaps.any() else None

    def _refuse_infinite(self, values, columns, lines):
        wrong = np.argwhere(np.isinf(values))
        if len(wrong):
            i, j = wrong[0]
            raise self.complaints.too_large(int(lines[i]), columns[j])

    def _note_gap(self, line, column):
        self.n_gaps += 1
        if len(self.gaps) < SHOWN:
            self.gaps.append((int(line), int(column)))

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
        elif column == self.target_column or self._may_be_text:
            raise TextColumn(column)
        else:
            advice = {}
            if self.options.transpose:
                advice = {"advice": "Fix the cell; or ignore the row, or name it as the target."}
            elif self.n == 0 and not self.dialect.has_header:
                advice = {"advice": "If the first line names the columns, say header=True."}
            raise self.complaints.not_a_number(line, column, cell, **advice)

    @property
    def _may_be_text(self):
        return self.options.categorical != "error" and not self.options.transpose

    def _row_cells(self):
        """The cells of the row at which the parser stopped, split in the plainest way."""
        data, start = self.block.data, self.block.start
        ends = [data.find(c, start, self.block.stop) for c in (b"\n", b"\r")]
        end = min((e for e in ends if e >= 0), default=self.block.stop)
        line = bytes(data[start:end]).decode("utf-8", "surrogateescape")
        self._row_end = end
        return split_line(line, self.dialect.delimiter)

    def _is_target_row(self, cells):
        """Whether this is the row of labels of a transposed table, or one to leave out."""
        options, names = self.options, self.dialect.row_names
        if not options.transpose or names is None or len(cells) != len(self.place):
            return False
        return cells[names] == options.target or cells[names] in options.ignore

    def _keep_text_row(self, cells):
        self.text_rows[cells[self.dialect.row_names]] = [cells[j] for j in self.numbers]
        self.block.start = self._row_end
        self._start_parser(self.parser.line)

    def _start_parser(self, line):
        """Read on at the start of the block, which is this line."""
        delimiter, decimal = ord(self.dialect.delimiter), ord(self.dialect.decimal)
        self.parser = RowParser(self.place, delimiter, decimal, line)

    # --- the table

    def _finish(self):
        if self.n_gaps:
            raise self.complaints.missing(self.gaps, self.n_gaps)
        if self.n == 0:
            raise DataError(
                "There are no rows of data"
                + (" below the header." if self.dialect.has_header else "."),
                file=self.path,
                advice="Lines with missing values were left out." if self.dropped else "",
            )
        self.values.resize((self.n, len(self.numbers)), refcheck=False)
        self.target.resize(self.n, refcheck=False)
        names = [self.dialect.names[j] for j in self.numbers]
        texts = dict(zip(self.texts, self.labels, strict=True))
        table = Table(
            self.values,
            feature_names=names if self.dialect.has_header else None,
            row_names=texts.get(self.dialect.row_names),
            detection=self._notes(),
            source=self.path,
            format="csv",
        )
        if self.categories:
            append_categories(table, self.dialect.names, self.categories, texts)
        if self.target_column is not None:
            cells = texts.get(self.target_column)
            table.y = as_labels(self.target if cells is None else cells)
            table.target_name = self.dialect.names[self.target_column]
        if self.options.transpose:
            self._transpose(table)
        return table

    def _notes(self):
        notes = []
        if self.source.compression:
            notes.append(f"The file is compressed by {self.source.compression}.")
        if self.source.encoding != "utf-8":
            notes.append(f"The text is {self.source.encoding}.")
        notes += self.dialect.notes
        if self.dropped:
            notes.append(f"{self.dropped} rows with missing values were left out.")
        if self.options.categorical == "drop":
            dropped = [self.dialect.names[j] for j in sorted(self.text) if self.place[j] == -1]
            notes += [f"Columns that are not numbers are left out: {', '.join(dropped)}."] * bool(
                dropped
            )
        return notes

    def _transpose(self, table):
        """Rows become features; the target is one of them."""
        names, target = table.row_names, self.options.target
        keep = np.ones(self.n, dtype=bool)
        ignore = set(self.options.ignore)
        if names is not None:
            keep = np.array([name not in ignore and name != target for name in names])
        if target is not None and self.options.target_file is None:
            table.y, table.target_name = self._target_row(table, names, target), str(target)
        X = table.X if keep.all() else table.X[keep]
        table.X = X.T
        samples = table.feature_names
        table.feature_names = (
            None if names is None else [n for n, k in zip(names, keep, strict=True) if k]
        )
        table.row_names = samples
        table.detection.append("The table is transposed: its columns are the samples.")
        if self.options.features is not None:
            select_features(table, self.options.features)

    def _target_row(self, table, names, target):
        if target in self.text_rows:
            return as_labels(self.text_rows[target])
        if names is not None and target in names:
            return as_labels(table.X[names.index(target)].copy())
        raise DataError(
            f"There is no row {target!r} (the target).",
            file=self.path,
            advice=suggestion(target, [*self.text_rows, *(names or [])]),
        )
