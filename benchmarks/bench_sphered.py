"""The Sphered SVM: its published errors, and where the incremental solver overtakes the direct one.

Table 1 of Hochreiter, Mohr & Obermayer 2004: the first 100 (heart: 50) training points of each
original split. As in the paper, lambda or nu from 0.05, 0.1, ..., 0.95 and one of five kernel
widths are chosen by five-fold cross-validation on these points, with the paper's ranges of sigma,
the kernel exp(-d^2 / (2 sigma^2)), no centring and C = 100.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn import config_context
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import NuSVC
from threadpoolctl import threadpool_limits

from datasets import data_dir, raetsch
from psvm import SpheredSVC, SpheredSVCCV
from report import environment, markdown_table, write_section

GRID = np.arange(1, 20) / 20
# set: training points, range of sigma, and error and deviation of the paper: nu-SVM, S-SVM
SETS = {
    "heart": (50, (50, 150), (21.50, 7.63), (18.79, 4.07)),
    "flare_solar": (100, (20, 40), (38.54, 8.21), (37.95, 5.57)),
    "german": (100, (20, 40), (29.01, 3.85), (29.14, 3.37)),
    "splice": (100, (60, 100), (23.91, 1.99), (25.03, 2.14)),
    "thyroid": (100, (0.3, 3.1), (6.29, 2.33), (6.99, 3.78)),
    "breast_cancer": (100, (40, 60), (31.27, 7.42), (28.36, 4.82)),
}


def folds(y):
    return StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)


def best_nu(K, y):
    """Cross-validated accuracy and value of the best nu; an infeasible nu counts as no answer."""
    scores = np.zeros(len(GRID))
    for train, test in folds(y):
        for k, nu in enumerate(GRID):
            try:
                model = NuSVC(nu=nu, kernel="precomputed").fit(K[np.ix_(train, train)], y[train])
            except ValueError:
                continue
            scores[k] += (model.predict(K[np.ix_(test, train)]) == y[test]).mean() / 5
    return scores.max(), GRID[scores.argmax()]


def split_errors(X, y, train, test, sigmas):
    """Test errors of nu-SVM and S-SVM in percent, each with its own choice of parameters."""
    found = {"nu": [], "sphered": []}
    for sigma in sigmas:
        gamma = 1 / (2 * sigma**2)
        K = rbf_kernel(X[train], gamma=gamma)
        score, nu = best_nu(K, y[train])
        found["nu"].append((score, NuSVC(nu=nu, gamma=gamma)))
        model = SpheredSVCCV(
            GRID, cv=list(folds(y[train])), gamma=gamma, center=False, C=100.0, tol=1e-3
        )
        model.fit(X[train], y[train])
        found["sphered"].append((model.best_score_, model))
    errors = []
    for candidates in found.values():
        _, model = max(candidates, key=lambda pair: pair[0])
        if isinstance(model, NuSVC):
            model.fit(X[train], y[train])
        errors.append(100 * (1 - model.score(X[test], y[test])))
    return errors


def table_one(n_splits):
    rows = []
    for name, (count, (low, high), *paper) in SETS.items():
        X, y, train, test = raetsch(name)
        splits = min(n_splits, len(train))
        sigmas = np.linspace(low, high, 5)
        errors = np.array(
            [split_errors(X, y, train[i][:count], test[i], sigmas) for i in range(splits)]
        )
        ours = [f"{e:.1f} ± {s:.1f}" for e, s in zip(errors.mean(0), errors.std(0), strict=True)]
        theirs = [f"{e:.1f} ± {s:.1f}" for e, s in paper]
        rows.append([name, splits, ours[0], theirs[0], ours[1], theirs[1]])
        print(*rows[-1], sep="\t", flush=True)
    header = ["set", "splits", "nu-SVM", "paper", "S-SVM", "paper"]
    return markdown_table(header, rows)


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
    parser.add_argument(
        "--splits",
        type=int,
        default=100,
        help="splits of each set, if it has so many (paper: 100, splice 20)",
    )
    parser.add_argument("--largest", type=int, default=10000, help="points of the crossover")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of one fit")
    parser.add_argument("--only", choices=("table", "crossover"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        if options.only != "crossover":
            if data_dir() is None:
                print("Table 1 skipped: no benchmark data; set PSVM_DATA to its folder")
            else:
                # most of the time of 500 small fits would be the checks of their input
                with config_context(assume_finite=True, skip_parameter_validation=True):
                    text = table_one(options.splits)
                write_section("sphered-table", environment() + "\n\n" + text)
        if options.only != "table":
            text = crossover(options.largest, options.limit)
            write_section("sphered-crossover", environment() + "\n\n" + text)
