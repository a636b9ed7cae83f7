"""The SMO of the papers: its steps against brute force, its answers against oracles."""

import _thread
import re
import signal
import threading
from collections import Counter
from functools import cache
from itertools import count, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

import psvm
from psvm import SMO, Status
from psvm._core import _smo as compiled
from psvm.matrix import Standardized, as_matrix
from psvm.problem import Problem
from psvm.solvers import _clock
from psvm.solvers import _smo as outer
from psvm.solvers import _smo_numpy as plain
from psvm.solvers._smo import GramColumns
from reference import KINDS, Case, lasso_solve, pair_minimum, random_problem, violation

CONVERGED, NEED_COLUMN, MAX_STEPS, STALLED = range(4)
STEPS = list(product((True, False), repeat=2))
VARIANTS = [SMO(pair=p, block=b, anneal=a) for p, b, a in product((True, False), repeat=3)]


def name(variant):
    return "-".join(
        word if getattr(variant, word) else f"no {word}" for word in ("pair", "block", "anneal")
    )


every_variant = pytest.mark.parametrize("variant", VARIANTS, ids=name)
every_core = pytest.mark.parametrize(
    "core", [compiled.Core, plain.NumpyCore], ids=["compiled", "numpy"]
)


def solve(case, variant, **options):
    return psvm.solve(
        case.K,
        case.y,
        case.C,
        epsilon=case.epsilon,
        sample_weight=case.weights,
        solver=variant,
        **options,
    )


def state(case):
    return Problem.create(
        Standardized(as_matrix(case.K), case.weights), case.y, case.C, case.epsilon
    )


def assert_optimal(case, solution, tol=1e-4):
    """Recompute the certificate of a solution from (K, y, alpha)."""
    alpha = solution.alpha
    assert solution.status is Status.OPTIMAL
    assert np.all(np.abs(alpha) <= case.C)
    rounding = case.rounding(alpha)
    assert case.worst(alpha) <= case.threshold(tol) + rounding
    assert abs(solution.kkt_violation - case.worst(alpha)) <= rounding
    scale = np.linalg.norm(case.y_c) + np.abs(alpha).sum()
    assert abs(solution.objective - case.objective(alpha)) <= rounding * scale
    np.testing.assert_allclose(solution.F, case.gradient(alpha), atol=rounding)
    if np.isfinite(case.C) or case.epsilon > 0:
        bound = case.gap_bound(alpha, case.threshold(tol) + rounding)
        assert case.gap(alpha) <= bound + rounding * scale


def assert_no_worse(case, solution, point, tol=1e-4):
    """D(alpha) - D(b) <= d'|alpha - b| for every b in the box, as D is convex."""
    allowed = case.threshold(tol) + case.rounding(solution.alpha)
    distance = np.abs(solution.alpha - point).sum() + np.linalg.norm(case.y_c)
    assert case.objective(solution.alpha) <= case.objective(point) + allowed * distance


# ---------------------------------------------------------------------------------------------
# One step


class Pair:
    """Columns of Q for two variables with correlation q, as both cores want them."""

    def __init__(self, q):
        self.Q = np.array([[1.0, q], [q, 1.0]])
        self.kept = {0: self.Q[0], 1: self.Q[1]}
        self.address = np.array([row.ctypes.data for row in self.Q], dtype=np.uintp)


def one_step(core, a, F, q, C, epsilon, *, pair=True):
    alpha, F = np.array(a, dtype=float), np.array(F, dtype=float)
    run = core(alpha, F, Pair(q), C, pair, False)
    event = run.run(epsilon, 0.0, 1)
    return alpha, F, event


Q_PLUS, Q_MINUS = np.array([[1, 0.5], [0.5, 1]]), np.array([[1, -0.5], [-0.5, 1]])


@every_core
@pytest.mark.parametrize(
    ("configuration", "Q", "u", "expected"),
    [
        # Box [0, 1]^2, start (1/2, 1/2), unconstrained minimum u. By hand: with one variable on its
        # bound c the best value of the other is u_k - q (c - u_i).
        ("A", Q_PLUS, (0.25, 0.625), (0.25, 0.625)),
        ("B", Q_PLUS, (1.5, 0.5), (1.0, 0.75)),
        ("B", Q_PLUS, (-0.25, 0.5), (0.0, 0.375)),
        ("B, then at the other bound too", Q_PLUS, (3.0, 0.5), (1.0, 1.0)),
        ("C", Q_PLUS, (0.5, 1.5), (0.75, 1.0)),
        ("C", Q_PLUS, (0.5, -0.25), (0.375, 0.0)),
        ("D", Q_MINUS, (3.0, 1.25), (1.0, 0.25)),
        ("D, then at the opposite bound", Q_MINUS, (5.0, 1.25), (1.0, 0.0)),
        ("E", Q_MINUS, (1.25, 3.0), (0.25, 1.0)),
        ("E, then at the opposite bound", Q_MINUS, (1.25, 5.0), (0.0, 1.0)),
        ("F", Q_PLUS, (1.5, 1.5), (1.0, 1.0)),
        ("F", Q_PLUS, (-1.0, -1.0), (0.0, 0.0)),
        ("F", Q_MINUS, (1.5, -0.5), (1.0, 0.0)),
    ],
)
@pytest.mark.parametrize("sign", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("swap", [False, True])
def test_six_configurations(core, configuration, Q, u, expected, sign, swap):
    # Reflections and the exchange of the variables give the other quadrants and first indices.
    sign, epsilon = np.array(sign), 0.25
    start, order = np.array([0.5, 0.5]), [1, 0] if swap else [0, 1]
    F = sign * (Q @ (start - np.array(u))) - epsilon * sign
    q = Q[0, 1] * sign.prod()
    alpha, _, _ = one_step(core, (sign * start)[order], F[order], q, 1.0, epsilon)
    np.testing.assert_allclose(alpha, (sign * expected)[order], atol=1e-15)
    value, _ = pair_minimum(sign * start, F, sign, q, 1.0, epsilon)
    np.testing.assert_allclose(value, sign * expected, atol=1e-12)


def configuration_of(a, F, s, q, C, epsilon):
    """Which of the six pictures of the paper's figure 2 shows this pair."""
    g = F + epsilon * s
    u = a + np.array([g[1] * q - g[0], g[0] * q - g[1]]) / (1 - q * q)
    low, high = np.where(s > 0, 0.0, -C), np.where(s > 0, C, 0.0)
    out = (u < low) | (u > high)
    if not out.any():
        return "A"
    if not out.all():
        return "B" if out[0] else "C"
    best, _ = pair_minimum(a, F, s, q, C, epsilon)
    at_own_bound = np.abs(best - np.clip(u, low, high)) <= 1e-9 * (1 + np.abs(best))
    return {(True, False): "D", (False, True): "E", (True, True): "F"}[tuple(at_own_bound)]


def random_pair(rng):
    C = np.inf if rng.random() < 0.2 else 10 ** rng.uniform(-1, 1)
    s = rng.choice([-1, 1], size=2)
    radius = C if np.isfinite(C) else 1.0
    a = s * radius * rng.choice([0.0, 1.0, rng.uniform()], size=2)
    if np.isinf(C):
        a = s * np.abs(rng.normal(size=2)) * (rng.random(2) < 0.7)
    q = rng.choice([0.0, rng.uniform(-1, 1), 0.999, -0.999, rng.uniform(-0.9, 0.9)])
    epsilon = rng.choice([0.0, rng.uniform(0, 2)])
    return a, rng.normal(size=2) * 10 ** rng.uniform(-1, 1), s, float(q), float(C), float(epsilon)


def pair_value(v, a, F, s, q, epsilon):
    d = v - a
    return (F + epsilon * s) @ d + 0.5 * d @ d + q * d[0] * d[1]


def test_pair_minimum_against_the_nine_faces():
    rng = np.random.default_rng(0)
    seen = Counter()
    for _ in range(2000):
        a, F, s, q, C, epsilon = random_pair(rng)
        seen[configuration_of(a, F, s, q, C, epsilon)] += 1
        v = np.array(
            plain.pair_minimum(a[0], F[0], s[0], a[1:], F[1:], s[1], np.array([q]), C, epsilon)
        ).ravel()
        best, best_value = pair_minimum(a, F, s, q, C, epsilon)
        assert np.all((s * v >= 0) & (s * v <= C))
        # Eq. 22 divides by 1 - q^2 >= 2e-3, which costs three of sixteen digits.
        scale = 1 + np.abs(best).max() + np.abs(a).max() + np.abs(F).max() + epsilon
        np.testing.assert_allclose(v, best, atol=1e-11 * scale / (1 - q * q))
        assert pair_value(v, a, F, s, q, epsilon) <= best_value + 1e-11 * scale**2
    assert all(seen[c] > 25 for c in "ABCDEF"), seen


@every_core
def test_pair_step_takes_the_largest_of_the_possible_signs(core):
    rng = np.random.default_rng(1)
    n_zero = 0
    for _ in range(1500):
        a, F, _, q, C, epsilon = random_pair(rng)
        if violation(a, F, C, epsilon).max() <= 1e-6:
            continue
        n_zero += (a == 0).any()
        candidates = [
            pair_minimum(a, F, np.array(s), q, C, epsilon)[0]
            for s in product((1, -1), repeat=2)
            if np.all(np.array(s) * a >= 0)
        ]
        alpha, F_new, event = one_step(core, a, F, q, C, epsilon)
        scale = 1 + np.abs(candidates).max() + np.abs(F).max() + epsilon
        tol = 1e-11 * scale / (1 - q * q)
        sizes = [np.abs(v - a).max() for v in candidates]
        assert abs(np.abs(alpha - a).max() - max(sizes)) <= tol
        # Of candidates of equal size any may be taken.
        near = [v for v, size in zip(candidates, sizes, strict=True) if size >= max(sizes) - tol]
        assert min(np.abs(v - alpha).max() for v in near) <= tol
        Q = np.array([[1, q], [q, 1]])
        np.testing.assert_allclose(F_new, F + Q @ (alpha - a), atol=1e-12 * scale)
        assert event in (CONVERGED, MAX_STEPS)
    assert n_zero > 300


@every_core
def test_single_step_is_the_minimum_over_its_interval(core):
    rng = np.random.default_rng(2)
    kinds = Counter()
    for _ in range(1500):
        a, F, _, _, C, epsilon = random_pair(rng)
        a[1], F[1] = 0.0, 0.0  # the other variable is optimal and, with q = 0, not concerned
        if violation(a, F, C, epsilon)[0] <= 1e-6:
            continue
        alpha, F_new, _ = one_step(core, a, F, 0.0, C, epsilon, pair=False)

        def value(v, a=a, F=F, epsilon=epsilon):
            return F[0] * (v - a[0]) + 0.5 * (v - a[0]) ** 2 + epsilon * abs(v)

        # Candidates: the ends and the stationary point of the interval of each possible sign.
        candidates = []
        for s in (1, -1):
            if s * a[0] >= 0:
                stationary = a[0] - F[0] - epsilon * s
                ends = [0.0] + ([s * C] if np.isfinite(C) else [])
                candidates += ends + ([stationary] if 0 <= s * stationary <= C else [])
        best = min(candidates, key=value)
        assert abs(alpha[0] - best) <= 1e-14 * (1 + abs(best) + abs(a[0]) + abs(F[0]) + epsilon)
        assert alpha[1] == 0
        assert F_new[0] == pytest.approx(F[0] + alpha[0] - a[0], abs=1e-12 * (1 + abs(F[0])))
        kinds["from zero" if a[0] == 0 else "from bound" if abs(a[0]) == C else "free"] += 1
        kinds["to zero" if best == 0 else "to bound" if abs(best) == C else "to free"] += 1
    assert all(kinds[k] > 30 for k in ("from zero", "from bound", "free")), kinds
    assert all(kinds[k] > 30 for k in ("to zero", "to bound", "to free")), kinds


@every_core
@pytest.mark.parametrize("q", [1.0, -1.0, 1 - 1e-13])
def test_parallel_columns_are_no_pair(core, q):
    # 1 - q^2 is 0 or noise: a single step for the worst variable instead of a division by it.
    # As a pair the two would share the step of 1.5 equally.
    s = np.sign(q)
    alpha, _, _ = one_step(core, [0.5, 0.5 * s], [-2.0, -2.0 * s], q, np.inf, 0.5)
    np.testing.assert_array_equal(alpha, [2.0, 0.5 * s])


# ---------------------------------------------------------------------------------------------
# The compiled loop against its NumPy twin


@pytest.mark.parametrize("pair", [True, False])
def test_block_updates_with_bounds_match_the_twin(pair, monkeypatch):
    """Boxes that are in the way: block updates fix variables, and others in their place."""
    seen = Counter()
    reoptimize = plain.Block.reoptimize

    def counting(self, active, current, gradient, new, bounded, fixed):
        # The same list of free variables a second time: another variable is fixed instead.
        seen["in its place"] += any(active is a for a in self.lists)
        seen["fixed"] += 1
        self.lists = [*self.lists, active]
        return reoptimize(self, active, current, gradient, new, bounded, fixed)

    monkeypatch.setattr(plain.Block, "lists", [], raising=False)
    monkeypatch.setattr(plain.Block, "reoptimize", counting)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        K = rng.normal(size=(40, 12)) + rng.normal(size=(40, 1))
        case = Case(K, K @ rng.normal(size=12) + rng.normal(size=40), np.inf, 0.0)
        C = rng.uniform(0.05, 0.4) * np.linalg.norm(case.y_c)
        case = case.with_(C=C, epsilon=0.02 * case.epsilon_max)
        problem, scale = state(case), np.linalg.norm(case.y_c)
        fast, slow = (
            Driver(core, problem, pair, True) for core in (compiled.Core, plain.NumpyCore)
        )
        event = MAX_STEPS
        while event == MAX_STEPS:
            event = fast.step(case.epsilon, case.threshold(1e-4))
            assert slow.step(case.epsilon, case.threshold(1e-4)) == event
            assert fast.core.n_blocks == slow.core.n_blocks
            # Q has a condition below 1e4, as in the test of single steps below.
            np.testing.assert_allclose(fast.alpha, slow.alpha, rtol=0, atol=1e-11 * scale)
            slow.alpha[:], slow.F[:] = fast.alpha, fast.F
    assert seen["fixed"] > 50
    assert seen["in its place"] > 10


class Driver:
    """A core driven from outside, one step at a time."""

    def __init__(self, core, problem, pair, block):
        self.problem = problem
        self.columns = GramColumns(problem.K)
        self.alpha, self.F = np.zeros(problem.K.shape[1]), -problem.l.copy()
        self.core = core(self.alpha, self.F, self.columns, problem.C, pair, block)
        self.asked = []

    def step(self, epsilon, threshold):
        while (event := self.core.run(epsilon, threshold, 1)) == NEED_COLUMN:
            self.asked.append(int(self.core.needed))
            self.columns.fetch(self.core.needed)
        return event


@pytest.mark.parametrize(("pair", "block"), STEPS)
@pytest.mark.parametrize("seed", range(12))
def test_compiled_core_matches_numpy_step_by_step(pair, block, seed):
    """Same columns asked for, same alpha and F after each step.

    The matrices are random and have more rows than columns: equal sizes of two candidates, where
    rounding would decide, have probability zero, and Cholesky factors are well defined. Rounding
    then is all that may differ; it is not allowed to accumulate, as the twin continues from the
    state of the compiled core. A block update multiplies it by the condition of Q, below 1e4.
    """
    rng = np.random.default_rng(seed)
    P = int(rng.integers(1, 30))
    K = rng.normal(size=(60, P)) + rng.uniform(0, 2) * rng.normal(size=(60, 1))
    y = K @ (rng.normal(size=P) * (rng.random(P) < 0.7)) + rng.normal(size=60)
    case = Case(K, y, np.inf, 0.0)
    C = [np.inf, 0.3 * np.linalg.norm(case.y_c), 0.05 * np.linalg.norm(case.y_c)][seed % 3]
    case = case.with_(C=C, epsilon=[0.2, 0.02, 0.0][seed % 2 + (seed == 5)] * case.epsilon_max)
    assert np.linalg.cond(case.K_s) ** 2 < 1e4
    problem, scale = state(case), np.linalg.norm(case.y_c)
    fast, slow = (Driver(core, problem, pair, block) for core in (compiled.Core, plain.NumpyCore))
    threshold = case.threshold(1e-8)
    for _ in range(150):
        events = fast.step(case.epsilon, threshold), slow.step(case.epsilon, threshold)
        assert events[0] == events[1]
        assert fast.asked == slow.asked
        assert fast.core.n_iter == slow.core.n_iter
        assert fast.core.n_blocks == slow.core.n_blocks
        np.testing.assert_allclose(fast.alpha, slow.alpha, rtol=0, atol=1e-11 * scale)
        np.testing.assert_allclose(fast.F, slow.F, rtol=0, atol=1e-11 * scale)
        if events[0] != MAX_STEPS:
            break
        slow.alpha[:], slow.F[:] = fast.alpha, fast.F
    assert fast.core.n_iter > 0
    if block and P > 5 and seed % 3 == 0:  # without a box few block updates are given up
        assert fast.core.n_blocks > 0


@pytest.mark.parametrize(("pair", "block"), STEPS)
@pytest.mark.parametrize("kind", KINDS)
def test_cores_reach_the_same_objective_in_spite_of_ties(pair, block, kind):
    """Duplicates, integers and singular blocks: ties may part the ways, the ends must meet."""
    case = random_problem(np.random.default_rng(11), kind)
    case = case.with_(epsilon=max(case.epsilon, 0.05 * case.epsilon_max))
    problem, variant = state(case), SMO(pair=pair, block=block, anneal=False, tol=1e-8)
    fast, slow = (variant.minimise(problem, core=core) for core in (compiled.Core, plain.NumpyCore))
    assert_optimal(case, fast, 1e-8)
    assert_optimal(case, slow, 1e-8)
    assert_no_worse(case, fast, slow.alpha, 1e-8)
    assert_no_worse(case, slow, fast.alpha, 1e-8)


# ---------------------------------------------------------------------------------------------
# Block updates


def hard_case(rng):
    """Ill-conditioned: an RBF Gram matrix or nearly parallel columns."""
    if rng.random() < 0.5:
        return random_problem(rng, "rbf")
    L, P = rng.integers(10, 25, size=2)
    K = np.repeat(rng.normal(size=(L, P)), 2, axis=1)
    K += 10.0 ** rng.uniform(-9, -1) * rng.normal(size=K.shape)
    case = Case(K, rng.normal(size=L), np.inf, 0.0, kind="nearly parallel")
    C = [np.inf, 0.2 * np.linalg.norm(case.y_c)][rng.integers(2)]
    return case.with_(C=C, epsilon=10 ** rng.uniform(-3, -0.5) * case.epsilon_max)


@every_core
@pytest.mark.parametrize("pair", [True, False])
def test_steps_and_block_updates_never_increase_the_objective(core, pair):
    n_blocks = 0
    for seed in range(40):
        case = hard_case(np.random.default_rng(seed))
        problem = state(case)
        with_block = Driver(core, problem, pair, True)
        for _ in range(120):
            alpha, F = with_block.alpha.copy(), with_block.F.copy()
            blocks = with_block.core.n_blocks
            event = with_block.step(case.epsilon, case.threshold(1e-4))
            # D is a difference of sums of squares of this size.
            u = np.linalg.norm(case.K_s @ with_block.alpha) + np.linalg.norm(case.y_c)
            tol = 1e-13 * u**2 + case.rounding(alpha) * np.abs(alpha).sum()
            before, after = case.objective(alpha), case.objective(with_block.alpha)
            assert after <= before + tol
            assert np.all(np.abs(with_block.alpha) <= case.C)
            drift = case.rounding(with_block.alpha) * 120
            np.testing.assert_allclose(
                with_block.F, case.gradient(with_block.alpha), atol=drift, rtol=0
            )
            if with_block.core.n_blocks > blocks:
                # The same step without the block update that followed it.
                n_blocks += 1
                without = core(alpha, F, with_block.columns, case.C, pair, False)
                assert without.run(case.epsilon, case.threshold(1e-4), 1) != NEED_COLUMN
                assert after <= case.objective(alpha) + tol
            if event != MAX_STEPS:
                break
    assert n_blocks > 15


@every_core
@pytest.mark.parametrize("n", [3, 10, 21])
def test_block_update_solves_for_the_free_variables(core, n):
    """With orthogonal starts and no bound in the way one block update gives the exact optimum."""
    rng = np.random.default_rng(n)
    K = rng.normal(size=(100, n))
    y = K @ np.full(n, 10.0)  # all variables positive, far from 0
    case = Case(K, y, np.inf, 1e-3)
    driver = Driver(core, state(case), True, True)
    event = MAX_STEPS
    while driver.core.n_blocks == 0 and event == MAX_STEPS:
        event = driver.step(case.epsilon, 1e-14)
    assert driver.core.n_blocks == 1
    changed = np.flatnonzero(driver.alpha)
    # the changed variables are stationary: F_j = -epsilon
    np.testing.assert_allclose(driver.F[changed], -1e-3, atol=1e-10)


# ---------------------------------------------------------------------------------------------
# All variants: oracles, limits, invariances


@cache
def sample():
    return [
        random_problem(np.random.default_rng((seed, number)), kind)
        for number, kind in enumerate(KINDS)
        for seed in range(10, 13)
    ]


@every_variant
def test_oracle(variant):
    for case in sample():
        solution = solve(case, variant)
        assert_optimal(case, solution)
        assert_no_worse(case, solution, case.oracle)


@every_variant
def test_lasso_oracle(variant):
    n = 0
    for seed, kind in enumerate(KINDS * 2):
        case = random_problem(np.random.default_rng(seed), kind).with_(C=np.inf)
        if case.epsilon <= 0.01 * case.epsilon_max:
            continue  # coordinate descent warns there
        n += 1
        solution, point = solve(case, variant), lasso_solve(case.K_s, case.y_c, case.epsilon)
        assert_optimal(case, solution)
        assert_no_worse(case, solution, point)
        # and Lasso is not better by more than its own, tighter tolerance: the two agree
        assert case.objective(point) <= case.objective(solution.alpha) + 1e-9 * (
            1 + case.y_c @ case.y_c
        )
    assert n > 10


@every_variant
def test_zero_from_epsilon_max_on(variant):
    for seed in range(12):
        case = random_problem(np.random.default_rng(seed), "tall")
        case = case.with_(C=1e6)
        largest = case.epsilon_max
        # Two computations of epsilon_max may differ in the last digits.
        zero = solve(case.with_(epsilon=largest * (1 + 1e-12)), variant)
        assert zero.n_iter == 0
        assert not zero.alpha.any()
        assert zero.gap <= 1e-9 * case.y_c @ case.y_c
        assert solve(case.with_(epsilon=0.99 * largest), variant).alpha.any()


@every_variant
def test_tiny_C_puts_all_on_the_box(variant):
    for seed in range(6):
        case = random_problem(np.random.default_rng(seed), "tall")
        l = case.K_s.T @ case.y_c
        # |F_j| > epsilon stays true for all j if P C < min |l_j| - epsilon: then all are at +-C.
        case = case.with_(epsilon=0.5 * np.abs(l).min(), C=0.4 * np.abs(l).min() / len(l))
        solution = solve(case, variant)
        np.testing.assert_array_equal(solution.alpha, case.C * np.sign(l))


def generic_case():
    """Unique solution with zero, free and bound variables; its Q is well conditioned."""
    rng = np.random.default_rng(3)
    K = rng.normal(size=(40, 9)) + 0.5 * rng.normal(size=(40, 1))
    y = K @ np.array([6.0, -4, 0, 0, 0.5, 1, 0, 0, -0.3]) + rng.normal(size=40)
    case = Case(K, y, 12.0, 0.0)
    return case.with_(epsilon=0.05 * case.epsilon_max)


TIGHT = 1e-9


def assert_same_solution(case, alpha, expected):
    """Two points with violations <= t differ by at most 2 sqrt(P) t / lambda_min(Q)."""
    lowest = np.linalg.svd(case.K_s, compute_uv=False).min() ** 2
    t = case.threshold(TIGHT) + case.rounding(alpha)
    assert np.linalg.norm(alpha - expected) <= 2 * np.sqrt(len(alpha)) * t / lowest


def test_generic_case_has_all_kinds_of_variables():
    case = generic_case()
    alpha = solve(case, SMO(tol=TIGHT)).alpha
    assert (alpha == 0).sum() >= 2
    assert (np.abs(alpha) == case.C).sum() >= 1
    assert ((alpha != 0) & (np.abs(alpha) < case.C)).sum() >= 2
    assert np.linalg.cond(case.K_s) < 10


@every_variant
def test_invariances(variant):
    case, rng = generic_case(), np.random.default_rng(4)
    L, P = case.K.shape
    expected = solve(case, variant, tol=TIGHT).alpha

    def check(changed, back):
        solution = solve(changed, variant, tol=TIGHT)
        assert_optimal(changed, solution, TIGHT)
        assert_same_solution(case, back(solution.alpha), expected)

    scale, shift = 10.0 ** rng.uniform(-3, 3, P), 3 * rng.normal(size=P)
    check(case.with_(K=scale * (case.K + shift)), lambda a: a)
    flip = rng.choice([-1.0, 1.0], P)
    assert len(set(flip)) == 2
    check(case.with_(K=flip * case.K), lambda a: flip * a)
    columns, rows = rng.permutation(P), rng.permutation(L)
    check(case.with_(K=case.K[:, columns]), lambda a: a[np.argsort(columns)])
    check(case.with_(K=case.K[rows], y=case.y[rows]), lambda a: a)
    check(case.with_(y=case.y + 7.0), lambda a: a)
    for s in (1e-3, 8.0):
        check(
            case.with_(y=s * case.y, C=s * case.C, epsilon=s * case.epsilon), lambda a, s=s: a / s
        )
    check(case.with_(y=-case.y), lambda a: -a)


@every_variant
def test_weights(variant):
    case, rng = generic_case(), np.random.default_rng(5)
    weights = rng.choice([0.0, 1.0, 2.0, 3.0], size=len(case.y))
    assert set(weights) == {0, 1, 2, 3}
    rows = np.repeat(np.arange(len(case.y)), weights.astype(int))
    weighted = case.with_(weights=weights)
    repeated = case.with_(K=case.K[rows], y=case.y[rows])
    np.testing.assert_allclose(weighted.epsilon_max, repeated.epsilon_max)
    one, other = (solve(c, variant, tol=TIGHT) for c in (weighted, repeated))
    assert_optimal(weighted, one, TIGHT)
    assert_optimal(repeated, one, TIGHT)
    assert_same_solution(repeated, one.alpha, other.alpha)
    np.testing.assert_allclose(one.coef, other.coef, atol=1e-7)
    np.testing.assert_allclose(one.intercept, other.intercept, atol=1e-7)


@every_variant
@pytest.mark.parametrize("sign", [1, -1])
def test_duplicate_and_opposite_columns(variant, sign):
    case = generic_case().with_(C=np.inf)
    doubled = case.with_(K=np.hstack([case.K, sign * case.K]))
    solution = solve(doubled, variant, tol=TIGHT)
    assert_optimal(doubled, solution, TIGHT)
    # A pair of equal columns is one variable: the sum is the solution without the copy.
    first, second = np.split(solution.alpha, 2)
    expected = solve(case, variant, tol=TIGHT).alpha
    assert_same_solution(case, first + sign * second, expected)
    # With a box the pair has twice the room, as one column with C doubled.
    boxed = doubled.with_(C=5.0)
    first, second = np.split(solve(boxed, variant, tol=TIGHT).alpha, 2)
    assert max(np.abs(first).max(), np.abs(second).max()) == 5.0
    wide = case.with_(C=10.0)
    assert_same_solution(wide, first + sign * second, solve(wide, variant, tol=TIGHT).alpha)


@every_variant
def test_constant_columns_stay_at_zero(variant):
    case = generic_case()
    K = np.insert(case.K, [0, 4, 9], [[0.1, -1e6, 0.0]], axis=1)
    assert (np.ptp(K, axis=0) == 0).sum() == 3
    solution = solve(case.with_(K=K), variant, tol=TIGHT)
    constant = np.ptp(K, axis=0) == 0
    assert not solution.alpha[constant].any()
    assert not solution.coef[constant].any()
    assert_same_solution(case, solution.alpha[~constant], solve(case, variant, tol=TIGHT).alpha)
    # also with epsilon = 0, where a gradient of 0 is on the edge
    free = case.with_(K=K, epsilon=0.0)
    solution = solve(free, variant)
    assert_optimal(free, solution)
    assert not solution.alpha[constant].any()


@every_variant
@pytest.mark.parametrize("y", [np.zeros(10), np.full(10, 0.1), np.full(10, -1e5)])
def test_constant_target(variant, y):
    K = np.random.default_rng(0).normal(size=(10, 4))
    solution = psvm.solve(K, y, epsilon=0.1, solver=variant)
    assert solution.status is Status.OPTIMAL
    assert not solution.alpha.any()
    assert solution.intercept == pytest.approx(y[0])


@every_variant
@pytest.mark.parametrize("shape", [(12, 60), (80, 12), (30, 1), (2, 7), (2, 1), (1, 3)])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("C", [0.5, np.inf])
def test_shapes(variant, shape, epsilon, C):
    rng = np.random.default_rng(6)
    case = Case(rng.normal(size=shape), rng.normal(size=shape[0]), C, 0.0)
    case = case.with_(epsilon=epsilon * case.epsilon_max)
    solution = solve(case, variant)
    assert_optimal(case, solution)
    if shape[0] > 1:
        assert_no_worse(case, solution, case.oracle)
        assert solution.alpha.any()


@every_variant
@pytest.mark.parametrize("shift", [1e3, 1e6])
def test_large_column_means(variant, shift):
    """Digits lost by centring show in the recomputed violation, not in a wrong answer."""
    case = generic_case()
    shifted = case.with_(K=case.K + shift)
    solution = solve(shifted, variant)
    assert_optimal(shifted, solution)
    assert_no_worse(case, solution, solve(case, variant).alpha)


# ---------------------------------------------------------------------------------------------
# Random problems


@st.composite
def problems(draw):
    """Small matrices with many equal entries: ties, duplicates and constant columns abound."""
    L, P = draw(st.integers(2, 8)), draw(st.integers(1, 8))
    entry = st.integers(-4, 4) | st.floats(-4, 4, width=16)
    K = np.array(draw(st.lists(entry, min_size=L * P, max_size=L * P)), float).reshape(L, P)
    y = np.array(draw(st.lists(entry, min_size=L, max_size=L)), float)
    weight = st.sampled_from([0.0, 0.5, 1.0, 2.0])
    weights = draw(st.none() | st.lists(weight, min_size=L, max_size=L).filter(any))
    weights = None if weights is None else np.array(weights)
    C = draw(st.sampled_from([np.inf, 1e-3, 0.1, 1.0, 10.0]))
    share = draw(st.sampled_from([0.0, 1e-3, 0.01, 0.1, 0.5, 0.9, 1.0, 2.0]))
    case = Case(K, y, C, 0.0, weights)
    return case.with_(epsilon=share * case.epsilon_max)


def test_random_problems():
    seen = Counter()

    @settings(
        max_examples=200,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(problems(), st.sampled_from(VARIANTS))
    def run(case, variant):
        solution = solve(case, variant)
        assert_optimal(case, solution)
        size = np.abs(solution.alpha)
        seen.update(
            zero=int(np.any(size == 0)),
            free=int(np.any((size > 0) & (size < case.C))),
            bound=int(np.any(size == case.C)),
        )
        seen[name(variant)] += 1

    run()
    assert all(seen[kind] > 30 for kind in ("zero", "free", "bound")), seen
    assert all(seen[name(variant)] > 0 for variant in VARIANTS), seen


def test_generated_problems_have_all_kinds_of_variables():
    together = 0
    for seed in range(200):
        case = random_problem(np.random.default_rng(seed))
        size = np.abs(solve(case, SMO()).alpha)
        kinds = (size == 0).any(), ((size > 0) & (size < case.C)).any(), (size == case.C).any()
        together += all(kinds)
    assert together > 10


# ---------------------------------------------------------------------------------------------
# Tolerance, limits, warm start


@every_variant
def test_tol_means_the_same(variant):
    loose = 0
    for seed in range(10):
        case = random_problem(np.random.default_rng(seed), "correlated")
        case = case.with_(epsilon=max(case.epsilon, 0.01 * case.epsilon_max))
        for tol in (0.3, 1e-2, 1e-6, 1e-10):
            solution = solve(case, variant, tol=tol)
            assert_optimal(case, solution, tol)
            loose += case.worst(solution.alpha) > 10 * case.threshold(1e-6)
        own = psvm.solve(
            case.K,
            case.y,
            case.C,
            epsilon=case.epsilon,
            sample_weight=case.weights,
            solver=SMO(pair=variant.pair, block=variant.block, anneal=variant.anneal, tol=1e-8),
            tol=0.3,
        )
        assert_optimal(case, own, 1e-8)  # the option of the solver object wins
    assert loose > 0  # a larger tol does less work


def rbf_case(n, share, seed=0, C=np.inf):
    """An ill-conditioned Gram matrix: variants without block updates need very many steps."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=-1))
    case = Case(K, np.sin(3 * X[:, 0]) + X[:, 1], C, 0.0)
    return case.with_(epsilon=share * case.epsilon_max)


MESSAGE = re.compile(
    r"KKT violation of (?P<violation>[\d.e+-]+) at epsilon.*duality gap of (?P<gap>[\d.e+-]+) at"
)


@every_variant
def test_max_iter(variant):
    case = rbf_case(40, 1e-3)
    with pytest.warns(ConvergenceWarning) as caught:
        partial = solve(case, variant, max_iter=7)
    assert partial.status is Status.MAX_ITER
    assert partial.n_iter == 7
    assert case.worst(partial.alpha) > case.threshold(1e-4)
    text = MESSAGE.search(str(caught[0].message))
    assert float(text["violation"]) == pytest.approx(case.worst(partial.alpha), rel=1e-2)
    assert float(text["gap"]) == pytest.approx(case.gap(partial.alpha), rel=1e-2)
    assert "max_iter" in str(caught[0].message)
    assert caught[0].filename == __file__  # the warning points at the caller
    again = solve(case, SMO(), warm_start=partial)
    assert_optimal(case, again)
    assert_no_worse(case, again, case.oracle)


def test_max_iter_that_is_enough_is_no_limit():
    case = generic_case()
    needed = solve(case, SMO()).n_iter
    assert needed > 1
    exact = solve(case, SMO(max_iter=needed))
    assert exact.status is Status.OPTIMAL
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        less = solve(case, SMO(max_iter=needed - 1))
    assert less.n_iter == needed - 1


@pytest.fixture
def ticking(monkeypatch):
    """A clock that goes on by one whenever it is asked, and a core that stops after each step."""
    monkeypatch.setattr(_clock, "perf_counter", count().__next__)
    monkeypatch.setattr(outer, "CHUNK", 1)


@every_variant
def test_max_time(variant, ticking):
    case = rbf_case(60, 1e-6)
    with pytest.warns(ConvergenceWarning, match="max_time") as caught:
        partial = solve(case, variant, max_time=30, tol=1e-6)
    assert partial.status is Status.MAX_TIME
    assert partial.time >= 30
    assert 0 < partial.n_iter <= 30  # the clock is asked after each run of the core
    text = MESSAGE.search(str(caught[0].message))
    assert float(text["violation"]) == pytest.approx(case.worst(partial.alpha), rel=2e-2)
    # Continued with another epsilon the partial solution leads to the optimum.
    easier = case.with_(epsilon=0.01 * case.epsilon_max)
    assert_optimal(easier, solve(easier, SMO(), warm_start=partial))


def test_max_time_holds_while_there_is_progress(ticking):
    """A core whose F has drifted is sure to have converged, and makes progress all the same."""

    class Sure:
        def __init__(self, *arguments):
            self.core = compiled.Core(*arguments)

        def run(self, epsilon, threshold, max_steps):
            assert self.core.n_iter < 100, "nobody asks for the time"
            while (event := self.core.run(epsilon, threshold, 1)) == NEED_COLUMN:
                columns.fetch(self.core.needed)
            return CONVERGED if event == MAX_STEPS else event

        def __getattr__(self, attribute):
            return getattr(self.core, attribute)

    case = rbf_case(40, 1e-4)
    problem = state(case)
    columns = GramColumns(problem.K)
    variant = SMO(pair=False, block=False, anneal=False, tol=1e-6, max_time=20)
    solution = variant.minimise(problem, workspace=columns, core=Sure)
    assert solution.status is Status.MAX_TIME
    assert 0 < solution.n_iter <= 20
    assert case.worst(solution.alpha) > case.threshold(1e-6)  # the premise: there was work left


def test_columns_of_Q_come_in_parts_so_that_limits_are_seen():
    K = np.random.default_rng(0).normal(size=(20, 300))
    assert outer.WIDTH < K.shape[1] <= outer.SMALL
    asked = []

    class Asking(Standardized):
        def gram_columns(self, index):
            asked.append(len(index))
            return super().gram_columns(index)

    columns = GramColumns(Asking(as_matrix(K)))
    expected = np.corrcoef(K.T)  # Q is the matrix of correlations
    for j in (299, 0, 5, 128):
        columns.fetch(j)
        np.testing.assert_allclose(columns.kept[j], expected[j], atol=1e-13)
    assert max(asked) == outer.WIDTH and len(asked) == 3


@every_variant
def test_warm_start(variant):
    case = generic_case()
    expected = solve(case, variant, tol=TIGHT)
    for other in (
        case.with_(epsilon=3 * case.epsilon),
        case.with_(epsilon=0.1 * case.epsilon),
        case.with_(C=0.5 * case.C),
        case.with_(C=2 * case.C),
        case.with_(C=np.inf, epsilon=0.0),
    ):
        start = solve(other, variant, tol=TIGHT)
        assert_optimal(other, start, TIGHT)
        for form in (start, start.alpha, start.alpha.tolist()):
            solution = solve(case, variant, tol=TIGHT, warm_start=form)
            assert_optimal(case, solution, TIGHT)
            assert_same_solution(case, solution.alpha, expected.alpha)
    start = expected.alpha.copy()
    again = solve(case, variant, tol=TIGHT, warm_start=start)
    assert again.n_iter == again.n_q_columns == 0
    np.testing.assert_array_equal(start, expected.alpha)  # the start is not changed in place


def test_warm_start_outside_the_box_or_on_constant_columns():
    case = generic_case()
    K = np.hstack([case.K, np.ones((len(case.y), 1))])
    case = case.with_(K=K)
    solution = solve(case, SMO(tol=TIGHT), warm_start=np.full(10, 1e3))
    assert solution.alpha[-1] == 0
    assert_optimal(case, solution, TIGHT)


def test_the_certificate_is_recomputed_before_a_solution_is_accepted():
    class Drifting(compiled.Core):
        """A core whose F has drifted away from alpha."""

        def __init__(self, alpha, F, *arguments):
            F += 0.01 * np.abs(F).max() * np.random.default_rng(0).normal(size=len(F))
            super().__init__(alpha, F, *arguments)

    case = generic_case()
    solution = SMO(tol=1e-6).minimise(state(case), core=Drifting)
    assert_optimal(case, solution, 1e-6)


@every_core
def test_a_step_below_the_precision_of_alpha_stalls(core):
    """Two copies of a column start at +-2^70, where the best step, 2.5, changes nothing.

    All numbers are small sums of powers of two, so that nothing is rounded: the copies cancel, and
    the gradient is -2 for both.
    """
    column, huge = np.array([1.0, -1.0, 1.0, -1.0]), 2.0**70
    case = Case(np.column_stack([column, column]), column, np.inf, 0.5)
    start = np.array([huge, -huge])
    np.testing.assert_array_equal(case.gradient(start), [-2.0, -2.0])
    assert -huge + 2.5 == -huge and case.worst(start) == 2.5 > case.threshold(1e-4)  # the premise
    solver = SMO(pair=False, block=False, tol=1e-4)
    solution = solver.minimise(state(case), start=start, core=core)
    assert solution.status is Status.STALLED and solution.n_iter == 0
    assert solution.kkt_violation == 2.5
    np.testing.assert_array_equal(solution.alpha, start)
    with pytest.warns(ConvergenceWarning, match=r"stalled.*Double precision"):
        solve(case, solver, warm_start=start)


# ---------------------------------------------------------------------------------------------
# What the solver asks for


@pytest.mark.parametrize(("pair", "block"), STEPS)
@pytest.mark.parametrize("seed", range(6))
def test_only_columns_of_changed_variables_and_first_indices(pair, block, seed):
    case = random_problem(np.random.default_rng(seed), "wide")
    case = case.with_(epsilon=max(case.epsilon, 0.1 * case.epsilon_max))
    driver = Driver(compiled.Core, state(case), pair, block)
    changed, first = set(), set()
    event = MAX_STEPS
    while event == MAX_STEPS:
        d = violation(driver.alpha, driver.F, case.C, case.epsilon)
        if d.max() > case.threshold(1e-4):
            # all that are equal up to rounding
            first |= set(np.flatnonzero(d >= d.max() - 1e-12 * case.epsilon_max))
        before = driver.alpha.copy()
        event = driver.step(case.epsilon, case.threshold(1e-4))
        changed |= set(np.flatnonzero(driver.alpha != before))
    assert changed <= set(driver.columns.kept) <= changed | first
    assert len(driver.asked) == len(set(driver.asked)) == len(driver.columns.kept)
    variant = SMO(pair=pair, block=block, anneal=False)
    assert solve(case, variant).n_q_columns == len(driver.columns.kept)


class CountingMatrix(Standardized):
    """Counts the columns of Q that are evaluated."""

    evaluated = 0

    def gram_columns(self, index):
        self.evaluated += len(index)
        return super().gram_columns(index)


@every_variant
def test_few_columns_of_a_wide_matrix_are_evaluated(variant):
    rng = np.random.default_rng(8)
    K = rng.normal(size=(30, 1500))
    assert K.shape[1] > outer.SMALL
    case = Case(K, K[:, 5] - K[:, 700] + 0.1 * rng.normal(size=30), np.inf, 0.0)
    case = case.with_(epsilon=0.3 * case.epsilon_max)
    matrix = CountingMatrix(as_matrix(K))
    solution = variant.with_defaults(tol=1e-4).minimise(
        Problem.create(matrix, case.y, case.C, case.epsilon)
    )
    assert_optimal(case, solution)
    assert matrix.evaluated == solution.n_q_columns
    assert len(solution.support) <= solution.n_q_columns < 150


def test_known_columns_are_not_counted_again():
    case = generic_case()
    problem = state(case)
    columns = GramColumns(problem.K)
    variant = SMO(tol=1e-6)
    first = variant.minimise(problem, workspace=columns)
    again = variant.minimise(problem, workspace=columns)
    assert first.n_q_columns == len(columns.kept) > 0
    assert again.n_q_columns == 0
    np.testing.assert_array_equal(first.alpha, again.alpha)


# ---------------------------------------------------------------------------------------------
# Annealing


def recording(log):
    """A core that writes down with which epsilon and threshold it runs."""

    class Recording:
        def __init__(self, *arguments):
            self.core = compiled.Core(*arguments)

        def run(self, epsilon, threshold, max_steps):
            log.append((epsilon, threshold))
            return self.core.run(epsilon, threshold, max_steps)

        def __getattr__(self, attribute):
            return getattr(self.core, attribute)

    return Recording


def stages(problem, variant, **options):
    log = []
    solution = variant.minimise(problem, core=recording(log), **options)
    return solution, [stage for n, stage in enumerate(log) if n == 0 or stage != log[n - 1]]


@pytest.mark.parametrize(("pair", "block"), STEPS)
def test_annealing_schedule(pair, block):
    case = generic_case()
    largest, tol = case.epsilon_max, 1e-5
    variant = SMO(pair=pair, block=block, tol=tol)
    case = case.with_(epsilon=0.003 * largest)
    solution, log = stages(state(case), variant)
    epsilons, thresholds = map(np.array, zip(*log, strict=True))
    assert epsilons[0] == pytest.approx(0.1 * largest)
    np.testing.assert_allclose(epsilons[1:-1] / epsilons[:-2], 0.9)
    assert 0.9 * epsilons[-2] <= epsilons[-1] == case.epsilon
    np.testing.assert_allclose(thresholds[:-1], 4 * tol * case.epsilon)
    np.testing.assert_allclose(thresholds[-1], tol * case.epsilon)
    assert_optimal(case, solution, tol)


def test_no_annealing_above_the_start_with_a_warm_start_or_without_the_option():
    case = generic_case()
    variant = SMO(tol=1e-5)
    above = case.with_(epsilon=0.2 * case.epsilon_max)
    below = case.with_(epsilon=0.01 * case.epsilon_max)
    assert {e for e, _ in stages(state(above), variant)[1]} == {above.epsilon}
    start = np.zeros(case.K.shape[1])
    assert {e for e, _ in stages(state(below), variant, start=start)[1]} == {below.epsilon}
    plain_variant = SMO(tol=1e-5, anneal=False)
    assert {e for e, _ in stages(state(below), plain_variant)[1]} == {below.epsilon}
    assert len(stages(state(below), variant)[1]) > 10


def test_annealing_to_zero_ends():
    case = generic_case().with_(epsilon=0.0)
    solution, log = stages(state(case), SMO(tol=1e-6))
    epsilons = [e for e, _ in log]
    assert epsilons[-1] == 0.0
    assert min(e for e in epsilons if e > 0) < 1.2e-6 * case.epsilon_max
    assert len(epsilons) < 200
    assert_optimal(case, solution, 1e-6)


def test_annealing_stops_at_limits():
    case = rbf_case(40, 1e-4)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        solution = solve(case, SMO(max_iter=5))
    # The certificate is that of the target epsilon, not of the one that was reached.
    assert solution.epsilon == case.epsilon
    np.testing.assert_allclose(solution.kkt_violation, case.worst(solution.alpha), rtol=1e-9)
    np.testing.assert_allclose(solution.gap, case.gap(solution.alpha), rtol=1e-9)
    np.testing.assert_allclose(solution.objective, case.objective(solution.alpha), rtol=1e-9)


# ---------------------------------------------------------------------------------------------
# Options, interruption


def test_options_are_checked():
    for option in ("pair", "block", "anneal"):
        for bad in (1, None, "yes"):
            with pytest.raises(ValueError, match=option):
                SMO(**{option: bad})
    for option, values in {
        "tol": (0, -1, np.nan, np.inf, True, "1"),
        "max_iter": (0, -3, 1.5, True, "1"),
        "max_time": (0, -1.0, np.nan, True, "1"),
    }.items():
        for bad in values:
            with pytest.raises(ValueError, match=option):
                SMO(**{option: bad})
    with pytest.raises(TypeError):
        SMO(True)  # options have names


@pytest.mark.parametrize("n", [300, 24])
@pytest.mark.parametrize("pair", [True, False])
def test_interrupt(n, pair):
    """Ctrl-C while the core runs: the solve ends with it, and the next one works."""
    running, sent = threading.Event(), threading.Event()

    class Announcing:
        def __init__(self, *arguments):
            self.core = compiled.Core(*arguments)

        def run(self, epsilon, threshold, max_steps):
            assert max_steps * n <= outer.CHUNK  # a run is short: some hundredths of a second
            running.set()
            event = self.core.run(epsilon, threshold, max_steps)
            sent.wait()  # however busy the machine is
            return event

        def __getattr__(self, attribute):
            return getattr(self.core, attribute)

    def interrupt():
        running.wait()
        _thread.interrupt_main()
        sent.set()

    case = rbf_case(n, 1e-9)
    # A process started in the background of a shell inherits a SIGINT that is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt, daemon=True).start()
        variant = SMO(pair=pair, block=False, tol=1e-9)
        with pytest.raises(KeyboardInterrupt):
            variant.minimise(state(case), core=Announcing)
    finally:
        signal.signal(signal.SIGINT, before)
    easier = case.with_(epsilon=0.01 * case.epsilon_max)
    assert_optimal(easier, solve(easier, SMO()))
