"""The path along epsilon in one fold, and what it says about the held-out rows."""

import time
from typing import NamedTuple

import numpy as np

from .._progress import steps
from ..solvers import WorkingSet, follow


class Fold(NamedTuple):
    """Which rows train and which are held out, as indices."""

    train: np.ndarray
    test: np.ndarray


class FoldResult(NamedTuple):
    """What the paths of one fold give; one row per C, one column per epsilon."""

    scores: np.ndarray
    n_support: np.ndarray
    fit_time: np.ndarray
    """Seconds of the path of each C."""


class Grid(NamedTuple):
    """The parameters of the paths that share a matrix."""

    epsilons: np.ndarray
    """Shares of epsilon_max, decreasing."""
    Cs: np.ndarray


def fold_result(description, target, fold, grid, score, tol):
    """Follow all paths of a fold.

    Parameters
    ----------
    description : Description
        Of all rows.
    target : Labels or Numbers
        Of all rows.
    fold : Fold
    grid : Grid
    score : callable
        ``score(decisions, test)`` of an array of shape (n_epsilons, n_test, n_machines).
    tol : float
        Tolerance of the solutions.

    Returns
    -------
    FoldResult
    """
    L = description.matrix.shape[0]
    training = description.counting(np.bincount(fold.train, minlength=L))
    machines = [_MachinePaths(training.part(t.rows), t.target, tol) for t in target.tasks()]
    shape = len(grid.Cs), len(grid.epsilons)
    result = FoldResult(np.empty(shape), np.empty(shape), np.empty(len(grid.Cs)))
    for i, C in enumerate(steps(grid.Cs, "C")):
        began = time.perf_counter()
        for machine in steps(machines, "machine"):
            machine.follow(C, grid.epsilons)
        result.fit_time[i] = time.perf_counter() - began
        decisions, result.n_support[i] = _held_out(description.matrix, fold.test, machines)
        result.scores[i] = score(decisions, fold.test)
    return result


class _MachinePaths:
    """The paths of one machine, which share columns and products.

    `coefs`, the coefficients of the raw columns, and `intercepts` have a row for each epsilon of
    the last one.
    """

    def __init__(self, description, y, tol):
        self.columns = description.columns
        self.problem = description.problem(y, np.inf)
        self.solver = WorkingSet(tol=tol)
        self.workspace = self.solver.workspace(self.problem.K)

    def follow(self, C, epsilons):
        """Follow the path of a C along shares of epsilon_max."""
        stated = self.problem.with_parameters(C=C)
        epsilons = epsilons * self.problem.epsilon_max
        path = list(follow(stated, epsilons, self.solver, workspace=self.workspace))
        self.coefs = np.array([solution.coef for solution in path])
        self.intercepts = np.array([solution.intercept for solution in path])


def _held_out(matrix, test, machines):
    """Decisions of all machines at all epsilons, and how many objects support them."""
    decisions, supporting = [], False
    for machine in machines:
        coefs, intercepts = machine.coefs, machine.intercepts
        support = np.flatnonzero(coefs.any(axis=0))
        K = matrix.part(test, machine.columns[support])
        decisions.append(
            K.matvec(coefs[:, support].T) + intercepts
            if len(support)
            else np.tile(intercepts, (len(test), 1))
        )
        used = np.zeros((len(coefs), matrix.shape[1]), dtype=bool)
        used[:, machine.columns] = coefs != 0
        supporting = supporting | used
    return np.transpose(decisions, (2, 1, 0)), supporting.sum(axis=1)
