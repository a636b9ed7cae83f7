"""What is explored: a model says how rows are described, the data what they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from ..._validation import check_members, check_vector, target_type
from ...estimators import (
    PSVC,
    PSVR,
    BasePSVM,
    described_matrix,
    digests_of,
    is_measured,
    unwrap,
    unwrap_psvm,
    validate,
)
from ...io import is_numeric
from ...matrix import fill_missing
from .._data import as_numbers, check_names, column_names

MOST_MACHINES = 10
"""Classes of which each has its path on the page."""
STAND_IN = 0.7310585786300049
"""An epsilon that nobody gives: it marks the place of the real one in a line of Python."""
LONGEST = 100_000
"""Letters of a line of Python."""
PLAIN = {"threshold": "mean", "tol": 1e-8}
"""Parameters with which a model is the solution on the path and nothing else."""


@dataclass(frozen=True)
class Subject:
    """Rows, how they are described, and what is to be predicted."""

    K: Any
    """The matrix, of shape (L, P)."""
    own: np.ndarray | None
    """The row by which each column describes; None if the columns are other objects."""
    column_names: list
    row_names: list
    X: Any
    """The features behind a kernel of vectors; None if there are none but the columns of K."""
    feature_names: list
    """Names of the columns of X."""
    features: bool
    """Whether the columns of K are features, measured on the rows."""
    what: str
    """What the columns are called: "feature" or "object"."""
    target: str
    targets: dict
    """Names of the machines and their targets as numbers."""
    classes: list | None
    labels: np.ndarray | None
    """The place of each row's class."""
    C: float
    epsilon: float | None
    """That of the model, if it has one."""
    python: list
    """The line of Python for each machine."""


def make_subject(model, X, y, *, names, rows, target):
    """The subject of a page."""
    model, chosen = _fitted(_default_model(y) if model is None else model, X, y)
    check_names(X, names, rows)
    numbers, names = as_numbers(model, X, names)
    parts = unwrap_psvm(model, names, rows)
    machine = parts.machine
    if getattr(machine, "class_weight", None) is not None:
        raise ValueError(
            "explore does not weight the rows, but the model has "
            f"class_weight={machine.class_weight!r}. Set it to None."
        )
    K, columns = described_matrix(parts, X)
    own = None
    if not is_measured(machine):
        own, K, columns = _distinct(machine, parts.transform(X), K, columns)
    elif machine.kernel == "precomputed":
        own = np.arange(K.shape[1])
    rows = [f"row {i + 1}" for i in range(K.shape[0])] if rows is None else list(map(str, rows))
    if columns is None:
        columns = rows if own is not None else column_names(K)
    features = machine.kernel == "dyadic"
    labels, classes, targets = _targets(machine, y, target)
    epsilon = machine.epsilon_ if chosen and np.ndim(machine.epsilon_) == 0 else None
    return Subject(
        K=K,
        own=own,
        column_names=columns,
        row_names=rows,
        X=None if is_measured(machine) else _looked_at(numbers),
        feature_names=[] if is_measured(machine) else _names_of(numbers, names),
        features=features,
        what="feature" if features else "object",
        target=target,
        targets=targets,
        classes=classes,
        labels=labels,
        C=float(machine.C),
        epsilon=epsilon,
        python=_python(parts),
    )


def _default_model(y):
    """A dyadic P-SVM for what the target is."""
    values, kind = np.unique(check_members("y", y)), target_type("y", y)
    few = len(values) <= (2 if values.dtype.kind == "f" else MOST_MACHINES)
    numbers = kind == "continuous" or (values.dtype.kind in "fiu" and not few)
    return (PSVR if numbers else PSVC)(kernel="dyadic")


def _fitted(model, X, y):
    """The model itself if it is fitted, else a fitted clone; and whether its epsilon is meant.

    A rule that chooses epsilon is not followed: the page shows all of them.
    """
    try:
        check_is_fitted(model)
        return model, True
    except NotFittedError:
        model = clone(model)
    machine = unwrap(model).machine
    free = isinstance(machine, BasePSVM) and isinstance(machine.epsilon, str)
    if free:
        machine.set_params(epsilon=0.5, epsilon_unit="max", **PLAIN)
    return model.fit(X, y), not free


def _distinct(machine, X, K, names):
    """Rows that describe, each content once, with their columns and the names of these."""
    own = getattr(machine, "landmarks_", np.arange(K.shape[0]))
    digests = digests_of(validate(machine, X, reset=False), machine.kernel)
    first = np.sort(np.unique([digests[i] for i in own], return_index=True)[1])
    return own[first], K[:, first], [names[j] for j in first]


def _targets(machine, y, name):
    """Places of the classes of the rows, names of the classes, and the targets of machines."""
    classes = getattr(machine, "classes_", None)
    if classes is None:
        return None, None, {name: check_vector("y", y)}
    if isinstance(classes, list) or np.ndim(y) > 1:
        raise ValueError("explore needs one target; give one column of y.")
    y = check_members("y", y)
    labels = np.searchsorted(classes, y)
    shown = [str(c) for c in classes]
    if len(classes) == 2:
        return labels, shown, {f"{shown[1]} against {shown[0]}": 2.0 * labels - 1.0}
    if len(classes) > MOST_MACHINES:
        raise ValueError(
            f"y has {len(classes)} classes; explore shows at most {MOST_MACHINES}, one against "
            f"the rest at a time. Give one of them: y == {classes.tolist()[0]!r}."
        )
    targets = {
        f"{c} against the rest": np.where(labels == i, 1.0, -1.0) for i, c in enumerate(shown)
    }
    return labels, shown, targets


def _looked_at(X):
    """A matrix of numbers without gaps; None for sequences."""
    return fill_missing(X) if is_numeric(X) else None


def _names_of(X, names):
    return column_names(X, names) if is_numeric(X) else []


def _python(parts):
    """The line that makes the model of each machine, with ``{epsilon}`` for its epsilon."""
    plain = {**PLAIN, "epsilon": STAND_IN, "epsilon_unit": "absolute"}
    machine = clone(parts.machine).set_params(**plain)
    model = make_pipeline(*(clone(step) for _, step in parts.steps), machine)
    text = " ".join((model if parts.steps else machine).__repr__(N_CHAR_MAX=LONGEST).split())
    if "..." in text:  # scikit-learn does not print long lists of columns
        step = model.steps[-1][0]
        changes = ", ".join(f"{step}__{name}={value!r}" for name, value in plain.items())
        text = f"clone(model).set_params({changes})"
    text = text.replace(repr(STAND_IN), "{epsilon}")
    classes = getattr(parts.machine, "classes_", ())
    targets = [f"y == {c!r}" for c in np.asarray(classes).tolist()] if len(classes) > 2 else ["y"]
    return [f"{text}.fit(X, {target})" for target in targets]
