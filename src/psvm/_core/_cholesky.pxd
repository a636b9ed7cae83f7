cdef class Cholesky:
    cdef readonly Py_ssize_t m     # number of members of S
    cdef Py_ssize_t largest        # the most that fit
    cdef public double dependent
    cdef double work               # floating point operations so far
    cdef double *R
    cdef Py_ssize_t *member        # S
    cdef Py_ssize_t *place         # of a variable in S, or -1
    cdef Py_ssize_t *listed
    cdef unsigned char *leaves     # by place in S
    cdef double[::1, :] _R
    cdef Py_ssize_t[:, ::1] _integers
    cdef unsigned char[::1] _leaves

    cdef double pivot(self, Py_ssize_t p) noexcept nogil
    cdef void solve(self, double* x) noexcept nogil
    cdef Py_ssize_t append(
        self, const double* G, Py_ssize_t ld, const Py_ssize_t* new, Py_ssize_t count
    ) noexcept nogil
    cdef Py_ssize_t append_block(
        self, const double* G, Py_ssize_t ld, const Py_ssize_t* new, Py_ssize_t count
    ) noexcept nogil
    cdef void remove(self, const double* G, Py_ssize_t ld) noexcept nogil
    cdef void rotate_out(self, Py_ssize_t k) noexcept nogil
