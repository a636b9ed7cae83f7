"""psvm: the Potential Support Vector Machine."""

import typing as _t
from importlib import import_module as _import_module
from importlib.metadata import version as _version

if _t.TYPE_CHECKING:
    from . import choice as choice
    from . import comparators as comparators
    from . import estimators as estimators
    from . import evaluation as evaluation
    from . import io as io
    from . import kernels as kernels
    from . import matrix as matrix
    from . import model_selection as model_selection
    from . import persistence as persistence
    from . import preprocessing as preprocessing
    from . import problem as problem
    from . import report as report
    from . import selection as selection
    from . import solvers as solvers
    from . import sphered as sphered
    from .estimators import PSVC as PSVC
    from .estimators import PSVR as PSVR
    from .estimators import MomentsPlan as MomentsPlan
    from .estimators import RowSurvey as RowSurvey
    from .estimators import SiteMoments as SiteMoments
    from .estimators import fit_moments as fit_moments
    from .estimators import fit_sites as fit_sites
    from .matrix import FoldMoments as FoldMoments
    from .matrix import MatrixSpectrum as MatrixSpectrum
    from .matrix import Moments as Moments
    from .matrix import RowBlocks as RowBlocks
    from .matrix import matrix_spectrum as matrix_spectrum
    from .model_selection import PSVCCV as PSVCCV
    from .model_selection import PSVRCV as PSVRCV
    from .model_selection import HeldOut as HeldOut
    from .model_selection import cross_val_error as cross_val_error
    from .persistence import load as load
    from .persistence import save as save
    from .report import Exploration as Exploration
    from .report import explore as explore
    from .selection import GeneSelector as GeneSelector
    from .selection import KnockoffSelector as KnockoffSelector
    from .selection import PSVMSelector as PSVMSelector
    from .selection import StabilitySelector as StabilitySelector
    from .solvers import SMO as SMO
    from .solvers import EpsilonPath as EpsilonPath
    from .solvers import Solution as Solution
    from .solvers import Status as Status
    from .solvers import WorkingSet as WorkingSet
    from .solvers import epsilon_path as epsilon_path
    from .solvers import epsilon_paths as epsilon_paths
    from .solvers import solve as solve
    from .sphered import SpheredSVC as SpheredSVC
    from .sphered import SpheredSVCCV as SpheredSVCCV

_ROOMS = {
    "choice": (),
    "comparators": (),
    "estimators": (
        "PSVC",
        "PSVR",
        "MomentsPlan",
        "RowSurvey",
        "SiteMoments",
        "fit_moments",
        "fit_sites",
    ),
    "evaluation": (),
    "io": (),
    "kernels": (),
    "matrix": ("FoldMoments", "MatrixSpectrum", "Moments", "RowBlocks", "matrix_spectrum"),
    "model_selection": ("PSVCCV", "PSVRCV", "HeldOut", "cross_val_error"),
    "persistence": ("load", "save"),
    "preprocessing": (),
    "problem": (),
    "report": ("Exploration", "explore"),
    "selection": ("GeneSelector", "KnockoffSelector", "PSVMSelector", "StabilitySelector"),
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


if not _t.TYPE_CHECKING:  # for a type checker the names are those imported above

    def __getattr__(name):
        if name in _HOME:
            value = getattr(_import_module(f".{_HOME[name]}", __name__), name)
        elif name in _ROOMS:
            value = _import_module(f".{name}", __name__)
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return [*__all__, *_ROOMS, "__version__"]
