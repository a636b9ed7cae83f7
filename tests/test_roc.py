"""ROC bands and areas against definitions, scikit-learn and simulated coverage."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score, roc_curve

from psvm import evaluation as ev


def scores(n=60, seed=0, distance=1.0, ties=False):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    s = distance * y + rng.normal(size=n)
    return y, np.round(s) if ties else s


def placements(y, s):
    """Shares of pairs won, ties half, by looking at all pairs."""
    wins = np.array([[(p > q) + 0.5 * (p == q) for q in s[y == 0]] for p in s[y == 1]])
    return wins.mean(), wins.mean(axis=1), wins.mean(axis=0)


@pytest.mark.parametrize("ties", [False, True])
def test_area_and_error_are_those_of_all_pairs(ties):
    y, s = scores(ties=ties)
    area, v, w = placements(y, s)
    result = ev.roc_area(y, s)
    assert result.area == pytest.approx(roc_auc_score(y, s)) == pytest.approx(area)
    error = np.sqrt(v.var(ddof=1) / len(v) + w.var(ddof=1) / len(w))
    assert result.standard_error == pytest.approx(error, rel=1e-10)
    assert result.interval == pytest.approx((area - 1.959964 * error, area + 1.959964 * error))


def test_delong_test_is_the_covariance_of_the_placements():
    y, a = scores()
    b = 0.5 * a + scores(seed=1)[1]
    (area_a, v_a, w_a), (area_b, v_b, w_b) = placements(y, a), placements(y, b)
    variance = sum(
        (c[0, 0] + c[1, 1] - 2 * c[0, 1]) / n
        for c, n in ((np.cov(v_a, v_b), len(v_a)), (np.cov(w_a, w_b), len(w_a)))
    )
    test = ev.delong_test(y, a, b)
    assert test.difference == pytest.approx(area_a - area_b)
    assert test.statistic == pytest.approx((area_a - area_b) / np.sqrt(variance), rel=1e-9)
    swapped = ev.delong_test(y, b, a)
    assert (swapped.pvalue, swapped.difference) == pytest.approx((test.pvalue, -test.difference))
    same = ev.delong_test(y, a, np.exp(a))  # a ROC curve depends on the order only
    assert (same.pvalue, same.difference) == (1, 0)


def test_delong_under_the_null_and_coverage_of_the_area(rng):
    rejected = covered = 0
    truth = stats.norm.cdf(1 / np.sqrt(2))
    y = np.arange(100) % 2
    for _ in range(500):
        a, b = y + rng.normal(size=(2, 100))
        rejected += ev.delong_test(y, a, b).pvalue < 0.05
        low, high = ev.roc_area(y, a).interval
        covered += low <= truth <= high
    low, high = stats.binom(500, 0.05).ppf([0.0005, 0.9995])
    assert low <= rejected <= high
    assert covered >= 500 - 1.5 * high  # a normal interval of a bounded number


@pytest.mark.parametrize("method", ["bootstrap", "ks"])
def test_band_contains_the_curve_of_scikit_learn(method):
    y, s = scores(200)
    band = ev.roc_band(y, s, method=method, n_bootstrap=100, random_state=0)
    fpr, tpr, _ = roc_curve(y, s, drop_intermediate=False)
    for f, t in zip(band.fpr, band.tpr, strict=True):
        assert tpr[fpr <= f + 1e-12].max() <= t + 1e-9 <= tpr[fpr >= f - 1e-12].max() + 2e-9
    assert (band.lower <= band.tpr).all() and (band.tpr <= band.upper).all()
    assert (np.diff(band.lower) >= -1e-12).all() and (np.diff(band.upper) >= -1e-12).all()
    assert band.area == pytest.approx(roc_auc_score(y, s))
    wide = ev.roc_band(y, s, method=method, confidence_level=0.99, n_bootstrap=100, random_state=0)
    assert (wide.upper - wide.lower).sum() > (band.upper - band.lower).sum()


def test_ks_band_covers_the_whole_curve_and_the_bootstrap_most_points(rng):
    everywhere, points, inner = 0, 0.0, slice(20, 121)
    for _ in range(100):
        y = np.arange(200) % 2
        s = 1.2 * y + rng.normal(size=200)
        band = ev.roc_band(y, s, method="ks")
        true = stats.norm.cdf(stats.norm.ppf(band.fpr) + 1.2)
        everywhere += np.all((band.lower <= true + 1e-12) & (true <= band.upper + 1e-12))
        band = ev.roc_band(y, s, n_bootstrap=150, random_state=rng.integers(2**31))
        points += np.mean(((band.lower <= true) & (true <= band.upper))[inner]) / 100
    assert everywhere >= 95 - 3 * np.sqrt(4.75)  # three standard deviations of 100 trials
    assert 0.9 <= points <= 0.99  # 95 % for many objects; the points of a curve vary together


def test_band_of_folds_is_the_vertical_mean():
    ys, ss = zip(*(scores(40, seed=k) for k in range(5)), strict=True)
    band = ev.roc_band_of_folds(ys, ss)
    curves = np.array([ev.roc_band(y, s, method="ks").tpr for y, s in zip(ys, ss, strict=True)])
    np.testing.assert_allclose(band.tpr, curves.mean(axis=0), rtol=1e-12)
    interval = stats.ttest_1samp(curves[:, 60], 0).confidence_interval(0.95)
    assert band.lower[60] == pytest.approx(interval.low)
    assert band.upper[60] == pytest.approx(min(interval.high, 1))
    areas = [roc_auc_score(y, s) for y, s in zip(ys, ss, strict=True)]
    assert band.area == pytest.approx(np.mean(areas))


@pytest.mark.parametrize("method", ["bootstrap", "ks"])
def test_reversed_classes_and_scores_give_the_mirrored_area(method):
    y, s = scores()
    words = np.where(y == 1, "well", "sick")
    options = {"method": method, "n_bootstrap": 50, "random_state": 0}
    one = ev.roc_band(words, s, **options)
    other = ev.roc_band(words, -s, pos_label="sick", **options)
    assert one.area == pytest.approx(other.area)
    # exactly: the band depends on the order of the scores only
    np.testing.assert_array_equal(
        ev.roc_band(words, s, **options).lower, ev.roc_band(y, 3 * s + 1, **options).lower
    )


def test_plot():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    band = ev.roc_band(*scores(), n_bootstrap=20)
    ax = band.plot(name="P-SVM")
    assert "P-SVM" in ax.get_legend_handles_labels()[1][0]
    assert band.plot(ax) is ax
    pyplot.close("all")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ev.roc_band([0, 1, 2], [1, 2, 3]), "exactly two classes"),
        (lambda: ev.roc_band([1, 1], [1, 2]), "exactly two classes"),
        (lambda: ev.roc_band([0, 1], [1, 2, 3]), "has 2 labels"),
        (lambda: ev.roc_band([0, 1], [1, np.inf]), "infinity"),
        (lambda: ev.roc_area([0, 1], [1, 2], pos_label=7), "pos_label must be one of"),
        (lambda: ev.roc_band([0, 1], [1, 2], method="hull"), "method must be one of"),
        (lambda: ev.roc_band_of_folds([[0, 1]], [[1, 2]]), "at least two folds"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
