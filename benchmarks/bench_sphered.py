"""Where the incremental solver of the Sphered SVM overtakes the direct one.

The published errors are in papers/sphered.py.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import make_moons
from threadpoolctl import threadpool_limits

from psvm import SpheredSVC
from report import environment, markdown_table, write_section


def timed(X, y, solver, **parameters):
    began = time.process_time()
    model = SpheredSVC(solver=solver, **parameters).fit(X, y)
    return time.process_time() - began, model


# what is special, noise of the moons, gamma, lam
CASES = (
    ("few support vectors", 0.1, 1.0, 0.5),
    ("many support vectors", 0.4, 1.0, 0.5),
    ("many, small lam", 0.4, 1.0, 0.05),
    ("narrow kernel", 0.3, 10.0, 0.5),
    ("very narrow kernel", 0.3, 100.0, 0.5),
)
SIZES = (500, 1000, 2000, 5000, 10000)


class Stopwatch:
    """Processor times of one solver; a fit that would take longer than `limit` is left out."""

    def __init__(self, solver, limit):
        self.solver, self.limit = solver, limit
        self.last = (1, 0.0)  # points and seconds of the last fit

    def measure(self, X, y, repetitions, **parameters):
        """The median time and the model, or the limit and None."""
        L, (L_before, before) = len(y), self.last
        if before * (L / L_before) ** 3 > self.limit:
            return None, None
        runs = [timed(X, y, self.solver, **parameters) for _ in range(repetitions)]
        seconds = float(np.median([seconds for seconds, _ in runs]))
        self.last = (L, seconds)
        return seconds, runs[-1][1]


def crossover(largest, limit):
    """Processor times of both solvers on two moons, medians of three up to 1,000 points."""
    rows = []
    for name, noise, gamma, lam in CASES:
        watches = [Stopwatch(solver, limit) for solver in ("direct", "incremental")]
        for L in SIZES:
            if L > largest:
                continue
            X, y = make_moons(L, noise=noise, random_state=0)
            repetitions = 3 if L <= 1000 else 1
            measured = [w.measure(X, y, repetitions, gamma=gamma, lam=lam) for w in watches]
            rows.append([name, gamma, lam, L, *compared(*measured, limit)])
            print(*rows[-1], sep="\t", flush=True)
    header = ["data", "gamma", "lam", "points", "basis", "support", "direct (s)"]
    return markdown_table([*header, "incremental (s)", "ratio", "objective off by"], rows)


def compared(direct, grown, limit):
    """Sizes, seconds and agreement of the two solvers as they stand in the table."""
    times = [f"> {limit:g}" if t is None else f"{t:.3g}" for t, _ in (direct, grown)]
    known = [model for _, model in (direct, grown) if model is not None]
    basis = len(grown[1].basis_) if grown[1] is not None else ""
    support = len(known[0].support_) if known else ""
    if len(known) < 2:
        return [basis, support, *times, "", ""]
    off = known[1].solutions_[0].objective / known[0].solutions_[0].objective - 1
    return [basis, support, *times, f"{direct[0] / grown[0]:.2g}", f"{abs(off):.0e}"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=10000, help="points of the crossover")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of one fit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        text = crossover(options.largest, options.limit)
        write_section("sphered-crossover", environment() + "\n\n" + text)
