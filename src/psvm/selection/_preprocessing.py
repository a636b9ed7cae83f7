"""Preprocessing of expression values as ordinary transformers, so that it runs inside the folds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from .._fitted import ArrayOf
from .._parameters import Choice, Integer, Later, Number, check_parameters
from .._typing import ArrayLike, DataFrame
from .._validation import check_number, validate_data
from ._checks import CheckedSelectorMixin


def log_transformer(floor: float = 1.0) -> FunctionTransformer:
    """Transformer to the binary logarithm of values, those below `floor` raised to it first.

    Parameters
    ----------
    floor : float, default=1.0
        Raw expression values may be zero or negative; nothing below the floor is told apart.

    Returns
    -------
    sklearn.preprocessing.FunctionTransformer

    Examples
    --------
    >>> from psvm.selection import log_transformer
    >>> print(log_transformer(floor=16.0).fit_transform([[-3.0, 64.0]]))
    [[4. 6.]]
    """
    check_number("floor", floor, above=0)
    return FunctionTransformer(
        floored_log2, kw_args={"floor": floor}, feature_names_out="one-to-one"
    )


def floored_log2(X, floor):
    """The binary logarithm of values that are at least `floor`."""
    return np.log2(np.maximum(X, floor))


class QuantileNormalizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Give all samples the same distribution of values (Bolstad et al. 2003).

    The reference distribution is the mean of the sorted training samples. The value of rank r in
    a sample is replaced by the r-th value of the reference; tied values get the value at their
    mean rank. New samples are normalised with the reference of the training samples. A DataFrame
    stays one, with the names of its samples, which a `PresentCall` behind needs.

    Attributes
    ----------
    reference_ : ndarray of shape (n_features,)
        The reference distribution in increasing order.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from psvm.selection import QuantileNormalizer
    >>> print(QuantileNormalizer().fit_transform([[5.0, 2.0, 3.0], [4.0, 1.0, 6.0]]))
    [[5.5 1.5 3.5]
     [3.5 1.5 5.5]]
    """

    reference_: np.ndarray
    n_features_in_: int

    _fitted: ClassVar = {"reference_": ArrayOf("p")}

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Take the reference distribution from the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self : QuantileNormalizer
        """
        X = validate_data(self, X, dtype=np.float64)
        with np.errstate(over="ignore"):
            reference = np.sort(X, axis=1).mean(axis=0)
        if not np.isfinite(reference).all():
            raise ValueError(
                "X has entries too large to be averaged in double precision; scale it."
            )
        self.reference_ = reference
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Give samples the reference distribution.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        array = validate_data(self, X, dtype=np.float64, reset=False)
        places = np.arange(1, array.shape[1] + 1)
        return _like(X, np.interp(rankdata(array, axis=1), places, self.reference_))


def _like(X: Any, values: Any) -> Any:
    """The values as a DataFrame with the names of X, if that is one."""
    if not hasattr(X, "iloc"):
        return values
    # A subclass of DataFrame may have a constructor with other arguments.
    make = getattr(X, "_constructor", type(X))
    return make(values, index=X.index, columns=X.columns)


SIDES = ("both", "above", "none")
"""The ends of a range at which values may be clipped."""


class RangeClipper(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Clip new values to the range of the training values, feature by feature.

    Parameters
    ----------
    side : {"both", "above", "none"}, default="both"
        Which values are clipped: those on both sides of the range, only those above it, or none.

    Attributes
    ----------
    lowest_, highest_ : ndarray of shape (n_features,)
        The range.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from psvm.selection import RangeClipper
    >>> print(RangeClipper().fit([[0.0, 1.0], [2.0, 3.0]]).transform([[-5.0, 2.0], [1.0, 9.0]]))
    [[0. 2.]
     [1. 3.]]
    """

    lowest_: np.ndarray
    highest_: np.ndarray
    n_features_in_: int

    _constraints: ClassVar = {"side": Choice(*SIDES)}

    _fitted: ClassVar = {"lowest_": ArrayOf("p"), "highest_": ArrayOf("p")}

    def __init__(self, side: Literal["both", "above", "none"] = "both") -> None:
        self.side = side

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Take the range from the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self : RangeClipper
        """
        check_parameters(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        self.lowest_, self.highest_ = X.min(axis=0), X.max(axis=0)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Clip values.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        check_parameters(self)
        array = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        if self.side == "none":
            return _like(X, array.copy())
        lowest = self.lowest_ if self.side == "both" else None
        return _like(X, np.clip(array, lowest, self.highest_))

    def __setstate__(self, state):
        # Pickles from before `side` was a parameter have none; both sides were clipped.
        super().__setstate__({"side": "both", **state})


class PresentCall(CheckedSelectorMixin, BaseEstimator):
    """Keep the genes that are reliably expressed.

    A gene is kept if its p-value is below `q1` in at least `q2` training samples, or if the
    `mask` says so.

    Parameters
    ----------
    p_values : callable or DataFrame, default=None
        The probabilities that measurements are noise. A callable gets the training samples X and
        returns a matrix of the same shape. A DataFrame has the names of the samples as index and
        one column per gene, without missing values; X must then be a DataFrame whose index names
        its samples, so that the right rows are found inside every fold. Columns are found by name,
        or taken in order if no name of X occurs in the DataFrame. In a pipeline the steps before
        must return DataFrames, as `log_transformer` and `QuantileNormalizer` do; others do after
        ``set_output(transform="pandas")``.
    mask : array-like of bool of shape (n_features,), default=None
        The genes to keep, instead of p-values.
    q1 : float, default=0.05
        Largest p-value of a reliable measurement.
    q2 : int, default=3
        Smallest number of reliable measurements.

    Attributes
    ----------
    n_reliable_ : ndarray of shape (n_features,)
        Number of reliable measurements; with a mask all samples count or none.
    n_features_in_ : int
        Number of genes.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.selection import PresentCall
    >>> X = np.array([[9.0, 1.0, 8.0], [7.0, 2.0, 1.0]])
    >>> call = PresentCall(lambda X: np.exp(-X), q1=0.01, q2=1)
    >>> print(call.fit_transform(X))
    [[9. 8.]
     [7. 1.]]
    """

    n_reliable_: np.ndarray
    n_features_in_: int

    _constraints: ClassVar = {
        "p_values": Later(),
        "mask": Later(),
        "q1": Number(above=0),
        "q2": Integer(least=1),
    }

    _fitted: ClassVar = {
        "_support": ArrayOf("p", kinds="b"),
        "n_reliable_": ArrayOf("p", kinds="i"),
    }

    def __init__(
        self,
        p_values: Callable[..., Any] | DataFrame | None = None,
        *,
        mask: ArrayLike | None = None,
        q1: float = 0.05,
        q2: int = 3,
    ) -> None:
        self.p_values = p_values
        self.mask = mask
        self.q1 = q1
        self.q2 = q2

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Find the genes that are reliably expressed in the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self : PresentCall
        """
        check_parameters(self)
        given, X = X, validate_data(self, X, dtype=[np.float64, np.float32])
        if self.p_values is not None and self.mask is not None:
            raise ValueError("Give p_values or mask, not both.")
        if self.mask is not None:
            mask = np.asarray(self.mask)
            if mask.dtype != bool or mask.shape != (X.shape[1],):
                raise ValueError(
                    f"mask must hold one True or False for each of the {X.shape[1]} features, got "
                    f"{mask.dtype} values of shape {mask.shape}."
                )
            self.n_reliable_ = len(X) * mask
            self._support = mask
            return self
        if self.p_values is None:
            self.n_reliable_ = np.full(X.shape[1], len(X))
            self._support = np.ones(X.shape[1], dtype=bool)
            return self
        if self.q2 > len(X):
            raise ValueError(f"q2={self.q2} reliable measurements are impossible in {len(X)} rows.")
        self.n_reliable_ = (self._look_up(X, given) < self.q1).sum(axis=0)
        self._support = self.n_reliable_ >= self.q2
        return self

    def _look_up(self, X, given):
        """The p-values of the samples of X; `given` is X with its names."""
        p = self.p_values(X) if callable(self.p_values) else _rows_of(self.p_values, given)
        try:
            p = np.asarray(p, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"p_values must hold numbers. {error}") from error
        if p.shape != X.shape:
            raise ValueError(f"p_values has shape {p.shape}, but X has shape {X.shape}.")
        n_missing = np.count_nonzero(np.isnan(p))
        if n_missing:
            raise ValueError(
                f"p_values is NaN in {n_missing} entries. Use 1 for measurements that are not "
                "reliable, and 0 for those that are."
            )
        return p

    def _get_support_mask(self):
        check_is_fitted(self)
        return self._support


def _rows_of(p_values, X):
    """The p-values of the samples and genes of X, looked up by name."""
    if not (hasattr(p_values, "loc") and hasattr(p_values, "columns")):
        raise TypeError(
            "p_values must be a callable or a DataFrame whose index names the samples, with one "
            f"column per gene, got {type(p_values).__name__}: values without names cannot follow "
            "the folds."
        )
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        raise ValueError(
            f"With p_values in a DataFrame X must be a DataFrame as well, got {type(X).__name__}. "
            'If a step before returns an array, call its set_output(transform="pandas").'
        )
    _check_unique("rows", p_values.index)
    missing = X.index.difference(p_values.index)
    if len(missing):
        raise ValueError(f"p_values has no row for the samples {list(missing[:5])}.")
    p = p_values.loc[X.index]
    known = X.columns.isin(p.columns)
    if not known.any():
        return p
    _check_unique("columns", p.columns)
    if not known.all():
        missing = list(X.columns[~known])
        raise ValueError(
            f"p_values has no column for {len(missing)} of the genes of X: {missing[:5]}. Name "
            "all genes alike, or none to take the columns in order."
        )
    return p[list(X.columns)]


def _check_unique(what, names):
    if not names.is_unique:
        twice = list(names[names.duplicated()].unique())
        raise ValueError(
            f"p_values has several {what} of the same name: {twice[:5]}. Keep one of each."
        )
