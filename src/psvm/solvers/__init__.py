"""Solvers of the P-SVM problem."""

from ._smo import SMO, GramColumns
from ._solution import Solution, Status

__all__ = ["SMO", "GramColumns", "Solution", "Status"]
