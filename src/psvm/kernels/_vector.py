"""Kernels of vectors (SPEC section 8). All of them work on dense and sparse rows."""

from dataclasses import dataclass

import numpy as np
from sklearn.utils.extmath import row_norms, safe_sparse_dot


@dataclass(frozen=True)
class Linear:
    """``k(x, z) = <x, z>``."""

    def __call__(self, X, Z):
        """Kernel values of all rows of X with all rows of Z."""
        return _dot(X, Z)


@dataclass(frozen=True)
class Polynomial:
    """``k(x, z) = (gamma <x, z> + coef0)^degree``."""

    gamma: float = 1.0
    coef0: float = 0.0
    degree: float = 3

    def __call__(self, X, Z):
        """Kernel values of all rows of X with all rows of Z."""
        K = _dot(X, Z)
        K *= self.gamma
        K += self.coef0
        return np.power(K, self.degree, out=K)


@dataclass(frozen=True)
class RBF:
    """``k(x, z) = exp(-gamma ||x - z||^2)``."""

    gamma: float = 1.0

    def __call__(self, X, Z):
        """Kernel values of all rows of X with all rows of Z."""
        K = _squared_distances(X, Z)
        K *= -self.gamma
        return np.exp(K, out=K)


@dataclass(frozen=True)
class Plummer:
    """``k(x, z) = (||x - z|| + rho)^(-zeta)``."""

    rho: float = 1.0
    zeta: float = 1.0

    def __call__(self, X, Z):
        """Kernel values of all rows of X with all rows of Z."""
        K = _distances(X, Z)
        K += self.rho
        return np.power(K, -self.zeta, out=K)


@dataclass(frozen=True)
class Sine:
    """``k(x, z) = sin(theta ||x - z||)``, an indefinite kernel."""

    theta: float = 1.0

    def __call__(self, X, Z):
        """Kernel values of all rows of X with all rows of Z."""
        K = _distances(X, Z)
        K *= self.theta
        return np.sin(K, out=K)


def make_kernel(name, *, gamma, degree, coef0, theta, rho, zeta):
    """The kernel object of a name as the estimators spell it; `gamma` is a number here."""
    return {
        "linear": lambda: Linear(),
        "poly": lambda: Polynomial(gamma, coef0, degree),
        "rbf": lambda: RBF(gamma),
        "plummer": lambda: Plummer(rho, zeta),
        "sine": lambda: Sine(theta),
    }[name]()


def _dot(X, Z):
    return np.asarray(safe_sparse_dot(X, Z.T, dense_output=True), dtype=np.float64)


def _squared_distances(X, Z):
    """``||x||^2 + ||z||^2 - 2 <x, z>``, clipped at zero."""
    D = _dot(X, Z)
    D *= -2.0
    D += row_norms(X, squared=True)[:, None]
    D += row_norms(Z, squared=True)
    return np.maximum(D, 0.0, out=D)


def _distances(X, Z):
    """Euclidean distances, also right where x and z are close.

    The expansion of the square leaves an absolute error of a few ulp of ``||x||^2 + ||z||^2``;
    its root would turn an exact zero into 1e-8. The few pairs that this touches are recomputed.
    """
    D = _squared_distances(X, Z)
    scale = row_norms(X, squared=True)[:, None] + row_norms(Z, squared=True)
    i, j = np.nonzero(D <= 1e-7 * scale)
    for start in range(0, len(i), 4096):
        i_b, j_b = i[start : start + 4096], j[start : start + 4096]
        D[i_b, j_b] = row_norms(X[i_b] - Z[j_b], squared=True)
    return np.sqrt(D, out=D)
