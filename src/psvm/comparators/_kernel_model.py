"""What the comparators share: a kernel, its Gram matrix, and values of linear functions of it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._docstrings import DEFINITE_KERNEL, paragraphs
from .._fitted import ArrayOf, Count, Given, Places
from .._parameters import check_parameters
from .._validation import check_decisions, kernel_values
from ..estimators import KernelChoice, KernelMixin, choose_kernel
from ..kernels import check_kernel, check_prepared
from ..matrix import BLOCK_BYTES, as_dense, block_slices
from ..solvers import check_weights

ASYMMETRIC = 1e-8
"""Difference of two entries, relative to the largest, that is not rounding."""

PARAGRAPHS = DEFINITE_KERNEL | paragraphs("""
dual_coef_ : ndarray of shape (n_functions, n_support_)
    Coefficients of the training objects.
intercept_ : ndarray of shape (n_functions,)
    The constants.
support_ : ndarray of shape (n_support_,)
    Indices of the training objects with a non-zero coefficient.
n_support_ : int
    Number of support objects.
""")
"""About parameters and attributes that the comparators share."""


class KernelModel(KernelMixin, BaseEstimator):
    """An estimator with values ``f(x) = sum_i beta_i k(x, x_i) + b``, for one or more beta."""

    dual_coef_: np.ndarray
    intercept_: np.ndarray
    support_: np.ndarray
    n_support_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    _constraints: ClassVar = {"kernel": KernelChoice("precomputed")}

    _fitted: ClassVar = {
        "dual_coef_": ArrayOf("functions", "support"),
        "intercept_": ArrayOf("functions"),
        "n_support_": Count("support"),
        "support_": Places("support"),
        "_kernel": Given(),
        "_prepared": Given(),
    }

    def _fit_gram(self, X, sample_weight):
        """The kernel, its matrix of the training objects, and their weights."""
        weights = check_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if weights is None else weights
        if self._kernel_name == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"A precomputed Gram matrix must be a square matrix, got {X.shape[0]} x "
                    f"{X.shape[1]}."
                )
            kernel, K = None, as_dense(X)
        else:
            kernel = choose_kernel(self, X, weights)
            prepared = kernel.prepare(X)
            K = kernel_values(kernel.evaluate, prepared, prepared, finite=True)
        K = np.asarray(K, dtype=np.float64)
        if np.abs(K - K.T).max() > ASYMMETRIC * np.abs(K).max():
            raise ValueError(
                "The Gram matrix must be symmetric; psvm.PSVC and PSVR accept any matrix."
            )
        return kernel, K, weights

    def _keep_functions(self, X, kernel, coef, intercept):
        """Keep the functions with the rows of `coef`, one for each training object."""
        support = np.flatnonzero(coef.any(axis=0))
        self.dual_coef_ = coef[:, support]
        self.intercept_ = intercept
        self.support_ = support
        self.n_support_ = len(support)
        self._kernel = kernel
        self._prepared = None if kernel is None else kernel.prepare(X[support])

    def _values(self, X):
        """``f(x)`` of all functions, as an array of shape (n, n_functions)."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        values = np.empty((X.shape[0], len(self.intercept_)))
        for rows in block_slices(len(values), 8 * self.n_support_, size=BLOCK_BYTES // 16):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                values[rows] = self._kernel_rows(X[rows]) @ self.dual_coef_.T + self.intercept_
        return check_decisions(values, self.kernel)

    def _kernel_rows(self, X):
        if self._kernel is None:
            return as_dense(X[:, self.support_])
        return kernel_values(self._kernel.evaluate, self._kernel.prepare(X), self._prepared)

    def _check_fitted(self, state):
        """The kernel and the support objects, and as many functions as classes need."""
        check_parameters(self)
        measured = self._kernel_name == "precomputed"
        state.require(measured == (self._kernel is None), "its kernel is missing")
        if measured:
            ok = self.n_support_ == 0 or self.support_[-1] < state.features()
            state.require(ok, "the places of its support are wrong")
        else:
            check_kernel(state, self._kernel, self._takes_vectors)
            check_prepared(state, self._kernel, self._prepared, self.n_support_)
        n = self._n_functions(state)
        state.require(len(self.intercept_) == n, "its coefficients do not fit its classes")

    def _n_functions(self, state):
        return 1


def indefinite(model):
    """The error of a Gram matrix whose system is not positive definite."""
    return ValueError(
        f"The Gram matrix of {type(model).__name__} is not positive semidefinite. Use another "
        "kernel or more regularisation; psvm.PSVC and PSVR take indefinite matrices as they are."
    )
