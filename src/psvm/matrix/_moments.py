"""The moments of weighted rows: all that the squared loss needs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpstrf

from .._threads import threads
from .._typing import ArrayLike, MatrixLike
from .._validation import (
    check_array,
    check_integer,
    check_number,
    check_vector,
    check_weights,
    shown,
)
from ._base import DataMatrix, plus_outer
from ._factory import check_matrix
from ._standardized import CONSTANT
from ._storage import stored_bytes

SMALL = 1e-8
"""A column that loses all but this share of its squared norm has no variance left: the rest is
rounding."""

LEAST = 1e-12
"""A difference of weights that is at most this share of them is rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Weight, means and centred cross products of the columns of K and of targets.

    They are all that the P-SVM needs of its rows, for each C and each epsilon, and they add up:
    the moments of two sets of rows together are ``a + b``, those without some rows ``a - b``.
    So blocks of a file, folds of a cross-validation and several sites are the same thing. Make
    them by `Moments.of`.

    With the weights w, ``Z = [K, Y]``, ``W = sum(w)`` and ``m = w'Z / W``, the centred products
    are ``S = (Z - 1 m')' diag(w) (Z - 1 m')``. Two sets have::

        W = W1 + W2
        m = (W1 m1 + W2 m2) / W
        S = S1 + S2 + (W1 W2 / W) (m1 - m2)(m1 - m2)'

    Means are kept as a sum of two numbers, so that large means cost no digits. Adding loses none
    either. Taking away loses those by which S exceeds what is left: a column that keeps less
    than 1e-8 of its sum of squares counts as constant.

    Parameters
    ----------
    weight : float
        W.
    origin, rest : ndarray of shape (P + T,)
        Terms of the means, ``m = origin + rest``, the second one small.
    cross : ndarray of shape (P + T, P + T)
        S.
    n_targets : int
        T.

    Examples
    --------
    >>> import numpy as np, psvm
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(100, 3))
    >>> y = K[:, 0] + 0.1 * rng.normal(size=100)
    >>> parts = [psvm.Moments.of(K[i : i + 20], y[i : i + 20]) for i in range(0, 100, 20)]
    >>> total = sum(parts)
    >>> total
    Moments(weight=100, n_columns=3, n_targets=1)
    >>> bool(np.allclose(total.means, K.mean(axis=0)))
    True
    >>> training = total - parts[0]
    >>> bool(np.allclose(training.Q, np.corrcoef(K[20:].T)))
    True
    """

    weight: float
    origin: np.ndarray
    rest: np.ndarray
    cross: np.ndarray
    n_targets: int

    @classmethod
    def of(
        cls, K: MatrixLike | DataMatrix, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Moments:
        """Moments of the rows of K and one or more targets, by one pass over K.

        Parameters
        ----------
        K : {array-like, sparse matrix, DataMatrix} of shape (L, P)
            The matrix. Its P x P products must fit into memory.
        y : array-like of shape (L,) or (L, T)
            One or more targets.
        sample_weight : array-like of shape (L,), default=None
            Weights of the rows. A weight of 2 is the same as the row twice, 0 as without it.

        Returns
        -------
        Moments
        """
        matrix = check_matrix(K)
        L = matrix.shape[0]
        Y = check_array("y", y, ensure_2d=False, dtype=np.float64)
        if Y.ndim > 2 or len(Y) != L:
            raise ValueError(
                f"y must have one entry or row for each of the {L} rows of K, got an array of "
                f"shape {Y.shape}."
            )
        weights = check_weights(sample_weight, L)
        with threads():
            return moments_of(matrix, Y, np.ones(L) if weights is None else weights)

    @property
    def n_columns(self) -> int:
        """P."""
        return len(self.origin) - self.n_targets

    @property
    def means(self) -> np.ndarray:
        """Means of the columns."""
        return (self.origin + self.rest)[: self.n_columns]

    @property
    def products(self) -> np.ndarray:
        """Centred products of the columns, of shape (P, P)."""
        return self.cross[: self.n_columns, : self.n_columns]

    @property
    def target_means(self) -> np.ndarray:
        """Means of the targets."""
        return (self.origin + self.rest)[self.n_columns :]

    @property
    def target_squares(self) -> np.ndarray:
        """Centred sums of squares of the targets; 0 for one without variance."""
        return np.square(self._norms[self.n_columns :])

    @property
    def norms(self) -> np.ndarray:
        """Centred norms of the columns; 0 for one without variance."""
        return self._norms[: self.n_columns]

    @property
    def Q(self) -> np.ndarray:
        """``K̃'K̃`` with an exact unit diagonal, zero for columns without variance."""
        P = self.n_columns
        Q = self.products * self._inverse[:P]
        Q *= self._inverse[:P, None]
        np.fill_diagonal(Q, self.norms > 0)
        return Q

    def correlations(self, target: int = 0) -> np.ndarray:
        """``K̃'y`` of one of the targets."""
        place = self._place(target)
        product = self._inverse[: self.n_columns] * self.cross[: self.n_columns, place]
        return product if self._norms[place] > 0 else np.zeros_like(product)

    def coef(self, alpha: np.ndarray, target: int = 0) -> tuple[np.ndarray, float]:
        """Coefficients of the raw columns and the intercept, which go with alpha.

        Parameters
        ----------
        alpha : ndarray of shape (P,)
            In the units of the standardised columns.
        target : int, default=0
            Which of the targets.

        Returns
        -------
        coef : ndarray of shape (P,)
        intercept : float
        """
        mean = self.target_means[self._place(target) - self.n_columns]
        coef = self._inverse[: self.n_columns] * self._vector("alpha", alpha)
        return coef, float(mean - self.means @ coef)

    def squared_error(self, coef: ArrayLike, intercept: float, target: int = 0) -> float:
        """``sum_i w_i (y_i - K_i coef - intercept)^2`` over the rows behind the moments.

        The rounding error is a share of ``sum_i w_i (|y_i| + |K_i| |coef|)^2``. Where the rows are
        at hand and coefficients are large, take the residuals of the rows instead.

        Parameters
        ----------
        coef : array-like of shape (P,)
            Coefficients of the raw columns.
        intercept : float
        target : int, default=0
            Which of the targets.

        Returns
        -------
        float
        """
        check_number("intercept", intercept)
        coef, place = self._vector("coef", coef), self._place(target)
        used = np.flatnonzero(coef)
        v = np.append(-coef[used], 1.0)
        index = np.append(used, place)
        with np.errstate(over="ignore", invalid="ignore"):
            around = v @ self.cross[np.ix_(index, index)] @ v
            shift = v @ self.origin[index] + v @ self.rest[index] - intercept
            error = np.maximum(around, 0.0) + self.weight * np.square(shift)
        if not np.isfinite(error):
            raise ValueError("coef or intercept are too large to be squared in double precision.")
        return float(error)

    def keep(self, columns: Sequence[int] | np.ndarray) -> Moments:
        """Moments of some of the columns and all targets.

        Parameters
        ----------
        columns : array-like
            Their indices, or a boolean array of shape (P,).

        Returns
        -------
        Moments
        """
        try:
            chosen = np.arange(self.n_columns)[columns]
            if chosen.ndim != 1:
                raise IndexError
        except (IndexError, ValueError, TypeError):
            raise ValueError(
                f"columns must be indices or marks of the {self.n_columns} columns, got "
                f"{shown(columns)}."
            ) from None
        index = np.append(chosen, np.arange(self.n_columns, len(self.origin)))
        parts = self.origin[index], self.rest[index], self.cross[np.ix_(index, index)]
        return Moments(self.weight, *parts, self.n_targets)

    def equivalent_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A few rows that have these moments: every fit to them is the fit to all rows.

        Returns
        -------
        K : ndarray of shape (m, P)
            m is at most ``2 (P + T)``.
        Y : ndarray of shape (m, T)
        weights : ndarray of shape (m,)
        """
        scale = np.sqrt(np.maximum(self.cross.diagonal(), 0.0))
        inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        factor, order, rank, _ = dpstrf(inverse[:, None] * self.cross * inverse, lower=True)
        rows = np.zeros((rank, len(scale)))
        rows[:, order - 1] = np.tril(factor)[:, :rank].T
        rows *= scale * np.sqrt(rank / self.weight)
        Z = np.concatenate([rows, -rows]) if rank else np.zeros((1, len(scale)))
        Z += self.origin + self.rest
        P = self.n_columns
        return Z[:, :P], Z[:, P:], np.full(len(Z), self.weight / len(Z))

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        self._check_like(other)
        if other.weight > self.weight:  # the order of two makes no difference
            self, other = other, self
        weight = self.weight + other.weight
        difference = self._difference(other)
        factor = self.weight * (other.weight / weight)
        cross = plus_outer(self.cross + other.cross, factor, difference)
        rest = self.rest - (other.weight / weight) * difference
        return Moments(weight, self.origin, rest, cross, self.n_targets)

    def __radd__(self, other: int) -> Moments:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # for `sum`

    def __sub__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        self._check_like(other)
        weight = self.weight - other.weight
        if weight <= LEAST * self.weight:
            raise ValueError(
                f"Rows of weight {other.weight:g} cannot be taken from rows of weight "
                f"{self.weight:g}: some must be left."
            )
        difference = self._difference(other)
        share = other.weight / weight
        cross = plus_outer(self.cross - other.cross, -self.weight * share, difference)
        squares, before = cross.diagonal(), self.cross.diagonal()
        if (squares < -SMALL * before).any():
            raise ValueError(
                "The rows to be taken away vary more than all rows: they are not among them."
            )
        lost = np.flatnonzero(squares <= SMALL * before)
        cross[lost] = cross[:, lost] = 0.0
        rest = self.rest + share * difference
        return Moments(weight, self.origin, rest, cross, self.n_targets)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + stored_bytes(self.origin, self.rest, self.cross)

    def __repr__(self) -> str:
        return (
            f"Moments(weight={self.weight:g}, n_columns={self.n_columns}, "
            f"n_targets={self.n_targets})"
        )

    def _difference(self, other):
        """The means minus those of others."""
        return (self.origin - other.origin) + (self.rest - other.rest)

    def _check_like(self, other):
        mine, its = (self.n_columns, self.n_targets), (other.n_columns, other.n_targets)
        if mine != its:
            raise ValueError(
                f"Moments of {mine[0]} columns and {mine[1]} targets do not go with moments of "
                f"{its[0]} columns and {its[1]} targets."
            )

    def _place(self, target):
        check_integer("target", target, most=self.n_targets - 1)
        return self.n_columns + target

    def _vector(self, name, value):
        value = check_vector(name, value)
        if value.shape != (self.n_columns,):
            raise ValueError(
                f"{name} must have one entry for each of the {self.n_columns} columns, got an "
                f"array of shape {value.shape}."
            )
        return value

    @cached_property
    def _norms(self):
        """Centred norms of columns and targets."""
        squares = np.maximum(self.cross.diagonal(), 0.0)
        sizes = np.sqrt(squares + self.weight * np.square(self.origin + self.rest))
        norms = np.sqrt(squares)
        return np.where(norms <= CONSTANT * sizes, 0.0, norms)

    @cached_property
    def _inverse(self):
        norms = self._norms
        return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def moments_of(matrix, Y, weights):
    """`Moments.of` a `DataMatrix` with arrays that are checked."""
    with np.errstate(over="ignore", invalid="ignore"):
        origin, rest, cross = matrix.joint_moments(Y if Y.ndim == 2 else Y[:, None], weights)
        wrong = np.flatnonzero(~np.isfinite(cross.diagonal()))
    P = matrix.shape[1]
    if len(wrong):
        where = f"column {wrong[0]} of K" if wrong[0] < P else "y"
        raise ValueError(
            f"There are NaN, infinity or numbers whose squares exceed double precision in {where}. "
            "Impute or leave out what is missing, and divide by the largest entry."
        )
    return Moments(float(weights.sum()), origin, rest, cross, len(origin) - P)
