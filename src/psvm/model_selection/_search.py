"""One search: folds, grids, and the results of all paths."""

import numpy as np
from sklearn.base import clone

from .._folds import assign_folds, make_splits
from .._parallel import results
from .._progress import steps
from .._threads import threads
from ..estimators import LARGEST_GRAM, describe_for, digests_of
from ._grid import (
    FACTOR,
    FARTHEST,
    LEARNT,
    SPAN,
    WIDTHS,
    Grid,
    candidates,
    coarse,
    error_has_turned,
    fine,
    has_turned,
    is_open,
    make_epsilons,
    make_gammas,
    never,
)
from ._journal import Journal, fingerprint
from ._paths import AHEAD, Fold, FoldPaths, joined, left_out_paths
from ._scoring import Score
from ._table import choose, cv_results

FEWEST_ROWS = 10
"""Fewer distinct rows are soon interpolated, where leave-one-out values mean nothing."""


class PathSearch:
    """The search of `PSVCCV` or `PSVRCV` (the `options`) with a model for validated data.

    Attributes
    ----------
    left_out : bool
        Whether rows are judged by leave-one-out values rather than in folds.
    """

    def __init__(self, options, model, X, target, weights, sample_weight):
        self.options, self.model, self.X, self.target = options, model, X, target
        self.weights = weights
        self.epsilons = make_epsilons(options.epsilons, options.min_ratio)
        self.Cs = [float(C) for C in options.Cs]
        widths = WIDTHS if options.strategy == "grid" else SPAN
        self.gammas = make_gammas(options.gammas, options.kernel, X, weights, widths)
        self.digests = digests_of(X, options.kernel)
        own = np.ones(len(weights)) if sample_weight is None else np.asarray(sample_weight, float)
        self.left_out = options.cv is None and self._can_leave_one_out()
        self.folds = self._make_folds(own)
        weighted = sample_weight is not None
        self.score = Score(options.scoring, target, own, weighted, self.folds, options.threshold)
        self.turned = never
        if is_open(options.epsilons, options.min_ratio):
            self.turned = error_has_turned if options.scoring is None else has_turned
        self.journal = Journal(options.results_file, self._fingerprint())

    def choose(self, table):
        """Index of the chosen row of a table."""
        rule = self.options.rule
        if rule == "auto":
            rule = "sparsest" if self.options.scoring is None else "best"
        return int(choose(table, rule))

    def run(self):
        """The table of all candidates."""
        if self.options.strategy == "coarse_to_fine":
            return self._coarse_to_fine()
        found = self._judge(self.Cs, self.gammas)
        if self.options.gammas is not None or isinstance(self.gammas[0], str):
            return cv_results([candidates(found, self.epsilons)])
        for _ in range(2 * FARTHEST):
            table = cv_results([candidates(found, self.epsilons)])
            index = self.choose(table)
            learnt = self.options.scoring is not None or (
                table["mean_test_score"][index] > LEARNT * self.score.of_constants()
            )
            new = self._beyond(table["params"][index]["gamma"] if learnt else max(self.gammas))
            if new is None:
                break
            self.gammas.append(new)
            found |= self._judge(self.Cs, [new])
            found = dict(sorted(found.items(), key=lambda item: item[0][1]))
        return cv_results([candidates(found, self.epsilons)])

    def _beyond(self, gamma):
        """The next value of gamma if the chosen one is at an end that may move, else None."""
        start = self.gammas[: len(WIDTHS)]
        if gamma == max(self.gammas):
            new = gamma * FACTOR
            return new if new < max(start) * FACTOR ** (FARTHEST + 0.5) else None
        if gamma == min(self.gammas):
            new = gamma / FACTOR
            return new if new > min(start) / FACTOR ** (FARTHEST + 0.5) else None
        return None

    def _coarse_to_fine(self):
        gammas = coarse(self.gammas) if not isinstance(self.gammas[0], str) else self.gammas
        Cs = coarse(self.Cs)
        first = candidates(self._judge(Cs, gammas), self.epsilons)
        table = cv_results([first])
        best = table["params"][int(choose(table, "best"))]
        Cs, gammas = fine(best["C"], Cs), fine(best["gamma"], gammas)
        return cv_results([first, candidates(self._judge(Cs, gammas), self.epsilons)])

    def _judge(self, Cs, gammas):
        """What is found for each ``(C, gamma)``."""
        grid = Grid(self.epsilons, np.array(Cs))
        judge = self._leave_one_out if self.left_out else self._in_folds
        with threads():
            found = judge(grid, gammas)
        return {
            (float(C), gamma): judged
            for gamma, each in zip(gammas, found, strict=True)
            for C, judged in zip(Cs, each, strict=True)
        }

    def _leave_one_out(self, grid, gammas):
        """By leave-one-out values; several gammas are worked on at the same time."""
        keys = [[(str(gamma), str(C), "loo", 0) for C in grid.Cs] for gamma in gammas]
        open_ = [g for g, some in enumerate(keys) if not all(k in self.journal.done for k in some)]
        tasks = [(gammas[g], grid) for g in open_]
        each = results(self._left_out_paths, tasks, self.options.n_jobs, "gammas", prefer="threads")
        for g, found in zip(open_, each if tasks else [], strict=True):
            for key, judged in zip(keys[g], found, strict=True):
                self.journal.add(key, judged)
        return [[self.journal.done[key] for key in some] for some in keys]

    def _left_out_paths(self, gamma, grid):
        description = self._describe(gamma)
        return left_out_paths(description, self.target, grid, self.score, self.turned)

    def _in_folds(self, grid, gammas):
        """In folds, several of which are worked on at the same time."""
        return [self._folds_of(gamma, grid) for gamma in steps(gammas, "gamma")]

    def _folds_of(self, gamma, grid):
        """Results of one gamma: all folds share the matrix."""
        parts, description = {}, self._describe(gamma)

        def judged(number, *points):
            if number not in parts:
                shared = self.score, number, self.options.path_tol
                parts[number] = FoldPaths(description, self.target, *shared)
            return parts[number].judged(*points)

        return [
            self._until_turned(str(gamma), C, grid.epsilons, judged) for C in steps(grid.Cs, "C")
        ]

    def _until_turned(self, gamma, C, epsilons, judged):
        """The points of one C, some after some until the mean of all folds has turned."""
        some = len(epsilons) if self.turned is never else AHEAD
        done = []
        for first in range(0, len(epsilons), some):
            points = C, epsilons, first, min(some, len(epsilons) - first)
            keys = [(gamma, str(C), number, first) for number in range(len(self.folds))]
            open_ = [number for number, key in enumerate(keys) if key not in self.journal.done]
            tasks = [(number, *points) for number in open_]
            new = results(judged, tasks, self.options.n_jobs, prefer="threads") if tasks else []
            for number, result in zip(open_, new, strict=True):
                self.journal.add(keys[number], result)
            done.append(joined([self.journal.done[key] for key in keys], axis=1))
            share = done[-1].n_support[-1].mean() / len(self.weights)
            if self.turned(np.concatenate([points.scores for points in done]), share):
                break
        return joined(done, axis=0)

    def _describe(self, gamma):
        model = clone(self.model).set_params(gamma=gamma)
        return describe_for(model, self.X, self.weights, self.target, self.digests)

    def _can_leave_one_out(self):
        """Whether the columns are few enough for their products, and the rows not too few."""
        if len(set(self.digests)) < FEWEST_ROWS:
            return False
        description = self._describe(self.gammas[0])
        if description.matrix.shape[1] <= LARGEST_GRAM:
            return True
        rows = max(len(task.rows) for task in self.target.tasks())
        return description.own is not None and rows <= LARGEST_GRAM

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
        if not self.left_out and self.target.classifies and self.target.scheme != "multilabel":
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
        return fingerprint(
            *self.digests, *y, self.weights, *settings, self.gammas, self.left_out, *folds
        )
