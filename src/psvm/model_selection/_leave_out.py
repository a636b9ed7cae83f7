"""The error of one model on rows that it has not seen, without fitting it anew for each fold."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import LeaveOneOut, check_cv

from .._threads import threads
from .._training import Training
from ..matrix import Standardized
from ..problem import Problem
from ..solvers import WorkingSet
from ._paths import Fold


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for rows by models that have not seen them, from `cross_val_error`.

    Attributes
    ----------
    predictions : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Labels or numbers.
    decisions : ndarray of shape (n_samples, n_machines)
        The values of all machines.
    fold_errors : ndarray of shape (n_folds,)
        Error of each fold: share of wrong labels (of the rows with any wrong label if there are
        several), or mean squared error.
    error : float
        The same of all rows together.
    n_support : ndarray of shape (n_folds,)
        Support objects in each fold.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from psvm import PSVC, cross_val_error
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> len(cross_val_error(PSVC(epsilon=0.5), X, y).fold_errors)
    60
    """

    predictions: np.ndarray
    decisions: np.ndarray
    fold_errors: np.ndarray
    error: float
    n_support: np.ndarray


def cross_val_error(model, X, y, *, cv="loo", sample_weight=None):
    """Leave-one-out or k-fold error of a model with given parameters.

    The kernel matrix is evaluated once, and the solution for all rows is where that of each fold
    starts ("priming"): few of its variables change when a few rows leave.

    Parameters
    ----------
    model : PSVC or PSVR
        Its epsilon must be a number. It is not changed.
    X, y
        As for its fit.
    cv : "loo", int, cross-validation generator or iterable, default="loo"
        The folds; each row must be held out once.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, in training and in the errors.

    Returns
    -------
    HeldOut

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from psvm import PSVC, cross_val_error
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> bool(cross_val_error(PSVC(epsilon=0.5, gamma=2.0), X, y).error < 0.1)
    True
    """
    if isinstance(model.epsilon, str):
        raise ValueError(
            f"cross_val_error needs a number as epsilon, got {model.epsilon!r}: choosing it from "
            "all rows would look at those that are held out. Use the epsilon_ of another fit, or "
            "sklearn.model_selection.cross_val_predict, which chooses it in each fold."
        )
    model = clone(model)
    solver = model._check_parameters()
    X, target, weights = model._prepare_fit(X, y, sample_weight)
    own = np.ones(len(weights)) if sample_weight is None else np.asarray(sample_weight, float)
    folds = _make_folds(cv, X, target, is_classifier(model))
    with threads():
        training = model._make_training(model._describe(X, weights), weights, model._digests(X))
        run = _Run(model, training, target, WorkingSet(tol=solver.tol))
        decisions, n_support = run.held_out(folds)
    return _summary(target, decisions, folds, own, n_support)


def _make_folds(cv, X, target, classifier):
    splitter = LeaveOneOut() if isinstance(cv, str) and cv == "loo" else cv
    splitter = check_cv(splitter, target.key, classifier=classifier)
    n = X.shape[0]
    folds = [Fold(*map(np.asarray, pair)) for pair in splitter.split(np.zeros(n), target.key)]
    if (np.bincount(np.concatenate([f.test for f in folds]), minlength=n) != 1).any():
        raise ValueError("Each row must be held out exactly once; use folds that do not overlap.")
    return folds


class _Run:
    """The machines of all rows, and those of the folds that start from them."""

    def __init__(self, model, training, target, solver):
        self.model, self.training, self.target, self.solver = model, training, target, solver
        self.machines = []
        for task in target.tasks():
            part = training.part(task.rows)
            place = np.full(len(training.weights), -1)
            place[task.rows] = np.arange(len(task.rows))
            self.machines.append((part, task.target, place, self.solve(part.K, task.target).alpha))

    def solve(self, K, y, start=None):
        problem = Problem.create(K, y, self.model.C, self.model.epsilon)
        if self.model.epsilon_unit == "max":
            problem = problem.with_parameters(epsilon=self.model.epsilon * problem.epsilon_max)
        return self.solver.minimise(problem, start=start)

    def held_out(self, folds):
        """Decisions for all rows, one column per machine, and support objects of the folds."""
        decisions = np.empty((len(self.training.weights), len(self.machines)))
        n_support = np.empty(len(folds), dtype=np.intp)
        for f, fold in enumerate(folds):
            support = np.zeros(self.training.matrix.shape[1], dtype=bool)
            for k, machine in enumerate(self.machines):
                decisions[fold.test, k], used = self.fold_decisions(fold, *machine)
                support[used] = True
            n_support[f] = support.sum()
        return decisions, n_support

    def fold_decisions(self, fold, part, y, place, alpha):
        """Values of one machine for the held-out rows, and its support objects."""
        out = place[fold.test]
        out = out[out >= 0]
        if len(out):
            weights = part.weights.copy()
            weights[out] = 0.0
            less = Training(part.matrix, weights, part.identity, part.columns)
            K = Standardized(part.matrix, weights, less.usable)
            solution = self.solve(K, y, start=np.where(less.usable, alpha, 0.0))
        else:  # none of its rows is held out
            solution = self.solve(part.K, y, start=alpha)
        support = solution.support
        columns = part.columns[support]
        values = self.training.matrix.part(fold.test, columns).matvec(solution.coef[support])
        return values + solution.intercept, columns


def _summary(target, decisions, folds, weights, n_support):
    predictions = target.predict(decisions)
    if hasattr(target, "classes"):
        truth = target.code if target.scheme == "multilabel" else target.classes[target.code]
        loss = (predictions != truth).astype(float)
        loss = loss.max(axis=1) if loss.ndim == 2 else loss
    else:
        loss = np.square(predictions - target.y)
        loss = loss.mean(axis=1) if loss.ndim == 2 else loss
    with np.errstate(invalid="ignore"):  # a fold without weight has no error
        by_fold = [weights[f.test] @ loss[f.test] / weights[f.test].sum() for f in folds]
    return HeldOut(
        predictions=predictions,
        decisions=decisions,
        fold_errors=np.array(by_fold),
        error=float(weights @ loss / weights.sum()),
        n_support=n_support,
    )
