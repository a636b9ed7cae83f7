"""`KnockoffSelector`: features that enter before their knockoffs, with a false discovery rate."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._docstrings import document
from .._fitted import ArrayOf, Count, Given, Permutation
from .._parallel import run
from .._parameters import (
    Choice,
    Either,
    Flag,
    Integer,
    Jobs,
    Later,
    Number,
    Seed,
    check_parameters,
)
from .._progress import progress
from .._summary import SummaryMixin
from .._typing import ArrayLike, MatrixLike, RandomState
from .._validation import as_array, random_numbers
from ..matrix import as_dense, as_matrix
from ..solvers import epsilon_path
from ._checks import CheckedSelectorMixin, validate
from ._knockoffs import GaussianKnockoffs, check_columns, check_knockoff_options
from ._redundancy import StandInsMixin
from ._selector import PSVMSelector
from ._stability import path_levels
from ._targets import code_target, numeric_targets, ranking_of

REMEDY = (
    "Fill in the missing values inside a pipeline, such as "
    "make_pipeline(SimpleImputer(keep_empty_features=True), KnockoffSelector())."
)
LOWEST = 1e-3
"""Share of epsilon_max at which a path ends: what enters later says nothing."""
MOST_REPEATS, LARGEST = 10_000, 1e15


@document()
class KnockoffSelector(SummaryMixin, StandInsMixin, CheckedSelectorMixin, BaseEstimator):
    """Select features that the P-SVM prefers to their knockoffs, with a false discovery rate.

    Each column of X gets a knockoff, a random column with the same correlations to the other
    columns that is made without y. The P-SVM is solved for the columns and their knockoffs
    together. A feature without influence on y is as likely to lose against its knockoff as to win,
    which tells how many of the winners are false. The expected share of false features among the
    selected ones (false discovery rate) is at most `fdr`.

    Parameters
    ----------
    fdr : float, default=0.1
        The false discovery rate. A selection has at least ``1 / fdr`` features, or none.
    method : {"equicorrelated", "sdp"}, default="equicorrelated"
        How strongly columns and knockoffs are correlated, as in `gaussian_knockoffs`.
    covariance : {"ledoit_wolf", "oas", "empirical"} or covariance estimator, default="ledoit_wolf"
        How the covariance of the columns is estimated, as in `gaussian_knockoffs`.
    statistic : {"entry", "difference"}, default="entry"
        "entry" compares the epsilons at which a feature and its knockoff enter the exact path:
        the larger one, with a minus sign if it is the knockoff's. "difference" is
        ``|alpha_j| - |alpha~_j|`` at `epsilon`.
    epsilon : "auto", "cv", "aicc" or float, default="auto"
        Where alphas are compared, as for `PSVMSelector`.
    epsilon_unit : {"absolute", "max"}, default="absolute"
        The unit of a number `epsilon`.
    n_repeats : int, default=1
        How often knockoffs are drawn. One selection depends on random numbers; the e-values of
        several, averaged, depend on them less (Ren & Barber 2024) and keep the false discovery
        rate. Each of several repetitions has half of the level, so that it takes at least
        ``2 / fdr`` features.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is, as for `PSVMSelector`.
    random_state : int, Generator, RandomState or None, default=None
        Random numbers for the knockoffs.
    n_jobs : int, default=None
        Number of processes for the repetitions; the result does not depend on it.
    {verbose}

    Attributes
    ----------
    statistics_ : ndarray of shape (n_repeats, n_features_in_)
        W, positive where a feature wins. Entries are epsilons divided by the norm of the
        target.
    thresholds_ : ndarray of shape (n_repeats,)
        Features with a W of at least this are taken by one repetition; infinite if none is.
    e_values_ : ndarray of shape (n_features_in_,)
        Mean evidence against the hypothesis that a feature has no influence, with mean at most
        one over all features if it has none.
    frequencies_ : ndarray of shape (n_features_in_,)
        Share of the repetitions that take a feature.
    order_ : ndarray of shape (n_features_in_,)
        Indices of the features by decreasing e-value, then by decreasing mean of W.
    ranking_ : ndarray of shape (n_features_in_,)
        1 for a selected feature, then 2, 3, ... in that order.
    n_features_ : int
        Number of selected features.
    classes_ : ndarray
        The class labels of a classification.
    {n_features_in_, feature_names_in_}

    See Also
    --------
    StabilitySelector : Bounds the expected number of false selections.
    gaussian_knockoffs : The knockoffs.

    Notes
    -----
    With more than two classes, or several columns of y, there is one target for each; the largest
    epsilon or alpha that a column has for any target counts.

    The guarantee holds for any distribution of y given X, if the rows are independent and the
    distribution of X is the assumed one. Second-order knockoffs have the right means and
    covariances, estimated from the same rows; docs/explanation/selection.md shows what that costs.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import KnockoffSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 50))
    >>> y = X[:, :10].sum(axis=1) + rng.normal(size=300)
    >>> selector = KnockoffSelector(fdr=0.1, random_state=4).fit(X, y)
    >>> selector.get_support(indices=True)
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """

    statistics_: np.ndarray
    thresholds_: np.ndarray
    e_values_: np.ndarray
    frequencies_: np.ndarray
    order_: np.ndarray
    ranking_: np.ndarray
    n_features_: int
    classes_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray

    _constraints: ClassVar = {
        "fdr": Number(above=0, below=1),
        "method": Later(),
        "covariance": Later(),
        "statistic": Choice("entry", "difference"),
        "epsilon": Either(Choice("auto", "cv", "aicc"), Number(above=0)),
        "epsilon_unit": Choice("absolute", "max"),
        "n_repeats": Integer(least=1, most=MOST_REPEATS),
        "task": Later(),
        "random_state": Seed(),
        "n_jobs": Jobs(),
        "verbose": Flag(),
    }

    _fitted: ClassVar = {
        "statistics_": ArrayOf("draws", "p"),
        "thresholds_": Given(),
        "e_values_": ArrayOf("p"),
        "frequencies_": ArrayOf("p"),
        "order_": Permutation("p"),
        "ranking_": ArrayOf("p", kinds="i"),
        "n_features_": Count(),
    }

    def __init__(
        self,
        fdr: float = 0.1,
        *,
        method: Literal["equicorrelated", "sdp"] = "equicorrelated",
        covariance: Any = "ledoit_wolf",
        statistic: Literal["entry", "difference"] = "entry",
        epsilon: float | Literal["auto", "cv", "aicc"] = "auto",
        epsilon_unit: Literal["absolute", "max"] = "absolute",
        n_repeats: int = 1,
        task: Literal["auto", "classification", "regression"] = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.fdr = fdr
        self.method = method
        self.covariance = covariance
        self.statistic = statistic
        self.epsilon = epsilon
        self.epsilon_unit = epsilon_unit
        self.n_repeats = n_repeats
        self.task = task
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: MatrixLike, y: ArrayLike, knockoffs: ArrayLike | None = None) -> Self:
        """Compare the features with their knockoffs and select.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data. A dense copy is made.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels of classes, or numbers.
        knockoffs : array-like of shape (n_samples, n_features) or \

        def _check_fitted(self, state):
        thresholds = self.thresholds_  # infinite ones take nothing
        ok = isinstance(thresholds, np.ndarray) and thresholds.shape == self.statistics_.shape[:1]
        ok = ok and thresholds.dtype == np.float64 and (thresholds > 0).all()
        state.require(ok, "its thresholds are wrong")
        n = np.count_nonzero(self.ranking_ == 1)
        state.require(self.n_features_ == n, "n_features_ is wrong")


        (n_repeats, n_samples, n_features), default=None
            Your own knockoffs, one matrix for each repetition. None draws Gaussian ones.

        Returns
        -------
        self : KnockoffSelector
        """
        check_parameters(self)
        check_knockoff_options(self.method, self.covariance)
        X, y = validate(self, X, y, remedy=REMEDY, multi_output=True)
        target = code_target(y, self.task)
        X = np.asarray(as_dense(X), dtype=np.float64)
        drawn, n_repeats = self._knockoffs(X, knockoffs)
        model = PSVMSelector(self.epsilon, epsilon_unit=self.epsilon_unit, task=self.task)
        model = None if self.statistic == "entry" else model
        tasks = ((X, copies, y, numeric_targets(target), model) for copies in drawn)
        with progress("KnockoffSelector", self.verbose):
            found = run(knockoff_statistics, tasks, self.n_jobs, "repetitions", n_repeats)
        self._keep(target, np.array(found))
        return self

    def _knockoffs(self, X, given):
        """The knockoffs, one matrix after the other, and their number."""
        if given is None:
            self._check_possible(X, self.n_repeats)
            random = random_numbers(self.random_state)
            source = GaussianKnockoffs(X, self.method, self.covariance)
            return (source.draw(random) for _ in range(self.n_repeats)), self.n_repeats
        check_columns("X", X)
        given = as_array("knockoffs", given)
        given = given[None] if given.ndim == 2 else given
        if given.ndim != 3 or given.shape[1:] != X.shape or not len(given):
            raise ValueError(
                f"knockoffs must have the shape of X, {X.shape}, or (n_repeats, *X.shape), got an "
                f"array of shape {given.shape}."
            )
        if given.dtype.kind not in "fiub" or not np.isfinite(given).all():
            raise ValueError("knockoffs must hold finite numbers.")
        given = given.astype(np.float64)
        for copies in given:
            check_columns("A matrix of knockoffs", copies)
        self._check_possible(X, len(given))
        return given, len(given)

    def _check_possible(self, X, n_repeats):
        """Refuse too few features for any selection."""
        level = self._level(n_repeats)
        if level * X.shape[1] < 1 - 1e-9:
            fewest = math.ceil(min(1 / level, LARGEST) - 1e-9)
            raise ValueError(
                f"fdr={self.fdr} with {n_repeats} repetitions takes {fewest} features or more, or "
                f"none, but X has n_features = {X.shape[1]}. Use a larger fdr, or "
                "StabilitySelector."
            )

    def _level(self, n_repeats):
        """The level of one repetition; half of it if there are several (Ren & Barber 2024)."""
        return self.fdr if n_repeats == 1 else self.fdr / 2

    def _keep(self, target, W):
        """Set all fitted attributes at once."""
        thresholds = np.array([knockoff_threshold(w, self._level(len(W))) for w in W])
        taken = W >= thresholds[:, None]
        losers = (W <= -thresholds[:, None]).sum(axis=1)
        e_values = np.mean(W.shape[1] * taken / (1 + losers)[:, None], axis=0)
        self.statistics_, self.thresholds_, self.e_values_ = W, thresholds, e_values
        self.frequencies_ = taken.mean(axis=0)
        self.order_ = np.lexsort((-W.mean(axis=0), -e_values))
        self.n_features_ = _count_selected(e_values, self.fdr)
        self.ranking_ = ranking_of(self.order_, self.n_features_)
        if target.classifies and target.scheme != "multilabel":
            self.classes_ = target.classes

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.ranking_ == 1


def knockoff_statistics(X, copies, y, targets, model=None):
    """W of each feature: entries of the exact path, or differences of alphas if there is a model.

    The two columns of a pair are put in an order that depends on their entries only. So W changes
    its sign, and nothing else, if a column changes places with its knockoff, also by rounding.
    """
    every = np.arange(X.shape[1])
    differs = X != copies
    row = differs.argmax(axis=0)
    swapped = X[row, every] < copies[row, every]
    both = np.hstack([np.where(swapped, copies, X), np.where(swapped, X, copies)])
    if model is None:
        matrix, weights = as_matrix(np.asfortranarray(both)), np.ones(len(X))
        options = {"min_ratio": LOWEST, "method": "homotopy"}
        paths = [epsilon_path(matrix, target, **options) for target in targets]
        levels = [path_levels(*pair, weights) for pair in zip(paths, targets, strict=True)]
        first, second = np.split(np.max(levels, axis=0), 2)
        W = np.sign(first - second) * np.maximum(first, second)
    else:
        first, second = np.split(model.fit(both, y).importance_, 2)
        W = first - second
    return np.where(differs.any(axis=0), np.where(swapped, -W, W), 0.0)


def knockoff_threshold(W, fdr):
    """The smallest t with ``(1 + #{W <= -t}) / #{W >= t} <= fdr`` (knockoff+); infinite if none."""
    for t in np.unique(np.abs(W[W != 0])):
        if 1 + (W <= -t).sum() <= fdr * (W >= t).sum() * (1 + 1e-12):
            return float(t)
    return math.inf


def _count_selected(e_values, fdr):
    """The largest k with ``e_(k) >= p / (fdr k)`` (e-BH)."""
    p = len(e_values)
    ordered = np.sort(e_values)[::-1] * (1 + 1e-12)
    enough = np.flatnonzero(ordered >= p / (fdr * np.arange(1, p + 1)))
    return int(enough[-1]) + 1 if len(enough) else 0
