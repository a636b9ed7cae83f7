"""`StabilitySelector`: features that most halves of the rows select, with an error bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._docstrings import document
from .._fitted import ArrayOf, Count, Instance, Maybe, Names, Permutation
from .._journal import Journal, fingerprint
from .._parallel import results
from .._parameters import FilePath, Flag, Jobs, Later, Number, Optional, Seed, check_parameters
from .._progress import progress
from .._summary import SummaryMixin
from .._typing import ArrayLike, MatrixLike, RandomState, StrPath
from .._validation import random_numbers
from ..matrix import Standardized, as_matrix, by_columns, stored_parts
from ..solvers import check_weights, epsilon_paths
from ._checks import CheckedSelectorMixin, validate
from ._error_bounds import StabilityParameters, check_setting, stability_parameters
from ._redundancy import StandInsMixin
from ._targets import code_target, numeric_targets, ranking_of

REMEDY = (
    "Fill in the missing values inside a pipeline, such as "
    "make_pipeline(SimpleImputer(keep_empty_features=True), StabilitySelector())."
)
TOGETHER = 20
"""Subsamples whose paths are followed side by side and kept together in a results file."""
LOWEST = 1e-4
"""A path ends at this share of epsilon_max, if fewer than q features have entered."""
LEADERS = 64
"""Features whose correlations with the others are computed at once."""


@dataclass(frozen=True, eq=False)
class FeatureGroup:
    """Features that are highly correlated with one of them.

    Attributes
    ----------
    features : ndarray of int
        The most frequent one first, with which the others are correlated.
    frequency : float
        Share of the subsamples that select any of them.
    names : ndarray of str or None
        The names of the features, if they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.selection import FeatureGroup
    >>> print(FeatureGroup(np.array([7, 12]), 0.96))
    7, 12: 0.96
    """

    features: np.ndarray
    frequency: float
    names: np.ndarray | None = None

    _fitted: ClassVar = {
        "features": ArrayOf("features", kinds="i", least=0),
        "names": Maybe(Names("features")),
        "frequency": Number(),
    }

    def __str__(self):
        names = self.features if self.names is None else self.names
        return f"{', '.join(map(str, names))}: {self.frequency:.2f}"

    def _check_fitted(self, state):
        state.require(len(self.features) > 0, "its features are wrong")


class Entries(NamedTuple):
    """What some subsamples select, one row each: the features as they enter, -1 for none."""

    features: np.ndarray


@document()
class StabilitySelector(SummaryMixin, StandInsMixin, CheckedSelectorMixin, BaseEstimator):
    """Select features that most random halves of the rows select, with an error bound.

    For each half of the rows the exact path of the P-SVM is followed until q features have
    entered. A feature is selected if this happens to it in at least a share `threshold` of the
    halves. Then the expected number of falsely selected features is at most `pfer`. Give two of
    q, `threshold` and `pfer`; the third one follows from them.

    Parameters
    ----------
    q : int, default=None
        Number of features that each half selects. If it is computed, it is less than the number of
        rows of a half.
    threshold : float, default=None
        Share of the halves that have to select a feature, more than 1/2 and at most 1. It is 0.75
        unless both q and `pfer` are given.
    pfer : float, default=None
        Bound of the expected number of false selections (per-family error rate). It is 1 if
        neither it nor q is given.
    n_subsamples : int, default=100
        Number of halves; 100 of them are 50 complementary pairs.
    sampling : {"pairs", "subsamples"}, default="pairs"
        "pairs" divides the rows into two halves again and again (Shah & Samworth 2013),
        "subsamples" draws half of the rows each time (Meinshausen & Bühlmann 2010). With classes,
        each of them is halved.
    assumption : {"none", "unimodal", "r-concave"}, default="unimodal"
        What the bound assumes of the share of pairs in which both halves select a false feature:
        nothing, or that its distribution over data sets is unimodal or r-concave. The more is
        assumed, the larger q may be. "subsamples" need "none".
    task : {"auto", "classification", "regression"}, default="auto"
        What y is, as for `PSVMSelector`.
    group_correlation : float, default=0.9
        Features whose absolute correlation is at least this large form a group in `groups_`.
    random_state : int, Generator, RandomState or None, default=None
        Random numbers for the halves.
    n_jobs : int, default=None
        Number of processes; the result does not depend on it.
    results_file : path-like, default=None
        A file that keeps what halves select as soon as it is known. A fit that was interrupted
        goes on from it, if `random_state` is an integer; one with other data or another q refuses
        it.
    {verbose}

    Attributes
    ----------
    frequencies_ : ndarray of shape (n_features_in_,)
        Share of the halves that select a feature.
    entries_ : ndarray of shape (n_subsamples, q)
        The features that each half selects, in the order in which they enter; -1 where fewer do.
    paths_ : csr_array of shape (q, n_features_in_)
        Row k has the shares of the halves in which a feature is one of the first k + 1. The
        last row is `frequencies_`.
    groups_ : list of FeatureGroup
        All features that any half selects, in groups of highly correlated ones, the most
        frequent group first. The error bound is about features, not about groups.
    parameters_ : StabilityParameters
        q, threshold and pfer that were used. `pfer` is the bound that they give.
    order_ : ndarray of shape (n_features_in_,)
        Indices of the features by decreasing frequency, then by the mean place of entry.
    ranking_ : ndarray of shape (n_features_in_,)
        1 for a selected feature, then 2, 3, ... in that order.
    n_features_ : int
        Number of selected features.
    classes_ : ndarray
        The class labels of a classification.
    {n_features_in_, feature_names_in_}

    See Also
    --------
    KnockoffSelector : Bounds the false discovery rate, the share of false selections.
    stability_parameters : The parameters before there is data.
    PSVMSelector : One P-SVM selection of all rows.

    Notes
    -----
    A feature is false if the halves select it less often than a random choice of q features would;
    the bound is about these. It needs exchangeable false features or not ("none" with pairs needs
    nothing but independent rows); see docs/explanation/selection.md. Columns that do not vary do
    not count.

    With more than two classes, or several columns of y, there is one target for each, and all
    have the same correlation threshold ``epsilon / ||y||``: the q features that enter first for
    any target are selected.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import StabilitySelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 500))
    >>> y = np.where(X[:, 7] - X[:, 42] > 0, "sick", "well")
    >>> selector = StabilitySelector(pfer=0.5, threshold=0.8, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([ 7, 42])
    >>> print(selector.parameters_)
    at most 0.476 false selections expected (17 of 500 features in each of 100 subsamples, \
threshold 0.8, unimodal)
    """

    frequencies_: np.ndarray
    entries_: np.ndarray
    groups_: list[FeatureGroup]
    parameters_: StabilityParameters
    order_: np.ndarray
    ranking_: np.ndarray
    n_features_: int
    classes_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray

    _constraints: ClassVar = {
        "q": Later(),
        "threshold": Later(),
        "pfer": Later(),
        "n_subsamples": Later(),
        "sampling": Later(),
        "assumption": Later(),
        "task": Later(),
        "group_correlation": Number(above=0, most=1),
        "random_state": Seed(),
        "n_jobs": Jobs(),
        "results_file": Optional(FilePath()),
        "verbose": Flag(),
    }

    _fitted: ClassVar = {
        "parameters_": Instance(StabilityParameters),
        "entries_": ArrayOf("subsamples", "q", kinds="i", least=-1),
        "frequencies_": ArrayOf("p"),
        "groups_": Instance(list),
        "order_": Permutation("p"),
        "ranking_": ArrayOf("p", kinds="i"),
        "n_features_": Count(),
    }

    def __init__(
        self,
        q: int | None = None,
        *,
        threshold: float | None = None,
        pfer: float | None = None,
        n_subsamples: int = 100,
        sampling: Literal["pairs", "subsamples"] = "pairs",
        assumption: Literal["none", "unimodal", "r-concave"] = "unimodal",
        task: Literal["auto", "classification", "regression"] = "auto",
        group_correlation: float = 0.9,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        results_file: StrPath | None = None,
        verbose: bool = False,
    ) -> None:
        self.q = q
        self.threshold = threshold
        self.pfer = pfer
        self.n_subsamples = n_subsamples
        self.sampling = sampling
        self.assumption = assumption
        self.task = task
        self.group_correlation = group_correlation
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.results_file = results_file
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Follow the paths of all halves and select.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels of classes, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors. Rows of weight 0 are not there.

        Returns
        -------
        self : StabilitySelector
        """
        check_parameters(self)
        bounds = self.n_subsamples, self.sampling, self.assumption
        check_setting(self.q, self.threshold, self.pfer, *bounds)
        X, y = validate(self, X, y, remedy=REMEDY, multi_output=True)
        weights = check_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if weights is None else weights
        target = code_target(y, self.task)
        halves = self._halves(target, weights)
        matrix = as_matrix(by_columns(X))
        standardized = Standardized(matrix, weights)
        parameters = self._parameters(max(int((standardized.norms > 0).sum()), 1), halves)
        with progress("StabilitySelector", self.verbose):
            entries = self._entries(X, matrix, numeric_targets(target), halves, parameters.q)
        self._keep(standardized, target, entries, parameters)
        return self

    def _parameters(self, n_features, halves):
        """q, threshold and pfer. A half determines fewer features than it has rows."""
        setting = {
            "n_subsamples": self.n_subsamples,
            "sampling": self.sampling,
            "assumption": self.assumption,
        }
        given = {"q": self.q, "threshold": self.threshold, "pfer": self.pfer}
        found = stability_parameters(n_features, **given, **setting)
        most = int((halves > 0).sum(axis=0).min()) - 1
        if self.q is None and found.q > most:
            found = stability_parameters(n_features, q=most, threshold=found.threshold, **setting)
        return found

    def _halves(self, target, weights):
        """Weights of the rows in each half, as columns."""
        random, present = random_numbers(self.random_state), weights > 0
        labels = target.classifies and target.scheme != "multilabel"
        strata = [np.flatnonzero(present)]
        if labels:
            strata = [np.flatnonzero((target.code == c) & present) for c in np.unique(target.code)]
            for label, rows in zip(target.classes.tolist(), strata, strict=True):
                if len(rows) < 2:
                    raise ValueError(
                        f"Class {label!r} of y has {len(rows)} rows; each half needs at least one. "
                        "Leave this class out, or join it with another one."
                    )
        if sum(len(rows) // 2 for rows in strata) < 2:
            raise ValueError(
                f"StabilitySelector needs at least 4 rows, got {present.sum()}: each half has to "
                "vary."
            )
        n_draws = self.n_subsamples // 2 if self.sampling == "pairs" else self.n_subsamples
        halves = []
        for _ in range(n_draws):
            first, second = np.zeros((2, len(weights)))
            for rows in strata:
                mixed, half = random.permutation(rows), len(rows) // 2
                first[mixed[:half]] = weights[mixed[:half]]
                second[mixed[half : 2 * half]] = weights[mixed[half : 2 * half]]
            halves += [first, second] if self.sampling == "pairs" else [first]
        return np.array(halves).T

    def _entries(self, X, matrix, targets, halves, q):
        """The features that each half selects."""
        search = None
        if self.results_file is not None:
            search = fingerprint(*stored_parts(X), X.shape, targets, halves, q)
        with Journal(self.results_file, search, Entries) as journal:
            starts = range(0, halves.shape[1], TOGETHER)
            missing = [start for start in starts if (start,) not in journal.done]
            tasks = [(matrix, targets, halves[:, start : start + TOGETHER], q) for start in missing]
            new = (
                results(_first_to_enter, tasks, self.n_jobs, f"times {TOGETHER} halves")
                if tasks
                else []
            )
            for start, found in zip(missing, new, strict=True):
                journal.add((start,), found)
            return np.concatenate([journal.done[(start,)].features for start in starts])

    def _keep(self, standardized, target, entries, parameters):
        """Set all fitted attributes at once."""
        n_features = standardized.shape[1]
        half, place = np.nonzero(entries >= 0)
        entered = entries[half, place]
        counts = np.bincount(entered, minlength=n_features)
        places = np.bincount(entered, weights=place, minlength=n_features)
        self.entries_, self.parameters_ = entries, parameters
        self.frequencies_ = counts / len(entries)
        self.order_ = np.lexsort((places / np.maximum(counts, 1), -counts))
        self.n_features_ = int((counts >= parameters.n_needed).sum())
        self.ranking_ = ranking_of(self.order_, self.n_features_)
        names = getattr(self, "feature_names_in_", None)
        candidates = self.order_[: np.count_nonzero(counts)]
        groups = _groups(standardized, candidates, self.group_correlation)
        self.groups_ = _reported(groups, entries, names)
        if target.classifies and target.scheme != "multilabel":
            self.classes_ = target.classes

    @property
    def paths_(self) -> sp.csr_array:
        """Shares of the halves in which a feature is one of the first to enter."""
        check_is_fitted(self)
        half, place = np.nonzero(self.entries_ >= 0)
        features, columns = np.unique(self.entries_[half, place], return_inverse=True)
        counts = np.zeros((self.entries_.shape[1], len(features)))
        np.add.at(counts, (place, columns), 1.0)
        shares = sp.coo_array(counts.cumsum(axis=0) / len(self.entries_))
        shape = len(counts), self.n_features_in_
        return sp.csr_array((shares.data, (shares.row, features[shares.col])), shape=shape)

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.ranking_ == 1

    def _check_fitted(self, state):
        """What the halves select, and what follows from it."""
        p, entries, parameters = state.features(), self.entries_, self.parameters_
        ok = entries.shape == (parameters.n_subsamples, parameters.q) and entries.size > 0
        state.require(ok, "its entries have a wrong shape")
        state.require(entries.max() < p, "its entries are wrong")
        counts = np.bincount(entries[entries >= 0], minlength=p)
        n = np.count_nonzero(counts >= parameters.n_needed)
        state.require(self.n_features_ == n, "n_features_ is wrong")
        ok = all(isinstance(g, FeatureGroup) and g.features.max() < p for g in self.groups_)
        state.require(ok, "its groups are wrong")


def _first_to_enter(matrix, targets, halves, q):
    """The first q features of the paths of some halves; with several targets, of any of them."""
    of_target = [
        epsilon_paths(
            matrix,
            target,
            sample_weight=halves,
            max_features=q,
            min_ratio=LOWEST,
            method="homotopy",
        )
        for target in targets
    ]
    features = np.full((halves.shape[1], q), -1, dtype=np.intp)
    for row, weights, paths in zip(features, halves.T, zip(*of_target, strict=True), strict=True):
        if len(paths) == 1:
            first = paths[0].order[:q]
        else:
            levels = [path_levels(*pair, weights) for pair in zip(paths, targets, strict=True)]
            first = np.argsort(-np.max(levels, axis=0), kind="stable")[:q]
            first = first[np.max(levels, axis=0)[first] > 0]
        row[: len(first)] = first
    return Entries(features)


def path_levels(path, target, weights):
    """For each feature the epsilon at which it enters, over the norm of the target; else 0."""
    alphas = path.knot_alphas.tocoo()
    first = np.full(alphas.shape[1], alphas.shape[0])
    np.minimum.at(first, alphas.col, alphas.row)
    levels = np.zeros(alphas.shape[1])
    entered = np.flatnonzero(first < alphas.shape[0])
    deviations = target - np.average(target, weights=weights)
    size = np.sqrt(weights @ deviations**2)
    levels[entered] = path.knots[np.maximum(first[entered] - 1, 0)] / (size or 1.0)
    return levels


def _groups(standardized, candidates, correlation):
    """Groups of features around the first one that is in no group yet, again and again."""
    columns = standardized.columns(candidates)
    open_, groups = np.ones(len(candidates), dtype=bool), []
    while open_.any():
        leaders = np.flatnonzero(open_)[:LEADERS]
        close = np.abs(columns.T @ columns[:, leaders]) >= correlation
        for leader, near in zip(leaders, close.T, strict=True):
            if open_[leader]:
                near = near & open_
                near[leader] = False
                members = np.concatenate([[leader], np.flatnonzero(near)])
                groups.append(candidates[members])
                open_[members] = False
    return groups


def _reported(groups, entries, names):
    """The groups with their frequencies, the most frequent first."""
    if not groups:
        return []
    place = np.full(entries.max() + 2, -1, dtype=np.intp)
    for number, group in enumerate(groups):
        place[group] = number
    taken = np.zeros((len(entries), len(groups) + 1), dtype=bool)
    taken[np.arange(len(entries))[:, None], place[entries]] = True  # -1 is the last column
    frequencies = taken[:, :-1].mean(axis=0)
    return [
        FeatureGroup(groups[i], float(frequencies[i]), None if names is None else names[groups[i]])
        for i in np.argsort(-frequencies, kind="stable")
    ]
