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

from libc.math cimport fabs, sqrt, INFINITY
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport daxpy, dgemv

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
cdef double ACCURACY = 1e-10  # error of G_SS d = s that is put up with


cdef class Homotopy(ActiveSet):
    """The small problem of `ActiveSet` for all epsilon.

    `start` at a solution, and `trace` on from it.
    """

    cdef double scale, hair
    cdef Py_ssize_t who
    cdef unsigned char[::1] _waits
    cdef double[:, ::1] _panel     # columns of G of the variables of S, in any order,
    cdef Py_ssize_t[::1] _ordered  # and which they are
    cdef double[::1] _weights
    cdef bint collected            # whether the panel is up to date

    def start(
        self, double C, double epsilon, double scale, const double[::1] alpha,
        const double[::1] F, const Py_ssize_t[::1] index,
    ):
        """Begin at the solution for epsilon that `alpha` and `F` hold at the places `index`.

        `scale` is ``||K'y||_inf``.
        """
        cdef Py_ssize_t j
        self.C, self.epsilon, self.scale = C, epsilon, scale
        self.S.dependent = DEPENDENT
        self.threshold, self.hair = EXACT * scale, HAIR * scale
        self._waits = np.zeros(self.n, dtype=np.uint8)
        self._panel = np.empty((self.S.largest, self.n))
        self._ordered = np.empty(self.S.largest, dtype=np.intp)
        self._weights = np.empty(self.S.largest)
        self.collected = False
        with nogil:
            for j in range(self.n):
                self.alpha_[j], self.F_[j] = alpha[index[j]], F[index[j]]
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
        # At the end of a path down to 0 all that is left are rounding errors.
        event = self._first_event(&t) if t > TINY * self.scale else NONE
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
        cdef int n = <int> self.n, m = <int> self.S.m, one = 1, refined
        cdef double error, largest, unit = 1
        if not self.collected:
            self._collect()
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
            for p in range(self.S.m):
                self._weights[p] = self.step[self.S.place[self._ordered[p]]]
            dgemv(
                <char*> b"N", &n, &m, &unit, &self._panel[0, 0], &n, &self._weights[0], &one,
                &unit, self.q, &one,
            )

    cdef void _collect(self) noexcept nogil:
        cdef Py_ssize_t p
        for p in range(self.S.m):
            self._put(p, self.S.member[p])
        self.collected = True

    cdef inline void _put(self, Py_ssize_t p, Py_ssize_t j) noexcept nogil:
        self._ordered[p] = j
        memcpy(&self._panel[p, 0], self.G + j * self.capacity, self.n * sizeof(double))

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
        elif self.collected:
            self._put(self.S.m - 1, j)

    cdef void _leave_set(self, Py_ssize_t p) noexcept nogil:
        cdef Py_ssize_t j = self.S.member[p]
        self.alpha_[j] = self._upper(j) if self.d[p] > 0 else self._lower(j)
        self.S.rotate_out(p)
        p = 0
        while self._ordered[p] != j:
            p += 1
        self._put(p, self._ordered[self.S.m])
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
        self.collected = False
        self._synchronise()
        self.limit, self.S.work = INFINITY, 0
        self._solve()
        self._list_waiting()


def joining(
    const double[::1] F, const unsigned char[::1] member, const Py_ssize_t[::1] sure, double level,
):
    """The variables outside of W with ``|F_j| > level``, and those that are `sure` to join it.

    `sure` is increasing, and so is the result.
    """
    cdef Py_ssize_t j, t = 0, count = 0
    new = np.empty(F.shape[0], dtype=np.intp)
    cdef Py_ssize_t[::1] new_ = new
    with nogil:
        for j in range(F.shape[0]):
            if t < sure.shape[0] and sure[t] == j:
                t += 1
            elif fabs(F[j]) <= level or member[j]:
                continue
            new_[count] = j
            count += 1
    return new[:count].copy()


def screen(
    double epsilon, const double[::1] R_first, const double[::1] F_first,
    const double[::1] epsilons, const double[:, ::1] R, const double[::1] F_last,
    const unsigned char[::1] member, double room,
):
    """Bounds of the gradients of the variables outside of W at m points of the path.

    The path gets from `epsilon`, with the residual `R_first` and the gradient `F_first`, to the
    last of the `epsilons`, whose gradient is `F_last`. At a share s of that way let the residual
    be ``(1 - s) r + s r' + bend``, r and r' those of the ends. Columns have norm one, so that
    ``|F_j|`` is at most ``(1 - s) |F_j| + s |F_j'| + ||bend||`` there.

    Returns
    -------
    near : ndarray of int
        The variables whose bound exceeds epsilon by more than `room` at some point.
    beyond, excess : float
        What the largest bound of the others exceeds epsilon by at any point, and the sum of that.
    """
    cdef Py_ssize_t i, j, k, P = F_last.shape[0], m = R.shape[0], n = 0, count = 0
    cdef double bend, distance, largest = 0, end = epsilons[m - 1], share, beyond = 0, excess = 0
    near, numbers = np.empty(P, dtype=np.intp), np.empty((3, P))
    cdef Py_ssize_t[::1] near_ = near
    cdef double[:, ::1] numbers_ = numbers
    cdef double[::1] distances = np.empty(m)
    cdef double *first = &numbers_[0, 0]
    cdef double *last = &numbers_[1, 0]
    cdef double *bound = &numbers_[2, 0]
    with nogil:
        for k in range(m):
            share, distance = (epsilon - epsilons[k]) / (epsilon - end), 0
            for i in range(R.shape[1]):
                bend = R[k, i] - R_first[i] - share * (R[m - 1, i] - R_first[i])
                distance += bend * bend
            distances[k] = sqrt(distance)
            largest = max(largest, distances[k])
        for j in range(P):
            first[n], last[n] = fabs(F_first[j]) - epsilon, fabs(F_last[j]) - end
            if max(first[n], last[n]) + largest > 0 and not member[j]:
                near_[n], bound[n] = j, 0
                n += 1
        for k in range(m):
            share, distance = (epsilon - epsilons[k]) / (epsilon - end), distances[k]
            for j in range(n):
                bend = distance + first[j] + share * (last[j] - first[j])
                bound[j] = bend if bend > bound[j] else bound[j]
        for j in range(n):
            if bound[j] > room:
                near_[count] = near_[j]
                count += 1
            else:
                beyond = max(beyond, bound[j])
                excess += bound[j]
    return near[:count].copy(), beyond, excess


def certify(
    const double[:, ::1] alphas, const double[:, ::1] F, const double[:, ::1] F_near,
    const double[:, ::1] R, const double[::1] y, const double[::1] epsilons, double C,
    double beyond, double excess,
):
    """Numbers of variables, duality gaps and largest KKT violations, as in `psvm.problem`.

    A row of the arrays is one point of the path. `F` belongs to `alphas`, the variables of
    `F_near` are 0, and of others that are 0 it is known by how much the largest exceeds epsilon at
    most, and the sum of that. R holds the negative residuals.
    """
    cdef Py_ssize_t i, k, m = alphas.shape[0], n = alphas.shape[1]
    cdef double epsilon, a, size, norm, product, worst, largest, sum_
    counts, numbers = np.zeros(m, dtype=np.intp), np.empty((2, m))
    cdef Py_ssize_t[::1] counts_ = counts
    cdef double[::1] gaps = numbers[0], violations = numbers[1]
    with nogil:
        for k in range(m):
            epsilon = epsilons[k]
            norm, product, worst, largest, sum_ = 0, 0, beyond, epsilon + beyond, excess
            for i in range(n):
                a, size = alphas[k, i], fabs(F[k, i])
                counts_[k] += a != 0
                norm += fabs(a)
                product += a * F[k, i]
                worst = max(worst, violation(a, F[k, i], C, epsilon))
                largest = max(largest, size)
                sum_ += max(size - epsilon, 0)
            for i in range(F_near.shape[1]):
                size = fabs(F_near[k, i])
                worst = max(worst, size - epsilon)
                largest = max(largest, size)
                sum_ += max(size - epsilon, 0)
            violations[k] = worst
            if C < INFINITY:
                gaps[k] = max(product + epsilon * norm + C * sum_, 0)
            else:
                gaps[k] = max(_lasso_gap(
                    R[k], y, epsilon * norm, epsilon / largest if largest > 0 else INFINITY
                ), 0)
    return counts, numbers[0], numbers[1]


cdef double _lasso_gap(
    const double[::1] r, const double[::1] y, double penalty, double limit,
) noexcept nogil:
    # The dual point is a share of the residual -r, at most `limit` of it.
    cdef Py_ssize_t i
    cdef double rr = 0, ry = 0, share
    for i in range(y.shape[0]):
        rr += r[i] * r[i]
        ry -= r[i] * y[i]
    share = clip(ry / rr if rr > 0 else 0, -limit, limit)
    return 0.5 * rr + penalty - share * ry + 0.5 * share * share * rr


def nonzeros(
    const double[:, ::1] alphas, const Py_ssize_t[::1] order, const Py_ssize_t[::1] columns,
    Py_ssize_t count,
):
    """The `count` entries that are not 0, row after row in the given order, and their columns."""
    cdef Py_ssize_t i, k, t = 0
    values, numbers = np.empty(count), np.empty(count, dtype=np.intp)
    cdef double[::1] values_ = values
    cdef Py_ssize_t[::1] numbers_ = numbers
    with nogil:
        for k in range(alphas.shape[0]):
            for i in range(alphas.shape[1]):
                if alphas[k, order[i]] != 0:
                    values_[t], numbers_[t] = alphas[k, order[i]], columns[order[i]]
                    t += 1
    return values, numbers
