"""PSVC with several classes or labels, PSVR with several outputs, probabilities."""

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_moons,
    make_multilabel_classification,
)
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from psvm import PSVC, PSVR
from psvm.choice import Description
from psvm.estimators._target import class_pairs
from psvm.matrix import as_matrix
from reference import decided
from test_sigmoid import fit_sigmoid

FIXED = {"epsilon": 0.3, "gamma": 0.5, "tol": 1e-9}


def _expected(estimator):
    if estimator.decision_function_shape == "ovo":
        names = ["check_classifiers_train"]
        return dict.fromkeys(names, "values of pairs are not those of classes")
    if estimator.probability:
        names = ["check_classifiers_train"]
        return dict.fromkeys(names, "the most probable class may have fewer votes")
    return {}


@pytest.mark.slow
@parametrize_with_checks(
    [
        PSVC(kernel="rbf", multi_class="ovr"),
        PSVC(kernel="rbf", decision_function_shape="ovo"),
        PSVC(kernel="rbf", probability=True),
        PSVC(kernel="rbf", probability="isotonic", multi_class="ovr"),
    ],
    expected_failed_checks=_expected,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def iris():
    X, y = load_iris(return_X_y=True)
    return X, np.array(["setosa", "versicolor", "virginica"])[y]


# ---------------------------------------------------------------- classes


def test_pairs_are_the_machines_of_their_own_rows():
    X, y = iris()
    model = PSVC(**FIXED).fit(X, y)
    pairs = class_pairs(3)
    assert model.alpha_.shape == model.column_norms_.shape == (3, 150)
    assert model.intercept_.shape == model.epsilon_.shape == (3,)
    assert len(model.solutions_) == 3 and not hasattr(model, "solution_")
    decisions = PSVC(decision_function_shape="ovo", **FIXED).fit(X, y).decision_function(X)
    for k, (i, j) in enumerate(pairs):
        rows = np.isin(y, model.classes_[[i, j]])
        alone = PSVC(**FIXED).fit(X[rows], y[rows])
        np.testing.assert_allclose(model.alpha_[k, rows], alone.alpha_, atol=1e-6)
        assert not model.alpha_[k, ~rows].any()
        # positive for the first class of a pair, as in SVC
        np.testing.assert_allclose(-decisions[:, k], alone.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.alpha_.any(axis=0)))
    assert model.n_support_ == len(model.support_) == len(model.support_objects_)


def test_one_vs_one_agrees_with_scikit_learn():
    X, y = iris()
    model = PSVC(**FIXED).fit(X, y)
    wrapped = OneVsOneClassifier(PSVC(**FIXED)).fit(X, y)
    assert decided(wrapped.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), wrapped.predict(X))
    np.testing.assert_allclose(model.decision_function(X), wrapped.decision_function(X), atol=1e-6)


def test_one_vs_rest_agrees_with_scikit_learn():
    X, y = iris()
    model = PSVC(multi_class="ovr", **FIXED).fit(X, y)
    wrapped = OneVsRestClassifier(PSVC(**FIXED)).fit(X, y)
    assert decided(wrapped.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), wrapped.predict(X))
    np.testing.assert_allclose(model.decision_function(X), wrapped.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["precomputed", "dyadic", "callable"])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_all_kinds_of_matrices(kernel, scheme):
    X, y = iris()
    K = rbf_kernel(X, gamma=0.5)
    parameters = {**FIXED, "multi_class": scheme}
    vectors = PSVC(**parameters).fit(X, y)
    if kernel == "callable":
        other = PSVC(**{**parameters, "kernel": lambda A, B: rbf_kernel(A, B, gamma=0.5)})
        found = other.fit(X, y).decision_function(X)
    elif kernel == "precomputed":
        distinct = np.sort(np.unique(X, axis=0, return_index=True)[1])
        vectors.fit(X[distinct], y[distinct])
        K = K[np.ix_(distinct, distinct)]
        found = PSVC(**{**parameters, "kernel": kernel}).fit(K, y[distinct]).decision_function(K)
        X = X[distinct]
    else:
        parameters |= {"kernel": "dyadic"}
        wrapper = OneVsOneClassifier if scheme == "ovo" else OneVsRestClassifier
        binary = PSVC(**{**parameters, "multi_class": "ovo"})
        expected = wrapper(binary).fit(X, y).decision_function(X)
        for storage in (np.asarray, sp.csr_array):
            found = PSVC(**parameters).fit(storage(X), y).decision_function(storage(X))
            np.testing.assert_allclose(found, expected, atol=1e-6)
        return
    np.testing.assert_allclose(found, vectors.decision_function(X), atol=1e-6)


def test_a_kernel_beyond_the_cache_gives_the_same_machines():
    X, y = iris()
    model = PSVC(**FIXED).fit(X, y)
    lazy = PSVC(cache_size=0, **FIXED).fit(X, y)
    np.testing.assert_allclose(lazy.alpha_, model.alpha_, atol=1e-9)


def test_twins_of_other_classes_describe_in_their_own_pair():
    """A vector of class 0 and one of class 2 are equal: the pair (1, 2) needs the second."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 2 * np.repeat(np.eye(3, 2), 20, axis=0)
    y = np.repeat([0, 1, 2], 20)
    X[40:50] = X[:10]
    model = PSVC(**FIXED).fit(X, y)
    pair = y > 0
    alone = PSVC(**FIXED).fit(X[pair], y[pair])
    assert alone.alpha_[20:30].any()
    np.testing.assert_allclose(model.alpha_[2, pair], alone.alpha_, atol=1e-6)


def test_weights_and_class_weights_of_several_classes():
    X, y = iris()
    weights = np.random.default_rng(0).integers(0, 3, 150)
    repeated = PSVC(**FIXED).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    weighted = PSVC(**FIXED).fit(X, y, weights)
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-6
    )
    by_class = PSVC(class_weight={"setosa": 3}, **FIXED).fit(X, y)
    by_row = PSVC(**FIXED).fit(X, y, np.where(y == "setosa", 3.0, 1.0))
    np.testing.assert_allclose(by_class.alpha_, by_row.alpha_, atol=1e-9)
    with pytest.raises(ValueError, match="Only 2 of 3 classes"):
        PSVC(**FIXED).fit(X, y, y != "setosa")


def test_digits_as_accurate_as_svc():
    X, y = load_digits(return_X_y=True)
    a, b = slice(0, 500), slice(500, 900)
    model = PSVC(kernel="rbf", epsilon=0.03, epsilon_unit="max").fit(X[a], y[a])
    assert model.score(X[b], y[b]) >= SVC().fit(X[a], y[a]).score(X[b], y[b]) - 0.02
    assert len(model.solutions_) == 45


def test_warm_start_of_several_machines():
    X, y = iris()
    model = PSVC(warm_start=True, **FIXED).fit(X, y)
    assert model.fit(X, y).n_iter_ == 0
    with pytest.raises(ValueError, match="3 machines"):
        model.fit(X[:100], y[:100])


def test_schemes_that_do_not_fit_together():
    X, y = iris()
    with pytest.raises(ValueError, match="needs multi_class='ovo'"):
        PSVC(kernel="rbf", multi_class="ovr", decision_function_shape="ovo").fit(X, y)


# ---------------------------------------------------------------- labels and outputs


def test_labels_are_machines_of_their_own():
    X, Y = make_multilabel_classification(100, 4, n_classes=3, random_state=0)
    Y[:, 2] = 1  # a label that all rows have
    model = PSVC(kernel="rbf", epsilon=0.5, tol=1e-9).fit(X, Y)
    sparse = PSVC(kernel="rbf", epsilon=0.5, tol=1e-9).fit(X, sp.csr_array(Y))
    decisions = model.decision_function(X)
    for k in range(2):
        alone = PSVC(kernel="rbf", epsilon=0.5, tol=1e-9).fit(X, Y[:, k])
        np.testing.assert_allclose(decisions[:, k], alone.decision_function(X), atol=1e-6)
    assert all(map(decided, decisions.T[:2]))
    np.testing.assert_array_equal(model.predict(X), (decisions > 0).astype(int))
    np.testing.assert_array_equal(model.predict(X)[:, 2], 1)
    np.testing.assert_array_equal(sparse.predict(X), model.predict(X))
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
    for parameters in ({"class_weight": "balanced"}, {"probability": "sigmoid"}):
        with pytest.raises(ValueError, match="multi-label"):
            PSVC(**parameters).fit(X, Y)


def test_outputs_are_machines_of_their_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
    model = PSVR(kernel="rbf", epsilon=0.1, tol=1e-9).fit(X, Y)
    assert model.alpha_.shape == (2, 60)
    for k in range(2):
        alone = PSVR(kernel="rbf", epsilon=0.1, tol=1e-9).fit(X, Y[:, k])
        np.testing.assert_allclose(model.alpha_[k], alone.alpha_, atol=1e-6)
        np.testing.assert_allclose(model.predict(X)[:, k], alone.predict(X), atol=1e-6)
    assert PSVR(kernel="rbf", epsilon=0.1).fit(X, Y[:, :1]).predict(X).shape == (60, 1)


def test_epsilon_as_a_share_of_its_maximum():
    X, y = iris()
    assert PSVC(kernel="rbf", epsilon=1.0, epsilon_unit="max").fit(X, y).n_support_ == 0
    assert PSVC(kernel="rbf", epsilon=0.99, epsilon_unit="max").fit(X, y).n_support_ > 0
    t = np.where(y == "setosa", 1.0, -1.0)
    model = PSVR(kernel="rbf", epsilon=0.2, epsilon_unit="max", gamma=0.5).fit(X, t)
    K = rbf_kernel(X, gamma=0.5)
    K -= K.mean(axis=0)
    K /= np.linalg.norm(K, axis=0)
    assert model.epsilon_ == pytest.approx(0.2 * np.abs(K.T @ t).max())


# ---------------------------------------------------------------- probabilities


METHODS = pytest.mark.parametrize("method", ["sigmoid", "isotonic"])


@METHODS
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_agree_with_predictions(method, multi_class, classes):
    X, y = make_moons(150, noise=0.3, random_state=0) if classes == 2 else iris()
    model = PSVC(kernel="rbf", epsilon=0.3, probability=method, multi_class=multi_class).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (len(y), classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert np.mean(p[np.arange(len(y)), np.searchsorted(model.classes_, y)]) > 0.7
    if classes == 2:
        order = np.argsort(model.decision_function(X))
        assert (np.diff(p[order, 1]) >= 0).all()


def test_sigmoid_of_real_leave_one_out_values():
    """Free variables and their signs stay the same for most rows: the sigmoids are close."""
    X, y = make_moons(80, noise=0.4, random_state=0)
    options = {"epsilon": 0.3, "epsilon_unit": "max", "gamma": 0.5, "tol": 1e-8}
    model = PSVC(probability=True, **options).fit(X, y)
    f = np.empty(80)
    for i in range(80):
        rest = np.arange(80) != i
        f[i] = PSVC(**options).fit(X[rest], y[rest]).decision_function(X[i : i + 1])[0]
    expected = fit_sigmoid(f, y == 1, np.ones(80))
    found = model.calibration_.curves[0]
    assert found.slope == pytest.approx(expected.slope, rel=0.1)
    assert found.threshold == pytest.approx(expected.threshold, abs=0.05)


@METHODS
@pytest.mark.parametrize("kernel", ["rbf", "dyadic"])
def test_probabilities_of_weighted_rows(method, kernel):
    """A weight of 2 equals the row twice, and the scale of all weights does not matter."""
    rng = np.random.default_rng(0)
    X, y = iris()
    some = np.sort(rng.choice(150, size=60, replace=False))
    X, y = X[some] + 0.3 * rng.normal(size=(60, 4)), y[some]
    times = rng.integers(0, 3, size=60)
    rows = np.repeat(np.arange(60), times)
    options = {"probability": method, "kernel": kernel, "gamma": 0.5, "tol": 1e-10}
    options |= {"epsilon": 0.2, "epsilon_unit": "max"}
    p = PSVC(**options).fit(X, y, times).predict_proba(X)
    repeated = PSVC(**options).fit(X[rows], y[rows])
    np.testing.assert_allclose(repeated.predict_proba(X), p, atol=1e-5)
    scaled = PSVC(**options).fit(X, y, times / 1000)
    np.testing.assert_allclose(scaled.predict_proba(X), p, atol=1e-5)


@METHODS
def test_leave_one_out_values_that_say_nothing(method, rng):
    """Each row is needed to fit it: the classes have their shares, and decision values decide."""
    K, y = rng.normal(size=(10, 30)), np.arange(10) < 3
    options = {"kernel": "dyadic", "epsilon": 1e-9, "epsilon_unit": "max"}
    model = PSVC(probability=method, **options).fit(K, y)
    assert model.n_support_ == 9
    np.testing.assert_allclose(model.predict_proba(K)[:, 1], 3.25 / 10.5)
    np.testing.assert_array_equal(model.predict(K), y)


def test_true_means_sigmoid():
    X, y = iris()
    p = [
        PSVC(kernel="rbf", probability=q, epsilon=0.3).fit(X, y).predict_proba(X)
        for q in (True, "sigmoid")
    ]
    np.testing.assert_array_equal(p[0], p[1])


def test_landmarks_have_probabilities_too():
    X, y = make_moons(300, noise=0.3, random_state=0)
    options = {"landmarks": X[:30], "epsilon": 0.01, "probability": True}
    assert log_loss(y, PSVC(**options).fit(X, y).predict_proba(X)) < 0.3


def test_class_of_one_row():
    """Without it nothing is known of the class: pairs have the shares of their classes."""
    X, y = iris()
    X, y = X[50:], np.where(np.arange(100) == 0, "rare", y[50:])
    model = PSVC(kernel="rbf", probability=True, epsilon=0.3).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (p[:, 0] < 0.1).all()


def test_probabilities_go_when_they_are_not_asked_for():
    X, y = make_moons(60, noise=0.3, random_state=0)
    model = PSVC(kernel="rbf", epsilon=0.3, probability=True).fit(X, y)
    model.set_params(probability=False).fit(X, y)
    assert not hasattr(model, "calibration_")
    assert not hasattr(model, "predict_proba")
    for wrong in ("platt", None, 2):
        with pytest.raises(ValueError, match="probability must be"):
            clone(model).set_params(probability=wrong).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_log_loss_of_held_out_rows(load, multi_class):
    """Leave-one-out values serve as well as five more fits, over five halves."""
    X, y = load(return_X_y=True)
    model, losses = PSVC(kernel="rbf", epsilon=0.1, epsilon_unit="max", multi_class=multi_class), []
    peer = CalibratedClassifierCV(model, ensemble=False)
    ours = clone(model).set_params(probability=True)
    for seed in range(5):
        halves = train_test_split(scale(X), y, test_size=0.5, random_state=seed)
        fitted = [m.fit(*halves[::2]) for m in (ours, peer)]
        losses.append([log_loss(halves[3], m.predict_proba(halves[1])) for m in fitted])
    mean, other = np.mean(losses, axis=0)
    assert mean < 1.1 * other


def test_calibrated_classifier_of_scikit_learn():
    X, y = make_moons(200, noise=0.3, random_state=0)
    for kernel in ("rbf", "precomputed"):
        A = X if kernel == "rbf" else rbf_kernel(X, gamma=2.0)
        wrapped = CalibratedClassifierCV(PSVC(epsilon=0.3, kernel=kernel, gamma=2.0), cv=3)
        if kernel == "precomputed":
            wrapped.set_params(ensemble=False)
        assert wrapped.fit(A, y).score(A, y) > 0.85


# ---------------------------------------------------------------- parts


def test_part_of_the_training_objects(rng):
    K = rng.normal(size=(8, 8))
    identity = np.array([0, 1, 2, 0, 3, 4, 1, 5])
    weights = np.array([0.0, 1, 1, 1, 1, 1, 1, 1])
    training = Description(as_matrix(K), weights, None, identity, np.arange(8), np.arange(8))
    np.testing.assert_array_equal(np.flatnonzero(training.usable), [1, 2, 3, 4, 5, 7])
    rows = np.array([0, 3, 6, 7])
    part = training.part(rows)
    np.testing.assert_array_equal(part.columns, rows)
    np.testing.assert_array_equal(np.flatnonzero(part.usable), [1, 2, 3])
    np.testing.assert_array_equal(part.matrix.columns(slice(None)), K[np.ix_(rows, rows)])
    assert training.part(np.arange(8)) is training


@pytest.mark.parametrize("multi_class", ["auto", "ovr"])
def test_each_machine_chooses_for_itself(multi_class):
    X, y = make_blobs(120, centers=4, cluster_std=2.0, random_state=3)
    model = PSVC(kernel="rbf", gamma=0.1, multi_class=multi_class).fit(X, y)
    if multi_class == "ovr":
        tasks = [(np.full(len(y), True), y == c) for c in range(4)]
    else:
        tasks = [((y == i) | (y == j), y == j) for i, j in combinations(range(4), 2)]
    alone = [
        PSVC(kernel="rbf", gamma=0.1).fit(X[rows], target[rows]).epsilon_ for rows, target in tasks
    ]
    np.testing.assert_allclose(model.epsilon_, alone, rtol=1e-9)


def test_each_output_chooses_for_itself(rng):
    X = rng.normal(size=(120, 2))
    Y = np.column_stack([X[:, 0] + noise * rng.normal(size=120) for noise in range(1, 5)])
    several = PSVR(kernel="rbf", gamma=0.1).fit(X, Y)
    alone = [
        PSVR(kernel="rbf", gamma=0.1, threshold="mean", rule="best").fit(X, y).epsilon_
        for y in Y.T[:3]
    ]
    np.testing.assert_allclose(several.epsilon_[:3], alone, rtol=1e-9)
