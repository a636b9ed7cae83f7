"""How training objects are described and weighted: the one object behind every fit and fold."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..matrix import DataMatrix, Standardized
from ..problem import Problem


@dataclass(frozen=True, eq=False)
class Description:
    """Weighted rows of a data matrix, and what its columns stand for.

    A row of weight 0 is left out: it neither counts nor describes. So folds share the matrix.

    Attributes
    ----------
    matrix : DataMatrix of shape (L, P)
        K.
    weights : ndarray of shape (L,)
    digests : array-like of shape (L,) or None
        The content of each row, equal for equal rows; None if nobody asks for it.
    identity : ndarray of shape (L,) or None
        Where rows describe: equal numbers for those that describe as one object. None if the
        columns are other objects.
    own : ndarray of shape (P,) or None
        The row by which each column describes; None if the columns are other objects.
    columns : ndarray of shape (P,)
        Places of the columns in the matrix that this is a part of.
    objects : objects or None
        What the columns stand for; None if only their places are known.
    kernel : Kernel or None
        The kernel, if K is not measured.
    order : ndarray of shape (L,) or None
        Numbers by which rows are dealt to folds, for a choice that does not depend on the order
        and the signs of the columns; None: the digests.
    """

    matrix: DataMatrix
    weights: np.ndarray
    digests: list | None
    identity: np.ndarray | None
    own: np.ndarray | None
    columns: np.ndarray
    objects: Any = None
    kernel: Kernel | None = None
    order: np.ndarray | None = None

    @cached_property
    def present(self):
        """For each column a row with weight by which it describes; -1 where there is none.

        Equal rows are one object: a column stays as long as one of them does.
        """
        first, weighted = np.full(self.identity.max() + 1, -1), np.flatnonzero(self.weights > 0)
        first[self.identity[weighted[::-1]]] = weighted[::-1]
        return first[self.identity[self.own]]

    @cached_property
    def _distinct(self):
        """The distinct digests in order, and for each row the number of its own."""
        return np.unique(self.digests, return_inverse=True)

    @property
    def groups(self):
        """Numbers of the rows, equal for equal ones."""
        return self._distinct[1]

    @property
    def hashes(self):
        """A number of 64 bits for the content of each group of equal rows."""
        digests = self._distinct[0]
        return digests if digests.dtype.kind == "u" else digests.astype("S8").view(np.uint64)

    @cached_property
    def usable(self):
        """The columns that take part.

        A row without weight does not describe, and equal ones describe once: weight 2 must equal
        the row twice, also when C is finite.
        """
        if self.own is None:
            return np.ones(self.matrix.shape[1], dtype=bool)
        left = np.flatnonzero(self.present >= 0)
        # The first row with weight stands for its equals, if it has a column.
        left = left[np.argsort(self.own[left] != self.present[left], kind="stable")]
        usable = np.zeros(len(self.own), dtype=bool)
        usable[left[np.unique(self.identity[self.own[left]], return_index=True)[1]]] = True
        return usable

    @cached_property
    def n_distinct(self):
        """The number of distinct rows with weight."""
        return np.count_nonzero(np.bincount(self.groups, self.weights > 0))

    def standardized(self, y=None):
        """K̃, which all targets share; the correlations with the first one take no other pass."""
        if "_K" not in vars(self):
            vars(self)["_K"] = Standardized(self.matrix, self.weights, self.usable, y)
        return vars(self)["_K"]

    def problem(self, y, C):
        """The problem of a target, with epsilon = 0."""
        return Problem.create(self.standardized(y), y, C, 0.0)

    @cached_property
    def gram(self):
        """``Q = K̃'K̃`` of few columns."""
        return self.standardized().gram(keep=True)  # leave-one-out values take rows of the copy

    def counting(self, times):
        """The same with each row counted so many times; 0 leaves it out."""
        return replace(self, weights=self.weights * times)

    def part(self, rows):
        """The training objects `rows`, described by themselves if they describe at all."""
        L, P = self.matrix.shape
        if np.array_equal(rows, np.arange(L)):
            return self
        columns, own = np.arange(P), None
        if self.own is not None:
            place = np.full(L, -1)
            place[rows] = np.arange(len(rows))
            columns = np.flatnonzero(place[self.own] >= 0)
            own = place[self.own[columns]]
        return Description(
            matrix=self.matrix.part(rows, columns),
            weights=self.weights[rows],
            digests=None if self.digests is None else np.asarray(self.digests)[rows],
            identity=None if self.identity is None else self.identity[rows],
            own=own,
            columns=self.columns[columns],
            order=None if self.order is None else self.order[rows],
        )

    def keeping(self, matrix, index):
        """The same rows, described by the columns `index` alone, which `matrix` holds."""
        return Description(
            matrix=matrix,
            weights=self.weights,
            digests=self.digests,
            identity=self.identity,
            own=None if self.own is None else self.own[index],
            columns=self.columns[index],
            order=self.order,
        )

    @property
    def places(self):
        """The places of the columns among the variables of a model, and the number of these.

        Training objects have a variable each, whether they describe or not.
        """
        L, P = self.matrix.shape
        return (np.arange(P), P) if self.own is None else (self.own, L)
