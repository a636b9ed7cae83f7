"""The error of one model on rows that it has not seen, without fitting it anew for each fold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import LeaveOneOut

from .._folds import make_splits
from .._progress import finished, progress, steps
from .._threads import threads
from .._typing import ArrayLike, CVLike, MatrixLike
from .._validation import shown
from ..choice import RowsMachine
from ..estimators import (
    PSVC,
    PSVR,
    BasePSVM,
    check_psvm,
    describe_for,
    prepare,
)
from ..matrix import (
    FEW,
    SMALL,
    DenseMatrix,
    block_slices,
    moments_of,
    with_norms,
)
from ..solvers import WorkingSet

NEAR = 0.7
"""Columns whose ``|F|`` is that near to epsilon may join when rows leave."""
ROUNDING = 1e-9
"""Errors of updated statistics, as a share of ``||K̃'y||_inf``."""


class Fold(NamedTuple):
    """Which rows train and which are held out, as indices."""

    train: np.ndarray
    test: np.ndarray


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


def cross_val_error(
    model: PSVC | PSVR,
    X: MatrixLike,
    y: ArrayLike,
    *,
    cv: CVLike | Literal["loo"] = "loo",
    sample_weight: ArrayLike | None = None,
) -> HeldOut:
    """Leave-one-out or k-fold error of a model with given parameters.

    The kernel matrix is evaluated once, and the solution for all rows is where that of each fold
    starts ("priming"): few of its variables change when a few rows leave.

    Parameters
    ----------
    model : PSVC or PSVR
        Its epsilon must be a number. It is not changed. With ``verbose=True`` progress is shown.
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
    if not isinstance(model, BasePSVM):
        raise TypeError(f"model must be a PSVC or PSVR, got {shown(model)}.")
    if isinstance(model.epsilon, str):
        raise ValueError(
            f"model must have a number as epsilon, got {model.epsilon!r}: choosing it from "
            "all rows would look at those that are held out. Use the epsilon_ of another fit, or "
            "sklearn.model_selection.cross_val_predict, which chooses it in each fold."
        )
    if getattr(model, "multi_class", None) == "shared":
        raise ValueError(
            "model must have machines of their own: multi_class='ovo' or 'ovr', got 'shared'. Use "
            "sklearn.model_selection.cross_val_predict."
        )
    model = clone(model)
    solver = check_psvm(model)
    X, target, weights = prepare(model, X, y, sample_weight)
    own = np.ones(len(weights)) if sample_weight is None else np.asarray(sample_weight, float)
    folds = _make_folds(cv, target, X.shape[0])
    with threads(), progress("cross_val_error", model.verbose):
        description = describe_for(model, X, weights, target)
        machines = [
            _PrimedMachine(model, description.part(task.rows), task, WorkingSet(tol=solver.tol))
            for task in target.tasks()
        ]
        decisions, n_support = _held_out(description.matrix, machines, folds)
    return _summary(target, decisions, folds, own, n_support)


def _make_folds(cv, target, n):
    splitter = LeaveOneOut() if isinstance(cv, str) and cv == "loo" else cv
    splits = make_splits(splitter, np.zeros(n), target.key, classifier=target.classifies)
    folds = [Fold(*pair) for pair in splits]
    if (np.bincount(np.concatenate([f.test for f in folds]), minlength=n) != 1).any():
        raise ValueError("Each row must be held out exactly once; use folds that do not overlap.")
    return folds


def _held_out(matrix, machines, folds):
    """Decisions for all rows, one column per machine, and support objects of the folds."""
    L, P = matrix.shape
    decisions, support = np.empty((L, len(machines))), np.zeros((len(folds), P), bool)
    tests = [fold.test for fold in folds]
    for k, machine in enumerate(steps(machines, "machine")):
        found = finished(machine.predictors(tests, L), "folds", len(folds))
        for f, predictor in enumerate(found):
            test, used = folds[f].test, np.flatnonzero(predictor.coef)
            columns = machine.columns[used]
            values = matrix.part(test, columns).matvec(predictor.coef[used])
            decisions[test, k] = values + predictor.intercept
            support[f, columns] = True
    return decisions, support.sum(axis=1)


class _Predictor(NamedTuple):
    """``K @ coef + intercept``."""

    coef: np.ndarray
    intercept: float


class _PrimedMachine:
    """One machine: its solution for all rows, and those without some of them.

    Without a few rows the solution lives on columns that were in the support or near it. These
    few are solved for alone, and one product of K with the residuals of many folds shows where
    another column would have to join; such a fold is solved with all columns.
    """

    def __init__(self, model, description, task, solver):
        self.model, self.description, self.solver = model, description, solver
        self.classifies = is_classifier(model)
        self.columns, self.rows, self.y = description.columns, task.rows, task.target
        self.solution = self.solve(description.problem(self.y, model.C))
        self.near = _near(self.solution)
        self.few = _Few(description.matrix.columns(self.near), description.weights)
        self.statistics = description.matrix.column_statistics(description.weights)

    def solve(self, problem, start=None, epsilon_max=None):
        """The solution of a problem; its epsilon_max may come from more columns."""
        epsilon = self.model.epsilon
        if self.model.epsilon_unit == "max":
            epsilon *= problem.epsilon_max if epsilon_max is None else epsilon_max
        return self.solver.minimise(problem.with_parameters(epsilon=epsilon), start=start)

    def predictors(self, tests, n_rows):
        """The predictor of each fold, given its held-out rows."""
        place = np.full(n_rows, -1)
        place[self.rows] = np.arange(len(self.rows))
        out = [place[test][place[test] >= 0] for test in tests]
        size = 8 * max(self.description.matrix.shape)
        for block in block_slices(len(out), size):
            yield from self.block(out[block])

    def block(self, out):
        """Predictors of some folds, which are certified together."""
        folds = _Folds(self.description, self.statistics, out)
        targets = np.column_stack([folds.centred(f, self.y) for f in range(len(out))])
        largest = np.abs(folds.products(targets)).max(axis=0, initial=0.0)
        solutions = [self.solve_near(folds, f, largest[f]) for f in range(len(out))]
        residuals = np.column_stack([self.residual(folds, f, s) for f, s in enumerate(solutions)])
        F = np.abs(folds.products(residuals))
        F[self.near] = 0.0  # certified by the solver
        for f, solution in enumerate(solutions):
            # Statistics that are updated carry a few more rounding errors.
            allowed = (1 + self.solver.tol) * solution.epsilon + ROUNDING * largest[f]
            if F[:, f].max(initial=0.0) <= allowed and not folds.doubtful[f]:
                yield self.predictor(folds.parts[f].keeping(self.few, self.near), solution)
            else:
                yield self.solve_all(folds, f, solution)

    def solve_near(self, folds, f, epsilon_max):
        part = folds.parts[f].keeping(self.few, self.near)
        start = np.where(part.usable, self.solution.alpha[self.near], 0.0)
        return self.solve(part.problem(self.y, self.model.C), start, epsilon_max)

    def solve_all(self, folds, f, near):
        part, start = folds.parts[f], np.zeros(len(self.columns))
        start[self.near] = near.alpha
        return self.predictor(part, self.solve(part.problem(self.y, self.model.C), start))

    def predictor(self, part, solution):
        """What the model makes of a solution without some rows."""
        machine = RowsMachine(part, self.y, self.model.C, self.classifies, self.solver)
        fitted = machine.finish(solution, self.model.threshold, False)
        coef = np.zeros(len(self.columns))
        some, shift = machine.problem.K.coef(fitted.alpha)
        coef[np.isin(self.columns, part.columns)] = some
        return _Predictor(coef, fitted.intercept + shift)

    def residual(self, folds, f, solution):
        """``w (y - f(x))`` of the rows, 0 for those held out."""
        values = self.few.matvec(solution.coef) + solution.intercept
        return folds.parts[f].weights * (self.y - values)


def _near(solution):
    """The columns in the support, and those that come next."""
    size = np.where(solution.alpha != 0, np.inf, np.abs(solution.F))
    order = np.argsort(-size, kind="stable")[: max(FEW, len(solution.support))]
    return np.sort(order[size[order] > NEAR * solution.epsilon])


class _Few(DenseMatrix):
    """Few columns, whose moments without some rows are updated from those of all rows."""

    def __init__(self, K, weights):
        super().__init__(np.ascontiguousarray(K))
        self.weights, self.all = weights, _moments(self, weights)

    def moments(self, weights, v=None):
        out = np.flatnonzero(weights != self.weights)
        if not len(out) or weights.sum() <= SMALL * self.all.weight:
            return super().moments(weights, v)
        left = self.all - _moments(DenseMatrix(self.K[out]), self.weights[out])
        product = None if v is None else self.rmatvec(v)
        statistics = with_norms(left.means, left.products.diagonal(), weights)
        return statistics, product, left.products


def _moments(matrix, weights):
    """Those of the columns alone."""
    return moments_of(matrix, np.empty((len(weights), 0)), weights)


class _Folds:
    """The description without the rows `out` of each fold, and statistics of its columns.

    A fold is `doubtful` where a column has lost so much of its variance that the rest is rounding.
    """

    def __init__(self, description, statistics, out):
        self.matrix, every = description.matrix, description.weights
        means, norms, _ = statistics
        every_column = np.arange(len(means))
        self.parts, inverse, self.doubtful = [], [], []
        for rows in out:
            counts = np.ones(len(every))
            counts[rows] = 0.0
            part, removed = description.counting(counts), every[rows]
            deviation = self.matrix.part(rows, every_column).columns(slice(None)) - means
            left = part.weights.sum()
            shift = removed @ deviation / left
            squares = np.square(norms) - removed @ np.square(deviation) - left * shift**2
            small = squares <= SMALL * np.square(norms)
            self.doubtful.append((small & part.usable & (norms > 0)).any())
            with np.errstate(divide="ignore"):
                inverse.append(np.where(part.usable & ~small, 1 / np.sqrt(np.abs(squares)), 0.0))
            self.parts.append(part)
        self._inverse = np.array(inverse).T

    def centred(self, f, y):
        """``w (y - mean)`` of one fold."""
        weights = self.parts[f].weights
        return weights * (y - weights @ y / weights.sum())

    def products(self, R):
        """``K̃'r`` of each fold for its column of weighted, centred residuals."""
        return self._inverse * self.matrix.rmatvec(R)


def _summary(target, decisions, folds, weights, n_support):
    predictions = target.predict(decisions)
    if target.classifies:
        loss = (predictions != target.y).astype(float)
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
