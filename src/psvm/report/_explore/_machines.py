"""The path of each machine, exact between its knots, and its error on rows it has not seen."""

from dataclasses import dataclass

import numpy as np

from ..._folds import make_splits
from ..._progress import finished
from ...matrix import as_dense
from ...solvers import EpsilonPath, epsilon_path

N_JUDGED = 40
"""Epsilons at which the error of held-out rows is known."""


@dataclass(frozen=True)
class ExploredMachine:
    """A target with its path and what the models of the folds say along it."""

    name: str
    """What the machine tells apart, or the target."""
    y: np.ndarray
    """The target as numbers: -1 and +1 for two classes."""
    path: EpsilonPath
    epsilons: np.ndarray
    """Where the folds are judged, decreasing."""
    held_out: np.ndarray
    """Values of each row by models that have not seen it, of shape (epsilons, rows)."""
    errors: np.ndarray
    """Share of wrong signs, or root mean squared error, of all rows."""
    standard_errors: np.ndarray
    chosen: float
    """The largest epsilon whose error is within one standard error of the smallest one."""
    baseline: float
    """Error of the largest class, or of the mean."""


def make_machines(K, own, targets, C, *, classifier, cv, max_features, min_ratio):
    """One machine for each target.

    Parameters
    ----------
    K : matrix of shape (L, P)
    own : ndarray of shape (P,) or None
        The row by which each column describes: it leaves with that row.
    targets : dict
        Names and targets as numbers.
    """
    options = {"max_features": max_features, "min_ratio": min_ratio}
    work = (
        _make_machine(K, own, name, y, C, classifier, cv, options) for name, y in targets.items()
    )
    return list(finished(work, "machines", len(targets)))


def _make_machine(K, own, name, y, C, classifier, cv, options):
    path = epsilon_path(K, y, C, method="homotopy", **options)
    if not len(path.order):
        raise ValueError(
            "No column of X says anything about y, so that there is no path to explore. Check that "
            "the target belongs to these rows."
        )
    epsilons = np.geomspace(path.epsilon_max, path.knots[-1], N_JUDGED)
    epsilons[0], epsilons[-1] = path.epsilon_max, path.knots[-1]
    held_out = _held_out(K, own, y, C, epsilons, make_splits(cv, K, y, classifier=classifier))
    errors, standard_errors = _errors(held_out, y, classifier)
    best = errors.argmin()
    chosen = np.flatnonzero(errors <= errors[best] + standard_errors[best])[0]
    _, counts = np.unique(y, return_counts=True)
    baseline = 1 - counts.max() / len(y) if classifier else float(np.std(y))
    return ExploredMachine(
        name, y, path, epsilons, held_out, errors, standard_errors, float(epsilons[chosen]),
        baseline,
    )  # fmt: skip


def _held_out(K, own, y, C, epsilons, splits):
    """Values of the rows of each fold by the models of the others.

    Columns have unit norm and the target one that grows with the square root of the rows, so that
    epsilon is scaled by it: it stands for the same correlation.
    """
    values = np.full((len(epsilons), len(y)), np.nan)
    for train, test in splits:
        columns = np.arange(K.shape[1]) if own is None else np.flatnonzero(np.isin(own, train))
        inner = epsilons * np.sqrt(len(train) / len(y))
        path = epsilon_path(K[train][:, columns], y[train], C, epsilons=inner, method="homotopy")
        n = len(path.epsilons)
        values[:n, test] = (K[test][:, columns] @ as_dense(path.coefs).T + path.intercepts).T
        values[n:, test] = values[n - 1, test]  # a path that ended early
    return values


def _errors(values, y, classifier):
    """Errors of all rows at each epsilon, with their standard errors."""
    if classifier:
        wrong = (values > 0) != (y > 0)
        share = wrong.mean(axis=1)
        return share, np.sqrt(share * (1 - share) / len(y))
    squares = np.square(values - y)
    root = np.sqrt(squares.mean(axis=1))
    spread = squares.std(axis=1) / np.sqrt(len(y))
    return root, np.divide(spread, 2 * root, out=np.zeros_like(root), where=root > 0)
