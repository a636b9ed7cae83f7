"""One search: folds, grids, and the results of all paths."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._folds import N_FOLDS, assign_folds, make_splits
from .._journal import Journal, fingerprint
from .._parallel import results
from .._progress import steps
from .._threads import threads
from ..estimators import (
    LARGEST_GRAM,
    Labels,
    Numbers,
    by_rows,
    describe_for,
    digests_of,
    fit_prepared,
    relaxation_of,
)
from ._edges import has_levelled_off
from ._grid import (
    FACTOR,
    FARTHEST,
    LEARNT,
    NARROWER,
    NOT_WORSE,
    SPAN,
    WIDE,
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
    walk_C,
)
from ._paths import (
    AHEAD,
    UNKNOWN,
    Fold,
    FoldPaths,
    Judged,
    Known,
    Rival,
    best_mean,
    joined,
    left_out_paths,
)
from ._scoring import Score
from ._table import MOST, best_with, choose, cv_results, is_near

FEWEST_ROWS = 10
"""Fewer distinct rows are soon interpolated, where leave-one-out values mean nothing."""
MANY, SOME, PARTS = {"classes": 400, "numbers": 2000}, {"classes": 400, "numbers": 1000}, 8
"""With so many distinct rows gamma is found with a part of them: with about so many, but with no
more than a half and no less than an eighth. Squared errors are noisier than the losses of two
classes, and more classes need more rows."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that a search learns from: all of them, or some."""

    X: Any
    target: Labels | Numbers
    weights: np.ndarray
    sample_weights: np.ndarray
    digests: list

    def part(self, rows):
        """Some of the rows; classes that none of these has are left out."""
        return Rows(
            self.X[rows],
            self.target.part(rows),
            self.weights[rows],
            self.sample_weights[rows],
            [self.digests[row] for row in rows],
        )

    @property
    def n_distinct(self):
        """The number of distinct rows with weight."""
        pairs = zip(self.digests, self.weights, strict=True)
        return len({digest for digest, weight in pairs if weight > 0})

    def dealt(self, n_parts):
        """The number of the part, by content, that each row is dealt to; -1 without weight."""
        return assign_folds(self.digests, self.target.key, self.sample_weights, n_parts)


class Kept(NamedTuple):
    """The best paths of all rows so far; a model on them need not be described and solved again."""

    score: float
    C: float
    gamma: float | str
    description: Any
    alphas: list
    """Solutions of each machine along epsilon."""

    def starts(self, target, C, step):
        """The solutions of the machines at a point, in all columns; None if C is another one."""
        if self.C != C:
            return None
        found = []
        for task, alphas in zip(target.tasks(), self.alphas, strict=False):
            start = np.zeros(self.description.matrix.shape[1])
            start[self.description.part(task.rows).columns] = alphas[step, 0]
            found.append(start)
        return found


class PathSearch:
    """The search of `PSVCCV` or `PSVRCV` (the `options`) with a model for validated data.

    Attributes
    ----------
    left_out : bool
        Whether rows are judged by leave-one-out values rather than in folds.
    """

    def __init__(self, options, model, X, target, weights, sample_weight):
        self.options, self.model = options, model
        self.epsilons = make_epsilons(options.epsilons, options.min_ratio)
        self.finds_C = options.Cs is None
        self.Cs = [np.inf] if self.finds_C else [float(C) for C in options.Cs]
        self.open = is_open(options.epsilons, options.min_ratio)
        coarse_first = options.strategy == "coarse_to_fine"
        widths = SPAN if coarse_first else WIDTHS
        self.gammas = make_gammas(options.gammas, options.kernel, X, weights, widths)
        self.walks = options.gammas is None and not isinstance(self.gammas[0], str)
        self.walks = self.walks and not coarse_first
        own = np.ones(len(weights)) if sample_weight is None else np.asarray(sample_weight, float)
        digests = digests_of(X, options.kernel)
        self.rows = Rows(X, target, weights, own, digests)
        self.left_out = options.cv is None and self._can_leave_one_out()
        if target.shares and not self.left_out:
            self.rows = replace(self.rows, target=self._without_sharing(target))
        self.weighted = sample_weight is not None
        self.folds = self._make_folds(self.rows)
        self.score = self._make_score(self.rows, self.folds)
        self.journal = Journal(options.results_file, self._fingerprint(), Judged)
        self.kept = None

    def choose(self, table):
        """Index of the chosen row of a table."""
        rule = self.options.rule
        rule = self._rule if rule == "auto" else rule
        return int(choose(table, rule, min(self.gammas)))

    @property
    def _rule(self):
        """How gamma is chosen: wider kernels become polynomials.

        Beyond the training objects their values go astray, which classes do not mind.
        """
        if self.options.scoring is not None:
            return "best"
        if self.rows.target.classifies:
            return "widest"
        return "narrowest" if self.walks else "sparsest"

    def run(self):
        """The table of all candidates."""
        with self.journal:
            return self._run()

    def _run(self):
        if self.options.strategy == "coarse_to_fine":
            return self._coarse_to_fine()
        rounds, sizes = [], []
        some = self._some_rows() if self.walks else None
        if some is not None:
            score = self._make_score(some, self._make_folds(some))
            rounds, sizes = [self._walk(some, score, "some")], [len(some.weights)]
            first = self._table(rounds)
            chosen = choose(first, self._rule, min(self.gammas))
            known = Known(first["mean_n_support"][chosen])
            rounds.append(self._judge(self.Cs, [first["params"][chosen]["gamma"]], known=known))
        elif self.walks:
            rounds.append(self._walk(self.rows, self.score, "loo"))
        else:
            rounds.append(self._judge(self.Cs, self.gammas))
        if self.finds_C:
            rounds[-1] |= self._walk_C(rounds[-1])
        return self._table(rounds, [*sizes, None])

    def fit(self, best):
        """The model with the best parameters, which are those that were judged."""
        scheme = {"multi_class": "shared"} if self.rows.target.shares else {}
        model = self._with(
            **best, epsilon_unit="max", relaxation=self._relaxation(best["C"]), **scheme
        )
        rows, known = self.rows, (None, None)
        if self.kept is not None and self.kept.gamma == best["gamma"]:
            step = int(np.flatnonzero(self.epsilons == best["epsilon"])[0])
            known = self.kept.description, self.kept.starts(rows.target, best["C"], step)
        return fit_prepared(model, rows.X, rows.target, rows.weights, *known)

    def _relaxation(self, C):
        """How far solutions are relaxed; unless a number says so, only those that share."""
        if self.model.relaxation == "auto" and not self.rows.target.shares:
            return 0.0
        return relaxation_of(self._with(C=C, epsilon="auto"))

    def _with(self, **parameters):
        """The model with other parameters; `clone` and `set_params` would be slow."""
        model = copy(self.model)
        vars(model).update(parameters)
        return model

    def _table(self, rounds, sizes=None):
        rounds = [candidates(found, self.epsilons) for found in rounds]
        n = len(self.rows.weights)
        sizes = [n] * len(rounds) if sizes is None else [size or n for size in sizes]
        return cv_results(rounds, sizes)

    def _best(self, found):
        """The parameters that some paths are the best with."""
        table = self._table([found])
        return table["params"][int(choose(table, "best"))]

    def _gamma(self, table):
        """The gamma of a table that is chosen."""
        return table["params"][choose(table, self._rule, min(self.gammas))]["gamma"]

    def _walk(self, rows, score, name):
        """Paths of more and more gammas, until the best is not at an end."""
        found = {}
        for gamma, known in steps(self._next_gammas(found, score), "gamma"):
            found.update(self._judge(self.Cs, [gamma], rows, score, name, known))
        return _by_gamma(found)

    def _next_gammas(self, found, score):
        """One gamma after the other, and what the paths found so far say about its paths."""
        new, known = self.gammas[::-1], UNKNOWN
        while new:
            yield new[0], known
            gammas, table = sorted({gamma for _, gamma in found}), self._table([_by_gamma(found)])
            new = new[1:] or self._beyond(gammas, table, score)
            known = self._known(new[0], table, score) if new else None

    def _known(self, gamma, table, score):
        """What the paths of the next gamma are compared with, if anything has been learnt."""
        best = int(choose(table, "best"))
        if not self.open or not self._has_learnt(table["mean_test_score"][best], score):
            return UNKNOWN
        scores = np.array([table[f"split{i}_test_score"][best] for i in range(len(score.folds))])
        n_support, wider = table["mean_n_support"][best], gamma < table["params"][best]["gamma"]
        return Known(n_support, Rival(scores, (1.0 if wider else NARROWER) * n_support))

    def _has_learnt(self, value, score):
        """Whether the best score is better than that of constants; unknown with a `scoring`."""
        known = self.options.scoring is None
        return known and value > LEARNT * score.of_constants(self.left_out)

    def _walk_C(self, found):
        """Paths of smaller and smaller C with the best gamma, until the score has turned.

        Those of C = inf are found.
        """
        new, best = {}, self._best(found)

        def score(C):
            judged = self._judge([C], [best["gamma"]])
            new.update(judged)
            return best_mean(judged[C, best["gamma"]])

        unbounded = max(best_mean(judged) for judged in found.values())
        walk_C(np.abs(self.fit(best).alpha_).max(), unbounded, score)
        return new

    def _beyond(self, gammas, table, score):
        """The next value of gamma, in a list, if the best one is at an end that may move."""
        best = int(choose(table, "best"))
        gamma, value = table["params"][best]["gamma"], table["mean_test_score"][best]
        judged_by_loss = self.options.scoring is None
        if judged_by_loss and not self._has_learnt(value, score):
            gamma = gammas[-1]
        if gamma == gammas[-1]:
            new = gamma * FACTOR
            return [new] if new < max(self.gammas) * FACTOR ** (FARTHEST + 0.5) else []
        new = gammas[0] / FACTOR
        if gamma == gammas[0] and not has_levelled_off(table, "gamma", gammas[:2]):
            farther = new > min(self.gammas) / FACTOR ** (FARTHEST + 0.5)
            pays = self._rule != "narrowest" or self._gamma(table) == gamma
            return [new] if farther and pays else []
        near = self._rule == "widest" and new > min(self.gammas) / WIDE
        near = near and is_near(table, best_with(table, gammas[0]), best, NOT_WORSE, MOST)
        return [new] if near else []

    def _some_rows(self):
        """Rows to find gamma with, if there are many; None if all are needed."""
        target, n = self.rows.target, self.rows.n_distinct
        kind = "classes" if target.classifies else "numbers"
        n = 2 * n / len(target.classes) if target.classifies and target.alike else n
        if not self.left_out or n < MANY[kind] or not by_rows(self.options.landmarks):
            return None
        part = self.rows.dealt(int(np.clip(n // SOME[kind], 2, PARTS)))
        some = self.rows.part(np.flatnonzero(part == 0))
        return some if self._fits(some) else None

    def _fits(self, some):
        """Whether some rows are a problem of the same kind."""
        several = not some.target.classifies or len(some.target.classes) > 1
        return several and some.n_distinct >= FEWEST_ROWS

    def _coarse_to_fine(self):
        gammas = coarse(self.gammas) if not isinstance(self.gammas[0], str) else self.gammas
        Cs = coarse(self.Cs)
        first = self._judge(Cs, gammas)
        best = self._best(first)
        Cs, gammas = fine(best["C"], Cs), fine(best["gamma"], gammas)
        return self._table([first, self._judge(Cs, gammas)])

    def _judge(self, Cs, gammas, rows=None, score=None, name="loo", known=UNKNOWN):
        """What is found for each ``(C, gamma)``; all rows are judged if none are given."""
        grid = Grid(self.epsilons, np.array(Cs))
        rows, score = self.rows if rows is None else rows, self.score if score is None else score
        with threads():
            if self.left_out:
                found = self._leave_one_out(grid, gammas, rows, score, name, known)
            else:
                found = self._in_folds(grid, gammas)
        return {
            (float(C), gamma): judged
            for gamma, each in zip(gammas, found, strict=True)
            for C, judged in zip(Cs, each, strict=True)
        }

    def _leave_one_out(self, grid, gammas, rows, score, name, known):
        """By leave-one-out values; several gammas are worked on at the same time."""
        keys = [[(str(gamma), str(C), name, 0) for C in grid.Cs] for gamma in gammas]
        open_ = [g for g, some in enumerate(keys) if not all(k in self.journal.done for k in some)]
        turned = self._end(rows.target)

        def paths(gamma):
            kept = self.kept if rows is self.rows else None
            again = kept is not None and kept.gamma == gamma
            description = kept.description if again else self._describe(gamma, rows)
            shared = rows.target, grid, score, self._relaxation, self.model.tol, turned, known
            return description, left_out_paths(description, *shared)

        tasks = [(gammas[g],) for g in open_]
        each = results(paths, tasks, self.options.n_jobs, "gammas", prefer="threads")
        for g, (description, found) in zip(open_, each if tasks else [], strict=True):
            for C, key, (judged, alphas) in zip(grid.Cs, keys[g], found, strict=True):
                self.journal.add(key, judged)
                if rows is self.rows:
                    mean = best_mean(judged)
                    self._keep(Kept(mean, float(C), gammas[g], description, alphas))
        return [[self.journal.done[key] for key in some] for some in keys]

    def _keep(self, new):
        """Keep paths if they are the best so far."""
        if self.kept is None or new.score > self.kept.score:
            self.kept = new

    def _end(self, target):
        """What says whether a path of leave-one-out values ends; None: as for epsilon="auto"."""
        if not self.open:
            return never
        if self.options.scoring is not None:
            return has_turned
        return None if target.classifies else error_has_turned

    def _in_folds(self, grid, gammas):
        """In folds, several of which are worked on at the same time."""
        return [self._folds_of(gamma, grid) for gamma in steps(gammas, "gamma")]

    def _folds_of(self, gamma, grid):
        """Results of one gamma: all folds share the matrix."""
        parts, description = {}, self._describe(gamma, self.rows)
        relaxation = self._relaxation(np.inf)

        def judged(number, *points):
            if number not in parts:
                shared = self.score, number, self.options.path_tol, relaxation
                parts[number] = FoldPaths(description, self.rows.target, *shared)
            return parts[number].judged(*points)

        return [
            self._until_turned(str(gamma), C, grid.epsilons, judged) for C in steps(grid.Cs, "C")
        ]

    def _until_turned(self, gamma, C, epsilons, judged):
        """The points of one C, some after some until the mean of all folds has turned."""
        turned = never
        if self.open:
            turned = error_has_turned if self.options.scoring is None else has_turned
        some = AHEAD if self.open else len(epsilons)
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
            share = done[-1].n_support[-1].mean() / len(self.rows.weights)
            if turned(np.concatenate([points.scores for points in done]), share):
                break
        return joined(done, axis=0)

    def _describe(self, gamma, rows):
        model = self._with(gamma=gamma)
        return describe_for(model, rows.X, rows.weights, rows.target, rows.digests)

    def _can_leave_one_out(self):
        """Whether the columns are few enough for their products, and the rows not too few."""
        if len(set(self.rows.digests)) < FEWEST_ROWS:
            return False
        description = self._describe(self.gammas[0], self.rows)
        if description.matrix.shape[1] <= LARGEST_GRAM:
            return True
        rows = max(len(task.rows) for task in self.rows.target.tasks())
        return description.own is not None and rows <= LARGEST_GRAM

    def _without_sharing(self, target):
        """The same target with a machine for each pair of classes."""
        if self.model.multi_class == "shared":
            raise ValueError(
                "multi_class='shared' is judged by leave-one-out values, which need cv=None, ten "
                "distinct rows and at most 2048 columns. Use multi_class='ovo' or 'ovr'."
            )
        self.model.set_params(multi_class="ovo")
        return replace(target, scheme="ovo", shares=False)

    def _make_folds(self, rows):
        if self.options.cv is None:
            number = rows.dealt(N_FOLDS)
            every = range(number.max() + 1)
            pairs = [((number != i) & (number >= 0), number == i) for i in every]
            folds = [Fold(*map(np.flatnonzero, pair)) for pair in pairs]
        else:
            target = rows.target
            splits = make_splits(self.options.cv, rows.X, target.y, classifier=target.classifies)
            folds = [Fold(*pair) for pair in splits]
        if len(folds) < 2:
            raise ValueError(
                f"At least two folds are needed, got {len(folds)}. Use another cv; the default "
                "keeps equal rows together and needs two different ones."
            )
        if not self.left_out:
            _check_classes(rows.target, folds)
        return folds

    def _make_score(self, rows, folds):
        options = self.options
        judged_by_loss = self.left_out and options.scoring is None
        weights = rows.weights if judged_by_loss else rows.sample_weights
        return Score(options.scoring, rows.target, weights, self.weighted, folds, options.threshold)

    def _fingerprint(self):
        if self.options.results_file is None:
            return None
        omitted = ("results_file", "verbose", "n_jobs", "cv", "rule")
        settings = self.options.get_params()
        settings = [
            part for name in settings if name not in omitted for part in (name, settings[name])
        ]
        rows, target = self.rows, self.rows.target
        y = (target.code, target.classes.tolist()) if target.classifies else (target.y,)
        folds = [part for fold in self.folds for part in fold]
        return fingerprint(
            *rows.digests, *y, rows.weights, *settings, self.gammas, self.left_out, *folds
        )


def _by_gamma(found):
    """What was found in the order of gamma, in which equal scores are told apart."""
    return dict(sorted(found.items(), key=lambda item: item[0][1]))


def _check_classes(target, folds):
    """Every fold must have training rows of every class."""
    if not target.classifies or target.scheme == "multilabel":
        return
    if any(len(np.unique(target.code[fold.train])) < len(target.classes) for fold in folds):
        raise ValueError(
            "A class has no training rows in one of the folds. Use fewer folds or stratified ones."
        )
