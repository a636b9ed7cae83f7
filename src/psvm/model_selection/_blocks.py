"""The choice of gamma, C and epsilon for rows that are read in blocks or chunks."""

import numbers
import time
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from .._folds import N_FOLDS
from .._threads import threads
from .._validation import check_integer, shown
from ..estimators import MomentsPlan, fit_moments, gamma_for, kernel_name, sum_rows, survey_rows
from ._grid import FACTOR, FARTHEST, LEARNT, SPAN, WITH_GAMMA
from ._table import choose, cv_results


class Tried(NamedTuple):
    """Models of one pass, as `cv_results` takes them."""

    models: list
    params: list
    scores: np.ndarray
    """Minus the squared errors of the held-out rows, of shape (m, k)."""
    n_support: np.ndarray
    fit_time: np.ndarray


class BlockSearch:
    """The search of a `PSVCCV` or `PSVRCV` for rows that are read in parts.

    The plans of all gammas are summed side by side, by one pass. C and epsilon are chosen from the
    sums. Where the best gamma is at the end of the grid and was not given, more passes follow.

    Parameters
    ----------
    options : PSVCCV or PSVRCV
    model : PSVC or PSVR
        With the parameters that are not chosen.
    rows : RowBlocks or DaskRows
    """

    def __init__(self, options, model, rows):
        self.options, self.model = options, model
        self.folds = range(_check_possible(options))
        model.epsilon, model.epsilon_unit = "auto", "absolute"
        self.survey, self.rows = survey_rows(rows, labels=is_classifier(model))
        self.open = options.gammas is None and kernel_name(model.kernel) in WITH_GAMMA

    def run(self):
        """The model that is chosen, the table of all, and the place of the model in it."""
        with threads():
            tried = [self._try(self._gammas())]
            while (beyond := self._beyond(tried)) is not None:
                tried.append(self._try([beyond]))
        table = cv_results(tried, [self.survey.n_rows] * len(tried))
        index = choose(table, "best" if self.options.rule == "auto" else self.options.rule)
        return [model for found in tried for model in found.models][index], table, index

    def _try(self, gammas):
        """Models with these gammas and all Cs, by one pass over the rows."""
        names = self.rows.feature_names
        options = {"n_folds": len(self.folds), "feature_names": names}
        began, plans = time.perf_counter(), []
        for gamma in gammas:
            model = clone(self.model).set_params(gamma=gamma)
            plans.append(MomentsPlan.make(model, self.survey, **options))
        sums = sum_rows(plans, self.rows)
        models, params = [], []
        for gamma, plan, moments in zip(gammas, plans, sums, strict=True):
            for C in self.options.Cs:
                model = clone(self.model).set_params(gamma=gamma, C=float(C))
                fit_moments(model, plan, moments, survey=self.survey)
                models.append(model)
                params.append({"C": float(C), "epsilon": _share(model), "gamma": gamma})
        took = (time.perf_counter() - began) / len(models)
        scores = -np.array([model.fold_errors_ for model in models])
        counts = np.array([[model.n_support_] for model in models], dtype=float)
        return Tried(models, params, scores, counts, np.full((len(models), 1), took))

    def _gammas(self):
        """The values of gamma of the first pass."""
        options, survey = self.options, self.survey
        if kernel_name(self.model.kernel) not in WITH_GAMMA:
            if options.gammas is not None:
                raise ValueError(f"gammas must be None: kernel={self.model.kernel!r} has no gamma.")
            return ["scale"]
        variance = float(np.mean(survey.variances) + np.var(survey.means))
        scale = gamma_for("scale", len(survey.means), variance)
        if options.gammas is None:
            return (SPAN * scale).tolist()
        return [float(gamma_for(gamma, len(survey.means), variance)) for gamma in options.gammas]

    def _beyond(self, tried):
        """The next gamma, if the best one is at the end of those tried; None to stop."""
        if not (self.open and self.rows.rereadable) or len(tried) > FARTHEST:
            return None
        params = [combination["gamma"] for found in tried for combination in found.params]
        mean = np.concatenate([found.scores.mean(axis=1) for found in tried])
        best = params[int(np.argmax(mean))]
        if best == max(params) or -mean.max() > LEARNT * _variance(tried[0].models[0]):
            return max(params) * FACTOR
        return best / FACTOR if best == min(params) else None


def _check_possible(options):
    """Refuse what cannot be done with sums; returns the number of folds."""
    for name, usual in (("scoring", None), ("results_file", None), ("min_ratio", None)):
        if getattr(options, name) is not usual:
            raise ValueError(
                f"{name} needs rows in memory: leave it out for rows in blocks or chunks."
            )
    if options.strategy != "grid" or not isinstance(options.epsilons, numbers.Integral):
        raise ValueError(
            "Rows in blocks or chunks need strategy='grid' and no list of epsilons: the path is "
            "followed until the held-out error has turned."
        )
    if options.cv is None:
        return N_FOLDS
    if not isinstance(options.cv, numbers.Integral):
        raise ValueError(
            f"cv must be a number of folds for rows in blocks or chunks, got {shown(options.cv)}."
        )
    check_integer("cv", options.cv, least=2)
    return int(options.cv)


def _variance(model):
    """The mean squared error of constants."""
    total = model.sums_.total
    return float(np.mean(total.target_squares) / total.weight)


def _share(model):
    """The chosen epsilon as a share of the largest, the mean of all machines."""
    total = model.sums_.total
    B = np.array([total.correlations(t) for t in range(total.n_targets)])
    epsilons = np.atleast_1d(model.epsilon_)
    shared = len(model.solutions_) < len(B)
    largest = np.linalg.norm(B, axis=0).max() if shared else np.abs(B).max(axis=1)
    return float(np.mean(epsilons / np.where(largest > 0, largest, 1.0)))
