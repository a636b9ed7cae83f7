"""C. From vectors to predictions, beside LIBSVM (scikit-learn) and scikit-learn-intelex.

Hyper-parameters are chosen on the same 5,000 training rows: gamma and C of the SVMs (and their
epsilon for regression) by three-fold cross-validation, gamma and epsilon of the P-SVM by
leave-one-out values. Then each is fitted to all training rows, interleaved, and predicts 100,000
points. The P-SVM is described by some of the training vectors, drawn at random, and by all of them.
"""

import argparse
import time

import numpy as np
import pandas as pd
from sklearn import svm
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bench_solvers import a9a
from datasets import data_dir, regression
from psvm import PSVC, PSVCCV, PSVR, PSVRCV
from report import environment, markdown_table, write_section

try:
    from sklearnex import svm as intelex
except ImportError:
    intelex = None

N_SEARCH = 5000
N_PREDICT = 100_000
N_OBJECTS = 2000
SOME = {"landmarks": "random", "n_landmarks": N_OBJECTS, "random_state": 0}
CV = KFold(3, shuffle=True, random_state=0)


def adult():
    """The raw table: numbers standardised, categories as indicators."""
    table = pd.read_csv(data_dir() / "uci/adult_train.csv.gz", skipinitialspace=True)
    y = np.where(table.iloc[:, -1].astype(str).str.contains(">50K"), 1, -1)
    table = table.iloc[:, :-1]
    numbers = table.select_dtypes("number")
    categories = pd.get_dummies(table.drop(columns=numbers.columns), dtype=float)
    return np.hstack([StandardScaler().fit_transform(numbers), categories.to_numpy()]), y


def sets():
    for name, n_train in (("abalone", 3133), ("cpu_act", 6144)):
        X, y = regression(name)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], (y[order] - y.mean()) / y.std()
        scaler = StandardScaler().fit(X[:n_train])
        yield name, False, scaler.transform(X), y, n_train
    for name, (X, y) in (("a9a", a9a(32_561)), ("adult", adult())):
        order = np.random.default_rng(0).permutation(len(y))
        yield name, True, X[order][:20_000], y[order][:20_000], 10_000


def choose(classification, X, y):
    gammas = [g / X.shape[1] for g in (0.05, 0.1, 0.3, 1.0, 3.0, 10.0)]
    peers = svm if intelex is None else intelex  # the same solutions, sooner
    grid = {"gamma": gammas, "C": [0.1, 1.0, 10.0, 100.0]}
    if classification:
        theirs = GridSearchCV(peers.SVC(), grid, cv=CV)
    else:
        grid |= {"C": [1.0, 10.0, 100.0], "epsilon": [0.1, 0.3]}
        theirs = GridSearchCV(peers.SVR(), grid, cv=CV)
    make = PSVCCV if classification else PSVRCV
    search = make(kernel="rbf", gammas=gammas, dtype=np.float32, **SOME).fit(X, y)
    epsilons, losses = search.walks_[search.best_index_]
    ours = {"kernel": "rbf", "C": search.C_, "gamma": search.gamma_}
    return theirs.fit(X, y).best_params_, ours | {"epsilon": epsilons[losses.argmin()]}


def run(repeats):
    rows = []
    for name, classification, X, y, n in sets():
        theirs, ours = choose(classification, X[:N_SEARCH], y[:N_SEARCH])
        ours |= {"epsilon_unit": "max", "dtype": np.float32}
        kind, make = ("SVC", PSVC) if classification else ("SVR", PSVR)
        models = {
            f"psvm, {N_OBJECTS} objects": make(**ours, **SOME),
            "psvm": make(**ours),
            "LIBSVM": getattr(svm, kind)(**theirs, cache_size=1000),
        }
        if intelex is not None:
            models["intelex"] = getattr(intelex, kind)(**theirs)
        many = np.resize(X[n:], (N_PREDICT, X.shape[1]))
        times = {key: ([], []) for key in models}
        for _ in range(repeats):
            for key, model in models.items():
                began = time.perf_counter()
                model.fit(X[:n], y[:n])
                times[key][0].append(time.perf_counter() - began)
        for key, model in models.items():
            for _ in range(1 if key == "LIBSVM" else 3):
                began = time.perf_counter()
                model.predict(many)
                times[key][1].append(time.perf_counter() - began)
        rows += table_rows(f"{name} ({n})", models, times, X[n:], y[n:])
        print(theirs, ours, flush=True)
    header = ["set (rows)", "solver", "error %", "support", "fit (s)", "predict 100,000 (s)"]
    return markdown_table(header, rows)


def table_rows(name, models, times, X, y):
    """One row for each model; ratios to the faster one of ours."""
    medians = {key: [np.median(t) for t in pair] for key, pair in times.items()}
    best = [min(medians[key][k] for key in models if key.startswith("psvm")) for k in (0, 1)]
    rows = []
    for key, model in models.items():
        error = f"{100 * (1 - model.score(X, y)):.2f}"
        cells = [f"{t:.3g} ({t / b:.3g}x)" for t, b in zip(medians[key], best, strict=True)]
        rows.append([name, key, error, len(model.support_), *cells])
        print(*rows[-1], sep="\t", flush=True)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    with threadpool_limits(options.threads):
        write_section("svm", environment() + "\n\n" + run(options.repeats))
