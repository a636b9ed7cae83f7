"""Kernel blocks beside scikit-learn's, and half a million rows described by 500 landmarks.

Times are processor times of one thread, which other work on the machine disturbs least.
The second part is covtype, class 2 against the rest: 500,000 training rows with 54 features, ten
of them standardised, 81,012 test rows. Each method runs in a process of its own, which reports its
peak memory beyond the data. All have 500 landmarks and gamma and one more parameter chosen on
30,000 training rows (20,000 to fit, 10,000 to judge).
"""

import argparse
import json
import subprocess
import sys
import time
from itertools import product

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from datasets import data_dir, load
from peak_memory import peak
from psvm import PSVC
from psvm.kernels import RBF
from report import environment, markdown_table, write_section

N_TRAIN, N_SEARCH, N_LANDMARKS = 500_000, 20_000, 500
GAMMAS = (0.1, 0.2)


def seconds(function):
    began = time.process_time()
    function()
    return time.process_time() - began


def rbf_ratio(repeats):
    rows = []
    for d, dtype in product((10, 100), (np.float64, np.float32)):
        X = np.random.default_rng(0).normal(size=(4000, d)).astype(dtype)
        ours, theirs = RBF(gamma=1 / d), lambda X=X, d=d: rbf_kernel(X, gamma=1 / d)
        times = np.array(
            [[seconds(lambda X=X, k=ours: k(X)), seconds(theirs)] for _ in range(repeats)]
        )
        t = 1000 * np.median(times, axis=0)
        rows.append([f"4000 x 4000 x {d}", dtype.__name__, *t.round(), round(t[1] / t[0], 2)])
        print(*rows[-1], sep="\t", flush=True)
    header = ["block", "precision", "psvm (ms)", "rbf_kernel (ms)", "rbf_kernel / psvm"]
    return markdown_table(header, rows)


def psvm_candidates(n):
    for gamma, epsilon in product(GAMMAS, (1e-4, 3e-4)):
        yield PSVC(
            gamma=gamma,
            epsilon=epsilon * np.sqrt(n),
            landmarks=N_LANDMARKS,
            random_state=0,
        )


def nystroem(last, gamma):
    landmarks = Nystroem(gamma=gamma, n_components=N_LANDMARKS, random_state=0)
    return make_pipeline(landmarks, last)


def ridge_candidates(n):
    for gamma, alpha in product(GAMMAS, (1e-6, 1e-5)):
        yield nystroem(RidgeClassifier(alpha=n * alpha), gamma)


def sgd_candidates(n):
    for gamma, alpha in product(GAMMAS, (1e-7, 1e-6)):
        yield nystroem(SGDClassifier(alpha=alpha, average=True, random_state=0), gamma)


METHODS = {
    "PSVC(landmarks=500)": psvm_candidates,
    "Nystroem + RidgeClassifier": ridge_candidates,
    "Nystroem + SGDClassifier (hinge)": sgd_candidates,
}


def covtype():
    d = load("uci/covtype")
    X = np.hstack([d["X_num"].T, np.eye(4)[d["wilderness"]], np.eye(40)[d["soil"]]])
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], np.where(d["y"][order] == 2, 1, -1)
    X[:, :10] = StandardScaler().fit(X[:N_TRAIN, :10]).transform(X[:, :10])
    return X, y


def one_method(name):
    """Search, fit and test; prints one line of JSON."""
    X, y = covtype()
    judge = slice(N_SEARCH, N_SEARCH + N_SEARCH // 2)
    scores = [
        model.fit(X[:N_SEARCH], y[:N_SEARCH]).score(X[judge], y[judge])
        for model in METHODS[name](N_SEARCH)
    ]
    model = list(METHODS[name](N_TRAIN))[int(np.argmax(scores))]
    before = peak()
    fit = seconds(lambda: model.fit(X[:N_TRAIN], y[:N_TRAIN]))
    memory = peak() - before
    predict = seconds(lambda: model.predict(X[N_TRAIN:]))
    error = 1 - model.score(X[N_TRAIN:], y[N_TRAIN:])
    answer = {"error": error, "fit": fit, "predict": predict, "peak": memory}
    answer["support"] = getattr(model, "n_support_", N_LANDMARKS)
    answer["model"] = repr(model)
    print(json.dumps(answer))


def half_a_million():
    rows = []
    for name in METHODS:
        command = [sys.executable, __file__, "--method", name]
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        a = json.loads(run.stdout)
        rows.append([name, f"{100 * a['error']:.2f}", a["support"], f"{a['fit']:.1f}",
                     f"{a['predict']:.2f}", f"{a['peak']:.0f}"])  # fmt: skip
        print(*rows[-1], a["model"], sep="\t", flush=True)
    header = ["method", "error %", "landmarks used", "fit (s)", "predict 81,012 (s)", "peak (MB)"]
    return markdown_table(header, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=("rbf", "covtype"), default=["rbf", "covtype"])
    parser.add_argument("--method", choices=METHODS, help="one method of covtype, as JSON")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    if options.method:
        with threadpool_limits(1):
            one_method(options.method)
        sys.exit()
    if "rbf" in options.only:
        with threadpool_limits(1):
            write_section("kernels-rbf", environment() + "\n\n" + rbf_ratio(options.repeats))
    if "covtype" in options.only:
        if data_dir() is None:
            raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
        write_section("kernels-covtype", environment() + "\n\n" + half_a_million())
