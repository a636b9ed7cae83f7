"""The range of decision values: capacity, bounds and the rejection of what lies outside."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, make_moons
from sklearn.linear_model import RidgeClassifier
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
    model = PSVC(kernel="dyadic", epsilon=0.3).fit(K, Y, sample_weight=w)
    K_s, _ = standardise(K, np.zeros(80), w)
    u = K_s @ model.alpha_  # rows times the root of their weight
    found = decision_range(model, K, sample_weight=w)
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


def margin_of(f, y):
    """The smallest value towards the class of its row, row by row."""
    return min(v if label == 1 else -v for v, label in zip(f, y, strict=True))


@pytest.fixture
def separable(rng):
    """Two classes without training errors."""
    y = np.tile([0, 1], 30)
    X = rng.normal(size=(60, 3))
    X[:, 0] += 8 * y
    return X, y


@pytest.mark.parametrize("weighted", [False, True])
def test_the_capacity_is_that_of_the_canonical_classifier(weighted, separable, rng):
    """max |<w, x_i>| of centred points after f is scaled to a smallest y f of one."""
    X, y = separable
    w = rng.integers(0, 3, 60).astype(float) if weighted else np.ones(60)
    model = PSVC(kernel="linear", epsilon=0.5, C=2.0).fit(X, y, sample_weight=w)
    f, labels, s = model.decision_function(X)[w > 0], y[w > 0], w[w > 0]
    canonical = f / margin_of(f, labels)
    assert margin_of(f, labels) > 0  # the premise: no training error
    found = decision_range(model, X, y, sample_weight=w)
    m = np.abs(canonical - np.average(canonical, weights=s)).max()
    assert found.capacity == pytest.approx(m)
    assert found.margin == pytest.approx(margin_of(f, labels))
    assert found.radius == pytest.approx(m * found.margin)


def test_shrinking_the_values_changes_neither_capacity_nor_bound(separable):
    """C bounds the coefficient of the only column; the classes on both sides are as large."""
    X, y = separable[0][:, :1], separable[1]
    machine = PSVC(kernel="dyadic", epsilon=0.0, threshold="mean")
    found = [decision_range(machine.set_params(C=C).fit(X, y), X, y) for C in (0.1, 1.0)]
    assert found[1].radius == pytest.approx(10 * found[0].radius)  # the premise
    assert found[1].capacity == pytest.approx(found[0].capacity)
    bounds = [covering_bound(each.capacity, 60, 5.0) for each in found]
    assert bounds[0] == pytest.approx(bounds[1])


def test_the_capacity_of_a_hard_margin_is_that_of_the_sphered_svm(separable):
    """Without slack the smallest y f is one; with slack it is less and the capacity more."""
    X, y = separable
    for C, slack in ((1e4, False), (0.02, True)):
        model = SpheredSVC(0.5, kernel="linear", C=C, tol=1e-8).fit(X, y)
        found = decision_range(model, X, y)
        assert (found.margin < 0.99) == slack
        assert found.radius == pytest.approx(model.capacity_[0], rel=1e-6)
        assert found.capacity > 1.01 * model.capacity_[0] or not slack
        assert found.capacity == pytest.approx(model.capacity_[0], rel=1e-5) or slack


class Given:
    """A classifier whose decision values are the first column of X, or anything else."""

    classes_ = np.array(["a", "b"])

    def __init__(self, values=None):
        self.values = values

    def decision_function(self, X):
        return X[:, 0] if self.values is None else self.values


def column(*values):
    return np.array(values)[:, None]


def test_capacity_of_some_values_by_hand():
    labels = ["a", "a", "b", "b"]
    found = decision_range(Given(), column(-2.0, -0.5, 0.25, 2.25), labels)
    assert found == (0.0, 2.25, pytest.approx(np.sqrt(4 + 0.25 + 0.0625 + 2.25**2)), 0.25)
    assert found.capacity == 9
    # A training error: no capacity, and a bound that says nothing.
    failed = decision_range(Given(), column(-2.0, 0.5, 0.25, 2.25), labels)
    assert failed.margin == -0.5 and failed.capacity == np.inf
    assert covering_bound(failed.capacity, 5, 1) == range_bound(failed.capacity, 5, 1) == np.inf
    # Without its weight it is none.
    kept = decision_range(Given(), column(-2.0, 0.5, 0.25, 2.25), labels, [1, 0, 1, 1])
    assert kept.margin == 0.25
    unknown = decision_range(Given(), column(-2.0, 0.5))
    assert np.isnan(unknown.margin) and np.isnan(unknown.capacity)


def test_no_capacity_below_one(rng):
    """The least capacity is that of values +-1 for any scale; rounding does not reach the bound."""
    y = np.array(["a", "b"])[rng.integers(0, 2, 50)]
    y[:2] = "a", "b"
    for scale in rng.uniform(0.1, 10, 50):
        values = np.where(y == "b", scale, -scale)[:, None]
        half = np.tile([-scale, scale], 25)[:, None]
        assert decision_range(Given(), values, y).capacity >= 1
        capacity = decision_range(Given(), half, np.tile(["a", "b"], 25)).capacity
        assert 1 <= capacity < 1 + 1e-12
        covering_bound(capacity, 50, 1.0)


def test_half_the_range_lies_between_half_the_radius_and_the_radius(rng):
    """m of the NIPS paper beside that of the Sphered paper."""
    for _ in range(50):
        f = rng.exponential(size=20) ** 2
        radius = decision_range(Given(), f[:, None]).radius
        assert radius / 2 <= 0.5 * (f.max() - f.min()) <= radius


def test_weights_below_one_can_make_the_norm_smaller_than_the_radius():
    values = column(-1.0, 0.0, 1.0)
    found = decision_range(Given(), values, sample_weight=[0.1, 0.1, 0.1])
    assert found.norm == pytest.approx(np.sqrt(0.2)) and found.norm < found.radius
    found = decision_range(Given(), values, sample_weight=[1.0, 0.0, 2.0])
    assert found.norm >= found.radius


@pytest.mark.parametrize(
    ("estimator", "y", "message"),
    [
        (Given(), ["a", "b"], "y has 2 labels"),
        (Given(), ["a", "b", "c", "a"], "y must hold the classes of the estimator"),
        (Given(), [0, 1, 1, 0], "y must hold the classes of the estimator"),
        (Given(), ["a"] * 4, "y must hold both classes"),
        (Given(np.eye(4)), ["a", "b", "b", "a"], "y must be None unless"),
        (Given(1.0), None, "decision_function must be an array"),
        (Given([np.ones(4)] * 4), None, "decision_function must be an array"),
        (Given([np.ones(4), np.ones(3)]), None, "decision_function must be an array"),
        (Given(np.array(["a"] * 4)), None, "decision_function must be an array"),
        (Given(np.ones((4, 2, 2))), None, "decision_function must be an array"),
        (Given(np.ones(3)), None, "decision_function has 3 entries"),
        (Given(np.array([1.0, np.nan, 1.0, 2.0])), None, "NaN or infinity for 1 of 4"),
        (Given(np.array([1.0, np.inf, -np.inf, 2.0])), None, "NaN or infinity for 2 of 4"),
    ],
)
def test_wrong_values_and_labels(estimator, y, message):
    with pytest.raises(ValueError, match=message):
        decision_range(estimator, column(-1.0, 1.0, 2.0, -1.0), y)


def test_several_classes_have_a_range_but_no_margin():
    data, y = load_iris(return_X_y=True)
    model = PSVC(epsilon=0.5).fit(data, y)
    found = decision_range(model, data)
    assert found.radius.shape == (3,) and np.isnan(found.capacity)
    with pytest.raises(ValueError, match="y must be None unless the estimator has two classes"):
        decision_range(model, data, y)


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


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e3])
@pytest.mark.parametrize("inner", [RidgeClassifier(), RidgeClassifier(alpha=100.0)])
def test_training_rows_of_single_precision_are_not_rejected_one_by_one(inner, offset, rng):
    """The sums of one row and of many are rounded differently."""
    for _ in range(8):
        data = (rng.normal(size=(80, 20)) + offset).astype(np.float32)
        y = (data[:, 0] - offset + rng.normal(size=80) > 0).astype(int)
        model = RejectOption(inner, rule="range").fit(data, y)
        values = model.decision_function(data)
        assert values.dtype == np.float32  # the premise
        assert not any(model.rejects(row[None])[0] for row in data)
        # What lies outside by more than rounding is rejected.
        side = values - model.range_centre_
        last = np.abs(side).argmax()
        step = np.sign(model.estimator_.coef_ * side[last]).astype(np.float32)
        assert model.rejects(data[[last]] + np.float32(10) * step).all()


class Values(ClassifierMixin, BaseEstimator):
    """Decision values are the first column."""

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), 1
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


def test_values_of_nan_are_outside_and_cannot_be_the_range():
    training = column(-1.0, -0.5, 0.5, 1.0)
    model = RejectOption(Values(), rule="range").fit(training, [0, 0, 1, 1])
    new = column(0.2, np.nan, np.inf, -np.inf, 1.0, 1.1)
    assert_array_equal(model.rejects(new), [False, True, True, True, False, True])
    assert model.predict(new)[1] == model.reject_label_
    with pytest.raises(ValueError, match="NaN or infinity for 1 of 4"):
        RejectOption(Values(), rule="range").fit(column(-1.0, np.nan, 1.0, 1.0), [0, 0, 1, 1])


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
        (lambda: range_bound(0.9, 5, 1), "capacity"),
        (lambda: range_bound(np.nan, 5, 1), "capacity"),  # of a range without y
        (lambda: range_bound(1, 0, 1), "n_rows"),
        (lambda: range_bound(1, 5, -1), "log2_covering"),
        (lambda: covering_bound(0.9, 5, 1), "capacity"),
        (lambda: outlier_bound(5, delta=0), "delta"),
    ],
)
def test_bad_arguments(call, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        call()
