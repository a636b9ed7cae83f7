"""Walks of fits, and the premise of equal choices: no two points of a walk are nearly equal."""

from contextlib import contextmanager
from unittest import mock

import numpy as np

from psvm.choice import _machine
from psvm.choice._walk import EQUAL

SAME = 1e-11
"""Mean losses that differ by a smaller share are those of one solution."""


@contextmanager
def recorded():
    """A list of all walks within the context, with their losses and rules."""
    found, original = [], _machine.walk

    def walk(source, loss, epsilons, most, clock, rule="best", **options):
        result = original(source, loss, epsilons, most, clock, rule, **options)
        found.append((result, loss, rule))
        return result

    with mock.patch.object(_machine, "walk", walk):
        yield found


def decided(found, by=1e-8):
    """Whether no choice of these walks hangs on a difference of losses by a share of `by`.

    Two mean losses count as equal up to `EQUAL`, and by the rule "sparse" up to one standard error
    more: none is near to that limit. Points that are the same but for rounding are no choice.
    """
    for walk, loss, rule in found:
        best = walk.means.argmin()
        beyond = walk.means - walk.means[best]
        size = max(abs(walk.means[best]), 1e-300)
        limit = EQUAL * size
        if rule == "sparse":
            limit = limit + loss.error(walk.losses - walk.losses[best])
        near = np.abs(beyond - limit) < by * size
        if (near & (beyond > SAME * size)).any():
            return False
    return True
