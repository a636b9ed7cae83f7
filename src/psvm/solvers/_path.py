"""The path of solutions along decreasing epsilon."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._threads import threads
from .._typing import ArrayLike, MatrixLike
from .._validation import check_choice, check_number, check_positive_integer, check_vector
from ..matrix import DataMatrix, RowBlocks, Standardized
from ..problem import Problem
from ._follow import follow
from ._homotopy import Points, homotopy_workspace, trace
from ._path_result import EpsilonPath, join, make_path
from ._solution import Status
from ._solve import check_data
from ._working_set import WorkingSet

LARGEST_HOMOTOPY = 500
"""Rank of K up to which the knots are few enough to visit them all."""
TOGETHER, SIDE_BY_SIDE = 16 * 2**20, 64
"""Size of the gradients of the paths that are followed side by side, and most of them."""
LARGEST_TRACED = 1000
"""Support objects up to which a grid is reached along the path, certified in blocks."""
LOOSE, NEAR = 0.01, 0.97
"""Tolerance of the first guess of the columns that matter, and how near to epsilon they come."""


def epsilon_path(
    K: MatrixLike | DataMatrix | RowBlocks,
    y: ArrayLike | None = None,
    C: float = np.inf,
    *,
    epsilons: ArrayLike | None = None,
    n_epsilons: int = 100,
    min_ratio: float = 1e-3,
    max_features: int | None = None,
    method: Literal["auto", "homotopy", "grid"] = "auto",
    sample_weight: ArrayLike | None = None,
    tol: float = 1e-9,
    max_iter: int | None = None,
) -> EpsilonPath:
    """Solutions of the P-SVM problem along decreasing epsilon.

    The path starts at ``epsilon_max = ||K̃'y||_inf``, where alpha = 0, and columns enter one after
    the other. See `solve` for the problem.

    Parameters
    ----------
    K : {array-like, sparse matrix, DataMatrix} of shape (L, P), or RowBlocks
        Rows are objects, columns are descriptive objects. `RowBlocks` with y are read once, to
        compute their moments.
    y : array-like of shape (L,)
        The target. Not with `RowBlocks`.
    C : float, default=inf
        Bound of the variables.
    epsilons : array-like of shape (m,), default=None
        Decreasing epsilons at which solutions are wanted. None takes the knots of the path
        (homotopy), or a geometric grid.
    n_epsilons : int, default=100
        Length of the grid, where a grid is used and `epsilons` is None.
    min_ratio : float, default=1e-3
        End of the path as a share of epsilon_max if `epsilons` is None. The homotopy may go down
        to 0.
    max_features : int, default=None
        The path ends before more than this many variables are non-zero.
    method : {"auto", "homotopy", "grid"}, default="auto"
        "homotopy" follows the piecewise linear path exactly, from knot to knot. "grid" certifies
        the solutions of a grid and nothing between. "auto" is the homotopy if K has at
        most 500 rows or columns, because there are few knots then.
    sample_weight : array-like of shape (L,), default=None
        Weights of the rows. Weights of 0 leave rows out, so that the paths of a cross-validation
        can share K.
    tol : float, default=1e-9
        Largest KKT violation relative to epsilon_max, at all points.
    max_iter : int, default=None
        Largest number of points of the homotopy.

    Returns
    -------
    EpsilonPath

    Warns
    -----
    ConvergenceWarning
        If the path ended early. The solutions up to there are within `tol`.

    Examples
    --------
    >>> import numpy as np, psvm
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(50, 200))
    >>> path = psvm.epsilon_path(K, 3 * K[:, 3] - 2 * K[:, 8] + K[:, 5], max_features=3)
    >>> path.order
    array([3, 8, 5])
    >>> path.n_selected
    array([0, 1, 2, 3])
    >>> bool(np.isclose(path.epsilons[0], path.epsilon_max))
    True
    """
    options = _Options(C, epsilons, n_epsilons, min_ratio, max_features, method, tol, max_iter)
    matrix, y, weights = check_data(K, y, sample_weight)
    with threads():
        path = _paths(matrix, [y], [weights], options)[0]
    _warn_if_ended_early([path])
    return path


def epsilon_paths(
    K: MatrixLike | DataMatrix,
    y: ArrayLike,
    C: float = np.inf,
    *,
    sample_weight: ArrayLike | None = None,
    epsilons: ArrayLike | None = None,
    n_epsilons: int = 100,
    min_ratio: float = 1e-3,
    max_features: int | None = None,
    method: Literal["auto", "homotopy", "grid"] = "auto",
    tol: float = 1e-9,
    max_iter: int | None = None,
) -> list[EpsilonPath]:
    """Paths for several weights of the rows of one matrix, or for several targets.

    These are the paths of `epsilon_path`, such as those of the folds of a cross-validation, of
    bootstrap samples or of shuffled labels. The exact ones are followed side by side, so that one
    pass over K serves them all.

    Parameters
    ----------
    K : {array-like, sparse matrix, DataMatrix} of shape (L, P)
        Rows are objects, columns are descriptive objects.
    y : array-like of shape (L,) or (L, m)
        The target, or one for each path.
    C : float, default=inf
        Bound of the variables.
    sample_weight : array-like of shape (L,) or (L, m), default=None
        Weights of the rows, or a column of weights for each path. Weights of 0 leave rows out.
    epsilons, n_epsilons, min_ratio, max_features, method, tol, max_iter
        As in `epsilon_path`, for each path.

    Returns
    -------
    list of EpsilonPath

    Examples
    --------
    Leave out one row after the other:

    >>> import numpy as np, psvm
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(50, 200))
    >>> y = 3 * K[:, 3] - 2 * K[:, 8] + K[:, 5]
    >>> paths = psvm.epsilon_paths(K, y, sample_weight=1 - np.eye(50), max_features=3)
    >>> len(paths), {tuple(map(int, path.order)) for path in paths}
    (50, {(3, 8, 5)})
    """
    options = _Options(C, epsilons, n_epsilons, min_ratio, max_features, method, tol, max_iter)
    targets, weights = _columns("y", y), _columns("sample_weight", sample_weight)
    m = max(len(targets), len(weights))
    if not {len(targets), len(weights)} <= {1, m}:
        raise ValueError(
            f"y has {len(targets)} columns and sample_weight has {len(weights)}; give one of each "
            "for each path, or only one for all."
        )
    matrix = check_data(K, targets[0], weights[0])[0]
    targets, weights = m // len(targets) * targets, m // len(weights) * weights
    _, targets, weights = zip(
        *(check_data(matrix, *pair) for pair in zip(targets, weights, strict=True)), strict=True
    )
    at_once = min(max(TOGETHER // (8 * matrix.shape[1]), 1), SIDE_BY_SIDE)
    paths = []
    with threads():
        for start in range(0, m, at_once):
            some = slice(start, start + at_once)
            paths += _paths(matrix, targets[some], weights[some], options)
    _warn_if_ended_early(paths)
    return paths


@dataclass
class _Options:
    """What the paths of one call share, checked."""

    C: float
    epsilons: Any
    n_epsilons: int
    min_ratio: float
    max_features: int | None
    method: str
    tol: float
    max_iter: int | None

    def __post_init__(self):
        check_number("C", self.C, above=0, infinite=True)
        check_number("tol", self.tol, above=0)
        check_positive_integer("n_epsilons", self.n_epsilons)
        check_choice("method", self.method, ("auto", "homotopy", "grid"))
        for name in ("max_features", "max_iter"):
            if getattr(self, name) is not None:
                check_positive_integer(name, getattr(self, name))
        _check_ratio(self.min_ratio, self.method)
        self.epsilons = _check_epsilons(self.epsilons)


def _columns(name, values):
    """The columns of an array, or what was given if it is a vector or None."""
    if values is None:
        return [None]
    try:
        values = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is not an array of numbers: {error}") from error
    if values.ndim < 2:
        return [values]
    if values.ndim > 2 or values.shape[1] == 0:
        raise ValueError(
            f"{name} must have one or two dimensions and not be empty, got an array of shape "
            f"{values.shape}."
        )
    return list(values.T)


def _paths(matrix, targets, weights, options):
    """The paths for some targets and weights."""
    method = options.method
    if method == "auto":
        method = "homotopy" if min(matrix.shape) <= LARGEST_HOMOTOPY else "grid"
    several = Standardized.several(matrix, weights, targets)
    problems = [Problem.create(K, y, options.C, 0.0) for K, y in zip(several, targets, strict=True)]
    if method == "homotopy":
        return _homotopy(problems, options)
    return [_grid(problem, options) for problem in problems]


def _homotopy(problems, options):
    """The paths from knot to knot."""
    limits = {name: getattr(options, name) for name in ("tol", "max_features", "max_iter")}
    if options.epsilons is not None:
        return _traced(problems, "homotopy", options.epsilons, **limits)
    ends = [np.array([options.min_ratio * problem.epsilon_max]) for problem in problems]
    stops = [end[end < p.epsilon_max] for p, end in zip(problems, ends, strict=True)]
    paths = []
    for problem, (blocks, status) in zip(problems, trace(problems, stops, **limits), strict=True):
        points = join(blocks, problem.K.shape[1])
        paths.append(make_path(problem, "homotopy", status, points, points))
    return paths


def _traced(problems, method, wanted, **options):
    """The solutions at the wanted epsilons."""
    stops = [wanted[wanted < problem.epsilon_max] for problem in problems]
    paths, traced = [], trace(problems, stops, **options)
    for problem, met, (blocks, status) in zip(problems, stops, traced, strict=True):
        points = epsilons, *others = join(blocks, problem.K.shape[1])
        # Where epsilon exceeds epsilon_max the solution is that of epsilon_max, the first point.
        above = np.zeros(len(wanted) - len(met), dtype=np.intp)
        rows = np.concatenate([above, np.flatnonzero(np.isin(epsilons, met))])
        chosen = (wanted[: len(rows)], *(part[rows] for part in others))
        knots = points if method == "homotopy" else chosen
        paths.append(make_path(problem, method, status, chosen, knots))
    return paths


def _grid(problem, options):
    """The solutions of a grid, and nothing between."""
    epsilons, tol = options.epsilons, options.tol
    if epsilons is None:
        epsilons = problem.epsilon_max * np.geomspace(1.0, options.min_ratio, options.n_epsilons)
    if options.max_features is None:
        stated = problem.with_parameters(epsilon=epsilons[-1])
        workspace = homotopy_workspace(problem.K)
        last = WorkingSet(tol=LOOSE).minimise(stated, workspace=workspace)
        if len(last.support) <= LARGEST_TRACED:
            # What matters at the end of the path is most of what matters on it.
            near = (last.alpha != 0) | (np.abs(last.F) > NEAR * epsilons[-1])
            new = np.flatnonzero(near & (problem.K.norms > 0) & ~workspace.member)
            if not workspace.whole and len(new):
                workspace.extend(new)
            options = {"tol": tol, "knots": False, "workspace": workspace}
            return _traced([problem], "grid", epsilons, **options)[0]
    return _one_by_one(problem, epsilons, tol, options.max_features)


def _one_by_one(problem, epsilons, tol, max_features):
    """Problem after problem, until too many features are in."""
    status, blocks = Status.OPTIMAL, []
    for solution in follow(problem, epsilons, WorkingSet(tol=tol), of_largest=True):
        support = solution.support
        if solution.status is not Status.OPTIMAL or len(support) > (max_features or np.inf):
            status = solution.status
            break
        certificate = (len(support), solution.gap, max(solution.kkt_violation, 0.0))
        parts = (solution.alpha[None, support], *(np.array([part]) for part in certificate))
        blocks.append(Points(np.array([solution.epsilon]), support, *parts))
    points = join(blocks, problem.K.shape[1])
    return make_path(problem, "grid", status, points, points)


def _check_ratio(min_ratio, method):
    check_number("min_ratio", min_ratio, least=0)
    if min_ratio > 1:
        raise ValueError(f"min_ratio must be at most 1, got {min_ratio!r}.")
    if min_ratio == 0 and method == "grid":
        raise ValueError(
            "min_ratio must be greater than 0 for a geometric grid; use method='homotopy' to get "
            "to 0, or give epsilons."
        )


def _check_epsilons(epsilons):
    if epsilons is None:
        return None
    epsilons = check_vector("epsilons", epsilons)
    if (epsilons < 0).any():
        raise ValueError(f"epsilons must not be negative, got {epsilons.min():.6g}.")
    if (np.diff(epsilons) >= 0).any():
        raise ValueError(
            "epsilons must decrease strictly: a path starts at the largest. Sort them, as in "
            "np.unique(epsilons)[::-1]."
        )
    return epsilons


def _warn_if_ended_early(paths):
    remedies = {
        Status.MAX_ITER: "Increase max_iter, min_ratio or the smallest of epsilons.",
        Status.STALLED: "Double precision allows no more; increase tol or min_ratio.",
    }
    early = [path for path in paths if path.status in remedies]
    if not early:
        return
    path = early[0]
    last = path.knots[-1] if len(path.knots) else path.epsilon_max
    which = "The path" if len(paths) == 1 else f"{len(early)} of {len(paths)} paths, the first"
    warnings.warn(
        f"{which} ended ({path.status.value}) at epsilon = {last:.3g}, "
        f"{last / path.epsilon_max:.3g} of epsilon_max. {remedies[path.status]} The path is exact "
        "up to this point.",
        ConvergenceWarning,
        stacklevel=3,
    )
