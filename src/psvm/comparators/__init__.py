"""Predictors to compare with that scikit-learn does not have."""

from ._fisher import KernelFisherDiscriminant
from ._least_squares import LeastSquaresSVC, LeastSquaresSVR

__all__ = ["KernelFisherDiscriminant", "LeastSquaresSVC", "LeastSquaresSVR"]


def __dir__():
    return __all__
