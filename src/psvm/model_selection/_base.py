"""What `PSVCCV` and `PSVRCV` share: parameters, the choice, and the chosen model."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
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
from ..estimators import (
    GAMMA,
    KernelMixin,
    PerColumnMixin,
    check_psvm,
    in_parts,
    prepare,
    rows_of,
)
from ._blocks import BlockSearch
from ._edges import warn_of_edges
from ._grid import make_epsilons
from ._search import PathSearch
from ._table import RULES

SHARED = (
    "relaxation",
    "threshold",
    "kernel",
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


class BaseCV(PerColumnMixin, KernelMixin, BaseEstimator):
    """Everything but what kind of target there is."""

    best_params_: dict[str, Any]
    best_score_: float
    best_index_: int
    C_: float
    gamma_: float | str
    epsilons_: np.ndarray
    Cs_: np.ndarray
    gammas_: np.ndarray
    cv_results_: dict[str, Any]
    n_splits_: int

    _constraints: ClassVar = {
        "epsilons": Later(),
        "min_ratio": Later(),
        "Cs": Optional(Each(Number(above=0, infinite=True))),
        "gammas": Optional(Each(GAMMA)),
        "cv": Later(),
        "scoring": lambda name, value: check_scoring(value),
        "rule": Choice(*RULES),
        "strategy": Choice("grid", "coarse_to_fine"),
        "path_tol": Number(above=0),
        "n_jobs": Jobs(),
        "results_file": Optional(FilePath()),
        "verbose": Flag(),
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
                *("epsilons_", "Cs_", "gammas_", "n_splits_"),
            ),
            Maybe(Given()),
        ),
        "cv_results_": LEFT_OUT,
    }

    def _fit(self, X, y, sample_weight):
        model = self._model(**{name: getattr(self, name) for name in self._shared})
        check_psvm(model)
        self._check_search()
        if in_parts(X):
            return self._fit_rows(model, rows_of(X, y, sample_weight, type(self).__name__))
        exact = self.cv is None and self.Cs is not None and np.isinf(list(self.Cs)).all()
        if not exact and getattr(model, "multi_class", None) == "auto":
            model.set_params(multi_class="ovo")
        checked, target, weights = prepare(model, X, y, sample_weight)
        search = PathSearch(self, model, checked, target, weights, sample_weight)
        with progress(type(self).__name__, self.verbose):
            table = search.run()
            index = search.choose(table)
            best = table["params"][index]
            model = search.fit(best)
        self._keep(model, search, table, index)
        at_bound = (np.abs(self.alpha_) >= best["C"]).any()
        warn_of_edges(self, table, index, search.epsilons, at_bound)
        return self

    def _fit_rows(self, model, rows):
        with progress(type(self).__name__, self.verbose):
            search = BlockSearch(self, model, rows)
            model, table, index = search.run()
        self._keep(model, search, table, index)
        epsilons = self.epsilons_[:0]  # a path of sums warns of its end itself
        warn_of_edges(self, table, index, epsilons, (np.abs(self.alpha_) >= self.C_).any())
        return self

    def _keep(self, model, search, table, index):
        """Set all fitted attributes at once."""
        for name, value in vars(model).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        best = table["params"][index]
        self.best_estimator_, self.cv_results_ = model, table
        self.best_params_, self.best_index_ = best, index
        self.best_score_ = float(table["mean_test_score"][index])
        self.C_, self.gamma_ = best["C"], best["gamma"]
        self.epsilons_ = np.unique(table["param_epsilon"].data)[::-1]
        self.Cs_ = np.unique(table["param_C"].data)
        self.gammas_ = np.unique(table["param_gamma"].data)
        self.n_splits_ = len(search.folds)

    def _check_search(self):
        check_parameters(self)
        Cs = [] if self.Cs is None else list(self.Cs)
        shares = getattr(self, "multi_class", None) == "shared"
        if shares and (not Cs or np.isfinite(Cs).any()):
            raise ValueError(f"multi_class='shared' needs Cs=[inf], got {shown(self.Cs)}.")
        if self.strategy == "coarse_to_fine" and (not Cs or (len(Cs) > 1 and np.inf in Cs)):
            raise ValueError(
                "strategy='coarse_to_fine' needs finite Cs, or a single one, got "
                f"{self.Cs!r}: there is nothing between a number and infinity."
            )
        make_epsilons(self.epsilons, self.min_ratio)

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
        """Draw the mean score and its standard error along epsilon, a line for each gamma.

        The lines are those of the chosen C; the chosen point is marked. Needs matplotlib:
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
        ax = new_axes(ax, "A path of scores")
        table = self.cv_results_
        epsilon, mean = table["param_epsilon"].data, table["mean_test_score"]
        error = table["std_test_score"] / np.sqrt(max(self.n_splits_ - 1, 1))
        for gamma in self.gammas_:
            here = (table["param_gamma"].data == gamma) & (table["param_C"].data == self.C_)
            here &= table["n_resources"] == table["n_resources"][here].max()
            here = np.flatnonzero(here)[np.argsort(-epsilon[here])]
            label = gamma if isinstance(gamma, str) else f"{gamma:.3g}"
            ax.errorbar(epsilon[here], mean[here], error[here], capsize=2, label=f"gamma {label}")
        ax.plot(epsilon[self.best_index_], mean[self.best_index_], "k*", markersize=12)
        ax.set(xlabel="epsilon / epsilon_max", ylabel="mean score", xscale="log")
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
