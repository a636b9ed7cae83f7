"""Walks of fits, and the premise of equal choices: that no two points of a walk are nearly equal."""

from contextlib import contextmanager
from unittest import mock

import numpy as np

from psvm.choice import _machine


@contextmanager
def recorded():
    """A list of all walks within the context, and of their losses, in the order of their ends."""
    found, original = [], _machine.walk

    def walk(source, loss, *arguments, **options):
        found.append((original(source, loss, *arguments, **options), loss))
        return found[-1][0]

    with mock.patch.object(_machine, "walk", walk):
        yield found


def decided(found, by=1e-6):
    """Whether no choice of these walks hangs on a difference of losses by a share of `by`.

    By the rule "best" the two smallest mean losses differ by more, by "sparse" no mean loss is that
    near to the limit of one standard error either.
    """
    for walk, loss in found:
        order = np.argsort(walk.means)
        best, size = order[0], by * max(np.abs(walk.means).max(), 1e-300)
        if len(order) > 1 and walk.means[order[1]] - walk.means[best] < size:
            return False
        differences = walk.losses - walk.losses[best]
        beyond = walk.means - walk.means[best] - loss.error(differences)
        if np.abs(np.delete(beyond, best)).min(initial=np.inf) < size:
            return False
    return True
