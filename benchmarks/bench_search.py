"""PSVCCV and PSVRCV beside GridSearchCV over SVC and SVR with 25 points and five folds.

    python benchmarks/bench_search.py --splits 4

Features are standardised. Error in percent, or 100 x MSE / variance, on the rest of the rows, with
the standard error over splits of the difference; times are processor time of one thread, and their
ratio the median of runs that take turns.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_classification,
    make_friedman1,
)
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from datasets import data_dir, raetsch, regression
from psvm import PSVCCV, PSVRCV
from report import environment, markdown_table, write_section

GRID = {"C": 10.0 ** np.arange(-1, 4)}
WIDTHS = 3.0 ** np.arange(-3, 2)
"""gamma of the peers in units of "scale"."""
RAETSCH = ("banana", "thyroid", "heart", "breast_cancer", "german", "flare_solar", "splice")
NUMBERS = ("boston_housing", "abalone", "cpu_act", "space_ga")
FIRST = 76
"""The first split: the rules of the search were chosen on splits 0 to 13 and 20 to 49."""


def two_classes(name):
    """A function from the number of a split to training and test rows."""

    def split(i):
        X, y, train, test = raetsch(name)
        i %= len(train)  # splice has 20 splits only: its last ones
        return X[train[i]], y[train[i]], X[test[i]], y[test[i]]

    return split


def shuffled(load, n_train):
    def split(i):
        X, y = load(i)
        order = np.random.default_rng(i).permutation(len(y))
        a, b = order[:n_train], order[n_train : n_train + 2000]
        return X[a], y[a], X[b], y[b]

    return split


def made(i):
    return make_classification(2000, 20, n_informative=8, random_state=i)


SETS = {
    **{name: two_classes(name) for name in RAETSCH},
    "breast cancer (scikit-learn)": shuffled(lambda i: load_breast_cancer(return_X_y=True), 400),
    "make_classification, 20 features": shuffled(made, 1000),
    "digits": shuffled(lambda i: load_digits(return_X_y=True), 1000),
}
REGRESSIONS = {
    **{name: shuffled(lambda i, name=name: regression(name), 400) for name in NUMBERS},
    "diabetes": shuffled(lambda i: load_diabetes(return_X_y=True), 300),
    "friedman, noise 0.1": shuffled(lambda i: make_friedman1(2000, noise=0.1, random_state=i), 400),
}


def prepared(split, numbers):
    X, y, X_test, y_test = split
    scaler = StandardScaler().fit(X)
    mean, sd = (y.mean(), y.std()) if numbers else (0, 1)
    return scaler.transform(X), (y - mean) / sd, scaler.transform(X_test), (y_test - mean) / sd


def fitted(model, X, y):
    """The fitted model and its processor time."""
    began = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - began


def one_split(split, numbers):
    """Errors, support objects and times of both."""
    X, y, X_test, y_test = prepared(split, numbers)
    grid = GRID | {"gamma": WIDTHS / (X.shape[1] * X.var())}
    ours, a = fitted(PSVRCV() if numbers else PSVCCV(), X, y)
    theirs, b = fitted(GridSearchCV(SVR() if numbers else SVC(), grid, cv=5), X, y)
    errors = [100 * (1 - model.score(X_test, y_test)) for model in (ours, theirs)]
    return *errors, ours.n_support_, len(theirs.best_estimator_.support_), a, b


def run(sets, n_splits, numbers):
    rows = []
    for name, split in sets.items():
        numbers_of_splits = range(FIRST, FIRST + n_splits)
        found = np.array([one_split(split(i), numbers) for i in numbers_of_splits])
        difference = found[:, 0] - found[:, 1]
        error = difference.std(ddof=1) / np.sqrt(n_splits)
        mean = found.mean(axis=0)
        cells = [f"{mean[0]:.2f}", f"{mean[1]:.2f}", f"{difference.mean():+.2f} ({error:.2f})"]
        cells += [f"{mean[2]:.0f} / {mean[3]:.0f}"]
        cells += [f"{1e3 * np.median(found[:, k]):.0f}" for k in (4, 5)]
        ratio = np.median(found[:, 5] / found[:, 4])
        rows.append([name, *cells, f"{ratio:.1f}"])
        print(*rows[-1], sep="\t", flush=True)
    header = ["set", "PSVM", "SVM", "difference (standard error)", "support objects"]
    header += ["PSVM (ms)", "SVM (ms)", "ratio"]
    return markdown_table(header, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--only", nargs="+", choices=[*SETS, *REGRESSIONS])
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    chosen = options.only or [*SETS, *REGRESSIONS]
    with threadpool_limits(1):
        tables = [
            run({name: sets[name] for name in sets if name in chosen}, options.splits, numbers)
            for sets, numbers in ((SETS, False), (REGRESSIONS, True))
        ]
    if not options.only:
        write_section("search", environment() + "\n\n" + "\n".join(tables))
