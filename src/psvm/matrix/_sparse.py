"""A SciPy sparse matrix or array as data matrix."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._core._sparse import occupied, power_sums, row_products
from ._base import DataMatrix, Statistics, plus_outer, spread, with_norms
from ._block import ColumnBlock, SparseBlock
from ._dense import DenseMatrix

if TYPE_CHECKING:
    from ._standardized import Standardized

BLOCK_ENTRIES = 2**17
"""Stored entries that are converted at a time."""
FULL = 0.1
"""Smallest share of stored entries for which products of dense columns are faster."""
ENTRIES = 4
"""Stored entries that some rows of a column need to say anything about it."""


class SparseMatrix(DataMatrix):
    """A csr or csc matrix or array. It is never made dense, except for blocks of columns.

    Float64 entries are used as they are. Others are converted block by block: SciPy would convert
    all of them for each product.

    Parameters
    ----------
    K : csr or csc matrix or array
    full : float
        Smallest share of stored entries for which products of dense columns are faster.
    block_entries : int
        Stored entries that are converted at a time.
    """

    def __init__(self, K: Any, *, full: float = FULL, block_entries: int = BLOCK_ENTRIES) -> None:
        self.K, self._full, self._block_entries = K, full, block_entries
        self.shape = K.shape
        self._by_columns = K.format == "csc"
        self._direct = K.dtype == np.float64
        self._density = K.nnz / max(K.shape[0] * K.shape[1], 1)

    def matvec(self, a: np.ndarray) -> np.ndarray:
        if self._direct:
            return self.K @ a
        out = np.zeros((self.shape[0], *a.shape[1:]))
        for block, K_b in self._blocks():
            if self._by_columns:
                out += K_b @ a[block]
            else:
                out[block] = K_b @ a
        return out

    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        if self._direct:
            return self.K.T @ v
        out = np.zeros((self.shape[1], *v.shape[1:]))
        for block, K_b in self._blocks():
            if self._by_columns:
                out[block] = K_b.T @ v
            else:
                out += K_b.T @ v[block]
        return out

    def columns(self, index: slice | np.ndarray) -> np.ndarray:
        return self.K[:, index].astype(np.float64, copy=False).toarray(order="F")

    def columns_matvec(self, index: np.ndarray, a: np.ndarray) -> np.ndarray:
        return self.matvec(spread(a, index, self.shape[1]))

    def submatrix(self, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        K_b = self.K[rows][:, index] if self.K.format == "csr" else self.K[:, index][rows]
        return np.asarray(K_b.toarray(order="F"), dtype=np.float64)

    def rows(self, index: np.ndarray) -> np.ndarray:
        return np.asarray(self.K[index].toarray(), dtype=np.float64)

    def part(self, rows: np.ndarray, columns: np.ndarray) -> DataMatrix:
        return self._like(self.K[rows][:, columns])

    def column_block(self, K: Standardized) -> ColumnBlock:
        if self._density >= self._full:
            return super().column_block(K)
        return SparseBlock(K, self._stored_columns)

    def occupied(self, index: np.ndarray) -> np.ndarray:
        if self._by_columns:
            return index[np.diff(self.K.indptr)[index] > 0]
        return index[occupied(self.K)[index]] if len(index) else index

    def sample_rows(self, count: int) -> np.ndarray:
        if self._density * count < ENTRIES:
            return np.empty(0, dtype=np.intp)
        return super().sample_rows(count)

    def moments(
        self, weights: np.ndarray, v: np.ndarray | None = None
    ) -> tuple[Statistics, np.ndarray | None, np.ndarray]:
        if not self._direct:
            return super().moments(weights, v)
        total = weights.sum()
        sums, Q = row_products(self.K.tocsr(), weights)
        means = sums / total
        if _dominate(means, Q.diagonal() / total):
            return super().moments(weights, v)
        centred = Q.diagonal() - total * np.square(means)
        Q -= total * np.multiply.outer(means, means)
        product = None if v is None else self.rmatvec(v)
        return with_norms(means, centred, weights), product, Q

    def joint_moments(
        self, Y: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not self._direct or self._density >= self._full:
            return super().joint_moments(Y, weights)
        total = weights.sum()
        sums, Q = row_products(self.K.tocsr(), weights)
        means = sums / total
        if _dominate(means, Q.diagonal() / total):
            return super().joint_moments(Y, weights)
        Q = plus_outer(Q, -total, means)
        origin, rest, S = DenseMatrix(Y).joint_moments(Y[:, :0], weights)
        V = weights[:, None] * (Y - origin - rest)
        product = self.rmatvec(V) - np.multiply.outer(means, V.sum(axis=0))
        origin = np.concatenate([np.zeros_like(means), origin])
        return origin, np.concatenate([means, rest]), np.block([[Q, product], [product.T, S]])

    def column_statistics(self, weights: np.ndarray) -> Statistics:
        if not (self._direct and self.K.has_canonical_format):
            return self._careful_statistics(weights)
        K, total = self.K, weights.sum()
        sums, squares = power_sums(K, weights)
        means = sums / total
        centred = squares - total * np.square(means)
        # Where the mean dominates, the difference has lost digits.
        careful = np.flatnonzero(centred < 0.5 * squares)
        statistics = with_norms(means, np.maximum(centred, 0.0), weights)
        if len(careful):
            parts = self._like(K[:, careful])._careful_statistics(weights)
            for whole, part in zip(statistics, parts, strict=True):
                whole[careful] = part
        return statistics

    def _careful_statistics(self, weights):
        P, total = self.shape[1], weights.sum()
        sums, stored, support = np.zeros(P), np.zeros(P), np.zeros(P)
        for i, j, x in self._entries():
            w = weights[i]
            sums += np.bincount(j, w * x, P)
            stored += np.bincount(j, w, P)
            support += np.bincount(j, w > 0, P)
        means = sums / total
        # The zeros of a column contribute (sum of their weights) * m^2 to its centred norm; a
        # column without zeros must not get the rounding error of that sum.
        zeros = np.maximum(total - stored, 0.0)
        zeros[support == np.count_nonzero(weights)] = 0.0
        rest, squares = -zeros * means, zeros * np.square(means)
        for i, j, x in self._entries():
            x -= means[j]
            rest += np.bincount(j, weights[i] * x, P)
            squares += np.bincount(j, weights[i] * np.square(x), P)
        # As in centred_squares: what rounding left of the mean.
        rest /= total
        squares = np.maximum(squares - total * np.square(rest), 0.0)
        return with_norms(means + rest, squares, weights)

    def _like(self, K):
        """Another matrix with the same options."""
        return SparseMatrix(K, full=self._full, block_entries=self._block_entries)

    def _stored_columns(self, index):
        """``K[:, index]`` as a float64 csc array."""
        return sp.csc_array(self.K[:, index], dtype=np.float64)

    def _entries(self):
        """Rows, columns and new arrays of values of successive blocks, each place once."""
        for block, K_b in self._blocks():
            K_b = K_b.copy()
            K_b.sum_duplicates()
            entries = K_b.tocoo()
            i, j = entries.row, entries.col
            if self._by_columns:
                yield i, j + block.start, entries.data
            else:
                yield i + block.start, j, entries.data

    def _blocks(self):
        """Successive blocks along the compressed axis with float64 entries, views if possible."""
        K, (L, P), n = self.K, self.shape, len(self.K.indptr) - 1
        cuts = np.searchsorted(K.indptr, np.arange(0, K.nnz, self._block_entries))
        for start, stop in pairwise(np.unique([0, *cuts, n])):
            first, last = K.indptr[start], K.indptr[stop]
            data = K.data[first:last].astype(np.float64, copy=False)
            parts = (data, K.indices[first:last], K.indptr[start : stop + 1] - first)
            shape = (L, stop - start) if self._by_columns else (stop - start, P)
            yield slice(start, stop), type(K)(parts, shape=shape)


def _dominate(means, squares):
    """Whether taking the means out of the mean squares would cost more than two digits."""
    return bool((squares - np.square(means) < 0.01 * squares).any())
