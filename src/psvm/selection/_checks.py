"""Checks of data and parameters that several selectors share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.feature_selection import SelectorMixin

from .._typing import MatrixLike
from .._validation import (
    check_array,
    check_positive_integer,
    check_stored,
    check_vector,
    named,
    shown,
    validate_data,
)
from ..matrix import missing_entries

SHOWN = 5
"""So many rows and columns with missing values are named."""


def validate(estimator, X, y, *, remedy, **options):
    """scikit-learn's validation; missing values are answered by where they are and a remedy."""
    X = check_stored("X", X)
    try:
        return validate_data(
            estimator,
            X,
            y,
            accept_sparse=("csr", "csc"),
            dtype=[np.float64, np.float32],
            ensure_min_samples=2,
            **options,
        )
    except ValueError as error:
        _explain_missing(X, remedy, error)
        raise


def _explain_missing(X, remedy, error):
    columns = getattr(X, "columns", None)
    if np.iscomplexobj(X):
        return
    try:
        if np.ndim(X) != 2:
            return
        row, column = missing_entries(X)
    except (TypeError, ValueError, OverflowError):
        return
    if len(row):
        names = np.arange(np.shape(X)[1]) if columns is None else np.asarray(columns)
        raise ValueError(
            f"X contains NaN in {len(row)} entries: in {_some(np.unique(row), 'row')} and "
            f"{_some(names[np.unique(column)], 'column')}. {remedy}"
        ) from error


def _some(values, what):
    """The first few of the values in words."""
    listed = ", ".join(str(v) for v in values[:SHOWN])
    if len(values) == 1:
        return f"{what} {listed}"
    more = f", ... ({len(values)} in all)" if len(values) > SHOWN else ""
    return f"{what}s {listed}{more}"


def check_n_features(value, n_features, owner="X"):
    """Check a number of features to select among those that `owner` has."""
    check_positive_integer("n_features", value)
    if value > n_features:
        what = f"X has {n_features} features" if owner == "X" else f"there are {n_features} {owner}"
        raise ValueError(
            f"n_features={value} is impossible: {what}. Choose a number from 1 to {n_features}."
        )


def check_epsilons(name, epsilons):
    """Check a list of epsilon: positive and decreasing."""
    values = check_vector(name, epsilons)
    if (values <= 0).any():
        raise ValueError(f"{name} must be positive numbers, got {shown(epsilons)}.")
    if (np.diff(values) >= 0).any():
        raise ValueError(
            f"{name} must decrease strictly, from few features to many, got "
            f"{', '.join(f'{v:.4g}' for v in values[:SHOWN])}, ... Sort it as in "
            "sorted(set(epsilons), reverse=True)."
        )
    return values


def check_folds(splits, y):
    """Check that the training part of every fold holds every class."""
    classes = np.unique(y)
    for number, (train, test) in enumerate(splits):
        absent = np.setdiff1d(classes, y[train])
        if len(absent):
            raise ValueError(
                f"Fold {number} has no training sample of class {', '.join(map(str, absent))} "
                f"({len(train)} training samples, {len(test)} left out). Every fold needs all "
                "classes: use StratifiedKFold with at most as many folds as the smallest class "
                "has samples."
            )


class CheckedSelectorMixin(SelectorMixin):
    """scikit-learn's `SelectorMixin` for data whose masks and indices are checked first."""

    def transform(self, X: MatrixLike) -> Any:
        """Reduce X to the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_selected)
        """
        return named("X", super().transform, check_stored("X", X))

    def inverse_transform(self, X: MatrixLike) -> Any:
        """Put zeros in place of the features that were not selected.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_selected)

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_features)
        """
        X = check_array("X", X, accept_sparse=("csr", "csc"), dtype=None)
        return named("X", super().inverse_transform, X)
