"""psvm: the Potential Support Vector Machine."""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from .estimators import PSVC, PSVR
    from .matrix import MatrixSpectrum, matrix_spectrum
    from .model_selection import PSVCCV, PSVRCV, HeldOut, cross_val_error
    from .persistence import load, save
    from .selection import GeneSelector, PSVMSelector
    from .solvers import (
        SMO,
        EpsilonPath,
        Solution,
        Status,
        WorkingSet,
        epsilon_path,
        epsilon_paths,
        solve,
    )
    from .sphered import SpheredSVC, SpheredSVCCV

_ROOMS = {
    "comparators": (),
    "estimators": ("PSVC", "PSVR"),
    "evaluation": (),
    "io": (),
    "kernels": (),
    "matrix": ("MatrixSpectrum", "matrix_spectrum"),
    "model_selection": ("PSVCCV", "PSVRCV", "HeldOut", "cross_val_error"),
    "persistence": ("load", "save"),
    "problem": (),
    "report": (),
    "selection": ("GeneSelector", "PSVMSelector"),
    "solvers": (
        "SMO",
        "EpsilonPath",
        "Solution",
        "Status",
        "WorkingSet",
        "epsilon_path",
        "epsilon_paths",
        "solve",
    ),
    "sphered": ("SpheredSVC", "SpheredSVCCV"),
}
"""The public modules and the names of each that are public here as well. All are imported when they
are used: `psvm --help` uses none."""
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(_HOME)
__version__ = _version("psvm")


def __getattr__(name):
    if name in _HOME:
        value = getattr(_import_module(f".{_HOME[name]}", __name__), name)
    elif name in _ROOMS:
        value = _import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return [*__all__, *_ROOMS, "__version__"]
