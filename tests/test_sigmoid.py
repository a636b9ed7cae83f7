"""Sigmoids of decision values, isotonic curves, and the coupling of pairs."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from psvm.estimators._calibration import Calibration, Steps, couple, fit_steps
from psvm.estimators._sigmoid import Sigmoid, fit_sigmoid

seeds = st.integers(0, 10**6)


def overlapping(seed, n=60):
    """Decision values near -1 and +1 without outliers, classes of different size, and weights."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) < n // 3
    f = np.where(positive, 1.0, -1.0) + rng.uniform(-1.6, 1.6, size=n)
    return f, positive, rng.uniform(0.5, 2.0, size=n)


def smoothed_targets(positive, weights, unit=1.0):
    """A quarter of a row of each class is in the other one."""
    above, below = weights[positive].sum() / unit, weights[~positive].sum() / unit
    return np.where(positive, (above + 0.25) / (above + 0.5), 0.25 / (below + 0.5))


def assert_same(found, expected):
    # Newton's method ends with an error of 1e-13 in the likelihood, and takes one more step
    np.testing.assert_allclose(found.slope, expected.slope, rtol=1e-7)
    scale = abs(expected.slope) + abs(expected.offset)
    np.testing.assert_allclose(found.offset, expected.offset, rtol=0, atol=1e-7 * scale)


# ---------------------------------------------------------------- the maximum


@settings(deadline=None)
@given(seed=seeds, unit=st.sampled_from([0.1, 1.0, 7.0]))
def test_likelihood_has_no_slope_there(seed, unit):
    f, positive, weights = overlapping(seed)
    sigmoid = fit_sigmoid(f, positive, weights, unit)
    slack = weights * (sigmoid(f) - smoothed_targets(positive, weights, unit))
    assert sigmoid.slope > 0
    assert abs(slack.sum()) < 1e-8 * weights.sum()
    assert abs(slack @ f) < 1e-8 * weights.sum()


def test_is_logistic_regression():
    f, positive, weights = overlapping(0, n=300)
    t = smoothed_targets(positive, weights)
    # a row with the target t is one of each class with the weights t and 1 - t
    oracle = LogisticRegression(C=1e12, tol=1e-12, max_iter=1000)
    both = np.concatenate([f, f])[:, None]
    oracle.fit(both, np.repeat([1, 0], 300), np.concatenate([weights * t, weights * (1 - t)]))
    sigmoid = fit_sigmoid(f, positive, weights)
    np.testing.assert_allclose(sigmoid.slope, oracle.coef_[0, 0], rtol=1e-5)
    np.testing.assert_allclose(sigmoid.offset, oracle.intercept_[0], rtol=1e-5)
    assert sigmoid(sigmoid.threshold) == pytest.approx(0.5)


@pytest.mark.parametrize("spread", [1e-12, 1e-9, 0.3])
@pytest.mark.parametrize("n", [6, 60, 6000])
def test_classes_that_do_not_overlap(n, spread):
    """Two points have the probabilities that the smoothed targets say."""
    positive = np.arange(n) < n // 3
    f = np.where(positive, 1.0, -1.0) + spread * np.linspace(-1, 1, n)
    sigmoid = fit_sigmoid(f, positive, np.ones(n))
    assert 0 < sigmoid.slope < np.inf
    assert (sigmoid(f)[positive] > 0.5).all()
    assert (sigmoid(f)[~positive] < 0.5).all()
    if spread < 0.1:
        np.testing.assert_allclose(sigmoid(f), smoothed_targets(positive, np.ones(n)), rtol=1e-6)


# ---------------------------------------------------------------- invariances


@settings(deadline=None)
@given(seed=seeds, factor=st.floats(1e-3, 1e3), shift=st.floats(-10, 10))
def test_follows_the_unit_of_decision_values(seed, factor, shift):
    f, positive, weights = overlapping(seed)
    plain = fit_sigmoid(f, positive, weights)
    moved = fit_sigmoid(factor * f + shift, positive, weights)
    expected = Sigmoid(plain.slope / factor, plain.offset - plain.slope / factor * shift)
    assert_same(moved, expected)
    assert moved.threshold == pytest.approx(factor * plain.threshold + shift, rel=1e-6, abs=1e-6)


@settings(deadline=None)
@given(seed=seeds)
def test_weights_are_repetitions_in_any_order(seed):
    f, positive, _ = overlapping(seed)
    rng = np.random.default_rng(seed)
    times = rng.integers(0, 4, size=len(f))
    expected = fit_sigmoid(f, positive, times.astype(float))
    rows = rng.permutation(np.repeat(np.arange(len(f)), times))
    assert_same(fit_sigmoid(f[rows], positive[rows], np.ones(len(rows))), expected)


@settings(deadline=None)
@given(seed=seeds, factor=st.floats(1e-6, 1e6))
def test_scale_of_the_weights(seed, factor):
    f, positive, weights = overlapping(seed)
    expected = fit_sigmoid(f, positive, weights)
    assert_same(fit_sigmoid(f, positive, factor * weights, unit=factor), expected)


@settings(deadline=None)
@given(seed=seeds)
def test_classes_change_sides(seed):
    f, positive, weights = overlapping(seed)
    plain, turned = fit_sigmoid(f, positive, weights), fit_sigmoid(-f, ~positive, weights)
    assert_same(turned, Sigmoid(plain.slope, -plain.offset))


@pytest.mark.parametrize("fit", [fit_sigmoid, fit_steps])
def test_rows_that_take_no_part(fit):
    f, positive, weights = overlapping(3)
    expected = fit(f, positive, weights)(f)
    more = np.array([np.nan, np.inf, -np.inf, 5.0])
    found = fit(
        np.concatenate([more, f]),
        np.concatenate([[True, False, True, False], positive]),
        np.concatenate([[1.0, 2.0, 3.0, 0.0], weights]),
    )
    np.testing.assert_array_equal(found(f), expected)


# ---------------------------------------------------------------- no sigmoid, and outliers


@pytest.mark.parametrize(
    "f",
    [
        [1.0, 0.5, 0.7, -1.0, -0.5],  # falls
        [0.3, 0.3, 0.3, 0.3, 0.3],
        [np.nan] * 5,
        [np.nan, np.nan, -1.0, 1.0, 2.0],  # one row of a class
        [-2.0, -1.0, -1.0, 1.0, 1.0],  # equal rows, which left together
    ],
)
def test_where_there_is_no_sigmoid(f):
    """The decision stays as it is, and the probabilities are the shares of the classes."""
    positive, weights = np.array([False, False, False, True, True]), np.array([1.0, 2, 1, 1, 1])
    sigmoid = fit_sigmoid(np.array(f), positive, weights)
    assert sigmoid.slope == 0
    assert sigmoid.threshold == 0
    np.testing.assert_allclose(sigmoid(np.array([-9.0, 0.0, 9.0])), 2.25 / 6.5)


@pytest.mark.parametrize("size", [10.0, 1e6, 1e200])
def test_values_that_are_far_off(size):
    """Some values near interpolation are of any size and sign: they are like any other error."""
    f, positive, weights = overlapping(1, n=300)
    expected = fit_sigmoid(f, positive, weights)
    far = f.copy()
    far[[0, 1, 100]] = [size, -size, size]
    found = fit_sigmoid(far, positive, weights)
    assert found.threshold == pytest.approx(expected.threshold, abs=0.2)
    assert expected.slope / 2 < found.slope < 1.1 * expected.slope
    np.testing.assert_array_equal(np.isfinite(found(np.array([-1e300, 1e300]))), True)


def test_most_values_are_equal():
    """Those that are not decide."""
    f = np.concatenate([np.zeros(90), [-2.0, -1.0, 1.0, 2.0]])
    positive = np.arange(94) % 2 == 0
    positive[-4:] = [False, False, True, True]
    sigmoid = fit_sigmoid(f, positive, np.ones(94))
    assert sigmoid.slope > 0
    assert sigmoid.threshold == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_values_out_of_range(size):
    """Squares overflow or vanish: that is no sigmoid, and no warning."""
    f, positive, weights = overlapping(1)
    assert fit_sigmoid(size * f, positive, weights).slope == 0


def test_small_classes_far_away_are_no_outliers():
    f = np.concatenate([np.linspace(-1.1, -0.9, 200), np.linspace(0.9, 1.1, 6)])
    sigmoid = fit_sigmoid(f, f > 0, np.ones(206))
    slack = sigmoid(f) - smoothed_targets(f > 0, np.ones(206))
    assert abs(slack @ f) < 1e-8
    assert -0.5 < sigmoid.threshold < 0.8


# ---------------------------------------------------------------- isotonic curves


def test_steps_are_isotonic_regression():
    f, positive, weights = overlapping(5)
    oracle = IsotonicRegression(out_of_bounds="clip")
    oracle.fit(f, smoothed_targets(positive, weights, 0.5), weights)
    new = np.linspace(-5, 5, 101)
    steps = fit_steps(f, positive, weights, 0.5)
    np.testing.assert_allclose(steps(new), oracle.predict(new), rtol=1e-12)
    assert (np.diff(steps(new)) >= 0).all()


def test_constant_steps():
    steps = fit_steps(np.full(4, np.nan), np.array([True, False, False, False]), np.ones(4))
    np.testing.assert_allclose(steps(np.array([-1.0, 1.0])), 1.25 / 4.5)


# ---------------------------------------------------------------- several classes


def pairs_of(p):
    """The probability of the second class of each pair."""
    i, j = np.triu_indices(p.shape[1], 1)
    return p[:, j] / (p[:, i] + p[:, j])


@settings(deadline=None)
@given(seed=seeds, k=st.integers(2, 8))
def test_pairs_that_agree_have_their_probabilities(seed, k):
    p = np.random.default_rng(seed).dirichlet(np.full(k, 2.0), size=5)
    np.testing.assert_allclose(couple(pairs_of(p), k), p, atol=1e-6)


@settings(deadline=None, max_examples=10)
@given(seed=seeds, k=st.integers(3, 5))
def test_coupling_is_a_quadratic_programme(seed, k):
    r = np.random.default_rng(seed).uniform(size=(1, k * (k - 1) // 2))
    p, (i, j) = cp.Variable(k), np.triu_indices(k, 1)
    loss = cp.sum_squares(cp.multiply(r[0], p[i]) - cp.multiply(1 - r[0], p[j]))
    cp.Problem(cp.Minimize(loss), [cp.sum(p) == 1, p >= 0]).solve(solver=cp.CLARABEL)
    # a solver with a tolerance of 1e-8 in the objective
    np.testing.assert_allclose(couple(r, k)[0], p.value, atol=1e-3)
    found = couple(r, k)[0]
    assert np.sum((r[0] * found[i] - (1 - r[0]) * found[j]) ** 2) <= loss.value + 1e-7


@settings(deadline=None)
@given(seed=seeds, k=st.integers(2, 26))
def test_coupled_probabilities_of_sure_pairs(seed, k):
    """Also of pairs that contradict each other."""
    r = np.random.default_rng(seed).integers(0, 3, size=(20, k * (k - 1) // 2)) / 2
    p = couple(r, k)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_coupling_of_many_rows(rng):
    r = rng.uniform(size=(5000, 45))
    some = [0, 1234, 4999]
    # other blocks are other calls of the same solver
    np.testing.assert_allclose(couple(r, 10)[some], couple(r[some], 10), rtol=1e-10)


def test_classes_against_the_rest():
    curves = tuple(Steps(np.array([-1.0, 1.0]), np.array([0.0, 1.0])) for _ in range(3))
    decisions = np.array([[0.0, 0.0, 0.0], [1.0, -0.5, -0.5], [-3.0, -3.0, -3.0]])
    p = Calibration("ovr", 3, curves).probabilities(decisions)
    np.testing.assert_allclose(p[[0, 2]], 1 / 3)
    np.testing.assert_allclose(p[1], [2 / 3, 1 / 6, 1 / 6])
