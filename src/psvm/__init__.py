"""psvm: the Potential Support Vector Machine."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._path import epsilon_path, epsilon_paths
    from ._path_result import EpsilonPath
    from ._solve import solve
    from ._spectrum import MatrixSpectrum, matrix_spectrum
    from .estimators import PSVC, PSVR
    from .io import load, save
    from .model_selection import PSVCCV, PSVRCV, HeldOut, cross_val_error
    from .selection import GeneSelector, PSVMSelector
    from .solvers import SMO, Solution, Status, WorkingSet
    from .sphered import SpheredSVC, SpheredSVCCV

_HOME = {
    "PSVC": "estimators",
    "PSVCCV": "model_selection",
    "PSVR": "estimators",
    "PSVRCV": "model_selection",
    "SMO": "solvers",
    "EpsilonPath": "_path_result",
    "GeneSelector": "selection",
    "HeldOut": "model_selection",
    "MatrixSpectrum": "_spectrum",
    "PSVMSelector": "selection",
    "Solution": "solvers",
    "SpheredSVC": "sphered",
    "SpheredSVCCV": "sphered",
    "Status": "solvers",
    "WorkingSet": "solvers",
    "cross_val_error": "model_selection",
    "epsilon_path": "_path",
    "epsilon_paths": "_path",
    "load": "io",
    "matrix_spectrum": "_spectrum",
    "save": "io",
    "solve": "_solve",
}
"""The module of each public name. They are imported when they are used: `psvm --help` uses none."""
_MODULES = (
    "comparators",
    "evaluation",
    "io",
    "kernels",
    "matrix",
    "model_selection",
    "problem",
    "report",
    "selection",
    "solvers",
    "sphered",
)

__all__ = list(_HOME)
__version__ = version("psvm")


def __getattr__(name):
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    elif name in _MODULES:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return [*globals(), *_HOME, *_MODULES]
