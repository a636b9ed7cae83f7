"""Walks: solutions along decreasing epsilon, each with the loss of every held-out group of rows.

All that is chosen is chosen by these losses. A source gives the points of a walk, a `Loss` says
what their values are worth, and `walk` goes on until the loss has turned.
"""

import warnings
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._progress import say
from ._policy import POLICY

EQUAL = 1e-6
"""Losses that differ by less than this share are equal: towards least squares they still fall by
less and less, and smaller differences may be rounding."""
CHEAP = 100
"""Points with fewer support objects take no time."""
RULES = ("best", "sparse")


class HeldOutSource(Protocol):
    """What gives values of held-out rows along a path.

    `LeaveOneOut` needs no other fit, `Folds` follows paths of parts of the rows.
    """

    def points(self, epsilons: np.ndarray) -> Any:
        """Yield a `Point` for each of decreasing epsilons."""


class Walk(NamedTuple):
    """The points of a walk and what they are worth."""

    epsilons: np.ndarray
    """Of shape (m,)."""
    losses: np.ndarray
    """Of every held-out group, of shape (m, G)."""
    means: np.ndarray
    """Mean losses, of shape (m,)."""
    n_support: np.ndarray
    """Of shape (m,)."""
    solutions: list
    """Variables of all rows, or None where the source does not know them."""
    best: int
    """The chosen point."""
    weights: np.ndarray
    """Of the held-out groups, of shape (G,)."""

    @property
    def epsilon(self) -> float:
        """The chosen epsilon."""
        return float(self.epsilons[self.best])

    @property
    def solution(self) -> Any:
        """The variables of all rows near the chosen epsilon."""
        return self.solutions[self.best]


def grid(largest, policy=POLICY):
    """Decreasing epsilons of a walk; 0 alone where nothing is correlated with the target."""
    if largest == 0:
        return np.zeros(1)
    n_points = policy.per_decade * policy.decades + 1
    return largest * 10.0 ** (-np.arange(n_points) / policy.per_decade)


def walk(source, loss, epsilons, most, clock, rule="best", *, rival=None):
    """Follow a source along epsilons.

    Parameters
    ----------
    source : HeldOutSource
    loss : Loss
    epsilons : ndarray
        Decreasing.
    most : float
        The number of support objects that ends the walk.
    clock : Clock
    rule : {"best", "sparse"}
        How the point is chosen.
    rival : Walk, default=None
        The best walk so far of the same rows. The walk ends when it has many more support objects
        than that one, and is clearly worse.

    Returns
    -------
    Walk
    """
    losses, sizes, solutions, means = [], [], [], []
    for place, point in enumerate(source.points(epsilons)):
        losses.append(loss(point.values)[0])
        means.append(loss.mean(losses[-1]))
        sizes.append(point.n_support)
        solutions.append(point.solution)
        share = epsilons[place] / epsilons[0] if epsilons[0] > 0 else 1.0
        say(f"epsilon {share:.2g} of the largest, {sizes[-1]} support objects")
        if sizes[-1] >= most or means[-1] <= loss.least or _has_turned(loss, losses, means):
            break
        if rival is not None and _is_behind(loss, losses[-1], sizes[-1], rival):
            break
        if clock.over:
            _warn_of_time(share)
            break
    losses, means, sizes = np.array(losses), np.array(means), np.array(sizes)
    best = choose(loss, losses, means, rule)
    return Walk(epsilons[: len(means)], losses, means, sizes, solutions, best, loss.weights)


def choose(loss, losses, means, rule):
    """The place of the best point, or of the first that is as good within a standard error."""
    best = smallest(means)
    if rule == "best":
        return best
    beyond = losses - losses[best]
    return int(np.argmax(means - means[best] <= loss.error(beyond) + EQUAL * abs(means[best])))


def smallest(means):
    """The place of the first mean loss that is as small as any."""
    least = np.min(means)
    return int(np.argmax(means <= least + EQUAL * abs(least)))


def _has_turned(loss, losses, means):
    """Whether the last points are worse than the best one, or have not been better for long."""
    best = smallest(means)
    if len(means) - 1 - best >= POLICY.patience:
        return True
    if len(means) - 1 - best < 2:
        return False
    beyond = np.array(losses[-2:]) - losses[best]
    return bool((loss.mean(beyond) > POLICY.turned * loss.error(beyond)).all())


def _is_behind(loss, losses, n_support, rival):
    """Whether a point that should have come near a rival is clearly worse."""
    if n_support < max(POLICY.behind * rival.n_support[rival.best], CHEAP):
        return False
    beyond = losses - rival.losses[rival.best]
    return bool(loss.mean(beyond) > POLICY.turned * loss.error(beyond))


def _warn_of_time(share):
    warnings.warn(
        f"max_time ended the search for epsilon at {share:.2g} of epsilon_max. Increase max_time, "
        "or give epsilon a number.",
        ConvergenceWarning,
        stacklevel=4,
    )
