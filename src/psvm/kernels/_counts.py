"""Kernels of fingerprints, counts, histograms and profiles: rows of numbers of at least 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms

from ..matrix import (
    as_dense,
    chi2_tiles,
    city_block_tiles,
    row_products,
    row_slices,
    row_sums,
    stored_values,
)
from ._base import Kernel
from ._vector import Exponential


class Tanimoto(Kernel):
    """``k(x, z) = <x, z> / (||x||^2 + ||z||^2 - <x, z>)``, the similarity of fingerprints.

    For rows of 0 and 1 it is the number of common bits over the number of bits that either has.
    Counts enter by their products; `Jaccard` has the other generalisation, by minima and maxima,
    and agrees on rows of 0 and 1. Two rows of zeros have the value 1, as in SciPy.

    It is positive definite for all vectors, also with negative entries:
    ``1 / (a + b - <x, z>)`` is the integral of ``exp(-t a) exp(-t b) exp(t <x, z>)`` over t.

    Examples
    --------
    >>> from psvm.kernels import Tanimoto
    >>> Tanimoto()([[1, 1, 0, 1]], [[1, 0, 1, 1], [0, 0, 1, 0]])
    array([[0.5, 0. ]])
    """

    positive_definite = True

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        K, xx, zz = row_products(X, Z), row_norms(X, squared=True), row_norms(Z, squared=True)
        for rows in row_slices(*K.shape):
            _divide(K[rows], (xx[rows, None] + zz) - K[rows])
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0], dtype=X.dtype)


class _NonNegative(Kernel):
    """A kernel of rows without negative entries."""

    def check_objects(self, X: Any, name: str = "X") -> Any:
        X = super().check_objects(X, name)
        self._check_entries(X, name)
        return X

    def prepare(self, X: Any) -> Any:
        self._check_entries(X, "X")
        return X

    def _check_entries(self, X, name):
        smallest = stored_values(X).min(initial=0.0)
        if smallest < 0:
            raise ValueError(
                f"{name} has the entry {smallest:.6g}: {self!r} is a kernel of counts, "
                "histograms or profiles and needs entries of at least 0. Do not standardise the "
                "columns, or use another kernel."
            )


class Jaccard(_NonNegative):
    """``k(x, z) = sum_i min(x_i, z_i) / sum_i max(x_i, z_i)``, for rows of at least 0.

    For rows of 0 and 1 this is the Jaccard coefficient and the same as `Tanimoto`; for counts it is
    also known as the min-max or Ruzicka similarity. Two rows of zeros have the value 1.

    Examples
    --------
    >>> from psvm.kernels import Jaccard
    >>> Jaccard()([[2, 0, 1]], [[1, 1, 1], [2, 0, 1]])
    array([[0.5, 1. ]])
    """

    positive_definite = True

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        K, x, z = _empty(X, Z), row_sums(X), row_sums(Z)
        for rows, D in city_block_tiles(X, Z):
            # sum min = (x + z - D) / 2 and sum max = (x + z + D) / 2
            both = x[rows, None] + z
            K[rows] = _divide(np.maximum(both - D, 0.0), both + D)
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0], dtype=X.dtype)


class HistogramIntersection(_NonNegative):
    """``k(x, z) = sum_i min(x_i, z_i)``, for rows of at least 0.

    Examples
    --------
    >>> from psvm.kernels import HistogramIntersection
    >>> HistogramIntersection()([[0.5, 0.5, 0.0]], [[0.25, 0.25, 0.5]])
    array([[0.5]])
    """

    positive_definite = True

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        K, x, z = _empty(X, Z), row_sums(X), row_sums(Z)
        for rows, D in city_block_tiles(X, Z):
            np.subtract(x[rows, None] + z, D, out=D)
            D *= 0.5
            K[rows] = np.maximum(D, 0.0, out=D)
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        return row_sums(X).astype(X.dtype, copy=False)


class AdditiveChi2(_NonNegative):
    """``k(x, z) = -sum_i (x_i - z_i)^2 / (x_i + z_i)``, for rows of at least 0.

    This is that of `sklearn.metrics.pairwise.additive_chi2_kernel`, positive definite on
    differences only; terms of two zeros are 0. `Chi2` is the exponential of it.

    Examples
    --------
    >>> from psvm.kernels import AdditiveChi2
    >>> AdditiveChi2()([[1.0, 0.0, 1.0]], [[1.0, 0.0, 3.0]])
    array([[-1.]])
    """

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        K = _empty(X, Z)
        for rows, columns, D in chi2_tiles(X, Z):
            np.negative(D, out=K[rows, columns], casting="same_kind")
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        return np.zeros(X.shape[0], dtype=X.dtype)


class Chi2(_NonNegative, Exponential):
    """``k(x, z) = exp(-gamma sum_i (x_i - z_i)^2 / (x_i + z_i))``, for rows of at least 0.

    As `sklearn.metrics.pairwise.chi2_kernel`, for sparse rows as well.

    Parameters
    ----------
    gamma : float, default=1.0

    Examples
    --------
    >>> from psvm.kernels import Chi2
    >>> Chi2()([[1.0, 0.0, 1.0]], [[1.0, 0.0, 3.0]]).round(3)
    array([[0.368]])
    """

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        K = _empty(X, Z)
        for rows, columns, D in chi2_tiles(X, Z):
            D *= -self.gamma
            np.exp(D, out=K[rows, columns], casting="same_kind")
        return K


class Wasserstein(_NonNegative, Exponential):
    """``k(x, z) = exp(-gamma W(x, z))`` with the Wasserstein distance of two profiles.

    A row is a profile: masses of at least 0 in bins that follow each other at equal distances, such
    as a histogram, a spectrum or an elution curve. Each is divided by its sum. The distance is the
    work of moving one onto the other, with the distance of neighbouring bins as unit, which is
    ``sum_i |F_i - G_i|`` of the cumulative sums F and G: the kernel is positive definite.

    Parameters
    ----------
    gamma : float, default=1.0

    Examples
    --------
    >>> from psvm.kernels import Wasserstein
    >>> Wasserstein(gamma=0.5)([[1.0, 0.0, 0.0]], [[0.0, 0.0, 3.0], [2.0, 2.0, 0.0]]).round(3)
    array([[0.368, 0.779]])
    """

    def prepare(self, X: Any) -> Any:
        sums = row_sums(super().prepare(X))
        if not (sums > 0).all():
            raise ValueError(
                f"X must have profiles with some mass for {self!r}: row "
                f"{int(np.argmin(sums > 0))} has the sum 0. Leave it out."
            )
        F = np.cumsum(as_dense(X) / sums[:, None], axis=1)
        return F.astype(X.dtype, copy=False)

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        K = _empty(X, Z)
        for rows, D in city_block_tiles(X, Z):
            D *= -self.gamma
            np.exp(D, out=K[rows], casting="same_kind")
        return K


def _empty(X, Z):
    """An array for all values."""
    return np.empty((X.shape[0], Z.shape[0]), dtype=np.result_type(X.dtype, Z.dtype))


def _divide(K, divisor):
    """``K /= divisor``; 1 where the divisor is 0."""
    empty = divisor <= 0
    np.divide(K, divisor, out=K, where=~empty)
    K[empty] = 1.0
    return K
