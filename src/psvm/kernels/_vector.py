"""Kernels of vectors. All of them work on dense and sparse rows.

A kernel is evaluated in the precision of its arguments: float32 only if both are. Products are
BLAS calls whose results are worked on tile by tile, while they are in the cache.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.extmath import row_norms

from .._parameters import Number
from .._validation import check_choice
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


class _Exponential(Kernel):
    """``exp(-gamma d(x, z))`` with ``d(x, x) = 0``."""

    positive_definite = True

    _constraints: ClassVar = {"gamma": Number(above=0)}

    def __init__(self, gamma: float = 1.0) -> None:
        self.gamma = gamma

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
        K = np.empty((X.shape[0], Z.shape[0]), dtype=np.result_type(X.dtype, Z.dtype))
        for rows, D in city_block_tiles(X, Z):
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


def _multiply_up(K, degree):
    """``K **= degree`` by squaring and multiplying."""
    base = K.copy()
    for bit in f"{degree:b}"[1:]:
        K *= K
        if bit == "1":
            K *= base
