"""The steps of the gene selection protocol (Hochreiter, lecture notes, section 6.3)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.svm import NuSVC
from sklearn.utils import _safe_indexing

from .._fitted import ArrayOf, FittedPart
from .._validation import check_array
from ..matrix import Standardized, as_matrix, by_columns
from ..solvers import epsilon_path, epsilon_paths
from ._nu_svm import LinearNuSVC, NoMarginError
from ._preprocessing import RangeClipper

FIRST = 7
"""The largest epsilon selects at most so many features, five to ten for real data."""
LOWEST = 1e-3
"""No epsilon is smaller than this share of the largest one that selects anything."""


@dataclass(frozen=True, eq=False)
class Prepared:
    """Fitted preprocessing, its output, and which input features the output columns are."""

    transformer: object
    Z: np.ndarray
    kept: np.ndarray


def prepare(preprocessing, X, y, names, remedy):
    """Fit the preprocessing to training samples."""
    n_in = X.shape[1]
    if preprocessing is None:
        return Prepared(None, X, np.arange(n_in))
    transformer = clone(preprocessing)
    Z = checked(transformer.fit_transform(X, y), remedy)
    return Prepared(transformer, Z, _kept_features(transformer, names, Z.shape[1]))


def checked(Z, remedy):
    """The output of a preprocessing, without missing values."""
    try:
        return check_array(
            "The preprocessed X",
            Z,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
        )
    except ValueError as error:
        raise ValueError(f"The preprocessing returns unusable values. {error} {remedy}") from error


def _kept_features(transformer, names, n_out):
    """Indices of the input features that the output columns are."""
    try:
        out = transformer.get_feature_names_out(names)
    except AttributeError:
        if n_out == len(names):
            return np.arange(n_out)
        out = [None]
    place = {name: j for j, name in enumerate(names)}
    index = np.array([place.get(name, -1) for name in out], dtype=np.intp)
    if (index < 0).any():
        raise ValueError(
            "preprocessing must return columns that are features of X, and its "
            f"get_feature_names_out must name them; it returns {n_out} columns for {len(names)} "
            "features. Combinations of features, such as principal components, cannot be selected."
        )
    return index


def epsilon_list(Z, target, n_epsilons):
    """Evenly spaced epsilons, from one that selects a few features to one that selects about L."""
    L = Z.shape[0]
    path = epsilon_path(Z, target, min_ratio=LOWEST)
    if not path.n_selected.any():
        return np.empty(0)
    few = np.flatnonzero((path.n_selected > 0) & (path.n_selected <= FIRST))
    largest = path.epsilons[few[-1] if len(few) else np.argmax(path.n_selected > 0)]
    many = path.n_selected >= min(L - 1, path.n_selected.max())
    smallest = path.epsilons[np.argmax(many)]
    return np.unique(np.linspace(max(largest, smallest), smallest, n_epsilons))[::-1]


def from_the_first(Z, target, epsilons):
    """Twice as many epsilons, evenly spaced from the one at which the first feature enters."""
    if not len(epsilons):
        return epsilons
    largest = np.abs(Standardized(as_matrix(Z)).rmatvec(target - target.mean())).max()
    return np.linspace(max(largest, epsilons[0]), epsilons[-1], 2 * len(epsilons) + 1)[1:]


@dataclass(frozen=True, eq=False)
class InnerLoop:
    """What the epsilons select of one set of samples.

    Attributes
    ----------
    ranks : ndarray of shape (P,)
        The number of the first epsilon that selects a feature, 1 for the largest; 0 if none does.
    sizes : ndarray of shape (P,)
        ``|alpha|`` there.
    """

    ranks: np.ndarray
    sizes: np.ndarray

    @property
    def order(self):
        """The selected features, best first."""
        selected = np.flatnonzero(self.ranks)
        return selected[np.lexsort((-self.sizes[selected], self.ranks[selected]))]

    def at(self, kept, n_features):
        """The same with the features at the places `kept` of `n_features`."""
        ranks, sizes = np.zeros(n_features, dtype=np.intp), np.zeros(n_features)
        ranks[kept], sizes[kept] = self.ranks, self.sizes
        return InnerLoop(ranks, sizes)


def inner_loop(Z, targets, lists):
    """Run the P-SVM selection for one list of epsilons per target; the best rank counts."""
    matrix = as_matrix(Z)
    paths = [
        epsilon_path(matrix, target, epsilons=epsilons)
        for target, epsilons in zip(targets, lists, strict=True)
        if len(epsilons)
    ]
    return _best_ranks(paths)


def inner_loops(Z, targets, folds, lists):
    """`inner_loop` for the training rows of each fold, all of which share Z."""
    weights = np.zeros((Z.shape[0], len(folds)))
    for column, train in zip(weights.T, folds, strict=True):
        column[train] = 1.0
    matrix = as_matrix(by_columns(Z))
    paths = [
        epsilon_paths(matrix, target, epsilons=epsilons, sample_weight=weights)
        for target, epsilons in zip(targets, lists, strict=True)
        if len(epsilons)
    ]
    return [_best_ranks(of_fold) for of_fold in zip(*paths, strict=True)]


def _best_ranks(paths):
    """What the epsilons of all targets select."""
    alphas = [path.alphas.tocoo() for path in paths]
    n_features = alphas[0].shape[1]
    ranks, sizes = np.zeros(n_features, dtype=np.intp), np.zeros(n_features)
    row = np.concatenate([a.row for a in alphas])
    column = np.concatenate([a.col for a in alphas])
    size = np.abs(np.concatenate([a.data for a in alphas]))
    best_first = np.lexsort((-size, row))
    selected, first = np.unique(column[best_first], return_index=True)
    ranks[selected] = row[best_first[first]] + 1
    sizes[selected] = size[best_first[first]]
    return InnerLoop(ranks, sizes)


@dataclass(frozen=True, eq=False)
class OuterLoop:
    """The inner loops of all folds together.

    Attributes
    ----------
    frequency : ndarray of shape (P,)
        Share of the folds that select a feature.
    mean_rank : ndarray of shape (P,)
        Mean inner rank over these folds; infinite if there is none.
    order : ndarray of shape (P,)
        By decreasing frequency, then by increasing mean rank, then by decreasing ``|alpha|``.
    """

    frequency: np.ndarray
    mean_rank: np.ndarray
    order: np.ndarray


def combine(inner_loops):
    """Rank features by how often they are selected, ties by their mean inner rank."""
    ranks = np.array([inner.ranks for inner in inner_loops])
    counts = (ranks > 0).sum(axis=0)
    mean_rank = np.divide(
        ranks.sum(axis=0), counts, out=np.full(ranks.shape[1], np.inf), where=counts > 0
    )
    sizes = np.sum([inner.sizes for inner in inner_loops], axis=0)
    order = np.lexsort((-sizes, mean_rank, -counts))
    return OuterLoop(counts / len(ranks), mean_rank, order)


class Scaled:
    """Some columns of training samples, standardised; new values are clipped to their range.

    `clip` names the sides of the range at which they are, as for `RangeClipper`.
    """

    _fitted: ClassVar = {
        "index": ArrayOf("columns", kinds="i", least=0),
        "clipper": FittedPart(RangeClipper),
        "scaler": FittedPart(StandardScaler),
    }

    def __init__(self, Z, index, clip):
        self.index = index
        columns = as_matrix(Z).columns(index)
        self.clipper = RangeClipper(clip).fit(columns)
        self.scaler = StandardScaler().fit(columns)
        self.train = self.scaler.transform(columns)

    def transform(self, Z):
        """The columns of new samples in the same units."""
        if self.index.max() >= Z.shape[1]:
            raise ValueError(
                f"X has {Z.shape[1]} features after the preprocessing, but column "
                f"{self.index.max()} is needed. Use the preprocessing that was fitted."
            )
        return self.scaler.transform(self.clipper.transform(as_matrix(Z).columns(self.index)))

    def _check_fitted(self, state):
        """Places of columns, their range and their units."""
        n = len(self.index)
        state.require(n > 0, "its columns are wrong")
        same = self.clipper.n_features_in_ == self.scaler.n_features_in_ == n
        state.require(same, "its range and units are those of other columns")


def fit_or_none(model, Z, y):
    """A trained copy of the classifier; None if its nu has no solution on these samples."""
    try:
        return clone(model).fit(Z, y)
    except NoMarginError:
        return None
    except ValueError as error:
        if isinstance(model, LinearNuSVC | NuSVC) and "not finite" in str(
            error
        ):  # a margin of zero
            return None
        raise


def fold_errors(scaled, y, Z_test, y_test, sizes, models):
    """Errors on left-out samples for numbers of features (rows) and classifiers (columns).

    A classifier without a solution is always wrong.
    """
    errors = np.ones((len(sizes), len(models)))
    test = scaled.transform(Z_test)
    for i, size in enumerate(sizes):
        for k, model in enumerate(models):
            classifier = fit_or_none(model, scaled.train[:, :size], y)
            if classifier is not None:
                errors[i, k] = np.mean(classifier.predict(test[:, :size]) != y_test)
    return errors


@dataclass(frozen=True, eq=False)
class SizeSearch:
    """Errors of the outer loop, by which the number of features and the classifier are chosen.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of features.
    candidates : ndarray
        Those among which one is chosen.
    params : list of dict
        Parameters of the classifier.
    errors : ndarray of shape (n_sizes, n_params)
        Mean error on the left-out samples.
    step : int
        Errors are averaged over F - step, F and F + step.
    """

    sizes: np.ndarray
    candidates: np.ndarray
    params: list
    errors: np.ndarray
    step: int

    def smoothed(self, size):
        """Mean errors over F - step, F and F + step, as far as these exist; one per parameter."""
        near = np.isin(self.sizes, [size - self.step, size, size + self.step])
        return self.errors[near].mean(axis=0)

    def ranked(self):
        """Number of features, place in `params` and smoothed error of all choices, best first.

        Fewer features win a tie, then the earlier parameters.
        """
        smoothed = np.array([self.smoothed(size) for size in self.candidates])
        for place in np.argsort(smoothed, axis=None, kind="stable"):
            i, k = np.unravel_index(place, smoothed.shape)
            yield int(self.candidates[i]), int(k), float(smoothed[i, k])

    def best(self):
        """The first of them."""
        return next(self.ranked())


def take(X, rows):
    """Rows of an array, sparse matrix or DataFrame."""
    return _safe_indexing(X, rows)
