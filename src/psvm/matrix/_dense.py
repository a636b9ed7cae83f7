"""A dense array as data matrix."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from .._core._dense import column_statistics, gather, occupied, row_moments
from .._threads import map_blocks
from ._base import (
    SHARED_BYTES,
    DataMatrix,
    Statistics,
    Survey,
    block_slices,
    gathered,
    products,
    row_statistics,
    sum_of,
    times,
    typical,
    typical_rows,
    with_norms,
)

PASS_BYTES = 4 * 2**20
"""Size of a block that is read where it lies."""
CACHED_BYTES = 2**20
"""Size of a block that is converted or read more than once: it should stay in the cache."""
PARTS = 64
"""Most parts of a sum over blocks that are read where they lie."""


class DenseMatrix(DataMatrix):
    """An ndarray of any real dtype and memory order, also read-only or memory-mapped.

    K lies in memory by lines, its rows or its columns, and all passes follow them in blocks, which
    the threads at hand share. Lines of doubles go to BLAS and lines of floats to loops that sum in
    double precision; every other array is converted block by block. K is never copied.

    Parameters
    ----------
    K : ndarray of shape (L, P)
    pass_bytes : int
        Size of a block that is read where it lies.
    shared_bytes : int
        Smallest size of K for which threads share a pass.
    """

    def __init__(
        self, K: np.ndarray, *, pass_bytes: int = PASS_BYTES, shared_bytes: int = SHARED_BYTES
    ) -> None:
        self.K, self.shape, self._pass_bytes = K, K.shape, pass_bytes
        down, right = K.strides
        self._by_columns = abs(down) < abs(right)
        self._lines = K.T if self._by_columns else K
        gap, step = self._lines.strides
        n, length = self._lines.shape
        contiguous = K.flags.aligned and self._lines.flags.c_contiguous
        for_blas = K.flags.aligned and step == 8 and gap >= 8 * length and gap % 8 == 0
        self._direct = for_blas and K.dtype == np.float64
        self._floats = contiguous and K.dtype == np.float32
        self._rows = None
        if contiguous and not self._by_columns and K.dtype in (np.float32, np.float64):
            self._rows = np.asarray(K)
        size, least = CACHED_BYTES, 1
        if self._direct or self._floats:
            size, least = pass_bytes, max(-(-n // PARTS), 1)
        self._map = map_blocks if K.nbytes >= shared_bytes else _in_turn
        self._blocks = block_slices(n, 8 * length, minimum=least, size=size)

    def matvec(self, a: np.ndarray) -> np.ndarray:
        return self._sum(a) if self._by_columns else self._times(a)

    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        return self._times(v) if self._by_columns else self._sum(v)

    def columns(self, index: slice | np.ndarray) -> np.ndarray:
        if isinstance(index, slice):
            return np.array(self.K[:, index], dtype=np.float64, order="F")
        if self._rows is not None:
            index = np.asarray(index, dtype=np.intp)
            return gather(self._rows, np.where(index < 0, index + self.shape[1], index))
        return self.K[:, index].astype(np.float64, copy=False)

    def submatrix(self, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        return np.array(self.K[np.ix_(rows, index)], dtype=np.float64, order="F")

    def rows(self, index: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(self.K[index], dtype=np.float64)

    def part(self, rows: np.ndarray, columns: np.ndarray) -> DataMatrix:
        return DenseMatrix(self.K[np.ix_(rows, columns)])

    def occupied(self, index: np.ndarray) -> np.ndarray:
        if self._rows is not None:
            return index[occupied(self._rows, index)]
        blocks = block_slices(len(index), self.shape[0] * self.K.itemsize, size=CACHED_BYTES)
        parts = [self.K[:, index[block]].any(axis=0) for block in blocks]
        return index[np.concatenate(parts)] if parts else index

    def centred_gram(self, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self.gram_by_rows(means, weights)

    def column_statistics(self, weights: np.ndarray) -> Statistics:
        return self.survey(weights)[0]

    def survey(self, weights: np.ndarray, v: np.ndarray | None = None) -> Survey:
        if self._by_columns:
            return self._column_survey(weights, v)
        product = None

        def moments(c):
            nonlocal product
            sums, squares, product = self._row_survey(weights, c, v)
            return sums, squares

        means, squares = row_statistics(moments, self.K[typical_rows(weights)], weights)
        return with_norms(means, squares, weights), product

    def _column_survey(self, weights, v):
        def part(block):
            A = self._contiguous(block)
            if v is None:
                return *column_statistics(A, weights, times(A, weights)), None
            sums, product = products(A, weights, v)
            return *column_statistics(A, weights, sums), product

        return gathered(self._map(part, self._blocks), weights)

    def surveys(self, W: np.ndarray, V: np.ndarray) -> list[Survey]:
        if not self._by_columns or self._floats:
            return super().surveys(W, V)
        totals = W.sum(axis=1, keepdims=True)
        centre = W.sum(axis=0) / totals.sum()

        def part(block):
            A = self._contiguous(block)
            c = A @ centre
            D = A - c[:, None]
            rests = (W @ D.T) / totals
            squares = W @ np.square(D, out=D).T  # around c
            shifts = totals * np.square(rests)
            means, around = c + rests, np.maximum(squares - shifts, 0.0)
            # Where a mean is far from c, that costs digits.
            far = ~(shifts <= 0.5 * squares)
            for i in np.flatnonzero(far.any(axis=1)):
                lines = A[far[i]]
                found = column_statistics(lines, W[i], times(lines, W[i]))
                means[i, far[i]], around[i, far[i]] = found
            return means, around, V @ A.T

        parts = zip(*self._map(part, self._blocks), strict=True)
        means, squares, sums = (np.concatenate(values, axis=1) for values in parts)
        statistics = [with_norms(*one) for one in zip(means, squares, W, strict=True)]
        return list(zip(statistics, sums, strict=True))

    def _row_survey(self, weights, c, v):
        """``w'(K - c)``, ``w'(K - c)^2`` and ``K'v``, which is zero without a v."""
        P = self.shape[1]

        def part(rows):
            sums = np.zeros((3, P))
            for block in _pieces(rows, 8 * P):
                A = self._contiguous(block)
                sums[:2] += row_moments(A, weights[block], c)
                if v is not None:
                    sums[2] += sum_of(A, v[block])
            return sums

        return reduce(np.add, self._map(part, self._blocks))

    def moments(
        self, weights: np.ndarray, v: np.ndarray | None = None
    ) -> tuple[Statistics, np.ndarray | None, np.ndarray]:
        sample = self.K[typical_rows(weights)].astype(np.float64)
        varies = sample.min(axis=0) < sample.max(axis=0)
        guess = sample[:, varies]
        plain = bool((weights == 1).all()) and _moderate(guess.mean(0), np.square(guess).mean(0))
        shift = np.zeros(self.shape[1]) if plain else typical(sample)
        sums, Q = self._products(weights, v, shift, plain)
        total = weights.sum()
        far = np.square(sums[0]) > 0.5 * total * Q.diagonal()  # from the mean, which costs digits
        if far.any() if not plain else not _moderate(sums[0] / total, Q.diagonal() / total):
            shift = shift + sums[0] / total
            sums, Q = self._products(weights, v, shift, False)
        rest = sums[0] / total
        Q -= total * np.multiply.outer(rest, rest)
        statistics = with_norms(shift + rest, np.maximum(Q.diagonal(), 0.0), weights)
        return statistics, None if v is None else sums[1] + v.sum() * shift, Q

    def normal(
        self, a: np.ndarray, f: Callable[[slice, np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        L, P = self.shape
        v = np.empty(L)

        def part(rows):
            product = np.zeros(P)
            for block in _pieces(rows, 8 * P):
                K_b = np.asarray(self.K[block], dtype=np.float64)
                v[block] = f(block, K_b @ a)
                product += K_b.T @ v[block]
            return product

        return v, reduce(np.add, self._map(part, _pieces(slice(0, L), 8 * P, self._pass_bytes)))

    def _products(self, weights, v, shift, plain):
        """``[w, v]'(K - c)`` and ``(K - c)' diag(w) (K - c)``; `plain` if c is 0 and w is 1."""
        L, P = self.shape
        root = np.sqrt(weights)
        V = root[None]
        if v is not None:
            V = np.stack([root, np.divide(v, root, out=np.zeros(L), where=root > 0)])

        def part(rows):
            sums, Q = np.zeros((len(V), P)), np.zeros((P, P))
            for block in _pieces(rows, 8 * P):
                K_b = np.asarray(self.K[block], dtype=np.float64)
                if not plain:
                    K_b = (K_b - shift) * root[block, None]
                sums += V[:, block] @ K_b
                Q += K_b.T @ K_b
            return sums, Q

        parts = self._map(part, _pieces(slice(0, L), 8 * P, self._pass_bytes))
        return [reduce(np.add, values) for values in zip(*parts, strict=True)]

    def _load(self, block):
        """Lines of doubles or floats."""
        lines = self._lines[block]
        return lines if self._direct or self._floats else lines.astype(np.float64, order="C")

    def _times(self, x):
        """The product of all lines with x."""
        out = np.empty((*x.shape[1:], len(self._lines))).T  # one vector after the other
        x = np.ascontiguousarray(x)

        def part(block):
            times(self._load(block), x, out[block])

        self._map(part, self._blocks)
        return out

    def _sum(self, x):
        """The sum of all lines with factors x."""
        x = np.ascontiguousarray(x)

        def part(block):
            return sum_of(self._load(block), x[block])

        # Parts of the sum are kept for all threads together if they are small beside K.
        few = 8 * len(self._blocks) * self._lines.shape[1] <= self.K.nbytes / 8
        return reduce(np.add, (self._map if few else map)(part, self._blocks))

    def _contiguous(self, block):
        return np.ascontiguousarray(self._load(block))


def _in_turn(function, blocks):
    return list(map(function, blocks))


def _pieces(rows, row_bytes, size=CACHED_BYTES):
    """Parts of the slice `rows` of about `size` bytes, or as many as allowed."""
    n = rows.stop - rows.start
    least = max(-(-n // PARTS), 1) if size > CACHED_BYTES else 16
    return [
        slice(rows.start + piece.start, rows.start + piece.stop)
        for piece in block_slices(n, row_bytes, minimum=least, size=size)
    ]


def _moderate(means, squares):
    """Whether the means can be taken out of the mean squares at a loss of at most two digits."""
    return bool((np.square(means) <= 0.99 * squares).all())
