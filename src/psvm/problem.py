"""The P-SVM problem: what is minimised, and how an answer is checked.

With the standardised matrix K̃, the centred target y, ``l = K̃'y`` and ``Q = K̃'K̃``
(Knebel et al. 2008, eq. 19)::

    minimise   D(alpha) = 1/2 alpha'Q alpha - l'alpha + epsilon ||alpha||_1
    subject to -C <= alpha_j <= C

Everything here is a function of alpha, the residual ``r = y - K̃ alpha`` and the gradient of the
smooth part ``F = Q alpha - l = -K̃'r``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import ndtri

from ._validation import check_integer, check_number
from .matrix import Standardized

__all__ = [
    "C_for_noise",
    "Problem",
    "duality_gap",
    "epsilon_for_noise",
    "from_variance_units",
    "kkt_violation",
    "objective",
]


def __dir__():
    return __all__


PRECISION = 1e-12
"""Violations below this share of ``||K̃'y||_inf`` cannot be certified in double precision."""

SMALLEST, LARGEST = 1e-140, 1e280
"""Norm of y below which squares underflow, and norm of y over that of a column beyond which
coefficients may overflow."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One P-SVM problem: the standardised matrix, the centred target and the two parameters."""

    K: Standardized
    y: np.ndarray
    l: np.ndarray
    b: float
    C: float
    epsilon: float

    @classmethod
    def create(cls, K: Standardized, y: np.ndarray, C: float, epsilon: float) -> Self:
        """State the problem of the standardised matrix K and the raw target y."""
        with np.errstate(over="ignore", invalid="ignore"):
            target = K.target(y)
            size = np.sqrt(target @ target)
        if not np.isfinite(size):
            raise ValueError("y has entries too large to be squared in double precision; scale it.")
        if size < SMALLEST and target.any():
            raise ValueError(
                "The deviations of y from its mean are too small to be squared in double "
                "precision; scale it."
            )
        if size / LARGEST > K.norms[K.norms > 0].min(initial=np.inf):
            raise ValueError(
                "The coefficients would exceed double precision: y is too large, or a column of K "
                "too small. Scale them."
            )
        return cls(K, target, K.correlations(y), K.mean(y), float(C), float(epsilon))

    def with_parameters(self, *, C: float | None = None, epsilon: float | None = None) -> Self:
        """State the same data with other parameters."""
        C = self.C if C is None else float(C)
        epsilon = self.epsilon if epsilon is None else float(epsilon)
        return replace(self, C=C, epsilon=epsilon)

    @property
    def epsilon_max(self) -> float:
        """``||K̃'y||_inf``, the smallest epsilon whose solution is alpha = 0."""
        return float(np.abs(self.l).max(initial=0.0))

    def threshold(self, tol: float) -> float:
        """The violation that `tol` allows: relative to epsilon, or to epsilon_max if that is 0."""
        scale = self.epsilon if self.epsilon > 0 else self.epsilon_max
        return max(tol * scale, PRECISION * self.epsilon_max)

    def residual(self, alpha: np.ndarray) -> np.ndarray:
        """``r = y - K̃ alpha``."""
        return self.y - self.K.matvec(alpha)

    def evaluate(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residual and gradient of alpha together."""
        r, product = self.K.evaluate(alpha, self.y)
        return r, -product

    def gradient(self, r: np.ndarray) -> np.ndarray:
        """``F = -K̃'r``, the gradient of the smooth part."""
        return -self.K.rmatvec(r)


def objective(alpha: np.ndarray, F: np.ndarray, l: np.ndarray, epsilon: float) -> float:
    """``D(alpha)``, with ``alpha'Q alpha = alpha'(F + l)``."""
    return float(0.5 * alpha @ (F - l) + epsilon * np.abs(alpha).sum())


def kkt_violation(alpha: np.ndarray, F: np.ndarray, C: float, epsilon: float) -> np.ndarray:
    """Violation of the KKT conditions (Knebel et al. 2008, eq. 25), at most 0 at an optimum."""
    d = np.abs(F)
    d -= epsilon
    support = np.flatnonzero(alpha)
    a = alpha[support]
    g = np.sign(a) * F[support] + epsilon  # slope of D towards larger |alpha|
    d[support] = np.where(np.abs(a) >= C, g, np.abs(g))
    return d


def duality_gap(
    alpha: np.ndarray, F: np.ndarray, r: np.ndarray, y: np.ndarray, C: float, epsilon: float
) -> float:
    """An upper bound of ``D(alpha) - min D``.

    For finite C the primal is evaluated at ``u = K̃ alpha``. For C = inf the problem is a Lasso,
    and the dual point is the residual scaled into ``||K̃'theta||_inf <= epsilon``. With C = inf
    and epsilon = 0 zero is the only scaled residual in that set; the bound then does not tend to
    zero, and only the KKT violation tells how good alpha is.
    """
    penalty = epsilon * np.abs(alpha).sum()
    if np.isfinite(C):
        slack = np.maximum(np.abs(F) - epsilon, 0.0).sum()
        return max(float(alpha @ F + penalty + C * slack), 0.0)
    rr, ry, largest = r @ r, r @ y, np.abs(F).max(initial=0.0)
    share = ry / rr if rr > 0 else 0.0  # maximises the dual along the ray of r
    limit = epsilon / largest if largest > 0 else np.inf
    share = np.clip(share, -limit, limit)
    return max(float(0.5 * rr + penalty - share * ry + 0.5 * share**2 * rr), 0.0)


def gap_of_products(alpha: np.ndarray, F: np.ndarray, rr: float, C: float, epsilon: float) -> float:
    """`duality_gap` from ``rr = ||r||^2``, as a sum of terms that are small at the optimum."""
    inner, penalty = float(alpha @ F), epsilon * np.abs(alpha).sum()
    largest = np.abs(F).max(initial=0.0)
    if np.isfinite(C):
        return max(float(inner + penalty + C * np.maximum(np.abs(F) - epsilon, 0.0).sum()), 0.0)
    share = 1.0 - inner / rr if rr > 0 else 0.0  # of r, which maximises the dual along its ray
    limit = epsilon / largest if largest > 0 else np.inf
    share = np.clip(share, -limit, limit)
    return max(float(0.5 * rr * (1.0 - share) ** 2 + share * inner + penalty), 0.0)


def from_variance_units(epsilon: float, C: float, n_rows: float) -> tuple[float, float]:
    """Epsilon and C of the technical report in the units of this package.

    The report (Hochreiter & Obermayer 2004) scales columns to variance one, this package to norm
    one. With ``t = sqrt(n_rows)``, ``epsilon / t`` and ``t C`` give the same function, whose
    variables are t times those of the report.

    Parameters
    ----------
    epsilon, C : float
        The values for columns of variance one; C may be infinite.
    n_rows : float
        Number of training rows L, or the sum of their weights.

    Returns
    -------
    epsilon, C : float
        The values for columns of norm one.

    Examples
    --------
    >>> from psvm.problem import from_variance_units
    >>> from_variance_units(20.0, 0.5, 100)
    (2.0, 5.0)
    """
    check_number("epsilon", epsilon, least=0)
    check_number("C", C, above=0, infinite=True)
    check_number("n_rows", n_rows, above=0)
    t = float(np.sqrt(float(n_rows)))
    if epsilon > 0:
        _check_size("epsilon", float(epsilon) / t, epsilon=epsilon, n_rows=n_rows)
    if np.isfinite(C):
        _check_size("C", t * float(C), C=C, n_rows=n_rows)
    return float(epsilon) / t, t * float(C)


def _check_size(name, value, **given):
    """Raise an error if a positive result overflows, or underflows to zero."""
    if not 0 < value < np.inf:
        arguments = " and ".join(f"{key}={float(number):g}" for key, number in given.items())
        raise ValueError(f"{arguments} give no finite {name} above 0.")


def epsilon_for_noise(noise: float, n_columns: int, *, level: float = 0.05) -> float:
    """The epsilon that columns without information exceed with a small probability.

    The technical report (section 2.4.6) fixes epsilon by the level of the noise, without a
    formula. Here it is the quantile of the largest product of a column with Gaussian noise.

    Parameters
    ----------
    noise : float
        Standard deviation of independent noise in the target. For noise in the entries of K it is
        the deviation of the noise as a share of the deviation of its column, times the root mean
        square of the centred target.
    n_columns : int
        Number of columns P.
    level : float, default=0.05
        Largest probability that any column is correlated with the noise by more than epsilon.

    Returns
    -------
    float

    Notes
    -----
    A column of norm one has the product ``K̃_j'n`` with noise n, which is Gaussian with the
    deviation of the noise, whatever the number of rows. The probability that any of P
    products exceeds epsilon is at most P times that of one, so
    ``epsilon = noise * z`` with the normal quantile z of ``1 - level / (2 P)``. In the units of the
    report (variance one) epsilon is larger by the square root of the number of rows.

    This is for rows without weights, or with weights 0 and 1. With weights ``w_i`` the variance of
    a product is ``sum_i w_i K̃_ij^2 Var(n_i)``. It is ``noise^2`` if row i has noise of the variance
    ``noise^2 / w_i``, like the mean of ``w_i`` measurements. If all rows have the same noise, a
    product has at most the deviation ``noise * sqrt(max_i w_i)``: give that as `noise`.

    Examples
    --------
    >>> from psvm.problem import epsilon_for_noise
    >>> round(epsilon_for_noise(0.5, 1), 3), round(epsilon_for_noise(0.5, 1000), 3)
    (0.98, 2.028)
    """
    check_number("noise", noise, least=0)
    check_integer("n_columns", n_columns, least=1)
    check_number("level", level, above=0, below=1)
    epsilon = -float(noise) * float(ndtri(level / (2 * n_columns)))
    if noise > 0 or np.isnan(epsilon):
        _check_size("epsilon", epsilon, noise=noise, level=level)
    return epsilon


def C_for_noise(noise: float, n_rows: float, *, n_columns: int = 1, change: float = 1.0) -> float:
    """The C that bounds the standard deviation of a value from noise in the object's entries.

    The technical report (section 2.4.4) fixes C by the strength of the measurement noise, without
    a formula: the larger the noise, the smaller C. Here C bounds what noise in the entries of a new
    object does to its decision value. Single changes can be larger: one in three exceeds the
    standard deviation, if the noise is Gaussian. Noise in the training rows is not considered.

    Parameters
    ----------
    noise : float
        Standard deviation of independent noise in the entries of a new object, as a share of the
        standard deviation of the column.
    n_rows : float
        Number of training rows L, or the sum of their weights, which fixes the units.
    n_columns : int, default=1
        Number of columns in which noise may add up. 1 bounds the effect of each column by itself.
    change : float, default=1.0
        Largest standard deviation of a value that the noise may cause; 1 is the distance of a
        class from the boundary.

    Returns
    -------
    float

    Notes
    -----
    ``f(x) = sum_j alpha_j (k(x, z_j) - m_j) / s_j + b`` with ``s_j`` the norm of column j,
    ``sqrt(L)`` times its deviation. Noise of share t in one entry changes f by a deviation of
    ``|alpha_j| t / sqrt(L)``, in P entries by at most ``C t sqrt(P / L)``. With
    ``C = change sqrt(L / P) / t`` that is `change`.

    Examples
    --------
    >>> from psvm.problem import C_for_noise
    >>> C_for_noise(0.1, 400), C_for_noise(0.2, 400), C_for_noise(0.1, 400, n_columns=100)
    (200.0, 100.0, 20.0)
    """
    check_number("noise", noise, above=0)
    check_number("n_rows", n_rows, above=0)
    check_integer("n_columns", n_columns, least=1)
    check_number("change", change, above=0)
    C = float(change) / float(noise) * float(np.sqrt(float(n_rows) / n_columns))
    _check_size("C", C, noise=noise, change=change)
    return C
