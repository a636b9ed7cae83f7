import os

import numpy as np
import pytest
from hypothesis import settings

# The suite tries the same examples every time. HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)
