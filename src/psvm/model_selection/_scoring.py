"""Scores of held-out rows from decision values."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer


class Score:
    """Scores of the held-out rows of folds, from decision values of all machines.

    Parameters
    ----------
    scoring : None, str or callable
        None: in folds the negative mean squared error of the decision values, over all machines and
        the rows that are of their concern; of leave-one-out values the negative mean loss.
    target : Labels or Numbers
    weights : ndarray
        Weights of the rows; scorers get them only if they are `weighted`.
    folds : list of Fold
    threshold : {"loo", "mean"}
        Where the constant of the models comes from.
    """

    def __init__(self, scoring, target, weights, weighted, folds, threshold):
        self.target, self.folds = target, folds
        self.needs_all = scoring is not None
        """Whether machines must have values for rows that are not of their concern."""
        self.shifted = threshold == "loo"
        """Whether leave-one-out values say what is added to the mean of the target"""
        self.sigmoid = target.classifies and self.needs_all
        """for a constant that is the threshold of a sigmoid; else it has the least squares."""
        self.weights = [weights[fold.test] for fold in folds]
        if scoring is None:
            self.of_points, self.tasks = self._squared_errors, target.tasks()
            # weights of the rows in the sum of each fold
            self.shares = np.zeros((len(weights), len(folds)))
            for share, fold in zip(self.shares.T, folds, strict=True):
                np.add.at(share, fold.test, weights[fold.test])
        elif isinstance(scoring, str) and scoring == "accuracy" and target.y.ndim == 1:
            self.of_points = self._accuracies
        else:
            self.scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
            self.weighted = weighted
            self.of_points = self._scores

    def __call__(self, decisions, number):
        """Scores of a fold by its number; decisions have the shape (m, n_test, n_machines).

        Points with values that are not finite have NaN.
        """
        scores = np.full(len(decisions), np.nan)
        finite = np.isfinite(decisions).all(axis=(1, 2))
        if finite.any():
            scores[finite] = self.of_points(decisions[finite], number)
        return scores

    def of_constants(self, left_out):
        """The score without `scoring` of models that know the mean target of each machine only."""
        if left_out and self.target.classifies:
            return -_entropy(self.target, self.shares.sum(axis=1))
        means = [np.average(t, weights=self.shares[rows].sum(axis=1)) for rows, t in self.tasks]
        decisions = np.tile(means, (1, len(self.shares), 1))
        return squared_error(decisions, self.tasks, self.shares).mean()

    def of_folds(self, decisions):
        """Scores of all folds, from decisions of all rows; of shape (m, n_folds)."""
        each = [self(decisions[:, fold.test], number) for number, fold in enumerate(self.folds)]
        return np.transpose(each)

    def of_losses(self, tasks, machines, points):
        """The negative mean losses of the rows of each fold, of shape (m, n_folds).

        Points with losses that are not finite have NaN.
        """
        error, total = 0.0, 0.0
        for task, machine, (*_, losses) in zip(tasks, machines, points, strict=True):
            weights = machine.weights[:, None] * (self.shares[task.rows] > 0)
            finite = np.isfinite(losses).all(axis=1)
            error = error + np.where(finite[:, None], losses, 0.0) @ weights
            error[~finite] = np.nan
            total = total + weights.sum(axis=0)
        return -error / total

    def _squared_errors(self, decisions, number):
        tasks = self.target.tasks(self.folds[number].test)
        return squared_error(decisions, tasks, self.weights[number])

    def _accuracies(self, decisions, number):
        y = self.target.y[self.folds[number].test]
        right = [self.target.predict(f) == y for f in decisions]
        return np.average(right, weights=self.weights[number], axis=1)

    def _scores(self, decisions, number):
        kind, test = _Labels if self.target.classifies else _Numbers, self.folds[number].test
        options = {"sample_weight": self.weights[number]} if self.weighted else {}
        y = self.target.y[test]
        return [self.scorer(kind(self.target, f), test, y, **options) for f in decisions]


def squared_error(decisions, tasks, weights):
    """The negative mean squared error, over all machines and the rows of their concern.

    The weights may have several columns, with a mean for each. Values of rows that have no weight
    in any of them need not be finite.
    """
    error, total = 0.0, 0.0
    for k, (rows, t) in enumerate(tasks):
        counts = weights[rows] > 0 if weights.ndim == 1 else weights[rows].any(axis=1)
        residual = np.where(counts, decisions[:, rows, k] - t, 0.0)
        error = error + np.square(residual) @ weights[rows]
        total = total + weights[rows].sum(axis=0)
    return -error / total


def _entropy(target, weights):
    """The log loss of the shares of the classes, a mean over the rows of all machines."""
    codes = [(np.arange(len(weights)), target.code)] if target.shares else target.tasks()
    loss, total = 0.0, 0.0
    for rows, code in codes:
        of_class = np.bincount(np.unique(code, return_inverse=True)[1], weights[rows])
        shares = of_class[of_class > 0] / of_class.sum()
        loss -= of_class.sum() * (shares @ np.log(shares))
        total += of_class.sum()
    return loss / total


class _Labels(ClassifierMixin, BaseEstimator):
    """A fitted classifier, as scorers see it, that knows its answer for the held-out rows."""

    def __init__(self, target, decisions):
        self.target, self.decisions = target, decisions
        self.classes_ = target.classes

    def predict(self, X):
        return self.target.predict(self.decisions)

    def decision_function(self, X):
        return self.target.scores(self.decisions)


class _Numbers(RegressorMixin, BaseEstimator):
    """The same of a regressor."""

    def __init__(self, target, decisions):
        self.target, self.decisions = target, decisions
        self.fitted_ = True

    def predict(self, X):
        return self.target.predict(self.decisions)
