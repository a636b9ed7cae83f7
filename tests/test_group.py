"""Machines that share their support: against other solvers, and by certificates from (K, Y, A)."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import MultiTaskLasso
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale

import psvm
import reference
from psvm.solvers import Clock, Status, group_path, group_solve

TIGHT = 1e-8
"""Tolerance of solutions that are compared with others."""


class Machines:
    """A problem in the form that the solver takes, and its certificate from the definition."""

    def __init__(self, K, Y):
        columns = [reference.standardise(K, y) for y in Y.T]
        self.K, self.Y = columns[0][0], np.column_stack([y for _, y in columns])
        self.Q, self.B = self.K.T @ self.K, self.K.T @ self.Y
        self.yy = float(np.vdot(self.Y, self.Y))
        self.epsilon_max = np.linalg.norm(self.B, axis=1).max()

    def solve(self, epsilon, tol=TIGHT, **options):
        return group_solve(self.Q, self.B, epsilon, tol, self.yy, **options)

    def path(self, epsilons, tol=TIGHT, **options):
        return group_path(self.Q, self.B, epsilons, tol, self.yy, **options)

    def primal(self, A, epsilon):
        R = self.Y - self.K @ A
        return 0.5 * np.vdot(R, R) + epsilon * np.linalg.norm(A, axis=1).sum()

    def gap(self, A, epsilon):
        """The primal less the dual ``||Y||^2/2 - ||Y - theta||^2/2`` at the scaled residual."""
        R = self.Y - self.K @ A
        largest = np.linalg.norm(self.K.T @ R, axis=1).max()
        share = min(np.vdot(R, self.Y) / np.vdot(R, R), epsilon / largest)
        dual = 0.5 * self.yy - 0.5 * np.linalg.norm(self.Y - share * R) ** 2
        return self.primal(A, epsilon) - dual

    def violation(self, A, epsilon):
        """Row by row, from the residual."""
        found = [0.0]
        for a, f in zip(A, self.K.T @ (self.K @ A - self.Y), strict=True):
            size = np.linalg.norm(a)
            found.append(
                np.linalg.norm(f + epsilon * a / size) if size else np.linalg.norm(f) - epsilon
            )
        return max(found)

    def assert_certified(self, solution, tol=TIGHT):
        """Optimal, and the solver's own numbers are those of the definition up to rounding."""
        A, epsilon = solution.A, solution.epsilon
        # A gradient is a sum of K̃'Y and of at most a hundred rows of A, with factors up to 1
        total = np.linalg.norm(A, axis=1).sum()
        rounding = 1e-13 * (self.epsilon_max + total)
        assert solution.status is Status.OPTIMAL
        assert self.violation(A, epsilon) <= tol * epsilon + rounding
        assert abs(self.violation(A, epsilon) - solution.kkt_violation) <= rounding
        assert abs(self.gap(A, epsilon) - solution.gap) <= 1e-12 * self.yy + rounding * total
        objective = self.primal(A, epsilon) - 0.5 * self.yy
        assert abs(objective - solution.objective) <= 1e-12 * self.yy + rounding * total
        assert np.array_equal(solution.support, [j for j, a in enumerate(A) if np.any(a)])

    def assert_same(self, one, other, epsilon):
        """As close as their gaps demand: D is quadratic in K̃A (see assert_same_solution)."""
        gaps = (max(self.gap(A, epsilon), 0.0) + 1e-12 * self.yy for A in (one, other))
        bound = sum(np.sqrt(2 * gap) for gap in gaps)
        assert np.linalg.norm(self.K @ (one - other)) <= bound


def random_machines(seed, kind, L=40, P=25, T=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(L, 3))
    if kind == "kernel":
        K = rbf_kernel(X, gamma=0.3)
    elif kind == "sums":  # neighbouring columns are strongly correlated
        K = np.cumsum(rng.normal(size=(L, P)), axis=1)
    else:
        K = rng.normal(size=(L, P))
    Y = K[:, :4] @ rng.normal(size=(4, T)) + rng.normal(size=(L, T))
    return Machines(K, Y)


KINDS = pytest.mark.parametrize("kind", ["normal", "kernel", "sums"])


@KINDS
@pytest.mark.parametrize("seed", range(3))
def test_as_good_as_an_interior_point_method(kind, seed):
    machines = random_machines(seed, kind)
    epsilon = (0.5, 0.2, 0.1)[seed] * machines.epsilon_max
    solution = machines.solve(epsilon)
    machines.assert_certified(solution)
    assert 0 < len(solution.support) < machines.K.shape[1]

    A = cp.Variable(machines.B.shape)
    R = machines.Y - machines.K @ A
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(R) + epsilon * cp.sum(cp.norm(A, 2, axis=1)))
    )
    problem.solve(solver=cp.CLARABEL)
    # The optimum is unique in value; Clarabel stops at 1e-8 relative
    assert abs(machines.primal(solution.A, epsilon) - problem.value) <= 1e-6 * machines.yy
    machines.assert_same(solution.A, A.value, epsilon)


@KINDS
def test_as_good_as_scikit_learn(kind):
    machines = random_machines(7, kind, T=4)
    epsilon = 0.1 * machines.epsilon_max
    solution = machines.solve(epsilon)
    # 1 / (2 L) ||Y - K A||^2 + alpha sum ||A_j||
    peer = MultiTaskLasso(
        alpha=epsilon / len(machines.Y), fit_intercept=False, tol=1e-8, max_iter=10**5
    ).fit(machines.K, machines.Y)
    A = peer.coef_.T
    assert machines.primal(solution.A, epsilon) <= machines.primal(A, epsilon) + 1e-12 * machines.yy
    machines.assert_same(solution.A, A, epsilon)


@KINDS
def test_one_machine_is_the_psvm(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3))
    K = rbf_kernel(X, gamma=0.3) if kind == "kernel" else rng.normal(size=(40, 60))
    K = np.cumsum(K, axis=1) if kind == "sums" else K
    y = X[:, 0] + rng.normal(size=40)
    machines = Machines(K, y[:, None])
    for share in (0.5, 0.05, 0.005):
        epsilon = share * machines.epsilon_max
        solution = machines.solve(epsilon)
        machines.assert_certified(solution)
        other = psvm.solve(K, y, C=np.inf, epsilon=epsilon, tol=TIGHT)
        machines.assert_same(solution.A, other.alpha[:, None], epsilon)
        assert solution.objective == pytest.approx(other.objective, rel=1e-7)


def test_the_largest_epsilon():
    machines = random_machines(0, "normal")
    top = machines.epsilon_max
    for epsilon in (top, 2 * top):
        solution = machines.solve(epsilon)
        machines.assert_certified(solution)
        assert not solution.A.any()
        assert solution.gap <= 1e-12 * machines.yy
    assert len(machines.solve(0.99 * top).support)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_paths_of_classes_are_certified_at_every_point(load):
    X, classes = load(return_X_y=True)
    X = scale(X)
    Y = np.where(classes[:, None] == np.unique(classes), 1.0, -1.0)
    machines = Machines(rbf_kernel(X, gamma=1 / X.shape[1]), Y)
    epsilons = machines.epsilon_max * 10.0 ** np.linspace(-0.1, -3, 30)
    path = list(machines.path(epsilons, tol=1e-4))
    assert [solution.epsilon for solution in path] == list(epsilons)
    for solution in path:
        machines.assert_certified(solution, tol=1e-4)
        # A violation of tol epsilon in each row bounds the gap by about tol times the primal
        assert solution.gap <= 1e-3 * machines.primal(solution.A, solution.epsilon)
    assert 0 < 4 * len(path[0].support) < len(path[-1].support)


@settings(deadline=None, max_examples=50)
@given(seed=st.integers(0, 10**6), T=st.integers(1, 5), decades=st.floats(0.1, 4))
def test_random_problems_are_certified(seed, T, decades):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["normal", "kernel", "sums"])
    machines = random_machines(seed, kind, *rng.integers(5, 60, size=2), T)
    tol = 10.0 ** -rng.integers(2, 7)
    epsilons = machines.epsilon_max * 10.0 ** -np.linspace(0, decades, 6)[1:]
    for solution in machines.path(epsilons, tol):
        machines.assert_certified(solution, tol)


def test_a_better_answer_from_a_loose_one():
    machines = random_machines(1, "kernel")
    epsilons = machines.epsilon_max * 10.0 ** -np.linspace(0.1, 2, 10)
    *_, loose = machines.path(epsilons, tol=0.01)
    solution = machines.solve(epsilons[-1], start=loose)
    machines.assert_certified(solution)
    machines.assert_same(solution.A, machines.solve(epsilons[-1]).A, epsilons[-1])
    assert machines.solve(epsilons[-1], tol=10 * TIGHT, start=solution).n_iter == 0


@KINDS
def test_large_points_of_a_path_may_be_loose(kind, monkeypatch):
    """Each point keeps its tolerance, and the way there leaves no trace in a tight solution."""
    monkeypatch.setattr("psvm.solvers._group.MANY", 5)
    machines = random_machines(3, kind)
    epsilons = machines.epsilon_max * 10.0 ** -np.linspace(0.1, 2, 10)
    many, loose = False, []
    for solution in machines.path(epsilons, loose=0.1):
        machines.assert_certified(solution, tol=0.1 if many else TIGHT)
        loose.append(solution.kkt_violation > TIGHT * solution.epsilon)
        many = len(solution.support) > 5
    assert not loose[0]
    assert any(loose)
    tight = machines.solve(epsilons[-1], start=solution)
    machines.assert_certified(tight)
    machines.assert_same(tight.A, machines.solve(epsilons[-1]).A, epsilons[-1])


def test_points_of_few_steps_are_near_those_of_the_path(monkeypatch):
    """About as many rows, none of them far behind, and no trace in a tight solution."""
    monkeypatch.setattr("psvm.solvers._group.MANY", 20)
    X = np.random.default_rng(3).normal(size=(160, 5))
    classes = np.digitize(np.sin(2 * X[:, 0]) + X[:, 1] ** 2, [0.2, 0.8, 1.6])
    Y = np.where(classes[:, None] == np.arange(4), 1.0, -1.0)
    machines = Machines(rbf_kernel(X, gamma=0.3), Y)
    epsilons = machines.epsilon_max * 10.0 ** (-np.arange(1, 9) / 4)
    exact = [len(solution.support) for solution in machines.path(epsilons, tol=1e-6)]
    quick = list(machines.path(epsilons, tol=0.1, max_iter=3))
    assert exact[-1] > 60
    assert any(point.status is Status.MAX_ITER for point in quick)
    for count, before, point in zip(exact[1:], quick, quick[1:], strict=False):
        outside = np.linalg.norm(point.F[~point.A.any(axis=1)], axis=1)
        assert outside.max() <= before.epsilon
        assert 0.7 * count <= len(point.support) <= 1.5 * count
    tight = machines.solve(epsilons[-1], start=quick[-1])
    machines.assert_certified(tight)
    machines.assert_same(tight.A, machines.solve(epsilons[-1]).A, epsilons[-1])


class Ticking:
    """A clock whose time is over when it has been asked some times."""

    def __init__(self, left):
        self.left = left

    @property
    def over(self):
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("left", range(6))
def test_the_clock_ends_a_solve(left):
    """What there is then has an honest certificate, and a later solve goes on from it."""
    machines = random_machines(0, "kernel")
    epsilon = 0.01 * machines.epsilon_max
    solution = machines.solve(epsilon, clock=Ticking(left))
    assert solution.status is Status.MAX_TIME
    assert solution.kkt_violation > TIGHT * epsilon
    assert machines.violation(solution.A, epsilon) == pytest.approx(solution.kkt_violation)
    if left == 0:
        assert not solution.A.any()
    machines.assert_certified(machines.solve(epsilon, start=solution, clock=Clock(3600)))


def test_the_clock_ends_the_points_of_a_path():
    machines = random_machines(0, "kernel")
    epsilons = machines.epsilon_max * np.array([1.0, 0.1, 0.01])
    at_once = [solution.status for solution in machines.path(epsilons, clock=Ticking(0))]
    assert at_once == [Status.OPTIMAL, Status.MAX_TIME, Status.MAX_TIME]


def test_rotated_targets_rotate_the_machines():
    machines = random_machines(2, "kernel")
    R = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    epsilon = 0.05 * machines.epsilon_max
    one = machines.solve(epsilon)
    other = group_solve(machines.Q, machines.B @ R, epsilon, TIGHT, machines.yy)
    machines.assert_same(one.A, other.A @ R.T, epsilon)
    # The same rows, as none is close to the boundary
    norms = np.linalg.norm(one.F, axis=1)[~one.A.any(axis=1)]
    assert norms.max() < (1 - 1e-5) * epsilon
    assert np.linalg.norm(one.A[one.support], axis=1).min() > 1e-4
    assert np.array_equal(one.support, other.support)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_scaled_targets_scale_the_machines(factor):
    machines = random_machines(2, "sums")
    epsilon = 0.05 * machines.epsilon_max
    one = machines.solve(epsilon)
    other = group_solve(
        machines.Q, factor * machines.B, factor * epsilon, TIGHT, factor**2 * machines.yy
    )
    assert other.status is Status.OPTIMAL
    machines.assert_same(one.A, other.A / factor, epsilon)


def test_the_order_of_columns_does_not_matter():
    machines = random_machines(4, "kernel")
    order = np.random.default_rng(0).permutation(len(machines.Q))
    epsilon = 0.05 * machines.epsilon_max
    other = group_solve(
        machines.Q[np.ix_(order, order)], machines.B[order], epsilon, TIGHT, machines.yy
    )
    A = np.empty_like(other.A)
    A[order] = other.A
    machines.assert_same(machines.solve(epsilon).A, A, epsilon)


def test_the_order_of_a_gram_matrix_in_memory_does_not_matter():
    machines = random_machines(4, "normal")
    epsilon = 0.1 * machines.epsilon_max
    by_columns = group_solve(np.asfortranarray(machines.Q), machines.B, epsilon, TIGHT, machines.yy)
    machines.assert_certified(by_columns)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_one_of_equal_columns_will_do(tol):
    rng = np.random.default_rng(5)
    K = rng.normal(size=(40, 12))
    Y = K[:, :4] @ rng.normal(size=(4, 3)) + 0.5 * rng.normal(size=(40, 3))
    single = Machines(K, Y)
    # Twice, with the other sign and in other units; and columns without any variation
    several = Machines(np.hstack([K, K, -K[:, :6], 3 * K, np.ones((40, 2))]), Y)
    assert np.array_equal(several.K[:, -2:], np.zeros((40, 2)))
    for share in (0.5, 0.1, 0.01):
        epsilon = share * single.epsilon_max
        solution = several.solve(epsilon, tol)
        several.assert_certified(solution, tol)
        assert len(np.unique(np.abs(several.K[:, solution.support]).round(8), axis=1).T) == len(
            solution.support
        )
        assert not solution.A[-2:].any()
        once = single.solve(epsilon, tol)
        bound = np.sqrt(2 * once.gap) + np.sqrt(2 * solution.gap) + 1e-6 * np.sqrt(single.yy)
        assert np.linalg.norm(several.K @ solution.A - single.K @ once.A) <= bound


def test_machines_without_a_target_or_without_columns_are_zero():
    machines = random_machines(0, "normal")
    zero = group_solve(machines.Q, 0 * machines.B, 0.1, TIGHT, 0.0)
    assert zero.status is Status.OPTIMAL
    assert not zero.A.any()
    assert zero.gap == 0
    empty = group_solve(np.empty((0, 0)), np.empty((0, 2)), 0.1, TIGHT, 1.0)
    assert empty.status is Status.OPTIMAL
    assert empty.A.shape == (0, 2)


def test_too_few_iterations_are_told():
    machines = random_machines(0, "kernel")
    solution = machines.solve(0.01 * machines.epsilon_max, max_iter=2)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == 2
    # The certificate is that of the answer, however good it is
    assert solution.kkt_violation > TIGHT * solution.epsilon
    assert machines.violation(solution.A, solution.epsilon) == pytest.approx(solution.kkt_violation)
