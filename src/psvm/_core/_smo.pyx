# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""The inner loop of the papers' SMO (Knebel et al. 2008, section 3, appendices A, B).

    minimise   1/2 alpha'Q alpha - l'alpha + epsilon ||alpha||_1    subject to |alpha_j| <= C

Contract: ``F = Q alpha - l`` on entry and exit, Q has a unit diagonal, ``address[j]`` is 0 or the
address of the P doubles of column j of Q, and nothing is checked. ``psvm.solvers._smo_numpy`` is
the same loop in NumPy.
"""

from libc.math cimport fabs
from libc.stdint cimport uintptr_t
from scipy.linalg.cython_lapack cimport dposv

from ._kkt cimport clip, violation

import numpy as np

cdef enum:
    CONVERGED = 0    # the largest violation is within the threshold
    NEED_COLUMN = 1  # column `needed` of Q is missing
    MAX_STEPS = 2    # the allowed amount of work was done
    STALLED = 3      # the best step changes nothing

    B_C = 4          # block update after so many variables at +-C,
    B_N = 21         # or so many changed variables,
    B_F = 3          # or so many times more steps than changed variables
    B_MAX = B_N + 1  # a pair step may change two at once
    GIVE_UP = 4      # more variables than these at a bound end a block update
    MAX_SOLVES = 1000
    RUN_SOLVES = 20000  # systems of block updates in one run: some tenths of a second

cdef double PARALLEL = 1e-9  # a pair with 1 - Q_ik^2 below this is no pair


cdef inline double single_step(double a, double F, double C, double epsilon) noexcept nogil:
    # Appendix A: the new value of one variable
    cdef double up = clip(a - F - epsilon, 0, C)
    cdef double down = clip(a - F + epsilon, -C, 0)
    if a > 0:
        return up
    if a < 0:
        return down
    return up if fabs(up) >= fabs(down) else down


cdef inline void pair_step(
    double a_i, double g_i, double lower_i, double upper_i,
    double a_k, double g_k, double lower_k, double upper_k,
    double q, double inverse, double* v_i, double* v_k,
) noexcept nogil:
    # Section 3.1: minimum over the box for fixed signs; g = F + epsilon s, inverse = 1 / (1 - q^2)
    cdef double u_i = a_i + (g_k * q - g_i) * inverse  # eq. 22
    cdef double u_k = a_k + (g_i * q - g_k) * inverse
    cdef double c_i = clip(u_i, lower_i, upper_i)
    cdef double c_k = clip(u_k, lower_k, upper_k)
    cdef double t
    v_i[0] = c_i
    v_k[0] = c_k
    if u_i != c_i:
        t = a_k - g_k - q * (c_i - a_i)  # best alpha_k with alpha_i at its bound
        if u_k == c_k or (t <= upper_k if u_k > upper_k else t >= lower_k):
            v_k[0] = clip(t, lower_k, upper_k)  # cases B and D
            return
    if u_k != c_k:
        t = a_i - g_i - q * (c_k - a_k)
        if u_i == c_i or (t <= upper_i if u_i > upper_i else t >= lower_i):
            v_i[0] = clip(t, lower_i, upper_i)  # cases C and E
    # cases A and F: the (clipped) unconstrained minimum


cdef class Core:
    """State of one SMO run; `run` makes steps until something has to be done outside.

    Parameters
    ----------
    alpha, F : float64 arrays, changed in place
    columns : object with the array `address`
    C : float
    pair, block : bool
    """

    cdef double[::1] alpha, F
    cdef const uintptr_t[::1] address
    cdef double C
    cdef bint pair, block
    cdef unsigned char[::1] changed, hit
    cdef Py_ssize_t[B_MAX] members
    cdef Py_ssize_t n_changed, n_hit, n_since, n_solves
    cdef readonly Py_ssize_t needed, n_iter, n_blocks

    def __init__(self, double[::1] alpha, double[::1] F, columns, double C, bint pair, bint block):
        self.alpha, self.F, self.address = alpha, F, columns.address
        self.C, self.pair, self.block = C, pair, block
        self.changed = np.zeros(alpha.shape[0], dtype=np.uint8)
        self.hit = np.zeros(alpha.shape[0], dtype=np.uint8)

    def run(self, double epsilon, double threshold, Py_ssize_t max_steps):
        """Make at most `max_steps` steps, fewer if they are costly; returns an event code."""
        cdef int event
        with nogil:
            event = self._run(epsilon, threshold, max_steps)
        return event

    cdef int _run(self, double epsilon, double threshold, Py_ssize_t max_steps) noexcept nogil:
        cdef Py_ssize_t i, k, step = 0
        cdef double v_i, v_k
        cdef bint moved
        self.n_solves = 0
        while True:
            i = self._worst(epsilon, threshold)
            if i < 0:
                return CONVERGED
            if step == max_steps or self.n_solves > RUN_SOLVES:
                return MAX_STEPS
            if self.address[i] == 0:
                self.needed = i
                return NEED_COLUMN
            k = self._partner(i, epsilon, &v_i, &v_k) if self.pair else -1
            if k < 0:
                v_i = single_step(self.alpha[i], self.F[i], self.C, epsilon)
            elif self.address[k] == 0 and v_k != self.alpha[k]:
                self.needed = k
                return NEED_COLUMN
            moved = self._move(i, v_i)
            if k >= 0:
                moved = self._move(k, v_k) or moved
            if not moved:
                return STALLED
            step += 1
            self.n_iter += 1
            self.n_since += 1
            if self.block and (
                self.n_hit >= B_C or self.n_changed >= B_N or self.n_since >= B_F * self.n_changed
            ):
                self._block_update(epsilon)

    cdef Py_ssize_t _worst(self, double epsilon, double threshold) noexcept nogil:
        # argmax_j d_j, or -1 if no d_j exceeds the threshold
        cdef Py_ssize_t j, best = -1
        cdef double d, largest = threshold
        for j in range(self.alpha.shape[0]):
            d = violation(self.alpha[j], self.F[j], self.C, epsilon)
            if d > largest:
                largest = d
                best = j
        return best

    cdef Py_ssize_t _partner(
        self, Py_ssize_t i, double epsilon, double* v_i, double* v_k
    ) noexcept nogil:
        # eq. 26: the partner with the largest corrected step, over all signs that are possible
        cdef const double* q = <const double*> self.address[i]
        cdef double a_i = self.alpha[i], F_i = self.F[i], C = self.C
        cdef double a_k, F_k, g_i, g_k, inverse, w_i, w_k, size, largest = 0
        cdef Py_ssize_t k, best = -1
        cdef int s_i, s_k
        for k in range(self.alpha.shape[0]):
            if k == i or 1 - q[k] * q[k] <= PARALLEL:
                continue
            a_k = self.alpha[k]
            F_k = self.F[k]
            inverse = 1 / (1 - q[k] * q[k])
            for s_i in range(1, -2, -2):
                if s_i * a_i < 0:
                    continue
                g_i = F_i + epsilon * s_i
                for s_k in range(1, -2, -2):
                    if s_k * a_k < 0:
                        continue
                    g_k = F_k + epsilon * s_k
                    pair_step(
                        a_i, g_i, 0 if s_i > 0 else -C, C if s_i > 0 else 0,
                        a_k, g_k, 0 if s_k > 0 else -C, C if s_k > 0 else 0,
                        q[k], inverse, &w_i, &w_k,
                    )
                    size = max(fabs(w_i - a_i), fabs(w_k - a_k))
                    if size > largest:
                        largest = size
                        best = k
                        v_i[0] = w_i
                        v_k[0] = w_k
        return best

    cdef bint _move(self, Py_ssize_t j, double value) noexcept nogil:
        # alpha_j = value, F += Q_j delta; remembers what changed since the last block update
        cdef double delta = value - self.alpha[j]
        cdef const double* q = <const double*> self.address[j]
        cdef Py_ssize_t t
        if delta == 0:
            return False
        for t in range(self.F.shape[0]):
            self.F[t] += q[t] * delta
        self.alpha[j] = value
        if not self.block:
            return True
        if not self.changed[j]:
            self.changed[j] = 1
            self.members[self.n_changed] = j
            self.n_changed += 1
        if fabs(value) >= self.C and not self.hit[j]:
            self.hit[j] = 1
            self.n_hit += 1
        return True

    cdef void _block_update(self, double epsilon) noexcept nogil:
        # Section 3.2: solve eq. 19 for the changed non-zero variables, signs fixed
        cdef Block b
        cdef Py_ssize_t[B_MAX] S
        cdef double[B_MAX] current, gradient, new, delta
        cdef unsigned char[B_MAX] active
        cdef const double* q
        cdef double decrease = 0
        cdef Py_ssize_t s, t, j
        cdef bint found
        b.n = 0
        b.n_solves = 0
        b.epsilon = epsilon
        for s in range(self.n_changed):
            j = self.members[s]
            self.changed[j] = self.hit[j] = 0
            if self.alpha[j] != 0:
                S[b.n] = j
                b.n += 1
        self.n_changed = self.n_hit = self.n_since = 0
        for s in range(b.n):
            q = <const double*> self.address[S[s]]
            for t in range(b.n):
                b.Q[s * B_MAX + t] = q[S[t]]
            current[s] = self.alpha[S[s]]
            gradient[s] = self.F[S[s]]
            active[s] = 1
            b.sign[s] = 1 if current[s] > 0 else -1
            b.lower[s] = 0 if current[s] > 0 else -self.C
            b.upper[s] = self.C if current[s] > 0 else 0
        found = optimize(&b, active, current, gradient, new)
        self.n_solves += b.n_solves
        if not found:
            return
        for s in range(b.n):
            delta[s] = new[s] - current[s]
        for s in range(b.n):
            decrease -= delta[s] * (gradient[s] + epsilon * b.sign[s])
            for t in range(b.n):
                decrease -= 0.5 * delta[s] * b.Q[s * B_MAX + t] * delta[t]
        if not decrease > 0:
            return
        self.n_blocks += 1
        for s in range(b.n):
            q = <const double*> self.address[S[s]]
            for j in range(self.F.shape[0]):
                self.F[j] += q[j] * delta[s]
            self.alpha[S[s]] = new[s]


cdef struct Block:
    Py_ssize_t n
    int n_solves
    double epsilon
    double[B_MAX * B_MAX] Q
    double[B_MAX] sign, lower, upper


cdef bint optimize(
    Block* b, const unsigned char* active, const double* current, const double* gradient,
    double* new
) noexcept nogil:
    # Appendix B. False: given up. `gradient` is F at `current`.
    cdef double[B_MAX * B_MAX] A
    cdef double[B_MAX] x
    cdef Py_ssize_t[B_MAX] index
    cdef unsigned char[B_MAX] bounded
    cdef Py_ssize_t s, t, first = -1
    cdef int n = 0, one = 1, info = 0, n_bounded = 0
    cdef double value
    for s in range(b.n):
        new[s] = current[s]
        bounded[s] = 0
        if active[s]:
            index[n] = s
            n += 1
    if n == 0:
        return True
    b.n_solves += 1
    if b.n_solves > MAX_SOLVES:
        return False
    for s in range(n):
        x[s] = -(gradient[index[s]] + b.epsilon * b.sign[index[s]])
        for t in range(n):
            A[s * n + t] = b.Q[index[s] * B_MAX + index[t]]
    dposv(<char*> b"L", &n, &one, A, &n, x, &n, &info)  # x = A^-1 x
    if info != 0:
        return False
    for s in range(n):
        t = index[s]
        value = current[t] + x[s]
        new[t] = clip(value, b.lower[t], b.upper[t])
        if new[t] != value:
            bounded[t] = 1
            n_bounded += 1
            if first < 0:
                first = t
    if n_bounded > GIVE_UP:
        return False
    if n_bounded > 0:
        return reoptimize(b, active, current, gradient, bounded, first, new)
    return True


cdef bint reoptimize(
    Block* b, const unsigned char* active, const double* current, const double* gradient,
    const unsigned char* bounded, Py_ssize_t fixed, double* new
) noexcept nogil:
    # Put variable `fixed` on its bound new[fixed] and solve for the others. If another bounded
    # variable then stays on its bound too, let that one be the fixed one instead.
    cdef unsigned char[B_MAX] rest, others
    cdef double[B_MAX] start, shifted, result
    cdef Py_ssize_t s
    for s in range(b.n):
        rest[s] = active[s] and s != fixed
        others[s] = bounded[s] and s != fixed
        start[s] = new[s] if s == fixed else current[s]
        shifted[s] = gradient[s] + b.Q[fixed * B_MAX + s] * (new[fixed] - current[fixed])
    if not optimize(b, rest, start, shifted, result):
        return False
    for s in range(b.n):
        if others[s] and result[s] == new[s]:
            return reoptimize(b, active, current, gradient, others, s, new)
    for s in range(b.n):
        new[s] = result[s]
    return True
