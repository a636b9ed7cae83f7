"""PSVC and PSVR: scikit-learn contract, the three kinds of data, weights, attributes, errors."""

import pickle
import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

import psvm
from psvm import PSVC, PSVR, SMO
from psvm.comparators import KernelFisherDiscriminant, LeastSquaresSVC, LeastSquaresSVR
from psvm.kernels import Linear
from reference import AGAIN, Case, assert_same_solution, decided

TIGHT = {"tol": 1e-9}


# Some checks have labels that have nothing to do with the features.
@pytest.mark.filterwarnings("ignore:The model has no support objects")
@parametrize_with_checks([PSVC(), PSVR(), PSVC(epsilon="aicc", kernel="poly", coef0=1.0)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:The model has no support objects")
@parametrize_with_checks([PSVC(kernel="precomputed"), PSVR(kernel="dyadic")])
def test_scikit_learn_contract_of_measured_matrices(estimator, check):
    check(estimator)


def moons(n=120, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, y


# ---------------------------------------------------------------- the three kinds of data


def test_prediction_is_the_formula_of_the_papers():
    X, y = moons()
    model = PSVC(epsilon=0.5, C=3.0, gamma=0.7, threshold="mean", **TIGHT).fit(X, y)
    K = rbf_kernel(X, X, gamma=0.7)
    m = K.mean(axis=0)
    s = np.linalg.norm(K - m, axis=0)
    assert 0 < model.n_support_ < len(y)
    np.testing.assert_allclose(model.column_means_, m, rtol=1e-12)
    np.testing.assert_allclose(model.column_norms_, s, rtol=1e-12)
    t = np.where(y == model.classes_[1], 1.0, -1.0)
    f = (K - m) / s @ model.alpha_ + t.mean()
    # two evaluations of the same kernel differ by rounding only
    np.testing.assert_allclose(model.decision_function(X), f, atol=1e-10 * np.abs(f).max())
    assert decided(f)
    np.testing.assert_array_equal(model.predict(X), np.where(f > 0, 1, 0))


def test_certificate_is_that_of_the_solution():
    X, y = load_diabetes(return_X_y=True)
    model = PSVR(epsilon=50.0, kernel="dyadic").fit(X, y)
    case = Case(X, y, np.inf, 50.0)
    worst = case.worst(model.alpha_)
    assert worst <= 1e-4 * 50 * (1 + 1e-9)
    assert model.kkt_violation_ == pytest.approx(worst, abs=1e-9 * case.epsilon_max)
    assert model.dual_gap_ == model.solution_.gap >= 0
    assert model.solution_.status is psvm.Status.OPTIMAL


def test_precomputed_equals_kernel():
    X, y = moons()
    vector = PSVC(epsilon=0.3, gamma=0.7, **TIGHT).fit(X, y)
    K = rbf_kernel(X, X, gamma=0.7)
    matrix = PSVC(epsilon=0.3, kernel="precomputed", **TIGHT).fit(K, y)
    np.testing.assert_allclose(matrix.alpha_, vector.alpha_, atol=1e-6)
    X_new = moons(50, seed=1)[0]
    np.testing.assert_allclose(
        matrix.decision_function(rbf_kernel(X_new, X, gamma=0.7)),
        vector.decision_function(X_new),
        atol=1e-6,
    )


def test_dyadic_equals_linear_algebra_on_any_shape(rng):
    K = rng.normal(size=(40, 90))
    y = K[:, 3] - 2 * K[:, 50]
    model = PSVR(kernel="dyadic", epsilon=1.0, **TIGHT).fit(K, y)
    sparse = PSVR(kernel="dyadic", epsilon=1.0, **TIGHT).fit(sp.csr_array(K), y)
    assert {3, 50} <= set(model.support_)
    np.testing.assert_allclose(sparse.alpha_, model.alpha_, atol=1e-7)
    np.testing.assert_allclose(sparse.predict(sp.csc_matrix(K)), model.predict(K), atol=1e-7)


def test_asymmetric_and_indefinite_matrices_are_fine(rng):
    K = rng.normal(size=(50, 50))
    assert np.linalg.eigvalsh(K + K.T).min() < 0
    y = np.where(K[:, 4] > 0, "a", "b")
    model = PSVC(kernel="precomputed", epsilon=3.0).fit(K, y)
    assert 4 in model.support_
    assert model.score(K, y) > 0.9


def test_cross_validation_slices_precomputed_on_both_sides():
    X, y = moons()
    K = rbf_kernel(X, X, gamma=0.7)
    cv = KFold(4, shuffle=True, random_state=0)
    parameters = {"epsilon": 0.5, "gamma": 0.7, **TIGHT}
    f = cross_val_predict(PSVC(**parameters), X, y, cv=cv, method="decision_function")
    assert decided(f)
    np.testing.assert_array_equal(
        cross_val_predict(PSVC(kernel="precomputed", **parameters), K, y, cv=cv),
        cross_val_predict(PSVC(**parameters), X, y, cv=cv),
    )
    # dyadic columns stay: each fold still has all of them
    assert len(cross_val_score(PSVC(kernel="dyadic", epsilon=0.5), K[:, :7], y, cv=cv)) == 4


def test_kernels_by_name_are_the_functions_of_the_papers():
    X, y = moons(60)
    distance = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    by_hand = {
        "linear": X @ X.T,
        "poly": polynomial_kernel(X, X, gamma=0.5, degree=2, coef0=1.5),
        "rbf": np.exp(-0.5 * distance**2),
        "plummer": (distance + 0.3) ** -2.0,
        "sine": np.sin(1.7 * distance),
    }
    given = {"gamma": 0.5, "degree": 2, "coef0": 1.5, "rho": 0.3, "zeta": 2.0, "theta": 1.7}
    for kernel, K in by_hand.items():
        named = PSVC(kernel=kernel, epsilon=0.5, **given, **TIGHT).fit(X, y)
        matrix = PSVC(kernel="precomputed", epsilon=0.5, **TIGHT).fit(K, y)
        f, g = named.decision_function(X), matrix.decision_function(K)
        np.testing.assert_allclose(f, g, atol=1e-5, err_msg=kernel)


def test_landmarks_describe_instead_of_the_training_objects(rng):
    X, y = moons()
    Z = rng.normal(size=(15, 2))
    model = PSVC(landmarks=Z, gamma=1.0, epsilon=0.5, **TIGHT).fit(X, y)
    dyadic = PSVC(kernel="dyadic", epsilon=0.5, **TIGHT).fit(rbf_kernel(X, Z, gamma=1.0), y)
    np.testing.assert_allclose(model.alpha_, dyadic.alpha_, atol=1e-7)
    np.testing.assert_array_equal(model.support_objects_, Z[model.support_])
    copy = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
    assert decided(model.decision_function(X))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert PSVC(landmarks=Z).fit(X, y).score(X, y) > 0.8


def test_sparse_vectors_equal_dense_vectors(decides):
    X, y = moons(80)
    X[np.abs(X) < 0.3] = 0.0
    for kernel in ("linear", "poly", "rbf", "plummer", "sine"):
        assert decides(lambda kernel=kernel: PSVC(kernel=kernel).fit(X, y))
        dense = PSVC(kernel=kernel).fit(X, y)
        sparse = PSVC(kernel=kernel).fit(sp.csr_matrix(X), y)
        assert sparse.epsilon_ == pytest.approx(dense.epsilon_, rel=1e-6)
        np.testing.assert_allclose(
            sparse.decision_function(sp.csr_matrix(X)), dense.decision_function(X), atol=1e-3
        )


# ---------------------------------------------------------------- work at prediction time


class CountingKernel:
    """An RBF kernel that counts its values."""

    def __init__(self):
        self.count = 0

    def __call__(self, X, Z):
        self.count += X.shape[0] * Z.shape[0]
        return rbf_kernel(X, Z, gamma=1.0)


def test_prediction_touches_only_the_support_objects():
    X, y = moons()
    model = PSVC(kernel=CountingKernel(), epsilon=1.0).fit(X, y)
    assert 0 < model.n_support_ < len(y) / 2
    model.kernel.count = 0
    model.predict(X[:37])
    assert model.kernel.count == 37 * model.n_support_
    assert model.support_objects_.shape == (model.n_support_, 2)


def test_kernel_is_evaluated_once_if_it_fits_and_again_if_not(decides):
    X, y = moons()
    assert decides(lambda: PSVC(kernel=CountingKernel()).fit(X, y))
    kept, anew = CountingKernel(), CountingKernel()
    first = PSVC(kernel=kept).fit(X, y)
    second = PSVC(kernel=anew, cache_size=0).fit(X, y)
    # clones of the kernel are not made: the counters are those of the fitted kernels
    assert first.kernel.count <= len(y) ** 2
    assert second.kernel.count > first.kernel.count
    np.testing.assert_allclose(second.alpha_, first.alpha_, atol=1e-6)


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("C", [np.inf, 0.5])
@pytest.mark.parametrize("epsilon", [0.5, "auto", "aicc"])
@pytest.mark.parametrize("kernel", ["rbf", "dyadic"])
def test_weight_two_is_the_row_twice_and_zero_is_no_row(C, epsilon, kernel, rng, decides):
    X, y = moons(60)
    weights = rng.integers(0, 4, size=60).astype(float)
    assert set(weights) == {0, 1, 2, 3}
    times = weights.astype(int)
    parameters = {"C": C, "epsilon": epsilon, "kernel": kernel, **TIGHT}
    given = {"X": X, "y": y, "sample_weight": weights}
    assert epsilon == 0.5 or decides(lambda: PSVC(**parameters).fit(**given))
    weighted = PSVC(**parameters).fit(X, y, sample_weight=weights)
    order = rng.permutation(times.sum())
    repeated = PSVC(**parameters).fit(
        np.repeat(X, times, axis=0)[order], np.repeat(y, times)[order]
    )
    assert repeated.epsilon_ == pytest.approx(weighted.epsilon_, rel=1e-9)
    assert repeated.offset_ == pytest.approx(weighted.offset_, rel=1e-12)
    f = weighted.decision_function(X)
    # both are solved to a violation of 1e-9 epsilon; f is continuous in it
    np.testing.assert_allclose(repeated.decision_function(X), f, atol=1e-6 * np.abs(f).max())
    assert repeated.solution_.objective == pytest.approx(weighted.solution_.objective, rel=1e-7)


def test_weight_two_is_the_object_twice_in_a_pairwise_matrix(rng, decides):
    X, y = moons(50)
    K = rbf_kernel(X, X, gamma=1.0)
    times = rng.integers(1, 3, size=50)
    index = rng.permutation(np.repeat(np.arange(50), times))
    model = PSVC(kernel="precomputed", **TIGHT)
    assert decides(lambda: clone(model).fit(K, y, sample_weight=times))
    weighted = clone(model).fit(K, y, sample_weight=times)
    repeated = clone(model).fit(K[np.ix_(index, index)], y[index])
    assert repeated.epsilon_ == pytest.approx(weighted.epsilon_, rel=1e-9)
    f = weighted.decision_function(K)
    np.testing.assert_allclose(
        repeated.decision_function(K[:, index]), f, atol=1e-6 * np.abs(f).max()
    )


def test_class_weight_multiplies_sample_weight(rng):
    X, y = moons(80)
    weights = rng.uniform(0.5, 2, size=80)
    by_class = PSVC(class_weight={0: 3.0, 1: 0.5}, epsilon=0.5, **TIGHT).fit(X, y, weights)
    by_hand = PSVC(epsilon=0.5, **TIGHT).fit(X, y, weights * np.where(y == 0, 3.0, 0.5))
    np.testing.assert_allclose(by_class.alpha_, by_hand.alpha_, atol=1e-9)
    # balanced classes have a mean target of zero
    y[:60] = 0
    model = PSVC(class_weight="balanced", epsilon=1.0, threshold="mean").fit(X, y)
    assert model.offset_ == pytest.approx(0, abs=1e-12)


def test_equal_vectors_describe_once():
    X, y = moons(40)
    X2, y2 = np.vstack([X, X]), np.concatenate([y, y])
    model = PSVC(epsilon=0.1, C=0.5).fit(X2, y2)
    assert model.alpha_.shape == (80,)
    assert not model.alpha_[40:].any() and model.alpha_[:40].any()


# ---------------------------------------------------------------- attributes and life cycle


def test_names_of_a_data_frame_in_dyadic_mode():
    data = load_breast_cancer(as_frame=True)
    model = PSVC(kernel="dyadic", epsilon=5.0).fit(data.data, data.target_names[data.target])
    names = data.data.columns[model.support_]
    assert 0 < len(names) < 10
    np.testing.assert_array_equal(model.support_objects_, names)
    np.testing.assert_array_equal(model.classes_, ["benign", "malignant"])
    assert model.score(data.data, data.target_names[data.target]) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        model.predict(data.data[data.data.columns[::-1]])


@pytest.mark.parametrize("make", [PSVC, PSVR])
def test_pickle_and_clone(make):
    X, y = moons()
    model = make(solver=SMO(pair=False, tol=0.01), gamma="auto").fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.alpha_, model.alpha_)
    np.testing.assert_allclose(copy.predict(X), model.predict(X), **AGAIN)
    assert_same_solution(clone(model).fit(X, y), model, X)
    assert clone(model).get_params()["solver"] == SMO(pair=False, tol=0.01)


def test_pipeline_and_grid_search():
    X, y = moons()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), PSVC()),
        {"psvc__epsilon": [0.1, 1.0, "auto", "aicc"], "psvc__gamma": [0.5, "scale"]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.85
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()


def test_warm_start_needs_fewer_iterations_and_the_same_size():
    X, y = moons()
    model = PSVC(epsilon=0.5, warm_start=True, solver=SMO(), **TIGHT).fit(X, y)
    cold = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < cold
    with pytest.raises(ValueError, match="warm_start"):
        model.fit(X[:50], y[:50])


def test_limits_warn_and_leave_a_usable_model():
    X, y = moons(200)
    with pytest.warns(ConvergenceWarning, match="violation of .* duality gap of .*max_iter"):
        model = PSVC(epsilon=0.01, max_iter=3, solver=SMO()).fit(X, y)
    assert model.solution_.status is psvm.Status.MAX_ITER
    assert model.n_iter_ == 3
    assert model.predict(X).shape == y.shape
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = PSVC(epsilon=1e-4, max_time=1e-6).fit(X, y)
    assert model.solution_.status is psvm.Status.MAX_TIME


class StoppedKernel:
    """Ctrl-C in the middle of a fit."""

    def __call__(self, X, Z):
        raise KeyboardInterrupt


def test_a_fit_that_fails_or_is_stopped_leaves_the_old_model():
    X, y = moons(60)
    model = PSVC(gamma=1.0).fit(X, y)
    before = model.decision_function(X), model.predict(X), model.epsilon_
    with pytest.raises(KeyboardInterrupt):
        model.set_params(kernel=StoppedKernel()).fit(X, np.where(y == 0, "a", "b"))
    with pytest.raises(ValueError, match="1 class"):
        model.set_params(kernel="rbf", gamma=9.0).fit(X, np.ones(60))
    np.testing.assert_allclose(model.decision_function(X), before[0], **AGAIN)
    assert decided(before[0])
    np.testing.assert_array_equal(model.predict(X), before[1])
    assert model.epsilon_ == before[2]


def test_more_classes_through_scikit_learn_wrappers():
    X, y = moons()
    y = y + (X[:, 0] > 1)
    assert len(np.unique(y)) == 3
    assert OneVsRestClassifier(PSVC()).fit(X, y).score(X, y) > 0.8


def test_constant_target_gives_the_constant():
    X, _ = moons(30)
    for epsilon in ("auto", "aicc", 0.0, 1.0):
        model = PSVR(epsilon=epsilon).fit(X, np.full(30, 0.1))
        np.testing.assert_allclose(model.predict(X), 0.1, rtol=1e-14)
        assert model.n_support_ == 0


def test_two_samples():
    model = PSVC().fit([[0.0], [1.0]], [3, 4])
    np.testing.assert_array_equal(model.predict([[0.0], [1.0]]), [3, 4])


def test_verbose_prints_a_line(capsys):
    X, y = moons(40)
    PSVC(verbose=True).fit(X, y)
    assert "gap=" in capsys.readouterr().out


# ---------------------------------------------------------------- errors come first


@pytest.mark.parametrize(
    ("parameters", "culprit"),
    [
        ({"C": 0}, "C"),
        ({"C": -1.0}, "C"),
        ({"C": np.nan}, "C"),
        ({"C": "large"}, "C"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": np.inf}, "epsilon"),
        ({"epsilon": "bic"}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"kernel": "gauss"}, "kernel"),
        ({"kernel": 3}, "kernel"),
        ({"gamma": 0.0}, "gamma"),
        ({"gamma": "wide"}, "gamma"),
        ({"degree": -1}, "degree"),
        ({"coef0": np.nan}, "coef0"),
        ({"theta": "a"}, "theta"),
        ({"rho": 0.0}, "rho"),
        ({"zeta": -1.0}, "zeta"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 2.5}, "max_iter"),
        ({"max_time": 0}, "max_time"),
        ({"solver": "newton"}, "solver"),
        ({"cache_size": -1}, "cache_size"),
        ({"landmarks": [[1.0]]}, "landmarks"),
        ({"landmarks": [[np.nan, 1.0]]}, "landmarks"),
        ({"kernel": "dyadic", "landmarks": [[1.0, 2.0]]}, "landmarks"),
    ],
)
def test_bad_parameters(parameters, culprit):
    X, y = moons(20)
    with pytest.raises(ValueError, match=culprit):
        PSVC(**parameters).fit(X, y)


@pytest.mark.parametrize("make", [PSVC, PSVR])
@pytest.mark.parametrize("kernel", ["rbf", "dyadic"])
@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[np.nan, 1.0], [0.0, 1.0]], "NaN"),
        ([[np.inf, 1.0], [0.0, 1.0]], "infinity"),
        ([1.0, 2.0], "2D array"),
        ([[1.0], [2.0], [3.0]], "inconsistent numbers of samples"),
        ([["a"], ["b"]], "could not convert"),
        (np.array([[1j], [2.0]]), "Complex"),
        (np.empty((2, 0)), "0 feature"),
        (np.empty((0, 3)), "0 sample"),
    ],
)
def test_bad_data(make, kernel, X, message):
    with pytest.raises(ValueError, match=message):
        make(kernel=kernel).fit(X, [0, 1])


def test_bad_targets_and_weights():
    X, y = moons(20)
    with pytest.raises(ValueError, match="classes"):
        PSVC().fit(X, np.zeros(20))
    with pytest.raises(ValueError, match="classes"):
        PSVC().fit(X, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="Unknown label type"):
        PSVC().fit(X, X[:, 0])
    with pytest.raises(ValueError, match="NaN"):
        PSVR().fit(X, np.where(y == 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="negative"):
        PSVR().fit(X, y, sample_weight=-np.ones(20))
    with pytest.raises(ValueError, match="sample_weight"):
        PSVR().fit(X, y, sample_weight=np.ones(19))
    with pytest.raises(ValueError, match="square"):
        PSVC(kernel="precomputed").fit(X, y)
    with pytest.raises(NotFittedError):
        PSVC().predict(X)
    with pytest.raises(ValueError, match="2 features"):
        PSVC(kernel="dyadic", epsilon=0.1).fit(X, y).predict(X[:, :1])


def test_kernel_that_returns_the_wrong_thing():
    X, y = moons(20)
    with pytest.raises(ValueError, match="shape"):
        PSVC(kernel=lambda A, B: A).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        PSVC(kernel=lambda A, B: np.full((len(A), len(B)), np.nan)).fit(X, y)


def test_regression_is_as_good_as_the_target_allows():
    X, y = load_diabetes(return_X_y=True)
    scores = cross_val_score(PSVR(), scale(X), y, cv=KFold(3, shuffle=True, random_state=0))
    assert scores.mean() > 0.4  # what ridge regression reaches on these data
    assert isinstance(pd.Series(PSVR().fit(scale(X), y).predict(X)).iloc[0], float)


@pytest.mark.parametrize("dtype", [np.float32, "float32"])
def test_kernel_values_in_single_precision(dtype):
    """Kernel values that are off by u move the gradient by at most u ||K_j|| ||r|| / s_j."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=400)
    model = PSVR(epsilon=0.05, gamma=0.3, dtype=dtype, tol=1e-6).fit(X, y)
    K = rbf_kernel(X, gamma=0.3)
    sizes = np.sqrt(np.square(K).sum(axis=0))
    K -= K.mean(axis=0)
    norms = np.sqrt(np.square(K).sum(axis=0))
    r = y - y.mean() - K @ (model.alpha_ / norms)
    F = -(K / norms).T @ r
    # Half an ulp for x, z, the two norms, their product and the result.
    u = 6e-8 * (1 + 0.3 * 5 * np.square(X).sum(axis=1).max())
    rounding = u * (sizes / norms).max() * np.linalg.norm(r) * 2
    # The rounded means and norms count as well, and so does K̃ alpha.
    rounding += u * 2 * np.abs(model.alpha_).sum()
    s = np.sign(model.alpha_)
    free = s != 0
    assert np.abs(F[free] + 0.05 * s[free]).max() <= 1e-6 * 0.05 + rounding
    assert np.abs(F).max() <= 0.05 * (1 + 1e-6) + rounding
    assert rounding < 0.01  # the premise
    double = PSVR(epsilon=0.05, gamma=0.3, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(model.predict(X), double.predict(X), atol=1e-3)
    # The same model in both precisions: alpha_j / s_j times what the kernel value is off by.
    coef = np.abs(model.alpha_[model.support_] / model.column_norms_[model.support_]).sum()
    double.__dict__.update(model.__dict__, dtype=np.float64, _prepared_support=X[model.support_])
    np.testing.assert_allclose(model.predict(X), double.predict(X), rtol=0, atol=u * coef)


@pytest.mark.parametrize("dtype", [None, "half", np.float16, int, 32])
def test_storage_that_does_not_exist(dtype):
    with pytest.raises(ValueError, match="dtype must be float64 or float32"):
        PSVR(dtype=dtype).fit(np.eye(4), np.arange(4))


@pytest.mark.parametrize("model", [PSVC(), PSVR()])
def test_vectors_too_large_for_the_width(model):
    """Their variance overflows: no kernel width of zero, no constant model."""
    X = 1e200 * np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match="too large to be squared"):
        model.fit(X, np.arange(20) % 2)


def undefined_far_away(X, Z):
    """A user's kernel that has no value for rows it has never seen the like of."""
    K = rbf_kernel(X, Z, gamma=0.5)
    K[X[:, 0] > 100] = np.nan
    return K


PREDICTORS = [
    PSVC(epsilon=0.5),
    PSVC(epsilon=0.5, multi_class="ovr"),
    PSVC(epsilon=0.5, probability="sigmoid"),
    PSVC(epsilon=0.5, dtype=np.float32),
    PSVR(epsilon=0.5),
    psvm.PSVCCV(cv=2),
    psvm.PSVRCV(cv=2),
    psvm.SpheredSVC(),
    psvm.SpheredSVC(solver="incremental"),
    psvm.SpheredSVCCV(lams=[0.5], cv=2),
    LeastSquaresSVC(),
    LeastSquaresSVR(),
    KernelFisherDiscriminant(),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", PREDICTORS, ids=str)
def test_no_answer_for_values_that_are_nan(model, n_classes, rng):
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0], np.linspace(-1, 1, n_classes + 1)[1:-1])
    model = clone(model).set_params(kernel=undefined_far_away).fit(X, y)
    new = X[:5].copy()
    new[[1, 3], 0] = 1e3
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match=r"2 rows of X are NaN .*\(rows 1, 3\)"):
                getattr(model, method)(new)
            assert len(getattr(model, method)(new[[0, 2, 4]])) == 3


@pytest.mark.parametrize("model", PREDICTORS, ids=str)
def test_no_answer_for_rows_that_overflow(model, rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = clone(model).set_params(kernel="linear").fit(X, y)
    for far in (np.array([[0.0, 0.0], [1e308, -1e308], [1e308, 1e308]]), 1e307 * X):
        for method in ("predict", "decision_function"):
            try:
                values = getattr(model, method)(far) if hasattr(model, method) else [0.0]
            except ValueError as error:
                assert re.search("rows of X are NaN or infinite", str(error))
            else:  # some stay within the numbers
                assert np.isfinite(values).all()
    with pytest.raises(ValueError, match=r"\(rows 0\): kernel='poly'"):
        clone(model).set_params(kernel="poly").fit(X, y).predict(np.array([[1e200, 1e200]]))


def test_what_a_users_kernel_returns_is_checked(rng):
    X, y = moons(40)
    answers = {
        r"shape \(39, 40\), expected \(40, 40\)": lambda K: K[1:],
        r"shape \(40,\), expected \(40, 40\)": lambda K: K[:, 0],
        r"shape \(\), expected \(40, 40\)": lambda K: 1.0,
        "returned <U3 data": lambda K: np.full(K.shape, "abc"),
        "returned complex128 data": lambda K: K + 1j,
        "returned a sparse matrix": sp.csr_array,
        "it must return real numbers": lambda K: [["a", None]],
        "returned NaN or infinity": lambda K: np.where(K < 0.5, np.inf, K),
    }
    for message, change in answers.items():
        with pytest.raises(ValueError, match=message):
            PSVC(kernel=lambda X, Z, f=change: f(rbf_kernel(X, Z)), epsilon=0.5).fit(X, y)
    answer = [lambda K: K]
    model = PSVC(kernel=lambda X, Z: answer[0](rbf_kernel(X, Z)), epsilon=0.5).fit(X, y)
    answer[0] = lambda K: K[:, 1:]
    expected = rf"shape \(3, {model.n_support_ - 1}\), expected \(3, {model.n_support_}\)"
    with pytest.raises(ValueError, match=expected):
        model.predict(X[:3])


@pytest.mark.parametrize("model", [PSVC(), PSVR()], ids=str)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("random_state", "seed"),
        ("random_state", -1),
        ("warm_start", "yes"),
        ("warm_start", None),
        ("verbose", "no"),
        ("verbose", 7),
        ("C", 10**400),
        ("C", Fraction(1, 2)),
        ("epsilon", 10**400),
        ("gamma", -(10**400)),
        ("max_iter", 10**20),
        ("cache_size", np.array([1.0])),
        ("class_weight", {"no number": "x"}),
    ],
)
def test_parameters_that_make_no_sense_are_named(model, name, value):
    if name not in model.get_params():
        return
    with pytest.raises(ValueError, match=rf"{name}\b.* must be"):
        clone(model).set_params(**{name: value}).fit(*moons(20))


def test_large_integers_are_numbers():
    X, y = moons(40)
    with_integers = PSVC(C=10**20, epsilon=1, gamma=2, coef0=10**30).fit(X, y)
    with_floats = PSVC(C=1e20, epsilon=1.0, gamma=2.0, coef0=1e30).fit(X, y)
    np.testing.assert_array_equal(with_integers.alpha_, with_floats.alpha_)


def test_masked_entries_are_missing_values():
    X, y = moons(40)
    masked = np.ma.masked_array(X, X > 1.5)
    assert masked.mask.any()
    model = PSVC(epsilon=0.5).fit(np.ma.masked_array(X, False), y)
    for call in (
        lambda: PSVC(epsilon=0.5).fit(masked, y),
        lambda: model.predict(masked),
        lambda: psvm.solve(masked, y, epsilon=0.5),
        lambda: psvm.kernels.RBF()(masked),
        lambda: psvm.PSVMSelector(0.5).fit(X, y).transform(masked),
        lambda: psvm.selection.rankings.fisher(masked, y),
    ):
        with pytest.raises(ValueError, match=rf"missing values: {masked.mask.sum()} masked"):
            call()
    with pytest.raises(ValueError, match="y contains missing values: 1 masked"):
        PSVR(epsilon=0.5).fit(X, np.ma.masked_array(X[:, 0], np.arange(40) == 3))


def broken_matrices():
    """Sparse matrices whose indices point outside: SciPy follows them."""
    good = sp.random(40, 2, density=0.9, random_state=0, format="csr")
    broken = []
    for kind, part, value in (
        (sp.csr_array, "indices", 10**6),
        (sp.csr_matrix, "indices", -(10**6)),
        (sp.csc_array, "indices", 10**6),
        (sp.csr_array, "indptr", 10**6),
        (sp.csr_array, "indptr", -1),
    ):
        K = kind(good, copy=True)
        getattr(K, part)[1] = value
        broken.append(K)
    K = sp.coo_array(good, copy=True)
    K.coords[0][1] = 10**6
    floats = sp.csr_array(good, copy=True)
    floats.indices = floats.indices + 0.5
    empty = sp.csr_array(good, copy=True)
    empty.indptr[-1] = 0  # which SciPy's own check takes for a matrix without entries
    blocks = sp.bsr_array(good.toarray(), blocksize=(2, 2))
    blocks.indices[1] = 10**6
    lists = sp.lil_array(good.toarray())
    lists.rows[3] = [10**6] * len(lists.rows[3])
    return [*broken, K, floats, empty, blocks, lists]


@pytest.mark.parametrize("K", broken_matrices(), ids=lambda K: f"{type(K).__name__}")
def test_sparse_matrices_with_bad_indices_are_refused(K):
    X, y = moons(40)
    vectors = PSVC(epsilon=0.5).fit(X, y)
    columns = PSVC(kernel="dyadic", epsilon=0.5).fit(X, y)
    for call in (
        lambda: PSVC(kernel="dyadic", epsilon=0.5).fit(K, y),
        lambda: PSVC(epsilon=0.5).fit(K, y),
        lambda: vectors.predict(K),
        lambda: columns.decision_function(K),
        lambda: psvm.solve(K, y, epsilon=0.5),
        lambda: psvm.epsilon_path(K, y),
        lambda: psvm.matrix.as_matrix(K),
        lambda: psvm.kernels.Linear()(K),
        lambda: psvm.PSVMSelector(0.5).fit(X, y).transform(K),
        lambda: psvm.matrix_spectrum(K),
    ):
        with pytest.raises(ValueError, match="is not a valid sparse matrix"):
            call()


def test_checking_a_sparse_matrix_leaves_it_alone():
    X, y = moons(40)
    K = sp.csr_array(X)
    parts = K.data, K.indices, K.indptr
    psvm.solve(K, y, epsilon=0.5)
    assert all(a is b for a, b in zip(parts, (K.data, K.indices, K.indptr), strict=True))


# --- the function in the units of X


@pytest.mark.parametrize("kernel", ["linear", "dyadic", Linear()])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_weights_and_constant_in_the_units_of_X(rng, tmp_path, kernel, n_classes):
    X = rng.normal(size=(40, 5)) * [1, 2, 3, 4, 100] + 7
    y = X[:, 0] if n_classes == 0 else np.digitize(X[:, 1], [5, 9][: n_classes - 1])
    model = (PSVC if n_classes else PSVR)(kernel=kernel, epsilon=0.5)
    if n_classes:
        model.set_params(decision_function_shape="ovo", multi_class="ovo")
    model.fit(X, y)
    values = (model.decision_function if n_classes else model.predict)(X)
    sign = -1 if n_classes == 3 else 1  # as in scikit-learn, pairs are positive for the first class
    f = X @ np.atleast_2d(model.coef_).T + model.intercept_
    # a sum of five products of numbers up to 1e3
    np.testing.assert_allclose(f, sign * values.reshape(f.shape), atol=1e-11, rtol=1e-11)
    psvm.save(model, tmp_path / "m.psvm")
    again = psvm.load(tmp_path / "m.psvm")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)


def test_only_a_linear_function_has_weights(rng):
    X = rng.normal(size=(30, 3)) + 5
    model = PSVR(epsilon=0.1).fit(X, X[:, 0])
    assert not hasattr(model, "coef_") and not hasattr(PSVR(), "intercept_")
    place = model.support_
    K = rbf_kernel(X, X[place], gamma=1 / (3 * X.var()))
    f = K @ (model.alpha_ / model.column_norms_)[place] + model.intercept_
    np.testing.assert_allclose(f, model.predict(X), rtol=1e-9)


def test_a_kernel_that_returns_a_wrong_shape_is_told_the_right_one(rng):
    X = rng.normal(size=(20, 2))
    for wrong, shape in ((lambda A, B: A @ B[:1].T, r"\(20, 1\)"), (lambda A, B: 1.0, r"\(\)")):
        with pytest.raises(ValueError, match=rf"returned shape {shape}, expected \(20, 20\)"):
            PSVR(kernel=wrong).fit(X, X[:, 0])
