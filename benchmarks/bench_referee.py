"""psvm beside its peers on 13 problems of the kinds that benchopt's Lasso benchmark consists of.

A cell is a problem, an epsilon and a violation of the KKT conditions, recomputed from alpha. The
time of a peer is that of its loosest tolerance whose answer is within the violation; psvm gets the
violation as its tolerance. A solver is stopped after some seconds.

The ladder of tolerances of one solver on one problem is a line of the journal, so that the command
can be interrupted and goes on where it was.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from peers import ADELIE_PYTHON, Problem, Worker
from psvm._journal import Journal
from report import environment, markdown_table, write_section

RATIOS = (0.5, 0.1, 0.01, 0.001)
VIOLATIONS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-9)
"""Shares of epsilon_max."""
TOLERANCES = 10.0 ** -np.arange(3, 14)
NEAR = 1.25
"""Time over that of the fastest solver up to which a cell is not lost."""
JOURNAL = Path("build/referee.jsonl")


class Ladder(NamedTuple):
    """Seconds and recomputed violations of one solver, tolerance by tolerance."""

    seconds: np.ndarray
    violations: np.ndarray


def target(X, rng, density=0.2, snr=3.0):
    """A sparse combination of the columns with noise."""
    beta = np.zeros(X.shape[1])
    chosen = rng.choice(len(beta), int(density * len(beta)), replace=False)
    beta[chosen] = rng.normal(size=len(chosen))
    signal, noise = X @ beta, rng.normal(size=X.shape[0])
    return signal + noise * np.linalg.norm(signal) / (snr * np.linalg.norm(noise))


def correlated(L, P, rho):
    """Gaussian columns, each correlated by rho with the one before."""
    rng = np.random.default_rng(27)
    X = rng.normal(size=(L, P))
    for j in range(1, P):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1 - rho**2) * X[:, j]
    return X, target(X, rng)


def genes(L=100, P=50_000, group=50):
    """Groups of columns that share a factor, with skewed entries; two classes."""
    rng = np.random.default_rng(27)
    factors = np.repeat(rng.normal(size=(L, P // group)), group, axis=1)
    X = np.exp(0.5 * (factors + rng.normal(size=(L, P))))
    return X, np.sign(target(X - X.mean(axis=0), rng, density=0.001))


def adversarial(n=100):
    """The path with the most pieces (Mairal & Yu 2012); y rises, as a constant has no path."""
    scale = np.logspace(-3, -8, n) / n
    return (2 * np.triu(np.ones((n, n))) - np.eye(n)) * scale, np.linspace(-1, 1, n)


def narrow_rbf(n, gamma=1.0):
    """The Gram matrix of a kernel that is narrow beside the distances of the objects."""
    rng = np.random.default_rng(27)
    Z = rng.normal(size=(n, 10))
    y = np.sin(2 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + 0.3 * rng.normal(size=n)
    return rbf_kernel(Z, gamma=gamma), y


def sparse(L=20_000, P=20_000, entries=400_000):
    rng = np.random.default_rng(27)
    places = rng.integers(0, L, entries), rng.integers(0, P, entries)
    X = sp.csc_matrix((rng.normal(size=entries), places), shape=(L, P))
    return X, target(X, rng, density=0.05)


def text(L=10_000, P=30_000, entries=700_000):
    """Counts of words whose frequencies fall as those of a language do."""
    rng = np.random.default_rng(27)
    weights = 1 / np.arange(1, P + 1) ** 0.7
    places = rng.integers(0, L, entries), rng.choice(P, entries, p=weights / weights.sum())
    X = sp.csc_matrix((1.0 + rng.poisson(0.5, entries), places), shape=(L, P))
    X = X[:, np.diff(X.indptr) > 1]
    return X, target(X, rng, density=0.01)


PROBLEMS = {
    "100 x 5,000": lambda: correlated(100, 5_000, 0.0),
    "100 x 5,000, correlation .6": lambda: correlated(100, 5_000, 0.6),
    "100 x 10,000": lambda: correlated(100, 10_000, 0.0),
    "100 x 10,000, correlation .6": lambda: correlated(100, 10_000, 0.6),
    "200 x 5,000, correlation .9": lambda: correlated(200, 5_000, 0.9),
    "1,000 x 1,000, correlation .5": lambda: correlated(1_000, 1_000, 0.5),
    "5,000 x 200, correlation .5": lambda: correlated(5_000, 200, 0.5),
    "genes 100 x 50,000": genes,
    "lars_adversarial 100": adversarial,
    "RBF 2,000, narrow": lambda: narrow_rbf(2_000),
    "RBF 4,000, narrow": lambda: narrow_rbf(4_000),
    "sparse 20,000 x 20,000": sparse,
    "text 10,000 x 30,000": text,
}


def climb(worker, problem, ratio, limit):
    """The ladder of a solver: looser tolerances first, until the last violation is reached."""
    epsilon = ratio * problem.epsilon_max
    own = worker.solver == "psvm"
    seconds, violations = [], []
    for tol in np.array(VIOLATIONS) / ratio if own else TOLERANCES:
        took, alpha = worker.ask(problem, epsilon, np.inf, float(tol), limit)
        seconds.append(limit if took is None else took)
        violations.append(np.inf if took is None else problem.violation(alpha, epsilon, np.inf))
        # Where the last step took half of the limit, the next one would be over it.
        if took is None or (not own and took > limit / 2) or violations[-1] <= VIOLATIONS[-1]:
            break
    return Ladder(np.array(seconds), np.array(violations))


def time_of(ladder, violation):
    """Seconds of the fastest answer within the violation, infinite if there is none."""
    good = ladder.violations <= violation * (1 + 1e-6)
    return ladder.seconds[good].min(initial=np.inf)


def measure(journal, solvers, options):
    """Fill the journal."""
    workers = {solver: Worker(solver, options.threads) for solver in solvers}
    for name, make in PROBLEMS.items():
        keys = [(name, r, solver) for r in RATIOS for solver in solvers]
        if options.only not in name or all(key in journal.done for key in keys):
            continue
        problem = Problem(name, *make())
        for key in keys:
            if key not in journal.done:
                ladder = climb(workers[key[2]], problem, key[1], options.limit)
                journal.add(key, ladder)
                print(*key, *(f"{time_of(ladder, v):.3g}" for v in VIOLATIONS), flush=True)
    for worker in workers.values():
        worker.stop()


def table(journal, solvers):
    """All cells, and how many of them are won, near, lost and out of time."""
    rows, won, near, cells, late = [], 0, 0, 0, 0
    for name in PROBLEMS:
        for ratio in RATIOS:
            keys = [(name, ratio, solver) for solver in solvers]
            if not all(key in journal.done for key in keys):
                continue
            row = [name, ratio]
            for violation in VIOLATIONS:
                ours, *others = (time_of(journal.done[key], violation) for key in keys)
                best = min(others)
                cells, won, late = cells + 1, won + (ours <= best), late + (ours == np.inf)
                near += best < ours <= NEAR * best
                row.append(shown(ours, best, solvers[1 + int(np.argmin(others))]))
            rows.append(row)
    lost = cells - won - near - late
    counts = (
        f"{cells} cells: fastest in {won}, within {NEAR} times of the fastest in {near}, slower in "
        f"{lost}, out of time in {late}."
    )
    head = ["problem", "epsilon / max", *(f"{v:.0e}" for v in VIOLATIONS)]
    return f"{counts}\n\n{markdown_table(head, rows)}"


def shown(ours, best, peer):
    """A cell: our milliseconds, and the time of the best peer over ours."""
    if ours == np.inf:
        return "out of time" + ("" if best == np.inf else f" ({peer} {1e3 * best:.3g})")
    ratio = "no peer" if best == np.inf else f"{peer} {best / ours:.2g}x"
    text = f"{1e3 * ours:.3g} ({ratio})"
    return text if ours <= NEAR * best else f"**{text}**"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--limit", type=float, default=8.0)
    parser.add_argument("--only", default="", help="part of the names of the problems")
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    options = parser.parse_args()
    peers = ["skglm", "celer", "Lasso", *(["adelie"] if ADELIE_PYTHON else [])]
    solvers = ["psvm", *peers]
    options.journal.parent.mkdir(parents=True, exist_ok=True)
    settings = f"referee {options.threads} {options.limit:g}"
    with Journal(options.journal, settings, Ladder) as journal:
        measure(journal, solvers, options)
        with threadpool_limits(options.threads):
            head = environment()
        write_section("referee", f"{head}\n\n{table(journal, solvers)}")


if __name__ == "__main__":
    main()
