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

from .._core._leave_one_out import influences
from ..matrix import block_slices

LEAST = 1e-10
"""A row whose ``1 - h_i`` is smaller is interpolated: without it anything can happen."""


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
    """

    def __init__(self, description, problem, y):
        self.problem, self.y, self.weights = problem, y, description.weights
        _, self.group = np.unique(description.digests, return_inverse=True)
        self.total = np.bincount(self.group, self.weights)
        self.own = None if description.own is None else description.present

    @property
    def unit(self):
        """The weight that counts as one row: the number of distinct rows is that of Kish (1965)."""
        return self.total @ self.total / self.total.sum()

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
            Rows without weight have NaN.
        alphas : ndarray of shape (m, P)
            The relaxed solutions.
        """
        used = np.flatnonzero(alphas.any(axis=0))
        relaxed = np.zeros_like(alphas)
        relaxed[:, used], residual, leverage, M, B = self._influences(
            np.ascontiguousarray(alphas[:, used]), Q, used, relaxation
        )
        weights, total = self.weights, np.where(self.total > 0, self.total, np.nan)
        leverage = self._sums(leverage) + self.total / weights.sum()
        residual = self._sums(np.sqrt(weights) * residual) / total
        left_out = residual / _or_nan(1.0 - leverage)
        if self.own is not None:
            group, own_weights = self.group[self.own[used]], weights[self.own[used]]
            # of a row that counts as much as all that are equal to it
            B *= np.sqrt(self.total[group] / own_weights)
            shift = B * relaxed[:, used] / np.sqrt(self.total[group])
            with np.errstate(invalid="ignore"):
                divisor = _or_nan(1.0 - leverage[:, group] + B**2 / M)
                without = (residual[:, group] + shift / M) / divisor
            rows, columns = np.nonzero(M)
            left_out[rows, group[columns]] = without[rows, columns]
        mean = np.bincount(self.group, weights * self.y) / total
        return (mean - left_out)[:, self.group], relaxed

    def _influences(self, alphas, Q, used, relaxation):
        """Relaxed solutions and influences of all rows, block by block."""
        K, L = self.problem.K, len(self.y)
        if not len(used):  # a user's kernel need not know what to do with no objects
            flat = np.zeros((len(alphas), L))
            return alphas, flat + self.problem.y, flat, flat[:, :0], flat[:, :0]
        Q, l = self._products(used) if Q is None else Q[np.ix_(used, used)], self.problem.l[used]
        Q = np.asfortranarray(Q)
        own = np.full(len(used), -1) if self.own is None else self.own[used]
        parts = []
        for rows in block_slices(L, 8 * len(used)):
            K_b = np.asfortranarray(K.submatrix(np.arange(L)[rows], used))
            relaxed, here = alphas.copy(), (rows.start <= own) & (own < rows.stop)
            part = influences(
                K_b,
                Q,
                self.problem.y[rows],
                l,
                relaxed,
                relaxation,
                self.problem.C,
                np.where(here, own - rows.start, -1),
            )
            parts.append(part)
        residuals, leverages, M, B = zip(*parts, strict=True)
        wide = np.concatenate(residuals, axis=1), np.concatenate(leverages, axis=1)
        return relaxed, *wide, sum(M), sum(B)

    def _products(self, used):
        """``K̃'K̃`` of the columns in use."""
        K, L, Q = self.problem.K, len(self.y), np.zeros((len(used), len(used)))
        for rows in block_slices(L, 8 * len(used)):
            K_b = K.submatrix(np.arange(L)[rows], used)
            Q += K_b.T @ K_b
        return Q

    def _sums(self, values):
        """Sums over equal rows."""
        n = len(self.total)
        return np.array([np.bincount(self.group, row, n) for row in values])


def _or_nan(share):
    """NaN for rows that are interpolated."""
    return np.where(share > LEAST, share, np.nan)
