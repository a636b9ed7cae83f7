import os

import numpy as np
import pytest
from hypothesis import settings

from psvm.choice import _machine

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
    """``decides(fit)``, the premise of equal choices: no other point of a walk is near the best.

    The two smallest mean losses differ by a share of at least `by`.
    """

    def decides(fit, by=1e-5):
        walks.clear()
        fit()
        return all(gap(walk) >= by for walk in walks)

    return decides


def gap(walk):
    """The relative difference of the two smallest mean losses of a walk."""
    first, second = np.sort(walk.means)[:2] if len(walk.means) > 1 else (0.0, np.inf)
    return (second - first) / max(abs(second), 1e-300) if second > first else 0.0
