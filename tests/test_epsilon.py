"""The choice of epsilon: folds by content, walks and their rules, and the folds and criteria."""

import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

import psvm
import walks
from psvm import PSVC, PSVR, WorkingSet
from psvm._folds import N_FOLDS, assign_folds
from psvm.choice import (
    POLICY,
    RowsMachine,
    SquaredLoss,
    choose,
    folds_by_content,
    grid,
    walk,
)
from psvm.choice._left_out import Point
from psvm.estimators import describe
from psvm.kernels import RBF
from psvm.matrix import (
    as_matrix,
    object_digests,
    row_digests,
    unordered_hashes,
)
from psvm.solvers import Clock
from test_loo import left_out, rows_of_unit_columns
from test_sigmoid import log_losses


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


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["numbers", "signs", "counts", "sparse"]))
def test_unordered_hashes_see_neither_order_nor_signs_of_columns(seed, kind):
    rng = np.random.default_rng(seed)
    X = {
        "numbers": lambda: rng.normal(size=(30, 3)),
        "signs": lambda: rng.choice([-1.0, 1.0], size=(30, 10)),
        "counts": lambda: rng.integers(0, 3, size=(30, 6)).astype(float),
        "sparse": lambda: (rng.uniform(size=(30, 12)) < 0.2).astype(float),
    }[kind]()
    X = np.unique(X, axis=0)
    hashes, order = unordered_hashes(X), rng.permutation(X.shape[1])
    signs = rng.choice([-1.0, 1.0], size=X.shape[1])
    np.testing.assert_array_equal(unordered_hashes((X * signs)[:, order]), hashes)
    rows = rng.permutation(len(X))
    np.testing.assert_array_equal(unordered_hashes(X[rows]), hashes[rows])
    np.testing.assert_array_equal(unordered_hashes(sp.csc_array(X)), hashes)
    if kind in ("numbers", "counts"):
        assert len(set(hashes)) == len(X)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), classes=st.booleans())
def test_folds_of_opposite_targets_are_the_same(seed, classes):
    """As sets of rows; equal rows may have both targets."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 60))
    X = rng.normal(size=(n, 2))
    X[: n // 5] = X[n // 5 : 2 * (n // 5)]
    y = rng.choice([-1.0, 1.0], size=n) if classes else rng.normal(size=n)
    weights = rng.choice([1.0, 3.0], size=n)
    digests = row_digests(X)
    folds, other = (assign_folds(digests, target, weights) for target in (y, -y))
    means = np.array([weights[same] @ y[same] / weights[same].sum() for same in
                      (np.array([d == e for e in digests]) for d in digests)])  # fmt: skip
    if (means == 0).any():
        return  # a row of both classes in equal shares is in the middle either way
    same = folds[:, None] == folds
    np.testing.assert_array_equal(other[:, None] == other, same)


# --- walks and the rules


class Numbers:
    """A source whose values are given: losses of two kinds of rows at each point."""

    def __init__(self, values, sizes=None):
        self.values = values
        self.sizes = range(len(values)) if sizes is None else sizes
        self.asked = 0

    def points(self, epsilons):
        for value, size in zip(self.values, self.sizes, strict=True):
            self.asked += 1
            yield Point(np.asarray(value)[None], size, None)


class Plain:
    """The loss of a row is its value."""

    least, weights = -1.0, None

    def __call__(self, values):
        return values[0], np.zeros(1)

    def mean(self, losses):
        return losses.mean(axis=-1)

    def error(self, differences):
        return differences.std(axis=-1) / np.sqrt(differences.shape[-1])


def followed(values, rule="best", sizes=None, most=1000, clock=None, **options):
    """A walk of given losses, and how many points it has asked for."""
    source = Numbers(values, sizes)
    epsilons = grid(1.0)[: len(values)]
    found = walk(source, Plain(), epsilons, most, clock or Clock(), rule, **options)
    return found, source.asked


def noisy(means, spread=1.0, n=40):
    """Losses of n rows with these means and paired differences of a standard deviation."""
    pattern = np.tile([1.0, -1.0], n // 2)
    return [mean + spread * (place % 2) * pattern for place, mean in enumerate(means)]


@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_best_is_the_smallest_mean_and_sparse_the_largest_epsilon_within_an_error(seed):
    rng = np.random.default_rng(seed)
    losses = rng.normal(size=(12, 30)) + 0.5 * np.abs(np.arange(12) - 7)[:, None]
    means, loss = losses.mean(axis=1), Plain()
    best = choose(loss, losses, means, "best")
    assert best == means.argmin()
    difference = losses - losses[best]
    error = difference.std(axis=1) / np.sqrt(30)
    expected = min(np.flatnonzero(difference.mean(axis=1) <= error))
    assert choose(loss, losses, means, "sparse") == expected <= best


@pytest.mark.parametrize("rule", ["best", "sparse"])
def test_ties_go_to_the_larger_epsilon(rule):
    losses = np.array([[3.0, 3.0], [1.0, 1.0], [1.0, 1.0], [2.0, 2.0]])
    losses[2] -= 1e-9  # less than a millionth: rounding, or the last step to least squares
    assert choose(Plain(), losses, losses.mean(axis=1), rule) == 1


def test_a_walk_ends_when_the_loss_has_turned():
    """By two points in a row that are clearly worse than the best one."""
    found, asked = followed([np.full(40, m) for m in (3.0, 2.0, 1.0, 2.0, 3.0, 4.0, 5.0)])
    assert (found.best, asked) == (2, 5)
    # one that is worse is none, nor are those within their errors
    found, asked = followed([np.full(40, m) for m in (3.0, 2.0, 3.0, 1.0, 0.5)])
    assert (found.best, asked) == (4, 5)
    found, asked = followed(noisy([3.0, 2.0, 2.01, 2.02, 2.01, 1.0], spread=5.0))
    assert (found.best, asked) == (5, 6)


def test_a_walk_ends_when_the_loss_has_not_improved_for_long():
    means = [3.0, 1.0, *np.full(30, 1.01)]
    found, asked = followed(noisy(means, spread=5.0))
    assert (found.best, asked) == (1, 2 + POLICY.patience)


def test_a_walk_ends_where_there_are_as_many_support_objects_as_rows_allow():
    losses = [np.full(40, 1.0 / (1 + k)) for k in range(20)]
    found, asked = followed(losses, sizes=range(20), most=9)
    assert asked == 10
    assert found.best == 9


def test_a_walk_ends_where_nothing_is_left_to_explain(rng):
    y = rng.normal(size=30)
    loss = SquaredLoss(np.ones(30), y[None])
    source = Numbers([share * y for share in (0.0, 0.5, 1.0, 1.0, 1.0)])
    found = walk(source, loss, grid(1.0)[:5], 1000, Clock())
    assert source.asked == 3
    assert found.best == 2


def test_a_walk_says_that_its_time_is_over():
    over = SimpleNamespace(over=True)
    with pytest.warns(ConvergenceWarning, match="max_time ended the search for epsilon at 1 of"):
        found, asked = followed([np.full(9, 2.0), np.full(9, 1.0)], clock=over)
    assert (found.best, asked) == (0, 1)


def test_the_grid_is_that_of_the_policy():
    epsilons = grid(7.0)
    assert epsilons[0] == 7.0
    np.testing.assert_allclose(epsilons[:-1] / epsilons[1:], 10 ** (1 / POLICY.per_decade))
    assert epsilons[-1] == pytest.approx(7.0 * 10.0**-POLICY.decades)
    assert len(grid(1.0, replace(POLICY, per_decade=2, decades=3))) == 7


# --- the choice, recomputed from outside


def constant(y, values, weights):
    """The certain part of the mean residual of values within one range of the targets."""
    reach = y.max() - y.min()
    residual = y - np.clip(values, y.min() - reach, y.max() + reach)
    share = weights / weights.sum()
    mean = share @ residual
    variance = POLICY.doubt * np.square(share) @ np.square(residual - mean)
    return mean * max(0.0, 1 - variance / mean**2) if mean else 0.0


def squared_losses(y, values, weights):
    """Squared errors of values with the constant that they ask for."""
    reach = y.max() - y.min()
    inside = np.clip(values, y.min() - reach, y.max() + reach)
    return np.square(y - inside - constant(y, values, weights))


def losses_along(fit, epsilons, y, classifies):
    """Mean losses of held-out values by `fit(epsilon)`."""
    values = [fit(epsilon) for epsilon in epsilons]
    ones = np.ones(len(y))
    if classifies:
        return np.array([log_losses(v, y, ones) for v in values])
    return np.array([squared_losses(y, v, ones) for v in values])


def chosen_from(losses, epsilons, rule):
    means = losses.mean(axis=1)
    best = (means <= means.min() * (1 + 1e-6)).argmax()  # many points may have all variables at C
    if rule == "best":
        return epsilons[best]
    difference = losses - losses[best]
    error = difference.std(axis=1) / np.sqrt(losses.shape[1])
    return epsilons[np.flatnonzero(means - means[best] <= error)[0]]


@pytest.mark.parametrize("rule", ["best", "sparse"])
@pytest.mark.parametrize("kernel", ["rbf", "precomputed", "dyadic"])
@pytest.mark.parametrize("classifies", [False, True])
def test_auto_is_the_rule_recomputed_from_outside(kernel, classifies, rule, rng):
    """Solutions by another solver, values by refits, losses and errors from their definitions."""
    X, noise = rng.normal(size=(60, 2)), rng.normal(size=60)
    K = rng.normal(size=(60, 25)) if kernel == "dyadic" else rbf_kernel(X, gamma=0.5)
    y = (K[:, :4].sum(axis=1) if kernel == "dyadic" else np.sin(2 * X[:, 0])) + 0.3 * noise
    y = np.where(y > 0, 1.0, -1.0) if classifies else y
    options = {"kernel": kernel, "gamma": 0.5, "rule": rule}
    with walks.recorded() as found:
        model = (PSVC if classifies else PSVR)(**options).fit(X if kernel == "rbf" else K, y)
    ((followed, *_),) = found
    assert walks.decided(found, 1e-6)
    own = np.full(25, -1) if kernel == "dyadic" else np.arange(60)
    Z = rows_of_unit_columns(K, np.ones(60))

    def values(epsilon):
        s = psvm.solve(K, y, epsilon=epsilon, solver=WorkingSet(tol=1e-8))
        parts = np.ones(60), np.arange(60), own, s.alpha, np.inf, epsilon
        return left_out(Z, y, *parts)

    largest = np.abs(Z.T @ (y - y.mean())).max()
    epsilons = largest * 10.0 ** (-np.arange(len(followed.means)) / 6)
    epsilons[0] *= 1 + 1e-9  # nothing is selected there
    losses = losses_along(values, epsilons, y, classifies)
    np.testing.assert_allclose(followed.means, losses.mean(axis=1), rtol=1e-4)
    assert model.epsilon_ == pytest.approx(chosen_from(losses, epsilons, rule), rel=1e-6)


@pytest.mark.parametrize("C", [np.inf, 1.0])
@pytest.mark.parametrize("classifies", [False, True])
def test_cv_is_the_rule_recomputed_from_outside(classifies, C, rng):
    """An independent loop: slices of the data, cold solves, and the share of C and epsilon."""
    X = rng.uniform(-3, 3, size=(81, 1))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=81)
    y = np.where(y > 0, 1.0, -1.0) if classifies else y
    K = rbf_kernel(X, X, gamma=1 / X.var())
    with walks.recorded() as found:
        model = (PSVC if classifies else PSVR)(kernel="precomputed", epsilon="cv", C=C).fit(K, y)
    ((followed, *_),) = found
    folds = assign_folds(object_digests(K), y, np.ones(81))
    assert N_FOLDS == folds.max() + 1

    def values(epsilon):
        value = np.empty(81)
        for fold in range(N_FOLDS):
            a, b = folds != fold, folds == fold
            share = np.sqrt(a.sum() / 81)
            s = psvm.solve(K[np.ix_(a, a)], y[a], C=share * C, epsilon=share * epsilon, tol=1e-8)
            value[b] = K[np.ix_(b, a)] @ s.coef + s.intercept
        return value

    largest = np.abs(rows_of_unit_columns(K, np.ones(81)).T @ (y - y.mean())).max()
    epsilons = largest * 10.0 ** (-np.arange(len(followed.means)) / 6)
    losses = losses_along(values, epsilons, y, classifies)
    np.testing.assert_allclose(followed.means, losses.mean(axis=1), rtol=1e-4)
    assert model.epsilon_ == pytest.approx(chosen_from(losses, epsilons, "best"), rel=1e-6)


def test_equal_rows_of_a_fold_count_together(rng):
    """The row twice has the losses and errors of a weight of 2, whatever its labels."""
    X, y = rng.normal(size=(40, 2)), rng.choice([-1.0, 1.0], size=40)
    times = rng.integers(1, 4, size=40)
    rows = np.repeat(np.arange(40), times)

    def walked(X, y, weights):
        description = describe(X, weights, RBF(1.0), digests=row_digests(X))
        machine = RowsMachine(description, y, np.inf, True, WorkingSet(tol=1e-4))
        splits = folds_by_content(description.digests, y, weights)
        return walk(*machine.of_folds(splits), grid(machine.largest)[:8], 39, Clock())

    one, other = walked(X, y, times.astype(float)), walked(X[rows], y[rows], np.ones(len(rows)))
    np.testing.assert_allclose(np.sort(other.losses), np.sort(one.losses), rtol=1e-7)
    np.testing.assert_allclose(other.means, one.means, rtol=1e-9)


def test_aicc_minimises_its_criterion_recomputed_from_outside(rng):
    K = rng.normal(size=(70, 40))
    y = K[:, :3] @ [3.0, -2.0, 1.0] + rng.normal(size=70)
    model = PSVR(kernel="dyadic", epsilon="aicc").fit(K, y)

    def criterion(epsilon):
        s = psvm.solve(K, y, epsilon=epsilon, tol=1e-8)
        df, rss = len(s.support), np.sum((y - K @ s.coef - s.intercept) ** 2)
        return 70 * np.log(rss / 70) + 2 * df + 2 * df * (df + 1) / (70 - df - 1)

    epsilons = model.epsilon_ * 10.0 ** (np.arange(-6, 8) / 6)
    assert criterion(model.epsilon_) <= min(map(criterion, epsilons)) + 1e-6
    assert {0, 1, 2} <= set(model.support_)
    sparse = PSVR(kernel="dyadic", epsilon="aicc", rule="sparse").fit(K, y)
    assert sparse.epsilon_ == model.epsilon_  # it has no standard error


@pytest.mark.parametrize("weight", [1e-6, 1.0])
def test_aicc_of_few_rows_is_no_number_out_of_range(weight):
    """Weights count as rows, so that there may be fewer of them than the criterion needs."""
    X, y = make_moons(40, noise=0.3, random_state=0)
    model = PSVC(kernel="rbf", epsilon="aicc", threshold="mean")
    if weight < 1:
        with pytest.warns(UserWarning, match="no support objects"):
            model.fit(X, y, np.full(40, weight))
    else:
        model.fit(X, y, np.full(40, weight))
    assert (model.n_support_ == 0) == (weight < 1)


# --- models without support objects


@pytest.mark.parametrize("source", ["auto", "cv", "aicc"])
def test_a_model_of_noise_says_that_it_is_empty_and_why(source):
    """Of random features those seeds are taken that have nothing to say."""
    said = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
        model = PSVR(kernel="rbf", epsilon=source)
        with walks.recorded() as found, pytest.warns() as record:
            model.fit(X, y)
            psvm.solvers._solve.warnings.warn("one at least", UserWarning, stacklevel=1)
        ((followed, *_),) = found
        empty = [str(w.message) for w in record if "no support objects" in str(w.message)]
        assert len(empty) == (model.n_support_ == 0)
        if empty:
            said += 1
            best = followed.means[followed.n_support > 0].min()
            assert f"is {followed.means[0]:.6g}," in empty[0]
            assert f"is {best:.6g}." in empty[0]
            assert followed.means[0] <= best * (1 + 1e-6) or source == "aicc"
            np.testing.assert_array_equal(model.predict(X), model.offset_)
    assert said >= 2


def test_a_given_epsilon_may_have_no_support_objects():
    X, y = make_moons(60, noise=0.3, random_state=0)
    assert PSVC(kernel="rbf", epsilon=1e3).fit(X, y).n_support_ == 0


def test_features_that_do_not_vary_are_told():
    with pytest.warns(UserWarning, match="no column of the matrix is correlated with y"):
        PSVC(kernel="dyadic").fit(np.ones((20, 3)), np.arange(20) % 2)


def test_machines_of_which_one_has_support_objects_say_nothing(rng):
    X = rng.normal(size=(60, 2))
    Y = np.column_stack([np.sin(X[:, 0]), rng.normal(size=60)])
    assert PSVR(kernel="rbf").fit(X, Y).n_support_ > 0


# --- what the choice does


def test_noise_is_not_fitted(rng):
    K = rng.normal(size=(100, 50))
    with pytest.warns(UserWarning, match="no support objects"):
        assert PSVR(kernel="dyadic", rule="sparse").fit(K, rng.normal(size=100)).n_support_ == 0


def test_a_twin_of_each_row_changes_nothing_but_the_units(rng, decides):
    """Were twins on both sides, the narrow kernel would predict each held-out row by its twin."""
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    y += 3 * np.sin(X[:, 0])
    assert decides(lambda: PSVR(kernel="rbf", gamma=100.0).fit(X, y))
    single = PSVR(kernel="rbf", gamma=100.0).fit(X, y)
    double = PSVR(kernel="rbf", gamma=100.0).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    # K̃'y grows by sqrt(2) when every row stands there twice, and epsilon with it
    assert double.epsilon_ == pytest.approx(np.sqrt(2) * single.epsilon_, rel=1e-9)
    assert double.n_support_ == single.n_support_


def test_time_limit_covers_the_search():
    X, y = make_moons(400, noise=0.3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        PSVC(kernel="rbf", max_time=1e-6).fit(X, y)


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


@pytest.mark.parametrize("source", ["loo", "cv"])
def test_the_search_takes_little_memory_beside_tall_data(source, rng):
    """A copy of the columns in use for each of five folds would be five times K."""
    L, P = 12_000, 270
    K = rng.normal(size=(L, P))
    y = K[:, :30] @ rng.normal(size=30) + 20 * rng.normal(size=L)
    digests = row_digests(K)

    def search():
        description = describe(K, np.ones(L), "dyadic", digests=digests)
        machine = RowsMachine(description, y, np.inf, False, WorkingSet(tol=1e-4))
        return machine.choose(source, "best", Clock())

    found, peak = peak_memory(search)
    assert found.epsilon > 0
    # temporary blocks, the products of six paths, judged rows, and one copy for these
    assert peak < 3 * K.nbytes


def test_wide_kernels_are_given_time():
    """The columns are alike, and the first support objects say almost nothing."""
    X, y = make_moons(300, noise=0.1, random_state=0)
    model = PSVC(kernel="rbf", gamma=0.1).fit(scale(X), y)
    assert model.score(scale(X), y) > 0.95


@pytest.mark.parametrize("kernel", ["auto", "linear", "rbf"])
def test_a_target_that_nothing_is_correlated_with_has_losses_to_compare(kernel):
    """Each value of X has both classes equally often: products are 0, or rounding."""
    X = np.column_stack([np.arange(30) % 5, np.arange(30) % 3]).astype(float)
    y = np.arange(30) % 2
    model = PSVC(kernel=kernel).fit(X, y)
    assert model.n_support_ == 0
    for row in getattr(model, "candidates_", []):
        assert row["loss"] == pytest.approx(np.log(2), rel=1e-6)
