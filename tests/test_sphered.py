"""The Sphered SVM against its definition, other solvers, its limits and its invariances."""

import itertools
import pickle
import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from psvm import PSVC, SpheredSVC, SpheredSVCCV, Status
from psvm.kernels import Spectrum
from psvm.solvers import _clock
from psvm.solvers._dual import Limits
from psvm.sphered import _training
from psvm.sphered._direct import Decomposition
from psvm.sphered._incremental import Basis

TIGHT = {"tol": 1e-9}
FOLDS = "rows that are repeated or left out make other folds"
EXPECTED = {
    "rbf": {},
    "linear": {},
    "precomputed": {
        "check_estimators_dtypes": "a Gram matrix that is cut to integers is indefinite"
    },
    "cv": {
        "check_sample_weight_equivalence_on_dense_data": FOLDS,
        "check_sample_weight_equivalence_on_sparse_data": FOLDS,
    },
}


@parametrize_with_checks(
    [
        # one of the checks compares decision values to 1e-7
        SpheredSVC(**TIGHT),
        SpheredSVC(0.2, kernel="linear", center=False, **TIGHT),
        SpheredSVC(solver="incremental", **TIGHT),
        SpheredSVC(kernel="precomputed"),
        SpheredSVC(0.2, class_weight="balanced", **TIGHT),
        SpheredSVCCV(lams=[0.2, 0.8], cv=2),
    ],
    expected_failed_checks=lambda estimator: EXPECTED[
        "cv" if isinstance(estimator, SpheredSVCCV) else estimator.kernel
    ],
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def moons(n=120, seed=0):
    return make_moons(n, noise=0.3, random_state=seed)


def overlapping(n=150, N=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N))
    return X, np.where(X @ rng.normal(size=N) + 0.7 * rng.normal(size=n) > 0, 1, 0)


def gram(X, center, gamma=1.0):
    K = rbf_kernel(X, gamma=gamma)
    B = np.eye(len(K)) - (1.0 / len(K) if center else 0.0)
    return B @ K @ B


def sphered(K, lam, weights=None):
    """R of eq. 73 by pseudo-inverse, with weights ``K (lam I + (1 - lam) D K)^-1``."""
    if weights is not None:
        return K @ np.linalg.inv(lam * np.eye(len(K)) + (1 - lam) * weights[:, None] * K)
    return np.linalg.pinv((1 - lam) * K + lam * np.eye(len(K)), hermitian=True) @ K


def certificate(R, y, alpha, b, C):
    """KKT violation of each point at the constant b, and the duality gap, from the definition."""
    values = R @ (y * alpha)
    margin = y * (values + b)
    violation = np.where(alpha == 0, 1 - margin, np.where(alpha == C, margin - 1, abs(margin - 1)))
    primal = 0.5 * (y * alpha) @ values + C * np.maximum(0, 1 - margin).sum()
    dual = alpha.sum() - 0.5 * (y * alpha) @ values
    return violation.max(), primal - dual


# ---------------------------------------------------------------- the problem


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("lam", [0.0, 0.02, 0.5, 0.98, 1.0])
@pytest.mark.parametrize("C", [0.5, 100.0])
def test_kkt_and_gap_recomputed_from_outside(lam, C, center):
    X, label = moons()
    y = 2.0 * label - 1
    # narrow for lam = 0, so that no eigenvalue is near the threshold of the pseudo-inverse
    gamma = 1.0 if lam > 0 else 100.0
    model = SpheredSVC(lam, C=C, gamma=gamma, center=center, **TIGHT).fit(X, label)
    R = sphered(gram(X, center, gamma), lam)
    alpha = model.alpha_[0]
    assert abs(y @ alpha) <= 1e-10 * alpha.sum()
    assert alpha.min() >= 0 and alpha.max() <= C
    f = model.decision_function(X)
    b = np.mean(f - R @ (y * alpha))
    np.testing.assert_allclose(f, R @ (y * alpha) + b, atol=1e-8 * max(1, np.abs(f).max()))
    violation, gap = certificate(R, y, alpha, b, C)
    assert violation <= 1e-8
    assert gap == pytest.approx(model.dual_gap_, abs=1e-7 * alpha.sum())
    assert gap <= 1e-6 * alpha.sum()
    assert model.kkt_violation_ <= 1e-9
    assert model.solutions_[0].status is Status.OPTIMAL


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("C", [0.3, 20.0])
@pytest.mark.parametrize("center", [True, False])
def test_primal_of_an_independent_solver(lam, C, center):
    X, label = overlapping(60, 4)
    X = X @ np.diag([1.0, 3.0, 0.3, 2.0]) + 0.5
    y = 2.0 * label - 1
    X_c = X - X.mean(axis=0) if center else X
    w, b = cp.Variable(4), cp.Variable()
    objective = 0.5 * (1 - lam) * cp.sum_squares(X_c @ w) + 0.5 * lam * cp.sum_squares(w)
    slack = cp.sum(cp.pos(1 - cp.multiply(y, X_c @ w + b)))
    problem = cp.Problem(cp.Minimize(objective + C * slack))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    for solver in ("direct", "incremental"):
        if lam == 0 and solver == "incremental":
            continue
        model = SpheredSVC(lam, C=C, kernel="linear", center=center, solver=solver, **TIGHT)
        model.fit(X, label)
        assert model.solutions_[0].objective == pytest.approx(problem.value, rel=1e-7)
        # the objective is known to 1e-9 or so, and f to its root; b has a range if all are bound
        values = model.decision_function(X)
        expected = X_c @ w.value
        np.testing.assert_allclose(values - values.mean(), expected - expected.mean(), atol=2e-4)


def test_lam_one_is_the_standard_svm():
    # LIBSVM keeps kernel values in single precision: these are exact in it.
    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, size=(200, 5)).astype(float)
    y = np.sign(X @ [1, -1, 2, 0, 1] + 6 * rng.normal(size=200))
    K = rbf_kernel(X, gamma=0.01).astype(np.float32).astype(np.float64)
    for solver in ("direct", "incremental", "auto"):
        for center in (True, False):
            options = {"solver": solver, "center": center, "tol": 1e-10}
            for kernel, data, C in (("linear", X, 2.0**-6), ("precomputed", K, 10.0)):
                ours = SpheredSVC(1.0, kernel=kernel, C=C, **options).fit(data, y)
                other = SVC(kernel=kernel, C=C, tol=1e-10).fit(data, y)
                np.testing.assert_allclose(
                    ours.decision_function(data), other.decision_function(data), atol=1e-6
                )


def test_sphering_by_hand_and_a_svm_give_the_same_classifier():
    """Appendix B, with eigenvectors of the covariance in place of the pseudo-inverse."""
    X, y = overlapping()
    X = X @ np.random.default_rng(1).normal(size=(6, 6)) + 3
    X_new = overlapping(seed=5)[0]
    nu, E = np.linalg.eigh((X - X.mean(axis=0)).T @ (X - X.mean(axis=0)))
    W = E / np.sqrt(nu) @ E.T
    for C in (1.0, 100.0):
        model = SpheredSVC(0.0, kernel="linear", C=C, **TIGHT).fit(X, y)
        by_hand = SpheredSVC(1.0, kernel="linear", C=C, **TIGHT).fit((X - X.mean(axis=0)) @ W, y)
        other = SVC(kernel="linear", C=C, tol=1e-8).fit((X - X.mean(axis=0)) @ W, y)
        Z_new = (X_new - X.mean(axis=0)) @ W
        f = model.decision_function(X_new)
        scale = np.abs(f).max()
        np.testing.assert_allclose(by_hand.decision_function(Z_new), f, atol=1e-7 * scale)
        # single precision in LIBSVM
        np.testing.assert_allclose(other.decision_function(Z_new), f, atol=1e-3 * scale)


def test_more_dimensions_than_points_give_the_trivial_dual():
    """Eq. 17: with independent points and lam = 0, alpha = 1 and f = y on equal classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 50))
    y = np.repeat([-1.0, 1.0], 10)
    model = SpheredSVC(0.0, kernel="linear", center=False, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.alpha_[0], 1, atol=1e-8)
    np.testing.assert_allclose(model.decision_function(X), y, atol=1e-8)


def test_hard_margin():
    X, y = overlapping(40, 3)
    X += 4.0 * np.outer(2 * y - 1, [1, 1, 1])
    hard = SpheredSVC(0.0, kernel="linear", C=np.inf, **TIGHT).fit(X, y)
    assert (2 * y - 1) @ np.sign(hard.decision_function(X)) == len(y)
    assert np.min((2 * y - 1) * hard.decision_function(X)) == pytest.approx(1, abs=1e-8)
    soft = SpheredSVC(0.0, kernel="linear", C=1e6, **TIGHT).fit(X, y)
    np.testing.assert_allclose(
        soft.decision_function(X), hard.decision_function(X), atol=1e-7 * len(y)
    )
    assert hard.dual_gap_ <= 1e-6 * hard.solutions_[0].objective
    X, y = overlapping(40, 3)
    with pytest.warns(ConvergenceWarning, match="separable"):
        SpheredSVC(0.0, kernel="linear", C=np.inf, max_iter=5000).fit(X, y)


# ---------------------------------------------------------------- invariance


@given(seed=st.integers(0, 2**32 - 1), decades=st.integers(0, 6))
@settings(max_examples=25, deadline=None)
def test_linear_maps_and_shifts_change_nothing(seed, decades):
    """Eq. 22. Rounding the mapped data alone moves f by about eps times the condition of A."""
    rng = np.random.default_rng(seed)
    X, y = overlapping(seed=1)
    U, V = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
    A = U * np.logspace(0, decades, 6) @ V
    shift = np.abs(X @ A).max() * rng.normal(size=6)
    X_new = overlapping(30, seed=2)[0]
    f = SpheredSVC(0.0, kernel="linear", tol=1e-10).fit(X, y).decision_function(X_new)
    mapped = SpheredSVC(0.0, kernel="linear", tol=1e-10).fit(X @ A + shift, y)
    g = mapped.decision_function(X_new @ A + shift)
    np.testing.assert_allclose(g, f, atol=1e-8 * np.abs(f).max())


@pytest.mark.parametrize("decades", [8, 10, 12])
def test_badly_conditioned_maps_change_no_more_than_their_rounding(decades):
    """``X A`` is known to eps of its largest value only, the smallest direction to eps cond(A)."""
    X, y = overlapping(seed=1)
    X_new = overlapping(30, seed=2)[0]
    f = SpheredSVC(0.0, kernel="linear", tol=1e-10).fit(X, y).decision_function(X_new)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        U, V = (np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(2))
        A = U * np.logspace(0, decades, 6) @ V
        g = SpheredSVC(0.0, kernel="linear", tol=1e-10).fit(X @ A, y).decision_function(X_new @ A)
        # sums of six products in the map, of 150 in the decomposition, and alpha up to 100
        limit = 100 * np.finfo(float).eps * 10.0**decades
        assert np.abs(g - f).max() <= limit * np.abs(f).max()


def test_scales_of_single_features_change_nothing_whatever_they_are():
    X, y = overlapping()
    scale = np.array([1e-100, 1e-8, 1.0, 1e5, 1e30, 1e100])
    f = SpheredSVC(0.0, kernel="linear", center=False, tol=1e-10).fit(X, y).decision_function(X)
    model = SpheredSVC(0.0, kernel="linear", center=False, tol=1e-10).fit(X * scale, y)
    np.testing.assert_allclose(model.decision_function(X * scale), f, atol=1e-8 * np.abs(f).max())


def test_dependent_features_use_the_pseudo_inverse():
    X, y = overlapping(50, 4)
    X = np.column_stack([X, X @ [1.0, 2.0, -1.0, 0.5], np.full(50, 3.0)])
    assert np.linalg.matrix_rank(X - X.mean(axis=0)) == 4
    model = SpheredSVC(0.0, kernel="linear", tol=1e-10).fit(X, y)
    full = SpheredSVC(0.0, kernel="linear", tol=1e-10).fit(X[:, :4], y)
    np.testing.assert_allclose(
        model.decision_function(X), full.decision_function(X[:, :4]), atol=1e-8
    )
    # and off the span of the training points f is that of the pseudo-inverse, eq. 77
    X_c, y_s = X - X.mean(axis=0), 2.0 * y - 1
    w = np.linalg.pinv(X_c, rcond=1e-10) @ (y_s * model.alpha_[0])
    new = np.random.default_rng(3).normal(size=(9, 6))
    difference = model.decision_function(new) - (new - X.mean(axis=0)) @ w
    np.testing.assert_allclose(difference, difference[0], atol=1e-8)


@pytest.mark.parametrize("solver", ["direct", "incremental"])
def test_centring_makes_every_kernel_invariant_under_shifts_in_feature_space(solver):
    X, y = moons(80)
    K = rbf_kernel(X, gamma=1.0)
    t = 0.1 * np.random.default_rng(0).normal(size=80)
    # x_i -> x_i + z with <x_i, z> = (K t)_i and <z, z> = t'K t
    shifted = K + (K @ t)[:, None] + K @ t + t @ K @ t
    options = {"kernel": "precomputed", "solver": solver, "tol": 1e-8}
    plain = SpheredSVC(0.3, **options).fit(K, y)
    moved = SpheredSVC(0.3, **options).fit(shifted, y)
    # The objective has the term 0.7/2 ||X'w||^2, so that a gap leaves X'w so much freedom:
    tolerance = sum(np.sqrt(2 * model.dual_gap_ / 0.7) for model in (plain, moved))
    # The direct solver ends with a Newton step; the other one ignores 1e-7 of the objective.
    assert tolerance < (1e-5 if solver == "direct" else 0.05)
    f, g = (model.solutions_[0].values for model in (plain, moved))
    assert np.linalg.norm(f - g) <= tolerance
    # b makes the margin of free points one; rounding is far below 1e-8.
    free = [(0 < model.alpha_[0]) & (model.alpha_[0] < 100) for model in (plain, moved)]
    assert (free[0] & free[1]).any()
    np.testing.assert_allclose(
        moved.decision_function(shifted),
        plain.decision_function(K),
        atol=1e-8 if solver == "direct" else 2 * tolerance,
    )
    assert moved.solutions_[0].objective == pytest.approx(plain.solutions_[0].objective, rel=1e-6)


# ---------------------------------------------------------------- the incremental solver


def bounds_of_the_optimum(model, K, y, lam, C, center):
    """From below by alpha and from above by the coefficients, in extended precision.

    For every p, ``1/2 v'R v <= (v - p)'K_c (v - p) / (2 lam) + p'p / (2 (1 - lam))`` (Fenchel).
    """
    K, y, lam = K.astype(np.longdouble), y.astype(np.longdouble), np.longdouble(lam)
    share = np.full(len(K), 1 / np.longdouble(len(K))) if center else np.zeros(len(K))
    v, values = y * model.alpha_[0], model.solutions_[0].values.astype(np.longdouble)
    r = v - (1 - lam) * values
    r -= share * r.sum()
    lower = y @ v - r @ K @ r / (2 * lam) - (1 - lam) / 2 * (values @ values)
    coef = np.zeros(len(K), np.longdouble)
    coef[model.basis_] = model.dual_coef_[0]
    f = K @ coef
    w_square, hinge = coef @ f, np.maximum(0, 1 - y * (f + model.intercept_[0])).sum()
    f = f - share @ f
    return lower, (1 - lam) / 2 * (f @ f) + lam / 2 * w_square + C * hinge


@given(
    seed=st.integers(0, 2**32 - 1),
    lam=st.sampled_from([0.01, 0.1, 0.5, 0.9, 1.0]),
    C=st.sampled_from([0.5, 5.0, 100.0, 1000.0]),
    gamma=st.sampled_from([0.05, 0.5, 5.0]),
    center=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_incremental_reaches_the_direct_objective(seed, lam, C, gamma, center):
    check_incremental(seed % 1000, lam, C, gamma, center)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("lam", [0.01, 0.03, 0.1])
@pytest.mark.parametrize("seed", range(4))
def test_incremental_certificate_with_large_coefficients(seed, lam, center):
    check_incremental(seed, lam, 1000.0, 5.0, center)


def check_incremental(seed, lam, C, gamma, center):
    X, label = moons(120, seed)
    y, K = 2.0 * label - 1, rbf_kernel(X, gamma=gamma)
    K = 0.5 * (K + K.T)  # one and the same problem for both solvers
    options = {"C": C, "kernel": "precomputed", "center": center}
    with warnings.catch_warnings():
        # a certificate has to hold wherever it ends, also where points are nearly dependent
        warnings.simplefilter("ignore", ConvergenceWarning)
        grown = SpheredSVC(lam, solver="incremental", tol=1e-5, **options).fit(K, label)
    direct = SpheredSVC(lam, solver="direct", tol=1e-8, **options).fit(K, label)
    bounds = [bounds_of_the_optimum(m, K, y, lam, C, center) for m in (grown, direct)]
    lower, upper = max(b[0] for b in bounds), min(b[1] for b in bounds)
    solution = grown.solutions_[0]
    assert lower - solution.gap <= solution.objective <= upper + solution.gap
    # and the weight vector is as good as alpha
    assert bounds[0][1] <= solution.objective + solution.gap
    # the certificate is not only right but small: 1e-7 is lost outside of the span
    assert solution.status is Status.STALLED or upper - solution.objective <= 1e-6 * upper


def test_incremental_needs_few_points_and_the_direct_solver_all():
    X, y = moons(600)
    grown = SpheredSVC(0.5, gamma=0.5, solver="incremental").fit(X, y)
    direct = SpheredSVC(0.5, gamma=0.5, solver="direct").fit(X, y)
    assert len(grown.basis_) < 150
    assert len(direct.basis_) == 600
    np.testing.assert_allclose(grown.decision_function(X), direct.decision_function(X), atol=0.02)


class Matrix:
    def __init__(self, K):
        self.K = K

    def columns(self, index):
        return self.K[:, index]

    def matvec(self, a):
        return self.K @ a


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_bordered_inverse_against_plain_linear_algebra(center, weighted):
    X, y = moons(60)
    K = rbf_kernel(X, gamma=2.0)
    lam = 0.3
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=60) if weighted else np.ones(60)
    basis = Basis(Matrix(K), np.ones(60), weights, lam=lam, center=center)
    for j in (3, 17, 40, 41, 8, 25):
        basis.join(j)
    r = y - y.mean()
    basis.grow(basis.outside(r, K @ r), 20, Limits())

    def check():
        points = basis.points
        assert len(set(points)) == len(points) == basis.n
        # projections onto the span, and R of them
        P = K[:, points] @ np.linalg.solve(K[np.ix_(points, points)], K[points])
        np.testing.assert_allclose(basis.G @ basis.G.T, P, atol=1e-9)
        np.testing.assert_allclose(basis.rest, 1 - np.diagonal(P), atol=1e-9)
        B = np.eye(60) - (weights / weights.sum() if center else 0.0)
        R = sphered(B @ P @ B.T, lam, weights)
        np.testing.assert_allclose(basis.block(np.arange(60)), R, atol=1e-9)
        np.testing.assert_allclose(basis.diagonal(), np.diagonal(R), atol=1e-9)
        v = np.cos(np.arange(60.0))
        np.testing.assert_allclose(basis.product(v), R @ v, atol=1e-8)
        np.testing.assert_allclose(basis.outside(v, K @ v), (K - P) @ v, atol=1e-8)

    check()
    basis.join(np.flatnonzero(basis.candidates())[0])
    check()


def test_coordinates_and_inverse_are_computed_anew_when_they_drift():
    X, y = moons(60)
    K = rbf_kernel(X, gamma=2.0)
    basis = Basis(Matrix(K), np.ones(60), np.ones(60), lam=0.3, center=True)
    basis.join(0)
    r = y - y.mean()
    basis.grow(basis.outside(r, K @ r), 10, Limits())

    def errors():
        inverse = basis.S @ basis.S_inverse - np.eye(basis.n)
        own = basis.G @ basis.G[basis.points].T - K[:, basis.points]
        return np.abs(inverse).max(), np.abs(own).max()

    assert max(errors()) < 1e-12
    for array in (basis.S_inverse, basis.G):
        array *= 1 + 1e-6
        assert max(errors()) > 1e-7
        basis.grow(basis.outside(r, K @ r), 1, Limits())
        assert max(errors()) < 1e-12


def test_incremental_stalls_where_the_other_points_depend_on_the_basis():
    """A wide kernel has a dozen directions in double precision, and a tiny lam asks for more."""
    X, label = moons(60)
    K, lam, C = rbf_kernel(X, gamma=1e-3), 1e-8, 1000.0
    K = 0.5 * (K + K.T)
    eigenvalues = np.linalg.eigvalsh(K)
    assert np.count_nonzero(eigenvalues > 1e-11 * eigenvalues[-1]) < 20  # the premise
    options = {"C": C, "kernel": "precomputed"}
    with pytest.warns(ConvergenceWarning, match="stalled"):
        grown = SpheredSVC(lam, solver="incremental", **options).fit(K, label)
    solution = grown.solutions_[0]
    assert solution.status is Status.STALLED
    assert len(grown.basis_) < 20
    assert solution.kkt_violation <= 1e-4  # of the problem in the span
    # Honest: the certificate holds and shows what is lost outside of the span.
    lower, upper = bounds_of_the_optimum(grown, K, 2.0 * label - 1, lam, C, center=True)
    assert upper - solution.objective > 1e-7 * upper
    assert lower - solution.gap <= solution.objective <= upper + solution.gap


def test_incremental_with_stopped_time_says_so():
    X, y = moons(200)
    assert SpheredSVC(solver="incremental").fit(X, y).solutions_[0].status is Status.OPTIMAL
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = SpheredSVC(solver="incremental", max_time=1e-6).fit(X, y)
    assert model.solutions_[0].status is Status.MAX_TIME
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = SpheredSVC(solver="incremental", max_iter=3).fit(X, y)
    assert model.n_iter_ <= 3
    assert model.solutions_[0].status is Status.MAX_ITER
    assert Limits(max_iter=5).rest(7, 1.0).max_iter == 0


@pytest.mark.parametrize(
    "options",
    [
        {"lam": 0.5, "kernel": lambda A, B: rbf_kernel(A, B, gamma=1.0)},
        {"lam": 0.5, "gamma": 1.0},
        {"lam": 0.0, "gamma": 100.0},
        {"lam": 0.5, "kernel": "linear"},
        {"lam": 0.5, "gamma": 1.0, "solver": "incremental"},
    ],
)
def test_time_can_end_at_every_stage(options, monkeypatch):
    """A clock that goes on by one second whenever it is asked ends the fit at all of them."""
    X, y = moons(60)
    optimum = SpheredSVC(**options, **TIGHT).fit(X, y).solutions_[0]
    statuses = []
    for seconds in (*range(1, 30), 40, 50, 60, 80, 1000):
        ticks = itertools.count()
        monkeypatch.setattr(_clock, "perf_counter", lambda ticks=ticks: next(ticks))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = SpheredSVC(**options, max_time=seconds).fit(X, y)
        solution = model.solutions_[0]
        statuses.append(solution.status)
        alpha = model.alpha_[0]
        assert 0 <= alpha.min() and alpha.max() <= 100 and abs((2 * y - 1) @ alpha) <= 1e-10
        assert solution.objective <= optimum.objective * (1 + 1e-9)
        assert optimum.objective <= solution.objective + solution.gap + 1e-9 * optimum.objective
        assert np.isfinite(model.decision_function(X)).all()
        if not alpha.any():  # the best constant: every point of the smaller class pays twice
            assert solution.gap == pytest.approx(100 * 60)
            assert solution.kkt_violation == 2
    assert statuses[0] is Status.MAX_TIME and statuses[-1] is Status.OPTIMAL


def test_time_covers_the_kernel_matrix(monkeypatch):
    X, y = moons(64)
    clock = [0.0]
    monkeypatch.setattr(_clock, "perf_counter", lambda: clock[0])
    blocks = [slice(start, start + 16) for start in range(0, 64, 16)]
    monkeypatch.setattr(_training, "block_slices", lambda *_: blocks)

    def kernel(A, B):
        clock[0] += 1.0
        return rbf_kernel(A, B, gamma=1.0)

    for model in (SpheredSVC(kernel=kernel), SpheredSVCCV([0.5], cv=2, kernel=kernel)):
        clock[0] = 0.0
        with pytest.warns(ConvergenceWarning, match="max_time"):
            model.set_params(max_time=2.5).fit(X, y)
        # three blocks end after 2.5 s, in each fold and at the end
        assert clock[0] == (3 if isinstance(model, SpheredSVC) else 9)
        assert not model.alpha_.any()


# ---------------------------------------------------------------- choice of lam


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_cross_validation_is_that_of_scikit_learn(kernel):
    X, y = moons(90)
    y = y + (X[:, 0] > 1)  # three classes
    X = rbf_kernel(X, gamma=1.0) if kernel == "precomputed" else X
    cv = StratifiedKFold(3, shuffle=True, random_state=0)
    lams = [0.01, 0.3, 1.0, 0.0]
    model = SpheredSVCCV(lams, cv=cv, kernel=kernel, gamma=1.0, **TIGHT).fit(X, y)
    np.testing.assert_array_equal(model.lams_, np.sort(lams))
    for lam, scores in zip(model.lams_[1:], model.scores_[1:], strict=True):
        plain = SpheredSVC(lam, kernel=kernel, gamma=1.0, **TIGHT)
        np.testing.assert_allclose(cross_val_score(plain, X, y, cv=cv), scores, atol=1e-12)
    means = model.scores_.mean(axis=1)
    assert model.best_score_ == pytest.approx(means.max())
    assert model.lam_ == model.lams_[means >= means.max() - 1e-12][-1]
    final = SpheredSVC(model.lam_, kernel=kernel, gamma=1.0, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), final.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_one_decomposition_of_each_fold_serves_all_lam(kernel, monkeypatch):
    calls = []
    for name in ("of_gram", "of_features"):
        original = getattr(Decomposition, name)

        def counted(*arguments, original=original, **options):
            calls.append(len(arguments[0]))
            return original(*arguments, **options)

        monkeypatch.setattr(Decomposition, name, counted)
    X, y = moons(60)
    SpheredSVCCV(np.linspace(0.1, 0.9, 9), cv=3, kernel=kernel).fit(X, y)
    folds, final = [40, 40, 40], [60] if kernel == "linear" else []  # else by Cholesky
    assert calls == folds + final


# ---------------------------------------------------------------- weights


def repeated(counts, *arrays):
    return [np.repeat(array, counts, axis=0) for array in arrays]


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(
    ("kernel", "lam", "solver"),
    [
        ("rbf", 0.2, "direct"),
        ("rbf", 0.2, "incremental"),
        ("rbf", 1.0, "direct"),
        ("precomputed", 0.2, "direct"),
        ("linear", 0.2, "direct"),
        ("linear", 0.0, "direct"),
        ("linear", 0.2, "incremental"),
    ],
)
def test_weight_two_is_the_row_twice(kernel, lam, solver, center):
    X, y = overlapping(90, 3)
    y = y + (X[:, 0] > 1)  # three classes
    counts = np.random.default_rng(0).integers(0, 4, size=90)
    assert (counts == 0).any() and (counts > 1).any()
    options = {"kernel": kernel, "solver": solver, "center": center, "C": 3.0, "tol": 1e-9}
    data, (more, y_more) = X, repeated(counts, X, y)
    if kernel == "precomputed":
        data, new = X @ X.T + 1, X @ X.T + 1
        more, new_more = more @ more.T + 1, X @ more.T + 1
    else:
        new = new_more = overlapping(20, 3, seed=7)[0]
    weighted = SpheredSVC(lam, **options).fit(data, y, sample_weight=counts)
    plain = SpheredSVC(lam, **options).fit(more, y_more)
    # f is determined to the root of the gap, which is the rest of the incremental solver
    atol = 1e-6 if solver == "direct" else 2e-2
    np.testing.assert_allclose(
        weighted.decision_function(new), plain.decision_function(new_more), atol=atol
    )
    for one, other in zip(weighted.solutions_, plain.solutions_, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=1e-6)
    assert weighted.capacity_bound_ == pytest.approx(plain.capacity_bound_, rel=1e-3)
    assert weighted.capacity_ == pytest.approx(plain.capacity_, rel=1e-2)
    assert weighted.margin_ == pytest.approx(plain.margin_, rel=1e-2)
    assert (weighted.alpha_[:, counts == 0] == 0).all()
    assert (weighted.alpha_ <= 3.0 * counts).all()


@pytest.mark.parametrize("solver", ["direct", "incremental"])
@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("center", [True, False])
def test_weighted_primal_of_an_independent_solver(lam, center, solver):
    if lam == 0 and solver == "incremental":
        pytest.skip("the incremental solver needs lam > 0")
    X, label = overlapping(60, 4)
    X, y = X @ np.diag([1.0, 3.0, 0.3, 2.0]) + 0.5, 2.0 * label - 1
    s = np.random.default_rng(0).uniform(0.0, 3.0, size=60)
    X_c = X - s @ X / s.sum() if center else X
    w, b = cp.Variable(4), cp.Variable()
    spread = 0.5 * (1 - lam) * cp.sum_squares(np.sqrt(s)[:, None] * X_c @ w)
    slack = s @ cp.pos(1 - cp.multiply(y, X_c @ w + b))
    problem = cp.Problem(cp.Minimize(spread + 0.5 * lam * cp.sum_squares(w) + 20.0 * slack))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    model = SpheredSVC(lam, C=20.0, kernel="linear", center=center, solver=solver, **TIGHT)
    model.fit(X, label, sample_weight=s)
    assert model.solutions_[0].objective == pytest.approx(problem.value, rel=1e-7)
    # the objective is known to 1e-9 or so, and f to its root
    values, expected = model.decision_function(X), X_c @ w.value
    np.testing.assert_allclose(values - values.mean(), expected - expected.mean(), atol=2e-4)


def test_class_weights_are_weights_of_rows_and_those_of_the_standard_svm():
    X, y = overlapping(120, 4)
    y[:15] = 2
    X = np.round(X * 8) / 8  # exact in LIBSVM's single precision
    weights = {0: 0.5, 1: 2.0, 2: 4.0}
    ours = SpheredSVC(1.0, C=0.25, kernel="linear", class_weight=weights, tol=1e-10).fit(X, y)
    other = SVC(C=0.25, kernel="linear", class_weight=weights, tol=1e-10).fit(X, y)
    K = X @ X.T
    assert (K == K.astype(np.float32)).all()
    decide = ours.set_params(decision_function_shape="ovo").decision_function
    expected = other.set_params(decision_function_shape="ovo").decision_function(X)
    np.testing.assert_allclose(decide(X), expected, atol=1e-6)
    by_rows = SpheredSVC(0.3, **TIGHT).fit(X, y, sample_weight=[weights[k] for k in y])
    by_class = SpheredSVC(0.3, class_weight=weights, **TIGHT).fit(X, y)
    np.testing.assert_allclose(by_rows.decision_function(X), by_class.decision_function(X))
    # balanced: all classes have the same sum, also when rows count differently
    s = np.random.default_rng(0).uniform(0.5, 2.0, size=120)
    sums = np.bincount(y, s)
    by_hand = SpheredSVC(0.3, **TIGHT).fit(X, y, sample_weight=s * (s.sum() / (3 * sums))[y])
    balanced = SpheredSVC(0.3, class_weight="balanced", **TIGHT).fit(X, y, sample_weight=s)
    np.testing.assert_allclose(
        balanced.decision_function(X), by_hand.decision_function(X), atol=1e-7
    )


def test_cross_validation_counts_rows_with_their_weights():
    X, y = moons(90)
    rng = np.random.default_rng(0)
    s = rng.integers(0, 3, size=90).astype(float)
    fold = np.arange(90) % 3
    cv = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    model = SpheredSVCCV([0.1, 0.8], cv=cv, gamma=1.0, **TIGHT).fit(X, y, sample_weight=s)
    for lam, scores in zip(model.lams_, model.scores_, strict=True):
        for (train, test), score in zip(cv, scores, strict=True):
            plain = SpheredSVC(lam, gamma=1.0, **TIGHT)
            plain.fit(X[train], y[train], sample_weight=s[train])
            expected = plain.score(X[test], y[test], sample_weight=s[test])
            assert score == pytest.approx(expected)


def test_bad_weights():
    X, y = moons(20)
    with pytest.raises(ValueError, match="negative"):
        SpheredSVC().fit(X, y, sample_weight=np.full(20, -1.0))
    with pytest.raises(ValueError, match="20 rows"):
        SpheredSVC().fit(X, y, sample_weight=[1.0])
    with pytest.raises(ValueError, match="1 class"):
        SpheredSVC().fit(X, y, sample_weight=y)
    with pytest.raises(ValueError, match="No row of class"):
        SpheredSVC().fit(X, np.arange(20) % 3, sample_weight=np.arange(20) % 3)
    with pytest.raises(ValueError, match="class_weight"):
        SpheredSVC(class_weight={0: -1.0}).fit(X, y)
    with pytest.raises(ValueError, match="class_weight"):
        SpheredSVC(class_weight="equal").fit(X, y)


# ---------------------------------------------------------------- capacity


@pytest.mark.parametrize("solver", ["direct", "incremental"])
@pytest.mark.parametrize("lam", [0.1, 1.0])
def test_capacity_is_that_of_section_four(solver, lam):
    X, y = moons(80)
    model = SpheredSVC(lam, gamma=1.0, solver=solver, tol=1e-7).fit(X, y)
    K = gram(X, True)
    y_s = 2.0 * y - 1
    beta = np.linalg.solve((1 - lam) * K + lam * np.eye(80), y_s * model.alpha_[0])
    values, norm = K @ beta, np.sqrt(beta @ K @ beta)
    m = np.abs(values / norm).max()  # eq. 60
    assert model.margin_[0] == pytest.approx(1 / norm, rel=1e-4)
    assert model.capacity_[0] == pytest.approx(m / model.margin_[0], rel=1e-4)
    assert model.capacity_bound_[0] == pytest.approx(np.linalg.norm(values), rel=1e-4)
    assert model.capacity_[0] <= model.capacity_bound_[0]


def test_capacity_of_the_linear_machine_does_not_depend_on_the_scale():
    X, y = overlapping()
    A = np.random.default_rng(0).normal(size=(6, 6))
    plain = SpheredSVC(0.0, kernel="linear", **TIGHT).fit(X, y)
    mapped = SpheredSVC(0.0, kernel="linear", **TIGHT).fit(X @ A, y)
    assert mapped.capacity_ == pytest.approx(plain.capacity_, rel=1e-7)
    assert mapped.capacity_bound_ == pytest.approx(plain.capacity_bound_, rel=1e-7)
    assert mapped.margin_[0] != pytest.approx(plain.margin_[0], rel=0.1)


# ---------------------------------------------------------------- more classes and data


def test_more_classes_as_one_vs_one_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    options = {"lam": 0.2, "gamma": 0.1, "tol": 1e-9}
    model = SpheredSVC(**options).fit(X, y)
    reference = OneVsOneClassifier(SpheredSVC(**options)).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(X), reference.decision_function(X), atol=1e-7
    )
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))
    names = np.array(["a", "b", "c"])
    model.set_params(decision_function_shape="ovo").fit(X, names[y])
    assert model.decision_function(X).shape == (150, 3)
    assert model.alpha_.shape == (3, 150) and model.intercept_.shape == (3,)
    assert (model.predict(X) == names[y]).mean() > 0.95
    # lam = 1 has the signs of SVC
    K = rbf_kernel(X, gamma=0.125).astype(np.float32).astype(np.float64)
    ours = SpheredSVC(1.0, kernel="precomputed", C=5.0, decision_function_shape="ovo", tol=1e-9)
    other = SVC(kernel="precomputed", C=5.0, decision_function_shape="ovo", tol=1e-9)
    np.testing.assert_allclose(
        ours.fit(K, y).decision_function(K), other.fit(K, y).decision_function(K), atol=1e-6
    )


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("solver", ["direct", "incremental"])
def test_sparse_equals_dense_and_precomputed(kernel, solver):
    X, y = moons(80)
    X[np.abs(X) < 0.3] = 0.0
    options = {"solver": solver, "gamma": 0.7, "degree": 2, "coef0": 1.0, "tol": 1e-8}
    dense = SpheredSVC(0.4, kernel=kernel, **options).fit(X, y)
    sparse = SpheredSVC(0.4, kernel=kernel, **options).fit(sp.csr_matrix(X), y)
    K = {
        "rbf": rbf_kernel(X, gamma=0.7),
        "linear": X @ X.T,
        "poly": polynomial_kernel(X, gamma=0.7, degree=2, coef0=1.0),
    }[kernel]
    matrix = SpheredSVC(0.4, kernel="precomputed", **options).fit(K, y)
    called = SpheredSVC(0.4, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.7), **options).fit(X, y)
    f = dense.decision_function(X)
    np.testing.assert_allclose(sparse.decision_function(sp.csc_matrix(X)), f, atol=1e-4)
    np.testing.assert_allclose(matrix.decision_function(K), f, atol=1e-4)
    if kernel == "rbf":
        np.testing.assert_allclose(called.decision_function(X), f, atol=1e-4)


@pytest.mark.parametrize("solver", ["direct", "incremental"])
def test_kernels_of_objects_that_are_no_vectors(solver):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    words = np.array(["".join(rng.choice(list("ACGT"), 12)) + ("AC", "GG")[c] * 3 for c in y])
    kernel = Spectrum(k=2)
    model = SpheredSVC(0.5, kernel=kernel, solver=solver, tol=1e-8).fit(words, y)
    K = kernel(words)
    matrix = SpheredSVC(0.5, kernel="precomputed", solver=solver, tol=1e-8).fit(K, y)
    assert len(np.unique(words)) == 40 and model.score(words, y) > 0.9
    np.testing.assert_allclose(
        model.decision_function(words[:9]), matrix.decision_function(K[:9]), atol=1e-6
    )
    chosen = SpheredSVCCV([0.1, 0.9], kernel=kernel, solver=solver).fit(words, y)
    assert chosen.lam_ in (0.1, 0.9)


def test_large_problems_choose_the_incremental_solver_and_fall_back():
    X, y = moons(1600)
    assert len(SpheredSVC(gamma=0.5).fit(X, y).basis_) < 300
    assert len(SpheredSVC(gamma=1000.0, C=1.0).fit(X, y).basis_) == 1600


def test_pickle_clone_and_grid_search():
    X, y = moons(80)
    model = SpheredSVC(0.3, solver="incremental").fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(clone(model).fit(X, y).alpha_, model.alpha_)
    search = GridSearchCV(SpheredSVCCV([0.1, 0.9], cv=3), {"gamma": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8


# ---------------------------------------------------------------- errors come first


@pytest.mark.parametrize("solver", ["auto", "direct", "incremental"])
def test_indefinite_matrices_are_refused_with_the_eigenvalue(solver):
    X, y = moons(40)
    rng = np.random.default_rng(0)
    E = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    E[:, 0] = 0
    E[:2, 0] = np.sqrt([0.5, 0.5]) * [1, -1]  # survives centring
    E = np.linalg.qr(E)[0]
    K = E * np.r_[-0.25, np.linspace(1, 2, 39)] @ E.T
    assert np.linalg.eigvalsh(K)[0] == pytest.approx(-0.25)
    with pytest.raises(ValueError, match=r"smallest eigenvalue is -0\.25.*PSVC"):
        SpheredSVC(kernel="precomputed", solver=solver).fit(K, y)
    with pytest.raises(ValueError, match=r"indefinite.*PSVC"):
        SpheredSVC(kernel="sine", theta=3.0, solver=solver).fit(X, y)
    with pytest.raises(ValueError, match=r"not symmetric.*PSVC"):
        SpheredSVC(kernel="precomputed", solver=solver).fit(rng.normal(size=(40, 40)), y)
    assert PSVC(kernel="precomputed", epsilon=0.5).fit(K, y).n_support_ > 0


def test_centring_admits_conditionally_definite_kernels():
    X, y = moons(60)
    distance = -((X[:, None] - X) ** 2).sum(axis=2)
    assert np.linalg.eigvalsh(distance)[0] < -1
    model = SpheredSVC(0.5, kernel="precomputed", **TIGHT).fit(distance, y)
    linear = SpheredSVC(0.5, kernel=lambda A, B: 2 * A @ B.T, **TIGHT).fit(X, y)
    np.testing.assert_allclose(
        model.decision_function(distance), linear.decision_function(X), atol=1e-6
    )
    with pytest.raises(ValueError, match="indefinite"):
        SpheredSVC(0.5, kernel="precomputed", center=False).fit(distance, y)


@pytest.mark.parametrize(
    ("parameters", "culprit"),
    [
        ({"lam": -0.1}, "lam"),
        ({"lam": 1.1}, "lam"),
        ({"lam": "auto"}, "lam"),
        ({"lam": np.nan}, "lam"),
        ({"lam": 0, "solver": "incremental"}, "lam = 0"),
        ({"C": 0}, "C"),
        ({"kernel": "gauss"}, "kernel"),
        ({"kernel": "dyadic"}, "kernel"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": "wide"}, "gamma"),
        ({"degree": -1}, "degree"),
        ({"coef0": np.inf}, "coef0"),
        ({"center": "yes"}, "center"),
        ({"solver": "smo"}, "solver"),
        ({"decision_function_shape": "ovx"}, "decision_function_shape"),
        ({"tol": 0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_time": -1}, "max_time"),
        ({"cache_size": -1}, "cache_size"),
    ],
)
def test_bad_parameters(parameters, culprit):
    X, y = moons(20)
    with pytest.raises(ValueError, match=culprit):
        SpheredSVC(**parameters).fit(X, y)


def test_bad_data():
    X, y = moons(20)
    with pytest.raises(ValueError, match="1 class"):
        SpheredSVC().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="square"):
        SpheredSVC(kernel="precomputed").fit(X, y)
    with pytest.raises(ValueError, match="Unknown label type"):
        SpheredSVC().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="lams"):
        SpheredSVCCV(lams=[0.5, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match="lams"):
        SpheredSVCCV(lams=[]).fit(X, y)
    with pytest.raises(ValueError, match="no training rows"):
        SpheredSVCCV(cv=[(np.flatnonzero(y == 0), np.flatnonzero(y == 1))]).fit(X, y)


def test_a_fit_that_fails_leaves_the_old_model():
    X, y = moons(60)
    model = SpheredSVC().fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="indefinite"):
        model.set_params(kernel="sine").fit(X, np.where(y == 0, "a", "b"))
    np.testing.assert_array_equal(model.decision_function(X), before)
    np.testing.assert_array_equal(model.classes_, [0, 1])
