"""A classifier that may say "I do not know"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from .._fitted import FittedPart, Given, Maybe, is_number
from .._parameters import Choice, Has, Later, Number, check_parameters
from .._typing import ArrayLike, Estimator, MatrixLike, Method, available_if
from .._validation import (
    check_array,
    check_choice,
    check_flag,
    check_has,
    check_members,
    check_number,
    shown,
)
from ..estimators import MEASURED, check_similar, largest_similarity, unwrap
from ._range import decision_range, outside

REJECT_RULES = ("no_information", "threshold", "novelty", "range")
RESPONSE_METHODS = ("auto", "decision_function", "predict_proba")


def has_information(estimator: Estimator, X: MatrixLike) -> np.ndarray:
    """Which objects have a non-zero entry in any support column of a fitted model.

    With ``kernel="dyadic"`` (or "precomputed") the decision value of all other objects is the same
    constant: nothing is known about them that the model could use.

    Parameters
    ----------
    estimator : fitted estimator
        `psvm.PSVC` or `psvm.PSVR` on a measured matrix, or a linear model with `coef_`; also at the
        end of a pipeline, where the entries are those after its other steps, or found by a search.
    X : {array-like, sparse matrix} of shape (n_objects, n_columns)
        Objects as for `predict`.

    Returns
    -------
    ndarray of bool of shape (n_objects,)

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVC
    >>> from psvm.evaluation import has_information
    >>> K = np.array([[1, 0, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]])
    >>> model = PSVC(kernel="dyadic", epsilon=0.5).fit(K, [1, 1, 1, 0, 0, 0])
    >>> model.support_
    array([0, 1])
    >>> has_information(model, np.array([[0, 1, 0], [0, 0, 1]]))
    array([ True, False])
    """
    check_has("estimator", estimator, "predict", what="a fitted estimator")
    check_is_fitted(estimator)
    parts = unwrap(estimator)
    X, model = parts.transform(X), parts.machine
    columns = _support_columns(model)
    X = check_array("X", X, accept_sparse="csc", dtype=None)
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but the estimator was fitted to {model.n_features_in_}."
        )
    entries = X[:, columns]
    return np.asarray((entries != 0).sum(axis=1)).ravel() > 0


def _support_columns(model):
    """Indices of the columns that a model uses."""
    kernel = getattr(model, "kernel", None)
    if isinstance(kernel, str) and kernel in MEASURED:
        if hasattr(model, "support_"):
            return model.support_
    elif hasattr(model, "coef_"):
        return np.flatnonzero(np.any(np.atleast_2d(model.coef_) != 0, axis=0))
    raise ValueError(
        f"{model!r} does not use single columns of X: whether an object has an entry in a support "
        "column is a question for kernel='dyadic' or 'precomputed' or for linear models."
    )


def support_similarity(
    estimator: Estimator, X: MatrixLike, *, leave_out: bool = False
) -> np.ndarray:
    """The largest similarity of each object to a support object of a fitted model.

    An object that is unlike all support objects is new to the model, whatever it predicts. Values
    of positive definite kernels are divided by ``sqrt(k(x, x) k(z, z))``; others, and those of a
    precomputed matrix, which must hold similarities, are compared as they are.

    Parameters
    ----------
    estimator : fitted estimator
        `psvm.PSVC` or `psvm.PSVR` with a kernel or a precomputed matrix; also at the end of a
        pipeline, or found by a search.
    X : objects
        As for `predict`.
    leave_out : bool, default=False
        Whether X are the training objects: one that is a support object is compared with the other
        ones, -inf if there are none.

    Returns
    -------
    ndarray of shape (n_objects,)

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVC
    >>> from psvm.evaluation import support_similarity
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    >>> model = PSVC(gamma=1.0, epsilon=0.1).fit(X, y)
    >>> support_similarity(model, [[1.0], [9.0]]).round(2)
    array([1., 0.])
    """
    check_has("estimator", estimator, "predict", what="a fitted estimator")
    check_flag("leave_out", leave_out)
    check_is_fitted(estimator)
    parts = unwrap(estimator)
    return largest_similarity(parts.machine, parts.transform(X), leave_out=leave_out)


def confidence(
    estimator: Estimator,
    X: MatrixLike,
    *,
    response_method: Literal["auto", "decision_function", "predict_proba"] = "auto",
) -> np.ndarray:
    """How sure a classifier is of its prediction.

    Parameters
    ----------
    estimator : fitted classifier
    X : objects
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        "predict_proba": the largest probability. "decision_function": ``|f(x)|`` of two classes,
        the difference of the two largest values of more. "auto": the first of the two that the
        classifier has.

    Returns
    -------
    ndarray of shape (n_objects,)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from psvm.evaluation import confidence
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), [0, 0, 1, 1]
    >>> confidence(LogisticRegression().fit(X, y), [[0.0], [9.0]]).round(2)
    array([0.5, 1. ])
    """
    check_choice("response_method", response_method, RESPONSE_METHODS)
    if response_method == "auto":
        has_proba = hasattr(estimator, "predict_proba")
        response_method = "predict_proba" if has_proba else "decision_function"
    check_has("estimator", estimator, response_method, what="a fitted classifier")
    values = np.asarray(getattr(estimator, response_method)(X))
    if response_method == "predict_proba":
        return values.max(axis=1)
    if values.ndim == 1:
        return np.abs(values)
    second, first = np.sort(values, axis=1)[:, -2:].T
    return first - second


def _has(method: str) -> Callable[[Method], Method]:
    return available_if(lambda self: hasattr(getattr(self, "estimator_", self.estimator), method))


class RejectOption(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that marks objects which it does not classify.

    Parameters
    ----------
    estimator : classifier
        What is fitted and decides about the others.
    rule : {"no_information", "threshold", "novelty", "range"}, default="no_information"
        "no_information": reject objects without an entry other than zero in any support column, see
        `has_information`; for ``kernel="dyadic"`` and linear models. "threshold": reject objects
        whose `confidence` is below `threshold`. "novelty": reject objects that are less like any
        support object of a `PSVC` than training objects are, see `support_similarity`. "range":
        reject objects with a decision value outside the range of the training values or NaN, see
        `decision_range`; the bounds of the papers are stated for the others.
    threshold : float, default=None
        The least confidence, in the units of `response_method`; needed for ``rule="threshold"``.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What the confidence is measured by.
    quantile : float, default=0.01
        For "novelty": the share of training objects that would be rejected, each compared with the
        support objects other than itself. 0 is the least similarity that occurs.
    reject_label : label, default="auto"
        What `predict` returns for a rejected object; it must not be one of the classes. "auto" is
        "rejected" if the classes are strings, else a number below all of them: -1, or
        ``min(classes) - 1`` if there are negative ones (-2 for the classes -1 and +1).

    Attributes
    ----------
    estimator_ : classifier
        The fitted classifier.
    classes_ : ndarray of shape (n_classes,)
        The classes, without the label of rejected objects.
    reject_label_ : label
        The mark of rejected objects.
    similarity_threshold_ : float
        For "novelty": objects with a smaller similarity are rejected.
    range_centre_, range_radius_ : float or ndarray
        For "range": objects whose value is further from the centre than the radius are rejected,
        apart from rounding: half of the digits of the values' type.
    n_features_in_, feature_names_in_
        Those of the fitted classifier.

    See Also
    --------
    reject_scores : Share of classified objects and the error among them.
    error_reject_curve : The error for all thresholds.

    Notes
    -----
    `score` is the accuracy over all objects, where a rejected one counts as an error.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVC
    >>> from psvm.evaluation import RejectOption, reject_scores
    >>> K = np.array([[1, 0, 1], [1, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]])
    >>> model = RejectOption(PSVC(kernel="dyadic", epsilon=0.5)).fit(K, [1, 1, 1, 0, 0, 0])
    >>> K_new = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    >>> model.predict(K_new)
    array([ 1,  0, -1])
    >>> {k: round(float(v), 2) for k, v in reject_scores(model, K_new, [1, 0, 1]).items()}
    {'share_classified': 0.67, 'error': 0.0, 'neg_error': -0.0}
    """

    estimator_: Estimator
    classes_: np.ndarray
    reject_label_: Any
    similarity_threshold_: float
    range_centre_: float | np.ndarray
    range_radius_: float | np.ndarray

    _constraints: ClassVar = {
        "estimator": Has("fit", "predict", what="a classifier"),
        "rule": Choice(*REJECT_RULES),
        "threshold": Later(),
        "response_method": Choice(*RESPONSE_METHODS),
        "quantile": Number(least=0, below=1),
        "reject_label": Later(),
    }

    _fitted: ClassVar = {
        "estimator_": FittedPart(BaseEstimator, "predict"),
        "reject_label_": Given(),
        "similarity_threshold_": Maybe(Number(infinite=True)),
        "range_centre_": Maybe(Given()),
        "range_radius_": Maybe(Given()),
    }

    def __init__(
        self,
        estimator: Estimator,
        *,
        rule: Literal["no_information", "threshold", "novelty", "range"] = "no_information",
        threshold: float | None = None,
        response_method: Literal["auto", "decision_function", "predict_proba"] = "auto",
        quantile: float = 0.01,
        reject_label: Any = "auto",
    ) -> None:
        self.estimator = estimator
        self.rule = rule
        self.threshold = threshold
        self.response_method = response_method
        self.quantile = quantile
        self.reject_label = reject_label

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags = inner.classifier_tags
        return tags

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X, y : data
            As the classifier takes it.
        sample_weight : array-like of shape (n_samples,), default=None
            Passed on if it is given.

        Returns
        -------
        self : RejectOption
        """
        check_parameters(self)
        if self.rule == "threshold":
            check_number("threshold", self.threshold, least=0)
        elif self.threshold is not None:
            raise ValueError(
                f"threshold={shown(self.threshold)} has no meaning with rule={self.rule!r}. Use "
                "rule='threshold'."
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        model = clone(self.estimator).fit(X, y, **weights)
        if self.rule == "no_information":
            check_columns(model)
        if self.rule == "novelty":
            self.similarity_threshold_ = similarity_threshold(model, X, self.quantile)
        if self.rule == "range":
            found = decision_range(model, X, sample_weight=sample_weight)
            self.range_centre_, self.range_radius_ = found.centre, found.radius
        reject_label = self._choose_label(model.classes_)
        self.estimator_ = model
        self.classes_ = model.classes_
        self.reject_label_ = reject_label
        return self

    def _choose_label(self, classes):
        label = self.reject_label
        if label is not None and (not np.isscalar(label) or isinstance(label, bytes)):
            raise ValueError(
                f"reject_label must be a string, a number or None, got {shown(self.reject_label)}."
            )
        if self.reject_label != "auto":
            label = self.reject_label
        elif classes.dtype.kind in "biuf":
            label = min(-1, int(np.floor(classes.min())) - 1)
        else:
            label = "rejected"
        if any(label == c for c in classes):
            raise ValueError(f"reject_label must not be one of the classes, got {label!r}.")
        return label

    @property
    def n_features_in_(self) -> int:
        return self.estimator_.n_features_in_

    @property
    def feature_names_in_(self) -> np.ndarray:
        return self.estimator_.feature_names_in_

    def rejects(self, X: MatrixLike) -> np.ndarray:
        """Which objects are rejected.

        Parameters
        ----------
        X : objects
            As the classifier takes them.

        Returns
        -------
        ndarray of bool of shape (n_objects,)
        """
        check_is_fitted(self)
        if self.rule == "threshold":
            sure = confidence(self.estimator_, X, response_method=self.response_method)
            return sure < self.threshold
        if self.rule == "novelty":
            return support_similarity(self.estimator_, X) < self.similarity_threshold_
        if self.rule == "range":
            return outside(self.estimator_, X, self.range_centre_, self.range_radius_)
        return ~has_information(self.estimator_, X)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Class labels, or `reject_label_` for rejected objects.

        Parameters
        ----------
        X : objects
            As the classifier takes them.

        Returns
        -------
        ndarray of shape (n_objects,)
        """
        check_is_fitted(self)
        prediction = self.estimator_.predict(X)
        place = np.searchsorted(self.classes_, prediction)
        place[self.rejects(X)] = len(self.classes_)
        return _labels(self.classes_, self.reject_label_)[place]

    @_has("decision_function")
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Decision values of the classifier, also for rejected objects."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    @_has("predict_proba")
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probabilities of the classifier, also for rejected objects."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    def _check_fitted(self, state):
        """A classifier with the same classes, to which the rule applies."""
        check_parameters(self)
        inner, label = self.estimator_, self.reject_label_
        state.same_classes(self.classes_, getattr(inner, "classes_", None), "its classifier")
        ok = label is None or isinstance(label, str) or is_number(label)
        state.require(ok, f"reject_label_ is {label!r}")
        if self.rule == "no_information":
            check_columns(inner)
        elif self.rule == "novelty":
            check_similar(unwrap(inner).machine)
            state.require(state.has("similarity_threshold_"), "its least similarity is no number")
        elif self.rule == "range":
            state.require(hasattr(inner, "decision_function"), "it has no decision values")
            for name in ("range_centre_", "range_radius_"):
                value = np.atleast_1d(state.get(name))
                state.checked(value, name, None, kinds="f")
        else:
            methods = [m for m in RESPONSE_METHODS[1:] if hasattr(inner, m)]
            state.require(methods, "its classifier has no decision values")
            known = ("auto", *methods)
            state.require(self.response_method in known, "its response_method is missing")
            state.require(is_number(self.threshold), f"its threshold is {self.threshold!r}")


def similarity_threshold(model, X, quantile=0.0):
    """A quantile of the similarities of training objects to the support objects besides themselves.

    Rows without weight, which the model does not know, count as well. Of the only support object
    nothing is known.
    """
    values = support_similarity(model, X, leave_out=True)
    known = values[values > -np.inf]
    return float(np.quantile(known, quantile)) if len(known) else -np.inf


def check_columns(model):
    """Raise an error now if the rule cannot be applied later."""
    _support_columns(unwrap(model).machine)


def _labels(classes, reject_label):
    """Classes and mark in one array, whose type can hold both."""
    mark = np.asarray(reject_label)
    if classes.dtype.kind == mark.dtype.kind == "U" or {classes.dtype.kind, mark.dtype.kind} <= set(
        "biuf"
    ):
        return np.append(classes, mark)
    return np.append(classes.astype(object), np.array([reject_label], dtype=object))


def reject_scores(estimator: Estimator, X: MatrixLike, y: ArrayLike) -> dict[str, float]:
    """Scorer of a classifier with a reject option: share of classified objects and their error.

    It can be the ``scoring`` of `cross_validate` and, with ``refit``, of `GridSearchCV`. For a
    classifier without `reject_label_` all objects are classified.

    Parameters
    ----------
    estimator : fitted classifier
    X, y : objects and their labels

    Returns
    -------
    dict
        "share_classified"; "error", the share of errors among the classified objects (NaN if
        there are none); "neg_error", its negative for a search.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> from psvm.evaluation import RejectOption, reject_scores
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RejectOption(LogisticRegression(max_iter=1000), rule="threshold", threshold=0.9)
    >>> scores = cross_validate(model, X, y, scoring=reject_scores)
    >>> bool(scores["test_share_classified"].mean() < 0.9 and scores["test_error"].mean() < 0.01)
    True
    """
    check_has("estimator", estimator, "predict", what="a fitted classifier")
    y, prediction = check_members("y", y), np.asarray(estimator.predict(X))
    if y.shape != prediction.shape:
        raise ValueError(f"y has {len(y)} labels, but X has {len(prediction)} objects.")
    classified = np.ones(len(prediction), dtype=bool)
    if hasattr(estimator, "reject_label_"):
        classified = prediction != estimator.reject_label_
    wrong = prediction[classified] != y[classified]
    error = float(wrong.mean()) if classified.any() else np.nan
    return {"share_classified": float(classified.mean()), "error": error, "neg_error": -error}
