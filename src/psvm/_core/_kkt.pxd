# cython: language_level=3
"""What the inner loops share."""

from libc.math cimport fabs


cdef inline double clip(double v, double lower, double upper) noexcept nogil:
    return lower if v < lower else upper if v > upper else v


cdef inline double minimiser(double a, double F, double C, double epsilon) noexcept nogil:
    # Of the objective over one variable, the others fixed; its column has norm one
    cdef double u = a - F
    return clip(u - epsilon if u > epsilon else (u + epsilon if u < -epsilon else 0), -C, C)


cdef inline double violation(double a, double F, double C, double epsilon) noexcept nogil:
    # Knebel et al. 2008, eq. 25
    cdef double g
    if a == 0:
        return fabs(F) - epsilon
    g = F + epsilon if a > 0 else epsilon - F
    return g if fabs(a) >= C else fabs(g)
