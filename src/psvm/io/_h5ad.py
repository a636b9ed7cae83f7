"""AnnData's h5ad, read by a child process: the HDF5 library may crash or hang on damaged files."""

import importlib.util
import json
import math
import os
import subprocess
import sys
import threading
from multiprocessing import spawn
from pathlib import Path

import numpy as np

from ._errors import DataError
from ._limits import LARGEST_RATIO, SMALL
from ._streams import read_exactly

SCRIPT = Path(__file__).with_name("_h5ad_child.py")
SECONDS, BYTES_PER_SECOND = 5, 10**6
"""A child may take this long, and longer by the size of the file; the slowest disk is faster."""


def read_parts(path, target):
    """What psvm needs of an h5ad file.

    Parameters
    ----------
    path : str
    target : str or None
        A column of `obs`.

    Returns
    -------
    reply : dict
        "var_names", "obs_names", "columns", "target" if there is such a column; for a sparse
        matrix also "format" and "shape".
    arrays : dict of str to ndarray
        "X", or "data", "indices" and "indptr".
    """
    if importlib.util.find_spec("h5py") is None:
        raise ImportError('h5py is needed to read this: pip install "psvm[anndata]"')
    size = os.path.getsize(path)
    request = {
        "path": os.path.abspath(path),
        "target": target,
        "search": sys.path,
        "most_bytes": max(SMALL, LARGEST_RATIO * size),
    }
    # -P: the folder of the script must not hide modules of Python.
    child = subprocess.Popen(
        [spawn.get_executable(), "-P", os.fspath(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        child.stdin.write(json.dumps(request).encode())
        child.stdin.close()
        if child.stdout.readline() != b"ready\n":
            raise ImportError("A Python process to read h5ad files with h5py could not be started.")
        return _receive(child, SECONDS + size / BYTES_PER_SECOND, path)
    finally:
        child.kill()
        child.stdout.close()
        child.wait()


def _receive(child, seconds, path):
    """What the child answers within some seconds."""
    late = threading.Event()

    def give_up():
        late.set()
        child.kill()

    timer = threading.Timer(seconds, give_up)
    timer.start()
    try:
        reply = json.loads(child.stdout.readline())
        arrays = _receive_arrays(child.stdout, reply)
    except ValueError:  # the answer was cut off
        arrays = None
    finally:
        timer.cancel()
    if arrays is None:
        reason = f"took more than {seconds:.0f} seconds" if late.is_set() else "crashed"
        raise _unreadable(path, f"the HDF5 library {reason}")
    if "error" in reply:
        raise _unreadable(path, reply["error"])
    return reply, arrays


def _receive_arrays(stream, reply):
    """The arrays that follow the reply, None if the stream ends too early."""
    arrays = {}
    for name, kind, shape in reply.get("arrays", ()):
        dtype = np.dtype(kind)
        size = math.prod(shape) * dtype.itemsize
        data = read_exactly(stream, size)
        if len(data) < size:
            return None
        arrays[name] = np.ndarray(shape, dtype, buffer=data)
    return arrays


def _unreadable(path, reason):
    return DataError(
        f"This is not a readable h5ad file: {reason}.",
        file=path,
        advice="Copy or download it again, or write it again with anndata.",
    )
