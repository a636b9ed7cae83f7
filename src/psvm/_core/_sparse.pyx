# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""Products of sparse columns with each other, and their statistics.

Contract: the arrays are those of a valid csc or csr array; nothing is checked.
"""

import numpy as np

ctypedef fused place:
    int
    long long


def products(X, Z):
    """``X'Z`` of two csc arrays as a dense array: every pair of entries of a row is met once."""
    G = np.zeros((X.shape[1], Z.shape[1]))
    Z = Z.tocsr()
    kind = np.promote_types(X.indices.dtype, Z.indices.dtype)
    places = [_plain(a, kind) for a in (X.indptr, X.indices, Z.indptr, Z.indices)]
    _products(*places, _plain(X.data), _plain(Z.data), G)
    return G


def power_sums(K, weights):
    """``w'K`` and ``w'K^2`` of a csc or csr array of doubles without duplicates, in one pass."""
    by_columns = K.format == "csc"
    sums, squares = np.zeros(K.shape[1]), np.zeros(K.shape[1])
    places = [_plain(a, K.indices.dtype) for a in (K.indptr, K.indices)]
    _power_sums(*places, _plain(K.data), _plain(weights), by_columns, sums, squares)
    return sums, squares


def occupied(K):
    """Whether the columns of a csr array have stored entries."""
    found = np.zeros(K.shape[1], dtype=bool)
    _occupied(_plain(K.indices, K.indices.dtype)[: K.nnz], found.view(np.uint8))
    return found


def row_products(K, weights):
    """``w'K`` and ``K' diag(w) K`` of a csr array of doubles in one pass."""
    sums, squares, G = np.zeros(K.shape[1]), np.zeros(K.shape[1]), np.zeros((K.shape[1],) * 2)
    places = [_plain(a, K.indices.dtype) for a in (K.indptr, K.indices)]
    _row_products(*places, _plain(K.data), _plain(weights), sums, squares, G)
    G = G + G.T
    G.flat[:: len(G) + 1] += squares
    return sums, G


def _plain(a, dtype=np.float64):
    # SciPy takes arrays with gaps or at odd addresses as they are; a copy only of those.
    return np.require(a, dtype, ["C", "A"])


def _power_sums(
    const place[::1] starts, const place[::1] places, const double[::1] data,
    const double[::1] weights, bint by_columns, double[::1] sums, double[::1] squares,
):
    cdef Py_ssize_t line, t
    cdef double x, w, total, square
    with nogil:
        for line in range(starts.shape[0] - 1):
            if by_columns:
                total = square = 0
                for t in range(starts[line], starts[line + 1]):
                    x, w = data[t], weights[places[t]]
                    total += w * x
                    square += w * x * x
                sums[line], squares[line] = total, square
            else:
                w = weights[line]
                for t in range(starts[line], starts[line + 1]):
                    x = data[t]
                    sums[places[t]] += w * x
                    squares[places[t]] += w * x * x


def _occupied(const place[::1] places, unsigned char[::1] found):
    cdef Py_ssize_t t
    with nogil:
        for t in range(places.shape[0]):
            found[places[t]] = 1


def _products(
    const place[::1] X_starts, const place[::1] X_rows,
    const place[::1] Z_starts, const place[::1] Z_columns,
    const double[::1] X_data, const double[::1] Z_data, double[:, ::1] G,
):
    cdef Py_ssize_t i, t, u, row
    cdef double x
    with nogil:
        for i in range(G.shape[0]):
            for t in range(X_starts[i], X_starts[i + 1]):
                x, row = X_data[t], X_rows[t]
                for u in range(Z_starts[row], Z_starts[row + 1]):
                    G[i, Z_columns[u]] += x * Z_data[u]


def _row_products(
    const place[::1] starts, const place[::1] columns, const double[::1] data,
    const double[::1] weights, double[::1] sums, double[::1] squares, double[:, ::1] G,
):
    # Of each pair of entries of a row, one order is enough. G holds no entry's own square.
    cdef Py_ssize_t row, t, u
    cdef double x
    cdef double *line
    with nogil:
        for row in range(starts.shape[0] - 1):
            for t in range(starts[row], starts[row + 1]):
                x = weights[row] * data[t]
                sums[columns[t]] += x
                squares[columns[t]] += x * data[t]
                line = &G[columns[t], 0]
                for u in range(t + 1, starts[row + 1]):
                    line[columns[u]] += x * data[u]
