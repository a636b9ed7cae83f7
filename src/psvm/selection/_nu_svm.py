"""Linear nu-SVMs with and without an intercept, classifiers of the published gene selections."""

from __future__ import annotations

import warnings
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import NuSVC, OneClassSVM
from sklearn.utils.validation import check_is_fitted

from .._fitted import ArrayOf
from .._parameters import Number, check_parameters
from .._typing import ArrayLike
from .._validation import check_labels, validate_data
from ..estimators import OneVsOneMixin
from ._targets import code_classes, numeric_targets

TOL = 1e-8
"""Tolerated gap between the squared margin and its bound, for vectors whose root mean square norm
is one. LIBSVM keeps their products in single precision; a much smaller gap cannot be reached."""
STEPS, FEWEST_STEPS = 100, 200_000
"""Steps of LIBSVM for each sample, at least so many: several times what problems with a margin
take. Without a margin rounding errors may keep it from ending."""
CLOSED = 0.99
"""There is a margin if its lower bound is at least this share of the upper one."""


class NoMarginError(ValueError):
    """The margin is zero for this nu: w = 0 is optimal and tells no classes apart."""


class LinearNuSVC(OneVsOneMixin, ClassifierMixin, BaseEstimator):
    """Linear nu-SVM with an intercept: scikit-learn's `NuSVC`, of which the coefficients are kept.

    Parameters
    ----------
    nu : float, default=0.5
        At most this share of the samples is on the wrong side of the margin.

    Attributes
    ----------
    coef_ : ndarray of shape (n_pairs, n_features)
        The weights of each pair of classes.
    intercept_ : ndarray of shape (n_pairs,)
        The constants.
    classes_ : ndarray
        The class labels.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    GeneSelector : Its default classifier.
    NuSVCThroughOrigin : The same without an intercept.

    Examples
    --------
    >>> from psvm.selection import LinearNuSVC
    >>> X = [[4.0, 0.1], [3.0, -0.3], [1.0, 0.2], [0.0, 0.0]]
    >>> print(LinearNuSVC().fit(X, ["up", "up", "down", "down"]).predict([[2.5, 0.0]]))
    ['up']
    """

    coef_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray
    n_features_in_: int

    _constraints: ClassVar = {"nu": Number(above=0, most=1)}
    _fitted: ClassVar = {"coef_": ArrayOf("pairs", "p"), "intercept_": ArrayOf("pairs")}
    decision_function_shape = "ovr"

    def __init__(self, nu: float = 0.5) -> None:
        self.nu = nu

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the weights and the constant of each pair of classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : LinearNuSVC
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_labels("y", y)
        check_parameters(self)
        machine = NuSVC(kernel="linear", nu=self.nu).fit(X, y)
        # scikit-learn's values of more than two classes are positive for the first one of a pair
        sign = 1.0 if len(machine.classes_) == 2 else -1.0
        self.coef_, self.intercept_ = sign * machine.coef_, sign * machine.intercept_
        self.classes_ = machine.classes_
        return self

    def _pair_decisions(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.coef_.T + self.intercept_


class NuSVCThroughOrigin(ClassifierMixin, BaseEstimator):
    """Linear nu-SVM whose decision function is `<w, x> / rho`, without an intercept.

    With L samples x and targets t of -1 and 1 it minimises ``||w||^2 / 2 - nu rho + mean(xi)``
    subject to ``t_i <w, x_i> >= rho - xi_i`` and ``xi >= 0``. This is the one-class SVM of the
    vectors ``t_i x_i``, which solves it. The decision value of a sample on the margin is -1 or 1,
    as that of scikit-learn's `NuSVC`. More than two classes are told apart one against the rest.

    The margin is zero if 0 is a mean of the vectors ``t_i x_i`` with weights that are at most
    ``1 / (nu L)``. This happens if classes overlap and nu is small. Then w = 0 is optimal for this
    nu, and `fit` raises an error; a larger nu helps. With nu = 1 all weights are the same, w is the
    mean of the vectors ``t_i x_i``, and rho, of which the problem only has a lower bound, is its
    limit for nu below 1.

    Parameters
    ----------
    nu : float, default=0.5
        At most this share of the samples is on the wrong side of the margin.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        The vectors ``w / rho``.
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

    _fitted: ClassVar = {"coef_": ArrayOf("functions", "p")}

    def __init__(self, nu: float = 0.5) -> None:
        self.nu = nu

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find w and rho.

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
        classes = np.unique(y)
        targets = numeric_targets(code_classes(y))
        names = classes if len(targets) > 1 else [None]
        self.coef_ = np.array(
            [self._coef(X, t, name) for t, name in zip(targets, names, strict=True)]
        )
        self.classes_ = classes
        return self

    def _coef(self, X, target, name):
        """``w / rho`` of one target, in the units of X."""
        V, scale = _unit_scale(target[:, None] * np.asarray(X, dtype=np.float64))
        w, rho = _mean(V) if self.nu == 1 else _one_class(V, self.nu)
        if not _has_margin(V, w, self.nu):
            raise NoMarginError(_no_margin(self.nu, name))
        return w / rho / scale

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Values of `<w, x> / rho`: -1 and 1 on the margin.

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

    def _check_fitted(self, state):
        c = state.size("c")
        ok = len(self.coef_) == (1 if c == 2 else c)
        state.require(ok, "its coefficients do not fit its classes")


def _unit_scale(V):
    """Rows with a root mean square norm of one, and their unit: LIBSVM's tolerance is absolute."""
    largest = np.abs(V).max()
    if largest == 0:
        return V, 1.0
    V = V / largest  # squares neither overflow nor vanish
    size = np.sqrt(np.mean(np.sum(V**2, axis=1)))
    return V / size, size * largest


def _mean(V):
    """The solution for nu = 1, where all weights are at their bound."""
    w = V.mean(axis=0)
    return w, (V @ w).max()


def _one_class(V, nu):
    """The solution by LIBSVM, whose weights have the sum nu L."""
    total, steps = nu * len(V), max(STEPS * len(V), FEWEST_STEPS)
    machine = OneClassSVM(kernel="linear", nu=nu, tol=TOL * total, max_iter=steps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `_has_margin` checks the answer
        machine.fit(V)
    return machine.coef_[0] / total, machine.offset_[0] / total


def _has_margin(V, w, nu):
    """Whether w, a weighted mean of the rows of V, is the shortest one and not zero.

    For every direction u, the mean of the smallest values ``<u, v_i>``, of the share nu, is a lower
    bound of the norm of all means whose weights are at most ``1 / (nu L)``; the norm of w is an
    upper bound of the smallest one. Both agree at an optimum other than zero; where zero is the
    optimum, no lower bound is positive.
    """
    norm = np.linalg.norm(w)
    if norm <= np.sqrt(len(V)) * np.finfo(np.float64).eps:
        return False
    return _tail(V @ w / norm, nu) > CLOSED * norm


def _tail(values, nu):
    """Mean of the smallest values, as many as the share nu; the last one counts in part."""
    total = nu * len(values)
    weights = np.clip(total - np.arange(len(values)), 0.0, 1.0)
    return np.sort(values) @ weights / total


def _no_margin(nu, name):
    """What is wrong, and what to do."""
    which = "" if name is None else f" of class {name} against the rest"
    if nu == 1:
        return (
            f"The margin{which} is zero for every nu: the samples of the two sides have the same "
            "sum. Use features that differ between the classes, or a classifier with an intercept."
        )
    return f"nu={nu} is too small: the margin{which} is zero up to rounding. Use a larger nu."
