from ._cholesky cimport Cholesky


cdef class ActiveSet:
    cdef readonly Py_ssize_t n, n_steps
    cdef readonly Cholesky S
    cdef Py_ssize_t rank, capacity
    cdef double[::1, :] _G
    cdef double[:, ::1] _doubles
    cdef Py_ssize_t[::1] _listed
    cdef unsigned char[::1] _entries
    cdef double *G
    cdef double *alpha_
    cdef double *F_
    cdef double *sign
    cdef double *slope    # F + epsilon sign of the free variables, always up to date
    cdef double *known    # the alpha that F belongs to
    cdef double *step     # alpha - known
    cdef double *q        # G times a vector
    cdef double *d        # direction of the free variables, by place in S
    cdef Py_ssize_t *listed   # variables to enter S
    cdef unsigned char *entries
    cdef double C, epsilon, threshold, limit
    cdef double predicted  # change of the objective since `known`
    cdef int refined

    cdef int _solve(self) noexcept nogil
    cdef void _sweep(self, int sweeps) noexcept nogil
    cdef void _synchronise(self) noexcept nogil
    cdef bint _is_free(self, Py_ssize_t j) noexcept nogil
    cdef void _set_sign(self, Py_ssize_t j) noexcept nogil
    cdef double _lower(self, Py_ssize_t j) noexcept nogil
    cdef double _upper(self, Py_ssize_t j) noexcept nogil
    cdef double _largest_slope(self) noexcept nogil
    cdef void _newton_step(self) noexcept nogil
    cdef bint _walk(self) noexcept nogil
    cdef double _to_bound(self, Py_ssize_t p) noexcept nogil
    cdef void _stop(self, Py_ssize_t k) noexcept nogil
    cdef bint _refresh(self) noexcept nogil
    cdef bint _enter(self) noexcept nogil
    cdef void _exchange(self, Py_ssize_t j) noexcept nogil
