"""The kernel of an estimator: its parameters, the objects it takes, and what it computes."""

import threading
from typing import ClassVar, NamedTuple

import numpy as np
from sklearn.base import clone

from .._parameters import Choice, Either, Number
from .._summary import SummaryMixin
from .._validation import check_alignment, check_X_y, validate_data
from ..kernels import NAMES, Kernel, Rescaled, make_kernel
from ..matrix import can_be_centred, column_moments, weighted_variance

_TURN = threading.RLock()
MEASURED = ("precomputed", "dyadic")
"""Kernels with which X is the matrix itself."""
GAMMA = Either(Choice("scale", "auto"), Number(above=0))
"""What gamma may be."""


def kernel_name(kernel):
    """The name of a parameter `kernel`; "callable" for objects and functions."""
    return "callable" if callable(kernel) else kernel


AUTO = "auto"
"""The kernel is chosen; it is the Gaussian where epsilon is given."""


class Scaling(NamedTuple):
    """Statistics of the features."""

    means: np.ndarray
    variances: np.ndarray
    centred: bool
    """Whether features may be centred: they are not sparse."""

    @classmethod
    def of(cls, X, weights):
        """Those of weighted rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            means, squares = column_moments(X, weights)
            return cls(means, squares / weights.sum(), can_be_centred(X))

    @property
    def scale(self):
        """Deviations; 1 for features that are constant."""
        scale = np.sqrt(self.variances)
        varies = scale > 10 * np.finfo(float).eps * np.abs(self.means)
        return np.where(varies, scale, 1.0)

    @property
    def standardized(self):
        """Those of standardised features, whether these are centred or not."""
        scale = self.scale
        return Scaling(np.zeros_like(scale), self.variances / np.square(scale), self.centred)

    def gamma(self, gamma):
        """The parameter gamma as a number."""
        with np.errstate(over="ignore", invalid="ignore"):
            variance = float(np.mean(self.variances) + np.var(self.means))
        return gamma_for(gamma, len(self.means), variance)

    def rescaled(self, kernel):
        """A kernel of standardised features."""
        return Rescaled(kernel, self.scale, self.means if self.centred else None)


def choose_kernel(model, X, weights):
    """The kernel that the parameters of a model mean, with gamma from the weighted rows X.

    It is an object, or the name of a kernel with which X is the matrix itself.
    """
    if standardizes(model):
        return scaled_kernel(model, Scaling.of(X, weights))
    return kernel_with(model, lambda: choose_gamma(model.gamma, X, weights))


def scaled_kernel(model, scaling):
    """The same from statistics of the features."""
    if not standardizes(model):
        return kernel_with(model, lambda: scaling.gamma(model.gamma))
    scaled = scaling.standardized
    return scaling.rescaled(kernel_with(model, lambda: scaled.gamma(model.gamma)))


def standardizes(model):
    """Whether the kernel sees standardised features."""
    asked, name = getattr(model, "standardize", False), kernel_name(model.kernel)
    if asked == "auto":
        return name == AUTO and isinstance(model.epsilon, str)
    if not asked or name in MEASURED:
        return False
    if callable(model.kernel) and not isinstance(model.kernel, Kernel):
        raise ValueError("standardize=True needs a kernel of psvm, not a function.")
    return True


def kernel_with(model, gamma):
    """The same with ``gamma()``, if the kernel has a gamma."""
    kernel = model.kernel
    if isinstance(kernel, Kernel):
        return clone(kernel)  # that of the user may change its parameters
    if callable(kernel):
        return UserKernel(kernel)
    if kernel in MEASURED:
        return kernel
    return make_kernel(
        "rbf" if kernel == AUTO else kernel,
        gamma=gamma(),
        degree=model.degree,
        coef0=model.coef0,
        theta=model.theta,
        rho=model.rho,
        zeta=model.zeta,
    )


class KernelChoice(Choice):
    """The constraint of a parameter `kernel`: a name, a function, or a kernel and its parameters.

    Parameters
    ----------
    *measured : str
        The names in MEASURED that are allowed.
    """

    def __init__(self, *measured):
        super().__init__(*NAMES, *measured)

    def __call__(self, name, value):
        if not callable(value):
            super().__call__(name, value)
        elif isinstance(value, Kernel):
            value.check_parameters()


class KernelMixin(SummaryMixin):
    """What an estimator with a kernel shares with the others.

    It has the parameters `kernel`, `gamma`, `degree`, `coef0`, `theta`, `rho` and `zeta`.
    """

    _constraints: ClassVar = {
        "kernel": KernelChoice(*MEASURED),
        "gamma": GAMMA,
        "degree": Number(least=0),
        "coef0": Number(),
        "theta": Number(),
        "rho": Number(above=0),
        "zeta": Number(above=0),
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._kernel_name == "precomputed"
        if not self._takes_vectors:
            tags.input_tags.two_d_array, tags.input_tags.string = False, True
        return tags

    @property
    def _kernel_name(self):
        return kernel_name(self.kernel)

    @property
    def _takes_vectors(self):
        """Whether X is a matrix; kernels of other objects check these themselves."""
        return not isinstance(self.kernel, Kernel) or bool(self.kernel.takes_vectors)

    def _validate(self, X, y="no_validation", **options):
        return validate(self, X, y, **options)


def validate(model, X, y="no_validation", **options):
    """Validate X and y. A measured matrix stays as it is stored; vectors become doubles."""
    if isinstance(model.kernel, Kernel) and not model.kernel.takes_vectors:
        return _validate_objects(model, X, y, **options)
    if kernel_name(model.kernel) == "precomputed" and options.get("reset", True):
        check_alignment(X)
    if kernel_name(model.kernel) in MEASURED:
        storage = {"accept_sparse": ("csr", "csc"), "dtype": [np.float64, np.float32]}
    else:
        storage = {"accept_sparse": "csr", "dtype": np.float64}
    return validate_data(model, X, y, **storage, **options)


def _validate_objects(model, X, y, reset=True, **options):
    """Objects as their kernel wants them; the target as for vectors."""
    X = model.kernel.check_objects(X)
    if isinstance(y, str) and y == "no_validation":
        return X
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but it is None.")
    _, y = check_X_y(np.zeros((X.shape[0], 1)), y, **options)
    return X, y


class UserKernel(Kernel):
    """A user's function ``function(X, Z)``, which threads call in turn."""

    def __init__(self, function):
        self.function = function

    def evaluate(self, X, Z):
        with _TURN:
            return self.function(X, Z)


def choose_gamma(gamma, X, weights):
    """Gamma as a number: "auto" is ``1 / n_features``, "scale" is that over the variance of X."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = weighted_variance(X, weights) if _is_scale(gamma) else 1.0
    return gamma_for(gamma, X.shape[1], variance)


def gamma_for(gamma, n_features, variance):
    """The same for vectors with this variance of all entries."""
    if not isinstance(gamma, str):
        return gamma
    variance = variance if _is_scale(gamma) else 1.0
    if not np.isfinite(variance):
        raise ValueError(
            "X has entries too large to be squared in double precision; scale the features, or "
            "give gamma a number."
        )
    return 1.0 / (n_features * variance) if variance > 0 else 1.0


def _is_scale(gamma):
    return isinstance(gamma, str) and gamma == "scale"
