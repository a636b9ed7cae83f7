"""Arrays in files larger than memory: npy, zarr, HDF5 and AnnData."""

import os
from contextlib import contextmanager

import numpy as np

from ._block_columns import LEAST_ROWS, make_block
from ._columns import Numbered
from ._errors import DataError

ZARR = (".zarray", ".zgroup", "zarr.json")
"""Files that a folder has which is a zarr store."""


def is_zarr(path):
    """Whether a folder is a zarr store."""
    return any(os.path.exists(os.path.join(path, name)) for name in ZARR)


class ArrayFile:
    """A matrix and columns beside it, in a file of arrays.

    Parameters
    ----------
    path : str
    kind : {"npy", "zarr", "hdf5"}
    """

    def __init__(self, path, kind):
        self.path, self.kind = path, kind
        with self._opened() as store:
            shape = tuple(store.matrix.shape)
            if len(shape) != 2:
                raise DataError(f"The matrix has the shape {shape}.", file=path)
            kind = getattr(store.matrix.dtype, "kind", "O")
            if kind not in "biuf":
                raise DataError(f"The matrix holds {store.matrix.dtype} values.", file=path)
            self.shape, self.beside = shape, store.beside
            self.named = store.names is not None
            self.features = store.names or Numbered(shape[1])
            self.text = {name for name in store.beside if store.is_text(name)}
        self.names = [*self.features, *(n for n in self.beside if n not in set(self.features))]

    def why_not_numbers(self, name):
        """What a column holds that is not numbers; None if it does hold numbers."""
        return "holds text" if name in self.text else None

    def blocks(self, columns, size):
        """Blocks of rows whose features take about `size` bytes."""
        place = {name: j for j, name in enumerate(self.features)}
        chosen = [place[name] for name in columns.features]
        every = chosen == list(range(self.shape[1]))
        with self._opened() as store:
            y, weights = (
                None if name is None or name in place else store.column(name)
                for name in (columns.target, columns.weight)
            )
            step = store.n_rows(size)
            for first in range(0, self.shape[0], step):
                rows = slice(first, min(first + step, self.shape[0]))
                X = store.matrix[rows]
                parts = [
                    X[:, place[name]] if name in place else values[rows]
                    for name, values in ((columns.target, y), (columns.weight, weights))
                    if name is not None
                ]
                X = X if every else X[:, chosen]
                target, weight = (*parts, None)[:2]
                yield make_block(X, target, weight, columns, self.path, first)

    @contextmanager
    def _opened(self):
        """The store while it is open."""
        if self.kind == "npy":
            yield Store(_memory_mapped(self.path))
            return
        with _opened_group(self.path, self.kind) as group:
            if hasattr(group, "shape"):
                yield Store(group)
            elif "obs" in group and "var" in group:
                yield AnnDataStore(group, self.path)
            else:
                yield GroupStore(group, self.path)


class Store:
    """A matrix by itself; the target is one of its columns."""

    names = None
    beside = ()

    def __init__(self, matrix):
        self.matrix = matrix

    def n_rows(self, size):
        """Rows that take about `size` bytes."""
        return max(int(size / (8 * self.matrix.shape[1])), LEAST_ROWS)


class GroupStore(Store):
    """A matrix called X, or the only one, and vectors beside it."""

    def __init__(self, group, path):
        arrays = {name: group[name] for name in group if hasattr(group[name], "shape")}
        matrices = [name for name, array in arrays.items() if len(array.shape) == 2]
        name = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
        if name is None:
            raise DataError(
                f"The file has {len(matrices)} matrices, and none is called X.", file=path
            )
        super().__init__(arrays[name])
        n = self.matrix.shape[0]
        self._arrays = {name: array for name, array in arrays.items() if array.shape == (n,)}
        self.beside = list(self._arrays)

    def is_text(self, name):
        """Whether a column beside the matrix is not numbers."""
        return self._arrays[name].dtype.kind not in "biuf"

    def column(self, name):
        """All values of a column beside the matrix."""
        values = np.asarray(self._arrays[name][:])
        if values.dtype.kind in "biuf":
            return values
        return [v.decode() if isinstance(v, bytes) else v for v in values.tolist()]


class AnnDataStore(Store):
    """The matrix X of AnnData; target and weights are columns of obs."""

    def __init__(self, group, path):
        read, sparse_dataset = _import_anndata()
        X = group["X"]
        if hasattr(X, "shape"):
            super().__init__(X)
        else:
            super().__init__(sparse_dataset(X))
            if self.matrix.format != "csr":
                raise DataError(
                    "X is stored by columns (csc): each block of rows would read all of it.",
                    file=path,
                    advice="Write it again with X as a csr_matrix.",
                )
        self._read, self._obs = read, group["obs"]
        self.names = [str(name) for name in read(group["var"]).index]
        self.beside = list(self._obs.attrs["column-order"])

    def n_rows(self, size):
        """Rows that take about `size` bytes, in their sparse form."""
        if not hasattr(self.matrix, "group"):
            return super().n_rows(size)
        n_stored = self.matrix.group["data"].shape[0]
        return max(int(size / max(12 * n_stored / max(self.matrix.shape[0], 1), 1)), LEAST_ROWS)

    def is_text(self, name):
        """Whether a column of obs is not numbers."""
        node = self._obs[name]
        return not hasattr(node, "shape") or node.dtype.kind not in "biuf"

    def column(self, name):
        """All values of a column of obs."""
        values = self._read(self._obs[name])
        if getattr(values.dtype, "kind", "O") in "biuf" and isinstance(values, np.ndarray):
            return values
        missing = getattr(values, "isna", lambda: np.zeros(len(values), bool))()
        return [None if gap else v for v, gap in zip(values, missing, strict=True)]


def _memory_mapped(path):
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise DataError(f"This is not a readable npy array: {error}.", file=path) from None


@contextmanager
def _opened_group(path, kind):
    """A file of arrays, opened for reading."""
    if kind == "zarr":
        try:
            import zarr
        except ImportError:
            raise ImportError('zarr is needed to read this: pip install "psvm[zarr]"') from None
        yield zarr.open(path, mode="r")
        return
    try:
        import h5py
    except ImportError:
        raise ImportError('h5py is needed to read this: pip install "psvm[anndata]"') from None
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise DataError(f"The file cannot be read: {str(error).rstrip('.')}.", file=path) from None
    with file:
        yield file


def _import_anndata():
    """The functions that read an element and a sparse matrix by parts."""
    try:
        from anndata.io import read_elem, sparse_dataset
    except ImportError:
        try:
            from anndata.experimental import read_elem, sparse_dataset
        except ImportError:
            raise ImportError(
                'anndata is needed to read this: pip install "psvm[anndata]"'
            ) from None
    return read_elem, sparse_dataset
