"""Leave-one-out values of a solution, without fitting it again.

At a solution with the free variables A let ``Z = K̃_A``, ``M = (Z'Z)^-1``, and for row i with the
weight w_i of all weights W ::

    h_i = w_i / W + z_i'M z_i,    B = M Z'

If A and its signs stay the same when row i leaves, its weighted residual becomes
``r_i / (1 - h_i)``. Where column a of A describes by row i, the column leaves as well, and the
residual becomes ``(r_i M_aa + B_ai alpha_a) / (M_aa (1 - h_i) + B_ai^2)``. Variables at the bound C
stay there. Equal rows leave together, as one row with their weight and their mean target.

A solution that is relaxed has gone a share of the way to the least squares of its free variables.
Both ends have the same A and M, and the values are linear in alpha between.
"""

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dpotrf, dpstrf, dtrtri

from .._core._leave_one_out import influences
from ..matrix import block_slices
from ._sigmoid import weight_of_one

KEPT = 5000
"""The columns of no more rows are kept for the next solutions, which have most of them as well."""
ROOM = 2048
"""Columns for which there is room at first; memory that is not written to costs nothing."""
LEAST = 1e-10
"""A row whose ``1 - h_i`` is smaller is interpolated: without it anything can happen."""
DEPENDENT = 1e-12
"""A column of norm one, the square of whose distance from the span of others is smaller, depends on
them."""


class LeaveOneOut:
    """Leave-one-out values of the solutions of one problem.

    Parameters
    ----------
    description : Description
        With its digests.
    problem : Problem
        Of the description and the target.
    y : ndarray of shape (L,)
        The target.
    rows : ndarray of int, default=None
        The rows whose values are asked for; equal ones must be together. None means all.
    """

    def __init__(self, description, problem, y, rows=None):
        self.rows = np.arange(len(y)) if rows is None else rows
        self.problem, self.y, self.weights = problem, y, description.weights
        self.group = description.groups
        self.total = np.bincount(self.group, self.weights)
        self.own = None if description.own is None else description.present
        self._kept = KeptColumns(problem.K, self.rows)

    @property
    def unit(self):
        """The weight that counts as one row."""
        return weight_of_one(self.total)

    def decisions(self, alphas, Q=None, relaxation=0.0):
        """Values of f for each row without it; NaN where they mean nothing.

        Parameters
        ----------
        alphas : ndarray of shape (m, P)
            Solutions.
        Q : ndarray of shape (P, P), default=None
            ``K̃'K̃``, if it is known.
        relaxation : float, default=0.0
            The share of the way to least squares.

        Returns
        -------
        decisions : ndarray of shape (m, L)
            Rows without weight, and those that are not asked for, have NaN.
        alphas : ndarray of shape (m, P)
            The relaxed solutions.
        """
        used = np.flatnonzero(alphas.any(axis=0))
        relaxed = np.zeros_like(alphas)
        relaxed[:, used], residual, leverage, M, B = self._influences(
            np.ascontiguousarray(alphas[:, used]), Q, used, relaxation
        )
        return self._left_out(relaxed[:, used], used, self.y, residual, leverage, M, B), relaxed

    def shared(self, A, Q, B, targets, Y, relaxation):
        """The same of machines that share their support.

        Their values are exact where `relaxation` is 1, and near it otherwise: the penalty of a
        support object bends with its variables.

        Parameters
        ----------
        A : ndarray of shape (P, T)
            The variables.
        Q, B : ndarrays of shape (P, P) and (P, T)
            ``K̃'K̃`` and ``K̃'`` times the targets.
        targets, Y : ndarrays of shape (T, L)
            The targets, centred and weighted, and as they are.
        relaxation : float

        Returns
        -------
        decisions : ndarray of shape (T, L)
        alphas : ndarray of shape (T, P)
            The relaxed variables.
        """
        used, relaxed = np.flatnonzero(A.any(axis=1)), np.zeros_like(A.T)
        flat = np.zeros((1, targets.shape[1]))
        if not len(used):
            none = flat[:, :0]
            return self._left_out(none, used, Y, targets, flat, none, none), relaxed
        factor, used, A = independent(Q, used, A)
        inverse = dtrtri(factor, lower=True)[0]
        squares = inverse.T @ (inverse @ B[used])
        relaxed[:, used] = (A[used] + relaxation * (squares - A[used])).T
        residual, leverage = np.full_like(targets, np.nan), np.full_like(flat, np.nan)
        Z = self._columns(used)
        residual[:, self.rows] = targets[:, self.rows] - (Z @ relaxed[:, used].T).T
        X = dtrmm(1.0, inverse, Z, side=True, lower=True, trans_a=True, overwrite_b=True)
        leverage[0, self.rows] = np.einsum("ik,ik->i", X, X)
        M, crossing = np.square(inverse).sum(axis=0)[None], np.zeros((1, len(used)))
        if self.own is not None:
            own = self._places(self.rows)[self.own[used]]
            M[:, own < 0] = 0.0  # rows that are not asked for
            crossing[:, own >= 0] = np.einsum("kj,jk->j", inverse, X[own])[own >= 0]
        found = self._left_out(relaxed[:, used], used, Y, residual, leverage, M, crossing)
        return found, relaxed

    def _left_out(self, alphas, used, y, residual, leverage, M, B):
        """Values without each row, from the influences of the rows."""
        weights, total = self.weights, np.where(self.total > 0, self.total, np.nan)
        leverage = self._sums(leverage) + self.total / weights.sum()
        residual = self._sums(np.sqrt(weights) * residual) / total
        left_out = residual / _or_nan(1.0 - leverage)
        if self.own is not None:
            group, own_weights = self.group[self.own[used]], weights[self.own[used]]
            # of a row that counts as much as all that are equal to it
            B = B * np.sqrt(self.total[group] / own_weights)
            shift = B * alphas / np.sqrt(self.total[group])
            with np.errstate(invalid="ignore", divide="ignore"):
                divisor = _or_nan(1.0 - leverage[:, group] + B**2 / M)
                without = (residual[:, group] + shift / M) / divisor
            rows, columns = np.nonzero(np.broadcast_to(M, without.shape))
            left_out[rows, group[columns]] = without[rows, columns]
        mean = self._sums(weights * np.atleast_2d(y)) / total
        return (mean - left_out)[:, self.group]

    def _influences(self, alphas, Q, used, relaxation):
        """Relaxed solutions, and influences of the rows that are asked for, block by block."""
        L = len(self.y)
        if not len(used):  # a user's kernel need not know what to do with no objects
            flat = np.zeros((len(alphas), L))
            return alphas, flat + self.problem.y, flat, flat[:, :0], flat[:, :0]
        l, numbers = self.problem.l, used
        if Q is None:
            Q, l, numbers = self._products(used), l[used], np.arange(len(used))
        residual, leverage = np.full((2, len(alphas), L), np.nan)
        M, B = np.zeros((2, *alphas.shape))
        for rows, K_b, places in self._blocks(used):
            relaxed, own = alphas.copy(), np.full(len(used), -1)
            if self.own is not None:
                own = self._places(rows)[self.own[used]]
            y, C = self.problem.y[rows], self.problem.C
            residual[:, rows], leverage[:, rows], *own_parts = influences(
                K_b, places, np.ascontiguousarray(Q), numbers, y, l, relaxed, relaxation, C, own
            )
            M += own_parts[0]
            B += own_parts[1]
        return relaxed, residual, leverage, M, B

    def _blocks(self, used):
        """Rows, columns that these have in K̃, and the places of those in use among them."""
        if len(self.rows) <= KEPT:
            yield self.rows, *self._kept(used)
            return
        for block in block_slices(len(self.rows), 8 * len(used)):
            K_b = self.problem.K.submatrix(self.rows[block], used)
            yield self.rows[block], np.asfortranarray(K_b), np.arange(len(used))

    def _columns(self, used):
        """A copy of columns, in the rows that are asked for."""
        if len(self.rows) > KEPT:
            return np.asfortranarray(self.problem.K.submatrix(self.rows, used))
        kept, places = self._kept(used)
        return kept.T[places].T

    def _products(self, used):
        """``K̃'K̃`` of the columns in use."""
        K, L, Q = self.problem.K, len(self.y), np.zeros((len(used), len(used)))
        for rows in block_slices(L, 8 * len(used)):
            K_b = K.submatrix(np.arange(L)[rows], used)
            Q += K_b.T @ K_b
        return Q

    def _places(self, rows):
        """Where each row stands among `rows`; -1 if it does not."""
        place = np.full(len(self.y), -1)
        place[rows] = np.arange(len(rows))
        return place

    def _sums(self, values):
        """Sums over equal rows."""
        n = len(self.total)
        return np.array([np.bincount(self.group, row, n) for row in values])


class KeptColumns:
    """Columns of some rows of K̃, kept as soon as they have been asked for."""

    def __init__(self, K, rows):
        self.K, self.rows = K, rows
        self._all = np.array_equal(rows, np.arange(K.shape[0]))
        self._place, self._n = np.full(K.shape[1], -1), 0
        self._buffer = np.empty((len(rows), 0), order="F")

    def __call__(self, index):
        """An array by columns, and the places of the columns `index` in it."""
        if self.K.copy is not None and self._all:
            return self.K.copy, index
        new = index[self._place[index] < 0]
        if len(new):
            self._append(new)
        return self._buffer, self._place[index]

    def _append(self, new):
        first, last = self._n, self._n + len(new)
        if last > self._buffer.shape[1]:
            room = min(max(last, 2 * first, ROOM), self.K.shape[1])
            larger = np.empty((len(self.rows), room), order="F")
            larger[:, :first] = self._buffer[:, :first]
            self._buffer = larger
        copy = self.K.copy
        block = self.K.submatrix(self.rows, new) if copy is None else copy.T[new][:, self.rows].T
        self._buffer[:, first:last] = block
        self._place[new], self._n = np.arange(first, last), last


def independent(Q, used, A):
    """The factor of columns that do not depend on each other, these columns, and A in them.

    Several machines may use more columns than their span has dimensions. The variables of those
    that depend on others are passed to these, which changes no value of f.
    """
    products = Q[np.ix_(used, used)].T
    factor, failed = dpotrf(products, lower=True, clean=True)
    if not failed and np.square(factor.diagonal()).min(initial=1.0) > DEPENDENT:
        return factor, used, A
    factor, order, rank, _ = dpstrf(products, tol=DEPENDENT, lower=True)
    factor, order = np.tril(factor[:rank, :rank]), used[order - 1]
    kept, rest = order[:rank], order[rank:]
    if len(rest):
        A = A.copy()
        A[kept] += cho_solve((factor, True), Q[np.ix_(kept, rest)] @ A[rest])
        A[rest] = 0.0
    return factor, kept, A


def _or_nan(share):
    """NaN for rows that are interpolated."""
    return np.where(share > LEAST, share, np.nan)
