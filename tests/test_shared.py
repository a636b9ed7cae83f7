"""Machines of several classes that share their support: `multi_class="shared"`."""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import psvm
import reference
from psvm import PSVC, SMO
from psvm.choice import POLICY, _left_out
from psvm.solvers import GroupSolution, Status

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
"""Two solutions differ by what the tolerance of 1e-8 allows, times the condition of the support."""


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), y


def wine():
    X, y = load_wine(return_X_y=True)
    return scale(X), y


def some_digits():
    X, y = load_digits(return_X_y=True)
    return X[:500] / 16, y[:500]


def blobs(seed, n=60):
    """Three classes that overlap."""
    return make_blobs(n, 3, centers=3, cluster_std=3.0, random_state=seed)


def shared(**parameters):
    return PSVC(**{"kernel": "rbf", "multi_class": "shared", **parameters})


def relaxed(share):
    """A policy by which variables go that far to least squares."""
    return mock.patch.object(_left_out, "POLICY", replace(POLICY, shared_relaxation=share))


def codes(y):
    """A column of -1 and +1 for each class."""
    return np.where(y[:, None] == np.unique(y), 1.0, -1.0)


@pytest.fixture(scope="module")
def fitted():
    X, y = iris()
    return X, y, shared().fit(X, y)


# Some checks have labels that have nothing to do with the features.
@pytest.mark.filterwarnings("ignore:The model has no support objects")
@parametrize_with_checks(
    [
        PSVC(kernel="rbf", multi_class="shared"),
        PSVC(kernel="rbf", multi_class="shared", epsilon=0.5),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# --- the problem that is solved


def certificate(K, Y, A, epsilon, weights=None):
    """KKT violation and duality gap of the group penalty from their definitions."""
    pairs = [reference.standardise(K, y, weights) for y in Y.T]
    K_s, Y_c = pairs[0][0], np.column_stack([y for _, y in pairs])
    R = Y_c - K_s @ A
    F, sizes = -K_s.T @ R, np.linalg.norm(A, axis=1)
    violation = np.linalg.norm(F, axis=1) - epsilon
    used = sizes > 0
    slopes = F[used] + epsilon * A[used] / sizes[used, None]
    violation[used] = np.linalg.norm(slopes, axis=1)
    share = min(np.vdot(R, Y_c) / np.vdot(R, R), epsilon / np.linalg.norm(F, axis=1).max())
    primal = 0.5 * np.vdot(R, R) + epsilon * sizes.sum()
    dual = 0.5 * np.vdot(Y_c, Y_c) - 0.5 * np.linalg.norm(Y_c - share * R) ** 2
    return max(violation.max(), 0.0), primal - dual


@pytest.mark.parametrize("epsilon", ["auto", 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_certificate_is_that_of_the_definition(epsilon, weighted, rng):
    X, y = iris()
    weights = rng.uniform(0.5, 2.0, size=len(y)) if weighted else None
    model = PSVC(kernel="rbf", multi_class="shared", epsilon=epsilon, gamma=0.3)
    model.fit(X, y, sample_weight=weights)
    (solution,) = model.solutions_
    assert isinstance(solution, GroupSolution)
    assert solution.status is Status.OPTIMAL
    np.testing.assert_array_equal(model.epsilon_, solution.epsilon)
    violation, gap = certificate(
        rbf_kernel(X, gamma=0.3), codes(y), solution.A, solution.epsilon, weights
    )
    # sums of 150 rows of entries of at most 1, times the sizes of A
    rounding = 1e-12 * (len(y) + np.abs(solution.A).sum())
    assert violation <= model.tol * solution.epsilon + rounding
    assert model.kkt_violation_ == pytest.approx(violation, abs=rounding)
    assert model.dual_gap_ == pytest.approx(gap, abs=rounding * np.abs(solution.A).sum())
    np.testing.assert_array_equal(model.support_, solution.support)


@pytest.mark.parametrize("relaxation", [0.0, 0.4, 1.0])
def test_variables_go_the_way_to_least_squares(relaxation):
    X, y = iris()
    with relaxed(relaxation):
        model = shared(epsilon=1.0, gamma=0.3).fit(X, y)
    (solution,) = model.solutions_
    K = rbf_kernel(X, gamma=0.3)
    K_s, _ = reference.standardise(K, y)
    used = solution.support
    assert 0 < len(used) < len(y) / 2
    squares = np.linalg.lstsq(K_s[:, used], codes(y) - codes(y).mean(axis=0), rcond=None)[0]
    expected = (1 - relaxation) * solution.A[used] + relaxation * squares
    # the Gram matrix squares the condition of the columns
    size = np.abs(squares).max()
    np.testing.assert_allclose(model.alpha_[:, used], expected.T, atol=1e-6 * size)


def test_values_are_those_of_the_variables(fitted):
    X, _, model = fitted
    K = rbf_kernel(X, X[model.support_], gamma=1 / X.shape[1])
    alpha, means, norms = (
        getattr(model, name)[:, model.support_]
        for name in ("alpha_", "column_means_", "column_norms_")
    )
    f = np.column_stack(
        [(K - m) @ (a / s) + b for a, m, s, b in zip(alpha, means, norms, model.offset_,
                                                     strict=True)]
    )  # fmt: skip
    np.testing.assert_allclose(model.decision_function(X), f, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[f.argmax(axis=1)])


# --- leave-one-out values


def certain_shifts(values, Y, weights, groups):
    """The constants that held-out values of groups of equal rows ask for, as far as certain."""
    total = np.bincount(groups, weights)[:, None]
    means = np.array([np.bincount(groups, weights * y) for y in Y.T]).T / total
    inside = np.empty_like(means)
    inside[groups] = np.clip(values, -3.0, 3.0)
    share = total / total.sum()
    shifts = (share * (means - inside)).sum(axis=0)
    variances = (np.square(share) * np.square(means - inside - shifts)).sum(axis=0)
    return shifts * np.maximum(0.0, 1 - variances / np.square(shifts))


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10**6), kernel=st.sampled_from(["rbf", "precomputed", "dyadic"]))
def test_values_are_those_of_least_squares_without_the_row(seed, kernel):
    """By a fit for each group of equal rows, whose columns leave with them."""
    rng = np.random.default_rng(seed)
    X, y = blobs(seed, 40)
    if kernel == "rbf":
        X, y = np.vstack([X, X[:6]]), np.append(y, y[:6][::-1])  # equal rows of other classes
    weights = rng.uniform(0.5, 2.0, size=len(y))
    K = rbf_kernel(X, gamma=0.05)
    given = X if kernel == "rbf" else K if kernel == "precomputed" else K[:, ::3]
    K = given if kernel == "dyadic" else K
    model = shared(epsilon=0.6, epsilon_unit="max", kernel=kernel, gamma=0.05)
    with relaxed(1.0):
        model.fit(given, y, sample_weight=weights)
    assert 0 < model.n_support_ < len(y) / 2
    groups = np.unique(X, axis=0, return_inverse=True)[1].reshape(-1)
    Y, expected = codes(y), np.empty((len(y), 3))
    for group in np.unique(groups):
        out = groups == group
        own = out[model.support_] if kernel != "dyadic" else np.zeros(model.n_support_, bool)
        D = np.column_stack([np.ones(len(y)), K[:, model.support_[~own]]])
        root = np.sqrt(np.where(out, 0.0, weights))[:, None]
        expected[out] = D[out] @ np.linalg.lstsq(root * D, root * Y, rcond=None)[0]
    expected += certain_shifts(expected, Y, weights, groups)
    # the Gram matrix of some ten smooth columns loses half of the digits
    np.testing.assert_allclose(model.loo_decision_, expected, rtol=1e-5, atol=1e-5)
    if reference.decided(expected, 1e-4):
        wrong = expected.argmax(axis=1) != y
        assert model.loo_error_ == pytest.approx(np.average(wrong, weights=weights))


@pytest.mark.parametrize("relaxation", [0.0, 0.75, 1.0])
def test_no_more_support_objects_than_dimensions(relaxation):
    """Machines may use more columns of a linear kernel than it has dimensions; f needs no more."""
    X, y = make_blobs(90, 2, centers=3, random_state=0)
    with relaxed(relaxation):
        model = shared(kernel="linear").fit(X, y)
    (solution,) = model.solutions_
    assert 0 < model.n_support_ <= 2
    Z, Y = reference.standardise(X @ X.T, y)[0][:, solution.support], codes(y)
    squares = np.linalg.lstsq(Z, Y - Y.mean(axis=0), rcond=None)[0]
    f = Z @ (solution.A[solution.support] * (1 - relaxation) + relaxation * squares)
    shifted = model.decision_function(X) - model.offset_
    # two columns of norm one and values of at most 2
    np.testing.assert_allclose(shifted, f, atol=1e-8)
    assert model.loo_error_ <= 1 - SVC(kernel="linear").fit(X, y).score(X, y) + 0.1


def test_the_error_is_near_that_of_real_leave_one_out():
    """The support and the choice of epsilon know the rows, which the values do not see."""
    for X, y in (iris(), wine()):
        model = PSVC(kernel="rbf", multi_class="shared", epsilon=0.1, epsilon_unit="max").fit(X, y)
        wrong = 1 - cross_val_score(model, X, y, cv=LeaveOneOut())
        # within two standard errors of either
        error = np.sqrt(max(wrong.mean(), 1 / len(y)) / len(y))
        assert abs(model.loo_error_ - wrong.mean()) <= 2 * error


def test_the_threshold_of_the_papers():
    X, y = iris()
    model = shared(threshold="mean").fit(X, y)
    np.testing.assert_allclose(model.offset_, codes(y).mean(axis=0), **reference.AGAIN)
    assert not hasattr(model, "loo_decision_")
    assert not hasattr(model, "loo_error_")
    shifted = shared().fit(X, y)
    np.testing.assert_array_equal(shifted.alpha_, model.alpha_)
    values = shifted.loo_decision_ - (shifted.offset_ - model.offset_)
    groups = np.unique(X, axis=0, return_inverse=True)[1].reshape(-1)
    expected = certain_shifts(values, codes(y), np.ones(len(y)), groups)
    np.testing.assert_allclose(shifted.offset_ - model.offset_, expected, atol=1e-12)
    assert hasattr(shared(threshold="mean", probability=True).fit(X, y), "loo_error_")


# --- what does not matter


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_rows_does_not_matter(seed):
    X, y = blobs(seed)
    order = np.random.default_rng(seed).permutation(len(y))
    model, other = shared(tol=1e-8).fit(X, y), shared(tol=1e-8).fit(X[order], y[order])
    np.testing.assert_allclose(other.epsilon_, model.epsilon_)
    np.testing.assert_array_equal(np.sort(order[other.support_]), model.support_)
    np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), **CLOSE)
    np.testing.assert_allclose(other.loo_decision_, model.loo_decision_[order], **CLOSE)


@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_a_weight_is_a_number_of_equal_rows(seed):
    X, y = blobs(seed)
    weights = np.random.default_rng(seed).integers(0, 3, size=len(y))
    repeated = np.repeat(np.arange(len(y)), weights)
    model = shared(tol=1e-8).fit(X, y, sample_weight=weights)
    other = shared(tol=1e-8).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(other.epsilon_, model.epsilon_)
    np.testing.assert_array_equal(repeated[other.support_], model.support_)
    np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), **CLOSE)
    np.testing.assert_allclose(other.loo_error_, model.loo_error_)
    np.testing.assert_allclose(other.loo_decision_, model.loo_decision_[repeated], **CLOSE)


def test_class_weights_are_weights():
    X, y = blobs(0)
    model = shared(class_weight={0: 1.0, 1: 2.0, 2: 0.5}).fit(X, y)
    other = shared().fit(X, y, sample_weight=np.array([1.0, 2.0, 0.5])[y])
    np.testing.assert_array_equal(other.alpha_, model.alpha_)
    np.testing.assert_array_equal(other.offset_, model.offset_)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
def test_sparse_rows(make, fitted):
    X, y, model = fitted
    other = shared(gamma=1 / X.shape[1]).fit(make(X), y)
    np.testing.assert_array_equal(other.support_, model.support_)
    # the tolerance of both fits
    np.testing.assert_allclose(
        other.decision_function(make(X)), model.decision_function(X), atol=1e-4
    )


# --- the choice


@pytest.mark.parametrize(
    ("parameters", "shares"),
    [
        ({"multi_class": "shared"}, True),
        ({"multi_class": "shared", "epsilon": 1.0}, True),
        ({"multi_class": "shared", "kernel": "linear"}, True),
        ({"multi_class": "shared", "landmarks": 20, "random_state": 0}, True),
        ({}, False),
        ({"multi_class": "ovo"}, False),
        ({"multi_class": "ovr"}, False),
    ],
)
def test_what_shares(parameters, shares):
    X, y = iris()
    model = PSVC(**parameters).fit(X, y)
    assert len(model.solutions_) == (1 if shares else 3)
    assert isinstance(model.solutions_[0], GroupSolution) == shares
    assert model.alpha_.shape[0] == 3


def test_two_classes_are_one_machine():
    X, y = iris()
    model, other = (
        PSVC(kernel="rbf", multi_class=name).fit(X[y > 0], y[y > 0]) for name in ("shared", "ovo")
    )
    np.testing.assert_array_equal(model.alpha_, other.alpha_)
    assert not isinstance(model.solution_, GroupSolution)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 10.0}, "needs C=inf, got 10.0"),
        ({"epsilon": "cv"}, "needs a number or epsilon='auto', got 'cv'"),
        ({"epsilon": "aicc"}, "needs a number or epsilon='auto', got 'aicc'"),
        ({"decision_function_shape": "ovo"}, "needs multi_class='ovo'"),
    ],
)
def test_what_cannot_share(parameters, message):
    X, y = iris()
    with pytest.raises(ValueError, match=message):
        PSVC(multi_class="shared", **parameters).fit(X, y)


@pytest.mark.parametrize("load", [iris, wine])
def test_fewer_support_objects_than_pairs_of_classes(load):
    X, y = load()
    one, pairs = (PSVC(kernel="rbf", multi_class=name).fit(X, y) for name in ("shared", "ovo"))
    assert one.n_support_ <= pairs.n_support_
    assert (one.alpha_[:, one.support_] != 0).all()  # an object supports all machines or none


@pytest.mark.parametrize("load", [iris, wine, some_digits])
def test_about_as_accurate_as_svc(load):
    X, y = load()
    train = np.arange(len(y)) % 2 == 0
    models = (model.fit(X[train], y[train]) for model in (shared(), SVC()))
    error, other = (1 - model.score(X[~train], y[~train]) for model in models)
    # two standard errors of the difference, if no wrong row is one of both
    assert error <= other + 2 * np.sqrt((error + other) / (~train).sum())


def test_epsilon_as_a_share_of_its_maximum():
    X, y = wine()
    K_s, _ = reference.standardise(rbf_kernel(X, gamma=0.1), y)
    largest = np.linalg.norm(K_s.T @ codes(y), axis=1).max()
    options = {"multi_class": "shared", "gamma": 0.1}
    model = PSVC(epsilon=0.3, epsilon_unit="max", **options).fit(X, y)
    np.testing.assert_allclose(model.epsilon_, 0.3 * largest)
    assert PSVC(epsilon=1.001 * largest, **options).fit(X, y).n_support_ == 0
    assert PSVC(epsilon=0.999 * largest, **options).fit(X, y).n_support_ == 1


# --- what else a model does


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities(method):
    X, y = wine()
    train = np.arange(len(y)) % 2 == 0
    model = shared(probability=method).fit(X[train], y[train])
    p = model.predict_proba(X[~train])
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert p.min() >= 0
    np.testing.assert_array_equal(model.predict(X[~train]), model.classes_[p.argmax(axis=1)])
    loss = -np.log(p[np.arange(len(p)), y[~train]]).mean()
    assert loss < 0.5 * np.log(3)  # half of that of guessing
    np.testing.assert_array_equal(model.alpha_, shared().fit(X[train], y[train]).alpha_)


def test_sigmoids_are_those_of_each_machine(fitted):
    """Of a machine whose leave-one-out values overlap, in the middle of the sigmoid."""
    X, y, _ = fitted
    model = shared(probability=True).fit(X, y)
    for curve, f, positive in zip(
        model.calibration_.curves, model.loo_decision_.T, codes(y).T > 0, strict=True
    ):
        p = curve(f)
        # The likelihood has no slope in the offset: smoothed targets have the mean of p.
        high, low = positive.sum(), (~positive).sum()
        targets = np.where(positive, (high + 1) / (high + 2), 1 / (low + 2))
        if curve.rises and ((f > 0) != positive).any():
            assert p.mean() == pytest.approx(targets.mean(), abs=0.05)


def test_landmarks_that_share():
    X, y = iris()
    model = shared(landmarks=X[::5], gamma=0.3).fit(X, y)
    (solution,) = model.solutions_
    assert solution.A.shape == (30, 3)
    K = rbf_kernel(X, X[::5], gamma=0.3)
    violation, _ = certificate(K, codes(y), solution.A, solution.epsilon)
    assert violation <= model.tol * solution.epsilon + 1e-12 * (len(y) + np.abs(solution.A).sum())
    assert model.landmarks_ is None
    assert model.score(X, y) > 0.9


def overlapping(n, std=2.0, seed=0):
    return make_blobs(n, 2, centers=4, cluster_std=std, random_state=seed)


def test_many_rows_share_what_describes():
    X, y = overlapping(2300)
    model = shared().fit(X, y)
    (solution,) = model.solutions_
    assert solution.A.shape == model.alpha_.shape[::-1]
    assert 100 < len(solution.A) < 1000
    violation, _ = certificate(
        rbf_kernel(X, model.plan_.objects, gamma=1 / (2 * X.var())), codes(y), solution.A,
        solution.epsilon,
    )  # fmt: skip
    assert violation <= model.tol * solution.epsilon + 1e-12 * (len(y) + np.abs(solution.A).sum())
    order = np.random.default_rng(1).permutation(len(y))
    other = shared().fit(X[order], y[order])
    np.testing.assert_allclose(other.epsilon_, model.epsilon_)
    np.testing.assert_allclose(
        np.sort(other.support_objects_, axis=0), np.sort(model.support_objects_, axis=0)
    )


def test_too_few_iterations_are_told():
    X, y = wine()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        PSVC(kernel="rbf", multi_class="shared", epsilon=1e-3, max_iter=1).fit(X, y)


@pytest.mark.parametrize("epsilon", [1e-3, "auto"])
def test_the_time_limit_covers_the_final_solve(epsilon):
    X, y = wine()
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = PSVC(kernel="rbf", multi_class="shared", epsilon=epsilon, max_time=1e-9).fit(X, y)
    (solution,) = model.solutions_
    if epsilon != "auto":  # nothing at all has been done
        assert solution.status is Status.MAX_TIME
    assert np.isfinite(model.decision_function(X)).all()


def test_a_large_support_is_that_of_the_final_solution():
    """The path is loose there, but not the solution in the end."""
    X, y = some_digits()
    model = shared().fit(X, y)
    assert model.n_support_ > 100
    assert model.kkt_violation_ <= model.tol * model.epsilon_[0]
    (solution,) = model.solutions_
    assert set(model.support_) <= set(solution.support)
    (other,) = (
        PSVC(kernel="rbf", multi_class="shared", epsilon=model.epsilon_[0]).fit(X, y).solutions_
    )
    K = reference.standardise(rbf_kernel(X, gamma=1 / (X.shape[1] * X.var())), y)[0]
    # D is quadratic in K̃A: each solution is no further from the best one than its gap demands
    bound = np.sqrt(2 * solution.gap) + np.sqrt(2 * other.gap)
    assert np.linalg.norm(K @ (solution.A - other.A)) <= bound + 1e-6


def test_any_solver_has_the_tolerance():
    X, y = iris()
    model = PSVC(kernel="rbf", multi_class="shared", epsilon=1.0, solver=SMO(tol=1e-9)).fit(X, y)
    assert model.kkt_violation_ <= 1e-9


def test_verbose(capsys):
    X, y = iris()
    shared(verbose=True).fit(X, y)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("[PSVC] epsilon=")
    assert "GroupSolution(optimal, support=" in line
    assert "machines=3" in line


def test_files_and_text(tmp_path, fitted):
    """Bit for bit; values of training rows are not in files."""
    X, y, _ = fitted
    model = shared(probability=True).fit(X, y)
    psvm.persistence.save(model, tmp_path / "model.psvm")
    loaded = psvm.persistence.load(tmp_path / "model.psvm")
    for method in ("decision_function", "predict", "predict_proba"):
        np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(model, method)(X))
    assert loaded.loo_error_ == model.loo_error_
    assert not hasattr(loaded, "loo_decision_")
    assert not hasattr(loaded, "solutions_")
    np.testing.assert_array_equal(loaded.alpha_, model.alpha_)
    code, model = {}, model.set_params(probability=False).fit(X, y)
    exec(psvm.persistence.export_numpy(model), code)
    np.testing.assert_allclose(
        code["decision_function"](X), model.decision_function(X), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_array_equal(code["predict"](X), model.predict(X))


def test_a_fit_again_forgets_the_other_scheme():
    X, y = iris()
    model = shared(probability=True).fit(X, y)
    model.set_params(multi_class="ovo", probability=False).fit(X, y)
    fresh = PSVC(kernel="rbf", multi_class="ovo").fit(X, y)
    assert set(vars(model)) == set(vars(fresh))
    np.testing.assert_array_equal(model.alpha_, fresh.alpha_)
