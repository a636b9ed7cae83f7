"""Tables in files larger than memory, by pyarrow: Parquet, Feather and delimited text."""

import re
from functools import cached_property

import numpy as np

from ._block_columns import LEAST_ROWS, make_block, refuse_missing
from ._csv import TextBlock
from ._dialect import detect
from ._errors import DataError
from ._streams import Source
from ._table import ReadOptions

BUFFER = 2**20
"""Bytes of a column that are read from the disk at once."""
MISSING = ["", "NA", "NaN", "nan", "NAN", "N/A", "#N/A", "n/a", "null", "NULL", "None", "none", "?"]
"""Cells of text that stand for a missing value."""
NOT_A_NUMBER = re.compile(r"CSV column #(\d+): Row #(\d+): .*invalid value '(.*)'")
NUMBER_OF_CELLS = re.compile(r"Row #(\d+): (Expected \d+ columns, got \d+)")


def import_pyarrow():
    """pyarrow, or an error that says how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError('pyarrow is needed to read this: pip install "psvm[io]"') from None
    return pyarrow


class ArrowFile:
    """What Parquet and Feather files share: columns with names and types.

    Parameters
    ----------
    path : str
    """

    named = True

    def __init__(self, path):
        self.path, self.pyarrow = path, import_pyarrow()
        try:
            self.types = self._types()
        except (OSError, ValueError) as error:  # pyarrow's own errors are such
            if isinstance(error, FileNotFoundError | PermissionError):
                raise
            raise DataError(
                f"The file cannot be read: {str(error).rstrip('.')}.", file=path
            ) from None
        self.names = self.features = list(self.types)

    def why_not_numbers(self, name):
        """What a column holds that is not numbers; None if it does hold numbers."""
        kind, types = self.types[name], self.pyarrow.types
        tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        return None if any(test(kind) for test in tests) else f"is of the type {kind}"

    def blocks(self, columns, size):
        """Blocks of rows whose features take about `size` bytes."""
        first = 0
        try:
            for batch in self._batches(columns, size):
                yield self._block(batch, columns, first)
                first += batch.num_rows
        except self.pyarrow.ArrowException as error:
            raise self._error(error, first) from None

    def _block(self, batch, columns, first):
        """Columns of a batch as a block."""
        X = np.empty((batch.num_rows, len(columns.features)))
        for j, name in enumerate(columns.features):
            X[:, j] = self._numbers(batch, name, first)
        weights = None if columns.weight is None else self._numbers(batch, columns.weight, first)
        return make_block(X, self._target(batch, columns), weights, columns, self.path, first)

    def _numbers(self, batch, name, first):
        column = batch.column(name)
        if column.null_count:
            place = column.is_null().to_numpy(zero_copy_only=False).argmax()
            refuse_missing(name, place, self.path, first, batch.num_rows)
        column = column.cast(self.pyarrow.float64(), safe=False)
        return column.to_numpy(zero_copy_only=False)

    def _target(self, batch, columns):
        column = batch.column(columns.target)
        if column.null_count or self.why_not_numbers(columns.target) is not None:
            return column.to_pylist()
        return column.to_numpy(zero_copy_only=False)

    def _error(self, error, first):
        return DataError(
            f"The rows from {first + 1} on cannot be read: {str(error).rstrip('.')}.",
            file=self.path,
        )


class ParquetFile(ArrowFile):
    """A Parquet file; its row groups need not fit into memory."""

    def _open(self):
        import pyarrow.parquet

        return pyarrow.parquet.ParquetFile(self.path, buffer_size=BUFFER, pre_buffer=False)

    def _types(self):
        with self._open() as file:
            return {field.name: field.type for field in file.schema_arrow}

    def _batches(self, columns, size):
        with self._open() as file:
            options = {"columns": columns.names, "use_threads": False}
            yield from file.iter_batches(columns.n_rows(size), **options)


class FeatherFile(ArrowFile):
    """A Feather file of version 2, which is the IPC format of Arrow."""

    def _open(self):
        return self.pyarrow.ipc.open_file(self.pyarrow.memory_map(self.path))

    def _types(self):
        with self._open() as file:
            return {field.name: field.type for field in file.schema}

    def _batches(self, columns, size):
        n_rows = columns.n_rows(size)
        with self._open() as file:
            for i in range(file.num_record_batches):
                batch = file.get_batch(i)
                for start in range(0, batch.num_rows, n_rows):
                    yield batch.slice(start, n_rows)


class TextFile(ArrowFile):
    """Delimited text; how it is written is found out as by `read_table`.

    Parameters
    ----------
    path : str
    target : str or int
    features : list of str or None
    """

    def __init__(self, path, target, features):
        self.options = ReadOptions(target=target, features=features)
        super().__init__(path)

    @property
    def named(self):
        """Whether there is a header."""
        return self.dialect.has_header

    @cached_property
    def dialect(self):
        """How the text is written."""
        with Source(self.path) as source:
            head = TextBlock(source).head()
        if b"\0" in head[:4096]:
            raise DataError("This is not a text file: it has bytes that are zero.", file=self.path)
        dialect = detect(head, self.options, self.path)
        if dialect.delimiter == " ":
            raise DataError(
                "The cells are separated by blanks.",
                file=self.path,
                advice="Separate them by commas, semicolons or tabs to read the file by blocks.",
            )
        return dialect

    def why_not_numbers(self, name):
        """What a column holds that is not numbers, as far as the first rows tell."""
        return "holds text" if self.dialect.names.index(name) in self.dialect.text else None

    def _types(self):
        pa, dialect = self.pyarrow, self.dialect
        places = set(range(len(dialect.names))) - {dialect.row_names}
        return {dialect.names[j]: pa.float64() for j in sorted(places)}

    def _batches(self, columns, size):
        from pyarrow import csv

        pa, dialect = self.pyarrow, self.dialect
        types = dict.fromkeys(columns.names, pa.float64()) | {columns.target: pa.string()}
        with Source(self.path) as source:
            source.head(dialect.start)
            reader = csv.open_csv(
                pa.PythonFile(source, mode="r"),
                csv.ReadOptions(
                    use_threads=False,
                    # A number takes more letters than it takes bytes in memory, hardly ever fewer.
                    block_size=max(int(size / 2), 64 * LEAST_ROWS * len(dialect.names)),
                    column_names=dialect.names,
                ),
                csv.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=False),
                csv.ConvertOptions(
                    column_types=types,
                    include_columns=columns.names,
                    null_values=MISSING,
                    strings_can_be_null=True,
                    decimal_point=dialect.decimal,
                ),
            )
            with reader:
                yield from reader

    def _target(self, batch, columns):
        values = batch.column(columns.target).to_pylist()
        if columns.text or self.dialect.decimal == ".":
            return values
        return [None if v is None else v.replace(",", ".") for v in values]

    def _error(self, error, first):
        """The error of pyarrow in terms of names and lines."""
        text = str(error)
        cell, width = NOT_A_NUMBER.search(text), NUMBER_OF_CELLS.search(text)
        if cell is not None:
            place, row = int(cell[1]), int(cell[2])
            return DataError(
                f"{cell[3]!r} in column {self.dialect.names[place]!r} is not a number (row "
                f"{row - 1}).",
                file=self.path,
                line=self.dialect.line + row - 1,
                column=place + 1,
                advice="Fix the cell, or leave out the column by features=.",
            )
        if width is not None:
            line = self.dialect.line + int(width[1]) - 1
            return DataError(f"{width[2]}.", file=self.path, line=line)
        return super()._error(error, first)
