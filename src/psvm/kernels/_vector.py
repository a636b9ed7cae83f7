"""Kernels of vectors. All of them work on dense and sparse rows.

A kernel is evaluated in the precision of its arguments: float32 only if both are. Products are
BLAS calls whose results are worked on tile by tile, while they are in the cache.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from .._validation import check_choice, check_number
from ._base import Kernel

TILE_COLUMNS, TILE_SIZE = 256, 2**16
"""Width and size of a tile: it stays in the second-level cache, and BLAS runs at full speed."""
TILE = 2**20
"""Numbers in a temporary copy of some rows."""
LARGEST_DEGREE = 64
"""Up to this integer, powers are products: several times faster, as the base may be negative."""


class Linear(Kernel):
    """``k(x, z) = <x, z>``.

    Examples
    --------
    >>> from psvm.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    positive_definite = True

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        return _dot(X, Z)

    def diagonal(self, X: Any) -> np.ndarray:
        return row_norms(X, squared=True)


class Polynomial(Kernel):
    """``k(x, z) = (gamma <x, z> + coef0)^degree``.

    Parameters
    ----------
    gamma : float, default=1.0
    coef0 : float, default=0.0
    degree : float, default=3

    Examples
    --------
    >>> from psvm.kernels import Polynomial
    >>> Polynomial(degree=2, coef0=1.0)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    def __init__(self, gamma: float = 1.0, coef0: float = 0.0, degree: float = 3) -> None:
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree

    @property
    def positive_definite(self) -> bool:
        """All coefficients of the polynomial are non-negative."""
        return self.gamma >= 0 and self.coef0 >= 0 and float(self.degree).is_integer()

    def check_parameters(self) -> None:
        check_number("gamma", self.gamma)
        check_number("coef0", self.coef0)
        check_number("degree", self.degree, least=0)

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        return self._of_products(_dot(X, Z))

    def diagonal(self, X: Any) -> np.ndarray:
        return self._of_products(row_norms(X, squared=True))

    def _of_products(self, K):
        K *= self.gamma
        K += self.coef0
        if K.ndim < 2 or self.degree not in range(1, LARGEST_DEGREE + 1):
            return np.power(K, self.degree, out=K)
        for rows in _row_slices(*K.shape, size=TILE_SIZE):
            _multiply_up(K[rows], int(self.degree))
        return K


class _Exponential(Kernel):
    """``exp(-gamma d(x, z))`` with ``d(x, x) = 0``."""

    positive_definite = True

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def check_parameters(self) -> None:
        check_number("gamma", self.gamma, above=0)

    def diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0], dtype=X.dtype)


class RBF(_Exponential):
    """``k(x, z) = exp(-gamma ||x - z||^2)``.

    Parameters
    ----------
    gamma : float, default=1.0

    Examples
    --------
    >>> from psvm.kernels import RBF
    >>> RBF(gamma=0.5)([[0.0], [2.0]]).round(3)
    array([[1.   , 0.135],
           [0.135, 1.   ]])
    """

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        squares = _SquaredDistances(X, Z, factor=-self.gamma)
        K = squares.empty()
        for rows, columns, D in squares:
            if D.max(initial=0.0) > 0:  # rounding; few tiles have pairs so close
                np.minimum(D, 0.0, out=D)
            np.exp(D, out=K[rows, columns])
        return K


class Laplacian(_Exponential):
    """``k(x, z) = exp(-gamma sum_i |x_i - z_i|)``, as `sklearn.metrics.pairwise.laplacian_kernel`.

    Parameters
    ----------
    gamma : float, default=1.0

    Examples
    --------
    >>> from psvm.kernels import Laplacian
    >>> Laplacian()([[0.0, 0.0]], [[1.0, -1.0]]).round(3)
    array([[0.135]])
    """

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        X, Z = _same_storage(X, Z)
        K = np.empty((X.shape[0], Z.shape[0]), dtype=_precision(X, Z))
        distances = manhattan_distances if sp.issparse(X) else partial(cdist, metric="cityblock")
        size = TILE if sp.issparse(X) else TILE_SIZE
        for rows in _row_slices(X.shape[0], Z.shape[0], size):
            # The compiled loops behind both work in double precision.
            D = distances(_real(X[rows]), _real(Z)) if K.size else K
            D *= -self.gamma
            np.exp(D, out=K[rows], casting="same_kind")
        return K


class Plummer(Kernel):
    """``k(x, z) = (||x - z|| + rho)^(-zeta)``.

    Parameters
    ----------
    rho, zeta : float, default=1.0

    Examples
    --------
    >>> from psvm.kernels import Plummer
    >>> Plummer()([[0.0], [1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    def __init__(self, rho: float = 1.0, zeta: float = 1.0) -> None:
        self.rho = rho
        self.zeta = zeta

    @property
    def positive_definite(self) -> bool:
        """A completely monotone function of a Bernstein function of ``||x - z||^2``."""
        return self.rho > 0 and self.zeta > 0

    def check_parameters(self) -> None:
        check_number("rho", self.rho, least=0)
        check_number("zeta", self.zeta)
        if self.rho == 0 and self.zeta > 0:
            raise ValueError("rho must be > 0 unless zeta <= 0: equal vectors would divide by 0.")

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        squares = _SquaredDistances(X, Z)
        K = squares.empty()
        for rows, columns, D in squares.repaired():
            np.sqrt(D, out=D)
            D += self.rho
            np.power(D, -self.zeta, out=K[rows, columns])
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        return np.full(X.shape[0], float(self.rho) ** -self.zeta, dtype=X.dtype)


class Sine(Kernel):
    """``k(x, z) = sin(theta ||x - z||)``, an indefinite kernel.

    Parameters
    ----------
    theta : float, default=1.0

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.kernels import Sine
    >>> Sine(theta=np.pi / 2)([[0.0], [1.0]])
    array([[0., 1.],
           [1., 0.]])
    """

    def __init__(self, theta: float = 1.0) -> None:
        self.theta = theta

    def check_parameters(self) -> None:
        check_number("theta", self.theta)

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        squares = _SquaredDistances(X, Z)
        K = squares.empty()
        for rows, columns, D in squares.repaired():
            np.sqrt(D, out=D)
            D *= self.theta
            np.sin(D, out=K[rows, columns])
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        return np.zeros(X.shape[0], dtype=X.dtype)


def make_kernel(
    name: str, *, gamma: float, degree: float, coef0: float, theta: float, rho: float, zeta: float
) -> Kernel:
    """The kernel object of a name as the estimators spell it; `gamma` is a number here."""
    choices = {
        "linear": lambda: Linear(),
        "poly": lambda: Polynomial(gamma, coef0, degree),
        "rbf": lambda: RBF(gamma),
        "laplacian": lambda: Laplacian(gamma),
        "plummer": lambda: Plummer(rho, zeta),
        "sine": lambda: Sine(theta),
    }
    check_choice("name", name, tuple(choices))
    kernel = choices[name]()
    kernel.check_parameters()
    return kernel


class _SquaredDistances:
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
        self.zz = row_norms(self._shifted, squared=True)

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
            self.xx[rows] = left[: len(X_b), d] = row_norms(X_b, squared=True)
            for columns in _slices(P, TILE_COLUMNS):
                shape = len(X_b), columns.stop - columns.start
                D = buffer[: shape[0] * shape[1]].reshape(shape)
                np.matmul(left[: len(X_b)], right[columns].T, out=D)
                yield rows, columns, D

    def _sparse_tiles(self):
        self.xx[:] = row_norms(self.X, squared=True)
        Z = (-2.0 * self.factor) * self.Z
        for rows in _row_slices(self.X.shape[0], Z.shape[0]):
            D = _dot(self.X[rows], Z).astype(self.dtype, copy=False)
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
        X, Z = _same_storage(self.X, self.Z)
        squares = np.empty(len(i))
        for part in _slices(len(i), max(1, TILE // max(X.shape[1], 1))):
            squares[part] = row_norms(_real(X[i[part]]) - _real(Z[j[part]]), squared=True)
        return squares


def _origin(Z):
    """Means of the features, 0 for those within two standard deviations of 0; None for all zero.

    An outlier, which would be a bad origin for all others, moves the mean by at most one.
    """
    if Z.shape[0] == 0:
        return None
    means = Z.mean(axis=0)
    far = np.abs(means) > 2.0 * Z.std(axis=0)
    return np.where(far, means, 0.0).astype(Z.dtype, copy=False) if far.any() else None


def _dot(X, Z):
    return safe_sparse_dot(X, Z.T, dense_output=True)


def _real(X):
    """Rows in double precision: a copy only if they are not."""
    return X.astype(np.float64, copy=False)


def _precision(X, Z):
    return np.result_type(X.dtype, Z.dtype)


def _same_storage(X, Z):
    """Both dense or both sparse."""
    if sp.issparse(X) != sp.issparse(Z):
        X, Z = sp.csr_array(X), sp.csr_array(Z)
    return X, Z


def _slices(n, step):
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _row_slices(n, width, size=TILE):
    """Slices of rows of a matrix that hold about `size` numbers."""
    return _slices(n, max(16, size // max(width, 1)))


def _multiply_up(K, degree):
    """``K **= degree`` by squaring and multiplying."""
    base = K.copy()
    for bit in f"{degree:b}"[1:]:
        K *= K
        if bit == "1":
            K *= base
