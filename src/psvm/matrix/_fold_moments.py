"""The moments of the folds of rows that are never together in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from sys import getsizeof

import numpy as np
from scipy.linalg.blas import dsyrk

from ._base import plus_outer
from ._moments import LEAST, Moments


@dataclass(frozen=True, eq=False, repr=False)
class FoldMoments:
    """`Moments` of rows, kept apart by the fold of a cross-validation that each row is in.

    They add up like moments, fold by fold: ``a + b`` are the sums of two sets of rows together,
    and ``a - b`` removes rows. `MomentsPlan.moments` makes them.

    Parameters
    ----------
    folds : tuple of (Moments or None)
        Moments of each class of each fold, fold by fold; None where there are no rows.
    rest : tuple of (Moments or None)
        Moments of each class of the rows that are in no fold: they are always used for training.
        Its length is the number of classes that are kept apart: one for two classes and numbers.
    n_rows : int
        The number of rows with weight.
    plan : str
        The key of the plan that says what was summed. Sums of different plans do not add up.
    n_terms : int
        Largest number of terms that were added one after the other: rounding grows with it.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVR, MomentsPlan, RowSurvey
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(100, 3))
    >>> y = K[:, 0] + 0.1 * rng.normal(size=100)
    >>> plan = MomentsPlan.make(PSVR(kernel="dyadic"), RowSurvey.of(K, y, labels=False))
    >>> both = plan.moments(K[:60], y[:60]) + plan.moments(K[60:], y[60:])
    >>> both
    FoldMoments(n_rows=100, n_folds=5, n_columns=3, n_targets=1)
    >>> bool(np.allclose(both.total.means, K.mean(axis=0)))
    True
    >>> (both - plan.moments(K[:60], y[:60])).n_rows
    40
    """

    folds: tuple[Moments | None, ...]
    rest: tuple[Moments | None, ...]
    n_rows: int
    plan: str
    n_terms: int

    @classmethod
    def by_group(cls, groups: Sequence[FoldMoments]) -> FoldMoments:
        """Sums with the rows of each group as a fold: a site, a day, a file.

        Parameters
        ----------
        groups : sequence of FoldMoments
            The sums of two or more groups, of one plan.

        Returns
        -------
        FoldMoments
        """
        groups = list(groups)
        if len(groups) < 2:
            raise ValueError(f"by_group needs two or more groups of rows, got {len(groups)}.")
        for other in groups[1:]:
            groups[0]._check_like(other)
        n_rows = sum(group.n_rows for group in groups)
        n_terms = max(group.n_terms + len(group.folds) for group in groups)
        classes = range(len(groups[0].rest))
        folds = tuple(group.of_classes([c]) for group in groups for c in classes)
        return cls(folds, (None,) * len(classes), n_rows, groups[0].plan, n_terms)

    @property
    def n_folds(self) -> int:
        """The number of folds."""
        return len(self.folds) // len(self.rest)

    @cached_property
    def total(self) -> Moments:
        """The moments of all rows."""
        return _sum((*self.folds, *self.rest))

    def of_classes(self, classes: Sequence[int]) -> Moments | None:
        """The moments of all rows of some classes; None if there are none."""
        return self._of(classes, range(self.n_folds + 1))

    def held_out(self, fold: int, classes: Sequence[int]) -> Moments | None:
        """The moments of the rows of a fold, of some classes; None if there are none."""
        return self._of(classes, [fold])

    def without(self, fold: int, classes: Sequence[int]) -> Moments | None:
        """The moments of all rows of some classes outside a fold, added up from the other folds."""
        return self._of(classes, [f for f in range(self.n_folds + 1) if f != fold])

    def _of(self, classes, folds):
        """Moments of some classes in some folds, of which the last one is `rest`."""
        parts = (*self.folds, *self.rest)
        parts = [parts[fold * len(self.rest) + c] for fold in folds for c in classes]
        return _sum(parts) if any(part is not None for part in parts) else None

    def __add__(self, other: FoldMoments) -> FoldMoments:
        if not isinstance(other, FoldMoments):
            return NotImplemented
        return self._combined(other, _added, self.n_rows + other.n_rows)

    def __radd__(self, other: int) -> FoldMoments:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # for `sum`

    def __sub__(self, other: FoldMoments) -> FoldMoments:
        if not isinstance(other, FoldMoments):
            return NotImplemented
        return self._combined(other, _taken, self.n_rows - other.n_rows)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + sum(map(getsizeof, (*self.folds, *self.rest)))

    def __repr__(self) -> str:
        some = next((m for m in (*self.folds, *self.rest) if m is not None), None)
        size = f", n_columns={some.n_columns}, n_targets={some.n_targets}" if some else ""
        return f"FoldMoments(n_rows={self.n_rows}, n_folds={self.n_folds}{size})"

    def _combined(self, other, combine, n_rows):
        self._check_like(other)
        folds = tuple(combine(a, b) for a, b in zip(self.folds, other.folds, strict=True))
        rest = tuple(combine(a, b) for a, b in zip(self.rest, other.rest, strict=True))
        n_terms = max(self.n_terms, other.n_terms) + 1
        return replace(self, folds=folds, rest=rest, n_rows=n_rows, n_terms=n_terms)

    def _check_like(self, other):
        sizes = [(len(sums.folds), len(sums.rest)) for sums in (self, other)]
        if self.plan != other.plan or sizes[0] != sizes[1]:
            raise ValueError(
                "The sums were made by different plans and do not add up: make one plan, and use "
                "it for all rows."
            )


def _sum(parts):
    """The sum of those that have rows."""
    some = [part for part in parts if part is not None]
    if not some:
        raise ValueError("There are no rows with weight.")
    return sum(some[1:], some[0])


def _added(a, b):
    """Moments of both."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def _taken(a, b):
    """Moments of a without b."""
    if b is None:
        return a
    if a is None:
        raise ValueError("The rows to be removed are not among those that were summed.")
    return None if abs(a.weight - b.weight) <= LEAST * a.weight else a - b


STATE = ("weights", "sums", "cross", "n_terms", "n_rows")
"""What changes when rows are added."""


class FoldSums:
    """Sums of the rows of each class of each fold that grow in place, around fixed numbers.

    Parameters
    ----------
    origin : ndarray of shape (n,)
        About the means of the columns of ``Z = [K, Y]``.
    n_targets, n_folds, n_classes : int
    """

    def __init__(self, origin, n_targets, n_folds, n_classes=1):
        self.origin, self.n_targets, self.n_rows = origin, n_targets, 0
        self.n_classes = n_classes
        n, count = len(origin), (n_folds + 1) * n_classes
        self.weights, self.sums = np.zeros(count), np.zeros((count, n))
        self.cross = np.zeros((count, n, n)).transpose(0, 2, 1)  # lower triangles, by columns
        self.n_terms = np.zeros((2, count), dtype=np.intp)  # in one addition, and additions

    def add(self, Z, weights, ends):
        """Add rows.

        Parameters
        ----------
        Z : ndarray of shape (m, n)
            Rows minus `origin`, by fold and class, those without a fold last. It is overwritten.
        weights : ndarray of shape (m,)
            Positive.
        ends : sequence of int
            Where the rows of each class of each fold end.
        """
        root = np.sqrt(weights)
        if (root != 1.0).any():
            Z *= root[:, None]
        start = 0
        for fold, end in enumerate(ends):
            if end > start:
                rows = slice(start, end)
                # S += Z'Z
                S = dsyrk(1.0, Z[rows].T, 1.0, self.cross[fold], lower=True, overwrite_c=True)
                if not np.shares_memory(S, self.cross):
                    self.cross[fold] = S
                self.sums[fold] += root[rows] @ Z[rows]
                self.weights[fold] += weights[rows].sum()
                self.n_terms[0, fold] = max(self.n_terms[0, fold], end - start)
                self.n_terms[1, fold] += 1
            start = end
        self.n_rows += len(Z)

    def state(self):
        """The sums as arrays by name, which `restore` takes."""
        return {name: np.asarray(getattr(self, name)) for name in STATE}

    def restore(self, state):
        """Go on from sums of the same shape; a ValueError says if they have another one."""
        for name in STATE:
            mine, its = np.asarray(getattr(self, name)), state[name]
            if its.shape != mine.shape or its.dtype != mine.dtype:
                raise ValueError(f"{name} has the shape {its.shape}, expected {mine.shape}.")
            if name == "n_rows":
                self.n_rows = int(its)
            else:
                mine[...] = its

    def moments(self, plan):
        """The sums as `FoldMoments` of a plan with this key."""
        parts = [self._moments(fold) for fold in range(len(self.weights))]
        n_terms = int(self.n_terms.sum(axis=0).max())
        last = len(parts) - self.n_classes
        return FoldMoments(tuple(parts[:last]), tuple(parts[last:]), self.n_rows, plan, n_terms)

    def _moments(self, fold):
        weight = float(self.weights[fold])
        if weight == 0:
            return None
        rest = self.sums[fold] / weight
        S = np.tril(self.cross[fold])
        S = np.ascontiguousarray(S + np.tril(S, -1).T)
        return Moments(weight, self.origin, rest, plus_outer(S, -weight, rest), self.n_targets)
