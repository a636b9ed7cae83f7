"""From y to the numeric targets of a selection, and from their rankings to one."""

from dataclasses import dataclass

import numpy as np

from .._validation import check_choice, target_type

TASKS = ("auto", "classification", "regression")


@dataclass(frozen=True, eq=False)
class Targets:
    """One numeric target, or one per class (one-vs-rest) or output.

    Attributes
    ----------
    rows : ndarray of shape (T, n_samples)
        The targets; -1 and +1 for classes.
    classes : ndarray or None
        The labels of a classification with a single label per sample.
    """

    rows: np.ndarray
    classes: np.ndarray | None

    @classmethod
    def create(cls, y, task="auto"):
        """Code y. Integers and strings are classes, other numbers are targets of a regression.

        More columns are more outputs; columns of 0 and 1 are labels that may occur together.
        """
        check_choice("task", task, TASKS)
        y = np.asarray(y)
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        kind = "continuous" if task == "regression" else target_type("y", y)
        if kind in ("binary", "multiclass"):
            return cls.of_classes(y)
        if kind == "multilabel-indicator":
            return cls(_checked(np.where(np.asarray(y).T > 0, 1.0, -1.0)), None)
        if task == "classification" or not kind.startswith("continuous"):
            raise ValueError(
                f"Unknown label type: y holds {kind} values, of which no classes can be made. "
                "Use task='regression' if they are numbers to be predicted."
            )
        try:
            return cls(_checked(np.atleast_2d(y.astype(np.float64).T)), None)
        except (TypeError, ValueError) as error:
            raise ValueError(f"y must hold numbers for a regression, got {y.dtype}.") from error

    @classmethod
    def of_classes(cls, y):
        """Code labels: one target for two classes, one-vs-rest targets for more."""
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError(
                f"y holds a single class, {classes.tolist()[0]!r}; at least 2 are needed."
            )
        positive = classes[1:] if len(classes) == 2 else classes
        return cls(np.where(y == positive[:, None], 1.0, -1.0), classes)


def _checked(rows):
    if not np.isfinite(rows).all():
        raise ValueError("Input y contains NaN or infinity.")
    return rows


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
