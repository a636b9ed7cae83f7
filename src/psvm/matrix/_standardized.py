"""Centring, scaling and weighting as a wrapper over any data matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from .._core._dense import centre_and_scale, standardise
from ._base import BLOCK_BYTES, FEW, DataMatrix, block_slices
from ._block import ColumnBlock

CONSTANT = 1e-12
"""A column whose centred norm is at most this share of its norm has no variance."""
DOMINATED = 1e6
"""Norm over centred norm, times the root of the number of rows, from which products with the raw
column lose so many digits that they are formed from the standardised column instead."""
TINY, LEAST = 1e-140, 1e-280
"""Entries below which squares underflow, and norms below which coefficients would overflow."""
COPIED = 64 * 2**20
"""Bytes of a dense copy of K̃ from which the products of all columns are formed at once."""
UNEVEN = 1e8
"""Ratio of the largest to the smallest weight from which the same holds for all columns."""


class Standardized:
    """The standardised matrix K̃ without a copy of K.

    With row weights w (all 1 by default), ``m = w'K / sum(w)`` and ``s_j`` the centred norm::

        K̃ = diag(sqrt(w)) (K - 1 m') diag(1 / s)

    so that the columns of K̃ have norm one and are orthogonal to ``sqrt(w)``. A column without
    variance becomes zero: it is never divided by. Rows are left out by a weight of 0 and columns
    by `usable`, so that all folds of a cross-validation share one K.

    Products with K̃ are products with K and a correction of rank one. That loses digits where the
    mean of a column is large beside its deviations, or where weights differ by many orders of
    magnitude. The products of such delicate columns are formed from blocks of K̃ itself.

    Parameters
    ----------
    matrix : DataMatrix
        K.
    weights : ndarray of shape (L,), default=None
        Non-negative weights of the rows.
    usable : boolean ndarray of shape (P,), default=None
        False for a column that takes no part; it becomes zero as well.
    y : ndarray of shape (L,), default=None
        A target whose `correlations` will be asked for: they are found in the same pass over K
        as the statistics.

    Attributes
    ----------
    means, norms : ndarray of shape (P,)
        Column means and centred norms. The norm of a column that is zero in K̃ is 0.
    copy : ndarray of shape (L, P) or None
        K̃ itself by columns, if `gram` was to keep it.
    """

    matrix: DataMatrix
    shape: tuple[int, int]
    weights: np.ndarray
    means: np.ndarray
    norms: np.ndarray
    copy: np.ndarray | None
    _surveyed: tuple[Any, ...]

    def __init__(
        self,
        matrix: DataMatrix,
        weights: np.ndarray | None = None,
        usable: np.ndarray | None = None,
        y: np.ndarray | None = None,
    ) -> None:
        self._begin(matrix, weights)
        with np.errstate(over="ignore", invalid="ignore"):
            v = None if y is None else self._root * self.target(y)
            if self.few:
                statistics, product, self._gram = matrix.moments(self.weights, v)
            else:
                statistics, product = matrix.survey(self.weights, v)
        self._surveyed = y, v, product
        self._know(*statistics, usable)

    @classmethod
    def several(
        cls, matrix: DataMatrix, weights: Sequence[np.ndarray | None], y: Sequence[np.ndarray]
    ) -> list[Self]:
        """One for each of some weights and targets, from one pass over K if it is dense."""
        if matrix.shape[1] <= FEW or len(weights) == 1:
            return [cls(matrix, w, y=t) for w, t in zip(weights, y, strict=True)]
        several = [cls.__new__(cls) for _ in weights]
        with np.errstate(over="ignore", invalid="ignore"):
            for one, w, t in zip(several, weights, y, strict=True):
                one._begin(matrix, w)
                one._surveyed = t, one._root * one.target(t), None
            V = np.array([one._surveyed[1] for one in several])
            surveys = matrix.surveys(np.array([one.weights for one in several]), V)
        for one, (statistics, product) in zip(several, surveys, strict=True):
            one._surveyed = *one._surveyed[:2], product
            one._know(*statistics)
        return several

    @property
    def few(self) -> bool:
        """Whether the columns are so few that their Gram matrix is formed at once."""
        return self.shape[1] <= FEW

    def _begin(self, matrix, weights):
        self.matrix = matrix
        self.shape = L, _ = matrix.shape
        self.weights = np.ones(L) if weights is None else weights
        self._root = np.sqrt(self.weights)
        self._gram = self.copy = None

    def _know(self, means, norms, sizes, usable=None):
        """Take the statistics of the columns."""
        wrong = np.flatnonzero(~np.isfinite(sizes))
        if len(wrong):
            raise ValueError(
                f"K contains NaN, infinity or numbers whose squares exceed double precision in "
                f"{len(wrong)} columns, first in column {wrong[0]}. Impute or leave out missing "
                "values, and divide large columns by their largest entry."
            )
        self.means, self.norms = means, norms
        index = self._find_delicate(norms, sizes)
        if usable is not None:
            index = index[usable[index]]
        self._shift, self._rest = np.zeros_like(means), means.copy() if len(index) else means
        for block in block_slices(len(index), 8 * self.shape[0]):
            self._look_closely(index[block], sizes)
        self.norms[self.norms <= CONSTANT * sizes] = 0.0
        if usable is not None:
            self.norms[~usable] = 0.0
        self._delicate = index[self.norms[index] > 0]
        self._inverse = np.divide(
            1.0, self.norms, out=np.zeros_like(self.norms), where=self.norms > 0
        )

    def _find_delicate(self, norms, sizes):
        """The columns whose statistics, or products with the raw columns, may lose digits."""
        if self.weights.max() > UNEVEN * self.weights[self.weights > 0].min():
            return np.arange(self.shape[1])
        tiny = sizes < TINY * max(np.sqrt(self.weights.sum()), 1.0)
        dominated = np.sqrt(self.shape[0]) * sizes > DOMINATED * norms
        dominated &= (norms > CONSTANT * sizes) & ~tiny
        tiny = self.matrix.occupied(np.flatnonzero(tiny))
        return np.concatenate([np.flatnonzero(dominated), tiny])

    def _look_closely(self, index, sizes):
        """Statistics of some columns from differences to the row that counts most.

        These have all their digits, and so has their mean, `_rest`: the mean of a column is kept
        as a sum of two numbers. Powers of two keep squares from under- or overflowing.
        """
        rows = np.flatnonzero(self.weights)
        root, unit = _scaled(self._root[rows])
        D = self.matrix.columns(index)[rows]
        shift = D[np.argmax(root)].copy()
        D, power = _scaled(D - shift)
        rest = np.square(root) @ D / np.square(root).sum()
        D, inner = _scaled(root[:, None] * (D - rest))
        norms = np.ldexp(np.sqrt(np.square(D).sum(axis=0)), power + inner + unit)
        small = np.flatnonzero((norms < LEAST) & D.any(axis=0))
        if len(small):
            raise ValueError(
                f"Column {index[small[0]]} of K is too small for double precision: the norm of its "
                f"deviations from the mean is below {LEAST:g}. Multiply the column by a large "
                "number, or leave it out."
            )
        self._shift[index], self._rest[index] = shift, np.ldexp(rest, power)
        self.means[index], self.norms[index] = shift + self._rest[index], norms
        sizes[index] = np.hypot(norms, np.sqrt(self.weights.sum()) * np.abs(self.means[index]))

    def target(self, y: np.ndarray) -> np.ndarray:
        """The centred and weighted target, ``sqrt(w) (y - mean)``; exactly 0 for a constant y."""
        shift, rest = self._means_of(y)
        counts = self.weights > 0
        if np.ptp(y[counts]) <= CONSTANT * np.abs(y[counts]).max():
            return np.zeros_like(y)
        return self._root * ((y - shift) - rest)

    def mean(self, y: np.ndarray) -> float:
        """The weighted mean of y."""
        return float(sum(self._means_of(y)))

    def _means_of(self, y):
        """The mean of y as its value in the row that counts most and a small correction."""
        shift = y[np.argmax(self.weights)]
        return shift, self.weights @ (y - shift) / self.weights.sum()

    def matvec(self, a: np.ndarray) -> np.ndarray:
        """``K̃ @ a`` for a vector or a block of vectors."""
        scaled = (self._inverse * a.T).T
        scaled[self._delicate] = 0.0
        product = (self._root * (self.matrix.matvec(scaled) - self.means @ scaled).T).T
        for index in self._delicate_blocks():
            product += self.columns(index) @ a[index]
        return product

    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        """``K̃.T @ v`` for a vector or a block of vectors."""
        weighted = (self._root * v.T).T
        return self._exact(self._centred(self.matrix.rmatvec(weighted), weighted), v)

    @staticmethod
    def joint_rmatvec(
        matrices: Sequence[Standardized], vectors: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """``K̃.T @ v`` of some K̃ of the same K, with one vector each, in one pass over K."""
        if len(matrices) <= 1:
            return [K.rmatvec(v) for K, v in zip(matrices, vectors, strict=True)]
        weighted = np.array([K._root * v for K, v in zip(matrices, vectors, strict=True)])
        products = np.ascontiguousarray(matrices[0].matrix.rmatvec(weighted.T).T)
        return [
            K._exact(K._centred(product, w), v)
            for K, v, product, w in zip(matrices, vectors, products, weighted, strict=True)
        ]

    def correlations(self, y: np.ndarray) -> np.ndarray:
        """``K̃.T @ target(y)``."""
        known, weighted, product = self._surveyed
        if y is not known or len(self._delicate):
            return self.rmatvec(self.target(y))
        return self._centred(product.copy(), weighted)

    def _exact(self, product, v):
        """``K̃.T @ v``, in place, once more where the product with the raw columns loses digits."""
        for index in self._delicate_blocks():
            product[index] = self.columns(index).T @ v
        return product

    def _delicate_blocks(self):
        blocks = block_slices(len(self._delicate), 8 * self.shape[0])
        return [self._delicate[block] for block in blocks]

    def _centred(self, product, weighted):
        """``K̃'v`` from ``K'(sqrt(w) v)``, which is overwritten, and ``sqrt(w) v``."""
        vectors = np.atleast_2d(np.ascontiguousarray(product.T))
        centre_and_scale(vectors, self.means, np.atleast_1d(weighted.sum(axis=0)), self._inverse)
        return vectors.T if product.ndim == 2 else vectors[0]

    def evaluate(self, alpha: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``r = y - K̃ alpha`` and ``K̃'r``; where K lies by rows, in one pass over it."""
        if len(self._delicate):
            r = y - self.matvec(alpha)
            return r, self.rmatvec(r)
        scaled = self._inverse * alpha
        shift = self.means @ scaled

        def weighted_residual(rows, product):
            root = self._root[rows]
            return root * (y[rows] - root * (product - shift))

        weighted, product = self.matrix.normal(scaled, weighted_residual)
        product -= self.means * weighted.sum()
        r = np.divide(weighted, self._root, out=np.zeros_like(weighted), where=self._root > 0)
        return r, self._inverse * product

    def columns(self, index: slice | np.ndarray) -> np.ndarray:
        """``K̃[:, index]`` as a dense array."""
        return self._standardised(self.matrix.columns(index), index, self._root)

    def submatrix(self, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        """``K̃[rows][:, index]`` as a dense array."""
        return self._standardised(self.matrix.submatrix(rows, index), index, self._root[rows])

    def _standardised(self, K_b, index, root):
        """Some rows of the columns `index` of K, which are overwritten if they lie by columns."""
        K_b = np.asfortranarray(K_b)
        if len(self._delicate):
            K_b -= self._shift[index]
        standardise(K_b, self._rest[index], self._inverse[index], root)
        return K_b

    def column_block(self) -> ColumnBlock:
        """A new, empty `ColumnBlock` of K̃."""
        return self.matrix.column_block(self)

    def sample_rows(self, count: int) -> np.ndarray:
        """About `count` rows on which columns can be compared; none if that would say nothing."""
        return self.matrix.sample_rows(count)

    def gram_columns(self, index: np.ndarray, *, block_bytes: int = 4 * BLOCK_BYTES) -> np.ndarray:
        """``Q[:, index]`` of ``Q = K̃'K̃``, with an exact unit diagonal."""
        L, P = self.shape
        Q_b = np.empty((P, len(index)), order="F")
        # Never a dense copy of all of K. Each block costs a pass over K, so they are large.
        for block in block_slices(len(index), 8 * L, size=block_bytes):
            Q_b[:, block] = self.rmatvec(self.columns(index[block]))
        Q_b[index, np.arange(len(index))] = self.norms[index] > 0
        return Q_b

    def gram(self, *, keep: bool = False) -> np.ndarray:
        """``Q = K̃'K̃`` for few columns, with an exact unit diagonal.

        With `keep` the attribute `copy` holds K̃ afterwards, if that needs little memory.
        """
        L, P = self.shape
        if self._gram is None and 8 * L * P <= COPIED:
            K = self.columns(np.arange(P)) if self.copy is None else self.copy
            if keep:
                self.copy = K
            Q = K.T @ K  # symmetric: BLAS forms one half
            np.fill_diagonal(Q, self.norms > 0)
            return Q
        if len(self._delicate):
            Q = self.gram_columns(np.arange(P))
            return (Q + Q.T) / 2
        if self._gram is None:
            self._gram = self.matrix.centred_gram(self.means, self.weights)
        Q = self._gram * self._inverse
        Q *= self._inverse[:, None]
        np.fill_diagonal(Q, self.norms > 0)
        return Q

    def coef(self, alpha: np.ndarray) -> tuple[np.ndarray, float]:
        """Coefficients of the raw columns: ``K̃ a`` without weights is ``K @ coef + shift``."""
        scaled = self._inverse * alpha
        return scaled, -float(self.means @ scaled)


def _scaled(X):
    """X with each column times a power of two, the largest entry near one, and minus the powers."""
    power = np.frexp(np.abs(X).max(axis=0))[1]
    return np.ldexp(X, -power), power
