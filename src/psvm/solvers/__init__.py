"""Solvers of the P-SVM problem."""

from ._smo import SMO, GramColumns
from ._solution import Solution, Status
from ._working_set import WorkingSet, Workspace

__all__ = ["SMO", "GramColumns", "Solution", "Status", "WorkingSet", "Workspace"]
