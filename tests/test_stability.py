"""StabilitySelector: the bounds, the halves, what is selected, groups, resuming, errors."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import lars_path
from sklearn.utils.estimator_checks import parametrize_with_checks

import psvm
from psvm import StabilitySelector
from psvm.report import StabilityDisplay
from psvm.selection import FeatureGroup, select, stability_parameters
from psvm.selection._error_bounds import r_concave_tail, unimodal_factor


# Nothing is selected of the noise of some checks.
@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks(
    [StabilitySelector(n_subsamples=6, random_state=0)],
    expected_failed_checks=lambda _: {
        f"check_sample_weight_equivalence_on_{storage}_data": "halves of repeated rows are others"
        for storage in ("dense", "sparse")
    },
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(100, 80))
    y = np.where(X[:, 7] - X[:, 42] + 0.3 * rng.normal(size=100) > 0, "sick", "well")
    return X, y


# ---------------------------------------------------------------- the bounds


def test_bound_without_assumption_is_the_formula():
    for q, threshold in ((5, 0.6), (10, 0.75), (3, 1.0)):
        for sampling in ("pairs", "subsamples"):
            found = stability_parameters(
                1000, q=q, threshold=threshold, sampling=sampling, assumption="none"
            )
            assert_allclose(found.pfer, q**2 / ((2 * threshold - 1) * 1000), rtol=1e-12)


def test_largest_q_without_assumption():
    # stabs::stabsel_parameters(p = 1000, cutoff = 0.75, PFER = 1, assumption = "none"):
    # q = floor(sqrt(PFER (2 cutoff - 1) p))
    found = stability_parameters(1000, pfer=1, threshold=0.75, assumption="none")
    assert found.q == math.floor(math.sqrt(0.5 * 1000))
    assert found.pfer <= 1 < (found.q + 1) ** 2 / 500


def test_defaults_are_a_threshold_of_three_quarters_and_one_false_selection():
    assert stability_parameters(500) == stability_parameters(500, threshold=0.75, pfer=1)
    assert stability_parameters(500, q=9) == stability_parameters(500, q=9, threshold=0.75)


def test_unimodal_bound_is_the_formula():
    B, p, q = 50, 1000, 20
    for threshold, factor in (
        (0.6, 1 / (2 * (0.2 - 0.01))),
        (0.75, 1 / (2 * (0.5 - 0.01))),
        (0.9, 4 * (0.1 + 0.01) / 1.02),
        (1.0, 4 * 0.01 / 1.02),
    ):
        found = stability_parameters(p, q=q, threshold=threshold, n_subsamples=2 * B)
        assert_allclose(found.pfer, factor * q**2 / p, rtol=1e-12)
    # the two branches nearly meet at 3/4
    assert_allclose(unimodal_factor(0.75, 10**9, 0.01), unimodal_factor(0.75 + 1e-12, 10**9, 0.01))


@pytest.mark.parametrize("threshold", [0.55, 0.6, 0.75, 0.8, 0.95, 1.0])
@pytest.mark.parametrize("q", [2, 10, 40])
def test_more_assumptions_give_smaller_bounds(q, threshold):
    options = {"q": q, "threshold": threshold, "n_subsamples": 60}
    bounds = [
        stability_parameters(400, **options, assumption=assumption).pfer
        for assumption in ("r-concave", "unimodal", "none")
    ]
    assert sorted(bounds) == bounds
    # not only because the smallest bound is taken
    tails = r_concave_tail((q / 400) ** 2, math.ceil(60 * threshold - 1e-9) - 30, 30, 2)
    assert 400 * tails <= bounds[1] * (1 + 1e-9) or bounds[1] == bounds[2]


@pytest.mark.parametrize("assumption", ["none", "unimodal", "r-concave"])
def test_bounds_grow_with_q_and_fall_with_the_threshold(assumption):
    options = {"n_subsamples": 40, "assumption": assumption}
    by_q = [stability_parameters(200, q=q, threshold=0.7, **options).pfer for q in range(1, 40, 3)]
    assert (np.diff(by_q) >= 0).all()
    thresholds = np.arange(21, 41) / 40
    by_threshold = [stability_parameters(200, q=9, threshold=t, **options).pfer for t in thresholds]
    assert (np.diff(by_threshold) <= 1e-12).all()


@pytest.mark.parametrize("assumption", ["none", "unimodal", "r-concave"])
def test_the_third_parameter_is_the_best_one(assumption):
    options = {"n_subsamples": 40, "assumption": assumption}
    for p in (30, 300):
        found = stability_parameters(p, pfer=0.7, threshold=0.8, **options)
        assert found.pfer <= 0.7
        assert stability_parameters(p, q=found.q + 1, threshold=0.8, **options).pfer > 0.7
    found = stability_parameters(300, pfer=0.7, q=8, **options)
    assert found.pfer <= 0.7
    lower = found.threshold - 1 / 40
    assert lower <= 0.5 or stability_parameters(300, q=8, threshold=lower, **options).pfer > 0.7


def r_concave_oracle(eta, t, B, s, rng):
    """The largest P(X >= t) found over convex g = f^(-1/s) on 0, ..., m, from random starts."""
    best = 0.0
    for m in range(t, B + 1):
        i = np.arange(m + 1)
        bends = np.diff(np.eye(m + 1), 2, axis=0)

        def pmf(g):
            f = g ** -float(s)
            return f / f.sum()

        constraints = [{"type": "ineq", "fun": lambda g, i=i: eta * B - pmf(g) @ i}]
        constraints.append({"type": "ineq", "fun": lambda g, bends=bends: bends @ g})
        for _ in range(4):
            kinks = np.cumsum(np.cumsum(rng.exponential(size=m + 1) * (rng.random(m + 1) < 0.3)))
            start = 1 + rng.exponential(3 / np.sqrt(m)) * i + 0.1 * rng.integers(2) * kinks
            found = minimize(
                lambda g: -np.log(pmf(g)[t:].sum()),
                start,
                constraints=constraints,
                bounds=[(1e-2, 1e4)] * (m + 1),
                method="SLSQP",
                options={"maxiter": 300, "ftol": 1e-12},
            )
            convex = (bends @ found.x).min() >= -1e-6 * found.x.max()
            if convex and pmf(found.x) @ i <= eta * B * (1 + 1e-6):
                best = max(best, pmf(found.x)[t:].sum())
    return best


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # SLSQP steps out of its bounds
@pytest.mark.parametrize("s", [2, 4])
@pytest.mark.parametrize(
    ("B", "eta", "t"), [(3, 0.1, 2), (4, 0.1, 3), (5, 0.05, 3), (5, 0.15, 5), (6, 0.1, 4)]
)
def test_r_concave_tail_is_the_largest_one(s, B, eta, t, rng):
    # The oracle may violate its constraints by 1e-6, and ends at a tolerance of 1e-12.
    assert_allclose(r_concave_tail(eta, t, B, s), r_concave_oracle(eta, t, B, s, rng), rtol=1e-4)


def test_r_concave_tail_of_a_certain_event_is_one():
    assert r_concave_tail(0.3, 2, 10, 2) == 1.0


# ---------------------------------------------------------------- what is selected


def test_finds_the_features_that_matter(data):
    X, y = data
    selector = StabilitySelector(random_state=0).fit(X, y)
    chosen = selector.get_support(indices=True)
    assert {7, 42} <= set(chosen) and selector.n_features_ == len(chosen) < 5
    assert_array_equal(selector.transform(X), X[:, chosen])
    assert set(selector.order_[:2]) == {7, 42}
    assert_array_equal(selector.ranking_ == 1, selector.get_support())
    assert_array_equal(selector.classes_, ["sick", "well"])
    threshold = selector.parameters_.threshold
    assert_array_equal(selector.frequencies_ >= threshold, selector.get_support())


def test_frequencies_sum_to_q(data):
    X, y = data
    selector = StabilitySelector(q=6, n_subsamples=20, random_state=0).fit(X, y)
    assert selector.entries_.shape == (20, 6) and (selector.entries_ >= 0).all()
    assert_allclose(selector.frequencies_.sum(), 6)
    paths = selector.paths_.toarray()
    assert_allclose(paths.sum(axis=1), np.arange(1, 7))
    assert_allclose(paths[-1], selector.frequencies_)
    assert (np.diff(paths, axis=0) >= 0).all()


def test_halves_of_a_pair_have_no_common_row_and_all_classes():
    y = np.repeat([0, 1, 2], [9, 8, 6])
    for sampling in ("pairs", "subsamples"):
        selector = StabilitySelector(sampling=sampling, n_subsamples=12, random_state=1)
        target = psvm.selection._stability.code_target(y)
        halves = selector._halves(target, np.ones(23)) > 0
        assert halves.shape == (23, 12)
        for label, size in ((0, 4), (1, 4), (2, 3)):
            assert (halves[y == label].sum(axis=0) == size).all()
        if sampling == "pairs":
            assert not (halves[:, ::2] & halves[:, 1::2]).any()


def test_halves_select_the_first_features_of_the_lasso_path(data):
    X, y = data
    number = np.where(y == "well", 1.0, -1.0) + 0.1 * X[:, 3]
    q = 4
    selector = StabilitySelector(q=q, n_subsamples=10, random_state=3).fit(X, number)
    random = np.random.RandomState(3)
    for pair in selector.entries_.reshape(5, 2, q):
        rows = random.permutation(100)
        for entries, half in zip(pair, (rows[:50], rows[50:]), strict=True):
            K = X[half] - X[half].mean(axis=0)
            K /= np.linalg.norm(K, axis=0)
            centred = number[half] - number[half].mean()
            coefs = lars_path(K, centred, method="lasso", max_iter=20)[2]
            first = np.where((coefs != 0).any(axis=1), np.argmax(coefs != 0, axis=1), 1000)
            assert_array_equal(entries, np.argsort(first, kind="stable")[:q])


def test_order_of_features_plays_no_part(data, rng):
    X, y = data
    mixed = rng.permutation(X.shape[1])
    one = StabilitySelector(q=5, n_subsamples=20, random_state=0).fit(X, y)
    other = StabilitySelector(q=5, n_subsamples=20, random_state=0).fit(X[:, mixed], y)
    assert_array_equal(one.frequencies_[mixed], other.frequencies_)


def test_several_classes_take_what_enters_first_for_any(rng):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, rng.normal(size=(150, 30))])
    selector = StabilitySelector(q=3, n_subsamples=20, random_state=0).fit(X, y)
    assert selector.get_support()[:4].any() and not selector.get_support()[4:].any()
    assert_allclose(selector.frequencies_.sum(), 3)
    both = np.column_stack([X[:, 10] + 0.1 * X[:, 5], X[:, 20]])
    targets = StabilitySelector(q=2, n_subsamples=10, random_state=0).fit(X, both)
    assert_array_equal(targets.get_support(indices=True), [10, 20])


def test_rows_of_weight_zero_are_not_there(data, rng):
    X, y = data
    selector = StabilitySelector(q=5, n_subsamples=10, random_state=0)
    weights = np.ones(100)
    weights[:20] = 0.0
    X_other = X.copy()
    X_other[:20] = rng.normal(size=(20, 80))
    one = clone(selector).fit(X, y, sample_weight=weights)
    other = clone(selector).fit(X_other, y, sample_weight=weights)
    assert_array_equal(one.entries_, other.entries_)
    double = clone(selector).fit(X, y, sample_weight=np.full(100, 2.0))
    assert_array_equal(double.entries_, clone(selector).fit(X, y).entries_)


def test_sparse_and_named_columns(data):
    X, y = data
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    selector = StabilitySelector(q=5, n_subsamples=10, random_state=0)
    dense, sparse = clone(selector).fit(X, y), clone(selector).fit(sp.csr_array(X), y)
    assert_array_equal(dense.entries_, sparse.entries_)
    names = [f"g{j}" for j in range(80)]
    named = clone(selector).fit(pd.DataFrame(X, columns=names), y)
    assert_array_equal(named.entries_, dense.entries_)
    assert {"g7", "g42"} >= set(named.get_feature_names_out())
    assert named.groups_[0].names[0] == f"g{named.groups_[0].features[0]}"


def test_constant_columns_do_not_count(data):
    X, y = data
    wide = np.hstack([X, np.ones((100, 1000))])
    selector = StabilitySelector(n_subsamples=10, random_state=0)
    one, other = clone(selector).fit(X, y), clone(selector).fit(wide, y)
    assert one.parameters_ == other.parameters_ and one.parameters_.n_features == 80
    assert_array_equal(one.entries_, other.entries_)


def test_computed_q_is_less_than_the_rows_of_a_half(rng):
    X, y = rng.normal(size=(20, 2000)), rng.normal(size=20)
    selector = StabilitySelector(pfer=5, n_subsamples=4, random_state=0).fit(X, y)
    assert selector.parameters_.q == 9 and selector.parameters_.pfer < 5


def test_copies_share_the_vote_but_not_as_a_group(rng):
    X = rng.normal(size=(80, 40))
    X[:, 1] = X[:, 0] + 0.05 * rng.normal(size=80)
    X[:, 2] = -X[:, 0] + 0.05 * rng.normal(size=80)
    y = X[:, 0] + X[:, 1] - X[:, 2] + 0.5 * rng.normal(size=80)
    selector = StabilitySelector(q=1, n_subsamples=60, random_state=0).fit(X, y)
    best = selector.groups_[0]
    assert set(best.features) <= {0, 1, 2} and len(best.features) > 1
    assert best.frequency == 1.0 and selector.frequencies_.max() < 1.0
    # definition: the share of the halves in which any member has entered
    for group in selector.groups_:
        share = np.isin(selector.entries_, group.features).any(axis=1).mean()
        assert_allclose(group.frequency, share)
    grouped = np.concatenate([group.features for group in selector.groups_])
    assert_array_equal(np.sort(grouped), np.flatnonzero(selector.frequencies_))
    assert str(FeatureGroup(np.array([3, 1]), 0.5, np.array(["a", "b"]))) == "a, b: 0.50"


def test_jobs_and_repetition_give_the_same(data):
    X, y = data
    selector = StabilitySelector(q=5, n_subsamples=44, random_state=0)
    one = clone(selector).fit(X, y)
    with parallel_config(backend="threading"):
        other = clone(selector).set_params(n_jobs=2).fit(X, y)
    assert_array_equal(one.entries_, other.entries_)


def test_anndata_gets_frequencies(data):
    anndata = pytest.importorskip("anndata")
    X, y = data
    table = anndata.AnnData(X, obs=pd.DataFrame({"state": y}, index=[f"s{i}" for i in range(100)]))
    selector = StabilitySelector(q=5, n_subsamples=10, random_state=0)
    select(table, "state", selector=selector)
    assert_array_equal(table.var["psvm_frequency"], clone(selector).fit(X, y).frequencies_)


# ---------------------------------------------------------------- long work


def test_goes_on_from_a_results_file(data, tmp_path, monkeypatch):
    X, y = data
    path = tmp_path / "halves.jsonl"
    selector = StabilitySelector(q=5, n_subsamples=60, random_state=0, results_file=path)
    whole = clone(selector).set_params(results_file=None).fit(X, y)
    module = psvm.selection._stability
    original, calls = module._first_to_enter, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(module, "_first_to_enter", interrupted)
    with pytest.raises(KeyboardInterrupt):
        clone(selector).fit(X, y)
    assert len(path.read_text().splitlines()) == 2  # the header and one part
    again = clone(selector).fit(X, y)
    assert len(calls) == 4
    assert_array_equal(again.entries_, whole.entries_)
    clone(selector).set_params(threshold=0.9).fit(X, y)  # the halves select the same
    assert len(calls) == 4
    with pytest.raises(ValueError, match="another search"):
        clone(selector).set_params(q=4).fit(X, y)
    with pytest.raises(ValueError, match="another search"):
        clone(selector).fit(X + 1.0, y)


def test_display_shows_the_paths(data):
    X, y = data
    selector = StabilitySelector(q=5, n_subsamples=10, random_state=0).fit(X, y)
    display = StabilityDisplay.from_estimator(selector, n_features=3)
    assert len(display.lines_) == 3
    best = selector.order_[0]
    assert display.lines_[0].get_label() == str(best)
    heights = display.lines_[0].get_ydata()
    assert_allclose(heights[1:], selector.paths_.toarray()[:, best])
    assert heights[0] == 0.0


def test_saved_and_loaded(data, tmp_path):
    X, y = data
    selector = StabilitySelector(q=5, n_subsamples=10, random_state=0).fit(X, y)
    psvm.save(selector, tmp_path / "s.psvm")
    again = psvm.load(tmp_path / "s.psvm")
    assert_array_equal(again.transform(X), selector.transform(X))
    assert_array_equal(again.paths_.toarray(), selector.paths_.toarray())
    assert again.parameters_ == selector.parameters_
    assert list(map(str, again.groups_)) == list(map(str, selector.groups_))


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"q": 3, "threshold": 0.8, "pfer": 1}, "Give two of q, threshold and pfer"),
        ({"q": 0}, "q must be"),
        ({"threshold": 0.5}, "threshold must be a finite number > 0.5"),
        ({"threshold": 1.1}, "and <= 1, got 1.1"),
        ({"pfer": 0}, "pfer must be"),
        ({"q": 81}, "q=81 is impossible: there are 80 features"),
        ({"n_subsamples": 7}, "n_subsamples must be even"),
        ({"sampling": "halves"}, "sampling must be"),
        ({"sampling": "subsamples"}, "holds for complementary pairs"),
        ({"assumption": "convex"}, "assumption must be"),
        ({"pfer": 1e-4}, "cannot be had with 80 features"),
        ({"q": 40, "pfer": 0.01}, "cannot be had with q=40 of 80 features"),
        ({"group_correlation": 0}, "group_correlation must be"),
    ],
)
def test_wrong_parameters_are_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        StabilitySelector(**options).fit(*data)


def test_too_few_rows_are_told(data):
    X, y = data
    with pytest.raises(ValueError, match="at least 4 rows"):
        StabilitySelector().fit(X[:3], X[:3, 0])
    y = y.astype(object)
    y[0] = "new"
    with pytest.raises(ValueError, match="Class 'new' of y has 1 rows"):
        StabilitySelector().fit(X, y)


# ---------------------------------------------------------------- the level


@pytest.mark.slow
@pytest.mark.parametrize("assumption", ["none", "unimodal", "r-concave"])
def test_false_selections_are_as_few_as_promised(assumption):
    false = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 60))
        y = X[:, :5].sum(axis=1) + 2 * rng.normal(size=100)
        selector = StabilitySelector(pfer=0.5, assumption=assumption, random_state=seed)
        false.append(selector.fit(X, y).get_support()[5:].sum())
    # at most the bound, but for three standard errors of the mean
    assert np.mean(false) <= 0.5 + 3 * np.std(false) / 10
