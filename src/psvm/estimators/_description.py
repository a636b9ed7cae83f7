"""The training objects, all or a part of them, and the machines that are fitted to them."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..matrix import DataMatrix, Standardized
from ..solvers import Solution


class Task(NamedTuple):
    """What one machine learns."""

    rows: np.ndarray
    """Indices of its rows."""
    target: np.ndarray
    """The number that each of them has."""


class Machine(NamedTuple):
    """What one machine has learnt."""

    columns: np.ndarray
    """Places of its variables among all columns."""
    means: np.ndarray
    norms: np.ndarray
    intercept: float
    """The constant b."""
    solution: Solution


@dataclass(frozen=True, eq=False)
class Training:
    """Weighted rows of a data matrix.

    Attributes
    ----------
    matrix : DataMatrix of shape (L, P)
        K.
    weights : ndarray of shape (L,)
    identity : ndarray of shape (L,) or None
        Where column j describes by row j: equal numbers for rows that describe as one object.
        None if the columns are other objects.
    columns : ndarray of shape (P,)
        Places of the columns in the matrix that this is a part of.
    """

    matrix: DataMatrix
    weights: np.ndarray
    identity: np.ndarray | None
    columns: np.ndarray

    @cached_property
    def usable(self):
        """The columns that take part.

        A row without weight does not describe, and equal ones describe once: weight 2 must equal
        the row twice, also when C is finite.
        """
        if self.identity is None:
            return np.ones(self.matrix.shape[1], dtype=bool)
        usable = np.zeros(len(self.weights), dtype=bool)
        weighted = np.flatnonzero(self.weights > 0)
        usable[weighted[np.unique(self.identity[weighted], return_index=True)[1]]] = True
        return usable

    def standardized(self, y):
        """The standardised matrix, made for the first target that asks for it, for all of them."""
        if "_K" not in vars(self):
            vars(self)["_K"] = Standardized(self.matrix, self.weights, self.usable, y)
        return vars(self)["_K"]

    def part(self, rows):
        """The training objects `rows`, described by themselves if they describe at all."""
        L, P = self.matrix.shape
        if np.array_equal(rows, np.arange(L)):
            return self
        if self.identity is None:
            matrix = self.matrix.part(rows, np.arange(P))
            return Training(matrix, self.weights[rows], None, self.columns)
        matrix = self.matrix.part(rows, rows)
        return Training(matrix, self.weights[rows], self.identity[rows], self.columns[rows])


@dataclass(frozen=True, eq=False)
class Numbers:
    """The target of a regression: one machine per output.

    Attributes
    ----------
    y : ndarray of shape (n,) or (n, n_outputs)
    """

    classifies = False
    alike = False
    """Each output may have its own noise."""

    y: np.ndarray

    def tasks(self, rows=None):
        """Rows and target of each machine; of some rows, numbered among these."""
        y = self.y if rows is None else self.y[rows]
        every = np.arange(len(y))
        return [Task(every, column) for column in y.reshape(len(y), -1).T]

    def predict(self, decisions):
        """Numbers from the values of all machines, one per column."""
        return decisions[:, 0] if self.y.ndim == 1 else decisions

    @property
    def single(self):
        """Whether there is one machine."""
        return self.y.ndim == 1

    @property
    def key(self):
        """One number per row, by which rows are spread over folds."""
        return self.y.reshape(len(self.y), -1)[:, 0]
