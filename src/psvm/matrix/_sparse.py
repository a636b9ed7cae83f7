"""A SciPy sparse matrix or array as data matrix."""

import numpy as np

from ._base import DataMatrix


class SparseMatrix(DataMatrix):
    """A csr or csc matrix or array. It is never made dense, except for blocks of columns."""

    def __init__(self, K):
        self.K = K
        self.shape = K.shape
        self._T = K.T

    def matvec(self, a):
        return np.asarray(self.K @ a, dtype=np.float64)

    def rmatvec(self, v):
        return np.asarray(self._T @ v, dtype=np.float64)

    def columns(self, index):
        return np.asarray(self.K[:, index].toarray(order="F"), dtype=np.float64)

    def column_statistics(self, weights):
        # The zeros of a column contribute (sum of their weights) * m^2 to its centred norm.
        coo = self.K.tocoo()
        if not self.K.has_canonical_format:
            coo.sum_duplicates()
        w, x, j, P = weights[coo.row], coo.data.astype(np.float64), coo.col, self.shape[1]
        total = weights.sum()
        means = np.bincount(j, w * x, P) / total
        zeros = np.maximum(total - np.bincount(j, w, P), 0)
        # Without zeros the difference is rounding, enough to hide that a column is constant.
        zeros[np.bincount(j, w > 0, P) == np.count_nonzero(weights)] = 0
        squares = np.bincount(j, w * np.square(x - means[j]), P) + zeros * np.square(means)
        return means, np.sqrt(squares), np.sqrt(np.bincount(j, w * np.square(x), P))
