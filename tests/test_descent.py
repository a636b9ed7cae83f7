"""Coordinate descent on the residual: judged from (K, y, alpha) alone, and beside plain loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

import psvm
from psvm.matrix import SparseMatrix, Standardized, as_matrix
from psvm.problem import Problem
from psvm.solvers import _working_set, follow
from psvm.solvers._descent import Alternative, Descent
from psvm.solvers._working_set import Workspace
from reference import Case

EPS = np.finfo(float).eps


def data(seed, L=80, P=60, density=0.1):
    """Sparse columns, one of them almost full with a large mean, and a target."""
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(L, P)) * (rng.random((L, P)) < density)
    K[:3] += rng.normal(size=(3, P))  # no column is empty
    K[:, 1] = 5.0 + rng.normal(size=L)
    return K, K[:, :12] @ rng.normal(size=12) + 0.3 * rng.normal(size=L)


def state(case, kind=as_matrix):
    K = Standardized(kind(case.K), case.weights)
    return Problem.create(K, case.y, case.C, case.epsilon)


def stored_sparse(K):
    return SparseMatrix(sp.csc_array(K), full=2.0)


def case_of(seed, C=np.inf, epsilon=0.1, weights=None):
    case = Case(*data(seed), np.inf, 0.0, weights)
    return case.with_(C=C * case.epsilon_max, epsilon=epsilon * case.epsilon_max)


def block_of(problem, index):
    block = problem.K.column_block()
    block.extend(index)
    return block


def recorded_descents(monkeypatch):
    """A list that will tell of each descent whether it reached its threshold."""
    reached, run = [], Descent.run

    def recorded(descent, *arguments):
        reached.append(run(descent, *arguments))
        return reached[-1]

    monkeypatch.setattr(Descent, "run", recorded)
    return reached


def swept(K, index, alpha, r, C, epsilon):
    """A sweep as it is defined: the minimum over one variable after the other."""
    alpha, r = alpha.copy(), r.copy()
    for j in index:
        u = alpha[j] + K[:, j] @ r
        value = np.clip(np.sign(u) * max(abs(u) - epsilon, 0.0), -C, C)
        r += (alpha[j] - value) * K[:, j]
        alpha[j] = value
    return alpha, r


@pytest.mark.parametrize("kind", [as_matrix, stored_sparse])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("C", [np.inf, 0.05])
def test_a_sweep_beside_a_plain_loop(kind, weighted, C):
    rng = np.random.default_rng(7)
    weights = rng.integers(0, 3, size=80).astype(float) if weighted else None
    case = case_of(0, C, 0.05, weights)
    problem = state(case, kind)
    index = rng.permutation(60)[:40]
    alpha = np.clip(rng.normal(size=40), -case.C, case.C)
    r = case.y_c - case.K_s[:, index] @ alpha
    some = np.sort(rng.choice(40, 25, replace=False))
    expected = swept(case.K_s[:, index], some, alpha, r, case.C, case.epsilon)
    block_of(problem, index).sweep(some, alpha, r, case.C, case.epsilon)
    assert np.count_nonzero(expected[0][some] == 0) > 0  # some variables end at 0
    # Sums over 80 rows, 25 of them one after the other
    atol = 80 * 25 * EPS * np.linalg.norm(case.y_c)
    assert_allclose(alpha, expected[0], rtol=0, atol=atol)
    assert_allclose(r, expected[1], rtol=0, atol=atol)


@pytest.mark.parametrize("kind", [as_matrix, stored_sparse])
@pytest.mark.parametrize(("C", "epsilon"), [(np.inf, 0.1), (0.02, 0.05), (0.1, 0.0)])
@pytest.mark.parametrize("seed", range(3))
def test_descent_alone_solves_a_problem(kind, C, epsilon, seed):
    case = case_of(seed, C, epsilon)
    problem = state(case, kind)
    block = block_of(problem, np.arange(60))
    descent = Descent(block, np.zeros(60), problem.y.copy(), -problem.l, problem.C, problem.epsilon)
    threshold = 1e-9 * problem.epsilon_max
    assert descent.run(threshold, Alternative(threshold), lambda: False)
    assert case.worst(descent.alpha) <= threshold + case.rounding(descent.alpha)
    off = descent.r - (case.y_c - case.K_s @ descent.alpha)
    assert np.linalg.norm(off) <= case.rounding(descent.alpha)
    assert np.abs(descent.alpha).max() <= case.C


def test_descent_ends_when_the_time_is_over():
    problem = state(case_of(0, epsilon=0.001))
    block = block_of(problem, np.arange(60))
    descent = Descent(block, np.zeros(60), problem.y.copy(), -problem.l, np.inf, problem.epsilon)
    assert not descent.run(0.0, Alternative(0.0), lambda: True)
    assert descent.work == 0


def test_descent_ends_where_nothing_but_rounding_is_left():
    problem = state(case_of(0, epsilon=0.1))
    block = block_of(problem, np.arange(60))
    descent = Descent(block, np.zeros(60), problem.y.copy(), -problem.l, np.inf, problem.epsilon)
    assert not descent.run(0.0, Alternative(0.0), lambda: False)


@pytest.mark.parametrize("kind", [as_matrix, stored_sparse])
@pytest.mark.parametrize("C", [np.inf, 0.02])
def test_problems_whose_products_need_too_much_memory(kind, C, monkeypatch):
    """Descent alone: no product of two columns is formed."""
    monkeypatch.setattr(_working_set, "PRODUCTS", -1)
    monkeypatch.setattr(Workspace, "entries", 0)
    rng = np.random.default_rng(1)
    K = rng.normal(size=(150, 400)) * (rng.random((150, 400)) < 0.1)
    case = Case(K, K[:, :30] @ rng.normal(size=30) + rng.normal(size=150), np.inf, 0.0)
    case = case.with_(C=C * case.epsilon_max, epsilon=0.1 * case.epsilon_max)
    problem = state(case, kind)
    workspace = Workspace(problem.K)
    assert not workspace.whole
    solution = psvm.WorkingSet(tol=1e-7).minimise(problem, workspace=workspace)
    assert solution.status is psvm.Status.OPTIMAL
    assert case.worst(solution.alpha) <= case.threshold(1e-7) + case.rounding(solution.alpha)
    assert workspace.small.n == 0 and solution.n_blocks == 0
    assert len(solution.support) > 20


def test_a_sparse_problem_of_many_support_objects_needs_no_products():
    rng = np.random.default_rng(2)
    L = P = 3000
    places = rng.integers(0, L, 60_000), rng.integers(0, P, 60_000)
    K = sp.csc_array((rng.normal(size=60_000), places), shape=(L, P))
    y = K @ (rng.normal(size=P) * (rng.random(P) < 0.2)) + rng.normal(size=L)
    problem = Problem.create(Standardized(as_matrix(K)), y, np.inf, 0.0)
    problem = problem.with_parameters(epsilon=0.02 * problem.epsilon_max)
    workspace = Workspace(problem.K)
    solution = psvm.WorkingSet(tol=1e-4).minimise(problem, workspace=workspace)
    assert solution.status is psvm.Status.OPTIMAL and len(solution.support) > 1000
    assert workspace.small.n <= 100  # at most those of the first round
    case = Case(K.toarray(), y, np.inf, problem.epsilon)
    assert case.worst(solution.alpha) <= case.threshold(1e-4) + case.rounding(solution.alpha)


def test_the_exact_method_takes_over_where_descent_is_slow(monkeypatch):
    monkeypatch.setattr(_working_set, "DESCENT", 0)
    rng = np.random.default_rng(3)
    points = rng.normal(size=(300, 3))
    K = np.exp(-0.1 * np.square(points[:, None] - points[None]).sum(axis=-1))
    case = Case(K, np.sin(points[:, 0]) + 0.1 * rng.normal(size=300), np.inf, 0.0)
    case = case.with_(epsilon=1e-4 * case.epsilon_max)
    tried = recorded_descents(monkeypatch)
    solution = psvm.WorkingSet(tol=1e-6).minimise(state(case))
    assert solution.status is psvm.Status.OPTIMAL
    assert False in tried and solution.n_blocks > 0
    assert case.worst(solution.alpha) <= case.threshold(1e-6) + case.rounding(solution.alpha)


@pytest.mark.parametrize("kind", [as_matrix, stored_sparse])
def test_a_path_on_which_both_methods_share_a_working_set(kind, monkeypatch):
    """Columns without products stay behind those that have them when variables leave."""
    monkeypatch.setattr(_working_set, "DESCENT", 0)
    monkeypatch.setattr(_working_set, "AGAIN", 1)
    rng = np.random.default_rng(4)
    K = rng.normal(size=(100, 500)) * (rng.random((100, 500)) < 0.3)
    K[:, 250:] = K[:, :250] + 0.1 * rng.normal(size=(100, 250)) * (K[:, :250] != 0)
    case = Case(K, K[:, :20] @ rng.normal(size=20) + rng.normal(size=100), np.inf, 0.0)
    problem = state(case, kind)
    workspace = Workspace(problem.K, fold=10, room=0)
    epsilons = case.epsilon_max * np.geomspace(0.5, 0.01, 8)
    solver = psvm.WorkingSet(tol=1e-7, batch=20)
    reached, n_blocks = recorded_descents(monkeypatch), 0
    for solution in follow(problem, epsilons, solver, workspace=workspace):
        at = case.with_(epsilon=solution.epsilon)
        assert solution.status is psvm.Status.OPTIMAL
        assert at.worst(solution.alpha) <= at.threshold(1e-7) + at.rounding(solution.alpha)
        n_blocks += solution.n_blocks
    assert True in reached and n_blocks > 0  # the premise: both were used


def test_the_same_bits_for_any_number_of_threads():
    """All sums of descent are made in one order: BLAS runs on one thread meanwhile."""
    rng = np.random.default_rng(5)
    K = sp.csc_array(sp.random(2000, 1500, density=0.01, random_state=0))
    y = K @ rng.normal(size=1500) + rng.normal(size=2000)
    answers = []
    for count in (1, 2):
        with threadpool_limits(count):
            answers.append(psvm.solve(K, y, epsilon=0.1, tol=1e-6).alpha)
    assert np.count_nonzero(answers[0]) > 500
    assert_array_equal(*answers)
