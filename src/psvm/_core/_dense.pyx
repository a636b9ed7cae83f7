# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""Columns, products and sums of a dense matrix, read in the order in which it lies in memory.

All sums are in double precision. Contract: indices and shapes fit; nothing is checked.
"""

from libc.math cimport fabs
from scipy.linalg.cython_blas cimport ddot

import numpy as np

ctypedef fused real:
    float
    double

cdef Py_ssize_t PANEL = 1024  # entries of a line whose sums stay in the first-level cache


def gather(const real[:, ::1] K, const Py_ssize_t[::1] index):
    """``K[:, index]`` of a C-contiguous K as a new Fortran-ordered array."""
    cdef Py_ssize_t L = K.shape[0], q = index.shape[0], i, t, first, last
    columns = np.empty((L, q), order="F")
    cdef double[::1, :] out = columns
    with nogil:
        # Whole cache lines of 8 doubles are written, and 8 rows are few enough for the cache.
        for first in range(0, L, 8):
            last = min(first + 8, L)
            for t in range(q):
                for i in range(first, last):
                    out[i, t] = K[i, index[t]]
    return columns


def gather_rows(
    const real[:, ::1] K, const Py_ssize_t[::1] rows, const Py_ssize_t[::1] index,
):
    """``K[rows][:, index]`` of a C-contiguous K as a new Fortran-ordered array."""
    cdef Py_ssize_t L = rows.shape[0], q = index.shape[0], i, t, first, last
    columns = np.empty((L, q), order="F")
    cdef double[::1, :] out = columns
    with nogil:
        for first in range(0, L, 8):  # as above
            last = min(first + 8, L)
            for t in range(q):
                for i in range(first, last):
                    out[i, t] = K[rows[i], index[t]]
    return columns


def occupied(const real[:, ::1] K, const Py_ssize_t[::1] index):
    """``(K[:, index] != 0).any(axis=0)`` of a C-contiguous K."""
    cdef Py_ssize_t i, t
    found = np.zeros(index.shape[0], dtype=bool)
    cdef unsigned char[::1] out = found.view(np.uint8)
    with nogil:
        for i in range(K.shape[0]):
            for t in range(index.shape[0]):
                out[t] |= K[i, index[t]] != 0
    return found


def diverse(const double[::1, :] X, Py_ssize_t count, double limit):
    """The first `count` columns of X that have no inner product above `limit` with one before.

    The columns are looked at from left to right; those that were passed over do not count.
    """
    cdef Py_ssize_t P = X.shape[1], j, t, n_taken = 0
    cdef double product
    cdef int n = <int> X.shape[0], one = 1
    taken = np.empty(min(count, P), dtype=np.intp)
    cdef Py_ssize_t[::1] taken_ = taken
    with nogil:
        for j in range(P):
            if n_taken == taken_.shape[0]:
                break
            for t in range(n_taken):
                product = ddot(&n, <double*> &X[0, j], &one, <double*> &X[0, taken_[t]], &one)
                if fabs(product) > limit:
                    break
            else:
                taken_[n_taken] = j
                n_taken += 1
    return taken[:n_taken]


def lines_times(const float[:, ::1] A, const double[::1] x):
    """``A @ x`` of a matrix of floats."""
    cdef Py_ssize_t n = A.shape[0], m = A.shape[1], whole = m - m % 8, i, j, t
    cdef double[8] s
    cdef const float *a
    product = np.empty(n)
    cdef double[::1] out = product
    with nogil:
        for i in range(n):
            a = &A[i, 0]
            for t in range(8):
                s[t] = 0
            for j in range(0, whole, 8):
                for t in range(8):
                    s[t] += a[j + t] * x[j + t]
            for j in range(whole, m):
                s[0] += a[j] * x[j]
            out[i] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]))
    return product


def sum_of_lines(const float[:, ::1] A, const double[::1] x):
    """``A.T @ x`` of a matrix of floats."""
    cdef Py_ssize_t n = A.shape[0], m = A.shape[1], whole = n - n % 4, i, j, first, last
    cdef double x0, x1, x2, x3
    cdef const float *a0
    cdef const float *a1
    cdef const float *a2
    cdef const float *a3
    product = np.zeros(m)
    cdef double[::1] out_ = product
    cdef double *out = &out_[0]
    with nogil:
        first = 0
        while first < m:
            last = min(first + PANEL, m)
            for i in range(0, whole, 4):
                x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
                a0, a1, a2, a3 = &A[i, 0], &A[i + 1, 0], &A[i + 2, 0], &A[i + 3, 0]
                for j in range(first, last):
                    out[j] += (x0 * a0[j] + x1 * a1[j]) + (x2 * a2[j] + x3 * a3[j])
            for i in range(whole, n):
                x0, a0 = x[i], &A[i, 0]
                for j in range(first, last):
                    out[j] += x0 * a0[j]
            first = last
    return product


def row_moments(const real[:, ::1] A, const double[::1] weights, const double[::1] shift):
    """``w'(A - shift)`` and ``w'(A - shift)^2`` in one pass."""
    cdef Py_ssize_t n = A.shape[0], m = A.shape[1], whole = n - n % 4, i, j, first, last
    cdef double w0, w1, w2, w3, d0, d1, d2, d3
    cdef const real *a0
    cdef const real *a1
    cdef const real *a2
    cdef const real *a3
    cdef const double *c = &shift[0]
    first_, second_ = np.zeros(m), np.zeros(m)
    cdef double[::1] sums_ = first_, squares_ = second_
    cdef double *sums = &sums_[0]
    cdef double *squares = &squares_[0]
    with nogil:
        first = 0
        while first < m:
            last = min(first + PANEL, m)
            for i in range(0, whole, 4):
                w0, w1, w2, w3 = weights[i], weights[i + 1], weights[i + 2], weights[i + 3]
                a0, a1, a2, a3 = &A[i, 0], &A[i + 1, 0], &A[i + 2, 0], &A[i + 3, 0]
                for j in range(first, last):
                    d0, d1, d2, d3 = a0[j] - c[j], a1[j] - c[j], a2[j] - c[j], a3[j] - c[j]
                    sums[j] += (w0 * d0 + w1 * d1) + (w2 * d2 + w3 * d3)
                    squares[j] += (w0 * d0 * d0 + w1 * d1 * d1) + (w2 * d2 * d2 + w3 * d3 * d3)
            for i in range(whole, n):
                w0, a0 = weights[i], &A[i, 0]
                for j in range(first, last):
                    d0 = a0[j] - c[j]
                    sums[j] += w0 * d0
                    squares[j] += w0 * d0 * d0
            first = last
    return first_, second_


def column_statistics(
    const real[:, ::1] A, const double[::1] weights, const double[::1] sums,
):
    """Weighted means of the lines of A, which are columns of K, and sums of squares around them.

    The `sums` are ``A @ weights``. What rounding left of a mean is taken out of the squares, so
    that a constant line has none.
    """
    cdef Py_ssize_t n = A.shape[0], m = A.shape[1], whole = m - m % 4, i, j
    cdef double mean, rest, total = 0
    cdef double d0, d1, d2, d3, e0, e1, e2, e3, s0, s1, s2, s3, q0, q1, q2, q3
    cdef const real *a
    cdef const double *w = &weights[0]
    first_, second_ = np.empty(n), np.empty(n)
    cdef double[::1] means = first_, squares = second_
    with nogil:
        for j in range(m):
            total += w[j]
        for i in range(n):
            a = &A[i, 0]
            mean = sums[i] / total
            s0 = s1 = s2 = s3 = q0 = q1 = q2 = q3 = 0
            for j in range(0, whole, 4):
                d0, d1, d2, d3 = a[j] - mean, a[j + 1] - mean, a[j + 2] - mean, a[j + 3] - mean
                e0, e1, e2, e3 = w[j] * d0, w[j + 1] * d1, w[j + 2] * d2, w[j + 3] * d3
                s0, s1, s2, s3 = s0 + e0, s1 + e1, s2 + e2, s3 + e3
                q0, q1, q2, q3 = q0 + e0 * d0, q1 + e1 * d1, q2 + e2 * d2, q3 + e3 * d3
            for j in range(whole, m):
                d0 = a[j] - mean
                s0 += w[j] * d0
                q0 += w[j] * d0 * d0
            rest = ((s0 + s1) + (s2 + s3)) / total
            means[i] = mean + rest
            squares[i] = max(((q0 + q1) + (q2 + q3)) - total * rest * rest, 0)
    return first_, second_


def standardise(
    double[::1, :] X, const double[:] m, const double[:] inverse, const double[::1] root,
):
    """``(X - m) * inverse * root[:, None]``, in place."""
    cdef Py_ssize_t i, j
    cdef double m_j, scale
    cdef double *x
    with nogil:
        for j in range(X.shape[1]):
            x, m_j, scale = &X[0, j], m[j], inverse[j]
            for i in range(X.shape[0]):
                x[i] = (x[i] - m_j) * scale * root[i]


def centre_and_scale(
    double[:, ::1] X, const double[::1] m, const double[::1] sums, const double[::1] inverse,
):
    """``(X - outer(sums, m)) * inverse``, in place."""
    cdef Py_ssize_t i, j
    cdef double total
    cdef double *x
    with nogil:
        for i in range(X.shape[0]):
            x, total = &X[i, 0], sums[i]
            for j in range(X.shape[1]):
                x[j] = (x[j] - m[j] * total) * inverse[j]
