"""PSVC with its defaults on arrays of more and more rows: time and memory.

Each row of the table is a process of its own.

    python benchmarks/bench_array.py
"""

import json
import subprocess
import sys
import time

import numpy as np

from peak_memory import forget_peak, peak
from psvm import PSVC
from report import environment, markdown_table, write_section

SHAPES = ((10_000, 20), (30_000, 20), (100_000, 20), (300_000, 20), (1_000_000, 20), (250_000, 12))
TEST_ROWS = 20_000


def measure(n_rows, n_features):
    """Processor time, megabytes, support objects and errors of one fit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows + TEST_ROWS, n_features))
    f = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.3 * rng.normal(size=len(X))
    X, y, X_test, y_test = X[:n_rows].copy(), f[:n_rows] > 0, X[n_rows:].copy(), f[n_rows:] > 0
    PSVC().fit(X[:300], y[:300])  # imports
    forget_peak()
    before, began = peak(), time.process_time()
    model = PSVC().fit(X, y)
    took = time.process_time() - began
    errors = 1 - model.score(X_test, y_test), model.loo_error_
    return took, peak() - before, model.n_support_, *errors


def main():
    if len(sys.argv) > 1:
        print(json.dumps(list(map(float, measure(*map(int, sys.argv[1:]))))))
        return
    rows = []
    for shape in SHAPES:
        command = [sys.executable, __file__, *map(str, shape)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        took, memory, support, error, left_out = json.loads(answer)
        size = " x ".join(f"{n:,}" for n in shape)
        errors = f"{100 * error:.1f}", f"{100 * left_out:.1f}"
        rows.append([size, f"{took:.1f}", f"{memory:.0f}", int(support), *errors])
        print(rows[-1])
    header = ["rows", "processor, s", "memory, MB", "support", "error, %", "`loo_error_`, %"]
    write_section("array", f"{environment()}\n\n{markdown_table(header, rows)}")


if __name__ == "__main__":
    main()
