"""PSVCCV, PSVRCV and cross_val_error: as good as loops of cold fits; files of results."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    LeaveOneOut,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

import psvm
from psvm import PSVC, PSVCCV, PSVR, PSVRCV, cross_val_error
from psvm._folds import assign_folds
from psvm._journal import Journal
from psvm.matrix import row_digests
from psvm.model_selection import _grid, _paths, _search, _table
from psvm.model_selection._paths import Judged
from reference import decided

# Small grids, whose ends do not matter; `test_choice_at_an_edge_is_told` and others look at them.
pytestmark = pytest.mark.filterwarnings("ignore:The chosen:sklearn.exceptions.ConvergenceWarning")
FEW = {"epsilons": 6, "min_ratio": 0.01, "gammas": [0.5, 2.0]}
EXACT = {"path_tol": 1e-8, "tol": 1e-8}
FOLDS = StratifiedKFold(4, shuffle=True, random_state=1)


@parametrize_with_checks([PSVCCV(epsilons=4, gammas=["scale"]), PSVRCV(epsilons=4, Cs=[10.0])])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def moons(n=90, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


def waves(n=80, outputs=None):
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, size=(n, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 0] * X[:, 1]]) + 0.1 * rng.normal(size=(n, 2))
    return X, Y[:, 0] if outputs is None else Y


# ---------------------------------------------------------------- the same model as GridSearchCV


@pytest.mark.parametrize("classes", [2, 3])
def test_grid_search_chooses_the_same_model(classes):
    X, y = moons() if classes == 2 else load_iris(return_X_y=True)
    X = X[::2, :2] if classes == 3 else X
    y = y[::2] if classes == 3 else y
    ours = PSVCCV(scoring="accuracy", rule="best", cv=FOLDS, Cs=[1.0, np.inf], **FEW, **EXACT)
    ours.fit(X, y)
    grid = {"C": [1.0, np.inf], "epsilon": ours.epsilons_, "gamma": [0.5, 2.0]}
    model = PSVC(epsilon_unit="max", tol=1e-8)
    theirs = GridSearchCV(model, grid, cv=FOLDS).fit(X, y)
    # Accuracies are counts: the same ones, and the same best of them, where no row is near the
    # boundary of a machine of the grid. Both are solved to 1e-8 of epsilon.
    model = clone(model).set_params(decision_function_shape="ovo")
    for point in theirs.cv_results_["params"]:
        for train, test in FOLDS.split(X, y):
            fitted = model.set_params(**point).fit(X[train], y[train])
            assert all(map(decided, np.atleast_2d(fitted.decision_function(X[test]).T)))
    assert ours.best_params_ == theirs.best_params_
    assert ours.best_index_ == theirs.best_index_
    assert ours.best_score_ == pytest.approx(theirs.best_score_, abs=1e-12)
    assert ours.cv_results_["params"] == theirs.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "split3_test_score"):
        expected = theirs.cv_results_[name]
        np.testing.assert_allclose(ours.cv_results_[name], expected, atol=1e-12, err_msg=name)
    f = theirs.best_estimator_.decision_function(X)
    np.testing.assert_allclose(ours.decision_function(X), f, atol=1e-6)
    assert decided(f)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_grid_search_chooses_the_same_regression():
    X, y = waves()
    cv = KFold(4, shuffle=True, random_state=0)
    ours = PSVRCV(rule="best", cv=cv, **FEW, **EXACT).fit(X, y)
    grid = {"C": [np.inf], "epsilon": ours.epsilons_, "gamma": [0.5, 2.0]}
    theirs = GridSearchCV(
        PSVR(epsilon_unit="max", tol=1e-8), grid, cv=cv, scoring="neg_mean_squared_error"
    ).fit(X, y)
    # both are solved to 1e-8 of epsilon
    expected = theirs.cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], expected, rtol=1e-6)
    assert ours.best_params_ == theirs.best_params_


def test_halving_search_works_and_finds_a_good_model():
    X, y = moons(200)
    grid = {"epsilon": np.geomspace(1, 0.01, 6), "gamma": [0.5, 2.0, 8.0]}
    search = HalvingGridSearchCV(
        PSVC(epsilon_unit="max"), grid, factor=3, random_state=0, cv=FOLDS
    ).fit(X, y)
    ours = PSVCCV(scoring="accuracy", epsilons=grid["epsilon"], gammas=grid["gamma"], cv=FOLDS)
    assert search.best_score_ > 0.85
    assert ours.fit(X, y).best_score_ >= search.best_score_ - 0.05


def test_cv_estimators_are_estimators_of_a_search():
    X, y = moons()
    search = GridSearchCV(PSVCCV(epsilons=4), {"kernel": ["rbf", "linear"]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel": "rbf"}


# ---------------------------------------------------------------- scores recomputed from outside


def test_scores_are_the_squared_errors_of_cold_solves():
    X, y = moons()
    t = 2.0 * y - 1
    model = PSVCCV(
        cv=FOLDS, gammas=[2.0], epsilons=[0.5, 0.1, 0.02], path_tol=1e-8, threshold="mean"
    ).fit(X, y)
    K = rbf_kernel(X, gamma=2.0)
    for e, share in enumerate(model.epsilons_):
        for f, (a, b) in enumerate(FOLDS.split(X, y)):
            m = K[np.ix_(a, a)].mean(axis=0)
            s = np.sqrt(np.square(K[np.ix_(a, a)] - m).sum(axis=0))
            largest = np.abs(((K[np.ix_(a, a)] - m) / s).T @ t[a]).max()
            cold = psvm.solve(K[np.ix_(a, a)], t[a], epsilon=share * largest, tol=1e-8)
            error = np.mean((K[np.ix_(b, a)] @ cold.coef + cold.intercept - t[b]) ** 2)
            score = model.cv_results_[f"split{f}_test_score"][e]
            assert score == pytest.approx(-error, rel=1e-6)


def test_epsilon_is_a_share_of_its_maximum():
    X, y = moons()
    model = PSVCCV(**FEW).fit(X, y)
    refitted = PSVC(epsilon=model.epsilon_, gamma=model.gamma_).fit(X, y)
    np.testing.assert_allclose(refitted.alpha_, model.alpha_, atol=1e-12)
    share = PSVC(epsilon=model.best_params_["epsilon"], epsilon_unit="max", gamma=model.gamma_)
    assert share.fit(X, y).epsilon_ == pytest.approx(model.epsilon_)


def decided_choice(table):
    """Assert that rounding cannot change the choice: no candidate is at the limit, or equals it."""
    folds = np.array([table[name] for name in table if name.startswith("split")])
    beyond = folds - folds[:, [int(np.argmax(table["mean_test_score"]))]]
    error = 0.5 * np.std(beyond, axis=0, ddof=1) / np.sqrt(len(folds))
    distance = np.abs(beyond.mean(axis=0) + error)
    assert (distance[error > 0] > 1e-6).all()
    assert np.count_nonzero(error == 0) == 1


def test_default_folds_do_not_depend_on_order_or_repetition(rng):
    X, y = moons()
    order = rng.permutation(len(y))
    search = PSVCCV(**FEW, **EXACT)
    model, shuffled = clone(search).fit(X, y), clone(search).fit(X[order], y[order])
    decided_choice(model.cv_results_)
    twice = clone(search).fit(np.vstack([X, X]), np.r_[y, y])
    weighted = clone(search).fit(X, y, np.full(len(y), 2.0))
    for other in (shuffled, twice, weighted):
        assert other.best_params_ == model.best_params_
        assert other.best_score_ == pytest.approx(model.best_score_, rel=1e-6)


@pytest.mark.parametrize("scoring", ["roc_auc", "f1", "accuracy"])
def test_scorers_of_scikit_learn(scoring):
    X, y = moons()
    parameters = {"gamma": 2.0, "epsilon": 0.1, "epsilon_unit": "max", "tol": 1e-8}
    # The scores count signs of decision values and of their differences between the classes.
    for train, test in FOLDS.split(X, y):
        f = PSVC(**parameters).fit(X[train], y[train]).decision_function(X[test])
        assert decided(f) and decided(np.subtract.outer(*(f[y[test] == c] for c in (0, 1))).ravel())
    model = PSVCCV(scoring=scoring, epsilons=[0.1], gammas=[2.0], cv=FOLDS, **EXACT).fit(X, y)
    theirs = GridSearchCV(PSVC(**parameters), {"gamma": [2.0]}, scoring=scoring, cv=FOLDS)
    assert model.best_score_ == pytest.approx(theirs.fit(X, y).best_score_, abs=1e-12)


# ---------------------------------------------------------------- leave-one-out values


def left_out(K, y, alpha, means, norms, epsilon):
    """Predictions without each row, by a new fit to the other rows with the same support.

    The signs of the variables and the units of the columns stay; the column of the row leaves.
    """
    Z, found = (K - means) / norms, np.empty(len(y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        columns = np.flatnonzero((alpha != 0) & rest)
        D = np.column_stack([np.ones(len(y)), Z[:, columns]])
        penalty = np.concatenate([[0.0], epsilon * np.sign(alpha[columns])])
        theta = np.linalg.solve(D[rest].T @ D[rest], D[rest].T @ y[rest] - penalty)
        found[i] = D[i] @ theta
    return found


def test_default_scores_are_those_of_fits_without_each_row():
    X, y = waves(60)
    model = PSVRCV(gammas=[0.5], epsilons=[0.5, 0.2, 0.05], relaxation=0).fit(X, y)
    assert model.n_splits_ == 5
    K = rbf_kernel(X, gamma=0.5)
    for row, share in enumerate(model.epsilons_):
        full = psvm.solve(K, y, epsilon=share * model.epsilon_ / model.best_params_["epsilon"])
        m, s = K.mean(axis=0), np.sqrt(np.square(K - K.mean(axis=0)).sum(axis=0))
        f = left_out(K, y, full.alpha, m, s, full.epsilon)
        # Every row is in one fold; its constant is that with the least squared error.
        found = [model.cv_results_[f"split{i}_test_score"][row] for i in range(5)]
        assert np.mean(found) == pytest.approx(-np.var(y - f), rel=1e-5)


@pytest.mark.parametrize("relaxation", [0.0, 0.75])
@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc"])
def test_default_scores_are_near_those_of_real_leave_one_out(scoring, relaxation):
    """Without a row the support changes as well, which the approximate values do not know."""
    X, y = moons(60)
    options = {"threshold": "mean", "relaxation": relaxation}
    model = PSVCCV(scoring=scoring, gammas=[1.0], epsilons=[0.5, 0.2, 0.1], **options).fit(X, y)
    for row, share in enumerate(model.epsilons_):
        one = PSVC(epsilon=share, epsilon_unit="max", gamma=1.0, **options)
        f = cross_val_predict(one, X, y, cv=LeaveOneOut(), method="decision_function")
        score = model.cv_results_["mean_test_score"][row]
        if scoring is None:
            sigmoid = LogisticRegression(C=1e6).fit(f[:, None], y)
            loss = log_loss(y, sigmoid.predict_proba(f[:, None]))
            assert score == pytest.approx(-loss, rel=0.1)
        elif scoring == "accuracy":
            assert score == pytest.approx(accuracy_score(y, f > 0), abs=0.05)
        else:
            assert score == pytest.approx(roc_auc_score(y, f), abs=0.05)


@pytest.mark.parametrize("scheme", ["shared", "ovo", "ovr"])
def test_several_classes_are_judged_by_all_machines(scheme):
    X, y = load_iris(return_X_y=True)
    options = {"multi_class": scheme, "relaxation": 0.75}
    model = PSVCCV(scoring="accuracy", gammas=[0.2], epsilons=[0.3, 0.1], **options).fit(X, y)
    for row, share in enumerate(model.epsilons_):
        one = PSVC(epsilon=share, epsilon_unit="max", gamma=0.2, **options)
        f = cross_val_predict(one, X, y, cv=StratifiedKFold(30))
        assert model.cv_results_["mean_test_score"][row] == pytest.approx(np.mean(f == y), abs=0.03)


def test_classes_share_their_support_unless_folds_are_given():
    X, y = load_iris(return_X_y=True)
    shared = PSVCCV(gammas=[0.2]).fit(X, y)
    chosen = shared.best_estimator_
    assert chosen.multi_class == "shared" and len(chosen.solutions_) == 1
    pairs = PSVCCV(gammas=[0.2], multi_class="ovo").fit(X, y)
    assert shared.n_support_ < pairs.n_support_
    for parameters in ({"cv": 3}, {"Cs": [10.0]}):
        model = PSVCCV(gammas=[0.2], epsilons=[0.1], **parameters).fit(X, y)
        assert model.best_estimator_.multi_class == "ovo"
        with pytest.raises(ValueError, match="'shared'"):
            PSVCCV(gammas=[0.2], multi_class="shared", **parameters).fit(X, y)


def test_gamma_is_found_with_some_of_many_rows(rng):
    X, y = moons(500)
    model = PSVCCV().fit(X, y)
    table = model.cv_results_
    some, all_ = np.unique(table["n_resources"])
    assert some == 250 and all_ == 500 == table["n_resources"][model.best_index_]
    whole = table["n_resources"] == all_
    assert set(table["param_gamma"].data[whole]) == {model.gamma_}
    best = int(np.argmax(np.where(whole, -np.inf, table["mean_test_score"])))
    assert table["param_gamma"].data[best] == model.gamma_
    assert model.gammas_[0] < model.gamma_ < model.gammas_[-1]
    # The rows are drawn by their content.
    order = rng.permutation(len(y))
    assert PSVCCV().fit(X[order], y[order]).gamma_ == pytest.approx(model.gamma_)
    # Given gammas are tried with all rows.
    fixed = PSVCCV(gammas=model.gammas_, epsilons=[0.1]).fit(X, y)
    assert set(fixed.cv_results_["n_resources"]) == {500}


def test_rare_classes_need_not_be_among_the_rows_that_find_gamma():
    X, y = moons(500)
    X, y = np.vstack([X, [[3.0, 3.0]]]), np.append(y, 2)
    model = PSVCCV(epsilons=6).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2] and model.best_estimator_.multi_class == "shared"


def test_many_columns_mean_real_folds(monkeypatch):
    X, y = moons()
    folds = PSVCCV(**FEW, **EXACT)
    digests = row_digests(X)
    number = assign_folds(digests, y, np.ones(len(y)))
    given = [(np.flatnonzero(number != i), np.flatnonzero(number == i)) for i in range(5)]
    expected = clone(folds).set_params(cv=given).fit(X, y)
    monkeypatch.setattr(_search, "LARGEST_GRAM", 10)
    found = folds.fit(X, y)
    scores = "mean_test_score"
    np.testing.assert_allclose(found.cv_results_[scores], expected.cv_results_[scores], rtol=1e-6)


# ---------------------------------------------------------------- ends of grids


def quiet(model, X, y):
    """Fit a model that must not warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, y)


def test_paths_go_on_until_the_error_has_turned():
    """Without much noise a small epsilon is the best, far beyond a few factors of ten."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(120, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
    noisy, smooth = (y + noise * rng.normal(size=120) for noise in (0.5, 0.003))
    for target, low, high in ((noisy, 5e-4, 0.1), (smooth, 1e-10, 1e-4)):
        model = quiet(PSVRCV(gammas=[0.5]), X, target)
        table = model.cv_results_
        place = int(np.argmax(table["mean_test_score"]))
        assert low < table["param_epsilon"][place] < high
        assert place < len(table["params"]) - 1
        assert model.epsilons_[-1] > 1e-2 * table["param_epsilon"][place]


def test_paths_of_classes_go_on_beyond_half_of_the_rows():
    """Where classes depend on products of features nearly all objects are needed."""
    shares, gains = [], []
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(1150, 20))
        y = (X[:, 0:6:2] * X[:, 1:6:2]).sum(axis=1) > 0
        model = quiet(PSVCCV(gammas=[0.05]), X[:150], y[:150])
        table = model.cv_results_
        sparse = table["mean_n_support"] <= 75
        best = np.argmax(np.where(sparse, table["mean_test_score"], -np.inf))
        limited = PSVC(gamma=0.05, epsilon=table["param_epsilon"][best], epsilon_unit="max")
        limited.fit(X[:150], y[:150])
        shares.append(model.n_support_ / 150)
        gains.append(model.score(X[150:], y[150:]) - limited.score(X[150:], y[150:]))
    assert max(shares) > 0.65
    assert np.mean(gains) > 0.0


@pytest.mark.parametrize(
    ("n_features", "frequency", "least", "most"),
    [(8, 0.3, 1e-6, 0.2), (1, 9.0, 2.0, 20.0), (1, 30.0, 20.0, 300.0)],
)
def test_gammas_go_on_until_the_score_has_turned(n_features, frequency, least, most):
    """Also where nothing is learnt with those of the start, which are 1/3 and 1 times "scale"."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, n_features))
    y = np.sin(frequency * X).sum(axis=1) + 0.05 * rng.normal(size=150)
    model = quiet(PSVRCV(), X, y)
    units = model.gammas_ * n_features * X.var()
    np.testing.assert_allclose(units[1:] / units[:-1], 3.0)
    assert least < model.gamma_ * n_features * X.var() < most
    assert model.gamma_ < model.gammas_[-1]
    if model.gamma_ == model.gammas_[0]:
        # Wider kernels are not tried once they hardly pay.
        table = model.cv_results_
        widest, next_one = (
            max(table["mean_test_score"][table["param_gamma"] == gamma])
            for gamma in model.gammas_[:2]
        )
        assert widest - next_one <= 0.01 * abs(widest)


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
    assert model.C_ in finite[2:]  # two smaller values were worse
    # From the largest variable without a bound on, C would change nothing.
    table = model.cv_results_
    best = np.argmax(np.where(table["param_C"] == np.inf, table["mean_test_score"], -np.inf))
    free = PSVR(kernel="dyadic", relaxation=0, epsilon_unit="max")
    free.set_params(C=np.inf, epsilon=table["params"][best]["epsilon"]).fit(X, y)
    np.testing.assert_allclose(2 * finite[-1], np.abs(free.alpha_).max(), rtol=1e-3)
    # It pays for new rows, and the model is that of the bound.
    assert np.abs(model.alpha_).max() == model.C_
    without = quiet(clone(search).set_params(Cs=[np.inf]), X, y)
    assert model.score(*alike(1, 2000)) > without.score(*alike(1, 2000)) + 0.1


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


def test_search_of_C_has_a_limit_that_is_told(monkeypatch):
    X, y = alike(0)
    monkeypatch.setattr(_grid, "HALF", 0.8)  # the best bound is at about two thirds
    monkeypatch.setattr(_grid, "MOST_CS", 2)
    with pytest.warns(ConvergenceWarning, match="chosen C is the smallest that was tried"):
        model = PSVRCV(Cs=None, kernel="dyadic").fit(X, y)
    assert model.C_ == model.Cs_[0]


def test_C_of_blocks_is_searched_by_one_pass():
    X, y = alike(0, 200)
    passes = []

    def blocks():
        passes.append(1)
        yield from ((X[i : i + 50], y[i : i + 50]) for i in range(0, 200, 50))

    given = PSVRCV(kernel="dyadic").fit(psvm.RowBlocks(blocks))
    once = len(passes)
    passes.clear()
    model = PSVRCV(Cs=None, kernel="dyadic").fit(psvm.RowBlocks(blocks))
    assert len(passes) == once
    assert len(model.Cs_) >= 3
    assert model.best_score_ >= given.best_score_


def test_classes_with_a_searched_C():
    X, y = load_iris(return_X_y=True)
    model = quiet(PSVCCV(Cs=None, gammas=["scale"]), X, y)
    assert model.best_estimator_.multi_class == "ovo"
    assert len(model.Cs_) >= 3
    for parameters in ({"multi_class": "shared"}, {"strategy": "coarse_to_fine"}):
        with pytest.raises(ValueError, match=r"needs .*Cs.*None"):
            PSVCCV(Cs=None, **parameters).fit(X, y)


def test_paths_that_stay_behind_are_given_up(monkeypatch):
    """They have fewer points, but the choice is the same."""
    X, y = make_moons(300, noise=0.2, random_state=0)
    model = quiet(PSVCCV(), X, y)
    monkeypatch.setattr(_paths.Rival, "beats", lambda *point: False)
    whole = quiet(PSVCCV(), X, y)
    assert model.best_params_ == whole.best_params_
    assert len(model.cv_results_["params"]) < len(whole.cv_results_["params"])


def test_rival():
    rival = _paths.Rival(np.array([-0.3, -0.2, -0.4]), 10.0)
    behind = rival.scores - np.array([0.1, 0.2, 0.3])  # mean 0.2, standard error 0.058
    assert rival.beats(behind, 10)
    assert not rival.beats(behind, 9)  # too few support objects to tell
    assert not rival.beats(rival.scores - np.array([0.3, -0.2, 0.0]), 10)  # 0.033 and 0.145
    assert not rival.beats(np.full(3, np.nan), 10)


def test_choice_at_an_edge_is_told():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(150, 1))
    y = np.sin(9 * X[:, 0]) + 0.05 * rng.normal(size=150)
    cases = [
        ({"epsilons": [0.5, 0.4, 0.3], "gammas": [30.0]}, "smallest of the grid, 0.3", "smaller"),
        ({"epsilons": 4, "gammas": [30.0]}, "smallest of the grid, 0.158", "Increase epsilons"),
        (
            {"epsilons": 4, "min_ratio": 0.1, "gammas": [30.0]},
            "the grid, 0.1",
            "Decrease min_ratio",
        ),
        ({"epsilons": [1e-4, 1e-5, 1e-6], "gammas": [300.0]}, "largest of the grid", "larger"),
        ({"gammas": [0.01, 0.1, 1.0]}, "chosen gamma is the largest", "gammas"),
        ({"gammas": [2000.0, 500.0, 1000.0]}, "chosen gamma is the smallest", "gammas"),
        ({"gammas": [30.0], "Cs": [0.01, 0.02, 0.04]}, "chosen C is the largest", "Cs"),
    ]
    for parameters, *messages in cases:
        with pytest.warns(ConvergenceWarning) as caught:
            PSVRCV(rule="best", **parameters).fit(X, y)
        texts = " ".join(str(w.message) for w in caught)
        assert all(message in texts for message in messages), (parameters, texts)
    quiet(PSVRCV(gammas=[1.0, 8.0, 60.0], Cs=[1.0, 100.0, 1e4]), X, y)
    quiet(PSVRCV(gammas=[0.1], epsilons=[0.5]), X, y)


# ---------------------------------------------------------------- rules and strategies


def table(means, splits, support, epsilons, gammas=1.0):
    gammas = np.broadcast_to(gammas, len(means))
    return {
        "params": [{"gamma": gamma} for gamma in gammas],
        "param_gamma": np.ma.array(gammas),
        "mean_test_score": np.array(means),
        "param_epsilon": np.array(epsilons),
        "mean_n_support": np.array(support),
        "n_resources": np.full(len(means), 9),
        **{f"split{i}_test_score": np.array(s) for i, s in enumerate(np.transpose(splits))},
    }


def test_rules():
    splits = np.array([[0.80, 0.84], [0.88, 0.92], [0.87, 0.93], [0.86, 0.90], [0.5, 0.5]])
    found = table(splits.mean(axis=1), splits, [3, 9, 7, 5, 1], [0.5, 0.1, 0.2, 0.3, 0.9])
    assert _table.choose(found, "best") == 1
    # As good on average, and the fewer support objects: 0.02 worse in each fold is no chance.
    assert _table.choose(found, "sparsest") == 2
    # standard error of the best: sd 0.0283 / sqrt(2) = 0.02
    assert _table.choose(found, "one_standard_error") == 3


def test_rules_of_gamma():
    """The best is the fourth, with gamma 1; those before it are behind it by different amounts."""
    best = np.array([-0.50, -0.40, -0.60])
    behind = [[0.05, 0.03, 0.04], [0.02, -0.02, 0.01], [0.001, -0.001, 0.001], [0.0] * 3]
    gammas = [0.1, 0.3, 0.3, 1.0]
    splits = best - np.array(behind)
    found = table(splits.mean(axis=1), splits, [2, 3, 4, 5], [0.1] * 4, gammas)
    # gamma 0.1 is worse in all folds; the best with 0.3 by half a standard error, and the sparser
    # candidate with 0.3 by more than that of their difference.
    assert _table.choose(found, "best") == 3
    assert _table.choose(found, "widest") in (1, 2)
    found["mean_test_score"][2] = np.nan
    assert _table.choose(found, "narrowest", 1.0) == 3
    # the same model again, such as with another C that no variable gets to: the first one wins
    twice = table([0.9, 0.9 * (1 + 1e-13), 0.5], np.full((3, 2), 0.9), [9, 9, 1], [0.1, 0.1, 0.9])
    assert _table.choose(twice, "best") == _table.choose(twice, "one_standard_error") == 0
    found["mean_test_score"][:] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        _table.choose(found, "best")


def test_one_standard_error_needs_no_more_support():
    X, y = moons(150)
    best = PSVCCV(rule="best", cv=FOLDS).fit(X, y)
    sparse = PSVCCV(rule="one_standard_error", cv=FOLDS).fit(X, y)
    scores = best.cv_results_
    folds = [scores[f"split{i}_test_score"][best.best_index_] for i in range(4)]
    assert sparse.best_score_ >= best.best_score_ - np.std(folds, ddof=1) / 2
    assert scores["mean_n_support"][sparse.best_index_] <= scores["mean_n_support"].min() + 5
    assert sparse.n_support_ < best.n_support_


def test_coarse_to_fine_is_the_search_of_the_papers():
    X, y = moons(60)
    model = PSVCCV(
        strategy="coarse_to_fine", Cs=[0.1, 100.0], gammas=[0.1, 10.0], epsilons=[0.1], cv=3
    ).fit(X, y)
    rounds = model.cv_results_["iter"]
    assert np.bincount(rounds).tolist() == [4 * 4, 7 * 7]
    first, second = rounds == 0, rounds == 1
    coarse = model.cv_results_["mean_test_score"][first]
    best = model.cv_results_["params"][int(np.argmax(coarse))]
    C = np.unique(model.cv_results_["param_C"].data[second])
    # up to the neighbours on the coarse grid, the best in the middle
    np.testing.assert_allclose(C[[0, 3, 6]], best["C"] * 10.0 ** np.array([-1, 0, 1]), rtol=1e-9)
    with pytest.raises(ValueError, match="finite Cs"):
        PSVCCV(strategy="coarse_to_fine", Cs=[1.0, np.inf]).fit(X, y)


def test_kernels_without_gamma_and_measured_matrices(rng):
    K = rng.normal(size=(60, 100))
    y = np.where(K[:, 7] - K[:, 42] > 0, "sick", "well")
    model = PSVCCV(kernel="dyadic", epsilons=8, min_ratio=0.1).fit(K, y)
    assert {7, 42} <= set(model.support_) and model.gamma_ == "scale"
    with pytest.raises(ValueError, match="has no gamma"):
        PSVCCV(kernel="dyadic", gammas=[1.0]).fit(K, y)
    X, t = moons()
    vectors = PSVCCV(epsilons=5, gammas=[2.0], cv=FOLDS, **EXACT).fit(X, t)
    matrix = PSVCCV(kernel="precomputed", epsilons=5, cv=FOLDS, **EXACT)
    matrix.fit(rbf_kernel(X, gamma=2.0), t)
    scores = "mean_test_score"
    np.testing.assert_allclose(matrix.cv_results_[scores], vectors.cv_results_[scores], rtol=1e-6)


def test_several_outputs_labels_and_classes():
    X, Y = waves(outputs=2)
    numbers = PSVRCV(**FEW).fit(X, Y)
    assert numbers.predict(X).shape == Y.shape and numbers.score(X, Y) > 0.8
    labels = PSVCCV(**FEW).fit(X, (Y > 0).astype(int))
    assert labels.predict(X).shape == Y.shape
    X, y = load_iris(return_X_y=True)
    three = PSVCCV(epsilons=6, scoring="accuracy").fit(X, y)
    assert three.best_score_ > 0.94 and three.epsilon_.shape == (3,)


def test_threads_change_nothing():
    """But rounding: several jobs leave BLAS one thread each."""
    X, y = moons()
    one, two = (PSVCCV(n_jobs=n, **FEW, **EXACT).fit(X, y) for n in (None, 2))
    for f in range(5):
        name = f"split{f}_test_score"
        np.testing.assert_allclose(one.cv_results_[name], two.cv_results_[name], rtol=1e-6)
    assert one.best_params_ == two.best_params_


def test_path_is_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = moons(60)
    model = PSVCCV(**FEW).fit(X, y)
    ax = model.plot_path()
    assert len(ax.get_legend().get_texts()) == 2
    assert ax.lines[-1].get_xdata()[0] == model.best_params_["epsilon"]
    matplotlib.pyplot.close("all")


def test_probabilities_of_the_chosen_model():
    X, y = moons()
    model = PSVCCV(probability="sigmoid", **FEW).fit(X, y)
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

    monkeypatch.setattr(_search, "left_out_paths", counted(_search.left_out_paths))
    monkeypatch.setattr(_search.FoldPaths, "judged", counted(_search.FoldPaths.judged))
    return calls


@pytest.mark.parametrize("cut", [0, 7], ids=["whole lines", "a last line that is cut off"])
@pytest.mark.parametrize(
    "parameters",
    [{"cv": 5, **FEW}, {"gammas": [0.3, 1.0, 3.0]}, {"cv": 3, "gammas": [1.0]}, {}],
    ids=["folds", "leave-one-out", "folds until it turns", "gammas until it turns"],
)
def test_interrupted_search_goes_on_to_the_same_answer(tmp_path, monkeypatch, cut, parameters):
    X, y = moons()
    search = PSVCCV(**parameters, **EXACT)
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
    # What the file had stays as it was; the rest is solved again, to 1e-8 of epsilon.
    assert path.read_text().splitlines()[: len(kept)] == kept
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 1 + n_parts
    scores = "mean_test_score"
    np.testing.assert_allclose(resumed.cv_results_[scores], whole.cv_results_[scores], rtol=1e-6)
    assert resumed.best_params_ == whole.best_params_
    f = whole.decision_function(X)
    np.testing.assert_allclose(resumed.decision_function(X), f, atol=1e-6)


def test_file_of_another_search_is_refused(tmp_path):
    X, y = moons()
    path = tmp_path / "search.jsonl"
    PSVCCV(results_file=path, **FEW).fit(X, y)
    kept = path.read_text()
    others = [
        (PSVCCV(results_file=path, **FEW), X + 1, y),
        (PSVCCV(results_file=path, **FEW), X, 1 - y),
        (PSVCCV(results_file=path, epsilons=7), X, y),
        (PSVCCV(results_file=path, cv=3, **FEW), X, y),
    ]
    for model, X_other, y_other in others:
        with pytest.raises(ValueError, match="another search"):
            model.fit(X_other, y_other)
    assert path.read_text() == kept
    PSVCCV(results_file=path, rule="one_standard_error", **FEW).fit(X, y)  # another choice only
    path.write_text("not ours\n")
    with pytest.raises(ValueError, match="not a file of results"):
        PSVCCV(results_file=path, **FEW).fit(X, y)


def test_damaged_line_is_named(tmp_path):
    X, y = moons()
    path = tmp_path / "search.jsonl"
    search = {**FEW, "cv": 5}
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
    part = Judged(np.eye(2), np.arange(2), np.float64(0.25))
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
    PSVCCV(epsilons=[0.5, 0.1], gammas=[0.5, 2.0], cv=5, results_file=sys.argv[1]).fit(X, y)
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
        ({"epsilons": 0}, "epsilons"),
        ({"epsilons": [2.0, 0.1]}, "between 0 and 1"),
        ({"min_ratio": 1.5}, "min_ratio"),
        ({"Cs": 3.0}, "Cs must be a list"),
        ({"Cs": [0.0]}, "Cs must be"),
        ({"gammas": [-1.0]}, "gammas"),
        ({"gammas": "scale"}, "gammas must be a list"),
        ({"rule": "worst"}, "rule"),
        ({"strategy": "random"}, "strategy"),
        ({"path_tol": 0.0}, "path_tol"),
        ({"cv": [([0, 1, 2], [3])]}, "two folds"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = moons(30)
    with pytest.raises(ValueError, match=message):
        PSVCCV(**parameters).fit(X, y)


def test_bad_folds_and_models():
    X, y = moons(30)
    with pytest.raises(ValueError, match="number as epsilon"):
        cross_val_error(PSVC(), X, y)
    with pytest.raises(ValueError, match="exactly once"):
        cross_val_error(PSVC(epsilon=0.1), X, y, cv=ShuffleSplit(3, random_state=0))
    with pytest.raises(ValueError, match="no training rows"):
        PSVCCV(cv=KFold(2)).fit(X, np.repeat([0, 1], 15))
    with pytest.raises(NotFittedError):
        PSVCCV().predict(X)


def test_clone_and_refit_are_the_same():
    X, y = moons(60)
    model = PSVCCV(**FEW).fit(X, y)
    again = clone(model).fit(X, y)
    assert again.best_params_ == model.best_params_
    assert accuracy_score(again.predict(X), model.predict(X)) == 1.0
