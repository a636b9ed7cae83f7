"""The kernel of an estimator: its parameters, the objects it takes, and what it computes."""

import threading

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._validation import check_choice, check_number, check_X_y, validate_data
from ..kernels import Kernel, make_kernel

_TURN = threading.RLock()
MEASURED = ("precomputed", "dyadic")
"""Kernels with which X is the matrix itself."""
VECTORIAL = ("rbf", "linear", "poly", "laplacian", "plummer", "sine")


class KernelMixin:
    """What an estimator with a kernel shares with the others.

    It has the parameters `kernel`, `gamma`, `degree`, `coef0`, `theta`, `rho` and `zeta`.
    """

    _measured = MEASURED
    """The names in MEASURED that the estimator allows."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._kernel_name == "precomputed"
        if not self._takes_vectors:
            tags.input_tags.two_d_array, tags.input_tags.string = False, True
        return tags

    @property
    def _kernel_name(self):
        return "callable" if callable(self.kernel) else self.kernel

    @property
    def _takes_vectors(self):
        """Whether X is a matrix; kernels of other objects check these themselves."""
        return not isinstance(self.kernel, Kernel) or bool(self.kernel.takes_vectors)

    def _check_kernel(self):
        """Check the kernel and its parameters."""
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, (*VECTORIAL, *self._measured))
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("scale", "auto"))
        else:
            check_number("gamma", self.gamma, above=0)
        for name in ("coef0", "theta"):
            check_number(name, getattr(self, name))
        check_number("degree", self.degree, least=0)
        for name in ("rho", "zeta"):
            check_number(name, getattr(self, name), above=0)
        if isinstance(self.kernel, Kernel):
            self.kernel.check_parameters()

    def _validate(self, X, y="no_validation", **options):
        """Validate X and y. A measured matrix stays as it is stored; vectors become doubles."""
        if not self._takes_vectors:
            return self._validate_objects(X, y, **options)
        if self._kernel_name in MEASURED:
            storage = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}
        else:
            storage = {"accept_sparse": "csr", "dtype": np.float64}
        return validate_data(self, X, y, **storage, **options)

    def _validate_objects(self, X, y, reset=True, **options):
        """Objects as their kernel wants them; the target as for vectors."""
        X = self.kernel.check_objects(X)
        if isinstance(y, str) and y == "no_validation":
            return X
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but it is None.")
        _, y = check_X_y(np.zeros((X.shape[0], 1)), y, **options)
        return X, y

    def _make_kernel(self, X, weights):
        """The kernel as an object, with gamma from the weighted rows X."""
        if isinstance(self.kernel, Kernel):
            return clone(self.kernel)  # that of the user may change its parameters
        if callable(self.kernel):
            return UserKernel(self.kernel)
        return make_kernel(
            self.kernel,
            gamma=choose_gamma(self.gamma, X, weights),
            degree=self.degree,
            coef0=self.coef0,
            theta=self.theta,
            rho=self.rho,
            zeta=self.zeta,
        )


class UserKernel(Kernel):
    """A user's function ``function(X, Z)``, which threads call in turn."""

    def __init__(self, function):
        self.function = function

    def evaluate(self, X, Z):
        with _TURN:
            return self.function(X, Z)


def choose_gamma(gamma, X, weights):
    """Gamma as a number: "auto" is ``1 / n_features``, "scale" is that over the variance of X."""
    if not isinstance(gamma, str):
        return gamma
    with np.errstate(over="ignore", invalid="ignore"):
        variance = _weighted_variance(X, weights) if gamma == "scale" else 1.0
    if not np.isfinite(variance):
        raise ValueError(
            "X has entries too large to be squared in double precision; scale the features, or "
            "give gamma a number."
        )
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def _weighted_variance(X, weights):
    """Variance of all entries of X with weighted rows."""
    total = weights.sum() * X.shape[1]
    mean = weights @ X.sum(axis=1) / total
    if sp.issparse(X):
        return float((weights @ X.multiply(X).sum(axis=1) / total - mean**2).item())
    return float(weights @ np.square(X - mean).sum(axis=1) / total)
