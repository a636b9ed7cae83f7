"""The data matrix K as the solvers see it: products and blocks of columns, no single elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.linalg.blas import dger

from .._core._dense import column_statistics, lines_times, row_moments, sum_of_lines
from .._threads import map_blocks
from ._block import ColumnBlock, DenseBlock

if TYPE_CHECKING:
    from ._standardized import Standardized

Statistics: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Weighted means, centred norms and plain norms of all columns."""
Survey: TypeAlias = tuple[Statistics, np.ndarray | None]
"""These, and a product ``K'v`` if there is a v."""
FEW = 256
"""Up to this many columns their Gram matrix is formed at once."""
TYPICAL = 16
"""Rows that tell about where the values of a column lie."""
SHARED_BYTES = 32 * 2**20
"""A pass over less than this is over before a second thread would be of use."""
BLOCK_BYTES = 8 * 2**20
"""Size of a temporary dense block: small beside K, large enough for BLAS to run at full speed."""
TALL = 4
"""Rows over columns of a part of K that a thread may have: its products are small beside it."""


def block_slices(n, item_bytes, *, minimum=16, size=BLOCK_BYTES):
    """Slices that cut ``range(n)`` into blocks of about `size` bytes, at least `minimum` long."""
    step = max(minimum, size // max(item_bytes, 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def times(A, x, out=None):
    """``A @ x`` of doubles, or of contiguous lines of floats, summed in double precision."""
    if A.dtype != np.float32:
        return np.matmul(A, x, out=out)
    product = lines_times(A, x) if x.ndim == 1 else A.astype(np.float64) @ x
    if out is None:
        return product
    out[:] = product
    return out


def products(A, x, y):
    """``A @ x`` and ``A @ y`` likewise, of doubles in one pass."""
    if A.dtype == np.float32:
        return lines_times(A, x), lines_times(A, y)
    return np.ascontiguousarray((A @ np.stack((x, y), axis=1)).T)


def sum_of(A, x):
    """``A.T @ x`` likewise."""
    if A.dtype == np.float32:
        return sum_of_lines(A, x) if x.ndim == 1 else (x.T @ A.astype(np.float64)).T
    return A.T @ x if x.ndim == 1 else (x.T @ A).T  # BLAS takes a third of the time that way round


def plus_outer(S, factor, x):
    """``S + factor * outer(x, x)`` of a symmetric matrix, in place; it stays symmetric."""
    if not len(x):  # BLAS takes no empty arrays
        return S
    x = np.sqrt(abs(factor)) * x
    return dger(np.sign(factor), x, x, a=S.T, overwrite_a=True).T


def with_norms(means, squares, weights):
    """Means, centred norms and plain norms from the means and the centred sums of squares."""
    return means, np.sqrt(squares), np.sqrt(squares + weights.sum() * np.square(means))


def typical_rows(weights):
    """A few rows, spread evenly over those that count."""
    rows = np.flatnonzero(weights)
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), TYPICAL)).astype(np.intp)]


def typical(sample):
    """Almost the means of columns, from a few of their rows; exact where these are equal."""
    sample = np.asarray(sample, dtype=np.float64)
    return np.where((sample == sample[:1]).all(axis=0), sample[0], sample.mean(axis=0))


def row_statistics(moments, sample, weights):
    """Means and centred sums of squares of columns, from sums over rows around almost their means.

    Parameters
    ----------
    moments : callable
        ``moments(c)`` returns ``w'(K - c)`` and ``w'(K - c)^2``.
    sample : ndarray
        The `typical_rows` of K, whose means are near those of all: what is left of the means
        costs no digits then. Where it does, the sums are formed once more around the means.
    weights : ndarray
        w.
    """
    shift, total = typical(sample), weights.sum()
    sums, squares = moments(shift)
    if (np.square(sums) > 0.5 * total * squares).any():
        shift = shift + sums / total
        sums, squares = moments(shift)
    rest = sums / total
    return shift + rest, np.maximum(squares - total * np.square(rest), 0.0)


def block_statistics(K_b, weights):
    """Means and centred sums of squares of a block of columns."""
    if not K_b.flags.c_contiguous:
        lines = np.ascontiguousarray(K_b.T)
        return column_statistics(lines, weights, times(lines, weights))
    sample = K_b[typical_rows(weights)]
    return row_statistics(lambda c: row_moments(K_b, weights, c), sample, weights)


def gathered(parts, weights):
    """The survey of all columns from means, sums of squares and products of blocks of them."""
    means, squares, products = zip(*parts, strict=True)
    statistics = with_norms(np.concatenate(means), np.concatenate(squares), weights)
    return statistics, None if products[0] is None else np.concatenate(products)


class DataMatrix(ABC):
    """A real matrix K with L rows (objects) and P columns (descriptive objects).

    A backend gives the shape, the products ``K a`` and ``K'v`` and dense blocks of columns, all in
    double precision; whatever else is needed is derived from these.
    """

    shape: tuple[int, int]

    @abstractmethod
    def matvec(self, a: np.ndarray) -> np.ndarray:
        """``K @ a`` for a vector or a block of vectors with P rows."""

    @abstractmethod
    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        """``K.T @ v`` for a vector or a block of vectors with L rows."""

    @abstractmethod
    def columns(self, index: slice | np.ndarray) -> np.ndarray:
        """``K[:, index]`` as a new dense float64 array; `index` is a slice or an integer array."""

    def columns_matvec(self, index: np.ndarray, a: np.ndarray) -> np.ndarray:
        """``K[:, index] @ a``, a few columns at a time."""
        product = np.zeros(self.shape[0])
        for block in block_slices(len(index), 8 * self.shape[0]):
            product += self.columns(index[block]) @ a[block]
        return product

    def submatrix(self, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """``K[rows][:, index]`` as a new dense float64 array."""
        return self.columns(index)[rows]

    def rows(self, index: np.ndarray) -> np.ndarray:
        """``K[index]`` as a new dense float64 array; `index` is an integer array."""
        return self.submatrix(index, np.arange(self.shape[1]))

    def part(self, rows: np.ndarray, columns: np.ndarray) -> DataMatrix:
        """``K[rows][:, columns]`` as a matrix of its own; both are arrays of indices."""
        return Part(self, rows, columns)

    def column_block(self, K: Standardized) -> ColumnBlock:
        """A new, empty `ColumnBlock` of K, which standardises this matrix."""
        return DenseBlock(K)

    def occupied(self, index: np.ndarray) -> np.ndarray:
        """Those of the columns `index` that may hold anything but zeros."""
        return index

    def sample_rows(self, count: int) -> np.ndarray:
        """About `count` rows on which columns can be compared; none if that would say nothing."""
        L = self.shape[0]
        return np.linspace(0, L - 1, min(L, count)).astype(np.intp)

    def gram_by_rows(self, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """`centred_gram` from dense blocks of rows: half of the products, if rows are at hand."""
        Q, sums = self._products_around(means, np.empty((self.shape[0], 0)), weights)
        return plus_outer(Q, -1 / weights.sum(), sums)  # what rounding left of the means

    def centred_gram(self, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """``(K - 1 m')' diag(w) (K - 1 m')`` for few columns."""
        L, P = self.shape
        Q = np.empty((P, P))
        for block in block_slices(P, 8 * L):
            K_b = self.columns(block)
            K_b -= means[block]
            K_b *= weights[:, None]
            Q[:, block] = self.rmatvec(K_b) - np.multiply.outer(means, K_b.sum(axis=0))
        return Q

    def joint_moments(
        self, Y: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Means and centred products of the columns of ``Z = [K, Y]``, in one pass over few of K.

        The means are returned as two terms, a guess and what it misses: differences to the guess
        have all their digits where means are large. Where the guess is bad, the products are
        formed once more around a better one.
        """
        sample, total = typical_rows(weights), weights.sum()
        origin = typical(np.hstack([self.rows(sample), Y[sample]]))
        S, sums = self._products_around(origin, Y, weights)
        if (np.square(sums) > 0.9 * total * S.diagonal()).any():  # that costs a digit
            origin = origin + sums / total
            S, sums = self._products_around(origin, Y, weights)
        rest = sums / total
        return origin, rest, plus_outer(S, -total, rest)

    def _products_around(self, origin, Y, weights):
        """``(Z - c)' diag(w) (Z - c)`` and ``w'(Z - c)`` of ``Z = [K, Y]``."""
        P, index, n = self.shape[1], np.flatnonzero(weights), len(origin)

        def products(rows):
            S = sums = None
            for block in block_slices(len(rows), 8 * n):
                chosen = rows[block]
                Z, root = np.empty((len(chosen), n)), np.sqrt(weights[chosen])
                np.subtract(self.rows(chosen), origin[:P], out=Z[:, :P])
                np.subtract(Y[chosen], origin[P:], out=Z[:, P:])
                Z *= root[:, None]
                if S is None:
                    S, sums = Z.T @ Z, root @ Z
                else:
                    S += Z.T @ Z
                    sums += root @ Z
            return S, sums

        parts = block_slices(len(index), 8 * n, minimum=TALL * n, size=SHARED_BYTES)
        found = map_blocks(products, [index[part] for part in parts])
        return [reduce(np.add, values) for values in zip(*found, strict=True)]

    def survey(self, weights: np.ndarray, v: np.ndarray | None = None) -> Survey:
        """`column_statistics`, and ``K'v`` from the same pass over K if there is a v."""
        return self.column_statistics(weights), None if v is None else self.rmatvec(v)

    def surveys(self, W: np.ndarray, V: np.ndarray) -> list[Survey]:
        """The `survey` for each of the rows of W and V, weights and vectors."""
        return [self.survey(w, v) for w, v in zip(W, V, strict=True)]

    def moments(
        self, weights: np.ndarray, v: np.ndarray | None = None
    ) -> tuple[Statistics, np.ndarray | None, np.ndarray]:
        """`survey` and `centred_gram` together, for few columns; v is 0 where the weight is."""
        statistics, product = self.survey(weights, v)
        return statistics, product, self.centred_gram(statistics[0], weights)

    def column_statistics(self, weights: np.ndarray) -> Statistics:
        """Weighted means, centred norms and plain norms of all columns.

        With ``w = weights``: ``m = w'K / sum(w)``, ``s = sqrt(w'(K - m)^2)`` and ``sqrt(w'K^2)``.
        The centred norm is computed from centred values, so that a large mean costs no digits.
        """
        L, P = self.shape
        parts = map_blocks(
            lambda block: block_statistics(self.columns(block), weights), block_slices(P, 8 * L)
        )
        means, squares = (np.concatenate(part) for part in zip(*parts, strict=True))
        return with_norms(means, squares, weights)

    def normal(
        self, a: np.ndarray, f: Callable[[slice, np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """``v = f(K a)`` and ``K'v`` for a function that works row by row: ``f(rows, values)``."""
        v = f(slice(None), self.matvec(a))
        return v, self.rmatvec(v)


class Part(DataMatrix):
    """Some rows and columns of a matrix, without a copy."""

    def __init__(self, matrix, rows, columns):
        self.matrix, self._rows, self._columns = matrix, rows, columns
        self.shape = len(rows), len(columns)

    def matvec(self, a):
        return self.matrix.matvec(spread(a, self._columns, self.matrix.shape[1]))[self._rows]

    def rmatvec(self, v):
        return self.matrix.rmatvec(spread(v, self._rows, self.matrix.shape[0]))[self._columns]

    def columns(self, index):
        return self.matrix.columns(self._columns[index])[self._rows]

    def submatrix(self, rows, index):
        return self.matrix.submatrix(self._rows[rows], self._columns[index])


def spread(values, places, length):
    """Zeros but for the values at their places."""
    out = np.zeros((length, *values.shape[1:]))
    out[places] = values
    return out
