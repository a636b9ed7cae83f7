"""PSVCCV, PSVRCV and cross_val_error: as good as loops of fits; files of results."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.metrics import accuracy_score, balanced_accuracy_score, make_scorer, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from psvm import PSVC, PSVCCV, PSVR, PSVRCV, RowBlocks, cross_val_error
from psvm._journal import Journal
from psvm.kernels import Laplacian, Spectrum
from psvm.model_selection import _candidates, _search
from psvm.model_selection._search import Judged
from reference import decided

# Small lists, whose ends do not matter; `test_choice_at_an_edge_is_told` looks at them.
pytestmark = pytest.mark.filterwarnings("ignore:The chosen:sklearn.exceptions.ConvergenceWarning")
FEW = {"kernel": "rbf", "gammas": [0.5, 2.0]}
FOLDS = StratifiedKFold(4, shuffle=True, random_state=1)


@parametrize_with_checks(
    [PSVCCV(kernel="rbf", gammas=["scale"]), PSVRCV(gammas=["scale"], Cs=[10.0])]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def moons(n=90, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


def waves(n=80, outputs=None):
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, size=(n, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 0] * X[:, 1]]) + 0.1 * rng.normal(size=(n, 2))
    return X, Y[:, 0] if outputs is None else Y


def three():
    X, y = load_iris(return_X_y=True)
    return X[::2, :2], y[::2]


def quiet(model, X, y, **options):
    """Fit a model that must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # of a fold, or of a candidate that is not chosen
        warnings.filterwarnings("ignore", "The model has no support objects")
        return model.fit(X, y, **options)


def assert_same_choice(model, other, X, atol=1e-6):
    """Equal tables and, as the choice is decided, equal models."""
    for name in ("mean_test_score", "std_test_score", "mean_n_support"):
        found, expected = (m.cv_results_[name] for m in (model, other))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9, err_msg=name)
    ranked = np.sort(model.cv_results_["mean_test_score"])
    assert len(ranked) == 1 or ranked[-1] - ranked[-2] > 1e-6 * abs(ranked[-1])
    assert model.best_params_ == pytest.approx(other.best_params_)
    np.testing.assert_allclose(model.epsilon_, other.epsilon_, rtol=1e-6)
    values = "decision_function" if hasattr(model, "classes_") else "predict"
    f, g = (getattr(m, values)(X) for m in (model, other))
    np.testing.assert_allclose(f, g, atol=atol)


# ---------------------------------------------------------------- leave-one-out scores


def log_losses(values, y):
    """The log loss of the sigmoid that is fitted to values; its targets are almost 0 and 1.

    As Platt's, but with a quarter of a row of each class in the other one.
    """
    up, down = np.count_nonzero(y == 1), np.count_nonzero(y == 0)
    targets = np.where(y == 1, (up + 0.25) / (up + 0.5), 0.25 / (down + 0.5))

    def loss(theta, targets=targets):
        z = theta[0] * values + theta[1]
        return np.mean(targets * np.logaddexp(0, -z) + (1 - targets) * np.logaddexp(0, z))

    found = minimize(loss, [1.0, 0.0], method="BFGS", options={"gtol": 1e-9})
    return loss(found.x, y)


@pytest.mark.parametrize("C", [np.inf, 2.0])
def test_scores_of_two_classes_are_the_log_loss_of_leave_one_out_values(C):
    X, y = moons()
    model = PSVCCV(Cs=[C], kernel="rbf", gammas=[0.5, 2.0, 8.0]).fit(X, y)
    assert model.n_splits_ == 0
    for params, score in zip(
        model.cv_results_["params"], model.cv_results_["mean_test_score"], strict=True
    ):
        # The search reads its values off the exact path; the fit is solved to 1e-9 of epsilon.
        one = PSVC(**params, tol=1e-9).fit(X, y)
        assert -score == pytest.approx(log_losses(one.loo_decision_, y), rel=1e-5)


def test_scores_of_numbers_are_squared_errors_beside_those_of_a_constant():
    X, y = waves()
    model = PSVRCV(kernel="rbf", gammas=[0.3, 1.0, 3.0]).fit(X, y)
    n = len(y)
    constant = np.var(y) * (n / (n - 1)) ** 2  # each row is left out of the mean as well
    for params, score in zip(
        model.cv_results_["params"], model.cv_results_["mean_test_score"], strict=True
    ):
        one = PSVR(**params, tol=1e-9).fit(X, y)
        assert -score == pytest.approx(np.mean((y - one.loo_decision_) ** 2) / constant, rel=1e-5)
        assert -score == pytest.approx(one.loo_error_ / constant, rel=1e-5)


def test_several_machines_are_judged_together():
    X, y = three()
    model = PSVCCV(**FEW).fit(X, y)
    for params, score in zip(
        model.cv_results_["params"], model.cv_results_["mean_test_score"], strict=True
    ):
        losses, sizes = [], []
        for i, j in ((0, 1), (0, 2), (1, 2)):
            rows = (y == i) | (y == j)
            pair = PSVCCV(Cs=[params["C"]], kernel="rbf", gammas=[params["gamma"]]).fit(
                X[rows], y[rows]
            )
            losses.append(-pair.best_score_)
            sizes.append(rows.sum())
        assert -score == pytest.approx(np.average(losses, weights=sizes), rel=1e-6)


def test_outputs_count_the_same_in_any_unit():
    X, Y = waves(outputs=2)
    model = PSVRCV(**FEW).fit(X, Y)
    other = PSVRCV(**FEW).fit(X, Y * [1.0, 1e4] + [0.0, 1e5])
    np.testing.assert_allclose(
        model.cv_results_["mean_test_score"], other.cv_results_["mean_test_score"], rtol=1e-6
    )
    singles = [PSVRCV(**FEW).fit(X, y).cv_results_["mean_test_score"] for y in Y.T]
    np.testing.assert_allclose(
        model.cv_results_["mean_test_score"], np.mean(singles, axis=0), rtol=1e-6
    )


@pytest.mark.parametrize(
    "scoring, metric",
    [("accuracy", accuracy_score), ("balanced_accuracy", balanced_accuracy_score)],
)
def test_scorers_judge_leave_one_out_values(scoring, metric):
    X, y = moons()
    model = PSVCCV(scoring=scoring, **FEW).fit(X, y)
    for params, score in zip(
        model.cv_results_["params"], model.cv_results_["mean_test_score"], strict=True
    ):
        f = PSVC(**params, tol=1e-9).fit(X, y).loo_decision_
        assert decided(f)
        assert score == pytest.approx(metric(y, f > 0), abs=1e-12)
    ranked = PSVCCV(scoring="roc_auc", kernel="rbf", gammas=[2.0]).fit(X, y)
    f = PSVC(**ranked.best_params_, tol=1e-9).fit(X, y).loo_decision_
    assert ranked.best_score_ == pytest.approx(roc_auc_score(y, f), abs=1e-12)


def test_scores_are_near_those_of_real_leave_one_out():
    """Without a row the support changes as well, which the values do not know."""
    X, y = moons(60)
    model = PSVCCV(kernel="rbf", gammas=[1.0]).fit(X, y)
    one = PSVC(epsilon=model.epsilon_, gamma=1.0, kernel="rbf", threshold="mean")
    f = cross_val_predict(one, X, y, cv=LeaveOneOut(), method="decision_function")
    assert -model.best_score_ == pytest.approx(log_losses(f, y), rel=0.15)


# ---------------------------------------------------------------- folds are those of scikit-learn


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc", "f1", "neg_log_loss"])
def test_scores_of_folds_are_those_of_scikit_learn(scoring):
    """The same fits, of which each chooses its own epsilon: the same scores but for rounding."""
    X, y = moons()
    probability = scoring in (None, "neg_log_loss")
    if scoring == "neg_log_loss":
        scoring = make_scorer(lambda y, f: -log_losses(f, y), response_method="decision_function")
    model = PSVCCV(scoring=scoring, cv=FOLDS, **FEW).fit(X, y)
    assert model.n_splits_ == 4
    for i, params in enumerate(model.cv_results_["params"]):
        one = PSVC(**params, probability=probability and scoring is None)
        expected = cross_val_score(one, X, y, cv=FOLDS, scoring=scoring or "neg_log_loss")
        found = [model.cv_results_[f"split{f}_test_score"][i] for f in range(4)]
        np.testing.assert_allclose(found, expected, rtol=1e-6)
        assert model.cv_results_["mean_test_score"][i] == pytest.approx(expected.mean())
        error = np.std(expected) / 2  # of the mean of four
        assert model.cv_results_["std_test_score"][i] == pytest.approx(error)


@pytest.mark.parametrize("classes", [2, 3])
def test_grid_search_chooses_the_same_model(classes):
    X, y = moons() if classes == 2 else three()
    ours = PSVCCV(scoring="accuracy", cv=FOLDS, Cs=[1.0, np.inf], **FEW).fit(X, y)
    grid = {"C": [1.0, np.inf], "gamma": [0.5, 2.0], "kernel": ["rbf"]}
    theirs = GridSearchCV(PSVC(), grid, cv=FOLDS, scoring="accuracy").fit(X, y)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    for name in ("mean_test_score", "rank_test_score", "split3_test_score"):
        expected = theirs.cv_results_[name]
        np.testing.assert_allclose(ours.cv_results_[name], expected, atol=1e-12, err_msg=name)
    f = theirs.best_estimator_.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), f, atol=1e-6)


def test_grid_search_chooses_the_same_regression():
    for X, Y in (waves(), waves(outputs=2)):
        cv = KFold(4, shuffle=True, random_state=0)
        ours = PSVRCV(cv=cv, **FEW).fit(X, Y)
        grid = {"C": [np.inf], "gamma": [0.5, 2.0], "kernel": ["rbf"]}
        theirs = GridSearchCV(PSVR(), grid, cv=cv, scoring="neg_mean_squared_error").fit(X, Y)
        expected = theirs.cv_results_["mean_test_score"]
        np.testing.assert_allclose(ours.cv_results_["mean_test_score"], expected, rtol=1e-6)
        assert ours.best_params_ == theirs.best_params_


def test_weights_of_folds_are_those_of_cold_fits(rng):
    X, y = waves()
    cv, weights = KFold(3, shuffle=True, random_state=0), rng.uniform(0.5, 2.0, size=len(y))
    model = PSVRCV(cv=cv, kernel="rbf", gammas=[1.0]).fit(X, y, weights)
    for f, (train, test) in enumerate(cv.split(X)):
        one = PSVR(kernel="rbf", gamma=1.0).fit(X[train], y[train], weights[train])
        error = np.average((one.predict(X[test]) - y[test]) ** 2, weights=weights[test])
        assert -model.cv_results_[f"split{f}_test_score"][0] == pytest.approx(error, rel=1e-6)


def test_data_frames_are_searched_without_warnings():
    pd = pytest.importorskip("pandas")
    X, y = moons(60)
    for cv in (None, 3):
        model = quiet(PSVCCV(cv=cv, **FEW), pd.DataFrame(X, columns=["a", "b"]), y)
        assert model.feature_names_in_.tolist() == ["a", "b"]
        np.testing.assert_array_equal(
            quiet(PSVCCV(cv=cv, **FEW), X, y).decision_function(X),
            model.best_estimator_.decision_function(pd.DataFrame(X, columns=["a", "b"])),
        )


def test_halving_search_works_and_finds_a_good_model():
    X, y = moons(200)
    grid = {"epsilon": np.geomspace(1, 0.01, 6), "gamma": [0.5, 2.0, 8.0]}
    search = HalvingGridSearchCV(
        PSVC(epsilon_unit="max"), grid, factor=3, random_state=0, cv=FOLDS
    ).fit(X, y)
    ours = PSVCCV(scoring="accuracy", kernel="rbf", gammas=grid["gamma"], cv=FOLDS)
    assert search.best_score_ > 0.85
    assert ours.fit(X, y).best_score_ >= search.best_score_ - 0.05


def test_cv_estimators_are_estimators_of_a_search():
    X, y = moons()
    search = GridSearchCV(PSVCCV(), {"kernel": ["rbf", "linear"]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel": "rbf"}


# ---------------------------------------------------------------- the chosen model


@pytest.mark.parametrize("rule", ["best", "sparse"])
@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize(
    "data", [moons, three, waves, lambda: waves(outputs=2)], ids=["two", "three", "one", "outputs"]
)
def test_best_params_give_the_same_model(data, cv, rule):
    X, y = data()
    classifies = y.dtype.kind == "i"
    search, plain = (PSVCCV, PSVC) if classifies else (PSVRCV, PSVR)
    model = search(cv=cv, rule=rule, kernel=["rbf", "laplacian"], gammas=[0.3, 1.0]).fit(X, y)
    one = plain(rule=rule, **model.best_params_).fit(X, y)
    np.testing.assert_array_equal(one.support_, model.support_)
    np.testing.assert_allclose(one.epsilon_, model.epsilon_, rtol=1e-9)
    # both are the same solve, or one from the solution of the path: 1e-4 of epsilon
    np.testing.assert_allclose(one.predict(X), model.predict(X), atol=1e-3)
    assert (model.C_, model.gamma_) == (model.best_params_["C"], model.best_params_["gamma"])
    best = model.cv_results_["mean_test_score"][model.best_index_]
    assert model.best_score_ == best
    if rule == "best":
        assert best == max(model.cv_results_["mean_test_score"])
        assert model.cv_results_["rank_test_score"][model.best_index_] == 1


def test_sparse_rule_takes_the_fewest_objects_within_a_standard_error():
    X, y = moons(150)
    gammas = [0.2, 0.5, 1.0, 3.0, 9.0]
    best, sparse = (
        PSVCCV(rule=rule, cv=5, kernel="rbf", gammas=gammas).fit(X, y)
        for rule in ("best", "sparse")
    )
    assert sparse.n_support_ < best.n_support_
    table = sparse.cv_results_
    folds = np.array([table[f"split{i}_test_score"] for i in range(5)])
    behind = folds[:, [np.argmax(folds.mean(axis=0))]] - folds
    good = behind.mean(axis=0) <= np.std(behind, axis=0) / np.sqrt(5)
    fewest = np.where(good, table["mean_n_support"], np.inf).min()
    assert good[sparse.best_index_] and table["mean_n_support"][sparse.best_index_] == fewest


def test_sparse_rule_without_folds_is_that_of_each_walk():
    X, y = moons(150)
    best, sparse = (
        PSVCCV(rule=rule, kernel="rbf", gammas=[1.0]).fit(X, y) for rule in ("best", "sparse")
    )
    assert sparse.n_support_ < best.n_support_ and sparse.epsilon_ > best.epsilon_
    epsilons, losses = best.walks_[0]
    np.testing.assert_array_equal(losses, sparse.walks_[0][1])
    assert -best.best_score_ == pytest.approx(losses.min())
    assert -sparse.best_score_ in losses
    assert len(epsilons) == len(losses) and epsilons[0] == 1.0 and (np.diff(epsilons) < 0).all()


def test_table_of_kernels_with_and_without_gamma():
    X, y = moons()
    model = PSVCCV(kernel=["rbf", "linear", Laplacian(gamma=0.5)], Cs=[1.0, np.inf]).fit(X, y)
    table = model.cv_results_
    kernels = [str(k) for k in table["param_kernel"]]
    assert kernels.count("linear") == 2 and sum("Laplacian" in k for k in kernels) == 2
    own = [g for g, k in zip(table["param_gamma"], kernels, strict=True) if k == "rbf"]
    others = [g for g, k in zip(table["param_gamma"], kernels, strict=True) if k != "rbf"]
    assert all(isinstance(g, float) for g in own) and set(others) == {"scale"}
    np.testing.assert_array_equal(model.gammas_, np.unique(own))
    sizes = {name: len(values) for name, values in table.items()}
    assert set(sizes.values()) == {len(table["params"])}, sizes
    assert PSVCCV(kernel="linear").fit(X, y).gammas_.size == 0


@pytest.mark.parametrize("cv", [None, 4])
@pytest.mark.parametrize("data", [three, waves], ids=["classes", "numbers"])
def test_default_kernels_are_those_of_standardised_features(data, cv):
    """So units of features change nothing, and the chosen kernel is one of three.

    The units are powers of two, so that not even rounding changes.
    """
    X, y = data()
    search, plain = (PSVCCV, PSVC) if y.dtype.kind == "i" else (PSVRCV, PSVR)
    model, units = search(cv=cv).fit(X, y), X * [2.0**-10, 2.0**13]
    assert set(model.cv_results_["param_kernel"]) == {"rbf", "laplacian", "linear"}
    assert model.best_params_["standardize"]
    other = search(cv=cv).fit(units, y)
    scores = "mean_test_score"
    np.testing.assert_allclose(model.cv_results_[scores], other.cv_results_[scores], rtol=1e-5)
    one = plain(**other.best_params_).fit(units, y)
    np.testing.assert_allclose(one.predict(units), other.predict(units), atol=1e-3)


@pytest.mark.parametrize("epsilon", ["cv", "aicc"])
def test_models_compare_candidates_by_any_source(epsilon):
    """With repeated rows and several machines, whose held-out groups are not the rows."""
    X, y = load_iris(return_X_y=True)
    for model in (PSVC(epsilon=epsilon).fit(X, y), PSVR(epsilon=epsilon).fit(X, y)):
        losses = [row["loss"] for row in model.candidates_]
        kernel = model.candidates_[int(np.argmin(losses))]["kernel"]
        alone = clone(model).set_params(kernel=kernel, standardize=True)
        gamma = model.candidates_[int(np.argmin(losses))]["gamma"] / X.shape[1]
        alone.set_params(gamma=gamma).fit(X, y)
        np.testing.assert_allclose(alone.epsilon_, model.epsilon_, rtol=1e-9)
        np.testing.assert_array_equal(alone.predict(X), model.predict(X))


def test_kernels_without_gamma_and_measured_matrices(rng):
    K = rng.normal(size=(60, 100))
    y = np.where(K[:, 7] - K[:, 42] > 0, "sick", "well")
    model = PSVCCV(kernel="dyadic").fit(K, y)
    assert {7, 42} <= set(model.support_) and model.gamma_ == "scale"
    with pytest.raises(ValueError, match="has no gamma"):
        PSVCCV(kernel="dyadic", gammas=[1.0]).fit(K, y)
    words = np.array(["ACACAC", "CACACA", "AACACC", "GTGTGT", "TGTGTG", "GGTGTT"] * 4)
    labels = np.tile([0, 0, 0, 1, 1, 1], 4)
    for cv in (None, 3):
        model = PSVCCV(kernel=[Spectrum(k=1), Spectrum(k=2)], cv=cv).fit(words, labels)
        assert model.score(words, labels) == 1.0


@pytest.mark.parametrize(
    "cv", [None, FOLDS, list(FOLDS.split(*moons()))], ids=["loo", "cv", "list"]
)
def test_precomputed_values_are_those_of_the_kernel(cv):
    X, y = moons()
    vectors = PSVCCV(kernel="rbf", gammas=[2.0], Cs=[3.0, np.inf], cv=cv).fit(X, y)
    K = rbf_kernel(X, gamma=2.0)
    matrix = PSVCCV(kernel="precomputed", Cs=[3.0, np.inf], cv=cv).fit(K, y)
    scores = "mean_test_score"
    np.testing.assert_allclose(matrix.cv_results_[scores], vectors.cv_results_[scores], rtol=1e-6)
    np.testing.assert_array_equal(matrix.support_, vectors.support_)
    # as exact as the final solve: 1e-4 of epsilon
    np.testing.assert_allclose(matrix.decision_function(K), vectors.decision_function(X), atol=1e-3)


def test_several_outputs_labels_and_classes():
    X, Y = waves(outputs=2)
    numbers = PSVRCV(**FEW).fit(X, Y)
    assert numbers.predict(X).shape == Y.shape and numbers.score(X, Y) > 0.8
    for cv in (None, 3):
        labels = PSVCCV(cv=cv, **FEW).fit(X, (Y > 0).astype(int))
        assert labels.predict(X).shape == Y.shape
    X, y = load_iris(return_X_y=True)
    found = PSVCCV(scoring="accuracy").fit(X, y)
    assert found.best_score_ > 0.93 and found.epsilon_.shape == (3,)


def test_shared_support_is_smaller_and_has_no_bound():
    X, y = load_iris(return_X_y=True)
    shared, pairs = (
        PSVCCV(kernel="rbf", gammas=[0.2], multi_class=scheme).fit(X, y)
        for scheme in ("shared", "auto")
    )
    assert len(shared.best_estimator_.solutions_) == 1
    assert len(pairs.best_estimator_.solutions_) == 3
    assert shared.score(X, y) > 0.9
    for Cs in ([10.0], None):
        with pytest.raises(ValueError, match=r"'shared' needs Cs=\[inf\]"):
            PSVCCV(kernel="rbf", gammas=[0.2], Cs=Cs, multi_class="shared").fit(X, y)


def test_rare_classes_need_not_be_in_every_fold():
    X, y = moons(60)
    X, y = np.vstack([X, [[3.0, 3.0], [3.1, 3.0]]]), np.append(y, [2, 2])
    folds = list(KFold(5, shuffle=True, random_state=0).split(X))
    folds[0] = (np.arange(60), np.arange(60, 62))  # no row of the class trains
    model = PSVCCV(cv=folds, kernel="rbf", gammas=[1.0]).fit(X, y)
    assert np.isfinite(model.best_score_) and model.classes_.tolist() == [0, 1, 2]


# ---------------------------------------------------------------- what changes nothing


@pytest.mark.parametrize("data", [moons, three, waves], ids=["two", "three", "numbers"])
def test_order_and_repetition_of_rows_change_nothing(rng, data):
    X, y = data()
    search = (PSVCCV if y.dtype.kind == "i" else PSVRCV)(**FEW, tol=1e-8)
    model, order = clone(search).fit(X, y), rng.permutation(len(y))
    assert_same_choice(model, clone(search).fit(X[order], y[order]), X)
    times = rng.integers(1, 4, size=len(y))
    weighted = clone(search).fit(X, y, times)
    assert_same_choice(
        weighted, clone(search).fit(*(np.repeat(a, times, axis=0) for a in (X, y))), X
    )
    present = rng.random(len(y)) < 0.8
    without = clone(search).fit(X[present], y[present])
    assert_same_choice(without, clone(search).fit(X, y, present.astype(float)), X)


@pytest.mark.parametrize("parameters", [FEW, {}, {"cv": 4, **FEW}, {"Cs": None, **FEW}])
def test_threads_change_nothing(parameters):
    X, y = moons()
    one, two = (PSVCCV(n_jobs=n, **parameters).fit(X, y) for n in (None, 2))
    assert one.cv_results_["params"] == two.cv_results_["params"]
    # but rounding: several jobs leave BLAS one thread each
    assert_same_choice(one, two, X)


@pytest.mark.parametrize("classifies", [True, False])
def test_blocks_of_rows_and_dask_are_the_array(classifies):
    X, y = moons(120) if classifies else waves(120)
    search = (PSVCCV if classifies else PSVRCV)(**FEW, tol=1e-8)
    model = clone(search).fit(X, y)
    pieces = [(X[i : i + 50], y[i : i + 50]) for i in range(0, 120, 50)]
    for blocks in (RowBlocks(X, y, memory=1e-3), RowBlocks(lambda: iter(pieces))):
        assert_same_choice(model, clone(search).fit(blocks), X)
    da = pytest.importorskip("dask.array")
    chunks = da.from_array(X, chunks=(40, 2)), da.from_array(y, chunks=40)
    assert_same_choice(model, clone(search).fit(*chunks), X)


def test_many_rows_are_compared_by_some_and_fitted_to_all():
    X, y = make_classification(3000, 6, random_state=0)
    model = PSVCCV(**FEW).fit(X, y)
    blocks = PSVCCV(**FEW).fit(RowBlocks(X, y, memory=0.03))
    # sums of blocks in another order: rounding
    assert_same_choice(model, blocks, X[:100], atol=1e-5)
    one = PSVC(**model.best_params_).fit(X, y)
    np.testing.assert_array_equal(one.support_, model.support_)
    f = model.decision_function(X)
    np.testing.assert_allclose(one.decision_function(X), f, atol=1e-9)
    assert model.score(X, y) > 0.9
    scored = PSVCCV(scoring="accuracy", **FEW).fit(X, y)
    assert scored.best_score_ > 0.9
    folds = PSVCCV(cv=3, kernel="rbf", gammas=[0.5]).fit(X, y)
    expected = cross_val_score(
        PSVC(probability=True, **folds.best_params_), X, y, cv=3, scoring="neg_log_loss"
    )
    found = [folds.cv_results_[f"split{i}_test_score"][0] for i in range(3)]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_clone_and_refit_are_the_same():
    X, y = moons(60)
    model = PSVCCV(**FEW).fit(X, y)
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    refitted = model.fit(*moons(50)).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), refitted.decision_function(X))


# ---------------------------------------------------------------- ends of what is tried


def test_walks_go_on_until_the_loss_has_turned():
    """Without much noise a small epsilon is the best, far beyond a few factors of ten."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(120, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    noisy, smooth = (y + noise * rng.normal(size=120) for noise in (0.5, 0.03))
    for target, low, high in ((noisy, 5e-4, 0.3), (smooth, 1e-8, 5e-4)):
        model = quiet(PSVRCV(kernel="rbf", gammas=[0.5]), X, target)
        epsilons, losses = model.walks_[0]
        place = int(np.argmin(losses))
        assert low < epsilons[place] < high
        assert place < len(losses) - 1


@pytest.mark.parametrize(
    ("n_features", "frequency", "least", "most"),
    [(8, 0.3, 1e-6, 0.4), (1, 9.0, 2.0, 20.0), (1, 30.0, 20.0, 300.0)],
)
def test_gammas_go_on_until_the_score_has_turned(n_features, frequency, least, most):
    """Also where nothing is learnt with those of the start, which are 1/3 and 1 times "scale"."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, n_features))
    y = np.sin(frequency * X).sum(axis=1) + 0.05 * rng.normal(size=150)
    model = quiet(PSVRCV(kernel="rbf"), X, y)
    units = model.gammas_ * n_features * X.var()
    np.testing.assert_allclose(units[1:] / units[:-1], 3.0)
    assert least < model.gamma_ * n_features * X.var() < most
    # The best one is inside, or four steps from the start.
    inside = model.gammas_[0] < model.gamma_ < model.gammas_[-1]
    assert inside or units.min() < 0.01 or units.max() > 50


def alike(seed, n=60):
    """A matrix of 40 columns with the same weight, which a bound of all weights does justice to."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 40))
    return X, X.sum(axis=1) + 3 * rng.normal(size=n)


@pytest.mark.parametrize("cv", [None, 5])
def test_C_goes_on_until_the_score_has_turned(cv):
    X, y = alike(0)
    search = PSVRCV(Cs=None, kernel="dyadic", cv=cv)
    model = quiet(search, X, y)
    *finite, unbounded = model.Cs_
    assert unbounded == np.inf
    np.testing.assert_allclose(np.divide(finite[1:], finite[:-1]), 2.0)
    # From the largest variable without a bound on, C would change nothing.
    free = PSVR(kernel="dyadic").fit(X, y)
    np.testing.assert_allclose(2 * finite[-1], np.abs(free.alpha_).max(), rtol=1e-3)
    scores = model.cv_results_["mean_test_score"]
    tried = list(model.cv_results_["param_C"])
    assert sorted(tried[1:], reverse=True) == tried[1:] and tried[0] == np.inf
    # The last two were no better than the best before them.
    assert max(scores[-2:]) <= max(scores[:-2])
    assert model.C_ == tried[int(np.argmax(scores))]
    # It pays for new rows, and the model is that of the bound.
    assert model.C_ < np.inf and np.abs(model.alpha_).max() == model.C_
    without = quiet(clone(search).set_params(Cs=[np.inf]), X, y)
    assert model.score(*alike(1, 2000)) > without.score(*alike(1, 2000))


def test_C_stays_infinite_where_no_bound_helps(tmp_path):
    X, _ = alike(0)
    y = 3 * X[:, 0] + 0.1 * np.random.default_rng(1).normal(size=60)
    search = PSVRCV(Cs=None, kernel="dyadic", results_file=tmp_path / "search.jsonl")
    model = quiet(search, X, y)
    assert model.C_ == np.inf
    assert len(model.Cs_) == 3
    again = quiet(clone(search), X, y)
    assert again.best_params_ == model.best_params_
    np.testing.assert_array_equal(again.Cs_, model.Cs_)


def test_search_of_C_has_a_limit(monkeypatch):
    X, y = alike(0)
    monkeypatch.setattr(_candidates, "MOST_CS", 1)
    assert len(PSVRCV(Cs=None, kernel="dyadic").fit(X, y).Cs_) == 2


def test_C_of_blocks_is_searched():
    X, y = alike(0, 200)
    pieces = [(X[i : i + 50], y[i : i + 50]) for i in range(0, 200, 50)]
    search = PSVRCV(Cs=None, kernel="dyadic")
    model, array = clone(search).fit(RowBlocks(lambda: iter(pieces))), clone(search).fit(X, y)
    assert model.C_ == pytest.approx(array.C_)
    np.testing.assert_allclose(model.alpha_, array.alpha_, atol=1e-6)


def test_choice_at_an_edge_is_told():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, 1))
    y = np.sin(9 * X[:, 0]) + 0.05 * rng.normal(size=150)
    cases = [
        ([0.01, 0.1, 1.0], "chosen gamma is the largest.* a larger one"),
        ([2000.0, 500.0, 1000.0], "chosen gamma is the smallest.* a smaller one"),
    ]
    for gammas, message in cases:
        with pytest.warns(ConvergenceWarning, match=message):
            PSVRCV(kernel="rbf", gammas=gammas, Cs=[1e3, np.inf]).fit(X, y)
    quiet(PSVRCV(kernel="rbf", gammas=[1.0, 8.0, 60.0], Cs=[1.0, 100.0, 1e4]), X, y)
    quiet(PSVRCV(kernel="rbf", gammas=[0.1]), X, y)


def test_path_is_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = moons(60)
    model = PSVCCV(**FEW).fit(X, y)
    ax = model.plot_path()
    assert len(ax.get_legend().get_texts()) == 2
    epsilons, losses = model.walks_[model.best_index_]
    assert ax.lines[-1].get_xdata()[0] == epsilons[np.argmin(losses)]
    with pytest.raises(ValueError, match="cv=None"):
        PSVCCV(cv=3, **FEW).fit(X, y).plot_path()
    matplotlib.pyplot.close("all")


def test_probabilities_of_the_chosen_model():
    X, y = moons()
    for cv in (None, 3):
        model = PSVCCV(probability="sigmoid", cv=cv, **FEW).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))
    with pytest.raises(AttributeError):
        PSVCCV().predict_proba  # noqa: B018


# ---------------------------------------------------------------- files of results


def stop_after(monkeypatch, count):
    """Ctrl-C in the middle of a search."""
    calls = []

    def counted(plain):
        def run(*task):
            calls.append(task)
            if len(calls) > count:
                raise KeyboardInterrupt
            return plain(*task)

        return run

    for name in ("_left_out", "_by_folds"):
        monkeypatch.setattr(_search.Search, name, counted(getattr(_search.Search, name)))
    return calls


@pytest.mark.parametrize("cut", [0, 7], ids=["whole lines", "a last line that is cut off"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"cv": 5, **FEW},
        {"gammas": [0.3, 1.0, 3.0], "kernel": ["rbf", "laplacian"]},
        {"cv": 3, "kernel": "rbf", "gammas": [1.0], "Cs": None},
        {},
    ],
    ids=["folds", "leave-one-out", "C until it turns", "gammas until it turns"],
)
def test_interrupted_search_goes_on_to_the_same_answer(tmp_path, monkeypatch, cut, parameters):
    X, y = moons()
    search = PSVCCV(**parameters)
    path, other = tmp_path / "search.jsonl", tmp_path / "whole.jsonl"
    whole = clone(search).set_params(results_file=other).fit(X, y)
    n_parts = len(other.read_text().splitlines()) - 1
    stop = n_parts - 1 if n_parts < 6 else n_parts // 2
    with monkeypatch.context() as patch:
        stop_after(patch, stop)
        with pytest.raises(KeyboardInterrupt):
            clone(search).set_params(results_file=path).fit(X, y)
    assert len(path.read_text().splitlines()) == 1 + stop
    if cut:
        path.write_text(path.read_text()[:-cut])
    kept = path.read_text().splitlines()[: -1 if cut else None]
    calls = stop_after(monkeypatch, n_parts)
    resumed = clone(search).set_params(results_file=path).fit(X, y)
    assert len(calls) == n_parts - stop + (cut > 0)
    # What the file had stays as it was.
    assert path.read_text().splitlines()[: len(kept)] == kept
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 1 + n_parts
    assert resumed.best_params_ == whole.best_params_
    assert_same_choice(resumed, whole, X)


def test_file_of_another_search_is_refused(tmp_path):
    X, y = moons()
    path = tmp_path / "search.jsonl"
    PSVCCV(results_file=path, **FEW).fit(X, y)
    kept = path.read_text()
    others = [
        (PSVCCV(results_file=path, **FEW), X + 1, y),
        (PSVCCV(results_file=path, **FEW), X, 1 - y),
        (PSVCCV(results_file=path, kernel="rbf", gammas=[0.5]), X, y),
        (PSVCCV(results_file=path, cv=3, **FEW), X, y),
        (PSVCCV(results_file=path, rule="sparse", **FEW), X, y),
        (PSVCCV(results_file=path, scoring="accuracy", **FEW), X, y),
    ]
    for model, X_other, y_other in others:
        with pytest.raises(ValueError, match="another search"):
            model.fit(X_other, y_other)
    assert path.read_text() == kept
    PSVCCV(results_file=path, n_jobs=2, **FEW).fit(X, y)
    assert path.read_text() == kept
    path.write_text("not ours\n")
    with pytest.raises(ValueError, match="not a file of results"):
        PSVCCV(results_file=path, **FEW).fit(X, y)


def test_damaged_line_is_named(tmp_path):
    X, y = moons()
    path = tmp_path / "search.jsonl"
    search = {"kernel": "rbf", "gammas": [0.2, 0.5, 1.0, 2.0, 4.0], "cv": 5}
    PSVCCV(results_file=path, **search).fit(X, y)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    place = lines[4].index(b"scores") + 15  # inside of a number
    digit = b"1" if lines[4][place : place + 1] != b"1" else b"2"
    changes = {
        "a digit": lines[4][:place] + digit + lines[4][place + 1 :],
        "no JSON": lines[4][:-9] + b"\n",
        "no object": b"[]\n",
        "no digest": b"{}\n",
        "no text": b"\xff\xfe\n",
    }
    for name, line in changes.items():
        path.write_bytes(b"".join([*lines[:4], line, *lines[5:]]))
        damaged = path.read_bytes()
        with pytest.raises(ValueError, match=r"search\.jsonl' is damaged: line 5"):
            PSVCCV(results_file=path, **search).fit(X, y)
        assert path.read_bytes() == damaged, name
    path.write_bytes(b"".join([*lines[:4], *lines[5:]]))  # what the message advises
    PSVCCV(results_file=path, **search).fit(X, y)
    assert len(path.read_bytes().splitlines()) == len(lines)


def test_file_that_is_not_ours_is_left_alone(tmp_path):
    X, y = moons(30)
    path = tmp_path / "thesis.txt"
    for text in ("not ours", "not ours\n", "[1]\n", "{}\n", "\n", '{"search": 1}\n{"key": '):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"not a file of results|another search"):
            PSVCCV(results_file=path, **FEW).fit(X, y)
        assert path.read_text() == text


def test_file_in_use_is_refused(tmp_path):
    X, y = moons(30)
    path = tmp_path / "search.jsonl"
    with Journal(path, "another search", Judged):
        written = path.read_bytes()
        with pytest.raises(ValueError, match=r"search\.jsonl' is in use by another run"):
            PSVCCV(results_file=path, **FEW).fit(X, y)
        assert path.read_bytes() == written


def test_file_of_an_interrupted_search_is_free(tmp_path, monkeypatch):
    X, y = moons(30)
    search = PSVCCV(results_file=tmp_path / "search.jsonl", **FEW)
    with monkeypatch.context() as patch:
        stop_after(patch, 1)
        # The error is kept, as a notebook does, and with it the search and its open file.
        with pytest.raises(KeyboardInterrupt) as kept:
            search.fit(X, y)
    search.fit(X, y)
    del kept


def test_numpy_numbers_and_tuples_are_read_back(tmp_path):
    path, key = tmp_path / "parts.jsonl", (np.float64(0.5), np.int64(2), "a")
    part = Judged(np.eye(2), np.arange(2), np.float64(0.25), *np.eye(3))
    with Journal(path, "search", Judged) as journal:
        journal.add(key, part)
    with Journal(path, "search", Judged) as journal:
        for read, written in zip(journal.done[0.5, 2, "a"], part, strict=True):
            np.testing.assert_array_equal(read, written)


@pytest.mark.parametrize("size", [0, 1, 30])
def test_interrupted_first_line_starts_again(tmp_path, size):
    X, y = moons(30)
    path = tmp_path / "search.jsonl"
    PSVCCV(results_file=path, **FEW).fit(X, y)
    whole = path.read_bytes()
    path.write_bytes(whole[:size])
    PSVCCV(results_file=path, **FEW).fit(X, y)
    assert path.read_bytes().splitlines()[0] == whole.splitlines()[0]
    assert len(path.read_bytes().splitlines()) == len(whole.splitlines())


FULL_DISK = """
import resource, sys
from sklearn.datasets import make_moons
from psvm import PSVCCV
X, y = make_moons(60, noise=0.2, random_state=0)
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    PSVCCV(kernel="rbf", gammas=[0.2, 0.5, 1.0, 2.0, 4.0], cv=3, results_file=sys.argv[1]).fit(X, y)
except OSError as error:
    print("refused", error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit of the size of files")
def test_full_disk_keeps_what_is_there(tmp_path):
    """A file that may not grow: every whole line stays, and the search goes on with room."""
    path = tmp_path / "search.jsonl"

    def run(limit):
        command = [sys.executable, "-c", FULL_DISK, str(path), str(limit)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout

    assert run(10**6) == ""
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    kept = b"".join(lines[:4])
    for limit in (len(kept), len(kept) + 20, 100):
        path.write_bytes(kept)
        assert "refused" in run(limit)
        assert path.read_bytes() == kept
    assert run(10**6) == ""
    assert len(path.read_bytes().splitlines()) == len(lines)
    assert path.read_bytes().startswith(kept)


# ---------------------------------------------------------------- one model


@pytest.mark.parametrize("unit", ["absolute", "max"])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed", "linear"])
def test_leave_one_out_equals_cold_fits(kernel, unit):
    X, y = moons(50)
    model = PSVC(epsilon=0.2, epsilon_unit=unit, C=5.0, kernel=kernel, gamma=2.0, tol=1e-9)
    X = rbf_kernel(X, gamma=2.0) if kernel == "precomputed" else X
    found = cross_val_error(model, X, y)
    cold = cross_val_predict(model, X, y, cv=LeaveOneOut(), method="decision_function")
    # both within 1e-9 of epsilon from their optimum
    np.testing.assert_allclose(found.decisions[:, 0], cold, atol=1e-6)
    assert found.error == pytest.approx(np.mean((cold > 0) != (y == 1)))
    assert not hasattr(model, "alpha_")


def test_several_classes_labels_and_outputs_are_left_out():
    cv = KFold(5, shuffle=True, random_state=0)
    X, y = load_iris(return_X_y=True)
    X_two, Y = waves(60, outputs=2)
    for model, A, b in (
        (PSVC(epsilon=0.3, gamma=0.5, tol=1e-9), X[::3], y[::3]),
        (PSVC(epsilon=0.3, gamma=0.5, multi_class="ovr", tol=1e-9), X[::3], y[::3]),
        (PSVC(epsilon=0.3, gamma=0.5, tol=1e-9), X_two, (Y > 0).astype(int)),
        (PSVR(epsilon=0.3, gamma=0.5, tol=1e-9), X_two, Y),
    ):
        found = cross_val_error(model, A, b, cv=cv)
        cold = cross_val_predict(model, A, b, cv=cv)
        np.testing.assert_allclose(found.predictions, cold, atol=1e-6)
    assert found.error == pytest.approx(np.mean((cold - Y) ** 2), rel=1e-6)
    sizes = [len(test) for _, test in cv.split(X_two)]
    assert found.fold_errors @ sizes / 60 == pytest.approx(found.error)


def test_twins_do_not_vouch_for_each_other():
    """With its twin held out a row describes again, as it does in a cold fit."""
    X, y = moons(30)
    X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    model = PSVC(epsilon=0.2, gamma=2.0, tol=1e-9)
    cold = cross_val_predict(model, X, y, cv=LeaveOneOut(), method="decision_function")
    np.testing.assert_allclose(cross_val_error(model, X, y).decisions[:, 0], cold, atol=1e-6)


def test_weights_of_rows_in_the_error():
    X, y = moons(40)
    weights = np.where(np.arange(40) < 10, 0.0, 1.0)
    model = PSVC(epsilon=0.2, gamma=2.0, tol=1e-9)
    some = cross_val_error(model, X, y, sample_weight=weights)
    rest = cross_val_error(model, X[10:], y[10:])
    assert some.error == pytest.approx(rest.error)
    np.testing.assert_allclose(some.decisions[10:], rest.decisions, atol=1e-6)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"Cs": 3.0}, "Cs must be a list"),
        ({"Cs": [0.0]}, "Cs must be"),
        ({"Cs": []}, "Cs must"),
        ({"gammas": [-1.0]}, "gammas"),
        ({"gammas": []}, "gammas"),
        ({"gammas": "scale"}, "gammas must be a list"),
        ({"rule": "worst"}, "rule must be"),
        ({"kernel": []}, "kernel must not be an empty list"),
        ({"kernel": ["rbf", "no such"]}, "kernel must be"),
        ({"kernel": ["rbf", "dyadic"]}, "must not mix"),
        ({"kernel": "linear", "gammas": [1.0]}, "has no gamma"),
        ({"scoring": "no such"}, "scoring"),
        ({"cv": 1}, "cv"),
        ({"cv": 31}, "does not describe folds"),
        ({"cv": [([0, 1, 2], [300])]}, "between 0 and 29"),
        ({"cv": []}, "has no folds"),
        ({"results_file": "no/such/folder/x.jsonl"}, "No such file"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
    ids=str,
)
def test_bad_parameters(parameters, message):
    X, y = moons(30)
    with pytest.raises((ValueError, OSError), match=message):
        PSVCCV(**parameters).fit(X, y)


def test_bad_folds_and_models():
    X, y = moons(30)
    with pytest.raises(ValueError, match="number as epsilon"):
        cross_val_error(PSVC(), X, y)
    with pytest.raises(ValueError, match="exactly once"):
        cross_val_error(PSVC(epsilon=0.1), X, y, cv=ShuffleSplit(3, random_state=0))
    with pytest.raises(ValueError, match="one class only"):
        PSVCCV(cv=KFold(2)).fit(X, np.repeat([0, 1], 15))
    with pytest.raises(ValueError, match="holds out no row with a weight"):
        PSVCCV(cv=KFold(2)).fit(X, y, np.repeat([0, 1], 15))
    with pytest.raises(NotFittedError):
        PSVCCV().predict(X)
    with pytest.raises(ValueError, match="cv needs all rows at once"):
        PSVCCV(cv=3).fit(RowBlocks(X, y))
    with pytest.raises(ValueError, match="NaN"):
        PSVCCV(scoring=lambda *data: np.nan).fit(X, y)
