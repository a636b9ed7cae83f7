"""The result of following a path: solutions along decreasing epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from .._core._homotopy import nonzeros
from .._plotting import new_axes
from .._typing import Axes
from .._validation import check_number
from ..matrix import as_dense
from ._solution import Status


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
        The variables in the order in which they become non-zero; if several enter together, the
        largest first.
    status : Status
        `OPTIMAL` if the path reached its end.
    method : {"homotopy", "grid"}
        How it was computed.
    epsilon_max : float
        ``||K̃'y||_inf``, where the path begins.
    C : float
        Bound of the variables.
    knots : ndarray
        The epsilons between which alpha is linear (homotopy), or `epsilons` (grid).
    knot_alphas : csr_array of shape (len(knots), P)
        Row i is the solution at ``knots[i]``.

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
    knot_alphas: sp.csr_array
    _means: np.ndarray
    _norms: np.ndarray
    _b: float

    @property
    def n_selected(self) -> np.ndarray:
        return np.diff(self.alphas.indptr)

    @cached_property
    def order(self) -> np.ndarray:
        a = self.knot_alphas.tocoo()
        first = np.full(a.shape[1], a.shape[0])
        np.minimum.at(first, a.col, a.row)
        here = a.row == first[a.col]
        return a.col[here][np.lexsort((-np.abs(a.data[here]), a.row[here]))]

    @cached_property
    def coefs(self) -> sp.csr_array:
        coefs = self.alphas.copy()
        coefs.data = coefs.data / self._norms[coefs.indices]
        return coefs

    @property
    def intercepts(self) -> np.ndarray:
        return self._b - self.coefs @ self._means

    def alpha_at(self, epsilon: float) -> np.ndarray:
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
                "use method='homotopy', which has the solutions for all epsilons."
            )
        upper, lower = self.knots[above : above + 2]
        share = (upper - epsilon) / (upper - lower)
        alpha = self._row(above)
        return alpha + share * (self._row(above + 1) - alpha)  # a bound stays exactly a bound

    def _row(self, knot):
        return as_dense(self.knot_alphas[[knot]])[0]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the coefficients and the number of non-zero ones against epsilon.

        Needs matplotlib: ``pip install "psvm[plot]"``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes of the coefficients; the number of non-zero ones is on the right-hand axis.
        """
        ax = new_axes(ax, "A path")
        ax.plot(self.knots, as_dense(self.knot_alphas[:, self.order]), linewidth=1)
        ax.set(xlabel="epsilon", ylabel="alpha", xscale="log" if self.knots[-1] > 0 else "linear")
        ax.invert_xaxis()
        counts = ax.twinx()
        numbers = np.diff(self.knot_alphas.indptr)
        counts.step(self.knots, numbers, where="post", color="black", linestyle=":")
        counts.set(ylabel="non-zero variables", ylim=(0, None))
        return ax

    def __repr__(self):
        last = f"{self.epsilons[-1]:.6g}" if len(self.epsilons) else "none"
        return (
            f"EpsilonPath({self.method}, {self.status.value}, {len(self.epsilons)} epsilons from "
            f"{self.epsilon_max:.6g} to {last}, {len(self.order)} variables entered)"
        )


def join(blocks, P):
    """Epsilons, alphas, gaps and violations of some `Points`; the alphas as one sparse array."""
    entries = [nonzeros(b.alphas, np.argsort(b.index), b.index, b.counts.sum()) for b in blocks]
    values, columns = zip(*entries, strict=True) if entries else ((), ())
    starts = np.cumsum(np.concatenate([[0], *(block.counts for block in blocks)]))
    parts = (np.concatenate([[], *values]), np.concatenate([starts[:0], *columns]), starts)
    alphas = sp.csr_array(parts, shape=(len(starts) - 1, P))
    alphas.has_sorted_indices = True
    names = ("epsilons", "gaps", "violations")
    epsilons, gaps, violations = (
        np.concatenate([[], *(getattr(block, name) for block in blocks)]) for name in names
    )
    return epsilons, alphas, gaps, violations


def make_path(problem, method, status, rows, knots):
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
        knot_alphas=knots[1],
        _means=K.means,
        _norms=K.norms,
        _b=problem.b,
    )
