# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""The Cholesky factor of the part of a symmetric matrix that belongs to a changing set S.

    G_SS = R R'    with R lower triangular

Contract: G has a unit diagonal, and nothing is checked.
"""

from libc.math cimport sqrt
from libc.string cimport memmove
from scipy.linalg.cython_blas cimport ddot, drot, dsyrk, dtrsm, dtrsv

import numpy as np

cdef enum:
    BLOCK = 64  # members appended by one matrix product

cdef double BLAS3 = 10.0  # speed of a matrix product relative to plane rotations


cdef class Cholesky:
    """The factor R and the order of the members of S in it.

    Attributes
    ----------
    m : int
        Number of members.
    dependent : float
        Least pivot: the squared distance of a column of a root of G from those of S. A variable
        with a smaller one is not appended.
    """

    def __init__(self):
        self.dependent = 1e-10
        self.reserve(1, 1)

    def reserve(self, Py_ssize_t n, Py_ssize_t largest):
        """Make room for n variables of which at most `largest` are members; S stays."""
        cdef Py_ssize_t m = self.m
        R = np.empty((largest, largest), order="F")
        integers = np.full((3, n), -1, dtype=np.intp)
        if m:
            R[:m, :m] = np.asarray(self._R)[:m, :m]
        if self.largest:
            old = np.asarray(self._integers)
            integers[:, :old.shape[1]] = old
        self._R, self._integers = R, integers
        self._leaves = np.zeros(n, dtype=np.uint8)
        self.R, self.leaves = &self._R[0, 0], &self._leaves[0]
        self.member, self.place, self.listed = (
            &self._integers[0, 0], &self._integers[1, 0], &self._integers[2, 0]
        )
        self.largest = largest

    def renumber(self, const Py_ssize_t[::1] position):
        """Give variable j the number ``position[j]``; a negative one leaves S."""
        cdef Py_ssize_t p, j
        for p in range(self.m):
            self.member[p] = position[self.member[p]]
        for j in range(position.shape[0]):
            self.place[j] = -1
        for p in range(self.m):
            self.place[self.member[p]] = p

    cdef double pivot(self, Py_ssize_t p) noexcept nogil:
        return self.R[p + p * self.largest] * self.R[p + p * self.largest]

    cdef void solve(self, double* x) noexcept nogil:
        # x = G_SS^-1 x
        cdef int m = <int> self.m, ld = <int> self.largest, one = 1
        dtrsv(<char*> b"L", <char*> b"N", <char*> b"N", &m, self.R, &ld, x, &one)
        dtrsv(<char*> b"L", <char*> b"T", <char*> b"N", &m, self.R, &ld, x, &one)
        self.work += 2.0 * m * m

    cdef Py_ssize_t append(
        self, const double* G, Py_ssize_t ld, const Py_ssize_t* new, Py_ssize_t count
    ) noexcept nogil:
        # Append the new variables that are independent; their number
        cdef Py_ssize_t start = 0, accepted = 0
        while start < count:
            accepted += self.append_block(G, ld, new + start, min(count - start, BLOCK))
            start += BLOCK
        return accepted

    cdef Py_ssize_t append_block(
        self, const double* G, Py_ssize_t ld, const Py_ssize_t* new, Py_ssize_t count
    ) noexcept nogil:
        cdef double[BLOCK * BLOCK] A
        cdef Py_ssize_t[BLOCK] kept
        cdef Py_ssize_t t, u, i, m = self.m, lr = self.largest, n_kept = 0
        cdef int q, m_ = <int> m, lr_ = <int> lr, k, block = BLOCK
        cdef double unit = 1, minus = -1, pivot
        cdef double *row
        count = min(count, self.largest - m)
        q = <int> count
        if count <= 0:
            return 0
        for i in range(m):
            for t in range(count):
                self.R[m + t + i * lr] = G[new[t] + self.member[i] * ld]
        for u in range(count):
            for t in range(count):
                A[t + u * BLOCK] = G[new[t] + new[u] * ld]
        # R21 = G21 @ inv(R11).T;  A = G22 - R21 @ R21.T
        if m > 0 and count == 1:
            dtrsv(
                <char*> b"L", <char*> b"N", <char*> b"N", &m_, self.R, &lr_, self.R + m, &lr_
            )
            A[0] -= ddot(&m_, self.R + m, &lr_, self.R + m, &lr_)
        elif m > 0:
            dtrsm(
                <char*> b"R", <char*> b"L", <char*> b"T", <char*> b"N", &q, &m_, &unit,
                self.R, &lr_, self.R + m, &lr_,
            )
            dsyrk(
                <char*> b"L", <char*> b"N", &q, &m_, &minus, self.R + m, &lr_, &unit, A, &block
            )
        for t in range(count):
            # Row t of the factor of A, of the columns kept so far
            row = self.R + m + n_kept + m * lr
            k = <int> n_kept
            for u in range(n_kept):
                row[u * lr] = A[t + kept[u] * BLOCK]
            if k > 0:
                dtrsv(
                    <char*> b"L", <char*> b"N", <char*> b"N", &k, self.R + m + m * lr, &lr_,
                    row, &lr_,
                )
            pivot = A[t + t * BLOCK] - ddot(&k, row, &lr_, row, &lr_)
            if not pivot > self.dependent:
                continue
            row[n_kept * lr] = sqrt(pivot)
            if n_kept < t:
                for i in range(m):
                    self.R[m + n_kept + i * lr] = self.R[m + t + i * lr]
            kept[n_kept] = t
            self.member[m + n_kept] = new[t]
            self.place[new[t]] = m + n_kept
            n_kept += 1
        self.m = m + n_kept
        self.work += (1.0 * m * m + count * count) * count
        return n_kept

    cdef void remove(self, const double* G, Py_ssize_t ld) noexcept nogil:
        # Remove the places that are marked: by rotations, or, if that is cheaper, by a new factor
        # of all that comes after the first one.
        cdef Py_ssize_t p, first = self.m, m = self.m, count = 0
        cdef double rotations = 0, products
        for p in range(m):
            if self.leaves[p]:
                first = min(first, p)
                rotations += 3.0 * (m - p) * (m - p) + 1.0 * p * (m - p)
        if first == m:
            return
        products = (1.0 * m * m * m - 1.0 * first * first * first) / 3
        if rotations < products / BLAS3 or m - first <= 2:
            for p in range(m - 1, first - 1, -1):
                if self.leaves[p]:
                    self.rotate_out(p)
            self.work += BLAS3 * rotations
            return
        for p in range(first, m):
            self.place[self.member[p]] = -1
            if not self.leaves[p]:
                self.listed[count] = self.member[p]
                count += 1
        self.m = first
        self.append(G, ld, self.listed, count)

    cdef void rotate_out(self, Py_ssize_t k) noexcept nogil:
        # Without row k, R has one element too many in each row below; rotations of neighbouring
        # columns make it triangular again.
        cdef Py_ssize_t i, first, m = self.m, ld = self.largest
        cdef int count, one = 1
        cdef double x, y, norm, c, s
        cdef double *column
        self.place[self.member[k]] = -1
        for i in range(k + 1, m):
            self.member[i - 1] = self.member[i]
            self.place[self.member[i]] = i - 1
        for i in range(m):
            first = max(i, k + 1)
            column = self.R + i * ld
            memmove(column + first - 1, column + first, (m - first) * sizeof(double))
        for i in range(k, m - 1):
            column = self.R + i + i * ld
            x, y = column[0], column[ld]
            norm = sqrt(x * x + y * y)
            c, s = x / norm, y / norm
            count = <int> (m - 1 - i)
            drot(&count, column, &one, column + ld, &one, &c, &s)
        self.m = m - 1
