"""The dual of the Sphered SVM and of the squared hinge loss on problems that are hard to solve.

Certificates are recomputed in extended precision, objectives are compared with those of Clarabel.
"""

from math import fsum

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from psvm import SpheredSVC, Status
from psvm.comparators import LeastSquaresSVC
from psvm.solvers import Clock
from psvm.solvers._dual import BinaryTarget, DenseGram, FactorGram, Limits, minimise

EPS = np.finfo(np.float64).eps


def noisy(rng, n, d):
    """Points and labels that overlap more or less."""
    X = rng.normal(size=(n, d))
    y = np.sign(X @ rng.normal(size=d) + rng.choice([0.3, 1.0, 3.0]) * rng.normal(size=n))
    y[:2] = 1, -1
    return X, y


def low_rank(rng, X):
    return X


def centred_distances(rng, X):
    """``-||x - z||^2`` after centring is ``2 <x, z>``."""
    return np.sqrt(2.0) * (X - X.mean(axis=0))


def duplicated(rng, X):
    X = X[rng.integers(0, len(X), size=len(X))]
    return rooted(np.exp(-squares(X)))


def gaussian(rng, X):
    """Wide kernels have a spectrum that falls below the precision."""
    return rooted(np.exp(-(10.0 ** rng.uniform(-3, 1)) * squares(X)))


def scaled(rng, X):
    """Features of very different units, and any unit for all of them."""
    return X * 10.0 ** rng.uniform(-2, 2, size=X.shape[1]) * 10.0 ** rng.uniform(-4, 4)


def scaled_points(rng, X):
    return X * 10.0 ** rng.uniform(-2, 2, size=(len(X), 1))


FAMILIES = [low_rank, centred_distances, duplicated, gaussian, scaled, scaled_points]


def squares(X):
    return ((X[:, None] - X) ** 2).sum(axis=2)


def rooted(R):
    """Z with ``Z Z' = R``."""
    nu, U = np.linalg.eigh(R)
    return U * np.sqrt(np.maximum(nu, 0.0))


def make_problem(family, seed):
    """Coordinates Z with ``R = Z Z'``, labels and C from 1e-2 to 1e8."""
    rng = np.random.default_rng(seed)
    X, y = noisy(rng, int(rng.integers(20, 100)), int(rng.integers(1, 5)))
    return family(rng, X), y, 10.0 ** rng.integers(-2, 9)


def recomputed(R, y, C, v):
    """Largest KKT violation in extended precision, and how far rounding of ``R v`` moves it."""
    R, v = R.astype(np.longdouble), v.astype(np.longdouble)
    margin_b = y - R @ v
    up = np.where(y > 0, v < C, v < 0)
    down = np.where(y > 0, v > 0, v > -C)
    violation = float(
        np.max(margin_b[up], initial=-np.inf) - np.min(margin_b[down], initial=np.inf)
    )
    # A sum of n terms is off by less than n eps times their absolute sum; twice, at both ends.
    return violation, float(2 * EPS * (1 + len(v) * (np.abs(R) @ np.abs(v)).max()))


def dual_objective(R, y, v):
    R, v = R.astype(np.longdouble), v.astype(np.longdouble)
    return float(0.5 * v @ R @ v - y @ v)


def clarabel(Z, y, C):
    """v and its objective, or None where the interior point method fails."""
    v = cp.Variable(len(y))
    box = [cp.multiply(y, v) >= 0, cp.sum(v) == 0]
    if np.isfinite(C):
        box.append(cp.multiply(y, v) <= C)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(Z.T @ v) - y @ v), box)
    try:
        problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    except cp.SolverError:
        return None
    return v.value if problem.status == "optimal" else None


def check(solution, R, y, C, tol):
    """Everything that a solution claims, from R, y, C and v."""
    v = solution.v
    assert (y * v).min() >= 0 and (y * v).max() <= C
    assert abs(fsum(v)) <= 4 * EPS * np.abs(v).sum()
    violation, rounding = recomputed(R, y, C, v)
    assert abs(max(violation, 0.0) - solution.kkt_violation) <= rounding
    largest = np.abs(solution.values - y).max()
    if solution.status is Status.OPTIMAL:
        assert solution.kkt_violation <= max(tol, 1e-13 * largest)
    else:  # only where double precision allows no better
        assert solution.status is Status.STALLED
        assert solution.kkt_violation <= 5 * rounding
    return violation, rounding


def check_family(family, seeds, tols):
    """Returns how many problems could be compared with Clarabel."""
    compared = 0
    for seed in seeds:
        Z, y, C = make_problem(family, seed)
        R = Z @ Z.T
        other = clarabel(Z, y, C)
        compared += other is not None
        for tol in tols:
            solution = minimise(DenseGram(R), BinaryTarget(y, np.ones(len(y)), C), Limits(tol))
            violation, rounding = check(solution, R, y, C, tol)
            if other is not None:
                ours, theirs = (dual_objective(R, y, v) for v in (solution.v, other))
                # D is convex: D(v) - D(u) <= F'(v - u), and the components of v - u sum to zero.
                allowed = (max(violation, 0.0) + rounding) * np.abs(solution.v - other).sum()
                # Clarabel's own error, in its objective and in its constraints
                slack = 1e-6 * (abs(theirs) + 1e-3 * np.abs(other).sum())
                assert ours <= theirs + allowed + slack
                assert theirs <= ours + slack + rounding * np.abs(solution.v).sum()
    return compared


@pytest.mark.parametrize("family", FAMILIES)
def test_hard_problems_end_at_the_optimum(family):
    assert check_family(family, range(12), [1e-3, 1e-5, 1e-8]) >= 6


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_many_hard_problems_end_at_the_optimum(family):
    assert check_family(family, range(100, 300), [1e-3, 1e-4, 1e-6, 1e-8]) >= 100


@pytest.mark.parametrize("seed", range(10))
def test_conditionally_definite_matrices_need_no_centring(seed):
    """Steps of sum zero see only the part that is definite."""
    X, y = noisy(np.random.default_rng(seed), 60, 2)
    R = -squares(X)
    assert np.linalg.eigvalsh(R)[0] < -1
    target = BinaryTarget(y, np.ones(60), 100.0)
    solution = minimise(DenseGram(R), target, Limits(1e-7))
    centred = minimise(DenseGram(2 * X @ X.T), target, Limits(1e-7))
    assert solution.status is centred.status is Status.OPTIMAL
    check(solution, R, y, 100.0, 1e-7)
    assert solution.objective == pytest.approx(centred.objective, rel=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_hard_margins_of_separable_points(seed):
    rng = np.random.default_rng(seed)
    X, y = noisy(rng, 80, 3)
    X[:, 0] = y * np.maximum(np.abs(X[:, 0]), 10.0 ** rng.uniform(-3, 0))
    w, b = cp.Variable(3), cp.Variable()
    margin = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w)), [cp.multiply(y, X @ w + b) >= 1])
    margin.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_feas=1e-10)
    for tol in (1e-3, 1e-6, 1e-8):
        for R in (DenseGram(X @ X.T), FactorGram(X)):
            solution = minimise(R, BinaryTarget(y, np.ones(80), np.inf), Limits(tol))
            assert solution.status is Status.OPTIMAL
            check(solution, X @ X.T, y, np.inf, tol)
            # Margins of 1 - tol instead of 1 let ||w||^2 shrink by 2 tol.
            assert solution.objective == pytest.approx(margin.value, rel=1e-6 + 4 * tol)
            assert margin.value - 1e-6 * margin.value <= solution.objective + solution.gap


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_hard_margins_of_inseparable_points_end_soon(seed, scale):
    X, y = noisy(np.random.default_rng(seed), 80, 3)
    X = np.vstack([X, X[:1]])
    y = np.append(y, -y[0])
    constraint = np.column_stack([y[:, None] * X, y])
    assert linprog(np.zeros(4), -constraint, -np.ones(81), bounds=(None, None)).status == 2
    solution = minimise(
        DenseGram(scale * X @ X.T), BinaryTarget(y, np.ones(81), np.inf), Limits(1e-4)
    )
    assert solution.status is Status.STALLED
    assert solution.gap == np.inf
    assert abs(fsum(solution.v)) <= 4 * EPS * np.abs(solution.v).sum()


@pytest.mark.parametrize("solver", ["direct", "incremental"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("lam", [0.01, 1.0])
def test_inseparable_points_are_named_as_the_reason(lam, kernel, solver):
    X, y = noisy(np.random.default_rng(0), 80, 3)
    X, y = np.vstack([X, X[:1]]), np.append(y, -y[0])
    with pytest.warns(ConvergenceWarning, match=r"stalled.*separable: use a finite C"):
        SpheredSVC(lam, C=np.inf, kernel=kernel, solver=solver).fit(X, y)


def test_points_that_all_coincide():
    y = np.repeat([-1.0, 1.0], [3, 5])
    for C, status in ((2.0, Status.OPTIMAL), (np.inf, Status.STALLED)):
        solution = minimise(DenseGram(np.zeros((8, 8))), BinaryTarget(y, np.ones(8), C), Limits())
        assert solution.status is status
    # one class is at its bound, and so is the sum of the other
    solution = minimise(DenseGram(np.zeros((8, 8))), BinaryTarget(y, np.ones(8), 2.0), Limits())
    assert solution.objective == pytest.approx(12.0)


@pytest.mark.parametrize("kind", [DenseGram, FactorGram])
def test_limits_of_steps_and_of_time_are_named(kind):
    X, y = noisy(np.random.default_rng(0), 80, 3)
    R, target, tol = (
        kind(X if kind is FactorGram else X @ X.T),
        BinaryTarget(y, np.ones(80), 10.0),
        1e-6,
    )
    solution = minimise(R, target, Limits(tol))
    assert solution.status is Status.OPTIMAL and solution.n_iter > 5
    optimum, clock = solution.objective, Clock(1.0)
    clock.began -= 2.0
    limits = {
        Status.MAX_ITER: Limits(tol, max_iter=5),
        Status.MAX_TIME: Limits(tol, clock=clock),
    }
    for status, limit in limits.items():
        solution = minimise(R, target, limit)
        assert solution.status is status and solution.n_iter <= 5
        violation, rounding = recomputed(X @ X.T, y, 10.0, solution.v)
        assert abs(violation - solution.kkt_violation) <= rounding
        assert violation > tol  # the premise: there was work left
        assert solution.objective <= optimum <= solution.objective + solution.gap


@pytest.mark.parametrize("seed", range(5))
def test_it_ends_also_where_the_matrix_is_indefinite(seed):
    """Not what it is made for, but a loop without end would be worse than a local minimum."""
    rng = np.random.default_rng(seed)
    R = rng.normal(size=(60, 60))
    solution = minimise(
        DenseGram(R + R.T), BinaryTarget(noisy(rng, 60, 2)[1], np.ones(60), 10.0), Limits(1e-6)
    )
    assert solution.status in (Status.OPTIMAL, Status.STALLED)


class Recorder(DenseGram):
    """Keeps all v whose gradient was computed."""

    def __init__(self, R):
        super().__init__(R)
        self.seen = []

    def product(self, v):
        self.seen.append(v.copy())
        return super().product(v)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("small", [400, 30], ids=["whole", "working set"])
def test_every_turn_is_feasible_and_descends(seed, small):
    X, y = noisy(np.random.default_rng(seed), 100, 3)
    R = Recorder(X @ X.T)
    solution = minimise(R, BinaryTarget(y, np.ones(100), 1e4), Limits(1e-6), small=small)
    assert solution.status is Status.OPTIMAL
    assert len(R.seen) > 2
    objectives = [dual_objective(R.R, y, v) for v in R.seen]
    for v, before, after in zip(R.seen[1:], objectives, objectives[1:], strict=False):
        assert abs(fsum(v)) <= 4 * EPS * np.abs(v).sum()
        assert after <= before + EPS * len(v) * (np.abs(v) @ np.abs(R.R) @ np.abs(v))


@pytest.mark.parametrize("C", [100.0, 1e4])
def test_few_features_and_noise(C):
    """More free points than dimensions: their system is singular, and steps must still descend."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 3))
        y = X @ [1.0, -1.0, 0.5] + rng.normal(size=100) > 0
        model = SpheredSVC(1.0, C=C, kernel="linear").fit(X, y)
        assert model.solutions_[0].status is Status.OPTIMAL


@pytest.mark.parametrize("unit", [1e-8, 1e-3, 1.0, 1e3, 1e8])
def test_squared_hinge_in_all_units(unit):
    """C is that of the units, so that the problem is the same: f does not depend on them."""
    X, y = noisy(np.random.default_rng(0), 80, 2)
    plain = LeastSquaresSVC(loss="squared_hinge", kernel="linear", C=10.0).fit(X, y)
    other = LeastSquaresSVC(loss="squared_hinge", kernel="linear", C=10.0 / unit**2)
    np.testing.assert_allclose(
        other.fit(unit * X, y).decision_function(unit * X), plain.decision_function(X), atol=1e-6
    )
