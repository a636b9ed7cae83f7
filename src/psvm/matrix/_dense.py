"""A dense array as data matrix."""

from functools import reduce

import numpy as np

from .._core._dense import column_statistics, gather, lines_times, row_moments, sum_of_lines
from .._threads import map_blocks
from ._base import (
    SHARED_BYTES,
    DataMatrix,
    block_slices,
    row_statistics,
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
    """

    def __init__(self, K):
        self.K, self.shape = K, K.shape
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
            size, least = PASS_BYTES, max(-(-n // PARTS), 1)
        self._map = map_blocks if K.nbytes >= SHARED_BYTES else _in_turn
        self._blocks = block_slices(n, 8 * length, minimum=least, size=size)

    def matvec(self, a):
        return self._sum(a) if self._by_columns else self._times(a)

    def rmatvec(self, v):
        return self._times(v) if self._by_columns else self._sum(v)

    def columns(self, index):
        if isinstance(index, slice):
            return np.array(self.K[:, index], dtype=np.float64, order="F")
        if self._rows is not None:
            index = np.asarray(index, dtype=np.intp)
            return gather(self._rows, np.where(index < 0, index + self.shape[1], index))
        return self.K[:, index].astype(np.float64, copy=False)

    def submatrix(self, rows, index):
        return np.array(self.K[np.ix_(rows, index)], dtype=np.float64, order="F")

    def column_statistics(self, weights):
        if self._by_columns:
            means, squares = self._concatenated(
                lambda block: column_statistics(self._contiguous(block), weights)
            )
        else:
            sample = self.K[typical_rows(weights)]
            means, squares = row_statistics(
                lambda c: self._added(
                    lambda block: row_moments(self._contiguous(block), weights[block], c)
                ),
                sample,
                weights,
            )
        return with_norms(means, squares, weights)

    def moments(self, weights):
        sample = self.K[typical_rows(weights)].astype(np.float64)
        varies = sample.min(axis=0) < sample.max(axis=0)
        guess = sample[:, varies]
        plain = bool((weights == 1).all()) and _moderate(guess.mean(0), np.square(guess).mean(0))
        shift = np.zeros(self.shape[1]) if plain else typical(sample)
        sums, Q = self._products(weights, shift, plain)
        total = weights.sum()
        if plain and not _moderate(sums / total, Q.diagonal() / total):
            shift = sums / total
            sums, Q = self._products(weights, shift, False)
        rest = sums / total
        Q -= total * np.multiply.outer(rest, rest)
        return *with_norms(shift + rest, np.maximum(Q.diagonal(), 0.0), weights), Q

    def normal(self, a, f):
        L, P = self.shape
        v = np.empty(L)

        def part(rows):
            product = np.zeros(P)
            for block in _pieces(rows, 8 * P):
                K_b = np.asarray(self.K[block], dtype=np.float64)
                v[block] = f(block, K_b @ a)
                product += K_b.T @ v[block]
            return product

        return v, reduce(np.add, self._map(part, _pieces(slice(0, L), 8 * P, PASS_BYTES)))

    def _products(self, weights, shift, plain):
        """``w'(K - c)`` and ``(K - c)' diag(w) (K - c)``; `plain` if c is 0 and w is 1."""
        L, P = self.shape

        def part(rows):
            sums, Q = np.zeros(P), np.zeros((P, P))
            for block in _pieces(rows, 8 * P):
                K_b = np.asarray(self.K[block], dtype=np.float64)
                root = np.sqrt(weights[block])
                if not plain:
                    K_b = (K_b - shift) * root[:, None]
                sums += root @ K_b
                Q += K_b.T @ K_b
            return sums, Q

        parts = self._map(part, _pieces(slice(0, L), 8 * P, PASS_BYTES))
        return [reduce(np.add, values) for values in zip(*parts, strict=True)]

    def _load(self, block):
        """Lines of doubles or floats."""
        lines = self._lines[block]
        return lines if self._direct or self._floats else lines.astype(np.float64, order="C")

    def _times(self, x):
        """The product of all lines with x."""
        out = np.empty((len(self._lines), *x.shape[1:]))
        compiled = self._floats and x.ndim == 1
        x = np.ascontiguousarray(x)

        def part(block):
            A = self._load(block)
            out[block] = lines_times(A, x) if compiled else A.astype(np.float64, copy=False) @ x

        self._map(part, self._blocks)
        return out

    def _sum(self, x):
        """The sum of all lines with factors x."""
        compiled = self._floats and x.ndim == 1
        x = np.ascontiguousarray(x)

        def part(block):
            A = self._load(block)
            if compiled:
                return sum_of_lines(A, x[block])
            return A.astype(np.float64, copy=False).T @ x[block]

        # Parts of the sum are kept for all threads together if they are small beside K.
        few = 8 * len(self._blocks) * self._lines.shape[1] <= self.K.nbytes / 8
        return reduce(np.add, (self._map if few else map)(part, self._blocks))

    def _contiguous(self, block):
        return np.ascontiguousarray(self._load(block))

    def _added(self, function):
        """The sums over all blocks of the arrays that a function returns."""
        parts = self._map(function, self._blocks)
        return [reduce(np.add, values) for values in zip(*parts, strict=True)]

    def _concatenated(self, function):
        parts = self._map(function, self._blocks)
        return [np.concatenate(values) for values in zip(*parts, strict=True)]


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
