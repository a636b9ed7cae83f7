"""The working-set solver: every answer is judged from (K, y, alpha) alone."""

import _thread
import signal
import threading
from itertools import count
from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Lasso

import psvm
from psvm._core._active_set import ActiveSet
from psvm.matrix import Standardized, as_matrix
from psvm.problem import Problem
from psvm.solvers import _working_set

ROUNDING = 1e-11
"""Share of ||K̃'y||_inf by which two ways to compute the same gradient may differ here."""


def standardise(K):
    """K̃ by the plain formula; columns without variance become zero."""
    centred = K - K.mean(axis=0)
    norms = np.sqrt(np.square(centred).sum(axis=0))
    constant = norms <= 1e-12 * np.sqrt(np.square(K).sum(axis=0))
    return np.where(constant, 0.0, centred / np.where(constant, 1.0, norms))


def violation(K, y, alpha, C, epsilon):
    """Largest KKT violation by the five cases of the definition."""
    Kt = standardise(K)
    F = Kt.T @ (Kt @ alpha - (y - y.mean()))
    worst = 0.0
    for a, f in zip(alpha, F, strict=True):
        if a == 0:
            d = abs(f) - epsilon
        elif a >= C:
            d = f + epsilon
        elif a <= -C:
            d = epsilon - f
        else:
            d = abs(f + np.sign(a) * epsilon)
        worst = max(worst, d)
    return worst


def objective(K, y, alpha, epsilon):
    return 0.5 * np.sum((y - y.mean() - standardise(K) @ alpha) ** 2) + epsilon * np.sum(
        np.abs(alpha)
    )


def state(K, y, C=np.inf, epsilon=1.0):
    return Problem.create(Standardized(as_matrix(K)), y, C, epsilon)


def allowed(K, y, epsilon, tol):
    """The violation that `tol` allows, plus what rounding does to the test's own gradient."""
    largest = np.abs(standardise(K).T @ (y - y.mean())).max(initial=0.0)
    scale = epsilon if epsilon > 0 else largest
    return max(tol * scale, 1e-12 * largest) + ROUNDING * largest


def random_data(rng):
    """Matrices of all shapes, with the defects that break solvers."""
    L, P = int(rng.integers(2, 50)), int(rng.integers(1, 70))
    shape = rng.integers(6)
    if shape == 0:
        P = 1
    elif shape == 1:
        L = 2
    elif shape == 2:
        L, P = int(rng.integers(20, 60)), int(rng.integers(260, 400))
    K = rng.normal(size=(L, P))
    if rng.random() < 0.3:
        points = rng.normal(size=(max(L, P), 2))
        distance = np.square(points[:L, None] - points[None, :P]).sum(axis=-1)
        K = np.exp(-0.5 * distance)
    if rng.random() < 0.4 and P > 3:
        source, copy = rng.integers(P, size=(2, P // 3))
        K[:, copy] = K[:, source] * rng.choice([-1.0, 1.0, 2.0, -0.5], size=P // 3)
    if rng.random() < 0.3:
        K[:, rng.integers(P)] = 3.3
    if rng.random() < 0.2:
        K = np.round(K)
    y = K[:, rng.integers(P, size=3)].sum(axis=1) + rng.choice([0.1, 1.0]) * rng.normal(size=L)
    if rng.random() < 0.3:
        y = np.where(y > y.mean(), 1.0, -1.0)
    return K, y


def random_problem(rng):
    K, y = random_data(rng)
    largest = np.abs(standardise(K).T @ (y - y.mean())).max()
    epsilon = float(rng.choice([0, 1e-3, 1e-2, 0.1, 0.3, 0.9, 1.0, 1.5])) * largest
    C = float(rng.choice([np.inf, 1e-3, 1e-2, 0.1, 0.3, 1.0])) * (largest or 1.0)
    return K, y, C, epsilon


def check_random(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        K, y, C, epsilon = random_problem(rng)
        batch = int(rng.choice([3, 20, 100]))
        for tol in (1e-4, 1e-8):
            solver = psvm.WorkingSet(tol=tol, batch=batch)
            solution = solver.minimise(state(K, y, C, epsilon))
            alpha = solution.alpha
            assert solution.status is psvm.Status.OPTIMAL, seed
            assert np.isfinite(alpha).all() and (np.abs(alpha) <= C).all(), seed
            assert not alpha[~standardise(K).any(axis=0)].any(), seed
            # Singular problems without a penalty have alpha of any size, and K̃ alpha, a sum of
            # columns of norm one, rounds by up to L eps ||alpha||_1.
            rounding = np.finfo(float).eps * len(y) * np.abs(alpha).sum()
            limit = allowed(K, y, epsilon, tol) + rounding
            assert violation(K, y, alpha, C, epsilon) <= limit, seed


@pytest.mark.parametrize("block", range(8))
def test_random_problems(block):
    check_random(range(50 * block, 50 * (block + 1)))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_thousands_of_random_problems(block):
    check_random(range(10_000 + 250 * block, 10_000 + 250 * (block + 1)))


@pytest.fixture(scope="module")
def mixed():
    """A problem whose solution has zero, free and bound variables of both signs."""
    rng = np.random.default_rng(5)
    K = rng.normal(size=(60, 400))
    y = K[:, :10] @ rng.normal(size=10) + rng.normal(size=60)
    largest = np.abs(standardise(K).T @ (y - y.mean())).max()
    return K, y, 0.15 * largest, 0.2 * largest


def test_small_box(mixed):
    K, y, C, epsilon = mixed
    alpha = psvm.WorkingSet(tol=1e-8).minimise(state(*mixed)).alpha
    size = np.abs(alpha)
    assert (size == 0).any() and (size == C).sum() > 2 and ((size > 0) & (size < C)).sum() > 2
    assert violation(K, y, alpha, C, epsilon) <= allowed(K, y, epsilon, 1e-8)


@pytest.mark.parametrize("share", [1e-3, 1e-2])
def test_nearly_all_at_the_bound(share):
    # More variables at +-C than a working set keeps: they are folded into the residual.
    rng = np.random.default_rng(6)
    K, y = rng.normal(size=(40, 3000)), rng.normal(size=40)
    largest = np.abs(standardise(K).T @ (y - y.mean())).max()
    C, epsilon = share * largest, 0.01 * largest
    solution = psvm.WorkingSet(tol=1e-6).minimise(state(K, y, C, epsilon))
    assert (np.abs(solution.alpha) == C).sum() > 500 or share > 1e-3
    assert violation(K, y, solution.alpha, C, epsilon) <= allowed(K, y, epsilon, 1e-6)
    assert solution.n_iter < 40


@pytest.mark.parametrize("seed", range(12))
def test_against_smo_lasso_and_an_interior_point_method(seed):
    rng = np.random.default_rng(100 + seed)
    K, y = random_data(rng)
    largest = np.abs(standardise(K).T @ (y - y.mean())).max()
    epsilon, C = 0.1 * largest, (np.inf, 0.2 * largest)[seed % 2]
    alpha = psvm.WorkingSet(tol=1e-8).minimise(state(K, y, C, epsilon)).alpha
    reached = objective(K, y, alpha, epsilon)
    # All of them minimise the same convex function. The peers stop near the minimum, so ours
    # may be lower, but not higher by more than our tolerance times ||alpha||_1 allows.
    slack = 1e-8 * epsilon * np.abs(alpha).sum() + 1e-10 * (reached + 1)
    smo = psvm.SMO(tol=1e-8).minimise(state(K, y, C, epsilon))
    assert reached <= objective(K, y, smo.alpha, epsilon) + slack
    Kt, centred = standardise(K), y - y.mean()
    x = cp.Variable(K.shape[1])
    cost = 0.5 * cp.sum_squares(Kt @ x - centred) + epsilon * cp.norm1(x)
    box = [cp.abs(x) <= C] if np.isfinite(C) else []
    best = cp.Problem(cp.Minimize(cost), box).solve(solver=cp.CLARABEL)
    assert reached == pytest.approx(best, rel=1e-6, abs=1e-8)  # Clarabel stops at 1e-8
    if np.isinf(C):
        lasso = Lasso(alpha=epsilon / len(y), fit_intercept=False, tol=1e-10, max_iter=100_000)
        lasso.fit(Kt, centred)
        assert reached <= objective(K, y, lasso.coef_, epsilon) + slack


@pytest.mark.parametrize("seed", range(60))
def test_variables_that_leave_the_working_set(seed, monkeypatch):
    # With hardly any room, variables at 0 and at +-C leave and come back all the time.
    monkeypatch.setattr(_working_set, "FEW", 10)
    monkeypatch.setattr(_working_set, "FOLD", 10)
    monkeypatch.setattr(_working_set, "ROOM", 0)
    K, y, C, epsilon = random_problem(np.random.default_rng(500 + seed))
    solver = psvm.WorkingSet(tol=1e-6, batch=5)
    alpha = solver.minimise(state(K, y, C, epsilon)).alpha
    assert violation(K, y, alpha, C, epsilon) <= allowed(K, y, epsilon, 1e-6)


def test_limits_of_epsilon():
    rng = np.random.default_rng(1)
    K, y = rng.normal(size=(30, 300)), rng.normal(size=30)
    largest = np.abs(standardise(K).T @ (y - y.mean())).max()
    solver = psvm.WorkingSet(tol=1e-8)
    assert not solver.minimise(state(K, y, epsilon=largest * (1 + 1e-12))).alpha.any()
    assert solver.minimise(state(K, y, epsilon=0.99 * largest)).alpha.any()


@pytest.mark.parametrize("shape", [(30, 300), (60, 20)])
def test_without_epsilon_the_residual_is_orthogonal(shape):
    rng = np.random.default_rng(2)
    K, y = rng.normal(size=shape), rng.normal(size=shape[0])
    solution = psvm.WorkingSet(tol=1e-8).minimise(state(K, y, epsilon=0.0))
    assert solution.status is psvm.Status.OPTIMAL
    assert violation(K, y, solution.alpha, np.inf, 0.0) <= allowed(K, y, 0.0, 1e-8)


@pytest.mark.parametrize("tol", [1e-3, 1e-8])
def test_numerically_singular_matrices_do_no_harm(tol):
    # Near copies at the edge of double precision: the answer may not be reached, but the
    # objective must be below that of alpha = 0, and the status must tell the truth.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(80, 2))
        K = np.exp(-0.5 * np.square(points[:50, None] - points[None]).sum(axis=-1)) + 100
        K[:, 40:] = K[:, :40] + 1e-9 * rng.normal(size=(50, 40))
        y = rng.normal(size=50)
        problem = state(K, y, epsilon=0.0)
        solution = psvm.WorkingSet(tol=tol, max_iter=200).minimise(problem)
        alpha = solution.alpha
        assert np.isfinite(alpha).all()
        r = problem.residual(alpha)
        assert r @ r <= problem.y @ problem.y
        if solution.status is psvm.Status.OPTIMAL:
            # The test's own K̃ differs by rounding, which alpha magnifies.
            slack = 1e-15 * np.abs(alpha).sum() * len(y)
            reached = violation(K, y, alpha, np.inf, 0.0)
            assert reached <= allowed(K, y, 0.0, tol) + slack


@pytest.mark.parametrize(("gamma", "classes"), [(0.1, False), (0.01, True)])
def test_a_tolerance_beyond_double_precision_ends_soon(gamma, classes):
    """A tiny epsilon on a Gram matrix that is numerically singular.

    ||alpha||_1 is about 1e8 times ||y||, so that rounding of the gradient is far above the
    tolerance. Each of thousands of rounds would still lower the objective by a hair; a few dozen
    are enough to see that double precision allows no more.
    """
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 2))
    K = np.exp(-gamma * np.square(points[:, None] - points[None]).sum(axis=-1))
    y = np.sin(3 * points[:, 0]) + points[:, 1]
    y = np.where(y > 0, 1.0, -1.0) if classes else y
    problem = state(K, y)
    problem = problem.with_parameters(epsilon=1e-9 * problem.epsilon_max)
    solution = psvm.WorkingSet(tol=1e-4, max_iter=500).minimise(problem)
    assert solution.status is psvm.Status.STALLED
    alpha = solution.alpha
    rounding = 64 * np.finfo(float).eps * np.abs(alpha).sum()
    assert rounding > 10 * problem.threshold(1e-4)  # the premise
    # Honest: what is left is rounding, and the objective is not that of a loose solution.
    assert violation(K, y, alpha, np.inf, problem.epsilon) <= 2 * rounding
    loose = problem.with_parameters(epsilon=1e-6 * problem.epsilon_max)
    loose = psvm.WorkingSet(tol=1e-4).minimise(loose)
    assert loose.status is psvm.Status.OPTIMAL
    reached, known = (objective(K, y, a, problem.epsilon) for a in (alpha, loose.alpha))
    assert reached < known


@pytest.mark.parametrize("gamma", [0.001, 0.01])
@pytest.mark.parametrize("seed", range(3))
def test_a_stalled_solution_is_the_best_of_all_rounds(gamma, seed, monkeypatch):
    """Where rounding dominates, a smaller violation may be paid for by a larger objective."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(100, 5))
    K = np.exp(-gamma * np.square(points[:, None] - points[None]).sum(axis=-1))
    problem = state(K, np.sin(points[:, 0]) + 0.1 * rng.normal(size=100))
    problem = problem.with_parameters(epsilon=1e-11 * problem.epsilon_max)
    seen, evaluate = [], _working_set._Run.evaluate

    def recorded(run):
        evaluate(run)
        seen.append((run.value(run.alpha, run.r), run.alpha.copy()))

    monkeypatch.setattr(_working_set._Run, "evaluate", recorded)
    solution = psvm.WorkingSet(tol=1e-4, max_iter=2000).minimise(problem)
    assert solution.status is psvm.Status.STALLED
    reached = [value for value, alpha in seen if np.array_equal(alpha, solution.alpha)]
    assert min(reached) <= min(value for value, _ in seen) * (1 + 1e-14)


@pytest.mark.parametrize("full", [0.0, 2.0], ids=["dense columns", "stored as K"])
def test_storages_and_weights_give_the_same_answer(full, monkeypatch):
    monkeypatch.setattr("psvm.matrix._sparse.FULL", full)
    rng = np.random.default_rng(3)
    K = rng.normal(size=(50, 400)) * (rng.random((50, 400)) < 0.2)
    y = K[:, :5].sum(axis=1) + 0.1 * rng.normal(size=50)
    weights = rng.integers(1, 4, size=50)
    repeated = np.repeat(np.arange(50), weights)
    solver = psvm.WorkingSet(tol=1e-10)
    reference = psvm.solve(K[repeated], y[repeated], epsilon=0.3, solver=solver)
    assert len(reference.support) > 3
    for matrix in (K, np.asfortranarray(K), sp.csr_array(K), sp.csc_matrix(K)):
        solution = psvm.solve(matrix, y, epsilon=0.3, solver=solver, sample_weight=weights)
        # The solution is unique here; tol * epsilon over the least eigenvalue bounds the rest.
        np.testing.assert_allclose(solution.coef, reference.coef, atol=1e-7)


def test_certificate_is_that_of_alpha(mixed):
    K, y, C, epsilon = mixed
    solution = psvm.WorkingSet(tol=1e-3).minimise(state(*mixed))
    Kt, centred = standardise(K), y - y.mean()
    F = Kt.T @ (Kt @ solution.alpha - centred)
    scale = np.abs(Kt.T @ centred).max()
    np.testing.assert_allclose(solution.F, F, atol=ROUNDING * scale)
    assert solution.kkt_violation == pytest.approx(
        violation(K, y, solution.alpha, C, epsilon), abs=ROUNDING * scale
    )
    shifted = objective(K, y, solution.alpha, epsilon) - 0.5 * centred @ centred
    assert solution.objective == pytest.approx(shifted, rel=1e-10)
    np.testing.assert_allclose(
        K @ solution.coef + solution.intercept, Kt @ solution.alpha + y.mean(), atol=1e-9
    )


def test_path_with_a_workspace():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(600, 3))
    K = np.exp(-np.square(points[:, None] - points[None]).sum(axis=-1))
    y = np.sin(2 * points[:, 0]) + 0.1 * rng.normal(size=600)
    problem = state(K, y)
    solver, start = psvm.WorkingSet(tol=1e-6), None
    workspace = solver.workspace(problem.K)
    joined = 0
    for share in np.geomspace(0.5, 1e-2, 8):
        step = problem.with_parameters(epsilon=share * problem.epsilon_max)
        solution = solver.minimise(step, start=start, workspace=workspace)
        start, joined = solution.alpha, joined + solution.n_q_columns
        limit = allowed(K, y, step.epsilon, 1e-6)
        assert violation(K, y, start, np.inf, step.epsilon) <= limit
    assert joined == len(np.unique(workspace.index)) <= 600  # no column is fetched twice
    # Back to a solved problem, from its solution: nothing is left to do.
    again = solver.minimise(step, start=start, workspace=workspace)
    assert again.n_iter == 0
    with pytest.raises(ValueError, match="another matrix"):
        solver.minimise(state(K, y), workspace=workspace)
    # Another target on the same data
    other = Problem.create(problem.K, np.cos(points[:, 1]), np.inf, 0.1)
    alpha = solver.minimise(other, workspace=workspace).alpha
    limit = allowed(K, np.cos(points[:, 1]), 0.1, 1e-6)
    assert violation(K, np.cos(points[:, 1]), alpha, np.inf, 0.1) <= limit


@pytest.mark.parametrize("bad", [0.0, 10.0, -3.0])
def test_warm_start_from_anywhere(mixed, bad):
    K, y, C, epsilon = mixed
    K = np.column_stack([K, np.ones(len(y))])  # a constant column with a non-zero start
    start = np.full(K.shape[1], bad)
    solution = psvm.WorkingSet(tol=1e-8).minimise(state(K, y, C, epsilon), start=start)
    assert solution.alpha[-1] == 0
    assert violation(K, y, solution.alpha, C, epsilon) <= allowed(K, y, epsilon, 1e-8)


def test_stops_early_and_says_so(mixed):
    K, y, _, _ = mixed
    problem = state(K, y, epsilon=1e-3)
    first = psvm.WorkingSet(tol=1e-8, max_iter=1, batch=10).minimise(problem)
    assert first.status is psvm.Status.MAX_ITER and first.n_iter == 1
    assert violation(K, y, first.alpha, np.inf, 1e-3) == pytest.approx(first.kkt_violation)
    late = psvm.WorkingSet(tol=1e-8, max_time=1e-9).minimise(problem)
    assert late.status is psvm.Status.MAX_TIME


@pytest.mark.parametrize("name", ["batch", "tol", "max_iter", "max_time"])
def test_options_are_checked(name):
    with pytest.raises(ValueError, match=name):
        psvm.WorkingSet(**{name: 0})


def test_interrupts_and_limits_between_runs_of_the_core(monkeypatch, mixed):
    """The core runs in turns of a bounded amount of work; between two of them Python is asked."""
    K, y, _, _ = mixed
    problem, turns = state(K, y, epsilon=1e-3), []

    class Watched(ActiveSet):
        def solve(self, work):
            turns.append(work)
            if len(turns) == 3:
                raise KeyboardInterrupt  # as the handler of a signal does
            return super().solve(work)

    monkeypatch.setattr(_working_set, "WORK", 1.0)  # less than one step
    workspace = _working_set.Workspace(problem.K, Watched(len(y)))
    with pytest.raises(KeyboardInterrupt):
        psvm.WorkingSet(tol=1e-8).minimise(problem, workspace=workspace)
    assert turns == [1.0] * 3
    # A clock that goes on whenever it is asked, which it is inside of the first round.
    clock = SimpleNamespace(perf_counter=count().__next__)
    monkeypatch.setattr(_working_set, "time", clock)
    late = psvm.WorkingSet(tol=1e-8, max_time=4).minimise(problem)
    assert late.status is psvm.Status.MAX_TIME and late.n_iter == 1
    assert violation(K, y, late.alpha, np.inf, 1e-3) == pytest.approx(late.kkt_violation)


@pytest.mark.slow
def test_interrupt_by_a_signal():
    """Ctrl-C while the core is busy: the solve does not go on to its end."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(3000, 5))
    K = np.exp(-0.3 * np.square(points[:, None] - points[None]).sum(axis=-1))
    problem = state(K, rng.normal(size=3000), epsilon=1e-6)
    busy, sent = threading.Event(), threading.Event()

    class Busy(ActiveSet):
        def solve(self, work):
            busy.set()
            done = super().solve(work)
            sent.wait()  # however busy the machine is
            return done

    def interrupt():
        busy.wait()
        _thread.interrupt_main()
        sent.set()

    # A process started in the background of a shell inherits a SIGINT that is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        workspace = _working_set.Workspace(problem.K, Busy(3000))
        with pytest.raises(KeyboardInterrupt):
            psvm.WorkingSet(tol=1e-9).minimise(problem, workspace=workspace)
    finally:
        signal.signal(signal.SIGINT, before)
