"""Leave-one-out values of solutions: against fits without the row, and as the choice of epsilon."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

import psvm
from psvm import PSVC, PSVR, WorkingSet
from psvm.estimators import LeaveOneOut, describe
from psvm.estimators._epsilon import judged_rows
from psvm.kernels import RBF
from psvm.matrix import row_digests
from psvm.solvers import exact_path


def left_out(K, y, weights, groups, own, problem, alpha, relaxation=0.0):
    """Predictions without each group of equal rows, by a new least-squares fit for each.

    The free variables, their signs and the units of the columns stay; variables at C stay there;
    columns that describe by a row of the group leave, `own` says by which. Where solutions are
    relaxed, the penalty that shrinks them counts less.
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
        shrinking = (1 - relaxation) * problem.epsilon
        penalty = np.concatenate([[0.0], shrinking * np.sign(alpha[columns])])
        theta = np.linalg.solve((D.T * w) @ D, D.T @ (w * rest) - penalty)
        found[out] = D[out] @ theta + Z[np.ix_(out, bound)] @ alpha[bound]
    return found


@pytest.mark.parametrize("kind", ["kernel", "some", "dyadic"])
@pytest.mark.parametrize("C", [np.inf, 1.5])
@settings(deadline=None)
@given(seed=st.integers(0, 10**6), relaxation=st.sampled_from([0.0, 0.75, 1.0]))
def test_values_are_those_of_a_fit_without_the_row(kind, C, seed, relaxation):
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
    loo = LeaveOneOut(description, problem, y)
    (found,), (alpha,) = loo.decisions(solution.alpha[None], problem.K.gram(), relaxation)
    groups = np.unique(digests, return_inverse=True)[1]
    K = description.matrix.columns(slice(None))
    expected = left_out(K, y, weights, groups, own, problem, solution.alpha, relaxation)
    counted = weights > 0
    # systems of a dozen unknowns whose columns have norm one
    np.testing.assert_allclose(found[counted], expected[counted], rtol=1e-7, atol=1e-7)
    # the variables that are relaxed all the way leave a residual without their columns
    free = (solution.alpha != 0) & (np.abs(solution.alpha) < C)
    _, F = problem.evaluate(alpha)
    shrunken = -(1 - relaxation) * problem.epsilon * np.sign(solution.alpha)
    np.testing.assert_allclose(F[free], shrunken[free], atol=1e-8 * problem.epsilon_max)
    np.testing.assert_array_equal(alpha[~free], solution.alpha[~free])
    (again,), _ = loo.decisions(solution.alpha[None], relaxation=relaxation)
    np.testing.assert_allclose(again, found, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kind", ["kernel", "some"])
def test_values_of_some_rows_are_those_of_all(kind, rng):
    X = rng.normal(size=(40, 2))
    X[30:] = X[:10]
    y, weights = rng.normal(size=40), rng.uniform(0.5, 2.0, size=40)
    own = np.arange(0, 40, 3) if kind == "some" else None
    description = describe(X, weights, RBF(1.0), rows=own, digests=row_digests(X))
    problem = description.problem(y, np.inf)
    Q = problem.K.gram()
    alphas = np.array(
        list(exact_path(Q, problem.l, np.inf, problem.epsilon_max / np.array([2, 5, 10])))
    )
    rows = np.array([*range(3, 9), 20, 24, *range(33, 39)])
    every, relaxed = LeaveOneOut(description, problem, y).decisions(alphas, Q, 0.5)
    some, same = LeaveOneOut(description, problem, y, rows).decisions(alphas, Q, 0.5)
    assert np.isnan(np.delete(some, rows, axis=1)).all()
    np.testing.assert_allclose(some[:, rows], every[:, rows], rtol=1e-9)
    np.testing.assert_array_equal(relaxed, same)


@pytest.mark.parametrize("rows", [None, np.arange(299, -1, -1), np.arange(0, 300, 2)])
def test_values_do_not_depend_on_what_is_kept(rows, monkeypatch, rng):
    """Points one by one or together, from kept columns, a kept copy, or blocks of rows."""
    X, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    epsilons = np.array([0.5, 0.2, 0.1, 0.05])

    def prepare(kept):
        description = describe(X, np.ones(300), RBF(1.0), digests=row_digests(X))
        problem = description.problem(y, np.inf)
        Q = description.gram() if kept else problem.K.gram()
        assert (problem.K.copy is not None) == kept
        return problem, Q, LeaveOneOut(description, problem, y, rows)

    problem, Q, loo = prepare(kept=False)
    alphas = np.array(list(exact_path(Q, problem.l, np.inf, problem.epsilon_max * epsilons)))
    together = loo.decisions(alphas, Q, 0.5)[0]
    for kept in (False, True):
        _, Q, loo = prepare(kept)
        one_by_one = [loo.decisions(alpha[None], Q, 0.5)[0][0] for alpha in alphas]
        np.testing.assert_allclose(one_by_one, together, rtol=1e-9)
    monkeypatch.setattr("psvm.estimators._loo.KEPT", 0)
    blocks = [slice(0, 7), slice(7, 300)]
    monkeypatch.setattr("psvm.estimators._loo.block_slices", lambda *_: blocks)
    np.testing.assert_allclose(loo.decisions(alphas, Q, 0.5)[0], together, rtol=1e-9)


def test_some_of_many_rows_choose_epsilon(monkeypatch, rng):
    """Which ones depends on their content: not on their order, nor on rows without weight."""
    X, y = make_moons(200, noise=0.3, random_state=0)
    monkeypatch.setattr("psvm.estimators._epsilon.JUDGED", 60)
    description = describe(X, np.ones(200), RBF(1.0), digests=row_digests(X))
    assert judged_rows(description).sum() == 50  # every fourth
    some, order = PSVC().fit(X, y), rng.permutation(200)
    shuffled = PSVC().fit(X[order], y[order])
    weights = np.repeat([1.0, 0.0], [200, 50])
    padded = PSVC().fit(np.vstack([X, X[:50] + 0.1]), np.r_[y, y[:50]], weights)
    # rounding errors of sums in another order
    assert shuffled.epsilon_ == pytest.approx(some.epsilon_, rel=1e-9)
    assert padded.epsilon_ == pytest.approx(some.epsilon_, rel=1e-9)


def test_rows_that_are_interpolated_have_no_value(rng):
    K = rng.normal(size=(10, 30))
    y = rng.normal(size=10)
    description = describe(K, np.ones(10), "dyadic", digests=row_digests(K))
    problem = description.problem(y, np.inf)
    epsilons = np.array([1e-9 * problem.epsilon_max])
    (alpha,) = exact_path(problem.K.gram(), problem.l, np.inf, epsilons)
    assert np.count_nonzero(alpha) == 9
    values, _ = LeaveOneOut(description, problem, y).decisions(alpha[None], problem.K.gram())
    assert np.isnan(values).all()


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
    problem = description.problem(y, np.inf)
    for share in (0.5, 0.2, 0.1):
        epsilon = share * problem.epsilon_max
        solution = WorkingSet(tol=1e-8).minimise(problem.with_parameters(epsilon=epsilon))
        loo = LeaveOneOut(description, problem, y)
        (found,), _ = loo.decisions(solution.alpha[None], problem.K.gram())
        real = np.empty(len(y))
        for i in range(len(y)):
            a = np.arange(len(y)) != i
            s = psvm.solve(K[np.ix_(a, a)], y[a], epsilon=epsilon)
            real[i] = K[i, a] @ s.coef + s.intercept
        error, expected = np.mean((y - found) ** 2), np.mean((y - real) ** 2)
        assert error == pytest.approx(expected, rel=0.1)


def sigmoid_of(values, y, more=1.0):
    """Slope and middle of the sigmoid with `more` rows in the other class, by scikit-learn."""
    counts = {label: np.sum(y == label) for label in (-1, 1)}
    high = {label: (count + more) / (count + 2 * more) for label, count in counts.items()}
    X = np.clip(values, -3, 3)[:, None]
    weights = np.array([high[label] for label in y])
    model = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000)
    model.fit(np.vstack([X, X]), np.r_[y, -y], np.r_[weights, 1 - weights])
    return model.coef_[0, 0], -model.intercept_[0] / model.coef_[0, 0]


def loss_of(values, y, classifies):
    if not classifies:
        residual = y - values
        return (residual - residual.mean()) ** 2
    slope, threshold = sigmoid_of(values, y)
    return np.logaddexp(0, -y * slope * (np.clip(values, -3, 3) - threshold))


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", "dyadic"])
@pytest.mark.parametrize("classifies", [False, True])
def test_auto_is_the_largest_epsilon_near_the_smallest_loss(kernel, classifies, rng):
    """Leave-one-out values, losses and standard errors are recomputed from outside."""
    X, noise = rng.normal(size=(60, 2)), rng.normal(size=60)
    K = rng.normal(size=(60, 25)) if kernel == "dyadic" else rbf_kernel(X, gamma=0.5)
    y = (K[:, :4].sum(axis=1) if kernel == "dyadic" else np.sin(2 * X[:, 0])) + 0.3 * noise
    y = np.where(y > 0, 1.0, -1.0) if classifies else y
    data = X if kernel == "rbf" else K
    model = (PSVC if classifies else PSVR)(kernel=kernel, gamma=0.5).fit(data, y)
    problem = describe(K, np.ones(60), "dyadic").problem(y, np.inf)
    own = None if kernel == "dyadic" else np.arange(60)
    relaxation = 0.0 if kernel == "dyadic" else 0.75

    def loss(epsilon):
        stated = problem.with_parameters(epsilon=epsilon)
        alpha = WorkingSet(tol=1e-10).minimise(stated).alpha
        values = left_out(K, y, np.ones(60), np.arange(60), own, stated, alpha, relaxation)
        return loss_of(values, y, classifies)

    # 6 points in a factor of ten
    grid = model.epsilon_ * 10.0 ** (np.arange(-4, 7) / 6)
    # The largest point of the grid is epsilon_max up to rounding, where nothing is selected.
    losses = [loss(epsilon) for epsilon in grid if epsilon < 0.999 * problem.epsilon_max]
    best = min(losses, key=np.mean)

    def beyond(loss):
        difference = loss - best
        limit = min(2 * difference.std() / np.sqrt(60), 0.2 * best.mean())
        return difference.mean() - limit

    slack = 1e-6 * best.mean()
    assert beyond(losses[4]) <= slack
    assert all(beyond(loss) > -slack for loss in losses[5:])


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_the_threshold_of_classes_is_the_middle_of_a_sigmoid(share):
    X, y = make_moons(80, noise=0.3, random_state=3)
    model = PSVC(epsilon=share, epsilon_unit="max", gamma=5.0).fit(X, y)
    plain = PSVC(epsilon=share, epsilon_unit="max", gamma=5.0, threshold="mean").fit(X, y)
    shift = model.offset_ - plain.offset_
    slope, threshold = sigmoid_of(model.loo_decision_ - shift, 2 * y - 1, more=0.25)
    assert slope > 0
    # 1e10 is not infinity, and LogisticRegression stops early
    assert shift == pytest.approx(-threshold, abs=1e-4)
    np.testing.assert_allclose(
        model.decision_function(X), plain.decision_function(X) + shift, atol=1e-12
    )
    assert model.loo_error_ == np.mean((model.loo_decision_ > 0) != y)
    assert not hasattr(plain, "loo_error_")


def test_the_constant_of_numbers_is_the_mean_leave_one_out_residual(rng):
    X = rng.normal(size=(70, 2))
    y = X[:, 0] ** 2 + 0.1 * rng.normal(size=70)
    weights = rng.uniform(0.5, 2.0, size=70)
    model = PSVR(gamma=3.0).fit(X, y, weights)
    residual = y - model.loo_decision_
    assert weights @ residual == pytest.approx(0, abs=1e-12 * np.abs(residual).sum())
    assert model.loo_error_ == pytest.approx(np.average(residual**2, weights=weights), rel=1e-12)


def test_new_objects_of_a_narrow_kernel_are_not_all_of_one_class(rng):
    """Far from each other, objects are their own neighbours alone: new ones have the constant."""
    X = np.vstack([rng.normal(size=(150, 20)) * 2, rng.normal(size=(150, 20)) + 0.4])
    y = np.repeat([0, 1], 150)
    train, test = np.arange(0, 300, 2), np.arange(1, 300, 2)
    errors = {
        rule: np.mean(
            PSVC(gamma=0.3, threshold=rule).fit(X[train], y[train]).predict(X[test]) != y[test]
        )
        for rule in ("loo", "mean")
    }
    assert errors["loo"] < 0.6 * errors["mean"]


def test_values_of_several_machines_are_those_of_decision_function(rng):
    X, y = load_iris(return_X_y=True)
    weights = np.where(np.arange(150) % 10 == 0, 0.0, 1.0)
    model = PSVC(epsilon=0.05, epsilon_unit="max").fit(X, y, weights)
    assert model.loo_decision_.shape == model.decision_function(X).shape
    out = weights == 0  # new to all machines
    np.testing.assert_allclose(model.loo_decision_[out], model.decision_function(X[out]), atol=1e-9)
    # a class that two machines know nothing of votes like a new object there
    pairs = PSVC(epsilon=0.05, epsilon_unit="max", decision_function_shape="ovo")
    pairs.fit(X, y, weights)
    alone = pairs.loo_decision_[y == 0, 2]
    np.testing.assert_allclose(alone, pairs.decision_function(X[y == 0])[:, 2], atol=1e-9)
    assert model.loo_error_ == np.mean(model.loo_decision_[~out].argmax(axis=1) != y[~out])


def test_the_path_goes_on_until_the_error_has_turned(rng):
    """Without noise the best epsilon is far below a hundredth of the largest."""
    X = rng.uniform(-1, 1, size=(80, 1))
    model = PSVR(gamma=1.0).fit(X, np.sin(3 * X[:, 0]))
    one = PSVR(gamma=1.0, epsilon=1.0, epsilon_unit="max").fit(X, np.sin(3 * X[:, 0]))
    assert model.epsilon_ < 1e-2 * one.epsilon_
    new = rng.uniform(-1, 1, size=(200, 1))
    # a tenth of the range of the target
    assert np.abs(model.predict(new) - np.sin(3 * new[:, 0])).max() < 0.1


def test_many_columns_are_judged_by_folds(monkeypatch):
    X, y = make_moons(60, noise=0.2, random_state=0)
    folds = PSVC(epsilon="cv").fit(X, y)
    monkeypatch.setattr("psvm.estimators._epsilon.LARGEST_GRAM", 59)
    assert PSVC().fit(X, y).epsilon_ == folds.epsilon_


def test_columns_of_a_matrix_are_relaxed_whatever_the_threshold(rng):
    X, y = rng.normal(size=(40, 8)), rng.normal(size=40)
    options = {"kernel": "dyadic", "epsilon": 0.3, "epsilon_unit": "max", "threshold": "mean"}
    model = PSVR(relaxation=1.0, **options).fit(X, y)
    D = np.column_stack([np.ones(40), X[:, model.support_]])
    assert 0 < len(model.support_) < 8
    # least squares of the support
    expected = D @ np.linalg.lstsq(D, y, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8, atol=1e-8)
