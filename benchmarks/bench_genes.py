"""The gene selection protocol on pomeroy_cns: what it costs, and how much the error is flattered.

Five errors of the same protocol: with everything repeated inside an outer ten-fold
cross-validation, or with `--outer loo` without each sample in turn (the honest one); the one by
which the number of genes was chosen; the one that comes out if the genes are selected with all
samples and only the classifier is cross-validated; and, with labels that mean nothing, the honest
one and the one with the selection outside.
"""

import argparse
import time

import numpy as np
from scipy.stats import binomtest
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from datasets import data_dir, load
from psvm import GeneSelector, epsilon_path
from psvm.selection import RangeClipper
from report import environment, markdown_table, write_section

N_FOLDS = 10
N_SHUFFLES = 5
INNER_FOLDS = 10
"""Folds of the protocol inside an evaluation with shuffled labels, to keep it short."""


def percent(error, n):
    interval = binomtest(round(error * n), n).proportion_ci(method="wilson")
    return f"{100 * error:.0f} % ({100 * interval.low:.0f} to {100 * interval.high:.0f})"


def outside(selector, X, y):
    """Leave-one-out error of the classifier on genes that were selected with all samples."""
    classifier = make_pipeline(RangeClipper(), StandardScaler(), selector.classifier_)
    predicted = cross_val_predict(classifier, X[:, selector.get_support()], y, cv=LeaveOneOut())
    return float(np.mean(predicted != y))


def folds(seed):
    return StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)


OUTER = {
    "10": (folds(0), "the protocol repeated in each of ten outer folds"),
    "loo": (LeaveOneOut(), "the protocol repeated without each of the samples"),
}


def real_labels(X, y, outer):
    cv, what = OUTER[outer]
    began = time.process_time()
    selector = GeneSelector().fit(X, y)
    seconds = time.process_time() - began
    began = time.process_time()
    for train, _ in LeaveOneOut().split(X):
        epsilon_path(X[train], np.where(y[train] == y[0], 1.0, -1.0))
    share = (time.process_time() - began) / seconds
    began = time.perf_counter()
    result = GeneSelector(n_jobs=-1).evaluate(X, y, cv=cv)
    minutes = (time.perf_counter() - began) / 60
    print(selector.n_features_, result, seconds, minutes, flush=True)
    n = len(y)
    largest = np.unique(y, return_counts=True)[1].max()
    rows = [
        [f"honest: {what}", percent(result.error, n)],
        ["by which F and nu were chosen (mean of the folds)", f"{100 * result.inner_error:.0f} %"],
        [
            f"by which F and nu were chosen, all samples (F = {selector.n_features_}, "
            f"nu = {selector.best_params_['nu']})",
            f"{100 * selector.inner_error_:.0f} %",
        ],
        ["genes selected outside of the folds", percent(outside(selector, X, y), n)],
        ["always the larger class", f"{100 * (1 - largest / n):.0f} %"],
    ]
    note = (
        f"One protocol with leave-one-out over {n} samples takes {seconds:.1f} s of processor time "
        f"on one core; {n} leave-one-out paths alone are {100 * share:.0f} % of that, the rest is "
        "mostly the training of the classifiers. An evaluation costs as many protocols as it has "
        f"outer folds; this one took {minutes:.1f} minutes on all cores."
    )
    return rows, note


def shuffled_labels(X, y):
    """Both errors with balanced labels that mean nothing; one half is right."""
    honest, flattered = [], []
    for seed in range(N_SHUFFLES):
        labels = np.random.default_rng(seed).permutation(np.arange(len(y)) % 2)
        selector = GeneSelector(cv=INNER_FOLDS, n_jobs=-1)
        honest.append(selector.evaluate(X, labels, cv=folds(seed)).error)
        flattered.append(outside(selector.fit(X, labels), X, labels))
        print(seed, honest[-1], flattered[-1], flush=True)
    n = N_SHUFFLES * len(y)
    return [
        ["labels without meaning, honest", percent(np.mean(honest), n)],
        ["labels without meaning, genes selected outside", percent(np.mean(flattered), n)],
    ]


def run(outer):
    d = load("dyadic/pomeroy_cns")
    X, y = d["X"].astype(float), d["y"]
    rows, note = real_labels(X, y, outer)
    rows += shuffled_labels(X, y)
    return note + "\n\n" + markdown_table(["error", "value (95 % interval)"], rows)


if __name__ == "__main__":
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--outer", choices=OUTER, default="10", help="outer folds of the honest error"
    )
    text = run(parser.parse_args().outer)
    print(text)
    write_section("genes", environment() + "\n\n" + text)
