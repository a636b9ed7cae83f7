"""Kernels of vectors. All of them work on dense and sparse rows.

A kernel is evaluated in the precision of its arguments: float32 only if both are. Products are
BLAS calls whose results are worked on tile by tile, while they are in the cache.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln, kve
from sklearn.utils.extmath import row_norms

from .._parameters import Number
from ..matrix import SquaredDistances, city_block_tiles, row_products, row_slices
from ._base import Kernel

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
        return row_products(X, Z)

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

    _constraints: ClassVar = {"gamma": Number(), "coef0": Number(), "degree": Number(least=0)}

    def __init__(self, gamma: float = 1.0, coef0: float = 0.0, degree: float = 3) -> None:
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree

    @property
    def positive_definite(self) -> bool:
        """All coefficients of the polynomial are non-negative."""
        return self.gamma >= 0 and self.coef0 >= 0 and float(self.degree).is_integer()

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        return self._of_products(row_products(X, Z))

    def diagonal(self, X: Any) -> np.ndarray:
        return self._of_products(row_norms(X, squared=True))

    def _of_products(self, K):
        K *= self.gamma
        K += self.coef0
        if K.ndim < 2 or self.degree not in range(1, LARGEST_DEGREE + 1):
            return np.power(K, self.degree, out=K)
        for rows in row_slices(*K.shape):
            _multiply_up(K[rows], int(self.degree))
        return K


class Tanh(Kernel):
    """``k(x, z) = tanh(gamma <x, z> + coef0)``, an indefinite kernel.

    Parameters
    ----------
    gamma : float, default=1.0
    coef0 : float, default=0.0

    Examples
    --------
    >>> from psvm.kernels import Tanh
    >>> Tanh(gamma=0.5)([[1.0, 1.0]], [[1.0, 0.0]]).round(3)
    array([[0.462]])
    """

    _constraints: ClassVar = {"gamma": Number(), "coef0": Number()}

    def __init__(self, gamma: float = 1.0, coef0: float = 0.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        return self._of_products(row_products(X, Z))

    def diagonal(self, X: Any) -> np.ndarray:
        return self._of_products(row_norms(X, squared=True))

    def _of_products(self, K):
        K *= self.gamma
        K += self.coef0
        return np.tanh(K, out=K)


class Cosine(Kernel):
    """``k(x, z) = <x, z> / (||x|| ||z||)``, 0 if one of them is zero.

    Parameters
    ----------
    None

    Examples
    --------
    >>> from psvm.kernels import Cosine
    >>> Cosine()([[3.0, 4.0]], [[1.0, 0.0], [0.0, 0.0]])
    array([[0.6, 0. ]])
    """

    positive_definite = True

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        K = row_products(X, Z)
        K *= _inverse(row_norms(X))[:, None]
        K *= _inverse(row_norms(Z))
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        return (row_norms(X) > 0).astype(X.dtype)


class Exponential(Kernel):
    """``exp(-gamma d(x, z))`` with ``d(x, x) = 0``, for subclasses that know ``d``."""

    positive_definite = True

    _constraints: ClassVar[dict] = {"gamma": Number(above=0)}

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

    def diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0], dtype=X.dtype)


class RBF(Exponential):
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
        squares = SquaredDistances(X, Z, factor=-self.gamma)
        return _exponentials(squares, squares.empty())

    def evaluate_into(self, X: Any, Z: Any, out: np.ndarray) -> None:
        _exponentials(SquaredDistances(X, Z, factor=-self.gamma), out)


def _exponentials(tiles, K):
    """``K = exp(D)`` of tiles D that are at most 0 but for rounding."""
    for rows, columns, D in tiles:
        if D.max(initial=0.0) > 0:  # rounding; few tiles have pairs so close
            np.minimum(D, 0.0, out=D)
        np.exp(D, out=K[rows, columns])
    return K


class Laplacian(Exponential):
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
        K = np.empty((X.shape[0], Z.shape[0]), dtype=np.result_type(X.dtype, Z.dtype))
        for rows, D in city_block_tiles(X, Z):
            D *= -self.gamma
            np.exp(D, out=K[rows], casting="same_kind")
        return K


class RationalQuadratic(Exponential):
    """``k(x, z) = (1 + gamma ||x - z||^2 / exponent)^(-exponent)``: an RBF kernel with long tails.

    For a large exponent it is ``RBF(gamma)``. The length scale l of
    `sklearn.gaussian_process.kernels.RationalQuadratic` is ``gamma = 1 / (2 l^2)``, its alpha the
    exponent.

    Parameters
    ----------
    gamma : float, default=1.0
    exponent : float, default=1.0

    Examples
    --------
    >>> from psvm.kernels import RationalQuadratic
    >>> RationalQuadratic()([[0.0], [1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    _constraints: ClassVar = {"exponent": Number(above=0)}

    def __init__(self, gamma: float = 1.0, exponent: float = 1.0) -> None:
        super().__init__(gamma)
        self.exponent = exponent

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        squares = SquaredDistances(X, Z, factor=self.gamma / self.exponent)
        K = squares.empty()
        for rows, columns, D in squares:
            np.maximum(D, 0.0, out=D)
            D += 1.0
            np.power(D, -self.exponent, out=K[rows, columns])
        return K


class Matern(Exponential):
    """Matérn kernel: between the exponential of the distance and the RBF kernel in smoothness.

    ``k(x, z) = 2^(1 - nu) / Gamma(nu) t^nu K_nu(t)`` with ``t = sqrt(4 nu gamma) ||x - z||`` and
    the modified Bessel function K_nu. For a large nu it is ``RBF(gamma)``, for nu = 0.5
    ``exp(-sqrt(2 gamma) ||x - z||)``. The length scale l of
    `sklearn.gaussian_process.kernels.Matern` is ``gamma = 1 / (2 l^2)``.

    Parameters
    ----------
    gamma : float, default=1.0
    nu : float, default=1.5
        Smoothness, at most 50. With 0.5, 1.5 and 2.5 no Bessel function is needed, which is many
        times faster.

    Examples
    --------
    >>> from psvm.kernels import Matern
    >>> Matern(gamma=0.5, nu=0.5)([[0.0], [1.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    _constraints: ClassVar = {"nu": Number(above=0, most=50)}

    def __init__(self, gamma: float = 1.0, nu: float = 1.5) -> None:
        super().__init__(gamma)
        self.nu = nu

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        squares = SquaredDistances(X, Z)
        K = squares.empty()
        for rows, columns, D in squares.repaired():
            D *= 4.0 * self.nu * self.gamma
            K[rows, columns] = self._of_arguments(np.sqrt(D, out=D))
        return K

    def _of_arguments(self, t):
        if self.nu == 0.5:
            return np.exp(-t)
        if self.nu == 1.5:
            return (1.0 + t) * np.exp(-t)
        if self.nu == 2.5:
            return (1.0 + t + t * t / 3.0) * np.exp(-t)
        return _matern(t.astype(np.float64, copy=False), self.nu)


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

    _constraints: ClassVar = {"rho": Number(least=0), "zeta": Number()}

    def __init__(self, rho: float = 1.0, zeta: float = 1.0) -> None:
        self.rho = rho
        self.zeta = zeta

    @property
    def positive_definite(self) -> bool:
        """A completely monotone function of a Bernstein function of ``||x - z||^2``."""
        return self.rho > 0 and self.zeta > 0

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.rho == 0 and self.zeta > 0:
            raise ValueError("rho must be > 0 unless zeta <= 0: equal vectors would divide by 0.")

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        squares = SquaredDistances(X, Z)
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

    _constraints: ClassVar = {"theta": Number()}

    def __init__(self, theta: float = 1.0) -> None:
        self.theta = theta

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        squares = SquaredDistances(X, Z)
        K = squares.empty()
        for rows, columns, D in squares.repaired():
            np.sqrt(D, out=D)
            D *= self.theta
            np.sin(D, out=K[rows, columns])
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        return np.zeros(X.shape[0], dtype=X.dtype)


def _multiply_up(K, degree):
    """``K **= degree`` by squaring and multiplying."""
    base = K.copy()
    for bit in f"{degree:b}"[1:]:
        K *= K
        if bit == "1":
            K *= base


def _inverse(norms):
    """``1 / norms``, 0 where they are."""
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def _matern(t, nu):
    """``2^(1 - nu) / Gamma(nu) t^nu K_nu(t)``; two terms of its series where K_nu overflows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = (1.0 - nu) * np.log(2.0) - gammaln(nu) + nu * np.log(t) + np.log(kve(nu, t)) - t
    tiny = 1.0 - t * t / (4.0 * (nu - 1.0)) if nu > 1 else np.ones_like(t)
    small = np.isinf(kve(nu, t))
    return np.where(small, tiny, np.exp(np.where(small, 0.0, logs)))
