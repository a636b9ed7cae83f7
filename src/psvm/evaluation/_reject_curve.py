"""The error among the classified objects for all thresholds of a reject option."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length

from .._plotting import new_axes
from .._typing import ArrayLike, Axes, Estimator, MatrixLike
from .._validation import check_members, check_text, check_vector
from ._reject import confidence as confidence_of


class ErrorRejectCurve(NamedTuple):
    """The error-reject curve.

    Attributes
    ----------
    share_rejected : ndarray of shape (n_points,)
        Share of objects with a confidence below the threshold, increasing from 0.
    error : ndarray of shape (n_points,)
        Share of errors among the others.
    threshold : ndarray of shape (n_points,)
        The thresholds: the distinct confidences, in increasing order.

    Examples
    --------
    >>> from psvm.evaluation import error_reject_curve
    >>> error_reject_curve([0, 1, 1, 0], [1, 1, 1, 1], [0.2, 0.9, 0.7, 0.4]).area.__round__(4)
    0.2083
    """

    share_rejected: np.ndarray
    error: np.ndarray
    threshold: np.ndarray

    @property
    def area(self) -> float:
        """Mean error over all shares of rejected objects, by the step function of the curve."""
        widths = np.diff(np.append(self.share_rejected, 1.0))
        return float(widths @ self.error)


def error_reject_curve(
    y_true: ArrayLike, y_pred: ArrayLike, confidence: ArrayLike
) -> ErrorRejectCurve:
    """Error among the classified objects when those with the least confidence are rejected.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n_objects,)
        True and predicted labels.
    confidence : array-like of shape (n_objects,)
        How sure the predictions are, see `psvm.evaluation.confidence`. Objects of the same
        confidence are rejected together.

    Returns
    -------
    ErrorRejectCurve

    References
    ----------
    C. K. Chow: On optimum recognition error and reject tradeoff. IEEE Transactions on Information
    Theory 16 (1970).

    Examples
    --------
    >>> from psvm.evaluation import error_reject_curve
    >>> curve = error_reject_curve([0, 1, 1, 0], [1, 1, 1, 1], [0.2, 0.9, 0.7, 0.4])
    >>> curve.share_rejected
    array([0.  , 0.25, 0.5 , 0.75])
    >>> curve.error.round(2)
    array([0.5 , 0.33, 0.  , 0.  ])
    """
    y_true, y_pred = check_members("y_true", y_true), check_members("y_pred", y_pred)
    sure = check_vector("confidence", confidence)
    check_consistent_length(y_true, y_pred, sure)
    order = np.argsort(sure, kind="stable")
    threshold, first = np.unique(sure[order], return_index=True)
    wrong = (y_true != y_pred)[order]
    left = np.cumsum(wrong[::-1])[::-1]
    n = len(wrong)
    return ErrorRejectCurve(first / n, left[first] / (n - first), threshold)


class ErrorRejectDisplay:
    """Picture of an error-reject curve, made by `from_estimator` or `from_predictions`.

    Parameters
    ----------
    curve : ErrorRejectCurve
    name : str, default=None
        Name of the classifier.

    Attributes
    ----------
    ax_ : matplotlib Axes
    line_ : matplotlib Artist

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from psvm.evaluation import ErrorRejectDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X[::2], y[::2])
    >>> display = ErrorRejectDisplay.from_estimator(model, X[1::2], y[1::2])
    >>> display.ax_.get_xlabel()
    'share of rejected objects'
    """

    ax_: Axes
    line_: Any

    def __init__(self, curve: ErrorRejectCurve, *, name: str | None = None) -> None:
        check_text("name", name)
        self.curve = curve
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Estimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        response_method: Literal["auto", "decision_function", "predict_proba"] = "auto",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """From a fitted classifier and test objects.

        Parameters
        ----------
        estimator : fitted classifier
        X, y : objects and their labels
        response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
            What the confidence is measured by.
        name : str, default=None
            Name in the legend; None means the name of the class.
        ax : matplotlib Axes, default=None

        Returns
        -------
        ErrorRejectDisplay
        """
        sure = confidence_of(estimator, X, response_method=response_method)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, estimator.predict(X), sure, name=name, ax=ax)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        confidence: ArrayLike,
        *,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """From labels, predictions and their confidence.

        Parameters
        ----------
        y_true, y_pred, confidence : array-like of shape (n_objects,)
            As for `error_reject_curve`.
        name : str, default=None
            Name in the legend.
        ax : matplotlib Axes, default=None

        Returns
        -------
        ErrorRejectDisplay
        """
        return cls(error_reject_curve(y_true, y_pred, confidence), name=name).plot(ax)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            For `Axes.step`.

        Returns
        -------
        ErrorRejectDisplay
        """
        ax = new_axes(ax, "An error-reject curve")
        options = {"where": "post", "label": self.name} | kwargs
        (self.line_,) = ax.step(self.curve.share_rejected, self.curve.error, **options)
        ax.set(xlabel="share of rejected objects", ylabel="error among the others", xlim=(0, 1))
        ax.set_ylim(bottom=0)
        if options["label"]:
            ax.legend()
        self.ax_ = ax
        return self
