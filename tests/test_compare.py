"""compare: the same splits for all models, tests, frames and the printed table."""

import sys

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from psvm import PSVC
from psvm import evaluation as ev
from reference import decided


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200], y[:200]


def models():
    return {
        "P-SVM": make_pipeline(StandardScaler(), PSVC(epsilon=1.0)),
        "SVM": make_pipeline(StandardScaler(), SVC()),
        "none": DummyClassifier(),
    }


def assert_errors_are_decided(model, X, y, cv):
    """The premise of equal error rates: no row is near the boundary of its fold."""
    for train, test in cv.split(X, y):
        assert decided(clone(model).fit(X[train], y[train]).decision_function(X[test]))


def test_values_are_those_of_cross_validation(cancer):
    cv = StratifiedKFold(4, shuffle=True, random_state=0)
    for name in ("P-SVM", "SVM"):
        assert_errors_are_decided(models()[name], *cancer, cv)
    report = ev.compare(
        models(), *cancer, cv=cv, tests=["proportions", "t", "corrected_t", "wilcoxon"]
    )
    for k, model in enumerate(models().values()):
        np.testing.assert_allclose(report.values[k], 1 - cross_val_score(model, *cancer, cv=cv))
    assert report.reference == "P-SVM"
    assert report.n_train.tolist() == [150] * 4 and report.n_test.tolist() == [50] * 4
    pair = report.values[1], report.values[0]
    assert report.tests["t"]["SVM"] == ev.paired_t_test(*pair)
    assert report.tests["wilcoxon"]["SVM"] == ev.wilcoxon_test(*pair)
    corrected = ev.corrected_t_test(*pair, n_train=150, n_test=50)
    assert report.tests["corrected_t"]["SVM"] == corrected
    splits = ev.split_proportion_test(50 * pair[0], 50 * pair[1], 50)
    np.testing.assert_array_equal(report.tests["proportions"]["SVM"].adjusted, splits.adjusted)
    assert report.pvalues("proportions")[1] == splits.adjusted.min()
    assert np.isnan(report.pvalues("t")[0])
    # the dummy is beaten by far, and support objects are counted inside of the pipeline
    assert report.tests["corrected_t"]["none"].pvalue < 0.01
    assert report.tests["corrected_t"]["none"].difference > 0
    fitted = make_pipeline(StandardScaler(), PSVC(epsilon=1.0))
    train, _ = next(cv.split(*cancer))
    fitted.fit(cancer[0][train], cancer[1][train])
    alpha = np.abs(fitted[-1].alpha_[fitted[-1].support_])
    assert alpha.min() > 1e-6 * alpha.max()  # the support does not hang on rounding
    assert report.n_support[0, 0] == fitted[-1].n_support_
    assert (report.n_support[1] > report.n_support[0]).all() and np.isnan(report.n_support[2]).all()


def test_frames_and_text(cancer):
    report = ev.compare(models(), *cancer, cv=3, tests=["t", "mcnemar"], reference="SVM")
    frame, table = report.frame, report.table
    assert frame.shape == (9, 8)
    assert frame.groupby("model", sort=False)["error"].mean().tolist() == pytest.approx(
        table["error_mean"].tolist()
    )
    assert table.index.tolist() == ["P-SVM", "SVM", "none"]
    deviations = frame.groupby("model", sort=False)["error"].std()
    assert deviations.tolist() == pytest.approx(table["error_std"].tolist())
    assert np.isnan(table.loc["SVM", "p_t"]) and table.loc["none", "p_mcnemar"] < 1e-6
    lines = str(report).splitlines()
    assert len(lines) == 4 and len({len(line) for line in lines}) == 1
    assert lines[0].split()[:3] == ["model", "error", "+-"]
    assert "SVM (reference)" in lines[2] and lines[3].split()[3] == "-"


def test_without_pandas_only_the_frames_are_missing(cancer, monkeypatch):
    report = ev.compare([DummyClassifier(), DummyClassifier()], *cancer, cv=2)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "DummyClassifier-2" in str(report)
    for name in ("frame", "table"):
        with pytest.raises(ImportError, match=r"psvm\[io\]"):
            getattr(report, name)


def test_regressors_scorers_and_processes():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:120], y[:120]
    cv = ShuffleSplit(4, test_size=30, random_state=0)
    two = [Ridge(), Lasso(alpha=0.5)]
    report = ev.compare(two, X, y, cv=cv)
    for k, model in enumerate(two):
        expected = -cross_val_score(model, X, y, cv=cv, scoring="neg_mean_squared_error")
        np.testing.assert_allclose(report.values[k], expected)
    with parallel_config("threading"):
        scored = ev.compare(two, X, y, cv=cv, scoring="r2", n_jobs=2)
    assert scored.measure == "score" and "score" in scored.frame
    np.testing.assert_allclose(scored.values[0], cross_val_score(two[0], X, y, cv=cv))


def test_matrices_of_relations_searches_and_labels(cancer):
    X, y = cancer
    X = StandardScaler().fit_transform(X)
    K, words = rbf_kernel(X, gamma=0.03), np.where(y == 1, "good", "bad")
    cv = KFold(3, shuffle=True, random_state=0)
    assert_errors_are_decided(PSVC(gamma=0.03, epsilon=0.5, tol=1e-8), X, words, cv)
    search = GridSearchCV(PSVC(kernel="precomputed"), {"epsilon": [0.5, 2.0]}, cv=2)
    matrix = PSVC(kernel="precomputed", epsilon=0.5, tol=1e-8)
    measured = ev.compare([matrix, search], K, words, cv=cv)
    vectors = ev.compare([PSVC(gamma=0.03, epsilon=0.5, tol=1e-8)], X, words, cv=cv)
    np.testing.assert_allclose(measured.values[0], vectors.values[0])
    assert not np.isnan(measured.n_support[1]).any()


def test_five_by_two(cancer):
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=0)
    two = [LogisticRegression(max_iter=5000, C=c) for c in (1e-6, 1e-3)]
    X = StandardScaler().fit_transform(cancer[0])
    report = ev.compare(two, X, cancer[1], cv=cv, tests=["5x2cv_t", "5x2cv_f"])
    assert report.tests["5x2cv_t"]["LogisticRegression-2"].pvalue < 0.05
    f_test = ev.five_by_two_f_test(report.values[1], report.values[0])
    assert report.tests["5x2cv_f"]["LogisticRegression-2"] == f_test


def test_a_model_does_not_differ_from_itself(cancer):
    cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=0)
    twins = {"a": DummyClassifier(), "b": DummyClassifier()}
    tests = ["proportions", "t", "corrected_t", "5x2cv_t", "5x2cv_f", "wilcoxon"]
    report = ev.compare(twins, *cancer, cv=cv, tests=tests)
    assert all(report.pvalues(t)[1] == 1 for t in tests)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tests": "z"}, "tests must be one of"),
        ({"reference": "x"}, "reference must be one of"),
        ({"tests": "mcnemar", "cv": ShuffleSplit(3, random_state=0)}, "at most once"),
        ({"tests": "5x2cv_t", "cv": 5}, "five repetitions of two folds"),
        ({"tests": "5x2cv_f", "cv": 10}, "five repetitions of two folds"),
        ({"tests": "proportions", "scoring": "roc_auc"}, "counts errors"),
        ({"cv": [(np.arange(9), np.arange(9, 12))]}, "At least two splits"),
    ],
)
def test_errors_come_before_any_fit(cancer, options, message):
    class Fails(DummyClassifier):
        def fit(self, X, y):
            raise AssertionError

    with pytest.raises(ValueError, match=message):
        ev.compare([Fails()], *cancer, **options)


def test_models_that_cannot_be_compared(cancer):
    with pytest.raises(ValueError, match=r"a classifier and .* a regressor"):
        ev.compare([DummyClassifier(), Ridge()], *cancer)
    with pytest.raises(
        TypeError, match=r"models\['scaler'\] must be an estimator with fit, predict"
    ):
        ev.compare({"scaler": StandardScaler()}, *cancer)
    with pytest.raises(ValueError, match="models must be a list of values, got an empty one"):
        ev.compare([], *cancer)
    with pytest.raises(ValueError, match="counts errors"):
        ev.compare([Ridge()], *cancer, tests="mcnemar")
