"""The triangular factor of rows that are never together in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import qr

from ._storage import stored_bytes


@dataclass(frozen=True, eq=False, repr=False)
class RowFactor:
    """The triangular factor of weighted rows: what their moments tell, with twice the digits.

    With the rows ``z_i`` of ``Z = [K, Y]`` and a number c for each column, R is the factor of the
    rows ``sqrt(w_i) [1, z_i - c]``, so that ``R'R`` has their products. Forming these squares the
    condition of the columns, and a factor does not. Factors add up: that of two sets of rows is
    the factor of both factors (TSQR). `MomentsPlan.factor` makes them.

    Parameters
    ----------
    origin : ndarray of shape (P + T,)
        c.
    R : ndarray of shape (m, 1 + P + T)
        Upper triangular.
    n_targets : int
        T.
    plan : str
        The key of the plan that says what the columns are.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVR, MomentsPlan, RowSurvey
    >>> rng = np.random.default_rng(0)
    >>> K, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    >>> plan = MomentsPlan.make(PSVR(kernel="dyadic"), RowSurvey.of(K, y, labels=False))
    >>> both = plan.factor([(K[:60], y[:60])]) + plan.factor([(K[60:], y[60:])])
    >>> products = both.R.T @ both.R
    >>> bool(np.isclose(products[0, 0], 100))
    True
    """

    origin: np.ndarray
    R: np.ndarray
    n_targets: int
    plan: str

    def __add__(self, other: RowFactor) -> RowFactor:
        if not isinstance(other, RowFactor):
            return NotImplemented
        if self.plan != other.plan:
            raise ValueError("The factors were made by different plans and do not add up.")
        return replace(self, R=triangle(np.concatenate([self.R, other.R])))

    def __radd__(self, other: int) -> RowFactor:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # for `sum`

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + stored_bytes(self.origin, self.R)

    def centred_rows(self) -> np.ndarray:
        """Rows of [K, Y] whose products are the centred products of all rows.

        Returns
        -------
        ndarray of shape (m, P + T)
        """
        return self.R[1:, 1:] if len(self.R) > 1 else np.zeros((1, len(self.origin)))

    def equivalent_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A few rows with the same moments: every fit to them is the fit to all rows.

        Returns
        -------
        K : ndarray of shape (m, P)
        Y : ndarray of shape (m, T)
        weights : ndarray of shape (m,)
        """
        weight, rows = float(self.R[0, 0] ** 2), self.centred_rows()
        rows = np.sqrt(len(rows) / weight) * rows
        Z = np.concatenate([rows, -rows]) + (self.origin + self.R[0, 1:] / self.R[0, 0])
        P = len(self.origin) - self.n_targets
        return Z[:, :P], Z[:, P:], np.full(len(Z), weight / len(Z))


def triangle(rows):
    """The triangular factor of rows, which are overwritten."""
    R = qr(rows, mode="r", overwrite_a=True, check_finite=False)[0]
    return R[: min(R.shape)]
