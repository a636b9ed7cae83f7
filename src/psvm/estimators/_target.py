"""The target: labels or numbers, the machines that it needs, and what their values mean.

Classes are codes ``0 .. n_classes - 1``. A machine of the pair ``(i, j)``, ``i < j``, is fitted
to the rows of both classes with the target -1 for class i and +1 for class j. Nothing here knows
what the machine is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from .._fitted import Classes
from .._parameters import Choice, Flag
from .._typing import MatrixLike
from .._validation import check_labels, class_factors, target_type
from ..matrix import as_dense
from ..solvers import check_weights
from ._kernel import validate


class Task(NamedTuple):
    """What one machine learns."""

    rows: np.ndarray
    """Indices of its rows."""
    target: np.ndarray
    """The number that each of them has."""


def class_pairs(n_classes):
    """The pairs ``(i, j)`` with ``i < j`` in the order of all arrays that have one entry for each.

    >>> class_pairs(3)
    [(0, 1), (0, 2), (1, 2)]
    """
    return list(combinations(range(n_classes), 2))


def fit_pairs(fit_binary, code, n_classes):
    """Fit one machine for each pair of classes.

    Parameters
    ----------
    fit_binary : callable
        ``fit_binary(rows, target)`` gets the indices of the rows of both classes and their target
        of -1 and +1, and returns a machine.
    code : ndarray of int
        The class of each row.
    n_classes : int

    Returns
    -------
    list
        The machines, in the order of `class_pairs`.
    """
    return [fit_binary(*task) for task in pair_tasks(code, n_classes)]


def pair_tasks(code, n_classes):
    """The rows and the target of -1 and +1 of each pair of classes."""
    for i, j in class_pairs(n_classes):
        rows = np.flatnonzero((code == i) | (code == j))
        yield rows, np.where(code[rows] == j, 1.0, -1.0)


def rest_tasks(code, n_classes):
    """All rows, and the target of +1 for each class in turn and -1 for the rest."""
    for i in range(n_classes):
        yield np.arange(len(code)), np.where(code == i, 1.0, -1.0)


def class_scores(decisions, n_classes):
    """Votes of the pairs, and the sums of their decision values to break ties.

    Parameters
    ----------
    decisions : ndarray of shape (n, n_pairs)
        Positive for the second class of a pair.
    n_classes : int

    Returns
    -------
    ndarray of shape (n, n_classes)
        Number of votes plus a monotone function of the summed decision values within
        ``(-1/3, 1/3)``, which cannot outweigh a vote.

    Examples
    --------
    Each class has one vote, the second one by far the largest value:

    >>> import numpy as np
    >>> class_scores(np.array([[9.0, -1.0, 1.0]]), 3).round(2)
    array([[0.7, 1.3, 1. ]])
    """
    votes = np.zeros((len(decisions), n_classes))
    sums = np.zeros_like(votes)
    for f, (i, j) in zip(decisions.T, class_pairs(n_classes), strict=True):
        votes[:, i] += f <= 0
        votes[:, j] += f > 0
        sums[:, i] -= f
        sums[:, j] += f
    return votes + sums / (3 * (np.abs(sums) + 1))


@dataclass(frozen=True, eq=False)
class Labels:
    """The target of a classification: which machines it needs, and what their values mean.

    Attributes
    ----------
    classes : ndarray
        The class labels; of a multi-label target, the numbers of its columns.
    code : ndarray of shape (n,), or (n, n_labels) for a multi-label target
        The number of the class of each row; or 0 and 1 for each label.
    scheme : {"ovo", "ovr", "multilabel"}
        Two classes are "ovo": one pair.
    shares : bool
        Whether machines of one class against the rest share their support.
    """

    _fitted: ClassVar = {
        "classes": Classes(least=1),
        "scheme": Choice("ovo", "ovr", "multilabel"),
        "shares": Flag(),
    }
    classifies = True

    classes: np.ndarray
    code: np.ndarray | None
    scheme: str
    shares: bool = False

    @property
    def y(self):
        """The labels of the rows."""
        return self.code if self.scheme == "multilabel" else self.classes[self.code]

    def tasks(self, rows=None):
        """Rows and target of each machine; of some rows, numbered among these."""
        code = self.code if rows is None else self.code[rows]
        if self.scheme == "multilabel":
            every = np.arange(len(code))
            return [Task(every, column) for column in 2.0 * code.T - 1.0]
        tasks = pair_tasks if self.scheme == "ovo" else rest_tasks
        return [Task(*task) for task in tasks(code, len(self.classes))]

    def part(self, rows):
        """The target of some rows, without the classes that none of these has."""
        if self.scheme == "multilabel":
            return replace(self, code=self.code[rows])
        present, code = np.unique(self.code[rows], return_inverse=True)
        few = len(present) <= 2
        scheme, shares = ("ovo", False) if few else (self.scheme, self.shares)
        return Labels(self.classes[present], code, scheme, shares)

    @property
    def alike(self):
        """Whether the machines have tasks of one kind: classes, but not labels of any kind."""
        return self.scheme != "multilabel"

    @property
    def single(self):
        """Whether there is one machine: two classes."""
        return self.scheme == "ovo" and len(self.classes) == 2

    @property
    def paired(self):
        """The number of the class of each row, if pairs of classes have machines; else None."""
        return self.code if self.scheme == "ovo" else None

    @property
    def key(self):
        """One number per row, by which rows are spread over folds."""
        if self.scheme != "multilabel":
            return self.code
        return np.unique(self.code, axis=0, return_inverse=True)[1].reshape(-1)

    def predict(self, decisions):
        """Labels from the values of all machines, one per column."""
        if self.scheme == "multilabel":
            return (decisions > 0).astype(np.intp)
        if len(self.classes) == 2:
            return self.classes[(decisions[:, 0] > 0).astype(np.intp)]
        return self.classes[self.scores(decisions).argmax(axis=1)]

    def scores(self, decisions):
        """One value per class; the value of ``classes[1]`` alone for two classes."""
        if self.scheme != "ovo":
            return decisions
        n_classes = len(self.classes)
        return decisions[:, 0] if n_classes == 2 else class_scores(decisions, n_classes)

    def shown(self, values, model):
        """Values of all machines as the model shows them."""
        return self.decisions(values, model.decision_function_shape)

    def error(self, decisions, rows, weights):
        """The share of the rows, by weight, whose labels are not predicted."""
        if not len(decisions):
            return np.nan
        wrong = self.predict(decisions) != self.y[rows]
        return float(np.average(wrong.any(axis=1) if wrong.ndim == 2 else wrong, weights=weights))

    def decisions(self, values, shape):
        """What `decision_function` returns: `scores`, or the values of all pairs ("ovo").

        These are positive for the first class of a pair, as in scikit-learn's SVC.
        """
        if shape == "ovo" and values.shape[1] > 1:
            return values if self.scheme == "multilabel" else -values
        return self.scores(values)

    def _check_fitted(self, state):
        """Classes that the scheme allows."""
        least = {"ovo": 2, "ovr": 3, "multilabel": 1}[self.scheme]
        state.require(len(self.classes) >= least, f"its scheme is {self.scheme!r}")
        state.require(self.code is None, "it has the labels of rows")


@dataclass(frozen=True, eq=False)
class Numbers:
    """The target of a regression: one machine per output.

    Attributes
    ----------
    y : ndarray of shape (n,) or (n, n_outputs)
    """

    classifies = False
    alike = False
    """Each output may have its own noise."""
    paired, shares, scheme = None, False, None
    """There are no classes."""

    y: np.ndarray

    def tasks(self, rows=None):
        """Rows and target of each machine; of some rows, numbered among these."""
        y = self.y if rows is None else self.y[rows]
        every = np.arange(len(y))
        return [Task(every, column) for column in y.reshape(len(y), -1).T]

    def part(self, rows):
        """The target of some rows."""
        return Numbers(self.y[rows])

    def predict(self, decisions):
        """Numbers from the values of all machines, one per column."""
        return decisions[:, 0] if self.y.ndim == 1 else decisions

    def shown(self, values, model):
        """Values of all machines as the model shows them."""
        return self.predict(values)

    def error(self, decisions, rows, weights):
        """The mean squared error of some rows."""
        if not len(decisions):
            return np.nan
        square = np.square(decisions - self.y[rows].reshape(len(decisions), -1))
        return float(np.average(square.mean(axis=1), weights=weights))

    @property
    def single(self):
        """Whether there is one machine."""
        return self.y.ndim == 1

    @property
    def key(self):
        """One number per row, by which rows are spread over folds."""
        return self.y.reshape(len(self.y), -1)[:, 0]


def prepare(model, X, y, sample_weight):
    """Validated X, the target, and the weights of the rows, as `PSVC` or `PSVR` take them."""
    numeric = not is_classifier(model)
    X, y = validate(model, X, y, y_numeric=numeric, ensure_min_samples=2, multi_output=True)
    return X, *target_of(model, as_dense(y), sample_weight)


def target_of(model, y, sample_weight):
    """The target of a checked y, and the weights of the rows."""
    weights = check_weights(sample_weight, len(y))
    weights = np.ones(len(y)) if weights is None else weights
    if not is_classifier(model):
        return Numbers(y.astype(np.float64)), weights
    labels = _make_labels(model, y)
    return labels, _weigh_classes(model, labels, weights)


def _make_labels(model, y):
    kind = target_type("y", y)
    if kind == "multilabel-indicator":
        if model.class_weight is not None or model.probability:
            name = "probability" if model.probability else "class_weight"
            raise ValueError(f"{name} is not available for multi-label targets.")
        return Labels(np.arange(y.shape[1]), y, "multilabel")
    return labels_for(model, *check_labels("y", y, kind))


def labels_for(model, classes, code):
    """The labels of classes, with the scheme of a model."""
    if len(classes) <= 2:
        return Labels(classes, code, "ovo")
    shares = model.multi_class == "shared"
    scheme = {"auto": "ovo", "shared": "ovr"}.get(model.multi_class, model.multi_class)
    return Labels(classes, code, scheme, shares)


def _weigh_classes(model, labels, weights):
    """The weights times those of the classes, each of which must have some."""
    if labels.scheme == "multilabel":
        return weights
    weights = weights * class_factors(model.class_weight, labels.y)
    present = len(np.unique(labels.code[weights > 0]))
    if present < max(len(labels.classes), 2):
        raise ValueError(
            "The number of classes has to be greater than one; got 1 class (among the rows "
            "with positive weight)."
            if present == 1
            else f"Only {present} of {len(labels.classes)} classes have rows with positive "
            "weight. Leave out the rows of the others."
        )
    return weights


class OneVsOneMixin:
    """`decision_function` and `predict` of a classifier that fits pairs of classes.

    The classifier has `classes_`, the parameter `decision_function_shape`, and the method
    ``_pair_decisions(X)`` that returns an array of shape (n, n_pairs), positive for the second
    class of a pair.
    """

    classes_: np.ndarray
    decision_function_shape: Any
    _pair_decisions: Any

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, in the form of the training objects. With ``kernel="precomputed"`` the
            columns are the training objects.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            Two classes: ``f(x)``, positive for ``classes_[1]``. More classes: votes with the
            decision values to break ties ("ovr"), or the values of all pairs ("ovo"), positive
            for the first class of the pair as in scikit-learn's SVC.
        """
        values = self._pair_decisions(X)
        return Labels(self.classes_, None, "ovo").decisions(values, self.decision_function_shape)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Class labels: most votes, then the largest sum of decision values, then the first class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        values = self._pair_decisions(X)
        return Labels(self.classes_, None, "ovo").predict(values)
