import os

import numpy as np
import pytest
from hypothesis import settings

from psvm.choice import _machine
from psvm.choice._walk import EQUAL

# The suite tries the same examples every time. HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def walks(monkeypatch):
    """All walks of the test, in the order of their ends."""
    found = []

    def walk(*arguments, **options):
        found.append(original(*arguments, **options))
        return found[-1]

    original = _machine.walk
    monkeypatch.setattr(_machine, "walk", walk)
    return found


@pytest.fixture
def decides(walks):
    """``decides(fit)``, the premise of equal choices: no point of a walk is near another choice.

    The first point wins whose mean loss is within a limit; none is nearer to it than a share `by`.
    """

    def decides(fit, by=1e-9):
        walks.clear()
        fit()
        return all(gap(walk) >= by for walk in walks)

    return decides


def gap(walk):
    """The least distance of mean losses from the limit, as a share of it."""
    least = walk.means.min()
    limit = least + EQUAL * abs(least)
    return np.abs(walk.means - limit).min() / max(abs(limit), 1e-300)
