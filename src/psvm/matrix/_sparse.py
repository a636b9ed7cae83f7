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

    def submatrix(self, rows, index):
        K_b = self.K[rows][:, index] if self.K.format == "csr" else self.K[:, index][rows]
        return np.asarray(K_b.toarray(order="F"), dtype=np.float64)

    def centred_gram(self, means, weights):
        weighted = self.K
        if (weights != 1).any():
            weighted = self.K.multiply(weights[:, None]).tocsr()
        product = np.asarray((self._T @ weighted).toarray(), dtype=np.float64)
        return product - weights.sum() * np.multiply.outer(means, means)

    def column_statistics(self, weights):
        # The zeros of a column contribute (sum of their weights) * m^2 to its centred norm.
        coo = self.K.tocoo()
        w, x, j, P = weights[coo.row], coo.data.astype(np.float64), coo.col, self.shape[1]
        total = weights.sum()
        means = np.bincount(j, w * x, P) / total
        stored = np.bincount(j, w, P)
        squares = np.bincount(j, w * np.square(x - means[j]), P)
        squares += np.maximum(total - stored, 0) * np.square(means)
        return means, np.sqrt(squares), np.sqrt(np.bincount(j, w * np.square(x), P))
