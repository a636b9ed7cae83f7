"""The choice of epsilon: folds by content, the paths, and what the rules do not depend on."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

import psvm
from psvm import PSVC, PSVR
from psvm._folds import N_FOLDS, assign_folds
from psvm.estimators import choose_epsilon, describe
from psvm.estimators._epsilon import PathPoint, best_of_path, left_out_points
from psvm.estimators._judge import NumbersJudge
from psvm.kernels import RBF
from psvm.matrix import BLOCK_BYTES, as_matrix, object_digests, row_digests
from psvm.solvers import Clock


def test_digests_see_content_only(rng):
    X = rng.integers(0, 2, size=(200, 4)).astype(float)
    digests = row_digests(X)
    assert len(set(digests)) == len(np.unique(X, axis=0)) < 200
    assert digests == row_digests(sp.csr_matrix(X)) == row_digests(X.astype(np.float32))
    assert row_digests(-X * 0.0) == row_digests(np.zeros_like(X))  # -0.0 is 0.0
    # the same values in other places are another row, except in a pairwise matrix
    Y = X + np.arange(4) * 10
    assert row_digests(Y) != row_digests(Y[:, ::-1])
    assert row_digests(Y, unordered=True) == row_digests(Y[:, ::-1], unordered=True)
    twice = np.hstack([Y, Y])
    assert row_digests(Y, unordered=True) == row_digests(twice, unordered=True)


def test_objects_of_a_square_matrix_are_told_apart(rng):
    """Few values, as those of ratings: sets of values are the same for most rows."""
    K = rng.integers(0, 4, size=(60, 60)).astype(float)
    digests = object_digests(K)
    assert len(set(row_digests(K, unordered=True))) < 5 and len(set(digests)) == 60
    order = rng.permutation(60)
    assert object_digests(K[np.ix_(order, order)]) == [digests[i] for i in order]
    assert object_digests(sp.csr_array(K)) == digests
    # an object that stands there twice has one digest, and the others keep theirs
    twice = np.r_[np.arange(60), 7, 7]
    assert object_digests(K[np.ix_(twice, twice)]) == [digests[i] for i in twice]
    # objects that only a permutation tells from each other are not the same
    assert len(set(object_digests(np.eye(5)))) == 5
    assert len(set(object_digests(np.ones((5, 5))))) == 1


def test_folds_do_not_depend_on_order_or_repetition(rng):
    X = rng.normal(size=(103, 3))
    y = np.where(X[:, 0] > 0.5, 1.0, -1.0)
    digests, ones = row_digests(X), np.ones(103)
    folds = assign_folds(digests, y, ones)
    order = rng.permutation(103)
    shuffled = assign_folds([digests[i] for i in order], y[order], ones)
    np.testing.assert_array_equal(shuffled, folds[order])
    doubled = assign_folds(digests * 2, np.tile(y, 2), np.ones(206))
    np.testing.assert_array_equal(doubled, np.tile(folds, 2))
    np.testing.assert_array_equal(assign_folds(digests, y, 3.0 * ones), folds)
    # balanced and stratified: sizes differ by one at most, in each class as well
    for part in (y > 0, y < 0, y != 0):
        sizes = np.bincount(folds[part], minlength=N_FOLDS)
        assert sizes.max() - sizes.min() <= 1


def test_rows_without_weight_have_no_fold(rng):
    X = rng.normal(size=(30, 2))
    weights = np.where(np.arange(30) < 10, 0.0, 1.0)
    folds = assign_folds(row_digests(X), X[:, 0], weights)
    assert (folds[:10] == -1).all()
    np.testing.assert_array_equal(
        folds[10:], assign_folds(row_digests(X[10:]), X[10:, 0], weights[10:])
    )


@pytest.mark.parametrize("rule", ["auto", "cv", "aicc"])
def test_result_does_not_depend_on_the_order_of_rows(rule, rng, decides):
    X, y = make_moons(100, noise=0.3, random_state=0)
    assert decides(lambda: PSVC(epsilon=rule).fit(X, y))
    order = rng.permutation(100)
    model = PSVC(epsilon=rule).fit(X, y)
    shuffled = PSVC(epsilon=rule).fit(X[order], y[order])
    assert shuffled.epsilon_ == pytest.approx(model.epsilon_, rel=1e-9)
    np.testing.assert_allclose(shuffled.decision_function(X), model.decision_function(X), atol=1e-3)


def test_cv_is_the_largest_epsilon_near_the_smallest_error_recomputed_from_outside(rng):
    """An independent loop: slices of the data, cold solves, tight tolerance."""
    X = rng.uniform(-3, 3, size=(80, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=80)
    K = rbf_kernel(X, X, gamma=1 / X.var())
    model = PSVR(kernel="precomputed", epsilon="cv").fit(K, y)
    folds = assign_folds(object_digests(K), y, np.ones(80))

    def loss(epsilon):
        residual = np.empty(80)
        for fold in range(N_FOLDS):
            a, b = folds != fold, folds == fold
            scaled = epsilon * np.sqrt(a.sum() / 80)
            s = psvm.solve(K[np.ix_(a, a)], y[a], epsilon=scaled, tol=1e-6)
            residual[b] = y[b] - K[np.ix_(b, a)] @ s.coef - s.intercept
        return (residual - residual.mean()) ** 2

    # 6 points in a factor of ten
    losses = [loss(model.epsilon_ * 10.0 ** (step / 6)) for step in range(-5, 3)]
    best = min(losses, key=np.mean)

    def excess(loss):
        difference = loss - best
        limit = min(2 * difference.std() / np.sqrt(80), 0.2 * best.mean())
        return difference.mean() - limit

    # The path is solved to a few percent of epsilon, so a neighbour may win by a hair.
    assert excess(losses[5]) <= 0.02 * best.mean()
    assert excess(losses[7]) > -0.02 * best.mean()


def test_aicc_minimises_its_criterion_recomputed_from_outside(rng):
    K = rng.normal(size=(70, 40))
    y = K[:, :3] @ [3.0, -2.0, 1.0] + rng.normal(size=70)
    model = PSVR(kernel="dyadic", epsilon="aicc").fit(K, y)

    def criterion(epsilon):
        s = psvm.solve(K, y, epsilon=epsilon, tol=1e-8)
        df, rss = len(s.support), np.sum((y - K @ s.coef - s.intercept) ** 2)
        return 70 * np.log(rss / 70) + 2 * df + 2 * df * (df + 1) / (70 - df - 1)

    grid = model.epsilon_ * 10.0 ** (np.arange(-4, 8) / 10)
    assert criterion(model.epsilon_) <= min(map(criterion, grid)) + 0.5
    assert {0, 1, 2} <= set(model.support_)


def test_noise_is_not_fitted(rng):
    K = rng.normal(size=(100, 50))
    model = PSVR(kernel="dyadic").fit(K, rng.normal(size=100))
    assert model.n_support_ < 15


def test_a_twin_of_each_row_changes_nothing_but_the_units(rng, decides):
    """Were twins on both sides, the narrow kernel would predict each held-out row by its twin."""
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    assert decides(lambda: PSVR(gamma=100.0).fit(X, y))
    single = PSVR(gamma=100.0).fit(X, y)
    double = PSVR(gamma=100.0).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    # K̃'y grows by sqrt(2) when every row stands there twice, and epsilon with it
    assert double.epsilon_ == pytest.approx(np.sqrt(2) * single.epsilon_, rel=1e-9)
    assert double.n_support_ == single.n_support_


@pytest.mark.parametrize(("fewest", "asked"), [(300, 4), (100, 5), (0, 10)])
def test_a_path_ends_when_the_loss_has_clearly_turned(fewest, asked):
    """After two losses beyond the smallest, or one of large supports; small ones may have more."""
    sizes, residuals = [3.0, 2.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], np.tile([1.0, -1.0], 20)
    judge = NumbersJudge(np.ones(40), np.arange(40), np.zeros(40))
    seen = []

    def blocks():
        for n_support, size in enumerate(sizes):
            seen.append(size)
            yield [PathPoint(size * residuals, fewest + n_support)]

    epsilons = [10.0**-step for step in range(len(sizes))]
    chosen = best_of_path(blocks(), judge, epsilons, 1000, Clock())
    assert chosen.epsilon == epsilons[2]
    assert len(seen) == asked


def test_points_that_are_passed_over_keep_the_epsilons_of_the_others(rng, monkeypatch):
    """The solution that is chosen meets the KKT conditions at the epsilon that is chosen."""
    X = rng.normal(size=(150, 4))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.normal(size=150)
    description = describe(X, np.ones(150), RBF(0.2), digests=row_digests(X))
    problem, epsilons = description.problem(y, np.inf), 10.0 ** -np.arange(0, 3, 1 / 6)
    rows, counts = np.arange(150), {}
    epsilons *= problem.epsilon_max
    K = rbf_kernel(X, gamma=0.2)
    Z = (K - K.mean(axis=0)) / np.linalg.norm(K - K.mean(axis=0), axis=0)
    for dear in (0, 150):
        monkeypatch.setattr("psvm.estimators._epsilon.DEAR", dear)
        blocks = left_out_points(description, problem, y, epsilons, 0.75, rows, 150, 1.2)
        points = [point for block in blocks for point in block]
        places = np.cumsum([point.steps for point in points]) - 1
        counts[dear] = [point.n_support for point in points]
        for point, epsilon in zip(points, epsilons[places], strict=True):
            alpha = point.alpha
            F = Z.T @ (Z @ alpha - (y - y.mean()))
            # The path is solved to a millionth of epsilon.
            expected = -epsilon * np.sign(alpha[alpha != 0])
            np.testing.assert_allclose(F[alpha != 0], expected, rtol=1e-5)
            assert np.abs(F).max() <= epsilon * (1 + 1e-5)
    assert len(counts[150]) == len(epsilons)
    assert len(epsilons) / 2 <= len(counts[0]) < len(epsilons)
    assert set(counts[0]) <= set(counts[150])
    monkeypatch.setattr("psvm.estimators._epsilon.DEAR", 0)
    blocks = left_out_points(description, problem, y, epsilons, 0.75, rows, 150)
    assert sum(len(block) for block in blocks) == len(epsilons)  # a search asks for all of them


def test_time_limit_covers_the_search():
    X, y = make_moons(400, noise=0.3, random_state=0)
    with pytest.warns(psvm.solvers._solve.ConvergenceWarning, match="max_time"):
        PSVC(max_time=1e-6).fit(X, y)


def peak_memory(function):
    """What a call returns, and the bytes that it had allocated at most."""
    tracemalloc.start()
    try:
        return function(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_predictions_of_sparse_data_stay_sparse(rng):
    L, P, entries = 20_000, 2_000, 30_000
    places = rng.integers(L, size=entries), rng.integers(P, size=entries)
    K = sp.csr_array((rng.normal(size=entries), places), shape=(L, P))
    matrix, index = as_matrix(K), np.arange(0, P, 2)
    a = rng.normal(size=len(index))
    product, peak = peak_memory(lambda: matrix.columns_matvec(index, a))
    np.testing.assert_allclose(product, K.toarray()[:, index] @ a, atol=1e-12)
    # some vectors; the columns as a dense array would be a thousand times as long
    assert peak < 10 * 8 * (L + P) < 8 * L * len(index) / 50


@pytest.mark.parametrize("rule", ["auto", "cv"])
def test_the_search_takes_little_memory_beside_tall_data(rule, rng):
    """A copy of the columns in use for each of five folds would be five times K."""
    L, P = 6_000, 270
    K = rng.normal(size=(L, P))
    y = K[:, :30] @ rng.normal(size=30) + 20 * rng.normal(size=L)
    digests = row_digests(K)

    def search():
        description = describe(K, np.ones(L), "dyadic", digests=digests)
        return choose_epsilon(rule, description, y, np.inf, psvm.WorkingSet(tol=1e-4))

    chosen, peak = peak_memory(search)
    assert chosen.epsilon > 0
    # a temporary block or two, the products of the columns of six paths and some vectors
    assert peak < 2 * BLOCK_BYTES + 6 * 4 * 8 * P**2 + 100 * 8 * (L + P) < 3 * K.nbytes


def test_wide_kernels_are_given_time():
    """The columns are alike, and the first support objects say almost nothing."""
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = PSVC(gamma=0.1).fit(scale(X), y)
    assert model.score(scale(X), y) > 0.95
