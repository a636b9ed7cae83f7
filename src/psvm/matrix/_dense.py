"""A dense array as data matrix."""

import numpy as np

from .._core._dense import gather, statistics_by_rows
from ._base import DataMatrix, block_slices


class DenseMatrix(DataMatrix):
    """An ndarray of any real dtype and memory order, also read-only or memory-mapped.

    Contiguous float64 arrays go to BLAS as they are. Every other array is converted block by
    block, so that products are always accumulated in double precision and K is never copied.
    """

    def __init__(self, K):
        self.K = K
        self.shape = K.shape
        contiguous = K.flags.c_contiguous or K.flags.f_contiguous
        self._direct = K.dtype == np.float64 and K.flags.aligned and contiguous
        self._by_columns = K.flags.f_contiguous and not K.flags.c_contiguous
        self._rows = None
        if K.flags.c_contiguous and K.flags.aligned and K.dtype in (np.float32, np.float64):
            self._rows = np.asarray(K)

    def matvec(self, a):
        if self._direct:
            return self.K @ a
        out = np.zeros((self.shape[0], *a.shape[1:]))
        for block, K_b in self._blocks():
            if self._by_columns:
                out += K_b @ a[block]
            else:
                out[block] = K_b @ a
        return out

    def rmatvec(self, v):
        if self._direct:
            return self.K.T @ v
        out = np.zeros((self.shape[1], *v.shape[1:]))
        for block, K_b in self._blocks():
            if self._by_columns:
                out[block] = K_b.T @ v
            else:
                out += K_b.T @ v[block]
        return out

    def columns(self, index):
        if self._rows is not None and not isinstance(index, slice):
            return gather(self._rows, np.asarray(index, dtype=np.intp))
        return np.array(self.K[:, index], dtype=np.float64, order="F")

    def column_statistics(self, weights):
        if self._rows is None:
            return super().column_statistics(weights)
        return statistics_by_rows(self._rows, np.ascontiguousarray(weights, dtype=np.float64))

    def centred_gram(self, means, weights):
        L, P = self.shape
        if self._by_columns:
            return super().centred_gram(means, weights)
        Q, root = np.zeros((P, P)), np.sqrt(weights)
        for block in block_slices(L, 64 * P):  # blocks that stay in the cache
            K_b = self.K[block] - means
            if (weights != 1).any():
                K_b *= root[block, None]
            Q += K_b.T @ K_b
        return Q

    def submatrix(self, rows, index):
        return np.array(self.K[np.ix_(rows, index)], dtype=np.float64, order="F")

    def _blocks(self):
        """Float64 copies of successive blocks, along the axis in which K lies in memory."""
        L, P = self.shape
        if self._by_columns:
            for block in block_slices(P, 8 * L, minimum=1):
                yield block, np.asarray(self.K[:, block], dtype=np.float64, order="F")
        else:
            for block in block_slices(L, 8 * P, minimum=1):
                yield block, np.asarray(self.K[block], dtype=np.float64, order="C")
