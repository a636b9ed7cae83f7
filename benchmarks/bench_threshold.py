"""threshold="loo" beside threshold="mean" and a tuned SVC; for numbers the mean residual.

Every classification task is a matrix of relations. PSVC has its default epsilon on the matrix as it
is; SVC has the clipped matrix, as in bench_dyadic.py, and its C is chosen by three inner folds. The
defaults were chosen on vectors (tasks.py) with the default width of the RBF kernel.

    python benchmarks/bench_threshold.py [--only new widths numbers]
"""

import argparse
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits

import bench_sequences
from bench_dyadic import METHODS, tuned
from bench_dyadic import tasks as pairwise_tasks
from datasets import data_dir
from psvm import PSVC, PSVR
from psvm.kernels import RBF
from report import environment, markdown_table, write_section
from tasks import NEW_NUMBERS, TUNED_NUMBERS, task

PAIRWISE = ("cat_cortex_65", "protein_213", "aural_sonar", "newsgroups")
NEW_VECTORS = ("imbalanced 5 %", "adult", "circles", "digits 4 and 9")
WIDTH_SETS = (
    "banana",
    "thyroid",
    "heart",
    "breast_cancer",
    "german",
    "flare_solar",
    "ringnorm",
    "waveform",
    "imbalanced 10 %",
)
WIDTHS = {"narrow": 16.0, "wide": 1 / 16}
"""Factors of gamma."""
N_SPLITS = 3
TEST_ROWS = 1000
LARGEST = 300
"""Objects of the sets that have ten folds; larger ones have five."""


def matrices():
    """Sequence kernels and measured relations: label, what it is, matrix, sign, labels, folds."""
    for label, kernel_name, kernel, sequences, y, folds in bench_sequences.tasks():
        yield label, kernel_name, kernel(sequences), False, y, folds
    for label, M, dissimilar, y in pairwise_tasks(PAIRWISE):
        n_folds = 10 if len(y) <= LARGEST else 5
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=0).split(M, y)
        yield label, "as measured", M, dissimilar, y, list(folds)


def vectors(name, factor):
    """RBF matrices of the splits of a task, with their labels and the one fold they have."""
    split = task(name)
    for i in range(N_SPLITS):
        X, y, X_test, y_test = split(i)
        objects = np.vstack([X, X_test[:TEST_ROWS]])
        labels = np.concatenate([y, y_test[:TEST_ROWS]])
        K = RBF(factor / X.shape[1])(objects)
        fold = np.arange(len(y)), np.arange(len(y), len(labels))
        yield K, np.where(labels == labels.max(), 1, -1), fold


def wrong(K, dissimilar, y, fit, new):
    """Wrong predictions of new objects by the two thresholds and by SVC, and support objects."""
    found = []
    for threshold in ("loo", "mean"):
        model = PSVC(kernel="precomputed", threshold=threshold).fit(K[np.ix_(fit, fit)], y[fit])
        found.append(np.sum(model.predict(K[np.ix_(new, fit)]) != y[new]))
    count, svc_support = tuned(METHODS["SVC, clip"], K, dissimilar, y, fit, new)
    return [*found, count, model.n_support_, svc_support]


def cells(label, what, y, results, n_new):
    """One row of the table."""
    results = np.array(results, dtype=float)
    errors = 100 * results[:, :3].sum(axis=0) / n_new
    support = results[:, 3:].mean(axis=0)
    smaller = 100 * min(np.mean(y > 0), np.mean(y < 0))
    row = [label, what, f"{smaller:.0f}", *(f"{e:.1f}" for e in errors)]
    row += [f"{errors[0] - errors[1]:+.1f}", " / ".join(f"{s:.0f}" for s in support)]
    print(*row, sep="\t", flush=True)
    return row, errors


def table(rows):
    rows, errors = zip(*rows, strict=True)
    errors = np.array(errors)
    gains, mean = errors[:, 0] - errors[:, 1], errors.mean(axis=0)
    last = ["**mean**", f"{len(rows)} tasks", "", *(f"{e:.2f}" for e in mean)]
    last += [f"{gains.mean():+.2f}, worst {gains.max():+.1f}", ""]
    print(*last, sep="\t", flush=True)
    header = ["set", "kernel", "smaller class %", 'threshold="loo"', '"mean"', "SVC, tuned"]
    return markdown_table([*header, "loo - mean", "support PSVC / SVC"], [*rows, last])


def vector_rows(name, what, factor):
    results, n_new = [], 0
    for K, y, fold in vectors(name, factor):
        results.append(wrong(K, False, y, *fold))
        n_new += len(fold[1])
    return cells(name, what, y, results, n_new)


def new():
    rows = []
    for label, what, K, dissimilar, y, folds in matrices():
        results = [wrong(K, dissimilar, y, *fold) for fold in folds]
        rows.append(cells(label, what, y, results, len(y)))
    rows += [vector_rows(name, "RBF", 1.0) for name in NEW_VECTORS]
    return table(rows)


def widths():
    return table(
        [
            vector_rows(name, f"RBF, {what}", factor)
            for name in WIDTH_SETS
            for what, factor in WIDTHS.items()
        ]
    )


def squared_errors(name, factor):
    """Mean squared errors with either constant, of all splits."""
    split, found = task(name), []
    for i in range(N_SPLITS):
        X, y, X_test, y_test = split(i)
        models = (
            PSVR(gamma=factor / X.shape[1], threshold=threshold).fit(X, y)
            for threshold in ("loo", "mean")
        )
        found.append([np.mean((model.predict(X_test) - y_test) ** 2) for model in models])
    return np.mean(found, axis=0)


def numbers():
    rows, ratios = [], {}
    factors = {"default": 1.0, **WIDTHS}
    for name in (*TUNED_NUMBERS, *NEW_NUMBERS):
        row = [name, "yes" if name in TUNED_NUMBERS else "no"]
        for what, factor in factors.items():
            loo, mean = squared_errors(name, factor)
            ratios.setdefault(what, []).append(loo / mean)
            row.append(f"{loo / mean:.4f}")
        rows.append(row)
        print(*row, sep="\t", flush=True)
    for label, statistic in (("**mean**", np.mean), ("**worst**", np.max)):
        rows.append([label, "", *(f"{statistic(values):.4f}" for values in ratios.values())])
        print(*rows[-1], sep="\t", flush=True)
    return markdown_table(["set", "chosen on it", *(f"{what} width" for what in factors)], rows)


SECTIONS = {"new": new, "widths": widths, "numbers": numbers}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for section in options.only:
        with threadpool_limits(1):
            text = SECTIONS[section]()
        write_section(f"threshold-{section}", environment() + "\n\n" + text)
