# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""Sequential Minimal Optimization with one equality constraint, on a dense matrix.

    minimise   1/2 v'R v - y'v    subject to 1'v constant, lower_i <= v_i <= upper_i

Contract: R is symmetric positive semidefinite, ``F = R v - y`` on entry and exit, v lies in its
box, and nothing is checked.
"""

from libc.math cimport INFINITY

cdef double FLAT = 1e-12  # a curvature below this share of the diagonal is none


cdef Py_ssize_t partner(
    const double* R_i, const double[:, ::1] R, const double[::1] v, const double[::1] F,
    const double[::1] lower, Py_ssize_t i, double* least,
) noexcept nogil:
    # The j that can go down and promises the largest decrease of the pair (i, j); `least` becomes
    # the smallest -F_j of all that can go down.
    cdef Py_ssize_t j, best = -1
    cdef double slope, curvature, gain, best_gain = 0
    least[0] = INFINITY
    for j in range(v.shape[0]):
        if v[j] <= lower[j]:
            continue
        if -F[j] < least[0]:
            least[0] = -F[j]
        slope = F[j] - F[i]
        if slope > 0:
            curvature = R_i[i] + R[j, j] - 2 * R_i[j]
            curvature = max(curvature, FLAT * (R_i[i] + R[j, j]) + 1e-300)
            gain = slope * slope / curvature
            if gain > best_gain:
                best_gain = gain
                best = j
    return best


def smo(
    const double[:, ::1] R, double[::1] v, double[::1] F,
    const double[::1] lower, const double[::1] upper, double threshold, Py_ssize_t max_steps,
):
    """Make steps until the KKT violation is at most `threshold`; returns their number.

    The violation is ``max_{v_i < upper_i} -F_i - min_{v_j > lower_j} -F_j``. A step moves the
    variable with the largest -F up and the partner with the largest gain down (second order
    working set selection). It ends earlier if no pair can move.
    """
    cdef Py_ssize_t i, j, t, n = v.shape[0], step = 0
    cdef double most, least, move
    cdef const double* R_i
    cdef const double* R_j
    with nogil:
        while step < max_steps:
            i = -1
            most = -INFINITY
            for t in range(n):
                if v[t] < upper[t] and -F[t] > most:
                    most = -F[t]
                    i = t
            if i < 0:
                break
            R_i = &R[i, 0]
            j = partner(R_i, R, v, F, lower, i, &least)
            if j < 0 or most - least <= threshold:
                break
            R_j = &R[j, 0]
            move = R_i[i] + R_j[j] - 2 * R_i[j]
            move = (F[j] - F[i]) / max(move, FLAT * (R_i[i] + R_j[j]) + 1e-300)
            # A variable that reaches its bound is put there exactly.
            if move >= upper[i] - v[i] or move >= v[j] - lower[j]:
                if upper[i] - v[i] <= v[j] - lower[j]:
                    move = upper[i] - v[i]
                    v[i] = upper[i]
                    v[j] -= move
                else:
                    move = v[j] - lower[j]
                    v[j] = lower[j]
                    v[i] += move
            else:
                v[i] += move
                v[j] -= move
            for t in range(n):
                F[t] += move * (R_i[t] - R_j[t])
            step += 1
    return step
