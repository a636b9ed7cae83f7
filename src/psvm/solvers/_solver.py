"""What all solvers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from .._validation import check_number, check_positive_integer
from ..matrix import Standardized
from ..problem import Problem
from ._solution import Solution


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """Options of a solver. A limit that is None is filled in by the caller."""

    tol: float | None = None
    max_iter: int | None = None
    max_time: float | None = None

    def __post_init__(self):
        if self.tol is not None:
            check_number("tol", self.tol, above=0)
        if self.max_iter is not None:
            check_positive_integer("max_iter", self.max_iter)
        if self.max_time is not None:
            check_number("max_time", self.max_time, above=0)

    def with_defaults(
        self, *, tol: float, max_iter: int | None = None, max_time: float | None = None
    ) -> Self:
        """Fill in what was left open with the limits of the caller."""
        return replace(
            self,
            tol=tol if self.tol is None else self.tol,
            max_iter=max_iter if self.max_iter is None else self.max_iter,
            max_time=max_time if self.max_time is None else self.max_time,
        )

    @abstractmethod
    def workspace(self, K: Standardized) -> Any:
        """What solves with the same standardised matrix K can share."""

    @abstractmethod
    def minimise(
        self, problem: Problem, *, start: np.ndarray | None = None, workspace: Any = None
    ) -> Solution:
        """Solve a problem.

        Parameters
        ----------
        problem : Problem
        start : ndarray of shape (P,), default=None
            Warm start; clipped into the box.
        workspace : object, default=None
            From `workspace`; kept between solves along a path of epsilon or C.

        Returns
        -------
        Solution
        """
