"""The tables of `data/tabular`, and what models have learnt from them.

Splits as in the study of the defaults: at most 600 training rows, 1,500 test rows, features
standardised with the training rows, regression targets as well.
"""

import time

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from datasets import data_dir

KINDS = {
    "two": "two classes, error %",
    "several": "several classes, error %",
    "imbalanced": "imbalanced, balanced error %",
    "numbers": "regression, MSE / SVR()'s",
}


def names():
    """All tables, in order."""
    folder = data_dir()
    if folder is None:
        raise FileNotFoundError("no benchmark data: set PSVM_DATA to its folder")
    return sorted(path.stem for path in (folder / "tabular").glob("*.npz"))


def kind_of(name, y):
    """The row of the table that a set counts for."""
    if name.startswith("reg"):
        return "numbers"
    if "imbalanced" in name:
        return "imbalanced"
    return "two" if len(np.unique(y)) == 2 else "several"


def split(name, number, rows=600):
    """Training and test rows of one split, and the kind of the set."""
    with np.load(data_dir() / "tabular" / f"{name}.npz") as archive:
        X, y = archive["X"].astype(float), archive["y"]
    kind = kind_of(name, y)
    n_train = min(rows, int(0.6 * len(y)))
    n_test = min(1500, len(y) - n_train)
    X, X_test, y, y_test = train_test_split(
        X,
        y,
        train_size=n_train,
        test_size=n_test,
        random_state=1000 + number,
        stratify=None if kind == "numbers" else y,
    )
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    varies = X.std(axis=0) > 0
    X, X_test = X[:, varies], X_test[:, varies]
    if kind == "numbers":
        mean, deviation = y.mean(), y.std()
        y, y_test = (y - mean) / deviation, (y_test - mean) / deviation
    return kind, X, y, X_test, y_test


def judged(model, kind, X, y, X_test, y_test):
    """Error, support objects and seconds of processor time of one fit."""
    began = time.process_time()
    model.fit(X, y)
    took = time.process_time() - began
    predicted = model.predict(X_test)
    if kind == "numbers":
        error = float(np.mean(np.square(predicted - y_test)) / np.var(y_test))
    elif kind == "imbalanced":
        error = 100 * float(1 - balanced_accuracy_score(y_test, predicted))
    else:
        error = 100 * float(np.mean(predicted != y_test))
    inner = getattr(model, "best_estimator_", model)
    support = len(inner.support_) if hasattr(inner, "support_") else np.nan
    return error, support, took


def mean_of(kind, errors, units):
    """The mean over sets; of regressions the geometric mean in units of another model."""
    if kind == "numbers":
        return float(np.exp(np.mean(np.log(np.divide(errors, units)))))
    return float(np.mean(errors))
