"""psvm beside the best Lasso solvers, timed to the same recomputed KKT violation.

Sections A (RBF Gram matrices), B (measured matrices), D (growth), E (the floor: forming K),
F (two threads beside one) and G (two threads, beside the peers).
Peers get the standardised matrix in the order they like, made before the clock starts; psvm gets
the raw K and standardises it within its time.
"""

import argparse
import gc
import json
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits

import psvm
from datasets import data_dir, load, regression
from peers import ADELIE_PYTHON, Problem, Worker, compare
from psvm.kernels import RBF
from report import environment, markdown_table, write_section

TARGETS = (1e-3, 1e-6)
PEERS = ("skglm", "celer", "Lasso", "adelie")


def a9a(n, dense=True):
    d = load("uci/adult_a9a")
    parts = []
    for part in ("train", "test"):
        i, q = d[f"{part}_indices"].astype(np.int32), d[f"{part}_indptr"]
        shape = (len(q) - 1, int(d["n_features"]))
        parts.append(sp.csr_matrix((np.ones(len(i)), i, q), shape=shape))
    X = sp.vstack(parts).tocsr()[:n]
    y = np.concatenate([d["train_y"], d["test_y"]])[:n].astype(float)
    keep = np.asarray((X != 0).sum(axis=0)).ravel() > 0
    X = X[:, keep]
    return (X.toarray() if dense else X), y


def abalone_gram():
    X, y = regression("abalone")
    return rbf_kernel(scale(X), gamma=1.0), y


def a9a_gram():
    X, y = a9a(10_000)
    return rbf_kernel(X, gamma=0.05), y


def genes(name, key="X"):
    d = load(f"dyadic/{name}")
    X = d[key].astype(float)
    return X[:, X.std(axis=0) > 0], np.where(d["y"] == d["y"].max(), 1.0, -1.0)


def arcene():
    d = load("uci/arcene")
    X = np.vstack([d["X_train"], d["X_valid"]]).astype(float)
    y = np.concatenate([d["y_train"], d["y_valid"]]).astype(float)
    return X[:, X.std(axis=0) > 0], y


def text(n=20_000, p=50_000, density=0.001):
    """A text-like matrix: counts with Zipf-like column frequencies, a target of 100 columns."""
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, p + 1) ** 0.7
    nnz = int(n * p * density)
    columns = rng.choice(p, nnz, p=weights / weights.sum())
    rows = rng.integers(0, n, nnz)
    X = sp.csc_matrix((1.0 + rng.poisson(0.5, nnz), (rows, columns)), shape=(n, p))
    keep = np.asarray((X != 0).sum(axis=0)).ravel() > 1
    X = X[:, keep].tocsc()
    beta = np.zeros(X.shape[1])
    beta[rng.choice(2000, 100, replace=False)] = rng.normal(size=100)
    return X, np.asarray(X @ beta + 0.5 * rng.normal(size=n)).ravel()


def cell(result, solver):
    value = result.get(solver)
    if not isinstance(value, float):
        return value or "-"
    ratio = value / result["psvm"]
    return f"{1e3 * value:.3g}" if solver == "psvm" else f"{1e3 * value:.3g} ({ratio:.3g}x)"


def table(cases, solvers, *, threads, repeats, limit, only):
    workers, rows = {solver: Worker(solver, threads) for solver in solvers}, []
    for name, make, ratios in cases:
        if only not in name:
            continue
        problem = Problem(name, *make())
        for ratio in ratios:
            given_up = []
            for target in TARGETS:
                found = compare(
                    problem,
                    ratio,
                    target,
                    workers,
                    repeats=repeats,
                    limit=limit,
                    given_up=given_up,
                )
                given_up = [s for s in solvers if not isinstance(found[s], float)]
                rows.append([name, ratio, f"{target:.0e}", *(cell(found, s) for s in solvers)])
                print(*rows[-1], sep="\t", flush=True)
        del problem
        gc.collect()
    for worker in workers.values():
        worker.stop()
    return markdown_table(["matrix", "epsilon / max", "violation", *solvers], rows)


def section_a(options):
    solvers = ("psvm", *options.peers, "SMO")
    cases = [
        ("abalone RBF 4177 x 4177", abalone_gram, (0.1, 0.01, 0.001)),
        ("a9a RBF 10000 x 10000", a9a_gram, (0.1, 0.01, 0.001)),
    ]
    return table(cases, solvers, **options.run)


def section_b(options):
    solvers = ("psvm", *options.peers)
    dense = table(
        [("a9a 40000 x 123", lambda: a9a(40_000), (0.1, 0.01))],
        (*solvers, "Lasso(precompute)", "from raw K: Lasso(precompute)"),
        **options.run,
    )
    cases = [
        ("a9a 40000 x 123 sparse", lambda: a9a(40_000, dense=False), (0.1, 0.01)),
        ("arcene 200 x 9920", arcene, (0.1, 0.01)),
        ("golub 72 x 7129", lambda: genes("golub_leukemia"), (0.1, 0.01)),
        ("text 20000 x 50000, 0.1 %", text, (0.1, 0.03)),
    ]
    return dense + "\n\n" + table(cases, solvers, **options.run)


def section_g(options):
    """Some of A and B with two threads for all."""
    cases = [
        ("abalone RBF 4177 x 4177", abalone_gram, (0.1, 0.01)),
        ("a9a 40000 x 123", lambda: a9a(40_000), (0.01,)),
        ("arcene 200 x 9920", arcene, (0.1,)),
        ("golub 72 x 7129", lambda: genes("golub_leukemia"), (0.1,)),
        ("text 20000 x 50000, 0.1 %", text, (0.03,)),
    ]
    return table(cases, ("psvm", *options.peers), **options.run | {"threads": 2})


def fit_seconds(K, y, ratio, tol_of_max, C=np.inf, repeats=3, **limits):
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        matrix = psvm.matrix.Standardized(psvm.matrix.as_matrix(K))
        problem = psvm.problem.Problem.create(matrix, y, C, 0.0)
        epsilon = ratio * problem.epsilon_max
        solver = psvm.WorkingSet(tol=tol_of_max / ratio, **limits)
        solution = solver.minimise(problem.with_parameters(epsilon=epsilon))
        times.append(time.perf_counter() - began)
    return np.median(times), solution


def section_d(options):
    """Growth with L, with P and with the non-zeros, and small C."""
    rows = []
    X, y = regression("cpu_act")
    X = scale(np.vstack([X, X + 0.01 * np.random.default_rng(0).normal(size=X.shape)]))
    y = np.concatenate([y, y])
    order = np.random.default_rng(0).permutation(len(y))
    for L in (1000, 2000, 4000, 8000, 16000):
        K = RBF(1 / X.shape[1])(X[order[:L]], X[order[:L]])
        took, s = fit_seconds(K, y[order[:L]], 0.01, 1e-3, repeats=3 if L < 8000 else 1)
        rows.append(
            [f"cpu_act RBF {L} x {L}", "0.01", f"{1e3 * took:.3g}", len(s.support), s.n_iter]
        )
        print(*rows[-1], sep="\t", flush=True)
        del K
    rng = np.random.default_rng(0)
    for P in (1000, 10_000, 100_000):
        K = rng.normal(size=(60, P))
        took, s = fit_seconds(K, K[:, :5].sum(axis=1) + rng.normal(size=60), 0.1, 1e-3)
        rows.append([f"Gaussian 60 x {P}", "0.1", f"{1e3 * took:.3g}", len(s.support), s.n_iter])
        print(*rows[-1], sep="\t", flush=True)
    K, y = abalone_gram()
    for ratio in (0.01, 1e-3, 1e-4, 1e-5):
        took, s = fit_seconds(K, y, ratio, 1e-6, repeats=1, max_time=120.0)
        name = f"abalone RBF, {s.status.value}"
        rows.append([name, f"{ratio:g}", f"{1e3 * took:.3g}", len(s.support), s.n_iter])
        print(*rows[-1], sep="\t", flush=True)
    K, y = genes("pomeroy_cns")
    problem = psvm.problem.Problem.create(
        psvm.matrix.Standardized(psvm.matrix.as_matrix(K)), y, 1, 0
    )
    for C in (np.inf, 0.01 * problem.epsilon_max):
        took, s = fit_seconds(K, y, 0.1, 1e-6, C=C)
        name = f"pomeroy {K.shape[0]} x {K.shape[1]}, C {'inf' if np.isinf(C) else '0.01 max'}"
        rows.append([name, "0.1", f"{1e3 * took:.3g}", len(s.support), s.n_iter])
        print(*rows[-1], sep="\t", flush=True)
    growth = markdown_table(["problem", "epsilon / max", "ms", "support", "rounds"], rows)
    many = [("abalone RBF, about 1,600 non-zeros", abalone_gram, (1e-5,))]
    run = options.run | {"repeats": 1, "limit": 4 * options.limit}
    return f"{growth}\n\n{table(many, ('psvm', 'skglm'), **run)}\n\n{memory()}"


def memory():
    """Peak memory of a fit beyond what the process had before, with K of 512 MB."""
    rows = []
    for cache_size in (1000, 256, 0):
        script = Path(__file__).with_name("peak_memory.py")
        found = subprocess.run(
            [sys.executable, str(script), str(cache_size)], capture_output=True, check=True
        )
        found = json.loads(found.stdout)
        rows.append([cache_size, f"{found['peak']:.0f}", f"{found['seconds']:.2f}"])
        print(*rows[-1], sep="\t", flush=True)
    return markdown_table(["cache_size (MB), K is 512", "peak (MB)", "fit with kernel (s)"], rows)


@contextmanager
def busy():
    """Two other programs that keep two processors busy."""
    work = "while True: sum(range(10**6))"
    others = [subprocess.Popen([sys.executable, "-c", work]) for _ in range(2)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def section_f(options):
    """Two threads beside one, on an idle and on a busy machine."""
    cases = {
        "abalone RBF 4177 x 4177": lambda: solve_of(*abalone_gram(), 0.01),
        "a9a RBF 10000 x 10000": lambda: solve_of(*a9a_gram(), 0.01),
        "a9a 40000 x 123": lambda: solve_of(*a9a(40_000), 0.01),
        "golub 72 x 7129": lambda: solve_of(*genes("golub_leukemia"), 0.01),
        "arcene 200 x 9920": lambda: solve_of(*arcene(), 0.01),
        "text 20000 x 50000, 0.1 %": lambda: solve_of(*text(), 0.03),
        "PSVR on cpu_act (8192 rows), kernel included": fit_of_cpu_act,
    }
    rows = []
    for name, make in cases.items():
        run, cells = make(), []
        for condition in (nullcontext, busy):
            times = {1: [], 2: []}
            with condition():
                # In turn and in both orders; short ones more often.
                while len(times[1]) < 2 * options.repeats or sum(times[1]) < 2.0:
                    for count in (1, 2) if len(times[1]) % 2 else (2, 1):
                        with threadpool_limits(count):
                            began = time.perf_counter()
                            run()
                            times[count].append(time.perf_counter() - began)
            one, two = (1e3 * np.median(times[count]) for count in (1, 2))
            cells += [f"{one:.3g}", f"{two:.3g}", f"{two / one:.2f}"]
        rows.append([name, *cells])
        print(*rows[-1], sep="\t", flush=True)
    head = ["problem", "one (ms)", "two (ms)", "two / one", "busy: one", "busy: two", "two / one"]
    return markdown_table(head, rows)


def solve_of(K, y, ratio):
    """A solve to 1e-6 of epsilon_max, from the raw K."""
    matrix = psvm.matrix.Standardized(psvm.matrix.as_matrix(K))
    epsilon = ratio * psvm.problem.Problem.create(matrix, y, np.inf, 0.0).epsilon_max
    return lambda: psvm.solve(K, y, epsilon=epsilon, tol=1e-6 / ratio)


def fit_of_cpu_act():
    X, y = regression("cpu_act")
    X, y = scale(X), scale(y)
    return lambda: psvm.PSVR(epsilon=0.1).fit(X, y)


def section_e(options):
    """Fit time over the time to form K; passes; the cost of a tight solution."""
    rows = []
    sets = {"abalone": regression("abalone"), "cpu_act": regression("cpu_act")}
    X, y = a9a(10_000)
    sets["a9a (10000)"] = (X, y)
    for name, (X, y) in sets.items():
        X = X if name.startswith("a9a") else scale(X)
        kernel = RBF(0.05 if name.startswith("a9a") else 1 / X.shape[1])
        form, fits = [], {t: [] for t in TARGETS}
        for _ in range(3):
            began = time.perf_counter()
            K = kernel(X, X)
            form.append(time.perf_counter() - began)
            for target in TARGETS:
                took, s = fit_seconds(K, y, 0.01, target, repeats=1)
                fits[target].append(took)
        floor, loose, tight = np.median(form), np.median(fits[1e-3]), np.median(fits[1e-6])
        shares = [(floor + loose) / floor, (floor + tight) / floor, tight / loose]
        size = f"{X.shape[0]} x {X.shape[0]}"
        figures = [f"{1e3 * floor:.3g}", *(f"{share:.2f}" for share in shares)]
        rows.append([name, size, *figures, s.n_iter, len(s.support)])
        print(*rows[-1], sep="\t", flush=True)
        del K
    header = ["set", "K", "form K (ms)", "fit / form K at 1e-3", "at 1e-6", "tight / loose solve"]
    return markdown_table([*header, "rounds", "support"], rows)


SECTIONS = {
    "a": section_a,
    "b": section_b,
    "d": section_d,
    "e": section_e,
    "f": section_f,
    "g": section_g,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=5.0)
    parser.add_argument("--only", default="", help="part of the names of the matrices of A and B")
    options = parser.parse_args()
    options.peers = [p for p in PEERS if p != "adelie" or ADELIE_PYTHON]
    names = ("threads", "repeats", "limit", "only")
    options.run = {name: getattr(options, name) for name in names}
    for name in options.sections:
        with threadpool_limits(options.threads):
            text = SECTIONS[name](options)
            head = environment()
        mark = f"solvers-{name}" + ("" if options.threads == 1 else f"-{options.threads}-threads")
        write_section(mark, head + "\n\n" + text)


if __name__ == "__main__":
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    main()
