"""Sequence kernels that are inner products of explicit sparse features."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._core._sparse import products
from .._fitted import Given, Names
from .._typing import ArrayLike
from .._validation import check_has
from ..matrix import as_dense
from ._sequence import SequenceKernel

DENSE = 0.2
"""Share of non-zeros above which the product of dense features is the faster one."""
TILE = 2**22
"""Numbers in a temporary dense block of features."""
LARGEST_CODE = 2**62
SMALL_RANGE = 2**22
"""Codes up to here are ranked by a table."""


class FeatureTable:
    """Features of sequences: a csr array with a row per sequence, and the names of its columns.

    Parameters
    ----------
    matrix : csr array of shape (n, p)
    names : ndarray of p different strings
    """

    _fitted: ClassVar = {
        "matrix": Given(),
        "names": Names("columns", ordered=True),
        "shape": Given(),
    }

    def __init__(self, matrix, names):
        self.matrix, self.names = matrix, names
        self.shape = matrix.shape

    def __getitem__(self, index):
        return FeatureTable(self.matrix[index], self.names)

    def columns(self, names):
        """The columns of sorted `names`, empty where the table has none of that name."""
        if self.names is names:
            return self.matrix
        place = np.searchsorted(names, self.names)
        place[place == len(names)] = 0
        common = np.flatnonzero(names[place] == self.names) if len(names) else []
        matrix = self.matrix[:, common]
        indices = place[common][matrix.indices]
        result = sp.csr_array((matrix.data, indices, matrix.indptr), (self.shape[0], len(names)))
        result.sort_indices()
        return result

    def _check_fitted(self, state):
        """As many sorted names as columns."""
        matrix = self.matrix
        ok = getattr(matrix, "format", None) == "csr" and matrix.dtype == np.float64
        ok = ok and np.isfinite(matrix.data).all()
        state.require(ok, "its features are not a csr matrix")
        state.require(matrix.shape == self.shape, "it has another shape")
        ok = matrix.shape[1:] == self.names.shape
        state.require(ok, "there is not one name for each column")


class FeatureKernel(SequenceKernel):
    """A kernel whose features can be written down; `feature_map` gives them as a transformer."""

    positive_definite = True

    @abstractmethod
    def feature_table(self, X: np.ndarray) -> FeatureTable:
        """The table of checked sequences, its names sorted; normalised if the kernel is."""

    def feature_map(self) -> FeatureMap:
        """A transformer from sequences to sparse features whose inner products are the kernel.

        Returns
        -------
        FeatureMap
        """
        return FeatureMap(self)

    def prepare(self, X: Any) -> Any:
        return self.feature_table(X)

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        return gram(X.columns(Z.names), Z.matrix)

    def diagonal(self, X: Any) -> np.ndarray:
        return np.asarray(X.matrix.multiply(X.matrix).sum(axis=1)).ravel()

    def _table(self, matrix, names):
        """The finished table: unit rows if the kernel is normalised; a row of zeros stays."""
        table = FeatureTable(matrix, names)
        if self.normalize:
            norms = np.sqrt(self.diagonal(table))
            matrix.data /= np.repeat(norms, np.diff(matrix.indptr))
        return table


class FeatureMap(TransformerMixin, BaseEstimator):
    """Sequences to a sparse matrix with one column per feature, such as a k-mer.

    The columns are the features that occur in the training sequences. Inner products of transformed
    training sequences with any others are the kernel.

    Parameters
    ----------
    kernel : Spectrum, Mismatch, WeightedDegree (without shift) or Motif

    Attributes
    ----------
    names_ : ndarray of str
        Names of the features, sorted.

    Examples
    --------
    >>> from psvm.kernels import Spectrum
    >>> features = Spectrum(k=2, normalize=False).feature_map()
    >>> features.fit_transform(["ACAC", "CCAC"]).toarray()
    array([[2., 1., 0.],
           [1., 1., 1.]])
    >>> features.get_feature_names_out()
    array(['AC', 'CA', 'CC'], dtype=object)
    """

    names_: np.ndarray

    _fitted: ClassVar = {"names_": Names(ordered=True)}

    def __init__(self, kernel: SequenceKernel) -> None:
        self.kernel = kernel

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Find the features that occur.

        Parameters
        ----------
        X : sequences
        y : None
            Ignored.

        Returns
        -------
        self : FeatureMap
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> sp.csr_array:
        """Find the features that occur and return them.

        Parameters
        ----------
        X : sequences
        y : None
            Ignored.

        Returns
        -------
        csr_array of shape (n_sequences, n_features)
        """
        table = self._make_table(X)
        self.names_ = table.names
        return table.matrix

    def transform(self, X: ArrayLike) -> sp.csr_array:
        """Features of sequences.

        Parameters
        ----------
        X : sequences

        Returns
        -------
        csr_array of shape (n_sequences, n_features)
        """
        check_is_fitted(self)
        return self._make_table(X).columns(self.names_)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return self.names_.astype(object)

    def _make_table(self, X):
        check_has("kernel", self.kernel, "feature_table", what="a sequence kernel")
        self.kernel.check_parameters()
        return self.kernel.feature_table(self.kernel.check_objects(X))

    def _check_fitted(self, state):
        state.require(hasattr(self.kernel, "feature_table"), "its kernel has no features")


def gram(F, G):
    """``F G'`` of two csr arrays as a dense array."""
    if min(F.nnz, G.nnz) <= DENSE * min(F.shape[0] * F.shape[1], G.shape[0] * G.shape[1]):
        return products(F.T, G.T)
    K = np.zeros((F.shape[0], G.shape[0]))
    same = F is G
    F, G = F.tocsc(), G.tocsc()
    step = max(1, TILE // max(*K.shape, 1))
    for start in range(0, F.shape[1], step):
        F_b = as_dense(F[:, start : start + step])
        G_b = F_b if same else as_dense(G[:, start : start + step])
        K += F_b @ G_b.T
    return K


def kmers(points, starts, k):
    """Rows of a csr array of k-mers: which ones each sequence has, in their order.

    Parameters
    ----------
    points : ndarray of int
        Letters of all sequences, negative for unknown ones.
    starts : ndarray of int
        Where each sequence starts.
    k : int

    Returns
    -------
    columns : ndarray of int
        Number of the k-mer of each window without unknown letters.
    indptr : ndarray of int
        Where the windows of each sequence start.
    places : ndarray of int
        Where each window starts among the letters.
    words : ndarray of shape (n_kmers, k)
        The letters of the k-mers, which are sorted.
    """
    n_windows = np.maximum(np.diff(starts) - k + 1, 0)
    owner = np.repeat(np.arange(len(n_windows)), n_windows)
    first = np.concatenate([[0], np.cumsum(n_windows)])
    places = np.arange(first[-1]) - first[owner] + starts[owner]
    if (points < 0).any():
        unknown = np.concatenate([[0], np.cumsum(points < 0)])
        known = unknown[places + k] == unknown[places]
        places, owner = places[known], owner[known]
    letters, code = rank(points - points.min(initial=0))
    base = size = max(len(letters), 1)
    codes = code[places]
    for t in range(1, k):
        if size > LARGEST_CODE // base:
            distinct, codes = rank(codes)
            size = len(distinct)
        codes = codes * base + code[places + t]
        size *= base
    distinct, columns = rank(codes)
    some = np.empty(len(distinct), dtype=np.intp)
    some[columns] = places
    indptr = np.searchsorted(owner, np.arange(len(n_windows) + 1))
    return columns, indptr, places, points[some[:, None] + np.arange(k)]


def rank(values):
    """Distinct values, sorted, and the place of each value among them."""
    size = int(values.max(initial=-1)) + 1
    if size > SMALL_RANGE:
        return np.unique(values, return_inverse=True)
    table = np.zeros(size, dtype=np.intp)
    table[values] = 1
    distinct = np.flatnonzero(table)
    table[distinct] = np.arange(len(distinct))
    return distinct, table[values]


def spell(words):
    """Rows of letters as an array of strings."""
    words = np.ascontiguousarray(words, dtype="<u4")
    return words.view(f"<U{words.shape[1]}").ravel()


def counts(columns, indptr, n_columns):
    """How often each row has each column."""
    shape = (len(indptr) - 1, n_columns)
    F = sp.csr_array((np.ones(len(columns)), columns, indptr), shape)
    F.sum_duplicates()
    return F
