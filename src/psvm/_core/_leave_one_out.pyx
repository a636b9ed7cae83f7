# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""What the rows of a problem mean to its solutions: residuals and leverages.

At a solution with the free variables A let Z be the columns of A of the standardised matrix and
``M = (Z'Z)^-1``. The leverage of row i is ``z_i'M z_i``; where column a of A describes by row a,
``M_aa`` and ``(M z_a)_a`` say what it means that the column leaves with its row.

Contract: arrays of doubles with the shapes and orders that are named; nothing is checked.
"""

from libc.math cimport fabs, INFINITY
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport daxpy, dtrsm
from scipy.linalg.cython_lapack cimport dpotrf, dtrtri

import numpy as np


def influences(
    const double[::1, :] K, const double[::1, :] Q, const double[::1] y,
    const double[:, ::1] alphas, double C, const Py_ssize_t[::1] own,
):
    """Influences of the rows on several solutions.

    Parameters
    ----------
    K : of shape (L, P)
        The standardised matrix, by columns.
    Q : of shape (P, P)
        ``K'K``.
    y : of shape (L,)
        The centred target.
    alphas : of shape (m, P)
        The solutions.
    C : double
        Variables at +-C are not free.
    own : of shape (P,)
        The row by which each column describes; -1 if it is not among these.

    Returns
    -------
    residuals, leverages : ndarrays of shape (m, L)
        ``y - K alpha``, and infinity for the leverages if the free columns depend on each other.
    diagonals, crossings : ndarrays of shape (m, P)
        ``M_aa`` and ``(M z_a)_a`` of the free variables whose rows are there; else 0.
    """
    cdef Py_ssize_t m = alphas.shape[0], L = K.shape[0], P = K.shape[1], s, j, n, largest = 1
    for s in range(m):
        n = 0
        for j in range(P):
            n += alphas[s, j] != 0
        largest = max(largest, n)
    residuals, leverages = np.empty((m, L)), np.zeros((m, L))
    diagonals, crossings = np.zeros((m, P)), np.zeros((m, P))
    cdef double[:, ::1] residuals_ = residuals, leverages_ = leverages
    cdef double[:, ::1] diagonals_ = diagonals, crossings_ = crossings
    cdef double[::1] X = np.empty(L * largest), A = np.empty(largest * largest)
    cdef Py_ssize_t[::1] free = np.empty(largest, dtype=np.intp)
    cdef double a
    cdef int rows = <int> L, one = 1
    with nogil:
        for s in range(m):
            n = 0
            memcpy(&residuals_[s, 0], &y[0], L * sizeof(double))
            for j in range(P):
                if alphas[s, j] != 0:
                    a = -alphas[s, j]
                    daxpy(&rows, &a, <double*> &K[0, j], &one, &residuals_[s, 0], &one)
                    if fabs(a) < C:
                        free[n] = j
                        n += 1
            if n:
                _at_one(
                    K, Q, &free[0], n, &X[0], &A[0], &leverages_[s, 0],
                    &diagonals_[s, 0], &crossings_[s, 0], own,
                )
    return residuals, leverages, diagonals, crossings


cdef void _at_one(
    const double[::1, :] K, const double[::1, :] Q, const Py_ssize_t* free, Py_ssize_t n,
    double* X, double* A, double* leverages, double* diagonals, double* crossings,
    const Py_ssize_t[::1] own,
) noexcept nogil:
    cdef Py_ssize_t i, k, p, L = K.shape[0]
    cdef int rows = <int> L, size = <int> n, info
    cdef double unit = 1, x, total, crossing
    for k in range(n):
        memcpy(X + k * L, &K[0, free[k]], L * sizeof(double))
        for p in range(n):
            A[p + k * n] = Q[free[p], free[k]]
    dpotrf("L", &size, A, &size, &info)
    if info != 0:
        for i in range(L):
            leverages[i] = INFINITY
        return
    # X = K[:, free] @ inv(A).T
    dtrsm("R", "L", "T", "N", &rows, &size, &unit, A, &size, X, &rows)
    for k in range(n):
        for i in range(L):
            x = X[i + k * L]
            leverages[i] += x * x
    p = 0
    while p < n and own[free[p]] < 0:
        p += 1
    if p == n:
        return
    dtrtri("L", "N", &size, A, &size, &info)
    for p in range(p, n):
        if own[free[p]] < 0:
            continue
        total = crossing = 0
        for k in range(p, n):
            x = A[k + p * n]
            total += x * x
            crossing += x * X[own[free[p]] + k * L]
        diagonals[free[p]] = total
        crossings[free[p]] = crossing
