# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""Sweeps over a dense matrix in the order in which it lies in memory.

Contract: arrays have the shapes that their names say, and nothing is checked. All sums are in
double precision.
"""

from libc.math cimport sqrt

import numpy as np

ctypedef fused real:
    float
    double


def statistics_by_rows(const real[:, ::1] K, const double[::1] w):
    """Weighted means, centred norms and plain norms of the columns; K is C-contiguous."""
    cdef Py_ssize_t L = K.shape[0], P = K.shape[1], i, j
    cdef double[:, ::1] out = np.zeros((3, P))
    cdef double[::1] m = out[0], s = out[1], z = out[2]
    cdef double total = 0, w_i, x
    with nogil:
        for i in range(L):
            w_i = w[i]
            total += w_i
            for j in range(P):
                x = K[i, j]
                m[j] += w_i * x
                z[j] += w_i * x * x
        for j in range(P):
            m[j] /= total
            z[j] = sqrt(z[j])
        for i in range(L):
            w_i = w[i]
            for j in range(P):
                x = K[i, j] - m[j]
                s[j] += w_i * x * x
        for j in range(P):
            s[j] = sqrt(s[j])
    return np.asarray(m), np.asarray(s), np.asarray(z)


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
