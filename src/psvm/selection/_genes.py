"""`GeneSelector`: the gene selection protocol as an estimator, with an honest error."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import LeaveOneOut, ParameterGrid
from sklearn.svm import NuSVC
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .._docstrings import document
from .._fitted import LEFT_OUT, ArrayOf, Count, FittedPart, Given, Instance, Maybe, Permutation
from .._folds import make_splits
from .._parallel import run
from .._parameters import Choice, Flag, Has, Integer, Jobs, Later, Optional, check_parameters
from .._progress import progress
from .._typing import ArrayLike, CVLike, Estimator, MatrixLike, RandomState, available_if
from .._validation import (
    check_labels,
    check_list,
    check_positive_integer,
    check_seed,
    random_numbers,
    shown,
    validate_data,
)
from ._checks import CheckedSelectorMixin, check_epsilons, check_folds, check_n_features, validate
from ._nu_svm import LinearNuSVC, NuSVCThroughOrigin
from ._preprocessing import SIDES
from ._protocol import (
    Scaled,
    SizeSearch,
    checked,
    combine,
    epsilon_list,
    fit_or_none,
    fold_errors,
    from_the_first,
    inner_loop,
    inner_loops,
    prepare,
    take,
)
from ._redundancy import StandInsMixin
from ._results import SelectionEvaluation, SelectionSignificance, SelectionStability
from ._stability import FeatureGroup, StabilitySelector
from ._targets import code_classes, numeric_targets, ranking_of

REMEDY = (
    "Fill in the missing values inside the folds: "
    "GeneSelector(preprocessing=SimpleImputer(keep_empty_features=True))."
)
MOST_EPSILONS, MOST_PERMUTATIONS = 10_000, 10**6
"""Beyond these, more say nothing new."""
NU = (0.2, 0.4, 0.6, 0.8)
"""Values of nu among which the default classifier chooses, if they are feasible."""
NU_THROUGH_ORIGIN = (*NU, 1.0)
"""The same without an intercept; nu = 1 has a margin even if the classes overlap."""


@document()
class GeneSelector(StandInsMixin, ClassifierMixin, CheckedSelectorMixin, BaseEstimator):
    """Gene selection by leave-one-out P-SVM rankings, with a final classifier.

    1. The preprocessing is fitted and P-SVM selections are made for a list of epsilons, once for
       each fold, without the samples that the fold leaves out. The list is the same for all
       folds; it is chosen once, from the path of all samples, evenly spaced from the epsilon
       that selects about seven genes to the one that selects about as many as there are samples.
    2. Genes are ranked by how many folds select them; ties are broken by the mean position in the
       list of the first epsilon that selects them.
    3. In each fold classifiers are trained on the best genes of that fold. The number of genes F
       and the parameters with the lowest error on the left-out samples, averaged over F - a, F and
       F + a, are chosen.
    4. The classifier is trained on all samples, with the F best genes of the joint ranking.

    Genes are standardised for the classifier, and values of new samples are clipped to the range
    of the training samples (`clip`).

    The error by which F was chosen, `inner_error_`, is too small: use `evaluate`, which repeats
    all of this without the samples that it tests. How many of the genes may be false is told by
    `stability`.

    Parameters
    ----------
    preprocessing : transformer, default=None
        Applied to the samples first, such as a pipeline of `log_transformer`,
        `QuantileNormalizer`, `PresentCall` or scikit-learn's `SimpleImputer`. It is fitted again
        in each fold. It may drop features but not combine them.
    n_features : "auto", int or list of int, default="auto"
        The numbers of genes to choose from. "auto": the multiples of `smoothing` (or
        of 5) up to the number of samples, or all numbers if there are few features.
    smoothing : int, default=5
        The number a; with 0 errors are not smoothed.
    epsilons : list of float, default=None
        The decreasing list of epsilons. None chooses it as above.
    n_epsilons : int, default=20
        Length of the list if `epsilons` is None.
    classifier : classifier, default=None
        Any scikit-learn classifier. None means a `LinearNuSVC`.
    fit_intercept : bool, default=True
        Whether the default classifier has an intercept. Without one it is a
        `NuSVCThroughOrigin`. Another `classifier` has parameters of its own for this.
    param_grid : dict or list of dict, default=None
        Parameters of the classifier to choose from, as for `GridSearchCV`. None means values
        of nu for the default classifier, and no search for any other. Values of
        nu that the sizes of the classes make infeasible in some fold are left out. A value whose
        margin is zero on the training samples of a fold has an error of 1 there, and is not
        chosen if its margin is zero on all samples.
    clip : {"both", "above", "none"}, default="both"
        Which values of new samples are clipped to the range of the training samples.
    cv : int or cross-validation splitter, default=None
        The folds. None means leave-one-out.
    n_jobs : int, default=None
        Number of processes; the result does not depend on it.
    {verbose}

    Attributes
    ----------
    order_ : ndarray of shape (n_features_in_,)
        Indices of the genes, best first; genes that no fold selects come last.
    ranking_ : ndarray of shape (n_features_in_,)
        1 for a selected gene, then 2, 3, ... in that order.
    frequency_ : ndarray of shape (n_features_in_,)
        Share of the folds that select a gene.
    mean_rank_ : ndarray of shape (n_features_in_,)
        Mean position in the list of the first epsilon that selects a gene, infinite if none does.
    n_features_ : int
        Number of selected genes F.
    best_params_ : dict
        The parameters of the classifier.
    inner_error_ : float
        The lowest smoothed error; it is biased because it was minimised.
    search_ : SizeSearch
        All errors of the outer loop.
    epsilons_ : list of ndarray
        The epsilons, one array per target.
    classifier_ : classifier
        The classifier, trained on all samples.
    preprocessing_ : transformer or None
        The preprocessing, fitted to all samples.
    classes_ : ndarray
        The class labels.
    {n_features_in_, feature_names_in_}

    See Also
    --------
    PSVMSelector : One P-SVM selection.

    Notes
    -----
    With more than two classes there is one target per class, that class against the rest, with
    its own list of epsilons. A gene is selected if it is selected for any target, and its best
    rank counts.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import GeneSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 200))
    >>> y = np.where(X[:, 7] - X[:, 42] > 0, "sick", "well")
    >>> genes = GeneSelector(n_features=[2, 4, 6], smoothing=0, cv=5).fit(X, y)
    >>> np.sort(genes.order_[:2])
    array([ 7, 42])
    >>> genes.evaluate(X, y, cv=4).error < 0.2
    True
    """

    order_: np.ndarray
    ranking_: np.ndarray
    frequency_: np.ndarray
    mean_rank_: np.ndarray
    n_features_: int
    best_params_: dict[str, Any]
    inner_error_: float
    search_: SizeSearch
    epsilons_: list[np.ndarray]
    classifier_: Estimator
    preprocessing_: Estimator
    classes_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray

    _constraints: ClassVar = {
        "preprocessing": Optional(Has("fit_transform", "transform", what="a transformer")),
        "n_features": Later(),
        "smoothing": Integer(most=10**9),
        "epsilons": Optional(check_epsilons),
        "n_epsilons": Integer(least=1, most=MOST_EPSILONS),
        "classifier": Optional(Has("fit", "predict", what="a classifier")),
        "fit_intercept": Flag(),
        "param_grid": Later(),
        "clip": Choice(*SIDES),
        "cv": Later(),
        "n_jobs": Jobs(),
        "verbose": Flag(),
    }

    _fitted: ClassVar = {
        "_scaled": Instance(Scaled),
        "classifier_": FittedPart(BaseEstimator, "predict"),
        "preprocessing_": Maybe(FittedPart(BaseEstimator, "transform")),
        "order_": Permutation("p"),
        "ranking_": ArrayOf("p", kinds="i"),
        "n_features_": Count("chosen", least=1),
        "frequency_": Maybe(ArrayOf("p")),
        "mean_rank_": Maybe(Given()),
        "inner_error_": Maybe(Given()),
        "best_params_": Maybe(Given()),
        "epsilons_": LEFT_OUT,
        "search_": LEFT_OUT,
    }

    def __init__(
        self,
        *,
        preprocessing: Any = None,
        n_features: int | Sequence[int] | Literal["auto"] = "auto",
        smoothing: int = 5,
        epsilons: Sequence[float] | None = None,
        n_epsilons: int = 20,
        classifier: Any = None,
        fit_intercept: bool = True,
        param_grid: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        clip: Literal["both", "above", "none"] = "both",
        cv: CVLike = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.preprocessing = preprocessing
        self.n_features = n_features
        self.smoothing = smoothing
        self.epsilons = epsilons
        self.n_epsilons = n_epsilons
        self.classifier = classifier
        self.fit_intercept = fit_intercept
        self.param_grid = param_grid
        self.clip = clip
        self.cv = cv
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.preprocessing is None
        tags.input_tags.allow_nan = self.preprocessing is not None
        return tags

    def fit(self, X: MatrixLike, y: ArrayLike) -> Self:
        """Rank the genes, choose their number and train the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Expression values; samples are rows.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : GeneSelector
        """
        X, y = self._validate(X, y)
        targets, splits = numeric_targets(code_classes(y)), self._splits(X, y, self.cv)
        sizes, candidates = self._sizes(*X.shape)
        params = self._params(y, splits)
        prepared = self._prepare(X, y)
        lists = self._lists(prepared.Z, targets)
        models = [self._model().set_params(**p) for p in params]
        tasks = [(self, X, y, targets, *split, lists, sizes, models) for split in splits]
        with progress("GeneSelector", self.verbose):
            found = run(_fold, tasks, self.n_jobs)
        loops, errors = zip(*found, strict=True)
        outer = combine(loops)
        search = SizeSearch(sizes, candidates, params, np.mean(errors, axis=0), self._step())
        self._keep(prepared, y, lists, outer, search, models)
        return self

    def evaluate(self, X: MatrixLike, y: ArrayLike, cv: CVLike = None) -> SelectionEvaluation:
        """Estimate the error of the whole protocol, honestly.

        Everything that `fit` does, including the choice of the number of genes and of the
        parameters, is repeated in each fold without the samples that are predicted there.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Expression values; samples are rows.
        y : array-like of shape (n_samples,)
            Class labels.
        cv : int or cross-validation splitter, default=None
            The folds. None means leave-one-out.

        Returns
        -------
        SelectionEvaluation
        """
        X, y = GeneSelector._validate(clone(self), X, y)
        splits = self._splits(X, y, cv)
        inner = clone(self).set_params(n_jobs=None, verbose=False)
        for train, _ in splits:  # all complaints come before the work
            X_train, y_train = take(X, train), y[train]
            inner._params(y_train, inner._splits(X_train, y_train, self.cv))
            inner._sizes(*X_train.shape)
        tasks = [(inner, X, y, train, test) for train, test in splits]
        with progress("GeneSelector.evaluate", self.verbose):
            found = run(_evaluate_fold, tasks, self.n_jobs, "outer folds")
        predictions, *others = zip(*found, strict=True)
        return SelectionEvaluation.create(y, splits, predictions, *others)

    def significance(
        self,
        X: MatrixLike,
        y: ArrayLike,
        n_permutations: int = 20,
        random_state: RandomState = None,
    ) -> SelectionSignificance:
        """Compare the selection frequencies with those for shuffled labels.

        The score of a gene is the share of folds and epsilons for which it is selected, where the
        epsilons begin at the one that selects the first gene. The labels are shuffled
        `n_permutations` times and the scores computed with the same epsilons; the scores of all
        genes together are the null distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Expression values; samples are rows.
        y : array-like of shape (n_samples,)
            Class labels.
        n_permutations : int, default=20
            Number of shuffles; the smallest p-value is one over this times the number of genes.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the shuffles.

        Returns
        -------
        SelectionSignificance
        """
        check_positive_integer("n_permutations", n_permutations, most=MOST_PERMUTATIONS)
        check_seed("random_state", random_state)
        X, y = GeneSelector._validate(clone(self), X, y)
        self._splits(X, y, self.cv)
        random = random_numbers(random_state)
        labels = [y, *(random.permutation(y) for _ in range(n_permutations))]
        Z, targets = self._prepare(X, y).Z, numeric_targets(code_classes(y))
        lists = self._lists(Z, targets)
        if self.epsilons is None:
            lists = [from_the_first(Z, t, list_) for t, list_ in zip(targets, lists, strict=True)]
        inner = clone(self).set_params(n_jobs=None, verbose=False)
        tasks = [(inner, X, shuffled, lists) for shuffled in labels]
        with progress("GeneSelector.significance", self.verbose):
            found = run(_stability, tasks, self.n_jobs, "permutations")
        frequencies, scores = zip(*found, strict=True)
        return SelectionSignificance.create(frequencies[0], scores[0], np.array(scores[1:]))

    def stability(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        q: int | None = None,
        threshold: float | None = None,
        pfer: float | None = None,
        random_state: RandomState = None,
        **options: Any,
    ) -> SelectionStability:
        """Selection frequencies in halves of the samples, with a bound of the false selections.

        The frequencies of the folds of `fit` say which genes are stable, but not how many of them
        are false. Those of a `StabilitySelector` do. The preprocessing is fitted once, to all
        samples: it should not use y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Expression values; samples are rows.
        y : array-like of shape (n_samples,)
            Labels of classes.
        q, threshold, pfer : default=None
            Two of them, as for `StabilitySelector`.
        random_state : int, Generator, RandomState or None, default=None
            Seed of the halves.
        **options
            Other parameters of `StabilitySelector`.

        Returns
        -------
        SelectionStability
        """
        given = {"q": q, "threshold": threshold, "pfer": pfer, "random_state": random_state}
        given = {"n_jobs": self.n_jobs, "verbose": self.verbose, **given, **options}
        selector = StabilitySelector(task="classification").set_params(**given)
        X, y = GeneSelector._validate(clone(self), X, y)
        prepared = self._prepare(X, y)
        selector.fit(prepared.Z, y)
        names = np.array(getattr(X, "columns", np.empty(0)), dtype=object)
        frequency = np.zeros(X.shape[1])
        frequency[prepared.kept] = selector.frequencies_
        groups = []
        for group in selector.groups_:
            genes = prepared.kept[group.features]
            groups.append(
                FeatureGroup(genes, group.frequency, names[genes] if len(names) else None)
            )
        selected = prepared.kept[selector.order_[: selector.n_features_]]
        return SelectionStability(frequency, selected, selector.parameters_, groups)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predicted classes of new samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Expression values in the form of the training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        Z = self._describe(X)
        return self.classifier_.predict(Z)

    @available_if(lambda self: hasattr(self._model(), "decision_function"))
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Decision values of the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Expression values in the form of the training samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        Z = self._describe(X)
        return self.classifier_.decision_function(Z)

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.ranking_ == 1

    def _validate(self, X, y):
        """Validated X and y. A DataFrame stays one if there is a preprocessing to see its names."""
        finite = True if self.preprocessing is None else "allow-nan"
        array, y = validate(self, X, y, remedy=REMEDY, ensure_all_finite=finite)
        check_labels("y", y)
        check_parameters(self)
        keep = self.preprocessing is not None and hasattr(X, "iloc")
        return (X if keep else array), y

    def _splits(self, X, y, cv):
        """The folds, each with all classes in its training part."""
        code_classes(y)  # complains about a single class
        cv = LeaveOneOut() if cv is None else cv
        splits = make_splits(cv, X, y, classifier=True)
        check_folds(splits, y)
        return splits

    def _step(self):
        return int(self.smoothing)

    def _sizes(self, n_samples, n_features):
        """All numbers of genes to try, and those among which one is chosen."""
        if isinstance(self.n_features, str) and self.n_features == "auto":
            step, most = self._step() or 5, min(n_samples, n_features)
            candidates = range(1, most + 1) if most < 3 * step else range(step, most + 1, step)
        else:
            single = isinstance(self.n_features, numbers.Number)
            candidates = [self.n_features] if single else check_list("n_features", self.n_features)
            for value in candidates:
                check_n_features(value, n_features)
        candidates = np.unique(np.array(candidates, dtype=np.intp))
        near = [candidates - self._step(), candidates, candidates + self._step()]
        sizes = np.unique(np.concatenate(near))
        return sizes[(sizes >= 1) & (sizes <= n_features)], candidates

    def _model(self):
        if self.classifier is not None:
            return clone(self.classifier)
        return LinearNuSVC() if self.fit_intercept else NuSVCThroughOrigin()

    def _params(self, y, splits):
        """The parameters to try; values of nu only if they are feasible in all folds."""
        limited = isinstance(self._model(), LinearNuSVC | NuSVC)
        parts = (y, *(y[train] for train, _ in splits)) if limited else ()
        limit = min((_nu_limit(part) for part in parts), default=np.inf)
        grid = self.param_grid
        if grid is None and self.classifier is None:
            values = NU if self.fit_intercept else NU_THROUGH_ORIGIN
            grid = {"nu": [nu for nu in values if nu < limit] or [limit / 2]}
        try:
            params = list(ParameterGrid({} if grid is None else grid))
            for values in params:
                self._model().set_params(**values)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"param_grid={shown(self.param_grid)} has no parameters of the classifier. {error}"
            ) from error
        if limited:
            feasible = [p for p in params if p.get("nu", self._model().nu) < limit]
            if not feasible:
                raise ValueError(
                    f"All values of nu are infeasible: the sizes of the classes allow nu < "
                    f"{limit:.3g} in all folds. Add a smaller one to param_grid."
                )
            params = feasible
        return params

    def _prepare(self, X, y):
        names = getattr(X, "columns", None)
        names = [f"x{j}" for j in range(X.shape[1])] if names is None else list(names)
        return prepare(self.preprocessing, X, y, names, REMEDY)

    def _lists(self, Z, targets):
        """The epsilons of each target."""
        if self.epsilons is not None:
            return [check_epsilons("epsilons", self.epsilons)] * len(targets)
        with threadpool_limits(1):
            lists = [epsilon_list(Z, target, self.n_epsilons) for target in targets]
        if not any(map(len, lists)):
            raise ValueError("No feature of X is related to y: all features are constant.")
        return lists

    def _keep(self, prepared, y, lists, outer, search, models):
        """Train the final classifier and set all fitted attributes."""
        usable = np.isin(outer.order, prepared.kept) & (outer.frequency[outer.order] > 0)
        usable = outer.order[usable]
        if not len(usable):
            raise ValueError("No fold selects any feature; the epsilons are too large.")
        place = np.empty(len(outer.order), dtype=np.intp)
        place[prepared.kept] = np.arange(len(prepared.kept))
        scaled = Scaled(prepared.Z, place[usable[: search.sizes[-1]]], self.clip)
        best, k, error, self.classifier_ = _first_possible(search, models, scaled.train, y)
        chosen = usable[:best]
        selected = np.isin(outer.order, chosen)
        order = np.concatenate([outer.order[selected], outer.order[~selected]])
        self._scaled = Scaled(prepared.Z, place[chosen], self.clip)
        self._scaled.train = None
        self.preprocessing_ = prepared.transformer
        self.order_ = order
        self.n_features_ = len(chosen)
        self.ranking_ = ranking_of(order, self.n_features_)
        self.frequency_, self.mean_rank_ = outer.frequency, outer.mean_rank
        self.epsilons_, self.search_ = lists, search
        self.best_params_, self.inner_error_ = search.params[k], error
        self.classes_ = np.unique(y)

    def _describe(self, X):
        """The selected genes of new samples, preprocessed, clipped and standardised."""
        check_is_fitted(self)
        finite = True if self.preprocessing_ is None else "allow-nan"
        array = validate_data(
            self,
            X,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_all_finite=finite,
            reset=False,
        )
        if self.preprocessing_ is None:
            return self._scaled.transform(array)
        X = X if hasattr(X, "iloc") else array
        return self._scaled.transform(checked(self.preprocessing_.transform(X), REMEDY))

    def _check_fitted(self, state):
        """What is done with the chosen features before they are classified."""
        k, index, classifier = self.n_features_, self._scaled.index, self.classifier_
        state.require(np.count_nonzero(self.ranking_ == 1) == k, "n_features_ is wrong")
        state.require(len(index) == k, "it has another number of columns")
        inside = state.has("preprocessing_") or index.max() < state.features()
        state.require(inside, "its columns are wrong")
        ok = type(classifier) is type(self._model())
        ok = ok and getattr(classifier, "n_features_in_", k) == k
        state.require(ok, "its classifier does not fit")
        known = getattr(classifier, "classes_", None)
        state.same_classes(self.classes_, known, "its classifier")


def _first_possible(search, models, Z, y):
    """The best number of genes and parameters with a solution on all samples.

    Returns
    -------
    size, k : int
        The number of genes and the place of the parameters.
    error : float
        Their smoothed error.
    classifier : classifier
        Trained on all samples.
    """
    for size, k, error in search.ranked():
        classifier = fit_or_none(models[k], Z[:, :size], y)
        if classifier is not None:
            return size, k, error, classifier
    raise ValueError(
        "The margin of the classifier is zero on all samples for every number of genes and every "
        "value of nu. Add larger values of nu to param_grid."
    )


def _fold(selector, X, y, targets, train, test, lists, sizes, models):
    """Inner loop and errors of one fold; nothing of the left-out samples is seen before."""
    with threadpool_limits(1), config_context(assume_finite=True, skip_parameter_validation=True):
        loop, prepared = _inner_loop(selector, X, y, targets, train, lists)
        best = loop.order[: sizes[-1]]
        if len(best):
            scaled, Z_test = Scaled(prepared.Z, best, selector.clip), take(X, test)
            if prepared.transformer is not None:
                Z_test = checked(prepared.transformer.transform(Z_test), REMEDY)
            errors = fold_errors(scaled, y[train], Z_test, y[test], sizes, models)
        else:  # nothing to go by: the largest class
            classes, counts = np.unique(y[train], return_counts=True)
            wrong = np.mean(y[test] != classes[np.argmax(counts)])
            errors = np.full((len(sizes), len(models)), wrong)
    return loop.at(prepared.kept, X.shape[1]), errors


def _inner_loop(selector, X, y, targets, train, lists):
    prepared = selector._prepare(take(X, train), y[train])
    return inner_loop(prepared.Z, targets[:, train], lists), prepared


def _evaluate_fold(selector, X, y, train, test):
    """Predictions of the whole protocol without the samples that are predicted."""
    fitted = clone(selector).fit(take(X, train), y[train])
    support = fitted.order_[: fitted.n_features_]
    return fitted.predict(take(X, test)), fitted.inner_error_, support, fitted.best_params_


def _stability(selector, X, y, lists):
    """Shares of folds, and of folds and epsilons, that select each feature; no classifier."""
    with threadpool_limits(1):
        targets = numeric_targets(code_classes(y))
        folds = [train for train, _ in selector._splits(X, y, selector.cv)]
        if selector.preprocessing is None:
            loops = inner_loops(X, targets, folds, lists)
        else:
            loops = []
            for train in folds:
                loop, prepared = _inner_loop(selector, X, y, targets, train, lists)
                loops.append(loop.at(prepared.kept, X.shape[1]))
    n_epsilons = max(map(len, lists))
    shares = [np.where(loop.ranks > 0, n_epsilons + 1 - loop.ranks, 0) for loop in loops]
    return combine(loops).frequency, np.mean(shares, axis=0) / n_epsilons


def _nu_limit(y):
    """Nu is feasible below twice the share of the smaller class, for every pair of classes."""
    counts = np.sort(np.unique(y, return_counts=True)[1])
    smallest, largest = counts[0], counts[-1]
    return 2 * smallest / (smallest + largest)
