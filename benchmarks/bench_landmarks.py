"""All training objects as landmarks beside the default, which draws some of more than 2,000.

Error: wrong labels in percent, or 100 x MSE / variance; features and the target of a regression are
standardised. At most 5,000 test rows. Processor time of one fit. "minus all": the error minus that
with all objects, and its standard error, from the paired losses of the test rows.

Up to 5,000 training rows all objects choose their own epsilon. With more of them
the matrix is too large for a path: they get the epsilon of the subset, which means the same for the
same column, and its kernel, and kernel values are stored in single precision (1.6 GB for 20,000
rows). With `--factors 0.5 1 2` they get several multiples of it, and the one with the smallest
leave-one-out error is in the table. Where they would need thousands of support objects and a
quarter of an hour, the table has the default alone, unless the set is named by `--only`.

    python benchmarks/bench_landmarks.py [--rows 4000] [--only cpu_act] [--factors 1]
"""

import argparse
import time

import numpy as np
from sklearn.base import is_classifier
from sklearn.datasets import make_classification, make_friedman1, make_moons
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from datasets import data_dir, load, raetsch, regression
from psvm import PSVC, PSVR
from report import environment, markdown_table, write_section

TEST_ROWS = 5000
LARGEST = 5000
"""Rows up to which all of them describe and choose epsilon."""
CACHE = 2000
"""MB for kernel values of all objects."""
DENSE = ("covtype", "friedman, noise 0.1")
"""Sets that need thousands of support objects."""
HEADER = ["set", "rows", "model", "error", "minus all", "landmarks", "support", "time (s)"]


def classes(n):
    return make_classification(n, 20, n_informative=10, random_state=0)


def letters(n):
    return make_classification(
        n, 16, n_informative=16, n_redundant=0, n_classes=26, class_sep=3.0, random_state=0
    )


def ringnorm(n):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 20)), rng.integers(0, 2, size=n)
    return np.where(y[:, None] == 0, 2 * X, X + 2 / np.sqrt(20)), y


def banana(n):
    return raetsch("banana")[:2]


def moons(n):
    """Two moons with noise: few features, much overlap."""
    return make_moons(n, noise=0.35, random_state=0)


def covtype(n):
    """Class 2 against the rest."""
    data = load("uci/covtype")
    rows = np.random.default_rng(0).permutation(len(data["y"]))[:n]
    kinds = np.eye(5)[data["wilderness"][rows]], np.eye(41)[data["soil"][rows]]
    return np.column_stack([data["X_num"][:, rows].T, *kinds]).astype(float), data["y"][rows] == 2


def adult(n):
    data = load("uci/adult_a9a")
    counts = np.diff(data["train_indptr"])
    X = np.zeros((len(counts), int(data["n_features"]) + 1))
    X[np.repeat(np.arange(len(counts)), counts), data["train_indices"]] = 1.0
    return X, data["train_y"]


def friedman(noise):
    return lambda n: make_friedman1(n, 10, noise=noise, random_state=0)


CLASSIFICATION = {
    "make_classification": classes,
    "ringnorm": ringnorm,
    "banana": banana,
    "moons": moons,
    "covtype": covtype,
    "adult": adult,
}
REGRESSION = {
    "cpu_act": lambda n: regression("cpu_act"),
    "abalone": lambda n: regression("abalone"),
    "space_ga": lambda n: regression("space_ga"),
    "friedman, noise 1": friedman(1.0),
    "friedman, noise 0.1": friedman(0.1),
}
MANY_CLASSES = {"26 classes": letters}


def split(make, n_rows, classifier):
    """Standardised training and test rows."""
    X, y = make(n_rows + TEST_ROWS)
    order = np.random.default_rng(0).permutation(len(y))
    n_rows = min(n_rows, 4 * len(y) // 5)
    train, test = order[:n_rows], order[n_rows : n_rows + TEST_ROWS]
    scaler = StandardScaler().fit(X[train])
    if not classifier:
        y = (y - y[train].mean()) / y[train].std()
    return scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]


def fitted(model, X, y):
    """The model and the processor time of its fit."""
    began = time.process_time()
    return model.fit(X, y), time.process_time() - began


def fitted_by_all(subset, X, y, factors):
    """A model described by all objects, and the time that it took, without that of the others."""
    ours = type(subset)
    if len(y) <= LARGEST:
        return fitted(ours(kernel=subset._kernel, landmarks="all"), X, y)
    options = {"kernel": subset._kernel, "dtype": np.float32, "cache_size": CACHE}
    found = [
        fitted(ours(landmarks="all", epsilon=factor * subset.epsilon_, **options), X, y)
        for factor in factors
    ]
    return min(found, key=lambda pair: pair[0].loo_error_)


def losses(model, X, y):
    """What each row adds to the error."""
    wrong = model.predict(X) != y if is_classifier(model) else np.square(model.predict(X) - y)
    return 100 * wrong / (1.0 if is_classifier(model) else y.var())


def cells(model, took, lost, beyond):
    """Error, difference, landmarks, support objects and time."""
    alpha = getattr(model, "alpha_", None)
    count = "" if alpha is None else f"{alpha.shape[-1]:,}"
    minus = ""
    if beyond.any():
        minus = f"{beyond.mean():+.2f} ± {beyond.std() / np.sqrt(len(beyond)):.2f}"
    return f"{lost.mean():.2f}", minus, count, f"{len(model.support_):,}", f"{took:.2f}"


def run(n_rows, only, factors):
    rows = []
    for sets, ours, peer in (
        (CLASSIFICATION, PSVC, SVC),
        (REGRESSION, PSVR, SVR),
        (MANY_CLASSES, PSVC, SVC),
    ):
        for name, make in sets.items():
            large = n_rows > LARGEST
            if (only and name not in only) or (large and sets is MANY_CLASSES):
                continue
            X, y, X_test, y_test = split(make, n_rows, ours is PSVC)
            if large and len(y) <= LARGEST:  # a set that has no more rows
                continue
            subset = fitted(ours(), X, y)
            models = {f"{ours.__name__}()": subset}
            by_all = f'{ours.__name__}(landmarks="all")'
            if only or not large or name not in DENSE:
                models[by_all] = fitted_by_all(subset[0], X, y, factors)
            if not large:
                models[f"{peer.__name__}()"] = fitted(peer(), X, y)
            lost = {label: losses(model, X_test, y_test) for label, (model, _) in models.items()}
            for label, pair in models.items():
                beyond = lost[label] - lost.get(by_all, lost[label])
                rows.append([name, f"{len(y):,}", label, *cells(*pair, lost[label], beyond)])
                print(*rows[-1], sep="\t", flush=True)
    return markdown_table(HEADER, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[4000, 20_000])
    parser.add_argument("--only", nargs="+")
    parser.add_argument("--factors", type=float, nargs="+", default=[1.0])
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    for n_rows in options.rows:
        with threadpool_limits(1):
            table = run(n_rows, options.only, options.factors)
        if not options.only:
            write_section(f"landmarks-{n_rows}", environment() + "\n\n" + table)
