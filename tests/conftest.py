import os

import numpy as np
import pytest
from hypothesis import settings

from psvm.estimators import _epsilon

# The suite tries the same examples every time. HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def decides(monkeypatch):
    """``decides(fit)``, the premise of equal choices: no epsilon is near to another choice.

    The largest epsilon wins whose criterion is within a limit; it wins with other limits as well.
    """
    good_enough = _epsilon._good_enough

    def choice(fit, change):
        def limit(loss, error):
            return (1 + change) * good_enough(loss, error)

        with monkeypatch.context() as patch:
            patch.setattr(_epsilon, "_good_enough", limit)
            return fit().epsilon_

    def decides(fit, by=1e-5):
        # The next epsilon of the grid differs by half.
        return choice(fit, by) == pytest.approx(choice(fit, -by), rel=1e-6)

    return decides
