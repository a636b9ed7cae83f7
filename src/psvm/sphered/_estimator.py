"""`SpheredSVC`: the Sphered SVM for a given lam."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from .._docstrings import DEFINITE_KERNEL, document
from .._typing import ArrayLike, ClassWeight, KernelLike, MatrixLike
from ._base import LAM, BaseSphered
from ._docstrings import PARAGRAPHS


@document(PARAGRAPHS, DEFINITE_KERNEL)
class SpheredSVC(BaseSphered):
    """Sphered Support Vector Machine: its answer does not depend on how the inputs are scaled.

    It minimises ``(1 - lam)/2 ||X'w||^2 + lam/2 ||w||^2 + C sum_i xi_i`` subject to
    ``y_i (<w, x_i> + b) >= 1 - xi_i``. With ``lam = 1`` that is the standard C-SVM. With ``lam=0``
    it is the pure Sphered SVM, which does not change when the inputs are rescaled, mixed linearly
    or shifted. In between, directions of small variance are sphered less.

    Parameters
    ----------
    lam : float, default=0.5
        From 0 (pure sphering, pseudo-inverse) to 1 (standard SVM).
    {C, kernel, gamma, degree, coef0, theta, rho, zeta}
    {center, solver, class_weight, decision_function_shape, tol, max_iter, max_time, cache_size}

    Attributes
    ----------
    {classes_, lam_, alpha_, support_, basis_, dual_coef_, intercept_}
    {capacity_, capacity_bound_, margin_, kkt_violation_, dual_gap_, solutions_, n_iter_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    SpheredSVCCV : lam chosen by cross-validation.
    PSVC : For matrices that are not positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import SpheredSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = np.where(X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=100) > 0, "up", "down")
    >>> A = [[1000.0, 2.0, 0.0], [0.0, 0.01, 3.0], [1.0, 0.0, 1.0]]
    >>> f = SpheredSVC(lam=0, kernel="linear").fit(X, y).decision_function(X)
    >>> g = SpheredSVC(lam=0, kernel="linear").fit(X @ A + 7, y).decision_function(X @ A + 7)
    >>> bool(np.allclose(f, g, rtol=1e-3, atol=1e-3))
    True
    """

    _constraints: ClassVar = {"lam": LAM}

    def __init__(
        self,
        lam: float = 0.5,
        *,
        C: float = 100.0,
        kernel: KernelLike = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        theta: float = 1.0,
        rho: float = 1.0,
        zeta: float = 1.0,
        center: bool = True,
        solver: Literal["auto", "direct", "incremental"] = "auto",
        class_weight: ClassWeight = None,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        tol: float = 1e-4,
        max_iter: int | None = None,
        max_time: float | None = None,
        cache_size: float = 1000,
    ) -> None:
        super().__init__(
            C=C,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            theta=theta,
            rho=rho,
            zeta=zeta,
            center=center,
            solver=solver,
            class_weight=class_weight,
            decision_function_shape=decision_function_shape,
            tol=tol,
            max_iter=max_iter,
            max_time=max_time,
            cache_size=cache_size,
        )
        self.lam = lam

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Vectors, or the Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points, in the sphering, the centring and the slack: a weight of 2 is
            the same as repeating the row.

        Returns
        -------
        self : SpheredSVC
        """
        options = self._options()
        self._check_lam("lam", self.lam)
        X, classes, code, weights = self._validate_classes(X, y, sample_weight)
        training = self._make_training(X, weights, options)
        return self._fit(classes, code, training, self.lam)
