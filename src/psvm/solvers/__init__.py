"""Solvers of the P-SVM problem."""

from ._homotopy import Points, homotopy_workspace, trace
from ._smo import SMO
from ._solution import Solution, Status
from ._solver import Solver
from ._working_set import WorkingSet

__all__ = [
    "SMO",
    "Points",
    "Solution",
    "Solver",
    "Status",
    "WorkingSet",
    "homotopy_workspace",
    "trace",
]
