"""The search that `PSVCCV` and `PSVRCV` share."""

import numbers

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from .._epsilon import assign_folds
from .._kernel_choice import KernelMixin, choose_gamma
from .._parallel import results
from .._threads import threads
from .._validation import (
    check_choice,
    check_flag,
    check_number,
    check_positive_integer,
    check_vector,
)
from ._journal import Journal, fingerprint
from ._paths import Fold, Grid, fold_result
from ._scoring import make_score
from ._search import RULES, Candidates, choose, coarse, cv_results, fine

WIDTHS = 3.0 ** np.arange(-3, 2)
"""gamma in units of "scale"."""
WITH_GAMMA = ("rbf", "laplacian", "poly")
SHARED = (
    "kernel",
    "degree",
    "coef0",
    "theta",
    "rho",
    "zeta",
    "row_objects",
    "n_row_objects",
    "random_state",
    "tol",
    "max_iter",
    "cache_size",
    "dtype",
)
"""Parameters that go to the model as they are."""


class BaseCV(KernelMixin, BaseEstimator):
    """Everything but what kind of target there is."""

    _model = None
    """The class of the model."""
    _shared = SHARED
    _slack = 0.0

    def _fit(self, X, y, sample_weight):
        model = self._model(**{name: getattr(self, name) for name in self._shared})
        self._check_search()
        model._check_parameters()
        checked, target, weights = model._prepare_fit(X, y, sample_weight)
        search = _Search(self, model, checked, target, weights, sample_weight)
        rounds = search.run()
        table = cv_results(rounds)
        slack = self._slack if self.scoring is None else 0.0
        index = int(choose(table, self.rule, slack))
        best = table["params"][index]
        model.set_params(**best, epsilon_unit="max").fit(X, y, sample_weight)
        self._keep(model, search, table, index)
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
        self.epsilons_ = search.epsilons
        self.Cs_ = np.unique(table["param_C"].data)
        self.gammas_ = np.unique(table["param_gamma"].data)
        self.n_splits_ = len(search.folds)

    def _check_search(self):
        check_choice("rule", self.rule, RULES)
        check_choice("strategy", self.strategy, ("grid", "coarse_to_fine"))
        check_number("path_tol", self.path_tol, above=0)
        check_flag("verbose", self.verbose)
        for C in self._values("Cs"):
            check_number("Cs", C, above=0, infinite=True)
        if self.strategy == "coarse_to_fine" and len(self.Cs) > 1 and np.isinf(self.Cs).any():
            raise ValueError(
                "strategy='coarse_to_fine' needs finite Cs, or a single one, got "
                f"{self.Cs!r}: there is nothing between a number and infinity."
            )
        self._check_epsilons()

    def _check_epsilons(self):
        """The shares of epsilon_max, decreasing."""
        if isinstance(self.epsilons, numbers.Integral):
            check_positive_integer("epsilons", self.epsilons)
            check_number("min_ratio", self.min_ratio, above=0)
            if self.min_ratio >= 1:
                raise ValueError(f"min_ratio must be less than 1, got {self.min_ratio!r}.")
            return np.geomspace(1.0, self.min_ratio, self.epsilons + 1)[1:]
        epsilons = np.unique(check_vector("epsilons", self.epsilons))[::-1]
        if epsilons[0] > 1 or epsilons[-1] < 0:
            raise ValueError(
                "epsilons must lie between 0 and 1: they are shares of the epsilon from which on "
                f"all variables are 0. Got values from {epsilons[-1]:.6g} to {epsilons[0]:.6g}."
            )
        return epsilons

    def _values(self, name):
        values = getattr(self, name)
        if isinstance(values, str) or np.ndim(values) != 1 or len(values) == 0:
            raise ValueError(f"{name} must be a list of values, got {values!r}.")
        return list(values)

    def _make_gammas(self, X, weights):
        """The values of gamma as numbers."""
        if self._kernel_name not in WITH_GAMMA:
            if self.gammas is not None:
                raise ValueError(f"gammas must be None: kernel={self.kernel!r} has no gamma.")
            return ["scale"]
        if self.gammas is None:
            return (WIDTHS * choose_gamma("scale", X, weights)).tolist()
        gammas = []
        for gamma in self._values("gammas"):
            if isinstance(gamma, str):
                check_choice("gammas", gamma, ("scale", "auto"))
            else:
                check_number("gammas", gamma, above=0)
            gammas.append(float(choose_gamma(gamma, X, weights)))
        return gammas

    def predict(self, X):
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

    def plot_path(self, ax=None):
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
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError('Drawing needs matplotlib: pip install "psvm[plot]".') from error
        ax = plt.subplots()[1] if ax is None else ax
        table = self.cv_results_
        epsilon, mean = table["param_epsilon"].data, table["mean_test_score"]
        error = table["std_test_score"] / np.sqrt(max(self.n_splits_ - 1, 1))
        for gamma in self.gammas_:
            here = (table["param_gamma"].data == gamma) & (table["param_C"].data == self.C_)
            here = np.flatnonzero(here)[np.argsort(-epsilon[here])]
            label = gamma if isinstance(gamma, str) else f"{gamma:.3g}"
            ax.errorbar(epsilon[here], mean[here], error[here], capsize=2, label=f"gamma {label}")
        ax.plot(epsilon[self.best_index_], mean[self.best_index_], "k*", markersize=12)
        ax.set(xlabel="epsilon / epsilon_max", ylabel="mean score", xscale="log")
        ax.invert_xaxis()
        ax.legend()
        return ax


class _Search:
    """One search: folds, grids, and the results of all paths."""

    def __init__(self, options, model, X, target, weights, sample_weight):
        self.options, self.model, self.X, self.target = options, model, X, target
        self.weights = weights
        self.epsilons = options._check_epsilons()
        self.Cs = [float(C) for C in options._values("Cs")]
        self.gammas = options._make_gammas(X, weights)
        self.digests = model._digests(X)
        own = np.ones(len(weights)) if sample_weight is None else np.asarray(sample_weight, float)
        y = target.classes[target.code] if hasattr(target, "classes") else target.y
        if getattr(target, "scheme", "") == "multilabel":
            y = target.code
        self.folds = self._make_folds(y, own)
        self.score = make_score(options.scoring, target, y, own, sample_weight is not None)
        self.journal = Journal(options.results_file, self._fingerprint(y))

    def _make_folds(self, y, weights):
        if self.options.cv is None:
            number = assign_folds(self.digests, self.target.key, weights)
            every = range(number.max() + 1)
            pairs = [((number != i) & (number >= 0), number == i) for i in every]
            folds = [Fold(*map(np.flatnonzero, pair)) for pair in pairs]
        else:
            classifier = hasattr(self.target, "classes")
            splitter = check_cv(self.options.cv, y, classifier=classifier)
            folds = [Fold(*map(np.asarray, pair)) for pair in splitter.split(self.X, y)]
        if len(folds) < 2:
            raise ValueError(f"At least two folds are needed, got {len(folds)}.")
        if getattr(self.target, "scheme", "multilabel") != "multilabel":
            n_classes = len(self.target.classes)
            if any(len(np.unique(self.target.code[f.train])) < n_classes for f in folds):
                raise ValueError(
                    "A class has no training rows in one of the folds. Use fewer folds or "
                    "stratified ones."
                )
        return folds

    def _fingerprint(self, y):
        if self.options.results_file is None:
            return None
        omitted = ("results_file", "verbose", "n_jobs", "cv", "rule")
        settings = self.options.get_params()
        settings = {name: settings[name] for name in sorted(settings) if name not in omitted}
        folds = [part for fold in self.folds for part in fold]
        return fingerprint(
            b"".join(self.digests), np.asarray(y), self.weights, settings, self.gammas, *folds
        )

    def run(self):
        """The candidates of each round."""
        if self.options.strategy == "grid":
            return [self._round(self.Cs, self.gammas)]
        gammas = coarse(self.gammas) if not isinstance(self.gammas[0], str) else self.gammas
        first = self._round(coarse(self.Cs), gammas)
        best = first.params[int(np.nanargmax(first.rows("scores").mean(axis=1)))]
        Cs = fine(best["C"], first.Cs)
        return [first, self._round(Cs, fine(best["gamma"], gammas))]

    @threads()
    def _round(self, Cs, gammas):
        shape = (len(Cs), len(self.epsilons), len(gammas), len(self.folds))
        scores, n_support, fit_time = np.empty((3, *shape))
        grid = Grid(self.epsilons, np.array(Cs))
        for g, gamma in enumerate(gammas):
            for f, result in enumerate(self._folds_of(gamma, grid)):
                scores[:, :, g, f] = result.scores
                n_support[:, :, g, f] = result.n_support
                fit_time[:, :, g, f] = result.fit_time[:, None] / len(self.epsilons)
        return Candidates(grid.Cs, self.epsilons, gammas, scores, n_support, fit_time)

    def _folds_of(self, gamma, grid):
        """Results of all folds with one gamma, which share the matrix."""
        keys = [(str(gamma), str(grid.Cs.tolist()), f) for f in range(len(self.folds))]
        open_ = [f for f, key in enumerate(keys) if key not in self.journal.done]
        if open_:
            model = clone(self.model).set_params(gamma=gamma)
            description = model._describe(self.X, self.weights)
            training = model._make_training(description, self.weights, self.digests)
            tol = self.options.path_tol
            tasks = [(training, self.target, self.folds[f], grid, self.score, tol) for f in open_]
            found = results(fold_result, tasks, self.options, prefer="threads")
            for f, result in zip(open_, found, strict=True):
                self.journal.add(keys[f], result)
        return [self.journal.done[key] for key in keys]
