"""Losses of held-out values: sigmoids, shifts, isotonic curves, and the coupling of pairs."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from psvm.choice import POLICY, Calibration, ClassesLoss, LogLoss, SquaredLoss, Steps
from psvm.choice._calibration import couple, fit_steps
from psvm.choice._loss import FoldLoss, certain
from psvm.choice._machine import curve_of

seeds = st.integers(0, 10**6)
REACH = 3.0
"""Values of targets between -1 and +1 count up to their range of 2 beyond them."""


def overlapping(seed, n=60):
    """Decision values near -1 and +1 without outliers, classes of different size, and weights."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) < n // 3
    f = np.where(positive, 1.0, -1.0) + rng.uniform(-1.6, 1.6, size=n)
    return f, positive, rng.uniform(0.5, 2.0, size=n)


def loss_of(positive, weights):
    return LogLoss(weights, np.where(positive, 1.0, -1.0)[None])


def fit_sigmoid(f, positive, weights):
    return curve_of(loss_of(positive, weights), f, 0.0, "sigmoid")


def smoothed_targets(positive, weights):
    """A quarter of a row of each class is in the other one; Kish's number of rows counts."""
    unit = weights @ weights / weights.sum()
    above, below = weights[positive].sum() / unit, weights[~positive].sum() / unit
    return np.where(positive, (above + 0.25) / (above + 0.5), 0.25 / (below + 0.5))


def likeliest(f, t, weights):
    """Slope and offset of the sigmoid of largest likelihood, by SciPy."""

    def negative(parameters):
        z = parameters[0] * f + parameters[1]
        slack = weights * (expit(z) - t)
        return weights @ (np.logaddexp(0.0, z) - t * z), np.array([slack @ f, slack.sum()])

    found = minimize(
        negative, np.array([1.0, 0.0]), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    return found.x


def log_losses(values, y, weights):
    """The log loss of each row by the sigmoid of all of them; targets are -1 and +1."""
    f, positive = np.clip(values, -REACH, REACH), y > 0
    f = np.where(np.isnan(f), np.where(positive, -REACH, REACH), f)
    slope, offset = 0.0, 0.0
    if np.ptp(f) > 1e-12:
        slope, offset = likeliest(f, smoothed_targets(positive, weights), weights)
    if not slope > 0:
        unit = weights @ weights / weights.sum()
        counts = [weights[side].sum() / unit + 0.25 for side in (positive, ~positive)]
        slope, offset = 0.0, np.log(counts[0] / counts[1])
    z = slope * f + offset
    return np.logaddexp(0.0, np.where(positive, -z, z))


def assert_same(found, expected):
    # Newton's method ends with an error of 1e-13 in the likelihood, and takes one more step
    np.testing.assert_allclose(found.slope, expected.slope, rtol=1e-7)
    scale = abs(expected.slope) + abs(expected.offset)
    np.testing.assert_allclose(found.offset, expected.offset, rtol=0, atol=1e-7 * scale)


# ---------------------------------------------------------------- the sigmoid


@settings(deadline=None)
@given(seed=seeds, unit=st.sampled_from([0.1, 1.0, 7.0]))
def test_likelihood_has_no_slope_there(seed, unit):
    f, positive, weights = overlapping(seed)
    weights = unit * weights
    sigmoid = fit_sigmoid(f, positive, weights)
    slack = weights * (sigmoid(f) - smoothed_targets(positive, weights))
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


@settings(deadline=None)
@given(seed=seeds)
def test_weights_are_those_of_equal_rows_in_any_order(seed):
    f, positive, weights = overlapping(seed)
    rows = np.random.default_rng(seed).permutation(len(f))
    expected = fit_sigmoid(f, positive, weights)
    assert_same(fit_sigmoid(f[rows], positive[rows], weights[rows]), expected)


@settings(deadline=None)
@given(seed=seeds, factor=st.floats(1e-6, 1e6))
def test_scale_of_the_weights(seed, factor):
    f, positive, weights = overlapping(seed)
    assert_same(fit_sigmoid(f, positive, factor * weights), fit_sigmoid(f, positive, weights))


@settings(deadline=None)
@given(seed=seeds)
def test_classes_change_sides(seed):
    """The sigmoid, the shift and the losses."""
    f, positive, weights = overlapping(seed)
    plain, turned = fit_sigmoid(f, positive, weights), fit_sigmoid(-f, ~positive, weights)
    assert turned.slope == pytest.approx(plain.slope, rel=1e-7)
    assert turned.offset == pytest.approx(-plain.offset, rel=1e-7, abs=1e-7)
    losses, shifts = loss_of(positive, weights)(f[None])
    others, turned = loss_of(~positive, weights)(-f[None])
    np.testing.assert_allclose(others, losses, rtol=1e-7)
    np.testing.assert_allclose(turned, -shifts, rtol=1e-6, atol=1e-9)


def test_equal_rows_of_both_classes_have_their_shares(rng):
    """One group with a mean target is the same as its rows."""
    f, positive = np.array([-2.0, -0.5, 0.4, 1.5, 0.1]), np.array([0.0, 0.25, 0.5, 1.0, 0.75])
    weights = np.array([4.0, 4.0, 2.0, 4.0, 4.0])
    slope, middle, _ = LogLoss(weights, 2 * positive[None] - 1).curve(f[None])
    rows = np.repeat(np.arange(5), 2)
    sides, parts = (
        np.tile([1.0, 0.0], 5),
        np.column_stack([positive, 1 - positive]) * weights[:, None],
    )
    unit = weights @ weights / weights.sum()
    above, below = weights @ positive / unit, weights @ (1 - positive) / unit
    t = np.where(sides > 0, (above + 0.25) / (above + 0.5), 0.25 / (below + 0.5))
    expected = likeliest(f[rows], t, parts.ravel())
    np.testing.assert_allclose([slope, -slope * middle], expected, rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        [1.0, 0.5, 0.7, -1.0, -0.5],  # falls
        [0.3, 0.3, 0.3, 0.3, 0.3],
        [np.nan] * 5,  # the worst values
    ],
)
def test_where_there_is_no_sigmoid(f):
    """The decision stays as it is, and the probabilities are the shares of the classes."""
    positive, weights = np.array([False, False, False, True, True]), np.ones(5)
    sigmoid = fit_sigmoid(np.array(f), positive, weights)
    assert sigmoid.slope == 0
    assert sigmoid.threshold == 0
    np.testing.assert_allclose(sigmoid(np.array([-9.0, 0.0, 9.0])), 2.25 / 5.5)
    losses, shifts = loss_of(positive, weights)(np.array(f)[None])
    np.testing.assert_allclose(losses, -np.log(np.where(positive, 2.25, 3.25) / 5.5))
    assert shifts == 0


@pytest.mark.parametrize("size", [10.0, 1e6, 1e200, np.inf, np.nan])
def test_values_that_are_far_off(size):
    """Some values near interpolation are of any size and sign: they are like any other error."""
    f, positive, weights = overlapping(1, n=300)
    expected = fit_sigmoid(f, positive, weights)
    far = f.copy()
    far[[0, 1, 100]] = [size, -size, size]
    found = fit_sigmoid(far, positive, weights)
    assert found.threshold == pytest.approx(expected.threshold, abs=0.2)
    assert expected.slope / 2 < found.slope < 1.1 * expected.slope


def test_small_classes_far_away_are_no_outliers():
    f = np.concatenate([np.linspace(-1.1, -0.9, 200), np.linspace(0.9, 1.1, 6)])
    sigmoid = fit_sigmoid(f, f > 0, np.ones(206))
    slack = sigmoid(f) - smoothed_targets(f > 0, np.ones(206))
    assert abs(slack @ f) < 1e-8
    assert -0.5 < sigmoid.threshold < 0.8


# ---------------------------------------------------------------- losses


@settings(deadline=None, max_examples=30)
@given(seed=seeds)
def test_log_losses_are_those_of_the_sigmoid(seed):
    f, positive, weights = overlapping(seed)
    f[:2] = [np.nan, 50.0]
    losses, _ = loss_of(positive, weights)(f[None])
    expected = log_losses(f, np.where(positive, 1.0, -1.0), weights)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)


@settings(deadline=None, max_examples=30)
@given(seed=seeds)
def test_squared_losses_have_the_certain_shift(seed):
    rng = np.random.default_rng(seed)
    y, weights = rng.normal(size=(1, 40)), rng.uniform(0.5, 2.0, size=40)
    values = y + rng.normal(size=40) + rng.uniform(0, 1)
    values[0, :3] = [1e9, -1e9, np.nan]
    low, high = y.min() - np.ptp(y), y.max() + np.ptp(y)
    inside = np.clip(values, low, high)
    inside[0, 2] = low if y[0, 2] > y.min() / 2 + y.max() / 2 else high
    share = weights / weights.sum()
    mean = share @ (y - inside)[0]
    variance = np.square(share) @ np.square((y - inside)[0] - mean)
    shift = mean * max(0.0, 1 - POLICY.doubt * variance / mean**2)
    losses, shifts = SquaredLoss(weights, y)(values)
    np.testing.assert_allclose(shifts, shift, rtol=1e-9)
    np.testing.assert_allclose(losses, np.square((y - inside)[0] - shift), rtol=1e-9)


def test_groups_of_equal_rows_have_the_loss_of_their_rows(rng):
    """Their variance is in it, and their targets decide nothing else."""
    y, values, number = rng.normal(size=30), rng.normal(size=10), np.repeat(np.arange(10), 3)
    means = y.reshape(10, 3).mean(axis=1)
    variances = y.reshape(10, 3).var(axis=1)
    ends = np.array([y.min()]), np.array([y.max()])
    groups = SquaredLoss(np.full(10, 3.0), means[None], variances, ends)
    losses, (shift,) = groups(values[None])
    expected = np.square(y - values[number] - shift).reshape(10, 3).mean(axis=1)
    np.testing.assert_allclose(losses, expected, rtol=1e-9)


@settings(deadline=None, max_examples=30)
@given(seed=seeds)
def test_losses_of_several_classes_have_the_best_scale(seed):
    """One scale for all values, by SciPy, and a certain shift for each machine."""
    rng = np.random.default_rng(seed)
    code, weights = rng.integers(0, 3, size=60), rng.uniform(0.5, 2.0, size=60)
    Y = np.where(code == np.arange(3)[:, None], 1.0, -1.0)
    values, share = 0.6 * Y + rng.normal(size=(3, 60)), weights / weights.sum()
    losses, shifts = ClassesLoss(weights, Y)(values)
    for y, value, shift in zip(Y, values, shifts, strict=True):
        residual = y - np.clip(value, -REACH, REACH)
        mean = share @ residual
        variance = np.square(share) @ np.square(residual - mean)
        assert shift == pytest.approx(mean * max(0.0, 1 - variance / mean**2), rel=1e-9)
    f = np.clip(values, -REACH, REACH) + shifts[:, None]

    def along(scale):
        z = scale * f
        return (
            np.log(np.exp(z - z.max(axis=0)).sum(axis=0)) + z.max(axis=0) - z[code, np.arange(60)]
        )

    best = minimize_scalar(lambda log: share @ along(np.exp(log)), bracket=(-1.0, 1.0))
    # the scale is known to 1e-4, and the loss is smallest there
    assert share @ losses == pytest.approx(best.fun, rel=1e-6)
    np.testing.assert_allclose(losses, along(np.exp(best.x)), rtol=1e-2, atol=1e-3)


def test_losses_of_folds_are_those_of_their_rows(rng):
    residuals, weights = rng.normal(size=(5, 8)) + 0.7, rng.uniform(1, 2, size=5)
    values = np.array([np.square(residuals).mean(axis=1), residuals.mean(axis=1)])
    losses, (shift,) = FoldLoss(weights, 0.0)(values)
    np.testing.assert_allclose(losses, np.square(residuals - shift).mean(axis=1), rtol=1e-12)
    share = weights / weights.sum()
    mean = share @ values[1]
    variance = np.square(share) @ np.square(values[1] - mean)
    assert shift == pytest.approx(mean * (1 - variance / mean**2))


@pytest.mark.parametrize("make", [SquaredLoss, ClassesLoss])
def test_standard_errors_of_paired_differences(make, rng):
    weights, y = rng.uniform(0.5, 2.0, size=50), rng.normal(size=(1, 50))
    loss, difference = make(weights, y), rng.normal(size=50)
    share = weights / weights.sum()
    mean = share @ difference
    assert loss.mean(difference) == pytest.approx(mean)
    expected = np.sqrt(np.square(share) @ np.square(difference - mean))
    assert loss.error(difference) == pytest.approx(expected)
    if make is SquaredLoss:  # that of equal weights is the familiar one
        plain = make(np.ones(50), y).error(difference)
        assert plain == pytest.approx(difference.std() / np.sqrt(50))


# ---------------------------------------------------------------- shifts


def test_shifts_count_as_far_as_they_are_certain():
    shifts = np.array([1.0, -1.0, 1.0, 0.0, -2.0, 5.0])
    variances = np.array([0.0, 0.25, 1.0, 0.0, 9.0, np.inf])
    np.testing.assert_array_equal(certain(shifts, variances), [1.0, -0.75, 0.0, 0.0, 0.0, 0.0])


@settings(deadline=None)
@given(seed=seeds, value=st.floats(-1e300, 1e300))
def test_one_row_moves_no_constant(seed, value):
    """By less than a standard error of the others, whatever its value."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=(1, 50))
    values = y + 0.1 * rng.normal(size=50)
    values[0, 0] = value
    (shift,) = SquaredLoss(np.ones(50), y).shifts(values)
    (without,) = SquaredLoss(np.ones(49), y[:, 1:]).shifts(values[:, 1:])
    assert abs(shift - without) < 0.1
    f, positive, weights = overlapping(seed)
    f[0] = value
    (shift,) = loss_of(positive, weights).shifts(f[None])
    (without,) = loss_of(positive[1:], weights[1:]).shifts(f[None, 1:])
    assert abs(shift - without) < 0.35


def test_the_middle_of_a_sigmoid_is_as_certain_as_the_bootstrap_says():
    """Where classes overlap: the variance of the middle against that of resampled rows."""
    rng = np.random.default_rng(0)
    positive = np.arange(400) < 150
    f = np.where(positive, 0.8, -0.4) + rng.normal(size=400)
    _, _, variance = loss_of(positive, np.ones(400)).curve(f[None])
    middles = []
    for _ in range(300):
        rows = rng.integers(400, size=400)
        middles.append(loss_of(positive[rows], np.ones(400)).curve(f[None, rows])[1])
    assert np.sqrt(variance) == pytest.approx(np.std(middles), rel=0.2)


# ---------------------------------------------------------------- isotonic curves


def test_steps_are_isotonic_regression():
    f, positive, weights = overlapping(5)
    oracle = IsotonicRegression(out_of_bounds="clip")
    oracle.fit(f, smoothed_targets(positive, weights), weights)
    new = np.linspace(-5, 5, 101)
    steps = fit_steps(f, positive, weights, weights @ weights / weights.sum())
    np.testing.assert_allclose(steps(new), oracle.predict(new), rtol=1e-12)
    assert (np.diff(steps(new)) >= 0).all()


def test_constant_steps():
    steps = fit_steps(np.full(4, np.nan), np.array([1.0, 0.0, 0.0, 0.0]), np.ones(4), 1.0)
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
