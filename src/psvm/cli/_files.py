"""Places for output."""

import csv
import os
from pathlib import Path


def check_writable(*paths):
    """Complain before any work that a file could not be written at its end."""
    for path in filter(None, paths):
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(2, "There is no such directory", str(path.parent))
        place = path if path.exists() else path.parent
        if not os.access(place, os.W_OK):
            raise PermissionError(13, "It may not be written to", str(place))


def write_rows(path, headers, rows):
    """A CSV file with a header."""
    from ..io import atomic_write

    with atomic_write(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(headers)
        writer.writerows(rows)
