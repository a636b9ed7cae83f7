"""Tests of two models against statsmodels, SciPy, brute force and simulations of the null."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from psvm import comparators
from psvm import evaluation as ev

statsmodels_proportion = pytest.importorskip("statsmodels.stats.proportion")
contingency_tables = pytest.importorskip("statsmodels.stats.contingency_tables")
multitest = pytest.importorskip("statsmodels.stats.multitest")

# Hollander and Wolfe's depression scores, the example of R's wilcox.test: V = 40, p = 0.03906.
DEPRESSION = (
    [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30],
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29],
)


def two(n, seed=0, shift=0.3):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return a, a + shift + rng.normal(size=n)


# ---------------------------------------------------------------- proportions


@pytest.mark.parametrize("counts", [(20, 35, 100, 100), (1, 9, 40, 60), (0, 3, 25, 25)])
def test_proportions_are_those_of_statsmodels(counts):
    a, b, n, m = counts
    test = ev.proportion_test(a, b, n, m)
    z, p = statsmodels_proportion.proportions_ztest([a, b], [n, m])
    low, high = statsmodels_proportion.confint_proportions_2indep(
        a, n, b, m, method="newcomb", compare="diff"
    )
    assert (test.statistic, test.pvalue) == pytest.approx((z, p), rel=1e-10)
    assert test.interval == pytest.approx((low, high), rel=1e-8)
    assert test.difference == pytest.approx(a / n - b / m)


def test_proportions_are_the_chi_squared_test_of_the_table():
    chi2, p, *_ = stats.chi2_contingency([[20, 80], [35, 65]], correction=False)
    test = ev.proportion_test(20, 35, 100)
    assert (test.statistic**2, test.pvalue) == pytest.approx((chi2, p), rel=1e-12)


@pytest.mark.parametrize("wrong", [0, 50])
def test_proportions_without_variance_do_not_differ(wrong):
    test = ev.proportion_test(wrong, wrong, 50)
    assert (test.statistic, test.pvalue, test.difference) == (0, 1, 0)
    assert test.interval[0] < 0 < test.interval[1]


@pytest.mark.parametrize(("method", "name"), [("bh", "fdr_bh"), ("by", "fdr_by")])
def test_splits_are_adjusted_as_by_statsmodels(rng, method, name):
    a, b = rng.binomial(80, 0.2, 30), rng.binomial(80, 0.35, 30)
    test = ev.split_proportion_test(a, b, 80, method=method)
    _, adjusted, *_ = multitest.multipletests(test.pvalue, method=name)
    np.testing.assert_allclose(test.adjusted, adjusted, rtol=1e-12)


def test_count_of_better_splits_is_the_step_up_procedure(rng):
    a, b = rng.binomial(200, 0.2, 40), rng.binomial(200, 0.27, 40)
    n_test = rng.integers(200, 220, 40)
    test = ev.split_proportion_test(a, b, n_test, level=0.1)
    p = np.sort(test.pvalue)
    passed = np.flatnonzero(p <= 0.1 * np.arange(1, 41) / 40)
    cut = p[passed[-1]]
    assert 0 < len(passed) < 40
    better = [ev.proportion_test(*s) for s in zip(a, b, n_test, strict=True)]
    assert test.n_first_better == sum(t.pvalue <= cut and t.difference < 0 for t in better)
    assert test.n_second_better == sum(t.pvalue <= cut and t.difference > 0 for t in better)
    assert test.global_pvalue == pytest.approx(np.min(p * 40 / np.arange(1, 41)))


# ---------------------------------------------------------------- t-tests


def test_plain_t_test_is_that_of_scipy():
    a, b = two(12)
    test, expected = ev.paired_t_test(a, b, confidence_level=0.9), stats.ttest_rel(a, b)
    assert (test.statistic, test.pvalue) == pytest.approx(tuple(expected), rel=1e-9)
    interval = expected.confidence_interval(0.9)
    assert test.interval == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_corrected_t_test_is_the_formula_of_nadeau_and_bengio():
    a, b = two(10)
    d = a - b
    test = ev.corrected_t_test(a, b, n_train=90, n_test=10)
    t = d.mean() / np.sqrt((1 / 10 + 1 / 9) * np.sum((d - d.mean()) ** 2) / 9)
    assert test.statistic == pytest.approx(t, rel=1e-9)
    assert test.pvalue == pytest.approx(2 * stats.t(9).cdf(-abs(t)), rel=1e-9)
    # the interval holds exactly the differences that are not rejected
    for edge in test.interval:
        assert ev.corrected_t_test(a, b + edge, n_train=90, n_test=10).pvalue == pytest.approx(0.05)
    without = ev.corrected_t_test(a, b, n_train=1e12, n_test=1)
    assert without.pvalue == pytest.approx(ev.paired_t_test(a, b).pvalue, rel=1e-9)


def test_five_by_two_is_the_published_algorithm():
    a, b = (v.reshape(5, 2) for v in two(10))
    variances, squares = [], 0.0
    for (a1, a2), (b1, b2) in zip(a, b, strict=True):
        d1, d2 = a1 - b1, a2 - b2
        mean = (d1 + d2) / 2
        variances.append((d1 - mean) ** 2 + (d2 - mean) ** 2)
        squares += d1**2 + d2**2
    t = (a[0, 0] - b[0, 0]) / np.sqrt(sum(variances) / 5)
    f = squares / (2 * sum(variances))
    t_test, f_test = ev.five_by_two_t_test(a, b), ev.five_by_two_f_test(a, b)
    assert (t_test.statistic, f_test.statistic) == pytest.approx((t, f), rel=1e-9)
    assert t_test.pvalue == pytest.approx(2 * stats.t(5).cdf(-abs(t)), rel=1e-9)
    assert f_test.pvalue == pytest.approx(1 - stats.f(10, 5).cdf(f), rel=1e-9)
    assert f_test.interval is None
    flat = ev.five_by_two_f_test(a.ravel(), b.ravel())
    assert flat.pvalue == f_test.pvalue


def test_no_difference_is_no_evidence_and_a_constant_one_is_beyond_doubt():
    a = np.array([0.1, 0.2, 0.3, 0.4])
    assert ev.paired_t_test(a, a).pvalue == 1
    assert ev.wilcoxon_test(a, a).pvalue == 1
    assert ev.paired_t_test(a, a + 0.1).pvalue == 0  # rounding errors are not variance
    ten = np.tile(a, 3)[:10]
    assert ev.five_by_two_f_test(ten, ten).pvalue == ev.five_by_two_t_test(ten, ten).pvalue == 1


# ---------------------------------------------------------------- ranks


def test_wilcoxon_on_the_depression_scores():
    test = ev.wilcoxon_test(*DEPRESSION)
    assert test.statistic == 5  # of 45; R reports V = 40
    assert test.pvalue == pytest.approx(0.03906, abs=5e-6)
    # R: wilcox.test(x, y, paired = TRUE, conf.int = TRUE) gives the pseudomedian 0.46
    assert test.difference == pytest.approx(0.46, abs=5e-4)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [3, 9, 15])
def test_wilcoxon_is_all_ways_to_choose_signs(n, ties):
    d = np.array([1.0, -1, 2, 0, 3, -2, 1, 1, -4, 2, 0, 5, -1, 3, 1])[:n]
    d += 0 if ties else 0.01 * np.arange(n)
    ranks = stats.rankdata(np.abs(d[d != 0]))
    assert (len(set(ranks)) < len(ranks)) == ties and (d > 0).any() and (d < 0).any()
    sums = np.array(list(itertools.product([0, 1], repeat=len(ranks)))) @ ranks
    observed = ranks[d[d != 0] > 0].sum()
    # The sums are halves of whole numbers.
    extreme = np.abs(sums - ranks.sum() / 2) >= abs(observed - ranks.sum() / 2)
    for one, other in ((d, 0 * d), (0 * d, d)):
        assert ev.wilcoxon_test(one, other).pvalue == pytest.approx(extreme.mean(), rel=1e-12)


@pytest.mark.parametrize("n", [9, 30, 60])
def test_wilcoxon_interval_holds_the_shifts_that_are_not_rejected(n):
    a, b = two(n, seed=4)
    low, high = ev.wilcoxon_test(a, b).interval
    inside, outside = 1e-6, -1e-6
    # beyond 50 differences both the p-value and the interval are normal approximations
    slack = 1.0 if n <= 50 else 0.9
    for edge, step in ((low, 1), (high, -1)):
        assert ev.wilcoxon_test(a, b + edge + step * inside).pvalue > 0.05 * slack
        assert ev.wilcoxon_test(a, b + edge + step * outside).pvalue <= 0.05 / slack


def test_wilcoxon_of_few_values_cannot_exclude_anything():
    assert ev.wilcoxon_test([1, 2, 3], [2, 4, 6]).interval == (-np.inf, np.inf)


def test_equal_differences_are_ties_also_after_rounding():
    a, b = [0.3, 0.4, 0.7, 0.2], [0.2, 0.3, 0.6, 0.3]
    assert len({x - y for x, y in zip(a, b, strict=True)}) > 2
    exact = ev.wilcoxon_test([3, 4, 7, 2], [2, 3, 6, 3])
    rounded = ev.wilcoxon_test(a, b)
    assert (rounded.statistic, rounded.pvalue) == (exact.statistic, exact.pvalue)


# ---------------------------------------------------------------- McNemar


def wrong(both, only_a, only_b, neither):
    a = np.repeat([1, 1, 0, 0], [both, only_a, only_b, neither]).astype(bool)
    b = np.repeat([1, 0, 1, 0], [both, only_a, only_b, neither]).astype(bool)
    return a, b


def test_mcnemar_on_the_approval_ratings():
    # Agresti's table of 1600 persons, 794, 150, 86, 570: z = 4.17, a fall by 0.04 +- 1.96 * 0.0095
    test = ev.mcnemar_test(*wrong(794, 150, 86, 570), correction=False)
    assert np.sqrt(test.statistic) == pytest.approx(4.17, abs=5e-3)
    assert test.difference == pytest.approx(0.04)
    assert test.interval == pytest.approx((0.0214, 0.0586), abs=3e-4)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("correction", [True, False])
@pytest.mark.parametrize("cells", [(30, 5, 14, 51), (3, 9, 9, 20), (10, 40, 22, 50)])
def test_mcnemar_is_that_of_statsmodels(cells, exact, correction):
    both, only_a, only_b, neither = cells
    expected = contingency_tables.mcnemar(
        [[both, only_a], [only_b, neither]], exact=exact, correction=correction
    )
    if only_a == only_b and correction and not exact:
        expected.statistic, expected.pvalue = 0, 1  # the correction must not overshoot
    test = ev.mcnemar_test(*wrong(*cells), exact=exact, correction=correction)
    assert test.statistic == pytest.approx(expected.statistic)
    assert test.pvalue == pytest.approx(expected.pvalue, rel=1e-9)


def test_mcnemar_chooses_the_exact_form_for_few_disagreements():
    assert "exact" in ev.mcnemar_test(*wrong(5, 12, 13, 5)).method
    assert "exact" not in ev.mcnemar_test(*wrong(5, 13, 13, 5)).method
    assert ev.mcnemar_test([True, False], [True, False]).pvalue == 1


# ---------------------------------------------------------------- invariances

values = st.lists(st.integers(0, 40), min_size=10, max_size=10)
TESTS = [
    ev.paired_t_test,
    ev.five_by_two_t_test,
    ev.five_by_two_f_test,
    ev.wilcoxon_test,
    lambda a, b: ev.corrected_t_test(a, b, n_train=9, n_test=1),
]


@pytest.mark.parametrize("test", TESTS)
@settings(max_examples=10, deadline=None)
@given(a=values, b=values)
def test_exchanging_the_models_turns_the_sign(test, a, b):
    a, b = np.array(a) / 40, np.array(b) / 40
    one, other = test(a, b), test(b, a)
    assert one.pvalue == pytest.approx(other.pvalue, rel=1e-9)
    assert one.difference == pytest.approx(-other.difference, abs=1e-12)
    if one.interval is not None:
        assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]), abs=1e-12)
    scaled = test(5 * a, 5 * b)
    assert scaled.pvalue == pytest.approx(one.pvalue, rel=1e-6, abs=1e-9)
    assert 0 <= one.pvalue <= 1


# ---------------------------------------------------------------- under the null


def resampled_errors(rng, splits, n=50):
    """Squared errors of two equally good models that use one of two exchangeable features."""
    X = rng.normal(size=(n, 2))
    y = X.sum(axis=1) / 2 + rng.normal(size=n)
    errors = np.empty((len(splits), 2))
    for k, (train, test) in enumerate(splits):
        A, t = X[train], y[train]
        slope = (A * t[:, None]).sum(axis=0) / (A**2).sum(axis=0)
        errors[k] = np.mean((y[test, None] - X[test] * slope) ** 2, axis=0)
    return errors.T


def random_splits(rng, n_splits, n=50, n_test=10):
    return [np.split(rng.permutation(n), [n - n_test]) for _ in range(n_splits)]


def test_plain_t_test_is_too_optimistic_and_the_corrected_one_is_not(rng):
    rejected = np.zeros(3)
    n_simulations = 300
    for _ in range(n_simulations):
        a, b = resampled_errors(rng, random_splits(rng, 15))
        rejected[0] += ev.paired_t_test(a, b).pvalue < 0.05
        rejected[1] += ev.corrected_t_test(a, b, n_train=40, n_test=10).pvalue < 0.05
        halves = [np.split(rng.permutation(50), 2) for _ in range(5)]
        a, b = resampled_errors(rng, [s for h in halves for s in (h, h[::-1])])
        rejected[2] += ev.five_by_two_f_test(a, b).pvalue < 0.05
    plain, corrected, five_by_two = rejected / n_simulations
    # the 0.9995 quantile of the share of rejections at level 0.05
    limit = stats.binom(n_simulations, 0.05).ppf(0.9995) / n_simulations
    assert plain > 2 * limit
    assert corrected <= limit
    assert five_by_two <= limit


@pytest.mark.parametrize("test", [ev.paired_t_test, ev.wilcoxon_test])
def test_p_values_of_independent_differences_are_uniform(rng, test):
    p = [test(rng.normal(size=25), rng.normal(size=25)).pvalue for _ in range(500)]
    assert stats.kstest(p, "uniform").pvalue > 1e-3  # a fixed seed: no flicker


def test_counts_reject_as_often_as_they_say(rng):
    p = [ev.proportion_test(*rng.binomial(400, 0.3, 2), 400).pvalue for _ in range(1000)]
    q = [ev.mcnemar_test(*(rng.random((2, 300)) < 0.3)).pvalue for _ in range(1000)]
    low, high = stats.binom(1000, 0.05).ppf([0.0005, 0.9995]) / 1000
    assert low <= np.mean(np.array(p) < 0.05) <= high
    assert np.mean(np.array(q) < 0.05) <= high


def test_intervals_hold_the_true_difference(rng):
    covered = np.zeros(2)
    for _ in range(500):
        a, b = rng.binomial(60, [0.1, 0.25])
        low, high = ev.proportion_test(a, b, 60).interval
        covered[0] += low <= -0.15 <= high
        u = rng.random(80)
        low, high = ev.mcnemar_test(u < 0.2, (u > 0.1) & (u < 0.4)).interval
        covered[1] += low <= -0.1 <= high
    # approximate intervals of counts: about 95 %, 0.915 is 3.5 standard deviations less
    assert (covered / 500 > 0.915).all()


# ---------------------------------------------------------------- permutations


def test_permutation_test_counts_the_shuffled_scores(rng):
    from sklearn.linear_model import LogisticRegression

    X = rng.normal(size=(40, 3))
    y = (X[:, 0] + 0.8 * rng.normal(size=40) > 0).astype(int)
    model = LogisticRegression()
    result = ev.permutation_test(model, X, y, cv=4, n_permutations=49, random_state=1)
    assert result.pvalue == (1 + np.sum(result.null_scores >= result.score)) / 50
    assert result.pvalue <= 0.1 < 0.4 < result.null_scores.mean() < 0.6 < result.score
    assert "p = " in str(result)


def test_permutation_p_values_of_noise_are_uniform(rng):
    from sklearn.naive_bayes import GaussianNB

    p = [
        ev.permutation_test(
            GaussianNB(),
            rng.normal(size=(24, 2)),
            np.arange(24) % 2,
            cv=2,
            scoring="roc_auc",
            n_permutations=9,
            random_state=k,
        ).pvalue
        for k in range(25)
    ]
    # ranks of exchangeable scores, ten possible values; the step of 0.1 is added to the distance
    distance = stats.kstest(p, "uniform").statistic
    assert distance < stats.kstwo(25).ppf(0.999) + 0.1


# ---------------------------------------------------------------- documentation


@pytest.mark.parametrize("module", [ev, comparators])
def test_public_names_have_examples(module):
    assert all(">>>" in getattr(module, name).__doc__ for name in module.__all__)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ev.proportion_test(5, 3, 4),
            "must be whole numbers of errors and of test objects",
        ),
        (lambda: ev.proportion_test(0.5, 3, 4), "whole numbers"),
        (lambda: ev.split_proportion_test([1], [1], 4, method="holm"), "method must be one of"),
        (lambda: ev.paired_t_test([1, 2], [1, 2, 3]), "same splits"),
        (lambda: ev.paired_t_test([1], [2]), "at least two splits"),
        (lambda: ev.paired_t_test([1, np.nan], [2, 1]), "NaN"),
        (lambda: ev.corrected_t_test([1, 2], [2, 1], n_train=0, n_test=1), "n_train"),
        (lambda: ev.five_by_two_f_test([1, 2], [2, 1]), "five repetitions of two folds"),
        (
            lambda: ev.wilcoxon_test([1, 2], [2, 1], confidence_level=95),
            "must be a finite number > 0 and < 1",
        ),
        (lambda: ev.mcnemar_test([0, 2], [1, 0]), "True where a prediction is wrong"),
        (lambda: ev.permutation_test(None, None, None, n_permutations=0), "n_permutations"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
