"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal

from ._typing import StrPath

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def check_writable(*paths):
    """Complain before any work that a file could not be written at its end."""
    for path in filter(None, paths):
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(2, "There is no such directory", str(path.parent))
        if path.is_dir():
            raise IsADirectoryError(21, "It is a directory", str(path))
        place = path if path.exists() else path.parent
        if not os.access(place, os.W_OK):
            raise PermissionError(13, "It may not be written to", str(place))


@contextmanager
def atomic_write(
    path: StrPath, mode: Literal["wb", "w"] = "wb", *, lock: bool = True, **options: Any
) -> Iterator[IO[Any]]:
    """Open a file for writing that appears under its name when all of it is on the disk.

    The text goes to a new file in the same directory, which takes the place of an old one at the
    end. After an error, a full disk or Ctrl-C the old file is as it was and nothing else is left;
    what a process left that was killed, the next one that writes the same file removes. An error of
    the system names the file.

    Parameters
    ----------
    path : str or path-like
        A device or pipe is written directly.
    mode : {"wb", "w"}, default="wb"
    lock : bool, default=True
        Whether the new file is locked meanwhile. Libraries that open it by its name, such as HDF5,
        lock it themselves.
    **options
        As for `open`.

    Yields
    ------
    file object

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from psvm.io import atomic_write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.txt")
    ...     with atomic_write(path, "w") as file:
    ...         _ = file.write("all of it")
    ...     path.read_text(), len(list(path.parent.iterdir()))
    ('all of it', 1)
    """
    path = os.path.realpath(path)
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        with open(path, mode, **options) as file:
            yield file
        return
    folder, name = os.path.split(path)
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise PermissionError(f"{path} is write-protected.")
    _remove_abandoned(folder, name)
    draft = None
    try:
        with _open_draft(folder, name, mode.replace("w", "x"), lock, **options) as file:
            draft = file.name
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.chmod(draft, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(draft, path)
    except BaseException as error:
        if draft is not None:
            with suppress(FileNotFoundError):
                os.unlink(draft)
        if isinstance(error, OSError) and error.filename in (None, draft):
            error.filename = path
        raise
    _sync_folder(folder)


def _open_draft(folder, name, mode, lock, **options):
    """A new file that is locked as long as it is open; a process that is killed unlocks it."""
    while True:
        draft = os.path.join(folder, f".{name[:100]}.{secrets.token_hex(6)}.part")
        try:
            file = open(draft, mode, **options)  # noqa: SIM115
        except OSError as error:
            error.filename = os.path.join(folder, name)
            raise
        if lock:
            _lock(file)
        if os.path.exists(draft):
            return file
        file.close()  # another writer has found it before it was locked


def _remove_abandoned(folder, name):
    """Remove drafts of a file that no process is writing any more."""
    draft = re.compile(rf"\.{re.escape(name[:100])}\.[0-9a-f]{{12}}\.part")
    with suppress(OSError):
        for entry in filter(draft.fullmatch, os.listdir(folder)):
            with suppress(OSError), open(os.path.join(folder, entry), "r+b") as file:
                if _lock(file):
                    os.unlink(file.name)


def _lock(file):
    """Whether this process, and no other one, has the file now."""
    if fcntl is None:  # open files cannot be removed there
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync_folder(folder):
    """Have the new name on the disk as well, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
