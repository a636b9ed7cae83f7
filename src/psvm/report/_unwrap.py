"""What is inside an estimator: a search, a pipeline, and the machine at its end."""

from dataclasses import dataclass

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._estimator import MEASURED, BasePSVM


@dataclass(frozen=True)
class Parts:
    """The layers of a fitted estimator."""

    model: object
    """The estimator as it was given."""
    search: object
    """Who has `cv_results_`, or None."""
    steps: Pipeline | None
    """What is done to X before the machine sees it."""
    machine: BasePSVM
    """The P-SVM at the end."""

    def transform(self, X):
        """X as the machine sees it."""
        return X if self.steps is None else self.steps.transform(X)


def unwrap(model):
    """The layers of a fitted estimator: P-SVM, pipeline that ends with one, or search of either."""
    search = model if hasattr(model, "cv_results_") else None
    inner = getattr(model, "best_estimator_", model)
    steps = None
    if isinstance(inner, Pipeline):
        steps = inner[:-1] if len(inner.steps) > 1 else None
        inner = inner[-1]
        search = inner if search is None and hasattr(inner, "cv_results_") else search
    if hasattr(inner, "best_estimator_"):
        inner = inner.best_estimator_
    if not isinstance(inner, BasePSVM):
        raise TypeError(
            "The estimator must be a PSVC or PSVR, a pipeline that ends with one, or a search of "
            f"these, got {type(model).__name__}."
        )
    check_is_fitted(inner)
    return Parts(model, search, steps, inner)


def described_matrix(machine, X):
    """The matrix K of a machine for its training objects, and the names of the columns or None."""
    if machine.kernel in MEASURED:
        names = getattr(machine, "feature_names_in_", None)
        return machine._validate(X, reset=False), names
    if machine.row_objects is not None:
        raise ValueError("Of chosen row objects the estimator keeps only those of the support.")
    X = machine._validate(X, reset=False)
    return np.asarray(machine._kernel(X, X)), [f"row {j}" for j in range(X.shape[0])]


def numeric_target(machine, y):
    """The target as numbers: -1 and +1 for two classes."""
    classes = getattr(machine, "classes_", None)
    if classes is None:
        return np.asarray(y, dtype=np.float64)
    if len(classes) != 2:
        raise ValueError(
            f"A path has one target: two classes or numbers, but there are {len(classes)} classes."
        )
    return np.where(np.asarray(y) == classes[1], 1.0, -1.0)
