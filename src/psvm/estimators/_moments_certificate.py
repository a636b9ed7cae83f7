"""Certificates of solutions from sums: by another pass over the rows, or a bound of rounding."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._progress import steps
from ..matrix import DaskRows


class Fit(NamedTuple):
    """Machines as functions of the columns of K."""

    coef: np.ndarray
    """Of shape (P, T)."""
    intercept: np.ndarray
    """Of shape (T,)."""


def rounding(moments, sums, A, targets):
    """The most by which rounding of the sums can have changed an entry of the gradient.

    A sum of n terms has an error of at most n times the rounding unit times the sum of their
    absolute values, and these are bounded by norms around the numbers that were subtracted.
    """
    squares = np.maximum(moments.cross.diagonal(), 0.0)
    around = np.sqrt(squares + moments.weight * np.square(moments.rest))
    sizes = np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    larger = around / sizes
    P = moments.n_columns
    used = moments.norms > 0
    terms = larger[:P][used] @ np.abs(A[used]) + around[P:][targets]
    most = larger[:P][used].max(initial=0.0)
    n_terms = sums.n_terms + len(sums.folds) + 1
    return float(n_terms * np.finfo(float).eps * most * np.sqrt(np.square(terms).sum()))


def warn_of_rounding(rounding, epsilon):
    warnings.warn(
        "Sums over the rows have lost the digits that the solution needs: its gradient may be off "
        f"by {rounding:.2g}, and epsilon is {epsilon:.2g}. Columns are almost "
        "combinations of others, or their means are far larger than their deviations. Use fewer "
        "landmarks, a narrower kernel or a larger epsilon, or refine the solution by a triangular "
        "factor of the rows: fit(blocks, qr=True).",
        ConvergenceWarning,
        stacklevel=4,
    )


def inverse(norms):
    """One over norms; 0 for columns without variance."""
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def certify(groups, plan, blocks):
    """Recompute the certificates of all solutions from the rows."""
    total, T = groups[0].total, plan.n_targets
    coef, intercept = np.zeros((plan.n_columns, T)), np.zeros(T)
    for group in groups:
        fit = group.all.fit(group.A)
        coef[:, group.targets], intercept[group.targets] = fit
    gradient, l, squares = _row_products(plan, blocks, total, Fit(coef, intercept))
    for group in groups:
        group.certify(gradient[:, group.targets], l[:, group.targets], squares[:, group.targets])


def _row_products(plan, blocks, total, fit):
    """``-K̃'r`` and ``K̃'y`` of shape (P, T), and the squares of r and y, by one pass."""
    P, T = fit.coef.shape
    middle = (total.origin + total.rest)[P:]
    if isinstance(blocks, DaskRows):
        found = blocks.total(products_of_blocks, plan, fit, middle)
    else:
        found = products_of_blocks(steps(blocks, "block"), plan, fit, middle)
    products, sums, squares = found[:P], found[P], found[P + 1]
    shift = (total.origin - plan.origin + total.rest)[:P]
    products -= np.multiply.outer(shift, sums)
    products *= inverse(total.norms)[:, None]
    squares -= np.square(sums) / total.weight
    return -products[:, :T], products[:, T:], np.maximum(squares, 0.0).reshape(2, T)


def products_of_blocks(blocks, plan, fit, middle):
    """``K'V``, ``1'V`` and the squares of ``V = [r, y]``, one below the other, around `origin`."""
    P, T = fit.coef.shape
    found = np.zeros((P + 2, 2 * T))
    for K, Y, weights in plan.centred_tiles(blocks):
        Y = Y + plan.origin[P:]
        R = Y - K @ fit.coef - (fit.intercept + plan.origin[:P] @ fit.coef)
        V = np.hstack([R, Y - middle])
        W = weights[:, None] * V
        found[:P] += K.T @ W
        found[P] += W.sum(axis=0)
        found[P + 1] += np.einsum("ij,ij->j", W, V)
    return found
