# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""The exact path of the small problem of a working set, from one epsilon down to another.

    minimise   1/2 alpha'G alpha - l'alpha + epsilon ||alpha||_1    subject to |alpha_j| <= C

Let epsilon fall by t. As long as the set S of free variables and their signs s stay, the solution
is

    alpha_S + t d,  G_SS d = s,      F + t q,  q = G_.S d

and a piece of the path ends where a variable at 0 gets ``|F_j| = epsilon`` (it enters S), a free
one gets to 0 or to +-C (it leaves S), or one at +-C gets ``sign(alpha_j) F_j + epsilon = 0`` (it
enters S). A variable whose column depends on those of S cannot enter: its gradient follows epsilon
by itself, and it waits until one of them leaves. Where several events coincide and the direction
of a variable that has just entered is wrong, epsilon is lowered by a hair and the active-set method
finds the solution there.

Contract: as that of `ActiveSet`; nothing is checked.
"""

from libc.math cimport fabs, INFINITY
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport daxpy

from ._active_set cimport ActiveSet
from ._kkt cimport clip, violation

import numpy as np

cdef enum:
    NONE = 0    # nothing happens before the next stop
    ENTER = 1   # a variable becomes free
    LEAVE = 2   # a free variable meets a bound
    REPAIR = 3  # a waiting variable has gone too far

    REFINE = 2  # corrections of a direction

# As shares of ||K'y||_inf
cdef double TINY = 1e-13    # steps that are rounding errors
cdef double SLACK = 1e-11   # violation of a waiting variable that is put up with
cdef double HAIR = 1e-10    # by which epsilon is lowered past a degenerate point
cdef double EXACT = 1e-13   # violation left behind such a point

cdef double DEPENDENT = 1e-13  # least pivot, see `Cholesky`
cdef double RATE = 1e-11    # slower changes of |F_j| - epsilon are rounding errors
cdef double ACCURACY = 1e-12  # error of G_SS d = s that is put up with


cdef class Homotopy(ActiveSet):
    """The small problem of `ActiveSet` for all epsilon.

    Set `alpha` and `F` to a solution, then `start` there and `trace` on from it.
    """

    cdef double scale, hair
    cdef Py_ssize_t who
    cdef unsigned char[::1] _waits

    def start(self, double C, double epsilon, double scale):
        """Begin at a solution for epsilon; `scale` is ``||K'y||_inf``."""
        self.C, self.epsilon, self.scale = C, epsilon, scale
        self.S.dependent = DEPENDENT
        self.threshold, self.hair = EXACT * scale, HAIR * scale
        self._waits = np.zeros(self.n, dtype=np.uint8)
        with nogil:
            self._synchronise()
            self._newton()
            self._list_waiting()

    def trace(self, const double[::1] stops, Py_ssize_t most, bint knots):
        """Follow the path to the last of the decreasing `stops`, through at most `most` points.

        Returns
        -------
        epsilons, alphas : ndarrays of shape (m,) and (m, n)
            The stops that were met, and if wanted the knots, in the order of the path.
        """
        cdef Py_ssize_t count = 0, stop = 0, n = self.n
        epsilons, alphas = np.empty(most), np.empty((most, n))
        cdef double[::1] epsilons_ = epsilons
        cdef double[:, ::1] alphas_ = alphas
        cdef double last = self.epsilon
        with nogil:
            while stop < stops.shape[0] and stops[stop] >= self.epsilon:
                stop += 1
            while count < most and stop < stops.shape[0]:
                self._piece(stops[stop])
                if self.epsilon == stops[stop] or (
                    knots and self.epsilon < last - TINY * self.scale
                ):
                    last = epsilons_[count] = self.epsilon
                    memcpy(&alphas_[count, 0], self.alpha_, n * sizeof(double))
                    count += 1
                if self.epsilon <= stops[stop]:
                    stop += 1
        return epsilons[:count], alphas[:count]

    cdef void _piece(self, double stop) noexcept nogil:
        # One straight piece of the path, possibly of length 0, and the event at its end.
        cdef double t
        cdef int event
        self._direction()
        t = self.epsilon - stop
        event = self._first_event(&t)
        if event == LEAVE and t <= TINY * self.scale:
            self._repair(stop)
            return
        self._move(t)
        if event == NONE:
            self.epsilon = stop
            return
        if t > TINY * self.scale:
            self.hair = HAIR * self.scale
        if event == ENTER:
            self._enter_set(self.who)
        elif event == LEAVE:
            self._leave_set(self.who)
        else:
            self._repair(stop)

    cdef void _direction(self) noexcept nogil:
        # d = G_SS^-1 s and q = G_.S d, refined
        cdef Py_ssize_t p, j
        cdef int n = <int> self.n, one = 1, refined
        cdef double error, largest
        memset(self.q, 0, n * sizeof(double))
        for refined in range(REFINE + 1):
            largest = 0
            for p in range(self.S.m):
                j = self.S.member[p]
                self.step[p] = error = self.sign[j] - self.q[j]
                largest = max(largest, fabs(error))
            if largest <= ACCURACY:
                return
            self.S.solve(self.step)
            for p in range(self.S.m):
                self.d[p] = self.step[p] if refined == 0 else self.d[p] + self.step[p]
                daxpy(
                    &n, &self.step[p], self.G + self.S.member[p] * self.capacity, &one,
                    self.q, &one,
                )

    cdef int _first_event(self, double* t) noexcept nogil:
        # Shortens t to the first event, that of variable `who`.
        cdef Py_ssize_t p, j
        cdef int event = NONE
        cdef double u
        for p in range(self.S.m):
            u = max(self._to_bound(p), 0)
            if u < t[0]:
                t[0], self.who, event = u, p, LEAVE
        for j in range(self.n):
            if self.S.place[j] < 0:
                u = max(self._to_event(j), 0)
                if u < t[0]:
                    t[0], self.who, event = u, j, REPAIR if self._waits[j] else ENTER
        return event

    cdef inline double _to_event(self, Py_ssize_t j) noexcept nogil:
        # How far epsilon may fall until the variable j, which is not free, has to do something
        cdef double F = self.F_[j], q = self.q[j], a = self.alpha_[j], first, second, s
        cdef double slack = SLACK * self.scale if self._waits[j] else 0
        if a == 0:
            first = (self.epsilon + slack - F) / (1 + q) if 1 + q > RATE else INFINITY
            second = (self.epsilon + slack + F) / (1 - q) if 1 - q > RATE else INFINITY
            return min(first, second)
        s = 1 if a > 0 else -1
        first = s * F + self.epsilon  # changes by second t
        second = s * q - 1
        if fabs(a) < self.C and second < 0:
            first, second = -first, -second
        return (slack - first) / second if second > RATE else INFINITY

    cdef void _move(self, double t) noexcept nogil:
        cdef Py_ssize_t p, j
        cdef int n = <int> self.n, one = 1
        for p in range(self.S.m):
            j = self.S.member[p]
            self.alpha_[j] = clip(
                self.alpha_[j] + t * self.d[p], self._lower(j), self._upper(j)
            )
        daxpy(&n, &t, self.q, &one, self.F_, &one)
        self.epsilon -= t

    cdef void _enter_set(self, Py_ssize_t j) noexcept nogil:
        self._set_sign(j)
        if self.S.append(self.G, self.capacity, &j, 1) == 0:
            self._waits[j] = True

    cdef void _leave_set(self, Py_ssize_t p) noexcept nogil:
        cdef Py_ssize_t j = self.S.member[p]
        self.alpha_[j] = self._upper(j) if self.d[p] > 0 else self._lower(j)
        self.S.rotate_out(p)
        self._list_waiting()

    cdef void _list_waiting(self) noexcept nogil:
        # Those that are strictly between their bounds enter S if they can, else they wait.
        cdef Py_ssize_t j
        for j in range(self.n):
            self._waits[j] = False
            if self.S.place[j] < 0 and self._is_free(j):
                self._enter_set(j)

    cdef void _newton(self) noexcept nogil:
        # Rounding errors of the free variables, which stay within their bounds
        cdef Py_ssize_t p, j
        cdef int n = <int> self.n, one = 1
        cdef double value
        for p in range(self.S.m):
            self.step[p] = -self.slope[self.S.member[p]]
        self.S.solve(self.step)
        for p in range(self.S.m):
            j = self.S.member[p]
            value = clip(self.alpha_[j] + self.step[p], self._lower(j), self._upper(j))
            self.step[p] = value - self.alpha_[j]
            self.alpha_[j] = value
            daxpy(&n, &self.step[p], self.G + j * self.capacity, &one, self.F_, &one)

    cdef void _repair(self, double stop) noexcept nogil:
        # The solution a hair further down, by the active-set method
        self.epsilon = max(self.epsilon - self.hair, stop)
        self.hair *= 2
        memset(self.entries, 0, self.n)
        self.refined = 0
        self.predicted = 0
        self._synchronise()
        self.limit, self.S.work = INFINITY, 0
        self._solve()
        self._list_waiting()


def screen(
    const double[::1] F_first, const double[::1] F_last, const unsigned char[::1] skipped,
    const double[::1] epsilons, const double[::1] share, const double[::1] distance, double room,
):
    """Bounds of the gradients of the variables that are not skipped, at m points of the path.

    At a point ``|F_j| - epsilon`` is at most what lies at its `share` between its values at the
    ends, whose `epsilons` are given, plus `distance`.

    Returns
    -------
    near : ndarray of int
        The variables whose bound exceeds `room` at some point.
    beyond, excess : ndarrays of shape (m,)
        The largest bound of the others at each point, and the sum of those above 0.
    """
    cdef Py_ssize_t j, k, m = share.shape[0], count = 0
    cdef double first, last, bound, largest = 0
    near, beyond, excess = np.empty(F_last.shape[0], dtype=np.intp), np.zeros(m), np.zeros(m)
    cdef Py_ssize_t[::1] near_ = near
    cdef double[::1] beyond_ = beyond, excess_ = excess
    with nogil:
        for k in range(m):
            largest = max(largest, distance[k])
        for j in range(F_last.shape[0]):
            first, last = fabs(F_first[j]) - epsilons[0], fabs(F_last[j]) - epsilons[1]
            if skipped[j] or max(first, last) + largest <= 0:
                continue
            for k in range(m):
                if distance[k] + first + share[k] * (last - first) > room:
                    near_[count] = j
                    count += 1
                    break
            else:
                for k in range(m):
                    bound = distance[k] + first + share[k] * (last - first)
                    if bound > 0:
                        beyond_[k] = max(beyond_[k], bound)
                        excess_[k] += bound
    return near[:count].copy(), beyond, excess


def judge(
    const double[:, ::1] alphas, const double[:, :] F, const double[:, :] F_near,
    const double[::1] epsilons, double C, const double[::1] beyond, const double[::1] excess,
):
    """What the certificates of m points need, of which column i of F and `F_near` is one.

    `F` belongs to `alphas`, and the variables of `F_near` are 0. Of others that are 0 it is known
    by how much they exceed epsilon at most, and the sum of that.

    Returns
    -------
    counts, norms, products : ndarrays of shape (m,)
        The number of variables that are not 0, ``||alpha||_1`` and ``alpha'F``.
    violations, largest, sums : ndarrays of shape (m,)
        The largest violation of the KKT conditions, ``||F||_inf`` and
        ``sum_j max(|F_j| - epsilon, 0)``, or bounds of them.
    """
    cdef Py_ssize_t i, j, m = alphas.shape[0], n = alphas.shape[1]
    cdef double a, d, size
    numbers, counts = np.zeros((5, m)), np.zeros(m, dtype=np.intp)
    cdef double[:, ::1] out = numbers
    cdef Py_ssize_t[::1] counts_ = counts
    with nogil:
        for i in range(m):
            out[2, i], out[3, i], out[4, i] = beyond[i], epsilons[i] + beyond[i], excess[i]
            for j in range(n + F_near.shape[0]):
                a = alphas[i, j] if j < n else 0
                d = F[j, i] if j < n else F_near[j - n, i]
                size = fabs(d)
                counts_[i] += a != 0
                out[0, i] += fabs(a)
                out[1, i] += a * d
                out[2, i] = max(out[2, i], violation(a, d, C, epsilons[i]))
                out[3, i] = max(out[3, i], size)
                out[4, i] += max(size - epsilons[i], 0)
    return counts, *numbers
