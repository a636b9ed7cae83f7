"""The path along epsilon: every point of it is judged from (K, y, alpha) alone."""

import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, lars_path

import psvm
import reference
from psvm.kernels import RBF, Linear
from psvm.matrix import KernelMatrix, Standardized, as_matrix
from psvm.solvers import _homotopy, _path

KKT = 1e-9
"""Share of ||K̃'y||_inf that a violation may have anywhere on the path: what is promised."""


def worst(K_s, y_c, alpha, C, epsilon):
    F = reference.gradient(K_s, y_c, alpha)
    return max(reference.violation(alpha, F, C, epsilon).max(initial=0.0), 0.0)


def check_path(path, K, y, C=np.inf, weights=None, rng=None, between=15):
    """KKT conditions at all points and at random epsilons between, gaps, counts and order."""
    K_s, y_c = reference.standardise(K, y, weights)
    largest = np.abs(K_s.T @ y_c).max(initial=0.0)
    assert path.status is psvm.Status.OPTIMAL
    assert path.epsilon_max == pytest.approx(largest, rel=1e-12)
    alphas = path.alphas.toarray()
    assert alphas.shape == (len(path.epsilons), K.shape[1])
    assert (np.diff(path.epsilons) < 0).all()
    assert (np.abs(alphas) <= C).all()
    np.testing.assert_array_equal(path.n_selected, (alphas != 0).sum(axis=1))
    scale = max(0.5 * y_c @ y_c, np.finfo(float).tiny)
    for epsilon, alpha, gap in zip(path.epsilons, alphas, path.gaps, strict=True):
        assert worst(K_s, y_c, alpha, C, epsilon) <= KKT * largest
        if epsilon > 0:
            # Two sums of terms up to 1/2 y'y.
            expected = reference.duality_gap(K_s, y_c, alpha, C, epsilon)
            assert gap == pytest.approx(max(expected, 0), rel=1e-3, abs=1e-10 * scale)
        np.testing.assert_array_equal(path.alpha_at(epsilon), alpha)
    if rng is not None:
        for epsilon in rng.uniform(path.epsilons[-1], largest, size=between):
            assert worst(K_s, y_c, path.alpha_at(epsilon), C, epsilon) <= KKT * largest
    check_order(path)


def check_order(path):
    """Each variable that is ever non-zero once, by the first point at which it is."""
    points = np.array([path.alpha_at(epsilon) for epsilon in path.knots])
    entered = np.flatnonzero(points.any(axis=0))
    np.testing.assert_array_equal(np.sort(path.order), entered)
    first = (points[:, path.order] != 0).argmax(axis=0)
    assert (np.diff(first) >= 0).all()
    size = np.abs(points[first, path.order])
    assert (np.diff(size)[np.diff(first) == 0] <= 0).all()


def degenerate_matrix(rng):
    """Small integers, where many events coincide, some with copies and opposites of columns."""
    kind = rng.integers(4)
    L = rng.integers(3, 12)
    if kind == 0:
        return rng.integers(0, 2, size=(L, rng.integers(3, 300))).astype(float)
    if kind == 1:
        return rng.integers(-1, 2, size=(L, rng.integers(4, 60))).astype(float)
    if kind == 2:
        K = rng.integers(-1, 2, size=(L, rng.integers(3, 9))).astype(float)
        return np.hstack([K, -K, 2 * K, K + 1])
    return reference.random_matrix(rng, "integers").astype(float)


def random_path_problem(rng, degenerate):
    K = (
        degenerate_matrix(rng)
        if degenerate
        else reference.random_matrix(rng, reference.KINDS[rng.integers(len(reference.KINDS))])
    )
    L = len(K)
    y = rng.normal(size=L)
    if degenerate or rng.random() < 0.5:
        y = np.where(y > 0, 1.0, -1.0) if rng.random() < 0.5 else np.round(2 * y)
    weights = None
    if rng.random() < 0.3:
        weights = rng.choice([0.0, 1.0, 1.0, 2.0], size=L)
        weights[0] = 1.0
    size = np.linalg.norm(reference.standardise(K, y, weights)[1]) or 1.0
    C = float(rng.choice([np.inf, np.inf, 1e-3, 0.05, 0.2, 0.5, 1.0])) * size
    return K, y, C, weights, float(rng.choice([1e-3, 1e-2, 0.1]))


def check_random(seeds, *, degenerate):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        K, y, C, weights, ratio = random_path_problem(rng, degenerate)
        path = psvm.epsilon_path(K, y, C, min_ratio=ratio, method="homotopy", sample_weight=weights)
        assert path.epsilons[-1] == pytest.approx(ratio * path.epsilon_max), seed
        check_path(path, K, y, C, weights, rng)


@pytest.mark.parametrize("degenerate", [False, True])
def test_random_problems(degenerate):
    check_random(range(120), degenerate=degenerate)


@pytest.mark.parametrize("degenerate", [False, True])
def test_random_problems_with_a_working_set(monkeypatch, degenerate):
    """Few columns would be taken in all at once; here they join and leave as many columns do."""
    monkeypatch.setattr(Standardized, "few", False)
    monkeypatch.setattr(_homotopy, "ROOM", 3)
    check_random(range(200, 300), degenerate=degenerate)


def test_many_columns(rng):
    """Far more columns than the working set has, some of them copies, also with a bound."""
    K = rng.normal(size=(40, 3000)) + rng.normal(size=(40, 1))
    K[:, 2000:2100] = -K[:, :100]
    y = np.sign(rng.normal(size=40))
    for C in (np.inf, 0.5):
        path = psvm.epsilon_path(K, y, C, min_ratio=1e-3)
        check_path(path, K, y, C, rng=rng)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("degenerate", [False, True])
def test_many_random_problems(block, degenerate, monkeypatch):
    if block % 2:
        monkeypatch.setattr(Standardized, "few", False)
    check_random(range(1000 + 300 * block, 1300 + 300 * block), degenerate=degenerate)


@pytest.mark.parametrize("C", [np.inf, 1.0])
def test_agrees_with_an_interior_point_method(rng, C):
    K, y = rng.normal(size=(25, 40)), rng.normal(size=25)
    path = psvm.epsilon_path(K, y, C)
    K_s, y_c = reference.standardise(K, y)
    bounded = 0
    for epsilon in rng.uniform(0.02, 0.9, size=6) * path.epsilon_max:
        alpha = path.alpha_at(epsilon)
        bounded += np.count_nonzero(np.abs(alpha) == C)
        oracle = reference.cvxpy_solve(K_s, y_c, C, epsilon)
        ours, theirs = (reference.objective(K_s, y_c, a, epsilon) for a in (alpha, oracle))
        assert ours <= theirs + 1e-9 * (y_c @ y_c)  # its own tolerance is 1e-11 of such numbers
        np.testing.assert_allclose(alpha, oracle, atol=1e-3 * np.abs(oracle).max())
    assert (bounded > 0) == np.isfinite(C)


def test_agrees_with_lars(rng):
    K = rng.normal(size=(30, 80))
    y = K[:, :4] @ [3.0, -2.0, 1.0, 0.5] + rng.normal(size=30)
    K_s, y_c = reference.standardise(K, y)
    alphas, _, coefs = lars_path(K_s, y_c, method="lasso", alpha_min=0.01 / 30)
    path = psvm.epsilon_path(K, y, min_ratio=0.01 / path_max(K, y))
    # LARS divides the squared error by the number of rows.
    np.testing.assert_allclose(path.epsilons[:-1], 30 * alphas[:-1], rtol=1e-8)
    np.testing.assert_allclose(path.alphas.toarray()[:-1], coefs.T[:-1], atol=1e-8)


def path_max(K, y):
    return psvm.epsilon_path(K, y, min_ratio=1).epsilon_max


def test_agrees_with_lasso_and_solve(rng):
    K, y = rng.normal(size=(40, 30)), rng.normal(size=40)
    K_s, y_c = reference.standardise(K, y)
    path = psvm.epsilon_path(K, y)
    for share in (0.5, 0.1, 0.02):
        epsilon = share * path.epsilon_max
        lasso = Lasso(alpha=epsilon / 40, fit_intercept=False, tol=1e-12, max_iter=10**6)
        np.testing.assert_allclose(path.alpha_at(epsilon), lasso.fit(K_s, y_c).coef_, atol=1e-6)
        solution = psvm.solve(K, y, epsilon=epsilon, tol=1e-10)
        np.testing.assert_allclose(path.alpha_at(epsilon), solution.alpha, atol=1e-7)


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("C", [np.inf, 0.3])
def test_grid_is_homotopy(rng, monkeypatch, C, traced):
    if not traced:
        monkeypatch.setattr(_path, "LARGEST_TRACED", 0)
    K, y = rng.normal(size=(30, 400)), rng.normal(size=30)
    grid = psvm.epsilon_path(K, y, C, method="grid", n_epsilons=20, min_ratio=0.05)
    exact = psvm.epsilon_path(K, y, C, method="homotopy", epsilons=grid.epsilons)
    assert grid.method == "grid" and exact.method == "homotopy"
    np.testing.assert_array_equal(grid.epsilons, exact.epsilons)
    np.testing.assert_allclose(grid.alphas.toarray(), exact.alphas.toarray(), atol=1e-6)
    np.testing.assert_array_equal(grid.n_selected, exact.n_selected)
    check_path(grid, K, y, C)
    check_path(exact, K, y, C)


def test_epsilons_beyond_the_start_give_zero(rng):
    K, y = rng.normal(size=(20, 10)), rng.normal(size=20)
    largest = path_max(K, y)
    for method in ("homotopy", "grid"):
        epsilons = largest * np.array([3.0, 1.5, 0.5, 0.1])
        path = psvm.epsilon_path(K, y, epsilons=epsilons, method=method)
        np.testing.assert_array_equal(path.epsilons, epsilons)
        np.testing.assert_array_equal(path.n_selected == 0, [True, True, False, False])
        np.testing.assert_array_equal(path.gaps[:2], 0)
        assert not path.alpha_at(2 * largest).any()


def test_all_the_way_down(rng):
    """P > L: L - 1 columns explain y, and nothing is left."""
    K, y = rng.normal(size=(20, 300)), rng.normal(size=20)
    path = psvm.epsilon_path(K, y, min_ratio=0)
    check_path(path, K, y, rng=rng)
    K_s, y_c = reference.standardise(K, y)
    assert path.epsilons[-1] == 0 and path.n_selected[-1] == 19
    np.testing.assert_allclose(K_s @ path.alpha_at(0.0), y_c, atol=1e-9)


def test_all_the_way_down_to_least_squares(rng):
    K, y = rng.normal(size=(50, 6)), rng.normal(size=50)
    path = psvm.epsilon_path(K, y, min_ratio=0)
    K_s, y_c = reference.standardise(K, y)
    np.testing.assert_allclose(
        path.alpha_at(0), np.linalg.lstsq(K_s, y_c, rcond=None)[0], atol=1e-10
    )


def test_max_features(rng):
    K, y = rng.normal(size=(30, 500)), rng.normal(size=30)
    whole = psvm.epsilon_path(K, y)
    for count in (1, 4, 12):
        path = psvm.epsilon_path(K, y, max_features=count)
        assert path.n_selected.max() == count
        # The next one of the whole path enters where this one ends.
        m = len(path.epsilons)
        np.testing.assert_allclose(path.epsilons, whole.epsilons[:m], rtol=1e-9)
        assert whole.n_selected[m] == count + 1
        grid = psvm.epsilon_path(K, y, max_features=count, method="grid")
        assert grid.n_selected.max() <= count


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_copies_of_columns(rng, sign):
    """A copy changes nothing but the choice among equals."""
    K = rng.normal(size=(25, 30))
    y = K[:, 0] - K[:, 1] + 0.3 * rng.normal(size=25)
    doubled = np.hstack([K, sign * K])
    for C in (np.inf, 0.4):
        path = psvm.epsilon_path(doubled, y, C)
        check_path(path, doubled, y, C, rng=rng)
    one, two = psvm.epsilon_path(K, y), psvm.epsilon_path(doubled, y)
    for epsilon in rng.uniform(0.01, 1, size=5) * one.epsilon_max:
        folded = two.alpha_at(epsilon)[:30] + sign * two.alpha_at(epsilon)[30:]
        np.testing.assert_allclose(folded, one.alpha_at(epsilon), atol=1e-8)


def test_ties_enter_together_by_size():
    """Orthogonal columns with equal correlations: all of them enter at epsilon_max."""
    K = np.kron(np.eye(4), np.array([[1.0], [-1.0]]))
    y = np.array([1, -1, 1, -1, -1, 1, 0.5, -0.5])
    path = psvm.epsilon_path(K, y, min_ratio=0.0)
    check_path(path, K, y)
    # alpha = soft(l, epsilon) for orthogonal columns.
    l = np.sqrt(2) * np.array([1, 1, -1, 0.5])
    for epsilon in (1.2, 0.8, 0.5, 0.1, 0.0):
        soft = np.sign(l) * np.maximum(np.abs(l) - epsilon, 0)
        np.testing.assert_allclose(path.alpha_at(epsilon), soft, atol=1e-9)
    assert set(path.order[:3]) == {0, 1, 2} and path.order[3] == 3


def test_hits_and_leaves_the_box():
    """The premise of the other tests: variables reach +-C and some come back."""
    returned = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        K = rng.normal(size=(15, 30)) + rng.normal(size=(15, 1))
        y = rng.normal(size=15)
        path = psvm.epsilon_path(K, y, 0.5, min_ratio=0)
        check_path(path, K, y, 0.5, rng=rng, between=3)
        at_bound = np.abs(path.alphas.toarray()) == 0.5
        returned += (at_bound[:-1] & ~at_bound[1:]).any()
    assert returned > 5


def test_constant_columns_and_targets(rng):
    K = rng.normal(size=(15, 20))
    K[:, ::3] = 4.0
    y = rng.normal(size=15)
    path = psvm.epsilon_path(K, y)
    check_path(path, K, y, rng=rng)
    assert not path.alphas.toarray()[:, ::3].any()
    for method in ("homotopy", "grid"):
        for data in ((K, np.full(15, 2.0)), (np.ones((15, 4)), y)):
            path = psvm.epsilon_path(*data, epsilons=[1.0, 0.5], method=method)
            assert path.alphas.nnz == 0 and path.status is psvm.Status.OPTIMAL
            assert path.epsilon_max == 0 and len(path.order) == 0


def test_sparse_is_dense(rng):
    K = sp.random_array((60, 700), density=0.05, random_state=rng, format="csr")
    y = rng.normal(size=60)
    dense = psvm.epsilon_path(K.toarray(), y, method="homotopy")
    check_path(dense, K.toarray(), y, rng=rng, between=3)
    for stored in (K, K.tocsc()):
        path = psvm.epsilon_path(stored, y, method="homotopy")
        np.testing.assert_allclose(path.epsilons, dense.epsilons, rtol=1e-7)
        np.testing.assert_allclose(path.alphas.toarray(), dense.alphas.toarray(), atol=1e-8)
        np.testing.assert_array_equal(path.order, dense.order)


def test_kernel_matrix_is_dense(rng):
    X = rng.normal(size=(50, 3))
    kernel = RBF(0.5)
    y = np.sin(X[:, 0])
    lazy = psvm.epsilon_path(KernelMatrix(kernel, X, X), y)
    path = psvm.epsilon_path(kernel(X, X), y)
    assert_same_path(lazy, path, kernel(X, X), y)
    check_path(lazy, kernel(X, X), y, rng=rng)


def test_weights_are_repetitions_and_zero_leaves_out(rng):
    K, y = rng.normal(size=(20, 50)), rng.normal(size=20)
    weights = rng.integers(0, 3, size=20)
    weighted = psvm.epsilon_path(K, y, sample_weight=weights)
    repeated = psvm.epsilon_path(np.repeat(K, weights, axis=0), np.repeat(y, weights))
    assert_same_path(weighted, repeated, K, y, weights)
    check_path(weighted, K, y, weights=weights, rng=rng)


def test_coefficients_predict(rng):
    K, y = 5 + 3 * rng.normal(size=(30, 8)), rng.normal(size=30)
    path = psvm.epsilon_path(K, y, epsilons=[1.0, 0.5])
    for row, epsilon in enumerate(path.epsilons):
        solution = psvm.solve(K, y, epsilon=epsilon, tol=1e-11)
        coef = path.coefs.toarray()[row]
        np.testing.assert_allclose(coef, solution.coef, atol=1e-9)
        assert path.intercepts[row] == pytest.approx(solution.intercept)


@settings(max_examples=60, deadline=None)
@given(
    L=st.integers(2, 8),
    P=st.integers(1, 12),
    C=st.sampled_from([np.inf, 2.0, 0.5, 0.1]),
    data=st.data(),
)
def test_any_small_integers(L, P, C, data):
    numbers = st.integers(-2, 2)
    K = np.array(data.draw(st.lists(numbers, min_size=L * P, max_size=L * P)), float)
    y = np.array(data.draw(st.lists(numbers, min_size=L, max_size=L)), float)
    K = K.reshape(L, P)
    path = psvm.epsilon_path(K, y, C, min_ratio=0.01)
    if path.epsilon_max > 0:
        check_path(path, K, y, C, rng=np.random.default_rng(0), between=5)


def test_invariances(rng):
    """Scaling and shifting columns changes nothing; scaling y scales epsilon and alpha."""
    K, y = rng.normal(size=(25, 40)), rng.normal(size=25)
    path = psvm.epsilon_path(K, y)
    other = psvm.epsilon_path(K * rng.uniform(0.5, 2, size=40) + rng.normal(size=40), 3 * y + 7)
    np.testing.assert_allclose(other.epsilons, 3 * path.epsilons, rtol=1e-8)
    np.testing.assert_allclose(other.alphas.toarray(), 3 * path.alphas.toarray(), atol=1e-8)


MEANS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "kernel": lambda K: KernelMatrix(Linear(), K, np.eye(K.shape[1])),  # <x, e_j> is exact
}


@pytest.mark.parametrize("storage", MEANS.values(), ids=MEANS)
@pytest.mark.parametrize("P", [20, 400])
@pytest.mark.parametrize("ratio", [1e6, 1e7, 1e10])
def test_large_means(rng, storage, P, ratio):
    """Means of up to 1e10 deviations: the rounded K is another problem, which is solved exactly."""
    K = rng.normal(size=(30, P)) + ratio * rng.choice([1.0, -1.0, 0.0], size=P)
    y = K[:, :3].sum(axis=1) + rng.normal(size=30)
    y -= y.mean()
    for method in ("homotopy", "grid"):
        path = psvm.epsilon_path(storage(K), y, method=method, n_epsilons=20, min_ratio=0.01)
        check_path(path, K, y)
    W = 1.0 - np.eye(30)[:, :2]
    for path, weights in zip(psvm.epsilon_paths(storage(K), y, sample_weight=W), W.T, strict=True):
        check_path(path, K, y, weights=weights)


def test_near_copies_at_small_epsilon(rng):
    """Columns that almost depend on each other: exact, or an honest end."""
    X = rng.normal(size=(16, 1))
    K = np.exp(-0.5 * (X - X.T) ** 2)
    y = rng.normal(size=16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = psvm.epsilon_path(K, y, min_ratio=0)
    K_s, y_c = reference.standardise(K, y)
    assert path.epsilons[-1] < 1e-3 * path.epsilon_max
    for epsilon in path.epsilons:
        alpha = path.alpha_at(epsilon)
        # Near the end the sum K̃ alpha cancels: it rounds by about eps ||alpha||_1.
        rounding = 16 * np.finfo(float).eps * np.abs(alpha).sum()
        assert worst(K_s, y_c, alpha, np.inf, epsilon) <= KKT * path.epsilon_max + rounding


def test_max_iter_ends_the_path(rng):
    K, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        path = psvm.epsilon_path(K, y, max_iter=5)
    assert path.status is psvm.Status.MAX_ITER and len(path.epsilons) == 5
    whole = psvm.epsilon_path(K, y)
    np.testing.assert_allclose(path.epsilons, whole.epsilons[:5])


@pytest.mark.parametrize("P", [30, 400], ids=["all columns", "working set"])
def test_a_tolerance_beyond_double_precision_stalls_the_path(rng, P):
    K, y, tol = rng.normal(size=(20, P)), rng.normal(size=20), 1e-30
    whole = psvm.epsilon_path(K, y)
    assert whole.status is psvm.Status.OPTIMAL
    K_s, y_c = reference.standardise(K, y)
    # The premise: rounding alone is beyond the tolerance somewhere.
    points = [(whole.alpha_at(epsilon), epsilon) for epsilon in whole.epsilons]
    assert max(worst(K_s, y_c, a, np.inf, e) for a, e in points) > tol * whole.epsilon_max
    with pytest.warns(ConvergenceWarning, match=r"stalled.*Double precision allows no more"):
        path = psvm.epsilon_path(K, y, tol=tol)
    assert path.status is psvm.Status.STALLED
    # What there is of the path is right.
    assert 0 < len(path.epsilons) < len(whole.epsilons)
    np.testing.assert_allclose(path.epsilons, whole.epsilons[: len(path.epsilons)])


def test_alpha_at_outside_of_the_path(rng):
    K, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    path = psvm.epsilon_path(K, y, min_ratio=0.1)
    with pytest.raises(ValueError, match=r"below the end of the path.*min_ratio"):
        path.alpha_at(0.05 * path.epsilon_max)
    with pytest.raises(ValueError, match="epsilon must be"):
        path.alpha_at(-1.0)
    grid = psvm.epsilon_path(K, y, method="grid", min_ratio=0.1, n_epsilons=5)
    with pytest.raises(ValueError, match=r"not on the grid.*homotopy"):
        grid.alpha_at(0.5 * (grid.epsilons[1] + grid.epsilons[2]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilons": [0.1, 0.5]}, "epsilons must decrease"),
        ({"epsilons": [0.5, 0.5]}, "epsilons must decrease"),
        ({"epsilons": [0.5, -0.1]}, "epsilons must not be negative"),
        ({"epsilons": []}, "epsilons must be one-dimensional and not empty"),
        ({"epsilons": [1.0, np.nan]}, "epsilons contains NaN"),
        ({"epsilons": "many"}, "epsilons must"),
        ({"method": "lars"}, "method must be one of 'auto', 'homotopy', 'grid'"),
        ({"C": 0}, "C must be a number > 0"),
        ({"tol": -1}, "tol must be"),
        ({"n_epsilons": 0}, "n_epsilons must be an integer >= 1"),
        ({"max_features": 0}, "max_features must be an integer >= 1"),
        ({"max_features": 2.5}, "max_features must be an integer >= 1"),
        ({"max_iter": "x"}, "max_iter must be an integer >= 1"),
        ({"min_ratio": 2.0}, "min_ratio must be at most 1"),
        ({"min_ratio": -1}, "min_ratio must be"),
        ({"min_ratio": 0, "method": "grid"}, "min_ratio must be greater than 0"),
        ({"sample_weight": [1.0]}, "sample_weight must have one entry"),
    ],
)
def test_bad_input(rng, options, message):
    K, y = rng.normal(size=(8, 5)), rng.normal(size=8)
    with pytest.raises(ValueError, match=message):
        psvm.epsilon_path(K, y, **options)


def test_bad_matrices(rng):
    K, y = rng.normal(size=(8, 5)), rng.normal(size=8)
    with pytest.raises(ValueError, match="8 rows but y has 7"):
        psvm.epsilon_path(K, y[:7])
    K[2, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        psvm.epsilon_path(K, y)


STORAGES = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "sparse": sp.csc_array,
    "matrix": as_matrix,
}


@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES)
@pytest.mark.parametrize("C", [np.inf, 0.5])
def test_paths_of_several_weights(rng, storage, C):
    """Each of them solves its own problem. Some columns are constant once a row is left out."""
    K = rng.normal(size=(15, 400)) + 10 * rng.normal(size=400)
    K[1:, 7], K[2:, 8], K[:, 9] = 3.0, 1e6, 0.0
    y = K[:, 0] - K[:, 1] + rng.normal(size=15)
    W = np.hstack([1 - np.eye(15), rng.integers(0, 3, size=(15, 5))])
    paths = psvm.epsilon_paths(storage(K), y, C, sample_weight=W, min_ratio=0.01)
    assert len(paths) == 20
    for path, weights in zip(paths, W.T, strict=True):
        check_path(path, K, y, C, weights, rng, between=3)
        alone = psvm.epsilon_path(K, y, C, sample_weight=weights, min_ratio=0.01)
        np.testing.assert_array_equal(path.order, alone.order)


def test_paths_of_several_targets(rng):
    K, Y = rng.normal(size=(20, 300)), rng.normal(size=(20, 4))
    Y[:, 3] = 1.0
    for path, y in zip(psvm.epsilon_paths(K, Y), Y.T, strict=True):
        check_path(path, K, y, rng=rng)
    W = rng.integers(1, 3, size=(20, 4))
    for path, y, w in zip(psvm.epsilon_paths(K, Y, sample_weight=W), Y.T, W.T, strict=True):
        check_path(path, K, y, weights=w, rng=rng)
    (path,) = psvm.epsilon_paths(K, Y[:, 0])
    check_path(path, K, Y[:, 0], rng=rng)


def test_memory_of_many_paths_is_bounded(rng):
    """Working memory is that of 64 paths; the results of 600 are some kilobytes each."""
    K, y = rng.normal(size=(20, 300)), rng.normal(size=20)
    W = rng.multinomial(20, [1 / 20] * 20, size=600).T
    tracemalloc.start()
    try:
        psvm.epsilon_paths(K, y, sample_weight=W, max_features=3)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # One path has a matrix of 200 x 200 doubles; all 600 at once would need 200 MB.
    assert peak < 60e6


@pytest.mark.parametrize("options", [{"epsilons": [9.0, 2.0, 1.0]}, {"method": "grid"}])
def test_paths_with_options_of_one(rng, options):
    K, y, W = rng.normal(size=(30, 300)), 3 * rng.normal(size=30), 1 - np.eye(30)[:, :3]
    for path, w in zip(psvm.epsilon_paths(K, y, sample_weight=W, **options), W.T, strict=True):
        alone = psvm.epsilon_path(K, y, sample_weight=w, **options)
        assert_same_path(path, alone, K, y, w)


def assert_same_path(path, other, K, y, weights=None):
    """The same solutions, as far as the certificate tells.

    For two points a and b whose violations are at most t, ``||K̃ (a - b)||^2`` is the product of
    the differences of gradient and variables, at most ``2 t ||a - b||_1``.
    """
    assert (path.status, path.method) == (other.status, other.method)
    assert path.epsilon_max == pytest.approx(other.epsilon_max, rel=1e-12)
    K_s, _ = reference.standardise(K, y, weights)
    # The ends of two paths may differ by rounding.
    end = (1 + 1e-12) * max(path.epsilons[-1], other.epsilons[-1])
    epsilons = path.epsilons if path.method == "grid" else np.geomspace(path.epsilon_max, end, 30)
    for i, epsilon in enumerate(epsilons):
        a = path.alpha_at(epsilon)
        b = other.alpha_at(other.epsilons[i] if path.method == "grid" else epsilon)
        bound = 2 * KKT * path.epsilon_max * (np.abs(a).sum() + np.abs(b).sum())
        assert np.square(K_s @ (a - b)).sum() <= bound + 1e-24 * np.abs(a).sum() ** 2


def test_paths_do_not_depend_on_their_number(rng, monkeypatch):
    """Only so many are followed side by side."""
    K, y, W = rng.normal(size=(12, 300)), rng.normal(size=12), 1 - np.eye(12)
    together = psvm.epsilon_paths(K, y, sample_weight=W)
    monkeypatch.setattr(_path, "TOGETHER", 8 * 300 * 5)
    apart = psvm.epsilon_paths(K, y, sample_weight=W)
    for path, other, weights in zip(apart, together, W.T, strict=True):
        check_path(path, K, y, weights=weights)
        assert_same_path(path, other, K, y, weights)


@pytest.mark.parametrize(
    ("Y", "W", "message"),
    [
        ((8, 2), (8, 3), "y has 2 columns and sample_weight has 3"),
        ((8, 2), (7, 2), "sample_weight must have one entry"),
        ((7, 2), (8, 2), "8 rows but y has 7"),
        ((8, 2, 2), (8, 2), "y must have one or two dimensions"),
        ((8, 2), (8, 0), "sample_weight must have one or two dimensions and not be empty"),
    ],
)
def test_paths_of_bad_shapes(Y, W, message):
    with pytest.raises(ValueError, match=message):
        psvm.epsilon_paths(np.eye(8), np.ones(Y), sample_weight=np.ones(W))


def test_paths_of_ragged_lists():
    with pytest.raises(ValueError, match="y is not an array of numbers"):
        psvm.epsilon_paths(np.eye(2), [[1.0, 2.0], [3.0]])


def test_paths_check_each_column(rng):
    K, Y, W = rng.normal(size=(8, 5)), rng.normal(size=(8, 2)), np.ones((8, 2))
    with pytest.raises(ValueError, match="sample_weight must not be negative"):
        psvm.epsilon_paths(K, Y, sample_weight=W - 2 * np.eye(8)[:, :2])
    Y[3, 1] = np.nan
    with pytest.raises(ValueError, match="y contains NaN"):
        psvm.epsilon_paths(K, Y)
    K[2, 3] = np.inf
    with pytest.raises(ValueError, match="K contains NaN, infinity"):
        psvm.epsilon_paths(np.asfortranarray(np.tile(K, 99)), Y[:, 0], sample_weight=W)


def test_paths_warn_once(rng):
    K, y, W = rng.normal(size=(12, 300)), rng.normal(size=12), 1 - np.eye(12)
    message = r"12 of 12 paths, the first ended \(max_iter\)"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        psvm.epsilon_paths(K, y, sample_weight=W, max_iter=3)
    assert len(caught) == 1


def test_vectors_that_are_columns_of_arrays(rng):
    K, Y, W = rng.normal(size=(20, 300)), rng.normal(size=(20, 2)), rng.random(size=(20, 2))
    path = psvm.epsilon_path(np.asfortranarray(K), Y[:, 1], sample_weight=W[:, 1])
    check_path(path, K, Y[:, 1], weights=W[:, 1], rng=rng)


def test_plot(rng):
    matplotlib = pytest.importorskip("matplotlib", reason="needs matplotlib, the extra `plot`")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    K, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    path = psvm.epsilon_path(K, y)
    ax = path.plot()
    assert len(ax.lines) == len(path.order)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), path.knots)
    assert path.plot(ax=plt.subplots()[1]) is not ax
    plt.close("all")


def test_repr(rng):
    K, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    assert "homotopy, optimal" in repr(psvm.epsilon_path(K, y))
