"""The loop of ``psvm._core._smo`` in plain NumPy: the twin that the compiled one must match.

The names, the order of the candidates and the ties are the same, so that the two can be compared
step by step.
"""

import numpy as np
import scipy.linalg

from ..problem import kkt_violation

CONVERGED, NEED_COLUMN, MAX_STEPS, STALLED = range(4)
B_C, B_N, B_F, GIVE_UP, MAX_SOLVES = 4, 21, 3, 4, 1000
PARALLEL = 1e-9


class NumpyCore:
    """State of one SMO run; see ``psvm._core._smo.Core``."""

    def __init__(self, alpha, F, columns, C, pair, block):
        self.alpha, self.F, self.columns = alpha, F, columns
        self.C, self.pair, self.block = C, pair, block
        self.needed = self.n_iter = self.n_blocks = 0
        self._reset()

    def _reset(self):
        self._members, self._hit, self._n_since = [], set(), 0

    def run(self, epsilon, threshold, max_steps):
        """Make at most `max_steps` steps; returns an event code."""
        for _ in range(max_steps):
            d = kkt_violation(self.alpha, self.F, self.C, epsilon)
            i = int(np.argmax(d))
            if not d[i] > threshold:
                return CONVERGED
            if i not in self.columns.kept:
                self.needed = i
                return NEED_COLUMN
            step = self._pair_step(i, epsilon) if self.pair else None
            if step is None:
                step = [(i, single_step(self.alpha[i], self.F[i], self.C, epsilon))]
            for j, value in step:
                if j not in self.columns.kept and value != self.alpha[j]:
                    self.needed = j
                    return NEED_COLUMN
            moved = [self._move(j, value) for j, value in step]
            if not any(moved):
                return STALLED
            self.n_iter += 1
            self._n_since += 1
            if self.block and (
                len(self._hit) >= B_C
                or len(self._members) >= B_N
                or self._n_since >= B_F * len(self._members)
            ):
                self._block_update(epsilon)
        d = kkt_violation(self.alpha, self.F, self.C, epsilon)
        return MAX_STEPS if d.max(initial=0.0) > threshold else CONVERGED

    def _pair_step(self, i, epsilon):
        """Eq. 26: the partner with the largest corrected step, over all signs that are possible."""
        alpha, F, C, q = self.alpha, self.F, self.C, self.columns.kept[i]
        allowed = 1 - q * q > PARALLEL
        allowed[i] = False
        sizes, values_i, values_k = [], [], []
        for s_i in (1, -1):
            for s_k in (1, -1):
                v_i, v_k = pair_minimum(alpha[i], F[i], s_i, alpha, F, s_k, q, C, epsilon)
                possible = allowed & (s_k * alpha >= 0) & (s_i * alpha[i] >= 0)
                size = np.maximum(np.abs(v_i - alpha[i]), np.abs(v_k - alpha))
                sizes.append(np.where(possible, size, 0.0))
                values_i.append(v_i)
                values_k.append(v_k)
        sizes = np.array(sizes)
        k = int(np.argmax(sizes.max(axis=0)))
        signs = int(np.argmax(sizes[:, k]))
        if not sizes[signs, k] > 0:
            return None
        return [(i, values_i[signs][k]), (k, values_k[signs][k])]

    def _move(self, j, value):
        delta = value - self.alpha[j]
        if delta == 0:
            return False
        self.F += self.columns.kept[j] * delta
        self.alpha[j] = value
        if j not in self._members:
            self._members.append(j)
        if abs(value) >= self.C:
            self._hit.add(j)
        return True

    def _block_update(self, epsilon):
        """Section 3.2: solve eq. 19 for the changed non-zero variables, signs fixed."""
        S = [j for j in self._members if self.alpha[j] != 0]
        self._reset()
        if not S:
            return
        Q = np.array([self.columns.kept[j][S] for j in S])
        current, sign = self.alpha[S], np.sign(self.alpha[S])
        block = Block(Q, sign, self.C, epsilon)
        new = block.optimize(list(range(len(S))), current, self.F[S])
        if new is None:
            return
        delta = new - current
        decrease = -delta @ (self.F[S] + epsilon * sign) - 0.5 * delta @ Q @ delta
        if not decrease > 0:
            return
        self.n_blocks += 1
        for j, delta_j in zip(S, delta, strict=True):
            self.F += self.columns.kept[j] * delta_j
        self.alpha[S] = new


def single_step(a, F, C, epsilon):
    """Appendix A: the new value of one variable."""
    up, down = np.clip(a - F - epsilon, 0, C), np.clip(a - F + epsilon, -C, 0)
    if a != 0:
        return up if a > 0 else down
    return up if abs(up) >= abs(down) else down


def pair_minimum(a_i, F_i, s_i, a_k, F_k, s_k, q, C, epsilon):
    """Section 3.1: minima over the boxes of the signs (s_i, s_k), for all k at once."""
    lower_i, upper_i = (0.0, C) if s_i > 0 else (-C, 0.0)
    lower_k, upper_k = (0.0, C) if s_k > 0 else (-C, 0.0)
    g_i, g_k = F_i + epsilon * s_i, F_k + epsilon * s_k
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / (1 - q * q)
        u_i = a_i + (g_k * q - g_i) * inverse  # eq. 22
        u_k = a_k + (g_i * q - g_k) * inverse
    c_i, c_k = np.clip(u_i, lower_i, upper_i), np.clip(u_k, lower_k, upper_k)
    out_i, out_k = u_i != c_i, u_k != c_k
    t_k = a_k - g_k - q * (c_i - a_i)  # best alpha_k with alpha_i at its bound
    t_i = a_i - g_i - q * (c_k - a_k)
    back_k = np.where(u_k > upper_k, t_k <= upper_k, t_k >= lower_k)
    back_i = np.where(u_i > upper_i, t_i <= upper_i, t_i >= lower_i)
    b_or_d = out_i & (~out_k | back_k)
    c_or_e = ~b_or_d & out_k & (~out_i | back_i)
    return (
        np.where(c_or_e, np.clip(t_i, lower_i, upper_i), c_i),
        np.where(b_or_d, np.clip(t_k, lower_k, upper_k), c_k),
    )


class Block:
    """Appendix B: the recursive block update. Lists of indices take the place of linked lists."""

    def __init__(self, Q, sign, C, epsilon):
        self.Q, self.sign, self.epsilon = Q, sign, epsilon
        self.lower, self.upper = np.where(sign > 0, 0.0, -C), np.where(sign > 0, C, 0.0)
        self.n_solves = 0

    def optimize(self, active, current, gradient):
        """Optimal values with the variables in `active` free; None if given up."""
        if not active:
            return current
        self.n_solves += 1
        if self.n_solves > MAX_SOLVES:
            return None
        right = -(gradient[active] + self.epsilon * self.sign[active])
        _, x, info = scipy.linalg.lapack.dposv(self.Q[np.ix_(active, active)], right, lower=True)
        if info != 0:
            return None
        value = current[active] + x
        new = current.copy()
        new[active] = np.clip(value, self.lower[active], self.upper[active])
        bounded = [j for j, v in zip(active, value, strict=True) if new[j] != v]
        if len(bounded) > GIVE_UP:
            return None
        if bounded:
            return self.reoptimize(active, current, gradient, new, bounded, bounded[0])
        return new

    def reoptimize(self, active, current, gradient, new, bounded, fixed):
        """Put `fixed` on its bound and solve for the others, or for another one of `bounded`."""
        start = current.copy()
        start[fixed] = new[fixed]
        shifted = gradient + self.Q[fixed] * (new[fixed] - current[fixed])
        result = self.optimize([j for j in active if j != fixed], start, shifted)
        if result is None:
            return None
        others = sorted(j for j in bounded if j != fixed)
        for j in others:
            if result[j] == new[j]:
                return self.reoptimize(active, current, gradient, new, others, j)
        return result
