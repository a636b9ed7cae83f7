"""The time that a fit may take."""

from dataclasses import replace
from time import perf_counter

LEAST = 1e-9
"""Seconds that a solver gets at least: a limit of 0 is no limit that it accepts."""


class Clock:
    """A clock that runs from now on.

    Parameters
    ----------
    max_time : float or None
        The seconds after which the time is over; None if it never is.
    """

    def __init__(self, max_time=None):
        self.max_time = max_time
        self.began = perf_counter()

    @property
    def passed(self):
        """Seconds since the clock was made."""
        return perf_counter() - self.began

    @property
    def left(self):
        """Seconds that are left, infinite without a limit."""
        return float("inf") if self.max_time is None else self.max_time - self.passed

    @property
    def over(self):
        """Whether the time is over."""
        return self.max_time is not None and self.passed >= self.max_time

    def half(self):
        """A clock for half of the time that is left: the other half is for the final solve."""
        return Clock(None if self.max_time is None else max(self.left, 0.0) / 2)

    def limit(self, solver):
        """The solver with the time that is left."""
        return solver if self.max_time is None else replace(solver, max_time=max(self.left, LEAST))
