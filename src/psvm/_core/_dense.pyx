# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""Columns of a dense matrix, read in the order in which it lies in memory.

Contract: the indices lie in the matrix; nothing is checked.
"""

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
