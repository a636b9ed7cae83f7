"""The P-SVM problem once more, from its definition and in plain NumPy.

Nothing here uses the package: tests recompute with it what the package claims. Dense and slow on
purpose.
"""

from dataclasses import dataclass, field, replace
from decimal import Context, Decimal, localcontext
from functools import cached_property
from itertools import product

import numpy as np

CONSTANT = 1e-12  # a column whose centred norm is at most this share of its norm is constant
PRECISION = 1e-12  # share of ||K̃'y||_inf that double precision can certify
AGAIN = {"rtol": 1e-10, "atol": 1e-12}
"""The same sums once more: where its arrays lie elsewhere, BLAS may take them in another order."""


def assert_same_solution(model, other, X):
    """Two solutions of one problem are as close on the training rows as their gaps demand.

    The gap bounds ``D(alpha) - D(alpha*)``, and D is quadratic, so that this is at least
    ``||K̃ (alpha - alpha*)||^2 / 2``.
    """
    f, g = (getattr(m, "decision_function", m.predict)(X) for m in (model, other))
    bound = sum(np.sqrt(2 * np.max(m.dual_gap_)) for m in (model, other))
    assert np.linalg.norm(f - g) <= bound + 1e-10 * np.linalg.norm(f)


def decided(f, by=1e-6):
    """The premise of equal predictions: nothing is within `by` of changing its class."""
    top = np.sort(f, axis=1)[:, -2:] if np.ndim(f) == 2 else np.column_stack([0 * f, f])
    return np.abs(np.diff(top, axis=1)).min() > by


def standardise(K, y, weights=None):
    """K̃ and the centred target, for rows of weight w scaled by sqrt(w)."""
    K = np.asarray(K.toarray() if hasattr(K, "toarray") else K, dtype=np.float64)
    y = np.asarray(y, dtype=np.float64)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    K_c = K - w @ K / w.sum()
    K_c -= w @ K_c / w.sum()  # a second pass removes the rounding of a large mean
    s = np.sqrt(w @ K_c**2)
    constant = s <= CONSTANT * np.sqrt(w @ K**2)
    K_s = np.where(constant, 0.0, np.sqrt(w)[:, None] * K_c / np.where(constant, 1.0, s))
    y_c = y - w @ y / w.sum()
    return K_s, np.sqrt(w) * (y_c - w @ y_c / w.sum())


class Exact:
    """The problem in 250 decimal digits, without a smallest or a largest number.

    Attributes
    ----------
    K_s, y_c : object arrays
        K̃ and the centred target.
    losses : ndarray of shape (P,)
        Norms of the raw columns over those of the centred ones; infinite for constant columns.
    """

    context = Context(prec=250, Emax=10**6, Emin=-(10**6))

    def __init__(self, K, y, weights=None):
        w = np.ones(len(y)) if weights is None else weights
        with localcontext(self.context):
            K, y, w = self._decimals(K), self._decimals(y), self._decimals(w)
            root = self._roots(w)
            K_c = K - w @ K / w.sum()
            s, size = self._roots(w @ K_c**2), self._roots(w @ K**2)
            constant = s <= Decimal(CONSTANT) * size
            K_s = root[:, None] * K_c / np.where(constant, Decimal(1), s)
            self.K_s = np.where(constant, Decimal(0), K_s)
            self.y_c = root * (y - w @ y / w.sum())
            ratios = zip(size, s, constant, strict=True)
            self.losses = np.array([np.inf if c else float(a / b) for a, b, c in ratios])

    @staticmethod
    def _decimals(values):
        values = np.asarray(values)
        return np.array([Decimal(float(v)) for v in values.flat], dtype=object).reshape(
            values.shape
        )

    @staticmethod
    def _roots(values):
        return np.array([v.sqrt() for v in values], dtype=object)

    def gradient(self, alpha):
        with localcontext(self.context):
            F = self.K_s.T @ (self.K_s @ self._decimals(alpha) - self.y_c)
        return F.astype(float)

    @property
    def epsilon_max(self):
        return float(np.abs(self.gradient(np.zeros(self.K_s.shape[1]))).max(initial=0.0))

    def worst(self, alpha, C, epsilon):
        return max(violation(alpha, self.gradient(alpha), C, epsilon).max(initial=0.0), 0.0)


def gradient(K_s, y_c, alpha):
    return K_s.T @ (K_s @ alpha - y_c)


def objective(K_s, y_c, alpha, epsilon):
    u = K_s @ alpha
    return 0.5 * u @ u - (K_s.T @ y_c) @ alpha + epsilon * np.abs(alpha).sum()


def violation(alpha, F, C, epsilon):
    """Knebel et al. 2008, eq. 25, case by case."""
    d = np.empty(len(alpha))
    for j, (a, f) in enumerate(zip(alpha, F, strict=True)):
        if a == 0:
            d[j] = max(-f - epsilon, f - epsilon)
        elif a == C:
            d[j] = f + epsilon
        elif a == -C:
            d[j] = -f + epsilon
        elif a > 0:
            d[j] = abs(f + epsilon)
        else:
            d[j] = abs(-f + epsilon)
    return d


def primal(K_s, y_c, u, C, epsilon):
    """The primal in the values u on the training rows, for finite C."""
    slack = np.maximum(0.0, np.abs(K_s.T @ (u - y_c)) - epsilon)
    return 0.5 * u @ u + C * slack.sum()


def gap_box(K_s, y_c, alpha, C, epsilon):
    """Primal at u = K̃ alpha minus its dual -D(alpha), for finite C."""
    return primal(K_s, y_c, K_s @ alpha, C, epsilon) + objective(K_s, y_c, alpha, epsilon)


def gap_lasso(K_s, y_c, alpha, epsilon):
    """Lasso primal minus the dual at the residual, scaled to be feasible as well as possible."""
    r = y_c - K_s @ alpha
    largest = np.abs(K_s.T @ r).max(initial=0.0)
    limit = epsilon / largest if largest > 0 else np.inf
    best = (r @ y_c) / (r @ r) if r @ r > 0 else 0.0
    theta = min(max(best, -limit), limit) * r
    dual = 0.5 * y_c @ y_c - 0.5 * (y_c - theta) @ (y_c - theta)
    return 0.5 * r @ r + epsilon * np.abs(alpha).sum() - dual


def duality_gap(K_s, y_c, alpha, C, epsilon):
    if np.isinf(C):
        return gap_lasso(K_s, y_c, alpha, epsilon)
    return gap_box(K_s, y_c, alpha, C, epsilon)


def threshold(tol, epsilon, epsilon_max):
    """The violation that `tol` allows (docs/explanation/problem.md)."""
    return max(tol * (epsilon if epsilon > 0 else epsilon_max), PRECISION * epsilon_max)


def pair_minimum(a, F, s, q, C, epsilon):
    """Minimum over the box of the signs s of a pair, by enumeration of the 9 faces of the box.

    The smooth part is ``F'd + 1/2 d'[[1, q], [q, 1]]d`` with ``d = v - a``. The minimum of a convex
    function over a box is the stationary point of one face (interior, edge or corner), so the best
    feasible one of the nine is it.
    """
    a, g = np.asarray(a, float), np.asarray(F, float) + epsilon * np.asarray(s, float)
    Q = np.array([[1.0, q], [q, 1.0]])
    boxes = [(0.0, C) if t > 0 else (-C, 0.0) for t in s]
    best, best_value = None, np.inf
    for face in product((None, 0, 1), repeat=2):
        v = np.array([np.nan if f is None else boxes[i][f] for i, f in enumerate(face)])
        if np.isinf(v).any():
            continue
        free = np.isnan(v)
        d = np.where(free, 0.0, v - a)
        if free.any():
            d[free] = np.linalg.solve(Q[np.ix_(free, free)], -(g + Q @ d)[free])
        v = np.where(free, a + d, v)
        slack = 1e-12 * (1 + np.abs(v).max())
        if any(not lo - slack <= x <= hi + slack for x, (lo, hi) in zip(v, boxes, strict=True)):
            continue
        value = g @ d + 0.5 * d @ Q @ d
        if value < best_value:
            best, best_value = v, value
    return best, best_value


def cvxpy_solve(K_s, y_c, C, epsilon):
    """Oracle: Clarabel, an interior point method. Returns a point inside the box."""
    import cvxpy as cp

    a = cp.Variable(K_s.shape[1])
    value = 0.5 * cp.sum_squares(K_s @ a - y_c) + epsilon * cp.norm1(a)
    bounds = [] if np.isinf(C) else [cp.abs(a) <= C]
    tight = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    cp.Problem(cp.Minimize(value), bounds).solve(solver=cp.CLARABEL, **tight)
    return np.clip(a.value, -C, C)


def lasso_solve(K_s, y_c, epsilon):
    """Oracle for C = inf: scikit-learn's Lasso minimises the objective divided by L."""
    from sklearn.linear_model import Lasso

    lasso = Lasso(alpha=epsilon / len(y_c), fit_intercept=False, tol=1e-12, max_iter=10**6)
    return lasso.fit(K_s, y_c).coef_


@dataclass(frozen=True, eq=False)
class Case:
    """One problem, with the numbers a test wants of it."""

    K: np.ndarray
    y: np.ndarray
    C: float
    epsilon: float
    weights: np.ndarray | None = None
    kind: str = ""
    K_s: np.ndarray = field(init=False, repr=False)
    y_c: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        K_s, y_c = standardise(self.K, self.y, self.weights)
        object.__setattr__(self, "K_s", K_s)
        object.__setattr__(self, "y_c", y_c)

    def with_(self, **changes):
        return replace(self, **changes)

    @property
    def epsilon_max(self):
        return float(np.abs(self.K_s.T @ self.y_c).max(initial=0.0))

    def gradient(self, alpha):
        return gradient(self.K_s, self.y_c, alpha)

    def objective(self, alpha):
        return objective(self.K_s, self.y_c, alpha, self.epsilon)

    def violation(self, alpha):
        return violation(alpha, self.gradient(alpha), self.C, self.epsilon)

    def worst(self, alpha):
        return max(self.violation(alpha).max(initial=0.0), 0.0)

    def gap(self, alpha):
        return duality_gap(self.K_s, self.y_c, alpha, self.C, self.epsilon)

    def threshold(self, tol):
        return threshold(tol, self.epsilon, self.epsilon_max)

    @cached_property
    def oracle(self):
        return cvxpy_solve(self.K_s, self.y_c, self.C, self.epsilon)

    def rounding(self, alpha):
        """How much two careful computations of F may differ.

        Products with the uncentred K lose the digits of mean over deviation; 64 units in the last
        place cover the sums over some hundred rows.
        """
        w = np.ones(len(self.y)) if self.weights is None else self.weights
        size = np.sqrt(w @ np.asarray(self.K, float) ** 2)
        centred = np.sqrt(w @ (self.K - w @ self.K / w.sum()) ** 2)
        varies = centred > CONSTANT * size
        loss = 1 + (size[varies] / centred[varies]).max(initial=0.0)
        shift = np.abs(self.y).max() * np.sqrt(w.sum())
        total = np.linalg.norm(self.y_c) + np.abs(alpha).sum()
        return 64 * np.finfo(float).eps * (loss * total + shift)

    def gap_bound(self, alpha, t):
        """Largest gap that a violation of at most t allows; needs epsilon > 0 if C = inf.

        Finite C: a zero or bound variable adds at most C t, a free one at most (C + |alpha_j|) t.
        C = inf: with theta = epsilon / (epsilon + t) the residual theta r is feasible, and the gap
        there is 1/2 (1 - theta)^2 r'r + (epsilon ||alpha||_1 + alpha'F) - (1 - theta) alpha'F.
        """
        size = np.abs(alpha).sum()
        if np.isfinite(self.C):
            return t * (2 * self.C * len(alpha) + size)
        r = self.y_c - self.K_s @ alpha
        share = t / self.epsilon
        return 0.5 * share**2 * r @ r + t * size * (2 + share)


KINDS = (
    "wide",
    "tall",
    "square",
    "one column",
    "two rows",
    "correlated",
    "duplicates",
    "opposites",
    "constants",
    "zeros",
    "rbf",
    "integers",
    "shifted",
)


def random_matrix(rng, kind):
    """A matrix of the given kind, at most 30 x 30."""
    L, P = rng.integers(3, 30, size=2)
    if kind == "wide":
        L, P = sorted((L, P + 1))
    elif kind == "tall":
        P, L = sorted((L + 1, P))
    elif kind == "square":
        L = P
    elif kind == "one column":
        P = 1
    elif kind == "two rows":
        L = 2
    if kind == "rbf":
        X = rng.normal(size=(L, rng.integers(1, 4)))
        distances = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
        return np.exp(-(10.0 ** rng.uniform(-1, 1)) * distances)
    if kind == "integers":
        return rng.integers(-3, 4, size=(L, P))
    K = rng.normal(size=(L, P))
    if kind == "correlated":
        K += rng.uniform(0.5, 5) * rng.normal(size=(L, 1))
    elif kind in ("duplicates", "opposites"):
        sign = 1 if kind == "duplicates" else -1
        K = np.hstack([K, sign * K[:, rng.integers(0, P, size=P // 2 + 1)]])
    elif kind in ("constants", "zeros"):
        K[:, rng.random(P) < 0.4] = 0.0 if kind == "zeros" else rng.normal()
    elif kind == "shifted":
        K = 10 ** rng.uniform(-3, 3, size=P) * (K + 10 * rng.normal(size=P))
    return K


def random_problem(rng, kind=None):
    """A problem of any kind, C from tiny to infinite, epsilon from 0 to more than epsilon_max."""
    kind = KINDS[rng.integers(len(KINDS))] if kind is None else kind
    K = random_matrix(rng, kind)
    L, P = K.shape
    y = rng.normal(size=L) + K[:, rng.integers(P)] if rng.random() < 0.6 else rng.normal(size=L)
    if rng.random() < 0.3:
        y = np.where(y > np.median(y), 1.0, -1.0)
    weights = None
    if rng.random() < 0.4:
        weights = rng.choice([0.0, 0.5, 1.0, 2.0, 3.7], size=L)
        weights[rng.integers(L)] = 1.0
    case = Case(K, y, np.inf, 0.0, weights, kind)
    size = np.linalg.norm(case.y_c)
    C = rng.choice([np.inf, 1e-4 * size, size * 10 ** rng.uniform(-2, 1)], p=[0.35, 0.1, 0.55])
    share = rng.choice(
        [0.0, 10 ** rng.uniform(-4, -1), rng.uniform(0.1, 1), 1.5], p=[0.1, 0.4, 0.45, 0.05]
    )
    return case.with_(C=float(C) if C > 0 else 1.0, epsilon=float(share * case.epsilon_max))
