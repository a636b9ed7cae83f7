"""From y to the numeric targets of a selection, and from their rankings to one."""

import numpy as np

from .._validation import check_choice, target_type
from ..estimators import Labels, Numbers

TASKS = ("auto", "classification", "regression")


def code_target(y, task="auto"):
    """Code y. Integers and strings are classes, other numbers are targets of a regression.

    More columns are more outputs; columns of 0 and 1 are labels that may occur together. More than
    two classes are told apart one against the rest.

    Returns
    -------
    Labels or Numbers
    """
    check_choice("task", task, TASKS)
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    kind = "continuous" if task == "regression" else target_type("y", y)
    if kind in ("binary", "multiclass"):
        return code_classes(y)
    if kind == "multilabel-indicator":
        _check_finite(y)
        return Labels(np.arange(y.shape[1]), (y > 0).astype(np.intp), "multilabel")
    if task == "classification" or not kind.startswith("continuous"):
        raise ValueError(
            f"Unknown label type: y holds {kind} values, of which no classes can be made. "
            "Use task='regression' if they are numbers to be predicted."
        )
    try:
        y = y.astype(np.float64)
        _check_finite(y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers for a regression, got {y.dtype}.") from error
    return Numbers(y)


def code_classes(y):
    """Code labels: one target for two classes, one-vs-rest targets for more."""
    classes, code = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y holds a single class, {classes.tolist()[0]!r}; at least 2 are needed.")
    return Labels(classes, code, "ovo" if len(classes) == 2 else "ovr")


def numeric_targets(target):
    """The target of each machine, as an array of shape (n_targets, n_samples)."""
    return np.array([task.target for task in target.tasks()])


def _check_finite(y):
    if not np.isfinite(y).all():
        raise ValueError("Input y contains NaN or infinity.")


def merge_orders(orders, importance):
    """One order of features from several.

    The best place that a feature has in any of them counts; features with the same best place
    are ordered by decreasing importance.
    """
    places = np.empty((len(orders), len(importance)), dtype=np.intp)
    for place, order in zip(places, orders, strict=True):
        place[order] = np.arange(len(order))
    return np.lexsort((-importance, places.min(axis=0)))


def ranking_of(order, n_selected):
    """scikit-learn's `ranking_`: 1 for what is selected, then 2, 3, ... in the given order."""
    ranking = np.empty(len(order), dtype=np.intp)
    ranking[order] = np.maximum(np.arange(1, len(order) + 1) - n_selected + 1, 1)
    return ranking
