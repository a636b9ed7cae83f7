"""Places for output."""

import csv

from .._atomic import check_writable as check_writable


def write_rows(path, headers, rows):
    """A CSV file with a header."""
    from ..io import atomic_write

    with atomic_write(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(headers)
        writer.writerows(rows)
