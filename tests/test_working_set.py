"""The working-set solver: every answer is judged from (K, y, alpha) alone."""

import _thread
import signal
import threading
from itertools import count

import numpy as np
import pytest
import scipy.sparse as sp

import psvm
from psvm._core._active_set import ActiveSet
from psvm.matrix import SparseMatrix, Standardized, as_matrix
from psvm.problem import Problem
from psvm.solvers import _clock, _working_set
from psvm.solvers._working_set import Workspace
from reference import Case, lasso_solve

ROUNDING = 1e-11
"""Share of ||K̃'y||_inf by which two ways to compute the same gradient may differ here."""


def state(case):
    return Problem.create(
        Standardized(as_matrix(case.K), case.weights), case.y, case.C, case.epsilon
    )


def allowed(case, tol):
    """The violation that `tol` allows, plus what rounding does to the test's own gradient."""
    return case.threshold(tol) + ROUNDING * case.epsilon_max


def shares_of_largest(K, y, C, epsilon):
    """A problem whose C and epsilon are given as shares of epsilon_max."""
    case = Case(K, y, np.inf, 0.0)
    return case.with_(C=C * (case.epsilon_max or 1.0), epsilon=epsilon * case.epsilon_max)


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
    epsilon = float(rng.choice([0, 1e-3, 1e-2, 0.1, 0.3, 0.9, 1.0, 1.5]))
    C = float(rng.choice([np.inf, 1e-3, 1e-2, 0.1, 0.3, 1.0]))
    return shares_of_largest(K, y, C, epsilon)


def check_random(seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        case = random_problem(rng)
        batch = int(rng.choice([3, 20, 100]))
        for tol in (1e-4, 1e-8):
            solver = psvm.WorkingSet(tol=tol, batch=batch)
            solution = solver.minimise(state(case))
            alpha = solution.alpha
            assert solution.status is psvm.Status.OPTIMAL, seed
            assert np.isfinite(alpha).all() and (np.abs(alpha) <= case.C).all(), seed
            assert not alpha[~case.K_s.any(axis=0)].any(), seed
            # Singular problems without a penalty have alpha of any size, and K̃ alpha, a sum of
            # columns of norm one, rounds by up to L eps ||alpha||_1.
            rounding = np.finfo(float).eps * len(case.y) * np.abs(alpha).sum()
            assert case.worst(alpha) <= allowed(case, tol) + rounding, seed


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
    return shares_of_largest(K, y, 0.15, 0.2)


def test_small_box(mixed):
    alpha = psvm.WorkingSet(tol=1e-8).minimise(state(mixed)).alpha
    size, C = np.abs(alpha), mixed.C
    assert (size == 0).any() and (size == C).sum() > 2 and ((size > 0) & (size < C)).sum() > 2
    assert mixed.worst(alpha) <= allowed(mixed, 1e-8)


@pytest.mark.parametrize("share", [1e-3, 1e-2])
def test_nearly_all_at_the_bound(share):
    # More variables at +-C than a working set keeps: they are folded into the residual.
    rng = np.random.default_rng(6)
    K, y = rng.normal(size=(40, 3000)), rng.normal(size=40)
    case = shares_of_largest(K, y, share, 0.01)
    solution = psvm.WorkingSet(tol=1e-6).minimise(state(case))
    assert (np.abs(solution.alpha) == case.C).sum() > 500 or share > 1e-3
    assert case.worst(solution.alpha) <= allowed(case, 1e-6)
    assert solution.n_iter < 40


@pytest.mark.parametrize("seed", range(12))
def test_against_smo_lasso_and_an_interior_point_method(seed):
    rng = np.random.default_rng(100 + seed)
    case = shares_of_largest(*random_data(rng), (np.inf, 0.2)[seed % 2], 0.1)
    alpha = psvm.WorkingSet(tol=1e-8).minimise(state(case)).alpha
    reached, size = case.objective(alpha), 0.5 * case.y_c @ case.y_c
    # All of them minimise the same convex function. The peers stop near the minimum, so ours
    # may be lower, but not higher by more than our tolerance times ||alpha||_1 allows.
    slack = 1e-8 * case.epsilon * np.abs(alpha).sum() + 1e-10 * (reached + size + 1)
    smo = psvm.SMO(tol=1e-8).minimise(state(case))
    assert reached <= case.objective(smo.alpha) + slack
    # The point of the interior point method is near the minimum, not at it.
    best = case.objective(case.oracle)
    assert reached + size == pytest.approx(best + size, rel=1e-6, abs=1e-8)
    if np.isinf(case.C):
        lasso = lasso_solve(case.K_s, case.y_c, case.epsilon)
        assert reached <= case.objective(lasso) + slack


@pytest.mark.parametrize("seed", range(60))
def test_variables_that_leave_the_working_set(seed):
    # With hardly any room, variables at 0 and at +-C leave and come back all the time.
    case = random_problem(np.random.default_rng(500 + seed))
    problem, solver = state(case), psvm.WorkingSet(tol=1e-6, batch=5)
    workspace = Workspace(problem.K, whole=case.K.shape[1] <= 10, fold=10, room=0)
    alpha = solver.minimise(problem, workspace=workspace).alpha
    assert case.worst(alpha) <= allowed(case, 1e-6)


def test_limits_of_epsilon():
    rng = np.random.default_rng(1)
    K, y = rng.normal(size=(30, 300)), rng.normal(size=30)
    solver = psvm.WorkingSet(tol=1e-8)
    for share, some in ((1 + 1e-12, False), (0.99, True)):
        case = shares_of_largest(K, y, np.inf, share)
        assert solver.minimise(state(case)).alpha.any() == some


@pytest.mark.parametrize("shape", [(30, 300), (60, 20)])
def test_without_epsilon_the_residual_is_orthogonal(shape):
    rng = np.random.default_rng(2)
    K, y = rng.normal(size=shape), rng.normal(size=shape[0])
    case = Case(K, y, np.inf, 0.0)
    solution = psvm.WorkingSet(tol=1e-8).minimise(state(case))
    assert solution.status is psvm.Status.OPTIMAL
    assert case.worst(solution.alpha) <= allowed(case, 1e-8)


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
        case = Case(K, y, np.inf, 0.0)
        problem = state(case)
        solution = psvm.WorkingSet(tol=tol, max_iter=200).minimise(problem)
        alpha = solution.alpha
        assert np.isfinite(alpha).all()
        r = problem.residual(alpha)
        assert r @ r <= problem.y @ problem.y
        if solution.status is psvm.Status.OPTIMAL:
            # The test's own K̃ differs by rounding, which alpha magnifies.
            slack = 1e-15 * np.abs(alpha).sum() * len(y)
            assert case.worst(alpha) <= allowed(case, tol) + slack


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
    case = shares_of_largest(K, y, np.inf, 1e-9)
    problem = state(case)
    solution = psvm.WorkingSet(tol=1e-4, max_iter=500).minimise(problem)
    assert solution.status is psvm.Status.STALLED
    alpha = solution.alpha
    rounding = 64 * np.finfo(float).eps * np.abs(alpha).sum()
    assert rounding > 10 * problem.threshold(1e-4)  # the premise
    # Honest: what is left is rounding, and the objective is not that of a loose solution.
    assert case.worst(alpha) <= 2 * rounding
    loose = problem.with_parameters(epsilon=1e-6 * problem.epsilon_max)
    loose = psvm.WorkingSet(tol=1e-4).minimise(loose)
    assert loose.status is psvm.Status.OPTIMAL
    assert case.objective(alpha) < case.objective(loose.alpha)


@pytest.mark.parametrize("gamma", [0.001, 0.01])
@pytest.mark.parametrize("seed", range(3))
def test_a_stalled_solution_is_the_best_of_all_rounds(gamma, seed, monkeypatch):
    """Where rounding dominates, a smaller violation may be paid for by a larger objective."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(100, 5))
    K = np.exp(-gamma * np.square(points[:, None] - points[None]).sum(axis=-1))
    problem = state(Case(K, np.sin(points[:, 0]) + 0.1 * rng.normal(size=100), np.inf, 0.0))
    problem = problem.with_parameters(epsilon=1e-11 * problem.epsilon_max)
    seen, evaluate = [], _working_set._WorkingSetRun.evaluate

    def recorded(run):
        evaluate(run)
        seen.append((run.value(run.alpha, run.r), run.alpha.copy()))

    monkeypatch.setattr(_working_set._WorkingSetRun, "evaluate", recorded)
    solution = psvm.WorkingSet(tol=1e-4, max_iter=2000).minimise(problem)
    assert solution.status is psvm.Status.STALLED
    reached = [value for value, alpha in seen if np.array_equal(alpha, solution.alpha)]
    assert min(reached) <= min(value for value, _ in seen) * (1 + 1e-14)


@pytest.mark.parametrize("full", [0.0, 2.0], ids=["dense columns", "stored as K"])
def test_storages_and_weights_give_the_same_answer(full):
    rng = np.random.default_rng(3)
    K = rng.normal(size=(50, 400)) * (rng.random((50, 400)) < 0.2)
    y = K[:, :5].sum(axis=1) + 0.1 * rng.normal(size=50)
    weights = rng.integers(1, 4, size=50)
    repeated = np.repeat(np.arange(50), weights)
    solver = psvm.WorkingSet(tol=1e-10)
    reference = psvm.solve(K[repeated], y[repeated], epsilon=0.3, solver=solver)
    assert len(reference.support) > 3
    sparse = [SparseMatrix(kind(K), full=full) for kind in (sp.csr_array, sp.csc_matrix)]
    for matrix in (K, np.asfortranarray(K), *sparse):
        solution = psvm.solve(matrix, y, epsilon=0.3, solver=solver, sample_weight=weights)
        # The solution is unique here; tol * epsilon over the least eigenvalue bounds the rest.
        np.testing.assert_allclose(solution.coef, reference.coef, atol=1e-7)


def test_certificate_is_that_of_alpha(mixed):
    solution, scale = psvm.WorkingSet(tol=1e-3).minimise(state(mixed)), mixed.epsilon_max
    alpha = solution.alpha
    np.testing.assert_allclose(solution.F, mixed.gradient(alpha), atol=ROUNDING * scale)
    assert solution.kkt_violation == pytest.approx(mixed.worst(alpha), abs=ROUNDING * scale)
    assert solution.objective == pytest.approx(mixed.objective(alpha), rel=1e-10)
    values = mixed.K_s @ alpha + mixed.y.mean()
    np.testing.assert_allclose(mixed.K @ solution.coef + solution.intercept, values, atol=1e-9)


def test_path_with_a_workspace():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(600, 3))
    K = np.exp(-np.square(points[:, None] - points[None]).sum(axis=-1))
    y = np.sin(2 * points[:, 0]) + 0.1 * rng.normal(size=600)
    case = Case(K, y, np.inf, 1.0)
    problem = state(case)
    solver, start = psvm.WorkingSet(tol=1e-6), None
    workspace = solver.workspace(problem.K)
    joined = 0
    for share in np.geomspace(0.5, 1e-2, 8):
        step = problem.with_parameters(epsilon=share * problem.epsilon_max)
        solution = solver.minimise(step, start=start, workspace=workspace)
        start, joined = solution.alpha, joined + solution.n_q_columns
        solved = case.with_(epsilon=step.epsilon)
        assert solved.worst(start) <= allowed(solved, 1e-6)
    assert joined == len(np.unique(workspace.index)) <= 600  # no column is fetched twice
    # Back to a solved problem, from its solution: nothing is left to do.
    again = solver.minimise(step, start=start, workspace=workspace)
    assert again.n_iter == 0
    with pytest.raises(ValueError, match="another matrix"):
        solver.minimise(state(case), workspace=workspace)
    # Another target on the same data
    other = case.with_(y=np.cos(points[:, 1]), epsilon=0.1)
    another = Problem.create(problem.K, other.y, np.inf, 0.1)
    alpha = solver.minimise(another, workspace=workspace).alpha
    assert other.worst(alpha) <= allowed(other, 1e-6)


@pytest.mark.parametrize("bad", [0.0, 10.0, -3.0])
def test_warm_start_from_anywhere(mixed, bad):
    # A constant column with a non-zero start
    case = mixed.with_(K=np.column_stack([mixed.K, np.ones(len(mixed.y))]))
    start = np.full(case.K.shape[1], bad)
    solution = psvm.WorkingSet(tol=1e-8).minimise(state(case), start=start)
    assert solution.alpha[-1] == 0
    assert case.worst(solution.alpha) <= allowed(case, 1e-8)


def test_stops_early_and_says_so(mixed):
    case = mixed.with_(C=np.inf, epsilon=1e-3)
    problem = state(case)
    first = psvm.WorkingSet(tol=1e-8, max_iter=1, batch=10).minimise(problem)
    assert first.status is psvm.Status.MAX_ITER and first.n_iter == 1
    assert case.worst(first.alpha) == pytest.approx(first.kkt_violation)
    late = psvm.WorkingSet(tol=1e-8, max_time=1e-9).minimise(problem)
    assert late.status is psvm.Status.MAX_TIME


@pytest.mark.parametrize("name", ["batch", "tol", "max_iter", "max_time"])
def test_options_are_checked(name):
    with pytest.raises(ValueError, match=name):
        psvm.WorkingSet(**{name: 0})


def test_interrupts_and_limits_between_runs_of_the_core(monkeypatch, mixed):
    """The core runs in turns of a bounded amount of work; between two of them Python is asked."""
    case, turns = mixed.with_(C=np.inf, epsilon=1e-3), []
    problem = state(case)

    class Watched(ActiveSet):
        def solve(self, work):
            turns.append(work)
            if len(turns) == 3:
                raise KeyboardInterrupt  # as the handler of a signal does
            return super().solve(work)

    work = {"work": 1.0}  # less than one step
    workspace = Workspace(problem.K, Watched(len(case.y)), **work)
    with pytest.raises(KeyboardInterrupt):
        psvm.WorkingSet(tol=1e-8).minimise(problem, workspace=workspace)
    assert turns == [1.0] * 3
    # A clock that goes on whenever it is asked, which it is inside of the first round.
    monkeypatch.setattr(_clock, "perf_counter", count().__next__)
    workspace = Workspace(problem.K, **work)
    late = psvm.WorkingSet(tol=1e-8, max_time=4).minimise(problem, workspace=workspace)
    assert late.status is psvm.Status.MAX_TIME and late.n_iter == 1
    assert case.worst(late.alpha) == pytest.approx(late.kkt_violation)


@pytest.mark.slow
def test_interrupt_by_a_signal():
    """Ctrl-C while the core is busy: the solve does not go on to its end."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(3000, 5))
    K = np.exp(-0.3 * np.square(points[:, None] - points[None]).sum(axis=-1))
    problem = state(Case(K, rng.normal(size=3000), np.inf, 1e-6))
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
        workspace = Workspace(problem.K, Busy(3000))
        with pytest.raises(KeyboardInterrupt):
            psvm.WorkingSet(tol=1e-9).minimise(problem, workspace=workspace)
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("n_alike", [2, 3])
def test_steps_that_gain_nothing_come_to_an_end(n_alike):
    """Columns that differ by 1e-7, and a target that is the difference of two of them.

    The solution is 1e7 times as large as that without one of the two, and nearly dependent columns
    are moved so carefully that each of some ten thousand rounds gains a hair.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    alike = x[:, None] + 1e-7 * rng.normal(size=(200, n_alike))
    K = np.column_stack([alike, rng.normal(size=200)])
    case = Case(K, 1e7 * (K[:, 1] - K[:, 0]) + x, np.inf, 1e-6)
    problem = state(case)
    solution = psvm.WorkingSet(tol=1e-3, max_iter=1000).minimise(problem)
    assert solution.status in (psvm.Status.OPTIMAL, psvm.Status.STALLED)
    few = Case(K[:, 1:], case.y, np.inf, 1e-6)
    without = psvm.WorkingSet(tol=1e-3).minimise(state(few)).alpha
    reached, other = case.objective(solution.alpha), few.objective(without)
    assert reached <= other + 1e-9 * abs(other)
