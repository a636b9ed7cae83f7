"""The direct solver: R for all points, then the dual on it.

With the weights of the points in the diagonal matrix D, ``K_D = D^1/2 K D^1/2`` is the Gram matrix
of points that count once, and ``R = D^-1/2 Q^-1 K_D D^-1/2`` with ``Q = (1 - lam) K_D + lam I``
(Hochreiter, Mohr & Obermayer 2004, eq. 73 for D = I). ``Q^-1 K_D`` has the eigenvectors of K_D and
the eigenvalues ``nu / ((1 - lam) nu + lam)``; for lam = 0 an eigenvalue that counts as zero stays
zero.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from ..matrix import block_slices
from ..solvers import DenseGram, FactorGram, minimise
from ._machine import SpheredMachine

EPS = np.finfo(np.float64).eps
CANCELLED = 1e-3
"""With ``(1 - lam) K`` below this share of lam, eq. 59 would lose more than three digits of R."""


def solve_gram(K, target, *, lam, center, limits):
    """The machine of a positive semidefinite Gram matrix, which is overwritten."""
    means = center_gram(K, target.share) if center else np.zeros(len(K))
    limits.check_time()
    if lam == 0:
        return Decomposition.of_gram(K, target.weights).solve(
            target, lam=0.0, limits=limits, means=means
        )
    R = DenseGram(K if lam == 1 else _sphere(K, target.weights, lam, limits))
    solution = minimise(R, target, limits)
    # lam w = X (v - (1 - lam) D X'w): the derivative of the Lagrangian by w is zero
    beta = (solution.v - (1.0 - lam) * target.weights * solution.values) / lam
    return gram_machine(solution, beta, means, target)


def center_gram(K, share):
    """Replace K by ``B K B'`` with ``B = I - 1 share'`` (appendix C); returns its row means.

    A new row of kernel values is centred in the same way, with the means of the training points.
    """
    means = K @ share
    K -= means
    K -= (K @ share)[:, None]
    return means


def gram_machine(solution, beta, means, target):
    """``f(o) = k_c(o)'beta + b``, where the centring of the row k(o) is moved into beta and b."""
    coef = beta - target.share * beta.sum() if means.any() else beta
    return SpheredMachine(
        solution=solution,
        objects=np.arange(len(beta)),
        coef=coef,
        intercept=float(solution.b - means @ coef),
        norm=float(np.sqrt(max(beta @ solution.values, 0.0))),
        weights=target.weights,
    )


def _sphere(K, weights, lam, limits):
    """R, in the place of K where that is accurate enough."""
    _scale(K, np.sqrt(weights))
    share, n = 1.0 - lam, len(K)
    small = share * K.max() < CANCELLED * lam
    Q = (share * K if small else np.multiply(K, share, out=K)).T  # symmetric: now LAPACK's order
    Q.T.flat[:: n + 1] += lam
    factor, failed = sl.lapack.dpotrf(Q, lower=True, clean=False, overwrite_a=True)
    if failed:
        raise ValueError(
            f"lam = {lam:.3g} is within the rounding errors of the eigenvalues of the Gram matrix. "
            "Use a larger lam, or lam=0 for the pseudo-inverse."
        )
    limits.check_time()
    if small:
        R, _ = sl.lapack.dpotrs(factor, K.T, lower=True, overwrite_b=True)
        R = R.T
    else:
        R, _ = sl.lapack.dpotri(factor, lower=True, overwrite_c=True)
        R = R.T
        R *= -lam / share  # eq. 59: Q^-1 K = (I - lam Q^-1) / (1 - lam)
        R.flat[:: n + 1] += 1.0 / share
    mirror(R)
    _scale(R, 1.0 / np.sqrt(weights))
    return R


def mirror(A):
    """Copy the upper triangle of a square array to the lower one."""
    for rows in block_slices(len(A), 8 * len(A)):
        A[rows.stop :, rows] = A[rows, rows.stop :].T
        square = A[rows, rows]
        lower = np.tril_indices(len(square), -1)
        square[lower] = square.T[lower]


def _scale(K, root):
    """``K[i, j] *= root[i] root[j]``."""
    if (root != 1.0).any():
        K *= root
        K *= root[:, None]


@dataclass(frozen=True, eq=False)
class Decomposition:
    """One decomposition of the training data for all values of lam.

    Attributes
    ----------
    U : ndarray of shape (L, rank)
        Eigenvectors of K_D, divided by the roots of the weights.
    nu : ndarray of shape (rank,)
        Its eigenvalues above the threshold of the pseudo-inverse.
    V : ndarray of shape (n_columns, rank)
        Maps a row, of centred kernel values or features, to coordinates: ``rows @ V = U * nu``.
    """

    U: np.ndarray
    nu: np.ndarray
    V: np.ndarray

    @classmethod
    def of_gram(cls, K, weights):
        """From a positive semidefinite matrix, which is overwritten.

        Eigenvalues up to ``L eps max(nu)`` are zero.
        """
        root = np.sqrt(weights)[:, None]
        _scale(K, root[:, 0])
        nu, U = sl.eigh(K, overwrite_a=True, check_finite=False)
        kept = nu > len(K) * EPS * max(nu[-1], 0.0)
        U = U[:, kept]
        return cls(U / root, nu[kept], U * root)

    @classmethod
    def of_features(cls, X, weights, *, scale=False):
        """From the features of the linear kernel ``X X'``, which would square the condition.

        Singular values up to ``max(L, N) eps`` times the largest are zero. With `scale`, features
        of full rank are scaled to norm one first and nu is set to one: right for lam = 0 only,
        where scaling changes nothing but the rounding errors.
        """
        root = np.sqrt(weights)[:, None]
        X = root * X
        threshold = max(X.shape) * EPS
        norms = np.sqrt(np.einsum("ij,ij->j", X, X))
        if scale and norms.all():
            U, s, Vt = sl.svd(X / norms, full_matrices=False, check_finite=False)
            if s[-1] > threshold * s[0]:
                return cls(U / root, np.ones(len(s)), Vt.T / s / norms[:, None])
        U, s, Vt = sl.svd(X, full_matrices=False, check_finite=False)
        kept = s > threshold * s[0]
        return cls(U[:, kept] / root, s[kept] ** 2, Vt[kept].T * s[kept])

    def sphered(self, lam):
        """Z with ``R = Z Z'``: the training points after sphering (appendix B)."""
        return self.U * np.sqrt(self.nu * self._inverse(lam))

    def solve(self, target, *, lam, limits, means=None, start=None):
        """The machine of one lam, of kernel values with `means`, else of centred features."""
        Z = self.sphered(lam)
        R = FactorGram(Z) if 2 * Z.shape[1] < len(Z) else DenseGram(Z @ Z.T)
        solution = minimise(R, target, limits, start)
        # What a row is multiplied with: the coefficients of kernel values, w for features.
        coef = self.V @ (self._inverse(lam) * (solution.v @ self.U))
        if means is not None:
            return gram_machine(solution, coef, means, target)
        return SpheredMachine(
            solution=solution,
            objects=np.arange(len(coef)),
            coef=coef,
            intercept=solution.b,
            norm=float(np.linalg.norm(coef)),
            weights=target.weights,
        )

    def _inverse(self, lam):
        return 1.0 / ((1.0 - lam) * self.nu + lam)
