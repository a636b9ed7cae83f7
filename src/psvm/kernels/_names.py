"""Kernels of vectors by name, as the estimators spell them."""

from __future__ import annotations

from .._validation import check_choice
from ._base import Kernel
from ._counts import AdditiveChi2, Chi2, HistogramIntersection, Jaccard, Tanimoto, Wasserstein
from ._series import DTW, GlobalAlignment
from ._vector import (
    RBF,
    Cosine,
    Laplacian,
    Linear,
    Matern,
    Plummer,
    Polynomial,
    RationalQuadratic,
    Sine,
    Tanh,
)

BY_NAME: dict[str, tuple[type[Kernel], tuple[str, ...]]] = {
    "rbf": (RBF, ("gamma",)),
    "linear": (Linear, ()),
    "poly": (Polynomial, ("gamma", "coef0", "degree")),
    "sigmoid": (Tanh, ("gamma", "coef0")),
    "cosine": (Cosine, ()),
    "laplacian": (Laplacian, ("gamma",)),
    "matern": (Matern, ("gamma",)),
    "rational_quadratic": (RationalQuadratic, ("gamma",)),
    "plummer": (Plummer, ("rho", "zeta")),
    "sine": (Sine, ("theta",)),
    "tanimoto": (Tanimoto, ()),
    "jaccard": (Jaccard, ()),
    "histogram_intersection": (HistogramIntersection, ()),
    "chi2": (Chi2, ("gamma",)),
    "additive_chi2": (AdditiveChi2, ()),
    "wasserstein": (Wasserstein, ("gamma",)),
    "dtw": (DTW, ("gamma",)),
    "global_alignment": (GlobalAlignment, ("gamma",)),
}
"""Each name with its class and the parameters that an estimator gives it; others are defaults."""
NAMES = tuple(BY_NAME)
WITH_GAMMA = tuple(name for name, (_, taken) in BY_NAME.items() if "gamma" in taken)


def make_kernel(
    name: str, *, gamma: float, degree: float, coef0: float, theta: float, rho: float, zeta: float
) -> Kernel:
    """The kernel object of a name as the estimators spell it; `gamma` is a number here."""
    check_choice("name", name, NAMES)
    given = {
        "gamma": gamma,
        "degree": degree,
        "coef0": coef0,
        "theta": theta,
        "rho": rho,
        "zeta": zeta,
    }
    cls, taken = BY_NAME[name]
    kernel = cls(**{parameter: given[parameter] for parameter in taken})
    kernel.check_parameters()
    return kernel
