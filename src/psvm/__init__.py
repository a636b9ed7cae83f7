"""psvm: the Potential Support Vector Machine."""

from importlib.metadata import version

from ._path import EpsilonPath, epsilon_path
from ._solve import solve
from ._spectrum import MatrixSpectrum, matrix_spectrum
from .estimators import PSVC, PSVR
from .io import load, save
from .selection import GeneSelector, PSVMSelector
from .solvers import SMO, Solution, Status, WorkingSet
from .sphered import SpheredSVC, SpheredSVCCV

__all__ = [
    "PSVC",
    "PSVR",
    "SMO",
    "EpsilonPath",
    "GeneSelector",
    "MatrixSpectrum",
    "PSVMSelector",
    "Solution",
    "SpheredSVC",
    "SpheredSVCCV",
    "Status",
    "WorkingSet",
    "epsilon_path",
    "load",
    "matrix_spectrum",
    "save",
    "solve",
]
__version__ = version("psvm")
