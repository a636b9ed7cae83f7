"""Kernels of vectors (SPEC section 8). All of them work on dense and sparse rows."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils.extmath import row_norms, safe_sparse_dot

TILE = 2**20
"""Numbers in a temporary copy of some rows."""
CLOSE = 1e-7
"""Share of ``||x||^2 + ||z||^2`` up to which a squared distance is computed by differences."""


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
        K, _, _ = _squared_distances(X, Z, -self.gamma)
        np.minimum(K, 0.0, out=K)
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


def _real(X):
    """Rows in double precision, whatever they are stored in: a copy only if they are not."""
    return X.astype(np.float64, copy=False) if sp.issparse(X) else np.asarray(X, dtype=np.float64)


def _dot(X, Z):
    return safe_sparse_dot(_real(X), _real(Z).T, dense_output=True)


def _squared_distances(X, Z, factor=1.0):
    """``factor ||x - z||^2 = factor (||x||^2 + ||z||^2 - 2 <x, z>)`` and both squared norms.

    The sum is off by a few ulp of the norms and not clipped at zero. Dense features whose mean
    exceeds their spread are shifted first: distances do not change, the norms shrink.
    """
    Z = _real(Z)
    if sp.issparse(X) or sp.issparse(Z):
        X = _real(X)
        xx, zz = row_norms(X, squared=True), row_norms(Z, squared=True)
        D = _dot(X, -2.0 * factor * Z)
    else:
        origin = _origin(Z)
        Z = Z - origin
        xx, zz = np.empty(X.shape[0]), row_norms(Z, squared=True)
        D = np.empty((X.shape[0], Z.shape[0]))
        Z_t = -2.0 * factor * Z.T
        step = max(16, TILE // max(X.shape[1], 1))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            X_b = X[rows] - origin if origin.any() else _real(X[rows])
            xx[rows] = row_norms(X_b, squared=True)
            np.matmul(X_b, Z_t, out=D[rows])
    D += (factor * xx)[:, None]
    D += factor * zz
    return D, xx, zz


def _origin(Z):
    """Means of the features, 0 for those within two standard deviations of 0.

    An outlier, which would be a bad origin for all others, moves the mean by at most one.
    """
    if Z.shape[0] == 0:
        return np.zeros(Z.shape[1])
    means = Z.mean(axis=0)
    return np.where(np.abs(means) > 2.0 * Z.std(axis=0), means, 0.0)


def _distances(X, Z):
    """Euclidean distances, also right where x and z are close.

    The expansion of the square leaves an absolute error of a few ulp of ``||x||^2 + ||z||^2``;
    its root would turn an exact zero into 1e-8. The few pairs that this touches are recomputed.
    """
    D, xx, zz = _squared_distances(X, Z)
    i, j = np.nonzero(CLOSE * (xx[:, None] + zz) >= D)
    if sp.issparse(X) != sp.issparse(Z):
        X, Z = sp.csr_array(X), sp.csr_array(Z)
    step = max(1, TILE // max(X.shape[1], 1))
    for start in range(0, len(i), step):
        i_b, j_b = i[start : start + step], j[start : start + step]
        D[i_b, j_b] = row_norms(_real(X[i_b]) - _real(Z[j_b]), squared=True)
    return np.sqrt(D, out=D)
