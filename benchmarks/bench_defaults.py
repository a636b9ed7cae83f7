"""Default PSVC and PSVR beside default SVC and SVR on standardised features.

Six splits per set. Classification: error in percent on the original splits of the Rätsch
repository. Regression: 100 x MSE / variance with 400 training rows and the rest as test; the target
is standardised as well, since the defaults of SVR are made for that.
"""

import time
from functools import partial

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from datasets import data_dir, raetsch, regression
from psvm import PSVC, PSVR
from report import environment, markdown_table, write_section

N_SPLITS = 6
CLASSIFICATION = ("banana", "thyroid", "heart", "breast_cancer", "german", "flare_solar", "splice")
REGRESSION = ("boston_housing", "abalone", "cpu_act", "space_ga")


def classification_splits(name):
    X, y, train, test = raetsch(name)
    for i in range(N_SPLITS):
        scaler = StandardScaler().fit(X[train[i]])
        yield (
            scaler.transform(X[train[i]]),
            y[train[i]],
            scaler.transform(X[test[i]]),
            y[test[i]],
        )


def regression_splits(name):
    X, y = regression(name)
    for seed in range(N_SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = order[:400], order[400:]
        scaler = StandardScaler().fit(X[train])
        mean, sd = y[train].mean(), y[train].std()
        yield (
            scaler.transform(X[train]),
            (y[train] - mean) / sd,
            scaler.transform(X[test]),
            (y[test] - mean) / sd,
        )


def error(model, X, y):
    return 100 * (1 - model.score(X, y))  # the error rate, or 1 - R^2 = MSE / variance


def evaluate(models, splits):
    """Mean error, support objects and median fit time of each model, interleaved."""
    found = {name: [] for name in models}
    for X, y, X_test, y_test in splits:
        for name, make in models.items():
            began = time.process_time()
            model = make().fit(X, y)
            took = time.process_time() - began
            found[name].append((error(model, X_test, y_test), len(model.support_), took))
    rows = {}
    for name, values in found.items():
        errors, support, times = np.array(values).T
        rows[name] = (errors.mean(), support.mean(), np.median(times))
    return rows


def rules(estimator):
    """The estimator with each rule for epsilon."""
    return {rule: partial(estimator, epsilon=rule) for rule in ("auto", "cv", "aicc")}


def run():
    times = "processor time of a fit: auto / cv / aicc / SVM (ms)"
    header = ["set", "PSVM auto", "PSVM cv", "PSVM aicc", "SVM", times]
    table, totals = [], []
    for names, splits, models in (
        (
            CLASSIFICATION,
            classification_splits,
            {**rules(PSVC), "svm": SVC},
        ),
        (
            REGRESSION,
            regression_splits,
            {**rules(PSVR), "svm": SVR},
        ),
    ):
        for name in names:
            rows = evaluate(models, splits(name))
            cells = [f"{e:.1f} ({s:.0f})" for e, s, _ in rows.values()]
            times = " / ".join(f"{1e3 * t:.0f}" for *_, t in rows.values())
            table.append([name, *cells, times])
            totals.append([v for e, s, _ in rows.values() for v in (e, s)])
            print(*table[-1], sep="\t", flush=True)
    mean = np.mean(totals, axis=0)
    table.append(
        ["mean", *(f"{e:.2f} ({s:.0f})" for e, s in zip(mean[::2], mean[1::2], strict=True)), ""]
    )
    print(*table[-1], sep="\t")
    return markdown_table(header, table)


if __name__ == "__main__":
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    write_section("defaults", environment() + "\n\n" + run())
