# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""An exact active-set method for the small problem of a working set of n variables.

    minimise   1/2 alpha'G alpha - l'alpha + epsilon ||alpha||_1    subject to |alpha_j| <= C

A few sweeps of coordinate descent guess the support. Then Newton steps on the set S of free
variables go to the exact minimum for the signs at hand: a variable that would leave its bounds is
put on one and leaves S, and violators of the KKT conditions enter S, until there are none.
The factor ``G_SS = R R'`` (R lower triangular) survives from one problem to the next.

Contract: ``F = G alpha - l`` on entry and exit, G is symmetric with a unit diagonal, and nothing
is checked. A column that depends on those of S within `S.dependent` never enters the factor; it is
exchanged for one of them along the direction in which G is singular.
"""

from libc.math cimport fabs, INFINITY
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport daxpy, dsymv

from ._cholesky cimport Cholesky
from ._kkt cimport clip, minimiser, violation

import numpy as np

cdef enum:
    SOLVED = 0    # no violation above the threshold that this method can repair
    PAUSED = 1    # the allowed amount of work was done; call again to go on

    BLOCK = 64    # variables that enter S at once
    REFINE = 4    # Newton steps in a row: all but the first correct rounding errors
    ENTRIES = 10  # a variable that entered S so often in one problem only moves rounding errors

cdef double ENTER = 0.3        # violators of at least this share of the largest enter together
cdef double ROUNDING = 1e-12   # a curvature below this is nothing but rounding errors
cdef double TRUSTED = 0.5      # share of the predicted decrease without which a step is not made


cdef class ActiveSet:
    """The small problem: its matrix G, its variables, and the factor of the free ones.

    Parameters
    ----------
    rank : int
        Upper bound of the rank of G.
    capacity : int, default=1
        Number of variables for which there is room at first.

    Attributes
    ----------
    n : int
        Number of variables.
    alpha, F : float64 arrays of shape (n,)
        The variables and the gradient of the smooth part; to be set before `begin`.
    S : Cholesky
        The free variables and their factor.
    n_steps : int
        Newton steps so far.
    """

    def __init__(self, Py_ssize_t rank, Py_ssize_t capacity=1):
        self.rank = max(rank, 1)
        self.S = Cholesky()
        self._reserve(capacity)

    def _reserve(self, Py_ssize_t capacity):
        # Room for `capacity` variables; what is there stays.
        cdef Py_ssize_t n = self.n
        G, doubles = np.empty((capacity, capacity), order="F"), np.zeros((8, capacity))
        if n:
            G[:n, :n] = np.asarray(self._G)[:n, :n]
            doubles[:, :n] = np.asarray(self._doubles)[:, :n]
        self._G, self._doubles = G, doubles
        self._listed = np.zeros(capacity, dtype=np.intp)
        self._entries = np.zeros(capacity, dtype=np.uint8)
        self.G, self.listed, self.entries = &self._G[0, 0], &self._listed[0], &self._entries[0]
        self.alpha_, self.F_, self.sign, self.slope = (
            &self._doubles[0, 0], &self._doubles[1, 0], &self._doubles[2, 0], &self._doubles[3, 0]
        )
        self.known, self.step, self.q, self.d = (
            &self._doubles[4, 0], &self._doubles[5, 0], &self._doubles[6, 0], &self._doubles[7, 0]
        )
        self.S.reserve(capacity, min(capacity, self.rank))
        self.capacity = capacity

    @property
    def alpha(self):
        """The variables, a view."""
        return np.asarray(self._doubles)[0, :self.n]

    @property
    def F(self):
        """The gradient, a view."""
        return np.asarray(self._doubles)[1, :self.n]

    def extend(self, const double[::1, :] G_new):
        """Add q variables at 0; `G_new` holds the last q columns of the new G."""
        cdef Py_ssize_t n = self.n, q = G_new.shape[1], i, t
        if n + q > self.capacity:
            self._reserve(max(n + q, min(2 * n, n + q + 1000)))
        with nogil:
            for t in range(q):
                memcpy(&self._G[0, n + t], &G_new[0, t], (n + q) * sizeof(double))
                self._G[n + t, n + t] = 1
                self.alpha_[n + t] = 0
                self.S.place[n + t] = -1
            for i in range(n):
                for t in range(q):
                    self._G[n + t, i] = G_new[i, t]
        self.n = n + q

    def adopt(self, double[::1, :] G):
        """Start with the variables of G at 0, of which there must be room for as many.

        G is not copied; it has a unit diagonal.
        """
        self._G, self.G, self.n = G, &G[0, 0], G.shape[1]

    def keep(self, index):
        """Forget all variables but those of the increasing `index`."""
        cdef Py_ssize_t p
        cdef Cholesky S = self.S
        position = np.full(self.n, -1, dtype=np.intp)
        position[index] = np.arange(len(index))
        for p in range(S.m):
            S.leaves[p] = position[S.member[p]] < 0
        S.remove(self.G, self.capacity)
        S.renumber(position)
        G, doubles, n = np.asarray(self._G), np.asarray(self._doubles), len(index)
        G[:n, :n] = G[np.ix_(index, index)]
        doubles[:, :n] = doubles[:, index]
        self.n = n

    def begin(self, double C, double epsilon, double threshold, int sweeps):
        """Start on a problem: coordinate descent, and the factor of what it leaves free."""
        with nogil:
            self.C, self.epsilon, self.threshold = C, epsilon, threshold
            memset(self.entries, 0, self.n)
            self.refined = 0
            self.predicted = 0
            self._sweep(sweeps)
            self._synchronise()

    def solve(self, double work):
        """Go on with the problem for about `work` floating point operations; True at its end."""
        cdef int code
        self.limit, self.S.work = work, 0
        with nogil:
            code = self._solve()
        return code == SOLVED

    cdef int _solve(self) noexcept nogil:
        while self.S.work < self.limit:
            if self.refined < REFINE and self._largest_slope() > self.threshold:
                self._newton_step()
                continue
            self._refresh()
            if not self._enter():
                return SOLVED
        return PAUSED

    # ---- the guess

    cdef void _sweep(self, int sweeps) noexcept nogil:
        cdef Py_ssize_t j
        cdef double value, delta, largest
        cdef int n = <int> self.n, one = 1, _sweep
        for _sweep in range(sweeps):
            largest = 0
            for j in range(self.n):
                value = minimiser(self.alpha_[j], self.F_[j], self.C, self.epsilon)
                delta = value - self.alpha_[j]
                if delta != 0:
                    self.alpha_[j] = value
                    # F += G[:, j] * delta
                    daxpy(&n, &delta, self.G + j * self.capacity, &one, self.F_, &one)
                    largest = max(largest, fabs(delta))
            if largest <= self.threshold:
                return

    cdef void _synchronise(self) noexcept nogil:
        # S becomes the variables strictly between their bounds, if they are independent.
        cdef Py_ssize_t p, j, count = 0
        for p in range(self.S.m):
            self.S.leaves[p] = (
                not self._is_free(self.S.member[p]) or self.S.pivot(p) <= self.S.dependent
            )
        self.S.remove(self.G, self.capacity)
        for j in range(self.n):
            self.known[j] = self.alpha_[j]
            if self._is_free(j):
                self._set_sign(j)
                if self.S.place[j] < 0:
                    self.listed[count] = j
                    count += 1
        self.S.append(self.G, self.capacity, self.listed, count)

    cdef inline bint _is_free(self, Py_ssize_t j) noexcept nogil:
        return self.alpha_[j] != 0 and fabs(self.alpha_[j]) < self.C

    cdef inline void _set_sign(self, Py_ssize_t j) noexcept nogil:
        # Without the kink of epsilon at 0 there are no signs to keep.
        if self.epsilon == 0:
            self.sign[j] = 0
        elif self.alpha_[j] != 0:
            self.sign[j] = 1 if self.alpha_[j] > 0 else -1
        else:
            self.sign[j] = 1 if self.F_[j] < 0 else -1
        self.slope[j] = self.F_[j] + self.epsilon * self.sign[j]

    cdef inline double _lower(self, Py_ssize_t j) noexcept nogil:
        return 0 if self.sign[j] > 0 else -self.C

    cdef inline double _upper(self, Py_ssize_t j) noexcept nogil:
        return 0 if self.sign[j] < 0 else self.C

    # ---- steps of the free variables

    cdef double _largest_slope(self) noexcept nogil:
        cdef Py_ssize_t p
        cdef double largest = 0
        for p in range(self.S.m):
            largest = max(largest, fabs(self.slope[self.S.member[p]]))
        return largest

    cdef void _newton_step(self) noexcept nogil:
        cdef Py_ssize_t p
        for p in range(self.S.m):
            self.S.leaves[p] = 0
            self.q[p] = self.d[p] = -self.slope[self.S.member[p]]
        self.S.solve(self.d)  # d = -G_SS^-1 slope, and q = G_SS d
        self.n_steps += 1
        if self._walk():
            self.refined = 0
            self.S.remove(self.G, self.capacity)
        else:
            self.refined = self.refined + 1 if self._refresh() else REFINE

    cdef bint _walk(self) noexcept nogil:
        # To the minimum along d on the path where each variable stops at the bound it meets;
        # whether any does
        cdef Py_ssize_t p, k, j
        cdef double first, second, t, to_bound
        cdef bint met = False
        while True:
            first = second = 0  # derivatives of the objective
            t = INFINITY
            k = -1
            for p in range(self.S.m):
                first += self.d[p] * self.slope[self.S.member[p]]
                second += self.d[p] * self.q[p]
                to_bound = self._to_bound(p)
                if to_bound < t:
                    t = to_bound
                    k = p
            if not first < 0:
                return met
            if t * second > -first:
                t = -first / second
                k = -1
            if t == INFINITY:
                return met
            self.predicted += t * (first + 0.5 * t * second)
            for p in range(self.S.m):
                j = self.S.member[p]
                self.slope[j] += t * self.q[p]
                self.alpha_[j] = clip(
                    self.alpha_[j] + t * self.d[p], self._lower(j), self._upper(j)
                )
            if k < 0:
                return met
            met = True
            self._stop(k)

    cdef inline double _to_bound(self, Py_ssize_t p) noexcept nogil:
        cdef Py_ssize_t j = self.S.member[p]
        if self.d[p] == 0:
            return INFINITY
        return ((self._upper(j) if self.d[p] > 0 else self._lower(j)) - self.alpha_[j]) / self.d[p]

    cdef void _stop(self, Py_ssize_t k) noexcept nogil:
        # The variable at place k has met its bound: d[k] = 0 and q = G_SS d.
        cdef Py_ssize_t p, j = self.S.member[k]
        cdef const double *column = self.G + j * self.capacity
        self.alpha_[j] = self._upper(j) if self.d[k] > 0 else self._lower(j)
        for p in range(self.S.m):
            self.q[p] -= self.d[k] * column[self.S.member[p]]
        self.d[k] = 0
        self.S.leaves[k] = 1

    cdef bint _refresh(self) noexcept nogil:
        # F of alpha. False, and back to the alpha whose F is known, if rounding errors have eaten
        # the predicted decrease of the objective.
        cdef Py_ssize_t p, j, moved = 0
        cdef int n = <int> self.n, ld = <int> self.capacity, one = 1
        cdef double unit = 1, zero = 0, change = 0
        cdef bint decreased
        for j in range(self.n):
            self.step[j] = self.alpha_[j] - self.known[j]
            moved += self.step[j] != 0
        if moved == 0:
            self.predicted = 0
            return False
        if 4 * moved > self.n:
            # q = G @ step
            dsymv(<char*> b"L", &n, &unit, self.G, &ld, self.step, &one, &zero, self.q, &one)
        else:
            memset(self.q, 0, self.n * sizeof(double))
            for j in range(self.n):
                if self.step[j] != 0:
                    daxpy(&n, &self.step[j], self.G + j * ld, &one, self.q, &one)
        self.S.work += 2.0 * self.n * moved
        for j in range(self.n):
            if self.step[j] != 0:
                change += self.step[j] * (self.F_[j] + 0.5 * self.q[j])
                change += self.epsilon * (fabs(self.alpha_[j]) - fabs(self.known[j]))
        decreased = change < TRUSTED * self.predicted
        for j in range(self.n):
            if decreased:
                self.F_[j] += self.q[j]
                self.known[j] = self.alpha_[j]
            else:
                self.alpha_[j] = self.known[j]
        for p in range(self.S.m):
            j = self.S.member[p]
            self.slope[j] = self.F_[j] + self.epsilon * self.sign[j]
        self.predicted = 0
        return decreased

    # ---- variables that enter

    cdef bint _enter(self) noexcept nogil:
        # The worst violators become free; False if there are none.
        cdef Py_ssize_t j, worst = -1, count = 0
        cdef double d, largest = self.threshold
        self.refined = 0
        for j in range(self.n):
            if self.S.place[j] < 0 and self.entries[j] < ENTRIES:
                d = violation(self.alpha_[j], self.F_[j], self.C, self.epsilon)
                if d > largest:
                    largest = d
                    worst = j
        if worst < 0:
            return False
        largest = max(ENTER * largest, self.threshold)
        for j in range(self.n):
            if self.S.place[j] < 0 and self.entries[j] < ENTRIES and count < BLOCK and (
                violation(self.alpha_[j], self.F_[j], self.C, self.epsilon) > largest
            ):
                self.listed[count] = j
                count += 1
                self.entries[j] += 1
                self._set_sign(j)
        if self.S.append(self.G, self.capacity, self.listed, count) == 0:
            self._exchange(worst)
        return True

    cdef void _exchange(self, Py_ssize_t j) noexcept nogil:
        # Column j depends on those of S. Along (-G_SS^-1 G_Sj, 1) the objective is a straight
        # line, or nearly so: follow it downhill to the first bound, where j takes the place.
        cdef Py_ssize_t p, i, k = -1
        cdef const double *column = self.G + j * self.capacity
        cdef double slope = self.slope[j], curvature = 1, direction, own, t
        for p in range(self.S.m):
            self.S.leaves[p] = 0
            self.d[p] = -column[self.S.member[p]]
        self.S.solve(self.d)
        for p in range(self.S.m):
            slope += self.d[p] * self.slope[self.S.member[p]]
            curvature += self.d[p] * column[self.S.member[p]]
        direction = -1 if slope > 0 else 1
        t = own = (
            self._upper(j) - self.alpha_[j] if direction > 0 else self.alpha_[j] - self._lower(j)
        )
        for p in range(self.S.m):
            self.d[p] *= direction
            if self._to_bound(p) < t:
                t = self._to_bound(p)
                k = p
        if curvature > ROUNDING and t * curvature > fabs(slope):
            t = fabs(slope) / curvature
            k = -1
        if t == INFINITY:
            self.entries[j] = ENTRIES
            return
        self.predicted = -t * (fabs(slope) - 0.5 * t * curvature)
        for p in range(self.S.m):
            i = self.S.member[p]
            self.alpha_[i] = clip(self.alpha_[i] + t * self.d[p], self._lower(i), self._upper(i))
        self.alpha_[j] = clip(self.alpha_[j] + t * direction, self._lower(j), self._upper(j))
        if k >= 0:
            i = self.S.member[k]
            self.alpha_[i] = self._upper(i) if self.d[k] > 0 else self._lower(i)
        elif t == own:
            self.alpha_[j] = self._upper(j) if direction > 0 else self._lower(j)
        if not self._refresh():
            self.entries[j] = ENTRIES
        elif k >= 0:
            self.S.leaves[k] = 1
            self.S.remove(self.G, self.capacity)
            self.slope[j] = self.F_[j] + self.epsilon * self.sign[j]
            self.S.append(self.G, self.capacity, &j, 1)
