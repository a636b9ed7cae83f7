"""Fits to blocks of rows: growth with the number of rows, and covtype beside other programs.

Each row of a table is a process of its own. Processor time of the fit, and how far the memory of
the process rises above what it was before the fit; the data of the second table are in memory
before, those of the first one come from a generator.

    python benchmarks/bench_scale.py [--largest 1000000] [--covtype 500000]

``--largest 10000000`` takes some minutes more.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import RidgeClassifier, RidgeClassifierCV, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from datasets import data_dir, load
from peak_memory import forget_peak, peak
from psvm import PSVC, RowBlocks
from report import environment, markdown_table, write_section

N_FEATURES, BLOCK, LANDMARKS = 50, 50_000, 500
TEST_ROWS = 50_000
GAUSSIAN = {
    "kernel": "rbf",
    "standardize": True,
    "landmarks": "random",
    "n_landmarks": LANDMARKS,
}
"""What the others have as well: a Gaussian kernel of standardised features."""
PEERS = {
    "PSVC, epsilon chosen": lambda: PSVC(**GAUSSIAN),
    "PSVC, single-precision kernel": lambda: PSVC(**GAUSSIAN, dtype=np.float32),
    "Nystroem + RidgeClassifier(1)": lambda: _pipeline(_nystroem(), RidgeClassifier()),
    "Nystroem + RidgeClassifierCV": lambda: _pipeline(
        _nystroem(), RidgeClassifierCV(np.logspace(-6, 3, 10))
    ),
    "Nystroem + SGDClassifier": lambda: _pipeline(_nystroem(), SGDClassifier(random_state=0)),
    "RBFSampler + SGDClassifier": lambda: _pipeline(
        RBFSampler(gamma=_GAMMA, n_components=LANDMARKS, random_state=0),
        SGDClassifier(random_state=0),
    ),
    "LightGBM": lambda: _lightgbm(),
}
_GAMMA = 1 / 56
"""1 / n_features of covtype: the features are standardised."""


def _nystroem():
    return Nystroem(gamma=_GAMMA, n_components=LANDMARKS, random_state=0)


def _pipeline(*steps):
    return make_pipeline(StandardScaler(), *steps)


def _lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1)


def make_rows(seed, n=BLOCK):
    """A block of rows: a curved boundary in some of the features, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_FEATURES))
    f = np.square(X[:, :5]).sum(axis=1) - 5 + 2 * X[:, 5] + X[:, 6] * X[:, 7]
    return X, f + rng.standard_normal(n) > 0


def generated(n_rows):
    """The blocks of so many rows."""
    return RowBlocks(lambda: (make_rows(seed) for seed in range(n_rows // BLOCK)))


def measure_growth(n_rows):
    """One row of the first table, in this process."""
    began = time.process_time()
    for block in generated(n_rows):
        del block
    reading = time.process_time() - began
    forget_peak()
    before, began = peak(), time.process_time()
    model = PSVC(landmarks=make_rows(2**31)[0][:LANDMARKS]).fit(generated(n_rows))
    took = time.process_time() - began
    X, y = make_rows(-1 % 2**32, TEST_ROWS)
    return {
        "seconds": took - 3 * reading,
        "reading": 3 * reading,
        "peak": peak() - before,
        "error": 100 * float(np.mean(model.predict(X) != y)),
        "support": model.n_support_,
        "gap": model.dual_gap_ / abs(model.solution_.objective),
    }


def covtype(n_rows):
    """Class 2 against the rest; training and test rows."""
    data = load("uci/covtype")
    rows = np.random.default_rng(0).permutation(len(data["y"]))[: n_rows + TEST_ROWS]
    kinds = np.eye(5)[data["wilderness"][rows]], np.eye(41)[data["soil"][rows]]
    X = np.column_stack([data["X_num"][:, rows].T, *kinds]).astype(float)
    y = data["y"][rows] == 2
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def measure_covtype(n_rows, name):
    """One row of the second table, in this process."""
    X, y, X_test, y_test = covtype(n_rows)
    model = PEERS[name]()
    forget_peak()
    before, began = peak(), time.process_time()
    if isinstance(model, PSVC):
        model.fit(RowBlocks(X, y))
    else:
        model.fit(X, y)
    took = time.process_time() - began
    risen = peak() - before
    error = 100 * float(np.mean(model.predict(X_test) != y_test))
    return {"seconds": took, "peak": risen, "error": error}


def in_process(*arguments):
    """What a new process measures."""
    command = [sys.executable, __file__, "--one", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def growth_table(largest):
    rows = []
    for n_rows in (100_000, 1_000_000, 10_000_000):
        if n_rows <= largest:
            found = in_process("growth", n_rows)
            print(n_rows, found, flush=True)
            rows.append(
                [
                    f"{n_rows:,}",
                    f"{found['seconds']:.0f}",
                    f"{found['reading']:.0f}",
                    f"{found['peak']:.0f}",
                    f"{found['error']:.2f}",
                    found["support"],
                    f"{found['gap']:.0e}",
                ]
            )
    header = [
        "rows x 50",
        "seconds",
        "generator, s",
        "memory, MB",
        "error, %",
        "support",
        "gap / objective",
    ]
    return markdown_table(header, rows)


def covtype_table(n_rows):
    rows = []
    for name in PEERS:
        found = in_process("covtype", n_rows, name)
        print(name, found, flush=True)
        if found is not None:
            cells = f"{found['seconds']:.1f}", f"{found['peak']:.0f}", f"{found['error']:.2f}"
            rows.append([name, *cells])
    return markdown_table(["model", "seconds", "memory, MB", "error, %"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--covtype", type=int, default=500_000)
    parser.add_argument("--one", nargs="+")
    parser.add_argument("--print", action="store_true", help="do not write the page")
    options = parser.parse_args()
    if options.one:
        what, n_rows, *name = options.one
        measure = {"growth": measure_growth, "covtype": measure_covtype}[what]
        print(json.dumps(measure(int(n_rows), *name)))
        return
    parts = [environment(), growth_table(options.largest)]
    if data_dir() is None:
        print("covtype was skipped: there is no data, see PSVM_DATA")
    else:
        parts.append(covtype_table(options.covtype))
    text = "\n\n".join(parts)
    print(text) if options.print else write_section("scale", text)


if __name__ == "__main__":
    main()
