"""What all solvers have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._parameters import LIMITS, Optional, check_parameters
from ..matrix import Standardized
from ..problem import Problem
from ._solution import Solution


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """Options of a solver. A limit that is None is filled in by the caller."""

    _fitted: ClassVar[dict] = {}
    _constraints: ClassVar = {**LIMITS, "tol": Optional(LIMITS["tol"])}

    tol: float | None = None
    max_iter: int | None = None
    max_time: float | None = None

    def __post_init__(self):
        check_parameters(self)

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
