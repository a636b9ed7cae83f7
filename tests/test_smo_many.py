"""Thousands of random problems, all eight variants, every certificate recomputed."""

import time
from itertools import product
from operator import itemgetter

import numpy as np
import pytest

import psvm
from psvm import SMO, Status
from reference import random_problem

N_PROBLEMS, CHUNK, TOL = 3000, 50, 1e-4
VARIANTS = [SMO(pair=p, block=b, anneal=a) for p, b, a in product((True, False), repeat=3)]


def complaints(case, solution):
    """What is wrong with a solution, judged from (K, y, alpha) alone.

    Allowed is the violation of `tol` plus the rounding of two computations of F, and the largest
    gap that such a violation can have (`Case.gap_bound` derives it). C = inf with epsilon = 0 has
    no gap that tends to 0; there the violation is the certificate.
    """
    alpha, rounding = solution.alpha, case.rounding(solution.alpha)
    allowed = case.threshold(TOL) + rounding
    if solution.status is not Status.OPTIMAL:
        yield f"status {solution.status}"
    if np.any(np.abs(alpha) > case.C):
        yield "outside the box"
    if case.worst(alpha) > allowed:
        yield f"violation {case.worst(alpha):.3g} > {allowed:.3g}"
    if np.isfinite(case.C) or case.epsilon > 0:
        scale = np.linalg.norm(case.y_c) + np.abs(alpha).sum()
        bound = case.gap_bound(alpha, allowed) + rounding * scale
        if case.gap(alpha) > bound:
            yield f"gap {case.gap(alpha):.3g} > {bound:.3g}"
        if abs(solution.gap - case.gap(alpha)) > rounding * (
            scale + (case.C * len(alpha) if np.isfinite(case.C) else 0)
        ):
            yield f"reported gap {solution.gap:.3g} is not {case.gap(alpha):.3g}"


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, N_PROBLEMS, CHUNK))
def test_all_variants_are_optimal(first, record_property):
    wrong, slowest, n_solved = [], (0.0,), 0
    for seed in range(first, first + CHUNK):
        case = random_problem(np.random.default_rng(seed))
        objectives = []
        for variant in VARIANTS:
            began = time.perf_counter()
            solution = psvm.solve(
                case.K,
                case.y,
                case.C,
                epsilon=case.epsilon,
                sample_weight=case.weights,
                solver=variant,
                tol=TOL,
            )
            n_solved += 1
            took = time.perf_counter() - began
            this = (took, seed, case.kind, variant, solution.n_iter)
            slowest = max(slowest, this, key=itemgetter(0))
            wrong += [(seed, case.kind, variant, c) for c in complaints(case, solution)]
            objectives.append((case.objective(solution.alpha), solution.alpha))
        # By convexity D(a) - D(b) <= (largest violation of a) ||a - b||_1 for all a, b in the box.
        low, best = min(objectives, key=itemgetter(0))
        for (value, alpha), variant in zip(objectives, VARIANTS, strict=True):
            t = case.threshold(TOL) + case.rounding(alpha)
            if value - low > t * (np.abs(alpha - best).sum() + np.linalg.norm(case.y_c)):
                wrong.append((seed, case.kind, variant, f"objective {value} but {low} is possible"))
    record_property("problems", CHUNK)
    record_property("solved", n_solved)
    record_property("slowest", str(slowest))
    print(f"{CHUNK} problems, {n_solved} solves, slowest {slowest}")
    assert not wrong
    assert n_solved == CHUNK * len(VARIANTS)


@pytest.mark.slow
def test_the_problems_are_diverse():
    cases = [random_problem(np.random.default_rng(seed)) for seed in range(N_PROBLEMS)]
    shapes = np.array([case.K.shape for case in cases])
    counts = {
        "wide": (shapes[:, 0] < shapes[:, 1]).sum(),
        "tall": (shapes[:, 0] > shapes[:, 1]).sum(),
        "one column": (shapes[:, 1] == 1).sum(),
        "two rows": (shapes[:, 0] == 2).sum(),
        "C = inf": sum(np.isinf(case.C) for case in cases),
        "epsilon = 0": sum(case.epsilon == 0 for case in cases),
        "above epsilon_max": sum(case.epsilon > case.epsilon_max for case in cases),
        "weights": sum(case.weights is not None for case in cases),
        "constant columns": sum(np.any(~np.any(case.K_s, axis=0)) for case in cases),
    }
    assert min(counts.values()) > 0.03 * N_PROBLEMS, counts
