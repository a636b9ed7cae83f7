"""Solvers of the P-SVM problem, paths of its solutions, and the dual of other SVMs."""

from ._clock import Clock
from ._dual import (
    EPS,
    BinaryTarget,
    DenseGram,
    DualSolution,
    FactorGram,
    Limits,
    OutOfTime,
    minimise,
    primal,
    start_solution,
)
from ._exact import AHEAD, exact_path, products_solution
from ._follow import follow
from ._group import GroupSolution, certified_group, group_path, group_solve
from ._path import LARGEST_HOMOTOPY, epsilon_path, epsilon_paths
from ._path_result import EpsilonPath
from ._refine import refine
from ._smo import SMO
from ._solution import Solution, Status
from ._solve import check_weights, make_solver, solve, warn_if_not_optimal
from ._solver import Solver
from ._working_set import WorkingSet

__all__ = [
    "SMO",
    "EpsilonPath",
    "Solution",
    "Solver",
    "Status",
    "WorkingSet",
    "epsilon_path",
    "epsilon_paths",
    "solve",
]


def __dir__():
    return __all__
