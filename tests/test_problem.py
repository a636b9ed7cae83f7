"""The problem and its certificate against their definitions, finite differences and oracles."""

import cvxpy as cp
import numpy as np
import pytest

from psvm import PSVC, solve
from psvm.matrix import Standardized, as_matrix
from psvm.problem import (
    C_for_noise,
    Problem,
    duality_gap,
    epsilon_for_noise,
    from_variance_units,
    kkt_violation,
    objective,
)
from reference import KINDS, Case, cvxpy_solve, primal, random_problem, standardise
from reference import duality_gap as reference_gap

CASES = [
    random_problem(np.random.default_rng((seed, number)), kind)
    for number, kind in enumerate(KINDS)
    for seed in range(3)
]


def state(case):
    K = Standardized(as_matrix(case.K), case.weights)
    return Problem.create(K, case.y, case.C, case.epsilon)


def points(case, rng, n=5):
    """Points of the box with zero, free and bound coordinates; alpha = 0 for constant columns."""
    radius = case.C if np.isfinite(case.C) else 1 + np.linalg.norm(case.y_c)
    for _ in range(n):
        share = rng.choice([0.0, 1.0, rng.uniform(0, 1)], size=case.K.shape[1])
        alpha = radius * share * rng.choice([-1, 1], size=len(share))
        yield np.where(np.any(case.K_s != 0, axis=0), alpha, 0.0)


def size(case):
    """Scale of objectives: what rounding and oracle errors are relative to."""
    return 1e-3 + case.y_c @ case.y_c


def id_of(case):
    return f"{case.kind}-{case.K.shape[0]}x{case.K.shape[1]}-C{case.C:.2g}"


every_case = pytest.mark.parametrize("case", CASES, ids=id_of)


def test_cases_cover_the_range():
    assert {case.kind for case in CASES} == set(KINDS)
    assert sum(np.isinf(case.C) for case in CASES) > 5
    assert sum(np.isfinite(case.C) for case in CASES) > 20
    assert any(case.weights is not None for case in CASES)
    assert any(case.weights is not None and (case.weights == 0).any() for case in CASES)
    assert any(case.epsilon == 0 for case in CASES)
    assert any(case.K.shape[0] < case.K.shape[1] for case in CASES)
    assert any(np.any(np.all(case.K_s == 0, axis=0)) for case in CASES)


@every_case
def test_standardised_matrix(case):
    problem = state(case)
    L, P = case.K.shape
    K_s = problem.K.matvec(np.eye(P)[0]), problem.K.columns(np.arange(P))
    tol = case.rounding(np.ones(1))
    np.testing.assert_allclose(K_s[0], case.K_s[:, 0], atol=tol)
    np.testing.assert_allclose(K_s[1], case.K_s, atol=tol)
    v = np.random.default_rng(0).normal(size=L)
    np.testing.assert_allclose(problem.K.rmatvec(v), case.K_s.T @ v, atol=tol * np.linalg.norm(v))
    root = np.ones(L) if case.weights is None else np.sqrt(case.weights)
    # K̃'1 = 0, with row weights K̃'sqrt(w) = 0
    np.testing.assert_allclose(K_s[1].T @ root, 0, atol=tol * np.linalg.norm(root))
    norms = np.linalg.norm(K_s[1], axis=0)
    np.testing.assert_allclose(norms, np.any(case.K_s != 0, axis=0), atol=1e-12)
    np.testing.assert_allclose(problem.l, case.K_s.T @ case.y_c, atol=case.rounding(np.zeros(1)))
    np.testing.assert_allclose(problem.epsilon_max, case.epsilon_max, atol=case.rounding(0))


@every_case
def test_gram_columns(case):
    K = Standardized(as_matrix(case.K), case.weights)
    Q = K.gram_columns(np.arange(K.shape[1]))
    np.testing.assert_allclose(Q, case.K_s.T @ case.K_s, atol=case.rounding(np.ones(1)))
    assert set(np.diag(Q)) <= {0.0, 1.0}


def test_gram_columns_in_blocks():
    K = np.random.default_rng(0).normal(size=(30, 50))
    S = Standardized(as_matrix(K))
    smallest = {"block_bytes": 1}  # 16 columns
    expected = np.corrcoef(K.T)  # Q is the matrix of correlations
    np.testing.assert_allclose(S.gram_columns(np.arange(50), **smallest), expected, atol=1e-13)
    some = np.array([41, 3, 17])
    np.testing.assert_allclose(S.gram_columns(some, **smallest), expected[:, some], atol=1e-13)


@every_case
def test_objective_and_gradient(case):
    problem = state(case)
    for alpha in points(case, np.random.default_rng(1)):
        F = problem.gradient(problem.residual(alpha))
        tol = case.rounding(alpha)
        np.testing.assert_allclose(F, case.gradient(alpha), atol=tol)
        np.testing.assert_allclose(
            objective(alpha, F, problem.l, case.epsilon),
            case.objective(alpha),
            atol=tol * (1 + np.abs(alpha).sum()),
        )


@every_case
def test_gradient_by_finite_differences(case):
    problem = state(case)

    def D(alpha, epsilon):
        F = problem.gradient(problem.residual(alpha))
        return objective(alpha, F, problem.l, epsilon)

    alpha = next(points(case, np.random.default_rng(2), 1))
    F = problem.gradient(problem.residual(alpha))
    # D without the penalty is quadratic: a central difference has no truncation error for any h,
    # and a large h keeps the rounding of D / h small.
    h = 1 + np.abs(alpha).max()
    tol = case.rounding(alpha) * (1 + np.abs(alpha).sum()) * 10
    for j, unit in enumerate(h * np.eye(len(alpha))):
        slope = (D(alpha + unit, 0.0) - D(alpha - unit, 0.0)) / (2 * h)
        assert abs(slope - F[j]) <= tol
    # Away from 0 the penalty is linear.
    for j in np.flatnonzero(alpha):
        unit = abs(alpha[j]) * np.eye(len(alpha))[j] / 2
        slope = (D(alpha + unit, case.epsilon) - D(alpha - unit, case.epsilon)) / abs(alpha[j])
        assert abs(slope - F[j] - case.epsilon * np.sign(alpha[j])) <= tol / abs(alpha[j]) + tol


@pytest.mark.parametrize(
    ("alpha", "F", "expected"),
    [
        # epsilon = 0.5, C = 2; eq. 25 line by line, worked out by hand
        (0.0, 0.75, 0.25),
        (0.0, -0.75, 0.25),
        (0.0, 0.25, -0.25),
        (1.0, -0.75, 0.25),
        (1.0, -0.25, 0.25),
        (1.0, -0.5, 0.0),
        (2.0, 0.25, 0.75),
        (2.0, -0.75, -0.25),
        (-1.0, 0.75, 0.25),
        (-1.0, 0.25, 0.25),
        (-1.0, 0.5, 0.0),
        (-2.0, -0.25, 0.75),
        (-2.0, 0.75, -0.25),
    ],
)
def test_violation_case_by_case(alpha, F, expected):
    d = kkt_violation(np.array([alpha]), np.array([F]), 2.0, 0.5)
    assert d[0] == expected  # halves and quarters are exact


@every_case
def test_violation(case):
    problem = state(case)
    for alpha in points(case, np.random.default_rng(3)):
        F = problem.gradient(problem.residual(alpha))
        d = kkt_violation(alpha, F, case.C, case.epsilon)
        np.testing.assert_allclose(d, case.violation(alpha), atol=case.rounding(alpha))


def package_gap(case, alpha):
    problem = state(case)
    r = problem.residual(alpha)
    return duality_gap(alpha, problem.gradient(r), r, problem.y, case.C, case.epsilon)


@every_case
def test_gap_bounds_the_distance_to_the_optimum(case):
    best = case.oracle
    for alpha in points(case, np.random.default_rng(4)):
        gap = package_gap(case, alpha)
        # Summands of the gap are at most C times a sum of gradients, or squares of y and K̃ alpha.
        scale = size(case) + np.abs(alpha).sum() ** 2
        if np.isfinite(case.C):
            scale += case.C * np.abs(case.gradient(alpha)).sum()
        assert gap >= 0
        assert abs(gap - reference_gap(case.K_s, case.y_c, alpha, case.C, case.epsilon)) <= (
            1e-12 * scale
        )
        assert gap >= case.objective(alpha) - case.objective(best) - 1e-12 * scale


@every_case
def test_gap_vanishes_at_the_optimum(case):
    if np.isinf(case.C) and case.epsilon == 0:
        pytest.skip("zero is the only feasible scaled residual: no certificate by the gap")
    best = case.oracle
    # Clarabel stops at 1e-11 relative; slacks of that size are multiplied by C P.
    scale = size(case)
    if np.isfinite(case.C):
        scale += case.C * len(best) * np.linalg.norm(case.y_c)
    assert package_gap(case, best) <= 1e-7 * scale


def test_gap_without_a_bound_and_without_epsilon():
    # The dual point can only be 0, so the gap is 1/2 r'r: still an upper bound.
    case = random_problem(np.random.default_rng(5), "tall").with_(C=np.inf, epsilon=0.0)
    alpha = np.linalg.lstsq(case.K_s, case.y_c, rcond=None)[0]
    r = case.y_c - case.K_s @ alpha
    assert case.worst(alpha) < 1e-12 * case.epsilon_max
    np.testing.assert_allclose(package_gap(case, alpha), 0.5 * r @ r, rtol=1e-9)


FINITE = [case for case in CASES if np.isfinite(case.C)][::2]


@pytest.mark.parametrize("case", FINITE, ids=id_of)
def test_strong_duality(case):
    u = cp.Variable(len(case.y_c))
    slack = cp.pos(cp.abs(case.K_s.T @ (u - case.y_c)) - case.epsilon)
    value = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(u) + case.C * cp.sum(slack))).solve(
        solver=cp.CLARABEL
    )
    best = case.oracle
    # Two interior point solutions at Clarabel's default accuracy of 1e-8, relative to sums of
    # the size of y'y and C times P slacks.
    tol = 1e-6 * (size(case) + case.C * len(best) * np.linalg.norm(case.y_c))
    assert abs(value + case.objective(best)) <= tol
    # and the optimum of one is that of the other: u = K̃ alpha
    assert abs(primal(case.K_s, case.y_c, case.K_s @ best, case.C, case.epsilon) - value) <= tol


@pytest.mark.parametrize("case", CASES[::3], ids=id_of)
def test_the_equality_constraint_holds_by_itself(case):
    root = np.ones(len(case.y)) if case.weights is None else np.sqrt(case.weights)
    problem = state(case)
    for alpha in points(case, np.random.default_rng(6)):
        u = problem.K.matvec(alpha)
        assert abs(root @ u) <= case.rounding(alpha) * np.linalg.norm(root)
    # The constraint 1'K alpha = 0 does not change the optimum, as it holds everywhere.
    a = cp.Variable(case.K.shape[1])
    value = 0.5 * cp.sum_squares(case.K_s @ a - case.y_c) + case.epsilon * cp.norm1(a)
    limits = [root @ (case.K_s @ a) == 0] + ([cp.abs(a) <= case.C] if case.C < np.inf else [])
    constrained = cp.Problem(cp.Minimize(value), limits).solve(solver=cp.CLARABEL)
    free = case.objective(case.oracle) + 0.5 * case.y_c @ case.y_c
    assert abs(constrained - free) <= 1e-6 * size(case)


@every_case
def test_a_constant_in_y_does_not_matter(case):
    problem, shifted = state(case), state(case.with_(y=case.y + 5.0))
    tol = case.with_(y=case.y + 5.0).rounding(np.zeros(1))
    np.testing.assert_allclose(shifted.l, problem.l, atol=tol)
    np.testing.assert_allclose(shifted.b, problem.b + 5.0, atol=tol)
    w = np.ones(len(case.y)) if case.weights is None else case.weights
    np.testing.assert_allclose(problem.b, np.average(case.y, weights=w), atol=tol)


def test_threshold():
    rng = np.random.default_rng(7)
    K, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    largest = Case(K, y, np.inf, 0.0).epsilon_max
    for epsilon, tol, expected in [
        (0.5, 1e-3, 5e-4),
        (0.0, 1e-3, 1e-3 * largest),
        (1e-9, 1e-6, 1e-12 * largest),
        (0.0, 1e-15, 1e-12 * largest),
    ]:
        problem = state(Case(K, y, np.inf, epsilon))
        np.testing.assert_allclose(problem.threshold(tol), expected, rtol=1e-12)


def test_with_parameters():
    problem = state(CASES[0])
    other = problem.with_parameters(C=3, epsilon=0.25)
    assert (other.C, other.epsilon) == (3.0, 0.25)
    assert other.K is problem.K
    assert problem.with_parameters().C == problem.C


# ---------------------------------------------------------------- units and noise


@pytest.mark.parametrize("C", [0.02, 0.1, np.inf])
def test_units_of_the_technical_report(C, rng):
    """The problem with columns of variance one, solved by Clarabel, is ours after conversion."""
    L = 60
    K = rng.normal(size=(L, 12)) * rng.uniform(0.1, 10, 12)
    y = np.sign(K[:, 0] / K[:, 0].std() + 0.5 * rng.normal(size=L))
    scaled = (K - K.mean(axis=0)) / K.std(axis=0)
    np.testing.assert_allclose((scaled**2).sum(axis=0), L)  # the premise: Q_jj = L
    reported = cvxpy_solve(scaled, y - y.mean(), C, 4.0)
    epsilon, bound = from_variance_units(4.0, C, L)
    ours = solve(K, y, C=bound, epsilon=epsilon, tol=1e-9)
    # both solve one strictly convex problem, Clarabel to about 1e-11 of its objective
    np.testing.assert_allclose(ours.alpha, np.sqrt(L) * reported, atol=1e-4)
    at_bound = np.isclose(np.abs(ours.alpha), bound).sum()
    assert 0 < np.count_nonzero(ours.alpha) < 12 and (at_bound > 0) == np.isfinite(C)


@pytest.mark.parametrize("scale", [0.013, 1.7])
def test_units_of_the_technical_report_with_weights(scale, rng):
    """The sum of the weights takes the place of L, also if it is no integer or below one."""
    L = 40
    K, w = rng.normal(size=(L, 6)) * rng.uniform(0.1, 10, 6), scale * rng.uniform(0.1, 1, L)
    y = np.sign(K[:, 0] + rng.normal(size=L))
    mean = np.average(K, axis=0, weights=w)
    scaled = (K - mean) / np.sqrt(np.average((K - mean) ** 2, axis=0, weights=w))
    root, W = np.sqrt(w), w.sum()
    assert abs(W - round(W)) > 0.01 and (W < 1) == (scale < 1)  # the premise
    target = root * (y - np.average(y, weights=w))
    largest = np.abs((root[:, None] * scaled).T @ target).max()
    reported = cvxpy_solve(root[:, None] * scaled, target, 0.3, 0.1 * largest)
    epsilon, C = from_variance_units(0.1 * largest, 0.3, W)
    ours = solve(K, y, C=C, epsilon=epsilon, sample_weight=w, tol=1e-9)
    assert 0 < np.count_nonzero(ours.alpha)
    # both solve one strictly convex problem, Clarabel to about 1e-11 of its objective
    np.testing.assert_allclose(ours.alpha, np.sqrt(W) * reported, atol=1e-4 * np.sqrt(W))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_variance_units(1.0, 1e300, 1e100), "C=1e.300 and n_rows=1e.100 give no"),
        (lambda: from_variance_units(5e-324, 1.0, 100), "epsilon=.* give no finite epsilon above"),
        (lambda: from_variance_units(1e300, 1.0, 1e-100), "epsilon=.* give no finite epsilon"),
        (lambda: from_variance_units(1.0, 5e-324, 1e-4), "C=.* give no finite C above 0"),
        (lambda: C_for_noise(1e200, 4, change=1e-200), "give no finite C above 0"),
        (lambda: C_for_noise(1e-200, 4, change=1e200), "give no finite C above 0"),
        (lambda: epsilon_for_noise(5e-324, 1, level=0.9), "give no finite epsilon above 0"),
        (lambda: epsilon_for_noise(1e308, 9), "give no finite epsilon above 0"),
    ],
)
def test_results_that_double_precision_cannot_hold(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_limits_of_units_and_noise_stay():
    assert from_variance_units(0.0, np.inf, 0.25) == (0.0, np.inf)
    assert epsilon_for_noise(0.0, 5) == 0.0


@pytest.mark.parametrize("L", [40, 400])
def test_epsilon_for_noise_is_exceeded_at_its_level(L, rng):
    """The largest product of independent columns with noise, for any number of rows."""
    noise, P, level, trials = 0.7, 20, 0.2, 2000
    epsilon = epsilon_for_noise(noise, P, level=level)
    K, _ = standardise(rng.normal(size=(L, P)), np.zeros(L))
    K = np.linalg.qr(K)[0]  # orthogonal columns have independent products
    products = np.abs(K.T @ (noise * rng.normal(size=(L, trials)))).max(axis=0)
    # 1 - (1 - level/P)^P lies just below the level; four standard errors of 2000 trials
    expected = 1 - (1 - level / P) ** P
    assert abs(np.mean(products > epsilon) - expected) < 4 * np.sqrt(0.25 / trials)
    assert expected <= level


def test_the_noise_of_weighted_rows(rng):
    """Variances of the products of weighted columns, computed and simulated, for equal noise."""
    L, P, sigma = 60, 8, 0.7
    K, w = rng.normal(size=(L, P)), rng.uniform(0.2, 5, L)
    S = Standardized(as_matrix(K), w)
    root = np.sqrt(w)

    def deviations(noise):  # of K̃'n, whose rows have the root of their weight, as the target has
        return np.linalg.norm(S.columns(np.arange(P)) * (root * noise)[:, None], axis=0)

    np.testing.assert_allclose(deviations(sigma / root), sigma, rtol=1e-12)
    equal = deviations(np.full(L, sigma))
    assert np.abs(equal / sigma - 1).max() > 0.1  # the premise: weights matter
    assert equal.max() <= sigma * root.max()
    drawn = [Problem.create(S, sigma * rng.normal(size=L), 1.0, 0.0).l for _ in range(2000)]
    # five standard errors of a deviation from 2000 values
    np.testing.assert_allclose(np.std(drawn, axis=0), equal, rtol=5 / np.sqrt(2 * 2000))


def test_epsilon_for_noise_selects_nothing_from_noise(rng):
    """The technical report, section 2.4.6: noise alone must not select."""
    K, noise = rng.normal(size=(50, 30)), 3.0
    epsilon = epsilon_for_noise(noise, 30, level=0.01)
    runs = [solve(K, noise * rng.normal(size=50), epsilon=epsilon) for _ in range(50)]
    # more than four of 50 runs at a level of 0.01 have a probability below 2e-4
    assert sum(run.alpha.any() for run in runs) <= 4
    shares = epsilon_for_noise(noise, 30, level=0.9), epsilon_for_noise(2 * noise, 30)
    assert shares[0] < epsilon and shares[1] == pytest.approx(2 * epsilon_for_noise(noise, 30))


def test_C_for_noise_bounds_the_deviation_of_a_value(rng):
    """Noise in one entry, and in all entries, of a new row."""
    L, P, noise = 80, 15, 0.3
    K = rng.normal(size=(L, P)) * rng.uniform(0.1, 10, P)
    y = np.sign(K @ rng.normal(size=P))
    noisy = noise * K.std(axis=0) * rng.normal(size=(4000, P))
    for n_columns, change in ((1, 0.5), (P, 0.2)):
        C = C_for_noise(noise, L, n_columns=n_columns, change=change)
        model = PSVC(kernel="dyadic", C=C, epsilon=0.0).fit(K, y)
        weights = model.coef_ * (noise * K.std(axis=0))
        exact = np.abs(weights).max() if n_columns == 1 else np.linalg.norm(weights)
        assert exact <= change * (1 + 1e-9)
        moved = model.decision_function(K[0] + noisy) - model.decision_function(K[:1])
        if n_columns == P:  # six standard errors of a deviation from 4000 values
            assert moved.std() <= change * (1 + 6 / np.sqrt(2 * len(noisy)))
    tight = C_for_noise(noise, L, change=1e-3)
    alpha = PSVC(kernel="dyadic", C=tight, epsilon=0.0).fit(K, y).alpha_
    # the bound is reached: with |alpha_j| = C the change is that deviation
    assert np.abs(alpha).max() * noise / np.sqrt(L) == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: from_variance_units(-1, 1, 5), "epsilon"),
        (lambda: from_variance_units(1, 0, 5), "C"),
        (lambda: from_variance_units(1, 1, 0), "n_rows"),
        (lambda: epsilon_for_noise(1, 5, level=1), "level"),
        (lambda: C_for_noise(0, 5), "noise"),
        (lambda: C_for_noise(1, -0.5), "n_rows"),
    ],
)
def test_bad_arguments_of_units_and_noise(call, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        call()
