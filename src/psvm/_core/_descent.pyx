# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""Sweeps of coordinate descent on the residual, over dense or sparse columns of norm one.

A sweep goes once over some of the variables and minimises

    1/2 ||r||^2 + epsilon ||alpha||_1    subject to |alpha_j| <= C,    r = y - K alpha

over one after the other. It reads a column for ``F_j = -K_j'r`` and once more if alpha_j moves;
products of columns are not needed.

Contract: r belongs to alpha on entry and exit; places are valid; nothing is checked.
"""

from scipy.linalg.cython_blas cimport daxpy, ddot

from ._kkt cimport minimiser

ctypedef fused place:
    int
    long long


def sweep_dense(
    const double[::1, :] K, const Py_ssize_t[::1] some, double[::1] alpha, double[::1] r,
    double C, double epsilon,
):
    """Sweep over the columns `some` of K; updates alpha and r."""
    cdef Py_ssize_t t, j
    cdef double value, delta
    cdef int L = <int> K.shape[0], one = 1
    with nogil:
        for t in range(some.shape[0]):
            j = some[t]
            value = -ddot(&L, <double*> &K[0, j], &one, &r[0], &one)
            value = minimiser(alpha[j], value, C, epsilon)
            delta = alpha[j] - value
            if delta != 0:
                alpha[j] = value
                daxpy(&L, &delta, <double*> &K[0, j], &one, &r[0], &one)


def sweep_sparse(
    const place[::1] starts, const place[::1] rows, const double[::1] data,
    const double[::1] c, double total, double along, const Py_ssize_t[::1] some,
    double[::1] alpha, double[::1] r, double C, double epsilon,
):
    """Sweep over the columns `some` of ``K = X - w c'`` with a csc array X; updates alpha and r.

    `total` is w'w, ``X'w = total c``, and `along` is w'r, which no step changes: K'w is zero. On
    exit r lacks ``s w``, and s is returned.
    """
    cdef Py_ssize_t t, j, u
    cdef double value, delta, s = 0
    with nogil:
        for t in range(some.shape[0]):
            j = some[t]
            value = 0
            for u in range(starts[j], starts[j + 1]):
                value += data[u] * r[rows[u]]
            # K_j'(r + s w), with X_j'w = total c_j
            value = c[j] * along - value - s * total * c[j]
            value = minimiser(alpha[j], value, C, epsilon)
            delta = alpha[j] - value
            if delta != 0:
                alpha[j] = value
                s -= delta * c[j]
                for u in range(starts[j], starts[j + 1]):
                    r[rows[u]] += delta * data[u]
    return s
