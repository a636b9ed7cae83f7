"""The path of solutions along decreasing epsilon."""

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from ._solve import check_data
from ._threads import threads
from ._validation import check_choice, check_number, check_positive_integer, check_vector
from .matrix import Standardized
from .problem import Problem
from .solvers import Points, Status, WorkingSet, trace

LARGEST_HOMOTOPY = 500
"""Rank of K up to which the knots are few enough to visit them all."""
LARGEST_TRACED = 1000
"""Support objects up to which a grid is reached along the path, certified in blocks."""
LOOSE, NEAR = 0.01, 0.97
"""Tolerance of the first guess of the columns that matter, and how near to epsilon they come."""


def epsilon_path(
    K,
    y,
    C=np.inf,
    *,
    epsilons=None,
    n_epsilons=100,
    min_ratio=1e-3,
    max_features=None,
    method="auto",
    sample_weight=None,
    tol=1e-9,
    max_iter=None,
):
    """Solutions of the P-SVM problem along decreasing epsilon.

    The path starts at ``epsilon_max = ||K̃'y||_inf``, where alpha = 0, and lets one column after the
    other in. See `solve` for the problem.

    Parameters
    ----------
    K : {array-like, sparse matrix, DataMatrix} of shape (L, P)
        A row is an object, a column a descriptive object.
    y : array-like of shape (L,)
        The target.
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
        the solutions of a grid and nothing between. "auto" is the homotopy where K has at
        most 500 rows or columns, which makes the knots few.
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
        If the path ended early. What there is of it is as exact as `tol` says.

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
    check_number("C", C, above=0, infinite=True)
    check_number("tol", tol, above=0)
    check_positive_integer("n_epsilons", n_epsilons)
    check_choice("method", method, ("auto", "homotopy", "grid"))
    for name, limit in (("max_features", max_features), ("max_iter", max_iter)):
        if limit is not None:
            check_positive_integer(name, limit)
    _check_ratio(min_ratio, method)
    epsilons = _check_epsilons(epsilons)
    matrix, y, weights = check_data(K, y, sample_weight)
    if method == "auto":
        method = "homotopy" if min(matrix.shape) <= LARGEST_HOMOTOPY else "grid"
    with threads():
        problem = Problem.create(Standardized(matrix, weights, y=y), y, C, 0.0)
        if method == "homotopy":
            limits = {"tol": tol, "max_features": max_features, "max_iter": max_iter}
            path = _homotopy(problem, epsilons, min_ratio, **limits)
        else:
            if epsilons is None:
                epsilons = problem.epsilon_max * np.geomspace(1.0, min_ratio, n_epsilons)
            path = _grid(problem, epsilons, tol, max_features)
    _warn_if_ended_early(path)
    return path


@dataclass(frozen=True, eq=False)
class EpsilonPath:
    """Solutions along decreasing epsilon, from `epsilon_path`.

    Attributes
    ----------
    epsilons : ndarray of shape (m,)
        Decreasing.
    alphas : csr_array of shape (m, P)
        Row i is the solution at ``epsilons[i]``, in the units of the standardised matrix. It is
        stored as a sparse array because most entries are zero.
    coefs : csr_array of shape (m, P)
        Coefficients of the raw columns of K.
    intercepts : ndarray of shape (m,)
        Constants of the predictors ``K @ coef + intercept``.
    gaps : ndarray of shape (m,)
        Duality gaps, computed from alpha with all columns.
    kkt_violations : ndarray of shape (m,)
        Largest violations of the KKT conditions, absolute numbers.
    n_selected : ndarray of shape (m,)
        Numbers of non-zero variables.
    order : ndarray
        The variables in the order in which they become non-zero; those that do so together by
        decreasing size.
    status : Status
        `OPTIMAL` if the path got to its end.
    method : {"homotopy", "grid"}
        How it was computed.
    epsilon_max : float
        ``||K̃'y||_inf``, where the path begins.
    C : float
        Bound of the variables.
    knots : ndarray
        The epsilons between which alpha is linear (homotopy), or `epsilons` (grid).

    Examples
    --------
    >>> import numpy as np, psvm
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(50, 5))
    >>> path = psvm.epsilon_path(K, 3 * K[:, 3] - 2 * K[:, 1])
    >>> path.alpha_at(0.5 * path.epsilon_max).round(1)
    array([ 0. , -3.5,  0. , 10.2,  0. ])
    """

    epsilons: np.ndarray
    alphas: sp.csr_array
    gaps: np.ndarray
    kkt_violations: np.ndarray
    status: Status
    method: str
    epsilon_max: float
    C: float
    knots: np.ndarray
    _knot_alphas: sp.csr_array
    _means: np.ndarray
    _norms: np.ndarray
    _b: float

    @property
    def n_selected(self):
        return np.diff(self.alphas.indptr)

    @cached_property
    def order(self):
        a = self._knot_alphas.tocoo()
        first = np.full(a.shape[1], a.shape[0])
        np.minimum.at(first, a.col, a.row)
        here = a.row == first[a.col]
        return a.col[here][np.lexsort((-np.abs(a.data[here]), a.row[here]))]

    @cached_property
    def coefs(self):
        coefs = self.alphas.copy()
        coefs.data = coefs.data / self._norms[coefs.indices]
        return coefs

    @property
    def intercepts(self):
        return self._b - self.coefs @ self._means

    def alpha_at(self, epsilon):
        """The solution at any epsilon of the path, in the units of the standardised matrix.

        Between two knots of the homotopy it is linear, so that this is exact. A path on a grid has
        only the solutions of its `epsilons`.

        Parameters
        ----------
        epsilon : float

        Returns
        -------
        ndarray of shape (P,)
        """
        check_number("epsilon", epsilon, least=0)
        if epsilon >= self.epsilon_max:
            return np.zeros(self.alphas.shape[1])
        if not len(self.knots) or epsilon < self.knots[-1]:
            last = self.knots[-1] if len(self.knots) else self.epsilon_max
            raise ValueError(
                f"epsilon = {epsilon:.6g} lies below the end of the path at {last:.6g}. Follow it "
                "further: decrease min_ratio or increase max_features."
            )
        above = np.flatnonzero(self.knots >= epsilon)[-1]
        if self.knots[above] == epsilon:
            return self._row(above)
        if self.method == "grid":
            raise ValueError(
                f"epsilon = {epsilon:.6g} is not on the grid of this path. Add it to epsilons, or "
                "use method='homotopy', which knows all solutions."
            )
        upper, lower = self.knots[above : above + 2]
        share = (upper - epsilon) / (upper - lower)
        alpha = self._row(above)
        return alpha + share * (self._row(above + 1) - alpha)  # a bound stays exactly a bound

    def _row(self, knot):
        return self._knot_alphas[[knot]].toarray()[0]

    def plot(self, ax=None):
        """Draw the coefficients and the number of non-zero ones against epsilon.

        Needs matplotlib: ``pip install "psvm[plot]"``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            That of the coefficients; the numbers are on the axis at the right.
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError('Drawing needs matplotlib: pip install "psvm[plot]".') from error
        if ax is None:
            ax = plt.subplots()[1]
        ax.plot(self.knots, self._knot_alphas[:, self.order].toarray(), linewidth=1)
        ax.set(xlabel="epsilon", ylabel="alpha", xscale="log" if self.knots[-1] > 0 else "linear")
        ax.invert_xaxis()
        counts = ax.twinx()
        numbers = np.diff(self._knot_alphas.indptr)
        counts.step(self.knots, numbers, where="post", color="black", linestyle=":")
        counts.set(ylabel="non-zero variables", ylim=(0, None))
        return ax

    def __repr__(self):
        last = f"{self.epsilons[-1]:.6g}" if len(self.epsilons) else "none"
        return (
            f"EpsilonPath({self.method}, {self.status.value}, {len(self.epsilons)} epsilons from "
            f"{self.epsilon_max:.6g} to {last}, {len(self.order)} variables entered)"
        )


def _homotopy(problem, epsilons, min_ratio, **limits):
    """The path from knot to knot."""
    if epsilons is not None:
        return _traced(problem, "homotopy", epsilons, **limits)
    end = np.array([min_ratio * problem.epsilon_max])
    blocks, status = trace(problem, end[end < problem.epsilon_max], **limits)
    points = _join(blocks, problem.K.shape[1])
    return _result(problem, "homotopy", status, points, points)


def _traced(problem, method, wanted, **options):
    """The solutions at the wanted epsilons."""
    stops = wanted[wanted < problem.epsilon_max]
    blocks, status = trace(problem, stops, **options)
    points = epsilons, *others = _join(blocks, problem.K.shape[1])
    # Where epsilon exceeds epsilon_max the solution is that of epsilon_max, the first point.
    above = np.zeros(len(wanted) - len(stops), dtype=np.intp)
    rows = np.concatenate([above, np.flatnonzero(np.isin(epsilons, stops))])
    chosen = (wanted[: len(rows)], *(part[rows] for part in others))
    return _result(problem, method, status, chosen, points if method == "homotopy" else chosen)


def _grid(problem, epsilons, tol, max_features):
    """The solutions of a grid, and nothing between."""
    if max_features is None:
        stated = problem.with_parameters(epsilon=epsilons[-1])
        last = WorkingSet(tol=LOOSE).minimise(stated)
        if len(last.support) <= LARGEST_TRACED:
            # What matters at the end of the path is most of what matters on it.
            near = (last.alpha != 0) | (np.abs(last.F) > NEAR * epsilons[-1])
            first = np.flatnonzero(near & (problem.K.norms > 0))
            return _traced(problem, "grid", epsilons, tol=tol, knots=False, first=first)
    return _one_by_one(problem, epsilons, tol, max_features)


def _one_by_one(problem, epsilons, tol, max_features):
    """Problem after problem, each from the solution of the one before."""
    largest = problem.epsilon_max
    workspace, alpha, status, blocks = WorkingSet().workspace(problem.K), None, None, []
    for epsilon in epsilons:
        solver = WorkingSet(tol=tol * (largest / epsilon if 0 < epsilon < largest else 1.0))
        stated = problem.with_parameters(epsilon=epsilon)
        solution = solver.minimise(stated, start=alpha, workspace=workspace)
        alpha, support = solution.alpha, solution.support
        if solution.status is not Status.OPTIMAL or len(support) > (max_features or np.inf):
            status = solution.status
            break
        certificate = (len(support), solution.gap, max(solution.kkt_violation, 0.0))
        parts = (alpha[None, support], *(np.array([part]) for part in certificate))
        blocks.append(Points(np.array([epsilon]), support, *parts))
    points = _join(blocks, problem.K.shape[1])
    return _result(problem, "grid", status or Status.OPTIMAL, points, points)


def _join(blocks, P):
    """Epsilons, alphas, gaps and violations of some `Points`; the alphas as one sparse array."""
    entries = [np.nonzero(block.alphas) for block in blocks]
    values = [b.alphas[entry] for b, entry in zip(blocks, entries, strict=True)]
    columns = [b.index[place] for b, (_, place) in zip(blocks, entries, strict=True)]
    starts = np.cumsum(np.concatenate([[0], *(block.counts for block in blocks)]))
    parts = (np.concatenate([[], *values]), np.concatenate([starts[:0], *columns]), starts)
    alphas = sp.csr_array(parts, shape=(len(starts) - 1, P))
    alphas.sort_indices()
    names = ("epsilons", "gaps", "violations")
    epsilons, gaps, violations = (
        np.concatenate([[], *(getattr(block, name) for block in blocks)]) for name in names
    )
    return epsilons, alphas, gaps, violations


def _result(problem, method, status, rows, knots):
    epsilons, alphas, gaps, violations = rows
    K = problem.K
    return EpsilonPath(
        epsilons=epsilons,
        alphas=alphas,
        gaps=gaps,
        kkt_violations=violations,
        status=status,
        method=method,
        epsilon_max=problem.epsilon_max,
        C=problem.C,
        knots=knots[0],
        _knot_alphas=knots[1],
        _means=K.means,
        _norms=K.norms,
        _b=problem.b,
    )


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


def _warn_if_ended_early(path):
    remedy = {
        Status.MAX_ITER: "Increase max_iter, min_ratio or the smallest of epsilons.",
        Status.STALLED: "Double precision allows no more; increase tol or min_ratio.",
    }.get(path.status)
    if remedy is not None:
        last = path.knots[-1] if len(path.knots) else path.epsilon_max
        warnings.warn(
            f"The path ended ({path.status.value}) at epsilon = {last:.3g}, "
            f"{last / path.epsilon_max:.3g} of epsilon_max. {remedy} What there is of the path is "
            "exact.",
            ConvergenceWarning,
            stacklevel=3,
        )
