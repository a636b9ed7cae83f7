# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""Several machines that share their support, from a Gram matrix.

    minimise   D(A) = 1/2 tr(A'Q A) - tr(A'B) + epsilon sum_j ||A_j||    over A (m x T), rows A_j

by proximal points: each one minimises ``D(A) + ||A - A_old||^2 / (2 sigma)``. With
``H = Q Z - B``, ``u = A_old - sigma H`` and ``X_j = max(0, 1 - sigma epsilon / ||u_j||) u_j`` its
solution is the Z with ``Z = X(Z)``, and this Z also minimises the smooth convex function

    phi(Z) = 1/2 tr(Z'Q Z) + ||X||^2 / (2 sigma)

A semismooth Newton step ``(I + sigma V Q) step = X - Z``, V the Jacobian of X by u, almost always
has length one, however correlated the columns are, where sweeps over the rows take thousands.
V is zero in rows with X_j = 0, and in the others (S), with ``v_j = u_j / ||u_j||`` and
``t_j = sigma epsilon / (||u_j|| - sigma epsilon)``, ``V_j^-1 = (1 + t_j) I - t_j v_j v_j'``. So the
matrix of the step is

    (sigma Q_SS + I + diag t) (x) I  -  sum_j t_j (e_j (x) v_j)(e_j (x) v_j)'

and two factors of the size of S solve with it (Woodbury), whatever the number of machines.
The algorithm is that of Zhang, Zhang, Sun and Toh (2020, Mathematical Programming 179, 223-263),
in terms of Q.

Proximal points find the rows that are not zero. Once these are almost known, Newton steps on D
itself need no centre and end in two or three: with ``v_j = A_j / ||A_j||`` and
``t_j = sigma epsilon / ||A_j||`` their matrix is the one above, and sigma only keeps it regular. A
row that would turn over leaves in the next step. If that does not settle, proximal points go on.

Contract: arrays of doubles by columns, Q symmetric with diagonal 0 or 1, epsilon > 0, A and G fit
together, and nothing is checked.
"""

from libc.math cimport fabs, sqrt
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemm, dger, dsymm, dtrmm
from scipy.linalg.cython_lapack cimport dlauum, dpotrf, dpotrs, dtrtri

import numpy as np

cdef enum:
    HALVINGS = 40    # of a Newton step
    PATIENCE = 10    # proximal points without progress
    MOST_STEPS = 15  # Newton steps for one proximal point
    LAST_STEPS = 8   # and on D itself
    FEW = 2          # rows that may turn over at any step, others at fewer and fewer
    BLOCK = 64       # triangles up to this size are inverted at once

cdef double WIDTH = 30.0      # first sigma, as a multiple of max ||A_j|| / epsilon
cdef double GROWTH = 5.0      # of sigma, from one proximal point to the next
cdef double RETREAT = 10.0    # of sigma, where Newton's method did not find the proximal point
cdef double WIDEST = 1e5      # largest sigma over the first one
cdef double STIFFEST = 1e8    # largest t_j in the Newton matrix
cdef double CLOSE = 0.1       # violation over epsilon from which steps on D itself are tried,
cdef double CLOSER = 0.1      # and that over the last such violation
cdef double SHARPEST = 1e8    # their sigma
cdef double SHORTEST = 1e-3   # length of a row that enters, over that of the longest
cdef double SHARE = 0.3       # error of a proximal point, as a share of its distance
cdef double SLOPE = 0.5       # share of the first slope that may be left at the end of a step
cdef double ROUNDING = 1e-14  # changes of D over its penalty that mean nothing
cdef double PROGRESS = 1e-9   # and those that are worth another proximal point


cdef class GroupNewton:
    """The loops and their memory, which grows with the problems that it is given.

    Attributes
    ----------
    n_iter : int
        Newton steps so far.
    """

    cdef readonly Py_ssize_t n_iter
    cdef Py_ssize_t m, T, k
    cdef double epsilon, sigma, noise, gain
    cdef double[::1] _memory
    cdef Py_ssize_t[::1] _active
    cdef double *Q
    cdef double *A      # A_old
    cdef double *Z
    cdef double *G      # Q A_old - B
    cdef double *H      # Q Z - B
    cdef double *X
    cdef double *step
    cdef double *image  # Q step
    cdef double *norms  # of the rows of u
    cdef double *R      # systems of the size of S: right-hand sides,
    cdef double *V      # unit rows v_j,
    cdef double *M      # sigma Q_SS + I + diag t, and its inverse,
    cdef double *W      # what Woodbury's formula adds,
    cdef double *t      # and square roots of t
    cdef double *stays  # of steps on D: 1 for the rows of S, -1 for those that just left, else 0
    cdef Py_ssize_t *S

    def minimise(
        self, const double[::1, :] Q, double[::1, :] A, double[::1, :] G, double epsilon,
        double allowed, double noise, Py_ssize_t max_iter, clock,
    ):
        """Change A and its gradient G in place until no KKT violation is above `allowed`.

        `noise` is the rounding of a row of G. Between proximal points `clock.over` may end it.

        Returns
        -------
        float
            The largest violation; more than `allowed` after `max_iter` steps, when the time is
            over, or if double precision admits no better.
        """
        cdef double violation, best, widest, close = CLOSE * epsilon
        cdef Py_ssize_t patience = PATIENCE, last = self.n_iter + max_iter
        self.m, self.T, self.epsilon, self.noise = A.shape[0], A.shape[1], epsilon, noise
        self._reserve()
        self.Q, self.A, self.G = <double*> &Q[0, 0], &A[0, 0], &G[0, 0]
        violation = best = self.violation(self.A, self.G)
        self.sigma = WIDTH * self.size() / epsilon
        widest = WIDEST * self.sigma
        while violation > allowed and patience > 0 and self.n_iter < last and not clock.over:
            with nogil:
                if violation <= close:
                    close = CLOSER * violation
                    if self.settle(allowed, last):
                        violation = self.violation(self.A, self.G)
                        break
                if self.proximal_point(allowed, last):
                    self.sigma = min(GROWTH * self.sigma, widest)
                else:
                    self.sigma /= RETREAT
                violation = self.violation(self.A, self.G)
                if violation < 0.9 * best or self.gain > PROGRESS:
                    patience = PATIENCE
                else:
                    patience -= 1
                best = min(best, violation)
        return violation

    def _reserve(self):
        """Memory for a problem of this size."""
        cdef Py_ssize_t m = self.m, T = self.T, size = 7 * m * T + 2 * m * m + 3 * m
        if self._memory is None or self._memory.shape[0] < size:
            self._memory = np.empty(size + size // 2)
        if self._active is None or self._active.shape[0] < m:
            self._active = np.empty(m + m // 2, dtype=np.intp)
        self.S = &self._active[0]
        self.Z = &self._memory[0]
        self.H = self.Z + m * T
        self.X = self.H + m * T
        self.step = self.X + m * T
        self.image = self.step + m * T
        self.R = self.image + m * T
        self.V = self.R + m * T
        self.M = self.V + m * T
        self.W = self.M + m * m
        self.t = self.W + m * m
        self.norms = self.t + m
        self.stays = self.norms + m

    cdef double violation(self, const double* A, const double* G) noexcept nogil:
        # Largest ||G_j + epsilon A_j / ||A_j|| ||, and ||G_j|| - epsilon where A_j = 0
        cdef Py_ssize_t i, j, c, m = self.m
        cdef double weight, g, here, most = 0
        for j in range(m):
            weight = self.norm(A, j)
            if weight > 0:
                weight = self.epsilon / weight
                here = 0
                for c in range(self.T):
                    i = j + c * m
                    g = G[i] + weight * A[i]
                    here += g * g
                here = sqrt(here)
            else:
                here = self.norm(G, j) - self.epsilon
            most = max(most, here)
        return most

    cdef double norm(self, const double* x, Py_ssize_t j) noexcept nogil:
        # np.linalg.norm(x[j])
        cdef Py_ssize_t i, c
        cdef double total = 0
        for c in range(self.T):
            i = j + c * self.m
            total += x[i] * x[i]
        return sqrt(total)

    cdef double size(self) noexcept nogil:
        # Length of the longest row, now or after a step of its own
        cdef Py_ssize_t j
        cdef double most = 0
        for j in range(self.m):
            most = max(most, self.norm(self.A, j), self.norm(self.G, j) - self.epsilon)
        return most

    cdef bint proximal_point(self, double allowed, Py_ssize_t last) noexcept nogil:
        # A and G become those of the next proximal point, if D decreases; True if it was found
        cdef Py_ssize_t _, n = self.m * self.T
        cdef int count = <int> n, one = 1
        cdef bint found = False
        cdef double unit = 1, at_Z, least = SHARE * max(allowed, self.sigma * self.noise)
        memcpy(self.Z, self.A, n * sizeof(double))
        memcpy(self.H, self.G, n * sizeof(double))
        self.project(0)
        for _ in range(MOST_STEPS):
            if self.n_iter >= last or not self.newton():
                break
            if self.mismatch() <= max(least, SHARE * self.distance()):
                found = True
                break
        self.mismatch()
        # The norms of X have the rounding of H times sigma; then Z is more accurate
        at_Z = self.violation(self.Z, self.H)
        memcpy(self.step, self.H, n * sizeof(double))
        daxpy(&count, &unit, self.image, &one, self.H, &one)
        if at_Z < self.violation(self.X, self.H):
            memcpy(self.X, self.Z, n * sizeof(double))
            memcpy(self.H, self.step, n * sizeof(double))
        self.gain = self.decrease()
        if self.gain >= 0:
            memcpy(self.A, self.X, n * sizeof(double))
            memcpy(self.G, self.H, n * sizeof(double))
        return found

    cdef double decrease(self) noexcept nogil:
        # (D(A) - D(X)) / penalty for the gradients G and H, and 0 for what may be rounding
        cdef Py_ssize_t i, j
        cdef double smooth = 0, new = 0, old = 0, gain
        for i in range(self.m * self.T):
            smooth += 0.5 * (self.G[i] + self.H[i]) * (self.X[i] - self.A[i])
        for j in range(self.m):
            new += self.norm(self.X, j)
            old += self.norm(self.A, j)
        if new + old == 0:
            return 0
        gain = (old - new - smooth / self.epsilon) / (new + old)
        return 0 if fabs(gain) <= ROUNDING else gain

    cdef double mismatch(self) noexcept nogil:
        # image = Q (X - Z), the part of the violation at X for which Newton steps remain
        cdef Py_ssize_t i, j
        cdef double most = 0
        for i in range(self.m * self.T):
            self.step[i] = self.X[i] - self.Z[i]
        self.multiply()
        for j in range(self.m):
            most = max(most, self.norm(self.image, j))
        return most

    cdef double distance(self) noexcept nogil:
        # ||X_j - A_j|| / sigma at most: the other part of the violation
        cdef Py_ssize_t i, j, c, m = self.m
        cdef double x, total, most = 0
        for j in range(m):
            total = 0
            for c in range(self.T):
                i = j + c * m
                x = self.X[i] - self.A[i]
                total += x * x
            most = max(most, total)
        return sqrt(most) / self.sigma

    cdef void multiply(self) noexcept nogil:
        # image = Q @ step
        cdef int m = <int> self.m, T = <int> self.T
        cdef double unit = 1, zero = 0
        dgemm(
            <char*> b"N", <char*> b"N", &m, &T, &m, &unit, self.Q, &m, self.step, &m,
            &zero, self.image, &m,
        )

    cdef void project(self, double share) noexcept nogil:
        # X at this share of the step: u = A - sigma (H + share image), X = soft(u)
        cdef Py_ssize_t i, j, c, m = self.m
        cdef double norm, factor, limit = self.sigma * self.epsilon
        for i in range(m * self.T):
            self.X[i] = self.A[i] - self.sigma * self.H[i]
        if share != 0:
            for i in range(m * self.T):
                self.X[i] -= self.sigma * share * self.image[i]
        for j in range(m):
            norm = self.norms[j] = self.norm(self.X, j)
            factor = 1 - limit / norm if norm > limit else 0
            for c in range(self.T):
                i = j + c * m
                self.X[i] *= factor

    cdef bint newton(self) noexcept nogil:
        # A step of Z, as long as phi decreases; False if it does not
        cdef int count = <int> (self.m * self.T), one = 1
        cdef double share
        self.n_iter += 1
        if not self.direction():
            return False
        share = self.length()
        self.project(share)
        daxpy(&count, &share, self.step, &one, self.Z, &one)
        daxpy(&count, &share, self.image, &one, self.H, &one)
        return share > 0

    cdef bint direction(self) noexcept nogil:
        # The Newton step and its image; False if its matrix has no factor
        self.divide(self.norms, self.sigma * self.epsilon)
        if self.k == 0:
            return True
        self.right_hand_side()
        return self.solve()

    cdef void divide(self, const double* sizes, double limit) noexcept nogil:
        # Rows of S, whose size is above the limit, wait; the others become 0
        cdef Py_ssize_t i, j, c, k = 0, m = self.m, T = self.T
        cdef int m_ = <int> m, T_ = <int> T, one = 1
        cdef double unit = 1
        cdef bint leaves
        memset(self.image, 0, m * T * sizeof(double))
        for j in range(m):
            if sizes[j] > limit:
                self.S[k] = j
                k += 1
                for c in range(T):
                    self.step[j + c * m] = 0
            else:
                leaves = False
                for c in range(T):
                    i = j + c * m
                    leaves |= self.Z[i] != 0
                    self.step[i] = -self.Z[i]
                if leaves:  # a few rows at most
                    dger(
                        &m_, &T_, &unit, self.Q + j * m, &one, self.step + j, &m_, self.image, &m_
                    )
        self.k = k

    cdef bint solve(self) noexcept nogil:
        # The step of S for the right-hand sides R, and the image of all; False without a factor
        cdef Py_ssize_t i, c, k = self.k, m = self.m, T = self.T
        cdef int k_ = <int> k, T_ = <int> T, one = 1, info
        cdef double unit = 1, zero = 0
        if not self.factorise():
            return False
        # R = M @ R
        dsymm(
            <char*> b"L", <char*> b"L", &k_, &T_, &unit, self.M, &k_, self.R, &k_,
            &zero, self.image, &k_,
        )
        # norms = sqrt(t) inv(W) sqrt(t) (V * R).sum(1);  R += M @ (norms V)
        for i in range(k):
            self.norms[i] = self.t[i] * ddot(&T_, self.V + i, &k_, self.image + i, &k_)
        dpotrs(<char*> b"L", &k_, &one, self.W, &k_, self.norms, &k_, &info)
        for c in range(T):
            for i in range(k):
                self.R[i + c * k] += self.t[i] * self.norms[i] * self.V[i + c * k]
        dsymm(
            <char*> b"L", <char*> b"L", &k_, &T_, &unit, self.M, &k_, self.R, &k_,
            &zero, self.image, &k_,
        )
        for c in range(T):
            for i in range(k):
                self.step[self.S[i] + c * m] = self.image[i + c * k]
        self.multiply()
        return True

    cdef void right_hand_side(self) noexcept nogil:
        # R = inv(V_j) (X - Z) - sigma Q (the step of the other rows), and t, v_j
        cdef Py_ssize_t i, j, c, k = self.k, m = self.m, T = self.T
        cdef double limit = self.sigma * self.epsilon, t, along, rest, v
        for i in range(k):
            j = self.S[i]
            rest = self.norms[j] - limit
            # One machine has no directions to turn to
            t = limit / max(rest, limit / STIFFEST) if T > 1 else 0
            along = 0
            for c in range(T):
                v = self.X[j + c * m] / rest
                self.V[i + c * k] = v
                along += v * (self.X[j + c * m] - self.Z[j + c * m])
            for c in range(T):
                self.R[i + c * k] = (
                    (1 + t) * (self.X[j + c * m] - self.Z[j + c * m])
                    - t * along * self.V[i + c * k] - self.sigma * self.image[j + c * m]
                )
            self.t[i] = sqrt(t)

    cdef bint factorise(self) noexcept nogil:
        # M = inv(sigma Q_SS + I + diag(t));  W = chol(I - sqrt(t t') M (V V'))
        cdef Py_ssize_t i, j, k = self.k
        cdef int k_ = <int> k, T_ = <int> self.T, info
        cdef double unit = 1, zero = 0
        cdef const double *column
        for j in range(k):
            column = self.Q + self.S[j] * self.m
            for i in range(j, k):
                self.M[i + j * k] = self.sigma * column[self.S[i]]
            self.M[j + j * k] += 1 + self.t[j] * self.t[j]
        dpotrf(<char*> b"L", &k_, self.M, &k_, &info)
        if info != 0:
            return False
        invert(k_, self.M, k_)
        dlauum(<char*> b"L", &k_, self.M, &k_, &info)
        dgemm(
            <char*> b"N", <char*> b"T", &k_, &k_, &T_, &unit, self.V, &k_, self.V, &k_,
            &zero, self.W, &k_,
        )
        for j in range(k):
            for i in range(j, k):
                self.W[i + j * k] *= -self.t[i] * self.t[j] * self.M[i + j * k]
            self.W[j + j * k] += 1
        dpotrf(<char*> b"L", &k_, self.W, &k_, &info)
        return info == 0

    cdef bint settle(self, double allowed, Py_ssize_t last) noexcept nogil:
        # A and G become the solution by steps on D itself; False if these do not find it
        cdef Py_ssize_t _, j, n = self.m * self.T, turned, before = self.m
        cdef int count = <int> n, one = 1
        cdef double unit = 1, sigma = self.sigma, shortest = SHORTEST * self.size()
        cdef bint found = False
        memcpy(self.Z, self.A, n * sizeof(double))
        memcpy(self.H, self.G, n * sizeof(double))
        for j in range(self.m):
            self.stays[j] = self.norm(self.Z, j) > 0
        self.sigma = SHARPEST
        for _ in range(LAST_STEPS):
            for j in range(self.m):
                if self.stays[j] == 0 and self.norm(self.H, j) > self.epsilon + allowed / 2:
                    self.stays[j] = 1
            self.divide(self.stays, 0)
            self.tangent(shortest)
            if self.n_iter >= last or (self.k > 0 and not self.solve()):
                break
            self.n_iter += 1
            daxpy(&count, &unit, self.step, &one, self.Z, &one)
            daxpy(&count, &unit, self.image, &one, self.H, &one)
            turned = self.turn()
            if turned > max(before, FEW):
                break
            before = turned
            if turned == 0 and self.violation(self.Z, self.H) <= allowed:
                found = True
                memcpy(self.A, self.Z, n * sizeof(double))
                memcpy(self.G, self.H, n * sizeof(double))
                break
        self.sigma = sigma
        return found

    cdef void tangent(self, double shortest) noexcept nogil:
        # R = -sigma (H + epsilon v_j + Q (the step of the other rows)), and t, v_j, at Z
        cdef Py_ssize_t i, j, c, k = self.k, m = self.m, T = self.T
        cdef double length, v
        for i in range(k):
            j = self.S[i]
            length = self.norm(self.Z, j)
            # A row that enters goes against its gradient
            v = 1 / length if length > 0 else -1 / self.norm(self.H, j)
            for c in range(T):
                self.V[i + c * k] = v * (self.Z if length > 0 else self.H)[j + c * m]
                self.R[i + c * k] = -self.sigma * (
                    self.H[j + c * m] + self.epsilon * self.V[i + c * k] + self.image[j + c * m]
                )
            self.t[i] = sqrt(self.sigma * self.epsilon / (length or shortest)) if T > 1 else 0

    cdef Py_ssize_t turn(self) noexcept nogil:
        # Rows that have turned over do not stay, and are counted; others may enter again
        cdef Py_ssize_t i, c, j, m = self.m, count = 0
        cdef double along
        for j in range(m):
            if self.stays[j] < 0:
                self.stays[j] = 0
        for i in range(self.k):
            j, along = self.S[i], 0
            for c in range(self.T):
                along += self.V[i + c * self.k] * self.Z[j + c * m]
            if not along > 0:
                self.stays[j] = -1
                count += 1
        return count

    cdef double length(self) noexcept nogil:
        # phi is convex along the step: halve until its slope at the end is small
        cdef double low = 0, high = 1, share = 1, slope
        cdef double first = self.slope(0)
        cdef Py_ssize_t _
        if not first < 0:
            return 0
        for _ in range(HALVINGS):
            slope = self.slope(share)
            if fabs(slope) <= -SLOPE * first:
                return share
            if slope < 0:
                low = share
            else:
                high = share
            if low == 1:
                return 1
            share = 0.5 * (low + high)
        return low

    cdef double slope(self, double share) noexcept nogil:
        # phi' = tr(image' (Z + share step - X))
        cdef Py_ssize_t i
        cdef double total = 0
        self.project(share)
        for i in range(self.m * self.T):
            total += self.image[i] * (self.Z[i] + share * self.step[i] - self.X[i])
        return total


cdef void invert(int n, double* L, int width) noexcept nogil:
    # L = inv(L), the lower triangle of an array by columns; LAPACK's dtrtri is slow if it is large
    cdef int half = n // 2, rest = n - half, info
    cdef double unit = 1, minus = -1
    cdef double *below = L + half
    cdef double *corner = L + half * (<Py_ssize_t> width + 1)
    if n <= BLOCK:
        dtrtri(<char*> b"L", <char*> b"N", &n, L, &width, &info)
        return
    invert(half, L, width)
    invert(rest, corner, width)
    # below = -inv(corner) @ below @ inv(L)
    dtrmm(
        <char*> b"L", <char*> b"L", <char*> b"N", <char*> b"N", &rest, &half, &minus,
        corner, &width, below, &width,
    )
    dtrmm(
        <char*> b"R", <char*> b"L", <char*> b"N", <char*> b"N", &rest, &half, &unit,
        L, &width, below, &width,
    )
