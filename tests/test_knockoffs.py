"""KnockoffSelector: exchangeable copies, statistics that change their sign, thresholds, errors."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import toeplitz
from sklearn.base import clone
from sklearn.covariance import LedoitWolf, ShrunkCovariance
from sklearn.datasets import load_iris
from sklearn.linear_model import lars_path
from sklearn.utils.estimator_checks import parametrize_with_checks

import psvm
from psvm import KnockoffSelector
from psvm.selection import gaussian_knockoffs
from psvm.selection._knockoff_selector import (
    _count_selected,
    knockoff_statistics,
    knockoff_threshold,
)
from psvm.selection._knockoffs import GaussianKnockoffs


@pytest.mark.filterwarnings("ignore:No features were selected:UserWarning")
@parametrize_with_checks([KnockoffSelector(0.9, random_state=0)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(200, 40)) @ np.linalg.cholesky(toeplitz(0.4 ** np.arange(40))).T
    return X, X[:, :12].sum(axis=1) + rng.normal(size=200)


# ---------------------------------------------------------------- the copies


@pytest.mark.parametrize("method", ["equicorrelated", "sdp"])
def test_columns_may_change_places_with_their_knockoffs(method, rng):
    n, p = 20_000, 6
    X = rng.normal(size=(n, p)) @ np.linalg.cholesky(toeplitz(0.5 ** np.arange(p))).T
    X = 3.0 + X * np.arange(1, p + 1)
    copies = gaussian_knockoffs(X, method=method, covariance="empirical", random_state=0)
    assert_allclose(copies.mean(axis=0), X.mean(axis=0), atol=5 * p / np.sqrt(n))
    R = np.corrcoef(np.hstack([X, copies]).T)
    # entries of a correlation matrix have a standard error of at most 1 / sqrt(n)
    error = 5 / np.sqrt(n)
    assert_allclose(R[p:, p:], R[:p, :p], atol=error)
    across = R[:p, p:].copy()
    np.fill_diagonal(across, 1.0)
    assert_allclose(across, R[:p, :p], atol=error)
    assert (np.diag(R[:p, p:]) < 0.6).all()


@pytest.mark.parametrize("method", ["equicorrelated", "sdp"])
def test_joint_covariance_is_positive_semidefinite(method, rng):
    X = rng.normal(size=(100, 8)) @ rng.normal(size=(8, 8))
    found = GaussianKnockoffs(X, method, "ledoit_wolf")
    Sigma, S = found.correlation, np.diag(found.s)
    both = np.block([[Sigma, Sigma - S], [Sigma - S, Sigma]])
    assert np.linalg.eigvalsh(both)[0] > -1e-10 and (found.s >= 0).all() and (found.s <= 1).all()
    # the root is that of the conditional covariance 2 S - S Sigma^-1 S
    V = 2 * S - S @ np.linalg.solve(Sigma, S)
    assert_allclose(found.root @ found.root.T, V, atol=1e-10)


def test_equicorrelated_is_the_formula():
    X = (
        np.random.default_rng(1).normal(size=(50, 5))
        @ np.linalg.cholesky(toeplitz(0.8 ** np.arange(5))).T
    )
    found = GaussianKnockoffs(X, "equicorrelated", "empirical")
    R = np.corrcoef(X.T)
    assert_allclose(found.correlation, R, atol=1e-12)
    assert_allclose(found.s, min(1, 2 * np.linalg.eigvalsh(R)[0]), rtol=1e-8)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning")
@pytest.mark.parametrize("correlation", [0.3, 0.7, 0.9])
def test_semidefinite_program_beside_cvxpy(correlation, rng):
    X = rng.normal(size=(400, 10)) @ np.linalg.cholesky(toeplitz(correlation ** np.arange(10))).T
    found = GaussianKnockoffs(X, "sdp", "empirical")
    s = cp.Variable(10)
    below = 2 * found.correlation - cp.diag(s) >> 0
    best = cp.Problem(cp.Maximize(cp.sum(s)), [s >= 0, s <= 1, below]).solve(solver="CLARABEL")
    assert 0.99 * best < found.s.sum() < best + 1e-4  # feasible, and nearly the optimum
    equal = GaussianKnockoffs(X, "equicorrelated", "empirical")
    assert found.s.sum() >= equal.s.sum() * 0.99


def test_covariance_is_estimated_as_asked(data):
    X, _ = data
    given = {"random_state": 0}
    named = gaussian_knockoffs(X, covariance="ledoit_wolf", **given)
    own = gaussian_knockoffs(X, covariance=LedoitWolf(assume_centered=True), **given)
    assert_allclose(named, own, rtol=1e-9, atol=1e-9)
    assert (
        gaussian_knockoffs(X, covariance=ShrunkCovariance(shrinkage=0.3), **given).shape == X.shape
    )
    assert not np.allclose(named, gaussian_knockoffs(X, covariance="oas", **given))
    assert_allclose(gaussian_knockoffs(sp.csr_array(X), **given), gaussian_knockoffs(X, **given))


# ---------------------------------------------------------------- the statistic


@pytest.mark.parametrize("statistic", ["entry", "difference"])
def test_swap_changes_the_sign_and_nothing_else(data, statistic, rng):
    X, y = data
    copies = gaussian_knockoffs(X, random_state=0)
    some = rng.random(40) < 0.5
    X_s, copies_s = np.where(some, copies, X), np.where(some, X, copies)
    selector = KnockoffSelector(0.2, statistic=statistic)
    W = clone(selector).fit(X, y, knockoffs=copies).statistics_
    W_s = clone(selector).fit(X_s, y, knockoffs=copies_s).statistics_
    # bit by bit: the two columns of a pair are ordered by their entries before the fit
    assert_array_equal(W_s, np.where(some, -W, W))
    assert (W != 0).any()


def test_entry_is_that_of_the_lasso_path(data):
    X, y = data
    copies = gaussian_knockoffs(X, random_state=0)
    both = np.hstack([X, copies])
    both = both - both.mean(axis=0)
    centred = y - y.mean()
    alphas, _, coefs = lars_path(both / np.linalg.norm(both, axis=0), centred, method="lasso")
    first = np.argmax(coefs != 0, axis=1)
    entered = (coefs != 0).any(axis=1)
    levels = np.where(entered, alphas[first - 1] * len(y) / np.linalg.norm(centred), 0.0)
    levels[levels < 1e-3 * levels.max()] = 0.0
    mine, theirs = np.split(levels, 2)
    W = KnockoffSelector(0.2).fit(X, y, knockoffs=copies).statistics_[0]
    assert_allclose(W, np.where(mine > theirs, mine, -theirs), rtol=1e-7, atol=1e-9)


def test_difference_is_that_of_alphas(data):
    X, y = data
    copies = gaussian_knockoffs(X, random_state=0)
    options = {"epsilon": 0.3, "epsilon_unit": "max"}
    selector = KnockoffSelector(0.2, statistic="difference", **options)
    W = selector.fit(X, y, knockoffs=copies).statistics_[0]
    path = psvm.epsilon_path(np.hstack([X, copies]), y)
    alpha = np.abs(path.alpha_at(0.3 * path.epsilon_max))
    # both solutions have a KKT violation of at most 1e-4 of epsilon
    assert_allclose(W, alpha[:40] - alpha[40:], atol=1e-3 * alpha.max())


def test_equal_columns_tell_nothing(data):
    X, y = data
    copies = gaussian_knockoffs(X, random_state=0)
    copies[:, 3] = X[:, 3]
    assert knockoff_statistics(X, copies, y, y[None])[3] == 0.0


def test_order_of_features_plays_no_part(data, rng):
    X, y = data
    copies, mixed = gaussian_knockoffs(X, random_state=0), rng.permutation(40)
    one = KnockoffSelector(0.2).fit(X, y, knockoffs=copies)
    other = KnockoffSelector(0.2).fit(X[:, mixed], y, knockoffs=copies[:, mixed])
    # the exact paths differ by rounding
    assert_allclose(one.statistics_[:, mixed], other.statistics_, rtol=1e-7, atol=1e-9)
    assert_array_equal(one.get_support()[mixed], other.get_support())


def test_any_number_of_classes(rng):
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, rng.normal(size=(150, 6))])
    X = X + 0.05 * rng.normal(size=X.shape)
    names = np.array(["a", "b", "c"])[y]
    selector = KnockoffSelector(0.9, random_state=0).fit(X, names)
    assert_array_equal(selector.classes_, ["a", "b", "c"])
    W = selector.statistics_[0]
    copies = gaussian_knockoffs(X, random_state=0)
    targets = [np.where(y == c, 1.0, -1.0) for c in range(3)]
    each = [knockoff_statistics(X, copies, None, t[None]) for t in targets]
    assert_allclose(np.abs(W), np.abs(each).max(axis=0), rtol=1e-9)


# ---------------------------------------------------------------- the threshold


def test_threshold_is_its_definition(rng):
    for fdr in (0.1, 0.2, 0.5):
        W = np.concatenate([rng.normal(size=60), rng.normal(size=30) + 2])
        W[rng.random(90) < 0.2] = 0.0
        t = knockoff_threshold(W, fdr)
        ratios = {
            c: (1 + (W <= -c).sum()) / max((W >= c).sum(), 1) for c in np.abs(W[W != 0]).tolist()
        }
        allowed = [c for c, ratio in ratios.items() if ratio <= fdr]
        assert t == (min(allowed) if allowed else np.inf)
    assert knockoff_threshold(np.arange(1.0, 10), 0.1) == np.inf  # nine winners are too few
    assert knockoff_threshold(np.arange(1.0, 11), 0.1) == 1.0  # of ten, one may be false


def test_one_repetition_is_the_knockoff_filter(data):
    X, y = data
    selector = KnockoffSelector(0.2, random_state=0).fit(X, y)
    W, t = selector.statistics_[0], selector.thresholds_[0]
    assert_array_equal(selector.get_support(), W >= t)
    assert 5 <= selector.n_features_ == selector.get_support().sum()
    assert (selector.order_[:12] < 12).all()  # strong effects: they win by most


def test_repetitions_are_joined_by_e_values(data):
    X, y = data
    selector = KnockoffSelector(0.3, n_repeats=8, random_state=0).fit(X, y)
    e = np.zeros(40)
    for W in selector.statistics_:
        t = knockoff_threshold(W, 0.15)
        e += 40 * (W >= t) / (1 + (W <= -t).sum()) / 8
    assert_allclose(selector.e_values_, e)
    counts = [k for k in range(1, 41) if np.sort(e)[::-1][k - 1] >= 40 / (0.3 * k)]
    assert selector.n_features_ == max(counts, default=0)
    assert e[selector.get_support()].min() > e[~selector.get_support()].max()
    draws = gaussian_knockoffs(X, random_state=0)
    assert_array_equal(
        clone(selector).fit(X, y, knockoffs=draws).statistics_[0], selector.statistics_[0]
    )


def test_e_values_that_are_large_enough():
    assert _count_selected(np.array([20.0, 20.0, 0.0, 0.0]), 0.1) == 2
    assert _count_selected(np.array([19.0, 19.0, 0.0, 0.0]), 0.1) == 0


def test_jobs_give_the_same(data):
    X, y = data
    one = KnockoffSelector(0.5, n_repeats=4, random_state=0).fit(X, y)
    with parallel_config(backend="threading"):
        other = KnockoffSelector(0.5, n_repeats=4, random_state=0, n_jobs=2).fit(X, y)
    assert_array_equal(one.statistics_, other.statistics_)


def test_names_and_model_files(data, tmp_path):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(40)])
    selector = KnockoffSelector(0.2, random_state=0).fit(frame, y)
    names = selector.get_feature_names_out()
    assert_array_equal(names, [f"g{j}" for j in selector.get_support(indices=True)])
    psvm.save(selector, tmp_path / "k.psvm")
    again = psvm.load(tmp_path / "k.psvm")
    assert_array_equal(again.transform(frame), selector.transform(frame))
    assert_array_equal(again.e_values_, selector.e_values_)


# ---------------------------------------------------------------- errors


def test_what_cannot_work_is_refused(data, rng):
    X, y = data
    flat = X.copy()
    flat[:, [3, 8]] = 1.5
    with pytest.raises(ValueError, match=r"X has 2 constant columns \(3, 8\)"):
        KnockoffSelector().fit(flat, y)
    with pytest.raises(ValueError, match=r"needs more rows than columns, got 30 rows and 40"):
        KnockoffSelector(covariance="empirical").fit(X[:30], y[:30])
    twice = X.copy()
    twice[:, 5] = X[:, 6]
    with pytest.raises(ValueError, match="is singular"):
        KnockoffSelector(covariance="empirical").fit(twice, y)
    with pytest.raises(ValueError, match="takes 10 features or more"):
        KnockoffSelector(0.1).fit(X[:, :5], y)
    with pytest.raises(ValueError, match="takes 50 features or more"):
        KnockoffSelector(0.04, n_repeats=2).fit(X, y)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((200, 39), "knockoffs must have the shape of X"),
        ((200,), "knockoffs must have the shape of X"),
        ((0, 200, 40), "knockoffs must have the shape of X"),
    ],
)
def test_wrong_shapes_of_knockoffs(data, shape, message):
    with pytest.raises(ValueError, match=message):
        KnockoffSelector().fit(*data, knockoffs=np.zeros(shape))


def test_wrong_entries_of_knockoffs(data):
    X, y = data
    with pytest.raises(ValueError, match="finite numbers"):
        KnockoffSelector().fit(X, y, knockoffs=np.full_like(X, np.nan))
    with pytest.raises(ValueError, match="A matrix of knockoffs has 40 constant columns"):
        KnockoffSelector().fit(X, y, knockoffs=np.ones_like(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fdr": 0}, "fdr must be"),
        ({"fdr": 1}, "fdr must be"),
        ({"method": "asdp"}, "method must be"),
        ({"covariance": "mle"}, "covariance must be"),
        ({"statistic": "max"}, "statistic must be"),
        ({"n_repeats": 0}, "n_repeats must be"),
    ],
)
def test_wrong_parameters_are_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        KnockoffSelector(**options).fit(*data)


# ---------------------------------------------------------------- the level


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"statistic": "difference"}, {"n_repeats": 3}])
def test_false_discovery_rate_is_kept(options):
    shares = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(200, 60))
        y = 0.35 * X[:, :15].sum(axis=1) + rng.normal(size=200)
        chosen = KnockoffSelector(0.2, random_state=seed, **options).fit(X, y).get_support()
        shares.append(chosen[15:].sum() / max(chosen.sum(), 1))
    # at most the level, but for three standard errors of the mean
    assert np.mean(shares) <= 0.2 + 3 * np.std(shares) / 10


def test_the_unit_of_columns_does_not_matter(data):
    """Powers of two change no digits, also where squares of entries are no numbers."""
    X, _ = data
    copies = gaussian_knockoffs(X, random_state=0)
    for power in (-800, 800):
        scaled = gaussian_knockoffs(np.ldexp(X, power), random_state=0)
        assert_allclose(np.ldexp(scaled, -power), copies, rtol=1e-12)


def test_boolean_columns_and_knockoffs(data):
    X, y = data
    X, copies = X > 0, gaussian_knockoffs(X, random_state=0) > 0
    found = KnockoffSelector(0.2).fit(X, y, knockoffs=copies)
    numbers = KnockoffSelector(0.2).fit(X.astype(float), y, knockoffs=copies.astype(float))
    assert_array_equal(found.statistics_, numbers.statistics_)
