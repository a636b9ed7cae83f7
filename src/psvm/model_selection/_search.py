"""One search: candidates and the losses of held-out rows."""

from __future__ import annotations

import time
from copy import copy
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from .._folds import make_splits
from .._journal import Journal, fingerprint
from .._parallel import results
from .._threads import threads
from ..choice import standard_error
from ..estimators import Trial, check_psvm, digests_of, fit_prepared
from ..solvers import Clock
from ._candidates import TURNED, first_candidates, kernels_of, next_gammas, smaller_Cs

LEAST = 1e-12
"""The smallest probability of the log loss."""


class Judged(NamedTuple):
    """What a candidate is worth."""

    scores: np.ndarray
    """Of the held-out groups, larger is better, or of the folds."""
    shares: np.ndarray
    """Of the weight, of these."""
    n_support: np.ndarray
    """Support objects, of each fold if there are folds."""
    fit_time: np.ndarray
    """Seconds."""
    epsilons: np.ndarray
    """Shares of epsilon_max along the walk."""
    losses: np.ndarray
    """Mean losses along the walk."""


class Result(NamedTuple):
    """A candidate and what it is worth."""

    params: dict
    kernel: int
    """The place of its kernel in the list."""
    judged: Judged

    @property
    def key(self):
        """What the candidate is called in a file."""
        return key_of(self.params, self.kernel)

    @property
    def score(self):
        """The mean score; minus infinity where it means nothing."""
        score = self.judged.scores @ self.judged.shares
        return float(score) if np.isfinite(score) else -np.inf

    @property
    def n_support(self):
        """The mean number of support objects."""
        return float(np.mean(self.judged.n_support))


def key_of(params, kernel):
    """What a candidate is called in a file."""
    return str(kernel), str(params["gamma"]), str(params["C"])


class Search:
    """The search of `PSVCCV` or `PSVRCV` (the `options`) with a model for validated data.

    Attributes
    ----------
    results : list of Result
    """

    def __init__(self, options, model, X, target, weights, sample_weight):
        self.options, self.model, self.X = options, model, X
        self.target, self.weights, self.sample_weight = target, weights, sample_weight
        self.folds = None
        if options.cv is not None:
            self.folds = make_splits(options.cv, X, target.y, classifier=target.classifies)
            self._check_folds()
        self.results, self.best_trial = [], (-np.inf, None, None)
        self.journal = Journal(options.results_file, self._fingerprint(), Judged)

    def run(self):
        """Compare all candidates; returns the place of the chosen one."""
        with self.journal, threads():
            new = first_candidates(self.options, self.X, self.weights)
            while new:
                self._judge(new)
                new = next_gammas(self.options, self.results)
            if self.options.Cs is None:
                self._walk_C()
        return self.chosen()

    def chosen(self):
        """The place of the best candidate, or of the sparsest that is as good."""
        scores = np.array([result.score for result in self.results])
        if not np.isfinite(scores).any():
            raise ValueError("All scores are NaN or infinite; check the scoring and the data.")
        best = int(np.argmax(scores))
        if self.options.rule == "best":
            return best
        good = [
            place
            for place, result in enumerate(self.results)
            if scores[best] - scores[place] <= self._error(result, self.results[best])
        ]
        return min(good, key=lambda place: (self.results[place].n_support, -scores[place]))

    def fit(self, place):
        """The model with the parameters of a candidate, which are those that were judged."""
        result = self.results[place]
        model, (_, key, trial) = self._with(result.params), self.best_trial
        if key == result.key:
            return model._take(trial)
        return fit_prepared(model, self.X, self.target, self.weights, self.sample_weight)

    def _check_folds(self):
        """All rows of a fold can be judged by a model of its training rows."""
        for train, test in self.folds:
            if not self.weights[test].sum() > 0:
                raise ValueError("A fold of cv holds out no row with a weight.")
            if not self.target.classifies or self.target.scheme == "multilabel":
                continue
            if len(np.unique(self.target.code[train][self.weights[train] > 0])) < 2:
                raise ValueError(
                    "The training rows of a fold have one class only. Use stratified folds, or "
                    "fewer."
                )

    def _error(self, result, best):
        """The standard error of the difference of two scores."""
        differences = result.judged.scores - best.judged.scores
        return standard_error(differences, best.judged.shares)

    def _judge(self, new):
        """Add the results of candidates; several are worked on at the same time."""
        kernels = kernels_of(self.options)
        places = [next(i for i, k in enumerate(kernels) if k is p["kernel"]) for p in new]
        keys = list(map(key_of, new, places))
        open_ = [i for i, key in enumerate(keys) if key not in self.journal.done]
        judge = self._by_folds if self.folds is not None else self._left_out
        tasks = [(new[i],) for i in open_]
        found = results(judge, tasks, self.options.n_jobs, "candidates", prefer="threads")
        for i, (judged, trial) in zip(open_, found if tasks else [], strict=True):
            self.journal.add(keys[i], judged)
            score = Result(new[i], places[i], judged).score
            if trial is not None and score > self.best_trial[0]:  # the others need much memory
                self.best_trial = score, keys[i], trial
        done = self.journal.done
        self.results += [
            Result(*candidate, done[key]) for key, *candidate in zip(keys, new, places, strict=True)
        ]

    def _walk_C(self):
        """Smaller and smaller C with the best candidate, until the score has turned."""
        best = self.results[self.chosen()]
        model, behind = self.fit(self.chosen()), 0
        for C in smaller_Cs(np.abs(model.alpha_).max(initial=0.0)):
            self._judge([{**best.params, "C": C}])
            top = max(result.score for result in self.results[:-1])
            behind = 0 if self.results[-1].score > top else behind + 1
            if behind == TURNED:
                return

    def _with(self, params):
        """The model with other parameters; `clone` and `set_params` would be slow."""
        model = copy(self.model)
        vars(model).update(params)
        return model

    def _left_out(self, params):
        """A candidate by the leave-one-out values of its walks."""
        began, model = time.perf_counter(), self._with(params)
        solver = check_psvm(model)
        trial = Trial(model, self.X, self.target, self.weights, solver, Clock())
        losses, shares = trial.losses
        scores, n_support = -losses, trial.n_support
        if self.options.scoring is not None:
            model._take(trial)
            n_support, (scores, shares) = model.n_support_, self._scored(trial.values)
        took = np.full(1, time.perf_counter() - began)
        walk = trial.curve
        return Judged(scores, shares, np.full(1, float(n_support)), took, *walk), trial

    def _scored(self, values):
        """The score of leave-one-out values by a scorer."""
        known = np.flatnonzero(np.isfinite(values).all(axis=1) & (self.weights > 0))
        if not len(known):
            return np.full(1, np.nan), np.ones(1)
        answer = _Labels if self.target.classifies else _Numbers
        score = self._scorer(answer(self.target, values[known]), known)
        return np.full(1, score), np.ones(1)

    def _scorer(self, model, rows, X=None):
        scoring = self.options.scoring
        scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        options = {}
        if self.sample_weight is not None:
            options["sample_weight"] = np.asarray(self.sample_weight, dtype=float)[rows]
        return scorer(model, rows if X is None else X, self.target.y[rows], **options)

    def _by_folds(self, params):
        """A candidate by folds around everything: each fits a model and chooses its epsilon."""
        began, scores, sizes = time.perf_counter(), [], []
        own = self.sample_weight
        for train, test in self.folds:
            model = self._with(params)
            if self.target.classifies and self.options.scoring is None:
                model.probability = model.probability or self.target.scheme != "multilabel"
            part, weights = self.target.part(train), self.weights[train]
            given = None if own is None else np.asarray(own, dtype=float)[train]
            X = self._rows(train)
            vars(model).pop("feature_names_in_", None)  # folds are arrays
            if model._kernel_name == "precomputed":
                model.n_features_in_ = len(train)
            fit_prepared(model, X, part, weights, given)
            scores.append(self._score_of(model, train, test))
            sizes.append(float(model.n_support_))
        count = len(scores)
        took, shares = np.full(count, (time.perf_counter() - began) / count), np.ones(count) / count
        none = np.zeros(0)
        return Judged(np.array(scores), shares, np.array(sizes), took, none, none), None

    def _rows(self, rows):
        """Some rows; of a square matrix their relations among each other."""
        X = self.X[rows]
        return X[:, rows] if self.model._kernel_name == "precomputed" else X

    def _score_of(self, model, train, test):
        """The score of held-out rows."""
        X = self.X[test]
        X = X[:, train] if self.model._kernel_name == "precomputed" else X
        if self.options.scoring is not None:
            return self._scorer(model, test, X)
        weights = self.weights[test]
        if not self.target.classifies:
            square = np.square(model.predict(X) - self.target.y[test])
            return -np.average(square.reshape(len(test), -1).mean(axis=1), weights=weights)
        if self.target.scheme == "multilabel":
            return -np.average(
                (model.predict(X) != self.target.y[test]).mean(axis=1), weights=weights
            )
        p = model.predict_proba(X)
        # a class that is not among the training rows has no probability
        own = (p * (model.classes_ == self.target.y[test][:, None])).sum(axis=1)
        return np.average(np.log(np.maximum(own, LEAST)), weights=weights)

    def _fingerprint(self):
        if self.options.results_file is None:
            return None
        omitted = ("results_file", "verbose", "n_jobs", "cv")
        settings = self.options.get_params()
        settings = [
            part for name in settings if name not in omitted for part in (name, settings[name])
        ]
        y = (
            (self.target.code, self.target.classes.tolist())
            if self.target.classifies
            else (self.target.y,)
        )
        folds = [] if self.folds is None else [part for fold in self.folds for part in fold]
        digests = np.asarray(digests_of(self.X, self.model.kernel))
        return fingerprint(*digests.tolist(), *y, self.weights, *settings, *folds)


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


def table_of(found):
    """The table of results in the layout of scikit-learn's GridSearchCV."""
    params = [dict(result.params) for result in found]
    table = {"params": params}
    for name in ("C", "gamma", "kernel"):
        values = [p[name] for p in params]
        column = np.array(values, dtype=float if all(map(_is_number, values)) else object)
        table[f"param_{name}"] = np.ma.array(column, mask=np.zeros(len(params), dtype=bool))
    mean = np.array([result.score for result in found])
    if len(found[0].judged.losses) == 0:
        for i, column in enumerate(np.array([result.judged.scores for result in found]).T):
            table[f"split{i}_test_score"] = column
    errors = [standard_error(result.judged.scores, result.judged.shares) for result in found]
    table["mean_test_score"], table["std_test_score"] = mean, np.array(errors)
    ranks = 1 + np.searchsorted(np.sort(-mean), -mean)
    table["rank_test_score"] = ranks.astype(np.int32)
    table["mean_n_support"] = np.array([result.n_support for result in found])
    table["mean_fit_time"] = np.array([result.judged.fit_time.mean() for result in found])
    return table


def _is_number(value):
    return isinstance(value, int | float | np.number)
