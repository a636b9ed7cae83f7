"""psvm: the Potential Support Vector Machine."""

from importlib.metadata import version

from ._solve import solve
from .estimators import PSVC, PSVR
from .solvers import SMO, Solution, Status, WorkingSet

__all__ = ["PSVC", "PSVR", "SMO", "Solution", "Status", "WorkingSet", "solve"]
__version__ = version("psvm")
