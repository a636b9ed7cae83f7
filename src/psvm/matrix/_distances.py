"""Products and distances of the rows of two matrices, tile by tile, for the kernels of vectors."""

from functools import partial

import numpy as np
import scipy.sparse as sp

from ._storage import dense_copy, same_storage

TILE_COLUMNS, TILE_SIZE = 256, 2**16
"""Width and size of a tile: it stays in the second-level cache, and BLAS runs at full speed."""
TILE = 2**20
"""Numbers in a temporary copy of some rows."""


def row_products(X, Z):
    """``X Z'`` as a dense array."""
    from sklearn.utils.extmath import safe_sparse_dot

    if X.dtype != Z.dtype:  # the product of two sparse matrices needs the same precision
        X, Z = _real(X), _real(Z)
    return safe_sparse_dot(X, Z.T, dense_output=True)


def city_block_tiles(X, Z):
    """Slices of the rows of X and ``sum_k |x_k - z_k|`` of them with all rows of Z."""
    from scipy.spatial.distance import cdist

    X, Z = same_storage(X, Z)
    distances, size = partial(cdist, metric="cityblock"), TILE_SIZE
    if sp.issparse(X):
        from sklearn.metrics.pairwise import manhattan_distances

        distances, size = manhattan_distances, TILE
        X, Z = _short_indices(X), _short_indices(Z)
    P = Z.shape[0]
    for rows in row_slices(X.shape[0], P, size=size):
        # The compiled loops behind both work in double precision.
        D = distances(_real(X[rows]), _real(Z)) if P else np.empty((rows.stop - rows.start, 0))
        yield rows, D


def chi2_tiles(X, Z):
    """Slices of rows and of columns and ``sum_k (x_k - z_k)^2 / (x_k + z_k)`` of these.

    The compiled loop of scikit-learn works in dense double precision, so parts of both are copied.
    """
    from sklearn.metrics.pairwise import additive_chi2_kernel

    height = max(16, TILE // max(X.shape[1], 1))
    for columns in _slices(Z.shape[0], min(height, TILE_SIZE)):
        Z_b = dense_copy(Z[columns])
        for rows in row_slices(X.shape[0], max(len(Z_b), X.shape[1]), size=TILE):
            D = additive_chi2_kernel(dense_copy(X[rows]), Z_b)
            yield rows, columns, np.negative(D, out=D)


def row_sums(X):
    """The sum of each row in double precision."""
    return np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()


class SquaredDistances:
    """Tiles of ``factor ||x - z||^2 = factor (||x||^2 + ||z||^2 - 2 <x, z>)``.

    The sum is off by a few ulp of the norms and not clipped at zero. Dense features whose mean
    exceeds their spread are shifted first: distances do not change, the norms shrink. The norms
    are two more columns of the matrices that BLAS multiplies, so that a tile needs no other pass::

        [x, ||x||^2, 1] [-2 factor z, factor, factor ||z||^2]'

    Iterating gives slices of rows and of columns and a tile, which is overwritten by the next one.
    """

    def __init__(self, X, Z, factor=1.0):
        self.X, self.Z, self.factor = X, Z, factor
        self.dtype = _precision(X, Z)
        self.xx = np.empty(X.shape[0], dtype=self.dtype)
        self._sparse = sp.issparse(X) or sp.issparse(Z)
        self._origin = None if self._sparse else _origin(Z)
        self._shifted = Z if self._origin is None else Z - self._origin
        self.zz = _square_norms(self._shifted)

    def empty(self):
        """An array for all values."""
        return np.empty((self.X.shape[0], self.Z.shape[0]), dtype=self.dtype)

    def __iter__(self):
        return self._sparse_tiles() if self._sparse else self._dense_tiles()

    def _dense_tiles(self):
        factor, (P, d) = self.factor, self.Z.shape
        right = np.empty((P, d + 2), dtype=self.dtype)
        np.multiply(self._shifted, -2.0 * factor, out=right[:, :d])
        right[:, d] = factor
        np.multiply(self.zz, factor, out=right[:, d + 1])
        height = TILE_SIZE // max(1, min(P, TILE_COLUMNS))
        left = np.ones((min(height, self.X.shape[0]), d + 2), dtype=self.dtype)
        buffer = np.empty(TILE_SIZE, dtype=self.dtype)
        for rows in _slices(self.X.shape[0], height):
            X_b = left[: rows.stop - rows.start, :d]
            if self._origin is None:
                X_b[:] = self.X[rows]
            else:
                np.subtract(self.X[rows], self._origin, out=X_b)
            self.xx[rows] = left[: len(X_b), d] = _square_norms(X_b)
            for columns in _slices(P, TILE_COLUMNS):
                shape = len(X_b), columns.stop - columns.start
                D = buffer[: shape[0] * shape[1]].reshape(shape)
                np.matmul(left[: len(X_b)], right[columns].T, out=D)
                yield rows, columns, D

    def _sparse_tiles(self):
        self.xx[:] = _square_norms(self.X)
        Z = (-2.0 * self.factor) * self.Z
        for rows in row_slices(self.X.shape[0], Z.shape[0], size=TILE):
            D = row_products(self.X[rows], Z).astype(self.dtype, copy=False)
            D += (self.factor * self.xx[rows])[:, None]
            D += self.factor * self.zz
            yield rows, slice(None), D

    def repaired(self):
        """Tiles that are also right where x and z are close, for ``factor = 1``.

        The root of a rounding error would turn an exact zero into 1e-8. The few pairs whose
        squares are so small a share of ``||x||^2 + ||z||^2`` that digits are missing are
        recomputed from differences.
        """
        close = 6.7 * np.sqrt(np.finfo(self.dtype).eps)
        for rows, columns, D in self:
            near = close * self.xx[rows, None] + close * self.zz[columns] >= D
            if near.any():
                i, j = np.nonzero(near)
                D[i, j] = self._differences(i + rows.start, j + (columns.start or 0))
            yield rows, columns, D

    def _differences(self, i, j):
        """``||x_i - z_j||^2`` of some pairs, in double precision."""
        X, Z = same_storage(self.X, self.Z)
        squares = np.empty(len(i))
        for part in _slices(len(i), max(1, TILE // max(X.shape[1], 1))):
            squares[part] = _square_norms(_real(X[i[part]]) - _real(Z[j[part]]))
        return squares


def _square_norms(X):
    from sklearn.utils.extmath import row_norms

    return row_norms(X, squared=True)


def _origin(Z):
    """Means of the features, 0 for those within two standard deviations of 0; None for all zero.

    An outlier, which would be a bad origin for all others, moves the mean by at most one.
    """
    if Z.shape[0] == 0:
        return None
    means = Z.mean(axis=0)
    far = np.abs(means) > 2.0 * Z.std(axis=0)
    return np.where(far, means, 0.0).astype(Z.dtype, copy=False) if far.any() else None


def _short_indices(X):
    """A sparse matrix with indices of 32 bits, which compiled loops of scikit-learn want."""
    if X.indices.dtype == np.int32 and X.indptr.dtype == np.int32:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array(parts, shape=X.shape)


def _real(X):
    """Rows in double precision: a copy only if they are not."""
    return X.astype(np.float64, copy=False)


def _precision(X, Z):
    return np.result_type(X.dtype, Z.dtype)


def _slices(n, step):
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def row_slices(n, width, size=TILE_SIZE):
    """Slices of rows of a matrix that hold about `size` numbers, by default those of a tile."""
    return _slices(n, max(16, size // max(width, 1)))
