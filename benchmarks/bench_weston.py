"""Toy data with few relevant features: which ones a linear SVM is given, and how it errs.

The data are those of Hochreiter & Obermayer 2004, section 3.3.2.

100 training and 500 test samples, 2000 features of which 20 say something about the class, four at
a time: one of five modes is drawn for every sample. A method ranks the features of the training
samples; a linear SVM on the best 5 to 30 of them is tested. Features are standardised on the
training samples before the ranking and for the SVM, whose C is chosen by five-fold
cross-validation.
"""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from psvm import PSVMSelector
from psvm.selection import rankings
from report import environment, markdown_table, write_section

REPETITIONS = 50
N_TRAIN, N_TEST, P = 100, 500, 2000
SIZES = (5, 10, 15, 20, 30)
COSTS = {"C": [0.01, 0.1, 1, 10, 100]}
PAPER = {
    "P-SVM, order of entry": None,
    "P-SVM, size of alpha": (28, 23, 24, 24, 26),
    "Fisher": (31, 28, 26, 25, 26),
    "RFE": (33, 32, 32, 31, 32),
    "R2W2": (29, 28, 28, 27, 27),
}
SMALL = {"epsilon": 0.1, "epsilon_unit": "max"}
"""The epsilon at which features are ranked by alpha."""


def weston(rng, n, variance=False):
    """n samples; the second argument of N in the paper is the standard deviation, or variance."""
    spread = np.sqrt if variance else float
    y = rng.choice([-1, 1], size=n)
    X = np.empty((n, P))
    X[:, :20] = rng.normal(size=(n, 20))
    X[:, 20:] = rng.normal(scale=spread(20), size=(n, P - 20))
    first = 4 * rng.integers(5, size=n)
    for tau in (1, 2, 3, 4):
        X[np.arange(n), first + tau - 1] = y * rng.normal(2, spread(0.5 * tau), size=n)
    return X, y


def by_score(score):
    return lambda X, y: np.argsort(-score(X, y), kind="stable")


def by_alpha(X, y):
    return np.argsort(-PSVMSelector(**SMALL).fit(X, y).importance_, kind="stable")


METHODS = {
    "P-SVM, order of entry": lambda X, y: PSVMSelector(n_features=max(SIZES)).fit(X, y).order_,
    "P-SVM, size of alpha": by_alpha,
    "Fisher": by_score(rankings.fisher),
    "RFE": by_score(rankings.rfe),
    "R2W2": by_score(rankings.r2w2),
}


def error(X, y, X_test, y_test, features):
    """Test error in percent of the SVM with these features."""
    search = GridSearchCV(SVC(kernel="linear"), COSTS, cv=5).fit(X[:, features], y)
    return 100 * (1 - search.score(X_test[:, features], y_test))


def repetition(seed):
    """Errors of all methods and sizes, and the seconds that the rankings took."""
    rng = np.random.default_rng(seed)
    X, y = weston(rng, N_TRAIN)
    X_test, y_test = weston(rng, N_TEST)
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    found = {}
    for name, rank in METHODS.items():
        began = time.perf_counter()
        order = rank(X, y)
        took = time.perf_counter() - began
        found[name] = [error(X, y, X_test, y_test, order[:n]) for n in SIZES], took
    found["the 20 relevant features"] = [error(X, y, X_test, y_test, np.arange(20))], 0.0
    return found


def run():
    found = []
    for seed in range(REPETITIONS):
        found.append(repetition(seed))
        print(f"repetition {seed + 1} of {REPETITIONS}", flush=True)
    rows = []
    for name in METHODS:
        errors = np.array([f[name][0] for f in found])
        mean, deviation = errors.mean(axis=0), errors.std(axis=0, ddof=1) / np.sqrt(len(errors))
        paper = PAPER[name] or ["-"] * len(SIZES)
        cells = [f"{m:.1f} ± {d:.1f} ({p})" for m, d, p in zip(mean, deviation, paper, strict=True)]
        seconds = np.median([f[name][1] for f in found])
        rows.append([name, *cells, seconds])
    for row in rows[1:]:
        row[-1] = f"{row[-1] / rows[0][-1]:.1f}"
    rows[0][-1] = "1"
    table = markdown_table(
        ["ranking", *(f"{n} features" for n in SIZES), "time, ratio"],
        rows,
    )
    best = np.mean([f["the 20 relevant features"][0] for f in found])
    return (
        f"Test error in percent, mean and standard error of {REPETITIONS} repetitions, in brackets "
        "the mean of 10 repetitions in Table 9 of Hochreiter & Obermayer 2004. With exactly "
        f"the 20 relevant features the error is {best:.1f} (report: 10).\n\n{table}"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    text = run()
    print(text)
    write_section("weston", environment() + "\n\n" + text)
