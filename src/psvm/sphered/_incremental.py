"""The incremental solver: the sphered space is grown point by point.

This is section 3.2 of Hochreiter, Mohr & Obermayer 2004, whose equations are cited by number.

The weight vector is sought in the span of a few *basis* points. With the coordinates G of all
points in an orthonormal basis of that span (``G G'`` is the Gram matrix of the projections) the
problem restricted to the span is that of::

    R_n = G_c S^-1 G_c'        S = (1 - lam) G_c'D G_c + lam I        G_c = G - 1 mean(G)

with the weights of the points in the diagonal matrix D and in the mean. All L points take part in
the sphering and in the constraints, so that nothing but the span is approximated. A new point adds
a column to G, and a row and a column to the inverse of S by eqs. 49-51, in O(L n). How much is lost
outside of the span is known: with ``r = v - (1 - lam) D R_n v`` the optimum of the full problem is
at most ``r'(K - G G')r / (2 lam)`` below.
"""

from dataclasses import replace

import numpy as np
import scipy.linalg as sl

from ..solvers import EPS, Status, minimise, primal
from ._machine import SpheredMachine

GROWTH = 0.5
"""Share by which the basis grows before the dual is solved again."""
FEWEST = 16
"""Points that join at least."""
INDEPENDENT = 1e-11
"""Share of a point's squared norm that must lie outside of the span for it to join: a hundred times
less is rounding, ten times more is too much to lose for 1 of 600 problems with lam of 0.01."""
ROUGH = 0.03
"""KKT violation that is good enough while the basis grows."""
DRIFT = 1e-12
"""Error of the coordinates and of the inverse from which on they are computed anew."""
SLACK = 0.005
"""The loss outside of the span may be this share of `tol` times the objective,"""
LEAST = 1e-7
"""and this share of it in any case, which points that are independent enough can reach."""


def solve_incremental(K, diagonal, target, *, lam, center, limits, most=None):
    """The machine of the kernel matrix K, or None if more than `most` basis points are needed."""
    n_iter, v = 0, None
    y, weights = target.y, target.weights
    basis = Basis(K, diagonal, weights, lam=lam, center=center)
    for label in (-1.0, 1.0):
        own = np.flatnonzero(y == label)
        basis.join(own[np.argmax(diagonal[own])])
    limits.check_time()
    classes = weights * (y - target.share @ y)
    basis.grow(basis.outside(classes, K.matvec(classes)), FEWEST, limits)
    tol, before = max(limits.tol, ROUGH), 0
    while True:
        solution = minimise(basis, target, limits.rest(n_iter, tol), v)
        v, n_iter = solution.v, n_iter + solution.n_iter
        residual = v - (1.0 - lam) * weights * solution.values
        residual -= basis.share * residual.sum()
        products = K.matvec(residual) if v.any() else np.zeros_like(v)
        h = basis.outside(residual, products)
        loss = abs(float(residual @ h)) / (2.0 * lam)  # negative by rounding only
        allowed = max(SLACK * limits.tol, LEAST) * solution.objective
        # A basis that did not grow took in points and found them dependent on the others.
        complete = loss <= allowed or basis.n <= before or not basis.candidates().any()
        finished = complete and tol == limits.tol
        if finished or limits.clock.over or solution.status is Status.MAX_ITER:
            status = solution.status
            if not finished and status is not Status.MAX_ITER:
                status = Status.MAX_TIME
            elif finished and status is Status.OPTIMAL and loss > allowed:
                status = Status.STALLED
            solution = replace(solution, n_iter=n_iter, status=status)
            return basis.machine(solution, target, residual, products)
        if complete:
            tol = limits.tol
            continue
        if most is not None and basis.n >= most:
            return None
        before = basis.n
        basis.grow(h, max(FEWEST, int(GROWTH * basis.n)), limits)


class Basis:
    """Basis points, the coordinates of all points in their span, and the inverse of S.

    It is the matrix ``R_n`` of the dual.
    """

    def __init__(self, K, diagonal, weights, *, lam, center):
        self.K, self.lam = K, lam
        self.weights, self.total = weights, weights.sum()
        # what a mean is a product with
        self.share = weights / self.total if center else np.zeros_like(weights)
        self.squares, self.rest = diagonal, diagonal.copy()
        self.n = 0
        self.points = np.empty(0, dtype=np.intp)
        self._G = np.empty((len(diagonal), FEWEST), order="F")
        self._S = np.empty((FEWEST, FEWEST))
        self._S_inverse = np.empty((FEWEST, FEWEST))
        self._means = np.empty(FEWEST)

    # The three parts in use of their buffers.
    @property
    def G(self):
        """Coordinates of all points, of shape (L, n)."""
        return self._G[:, : self.n]

    @property
    def S(self):
        """``(1 - lam) G_c'D G_c + lam I``."""
        return self._S[: self.n, : self.n]

    @property
    def S_inverse(self):
        """Its inverse."""
        return self._S_inverse[: self.n, : self.n]

    @property
    def means(self):
        """What is subtracted from the coordinates: their means, or 0."""
        return self._means[: self.n]

    def block(self, index):
        """``R_n[index][:, index]``."""
        lower = sl.cholesky(self.S, lower=True, check_finite=False)
        G = self.G[index] - self.means
        Z = sl.solve_triangular(lower, G.T, lower=True, overwrite_b=True, check_finite=False)
        return Z.T @ Z

    def product(self, v):
        """``R_n v``."""
        omega = self.direction(v)
        return self.G @ omega - self.means @ omega

    def direction(self, v):
        """The weight vector ``S^-1 G_c'v``."""
        return self.S_inverse @ (v @ self.G - self.means * v.sum())

    def diagonal(self):
        """The diagonal of ``R_n``."""
        G = self.G - self.means
        return np.einsum("ij,ij->i", G @ self.S_inverse, G)

    def outside(self, r, products):
        """``(K - G G')r`` from ``K r``: products with what ``sum_i r_i x_i`` has outside."""
        return products - self.G @ (r @ self.G)

    def candidates(self):
        """The points that are not in the span."""
        return self.rest > INDEPENDENT * self.squares

    def grow(self, h, count, limits):
        """Let the points join that lessen the loss most; h is the result of `outside`."""
        for _ in range(count):
            possible = self.candidates()
            if limits.clock.over or not possible.any():
                break
            gain = np.divide(h * h, self.rest, out=np.zeros_like(h), where=possible)
            j = int(gain.argmax())
            share = h[j] / np.sqrt(self.rest[j])
            h = h - share * self.join(j)
        self._refresh_if_drifted()

    def join(self, j):
        """Add point j to the basis; returns its column of G."""
        self._reserve()
        n, G = self.n, self.G
        g = self.K.columns(np.array([j]))[:, 0] - G @ G[j]
        g /= np.sqrt(self.rest[j])
        mean, weighted = self.share @ g, self.weights * g
        k = weighted @ G - self.total * mean * self.means
        self._border(k, weighted @ g - self.total * mean * mean)
        self._G[:, n], self._means[n] = g, mean
        self.points = np.append(self.points, j)
        self.rest = np.maximum(self.rest - g * g, 0.0)
        self.rest[j] = 0.0
        self.n = n + 1
        return g

    def _border(self, k, kk):
        """Eqs. 49-51 with the products k of the new column with the old ones, kk with itself."""
        n, share = self.n, 1.0 - self.lam
        inverse, q = self.S_inverse, share * k
        z = inverse @ q
        rho = share * kk + self.lam - q @ z
        self._S[n, :n] = self._S[:n, n] = q
        self._S[n, n] = share * kk + self.lam
        inverse += np.multiply.outer(z, z / rho)
        self._S_inverse[n, :n] = self._S_inverse[:n, n] = -z / rho
        self._S_inverse[n, n] = 1.0 / rho

    def _refresh_if_drifted(self):
        """Compute everything anew if products of the basis points are not what they should be."""
        probe = np.cos(np.arange(self.n))
        drift = np.abs(self.S @ (self.S_inverse @ probe) - probe).max()
        K_B = self.K.columns(self.points)
        error = np.abs(K_B @ probe - self.G @ (probe @ self.G[self.points])).max()
        if max(drift, error / self.squares.max()) > DRIFT:
            self._refresh(K_B)

    def _refresh(self, K_B):
        """Coordinates and inverse from the kernel values of the basis points."""
        lower, failed = sl.lapack.dpotrf(K_B[self.points], lower=True, clean=True)
        if failed:  # this point depends on those before it, and rounding had hidden that
            kept = np.arange(self.n) != failed - 1
            self.points, self.n = self.points[kept], self.n - 1
            return self._refresh(K_B[:, kept])
        G = sl.solve_triangular(lower, K_B.T, lower=True, check_finite=False).T
        self._G[:, : self.n] = G
        self._means[: self.n] = self.share @ G
        self.rest = np.maximum(self.squares - np.einsum("ij,ij->i", G, G), 0.0)
        self.rest[self.points] = 0.0
        return self._refresh_inverse()

    def _refresh_inverse(self):
        G = self.G
        square = G.T @ (self.weights[:, None] * G)
        S = (1.0 - self.lam) * (square - self.total * np.multiply.outer(self.means, self.means))
        S.flat[:: self.n + 1] += self.lam
        self._S[: self.n, : self.n] = S
        factor = sl.cho_factor(S, check_finite=False)
        self._S_inverse[: self.n, : self.n] = sl.cho_solve(factor, np.eye(self.n))

    def machine(self, solution, target, residual, products):
        """The classifier in terms of the basis points, with a certificate of the full problem."""
        omega = self.direction(solution.v)
        coef = self._to_points(omega)
        raw = self.K.columns(self.points) @ coef
        intercept = float(solution.b - self.share @ raw)
        square = max(float(coef @ raw[self.points]), 0.0)
        return SpheredMachine(
            solution=self._certified(solution, target, raw, square, coef, residual, products),
            objects=self.points,
            coef=coef,
            intercept=intercept,
            norm=float(np.sqrt(square)),
            weights=self.weights,
        )

    def _certified(self, solution, target, raw, square, coef, residual, products):
        """The solution with a lower bound of the optimum as its objective, and the gap to it.

        For every r and ``p = v - r`` is ``v'R v <= r'K_c r / lam + p'D^-1 p / (1 - lam)``, with
        equality for the optimal ``p = (1 - lam) D R v``. With ``R_n`` in p that is a bound of the
        dual objective from below; the primal objective of the coefficients is one from above.
        Both are computed from kernel values: errors of the coordinates and of the inverse make
        the gap larger and cannot hide. What is left is the rounding of the sums themselves.
        """
        lam, y, v = self.lam, target.y, solution.v
        values = raw - self.share @ raw
        spread = self.weights @ solution.values**2
        lower = float(y @ v - 0.5 * (residual @ products) / lam - 0.5 * (1.0 - lam) * spread)
        total = (1.0 - lam) * (self.weights @ values**2) + lam * square
        upper = primal(total, y * (values + solution.b), target.bound)
        norms = np.sqrt(self.squares)
        slack = target.bound if np.isfinite(target.C) else np.abs(v)
        sums = (norms @ np.abs(residual)) ** 2 / lam
        sums += (slack @ norms) * (norms[self.points] @ np.abs(coef))
        gap = float(max(upper - lower, 0.0) + EPS * sums)
        return replace(solution, values=values, objective=lower, gap=gap)

    def _to_points(self, omega):
        """Coefficients of the basis points from those of the orthonormal basis."""
        factor = self.G[self.points]
        return sl.solve_triangular(factor, omega, lower=True, trans="T", check_finite=False)

    def _reserve(self):
        n, room = self.n, self._G.shape[1]
        if n < room:
            return
        more = min(2 * room, len(self.squares))
        for name, shape, order in (
            ("_G", (len(self.squares), more), "F"),
            ("_S", (more, more), "C"),
            ("_S_inverse", (more, more), "C"),
            ("_means", (more,), "C"),
        ):
            old, new = getattr(self, name), np.empty(shape, order=order)
            new[tuple(slice(size) for size in old.shape)] = old
            setattr(self, name, new)
