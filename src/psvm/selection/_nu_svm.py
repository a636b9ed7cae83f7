"""The linear nu-SVM without an intercept, the classifier of the published gene selections."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import OneClassSVM
from sklearn.utils.validation import check_is_fitted

from .._parameters import Number, check_parameters
from .._typing import ArrayLike
from .._validation import check_labels, validate_data
from ._targets import code_classes, numeric_targets


class NuSVCThroughOrigin(ClassifierMixin, BaseEstimator):
    """Linear nu-SVM whose decision function is `<w, x>`, without an intercept.

    With targets t of -1 and 1 it minimises ``||w||^2 / 2 - nu rho + mean(xi)`` subject to
    ``t_i <w, x_i> >= rho - xi_i`` and ``xi >= 0``. This is the one-class SVM of the vectors
    ``t_i x_i``, which solves it; every nu is feasible. More than two classes are told apart one
    against the rest.

    Parameters
    ----------
    nu : float, default=0.5
        At most this share of the samples is on the wrong side of the margin.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The vectors w.
    classes_ : ndarray
        The class labels.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    GeneSelector : Uses it with ``fit_intercept=False``.

    Examples
    --------
    >>> from psvm.selection import NuSVCThroughOrigin
    >>> X = [[2.0, 0.1], [1.0, -0.3], [-1.0, 0.2], [-2.0, 0.0]]
    >>> print(NuSVCThroughOrigin().fit(X, ["up", "up", "down", "down"]).predict([[0.5, 0.0]]))
    ['up']
    """

    coef_: np.ndarray
    classes_: np.ndarray
    n_features_in_: int

    _constraints: ClassVar = {"nu": Number(above=0, most=1)}

    def __init__(self, nu: float = 0.5) -> None:
        self.nu = nu

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find w.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : NuSVCThroughOrigin
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_labels("y", y)
        check_parameters(self)
        machines = [
            OneClassSVM(kernel="linear", nu=self.nu).fit(target[:, None] * X)
            for target in numeric_targets(code_classes(y))
        ]
        self.coef_ = np.vstack([machine.coef_ for machine in machines])
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Values of `<w, x>`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        values = X @ self.coef_.T
        return values[:, 0] if len(self.classes_) == 2 else values

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predicted classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self.decision_function(X)
        place = (values > 0).astype(np.intp) if values.ndim == 1 else values.argmax(axis=1)
        return self.classes_[place]
