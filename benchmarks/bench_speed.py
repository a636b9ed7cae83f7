"""The time of a fit with the defaults: PSVC beside SVC, PSVR beside SVR, and with probabilities.

Processor time, median of runs that take turns; runs of more than two seconds are not repeated. Data
is made at random: make_classification (20 features, 5 % of the labels at random), 26 classes of 16
features in the size of the letter recognition data, make_friedman1 with noise 1; and the digits of
scikit-learn.

    python benchmarks/bench_speed.py [--repeats 3]
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from psvm import PSVC, PSVR
from report import environment, markdown_table, write_section

SIZES = (400, 700, 1000, 2000, 4500, 20_000)
LONG = 2.0
"""Seconds from which on a run is not repeated."""
TEST_ROWS = 2000


def two_classes(n):
    X, y = make_classification(n + TEST_ROWS, 20, flip_y=0.05, random_state=0)
    return X[:n], y[:n], X[n:], y[n:]


def friedman(n):
    X, y = make_friedman1(n + TEST_ROWS, noise=1.0, random_state=0)
    X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
    return X[:n], y[:n], X[n:], y[n:]


def letters(n):
    X, y = make_classification(
        n + TEST_ROWS,
        16,
        n_informative=16,
        n_redundant=0,
        n_classes=26,
        n_clusters_per_class=2,
        class_sep=2.5,
        random_state=0,
    )
    return X[:n], y[:n], X[n:], y[n:]


def digits():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)
    return X, y, X_test, y_test


def timed(make, X, y):
    began = time.process_time()
    model = make().fit(X, y)
    return model, time.process_time() - began


def race(makers, data, repeats):
    """Fitted models and median seconds, interleaved."""
    X, y, *_ = data
    times = [[] for _ in makers]
    for _ in range(repeats):
        models = []
        for make, taken in zip(makers, times, strict=True):
            model, seconds = timed(make, X, y)
            models.append(model)
            taken.append(seconds)
        if max(taken[0] for taken in times) > LONG:
            break
    return models, [float(np.median(taken)) for taken in times]


def row(label, makers, data, repeats):
    """Seconds and their ratio, errors and support objects of ours and theirs."""
    models, (ours, theirs) = race(makers, data, repeats)
    X_test, y_test = data[2:]
    errors = [f"{100 * (1 - model.score(X_test, y_test)):.1f}" for model in models]
    counts = [f"{len(model.support_):,}" for model in models]
    cells = [f"{ours:.3g}", f"{theirs:.3g}", f"{ours / theirs:.1f}"]
    cells = [label, *cells, " / ".join(errors), " / ".join(counts)]
    print(*cells, sep="\t", flush=True)
    return cells


def run(repeats):
    rows = []
    for n in SIZES:
        rows.append(row(f"PSVC / SVC, {n:,} x 20", (PSVC, SVC), two_classes(n), repeats))
    rows.append(row("PSVC / SVC, digits", (PSVC, SVC), digits(), repeats))
    label = "PSVC / SVC, 16,000 x 16, 26 classes"
    rows.append(row(label, (PSVC, SVC), letters(16_000), repeats))
    for n in SIZES:
        rows.append(row(f"PSVR / SVR, {n:,} x 10", (PSVR, SVR), friedman(n), repeats))
    pair = partial(PSVC, probability=True), PSVC
    for n in (400, 1000, 4500):
        rows.append(row(f"probability=True / PSVC, {n:,} x 20", pair, two_classes(n), repeats))
    rows.append(row("probability=True / PSVC, digits", pair, digits(), repeats))
    header = ["models and data", "ours (s)", "other (s)", "ratio", "error %", "support"]
    return markdown_table(header, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        table = run(options.repeats)
    write_section("speed", environment() + "\n\n" + table)
