"""Moments of rows: exact sums as oracle, merging and taking away, and paths from moments alone.

A sum of n products is off by at most ``n eps`` of the sum of their absolute values, and merging
adds a few such terms. Everything expected is computed from the rows, in fractions where digits
matter.
"""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import psvm
from psvm import Moments
from psvm._folds import assign_folds
from psvm.choice import Folds, folds_by_content
from psvm.estimators import check_psvm, describe_for, prepare
from psvm.kernels import RBF
from psvm.matrix import DataMatrix, KernelMatrix, Standardized, as_matrix
from psvm.problem import Problem
from psvm.solvers import exact_path
from reference import duality_gap, standardise

EPS = np.finfo(float).eps


def exact(Z, w=None):
    """Means and centred products in fractions: weight, means, products, sums of squares."""
    Z = [[Fraction(float(x)) for x in row] for row in np.asarray(Z)]
    w = [Fraction(1)] * len(Z) if w is None else [Fraction(float(x)) for x in w]
    total, n = sum(w), len(Z[0])
    means = [sum(v * row[j] for v, row in zip(w, Z, strict=True)) / total for j in range(n)]
    D = [[x - m for x, m in zip(row, means, strict=True)] for row in Z]
    S = [
        [sum(v * d[i] * d[j] for v, d in zip(w, D, strict=True)) for j in range(n)]
        for i in range(n)
    ]
    return float(total), np.array(means, float), np.array(S, float)


def assert_moments(moments, K, y, w=None, *, digits=1e-13):
    """The moments are those of the rows, their products to a share of both norms."""
    Z = np.column_stack([K, y])
    total, means, S = exact(Z, w)
    P = np.shape(K)[1]
    size, norms = np.abs(Z).max(), np.sqrt(S.diagonal())
    assert moments.weight == pytest.approx(total, rel=1e-14)
    assert_allclose(np.append(moments.means, moments.target_means), means, atol=4 * EPS * size)
    wrong = np.abs(moments.cross - S)
    assert (wrong <= digits * np.multiply.outer(norms, norms)).all()
    assert_array_equal(moments.cross, moments.cross.T)
    assert moments.n_columns == P


def differences(a, b):
    """Means minus others, with the digits that a mean in one number would not have."""
    return (a.origin - b.origin) + (a.rest - b.rest)


def assert_close(a, b, digits=1e-12):
    """Two moments agree to a share of the norms of the first."""
    norms = np.sqrt(a.cross.diagonal())
    assert a.weight == pytest.approx(b.weight, rel=1e-13)
    assert (np.abs(a.cross - b.cross) <= digits * np.multiply.outer(norms, norms)).all()
    assert (np.abs(differences(a, b)) <= digits * norms / np.sqrt(a.weight)).all()


@st.composite
def rows(draw, least=4, most=30, far=True):
    """Rows of numbers whose means may be large beside their deviations, and a target."""
    L, P = draw(st.integers(least, most)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    K = rng.normal(size=(L, P)) * 10.0 ** rng.integers(-3, 4, P)
    if far:
        K += draw(st.sampled_from([0.0, 1.0, 1e8])) * K.std(axis=0)
    return K, rng.normal(size=L) + draw(st.sampled_from([0.0, 1e8 if far else 10.0]))


@given(rows(), st.booleans())
def test_moments_are_those_of_exact_sums(data, weighted):
    K, y = data
    w = np.random.default_rng(0).choice([0.25, 1.0, 3.0], len(y)) if weighted else None
    assert_moments(Moments.of(K, y, w), K, y, w)


@given(rows(), st.data())
def test_parts_add_up(data, draw):
    K, y = data
    cuts = sorted(draw.draw(st.sets(st.integers(1, len(y) - 1), min_size=1, max_size=4)))
    pieces = np.split(np.arange(len(y)), cuts)
    parts = [Moments.of(K[i], y[i]) for i in pieces]
    assert_moments(sum(parts), K, y)
    assert_moments(sum(parts[::-1]), K, y)
    assert_close(parts[0] + sum(parts[1:]), sum(parts))


@given(rows(), st.integers(1, 3))
def test_two_parts_in_any_order_are_the_same_bits(data, size):
    K, y = data
    a, b = Moments.of(K[size:], y[size:]), Moments.of(K[:size], y[:size])
    if a.weight == b.weight:
        return  # either may come first
    for name in ("origin", "rest", "cross"):
        assert_array_equal(getattr(a + b, name), getattr(b + a, name))


@given(rows(least=8), st.integers(1, 4))
def test_rows_are_taken_away(data, size):
    """What is left has the digits by which its norms do not fall below those of all rows."""
    K, y = data
    a, b = Moments.of(K[size:], y[size:]), Moments.of(K[:size], y[:size])
    left, total = (a + b) - b, a + b
    norms = np.sqrt(total.cross.diagonal())
    assert (np.abs(left.cross - a.cross) <= 1e-12 * np.multiply.outer(norms, norms)).all()
    assert left.weight == a.weight
    assert (np.abs(differences(left, a)) <= 1e-12 * np.sqrt(total.weight) * norms).all()


def test_a_column_that_has_lost_its_variance_is_constant(rng):
    K, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    K[1:, 1] = 0.1
    total = Moments.of(K, y)
    assert total.norms[1] > 0
    left = total - Moments.of(K[:1], y[:1])
    assert left.norms[1] == 0 and (left.norms[[0, 2]] > 0).all()
    assert not left.products[1].any() and not left.products[:, 1].any()
    assert_array_equal(left.Q.diagonal(), [1, 0, 1])
    merged = Moments.of(K[1:9], y[1:9]) + Moments.of(K[9:], y[9:])
    assert merged.norms[1] == 0  # adding never gives it any


def test_an_outlier_costs_no_digits_of_the_others_when_parts_are_added(rng):
    K, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    K[0, 0] = 1e9
    parts = [Moments.of(K[i : i + 10], y[i : i + 10]) for i in (0, 10, 20)]
    assert_moments(parts[1] + parts[2], K[10:], y[10:])
    assert_moments(sum(parts), K, y)


@given(rows(far=False))
def test_weights_count_rows(data):
    K, y = data
    times = np.arange(len(y)) % 3
    again = np.repeat(np.arange(len(y)), times)
    assert_close(Moments.of(K, y, times), Moments.of(K[again], y[again]))
    some = times > 0
    assert_close(Moments.of(K, y, 1.0 * some), Moments.of(K[some], y[some]))


def test_uneven_weights_cost_no_digits(rng):
    K, y = rng.normal(size=(15, 3)), rng.normal(size=15)
    w = 10.0 ** rng.integers(0, 13, 15)
    assert_moments(Moments.of(K, y, w), K, y, w)


class ByColumns(DataMatrix):
    """What the protocol requires and no more."""

    def __init__(self, K):
        self.K, self.shape = K, K.shape

    def matvec(self, a):
        return self.K @ a

    def rmatvec(self, v):
        return self.K.T @ v

    def columns(self, index):
        return self.K[:, index].copy()


@pytest.mark.parametrize("density", [0.03, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_storage_gives_the_same(rng, density, weighted):
    K, Y = rng.normal(size=(60, 7)), rng.normal(size=(60, 2)) + 5
    K[rng.random(K.shape) > density] = 0.0
    w = rng.integers(0, 3, 60) if weighted else None
    expected = Moments.of(K, Y, w)
    assert_moments(expected, K, Y, w)
    storages = [np.asfortranarray(K), sp.csr_array(K), sp.csc_matrix(K), ByColumns(K), K.tolist()]
    for other in storages:
        assert_close(expected, Moments.of(other, Y, w))
    rows, columns = np.arange(60)[::2], np.array([3, 1])
    half = Moments.of(K[::2][:, columns], Y[::2])
    for other in storages[:-1]:
        assert_close(half, Moments.of(as_matrix(other).part(rows, columns), Y[::2]))


def test_sparse_columns_with_a_large_mean_keep_their_digits(rng):
    K = np.zeros((40, 30))
    K[:, 0] = 1e8 + rng.normal(size=40)
    y = rng.normal(size=40)
    assert np.count_nonzero(K) < 0.1 * K.size
    assert_moments(Moments.of(sp.csr_array(K), y), K, y)


@pytest.mark.parametrize("cache_size", [0, 1000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernel_values_are_summed_as_they_are(rng, cache_size, dtype):
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    K = KernelMatrix(RBF(0.5), X, X[:9], cache_size, dtype)
    values = RBF(0.5)(X, X[:9]).astype(dtype)
    assert_close(Moments.of(values, y), Moments.of(K, y))
    K.matvec(np.ones(9))  # now the values may be kept
    assert_close(Moments.of(values, y), Moments.of(K, y))


def test_single_precision_is_summed_in_double(rng):
    K = (100 + rng.normal(size=(400, 3))).astype(np.float32)
    y = rng.normal(size=400)
    assert_moments(Moments.of(K, y), K, y)


def test_blocks_and_threads_make_no_difference(rng, monkeypatch):
    K, y = rng.normal(size=(300, 5)) + 3, rng.normal(size=300)
    whole = Moments.of(K, y)
    monkeypatch.setattr("psvm.matrix._base.SHARED_BYTES", 2000)
    monkeypatch.setattr("psvm.matrix._base.BLOCK_BYTES", 500)
    assert_close(whole, Moments.of(K, y))


def test_several_targets_are_as_good_as_one_each(rng):
    K, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    both = Moments.of(K[:10], Y[:10]) + Moments.of(K[10:], Y[10:])
    assert both.n_targets == 3
    for t, y in enumerate(Y.T):
        one = Moments.of(K, y)
        assert_allclose(both.correlations(t), one.correlations(), atol=1e-13)
        assert both.target_means[t] == pytest.approx(one.target_means[0], abs=1e-15)
        assert both.target_squares[t] == pytest.approx(one.target_squares[0], rel=1e-13)


@given(rows(), st.booleans())
def test_the_standardised_problem(data, weighted):
    K, y = data
    w = np.arange(len(y)) % 3 + 0.5 if weighted else None
    K = np.column_stack([K, np.full(len(y), 0.1)])  # and a constant column
    moments, K_s = Moments.of(K, y, w), Standardized(as_matrix(K), w)
    assert_array_equal(moments.Q.diagonal(), [1] * (K.shape[1] - 1) + [0])
    assert_array_equal(moments.norms > 0, K_s.norms > 0)
    assert_allclose(moments.norms, K_s.norms, rtol=1e-12)
    assert_allclose(moments.Q, K_s.gram(), atol=1e-12)
    problem = Problem.create(K_s, y, 1.0, 0.0)
    size = np.linalg.norm(problem.y)
    assert_allclose(moments.correlations(), problem.l, atol=1e-12 * size)
    assert moments.target_squares[0] == pytest.approx(size**2, rel=1e-12)
    alpha = np.linspace(-1, 1, K.shape[1])
    coef, intercept = moments.coef(alpha)
    expected, shift = K_s.coef(alpha)
    assert_allclose(coef, expected, rtol=1e-12)
    assert intercept == pytest.approx(problem.b + shift, rel=1e-12, abs=1e-12 * np.abs(y).max())


def test_a_constant_target_has_no_correlations(rng):
    moments = Moments.of(rng.normal(size=(10, 3)), np.full(10, 0.1))
    assert not moments.correlations().any() and moments.target_squares[0] == 0


@given(rows(least=8, far=False))
def test_the_error_of_coefficients_needs_no_rows(data):
    K, y = data
    w = np.arange(len(y)) % 3
    moments, coef, intercept = Moments.of(K, y, w), 1 / np.abs(K).max(axis=0), 0.3
    coef[0] = 0.0
    size = np.abs(y) + np.abs(K) @ coef + intercept
    expected = w @ np.square(y - K @ coef - intercept)
    bound = 1e-13 * (w @ np.square(size))
    assert moments.squared_error(coef, intercept) == pytest.approx(expected, abs=bound)


def test_some_columns(rng):
    K, y = rng.normal(size=(20, 5)), rng.normal(size=20)
    moments = Moments.of(K, y)
    assert_close(moments.keep([3, 0]), Moments.of(K[:, [3, 0]], y))
    assert_close(moments.keep(np.arange(5) != 2), Moments.of(np.delete(K, 2, axis=1), y))
    assert moments.keep([]).n_columns == 0
    with pytest.raises(ValueError, match="columns must be"):
        moments.keep([5])


def test_what_cannot_be_is_refused(rng):
    K, y = rng.normal(size=(10, 2)), rng.normal(size=10)
    a, b = Moments.of(K, y), Moments.of(K[:4], y[:4])
    with pytest.raises(ValueError, match="some must be left"):
        b - a
    with pytest.raises(ValueError, match="some must be left"):
        a - a
    with pytest.raises(ValueError, match="not among them"):
        a - Moments.of(100 * K[:4], y[:4])
    for other in (Moments.of(K[:, :1], y), Moments.of(K, np.c_[y, y])):
        with pytest.raises(ValueError, match="cannot be combined with"):
            a + other
        with pytest.raises(ValueError, match="cannot be combined with"):
            a - other
    with pytest.raises(TypeError):
        a + 1
    with pytest.raises(TypeError):
        a - 1
    with pytest.raises(AttributeError):
        a.weight = 3.0
    with pytest.raises(ValueError, match="column 1 of K"):
        Moments.of(np.where(np.arange(2) == 1, np.nan, K), y)
    with pytest.raises(ValueError, match="y must have one entry"):
        Moments.of(K, y[:-1])
    with pytest.raises(ValueError, match="target"):
        a.correlations(1)
    with pytest.raises(ValueError, match="coef"):
        a.squared_error([1.0], 0.0)


def test_repr_and_pickle(rng):
    moments = Moments.of(rng.normal(size=(10, 2)), rng.normal(size=10))
    assert repr(moments) == "Moments(weight=10, n_columns=2, n_targets=1)"
    again = pickle.loads(pickle.dumps(moments))
    assert_array_equal(again.cross, moments.cross)


@pytest.mark.parametrize("C", [np.inf, 0.5])
def test_a_path_from_moments_is_a_path_of_the_rows(rng, C):
    """The objective, recomputed from the rows, is within the gap of the best one."""
    K, w = rng.normal(size=(60, 12)), rng.integers(1, 4, 60)
    K[:, 3] = 2.0
    y = K[:, 0] - K[:, 5] + 0.3 * rng.normal(size=60)
    moments = Moments.of(K[:25], y[:25], w[:25]) + Moments.of(K[25:], y[25:], w[25:])
    l = moments.correlations()
    epsilons = np.abs(l).max() * np.array([1.5, 1.0, 0.5, 0.1, 0.01])
    K_s, y_c = standardise(K, y, w)
    alphas = list(exact_path(moments.Q, l, C, epsilons))
    assert not alphas[0].any() and not alphas[1].any() and np.isinf(C) != (alphas[-1].max() == C)
    for epsilon, alpha in zip(epsilons, alphas, strict=True):
        assert alpha[3] == 0
        assert duality_gap(K_s, y_c, alpha, C, epsilon) <= 1e-9 * (y_c @ y_c)
        solution = psvm.solve(K, y, C, epsilon=epsilon, sample_weight=w, tol=1e-10)
        assert_allclose(alpha, solution.alpha, atol=1e-8 * np.abs(l).max())


def test_nothing_to_follow():
    assert not any(a.any() for a in exact_path(np.zeros((3, 3)), np.zeros(3), 1.0, np.ones(2)))


def described(model, X, y, w=None):
    """Description, target and folds of the only machine of a model."""
    X, target, weights = prepare(model, X, y, w)
    description = describe_for(model, X, weights, target)
    (task,) = target.tasks()
    return description, task.target


def fold_errors(model, description, y, epsilons):
    """Squared errors of the held-out rows, and support objects, for each epsilon."""
    splits = folds_by_content(description.digests, y, description.weights)
    source = Folds(description, y, model.C, splits, check_psvm(model))
    rows = np.concatenate([out for _, out in splits])
    assert_array_equal(np.sort(rows), np.flatnonzero(description.weights))
    points = list(source.points(epsilons))
    errors = [np.square(y[rows] - point.values[0]) @ description.weights[rows] for point in points]
    return errors, [point.n_support for point in points]


def by_hand(description, y, C, epsilons, folds):
    """Errors of held-out rows, each fold solved from its training rows."""
    K, weights = description.matrix.columns(slice(None)), description.weights
    errors, counts = np.zeros(len(epsilons)), np.zeros(len(epsilons), int)
    for fold in range(folds.max() + 1):
        part, out = description.counting(folds != fold), folds == fold
        inside, columns = np.flatnonzero(part.weights), np.flatnonzero(part.usable)
        scale = np.sqrt(part.weights.sum() / weights.sum())
        K_t, K_o = K[np.ix_(inside, columns)], K[out][:, columns]
        for i, epsilon in enumerate(epsilons):
            solution = psvm.solve(
                K_t,
                y[inside],
                scale * C,
                epsilon=scale * epsilon,
                sample_weight=weights[inside],
                tol=1e-9,
            )
            f = K_o @ solution.coef + solution.intercept
            errors[i] += weights[out] @ np.square(y[out] - f)
            counts[i] = max(counts[i], len(solution.support))
    return errors, counts


def models():
    yield "kernel", psvm.PSVR(gamma=0.5, epsilon="cv")
    yield "C", psvm.PSVR(gamma=0.5, epsilon="cv", C=1.0)
    yield "linear features", psvm.PSVR(kernel="dyadic", epsilon="cv")
    yield "landmarks", psvm.PSVR(gamma=0.5, epsilon="cv", landmarks="random", n_landmarks=10)


@pytest.mark.parametrize(("name", "model"), list(models()))
def test_errors_of_folds_are_those_of_fits_of_the_other_rows(rng, name, model):
    X = rng.normal(size=(40, 3))
    X[7] = X[20]  # equal rows leave together
    y, w = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=40), rng.integers(0, 3, 40)
    description, y = described(model, X, y, w)
    folds = assign_folds(description.digests, y, description.weights)
    assert folds[7] == folds[20] or 0 in w[[7, 20]]
    largest = description.problem(y, model.C).epsilon_max
    epsilons = largest * 10.0 ** (0.1 - np.arange(14) / 10)
    found, n_support = fold_errors(model, description, y, epsilons)
    errors, counts = by_hand(description, y, model.C, epsilons, folds)
    assert counts.max() >= 3
    assert_allclose(found, errors, rtol=1e-6)
    assert_array_equal(n_support, counts)


def test_errors_of_folds_know_neither_order_nor_repetition(rng):
    X = rng.normal(size=(40, 2))
    y, model = np.sin(2 * X[:, 0]), psvm.PSVR(gamma=0.5, epsilon="cv")
    w = np.ones(40)
    w[:5] = 2

    def errors(X, y, w):
        description, y = described(model, X, y, w)
        largest = description.problem(y, model.C).epsilon_max
        epsilons = largest * np.array([0.5, 0.2, 0.1])
        return fold_errors(model, description, y, epsilons)[0]

    expected, order = errors(X, y, w), rng.permutation(40)
    assert_allclose(errors(X[order], y[order], w[order]), expected, rtol=1e-9)
    again = np.r_[np.arange(40), :5]
    assert_allclose(errors(X[again], y[again], np.ones(45)), expected, rtol=1e-9)
