"""The kernel Fisher discriminant (Hochreiter, lecture notes, chapter 4)."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
import scipy.linalg as sl
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin

from .._docstrings import document
from .._fitted import ArrayOf
from .._parameters import Choice, Later, Number, check_parameters
from .._typing import ArrayLike, KernelLike, MatrixLike
from .._validation import check_decisions, check_labels, check_vector
from ._kernel_model import PARAGRAPHS, KernelModel, indefinite

SAME = 1e-14
"""Distance of two class means, relative to the largest singular value, that is rounding."""
LEAST_VARIANCE = 1e-10
"""Added to variances of projections, whose classes have the means -1 and +1."""
INDEFINITE = 1e-7
"""An eigenvalue below minus this share of the largest is negative: single precision is allowed."""


@document(PARAGRAPHS)
class KernelFisherDiscriminant(ClassifierMixin, KernelModel):
    """Kernel Fisher discriminant with Gaussian class posteriors.

    The direction w in feature space with the largest Rayleigh coefficient
    ``(w'(m_+ - m_-))^2 / (w'N w + reg ||w||^2)``, where N is the scatter within the classes
    (Hochreiter, lecture notes, eqs. 4.20 and 4.31). The projection is scaled so that the classes
    have the means -1 and +1. Each class has a Gaussian there, and the class with the largest
    posterior is predicted. More than two classes have ``n_classes - 1`` directions.

    With a linear kernel and `reg` near 0 it is linear discriminant analysis.

    Parameters
    ----------
    reg : float, default=1.0
        Regularisation, in the units of the scatter: a sum over the training objects.
    covariance : {"shared", "separate"}, default="shared"
        Whether the Gaussians of the projections share their covariance. "separate" is the rule
        of Schölkopf and Smola, which the comparisons of the P-SVM used; far away from both
        classes it predicts the class of larger variance.
    priors : array-like of shape (n_classes,), default=None
        Prior probabilities of the classes; None means their (weighted) shares.
    {kernel, gamma, degree, coef0, theta, rho, zeta}

    Attributes
    ----------
    {classes_}
    means_ : ndarray of shape (n_classes, n_classes - 1)
        Means of the projected classes.
    covariances_ : ndarray of shape (n_classes, n_classes - 1, n_classes - 1)
        Covariances of the projected classes.
    priors_ : ndarray of shape (n_classes,)
        Prior probabilities.
    {dual_coef_, intercept_, support_, n_support_, n_features_in_, feature_names_in_}

    Notes
    -----
    The Gaussians are fitted to projections of the training objects, which with little
    regularisation vary less than those of new objects: the probabilities are then too certain.
    `sklearn.calibration.CalibratedClassifierCV` corrects that.

    References
    ----------
    S. Mika, G. Rätsch, J. Weston, B. Schölkopf, K.-R. Müller: Fisher discriminant analysis with
    kernels. NNSP (1999).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from psvm.comparators import KernelFisherDiscriminant
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = KernelFisherDiscriminant(reg=0.1).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.predict_proba(X[:1]).shape
    (1, 2)
    """

    classes_: np.ndarray
    means_: np.ndarray
    covariances_: np.ndarray
    priors_: np.ndarray

    _constraints: ClassVar = {
        "reg": Number(above=0),
        "covariance": Choice("shared", "separate"),
        "priors": Later(),
    }

    _fitted: ClassVar = {
        "means_": ArrayOf("c", "functions"),
        "priors_": ArrayOf("c", above=0),
        "covariances_": ArrayOf("c", "functions", "functions"),
    }

    def __init__(
        self,
        *,
        reg: float = 1.0,
        covariance: Literal["shared", "separate"] = "shared",
        priors: ArrayLike | None = None,
        kernel: KernelLike = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        theta: float = 1.0,
        rho: float = 1.0,
        zeta: float = 1.0,
    ) -> None:
        self.reg = reg
        self.covariance = covariance
        self.priors = priors
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.theta = theta
        self.rho = rho
        self.zeta = zeta

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Vectors, or the Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is the same as repeating the row.

        Returns
        -------
        self : KernelFisherDiscriminant
        """
        check_parameters(self)
        X, y = self._validate(X, y, ensure_min_samples=2)
        classes, code = check_labels("y", y)
        kernel, K, weights = self._fit_gram(X, sample_weight)
        W = weights[:, None] * (code[:, None] == np.arange(len(classes)))
        if len(classes) < 2 or not W.any(axis=0).all():
            raise ValueError(
                "The number of classes has to be greater than one, and each must have a row with "
                f"positive weight; got {np.sum(W.any(axis=0))} class(es) of {len(classes)}."
            )
        priors = self._choose_priors(W.sum(axis=0))
        coef, intercept = self._directions(K, weights, W)
        self._fit_gaussians(K @ coef.T + intercept, W)
        self._keep_functions(X, kernel, coef, intercept)
        self.classes_ = classes
        self.priors_ = priors
        return self

    def _choose_priors(self, totals):
        if self.priors is None:
            return totals / totals.sum()
        priors = check_vector("priors", self.priors)
        if len(priors) != len(totals) or not (priors > 0).all() or abs(priors.sum() - 1) > 1e-8:
            raise ValueError(
                f"priors must be {len(totals)} positive numbers of sum 1, got {self.priors!r}."
            )
        return priors

    def _directions(self, K, weights, W):
        """Coefficients of the discriminants of each class and the first, and their constants.

        In the coordinates Z of the (weighted) objects along the eigenvectors of their Gram matrix
        the directions are the solutions of ``(N + reg I) w = m_c - m_0``.
        """
        roots, totals = np.sqrt(weights), W.sum(axis=0)
        nu, U = sl.eigh(roots[:, None] * K * roots, overwrite_a=True, check_finite=False)
        if nu[0] < -INDEFINITE * nu[-1]:
            raise indefinite(self)
        kept = nu > len(nu) * np.finfo(np.float64).eps * nu[-1]
        U, scales = U[:, kept], np.sqrt(nu[kept])
        Z = U * scales
        Q = np.sqrt(W / totals)  # orthonormal: H = I - Q Q' takes the deviations from class means
        means = (Z.T @ Q) / np.sqrt(totals)
        N = Z.T @ (Z - Q @ (Q.T @ Z))
        N.flat[:: len(N) + 1] += self.reg
        differences = means[:, 1:] - means[:, :1]
        if np.linalg.norm(differences, axis=0).min() <= SAME * scales.max(initial=0.0):
            raise ValueError(
                "Two classes of y have the same mean in feature space: nothing in X separates them."
            )
        try:
            directions = sl.solve(N, differences, assume_a="pos", check_finite=False)
        except sl.LinAlgError:
            raise ValueError(
                f"reg={self.reg!r} is too small: the scatter within the classes is singular."
            ) from None
        coef = (roots[:, None] * (U @ (directions / scales[:, None]))).T
        projected = directions.T @ means
        near, far = projected[:, 0], np.diagonal(projected[:, 1:])
        scale = 2 / (far - near)
        return coef * scale[:, None], -1 - near * scale

    def _fit_gaussians(self, T, W):
        """Mean and covariance of the projections T of each class."""
        shares = W / W.sum(axis=0)
        means = shares.T @ T
        deviations = T[None] - means[:, None]
        covariances = np.einsum("ic,cik,cil->ckl", shares, deviations, deviations)
        if self.covariance == "shared":
            totals = W.sum(axis=0)
            covariances[:] = np.einsum("c,ckl->kl", totals / totals.sum(), covariances)
        self.means_ = means
        self.covariances_ = covariances + LEAST_VARIANCE * np.eye(T.shape[1])

    def _log_joint(self, X):
        """Logarithm of prior times density, up to a constant."""
        T = self._values(X)
        result = np.empty((len(T), len(self.classes_)))
        for c, (mean, covariance) in enumerate(zip(self.means_, self.covariances_, strict=True)):
            factor = np.linalg.cholesky(covariance)
            z = sl.solve_triangular(factor, (T - mean).T, lower=True)
            log_root = np.log(np.diagonal(factor)).sum()
            with np.errstate(over="ignore"):
                result[:, c] = np.log(self.priors_[c]) - log_root - 0.5 * np.sum(z**2, axis=0)
        return check_decisions(result, self.kernel)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Log-odds of the posterior for two classes, log-posteriors for more.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, in the form of the training objects.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        joint = self._log_joint(X)
        if len(self.classes_) == 2:
            return joint[:, 1] - joint[:, 0]
        return log_softmax(joint, axis=1)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Labels of the most probable classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        best = self._log_joint(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Posterior probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return softmax(self._log_joint(X), axis=1)

    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
        """Logarithms of the posterior probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return log_softmax(self._log_joint(X), axis=1)

    def _n_functions(self, state):
        np.linalg.cholesky(self.covariances_)
        return state.size("c") - 1
