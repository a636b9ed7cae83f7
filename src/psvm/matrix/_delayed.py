"""dask, which is an extra: imported when a collection is given."""

from functools import partial, reduce
from operator import add
from uuid import uuid4

FAN_IN = 8
"""Sums of chunks that are added up in one task."""


def is_dask(X):
    """Whether X is a dask collection; does not import dask."""
    return not isinstance(X, type) and callable(getattr(X, "__dask_graph__", None))


def import_dask(caller):
    """Import dask or say how to get it."""
    try:
        import dask.array
    except ImportError as error:
        raise ImportError(f'{caller} needs dask: pip install "psvm[dask]".') from error
    return dask


def named(function, name):
    """A function whose calls are delayed; the dashboard shows them under a name."""
    from dask import delayed

    task = delayed(function, pure=False)

    def call(*arguments):
        return task(*arguments, dask_key_name=f"{name}-{uuid4().hex}")

    return call


def tree(tasks, add=add):
    """One delayed object that adds up many, a few at a time."""
    together = named(partial(_add_up, add), "add_up")
    while len(tasks) > 1:
        groups = [tasks[start : start + FAN_IN] for start in range(0, len(tasks), FAN_IN)]
        tasks = [together(group) if len(group) > 1 else group[0] for group in groups]
    return tasks[0]


def _add_up(add, parts):
    parts = [part for part in parts if part is not None]
    return reduce(add, parts) if parts else None
