"""Several machines that choose from a common set of support objects.

With the standardised matrix K̃, centred targets Y (L x T), ``Q = K̃'K̃`` and ``B = K̃'Y``::

    minimise   D(A) = 1/2 tr(A'Q A) - tr(A'B) + epsilon sum_j ||A_j||    over A (P x T)

Up to ``||Y||^2 / 2`` this is ``1/2 ||Y - K̃A||^2 + epsilon sum_j ||A_j||``; column t of A is
machine t, and row A_j is zero in all machines or in none. One machine is the P-SVM with C = inf.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from .._core._group import GroupNewton
from ..problem import PRECISION
from ._clock import Clock
from ._solution import Status, StatusByName

MAX_ITER = 10_000
"""Newton steps for one epsilon; about ten are usual."""

FEWEST, SHARE = 10, 0.35
"""Rows that may enter the working set at once: so many, and a share of those in it."""

FIRST, LATER = 0.1, 0.3
"""While rows still enter, a working set is solved to this share of epsilon at first, and then to
that of the largest violation outside: what they change is not worth more."""

MANY = 100
"""Support rows from which Newton steps are slow: paths have a tolerance and a limit of steps of
their own there."""

LAG = 0.75
"""The share of the way back to the point before, in the logarithm of epsilon, by which a point with
a limit of steps may be behind."""

EQUAL = 1e-14
"""Columns whose product differs from +-1 by less are the same."""


@dataclass(frozen=True, eq=False)
class GroupSolution(StatusByName):
    """Machines that share their support, with their certificate recomputed from A.

    Attributes
    ----------
    A : ndarray of shape (P, T)
        The dual variables, a column per machine, in the units of the standardised matrix.
    F : ndarray of shape (P, T)
        Gradient ``Q A - B``.
    objective : float
        ``D(A)``.
    gap : float
        Duality gap: the objective is at most this far above the optimum.
    kkt_violation : float
        Largest violation of the KKT conditions, an absolute number: ``||F_j|| - epsilon`` where
        A_j is zero and ``||F_j + epsilon A_j / ||A_j|| ||`` elsewhere.
    status : Status
        How the solve ended.
    n_iter : int
        Newton steps.
    epsilon : float
        Parameter of the problem that was solved.
    source : {"moments", "rows", "factor"}, default="moments"
        What F and the certificate were recomputed from: sums over the rows, the rows, or their
        triangular factor.
    rounding : float, default=0.0
        If F comes from sums: bound of the rounding error of an entry of F, if known.
    """

    A: np.ndarray
    F: np.ndarray
    objective: float
    gap: float
    kkt_violation: float
    status: Status
    n_iter: int
    epsilon: float
    source: str = "moments"
    rounding: float = 0.0

    @property
    def support(self) -> np.ndarray:
        """Indices of the non-zero rows."""
        return np.flatnonzero(self.A.any(axis=1))

    def __repr__(self):
        P, T = self.A.shape
        return (
            f"GroupSolution({self.status.value}, support={len(self.support)} of {P}, "
            f"machines={T}, objective={self.objective:.6g}, gap={self.gap:.2g}, "
            f"kkt_violation={self.kkt_violation:.2g}, n_iter={self.n_iter})"
        )


def group_path(
    Q: np.ndarray,
    B: np.ndarray,
    epsilons: np.ndarray,
    tol: float,
    yy: float,
    *,
    loose: float = 0.0,
    max_iter: int = MAX_ITER,
    clock: Clock | None = None,
) -> Iterator[GroupSolution]:
    """Solutions along decreasing epsilon, without a pass over the rows of K.

    Parameters
    ----------
    Q : ndarray of shape (P, P)
        ``K̃'K̃``, contiguous; rows and columns of constant columns are zero.
    B : ndarray of shape (P, T)
        ``K̃'Y``.
    epsilons : ndarray
        Positive, decreasing. From ``max ||B_j||`` upwards A = 0 is the solution.
    tol : float
        KKT violation that is allowed, relative to epsilon.
    yy : float
        ``||Y||^2``, for the duality gap.
    loose : float
        The tolerance beyond `MANY` support rows, if it is larger.
    max_iter : int
        Newton steps for a point beyond `MANY` support rows: after three or four these are almost
        those of the solution, whose variables take several times as many. There are more steps
        where so few lead nowhere, or to a point that is far behind.
    clock : Clock
        When its time is over, solutions are the best ones so far.

    Yields
    ------
    GroupSolution
    """
    solution, newton, clock = None, GroupNewton(), clock or Clock()
    for epsilon in epsilons:
        many = solution is not None and len(solution.support) > MANY
        allowed, steps = (max(tol, loose), max_iter) if many else (tol, MAX_ITER)
        start = solution
        solution = _solve(newton, Q, B, epsilon, allowed, yy, start, steps, clock)
        while steps < MAX_ITER and _lags(solution, start):
            steps *= 2
            solution = _solve(newton, Q, B, epsilon, allowed, yy, solution, steps, clock)
        yield solution


def group_solve(
    Q: np.ndarray,
    B: np.ndarray,
    epsilon: float,
    tol: float,
    yy: float,
    *,
    start: GroupSolution | None = None,
    max_iter: int = MAX_ITER,
    clock: Clock | None = None,
) -> GroupSolution:
    """The solution for one epsilon, from that for another one or another tolerance if given.

    It is the best one so far when the time of the clock is over.
    """
    return _solve(GroupNewton(), Q, B, epsilon, tol, yy, start, max_iter, clock or Clock())


def _solve(newton, Q, B, epsilon, tol, yy, start, max_iter, clock):
    """The solution for one epsilon with its certificate."""
    Q = Q if Q.flags.c_contiguous else Q.T  # symmetric, and rows of it are taken
    allowed = max(tol * epsilon, PRECISION * _norms(B).max(initial=0.0))
    before, last = newton.n_iter, newton.n_iter + max_iter
    A, F = _descend(newton, Q, B, epsilon, allowed, start, last, clock)
    A, F = _merged(Q, B, A, F, epsilon, allowed)
    violation = _violation(A, F, epsilon)
    if violation <= allowed:
        status = Status.OPTIMAL
    elif clock.over:
        status = Status.MAX_TIME
    else:
        status = Status.MAX_ITER if newton.n_iter >= last else Status.STALLED
    return GroupSolution(
        A=A,
        F=F,
        objective=float(0.5 * np.vdot(A, F - B) + epsilon * _norms(A).sum()),
        gap=_gap(A, F, B, epsilon, yy),
        kkt_violation=violation,
        status=status,
        n_iter=newton.n_iter - before,
        epsilon=float(epsilon),
    )


def _descend(newton, Q, B, epsilon, allowed, start, last, clock):
    """A and its gradient, on a working set that grows until no row outside is violated."""
    largest = _norms(B).max(initial=0.0)
    noise = np.finfo(float).eps * largest
    A, F, before = (start.A.copy(), start.F, start.epsilon) if start else (0.0 * B, -B, largest)
    working, W = A.any(axis=1), np.empty(0, dtype=np.intp)
    # Rows that are likely to enter on the way from the epsilon of the start to this one
    bound = min(max(2.0 * epsilon - before, 0.0), epsilon)
    least = 0.5 * allowed
    near = start and before == epsilon and start.kkt_violation <= FIRST * epsilon
    here = least if near else max(least, FIRST * epsilon)
    norms = _norms(F)
    while True:
        count = FEWEST + int(SHARE * working.sum())
        working[_largest(norms, ~working, bound, count)] = True
        if working.sum() > len(W):
            W = np.flatnonzero(working)
            Q_W = Q[np.ix_(W, W)].T
        if len(W):
            A_W, F_W = np.asfortranarray(A[W]), np.asfortranarray(F[W])
            newton.minimise(Q_W, A_W, F_W, epsilon, here, noise, last - newton.n_iter, clock)
            A[W] = A_W
            F = _gradient(Q, B, A)
        bound, norms = epsilon, _norms(F)
        outside = norms[~working].max(initial=0.0) - epsilon
        settled = outside <= 0 and here == least
        if settled or _violation(A, F, epsilon) <= allowed or newton.n_iter >= last or clock.over:
            return A, F
        here = max(least, LATER * outside)


def certified_group(solution, F, B, yy, tol, source="rows"):
    """A solution with its certificate from a gradient F and products from another source."""
    A, epsilon = solution.A, solution.epsilon
    violation = _violation(A, F, epsilon)
    allowed = max(tol * epsilon, PRECISION * _norms(B).max(initial=0.0))
    stopped = solution.status if solution.status is not Status.OPTIMAL else Status.STALLED
    return replace(
        solution,
        F=F,
        objective=float(0.5 * np.vdot(A, F - B) + epsilon * _norms(A).sum()),
        gap=_gap(A, F, B, epsilon, yy),
        kkt_violation=violation,
        status=Status.OPTIMAL if violation <= allowed else stopped,
        source=source,
        rounding=0.0,
    )


def _gradient(Q, B, A):
    """``Q A - B``."""
    S = np.flatnonzero(A.any(axis=1))
    return Q[S].T @ A[S] - B


def _norms(X):
    """Norms of the rows."""
    return np.sqrt(np.einsum("jt,jt->j", X, X))


def _lags(solution, start):
    """Whether a point of the path is behind, or has not moved at all."""
    outside = _norms(solution.F)[~solution.A.any(axis=1)].max(initial=0.0)
    expected = start.epsilon**LAG * solution.epsilon ** (1 - LAG)
    return outside > expected or np.array_equal(solution.A, start.A)


def _largest(norms, candidates, bound, count):
    """The `count` largest norms above the bound, of the candidates."""
    found = np.flatnonzero(candidates & (norms > bound))
    if len(found) > count:
        found = found[np.argsort(-norms[found], kind="stable")[:count]]
    return found


def _violation(A, F, epsilon):
    """Largest violation of the KKT conditions."""
    sizes, d = _norms(A), _norms(F) - epsilon
    S = np.flatnonzero(sizes)
    d[S] = _norms(F[S] + (epsilon / sizes[S])[:, None] * A[S])
    return float(d.max(initial=0.0))


def _gap(A, F, B, epsilon, yy):
    """Duality gap at the residual, scaled by the best share that is feasible.

    With R = Y - K̃A and share s the gap is ``||R||^2 (1 - s)^2 / 2 + s tr(A'F) + epsilon sum_j
    ||A_j||``; written so, it is a sum of terms that are small at the optimum.
    """
    inner, largest = np.vdot(A, F), _norms(F).max(initial=0.0)
    rr = max(yy - np.vdot(A, B) + inner, 0.0)
    share = 1.0 - inner / rr if rr > 0 else 0.0
    share = min(share, epsilon / largest) if largest > 0 else share
    return max(float(0.5 * rr * (1 - share) ** 2 + share * inner + epsilon * _norms(A).sum()), 0.0)


def _merged(Q, B, A, F, epsilon, allowed):
    """A and its gradient with the rows of equal columns in the first of them.

    Newton's method shares a coefficient among equal columns; one support object will do.
    """
    S = np.flatnonzero(A.any(axis=1))
    products = Q[np.ix_(S, S)]
    equal = np.triu(np.abs(products) >= 1.0 - EQUAL, 1)
    if not equal.any():
        return A, F
    one = A.copy()
    for j in np.flatnonzero(equal.any(axis=0)):
        i = np.argmax(equal[:, j])
        one[S[i]] += np.sign(products[i, j]) * one[S[j]]
        one[S[j]] = 0.0
    gradient = _gradient(Q, B, one)
    if _violation(one, gradient, epsilon) > max(allowed, _violation(A, F, epsilon)):
        return A, F  # equal, but not to all digits that are asked for
    return one, gradient
