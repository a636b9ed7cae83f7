# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""Alignments of pairs of time series by dynamic programming.

Contract: a series is a row with `channels` numbers per point in time, of which the first
``lengths[i] >= 1`` points count. K is filled; if `symmetric`, X and Z are the same series and each
pair is computed once. Nothing is checked.
"""

import numpy as np

from libc.math cimport INFINITY, exp, log


def warping_costs(
    const double[:, ::1] X, const Py_ssize_t[::1] X_lengths,
    const double[:, ::1] Z, const Py_ssize_t[::1] Z_lengths,
    Py_ssize_t channels, Py_ssize_t window, bint symmetric, double[:, ::1] K,
):
    """Least sum of squared differences along a warping path, within `window` of the diagonal."""
    cdef Py_ssize_t i, j, gap, longest = np.max(Z_lengths, initial=0)
    cdef double[::1] row = np.empty(longest + 1)
    with nogil:
        for i in range(K.shape[0]):
            for j in range(i + 1 if symmetric else K.shape[1]):
                # A path between series of different lengths leaves the diagonal by as much.
                gap = X_lengths[i] - Z_lengths[j]
                K[i, j] = _warping_cost(
                    &X[i, 0], X_lengths[i], &Z[j, 0], Z_lengths[j], channels,
                    max(window, gap, -gap), &row[0],
                )
                if symmetric:
                    K[j, i] = K[i, j]


cdef double _square(const double* x, const double* z, Py_ssize_t channels) noexcept nogil:
    cdef Py_ssize_t c
    cdef double total = 0
    for c in range(channels):
        total += (x[c] - z[c]) * (x[c] - z[c])
    return total


cdef double _warping_cost(
    const double* x, Py_ssize_t n, const double* z, Py_ssize_t m, Py_ssize_t channels,
    Py_ssize_t window, double* row,
) noexcept nogil:
    # row[j + 1]: the cost of the best path to (i, j); infinite outside of the window.
    cdef Py_ssize_t i, j, low, high
    cdef double diagonal, best
    row[0] = 0
    for j in range(m):
        row[j + 1] = INFINITY
    for i in range(n):
        low, high = max(0, i - window), min(m, i + window + 1)
        diagonal, row[low] = row[low], INFINITY
        for j in range(low, high):
            best = min(diagonal, row[j], row[j + 1])
            diagonal = row[j + 1]
            row[j + 1] = best + _square(x + i * channels, z + j * channels, channels)
    return row[m]


def global_alignments(
    const double[:, ::1] X, const Py_ssize_t[::1] X_lengths,
    const double[:, ::1] Z, const Py_ssize_t[::1] Z_lengths,
    Py_ssize_t channels, double gamma, bint symmetric, double[:, ::1] K,
):
    """Logarithm of the sum over all warping paths of the products of local similarities."""
    cdef Py_ssize_t i, j, longest = np.max(Z_lengths, initial=0)
    cdef double[::1] row = np.empty(longest + 1)
    with nogil:
        for i in range(K.shape[0]):
            for j in range(i + 1 if symmetric else K.shape[1]):
                K[i, j] = _global_alignment(
                    &X[i, 0], X_lengths[i], &Z[j, 0], Z_lengths[j], channels, gamma, &row[0]
                )
                if symmetric:
                    K[j, i] = K[i, j]


def self_alignments(
    const double[:, ::1] X, const Py_ssize_t[::1] lengths, Py_ssize_t channels, double gamma,
    double[::1] logs,
):
    """The same of each series with itself."""
    cdef Py_ssize_t i, longest = np.max(lengths, initial=0)
    cdef double[::1] row = np.empty(longest + 1)
    with nogil:
        for i in range(X.shape[0]):
            logs[i] = _global_alignment(
                &X[i, 0], lengths[i], &X[i, 0], lengths[i], channels, gamma, &row[0]
            )


cdef double _global_alignment(
    const double* x, Py_ssize_t n, const double* z, Py_ssize_t m, Py_ssize_t channels,
    double gamma, double* row,
) noexcept nogil:
    # row[j + 1]: the sum over all paths to (i, j), times exp(-scale) so that its maximum is 1.
    cdef Py_ssize_t i, j
    cdef double diagonal, total, similarity, largest, scale = 0
    row[0] = 1
    for j in range(m):
        row[j + 1] = 0
    for i in range(n):
        diagonal, row[0], largest = row[0], 0, 0
        if i > 0:
            diagonal = 0
        for j in range(m):
            total = diagonal + row[j] + row[j + 1]
            similarity = exp(-gamma * _square(x + i * channels, z + j * channels, channels))
            diagonal = row[j + 1]
            row[j + 1] = total * similarity / (2 - similarity)
            largest = max(largest, row[j + 1])
        if largest == 0:
            return -INFINITY
        for j in range(m):
            row[j + 1] /= largest
        scale += log(largest)
    return log(row[m]) + scale
