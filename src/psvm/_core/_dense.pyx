# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""Columns of a dense matrix, read in the order in which it lies in memory.

Contract: the indices lie in the matrix; nothing is checked.
"""

from libc.math cimport fabs
from scipy.linalg.cython_blas cimport ddot

import numpy as np

ctypedef fused real:
    float
    double


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
