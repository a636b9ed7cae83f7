"""What all solvers have in common."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

from .._parameters import LIMITS, Optional, check_parameters


@dataclass(frozen=True, kw_only=True)
class Solver(ABC):
    """Options of a solver. A limit that is None is filled in by the caller."""

    _constraints: ClassVar = {**LIMITS, "tol": Optional(LIMITS["tol"])}

    tol: float | None = None
    max_iter: int | None = None
    max_time: float | None = None

    def __post_init__(self):
        check_parameters(self)

    def with_defaults(self, *, tol, max_iter=None, max_time=None):
        """Fill in what was left open with the limits of the caller."""
        return replace(
            self,
            tol=tol if self.tol is None else self.tol,
            max_iter=max_iter if self.max_iter is None else self.max_iter,
            max_time=max_time if self.max_time is None else self.max_time,
        )

    @abstractmethod
    def workspace(self, K):
        """What solves with the same standardised matrix K can share."""

    @abstractmethod
    def minimise(self, problem, *, start=None, workspace=None):
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
