"""Transformers of pairwise matrices.

They are fitted to the square block of the training objects, and transform rows of new x training
objects with what they have learnt there. scikit-learn knows them as pairwise: a cross-validation
takes the rows and the columns of a fold.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._fitted import ArrayOf, Count, Maybe
from .._parameters import Choice, Either, Flag, Number, check_parameters
from .._typing import ArrayLike
from .._validation import check_alignment, check_vector, validate_data

LARGEST = 1e150
"""Distances whose squares, and sums of them, are numbers."""


class _Pairwise(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """A transformer of pairwise matrices; a subclass learns and applies."""

    n_features_in_: int

    @abstractmethod
    def _learn(self, A):
        """Set the fitted attributes from the training block and return it transformed."""

    @abstractmethod
    def _apply(self, B):
        """Rows of new x training objects, transformed."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from the training block.

        Parameters
        ----------
        X : array-like of shape (n_train, n_train)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: ArrayLike, y: Any = None) -> np.ndarray:
        """Learn from the training block and transform it.

        Parameters
        ----------
        X : array-like of shape (n_train, n_train)
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_train, n_train)
        """
        check_parameters(self)
        check_alignment(X)
        A = validate_data(self, X, dtype=np.float64)
        if A.shape[0] != A.shape[1]:
            raise ValueError(
                f"X must be the square matrix of the training objects to fit "
                f"{type(self).__name__}, got {A.shape[0]} x {A.shape[1]}. Rows of new objects are "
                "for transform."
            )
        return self._learn(A)

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Transform rows of new objects.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train)
            Relations of new with training objects.

        Returns
        -------
        ndarray of shape (n_new, n_train)
        """
        check_is_fitted(self)
        return self._apply(validate_data(self, X, dtype=np.float64, reset=False))


class DoubleCentering(_Pairwise):
    """Similarities ``-1/2 J D^2 J`` from distances D, where J takes the means away.

    Of Euclidean distances these are the inner products of the points around their mean (classical
    scaling). Of other distances the matrix is indefinite, which a P-SVM can use as it is. The means
    are those of the training objects, so that `transform` of the training block gives the same as
    `fit_transform`.

    Parameters
    ----------
    squared : bool, default=False
        Whether the entries are squared distances already.

    Attributes
    ----------
    column_means_ : ndarray of shape (n_train,)
        Means of the squares.
    mean_ : float
        Their mean.
    n_features_in_ : int
        Number of training objects.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.preprocessing import DoubleCentering
    >>> points = np.array([0.0, 1.0, 5.0])
    >>> DoubleCentering().fit_transform(abs(points[:, None] - points))
    array([[ 4.,  2., -6.],
           [ 2.,  1., -3.],
           [-6., -3.,  9.]])
    """

    column_means_: np.ndarray
    mean_: float

    _constraints: ClassVar = {"squared": Flag()}

    _fitted: ClassVar = {"column_means_": ArrayOf("p"), "mean_": Number()}

    def __init__(self, *, squared: bool = False) -> None:
        self.squared = squared

    def _learn(self, A):
        S = self._squares(A)
        self.column_means_ = S.mean(axis=0)
        self.mean_ = float(self.column_means_.mean())
        return self._centred(S)

    def _apply(self, B):
        return self._centred(self._squares(B))

    def _squares(self, D):
        return D if self.squared else _squares(D)

    def _centred(self, S):
        return -0.5 * (S - S.mean(axis=1, keepdims=True) - self.column_means_ + self.mean_)


class SpectrumCorrection(_Pairwise):
    """A positive semidefinite matrix from similarities that are not: clip, flip or shift.

    A support vector machine needs this; a P-SVM does not. The training block is symmetrised and
    decomposed as ``A = U diag(w) U'``. "clip" and "flip" are the linear map
    ``P = U diag(w > 0) U'`` or ``U diag(sign(w)) U'``: ``A P`` has no negative eigenvalues, and
    rows B of new objects become ``B P`` (Chen et al. 2009). So `transform` of the symmetrised
    training block gives the same as `fit_transform`.

    "shift" adds ``-min(w)`` to the similarity of each object with itself. A new object is none of
    the training objects, and its row stays as it is.

    Parameters
    ----------
    method : {"clip", "flip", "shift"}, default="clip"

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_train,)
        Those of the symmetrised training block, increasing.
    projection_ : ndarray of shape (n_train, n_train) or None
        P; None for "shift".
    shift_ : float
        What was added to the diagonal, 0 unless for "shift".
    n_features_in_ : int
        Number of training objects.

    Examples
    --------
    >>> from psvm.preprocessing import SpectrumCorrection
    >>> K = [[0.0, 2.0], [2.0, 0.0]]
    >>> SpectrumCorrection("clip").fit_transform(K).round(12)
    array([[1., 1.],
           [1., 1.]])
    >>> SpectrumCorrection("shift").fit_transform(K).round(12)
    array([[2., 2.],
           [2., 2.]])
    """

    eigenvalues_: np.ndarray
    projection_: np.ndarray | None
    shift_: float

    _constraints: ClassVar = {"method": Choice("clip", "flip", "shift")}

    _fitted: ClassVar = {
        "eigenvalues_": ArrayOf("p"),
        "projection_": Maybe(ArrayOf("p", "p")),
        "shift_": Number(),
    }

    def __init__(self, method: Literal["clip", "flip", "shift"] = "clip") -> None:
        self.method = method

    def _learn(self, A):
        A = (A + A.T) / 2
        w, U = eigh(A)
        self.eigenvalues_, self.projection_, self.shift_ = w, None, 0.0
        if self.method == "shift":
            self.shift_ = max(0.0, -float(w[0]))
            return A + self.shift_ * np.eye(len(A))
        signs = np.sign(w) if self.method == "flip" else (w > 0).astype(float)
        self.projection_ = (U * signs) @ U.T
        return (U * (w * signs)) @ U.T

    def _apply(self, B):
        return B.copy() if self.projection_ is None else B @ self.projection_

    def _check_fitted(self, state):
        shifts = self.method == "shift"
        state.require(shifts != state.has("projection_"), "its projection is missing")


class GaussianOfDistance(_Pairwise):
    """Similarities ``exp(-gamma D^2)`` from distances D.

    Parameters
    ----------
    gamma : "median" or float, default="median"
        "median": 1 over the median of the squared distances of different training objects.

    Attributes
    ----------
    gamma_ : float
        The number.
    n_features_in_ : int
        Number of training objects.

    Examples
    --------
    >>> from psvm.preprocessing import GaussianOfDistance
    >>> GaussianOfDistance().fit_transform([[0.0, 2.0], [2.0, 0.0]]).round(3)
    array([[1.   , 0.368],
           [0.368, 1.   ]])
    """

    gamma_: float

    _constraints: ClassVar = {"gamma": Either(Choice("median"), Number(above=0))}

    _fitted: ClassVar = {"gamma_": Number(above=0)}

    def __init__(self, gamma: Literal["median"] | float = "median") -> None:
        self.gamma = gamma

    def _learn(self, A):
        if isinstance(self.gamma, str):
            squares = _squares(A[~np.eye(len(A), dtype=bool)])
            median = float(np.median(squares)) if len(squares) else 0.0
            self.gamma_ = 1.0 / median if median > 0 else 1.0
        else:
            self.gamma_ = float(self.gamma)
        return self._apply(A)

    def _apply(self, B):
        return np.exp(-self.gamma_ * _squares(B))


class UnitDiagonal(_Pairwise):
    """Similarities divided by ``sqrt(k(x, x) k(z, z))``.

    The similarities of training objects with themselves are the diagonal of the training block.
    Those of new objects are not among their similarities with training objects: give them to
    `transform` as `diagonal`. Without it, as in a pipeline, the geometric mean of the training
    objects stands for them.

    Attributes
    ----------
    roots_ : ndarray of shape (n_train,)
        Roots of the diagonal.
    n_features_in_ : int
        Number of training objects.

    Examples
    --------
    >>> from psvm.preprocessing import UnitDiagonal
    >>> scaler = UnitDiagonal()
    >>> scaler.fit_transform([[4.0, 1.0], [1.0, 1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    >>> scaler.transform([[4.0, 1.0]], diagonal=[16.0])
    array([[0.5 , 0.25]])
    """

    roots_: np.ndarray

    _fitted: ClassVar = {"roots_": ArrayOf("p", above=0)}

    def _learn(self, A):
        self.roots_ = _positive_roots("X", np.diagonal(A))
        return A / self.roots_ / self.roots_[:, None]

    def _apply(self, B, roots=None):
        roots = np.exp(np.log(self.roots_).mean()) if roots is None else roots
        return B / self.roots_ / roots

    def transform(self, X: ArrayLike, diagonal: ArrayLike | None = None) -> np.ndarray:
        """Transform rows of new objects.

        Parameters
        ----------
        X : array-like of shape (n_new, n_train)
            Similarities of new with training objects.
        diagonal : array-like of shape (n_new,), default=None
            Similarities of the new objects with themselves.

        Returns
        -------
        ndarray of shape (n_new, n_train)
        """
        if diagonal is None:
            return super().transform(X)
        check_is_fitted(self)
        B = validate_data(self, X, dtype=np.float64, reset=False)
        roots = _positive_roots("diagonal", check_vector("diagonal", diagonal))
        if len(roots) != len(B):
            raise ValueError(f"diagonal has {len(roots)} entries, but X has {len(B)} rows.")
        return self._apply(B, roots[:, None])


class Symmetrize(_Pairwise):
    """The mean of a matrix and its transpose.

    How training objects relate to a new object, the other direction, is not known: rows of new
    objects stay as they are. A P-SVM needs no symmetric matrix.

    Attributes
    ----------
    n_features_in_ : int
        Number of training objects.

    Examples
    --------
    >>> from psvm.preprocessing import Symmetrize
    >>> Symmetrize().fit_transform([[1.0, 2.0], [0.0, 1.0]])
    array([[1., 1.],
           [1., 1.]])
    """

    _fitted: ClassVar = {"n_features_in_": Count("p", least=1)}

    def _learn(self, A):
        return (A + A.T) / 2

    def _apply(self, B):
        return B.copy()


def _squares(D):
    """Squares of distances, or an error if there are no such numbers."""
    largest = np.abs(D).max(initial=0.0)
    if largest > LARGEST:
        raise ValueError(
            f"X has the entry {largest:.6g}, whose square is too large for a number. Divide all "
            "distances by the same number."
        )
    return D**2


def _positive_roots(name, squares):
    """Roots of positive numbers, or an error that says which object has none."""
    if not (squares > 0).all():
        i = int(np.argmin(squares > 0))
        raise ValueError(
            f"{name}: the similarity of object {i} with itself is {squares[i]:.6g}; it must be "
            "positive to be made 1."
        )
    return np.sqrt(squares)
