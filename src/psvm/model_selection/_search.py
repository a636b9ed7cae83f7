"""One search: folds, grids, and the results of all paths."""

import numpy as np
from sklearn.base import clone

from .._folds import assign_folds, make_splits
from .._parallel import results
from .._progress import steps
from .._threads import threads
from ..estimators import describe_for, digests_of
from ._grid import Candidates, coarse, fine, make_epsilons, make_gammas
from ._journal import Journal, fingerprint
from ._paths import Fold, Grid, fold_result
from ._scoring import make_score
from ._table import without_rounding


class PathSearch:
    """The search of `PSVCCV` or `PSVRCV` (the `options`) with a model for validated data."""

    def __init__(self, options, model, X, target, weights, sample_weight):
        self.options, self.model, self.X, self.target = options, model, X, target
        self.weights = weights
        self.epsilons = make_epsilons(options.epsilons, options.min_ratio)
        self.Cs = [float(C) for C in options.Cs]
        self.gammas = make_gammas(options.gammas, options.kernel, X, weights)
        self.digests = digests_of(X, options.kernel)
        own = np.ones(len(weights)) if sample_weight is None else np.asarray(sample_weight, float)
        self.folds = self._make_folds(own)
        self.score = make_score(options.scoring, target, own, sample_weight is not None)
        self.journal = Journal(options.results_file, self._fingerprint())

    def _make_folds(self, weights):
        if self.options.cv is None:
            number = assign_folds(self.digests, self.target.key, weights)
            every = range(number.max() + 1)
            pairs = [((number != i) & (number >= 0), number == i) for i in every]
            folds = [Fold(*map(np.flatnonzero, pair)) for pair in pairs]
        else:
            y = self.target.y
            splits = make_splits(self.options.cv, self.X, y, classifier=self.target.classifies)
            folds = [Fold(*pair) for pair in splits]
        if len(folds) < 2:
            raise ValueError(
                f"At least two folds are needed, got {len(folds)}. Use another cv; the default "
                "keeps equal rows together and needs two different ones."
            )
        if self.target.classifies and self.target.scheme != "multilabel":
            n_classes = len(self.target.classes)
            if any(len(np.unique(self.target.code[f.train])) < n_classes for f in folds):
                raise ValueError(
                    "A class has no training rows in one of the folds. Use fewer folds or "
                    "stratified ones."
                )
        return folds

    def _fingerprint(self):
        if self.options.results_file is None:
            return None
        omitted = ("results_file", "verbose", "n_jobs", "cv", "rule")
        settings = self.options.get_params()
        settings = [
            part for name in settings if name not in omitted for part in (name, settings[name])
        ]
        target = self.target
        y = (target.code, target.classes.tolist()) if target.classifies else (target.y,)
        folds = [part for fold in self.folds for part in fold]
        return fingerprint(*self.digests, *y, self.weights, *settings, self.gammas, *folds)

    def run(self):
        """The candidates of each round."""
        if self.options.strategy == "grid":
            return [self._round(self.Cs, self.gammas)]
        gammas = coarse(self.gammas) if not isinstance(self.gammas[0], str) else self.gammas
        first = self._round(coarse(self.Cs), gammas)
        scores = without_rounding(first.rows("scores").mean(axis=1))
        best = first.params[int(np.nanargmax(scores))]
        Cs = fine(best["C"], first.Cs)
        return [first, self._round(Cs, fine(best["gamma"], gammas))]

    def _round(self, Cs, gammas):
        shape = (len(Cs), len(self.epsilons), len(gammas), len(self.folds))
        scores, n_support, fit_time = np.empty((3, *shape))
        grid = Grid(self.epsilons, np.array(Cs))
        work = [len(self._open(gamma, grid)) for gamma in gammas]
        for g, gamma in enumerate(steps(gammas, "gamma", work=work)):
            for f, result in enumerate(self._folds_of(gamma, grid)):
                scores[:, :, g, f] = result.scores
                n_support[:, :, g, f] = result.n_support
                fit_time[:, :, g, f] = result.fit_time[:, None] / len(self.epsilons)
        return Candidates(grid.Cs, self.epsilons, gammas, scores, n_support, fit_time)

    def _folds_of(self, gamma, grid):
        """Results of all folds with one gamma, which share the matrix."""
        keys, open_ = self._keys(gamma, grid), self._open(gamma, grid)
        with threads():
            for f, result in zip(open_, self._solve(gamma, grid, open_), strict=True):
                self.journal.add(keys[f], result)
        return [self.journal.done[key] for key in keys]

    def _keys(self, gamma, grid):
        """The names of all folds in the journal."""
        return [(str(gamma), str(grid.Cs.tolist()), f) for f in range(len(self.folds))]

    def _open(self, gamma, grid):
        """Numbers of the folds without a result."""
        keys = self._keys(gamma, grid)
        return [f for f, key in enumerate(keys) if key not in self.journal.done]

    def _solve(self, gamma, grid, numbers):
        """Results of the folds with some numbers, as they come."""
        if not numbers:
            return []
        model = clone(self.model).set_params(gamma=gamma)
        description = describe_for(model, self.X, self.weights, self.target, self.digests)
        shared = grid, self.score, self.options.path_tol
        tasks = [(description, self.target, self.folds[f], *shared) for f in numbers]
        return results(fold_result, tasks, self.options.n_jobs, prefer="threads")
