"""PSVMSelector: the contract of scikit-learn, what is selected and in which order, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris, make_moons, make_regression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import psvm
from psvm import PSVMSelector
from psvm.kernels import RBF, Sequence, Sine, Spectrum
from psvm.selection import StandIns, stand_ins
from reference import Case, random_problem, standardise

# Hochreiter, lecture notes, Table 6.1: t = f1 + f2, f1 without correlation to t; and t = f2 + f3,
# f1 with the largest.
LEFT = np.array([[-2.0, 3], [2, -3], [-2, 1], [2, -1]])
RIGHT = np.array([[0.0, -1, 0], [1, 1, 0], [-1, 0, -1], [1, 0, 1]])


# Nothing is selected of the noise of some checks.
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(
    [
        PSVMSelector(),
        PSVMSelector(0.3, epsilon_unit="max"),
        PSVMSelector(n_features=1),
        PSVMSelector(0.3, epsilon_unit="max", landmarks="random", random_state=0),
        PSVMSelector(landmarks="kmeans", kernel="linear", random_state=0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 300))
    y = np.where(2 * X[:, 7] - X[:, 42] + 0.3 * rng.normal(size=60) > 0, "sick", "well")
    return X, y


# ---------------------------------------------------------------- traps of correlation


def test_feature_without_correlation_that_is_needed():
    t = LEFT.sum(axis=1)
    assert LEFT[:, 0] @ t == 0 and (LEFT.mean(axis=0) == 0).all()
    selector = PSVMSelector(0.001, epsilon_unit="max", task="regression").fit(LEFT, t)
    assert selector.get_support().all()
    assert PSVMSelector(n_features=2, task="regression").fit(LEFT, t).get_support().all()
    # as classes as well
    assert PSVMSelector(0.001, epsilon_unit="max").fit(LEFT, t).get_support().all()


def test_most_correlated_feature_that_is_not_needed():
    """For every epsilon > 0 the first feature is in the solution, but less and less."""
    t = RIGHT[:, 1] + RIGHT[:, 2]
    correlation = np.abs(np.corrcoef(RIGHT.T, t)[-1, :3])
    np.testing.assert_allclose(correlation, [0.9045, 0.7071, 0.7071], atol=1e-4)
    selector = PSVMSelector(n_features=2, task="regression").fit(RIGHT, t)
    np.testing.assert_array_equal(selector.get_support(indices=True), [1, 2])
    assert selector.order_[-1] == 0  # it entered first and left again
    np.testing.assert_array_equal(selector.ranking_, [2, 1, 1])
    small = PSVMSelector(0.001, epsilon_unit="max", task="regression").fit(RIGHT, t)
    assert small.importance_[0] < 0.01 * small.importance_[1:].min()


def test_only_one_of_two_equal_features(data):
    X, y = data
    X = np.hstack([X, X[:, [7]]])
    chosen = PSVMSelector(n_features=10).fit(X, y).get_support(indices=True)
    assert len({7, 300} & set(chosen)) == 1


# ---------------------------------------------------------------- what is computed


def test_selection_is_the_support_of_the_solution(data):
    X, y = data
    t = np.where(y == "well", 1.0, -1.0)
    for epsilon, unit in ((2.5, "absolute"), (0.3, "max")):
        selector = PSVMSelector(epsilon, epsilon_unit=unit, tol=1e-8).fit(X, y)
        case = Case(X, t, np.inf, selector.epsilon_)
        assert selector.epsilon_max_ == pytest.approx(case.epsilon_max, rel=1e-12)
        expected = epsilon * (case.epsilon_max if unit == "max" else 1.0)
        assert selector.epsilon_ == pytest.approx(expected, rel=1e-12)
        assert case.worst(selector.alpha_) <= 1e-8 * selector.epsilon_ * (1 + 1e-9)
        np.testing.assert_array_equal(selector.get_support(), selector.alpha_ != 0)
        assert 2 <= selector.n_features_ < 60
        np.testing.assert_array_equal(selector.importance_, np.abs(selector.alpha_))
        np.testing.assert_array_equal(selector.classes_, ["sick", "well"])
        assert selector.solution_.status is psvm.Status.OPTIMAL


def test_auto_is_the_rule_of_the_estimators(data, decides):
    X, y = data
    for epsilon in ("auto", "aicc"):
        assert decides(lambda epsilon=epsilon: PSVMSelector(epsilon=epsilon).fit(X, y))
        model = psvm.PSVC(kernel="dyadic", epsilon=epsilon).fit(X, y)
        selector = PSVMSelector(epsilon=epsilon).fit(X, y)
        assert selector.epsilon_ == pytest.approx(model.epsilon_, rel=1e-9)
        np.testing.assert_array_equal(selector.get_support(indices=True), model.support_)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_order_ranking_and_bound_of_random_problems(seed):
    rng = np.random.default_rng(seed)
    case = random_problem(rng)
    if case.epsilon == 0:
        case = case.with_(epsilon=0.1 * case.epsilon_max + 1e-9)
    selector = PSVMSelector(epsilon=case.epsilon, C=case.C, task="regression")
    selector.fit(case.K, case.y, sample_weight=case.weights)
    P = case.K.shape[1]
    np.testing.assert_array_equal(np.sort(selector.order_), np.arange(P))
    support = selector.get_support()
    np.testing.assert_array_equal(selector.ranking_ == 1, support)
    n = support.sum()
    assert support[selector.order_[:n]].all()
    np.testing.assert_array_equal(np.sort(selector.ranking_[~support]), np.arange(2, P - n + 2))
    np.testing.assert_array_equal(np.diff(selector.ranking_[selector.order_]) >= 0, True)
    # dropping a feature without a new fit, from the definition
    w = np.ones(len(case.y)) if case.weights is None else case.weights
    r = case.y_c - case.K_s @ selector.alpha_
    for j in np.flatnonzero(support):
        worse = r + case.K_s[:, j] * selector.alpha_[j]
        increase = 0.5 * (worse @ worse - r @ r) / w.sum()
        # rounding of the two sums of squares
        slack = 1e-9 * (r @ r + worse @ worse) / w.sum()
        # |k'r| may exceed epsilon by the tolerance
        assert increase <= selector.error_bound_[j] * (1 + 1e-4) + slack
    assert (selector.error_bound_[~support] == 0).all()


def test_bound_is_attained_for_free_variables(data):
    X, y = data
    selector = PSVMSelector(0.5, epsilon_unit="max", tol=1e-9).fit(X, y)
    K_s, y_c = standardise(X, np.where(y == "well", 1.0, -1.0))
    r = y_c - K_s @ selector.alpha_
    for j in selector.get_support(indices=True):
        worse = r + K_s[:, j] * selector.alpha_[j]
        increase = 0.5 * (worse @ worse - r @ r) / len(y)
        assert increase == pytest.approx(selector.error_bound_[j], rel=1e-6)


def test_order_is_that_of_entry(data):
    """The first to enter has the largest correlation; the second solves the problem one step on."""
    X, y = data
    K_s, y_c = standardise(X, np.where(y == "well", 1.0, -1.0))
    selector = PSVMSelector(n_features=8).fit(X, y)
    assert selector.order_[0] == np.argmax(np.abs(K_s.T @ y_c))
    from sklearn.linear_model import lars_path

    active = lars_path(K_s, y_c, method="lasso", max_iter=8)[1]
    np.testing.assert_array_equal(selector.order_[:8], active[:8])


@pytest.mark.parametrize("k", [1, 2, 5, 20])
def test_n_features_is_the_smallest_epsilon(data, k):
    X, y = data
    selector = PSVMSelector(n_features=k).fit(X, y)
    assert selector.n_features_ <= k
    # a little below there are more
    below = PSVMSelector(epsilon=0.999 * selector.epsilon_).fit(X, y)
    assert below.n_features_ > k


def test_unselected_features_follow_by_correlation_with_the_residual(data):
    X, y = data
    selector = PSVMSelector(0.6, epsilon_unit="max").fit(X, y)
    K_s, y_c = standardise(X, np.where(y == "well", 1.0, -1.0))
    F = np.abs(K_s.T @ (y_c - K_s @ selector.alpha_))
    rest = selector.order_[selector.n_features_ :]
    assert (np.diff(F[rest]) <= 1e-10 * F.max()).all()


# ---------------------------------------------------------------- several targets


def test_more_classes_are_the_union_of_one_vs_rest():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(150, 20))])
    joint = PSVMSelector(0.4, epsilon_unit="max").fit(X, y)
    single = [PSVMSelector(0.4, epsilon_unit="max").fit(X, y == c) for c in range(3)]
    np.testing.assert_allclose(joint.alpha_, [s.alpha_ for s in single], atol=1e-9)
    np.testing.assert_array_equal(
        joint.get_support(), np.any([s.get_support() for s in single], axis=0)
    )
    np.testing.assert_allclose(joint.importance_, np.max([s.importance_ for s in single], axis=0))
    np.testing.assert_allclose(joint.error_bound_, np.max([s.error_bound_ for s in single], axis=0))
    assert set(joint.order_[:3]) >= {s.order_[0] for s in single}
    limited = PSVMSelector(n_features=3).fit(X, y)
    assert 1 <= limited.n_features_ <= 3
    assert limited.alpha_.shape == (3, 24)


def test_several_outputs_and_labels():
    X, Y = make_regression(80, 30, n_informative=4, n_targets=2, random_state=0)
    joint = PSVMSelector(0.5, epsilon_unit="max").fit(X, Y)
    single = [PSVMSelector(0.5, epsilon_unit="max").fit(X, Y[:, t]) for t in range(2)]
    expected = np.any([s.get_support() for s in single], axis=0)
    np.testing.assert_array_equal(joint.get_support(), expected)
    labels = (Y > 0).astype(int)
    assert PSVMSelector(0.5, epsilon_unit="max").fit(X, labels).alpha_.shape == (2, 30)


def test_task_decides_what_whole_numbers_are(rng):
    X = rng.normal(size=(50, 10))
    y = rng.poisson(3.0, size=50)
    assert PSVMSelector(0.5, epsilon_unit="max").fit(X, y).alpha_.ndim == 2
    assert PSVMSelector(0.5, epsilon_unit="max", task="regression").fit(X, y).alpha_.ndim == 1


# ---------------------------------------------------------------- a good citizen


def test_sparse_equals_dense(data):
    X, y = data
    X[np.abs(X) < 1] = 0.0
    dense = PSVMSelector(n_features=6).fit(X, y)
    for make in (sp.csr_matrix, sp.csc_array):
        S = make(X)
        sparse = PSVMSelector(n_features=6).fit(S, y)
        np.testing.assert_array_equal(sparse.order_[:6], dense.order_[:6])
        out = sparse.transform(S)
        assert sp.issparse(out)
        np.testing.assert_array_equal(out.toarray(), X[:, dense.get_support()])


def test_names_and_frames(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(300)])
    selector = PSVMSelector(n_features=4).set_output(transform="pandas").fit(frame, y)
    out = selector.transform(frame)
    assert list(out.columns) == list(selector.get_feature_names_out())
    assert {"g7", "g42"} <= set(out.columns)
    back = selector.inverse_transform(out.to_numpy())
    np.testing.assert_array_equal(back[:, 7], X[:, 7])
    assert not back[:, ~selector.get_support()].any()


def test_grid_search_in_a_pipeline(data):
    X, y = data
    pipeline = make_pipeline(PSVMSelector(), LogisticRegression())
    for grid in (
        {"psvmselector__n_features": [2, 50]},
        {"psvmselector__epsilon": [0.7, 0.05], "psvmselector__epsilon_unit": ["max"]},
    ):
        search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
        assert search.best_score_ > 0.8


def test_stand_ins_name_what_was_left_out(data, rng):
    X, y = data
    X[:, 100] = -X[:, 7] + 0.05 * rng.normal(size=60)
    selector = PSVMSelector(n_features=2).fit(X, y)
    found = {s.feature: s for s in selector.stand_ins(X, n=3)}
    assert set(found) == {7, 42} or set(found) == {100, 42}
    kept, left = (7, 100) if 7 in found else (100, 7)
    assert found[kept].indices[0] == left
    full = np.corrcoef(X.T)
    for s in found.values():
        others = [j for j in range(300) if j not in found]
        best = sorted(others, key=lambda j: -abs(full[s.feature, j]))[:3]
        np.testing.assert_array_equal(s.indices, best)
        np.testing.assert_allclose(s.correlations, full[s.feature, best], atol=1e-12)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(300)])
    assert str(stand_ins(frame, [kept], n=1)[0]).startswith(f"g{kept}: g{left} (-1.00)")
    assert isinstance(stand_ins(X, [0])[0], StandIns)


# ---------------------------------------------------------------- selection of landmarks


def moons(n=150, seed=0):
    return make_moons(n, noise=0.2, random_state=seed)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("parameters", [{"epsilon": 0.1, "epsilon_unit": "max"}, {"n_features": 4}])
def test_landmarks_are_selected_by_their_kernel_columns(make, parameters):
    """It is the selection from the matrix k(X, Z), and what is left is part of that matrix."""
    X, y = moons()
    Z, new = moons(30, seed=1)[0], moons(20, seed=2)[0]
    selector = PSVMSelector(landmarks=Z, kernel=RBF(gamma=2.0), tol=1e-9, **parameters)
    selector.fit(make(X), y)
    plain = PSVMSelector(tol=1e-9, **parameters).fit(rbf_kernel(X, Z, gamma=2.0), y)
    assert 0 < selector.n_features_ < 30
    # both solve to a violation of 1e-9 epsilon
    assert_allclose(selector.alpha_, plain.alpha_, atol=1e-6)
    assert_array_equal(selector.get_support(), plain.get_support())
    assert_array_equal(selector.order_[: selector.n_features_], plain.order_[: plain.n_features_])
    assert_array_equal(selector.landmarks_, Z)
    chosen = selector.get_support()
    out = selector.transform(make(new))
    assert_allclose(out, rbf_kernel(new, Z[chosen], gamma=2.0), atol=1e-12)
    assert selector.n_features_in_ == 2
    expected = [f"object{j}" for j in np.flatnonzero(chosen)]
    assert selector.get_feature_names_out().tolist() == expected


def test_auto_with_landmarks_is_the_rule_of_the_estimators(decides):
    """The rule for numbers: columns are selected for the variables of the P-SVM itself."""
    X, y = moons()
    for epsilon in ("auto", "aicc"):
        parameters = {"epsilon": epsilon, "landmarks": "random", "random_state": 1}
        assert decides(lambda given=parameters: PSVMSelector(**given).fit(X, y))
        model = psvm.PSVR(**parameters, kernel="rbf").fit(X, 2.0 * y - 1.0)
        selector = PSVMSelector(**parameters).fit(X, y)
        assert selector.epsilon_ == pytest.approx(model.epsilon_, rel=1e-9)
        assert_array_equal(selector.get_support(indices=True), model.support_)


@pytest.mark.parametrize(
    ("rule", "count"), [("kmeans", 12), ("random", 12), (7, 7), (np.int64(3), 3), (KMeans(5), 5)]
)
def test_rules_of_landmarks(rule, count):
    X, y = moons()
    selector = PSVMSelector(landmarks=rule, n_landmarks=12, random_state=0).fit(X, y)
    assert selector.landmarks_.shape == (count, 2)
    assert selector.get_support().shape == selector.order_.shape == (count,)
    assert selector.transform(X).shape == (150, selector.n_features_)


def test_principal_directions_as_landmarks():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    selector = PSVMSelector(
        0.2, epsilon_unit="max", landmarks="pca", n_landmarks=6, kernel="linear"
    ).fit(X, y)
    assert selector.get_support()[0] and selector.landmarks_.shape == (6, 30)
    chosen = selector.landmarks_[selector.get_support()]
    assert_allclose(selector.transform(X), linear_kernel(X, chosen), atol=1e-9)


def test_landmarks_through_scikit_learn():
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:, :6], data.target
    pipeline = make_pipeline(
        StandardScaler().set_output(transform="pandas"),
        PSVMSelector(0.1, epsilon_unit="max", landmarks="kmeans", random_state=0, tol=1e-9),
        LogisticRegression(),
    )
    grid = {
        "psvmselector__landmarks": [8, "kmeans", "random"],
        "psvmselector__n_landmarks": [10, 20],
        "psvmselector__gamma": [0.1, "scale"],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    copy = pickle.loads(pickle.dumps(search))
    selector = search.best_estimator_[1]
    assert_array_equal(copy.best_estimator_[1].alpha_, selector.alpha_)
    assert list(selector.feature_names_in_) == list(X.columns)
    again = clone(selector).fit(search.best_estimator_[0].transform(X), y)
    assert_allclose(again.alpha_, selector.alpha_, atol=1e-6)


def test_names_of_landmarks():
    X = load_breast_cancer(as_frame=True).data.iloc[:, :4]
    y = load_breast_cancer().target
    Z = X.iloc[:9].set_index(pd.Index([f"patient {i}" for i in range(9)]))
    selector = PSVMSelector(0.1, epsilon_unit="max", landmarks=Z, gamma=1e-5).set_output(
        transform="pandas"
    )
    out = selector.fit(X, y).transform(X)
    assert list(out.columns) == list(Z.index[selector.get_support()])
    assert_allclose(out, rbf_kernel(X, Z[selector.get_support()], gamma=1e-5))
    assert_array_equal(selector.landmarks_, Z.to_numpy())
    assert str(selector.stand_ins(X, n=1)[0]).startswith("patient")
    with pytest.raises(ValueError, match="different names or orders"):
        PSVMSelector(landmarks=Z.iloc[:, ::-1]).fit(X, y)
    assert not hasattr(selector, "inverse_transform")


def test_sequences_as_landmarks(rng):
    """Which of some reference sequences decide."""
    letters = ["".join(row) for row in rng.choice(list("ACGT"), size=(80, 30))]
    y = np.arange(80) % 2
    words = [a[:10] + "GATTACA" + a[17:] if t else a for a, t in zip(letters, y, strict=True)]
    references = [Sequence("GATTACA", "site"), Sequence("CCCCCCC", "poly"), Sequence("ACGTACG")]
    kernel = Spectrum(3)
    selector = PSVMSelector(0.6, epsilon_unit="max", landmarks=references, kernel=kernel).fit(
        words, y
    )
    assert selector.get_support().tolist() == [True, False, False]
    assert selector.get_feature_names_out().tolist() == ["object0"]  # not all of them have a name
    named = clone(selector).set_params(landmarks=references[:2]).fit(words, y)
    assert named.get_feature_names_out().tolist() == ["site"]
    assert_allclose(named.transform(words), kernel(words, ["GATTACA"]))
    labels = pd.Series(list(map(str, references)), index=["a", "b", "c"])
    assert clone(named).set_params(landmarks=labels).fit(words, y).get_feature_names_out() == "a"
    pipeline = make_pipeline(clone(named), LogisticRegression())
    assert pipeline.fit(words, y).score(words, y) > 0.9
    with pytest.raises(ValueError, match="sequence 1 of landmarks is empty"):
        PSVMSelector(landmarks=["ACGT", ""], kernel=kernel).fit(words, y)
    # the kernel is not asked without landmarks
    counts = kernel.feature_map().fit_transform(words)
    assert PSVMSelector(kernel=kernel).fit(counts, y).landmarks_ is None


def test_nothing_selected_among_landmarks():
    X, y = moons()
    selector = PSVMSelector(1, epsilon_unit="max", landmarks=5, random_state=0).fit(X, y)
    assert selector.transform(X).shape == (150, 0)


def test_weights_and_targets_with_landmarks(rng):
    X, y = moons()
    times = rng.integers(1, 4, size=150)
    Z = moons(20, seed=1)[0]
    once = PSVMSelector(0.1, epsilon_unit="max", landmarks=Z, tol=1e-9).fit(X, y, times)
    X_2, y_2 = np.repeat(X, times, axis=0), np.repeat(y, times)
    twice = PSVMSelector(0.1, epsilon_unit="max", landmarks=Z, tol=1e-9).fit(X_2, y_2)
    assert_allclose(once.alpha_, twice.alpha_, atol=1e-6)
    both = PSVMSelector(0.1, epsilon_unit="max", landmarks=Z, task="regression").fit(X, X**2)
    assert both.alpha_.shape == (2, 20)


# ---------------------------------------------------------------- errors come first


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": "half"}, "epsilon must be one of 'auto', 'cv', 'aicc'"),
        ({"epsilon_unit": "half"}, "epsilon_unit"),
        ({"epsilon": 2, "epsilon_unit": "max"}, "epsilon"),
        ({"epsilon": 1.0, "n_features": 3}, "not both"),
        ({"n_features": 0}, "n_features"),
        ({"n_features": 2.5}, "n_features"),
        ({"n_features": 301}, "n_features=301 is impossible: X has 300"),
        ({"C": 0.0}, "C"),
        ({"tol": 0.0}, "tol"),
        ({"task": "ranking"}, "task"),
        ({"task": "regression"}, "numbers"),
        ({"landmarks": "centres"}, "landmarks must be one of 'all', 'kmeans', 'random', 'pca'"),
        ({"landmarks": 0}, "landmarks must be an integer >= 1"),
        ({"n_landmarks": 0}, "n_landmarks must be an integer >= 1"),
        ({"landmarks": "pca"}, "need kernel='linear'"),
        ({"landmarks": [[1.0, 2.0]]}, "landmarks has 2 features, but X has 300"),
        ({"landmarks": np.empty((0, 300))}, "landmarks is empty"),
        ({"landmarks": 5, "n_features": 6}, "n_features=6 is impossible: there are 5 landmarks"),
        ({"landmarks": 5, "kernel": "dyadic"}, "kernel must be one of 'rbf'"),
        ({"landmarks": 5, "gamma": -1.0}, "gamma must be a finite number > 0"),
        ({"landmarks": 5, "kernel": Sine(theta=np.nan)}, "theta must be a finite number"),
        ({"landmarks": 5, "kernel": Spectrum(3)}, "Use 'random'"),
    ],
)
def test_bad_parameters(data, parameters, message):
    with pytest.raises(ValueError, match=message):
        PSVMSelector(**parameters).fit(*data)


def test_missing_values_are_located(data):
    X, y = data
    X[3, 5] = X[17, 5] = X[17, 80] = np.nan
    with pytest.raises(ValueError, match=r"3 entries: in rows 3, 17 and columns 5, 80\. .*Imputer"):
        PSVMSelector().fit(X, y)
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(300)])
    with pytest.raises(ValueError, match="columns g5, g80"):
        PSVMSelector().fit(frame, y)
    with pytest.raises(ValueError, match="3 entries"):
        PSVMSelector().fit(sp.csr_array(X), y)
    X[:20, 100:120] = np.nan
    with pytest.raises(ValueError, match=r"rows 0, 1, 2, 3, 4, \.\.\. \(20 in all\)"):
        PSVMSelector().fit(X, y)


def test_bad_targets(data):
    X, _ = data
    with pytest.raises(ValueError, match="single class"):
        PSVMSelector().fit(X, np.full(60, "sick"))
    with pytest.raises(ValueError, match="task='regression'"):
        PSVMSelector(task="classification").fit(X, X[:, 0])
