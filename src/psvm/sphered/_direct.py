"""The direct solver: R for all points, then the dual on it.

R (`004` eq. 73) has the eigenvectors of the Gram matrix and the eigenvalues
``nu / ((1 - lam) nu + lam)``; for lam = 0 an eigenvalue that counts as zero stays zero.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from ._dual import DenseMatrix, FactorMatrix, minimise
from ._machine import Machine

EPS = np.finfo(np.float64).eps


def solve_gram(K, y, *, lam, C, center, limits):
    """The machine of a positive semidefinite Gram matrix, which is overwritten."""
    means = center_gram(K) if center else np.zeros(len(K))
    if lam == 0:
        return Spectrum.of_gram(K).solve(y, lam=0.0, C=C, limits=limits, means=means)
    if lam == 1:
        solution = minimise(DenseMatrix(K), y, C, limits)
        beta = solution.v
    else:
        factor, R = _sphere(K, lam)
        solution = minimise(DenseMatrix(R), y, C, limits)
        beta = sl.cho_solve(factor, solution.v, check_finite=False)
    return gram_machine(solution, beta, means)


def center_gram(K):
    """Replace K by ``B K B`` with ``B = I - 11'/L`` (appendix C); returns the means of its columns.

    A new row of kernel values is centred in the same way, with the means of the training points.
    """
    means = K.mean(axis=0)
    K -= means
    K -= K.mean(axis=1)[:, None]
    return means


def gram_machine(solution, beta, means):
    """``f(o) = k_c(o)'beta + b``, where the centring of the row k(o) is moved into beta and b."""
    coef = beta - beta.mean() if means.any() else beta
    return Machine(
        solution=solution,
        objects=np.arange(len(beta)),
        coef=coef,
        intercept=float(solution.b - means @ coef),
        norm=float(np.sqrt(max(beta @ solution.values, 0.0))),
    )


def _sphere(K, lam):
    """The Cholesky factor of ``Q = (1 - lam) K + lam I`` and ``R = Q^-1 K``."""
    Q = (1.0 - lam) * K
    Q.flat[:: len(K) + 1] += lam
    factor = sl.cho_factor(Q, overwrite_a=True, check_finite=False)
    R = sl.cho_solve(factor, K, overwrite_b=True, check_finite=False)
    return factor, np.ascontiguousarray(0.5 * (R + R.T))


@dataclass(frozen=True, eq=False)
class Spectrum:
    """One decomposition of the training data for all values of lam.

    Attributes
    ----------
    U : ndarray of shape (L, rank)
        Eigenvectors of the Gram matrix.
    nu : ndarray of shape (rank,)
        Its eigenvalues above the threshold of the pseudo-inverse.
    V : ndarray of shape (n_columns, rank)
        Maps a row, of centred kernel values or features, to coordinates: ``rows @ V = U * nu``.
    """

    U: np.ndarray
    nu: np.ndarray
    V: np.ndarray

    @classmethod
    def of_gram(cls, K):
        """From a positive semidefinite matrix; eigenvalues up to ``L eps max(nu)`` are zero."""
        nu, U = sl.eigh(K, check_finite=False)
        kept = nu > len(K) * EPS * max(nu[-1], 0.0)
        return cls(U[:, kept], nu[kept], U[:, kept])

    @classmethod
    def of_features(cls, X, *, scale=False):
        """From the features of the linear kernel ``X X'``, which would square the condition.

        Singular values up to ``max(L, N) eps`` times the largest are zero. With `scale`, features
        of full rank are scaled to norm one first and nu is set to one: right for lam = 0 only,
        where scaling changes nothing but the rounding errors.
        """
        threshold = max(X.shape) * EPS
        norms = np.sqrt(np.einsum("ij,ij->j", X, X))
        if scale and norms.all():
            U, s, Vt = sl.svd(X / norms, full_matrices=False, check_finite=False)
            if s[-1] > threshold * s[0]:
                return cls(U, np.ones(len(s)), Vt.T / s / norms[:, None])
        U, s, Vt = sl.svd(X, full_matrices=False, check_finite=False)
        kept = s > threshold * s[0]
        return cls(U[:, kept], s[kept] ** 2, Vt[kept].T * s[kept])

    def sphered(self, lam):
        """Z with ``R = Z Z'``: the training points after sphering (appendix B)."""
        return self.U * np.sqrt(self.nu * self._inverse(lam))

    def solve(self, y, *, lam, C, limits, means=None, start=None):
        """The machine of one lam, of kernel values with `means`, else of centred features."""
        Z = self.sphered(lam)
        R = FactorMatrix(Z) if 2 * Z.shape[1] < len(Z) else DenseMatrix(Z @ Z.T)
        solution = minimise(R, y, C, limits, start)
        # What a row is multiplied with: Q^* v for kernel values, w for features.
        coef = self.V @ (self._inverse(lam) * (solution.v @ self.U))
        if means is not None:
            return gram_machine(solution, coef, means)
        return Machine(
            solution=solution,
            objects=np.arange(len(coef)),
            coef=coef,
            intercept=solution.b,
            norm=float(np.linalg.norm(coef)),
        )

    def _inverse(self, lam):
        return 1.0 / ((1.0 - lam) * self.nu + lam)
