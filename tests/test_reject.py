"""Abstention: the rule of the papers, thresholds, scorers and the error-reject curve."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from psvm import PSVC, PSVR
from psvm import evaluation as ev
from reference import AGAIN, assert_same_solution


@parametrize_with_checks(
    [
        ev.RejectOption(PSVC(kernel="dyadic", epsilon="aicc")),
        ev.RejectOption(LogisticRegression(), rule="threshold", threshold=0.0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def links():
    """Pages with few links; the first columns tell the class."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], 150)
    K = (rng.random((150, 40)) < 0.02).astype(float)
    K[:, 0] = (y == 1) & (rng.random(150) < 0.5)
    K[:, 1] = (y == -1) & (rng.random(150) < 0.5)
    return K, y


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, sp.csc_matrix, pd.DataFrame])
def test_objects_without_an_entry_in_a_support_column_are_rejected(links, storage):
    K, y = links
    K = storage(K)
    model = ev.RejectOption(PSVC(kernel="dyadic", epsilon=3.0)).fit(K, y)
    inner = model.estimator_
    expected = ~(links[0][:, inner.support_] != 0).any(axis=1)
    assert 0 < expected.sum() < len(y) and 0 < inner.n_support_ < 40
    np.testing.assert_array_equal(model.rejects(K), expected)
    prediction = model.predict(K)
    assert (prediction[expected] == -2).all() and model.reject_label_ == -2
    np.testing.assert_array_equal(prediction[~expected], inner.predict(K)[~expected])
    # nothing is known of them: the decision value is one constant
    assert np.ptp(inner.decision_function(K)[expected]) < 1e-12
    np.testing.assert_allclose(model.decision_function(K), inner.decision_function(K), **AGAIN)
    np.testing.assert_array_equal(model.classes_, [-1, 1])


def test_fewer_support_objects_classify_fewer_objects_with_fewer_errors(links):
    K, y = links
    shares, errors = [], []
    for epsilon in (0.3, 1.0, 4.0):
        model = ev.RejectOption(PSVC(kernel="dyadic", epsilon=epsilon))
        scores = cross_validate(model, K, y, cv=5, scoring=ev.reject_scores)
        shares.append(scores["test_share_classified"].mean())
        errors.append(scores["test_error"].mean())
    assert shares[0] > shares[1] > shares[2] > 0
    assert errors[0] > errors[2]


def test_has_information_of_other_models(links):
    K, y = links
    lasso = Lasso(alpha=0.05).fit(K, y)
    used = lasso.coef_ != 0
    assert 0 < used.sum() < 40
    np.testing.assert_array_equal(ev.has_information(lasso, K), (K[:, used] != 0).any(axis=1))
    regressor = PSVR(kernel="dyadic", epsilon=3.0).fit(K, 1.0 * y)
    expected = (K[:, regressor.support_] != 0).any(axis=1)
    np.testing.assert_array_equal(ev.has_information(regressor, K), expected)
    pipeline = make_pipeline(MaxAbsScaler(), PSVR(kernel="dyadic", epsilon=3.0)).fit(K, 1.0 * y)
    np.testing.assert_array_equal(ev.has_information(pipeline, K), expected)
    search = GridSearchCV(PSVR(kernel="dyadic"), {"epsilon": [3.0]}, cv=2).fit(K, 1.0 * y)
    np.testing.assert_array_equal(ev.has_information(search, K), expected)
    with pytest.raises(ValueError, match="does not use single columns"):
        ev.has_information(PSVR(epsilon=1.0).fit(K, y), K)


def test_square_matrix_of_relations():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 30)
    K = ((rng.random((60, 60)) < 0.15) & (y[:, None] == y)).astype(float)
    model = ev.RejectOption(PSVC(kernel="precomputed", epsilon=1.5)).fit(K, y)
    expected = ~(K[:, model.estimator_.support_] != 0).any(axis=1)
    assert 0 < expected.sum() < 60
    np.testing.assert_array_equal(model.rejects(K), expected)
    assert cross_validate(model, K, y, cv=3, scoring=ev.reject_scores)["test_error"].mean() < 0.3


# ---------------------------------------------------------------- thresholds


def test_confidence():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    p, f = model.predict_proba(X), np.sort(model.decision_function(X), axis=1)
    np.testing.assert_allclose(ev.confidence(model, X), p.max(axis=1), **AGAIN)
    gap = ev.confidence(model, X, response_method="decision_function")
    np.testing.assert_allclose(gap, f[:, 2] - f[:, 1], **AGAIN)
    two = SVC().fit(X[:100], y[:100])
    np.testing.assert_allclose(ev.confidence(two, X), np.abs(two.decision_function(X)), **AGAIN)


@pytest.mark.parametrize("method", ["decision_function", "predict_proba"])
def test_threshold_rejects_what_is_less_sure(method):
    X, y = load_iris(return_X_y=True)
    options = {"rule": "threshold", "threshold": 0.8, "response_method": method}
    model = ev.RejectOption(LogisticRegression(max_iter=1000), **options).fit(X[::2], y[::2])
    sure = ev.confidence(model.estimator_, X, response_method=method)
    assert np.abs(sure - 0.8).min() > 1e-6
    np.testing.assert_array_equal(model.rejects(X), sure < 0.8)
    assert 0 < model.rejects(X).sum() < 75
    expected = model.estimator_.predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, **AGAIN)


@pytest.mark.parametrize(
    ("classes", "label", "expected"),
    [
        ([0, 1], "auto", -1),
        ([1, 2], "auto", -1),
        ([-1, 1], "auto", -2),
        ([0.5, 1.5], "auto", -1),
        ([False, True], "auto", -1),
        (["a", "b"], "auto", "rejected"),
        (["a", "b"], "?", "?"),
        ([0, 1], None, None),
        ([0, 1], "unknown", "unknown"),
    ],
)
def test_marks(rng, classes, label, expected):
    X = rng.normal(size=(60, 2))
    y = np.array(classes)[(X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)]
    if y.dtype.kind == "f":
        y = y.astype(object)  # labels that are not whole numbers look like a regression
        y = np.where(y == 0.5, 1.0, 2.0)
    model = LogisticRegression()
    model = ev.RejectOption(model, rule="threshold", threshold=0.8, reject_label=label).fit(X, y)
    prediction, rejected = model.predict(X), model.rejects(X)
    assert 0 < rejected.sum() < 60
    assert model.reject_label_ == expected
    assert all(p == expected for p in prediction[rejected])
    plain = model.estimator_.predict(X)
    assert all(p == q for p, q in zip(prediction[~rejected], plain[~rejected], strict=True))
    scores = ev.reject_scores(model, X, y)
    assert scores["share_classified"] == pytest.approx(1 - rejected.mean())
    assert scores["error"] == pytest.approx(np.mean(plain[~rejected] != y[~rejected]))
    assert scores["neg_error"] == -scores["error"]
    assert pickle.loads(pickle.dumps(model)).predict(X).tolist() == prediction.tolist()


def test_words_longer_than_the_classes_are_not_cut(links):
    K, y = links
    model = ev.RejectOption(PSVC(kernel="dyadic", epsilon=3.0)).fit(K, np.where(y > 0, "s", "t"))
    assert set(model.predict(K)) == {"s", "t", "rejected"}


def test_searches_pipelines_and_weights():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200], y[:200]
    model = ev.RejectOption(
        make_pipeline(StandardScaler(), PSVC(epsilon=1.0)), rule="threshold", threshold=0.5
    )
    grid = {"threshold": [0.0, 0.3], "estimator__psvc__epsilon": [0.5, 2.0]}
    search = GridSearchCV(model, grid, scoring=ev.reject_scores, refit="neg_error", cv=3)
    search.fit(X, y)
    assert search.best_params_["threshold"] == 0.3
    assert {"mean_test_share_classified", "mean_test_error"} <= set(search.cv_results_)
    weights = np.where(y == 1, 2.0, 1.0)
    weighted = ev.RejectOption(PSVC(kernel="dyadic", epsilon=2.0)).fit(X, y, sample_weight=weights)
    plain = PSVC(kernel="dyadic", epsilon=2.0).fit(X, y, sample_weight=weights)
    assert_same_solution(weighted.estimator_, plain, X)
    assert clone(weighted).estimator.epsilon == 2.0


def test_scores_when_all_or_nothing_is_classified(links):
    K, y = links
    model = ev.RejectOption(PSVC(kernel="dyadic", epsilon=3.0)).fit(K, y)
    scores = ev.reject_scores(model, 0 * K, y)
    assert scores["share_classified"] == 0 and np.isnan(scores["error"])
    assert ev.reject_scores(model.estimator_, K, y)["share_classified"] == 1


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ev.RejectOption(SVC(), rule="maybe"), "rule must be one of"),
        (ev.RejectOption(SVC(), rule="threshold"), "threshold must be a finite number"),
        (ev.RejectOption(SVC(), rule="threshold", threshold=-1), "threshold must be"),
        (ev.RejectOption(SVC(), threshold=1.0), "has no meaning"),
        (ev.RejectOption(SVC()), "does not use single columns"),
        (ev.RejectOption(PSVC(kernel="dyadic"), reject_label=1), "one of the classes"),
        (ev.RejectOption(SVC(), response_method="score"), "response_method must be one of"),
    ],
)
def test_errors_say_what_is_wrong(links, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*links)


# ---------------------------------------------------------------- the curve


def test_curve_is_the_error_above_each_threshold(rng):
    y, p, sure = rng.integers(0, 3, 80), rng.integers(0, 3, 80), np.round(rng.random(80), 1)
    curve = ev.error_reject_curve(y, p, sure)
    assert len(curve.threshold) < 12  # there are ties
    for share, error, threshold in zip(*curve, strict=True):
        left = sure >= threshold
        assert share == pytest.approx(1 - left.mean())
        assert error == pytest.approx(np.mean(y[left] != p[left]))
    assert curve.share_rejected[0] == 0 and curve.error[0] == np.mean(y != p)
    errors = [curve.error[curve.share_rejected <= s][-1] for s in np.linspace(0, 1, 20001)[:-1]]
    assert curve.area == pytest.approx(np.mean(errors), abs=1e-3)


def test_curve_falls_if_the_confidence_is_right(rng):
    p = rng.uniform(0.5, 1, 4000)
    wrong = rng.random(4000) > p
    curve = ev.error_reject_curve(np.zeros(4000), 1.0 * wrong, p)
    at = np.searchsorted(curve.share_rejected, [0, 0.5, 0.9])
    # the error of the objects above a confidence c is the mean of 1 - p there
    np.testing.assert_allclose(curve.error[at], [0.25, 0.125, 0.025], atol=0.03)


def test_display():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    display = ev.ErrorRejectDisplay.from_estimator(model, X, y)
    curve = ev.error_reject_curve(y, model.predict(X), ev.confidence(model, X))
    assert display.curve.area == pytest.approx(curve.area)
    np.testing.assert_array_equal(display.line_.get_xdata(), display.curve.share_rejected)
    np.testing.assert_array_equal(display.line_.get_ydata(), display.curve.error)
    assert display.name == "LogisticRegression"
    again = ev.ErrorRejectDisplay.from_predictions(y, y, np.ones(150), ax=display.ax_)
    assert again.ax_ is display.ax_ and again.curve.area == 0
    pyplot.close("all")
