"""Some columns of K̃ that a solver keeps, their products with each other and with a vector."""

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp

from .._core._descent import sweep_dense, sweep_sparse
from .._core._sparse import products
from .._threads import map_blocks

STRIP, STRIP_WORK = 256, 5 * 10**7
"""Columns of W that are multiplied at once, and products that are worth a thread."""
FAST = 10
"""Times that multiplications of dense matrices are faster than sweeps, which read a column for each
of its products (`benchmarks/bench_referee.py` shows what the choice that rests on it is worth)."""


class ColumnBlock(ABC):
    """Columns ``K̃_W`` of a standardised matrix; W starts empty and grows and shrinks.

    How they are kept is for the storage of K to decide.
    """

    @property
    @abstractmethod
    def entries(self):
        """Stored entries of ``K̃_W``."""

    @abstractmethod
    def extend(self, index):
        """Append the columns `index` of K̃ to W."""

    @abstractmethod
    def products(self, first):
        """``K̃_W'K̃_new`` of the columns of W from the place `first` on, dense, by columns."""

    @abstractmethod
    def work(self, first, more=0):
        """Operations that these products cost if W has some `more` columns."""

    @abstractmethod
    def sweep(self, some, alpha, r, C, epsilon):
        """Sweep over the places `some` of W; see `_core._descent`."""

    @abstractmethod
    def keep(self, kept):
        """Forget all columns of W but those at the increasing places `kept`."""

    @abstractmethod
    def matvec(self, a):
        """``K̃_W @ a`` for a vector or a block of vectors."""

    @abstractmethod
    def rmatvec(self, v):
        """``K̃_W.T @ v`` for a vector or a block of vectors."""


class DenseBlock(ColumnBlock):
    """Dense columns in a growing buffer."""

    def __init__(self, K):
        self.K, self._n = K, 0
        self._buffer = np.empty((K.shape[0], 0), order="F")

    @property
    def entries(self):
        return self.K.shape[0] * self._n

    def extend(self, index):
        n, q = self._n, len(index)
        if n + q > self._buffer.shape[1]:
            larger = np.empty((self.K.shape[0], max(n + q, min(2 * n, n + 1000))), order="F")
            larger[:, :n] = self._buffer[:, :n]
            self._buffer = larger
        self._buffer[:, n : n + q] = self.K.columns(index)
        self._n = n + q

    def products(self, first):
        """``K̃_W'K̃_new``, the rows of which threads share."""
        n, new = self._n, self._buffer[:, first : self._n]
        G = np.empty((n, new.shape[1]), order="F")

        def part(rows):
            np.matmul(self._buffer[:, rows].T, new, out=G[rows])

        width = max(STRIP, STRIP_WORK // max(new.size, 1))
        map_blocks(part, [slice(t, min(t + width, n)) for t in range(0, n, width)])
        return G

    def work(self, first, more=0):
        n = self._n + more
        return 2 * self.K.shape[0] * n * (n - first) / FAST

    def sweep(self, some, alpha, r, C, epsilon):
        sweep_dense(self._buffer, some, alpha, r, C, epsilon)

    def keep(self, kept):
        self._buffer[:, : len(kept)] = self._buffer[:, kept]
        self._n = len(kept)

    def matvec(self, a):
        return (a.T @ self._buffer[:, : self._n].T).T

    def rmatvec(self, v):
        return (v.T @ self._buffer[:, : self._n]).T


class SparseBlock(ColumnBlock):
    """Sparse columns: ``K̃_W = X - sqrt(w) c'`` with a sparse X.

    A column of X is one of ``diag(sqrt(w)) K diag(1 / s)`` and ``c = m / s``, whose products
    need a correction of rank one. Where the mean dominates, that would cost digits: such a column
    has few zeros to lose, and X holds it centred, with ``c = 0``.

    Parameters
    ----------
    K : Standardized
        K̃.
    stored : callable
        ``stored(index)`` returns columns of the raw K as a float64 csc array.
    """

    def __init__(self, K, stored):
        self.K, self._stored = K, stored
        self._root, self._total = np.sqrt(K.weights), K.weights.sum()
        self._X = sp.csc_array((K.shape[0], 0))
        self._c = np.empty(0)

    @property
    def entries(self):
        return self._X.nnz

    def extend(self, index):
        X, c = self._parts(index)
        self._X = X if self._X.shape[1] == 0 else sp.hstack([self._X, X], format="csc")
        self._c = np.concatenate([self._c, c])

    def products(self, first):
        G = products(self._X, self._X[:, first:])
        G -= self._total * np.multiply.outer(self._c, self._c[first:])
        return np.asfortranarray(G)

    def work(self, first, more=0):
        # Entries that meet in a row if they are spread evenly, and the correction.
        L, n = self._X.shape
        new = n + more - first
        met = (self._X.nnz / max(n, 1)) ** 2 / L
        return 2 * (met + 1) * (n + more) * new

    def sweep(self, some, alpha, r, C, epsilon):
        X = self._X
        parts = (X.indptr, X.indices, X.data, self._c, self._total, self._root @ r)
        r += sweep_sparse(*parts, some, alpha, r, C, epsilon) * self._root

    def keep(self, kept):
        self._X, self._c = self._X[:, kept], self._c[kept]

    def matvec(self, a):
        return self._X @ a - np.multiply.outer(self._root, self._c @ a)

    def rmatvec(self, v):
        return self._X.T @ v - np.multiply.outer(self._c, self._root @ v)

    def _parts(self, index):
        """The columns of X and the entries of c that belong to columns of K."""
        norms = self.K.norms[index]
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        c = self.K.means[index] * inverse
        # Half of the squares or more is the mean.
        dominated = self._total * np.square(c) > 1
        X = self._stored(index)
        X.data = X.data * np.repeat(inverse, np.diff(X.indptr))
        X.data *= self._root[X.indices]
        if dominated.any():
            X = self._centred(X, index, dominated)
            c[dominated] = 0.0
        return X, c

    def _centred(self, X, index, dominated):
        """X with the dominated columns centred."""
        centred = sp.csc_array(self.K.columns(index[dominated]))
        order = np.argsort(np.argsort(dominated, kind="stable"))
        return sp.hstack([X[:, ~dominated], centred], format="csc")[:, order]
