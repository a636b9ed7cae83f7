"""psvm: the Potential Support Vector Machine."""

from importlib.metadata import version

from ._solve import solve
from .solvers import SMO, Solution, Status, WorkingSet

__all__ = ["SMO", "Solution", "Status", "WorkingSet", "solve"]
__version__ = version("psvm")
