"""What is inside an estimator: a search, a pipeline, and the machine at its end."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._validation import check_members, check_vector
from ._base import BasePSVM
from ._description import digests_of, is_measured
from ._kernel import validate
from ._landmarks import MOST, by_rows


@dataclass(frozen=True)
class Parts:
    """The layers of an estimator."""

    model: object
    """The estimator as it was given."""
    search: object
    """The outermost search, which has `best_estimator_`, or None."""
    steps: list
    """Names and transformers of what is done to X before the machine sees it."""
    machine: object
    """The estimator at the end."""
    names: list | None = None
    """Names of the columns of X, if they are known and the machine sees these columns."""
    rows: list | None = None
    """Names of the training objects, if they are known."""

    def transform(self, X):
        """X as the machine sees it."""
        for _, step in self.steps:
            X = X if step is None or isinstance(step, str) else step.transform(X)
        return X


def unwrap(model):
    """The layers of a fitted estimator: pipelines and searches in any order, and what they hold."""
    search, steps, inner = None, [], model
    while True:
        if hasattr(inner, "best_estimator_"):
            search = inner if search is None else search
            inner = inner.best_estimator_
        elif isinstance(inner, Pipeline):
            steps += inner.steps[:-1]
            inner = inner.steps[-1][1]
        else:
            return Parts(model, search, steps, inner)


def unwrap_psvm(model, names=None, rows=None):
    """The layers of a fitted P-SVM, pipeline that ends with one, or search of either.

    `names` are those of the columns of X, where the machine does not know them, and `rows` those of
    the training objects.
    """
    if isinstance(model, type):
        raise TypeError(f"The estimator must be an object, got the class {model.__name__}.")
    parts = unwrap(model)
    machine = parts.machine
    if not isinstance(machine, BasePSVM):
        raise TypeError(
            "The estimator must be a PSVC or PSVR, a pipeline that ends with one, or a search of "
            f"these, got {type(model).__name__}."
        )
    check_is_fitted(machine)
    names = getattr(machine, "feature_names_in_", names)
    known = names is not None and len(names) == machine.n_features_in_
    names = [str(n) for n in names] if known else None
    return replace(parts, names=names, rows=None if rows is None else [str(r) for r in rows])


def described_matrix(parts, X):
    """The matrix K of a machine for its training objects, and the names of the columns or None.

    Of many training objects only those in `landmarks_` describe.
    """
    machine, X = parts.machine, parts.transform(X)
    if is_measured(machine):
        return validate(machine, X, reset=False), parts.names
    if not by_rows(machine.landmarks):
        raise ValueError("Of chosen landmarks the estimator keeps only those of the support.")
    X = validate(machine, X, reset=False)
    own = _describing(machine, X)
    return np.asarray(machine._kernel(X, X[own])), row_names(parts, own)


def _describing(machine, X):
    """The places of the training objects that describe."""
    if not hasattr(machine, "landmarks_"):
        if machine.landmarks is None and X.shape[0] > MOST:
            raise ValueError("A model from a file does not know which training objects described.")
        return np.arange(X.shape[0])
    own = machine.landmarks_
    if own is None and hasattr(machine, "plan_"):  # they were drawn from rows that were summed
        place = {digest: row for row, digest in enumerate(digests_of(X, machine.kernel))}
        objects = digests_of(machine.plan_.objects, machine.kernel)
        own = np.array([place.get(digest, X.shape[0]) for digest in objects], dtype=np.intp)
    if own is None or own.max(initial=-1) >= X.shape[0]:
        raise ValueError("X must be the training objects, which describe, in the order of the fit.")
    return own


def square_matrix(parts, X):
    """The same among the descriptive objects alone."""
    K, _ = described_matrix(parts, X)
    machine = parts.machine
    if K.shape[0] == K.shape[1]:
        return K
    return K[_describing(machine, validate(machine, parts.transform(X), reset=False))]


def weights(machine):
    """The variables; of several machines those with the largest absolute value."""
    alpha = np.atleast_2d(machine.alpha_)
    return np.take_along_axis(alpha, np.abs(alpha).argmax(axis=0)[None], axis=0)[0]


def solutions(machine):
    """The solutions of all machines of an estimator; empty if it was loaded from a file."""
    if hasattr(machine, "solutions_"):
        return machine.solutions_
    return (machine.solution_,) if hasattr(machine, "solution_") else ()


def row_names(parts, places):
    """Names of training objects, or their numbers from 1 as in files."""
    if parts.rows is None:
        return [f"row {j + 1}" for j in places]
    return [parts.rows[j] for j in places]


def support_names(parts):
    """Names of the support objects: those of columns or rows, or their numbers from 1."""
    machine = parts.machine
    if is_measured(machine) and parts.names is not None:
        return [parts.names[j] for j in machine.support_]
    drawn = getattr(machine, "landmarks_", ()) is None  # from rows that were read by blocks
    if is_measured(machine) or drawn or not by_rows(machine.landmarks):
        word = "column" if is_measured(machine) else "landmark"
        return [f"{word} {j + 1}" for j in machine.support_]
    return row_names(parts, machine.support_)


def numeric_target(machine, y):
    """The target as numbers: -1 and +1 for two classes."""
    classes = getattr(machine, "classes_", None)
    if classes is None:
        return check_vector("y", y)
    if len(classes) != 2:
        raise ValueError(
            f"A path has one target: two classes or numbers, but there are {len(classes)} classes."
        )
    return np.where(check_members("y", y) == classes[1], 1.0, -1.0)
