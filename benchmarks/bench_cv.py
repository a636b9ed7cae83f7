"""Leaving out: `cross_val_error` beside `cross_val_predict`, which fits each fold from scratch.

    python benchmarks/bench_cv.py

Errors do not depend on the machine; times are ratios of runs that take turns.
"""

import time

import numpy as np
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_predict
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from datasets import data_dir, raetsch, regression
from psvm import PSVC, PSVR, cross_val_error
from report import environment, markdown_table, write_section


def run_loo():
    X, y, train, _ = raetsch("heart")
    heart = (X[train[0]], y[train[0]], PSVC(epsilon=0.05, epsilon_unit="max"))
    X, y, train, _ = raetsch("german")
    german = (X[train[0]], y[train[0]], PSVC(epsilon=0.05, epsilon_unit="max"))
    X, y = regression("boston_housing")
    boston = (StandardScaler().fit_transform(X), y, PSVR(epsilon=0.01, epsilon_unit="max"))
    rows = []
    sets = {"heart": heart, "german": german, "boston_housing": boston}
    for name, (X, y, model) in sets.items():
        model.set_params(gamma=0.3 / (X.shape[1] * X.var()))  # the same in all folds
        for label, cv in (("leave one out", LeaveOneOut()), ("20 folds", KFold(20))):
            began = time.process_time()
            ours = cross_val_error(model, X, y, cv=cv)
            middle = time.process_time()
            cold = cross_val_predict(model, X, y, cv=cv)
            end = time.process_time()
            same = np.mean(np.isclose(cold, ours.predictions, rtol=1e-2, atol=1e-2))
            fits = len(ours.fold_errors)
            ratio = (end - middle) / (middle - began)
            cells = [fits, f"{ours.error:.4g}", f"{100 * same:.1f}", f"{ratio:.1f}"]
            rows.append([name, label, *cells])
            print(*rows[-1], sep="\t", flush=True)
    header = ["set", "folds", "fits", "error", "same predictions (%)", "time of cold fits / ours"]
    return markdown_table(header, rows)


if __name__ == "__main__":
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    with threadpool_limits(1):
        write_section("cv-loo", environment() + "\n\n" + run_loo())
