"""The Sphered SVM (Hochreiter, Mohr & Obermayer 2004): scale-invariant classification."""

from ._base import KernelRows, ShiftedRows, TakenColumns
from ._cv import SpheredSVCCV
from ._estimator import SpheredSVC

__all__ = ["SpheredSVC", "SpheredSVCCV"]


def __dir__():
    return __all__
