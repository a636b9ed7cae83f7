"""Leave-one-out values of solutions, from sums over all rows and some judged rows.

At a solution with the free variables A let ``Q = K̃'K̃``, ``M = (Q_AA)^-1``, and for a row z of K̃
with the weight w of all weights W ::

    h = w (1 / W + z'M z),    B = M z

If A and its signs stay the same when the row leaves, its residual r becomes ``r / (1 - h)``. Where
columns a of A belong to the row, they leave as well. With the row taken out first,
``theta' = theta - B w r / (1 - h)`` and ``M' = M + B w B' / (1 - h)``, and then
``theta'' = theta' - M'_:a (M'_aa)^-1 theta'_a``; for one column the residual is
``(r M_aa + B_a theta_a) / (M_aa (1 - h) + w B_a^2)``. Variables at the bound C stay there, unless
they belong to the row: then the others take over their part.

Only z, the mean target and the weight of the row itself enter, beside sums over all rows. So these
values are the same wherever the other rows are. Equal rows leave together: they are one judged row
with their weight and their mean target.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dtrtri

from .._core._leave_one_out import influences
from ..matrix import drawn_hashes
from ..solvers import group_path
from ._policy import POLICY

LARGEST_GRAM = 2048
"""Columns up to which the products of all of them are formed."""
LEAST = 1e-10
"""A row whose ``1 - h`` is smaller is interpolated: without it anything can happen."""
DEPENDENT = 1e-12
"""A column of norm one depends on others if its squared distance from their span is smaller."""
LOOSE, STEPS, SMALL = 0.1, 3, 300
"""Tolerance of points of a common support, and their Newton steps beyond so many columns: a few
objects more or less make no difference to a loss."""


class Point(NamedTuple):
    """A point of a walk."""

    values: np.ndarray
    """Values of the held-out groups by models that have not seen them, of shape (T, G); NaN where
    nothing can be said."""
    n_support: int
    solution: np.ndarray
    """The variables of all rows, of shape (P,) or (P, T), from which their solution is near."""


class JudgedRows:
    """Distinct rows whose values without themselves decide, for machines of the same rows.

    Parameters
    ----------
    Z : ndarray of shape (G, P), or callable
        Their rows of K̃ without the root of their weights; or ``Z(index)``, some of the columns.
    weights : ndarray of shape (G,)
        Each the weight of all rows that are equal.
    targets : ndarray of shape (T, G)
        Their mean targets.
    middles : ndarray of shape (T,)
        The mean targets of all rows.
    row_of_column : ndarray of shape (P,)
        The judged row that a column belongs to; -1 where it belongs to none of them.
    total : float
        The weight of all rows, judged or not.
    variances : ndarray of shape (G,), default=0
        The variances of the target within equal rows, of one machine.
    """

    def __init__(self, Z, weights, targets, middles, row_of_column, total, variances=0.0):
        self.Z, self.weights, self.targets, self.total = Z, weights, targets, total
        self.centred = np.ascontiguousarray(targets - middles[:, None])
        self.row_of_column, self.variances = row_of_column, variances

    def columns(self, used):
        """Columns of Z, by columns, and the places of those in use among them."""
        if callable(self.Z):
            return self.Z(used), np.arange(len(used))
        return self.Z, used


def judge_rows(description, K, targets):
    """The judged rows of a description in memory, and for each row its number among them or -1.

    Of more distinct rows than `Policy.judged` some are drawn by their content.
    """
    groups, weights = description.groups, description.weights
    total = np.bincount(groups, weights)
    chosen = np.flatnonzero(total > 0)
    chosen = chosen[drawn_hashes(description.hashes[chosen], POLICY.judged)]
    place = np.full(len(total), -1)
    place[chosen] = np.arange(len(chosen))
    counted = np.flatnonzero(weights > 0)
    first = np.zeros(len(total), dtype=np.intp)
    first[groups[counted[::-1]]] = counted[::-1]
    rows = first[chosen]
    inverse = 1.0 / np.sqrt(weights[rows])

    def columns(index):
        Z = K.submatrix(rows, index) if K.copy is None else K.copy[np.ix_(rows, index)]
        Z *= inverse[:, None]
        return np.asfortranarray(Z)

    means = np.array([np.bincount(groups, weights * y)[chosen] / total[chosen] for y in targets])
    around = np.square(targets[0] - means[0][place[groups]]) if len(targets) == 1 else 0.0
    variances = np.bincount(groups, weights * around, len(total))[chosen] / total[chosen]
    row_of_column = np.full(K.shape[1], -1)
    if description.own is not None:
        row_of_column = place[groups[description.own]]
    every = K.shape[1] <= LARGEST_GRAM
    middles = np.array([K.mean(y) for y in targets])
    judged = JudgedRows(
        columns(np.arange(K.shape[1])) if every else columns,
        total[chosen],
        means,
        middles,
        row_of_column,
        float(weights.sum()),
        variances,
    )
    return judged, place[groups]


class LeaveOneOut:
    """The source of held-out values that needs no other fit: one machine.

    Parameters
    ----------
    judged : JudgedRows
    Q : ndarray of shape (P, P), or callable
        ``K̃'K̃``; or ``Q(index)``, that of some columns.
    C : float
    path : callable
        ``path(epsilons)`` yields solutions alpha.
    """

    def __init__(self, judged, Q, C, path):
        self.judged, self.Q, self.C, self.path = judged, Q, C, path
        self.weights = judged.weights

    def points(self, epsilons):
        """The points of a walk, as they are asked for."""
        for alpha in self.path(epsilons):
            yield Point(self.values(alpha)[None], np.count_nonzero(alpha), alpha)

    def values(self, alpha, moved=False):
        """Values of the judged rows without themselves, of shape (G,); NaN where interpolated.

        `moved` says that no free column depends on others as far as that can be had.
        """
        rows, used = self.judged, np.flatnonzero(alpha)
        Z, place = rows.columns(used)
        Q, numbers = (self.Q(used), np.arange(len(used))) if callable(self.Q) else (self.Q, used)
        y, theta = rows.centred[0], np.ascontiguousarray(alpha[used])
        own, place = rows.row_of_column[used], np.ascontiguousarray(place)
        residual, leverage, diagonal, crossing = influences(
            Z, place, Q, numbers, y, theta, self.C, own
        )
        if np.isinf(leverage).any() and not moved:
            return self.values(self._independent(alpha, used, Q, numbers), moved=True)
        remains = 1.0 - rows.weights * (1.0 / rows.total + leverage)
        left_out = residual / _or_nan(remains)
        # 1. Rows with one free column of their own, all at once.
        a = np.flatnonzero(own >= 0)
        several = np.bincount(own[a], minlength=len(y))[own[a]] > 1
        at_bound = diagonal[a] == 0
        one = a[~(several | at_bound)]
        row, ratio = own[one], crossing[one] / diagonal[one]
        divisor = remains[row] + rows.weights[row] * crossing[one] * ratio
        left_out[row] = (residual[row] + ratio * theta[one]) / _or_nan(divisor)
        # 2. Rows with several, or with one at the bound.
        others = np.unique(own[a[several | at_bound]])
        if len(others):
            products = Q[np.ix_(numbers, numbers)]
            columns = Z[others][:, place]
            left_out[others] = self._one_by_one(
                others, columns, products, theta, own, residual, remains
            )
        return rows.targets[0] - left_out

    def _independent(self, alpha, used, Q, numbers):
        """The same values of f from free columns that do not depend on each other."""
        free, A = np.flatnonzero(np.abs(alpha[used]) < self.C), alpha[used][:, None]
        _, _, A = independent(Q[np.ix_(numbers, numbers)], free, A)
        alpha = np.zeros_like(alpha)
        alpha[used] = A[:, 0]
        return alpha

    def _one_by_one(self, rows, Z, Q, theta, own, residual, remains):
        """Residuals without some rows, each with all columns that belong to it."""
        found, bound = np.full(len(rows), np.nan), np.abs(theta) >= self.C
        free = np.flatnonzero(~bound)
        factor, dependent = dpotrf(Q[np.ix_(free, free)], lower=True)
        if dependent:
            return found
        # the oldest SciPy does not solve systems without equations
        M = cho_solve((factor, True), np.eye(len(free))) if len(free) else np.zeros((0, 0))
        for place, (row, z) in enumerate(zip(rows, Z, strict=True)):
            r, parameters, B = residual[row], theta[free], M @ z[free]
            for j in np.flatnonzero((own == row) & bound):
                passed = M @ Q[free, j]
                r += theta[j] * (z[j] - z[free] @ passed)
                parameters = parameters + theta[j] * passed
            a = np.flatnonzero(own[free] == row)
            ratio = np.linalg.solve(M[np.ix_(a, a)], B[a])
            divisor = remains[row] + self.weights[row] * (B[a] @ ratio)
            if divisor > LEAST:
                found[place] = (r + ratio @ parameters[a]) / divisor
        return found


class SharedLeaveOneOut:
    """The same of T machines that choose from a common set of support objects.

    The penalty counts the norm of the variables that an object has in all machines, so that it
    supports all of them or none. The variables go some way to the least squares of that support;
    their values are exact at its end, and near it otherwise.

    Parameters
    ----------
    judged : JudgedRows
    Q, B : ndarrays of shape (P, P) and (P, T)
        ``K̃'K̃`` and ``K̃'`` times the targets.
    squares : float
        The sum of the squares of the centred targets.
    tol : float
    """

    def __init__(self, judged, Q, B, squares, tol):
        self.judged, self.Q, self.B, self.squares = judged, Q, B, squares
        self.tol, self.weights = tol, judged.weights

    def points(self, epsilons):
        """The points of a walk, as they are asked for."""
        limit = {"max_iter": STEPS} if len(self.Q) > SMALL else {}
        products = self.Q, self.B, epsilons, self.tol, self.squares
        for solution in group_path(*products, loose=LOOSE, **limit):
            yield Point(self.values(solution.A)[0], len(solution.support), solution)

    def values(self, A):
        """Values of the judged rows without themselves, (T, G), and the variables, (P, T)."""
        rows, used, moved = self.judged, np.flatnonzero(A.any(axis=1)), np.zeros_like(A)
        if not len(used):
            share = (rows.weights / rows.total)[None]
            return rows.targets - rows.centred / (1.0 - share), moved
        factor, used, A = independent(self.Q, used, A)
        inverse = dtrtri(factor, lower=True)[0]
        squares = inverse.T @ (inverse @ self.B[used])
        theta = moved[used] = A[used] + POLICY.shared_relaxation * (squares - A[used])
        Z, place = rows.columns(used)
        Z = np.asfortranarray(Z[:, place])
        residual = rows.centred - (Z @ theta).T
        X = dtrmm(1.0, inverse, Z, side=True, lower=True, trans_a=True)
        leverage = np.einsum("ik,ik->i", X, X)
        remains = 1.0 - rows.weights * (1.0 / rows.total + leverage)
        left_out = residual / _or_nan(remains)
        a = np.flatnonzero(rows.row_of_column[used] >= 0)
        row = rows.row_of_column[used[a]]
        crossing = np.einsum("kj,jk->j", inverse[:, a], X[row])
        ratio = crossing / np.square(inverse[:, a]).sum(axis=0)
        divisor = remains[row] + rows.weights[row] * crossing * ratio
        left_out[:, row] = (residual[:, row] + ratio * theta[a].T) / _or_nan(divisor)
        return rows.targets - left_out, moved


def independent(Q, used, A):
    """The factor of columns that do not depend on each other, these columns, and A in them.

    Several machines may use more columns than their span has dimensions, and equal objects of a
    square matrix have equal columns. The variables of columns that depend on others are passed to
    these, which changes no value of f.
    """
    factor, failed = dpotrf(Q[np.ix_(used, used)].T, lower=True, clean=True)
    if not failed and np.square(factor.diagonal()).min(initial=1.0) > DEPENDENT:
        return factor, used, A
    # Of the columns that are about the farthest from the span, the one with the largest variables:
    # distances are often equal, and what decides must not be rounding or the order of the columns.
    order = used[np.argsort(-np.linalg.norm(A[used], axis=1), kind="stable")]
    products = Q[np.ix_(order, order)]
    distances, factor, kept = products.diagonal().copy(), np.zeros_like(products), []
    while distances.max(initial=0.0) > DEPENDENT:
        k, j = len(kept), int(np.argmax(distances >= distances.max() / 2))
        rest = products[:, j] - factor[:, :k] @ factor[j, :k]
        factor[:, k] = rest / np.sqrt(distances[j])
        distances -= np.square(factor[:, k])
        kept.append(j)
        distances[kept] = 0.0
    factor = np.asfortranarray(np.tril(factor[kept][:, : len(kept)]))
    rest, kept = np.delete(order, kept), order[kept]
    if len(rest):
        A = A.copy()
        A[kept] += cho_solve((factor, True), Q[np.ix_(kept, rest)] @ A[rest])
        A[rest] = 0.0
    return factor, kept, A


def _or_nan(share):
    """NaN for rows that are interpolated."""
    return np.where(share > LEAST, share, np.nan)
