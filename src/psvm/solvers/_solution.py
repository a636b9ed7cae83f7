"""What every solver returns."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ..problem import Problem, duality_gap, kkt_violation, objective


class Status(enum.Enum):
    """How a solve ended.

    Examples
    --------
    >>> import numpy as np, psvm
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(20, 5))
    >>> psvm.solve(K, K[:, 0], epsilon=0.1).status
    <Status.OPTIMAL: 'optimal'>
    """

    OPTIMAL = "optimal"
    """The KKT violation, recomputed from alpha, is within the tolerance."""
    MAX_ITER = "max_iter"
    """Stopped by `max_iter`."""
    MAX_TIME = "max_time"
    """Stopped by `max_time`."""
    STALLED = "stalled"
    """No step decreases the objective in double precision, though the tolerance is not reached."""


class StatusByName:
    """Pickled with the name of its status: formats such as that of skops know no enums."""

    def __getstate__(self):
        return {**vars(self), "status": self.status.value}

    def __setstate__(self, state):
        vars(self).update(state, status=Status(state["status"]))


@dataclass(frozen=True, eq=False)
class Solution(StatusByName):
    """Answer of a solver, with its certificate recomputed from alpha.

    Attributes
    ----------
    alpha : ndarray of shape (P,)
        The dual variables, in the units of the standardised matrix.
    F : ndarray of shape (P,)
        Gradient ``K̃'(K̃ alpha - y)``.
    objective : float
        Value of the dual objective.
    gap : float
        Duality gap: the objective is at most this far above the optimum.
    kkt_violation : float
        Largest violation of the KKT conditions, an absolute number.
    status : Status
        How the solve ended.
    n_iter : int
        Iterations.
    n_q_columns : int
        Columns of ``Q = K̃'K̃`` that the solver asked for.
    n_blocks : int
        Successful block updates.
    time : float
        Wall-clock seconds.
    C, epsilon : float
        Parameters of the problem that was solved.
    coef : ndarray of shape (P,)
        Coefficients of the raw columns of K.
    intercept : float
        Constant of the predictor ``K @ coef + intercept``.
    source : {"rows", "moments", "factor"}, default="rows"
        What F and the certificate were recomputed from: the rows, their sums, or their triangular
        factor.
    rounding : float, default=0.0
        If F comes from sums: bound of the rounding error of an entry of F.

    Examples
    --------
    >>> import numpy as np, psvm
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(20, 5))
    >>> solution = psvm.solve(K, 3 * K[:, 0], epsilon=0.5)
    >>> solution.support
    array([0])
    >>> solution.gap < 1e-3
    True
    """

    alpha: np.ndarray
    F: np.ndarray
    objective: float
    gap: float
    kkt_violation: float
    status: Status
    n_iter: int
    n_q_columns: int
    n_blocks: int
    time: float
    C: float
    epsilon: float
    coef: np.ndarray
    intercept: float
    source: str = "rows"
    rounding: float = 0.0

    @classmethod
    def certified(
        cls, problem: Problem, alpha: np.ndarray, r: np.ndarray, F: np.ndarray, **counts: Any
    ) -> Self:
        """A solution with its certificate; r and F are the residual and gradient at alpha."""
        C, epsilon = problem.C, problem.epsilon
        coef, shift = problem.K.coef(alpha)
        return cls(
            alpha=alpha,
            F=F,
            objective=objective(alpha, F, problem.l, epsilon),
            gap=duality_gap(alpha, F, r, problem.y, C, epsilon),
            kkt_violation=float(kkt_violation(alpha, F, C, epsilon).max(initial=0.0)),
            C=C,
            epsilon=epsilon,
            coef=coef,
            intercept=problem.b + shift,
            **counts,
        )

    @property
    def support(self) -> np.ndarray:
        """Indices of the non-zero variables."""
        return np.flatnonzero(self.alpha)

    def __repr__(self):
        return (
            f"Solution({self.status.value}, support={len(self.support)} of {len(self.alpha)}, "
            f"objective={self.objective:.6g}, gap={self.gap:.2g}, "
            f"kkt_violation={self.kkt_violation:.2g}, n_iter={self.n_iter}, time={self.time:.3g})"
        )
