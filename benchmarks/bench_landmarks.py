"""All training objects as landmarks beside the default, which draws some of more than 2,000.

Error: wrong labels in percent, or 100 x MSE / variance; features and the target of a regression are
standardised. At most 5,000 test rows. Processor time of one fit. With more than 5,000 training rows
only the default and the SVM are fitted.

    python benchmarks/bench_landmarks.py [--rows 4000] [--only cpu_act]
"""

import argparse
import time

import numpy as np
from sklearn.datasets import make_classification, make_friedman1
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from datasets import data_dir, load, raetsch, regression
from psvm import PSVC, PSVR
from report import environment, markdown_table, write_section

TEST_ROWS = 5000
LARGEST = 5000
"""Rows up to which all of them describe."""


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


def evaluate(model, X, y, X_test, y_test):
    """Error, landmarks, support objects and time as cells of the table."""
    began = time.process_time()
    model.fit(X, y)
    took = time.process_time() - began
    error = 100 * (1 - model.score(X_test, y_test))
    landmarks = getattr(model, "landmarks_", None)
    count = "" if landmarks is None else f"{len(landmarks):,}"
    return f"{error:.2f}", count, f"{len(model.support_):,}", f"{took:.2f}"


def run(n_rows, only):
    rows = []
    for sets, ours, peer in (
        (CLASSIFICATION, PSVC, SVC),
        (REGRESSION, PSVR, SVR),
        (MANY_CLASSES, PSVC, SVC),
    ):
        for name, make in sets.items():
            if only and name not in only:
                continue
            data = split(make, n_rows, ours is PSVC)
            models = {f"{ours.__name__}()": ours(), f"{peer.__name__}()": peer()}
            if len(data[1]) <= LARGEST:
                models[f'{ours.__name__}(landmarks="all")'] = ours(landmarks="all")
            for label, model in models.items():
                rows.append([name, f"{len(data[1]):,}", label, *evaluate(model, *data)])
                print(*rows[-1], sep="\t", flush=True)
    return markdown_table(
        ["set", "rows", "model", "error", "landmarks", "support", "processor time (s)"], rows
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[4000, 20_000])
    parser.add_argument("--only", nargs="+")
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    tables = [run(n_rows, options.only) for n_rows in options.rows]
    if not options.only:
        write_section("landmarks", environment() + "\n\n" + "\n\n".join(tables))
