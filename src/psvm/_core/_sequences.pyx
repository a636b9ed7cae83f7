# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""Kernels of pairs of sequences by dynamic programming.

Contract: sequences are runs of letter codes in one array, ``X[starts[i]:starts[i + 1]]``; two codes
match if they are equal and not negative. K is filled; if `symmetric`, X and Z are the same
sequences and each pair is computed once. Nothing is checked.
"""

import numpy as np

from libc.math cimport log

# Where the sums of the local alignment kernel are scaled down.
cdef double HUGE = 1e100


def subsequences(
    const int[::1] X, const Py_ssize_t[::1] X_starts,
    const int[::1] Z, const Py_ssize_t[::1] Z_starts,
    Py_ssize_t n, double decay, bint symmetric, double[:, ::1] K,
):
    """Gappy subsequences of length n, each occurrence weighted with ``decay^span``."""
    cdef Py_ssize_t i, j, longest = np.diff(Z_starts).max(initial=0)
    cdef double[:, ::1] prefix = np.empty((n, longest + 1))
    with nogil:
        for i in range(K.shape[0]):
            for j in range(i + 1 if symmetric else K.shape[1]):
                K[i, j] = _subsequences(
                    &X[X_starts[i]], X_starts[i + 1] - X_starts[i],
                    &Z[Z_starts[j]], Z_starts[j + 1] - Z_starts[j], n, decay, prefix,
                )
                if symmetric:
                    K[j, i] = K[i, j]


cdef double _subsequences(
    const int* s, Py_ssize_t s_length, const int* t, Py_ssize_t t_length,
    Py_ssize_t n, double decay, double[:, ::1] prefix,
) noexcept nogil:
    # prefix[m, j]: all pairs of equal subsequences of m letters of s[:i] and t[:j], weighted with
    # decay^(distance of their first letters to the ends i and j).
    cdef Py_ssize_t i, j, m
    cdef double total = 0, run, square = decay * decay
    cdef double* shorter
    cdef double* longer
    for j in range(t_length + 1):
        prefix[0, j] = 1
        for m in range(1, n):
            prefix[m, j] = 0
    for i in range(s_length):
        shorter = &prefix[n - 1, 0]
        for j in range(t_length):
            total += square * shorter[j] if t[j] == s[i] and s[i] >= 0 else 0
        for m in range(n - 1, 0, -1):
            shorter, longer, run = &prefix[m - 1, 0], &prefix[m, 1], 0
            for j in range(t_length):
                run = decay * run + (square * shorter[j] if t[j] == s[i] and s[i] >= 0 else 0)
                longer[j] = decay * longer[j] + run
    return total


def weighted_degree(
    const int[:, ::1] X, const int[:, ::1] Z, const double[::1] gain,
    const double[::1] shift_weights, bint symmetric, double[:, ::1] K,
):
    """Matching blocks of sequences of equal length.

    ``gain[r]`` is the weight of all matching words that end where a match has lasted for r letters
    (0 for none; the last entry for all longer ones), ``shift_weights[s]`` that of a shift by s.
    """
    cdef Py_ssize_t i, j, s, length = X.shape[1], longest = gain.shape[0] - 1
    cdef double total
    with nogil:
        for i in range(K.shape[0]):
            for j in range(i + 1 if symmetric else K.shape[1]):
                total = shift_weights[0] * _blocks(&X[i, 0], &Z[j, 0], length, &gain[0], longest)
                for s in range(1, shift_weights.shape[0]):
                    total += shift_weights[s] * (
                        _blocks(&X[i, 0] + s, &Z[j, 0], length - s, &gain[0], longest)
                        + _blocks(&X[i, 0], &Z[j, 0] + s, length - s, &gain[0], longest)
                    )
                K[i, j] = total
                if symmetric:
                    K[j, i] = total


cdef double _blocks(
    const int* x, const int* z, Py_ssize_t length, const double* gain, Py_ssize_t longest
) noexcept nogil:
    cdef Py_ssize_t p, run = 0
    cdef double total = 0
    for p in range(length):
        run = (run + (run < longest)) * (x[p] == z[p] and x[p] >= 0)
        total += gain[run]
    return total


def local_alignment(
    const int[::1] X, const Py_ssize_t[::1] X_starts,
    const int[::1] Z, const Py_ssize_t[::1] Z_starts,
    const double[:, ::1] pair, double gap, double extension, bint symmetric, double[:, ::1] K,
):
    """Logarithm of the sum over all local alignments; codes are places in `pair`.

    ``pair[a, b]`` is the factor of an aligned pair of letters, `gap` that of the first and
    `extension` that of each further letter of a gap.
    """
    cdef Py_ssize_t i, j, longest = np.diff(Z_starts).max(initial=0)
    cdef double[:, ::1] rows = np.empty((3, longest + 1))
    with nogil:
        for i in range(K.shape[0]):
            for j in range(i + 1 if symmetric else K.shape[1]):
                K[i, j] = _local_alignment(
                    &X[X_starts[i]], X_starts[i + 1] - X_starts[i],
                    &Z[Z_starts[j]], Z_starts[j + 1] - Z_starts[j], pair, gap, extension, rows,
                )
                if symmetric:
                    K[j, i] = K[i, j]


cdef double _local_alignment(
    const int* s, Py_ssize_t s_length, const int* t, Py_ssize_t t_length,
    const double[:, ::1] pair, double gap, double extension, double[:, ::1] rows,
) noexcept nogil:
    # Alignments that end with a pair (M), with a gap in t (A) or one in s (B); all of them, the
    # empty one (start) and the total are multiplied by exp(-scale).
    cdef double* M = &rows[0, 0]
    cdef double* A = &rows[1, 0]
    cdef double* B = &rows[2, 0]
    cdef Py_ssize_t i, j
    cdef double start = 1, total = 0, scale = 0
    cdef double diagonal, before, m, a, b, m_left, a_left, b_left
    rows[:, :t_length + 1] = 0
    for i in range(s_length):
        diagonal = m_left = a_left = b_left = 0
        for j in range(1, t_length + 1):
            before = M[j] + A[j] + B[j]
            m = pair[s[i], t[j - 1]] * (start + diagonal)
            a = gap * M[j] + extension * A[j]
            b = gap * (m_left + a_left) + extension * b_left
            total += m
            diagonal, m_left, a_left, b_left = before, m, a, b
            M[j], A[j], B[j] = m, a, b
        if total > HUGE:
            for j in range(1, t_length + 1):
                M[j] /= HUGE
                A[j] /= HUGE
                B[j] /= HUGE
            total /= HUGE
            start /= HUGE
            scale += log(HUGE)
    return log(start + total) + scale
