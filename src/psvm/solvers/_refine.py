"""Solutions with more digits than products of columns have, by a triangular factor of these."""

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..problem import kkt_violation

STEPS = 20
"""Changes of the support at most."""


def refine(K, y, alpha, C, epsilon):
    """Refine a solution whose support is right or almost right.

    With the signs s of the free variables A the solution is ``R^-1 (Q'y - epsilon R^-T s)`` of the
    factor ``K̃_A = Q R``: no product of two columns is formed. Columns that violate the conditions
    join, and variables that change their sign leave.

    Parameters
    ----------
    K : ndarray of shape (m, P)
        Standardised columns.
    y : ndarray of shape (m,)
        The target, centred.
    alpha : ndarray of shape (P,)
        The solution to begin with.
    C, epsilon : float

    Returns
    -------
    alpha, F : ndarray of shape (P,)
        The best variables that were found, and their gradient.
    r : ndarray of shape (m,)
        Their residual.
    """
    best, found = np.inf, None
    signs = np.sign(alpha)
    for _ in range(STEPS):
        r = y - K @ alpha
        F = -(K.T @ r)
        violation = kkt_violation(alpha, F, C, epsilon)
        if violation.max(initial=0.0) < best:
            best, found = violation.max(initial=0.0), (alpha, F, r)
        outside = np.flatnonzero((signs == 0) & (np.abs(F) > epsilon))
        if len(outside):
            worst = outside[np.argmax(np.abs(F[outside]))]
            signs[worst] = -np.sign(F[worst])
        previous, alpha = alpha, _of_support(K, y, alpha, signs, C, epsilon)
        if alpha is None or np.array_equal(alpha, previous):
            break
        signs[(alpha == 0) | (np.sign(alpha) != signs)] = 0.0
        alpha = np.where(signs == 0, 0.0, alpha)
    return found


def _of_support(K, y, alpha, signs, C, epsilon):
    """The variables of a support with its signs; None if its columns depend on each other."""
    bound = np.abs(alpha) >= C
    free = np.flatnonzero((signs != 0) & ~bound)
    solved = np.where(bound, alpha, 0.0)
    if not len(free):
        return solved
    Q, R = qr(K[:, free], mode="economic")
    size = np.abs(np.diagonal(R))
    if len(size) < len(free) or size.min() <= np.finfo(float).eps * len(y) * size.max():
        return None
    v = Q.T @ (y - K[:, bound] @ alpha[bound]) - epsilon * solve_triangular(
        R, signs[free], trans="T"
    )
    solved[free] = np.clip(solve_triangular(R, v), -C, C)
    return solved
