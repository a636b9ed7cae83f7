"""The range of decision values: capacity, bounds and the rejection of what lies outside."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC

from psvm import PSVC, SpheredSVC, load, save
from psvm.evaluation import (
    RejectOption,
    covering_bound,
    decision_range,
    outlier_bound,
    range_bound,
)
from reference import standardise

X, Y = make_moons(80, noise=0.3, random_state=0)
FAR = X[:2] + 50


@pytest.mark.parametrize("weighted", [False, True])
def test_capacity_of_the_p_svm(weighted, rng):
    """max |K̃ alpha| and ||K̃ alpha|| from the matrix, for rows with and without weights."""
    K = rng.normal(size=(80, 30))
    w = rng.integers(0, 3, 80).astype(float) if weighted else None
    model = PSVC(kernel="dyadic", epsilon=0.3, relaxation=0.0).fit(K, Y, sample_weight=w)
    K_s, _ = standardise(K, np.zeros(80), w)
    u = K_s @ model.alpha_  # rows times the root of their weight
    found = decision_range(model, K, w)
    root = np.ones(80) if w is None else np.sqrt(w)
    away = np.divide(np.abs(u), root, out=np.zeros(80), where=root > 0)
    assert found.radius == pytest.approx(away.max(), rel=1e-9)
    assert found.norm == pytest.approx(np.linalg.norm(u), rel=1e-9)
    assert found.centre == pytest.approx(model.offset_, abs=1e-9)  # centred columns
    assert 0 < found.radius <= found.norm  # the premise: the model is not constant


def test_capacity_of_the_sphered_svm_is_its_attribute():
    model = SpheredSVC(lam=0.3, tol=1e-8).fit(X, Y)
    found = decision_range(model, X)
    assert found.radius == pytest.approx(model.capacity_[0], rel=1e-6)
    assert found.norm == pytest.approx(model.capacity_bound_[0], rel=1e-6)


def test_bounds_are_their_formulas():
    """Equations 62 of the Sphered SVM and 3 and 7 of the NIPS paper, in other words."""
    capacity, L, log2_covering, delta = 3.0, 500, 40.0, 0.01
    terms = log2_covering + np.log2(8) + np.log2(L) + np.log2(capacity + 2) - np.log2(delta)
    ours = range_bound(capacity, L, log2_covering, delta=delta)
    assert ours == pytest.approx(4 * terms / L, rel=1e-12)
    # The proof of eq. 62: twice the bound of eq. 3 for the range a = m + 2 gamma and delta / 2.
    assert ours == pytest.approx(
        2 * covering_bound(capacity + 2, L, log2_covering, delta=delta / 2)
    )
    # Hoeffding: exp(-2 L t^2) = delta
    assert np.exp(-2 * L * outlier_bound(L, delta=delta) ** 2) == pytest.approx(delta)


def test_the_outlier_bound_holds_for_a_fixed_function(rng):
    """The largest of L values of one function: how often the next ones are beyond."""
    L, delta, trials = 50, 0.2, 400
    bound = outlier_bound(L, delta=delta)
    largest = np.abs(rng.normal(size=(trials, L))).max(axis=1)
    share = np.array([(np.abs(rng.normal(size=2000)) > m).mean() for m in largest])
    assert np.mean(share > bound) <= delta


def test_values_outside_the_range_are_rejected():
    model = RejectOption(PSVC(kernel="poly", degree=2, epsilon=0.3), rule="range").fit(X, Y)
    values = model.estimator_.decision_function(X)
    m = np.abs(values - values.mean()).max()
    assert model.range_radius_ == pytest.approx(m)
    assert model.range_centre_ == pytest.approx(values.mean())
    assert not model.rejects(X).any()  # no training row
    new = np.concatenate([FAR, X[:3], -FAR])
    beyond = np.abs(model.decision_function(new) - values.mean()) > m
    assert beyond.any() and not beyond.all()
    assert_array_equal(model.rejects(new), beyond)
    assert_array_equal(model.predict(new) == model.reject_label_, beyond)


def test_several_classes_and_other_classifiers():
    data, y = load_iris(return_X_y=True)
    for inner in (PSVC(epsilon=0.5), SVC(), SpheredSVC()):
        model = RejectOption(inner, rule="range").fit(data, y)
        assert np.shape(model.range_radius_) == (3,)
        assert not model.rejects(data).any()


def test_rows_without_weight_do_not_count():
    weights = np.ones(82)
    weights[80:] = 0
    X_all, Y_all = np.concatenate([X, FAR]), np.append(Y, [0, 1])
    inner = PSVC(kernel="linear", epsilon=0.3)
    model = RejectOption(inner, rule="range").fit(X_all, Y_all, weights)
    plain = RejectOption(inner, rule="range").fit(X, Y)
    assert model.range_radius_ == pytest.approx(plain.range_radius_, rel=1e-6)
    assert model.rejects(FAR).all()


def test_a_model_file_keeps_the_range(tmp_path):
    data, y = load_iris(return_X_y=True)
    for inputs in ((X, Y), (data, y)):
        model = RejectOption(PSVC(epsilon=0.5), rule="range").fit(*inputs)
        save(model, tmp_path / "m.psvm")
        again = load(tmp_path / "m.psvm")
        assert_allclose(again.range_radius_, model.range_radius_, rtol=0)
        assert_array_equal(again.predict(3 * inputs[0]), model.predict(3 * inputs[0]))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: range_bound(-1, 5, 1), "capacity"),
        (lambda: range_bound(1, 0, 1), "n_rows"),
        (lambda: range_bound(1, 5, -1), "log2_covering"),
        (lambda: covering_bound(0, 5, 1), "capacity"),
        (lambda: outlier_bound(5, delta=0), "delta"),
    ],
)
def test_bad_arguments(call, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        call()
