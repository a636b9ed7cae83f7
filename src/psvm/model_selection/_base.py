"""What `PSVCCV` and `PSVRCV` share: parameters, the choice, and the chosen model."""

from __future__ import annotations

import warnings
from copy import copy
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._fitted import LEFT_OUT, Given, Maybe, written
from .._folds import check_scoring
from .._parameters import (
    Choice,
    Each,
    FilePath,
    Flag,
    Jobs,
    Later,
    Number,
    Optional,
    check_parameters,
)
from .._plotting import new_axes
from .._progress import progress
from .._typing import Axes, MatrixLike
from .._validation import shown
from ..choice import RULES
from ..estimators import (
    AUTO,
    GAMMA,
    MEASURED,
    KernelChoice,
    KernelMixin,
    PerColumnMixin,
    blocks_of,
    check_psvm,
    fit_survey,
    in_parts,
    kernel_name,
    prepare,
    rows_of,
    some_rows,
    streams,
    survey_rows,
    target_of,
)
from ..kernels import Kernel
from ._candidates import as_list, has_gamma, kernels_of
from ._search import Search, table_of

FEWEST, LEVEL = 3, 0.01
"""A grid of fewer values has no inside, and a share of the score that makes no difference."""
SHARED = (
    "threshold",
    "degree",
    "coef0",
    "theta",
    "rho",
    "zeta",
    "landmarks",
    "n_landmarks",
    "random_state",
    "tol",
    "max_iter",
    "cache_size",
    "dtype",
)
"""Parameters that go to the model as they are."""


class KernelChoices(KernelChoice):
    """The constraint of a parameter `kernel`: one kernel, or a list of several."""

    def __call__(self, name, value):
        kernels = as_list(value)
        if not kernels:
            raise ValueError(f"{name} must not be an empty list.")
        for kernel in kernels:
            super().__call__(name, kernel)
        alone = (AUTO, *MEASURED)
        if len(kernels) > 1 and any(k in alone for k in kernels if isinstance(k, str)):
            raise ValueError(f"{name} must not mix kernels with 'auto', 'precomputed' or 'dyadic'.")


class BaseCV(PerColumnMixin, KernelMixin, BaseEstimator):
    """Everything but what kind of target there is."""

    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    C_: float
    gamma_: float | str
    Cs_: np.ndarray
    gammas_: np.ndarray
    cv_results_: dict[str, Any]
    walks_: list
    n_splits_: int

    _constraints: ClassVar = {
        "Cs": Optional(Each(Number(above=0, infinite=True))),
        "gammas": Optional(Each(GAMMA)),
        "cv": Later(),
        "scoring": lambda name, value: check_scoring(value),
        "rule": Choice(*RULES),
        "n_jobs": Jobs(),
        "results_file": Optional(FilePath()),
        "verbose": Flag(),
        "kernel": KernelChoices(AUTO, *MEASURED),
    }
    """Of the search; the other parameters are those of the model."""
    _model: Any = None
    """The class of the model."""
    _shared: tuple[str, ...] = SHARED

    _fitted: ClassVar = {
        "best_estimator_": Given(),
        **dict.fromkeys(
            (
                *("best_params_", "best_index_", "best_score_", "C_", "gamma_"),
                *("Cs_", "gammas_", "n_splits_"),
            ),
            Maybe(Given()),
        ),
        "cv_results_": LEFT_OUT,
        "walks_": LEFT_OUT,
    }

    @property
    def _kernel_name(self):
        return kernel_name(as_list(self.kernel)[0])

    @property
    def _takes_vectors(self):
        first = as_list(self.kernel)[0]
        return not isinstance(first, Kernel) or bool(first.takes_vectors)

    def _fit(self, X, y, sample_weight):
        check_parameters(self)
        given = {name: getattr(self, name) for name in self._shared}
        model = self._model(**given, kernel=kernels_of(self)[0], rule=self.rule)
        check_psvm(model)
        self._check_search()
        with progress(type(self).__name__, self.verbose):
            if in_parts(X):
                return self._fit_rows(model, rows_of(X, y, sample_weight, type(self).__name__))
            checked, target, weights = prepare(model, X, y, sample_weight)
            if self.cv is None and streams(model, checked, target):
                return self._fit_rows(model, blocks_of(model, checked, target, sample_weight))
            search = Search(self, model, checked, target, weights, sample_weight)
            best = search.run()
            return self._keep(search, best, search.fit(best))

    def _fit_rows(self, model, rows):
        """Compare candidates with some rows, and fit the chosen one to all."""
        if self.cv is not None:
            raise ValueError(
                "cv needs all rows at once: leave it out for rows in blocks or chunks, whose "
                "candidates are compared by leave-one-out values."
            )
        survey, rows = survey_rows(rows, labels=is_classifier(model))
        X, y, own = some_rows(survey)
        target, weights = target_of(model, y, own)
        own = None if (own == own[0]).all() else own  # few scorers know weights
        search = Search(self, copy(model), X, target, weights, own)
        best = search.run()
        vars(model).update(search.results[best].params)
        return self._keep(search, best, fit_survey(model, survey, rows))

    def _keep(self, search, best, model):
        """Set all fitted attributes at once."""
        table = table_of(search.results)
        for name, value in vars(model).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        params = table["params"][best]
        self.best_estimator_, self.cv_results_ = model, table
        self.best_params_, self.best_index_ = params, best
        self.best_score_ = float(table["mean_test_score"][best])
        self.C_, self.gamma_ = params["C"], params["gamma"]
        self.Cs_ = np.unique(table["param_C"].data)
        self.gammas_ = np.unique([g for g in table["param_gamma"] if not isinstance(g, str)])
        self.walks_ = [(r.judged.epsilons, r.judged.losses) for r in search.results]
        self.n_splits_ = 0 if search.folds is None else len(search.folds)
        warn_of_edge(self, search.results, search.results[best])
        return self

    def _check_search(self):
        Cs = [] if self.Cs is None else list(self.Cs)
        shares = getattr(self, "multi_class", None) == "shared"
        if shares and (not Cs or np.isfinite(Cs).any()):
            raise ValueError(f"multi_class='shared' needs Cs=[inf], got {shown(self.Cs)}.")
        kernels = kernels_of(self)
        if self.gammas is not None and not any(map(has_gamma, kernels)):
            raise ValueError(f"gammas must be None: kernel={self.kernel!r} has no gamma.")

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict with the chosen model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, in the form of the training objects.

        Returns
        -------
        ndarray
            As from the predict of `best_estimator_`.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    def plot_path(self, ax: Axes | None = None) -> Axes:
        """Draw the losses of held-out rows along epsilon, a line for each candidate.

        The chosen candidate is drawn in bold, its smallest loss is marked. Needs matplotlib:
        ``pip install "psvm[plot]"``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        check_is_fitted(self)
        if self.n_splits_:
            raise ValueError(
                "plot_path needs a search with cv=None: each fold chooses its own epsilon."
            )
        ax = new_axes(ax, "A path of losses")
        for place, (epsilons, losses) in enumerate(self.walks_):
            params = self.cv_results_["params"][place]
            gamma = params["gamma"]
            label = gamma if isinstance(gamma, str) else f"{gamma:.3g}"
            label = (
                f"gamma {label}" if np.isinf(params["C"]) else f"gamma {label}, C {params['C']:.3g}"
            )
            width = 2.5 if place == self.best_index_ else 1.0
            ax.plot(epsilons, losses, lw=width, label=label)
        epsilons, losses = self.walks_[self.best_index_]
        if len(losses):  # not where there were too few rows for a choice
            ax.plot(epsilons[np.argmin(losses)], losses.min(), "k*", markersize=12)
        ax.set(xlabel="epsilon / epsilon_max", ylabel="loss of held-out rows", xscale="log")
        ax.invert_xaxis()
        ax.legend()
        return ax

    def _packed(self):
        """What the chosen model does not have."""
        own = vars(self)
        best = vars(own["best_estimator_"]) if "best_estimator_" in own else {}
        names = [name for name in written(type(self)) if name in own]
        return {name: own[name] for name in names if own[name] is not best.get(name)}

    def _unpack(self, state):
        """A search shows the public attributes of its chosen model."""
        best = vars(state["best_estimator_"]) if "best_estimator_" in state else {}
        shown = {k: v for k, v in best.items() if k.endswith("_") and not k.startswith("_")}
        vars(self).update({**shown, **state})

    def _check_fitted(self, state):
        """A chosen model of the right class."""
        best = state.get("best_estimator_")
        state.fitted(best, "best_estimator_", self._model, "predict")
        if getattr(self, "probability", False):
            state.require(best.probability, "the chosen model has no probabilities")


def warn_of_edge(options, results, best):
    """Warn if the chosen gamma is at the end of a grid, and still better than its neighbour."""
    if options.gammas is None:
        return
    C = best.params["C"]
    alike = [r for r in results if r.kernel == best.kernel and r.params["C"] == C]
    mine = {r.params["gamma"]: r.score for r in alike}
    gammas, chosen = sorted(mine), best.params["gamma"]
    if len(gammas) < FEWEST or chosen not in (gammas[0], gammas[-1]):
        return
    beside = gammas[1] if chosen == gammas[0] else gammas[-2]
    if mine[chosen] - mine[beside] > LEVEL * abs(mine[chosen]):
        size = "smallest" if chosen == gammas[0] else "largest"
        warnings.warn(
            f"The chosen gamma is the {size} that was tried, {chosen:.3g}: a "
            f"{size.replace('est', 'er')} one may be better. Give gammas such values.",
            ConvergenceWarning,
            stacklevel=4,
        )
