"""Gaussian knockoffs: columns that could stand in the place of those of X, but for y."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf

from .._typing import MatrixLike, RandomState
from .._validation import check_array, check_choice, check_has, check_seed, random_numbers
from ..matrix import as_dense

METHODS = ("equicorrelated", "sdp")
COVARIANCES = {"ledoit_wolf": LedoitWolf, "oas": OAS, "empirical": EmpiricalCovariance}
FALL, SWEEPS, LAST_BARRIER = 0.7, 2, 1e-5
"""Factor of the barrier, sweeps over all coordinates for each, and the smallest barrier."""
SINGULAR = 1e-8
"""A correlation matrix with a smaller eigenvalue is singular but for rounding."""
CONSTANT = 1e-12
"""A column whose deviations are at most this share of its entries has no variance."""
NAMED = 5
"""So many columns are named in an error."""


def gaussian_knockoffs(
    X: MatrixLike,
    *,
    method: Literal["equicorrelated", "sdp"] = "equicorrelated",
    covariance: Any = "ledoit_wolf",
    random_state: RandomState = None,
) -> np.ndarray:
    """Random columns with the means and covariances of X, drawn without a look at y.

    If the rows of X are Gaussian with the estimated covariance, any columns of X may change places
    with their knockoffs without a change of the joint distribution. Otherwise first and second
    moments are as they would have to be. Column and knockoff are as little correlated as `method`
    can make them.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data. No column may be constant.
    method : {"equicorrelated", "sdp"}, default="equicorrelated"
        "equicorrelated" makes the correlation of all columns with their knockoffs the same. "sdp"
        makes the sum of these correlations as small as possible, by a semidefinite program. That
        takes longer and gives more power where few features are highly correlated.
    covariance : {"ledoit_wolf", "oas", "empirical"} or covariance estimator, default="ledoit_wolf"
        How the covariance of the standardised columns is estimated: by two ways of shrinkage, as it
        is, or by an estimator as in `sklearn.covariance`. "empirical" needs more rows than columns.
    random_state : int, Generator, RandomState or None, default=None
        Random numbers.

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.selection import gaussian_knockoffs
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> X[:, 1] += X[:, 0]
    >>> copies = gaussian_knockoffs(X, random_state=0)
    >>> [round(float(np.corrcoef(Z.T)[0, 1]), 1) for Z in (X, copies)]
    [0.7, 0.7]
    """
    check_knockoff_options(method, covariance)
    check_seed("random_state", random_state)
    X = check_array("X", X, accept_sparse=("csr", "csc"), dtype=np.float64, ensure_min_samples=2)
    return GaussianKnockoffs(as_dense(X), method, covariance).draw(random_numbers(random_state))


def check_knockoff_options(method, covariance):
    """Check how knockoffs are to be made."""
    check_choice("method", method, METHODS)
    if isinstance(covariance, str):
        check_choice("covariance", covariance, tuple(COVARIANCES))
    else:
        check_has("covariance", covariance, "fit", "get_precision", what="a covariance estimator")


def check_columns(name, X):
    """Refuse columns without variance."""
    constant = np.flatnonzero(np.ptp(X, axis=0) <= CONSTANT * np.abs(X).max(axis=0))
    if len(constant):
        some = ", ".join(map(str, constant[:NAMED])) + ", ..." * (len(constant) > NAMED)
        raise ValueError(
            f"{name} has {len(constant)} constant columns ({some}), which have no knockoffs. Leave "
            "them out, as sklearn.feature_selection.VarianceThreshold does."
        )


class GaussianKnockoffs:
    """The conditional distribution of knockoffs given X, from which they are drawn.

    With the correlation matrix Sigma of the columns and ``S = diag(s)`` they are Gaussian with
    mean ``Z - Z Sigma^-1 S`` and covariance ``2 S - S Sigma^-1 S`` for standardised columns Z
    (Candès et al. 2018, section 3.4).

    Attributes
    ----------
    correlation : ndarray of shape (P, P)
        Sigma.
    s : ndarray of shape (P,)
        One minus the correlation of a column with its knockoff.
    """

    def __init__(self, X, method, covariance):
        check_columns("X", X)
        n, p = X.shape
        if isinstance(covariance, str) and covariance == "empirical" and n <= p:
            raise ValueError(
                f"covariance='empirical' needs more rows than columns, got {n} rows and {p} "
                "columns: the estimate is singular. Use covariance='ledoit_wolf', or give the "
                "knockoffs."
            )
        # squares of entries may be no numbers; powers of two change no digits
        units = np.ldexp(1.0, np.frexp(np.abs(X).max(axis=0))[1] - 1)
        self.means, self.scales = X.mean(axis=0), (X / units).std(axis=0) * units
        self.Z = (X - self.means) / self.scales
        Sigma = _covariance(self.Z, covariance)
        sizes = np.sqrt(np.diag(Sigma))
        self.scales, self.Z = self.scales * sizes, self.Z / sizes
        Sigma /= np.outer(sizes, sizes)
        lowest = eigh(Sigma, eigvals_only=True, subset_by_index=[0, 0])[0]
        if not lowest > SINGULAR:
            raise ValueError(
                f"The estimated covariance of the columns is singular (smallest eigenvalue "
                f"{lowest:.2g} of the correlations): some columns are linear combinations of "
                "others. Leave these out, or use a shrinkage such as covariance='ledoit_wolf'."
            )
        s = np.full(p, min(1.0, 2 * lowest)) if method == "equicorrelated" else _sdp(Sigma, lowest)
        # S <= 2 Sigma also after rounding
        s = s * min(1.0, 2 / max(eigh(np.diag(s), Sigma, eigvals_only=True)[-1], 1e-300))
        self.correlation, self.s = Sigma, s
        self.toward = cho_solve(cho_factor(Sigma), np.diag(s))
        V = 2 * np.diag(s) - s[:, None] * self.toward
        values, vectors = eigh((V + V.T) / 2)
        self.root = vectors * np.sqrt(np.maximum(values, 0.0))

    def draw(self, random):
        """One matrix of knockoffs."""
        noise = random.normal(size=self.Z.shape) @ self.root.T
        return self.means + self.scales * (self.Z - self.Z @ self.toward + noise)


def _covariance(Z, covariance):
    if isinstance(covariance, str):
        return COVARIANCES[covariance](assume_centered=True).fit(Z).covariance_
    fitted = clone(covariance).fit(Z)
    Sigma = np.asarray(getattr(fitted, "covariance_", None), dtype=np.float64)
    if Sigma.shape != (Z.shape[1], Z.shape[1]) or not np.isfinite(Sigma).all():
        raise ValueError(
            f"covariance={covariance!r} must have a covariance_ of shape {(Z.shape[1],) * 2} after "
            f"its fit, got {Sigma.shape}."
        )
    if not (np.diag(Sigma) > 0).all():
        raise ValueError(f"covariance={covariance!r} estimates a variance that is not positive.")
    return (Sigma + Sigma.T) / 2


def _sdp(Sigma, lowest):
    """Nearly the s in [0, 1] with the largest sum and ``diag(s) <= 2 Sigma``.

    Coordinate ascent on ``sum(s) + barrier log det(2 Sigma - diag(s))`` for smaller and smaller
    barriers (Askari et al. 2021). Where it ends early, knockoffs are as valid, with less power.
    """
    s, barrier = np.full(len(Sigma), min(1.0, lowest)), 1.0
    while barrier > LAST_BARRIER:
        barrier *= FALL
        for _ in range(SWEEPS):
            M = np.linalg.inv(2 * Sigma - np.diag(s))
            for j in range(len(s)):
                # s_j + 1 / M_jj is where the matrix becomes singular
                step = min(max(s[j] + 1 / M[j, j] - barrier, 0.0), 1.0) - s[j]
                M += (step / (1 - step * M[j, j])) * np.outer(M[j], M[j])
                s[j] += step
    return s
