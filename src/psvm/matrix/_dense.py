"""A dense array as data matrix."""

import numpy as np

from .._core._dense import gather
from ._base import StoredMatrix, block_slices, centred_squares, with_norms

CONVERTED_BYTES = 2**20
"""Size of a converted block: it is read again at once and should still be in the cache."""


class DenseMatrix(StoredMatrix):
    """An ndarray of any real dtype and memory order, also read-only or memory-mapped.

    Float64 arrays whose rows or columns are contiguous go to BLAS as they are. Every other array
    is converted block by block, so that products are always accumulated in double precision and
    K is never copied. All passes follow the order in memory.
    """

    def __init__(self, K):
        self.K = K
        self.shape = K.shape
        down, right = K.strides
        self._by_columns = abs(down) < abs(right)
        length = K.shape[0 if self._by_columns else 1]
        step, gap = (down, right) if self._by_columns else (right, down)
        for_blas = step == 8 and gap >= 8 * length and gap % 8 == 0
        self._direct = K.dtype == np.float64 and K.flags.aligned and for_blas
        compiled = K.dtype in (np.float32, np.float64) and K.flags.aligned
        self._rows = np.asarray(K) if compiled and K.flags.c_contiguous else None

    def columns(self, index):
        if isinstance(index, slice):
            return np.array(self.K[:, index], dtype=np.float64, order="F")
        if self._rows is not None:
            index = np.asarray(index, dtype=np.intp)
            return gather(self._rows, np.where(index < 0, index + self.shape[1], index))
        return self.K[:, index].astype(np.float64, copy=False)

    def column_statistics(self, weights):
        P = self.shape[1]
        means, squares, total = np.zeros(P), np.zeros(P), 0.0
        for block, K_b in self._blocks():
            if self._by_columns:
                means[block], squares[block] = centred_squares(K_b, weights)
            elif (added := weights[block].sum()) > 0:
                # Chan, Golub and LeVeque: the union of two samples.
                means_b, squares_b = centred_squares(K_b, weights[block])
                share = added / (total + added)
                squares += squares_b + total * share * np.square(means_b - means)
                means += share * (means_b - means)
                total += added
        return with_norms(means, squares, weights)

    def moments(self, weights):
        L, P = self.shape
        rows = np.flatnonzero(weights)
        rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), 256)).astype(np.intp)]
        sample = np.asarray(self.K[rows], dtype=np.float64)
        shift = sample.mean(axis=0)
        weighted = (weights != 1).any()
        if self._direct and not weighted and _moderate(shift, np.square(sample).mean(axis=0)):
            Q, means = self.K.T @ self.K, weights @ self.K / L
            if _moderate(means, Q.diagonal() / L):
                Q -= L * np.multiply.outer(means, means)
                return *with_norms(means, Q.diagonal().copy(), weights), Q
        # One sweep around almost the means; what is left of them is taken out at the end.
        Q, sums, total = np.zeros((P, P)), np.zeros(P), weights.sum()
        root = np.sqrt(weights)
        for block in block_slices(L, 64 * P):  # blocks that stay in the cache
            K_b = self.K[block] - shift
            if weighted:
                K_b *= root[block, None]
            sums += root[block] @ K_b
            Q += K_b.T @ K_b
        rest = sums / total
        Q -= total * np.multiply.outer(rest, rest)
        return *with_norms(shift + rest, np.maximum(Q.diagonal(), 0.0), weights), Q

    def submatrix(self, rows, index):
        return np.array(self.K[np.ix_(rows, index)], dtype=np.float64, order="F")

    def _blocks(self):
        """Float64 copies of successive blocks, along the axis in which K lies in memory."""
        L, P = self.shape
        if self._by_columns:
            for block in block_slices(P, 8 * L, minimum=1, size=CONVERTED_BYTES):
                yield block, np.array(self.K[:, block], dtype=np.float64, order="F")
        else:
            for block in block_slices(L, 8 * P, size=CONVERTED_BYTES):
                yield block, np.array(self.K[block], dtype=np.float64, order="C")


def _moderate(means, squares):
    """Whether the means can be taken out of the mean squares at a loss of at most two digits."""
    return bool((np.square(means) < 0.99 * squares).all())
