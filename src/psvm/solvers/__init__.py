"""Solvers of the P-SVM problem."""

from ._smo import SMO
from ._solution import Solution, Status
from ._solver import Solver
from ._working_set import WorkingSet

__all__ = ["SMO", "Solution", "Solver", "Status", "WorkingSet"]
