"""Leave-one-out values that come with a fit, beside fits without each row.

The exact values are those of `cross_val_error` at the epsilon of the fit, with the papers' constant
on both sides; equal rows leave together. Random problems: 30 to 60 rows, an RBF kernel or a matrix
of measurements ("dyadic"), two classes or numbers, epsilon from 0.5 to 0.02 of the largest. Real
sets: 150 rows, everything at its default but the width, which is that of all rows.

    python benchmarks/bench_loo.py [--problems 500] [--rows 150] [--only random real]
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from datasets import data_dir, load
from psvm import PSVC, PSVR, cross_val_error
from psvm.kernels import WeightedDegree
from report import environment, markdown_table, write_section
from tasks import task

SHARES = (0.5, 0.2, 0.1, 0.05, 0.02)
"""epsilon / epsilon_max of random problems."""
CLASSES = ("banana", "heart", "breast_cancer", "flare_solar", "german", "digits 3 and 8")
NUMBERS = ("boston_housing", "abalone", "space_ga", "diabetes", "cpu_act")


def random_problem(rng):
    """X, y and an unfitted model."""
    L, n = rng.integers(30, 61), rng.integers(2, 7)
    X = rng.normal(size=(L, n))
    f = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 0]) + rng.uniform(0.1, 1.0) * rng.normal(size=L)
    options = {"epsilon": rng.choice(SHARES), "epsilon_unit": "max"}
    if rng.uniform() < 0.5:
        options |= {"kernel": "dyadic"}
        X = np.tanh(X @ rng.normal(size=(n, 20)))
    else:
        options |= {"kernel": "rbf", "gamma": rng.choice([0.3, 1.0, 3.0]) / n}
    if rng.uniform() < 0.5:
        return X, f, PSVR(**options)
    return X, np.where(f > np.median(f), 1, -1), PSVC(**options)


def compare(model, X, y):
    """Approximate and exact values, and the share of rows with a value."""
    model = clone(model).fit(X, y)
    target = y.astype(float)
    fast = model.loo_decision_ - (model.offset_ - target.mean())
    group = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    rows = np.arange(len(y))
    folds = [(rows[group != g], rows[group == g]) for g in range(group.max() + 1)]
    fixed = clone(model).set_params(
        epsilon=float(model.epsilon_),
        epsilon_unit="absolute",
        threshold="mean",
    )
    began = time.process_time()
    exact = cross_val_error(fixed, X, y, cv=folds).decisions.ravel()
    took = time.process_time() - began
    return model, target, fast, exact, fixed, folds, took


class Errors:
    """How far approximate values are from exact ones."""

    def __init__(self, y, fast, exact, classes):
        known = np.isfinite(fast)
        self.known = known.mean()
        y, fast, exact = y[known], fast[known], exact[known]
        enough = len(fast) > 2 and min(fast.std(), exact.std()) > 1e-12
        self.correlation = np.corrcoef(fast, exact)[0, 1] if enough else np.nan
        self.difference = np.abs(fast - exact).mean() / y.std()
        self.ratio = np.mean((fast - y) ** 2) / np.mean((exact - y) ** 2)
        if classes:
            self.rates = [100 * np.mean((values > 0) != (y > 0)) for values in (fast, exact)]
        else:
            self.rates = [100 * np.mean((values - y) ** 2) / y.var() for values in (fast, exact)]

    def cells(self):
        return [
            f"{self.correlation:.4f}",
            f"{self.difference:.3f}",
            f"{self.ratio:.3f}",
            f"{self.rates[0]:.1f} / {self.rates[1]:.1f}",
        ]


COLUMNS = [
    "correlation",
    "mean abs. difference / sd(y)",
    "squared error, ratio",
    "error %, approximate / exact",
]


def random(n_problems, n_rows):
    groups, rng = {}, np.random.default_rng(0)
    for _ in range(n_problems):
        X, y, model = random_problem(rng)
        fitted, target, fast, exact, *_ = compare(model, X, y)
        if not fitted.n_support_:
            continue
        classes = isinstance(model, PSVC)
        errors = Errors(target, fast, exact, classes)
        errors.label = (
            f"{model.kernel}, {len(y)} rows, epsilon {model.epsilon:g}, "
            f"{fitted.n_support_} support objects"
        )
        groups.setdefault((model.kernel, "classes" if classes else "numbers"), []).append(errors)
        groups.setdefault((f"epsilon {model.epsilon:g}", "all"), []).append(errors)
        groups.setdefault(("all", "all"), []).append(errors)
    rows = []
    for (kind, target), found in sorted(groups.items(), reverse=True):
        rows.append([kind, target, len(found), *summary(found)])
        print(*rows[-1], sep="\t", flush=True)
    everything = groups["all", "all"]
    worst = max(everything, key=lambda errors: abs(np.log(errors.ratio)))
    text = f"The worst squared error: {worst.ratio:.3g} times the exact one ({worst.label})."
    print(text)
    header = ["kernel", "target", "problems", "correlation: median (5 % quantile, smallest)"]
    header += ["mean abs. difference / sd(y): median (95 % quantile, largest)"]
    header += ["squared error, ratio: median (5 %, 95 %, smallest, largest)"]
    header += ["error %: mean approximate / exact", "rows with a value"]
    return markdown_table(header, rows) + "\n\n" + text


def summary(found):
    correlation = np.array([errors.correlation for errors in found])
    correlation = correlation[np.isfinite(correlation)]
    difference = np.array([errors.difference for errors in found])
    ratio = np.array([errors.ratio for errors in found])
    rates = np.mean([errors.rates for errors in found], axis=0)
    low, high = np.quantile(ratio, [0.05, 0.95])
    return [
        f"{np.median(correlation):.4f} ({np.quantile(correlation, 0.05):.3f}, "
        f"{correlation.min():.3f})",
        f"{np.median(difference):.4f} ({np.quantile(difference, 0.95):.3f}, "
        f"{difference.max():.3f})",
        f"{np.median(ratio):.3f} ({low:.3f}, {high:.3f}, {ratio.min():.3f}, {ratio.max():.3f})",
        f"{rates[0]:.2f} / {rates[1]:.2f}",
        f"{100 * np.mean([errors.known for errors in found]):.1f} %",
    ]


def real_problems(n_rows):
    """Name, X, y and model: vectors, sequences and measured relations."""
    for names, kind in ((CLASSES, PSVC), (NUMBERS, PSVR)):
        for name in names:
            X, y, *_ = task(name)(0)
            X, y = X[:n_rows], y[:n_rows]
            if kind is PSVC:
                y = np.where(y == y.max(), 1, -1)
            yield name, X, y, kind(kernel="rbf", gamma=1 / X.shape[1])
    data = load("dyadic/promoters")
    y = 2 * data["y"].astype(int) - 1
    K = WeightedDegree(5)(data["seq"].tolist())
    yield "promoters, weighted degree 5", K, y, PSVC(kernel="precomputed")
    data = load("dyadic/cat_cortex_65")
    yield "cat_cortex_65: visual", data["K"].astype(float), np.where(data["y"] == 0, 1, -1), None
    data = load("dyadic/protein_213")
    rows = np.random.default_rng(0).permutation(len(data["y"]))[:n_rows]
    D = data["D"].astype(float)[np.ix_(rows, rows)]
    yield "protein_213: HA", D, np.where(data["y"][rows] == 0, 1, -1), None


def real(n_problems, n_rows):
    rows = []
    for name, X, y, model in real_problems(n_rows):
        model = PSVC(kernel="precomputed") if model is None else model
        classes = isinstance(model, PSVC)
        fitted, target, fast, exact, fixed, folds, took = compare(model, X, y)
        began = time.process_time()
        clone(fixed).set_params(threshold="loo").fit(X, y)
        fit = time.process_time() - began
        fixed.set_params(threshold="loo")
        honest = cross_val_error(fixed, X, y, cv=folds).error
        scale = 100 if classes else 100 / y.var()
        cells = Errors(target, fast, exact, classes).cells()
        both = f"{scale * fitted.loo_error_:.1f} / {scale * honest:.1f}"
        rows.append([name, len(y), fitted.n_support_, *cells, both, f"{took / fit:.0f}"])
        print(*rows[-1], sep="\t", flush=True)
    header = ["set", "rows", "support", *COLUMNS]
    header += ["the same with the threshold of the values", "time, exact values / a fit"]
    return markdown_table(header, rows)


SECTIONS = {"random": random, "real": real}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--problems", type=int, default=500)
    parser.add_argument("--rows", type=int, default=150)
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for section in options.only:
        with threadpool_limits(1):
            text = SECTIONS[section](options.problems, options.rows)
        write_section(f"loo-{section}", environment() + "\n\n" + text)
