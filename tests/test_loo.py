"""Leave-one-out values of solutions: against fits without the row, and what they do for a model."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_moons
from sklearn.linear_model import Lasso
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

import psvm
import walks
from psvm import PSVC, PSVR, WorkingSet
from psvm.choice import POLICY, JudgedRows, LeaveOneOut, RowsMachine, _left_out, _machine
from psvm.estimators import describe
from psvm.kernels import RBF
from psvm.matrix import object_digests, row_digests
from psvm.solvers import exact_path
from reference import standardise


def left_out(Z, y, weights, groups, group_of_column, alpha, C, epsilon):
    """Predictions without each group of equal rows, by a new least-squares fit for each.

    Z are rows of K̃ without the root of their weights. The free variables and their signs stay,
    and so do the variables at C; columns that belong to the group leave.
    """
    found = np.full(len(y), np.nan)
    for group in np.unique(groups[weights > 0]):
        out = (groups == group) & (weights > 0)
        others = group_of_column != group
        bound = np.flatnonzero((np.abs(alpha) >= C) & others)
        free = np.flatnonzero((alpha != 0) & (np.abs(alpha) < C) & others)
        w = np.where(out, 0.0, weights)
        D = np.column_stack([np.ones(len(y)), Z[:, free]])
        penalty = np.concatenate([[0.0], epsilon * np.sign(alpha[free])])
        rest = y - Z[:, bound] @ alpha[bound]
        theta = np.linalg.solve((D.T * w) @ D, D.T @ (w * rest) - penalty)
        found[out] = D[out] @ theta + Z[np.ix_(out, bound)] @ alpha[bound]
    return found


def rows_of_unit_columns(K, weights):
    """Rows of K̃ without the root of their weights."""
    K_c = K - weights @ K / weights.sum()
    return K_c / np.sqrt(weights @ np.square(K_c))


def a_machine(kind, C, seed):
    """A machine of rows some of which are equal with other targets, some without weight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    X = np.vstack([X, X[:6]])
    y = X[:, 0] ** 2 + X[:, 1] + rng.normal(size=36)
    weights = np.where(rng.uniform(size=36) < 0.1, 0.0, rng.uniform(0.5, 2.0, size=36))
    digests, own = row_digests(X), None
    if kind == "kernel":
        own = np.arange(36)
        description = describe(X, weights, RBF(0.5), digests=digests)
    elif kind == "some":
        own = np.sort(rng.choice(36, size=15, replace=False))
        description = describe(X, weights, RBF(0.5), rows=own, digests=digests)
    elif kind == "pairwise":
        own, K = np.arange(36), rbf_kernel(X, gamma=0.5)
        description = describe(K, weights, "precomputed", digests=object_digests(K))
    else:
        description = describe(X @ rng.normal(size=(3, 12)), weights, "dyadic", digests=digests)
    return RowsMachine(description, y, C, False, WorkingSet()), own


def solution(machine, share):
    """A point of the exact path."""
    problem = machine.problem
    epsilon = share * problem.epsilon_max
    (alpha,) = exact_path(problem.K.gram(), problem.l, problem.C, np.array([epsilon]))
    return epsilon, alpha


@pytest.mark.parametrize("kind", ["kernel", "some", "pairwise", "dyadic"])
@pytest.mark.parametrize("C", [np.inf, 1.5])
@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_values_are_those_of_a_fit_without_the_row(kind, C, seed):
    machine, own = a_machine(kind, C, seed)
    epsilon, alpha = solution(machine, 0.2)
    description, weights = machine.description, machine.description.weights
    K = description.matrix.columns(slice(None))
    Z = np.divide(K - machine.means, machine.norms, out=np.zeros_like(K), where=machine.norms > 0)
    groups = np.unique(description.digests, return_inverse=True)[1]
    group_of_column = np.full(K.shape[1], -1) if own is None else groups[own]
    expected = left_out(Z, machine.y, weights, groups, group_of_column, alpha, C, epsilon)
    found = machine.source.values(alpha)[machine.numbers]
    counted = weights > 0
    assert (machine.numbers[counted] >= 0).all()
    # systems of a dozen unknowns whose columns have norm one
    np.testing.assert_allclose(found[counted], expected[counted], rtol=1e-9, atol=1e-9)


def test_the_cases_are_there():
    """Variables at C, own ones among them, and free ones."""
    for kind in ("kernel", "some", "pairwise"):
        machine, _ = a_machine(kind, 1.5, 0)
        _, alpha = solution(machine, 0.2)
        assert (np.abs(alpha) == 1.5).any() and ((alpha != 0) & (np.abs(alpha) < 1.5)).any()
        assert (machine.judged.row_of_column[np.abs(alpha) == 1.5] >= 0).any()


@pytest.mark.parametrize("C", [np.inf, 1.0])
@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_all_columns_of_a_row_leave_with_it(C, seed):
    """Kernels of two widths beside each other, and features that belong to no row."""
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(25, 3)), rng.uniform(0.5, 2.0, size=25)
    K = np.hstack([rbf_kernel(X, gamma=2.0), rbf_kernel(X, gamma=0.1), X])
    y = K[:, [2, 5, 9]].sum(axis=1) + 3 * K[:, [27, 30, 34]].sum(axis=1) + 0.3 * X[:, 0]
    y += 0.1 * rng.normal(size=25)
    own = np.concatenate([np.arange(25), np.arange(25), [-1, -1, -1]])
    Z = rows_of_unit_columns(K, weights)
    K_s, y_s = standardise(K, y, weights)
    Q, l = K_s.T @ K_s, K_s.T @ y_s
    epsilon = 0.02 * np.abs(l).max()
    (alpha,) = exact_path(Q, l, C, np.array([epsilon]))
    assume(((alpha[:25] != 0) & (alpha[25:50] != 0)).any())
    middle = np.array([weights @ y / weights.sum()])
    judged = JudgedRows(np.asfortranarray(Z), weights, y[None], middle, own, weights.sum())
    found = LeaveOneOut(judged, Q, C, None).values(alpha)
    expected = left_out(Z, y, weights, np.arange(25), own, alpha, C, epsilon)
    # the narrow and the wide kernel of the same row are alike: some digits go
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", [True, False])
def test_values_are_those_of_real_fits_where_the_support_stays(kernel, rng):
    """By scikit-learn's Lasso, in the units of the columns of all rows, without the row's own."""
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=60)
    K = rbf_kernel(X, gamma=0.3) if kernel else X @ rng.normal(size=(3, 15)) + X[:, [0]] ** 2
    own = np.arange(60) if kernel else np.full(15, -1)
    kind = "precomputed" if kernel else "dyadic"
    digests = object_digests(K) if kernel else row_digests(K)
    description = describe(K, np.ones(60), kind, digests=digests)
    machine = RowsMachine(description, y, np.inf, False, WorkingSet())
    epsilon, alpha = solution(machine, 0.3)
    found = machine.source.values(alpha)[machine.numbers]
    Z, stays = rows_of_unit_columns(K, np.ones(60)), 0
    for i in range(60):
        rest, columns = np.arange(60) != i, own != i
        model = Lasso(alpha=epsilon / 59, tol=1e-14, max_iter=10**6)
        model.fit(Z[np.ix_(rest, columns)], y[rest])
        if (np.sign(model.coef_) == np.sign(alpha[columns])).all():
            stays += 1
            real = model.predict(Z[i : i + 1, columns])[0]
            assert found[i] == pytest.approx(real, rel=1e-5, abs=1e-5)
    assert stays > 20


@pytest.mark.parametrize("C", [np.inf, 1.5])
@pytest.mark.parametrize("kind", ["kernel", "some", "dyadic"])
def test_values_of_many_columns_are_those_of_few(kind, C, monkeypatch):
    """Where the products of all columns are not formed, those in use are."""
    machine, _ = a_machine(kind, C, 3)
    _, alpha = solution(machine, 0.1)
    expected = machine.source.values(alpha)
    monkeypatch.setattr(_left_out, "LARGEST_GRAM", 5)
    monkeypatch.setattr(_machine, "LARGEST_GRAM", 5)
    other, _ = a_machine(kind, C, 3)
    assert callable(other.judged.Z) and callable(other.products)
    np.testing.assert_allclose(other.source.values(alpha), expected, rtol=1e-9, atol=1e-9)


def test_values_of_some_rows_are_those_of_all(monkeypatch):
    """Which ones depends on their content: not on their order, nor on rows without weight."""
    X, y = make_moons(200, noise=0.3, random_state=0)
    y = 2.0 * y - 1

    def judged(rows, weights):
        description = describe(X[rows], weights, RBF(1.0), digests=row_digests(X[rows]))
        machine = RowsMachine(description, y[rows], np.inf, True, WorkingSet())
        _, alpha = solution(machine, 0.1)
        return np.where(machine.numbers >= 0, machine.source.values(alpha)[machine.numbers], np.nan)

    every = judged(np.arange(200), np.ones(200))
    monkeypatch.setattr(_left_out, "POLICY", replace(POLICY, judged=60))
    some = judged(np.arange(200), np.ones(200))
    known = np.isfinite(some)
    assert known.sum() == 60
    np.testing.assert_allclose(some[known], every[known], rtol=1e-9, atol=1e-9)
    order = np.random.default_rng(1).permutation(200)
    np.testing.assert_allclose(judged(order, np.ones(200)), some[order], rtol=1e-7, atol=1e-7)
    times = np.where(np.arange(200) < 150, 1.0, 0.0)
    few = judged(np.arange(150), np.ones(150))
    np.testing.assert_allclose(judged(np.arange(200), times)[:150], few, rtol=1e-7, atol=1e-7)


def test_rows_that_are_interpolated_have_no_value(rng):
    K, y = rng.normal(size=(10, 30)), rng.normal(size=10)
    description = describe(K, np.ones(10), "dyadic", digests=row_digests(K))
    machine = RowsMachine(description, y, np.inf, False, WorkingSet())
    _, alpha = solution(machine, 1e-9)
    assert np.count_nonzero(alpha) == 9
    assert np.isnan(machine.source.values(alpha)).all()


def test_a_kernel_has_values_where_it_interpolates(rng):
    """Without its column, a row is like a new one of the interpolation of the others."""
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    description = describe(X, np.ones(12), RBF(2.0), digests=row_digests(X))
    machine = RowsMachine(description, y, np.inf, False, WorkingSet())
    K, alpha = rbf_kernel(X, gamma=2.0), np.zeros(12)
    used = np.arange(12) != 4  # centred columns of 12 rows have rank 11
    D = np.column_stack([np.ones(12), (K[:, used] - machine.means[used]) / machine.norms[used]])
    alpha[used] = np.linalg.solve(D, y)[1:]
    found, expected = machine.source.values(alpha)[machine.numbers], np.empty(12)
    for i in np.flatnonzero(used):
        rest, columns = np.arange(12) != i, used & (np.arange(12) != i)
        D = np.column_stack([np.ones(12), K[:, columns]])
        expected[i] = D[i] @ np.linalg.solve(D[rest], y[rest])
    np.testing.assert_allclose(found[used], expected[used], rtol=1e-5, atol=1e-5)


def test_equal_columns_in_use_are_as_one(rng):
    """Solvers may divide a variable among equal columns, which are as good as one."""
    K, y = rng.normal(size=(30, 6)), rng.normal(size=30)
    machine = RowsMachine(
        describe(K, np.ones(30), "dyadic", digests=row_digests(K)), y, np.inf, False, WorkingSet()
    )
    _, alpha = solution(machine, 0.3)
    j = np.abs(alpha).argmax()
    twice, divided = np.hstack([K, K[:, [j]]]), np.append(alpha, alpha[j] / 3)
    divided[j] *= 2 / 3
    digests = row_digests(twice)
    other = RowsMachine(
        describe(twice, np.ones(30), "dyadic", digests=digests), y, np.inf, False, WorkingSet()
    )
    found = other.source.values(divided)[other.numbers]
    expected = machine.source.values(alpha)[machine.numbers]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("C", [np.inf, 2.0])
def test_the_exact_path_has_the_solutions(C, rng):
    X, y = make_moons(120, noise=0.3, random_state=0)
    description = describe(X, rng.uniform(0.5, 2.0, size=120), RBF(1.0))
    problem = description.problem(2.0 * y - 1, C)
    epsilons = problem.epsilon_max * 10.0 ** (-np.arange(1, 31) / 10)
    alphas = list(exact_path(problem.K.gram(), problem.l, C, epsilons))
    assert len(alphas) == 30
    for epsilon, alpha in zip(epsilons, alphas, strict=True):
        stated = problem.with_parameters(epsilon=epsilon)
        _, F = stated.evaluate(alpha)
        violation = psvm.problem.kkt_violation(alpha, F, C, epsilon).max()
        assert violation <= 1e-9 * problem.epsilon_max


def sets():
    X, y = load_breast_cancer(return_X_y=True)
    yield scale(X[:150]), 2.0 * y[:150] - 1
    X, y = load_diabetes(return_X_y=True)
    yield scale(X[:150]), scale(y[:150])
    X, y = make_moons(100, noise=0.3, random_state=1)
    yield X, 2.0 * y - 1


@pytest.mark.parametrize(("X", "y"), list(sets()))
def test_the_error_is_near_that_of_real_leave_one_out(X, y):
    """Without a row the free variables change as well, which the values do not know."""
    K = rbf_kernel(X, gamma=1 / X.shape[1])
    description = describe(X, np.ones(len(y)), RBF(1 / X.shape[1]), digests=row_digests(X))
    machine = RowsMachine(description, y, np.inf, False, WorkingSet())
    for share in (0.5, 0.2, 0.1):
        epsilon, alpha = solution(machine, share)
        found, real = machine.source.values(alpha)[machine.numbers], np.empty(len(y))
        for i in range(len(y)):
            a = np.arange(len(y)) != i
            s = psvm.solve(K[np.ix_(a, a)], y[a], epsilon=epsilon)
            real[i] = K[i, a] @ s.coef + s.intercept
        error, expected = np.mean((y - found) ** 2), np.mean((y - real) ** 2)
        assert error == pytest.approx(expected, rel=0.1)


# --- what the values do for a model


def test_new_objects_of_a_narrow_kernel_are_not_all_of_one_class(rng):
    """Far from each other, objects are their own neighbours alone: new ones have the constant."""
    X = np.vstack([rng.normal(size=(150, 20)) * 2, rng.normal(size=(150, 20)) + 0.4])
    y = np.repeat([0, 1], 150)
    train, test = np.arange(0, 300, 2), np.arange(1, 300, 2)
    errors = {
        rule: np.mean(
            PSVC(kernel="rbf", gamma=0.3, threshold=rule).fit(X[train], y[train]).predict(X[test])
            != y[test]
        )
        for rule in ("loo", "mean")
    }
    assert errors["loo"] < 0.6 * errors["mean"]


def test_the_error_is_that_of_the_values(rng):
    X, y = make_moons(80, noise=0.3, random_state=3)
    options = {"epsilon": 0.1, "epsilon_unit": "max", "gamma": 5.0}
    model, plain = PSVC(**options).fit(X, y), PSVC(threshold="mean", **options).fit(X, y)
    assert model.loo_error_ == np.mean((model.loo_decision_ > 0) != y)
    assert not hasattr(plain, "loo_error_")
    weights = rng.uniform(0.5, 2.0, size=80)
    numbers = PSVR(kernel="rbf", gamma=3.0).fit(X, X[:, 0] ** 2, weights)
    residual = X[:, 0] ** 2 - numbers.loo_decision_
    assert numbers.loo_error_ == pytest.approx(np.average(residual**2, weights=weights), rel=1e-12)


def test_values_of_several_machines_are_those_of_decision_function():
    X, y = load_iris(return_X_y=True)
    weights = np.where(np.arange(150) % 10 == 0, 0.0, 1.0)
    model = PSVC(kernel="rbf", epsilon=0.05, epsilon_unit="max").fit(X, y, weights)
    assert model.loo_decision_.shape == model.decision_function(X).shape
    out = weights == 0  # new to all machines
    np.testing.assert_allclose(model.loo_decision_[out], model.decision_function(X[out]), atol=1e-9)
    # a class that two machines know nothing of votes like a new object there
    pairs = PSVC(kernel="rbf", epsilon=0.05, epsilon_unit="max", decision_function_shape="ovo")
    pairs.fit(X, y, weights)
    alone = pairs.loo_decision_[y == 0, 2]
    np.testing.assert_allclose(alone, pairs.decision_function(X[y == 0])[:, 2], atol=1e-9)
    assert model.loo_error_ == np.mean(model.loo_decision_[~out].argmax(axis=1) != y[~out])


def test_the_path_goes_on_until_the_error_has_turned(rng):
    """Without noise the best epsilon is far below a hundredth of the largest."""
    X = rng.uniform(-1, 1, size=(80, 1))
    model = PSVR(kernel="rbf", gamma=1.0).fit(X, np.sin(3 * X[:, 0]))
    one = PSVR(kernel="rbf", gamma=1.0, epsilon=1.0, epsilon_unit="max").fit(X, np.sin(3 * X[:, 0]))
    assert model.epsilon_ < 1e-2 * one.epsilon_
    new = rng.uniform(-1, 1, size=(200, 1))
    # a tenth of the range of the target
    assert np.abs(model.predict(new) - np.sin(3 * new[:, 0])).max() < 0.1


def test_many_columns_have_the_choice_of_few(monkeypatch):
    """The path is solved to a percent of epsilon there, and the losses are as near."""
    X, y = make_moons(100, noise=0.3, random_state=0)
    with walks.recorded() as found:
        model = PSVC(kernel="rbf").fit(X, y)
    assert walks.decided(found, by=1e-3)
    for module in (_left_out, _machine, psvm.choice._folds):
        monkeypatch.setattr(module, "LARGEST_GRAM", 99)
    other = PSVC(kernel="rbf").fit(X, y)
    assert other.epsilon_ == pytest.approx(model.epsilon_, rel=1e-9)
