"""Scores of held-out rows from decision values."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer


def make_score(scoring, target, weights, weighted):
    """A function ``score(decisions, test)`` of decisions of shape (m, n_test, n_machines).

    Parameters
    ----------
    scoring : None, str or callable
        None: the negative mean squared error of the decision values, over all machines and the
        rows that are of their concern.
    target : Labels or Numbers
    weights : ndarray
        Weights of the rows; scorers get them only if they are `weighted`.
    """
    if scoring is None:
        return lambda decisions, test: squared_error(decisions, target.tasks(test), weights[test])
    y = target.y
    if isinstance(scoring, str) and scoring == "accuracy" and y.ndim == 1:
        return lambda decisions, test: [
            np.average(target.predict(f) == y[test], weights=weights[test]) for f in decisions
        ]
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
    kind = _Labels if target.classifies else _Numbers

    def score(decisions, test):
        options = {"sample_weight": weights[test]} if weighted else {}
        return np.array([scorer(kind(target, f), test, y[test], **options) for f in decisions])

    return score


def squared_error(decisions, tasks, weights):
    """The negative mean squared error, over all machines and the rows of their concern."""
    error, total = 0.0, 0.0
    for k, (rows, t) in enumerate(tasks):
        error = error + np.square(decisions[:, rows, k] - t) @ weights[rows]
        total += weights[rows].sum()
    return -error / total


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
