"""Rows in dask collections: chunks of X and y, and sums over them where they are."""

from functools import partial
from operator import add

import numpy as np

from .._validation import as_array, shown
from ._delayed import import_dask, is_dask, named, tree
from ._row_blocks import RowBlock, check_block

QUIET = {"distributed.admin.large-graph-warning-threshold": "10 GB"}
"""Plans and vectors are part of the graph, so that they outlive any worker."""


def is_frame(X):
    """Whether a dask collection is a DataFrame or a Series."""
    return isinstance(getattr(X, "divisions", None), tuple)


def is_array(X):
    """Whether a dask collection is an array."""
    return isinstance(getattr(X, "chunks", None), tuple)


class DaskRows:
    """X, y and weights as dask collections whose chunks have the same rows.

    Nothing is computed here. The number of rows of a chunk need not be known.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame
    y, sample_weight : dask array, dask series or dask DataFrame, or array-like, default=None
        An array-like is cut like X, the chunks of which must be known then.

    Attributes
    ----------
    chunks : list of tuple
        For each chunk X, y and weights as `dask.delayed` objects or None, and where it is.
    lengths : tuple of int, or None
        The numbers of rows, if they are known.
    n_features : int
    feature_names : ndarray of str or None
    """

    rereadable = True
    checkpoint, qr = None, False
    """As for `RowBlocks`."""

    def __init__(self, X, y=None, sample_weight=None):
        self._dask = import_dask("A dask collection")
        if is_frame(X):
            if X.ndim != 2:
                raise ValueError("X must be a dask array or a dask DataFrame, got a series.")
            columns = list(X.columns)
            self.lengths, self.n_features = None, len(columns)
            named = all(isinstance(name, str) for name in columns)
            self.feature_names = np.asarray(columns, dtype=object) if named else None
        elif is_array(X):
            X = _by_rows("X", X, 2)
            self.lengths, self.n_features = _known(X.chunks[0]), _width(X)
            self.feature_names = None
        else:
            raise TypeError(f"X must be a dask array or a dask DataFrame, got {shown(X)}.")
        given = {"y": y, "sample_weight": sample_weight}
        beside = {name: self._beside(name, X, value) for name, value in given.items()}
        self.chunks = self._make_chunks(X, *beside.values())

    def __len__(self):
        return len(self.chunks)

    def __iter__(self):
        """The chunks one after the other, brought here and checked."""
        for chunk in self.chunks:
            X, y, sample_weight = self.compute(*chunk[:3])
            if X.shape[0]:
                yield check_block(RowBlock(as_rows(X), y, sample_weight, chunk[3]))

    def total(self, function, *arguments, add=add):
        """The sum of ``function([block], *arguments)`` over the chunks, added up in a tree.

        Chunks are worked on where they are, and only their sums travel. The arguments are part of
        the graph: whoever computes a chunk again has them. None counts as no rows.
        """
        shared = [self._shared(argument) for argument in arguments]
        task = named(partial(_on_chunk, function), function.__name__)
        total = self.compute(tree([task(*chunk, *shared) for chunk in self.chunks], add))[0]
        if total is None:
            raise ValueError("There are no rows in the chunks.")
        return total

    @property
    def about(self):
        """The number of rows; if it is not known, the first chunk tells about how many."""
        if self.lengths is not None:
            return sum(self.lengths)
        return len(self.compute(self.chunks[0][1])[0]) * len(self)

    def first_target(self):
        """The targets of the first chunk with rows."""
        for _, y, _, where in self.chunks:
            (found,) = self.compute(y)
            if len(found):
                return as_array(f"{where}: y", found)
        raise ValueError("There are no rows in the chunks.")

    def collect(self):
        """The targets and weights of all rows as arrays; None for what is not there."""
        columns = list(zip(*self.chunks, strict=True))[1:3]
        found = self.compute(*[part for column in columns for part in column])
        halves = found[: len(self)], found[len(self) :]
        return [None if half[0] is None else _joined(half) for half in halves]

    def compute(self, *tasks):
        """The values of delayed objects."""
        # The section is there once somebody has made a cluster.
        section = self._dask.config.get("distributed.admin", None)
        with self._dask.config.set({} if section is None else QUIET):
            return self._dask.compute(*tasks)

    def _shared(self, value):
        """A value that all chunks use, once in the graph."""
        return self._dask.delayed(value, traverse=False)

    def _beside(self, name, X, value):
        """What has a row for each row of X, with its chunks."""
        if value is None:
            return None
        if not is_dask(value):
            if self.lengths is None:
                raise ValueError(
                    f"{name} must be a dask collection, because the numbers of rows of the chunks "
                    "of X are not known."
                )
            value = np.asarray(value)
            if len(value) != sum(self.lengths):
                raise ValueError(f"{name} has {len(value)} rows, but X has {sum(self.lengths)}.")
            chunks = (self.lengths, *value.shape[1:])
            return self._dask.array.from_array(value, chunks=chunks)
        if is_frame(value):
            return self._aligned_frame(name, X, value)
        if not is_array(value):
            raise TypeError(f"{name} must be a dask array or series, got {shown(value)}.")
        value = _by_rows(name, value, None)
        lengths = _known(value.chunks[0])
        if lengths is not None and self.lengths is not None:
            if sum(lengths) != sum(self.lengths):
                raise ValueError(f"{name} has {sum(lengths)} rows, but X has {sum(self.lengths)}.")
            return value if lengths == self.lengths else value.rechunk({0: self.lengths})
        self._check_count(name, X, value.numblocks[0])
        return value

    def _aligned_frame(self, name, X, value):
        """A series or a DataFrame with the partitions of X."""
        divisions = getattr(X, "divisions", (None,))
        known = None not in divisions and None not in value.divisions
        if known and tuple(divisions) != tuple(value.divisions):
            return value.repartition(divisions=divisions, force=True)
        self._check_count(name, X, value.npartitions)
        return value

    def _check_count(self, name, X, count):
        n_chunks = X.npartitions if is_frame(X) else X.numblocks[0]
        if count != n_chunks:
            raise ValueError(
                f"X has {n_chunks} chunks of rows and {name} has {count}, and the numbers of rows "
                "are not known. Use columns of one DataFrame, or arrays with known chunks "
                "(compute_chunk_sizes, to_dask_array(lengths=True))."
            )

    def _make_chunks(self, *collections):
        """Chunks of X, y and weights beside each other, as delayed objects."""
        columns = []
        for collection in collections:
            if collection is None:
                columns.append(None)
            elif is_frame(collection):
                columns.append(collection.to_delayed())
            else:
                # Each on its own would make anew what they have in common.
                columns.append(collection.to_delayed(optimize_graph=False).ravel())
        n_chunks = len(columns[0])
        columns = [[None] * n_chunks if column is None else column for column in columns]
        return list(zip(*columns, self._places(n_chunks), strict=True))

    def _places(self, n_chunks):
        """How errors call the chunks."""
        if self.lengths is None:
            return [f"partition {number + 1}" for number in range(n_chunks)]
        ends = np.cumsum(self.lengths)
        return [
            f"chunk {number + 1} (rows {end - length + 1} to {end})"
            for number, (length, end) in enumerate(zip(self.lengths, ends, strict=True))
        ]


def dask_columns(X, index, names=None):
    """Some columns of a dask collection, as one of the same kind that nobody has computed yet."""
    if is_array(X):
        return X[:, index]
    if names is not None:
        missing = [name for name in names[index] if name not in X.columns]
        if missing:
            raise ValueError(f"X has no column {shown(missing[0])}, which was seen in fit.")
        return X[list(names[index])]
    return X[[X.columns[place] for place in index]]


def as_rows(X):
    """A chunk as a matrix that NumPy or SciPy know."""
    return X.to_scipy_sparse() if hasattr(X, "to_scipy_sparse") else X


def _on_chunk(function, X, y, sample_weight, where, *arguments):
    if X.shape[0] == 0 and (y is None or len(y) == 0):
        return None
    return function([check_block(RowBlock(as_rows(X), y, sample_weight, where))], *arguments)


def _joined(parts):
    return np.concatenate([np.asarray(part) for part in parts])


def _by_rows(name, value, ndim):
    """A dask array with chunks of whole rows."""
    if value.ndim not in ((1, 2) if ndim is None else (ndim,)):
        raise ValueError(f"{name} has {value.ndim} dimensions; X has 2, y and weights 1.")
    whole = value.ndim == 1 or value.numblocks[1] == 1
    return value if whole else value.rechunk({1: -1})


def _known(lengths):
    """The numbers of rows of chunks; None if one is not known."""
    return None if any(np.isnan(length) for length in lengths) else tuple(map(int, lengths))


def _width(X):
    if np.isnan(X.shape[1]):
        raise ValueError("The number of columns of X is not known; use X.compute_chunk_sizes().")
    return int(X.shape[1])
