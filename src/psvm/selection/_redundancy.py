"""Which unselected features could stand in for the selected ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import ArrayLike, MatrixLike
from .._validation import as_array, check_array, check_positive_integer
from ..matrix import Standardized, as_matrix


@dataclass(frozen=True, eq=False)
class StandIns:
    """The unselected features most correlated with a selected one.

    Attributes
    ----------
    feature : int
        The selected feature.
    indices : ndarray
        The unselected features, those with the largest absolute correlation first.
    correlations : ndarray
        Their correlations with the selected feature.
    name, names : str and ndarray, or None
        The names of the features, if they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.selection import StandIns
    >>> print(StandIns(3, np.array([8, 5]), np.array([0.97, -0.6])))
    3: 8 (+0.97), 5 (-0.60)
    """

    feature: int
    indices: np.ndarray
    correlations: np.ndarray
    name: str | None = None
    names: np.ndarray | None = None

    def __str__(self):
        names = self.indices if self.names is None else self.names
        pairs = zip(names, self.correlations, strict=True)
        listed = ", ".join(f"{name} ({r:+.2f})" for name, r in pairs)
        return f"{self.feature if self.name is None else self.name}: {listed}"


def stand_ins(
    X: MatrixLike, selected: ArrayLike, *, n: int = 5, feature_names: ArrayLike | None = None
) -> list[StandIns]:
    """For each selected feature the unselected ones most correlated with it.

    A selection without redundancy leaves out whatever a selected feature says already. This list
    tells for which one it was left out, and by how much they agree.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    selected : array-like of int
        Indices of the selected features.
    n : int, default=5
        Number of stand-ins per feature.
    feature_names : array-like of str, default=None
        Names of the features; those of a DataFrame by default.

    Returns
    -------
    list of StandIns
        One per selected feature.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.selection import stand_ins
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4))
    >>> X[:, 2] = -X[:, 0] + 0.1 * rng.normal(size=100)
    >>> print(stand_ins(X, [0, 1], n=1)[0])
    0: 2 (-0.99)
    """
    check_positive_integer("n", n)
    if feature_names is None and hasattr(X, "columns"):
        feature_names = X.columns
    names = None if feature_names is None else as_array("feature_names", feature_names)
    X = check_array("X", X, accept_sparse=("csr", "csc"), dtype=[np.float64, np.float32])
    selected = as_array("selected", selected)
    whole = selected.ndim == 1 and (selected.dtype.kind in "iu" or not len(selected))
    if not whole or not np.isin(selected, np.arange(X.shape[1])).all():
        raise ValueError(f"selected must hold indices from 0 to {X.shape[1] - 1}.")
    selected = selected.astype(np.intp)
    if names is not None and names.shape != (X.shape[1],):
        raise ValueError(
            f"feature_names must hold one name for each of the {X.shape[1]} features, got an array "
            f"of shape {names.shape}."
        )
    others = np.setdiff1d(np.arange(X.shape[1]), selected)
    correlations = Standardized(as_matrix(X)).gram_columns(selected)[others]
    found = []
    for feature, r in zip(selected, correlations.T, strict=True):
        best = np.argsort(-np.abs(r), kind="stable")[:n]
        index = others[best]
        label, labels = (None, None) if names is None else (names[feature], names[index])
        found.append(StandIns(int(feature), index, r[best], label, labels))
    return found


class StandInsMixin:
    """`stand_ins` for a fitted selector with `order_` and `n_features_`."""

    order_: np.ndarray
    n_features_: int

    def stand_ins(self, X: MatrixLike, n: int = 5) -> list[StandIns]:
        """For each selected feature the unselected ones most correlated with it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data of the fit, before any preprocessing; it may not contain missing values.
        n : int, default=5
            Number of stand-ins per feature.

        Returns
        -------
        list of StandIns
            In the order of `order_`.
        """
        check_is_fitted(self)
        X, names = self._candidates(X)
        return stand_ins(X, self.order_[: self.n_features_], n=n, feature_names=names)

    def _candidates(self, X):
        """All features, selected or not, and their names."""
        return X, getattr(self, "feature_names_in_", None)
