"""psvm: the Potential Support Vector Machine."""

from importlib.metadata import version

from ._path import EpsilonPath, epsilon_path
from ._solve import solve
from ._spectrum import MatrixSpectrum, matrix_spectrum
from .estimators import PSVC, PSVR
from .io import load, save
from .model_selection import PSVCCV, PSVRCV, HeldOut, cross_val_error
from .selection import GeneSelector, PSVMSelector
from .solvers import SMO, Solution, Status, WorkingSet
from .sphered import SpheredSVC, SpheredSVCCV

__all__ = [
    "PSVC",
    "PSVCCV",
    "PSVR",
    "PSVRCV",
    "SMO",
    "EpsilonPath",
    "GeneSelector",
    "HeldOut",
    "MatrixSpectrum",
    "PSVMSelector",
    "Solution",
    "SpheredSVC",
    "SpheredSVCCV",
    "Status",
    "WorkingSet",
    "cross_val_error",
    "epsilon_path",
    "load",
    "matrix_spectrum",
    "save",
    "solve",
]
__version__ = version("psvm")
