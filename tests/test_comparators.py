"""Kernel Fisher discriminant and least-squares SVM against their definitions."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from psvm.comparators import KernelFisherDiscriminant, LeastSquaresSVC, LeastSquaresSVR
from psvm.kernels import RBF, Spectrum

CLASSIFIERS = [
    KernelFisherDiscriminant(),
    KernelFisherDiscriminant(covariance="separate"),
    LeastSquaresSVC(),
    LeastSquaresSVC(loss="squared_hinge"),
]


@parametrize_with_checks([KernelFisherDiscriminant(), LeastSquaresSVC(), LeastSquaresSVR()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def moons():
    return make_moons(60, noise=0.3, random_state=0)


def signs(y):
    return np.where(y == 1, 1.0, -1.0)


# ---------------------------------------------------------------- kernel Fisher discriminant


@pytest.mark.parametrize("reg", [0.01, 1.0])
def test_fisher_is_the_quadratic_program(moons, reg):
    """||xi||^2 + reg alpha'K alpha, errors of mean zero in each class (lecture notes, eq. 4.31)."""
    X, y = moons
    K, t = rbf_kernel(X, gamma=0.8), signs(y)
    alpha, b, xi = cp.Variable(60), cp.Variable(), cp.Variable(60)
    root = np.linalg.cholesky(K + 1e-12 * np.eye(60))
    cp.Problem(
        cp.Minimize(cp.sum_squares(xi) + reg * cp.sum_squares(root.T @ alpha)),
        [K @ alpha + b == t + xi, xi[t > 0].sum() == 0, cp.sum(xi[t < 0]) == 0],
    ).solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9)
    model = KernelFisherDiscriminant(reg=reg, gamma=0.8).fit(X, y)
    assert model.n_support_ == 60
    f = K @ model.dual_coef_[0] + model.intercept_[0]
    # the interior point method reaches about 1e-6 of the values
    np.testing.assert_allclose(f, K @ alpha.value + b.value, atol=1e-4)
    np.testing.assert_allclose(model.means_.ravel(), [-1, 1], atol=1e-9)


def test_fisher_maximises_the_rayleigh_coefficient(moons, rng):
    X, y = moons
    K, reg = rbf_kernel(X, gamma=0.8), 0.1
    mean = [K[:, y == c].mean(axis=1) for c in (0, 1)]
    N = K @ K - sum((y == c).sum() * np.outer(mean[c], mean[c]) for c in (0, 1))  # eq. 4.18

    def coefficient(a):
        return (a @ (mean[1] - mean[0])) ** 2 / (a @ N @ a + reg * a @ K @ a)

    best = KernelFisherDiscriminant(reg=reg, gamma=0.8).fit(X, y).dual_coef_[0]
    others = [best + 0.03 * np.abs(best).max() * rng.normal(size=60) for _ in range(50)]
    assert all(coefficient(a) < coefficient(best) for a in others)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_linear_fisher_without_regularisation_is_discriminant_analysis(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y >= 3 - n_classes][::2], y[y >= 3 - n_classes][::2]
    model = KernelFisherDiscriminant(reg=1e-9, kernel="linear").fit(X, y)
    expected = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    # variances have 1e-10 added, 1e-8 of the smallest; log odds are up to 100
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-5)


def test_separate_gaussians_are_quadratic_discriminant_analysis_of_the_projections(moons):
    X, y = moons
    model = KernelFisherDiscriminant(covariance="separate").fit(X, y)
    f = KernelFisherDiscriminant().fit(X, y)._values(X)
    variance = [f[y == c].var() for c in (0, 1)]
    np.testing.assert_allclose(model.covariances_.ravel(), variance, rtol=1e-6)
    # scikit-learn divides by n - 1
    oracle = QuadraticDiscriminantAnalysis().fit(f, y)
    assert np.mean(oracle.predict(f) == model.predict(X)) > 0.98
    np.testing.assert_allclose(oracle.predict_proba(f), model.predict_proba(X), atol=0.05)


def test_posteriors_are_consistent_and_use_priors(moons):
    X, y = moons
    model = KernelFisherDiscriminant().fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), model.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(p), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    other = KernelFisherDiscriminant(priors=[0.9, 0.1]).fit(X, y)
    shift = other.decision_function(X) - model.decision_function(X)
    np.testing.assert_allclose(shift, np.log(1 / 9), rtol=1e-9)


def test_fisher_of_three_classes_does_not_depend_on_their_order():
    X, y = load_iris(return_X_y=True)
    model = KernelFisherDiscriminant(covariance="separate", reg=0.1).fit(X, y)
    turned = KernelFisherDiscriminant(covariance="separate", reg=0.1).fit(X, (y + 1) % 3)
    p, q = model.predict_proba(X), turned.predict_proba(X)
    np.testing.assert_allclose(p, q[:, [1, 2, 0]], atol=1e-6)  # LEAST_VARIANCE depends on it
    assert model.score(X, y) > 0.95


# ---------------------------------------------------------------- least squares


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_least_squares_regression_solves_the_kkt_system(rng, C):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40) + 7
    K = rbf_kernel(X, gamma=0.3)
    system = np.block([[K + np.eye(40) / (2 * C), np.ones((40, 1))], [np.ones((1, 40)), 0]])
    expected = np.linalg.solve(system, np.append(y, 0))
    model = LeastSquaresSVR(C=C, gamma=0.3).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_[0], expected[:-1], rtol=1e-8, atol=1e-10)
    assert model.intercept_[0] == pytest.approx(expected[-1])


def test_least_squares_regression_is_kernel_ridge_with_a_free_constant(rng):
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40) + 7
    model = LeastSquaresSVR(C=2.0, gamma=0.3).fit(X, y)
    ridge = KernelRidge(alpha=1 / 4, kernel="rbf", gamma=0.3).fit(X, y - model.intercept_[0])
    new = rng.normal(size=(9, 3))
    np.testing.assert_allclose(model.predict(new), ridge.predict(new) + model.intercept_[0])
    shifted = LeastSquaresSVR(C=2.0, gamma=0.3).fit(X, y + 100)
    np.testing.assert_allclose(shifted.predict(new), model.predict(new) + 100, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_classifiers_minimise_their_loss(moons, loss):
    X, y = moons
    K, t, C = rbf_kernel(X, gamma=0.8), signs(y), 3.0
    beta, b = cp.Variable(60), cp.Variable()
    f = K @ beta + b
    errors = cp.pos(1 - cp.multiply(t, f)) if loss == "squared_hinge" else t - f
    root = np.linalg.cholesky(K + 1e-12 * np.eye(60))
    objective = cp.sum_squares(root.T @ beta) / 2 + C * cp.sum_squares(errors)
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9)
    model = LeastSquaresSVC(C=C, gamma=0.8, loss=loss).fit(X, y)
    beta.value = np.zeros(60)
    beta.value[model.support_] = model.dual_coef_[0]
    expected, b.value = problem.value, model.intercept_[0]
    # 1e-12 was added to K; the interior point method was asked for a gap of 1e-9
    assert objective.value == pytest.approx(expected, rel=1e-6)
    assert (model.n_support_ < 60) == (loss == "squared_hinge")


def test_squared_hinge_is_a_hard_margin_on_the_regularised_kernel(moons):
    X, y = moons
    K = rbf_kernel(X, gamma=0.8)
    oracle = SVC(kernel="precomputed", C=1e8, tol=1e-9).fit(K + np.eye(60) / 6, y)
    model = LeastSquaresSVC(C=3.0, gamma=0.8, loss="squared_hinge").fit(X, y)
    np.testing.assert_array_equal(np.sort(oracle.support_), model.support_)
    f = K[:, oracle.support_] @ oracle.dual_coef_[0] + oracle.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-5)


def test_more_classes_are_pairs_of_classes():
    X, y = load_iris(return_X_y=True)
    model = LeastSquaresSVC(gamma=0.5, decision_function_shape="ovo").fit(X, y)
    pairs = OneVsOneClassifier(LeastSquaresSVC(gamma=0.5)).fit(X, y)
    for k, machine in enumerate(pairs.estimators_):
        f = model.decision_function(X)[:, k]
        np.testing.assert_allclose(-f, machine.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), pairs.predict(X))


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("model", [*CLASSIFIERS, LeastSquaresSVR()], ids=str)
def test_weight_two_is_the_row_twice_and_weight_zero_is_no_row(model, moons):
    X, y = moons
    weights = np.arange(60) % 3
    repeated = np.repeat(np.arange(60), weights)
    model = clone(model).set_params(gamma=0.7)
    one = clone(model).fit(X, y, sample_weight=weights)
    other = clone(model).fit(X[repeated], y[repeated])
    values = getattr(one, "decision_function", one.predict)(X)
    expected = getattr(other, "decision_function", other.predict)(X)
    np.testing.assert_allclose(values, expected, atol=1e-6 * np.abs(expected).max())
    assert not np.isin(one.support_, np.flatnonzero(weights == 0)).any()


@pytest.mark.parametrize("model", [*CLASSIFIERS, LeastSquaresSVR()], ids=str)
def test_forms_of_the_same_kernel_agree(model, moons):
    X, y = moons
    K = rbf_kernel(X, gamma=0.7)
    expected = clone(model).set_params(gamma=0.7).fit(X, y).predict(X)
    for kernel in (RBF(gamma=0.7), lambda A, B: rbf_kernel(A, B, gamma=0.7)):
        np.testing.assert_allclose(
            clone(model).set_params(kernel=kernel).fit(X, y).predict(X), expected, atol=1e-6
        )
    measured = clone(model).set_params(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(measured.predict(K), expected, atol=1e-6)
    sparse = clone(model).set_params(gamma=0.7).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), expected, atol=1e-6)
    loaded = pickle.loads(pickle.dumps(measured))
    np.testing.assert_array_equal(loaded.predict(K), measured.predict(K))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_sequences_and_searches(model, moons):
    words = ["ACGT", "ACGA", "ACGG", "TTTA", "TTTC", "TTTG"] * 3
    labels = ["a", "a", "a", "b", "b", "b"] * 3
    fitted = clone(model).set_params(kernel=Spectrum(k=2)).fit(words, labels)
    assert fitted.score(words, labels) == 1
    X, y = moons
    search = GridSearchCV(model, {"gamma": [1e-3, 0.5]}, cv=3).fit(X, y)
    assert search.best_params_ == {"gamma": 0.5}
    K = rbf_kernel(X, gamma=0.5)
    measured = clone(model).set_params(kernel="precomputed")
    assert cross_val_score(measured, K, y, cv=3).mean() == pytest.approx(
        cross_val_score(clone(model).set_params(gamma=0.5), X, y, cv=3).mean()
    )


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KernelFisherDiscriminant(reg=0), "reg must be"),
        (KernelFisherDiscriminant(covariance="full"), "covariance must be one of"),
        (KernelFisherDiscriminant(priors=[0.5, 0.6]), "priors must be 2 positive"),
        (LeastSquaresSVC(C=-1), "C must be"),
        (LeastSquaresSVC(loss="hinge"), "loss must be one of"),
        (LeastSquaresSVR(kernel="dyadic"), "kernel must be one of"),
        (LeastSquaresSVC(kernel="sine", theta=5.0, C=100), "not positive semidefinite"),
        (KernelFisherDiscriminant(kernel="sine", theta=5.0, reg=0.01), "not positive semidef"),
        (LeastSquaresSVR(kernel="precomputed"), "must be a square matrix"),
        (LeastSquaresSVC(kernel=lambda X, Z: X[:, :1] + 2 * Z[:, :1].T), "must be symmetric"),
    ],
)
def test_errors_say_what_is_wrong(model, message, moons):
    with pytest.raises(ValueError, match=message):
        model.fit(*moons)


@pytest.mark.parametrize("model", [KernelFisherDiscriminant(), LeastSquaresSVC()])
def test_a_class_without_weight_is_an_error(model, moons):
    X, y = moons
    with pytest.raises(ValueError, match="number of classes has to be greater than one"):
        model.fit(X, y, sample_weight=1.0 * (y == 1))


def test_equal_class_means_are_an_error():
    with pytest.raises(ValueError, match="same mean"):
        KernelFisherDiscriminant(kernel="linear").fit([[1.0], [-1.0], [1.0], [-1.0]], [0, 0, 1, 1])
