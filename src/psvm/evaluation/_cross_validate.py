"""The cross-validated error of a model, with an interval and what a guess would get."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.base import clone, is_classifier
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    matthews_corrcoef,
    r2_score,
    roc_auc_score,
)
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing, get_tags

from .._parallel import run
from .._progress import progress
from .._typing import ArrayLike, Estimator, MatrixLike, RandomState
from .._validation import (
    check_flag,
    check_has,
    check_jobs,
    check_members,
    check_positive_integer,
    check_rows,
    check_seed,
    random_numbers,
    shown,
)

LEVEL = 0.95
RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Predictions for rows that took no part in the fit.

    Attributes
    ----------
    y, predictions : ndarray of shape (n_samples,)
        The targets, and the predictions by the model of the other folds.
    scores : ndarray or None
        Decision values of a classifier.
    folds : ndarray of shape (n_samples,)
        The fold in which a row was predicted.
    measure : {"accuracy", "RMSE"}
        What `figures` and texts report: the accuracy in percent, or the root mean squared error.
    error : float
        Error of all predictions together: the share of wrong classes, or the RMSE.
    interval : tuple of float
        95 % confidence interval of the error: Wilson's for a share, the bootstrap of the squared
        errors for regression. It ignores that the folds share training rows.
    fold_errors : ndarray of shape (n_folds,)
    baseline : float
        The error of predicting the most frequent class, or the mean.
    warnings : list of str
        Warnings of the fits.
    positive : label or None
        Of two classes the one that is looked for, by default the rarer one.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from psvm import PSVC
    >>> from psvm.evaluation import cross_validate
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> result = cross_validate(PSVC(), X, y)
    >>> result.interval[0] <= result.error <= result.interval[1] < result.baseline
    True
    """

    y: np.ndarray
    predictions: np.ndarray
    scores: np.ndarray | None
    folds: np.ndarray
    measure: str
    error: float
    interval: tuple[float, float]
    fold_errors: np.ndarray
    baseline: float
    warnings: list[str]
    positive: Any = None

    @property
    def classes(self) -> np.ndarray | None:
        """The classes in their order; None for regression."""
        return np.unique(self.y) if self.measure == "accuracy" else None

    @property
    def confusion(self) -> np.ndarray | None:
        """Confusion matrix, true classes x predicted classes; None for regression."""
        classes = self.classes
        return (
            None if classes is None else confusion_matrix(self.y, self.predictions, labels=classes)
        )

    @property
    def sensitivity(self) -> float | None:
        """Share of the positive class that was found; None unless there are two classes."""
        return self._found(self._place)

    @property
    def specificity(self) -> float | None:
        """Share of the other class that was found; None unless there are two classes."""
        return None if self._place is None else self._found(1 - self._place)

    @property
    def _place(self):
        """The place of the positive class among two; None if there are more or fewer."""
        classes = self.classes
        if classes is None or len(classes) != 2:
            return None
        return int(classes[1] == self.positive)

    def _found(self, place):
        counts = self.confusion
        if counts is None or place is None:
            return None
        return float(counts[place, place] / counts[place].sum())

    @property
    def truth(self) -> np.ndarray | None:
        """Which rows are of the positive class; None unless there are two classes."""
        return None if self._place is None else self.y == self.positive

    @property
    def positive_scores(self) -> np.ndarray | None:
        """Decision values for the positive class; None unless there are two classes."""
        if self._place is None or self.scores is None or self.scores.ndim != 1:
            return None
        return self.scores if self._place == 1 else -self.scores

    @property
    def ranking(self) -> dict[str, float]:
        """Figures that the sizes of the classes do not decide, by name.

        Balanced accuracy in percent and Matthews' correlation; of two classes also the area under
        the ROC curve and the average precision of the decision values of all folds together.
        """
        if self.measure != "accuracy":
            return {}
        found = {
            "balanced_accuracy": 100 * float(balanced_accuracy_score(self.y, self.predictions)),
            "MCC": float(matthews_corrcoef(self.y, self.predictions)),
        }
        truth, scores = self.truth, self.positive_scores
        if truth is not None and scores is not None:
            found["AUC"] = float(roc_auc_score(truth, scores))
            found["average_precision"] = float(average_precision_score(truth, scores))
        return found

    @property
    def r2(self) -> float | None:
        """Share of the variance that is explained; None for classes."""
        return None if self.measure == "accuracy" else float(r2_score(self.y, self.predictions))

    @property
    def constant(self) -> bool:
        """Whether the model of each fold predicts the same for all its rows."""
        folds = [self.predictions[self.folds == i] for i in range(len(self.fold_errors))]
        several = [part for part in folds if len(part) > 1]
        return bool(several) and all((part == part[0]).all() for part in several)

    @property
    def better(self) -> bool:
        """Whether the whole interval of the error is below the error of the baseline."""
        return self.interval[1] < self.baseline

    def reported(self, error: float) -> float:
        """An error in the measure that is reported: a share of wrong classes as accuracy in %."""
        return 100 * (1 - error) if self.measure == "accuracy" else error

    def format(self, error: float) -> str:
        """An error as text in the measure that is reported."""
        return percent(1 - error) if self.measure == "accuracy" else f"{error:.4g}"

    @property
    def shown(self) -> str:
        """The accuracy or RMSE with its interval as text."""
        low, high = sorted(map(self.reported, self.interval))
        if self.measure == "accuracy":
            return f"{self.format(self.error)} ({low:.1f} to {high:.1f} %)"
        return f"{self.format(self.error)} ({low:.4g} to {high:.4g})"

    @property
    def figures(self) -> dict[str, Any]:
        """All figures by name, as JSON and reports have them: shares in percent."""
        name, reported = self.measure, self.reported
        found: dict[str, Any] = {
            "measure": name,
            "unit": "%" if name == "accuracy" else "that of the target",
            name: reported(self.error),
            f"{name}_interval": sorted(map(reported, self.interval)),
            f"{name}_baseline": reported(self.baseline),
            f"{name}_folds": [reported(error) for error in self.fold_errors.tolist()],
        }
        counts, sensitivity, specificity = self.confusion, self.sensitivity, self.specificity
        if self.classes is None or counts is None:
            return found | {"R2": self.r2}
        labels = self.classes.tolist()
        found["confusion"] = {"classes": labels, "true_by_predicted": counts.tolist()}
        if sensitivity is not None and specificity is not None:
            found["sensitivity"], found["specificity"] = 100 * sensitivity, 100 * specificity
            found["positive_class"] = labels[self._place]
        return found | self.ranking


def percent(share: float) -> str:
    """A share as text."""
    return f"{100 * share:.1f} %"


def cross_validate(
    model: Estimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    cv: int = 5,
    positive: Any = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> CrossValidation:
    """Cross-validate a model on shuffled (for classes: stratified) folds.

    Everything that `fit` of the model does, a search included, is repeated in each fold.

    Parameters
    ----------
    model : estimator
        It is cloned.
    X, y : array-like
        The data.
    cv : int, default=5
        Number of folds; fewer if a class has fewer members.
    positive : label, default=None
        Of two classes the one that sensitivity, AUC and average precision are about. None takes the
        rarer one; of classes of one size the second.
    random_state : int, Generator, RandomState or None, default=0
        How rows are shuffled.
    n_jobs : int, default=None
        Number of processes.
    verbose : bool, default=False
        Show progress with the time left on stderr, if it takes more than two seconds.

    Returns
    -------
    CrossValidation

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from psvm import PSVC
    >>> from psvm.evaluation import cross_validate
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> result = cross_validate(PSVC(epsilon=0.5), X, y)
    >>> len(result.fold_errors), result.measure
    (5, 'accuracy')
    """
    check_positive_integer("cv", cv)
    check_has("model", model, "fit", "predict")
    check_seed("random_state", random_state)
    check_jobs(n_jobs)
    check_flag("verbose", verbose)
    y = check_members("y", y)
    X = check_rows(X, y)
    classifier = is_classifier(model)
    positive = _positive(y, positive, classifier)
    splits = _splits(y, cv, random_numbers(random_state), classifier)
    pairwise = get_tags(model).input_tags.pairwise
    tasks = [(clone(model), X, y, *split, pairwise) for split in splits]
    with progress("cross_validate", verbose):
        results = run(_fold, tasks, n_jobs)
    return _join(y, splits, results, classifier, positive, random_state)


def _splits(y, cv, random_state, classifier):
    most = min(cv, len(y))
    if not classifier:
        if most < 2:
            raise ValueError(f"Cross-validation needs at least two rows and folds, got {most}.")
        return list(KFold(most, shuffle=True, random_state=random_state).split(y))
    labels, counts = np.unique(y, return_counts=True)
    most = min(most, counts.min())
    if most < 2:
        raise ValueError(
            f"Class {labels[np.argmin(counts)]!r} of y has one member only (or cv is 1): it cannot "
            "be in a training set and in a test set. Leave it out, or collect more."
        )
    return list(StratifiedKFold(most, shuffle=True, random_state=random_state).split(y, y))


def _fold(model, X, y, train, test, pairwise):
    """Predictions, decision values or None, and warnings of one fold."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(_take(X, train, train, pairwise), y[train])
        X_test = _take(X, test, train, pairwise)
        scores = model.decision_function(X_test) if hasattr(model, "decision_function") else None
        predictions = model.predict(X_test)
    return predictions, scores, sorted({str(w.message) for w in caught})


def _take(X, rows, columns, pairwise):
    part = _safe_indexing(X, rows)
    return _safe_indexing(part, columns, axis=1) if pairwise else part


def _join(y, splits, results, classifier, positive, random_state):
    order = np.argsort(np.concatenate([test for _, test in splits]))
    predictions, scores, caught = zip(*results, strict=True)
    predictions = np.concatenate(predictions)[order]
    folds = np.concatenate([np.full(len(t), i) for i, (_, t) in enumerate(splits)])[order]
    loss = (predictions != y).astype(float) if classifier else (predictions - y) ** 2
    root = (lambda value: value) if classifier else np.sqrt
    guess = np.mean(y != _most_frequent(y)) if classifier else np.std(y)
    return CrossValidation(
        y=y,
        predictions=predictions,
        scores=None if scores[0] is None else np.concatenate(scores)[order],
        folds=folds,
        measure="accuracy" if classifier else "RMSE",
        error=float(root(loss.mean())),
        interval=_wilson(loss) if classifier else _bootstrap(loss, random_state),
        fold_errors=root(np.array([loss[folds == i].mean() for i in range(len(splits))])),
        baseline=float(guess),
        warnings=sorted(set().union(*caught)),
        positive=positive,
    )


def _positive(y, wanted, classifier):
    """The positive class of two, by its label or the text of it; None if there are not two."""
    labels, counts = np.unique(y, return_counts=True)
    labels = labels.tolist()
    if wanted is None:
        two = classifier and len(labels) == 2
        return labels[int(counts[1] <= counts[0])] if two else None
    found = []
    if isinstance(wanted, str | int | float | np.generic):  # a sparse matrix could not be compared
        found = [label for label in labels if label == wanted or str(label) == wanted]
    if not classifier or len(labels) != 2 or not found:
        some = ", ".join(map(shown, labels[:5]))
        raise ValueError(f"positive must be one of two classes, got {shown(wanted)}; y has {some}.")
    return found[0]


def _most_frequent(y):
    labels, counts = np.unique(y, return_counts=True)
    return labels[np.argmax(counts)]


def _wilson(wrong):
    found = binomtest(int(wrong.sum()), len(wrong)).proportion_ci(LEVEL, method="wilson")
    return float(found.low), float(found.high)


def _bootstrap(squares, random_state):
    random = np.random.default_rng(random_state if isinstance(random_state, int) else 0)
    n = len(squares)
    roots = [np.sqrt(squares[random.integers(n, size=n)].mean()) for _ in range(RESAMPLES)]
    low, high = np.quantile(roots, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
