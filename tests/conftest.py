import os

import numpy as np
import pytest
from hypothesis import settings

import walks

# The suite tries the same examples every time. HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def decides():
    """``decides(fit)``, the premise of equal choices: no choice of the fit is nearly a tie."""

    def decides(fit, by=1e-8):
        with walks.recorded() as found:
            fit()
        return walks.decided(found, by)

    return decides
