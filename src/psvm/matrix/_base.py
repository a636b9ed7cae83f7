"""The data matrix K as the solvers see it: products and blocks of columns, no single elements."""

from abc import ABC, abstractmethod

import numpy as np

from ._block import DenseBlock

FEW = 256
"""Up to this many columns their Gram matrix is formed at once."""
BLOCK_BYTES = 8 * 2**20
"""Size of a temporary dense block: small beside K, large enough for BLAS to run at full speed."""


def block_slices(n, item_bytes, *, minimum=16, size=BLOCK_BYTES):
    """Slices that cut ``range(n)`` into blocks of about `size` bytes, at least `minimum` long."""
    step = max(minimum, size // max(item_bytes, 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def centred_squares(K_b, weights):
    """Weighted means of the columns and sums of squares around them; overwrites `K_b`.

    The rounded mean is not quite the mean: what is left of it after centring is added to the
    mean and taken out of the squares, so that a constant column has none, however long it is.
    """
    total = weights.sum()
    means = weights @ K_b / total
    K_b -= means
    rest = weights @ K_b / total
    K_b *= K_b
    return means + rest, np.maximum(weights @ K_b - total * np.square(rest), 0.0)


def with_norms(means, squares, weights):
    """Means, centred norms and plain norms from the means and the centred sums of squares."""
    return means, np.sqrt(squares), np.sqrt(squares + weights.sum() * np.square(means))


class DataMatrix(ABC):
    """A real matrix K with L rows (objects) and P columns (descriptive objects).

    A backend gives the shape, the products ``K a`` and ``K'v`` and dense blocks of columns, all in
    double precision; whatever else is needed is derived from these.
    """

    shape: tuple[int, int]

    @abstractmethod
    def matvec(self, a):
        """``K @ a`` for a vector or a block of vectors with P rows."""

    @abstractmethod
    def rmatvec(self, v):
        """``K.T @ v`` for a vector or a block of vectors with L rows."""

    @abstractmethod
    def columns(self, index):
        """``K[:, index]`` as a new dense float64 array; `index` is a slice or an integer array."""

    def submatrix(self, rows, index):
        """``K[rows][:, index]`` as a new dense float64 array."""
        return self.columns(index)[rows]

    def column_block(self, K):
        """A new, empty `ColumnBlock` of K, which standardises this matrix."""
        return DenseBlock(K)

    def sample_rows(self, count):
        """About `count` rows on which columns can be compared; none if that would say nothing."""
        L = self.shape[0]
        return np.linspace(0, L - 1, min(L, count)).astype(np.intp)

    def centred_gram(self, means, weights):
        """``(K - 1 m')' diag(w) (K - 1 m')`` for few columns."""
        L, P = self.shape
        Q = np.empty((P, P))
        for block in block_slices(P, 8 * L):
            K_b = self.columns(block)
            K_b -= means[block]
            K_b *= weights[:, None]
            Q[:, block] = self.rmatvec(K_b) - np.multiply.outer(means, K_b.sum(axis=0))
        return Q

    def moments(self, weights):
        """`column_statistics` and `centred_gram` together, for few columns."""
        means, norms, sizes = self.column_statistics(weights)
        return means, norms, sizes, self.centred_gram(means, weights)

    def column_statistics(self, weights):
        """Weighted means, centred norms and plain norms of all columns.

        With ``w = weights``: ``m = w'K / sum(w)``, ``s = sqrt(w'(K - m)^2)`` and ``sqrt(w'K^2)``.
        The centred norm is computed from centred values, so that a large mean costs no digits.
        """
        L, P = self.shape
        means, squares = np.empty(P), np.empty(P)
        for block in block_slices(P, 8 * L):
            means[block], squares[block] = centred_squares(self.columns(block), weights)
        return with_norms(means, squares, weights)


class StoredMatrix(DataMatrix):
    """A matrix that lies in memory: as it is, or to be converted to float64 block by block.

    A subclass sets `K`, `_direct` (K is used as it is) and `_by_columns` (blocks are blocks of
    columns, else of rows), and yields the converted blocks from `_blocks`.
    """

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

    @abstractmethod
    def _blocks(self):
        """Slices and float64 blocks, along the axis in which K lies in memory."""
