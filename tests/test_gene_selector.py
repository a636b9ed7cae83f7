"""GeneSelector: every step of the protocol against a plain reading of it, honesty, errors."""

import pickle

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, NuSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from psvm import GeneSelector, StabilitySelector
from psvm.selection import (
    NuSVCThroughOrigin,
    PresentCall,
    QuantileNormalizer,
    RangeClipper,
    log_transformer,
)
from psvm.selection._genes import _first_possible
from psvm.selection._protocol import InnerLoop, SizeSearch, combine, epsilon_list
from reference import lasso_solve, standardise

QUICK = {"cv": 3, "n_epsilons": 5, "n_features": [2, 4], "smoothing": 0}


@parametrize_with_checks([GeneSelector(cv=2, n_epsilons=3)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(40, 120))
    y = np.where(X[:, 7] - X[:, 42] + 0.2 * rng.normal(size=40) > 0, "sick", "well")
    return X, y


def ranks_by_definition(X, t, epsilons):
    """Number of the first epsilon whose Lasso solution has the feature, and |alpha| there."""
    K_s, y_c = standardise(X, t)
    ranks, sizes = np.zeros(X.shape[1], dtype=int), np.zeros(X.shape[1])
    for number, epsilon in reversed(list(enumerate(epsilons, start=1))):
        alpha = np.abs(lasso_solve(K_s, y_c, epsilon))
        ranks[alpha > 1e-8] = number
        sizes[alpha > 1e-8] = alpha[alpha > 1e-8]
    return ranks, sizes


# ---------------------------------------------------------------- the protocol, step by step


def test_protocol_equals_a_plain_reading_of_it(data):
    """Lasso of scikit-learn instead of the path, and a loop over everything."""
    X, y = data
    t = np.where(y == "well", 1.0, -1.0)
    nus, sizes, a = [0.2, 0.5], [2, 4, 6], 2
    model = GeneSelector(
        cv=KFold(4, shuffle=True, random_state=0),
        n_features=[4, 6],
        smoothing=a,
        param_grid={"nu": nus},
        n_epsilons=6,
    ).fit(X, y)
    (epsilons,) = model.epsilons_
    steps = np.diff(epsilons)
    assert len(epsilons) == 6 and (steps < 0).all()
    np.testing.assert_allclose(steps, steps[0], rtol=1e-9)

    all_sizes = [2, 4, 6, 8]
    errors, all_ranks = np.zeros((4, 2)), []
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    for train, test in folds:
        ranks, size = ranks_by_definition(X[train], t[train], epsilons)
        all_ranks.append(ranks)
        order = sorted(np.flatnonzero(ranks), key=lambda j: (ranks[j], -size[j]))
        mean, sd = X[train].mean(axis=0), X[train].std(axis=0)
        low, high = X[train].min(axis=0), X[train].max(axis=0)
        Z, Z_test = (X[train] - mean) / sd, (np.clip(X[test], low, high) - mean) / sd
        for i, F in enumerate(all_sizes):
            for k, nu in enumerate(nus):
                svm = NuSVC(kernel="linear", nu=nu).fit(Z[:, order[:F]], y[train])
                errors[i, k] += np.mean(svm.predict(Z_test[:, order[:F]]) != y[test]) / len(folds)
    np.testing.assert_array_equal(model.search_.sizes, all_sizes)
    np.testing.assert_allclose(model.search_.errors, errors, atol=1e-12)

    smoothed = {
        (F, nu): errors[[i - 1, i, i + 1], k].mean()
        for i, F in [(1, 4), (2, 6)]
        for k, nu in enumerate(nus)
    }
    best = min(smoothed, key=lambda key: (round(smoothed[key], 12), key[0], key[1]))
    assert (model.n_features_, model.best_params_["nu"]) == best
    assert model.inner_error_ == pytest.approx(smoothed[best])

    all_ranks = np.array(all_ranks)
    counts = (all_ranks > 0).sum(axis=0)
    np.testing.assert_allclose(model.frequency_, counts / 4)
    some = counts > 0
    mean_rank = all_ranks.sum(axis=0)[some] / counts[some]
    np.testing.assert_allclose(model.mean_rank_[some], mean_rank)
    keys = list(zip(-counts[model.order_], model.mean_rank_[model.order_], strict=True))
    assert keys == sorted(keys)
    assert set(sizes) >= {model.n_features_}

    chosen = model.order_[: model.n_features_]
    pipe = make_pipeline(StandardScaler(), NuSVC(kernel="linear", nu=best[1]))
    pipe.fit(X[:, chosen], y)
    new = np.random.default_rng(1).normal(scale=3, size=(50, 120))
    clipped = np.clip(new, X.min(axis=0), X.max(axis=0))
    assert (clipped != new).any()
    np.testing.assert_array_equal(model.predict(new), pipe.predict(clipped[:, chosen]))
    np.testing.assert_allclose(
        model.decision_function(new), pipe.decision_function(clipped[:, chosen]), atol=1e-9
    )
    np.testing.assert_array_equal(np.sort(chosen), model.get_support(indices=True))
    np.testing.assert_array_equal(model.transform(X), X[:, np.sort(chosen)])


def test_epsilons_select_from_a_few_genes_to_about_as_many_as_samples(data):
    X, y = data
    t = np.where(y == "well", 1.0, -1.0)
    K_s, y_c = standardise(X, t)
    epsilons = epsilon_list(X, t, 7)
    numbers = [np.count_nonzero(np.abs(lasso_solve(K_s, y_c, e)) > 1e-8) for e in epsilons]
    assert 5 <= numbers[0] <= 10
    assert 30 <= numbers[-1] <= 40


def test_ranking_by_frequency_then_mean_rank():
    loops = [
        InnerLoop(np.array([1, 2, 0, 4, 0]), np.ones(5)),
        InnerLoop(np.array([0, 3, 0, 1, 1]), np.ones(5)),
    ]
    outer = combine(loops)
    np.testing.assert_allclose(outer.frequency, [0.5, 1, 0, 1, 0.5])
    np.testing.assert_allclose(outer.mean_rank, [1, 2.5, np.inf, 2.5, 1])
    np.testing.assert_array_equal(outer.order, [1, 3, 0, 4, 2])


def test_smoothing_prefers_a_valley_to_a_hole():
    sizes = np.array([5, 10, 15, 20, 25, 30])
    errors = np.array([[0.5], [0.1], [0.5], [0.2], [0.2], [0.2]])
    assert SizeSearch(sizes, sizes[1:5], [{}], errors, 5).best()[0] == 25
    assert SizeSearch(sizes, sizes[1:5], [{}], errors, 0).best()[0] == 10


def test_leave_one_out_is_the_default(data):
    X, y = data
    model = GeneSelector(n_epsilons=3, n_features=[4], smoothing=0, param_grid={"nu": [0.5]})
    again = clone(model).set_params(cv=LeaveOneOut())
    np.testing.assert_array_equal(model.fit(X, y).frequency_, again.fit(X, y).frequency_)
    assert set(np.round(model.frequency_ * 40, 9) % 1) == {0}
    assert {7, 42} == set(model.order_[:2])


def test_three_classes(rng):
    X = rng.normal(size=(60, 50))
    y = np.argmax(X[:, :3] + 0.1 * rng.normal(size=(60, 3)), axis=1)
    model = GeneSelector(cv=3, n_features=[3, 6], smoothing=0).fit(X, y)
    assert len(model.epsilons_) == 3
    assert set(model.order_[:3]) == {0, 1, 2}
    assert model.score(X, y) > 0.8


# ---------------------------------------------------------------- preprocessing inside the folds


class Spy(SimpleImputer):
    """Notes the samples that it is fitted to, by the number in their first column."""

    seen = []  # noqa: RUF012

    def fit(self, X, y=None):
        Spy.seen.append(frozenset(np.asarray(X)[:, 0].astype(int)))
        return super().fit(X, y)


def test_nothing_sees_the_left_out_samples(data):
    X, y = data
    X[:, 0] = np.arange(40)
    Spy.seen = []
    cv = StratifiedKFold(4)
    inner = StratifiedKFold(3)
    model = GeneSelector(preprocessing=Spy(), **QUICK | {"cv": inner})
    model.evaluate(X, y, cv=cv)
    expected = set()
    for train, _ in cv.split(X, y):
        expected.add(frozenset(train))
        for part, _ in inner.split(X[train], y[train]):
            expected.add(frozenset(train[part]))
    assert set(Spy.seen) == expected


def test_changed_test_samples_change_no_model(data):
    """The features that a fold selects do not depend on the samples that it predicts."""
    X, y = data
    train, test = next(StratifiedKFold(4).split(X, y))
    one = [(train, test)]
    first = GeneSelector(**QUICK).evaluate(X, y, cv=one)
    X2, y2 = X.copy(), y.copy()
    X2[test] *= -100
    y2[test] = np.where(y[test] == "sick", "well", "sick")
    second = GeneSelector(**QUICK).evaluate(X2, y2, cv=one)
    np.testing.assert_array_equal(first.supports[0], second.supports[0])


def test_preprocessing_that_drops_genes(data, rng):
    X, y = data
    frame = pd.DataFrame(np.exp(X), columns=[f"g{j}" for j in range(120)])
    frame.index = [f"s{i}" for i in range(40)]
    p_values = pd.DataFrame(rng.uniform(size=(40, 120)), index=frame.index, columns=frame.columns)
    p_values.iloc[:, [7, 42, 50]] = 0.001
    steps = make_pipeline(PresentCall(p_values, q1=0.01, q2=20), log_transformer(1e-3))
    model = GeneSelector(preprocessing=steps, **QUICK | {"n_features": [2]}).fit(frame, y)
    assert set(model.get_feature_names_out()) == {"g7", "g42"}
    assert (model.frequency_ > 0).sum() <= 3
    assert model.score(frame, y) > 0.9
    assert model.predict(frame.iloc[:3]).shape == (3,)
    quantiles = GeneSelector(preprocessing=QuantileNormalizer(), **QUICK).fit(frame.to_numpy(), y)
    assert quantiles.score(frame.to_numpy(), y) > 0.7


def test_printed_order_of_the_notes(data, rng):
    """Logarithm, quantiles, present call: what each fold keeps, recomputed from the tables."""
    X, y = data
    names, samples = [f"g{j}" for j in range(120)], [f"s{i}" for i in range(40)]
    frame = pd.DataFrame(np.exp2(X), index=samples, columns=names)
    p_values = pd.DataFrame(rng.uniform(size=(40, 120)), index=samples, columns=names)
    p_values[["g7", "g42"]] = 0.001
    shuffled = p_values.sample(frac=1, random_state=0).sample(frac=1, axis=1, random_state=0)
    steps = make_pipeline(
        log_transformer(0.25), QuantileNormalizer(), PresentCall(shuffled, q1=0.4, q2=14)
    )
    rows = rng.permutation(40)[:30]
    Z = clone(steps).fit_transform(frame.iloc[rows])
    present = (p_values.to_numpy()[rows] < 0.4).sum(axis=0) >= 14
    assert 2 < present.sum() < 100  # some genes are dropped, some that do not matter are kept
    logs = np.log2(np.maximum(frame.to_numpy()[rows], 0.25))
    reference = np.sort(logs, axis=1).mean(axis=0)
    expected = np.array([pd.Series(row).rank(method="first") for row in logs]).astype(int) - 1
    floors = (logs == -2).sum(axis=1)
    for row, expected_row, floor in zip(np.asarray(Z), reference[expected], floors, strict=True):
        # values at the floor are tied: they share one value
        apart = expected_row > reference[max(floor - 1, 0)]
        np.testing.assert_allclose(row[apart[present]], expected_row[present & apart])

    model = GeneSelector(preprocessing=steps, **QUICK | {"n_features": [2]}).fit(frame, y)
    assert set(model.get_feature_names_out()) == {"g7", "g42"}
    again = GeneSelector(preprocessing=steps, **QUICK | {"n_features": [2]}).fit(
        frame.iloc[::-1], y[::-1]
    )
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert model.evaluate(frame, y, cv=3).error < 0.5


def test_dataframes_keep_their_names(data):
    X, _ = data
    frame = pd.DataFrame(X).set_index(np.arange(40) + 7)
    frame.columns = [f"g{j}" for j in range(120)]
    for step in (QuantileNormalizer(), RangeClipper(), RangeClipper("none")):
        Z = step.fit(frame).transform(frame.iloc[5:9])
        assert list(Z.index) == [12, 13, 14, 15] and list(Z.columns) == list(frame.columns)
        values = clone(step).fit(X).transform(X[5:9])
        assert isinstance(values, np.ndarray)
        np.testing.assert_allclose(Z, values, rtol=1e-12)  # sums in another order


class Measurements(pd.DataFrame):
    """A DataFrame whose constructor has other arguments than that of pandas."""

    def __init__(self, values, place, **names):
        super().__init__(values, **names)
        self.attrs["place"] = place


class Cohort(Measurements):
    """One that says how pandas makes others of its kind."""

    @property
    def _constructor(self):
        return lambda *args, **kwargs: Cohort(*args, "Linz", **kwargs)


def test_subclasses_of_dataframes(data):
    names = {"index": np.arange(40) + 7, "columns": [f"g{j}" for j in range(120)]}
    for kind, result in ((Measurements, pd.DataFrame), (Cohort, Cohort)):
        X = kind(data[0], "Linz", **names)
        for step in (QuantileNormalizer(), RangeClipper()):
            Z = step.fit(X).transform(X)
            assert type(Z) is result
            pd.testing.assert_index_equal(Z.index, X.index)
            np.testing.assert_allclose(Z, clone(step).fit(data[0]).transform(data[0]), rtol=1e-12)


def test_clipping_with_old_and_changed_parameters():
    model = RangeClipper().fit([[0.0], [2.0]])
    state = {k: v for k, v in model.__getstate__().items() if k != "side"}
    old = RangeClipper.__new__(RangeClipper)
    old.__setstate__(state)  # a pickle from before the parameter
    np.testing.assert_array_equal(old.transform([[-1.0], [3.0]]), [[0.0], [2.0]])
    above = pickle.loads(pickle.dumps(model.set_params(side="above")))
    np.testing.assert_array_equal(above.transform([[-1.0], [3.0]]), [[-1.0], [2.0]])
    with pytest.raises(ValueError, match="side"):
        model.set_params(side="below").transform([[1.0]])


def test_sides_of_the_clipping(data):
    X, y = data
    new = 4 * np.random.default_rng(1).normal(size=(50, 120))
    low, high = X.min(axis=0), X.max(axis=0)
    expected = {"both": np.clip(new, low, high), "above": np.minimum(new, high), "none": new}
    found = {}
    for side, values in expected.items():
        np.testing.assert_array_equal(RangeClipper(side).fit(X).transform(new), values)
        model = GeneSelector(clip=side, **QUICK).fit(X, y)
        chosen = model.order_[: model.n_features_]
        Z = (values - X.mean(axis=0)) / X.std(axis=0)
        found[side] = model.decision_function(new)
        np.testing.assert_allclose(
            found[side], model.classifier_.decision_function(Z[:, chosen]), atol=1e-9
        )
    assert not np.allclose(found["both"], found["above"])
    assert not np.allclose(found["above"], found["none"])
    with pytest.raises(ValueError, match="side"):
        RangeClipper("below").fit(X)
    with pytest.raises(ValueError, match="clip"):
        GeneSelector(clip="below").fit(X, y)


# ---------------------------------------------------------------- the nu-SVM without an intercept


def separable(rng, n=60):
    X = rng.normal(size=(n, 4)) + 0.3
    return X, np.where(X[:, 0] + 0.1 * rng.normal(size=n) > 0, 1.0, -1.0)


def overlapping(n=80, p=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    return X, np.where(X[:, 0] + 1.5 * rng.normal(size=n) > 0, 1.0, -1.0)


def has_zero(V, nu):
    """Whether a mean of the rows with weights of at most 1 / (nu L) is zero, by another solver."""
    A = np.vstack([V.T, np.ones(len(V))])
    goal = np.append(np.zeros(V.shape[1]), 1.0)
    found = linprog(np.zeros(len(V)), A_eq=A, b_eq=goal, bounds=(0, 1 / (nu * len(V))))
    assert found.status in (0, 2)  # a solution, or certainly none
    return found.status == 0


@pytest.mark.parametrize("nu", [0.31, 0.52, 0.83])
def test_nu_svm_without_an_intercept_solves_its_problem(rng, nu):
    """The stated problem, by an interior-point method."""
    X, t = separable(rng)
    w, rho, xi = cp.Variable(4), cp.Variable(), cp.Variable(60)
    margin = cp.multiply(t, X @ w) >= rho - xi
    problem = cp.Problem(
        cp.Minimize(cp.sum_squares(w) / 2 - nu * rho + cp.sum(xi) / 60), [margin, xi >= 0]
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    assert rho.value / nu > 1e-2  # there is a margin
    model = NuSVCThroughOrigin(nu).fit(X, t)
    # With weights of sum one, w is that near: the squared distance is at most twice a gap of 1e-8.
    near = 2e-4 * np.sqrt(np.mean(np.sum(X**2, axis=1))) * nu / rho.value
    np.testing.assert_allclose(model.coef_[0], w.value / rho.value, atol=near)
    dual = margin.dual_value
    free = (dual > 1e-6) & (dual < 1 / 60 - 1e-6)
    assert free.any() and (dual < 1e-9).any()
    values = t * model.decision_function(X)
    np.testing.assert_allclose(values[free], 1.0, atol=10 * near)
    assert (values < 1 - 10 * near).mean() <= nu <= (values < 1 + 10 * near).mean()
    np.testing.assert_allclose(model.decision_function(np.zeros((1, 4))), 0.0)
    np.testing.assert_array_equal(model.predict(X), np.where(X @ w.value > 0, 1, -1))


@pytest.mark.parametrize("nu", [0.05, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 1.0])
@pytest.mark.parametrize("p", [2, 10])
def test_an_error_exactly_if_the_margin_is_zero(nu, p):
    X, t = overlapping(p=p)
    rows = np.random.default_rng(1).permutation(len(X))
    if has_zero(t[:, None] * X, nu):
        for order in (slice(None), rows):
            with pytest.raises(ValueError, match=f"nu={nu} is too small: the margin is zero"):
                NuSVCThroughOrigin(nu).fit(X[order], t[order])
    else:
        model = NuSVCThroughOrigin(nu).fit(X, t)
        again = NuSVCThroughOrigin(nu).fit(X[rows], t[rows])
        distance = np.abs(again.coef_ - model.coef_).max()
        assert distance < 1e-2 * np.abs(model.coef_).max()


def test_both_cases_of_the_margin_occur():
    for p in (2, 10):
        X, t = overlapping(p=p)
        assert has_zero(t[:, None] * X, 0.2) and not has_zero(t[:, None] * X, 0.9)


def test_nu_of_one_is_the_mean():
    for X, t in (overlapping(), overlapping(p=200)):
        model = NuSVCThroughOrigin(1.0).fit(X, t)
        mean = (t[:, None] * X).mean(axis=0)
        values = t * (X @ mean)
        np.testing.assert_allclose(model.coef_[0], mean / values.max(), rtol=1e-9)
        # just below nu = 1 the farthest sample loses a hundredth of its weight
        below = NuSVCThroughOrigin(1 - 0.01 / len(X)).fit(X, t)
        size = np.linalg.norm(model.coef_)
        assert np.linalg.norm(below.coef_ - model.coef_) < 1e-2 * size
    with pytest.raises(ValueError, match="zero for every nu"):
        NuSVCThroughOrigin(1.0).fit([[1.0, 2.0], [1.0, 2.0]], ["a", "b"])
    with pytest.raises(ValueError, match="zero"):
        NuSVCThroughOrigin(0.5).fit(np.zeros((4, 2)), [0, 0, 1, 1])


@pytest.mark.parametrize("scale", [1e-200, 1e-6, 1e-2, 1e4, 1e200])
@pytest.mark.parametrize("nu", [0.3, 1.0])
def test_the_unit_of_the_features_plays_no_part(rng, nu, scale):
    X, t = separable(rng)
    model, scaled = NuSVCThroughOrigin(nu).fit(X, t), NuSVCThroughOrigin(nu).fit(X * scale, t)
    values = model.decision_function(X)
    assert np.abs(values).min() > 1e-3  # no sample near to the boundary
    np.testing.assert_allclose(scaled.decision_function(X * scale), values, atol=1e-4)
    np.testing.assert_array_equal(scaled.predict(X * scale), model.predict(X))


def test_the_order_and_number_of_the_rows_play_no_part(rng):
    X, t = separable(rng)
    model, rows = NuSVCThroughOrigin(0.3).fit(X, t), rng.permutation(len(X))
    values = model.decision_function(X)
    assert np.abs(values).min() > 1e-3
    for again in (rows, np.repeat(rows, 3)):
        found = NuSVCThroughOrigin(0.3).fit(X[again], t[again])
        np.testing.assert_allclose(found.decision_function(X), values, atol=1e-3)
        np.testing.assert_array_equal(found.predict(X), model.predict(X))


def test_several_classes_share_a_unit():
    """Each class against the rest is the problem of two classes, with -1 and 1 on the margin."""
    X, y = load_iris(return_X_y=True)
    X, names = StandardScaler().fit_transform(X), np.array(["a", "b", "c"])[y]
    model = NuSVCThroughOrigin(0.8).fit(X, names)
    values = model.decision_function(X)
    for j, name in enumerate("abc"):
        one = NuSVCThroughOrigin(0.8).fit(X, names == name)
        np.testing.assert_allclose(values[:, j], one.decision_function(X), rtol=1e-9)
        side = np.where(names == name, 1, -1) * values[:, j]
        assert np.mean(side < 0.999) <= 0.8 <= np.mean(side < 1.001)
    assert model.score(X, names) > 0.8
    with pytest.raises(ValueError, match=r"nu=0\.2 is too small: the margin of class b against"):
        NuSVCThroughOrigin(0.2).fit(X, names)


def test_protocol_without_an_intercept(data):
    X, y = data
    y = y.copy()
    y[np.flatnonzero(y == "sick")[:10]] = "well"  # nu of 0.8 is infeasible with an intercept
    model = GeneSelector(fit_intercept=False, **QUICK).fit(X, y)
    assert isinstance(model.classifier_, NuSVCThroughOrigin)
    assert [p["nu"] for p in model.search_.params] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert len(GeneSelector(**QUICK).fit(X, y).search_.params) < 4
    # no intercept: the mean training sample is on the boundary
    np.testing.assert_allclose(model.decision_function(X.mean(axis=0)[None]), 0.0, atol=1e-12)


def test_protocol_leaves_out_values_of_nu_without_a_margin():
    X, t = overlapping(p=4)
    options = QUICK | {"fit_intercept": False, "epsilons": [0.1], "n_features": [2, 4]}
    del options["n_epsilons"]
    folds = list(StratifiedKFold(3).split(X, t))
    for rows in (np.arange(len(X)), *(train for train, _ in folds)):
        Z = StandardScaler().fit_transform(X[rows])
        assert has_zero(t[rows, None] * Z, 0.1) and not has_zero(t[rows, None] * Z, 0.95)
    model = GeneSelector(param_grid={"nu": [0.1, 0.95]}, **options).fit(X, t)
    np.testing.assert_array_equal(model.search_.errors[:, 0], 1.0)
    assert model.best_params_ == {"nu": 0.95}
    assert GeneSelector(**options).fit(X, t).best_params_["nu"] > 0.2
    with pytest.raises(ValueError, match=r"for every number of genes.*Add larger values of nu"):
        GeneSelector(param_grid={"nu": [0.05, 0.1]}, **options).fit(X, t)


def test_the_final_classifier_has_a_margin_on_all_samples():
    """The choice with the lowest error in the folds may have none with them together."""
    X, t = overlapping(p=4)
    assert has_zero(t[:, None] * X, 0.1) and not has_zero(t[:, None] * X, 0.95)
    models = [NuSVCThroughOrigin(0.1), NuSVCThroughOrigin(0.95)]
    params = [{"nu": 0.1}, {"nu": 0.95}]
    sizes, errors = np.array([3, 4]), np.array([[0.1, 0.4], [0.2, 0.3]])
    search = SizeSearch(sizes, sizes, params, errors, step=0)
    assert search.best() == (3, 0, 0.1)
    assert [row[:2] for row in search.ranked()] == [(3, 0), (4, 0), (4, 1), (3, 1)]
    size, k, error, classifier = _first_possible(search, models, X, t)
    assert (size, k, error) == (4, 1, 0.3)
    np.testing.assert_array_equal(classifier.coef_, models[1].fit(X, t).coef_)


def test_missing_values_are_imputed_inside_the_folds(data, rng):
    X, y = data
    X[rng.random(X.shape) < 0.02] = np.nan
    with pytest.raises(ValueError, match=r"NaN in \d+ entries.*SimpleImputer"):
        GeneSelector().fit(X, y)
    model = GeneSelector(preprocessing=SimpleImputer(), **QUICK).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.evaluate(X, y, cv=3).error < 0.5


def test_combinations_of_features_are_refused(data):
    from sklearn.decomposition import PCA

    with pytest.raises(ValueError, match="principal components"):
        GeneSelector(preprocessing=PCA(5), **QUICK).fit(*data)


# ---------------------------------------------------------------- the honest error


def test_evaluation_is_cross_validation_of_everything(data):
    X, y = data
    cv = StratifiedKFold(4)
    result = GeneSelector(**QUICK).evaluate(X, y, cv=cv)
    wrong, inner = [], []
    for train, test in cv.split(X, y):
        model = GeneSelector(**QUICK).fit(X[train], y[train])
        wrong.extend(model.predict(X[test]) != y[test])
        inner.append(model.inner_error_)
    assert result.error == pytest.approx(np.mean(wrong))
    assert result.inner_error == pytest.approx(np.mean(inner))
    interval = binomtest(sum(wrong), 40).proportion_ci(0.9, method="wilson")
    assert result.confidence_interval(0.9) == pytest.approx((interval.low, interval.high))
    assert "inner_error" in repr(result)
    np.testing.assert_array_equal(np.sort(result.indices), np.arange(40))


@pytest.mark.slow
def test_honest_error_of_meaningless_labels_is_one_half():
    """And with the selection outside the folds it would be small."""
    rng = np.random.default_rng(0)
    honest, flattered = [], []
    for _ in range(6):
        X = rng.normal(size=(40, 1000))
        y = rng.permutation(np.arange(40) % 2)
        model = GeneSelector(cv=5, n_features=[10, 20], smoothing=0)
        honest.append(model.evaluate(X, y, cv=5).error)
        support = model.fit(X, y).get_support()
        from sklearn.model_selection import cross_val_score

        svm = make_pipeline(StandardScaler(), SVC(kernel="linear"))
        flattered.append(1 - cross_val_score(svm, X[:, support], y, cv=5).mean())
    # 240 predictions: three standard deviations are 0.1, and the folds are not independent
    assert 0.38 < np.mean(honest) < 0.65
    assert np.mean(flattered) < 0.2


def test_result_does_not_depend_on_the_number_of_processes(data):
    X, y = data
    model = GeneSelector(**QUICK, n_jobs=2).fit(X, y)
    alone = GeneSelector(**QUICK).fit(X, y)
    np.testing.assert_array_equal(model.order_, alone.order_)
    np.testing.assert_allclose(model.search_.errors, alone.search_.errors, rtol=1e-12)
    first = model.significance(X, y, n_permutations=2, random_state=3)
    second = alone.significance(X, y, n_permutations=2, random_state=3)
    np.testing.assert_allclose(first.q_values, second.q_values, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_significance_of_folds_that_share_the_matrix(rng, n_classes, storage):
    """Without preprocessing the folds are weights of one matrix, with it they are matrices."""
    y = np.arange(30) % n_classes
    X = rng.normal(size=(30, 80)) * (rng.random(size=(30, 80)) < 0.5)
    X[:, 0] += y
    shared, own = (
        GeneSelector(n_features=3, n_epsilons=6, preprocessing=step, cv=5).significance(
            storage(X), y, n_permutations=2, random_state=0
        )
        for step in (None, FunctionTransformer(accept_sparse=True))
    )
    np.testing.assert_allclose(shared.frequency, own.frequency)
    np.testing.assert_allclose(shared.p_values, own.p_values)


def test_significance_finds_the_informative_genes(data, rng):
    X, y = data
    options = {"cv": 4}
    result = GeneSelector(**options).significance(X, y, n_permutations=20, random_state=0)
    assert result.q_values[[7, 42]].max() < 0.05
    assert (result.q_values < 0.05).sum() <= 4
    assert (result.p_values > 0).all() and (result.p_values <= 1).all()
    np.testing.assert_array_equal(
        np.argsort(-result.score, kind="stable")[:2], np.argsort(result.p_values, kind="stable")[:2]
    )
    noise = GeneSelector(**options).significance(
        X, rng.permutation(y), n_permutations=20, random_state=0
    )
    assert noise.q_values.min() > 0.05


def test_any_classifier(data):
    X, y = data
    grid = {"C": [0.01, 1.0]}
    model = GeneSelector(classifier=LogisticRegression(), param_grid=grid, **QUICK).fit(X, y)
    assert isinstance(model.classifier_, LogisticRegression)
    assert model.best_params_ in ({"C": 0.01}, {"C": 1.0})
    assert GeneSelector(classifier=LogisticRegression(), **QUICK).fit(X, y).best_params_ == {}


def test_stand_ins(data):
    X, y = data
    X[:, 100] = X[:, 7] + 0.01 * X[:, 100]
    model = GeneSelector(**QUICK).fit(X, y)
    found = model.stand_ins(X, n=1)
    assert [s.feature for s in found] == list(model.order_[: model.n_features_])


# ---------------------------------------------------------------- errors come first


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features": 121}, "n_features=121 is impossible: X has 120"),
        ({"n_features": [5, 0]}, "n_features"),
        ({"n_features": []}, "empty"),
        ({"smoothing": -1}, "smoothing"),
        ({"smoothing": 2.5}, "smoothing"),
        ({"n_epsilons": 0}, "n_epsilons"),
        ({"epsilons": [1.0, 2.0, 3.0]}, "epsilons must decrease strictly"),
        ({"epsilons": [2.0, 2.0]}, "epsilons must decrease strictly"),
        ({"epsilons": [2.0, -1.0]}, "positive"),
        ({"epsilons": "many"}, "epsilons"),
        ({"param_grid": {"nu": [0.999]}}, "infeasible.*nu < "),
        ({"epsilons": [1e6]}, "epsilons are too large"),
    ],
)
def test_bad_parameters(data, parameters, message):
    X, y = data
    y[:15] = "sick"
    with pytest.raises(ValueError, match=message):
        GeneSelector(**{"cv": 3} | parameters).fit(X, y)


def test_fold_with_one_class(data):
    X, y = data
    y = np.sort(y)
    with pytest.raises(
        ValueError, match=r"Fold 0 has no training sample of class sick.*Stratified"
    ):
        GeneSelector(cv=KFold(2)).fit(X, np.where(np.arange(40) < 20, "sick", "well"))
    y = np.full(40, "well")
    y[0] = "sick"
    with pytest.raises(ValueError, match="Fold 0"):
        GeneSelector().fit(X, y)
    with pytest.raises(ValueError, match="single class"):
        GeneSelector().fit(X, np.full(40, "well"))
    # of the inner folds as well, before any outer fold starts
    y[:2] = "sick"
    with pytest.raises(ValueError, match="Fold 0"):
        GeneSelector().evaluate(X, y)


def test_stability_is_that_of_the_preprocessed_genes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    X[:, 5] = 1.0
    y = np.where(X[:, 7] - X[:, 20] > 0, "sick", "well")
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(30)])
    selector = GeneSelector(preprocessing=VarianceThreshold())
    result = selector.stability(frame, y, q=3, random_state=0, n_subsamples=10)
    kept = np.delete(np.arange(30), 5)
    expected = StabilitySelector(q=3, random_state=0, n_subsamples=10).fit(X[:, kept], y)
    assert (result.frequency[kept] == expected.frequencies_).all()
    assert result.frequency[5] == 0.0 and result.parameters == expected.parameters_
    chosen = kept[expected.order_[: expected.n_features_]]
    assert list(result.selected) == list(chosen)
    assert set(chosen) == {7, 20}
    assert result.groups[0].names[0] == f"g{result.groups[0].features[0]}"
    assert "false selections expected" in repr(result)
