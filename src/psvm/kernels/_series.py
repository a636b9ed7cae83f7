"""Kernels of time series that are aligned with each other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._core._series import global_alignments, self_alignments, warping_costs
from .._parameters import Flag, Integer, Number, Optional
from ..matrix import as_dense
from ._base import PreparedParts
from ._vector import Exponential


class _Series(Exponential):
    """Rows as time series: their points in time, and how many of them each has."""

    _constraints: ClassVar = {"channels": Integer(least=1), "padding": Optional(Number())}

    def check_objects(self, X: Any, name: str = "X") -> Any:
        X = super().check_objects(X, name)
        self._lengths(X, name)
        return X

    def prepare(self, X: Any) -> Any:
        X = as_dense(X)
        self._lengths(X)
        return X

    def _lengths(self, X, name="X"):
        """Points in time of each series."""
        if X.shape[1] % self.channels:
            raise ValueError(
                f"{name} has {X.shape[1]} columns, no multiple of {self.channels}: {self!r} needs "
                "as many numbers as channels for each point in time."
            )
        n_points = X.shape[1] // self.channels
        lengths = np.full(X.shape[0], n_points, dtype=np.intp)
        if self.padding is not None:
            points = as_dense(X).reshape(X.shape[0], n_points, self.channels)
            there = (points != self.padding).any(axis=2)
            lengths = (there * np.arange(1, n_points + 1)).max(axis=1, initial=0).astype(np.intp)
        if not (lengths > 0).all():
            raise ValueError(
                f"{name} must have series with some points for {self!r}; row "
                f"{int(np.argmin(lengths > 0))} has none."
            )
        return lengths

    def _pairs(self, loop, X, Z, *options):
        """What a compiled loop makes of all pairs."""
        K = np.empty((X.shape[0], Z.shape[0]))
        if K.size:
            symmetric = X is Z
            x = _series(X), self._lengths(X)
            z = x if symmetric else (_series(Z), self._lengths(Z))
            loop(*x, *z, self.channels, *options, symmetric, K)
        return K


class DTW(_Series):
    """``k(x, z) = exp(-gamma d(x, z))`` with the cost d of dynamic time warping; indefinite.

    A row is a series. ``d`` is the least sum of ``(x_i - z_j)^2`` along a path from the first pair
    of points to the last one that steps forward in x, in z or in both. With ``window=0`` and
    series of equal length this is the RBF kernel.

    Parameters
    ----------
    gamma : float, default=1.0
    window : int, default=None
        Largest distance ``|i - j|`` of aligned points (Sakoe and Chiba), or the difference of the
        lengths if that is larger; None is no limit. The time is proportional to it.
    channels : int, default=1
        Numbers per point in time, which stand side by side in a row.
    padding : float, default=None
        The number that fills up rows of shorter series at their end; None if all are of the same
        length. In the middle of a series it is a number like others.

    Examples
    --------
    >>> from psvm.kernels import DTW
    >>> DTW()([[0, 0, 1, 2]], [[0, 1, 2, 2], [0, 0, 1, 3]]).round(3)
    array([[1.   , 0.368]])
    >>> DTW(padding=-1)([[0, 0, 1, 2]], [[0, 1, 2, -1]])
    array([[1.]])
    """

    positive_definite = False

    _constraints: ClassVar = {"window": Optional(Integer())}

    def __init__(
        self,
        gamma: float = 1.0,
        window: int | None = None,
        *,
        channels: int = 1,
        padding: float | None = None,
    ) -> None:
        super().__init__(gamma)
        self.window = window
        self.channels = channels
        self.padding = padding

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        window = X.shape[1] if self.window is None else min(self.window, X.shape[1])
        K = self._pairs(warping_costs, X, Z, window)
        K *= -self.gamma
        return np.exp(K, out=K).astype(np.result_type(X.dtype, Z.dtype), copy=False)


class GlobalAlignment(_Series):
    """Global alignment kernel of time series: the sum over all warping paths, not the best alone.

    A row is a series. ``k(x, z)`` is the sum over all paths of the products of ``s / (2 - s)`` with
    ``s = exp(-gamma (x_i - z_j)^2)`` of the pairs of points on it, which is positive definite
    (Cuturi 2011); his sigma is ``gamma = 1 / (2 sigma^2)``. Sums are scaled on the way, so that no
    length overflows.

    Parameters
    ----------
    gamma : float, default=1.0
    normalize : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))``. Values of long series are too large for
        anything else.
    channels : int, default=1
        Numbers per point in time, which stand side by side in a row.
    padding : float, default=None
        The number that fills up rows of shorter series at their end; None if all are of the same
        length. In the middle of a series it is a number like others.

    Examples
    --------
    >>> from psvm.kernels import GlobalAlignment
    >>> GlobalAlignment(normalize=False)([[0, 0]])
    array([[3.]])
    >>> GlobalAlignment(gamma=0.1)([[0, 0, 1, 2]], [[0, 1, 2, 2], [5, 5, 5, 5]]).round(3)
    array([[0.762, 0.   ]])
    """

    _constraints: ClassVar = {"normalize": Flag()}

    def __init__(
        self,
        gamma: float = 1.0,
        normalize: bool = True,
        *,
        channels: int = 1,
        padding: float | None = None,
    ) -> None:
        super().__init__(gamma)
        self.normalize = normalize
        self.channels = channels
        self.padding = padding

    def prepare(self, X: Any) -> Any:
        X = super().prepare(X)
        logs = np.zeros(X.shape[0])
        if self.normalize and X.shape[0]:
            self_alignments(_series(X), self._lengths(X), self.channels, self.gamma, logs)
        return PreparedParts(X, 0.5 * logs)

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        (x, x_logs), (z, z_logs) = X.parts, Z.parts
        K = self._pairs(global_alignments, x, z, self.gamma)
        K -= x_logs[:, None]
        K -= z_logs
        return np.exp(K, out=K).astype(np.result_type(x.dtype, z.dtype), copy=False)

    def diagonal(self, X: Any) -> np.ndarray:
        x = X.parts[0]
        if self.normalize:
            return np.ones(x.shape[0], dtype=x.dtype)
        own = np.zeros(x.shape[0])
        if len(own):
            self_alignments(_series(x), self._lengths(x), self.channels, self.gamma, own)
        return np.exp(own).astype(x.dtype, copy=False)


def _series(X):
    """Rows as the compiled loops read them."""
    return np.ascontiguousarray(X, dtype=np.float64)
