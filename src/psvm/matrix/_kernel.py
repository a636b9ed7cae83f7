"""The matrix of a kernel, evaluated lazily in blocks of columns."""

import numpy as np

from ._base import DataMatrix, block_slices


class KernelMatrix(DataMatrix):
    """``K[i, j] = k(x_i, z_j)``, evaluated in blocks of columns.

    Blocks are kept while they fit into `cache_size` MB and evaluated again beyond that. The first
    blocks stay and the last ones are evaluated anew in each pass: for passes from left to right
    no replacement rule evaluates less.

    Parameters
    ----------
    kernel : callable
        ``kernel(X, Z)`` returns the block of kernel values of all rows of X with all rows of Z.
    X : {array, sparse matrix} of shape (L, d)
        The objects.
    Z : {array, sparse matrix} of shape (P, d)
        The descriptive objects.
    cache_size : float
        Memory for evaluated blocks in MB.
    """

    def __init__(self, kernel, X, Z, cache_size=1000):
        self.kernel, self.X, self.Z = kernel, X, Z
        self.shape = (X.shape[0], Z.shape[0])
        self._slices = block_slices(self.shape[1], 8 * self.shape[0])
        self._budget = cache_size * 2**20
        self._kept = {}

    def matvec(self, a):
        out = np.zeros((self.shape[0], *a.shape[1:]))
        for block, K_b in self._blocks():
            out += K_b @ a[block]
        return out

    def rmatvec(self, v):
        out = np.empty((self.shape[1], *v.shape[1:]))
        for block, K_b in self._blocks():
            out[block] = K_b.T @ v
        return out

    def columns(self, index):
        if isinstance(index, slice):
            if index in self._slices:
                return self._block(self._slices.index(index)).copy(order="K")
            index = np.arange(*index.indices(self.shape[1]))
        index = np.asarray(index, dtype=np.intp)
        out = np.empty((self.shape[0], len(index)), order="F")
        owner, position = np.divmod(index, self._slices[0].stop)
        kept = np.isin(owner, list(self._kept))
        for number in np.unique(owner[kept]):
            here = owner == number
            out[:, here] = self._kept[number][:, position[here]]
        if not kept.all():
            out[:, ~kept] = self._evaluate(index[~kept])
        return out

    def submatrix(self, rows, index):
        K_b = np.asarray(self.kernel(self.X[rows], self.Z[index]), dtype=np.float64)
        return np.asfortranarray(K_b)

    def _blocks(self):
        for number, block in enumerate(self._slices):
            yield block, self._block(number)

    def _block(self, number):
        K_b = self._kept.get(number)
        if K_b is None:
            K_b = self._evaluate(self._slices[number])
            if K_b.nbytes <= self._budget:
                self._budget -= K_b.nbytes
                self._kept[number] = K_b
        return K_b

    def _evaluate(self, index):
        Z_b = self.Z[index]
        K_b = np.asarray(self.kernel(self.X, Z_b))
        expected = (self.shape[0], Z_b.shape[0])
        if K_b.shape != expected:
            raise ValueError(
                f"The kernel returned an array of shape {K_b.shape} for {expected[0]} objects and "
                f"{expected[1]} descriptive objects; kernel(X, Z) must return one of shape "
                f"{expected}."
            )
        K_b = K_b.astype(np.float64, copy=False)
        if not np.isfinite(K_b).all():
            raise ValueError(
                "The kernel returned NaN or infinity. Scale the data or change the kernel's "
                "parameters."
            )
        return K_b
