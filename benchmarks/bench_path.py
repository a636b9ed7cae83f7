"""The path along epsilon beside LARS and the paths of the best Lasso solvers, in one run.

psvm gets the raw K and standardises it within its time; the others get the standardised matrix in
the order they like. LARS is exact as the homotopy is. The others solve a grid of 100 epsilons down
to 0.01 of the largest, with their loosest tolerance that keeps all violations below a target. All
violations are recomputed from (K, y, alpha).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import lars_path, lasso_path
from threadpoolctl import threadpool_limits

import psvm
from bench_solvers import abalone_gram
from datasets import data_dir, load
from peers import ADELIE_PYTHON
from report import environment, markdown_table, write_section

TARGET = 1e-6
"""Violation that the peers on a grid have to reach, as a share of epsilon_max."""
RATIO = 0.01
TOLERANCES = [10.0**-k for k in range(5, 15, 2)]
LIMIT = 5.0
"""Seconds after which a peer is not asked for a better tolerance."""

ADELIE = """
import json, sys, time
import adelie as ad, numpy as np
with np.load(sys.argv[1]) as d:
    Z, y, lmda = np.asfortranarray(d["Z"]), d["y"], d["epsilons"] / len(d["y"])
times = []
for _ in range(int(sys.argv[3])):
    began = time.perf_counter()
    state = ad.grpnet(
        X=ad.matrix.dense(Z, method="naive"), glm=ad.glm.gaussian(y), lmda_path=lmda,
        intercept=False, tol=float(sys.argv[2]), max_iters=10**7, early_exit=False,
        progress_bar=False, n_threads=1,
    )
    times.append(time.perf_counter() - began)
np.save(sys.argv[1] + ".npy", state.betas.toarray())
print(json.dumps(times))
"""


def genes(name):
    d = load(f"dyadic/{name}")
    X = d["X"].astype(float)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    return X[:, X.std(axis=0) > 0], np.where(d["y"] == d["y"].max(), 1.0, -1.0)


def arcene():
    d = load("uci/arcene")
    X = d["X_train"].astype(float)
    return X[:, X.std(axis=0) > 0], d["y_train"].astype(float)


CASES = {
    "golub 72 x 7129": lambda: genes("golub_leukemia"),
    "pomeroy 60 x 7129": lambda: genes("pomeroy_cns"),
    "vantveer 78 x 24188": lambda: genes("vantveer_breast"),
    "arcene 100 x 9920": arcene,
}


def standardise(X, y):
    Z = np.asfortranarray(X - X.mean(axis=0))
    Z /= np.sqrt(np.square(Z).sum(axis=0))
    return Z, y - y.mean()


def violation(Z, y, epsilons, alphas):
    """Largest KKT violation of some solutions as a share of epsilon_max."""
    F = Z.T @ (Z @ alphas - y[:, None])
    d = np.where(alphas == 0, np.abs(F) - epsilons, np.abs(F + np.sign(alphas) * epsilons))
    return d.max() / np.abs(Z.T @ y).max()


def timed(function):
    began = time.perf_counter()
    result = function()
    return time.perf_counter() - began, result


def run_lasso(Z, y, epsilons, tol):
    return lasso_path(Z, y, alphas=epsilons / len(y), tol=tol, max_iter=10**5)[1]


def run_celer(Z, y, epsilons, tol):
    from celer import celer_path

    return celer_path(Z, y, "lasso", alphas=epsilons / len(y), tol=tol, max_iter=200)[1]


def grid_peer(run, Z, y, epsilons):
    """Seconds and violation with the loosest tolerance that suffices or takes too long."""
    for tol in TOLERANCES:
        seconds, alphas = timed(lambda tol=tol: run(Z, y, epsilons, tol))
        reached = violation(Z, y, epsilons, alphas)
        if reached <= TARGET or seconds > LIMIT:
            break
    if seconds < LIMIT:
        seconds = min(seconds, timed(lambda: run(Z, y, epsilons, tol))[0])
    return seconds, reached


def adelie(Z, y, epsilons):
    """The same in the environment of adelie; None without one."""
    if ADELIE_PYTHON is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        stored = str(Path(folder) / "problem.npz")
        np.savez(stored, Z=Z, y=y, epsilons=epsilons)
        for tol in TOLERANCES:
            arguments = [ADELIE_PYTHON, "-c", ADELIE, stored, str(tol), "2"]
            found = subprocess.run(arguments, capture_output=True, text=True, check=True)
            seconds = min(json.loads(found.stdout.splitlines()[-1]))
            reached = violation(Z, y, epsilons, np.load(stored + ".npy").T)
            if reached <= TARGET or seconds > LIMIT:
                break
    return seconds, reached


def cell(found, ours):
    if found is None:
        return "-"
    seconds, reached = found
    return f"{1e3 * seconds:.3g} ({seconds / ours:.3g}x, {reached:.0e})"


def run_lars(Z, y):
    epsilons, _, alphas = lars_path(Z, y, method="lasso", max_iter=9999)
    return len(y) * epsilons, alphas


def single_paths(repeats):
    rows = []
    for name, make in CASES.items():
        X, y = make()
        Z, y_c = standardise(X, y)
        ours, lars = [], []
        for _ in range(repeats):
            seconds, path = timed(lambda X=X, y=y: psvm.epsilon_path(X, y, min_ratio=0))
            ours.append(seconds)
            seconds, (knots, alphas) = timed(lambda Z=Z, y_c=y_c: run_lars(Z, y_c))
            lars.append(seconds)
        ours = np.median(ours)
        own = violation(Z, y_c, path.epsilons, path.alphas.toarray().T)
        epsilons = path.epsilon_max * np.geomspace(1, RATIO, 100)
        others = [(np.median(lars), violation(Z, y_c, knots, alphas))]
        others += [grid_peer(run, Z, y_c, epsilons) for run in (run_lasso, run_celer)]
        others += [adelie(Z, y_c, epsilons)]
        figures = [len(path.epsilons), path.n_selected[-1], f"{1e3 * ours:.3g} ({own:.0e})"]
        rows.append([name, *figures, *(cell(found, ours) for found in others)])
        print(*rows[-1], sep="\t", flush=True)
    header = ["matrix", "knots", "features at the end", "psvm (ms)", "lars_path"]
    return markdown_table([*header, "lasso_path", "celer_path", "adelie"], rows)


def leave_one_out(repeats, every):
    """Paths without one row each, by weights of 0; LARS gets the standardised rest."""
    X, y = CASES["pomeroy 60 x 7129"]()
    W = 1 - np.eye(len(y))
    together, alone, lars = [], [], []
    for repeat in range(repeats):
        seconds, paths = timed(lambda: psvm.epsilon_paths(X, y, sample_weight=W, min_ratio=0))
        together.append(seconds / len(paths))
        for out in range(repeat % every, len(y), every):
            w = W[out]
            options = {"min_ratio": 0, "sample_weight": w}
            alone.append(timed(lambda o=options: psvm.epsilon_path(X, y, **o))[0])
            Z, y_c = standardise(X[w > 0], y[w > 0])
            usable = np.isfinite(Z).all(axis=0)
            Z = np.asfortranarray(Z[:, usable])
            lars.append(timed(lambda Z=Z, y_c=y_c: run_lars(Z, y_c))[0])
            own = violation(Z, y_c, paths[out].epsilons, paths[out].alphas.toarray().T[usable])
            assert own <= 1e-9
    figures = [np.median(t) for t in (together, alone, lars)]
    cells = [f"{1e3 * t:.3g} ({figures[2] / t:.3g}x)" for t in figures[:2]]
    row = ["pomeroy 60 x 7129", len(y), *cells, f"{1e3 * figures[2]:.3g}"]
    print(*row, sep="\t", flush=True)
    header = ["leave one out", "paths", "all in one call", "one by one", "lars_path"]
    return markdown_table(header, [row])


def kernel_grid(repeats):
    K, y = abalone_gram()
    rows = []
    for ratio in (0.01, 0.001):
        fits, paths = [], []
        for _ in range(repeats):
            largest = psvm.epsilon_path(K, y, epsilons=[1e9]).epsilon_max
            fits.append(timed(lambda e=ratio * largest: psvm.solve(K, y, epsilon=e))[0])
            seconds, path = timed(
                lambda r=ratio: psvm.epsilon_path(K, y, min_ratio=r, method="grid")
            )
            paths.append(seconds)
        multiple = np.median(paths) / np.median(fits)
        worst = path.kkt_violations.max() / path.epsilon_max
        figures = [f"{np.median(fits):.3g}", f"{np.median(paths):.3g}", f"{multiple:.2g}"]
        rows.append([ratio, path.n_selected[-1], *figures, f"{worst:.0e}"])
        print(*rows[-1], sep="\t", flush=True)
    header = ["epsilon / max at the end", "support there", "default fit there (s)"]
    return markdown_table([*header, "100-point path (s)", "path / fit", "violation"], rows)


def main():
    sections = {
        "path": lambda options: single_paths(options.repeats),
        "path-folds": lambda options: leave_one_out(options.repeats, options.every),
        "path-grid": lambda options: kernel_grid(max(options.repeats // 2, 1)),
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--every", type=int, default=6, help="rows left out: each so many")
    parser.add_argument("--only", choices=sections, action="append", help="some of the tables")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for name in options.only or sections:
            write_section(name, environment() + "\n\n" + sections[name](options))


if __name__ == "__main__":
    if data_dir() is None:
        sys.exit("skipped: no benchmark data; set PSVM_DATA to its folder")
    main()
