"""Certificates of solutions from sums, by another pass over the rows."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._progress import steps
from ..choice import inverse
from ..matrix import DaskRows
from ..solvers import Status

LOST = 0.1
"""A solution whose gradient may be off by more than this share of epsilon is noise."""


def warn_of_rounding(solution, tol):
    """Warn if the sums do not have the digits that a solution needs."""
    stalled = solution.status is Status.STALLED and solution.source != "factor"
    if not stalled and solution.rounding <= max(LOST, tol) * solution.epsilon:
        return
    lost = max(solution.rounding, solution.kkt_violation)
    warnings.warn(
        "Sums over the rows have lost the digits that the solution needs: its gradient may be off "
        f"by {lost:.2g}, and epsilon is {solution.epsilon:.2g}. Columns are almost "
        "combinations of others, or their means are far larger than their deviations. Use fewer "
        "landmarks, a narrower kernel or a larger epsilon, or refine the solution by a triangular "
        "factor of the rows: RowBlocks(X, y, qr=True).",
        ConvergenceWarning,
        stacklevel=4,
    )


def row_products(groups, plan, blocks):
    """``-K̃'r`` of shape (P, T), and the squares of r and of y of shape (2, T), for each group.

    A group is machines of the same rows and columns. All take one pass over the rows.
    """
    functions = [group.function() for group in groups]
    if isinstance(blocks, DaskRows):
        found = blocks.total(products_of_blocks, plan, functions, add=_each_added)
    else:
        found = products_of_blocks(steps(blocks, "block"), plan, functions)
    return [_centred(*pair, plan) for pair in zip(groups, found, strict=True)]


def _centred(group, found, plan):
    moments, T = group.moments, found.shape[1] // 2
    P = moments.n_columns
    products, sums, squares = found[:P], found[P], found[P + 1]
    shift = (moments.origin + moments.rest)[:P] - plan.origin[group.columns]
    products = products - np.multiply.outer(shift, sums)
    products *= inverse(moments.norms)[:, None]
    squares = squares - np.square(sums) / moments.weight
    return -products[:, :T], np.maximum(squares, 0.0).reshape(2, T)


def products_of_blocks(blocks, plan, functions):
    """``K'V``, ``1'V`` and the squares of ``V = [r, y]``, one below the other, around `origin`."""
    P = plan.n_columns
    found = [np.zeros((len(f.columns) + 2, 2 * len(f.intercept))) for f in functions]
    for K, Y, weights in plan.centred_tiles(blocks):
        Y = Y + plan.origin[P:]
        for f, sums in zip(functions, found, strict=True):
            rows, V = f.residuals(K, Y, plan.origin)
            K_f = K if rows is None else K[rows]
            K_f = K_f if len(f.columns) == P else K_f[:, f.columns]
            W = (weights if rows is None else weights[rows])[:, None] * V
            sums[:-2] += K_f.T @ W
            sums[-2] += W.sum(axis=0)
            sums[-1] += np.einsum("ij,ij->j", W, V)
    return found


def _each_added(some, others):
    """Sums of the same groups, added group by group."""
    return [mine + its for mine, its in zip(some, others, strict=True)]
