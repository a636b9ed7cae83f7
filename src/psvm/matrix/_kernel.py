"""The matrix of a kernel, evaluated lazily in blocks of columns."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from .._core._dense import gather, gather_rows
from .._threads import map_blocks
from .._typing import DTypeLike
from .._validation import kernel_values
from ._base import (
    BLOCK_BYTES,
    SHARED_BYTES,
    DataMatrix,
    Statistics,
    Survey,
    block_slices,
    block_statistics,
    gathered,
    sum_of,
    times,
)
from ._dense import DenseMatrix


class KernelMatrix(DataMatrix):
    """``K[i, j] = k(x_i, z_j)``, evaluated in blocks of columns.

    Blocks are kept while they fit into `cache_size` MB and evaluated again beyond that. The first
    blocks stay and the last ones are evaluated anew in each pass: for passes from left to right
    no replacement rule evaluates less.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Z)`` returns the block of kernel values of all rows of X with all rows of Z.
        Threads may call it at the same time.
    X : {array, sparse matrix} of shape (L, d)
        The objects.
    Z : {array, sparse matrix} of shape (P, d)
        The descriptive objects.
    cache_size : float
        Memory for evaluated blocks in MB.
    dtype : {float64, float32}
        What the values are rounded to. With float32 twice as many fit into the cache, and a
        pass takes about half of the time; they are still summed in double precision. Where X and
        Z are floats as well, the kernel itself is evaluated in single precision.
    """

    def __init__(
        self,
        kernel: Callable[[Any, Any], np.ndarray],
        X: Any,
        Z: Any,
        cache_size: float = 1000,
        dtype: DTypeLike = np.float64,
    ) -> None:
        self.kernel, self.X, self.Z = kernel, X, Z
        self.shape = L, P = (X.shape[0], Z.shape[0])
        self.dtype, self.cache_size = np.dtype(dtype), cache_size
        self._slices = block_slices(P, self.dtype.itemsize * L)
        bytes_of = [self.dtype.itemsize * L * (block.stop - block.start) for block in self._slices]
        self._n_kept = int(np.searchsorted(np.cumsum(bytes_of), cache_size * 2**20, side="right"))
        self._kept: dict[int, np.ndarray] = {}

    def matvec(self, a: np.ndarray) -> np.ndarray:
        a = np.ascontiguousarray(a)
        parts = self._map(lambda block, K_b: times(K_b, a[block]))
        return reduce(np.add, parts)

    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        v = np.ascontiguousarray(v)
        return np.concatenate(self._map(lambda block, K_b: sum_of(K_b, v)))

    def centred_gram(self, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self.gram_by_rows(means, weights)

    def column_statistics(self, weights: np.ndarray) -> Statistics:
        return self.survey(weights)[0]

    def survey(self, weights: np.ndarray, v: np.ndarray | None = None) -> Survey:
        def part(block, K_b):
            return *block_statistics(K_b, weights), None if v is None else sum_of(K_b, v)

        return gathered(self._map(part), weights)

    def columns(self, index: slice | np.ndarray) -> np.ndarray:
        if isinstance(index, slice):
            index = np.arange(*index.indices(self.shape[1]))
        index = np.asarray(index, dtype=np.intp)
        owner, position = np.divmod(index, self._slices[0].stop)
        if len(self._slices) == 1 and 0 in self._kept:
            return _columns(self._kept[0], position)
        out = np.empty((self.shape[0], len(index)), order="F")
        kept = np.isin(owner, list(self._kept))
        for number in np.unique(owner[kept]):
            here = owner == number
            out[:, here] = _columns(self._kept[number], position[here])
        if not kept.all():
            out[:, ~kept] = self._evaluate(index[~kept])
        return out

    def submatrix(self, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        owner, position = np.divmod(index, self._slices[0].stop)
        if all(number in self._kept for number in np.unique(owner)):
            if len(self._slices) == 1:
                return _part(self._kept[0], rows, position)
            out = np.empty((len(rows), len(index)), order="F")
            for number in np.unique(owner):
                here = owner == number
                out[:, here] = _part(self._kept[number], rows, position[here])
            return out
        K_b = kernel_values(self.kernel, self.X[rows], self.Z[index])
        return np.asfortranarray(K_b, dtype=np.float64)

    def rows(self, index: np.ndarray) -> np.ndarray:
        out, missing = np.empty((len(index), self.shape[1])), []
        for number, block in enumerate(self._slices):
            if number in self._kept:
                out[:, block] = self._kept[number][index]
            else:
                missing.append(np.arange(block.start, block.stop))
        if missing:
            columns = np.concatenate(missing)
            K_b = kernel_values(self.kernel, self.X[index], self.Z[columns], finite=True)
            out[:, columns] = K_b.astype(self.dtype, copy=False)
        return out

    def part(self, rows: np.ndarray, columns: np.ndarray) -> DataMatrix:
        """A copy of kept values; beyond the cache, a kernel matrix with a cache of its own."""
        if self._n_kept < len(self._slices):
            parts = self.X[rows], self.Z[columns]
            return KernelMatrix(self.kernel, *parts, self.cache_size, self.dtype)
        out = np.empty((len(rows), len(columns)), dtype=self.dtype)
        owner, position = np.divmod(columns, self._slices[0].stop)

        def copy(block, K_b):
            here = owner == block.start // self._slices[0].stop
            out[:, here] = K_b[np.ix_(rows, position[here])]

        self._map(copy)
        return DenseMatrix(out)

    def _map(self, function):
        """``function(block, K_b)`` of all blocks."""
        at_hand = len(self._kept) == len(self._slices)
        small = self.dtype.itemsize * self.shape[0] * self.shape[1] < SHARED_BYTES
        share = map if at_hand and small else map_blocks
        return list(
            share(
                lambda number: function(self._slices[number], self._block(number)),
                range(len(self._slices)),
            )
        )

    def _block(self, number):
        K_b = self._kept.get(number)
        if K_b is None:
            K_b = self._evaluate(self._slices[number])
            if number < self._n_kept:
                self._kept[number] = K_b
        return K_b

    def _evaluate(self, index):
        """Columns of K, in pieces of rows if doubles are to be rounded."""
        Z_b = self.Z[index]
        if self.dtype == np.float64 or getattr(self.X, "dtype", np.float64) == np.float32:
            K_b = kernel_values(self.kernel, self.X, Z_b, finite=True)
            return K_b.astype(self.dtype, copy=False)
        K_b = np.empty((self.shape[0], Z_b.shape[0]), dtype=self.dtype)
        for rows in block_slices(self.shape[0], 8 * Z_b.shape[0], size=BLOCK_BYTES // 8):
            K_b[rows] = kernel_values(self.kernel, self.X[rows], Z_b, finite=True)
        return K_b


def _part(K_b, rows, index):
    """``K_b[rows][:, index]`` as doubles by columns."""
    if K_b.flags.c_contiguous:
        return gather_rows(K_b, np.ascontiguousarray(rows), np.ascontiguousarray(index))
    return np.asfortranarray(K_b[np.ix_(rows, index)], dtype=np.float64)


def _columns(K_b, index):
    """``K_b[:, index]`` as doubles by columns."""
    if K_b.flags.c_contiguous:
        return gather(K_b, index)
    return np.asfortranarray(K_b[:, index], dtype=np.float64)
