"""Leave-one-out values of solutions: against fits without the row, and as the choice of epsilon."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

import psvm
from psvm import PSVC, PSVR, WorkingSet
from psvm.estimators import LeaveOneOut, describe
from psvm.kernels import RBF
from psvm.matrix import row_digests
from psvm.solvers import exact_path


def left_out(K, y, weights, groups, own, problem, alpha):
    """Predictions without each group of equal rows, by a new least-squares fit for each.

    The free variables, their signs and the units of the columns stay; variables at C stay there;
    columns that describe by a row of the group leave, `own` says by which.
    """
    means, norms = problem.K.means, problem.K.norms
    Z = (K - means) * np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    bound = np.flatnonzero(np.abs(alpha) >= problem.C)
    free = np.flatnonzero((alpha != 0) & (np.abs(alpha) < problem.C))
    rest = y - Z[:, bound] @ alpha[bound]
    found = np.empty(len(y))
    for group in np.unique(groups):
        out = groups == group
        w = np.where(out, 0.0, weights)
        columns = free if own is None else free[groups[own[free]] != group]
        D = np.column_stack([np.ones(len(y)), Z[:, columns]])
        penalty = np.concatenate([[0.0], problem.epsilon * np.sign(alpha[columns])])
        theta = np.linalg.solve((D.T * w) @ D, D.T @ (w * rest) - penalty)
        found[out] = D[out] @ theta + Z[np.ix_(out, bound)] @ alpha[bound]
    return found


@pytest.mark.parametrize("kind", ["kernel", "some", "dyadic"])
@pytest.mark.parametrize("C", [np.inf, 1.5])
@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_values_are_those_of_a_fit_without_the_row(kind, C, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3))
    X = np.vstack([X, X[:6]])  # equal rows leave together
    y = X[:, 0] ** 2 + X[:, 1] + rng.normal(size=36)
    weights = np.where(rng.uniform(size=36) < 0.1, 0.0, rng.uniform(0.5, 2.0, size=36))
    digests = row_digests(X)
    own = None
    if kind == "kernel":
        own = np.arange(36)
        description = describe(X, weights, RBF(0.5), digests=digests)
    elif kind == "some":
        own = np.sort(rng.choice(36, size=15, replace=False))
        description = describe(X, weights, RBF(0.5), rows=own, digests=digests)
    else:
        description = describe(X @ rng.normal(size=(3, 12)), weights, "dyadic", digests=digests)
    problem = description.problem(y, C)
    problem = problem.with_parameters(epsilon=0.2 * problem.epsilon_max)
    solution = WorkingSet(tol=1e-10).minimise(problem)
    Q = problem.K.gram()
    found = LeaveOneOut(description, problem, y).decisions(solution.alpha[None], Q)[0]
    groups = np.unique(digests, return_inverse=True)[1]
    K = description.matrix.columns(slice(None))
    expected = left_out(K, y, weights, groups, own, problem, solution.alpha)
    counted = weights > 0
    # systems of a dozen unknowns whose columns have norm one
    np.testing.assert_allclose(found[counted], expected[counted], rtol=1e-7, atol=1e-7)


def test_rows_that_are_interpolated_have_no_value(rng):
    K = rng.normal(size=(10, 30))
    y = rng.normal(size=10)
    description = describe(K, np.ones(10), "dyadic", digests=row_digests(K))
    problem = description.problem(y, np.inf)
    (alpha,) = exact_path(problem, np.array([1e-9 * problem.epsilon_max]))
    assert np.count_nonzero(alpha) == 9
    values = LeaveOneOut(description, problem, y).decisions(alpha[None], problem.K.gram())
    assert np.isnan(values).all()


@pytest.mark.parametrize("C", [np.inf, 2.0])
def test_the_exact_path_has_the_solutions(C, rng):
    X, y = make_moons(120, noise=0.3, random_state=0)
    description = describe(X, rng.uniform(0.5, 2.0, size=120), RBF(1.0))
    problem = description.problem(2.0 * y - 1, C)
    epsilons = problem.epsilon_max * 10.0 ** (-np.arange(1, 31) / 10)
    alphas = list(exact_path(problem, epsilons))
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
    problem = description.problem(y, np.inf)
    for share in (0.5, 0.2, 0.1):
        epsilon = share * problem.epsilon_max
        solution = WorkingSet(tol=1e-8).minimise(problem.with_parameters(epsilon=epsilon))
        loo = LeaveOneOut(description, problem, y)
        found = loo.decisions(solution.alpha[None], problem.K.gram())[0]
        real = np.empty(len(y))
        for i in range(len(y)):
            a = np.arange(len(y)) != i
            s = psvm.solve(K[np.ix_(a, a)], y[a], epsilon=epsilon)
            real[i] = K[i, a] @ s.coef + s.intercept
        error, expected = np.mean((y - found) ** 2), np.mean((y - real) ** 2)
        assert error == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", "dyadic"])
def test_auto_minimises_the_error_recomputed_from_outside(kernel, rng):
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    y = np.sin(2 * X[:, 0]) + 0.3 * y
    K = X @ rng.normal(size=(2, 25)) if kernel == "dyadic" else rbf_kernel(X, gamma=0.5)
    data = X if kernel == "rbf" else K
    model = PSVR(kernel=kernel, gamma=0.5).fit(data, y)
    description = describe(K, np.ones(60), "dyadic")
    problem = description.problem(y, np.inf)
    groups, own = np.arange(60), None if kernel == "dyadic" else np.arange(60)

    def error(epsilon):
        stated = problem.with_parameters(epsilon=epsilon)
        alpha = WorkingSet(tol=1e-10).minimise(stated).alpha
        return np.sum((y - left_out(K, y, np.ones(60), groups, own, stated, alpha)) ** 2)

    grid = model.epsilon_ * 10.0 ** (np.arange(-8, 9) / 10)
    errors = np.array([error(e) for e in grid if e < problem.epsilon_max])
    # the largest epsilon wins whose error exceeds the smallest by at most half a percent
    assert error(model.epsilon_) <= 1.005 * errors.min() * (1 + 1e-6)


def test_the_path_goes_on_until_the_error_has_turned(rng):
    """Without noise the best epsilon is far below a hundredth of the largest."""
    X = rng.uniform(-1, 1, size=(80, 1))
    model = PSVR(gamma=1.0).fit(X, np.sin(3 * X[:, 0]))
    one = PSVR(gamma=1.0, epsilon=1.0, epsilon_unit="max").fit(X, np.sin(3 * X[:, 0]))
    assert model.epsilon_ < 1e-3 * one.epsilon_
    new = rng.uniform(-1, 1, size=(200, 1))
    assert np.abs(model.predict(new) - np.sin(3 * new[:, 0])).max() < 0.02


def test_many_columns_are_judged_by_folds(monkeypatch):
    X, y = make_moons(60, noise=0.2, random_state=0)
    folds = PSVC(epsilon="cv").fit(X, y)
    monkeypatch.setattr("psvm.estimators._epsilon.LARGEST_GRAM", 59)
    assert PSVC().fit(X, y).epsilon_ == folds.epsilon_
