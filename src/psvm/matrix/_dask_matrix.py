"""A dask array as data matrix: products and columns as sums and pieces of its chunks."""

from __future__ import annotations

from functools import partial
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._validation import check_array
from ._base import DataMatrix, Statistics, Survey, spread, with_norms
from ._block import ColumnBlock, SparseBlock
from ._dask_rows import DaskRows, as_rows
from ._delayed import tree
from ._factory import as_matrix
from ._moments import moments_of
from ._row_blocks import check_finite
from ._sparse import ENTRIES, FULL
from ._storage import row_digests

if TYPE_CHECKING:
    from ._standardized import Standardized


class DaskMatrix(DataMatrix):
    """A dask array with dense or sparse chunks of rows, which stay where they are.

    The chunks are computed once and kept in the memory of the workers, in float64 or float32; a
    chunk whose worker is lost is computed again. ``K a`` brings one number per row to the client,
    ``K'v`` one number per column and chunk through a tree of sums, and the columns of a working set
    their stored entries. Vectors with an entry for each row or column must fit into the memory of
    the client; K need not.

    Parameters
    ----------
    K : dask.array.Array of shape (L, P)
        Chunks are NumPy arrays or SciPy sparse matrices. The numbers of their rows need not be
        known.

    Examples
    --------
    >>> import numpy as np, psvm
    >>> import dask.array as da
    >>> from psvm.matrix import DaskMatrix
    >>> rng = np.random.default_rng(0)
    >>> K = da.from_array(rng.normal(size=(50, 200)), chunks=(20, 200))
    >>> y = np.asarray(2 * K[:, 3] - K[:, 8])
    >>> psvm.solve(DaskMatrix(K), y, epsilon=4.0).support
    array([3, 8])
    """

    def __init__(self, K: Any) -> None:
        self._rows = K if isinstance(K, DaskRows) else DaskRows(K)
        import dask

        self._delayed = partial(dask.delayed, pure=False)
        make = self._delayed(_part_of)
        parts = dask.persist(*[make(X, where) for X, _, _, where in self._rows.chunks])
        facts = self._rows.compute(*[self._delayed(_facts)(part) for part in parts])
        if not facts:
            raise ValueError("K has no chunks.")
        self._parts = [part for part, fact in zip(parts, facts, strict=True) if fact[0]]
        lengths = [fact[0] for fact in facts if fact[0]]
        self._ends = np.cumsum([0, *lengths])
        self.shape = int(self._ends[-1]), self._rows.n_features
        self._density = sum(fact[1] for fact in facts) / max(self.shape[0] * self.shape[1], 1)
        self._stored = all(fact[2] for fact in facts if fact[0])

    def matvec(self, a: np.ndarray) -> np.ndarray:
        return np.concatenate(self._map(_times, a))

    def rmatvec(self, v: np.ndarray) -> np.ndarray:
        return self._sum(_sum_of, each=(v,))

    def columns(self, index: slice | np.ndarray) -> np.ndarray:
        K_b = self._map(_columns, index)
        return np.asfortranarray(np.concatenate(K_b))

    def columns_matvec(self, index: np.ndarray, a: np.ndarray) -> np.ndarray:
        return self.matvec(spread(a, index, self.shape[1]))

    def submatrix(self, rows: np.ndarray, index: np.ndarray) -> np.ndarray:
        rows = np.asarray(rows)
        part_of_row = np.searchsorted(self._ends, rows, side="right") - 1
        out = np.empty((len(rows), len(index)), order="F")
        numbers = np.unique(part_of_row)
        places = [np.flatnonzero(part_of_row == number) for number in numbers]
        task, shared = self._delayed(_submatrix), self._shared(index)
        found = self._rows.compute(
            *[
                task(self._parts[number], rows[place] - self._ends[number], shared)
                for number, place in zip(numbers, places, strict=True)
            ]
        )
        for place, K_b in zip(places, found, strict=True):
            out[place] = K_b
        return out

    def column_block(self, K: Standardized) -> ColumnBlock:
        if not self._stored or self._density >= FULL:
            return super().column_block(K)
        return SparseBlock(K, self._stored_columns)

    def sample_rows(self, count: int) -> np.ndarray:
        if self._density * count < ENTRIES:
            return np.empty(0, dtype=np.intp)
        return super().sample_rows(count)

    def centred_gram(self, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self._sum(_gram, means, each=(weights,))

    def joint_moments(
        self, Y: np.ndarray, weights: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        total = self._sum(_moments, each=(Y, weights))
        return total.origin, total.rest, total.cross

    def column_statistics(self, weights: np.ndarray) -> Statistics:
        return self.survey(weights)[0]

    def survey(self, weights: np.ndarray, v: np.ndarray | None = None) -> Survey:
        found = self.surveys(weights[None], np.zeros_like(weights)[None] if v is None else v[None])
        return found[0] if v is not None else (found[0][0], None)

    def surveys(self, W: np.ndarray, V: np.ndarray) -> list[Survey]:
        found = self._sum(_surveys, each=(W.T, V.T), add=_joined_surveys)
        return [
            (with_norms(means, squares, weights), product)
            for (_, means, squares, product), weights in zip(found, W, strict=True)
        ]

    def digests(self) -> list[bytes]:
        """Digests of the content of the rows."""
        return np.concatenate(self._map(_digests)).tolist()

    def _stored_columns(self, index):
        """``K[:, index]`` as a float64 csc array."""
        return sp.csc_array(sp.vstack(self._map(_stored, index), format="csc"))

    def _map(self, function, *arguments):
        """The values of a function of each part."""
        task, shared = self._delayed(function), [self._shared(value) for value in arguments]
        return self._rows.compute(*[task(part, *shared) for part in self._parts])

    def _sum(self, function, *arguments, each=(), add=add):
        """The sum of a function of each part and of its rows of the arrays `each`."""
        task, shared = self._delayed(function), [self._shared(value) for value in arguments]
        tasks = [
            task(part, *(array[start:end] for array in each), *shared)
            for part, start, end in zip(self._parts, self._ends, self._ends[1:], strict=False)
        ]
        return self._rows.compute(tree(tasks, add))[0]

    def _shared(self, value):
        """A value that all parts use, once in the graph."""
        return self._delayed(value, traverse=False)


def _part_of(X, where):
    """A chunk as a data matrix of its own, checked."""
    X = check_array(
        "K",
        as_rows(X),
        accept_sparse=("csr", "csc"),
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=0,
    )
    check_finite(X, np.empty(0), where)
    return as_matrix(X)


def _facts(part):
    """The number of rows, that of stored entries, and whether the others are not stored."""
    sparse = sp.issparse(part.K)
    return part.shape[0], int(part.K.nnz if sparse else part.K.size), sparse


def _times(part, a):
    return part.matvec(a)


def _sum_of(part, v):
    return part.rmatvec(v)


def _columns(part, index):
    return part.columns(index)


def _submatrix(part, rows, index):
    return part.submatrix(rows, index)


def _stored(part, index):
    return sp.csc_array(part.K[:, index], dtype=np.float64)


def _digests(part):
    # An array travels in one piece.
    return np.array(row_digests(part.K), dtype="V16")


def _gram(part, weights, means):
    # That of DataMatrix holds for any means, and these are not those of the part.
    return DataMatrix.centred_gram(part, means, weights)


def _moments(part, Y, weights):
    return moments_of(part, Y, weights) if weights.any() else None


def _surveys(part, W, V):
    """Weight, means and centred squares of the columns, and ``K'v``, for each weights and v."""
    found = []
    for weights, v in zip(W.T.copy(), V.T.copy(), strict=True):
        if weights.any():
            (means, norms, _), product = part.survey(weights, v)
            found.append((float(weights.sum()), means, np.square(norms), product))
        else:
            nothing = np.zeros(part.shape[1])
            found.append((0.0, nothing, nothing, part.rmatvec(v)))
    return found


def _joined_surveys(a, b):
    return [_joined_survey(one, other) for one, other in zip(a, b, strict=True)]


def _joined_survey(a, b):
    """Those of two sets of rows together, as for `Moments`."""
    (weight_a, means_a, squares_a, product_a), (weight_b, means_b, squares_b, product_b) = a, b
    product = product_a + product_b
    if not (weight_a and weight_b):
        return (*(a if weight_a else b)[:3], product)
    weight, difference = weight_a + weight_b, means_b - means_a
    share = weight_b / weight
    squares = squares_a + squares_b + weight_a * share * np.square(difference)
    return weight, means_a + share * difference, squares, product
