"""Fits to rows that are read block by block."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from psvm import PSVC, PSVR, MomentsPlan, RowBlocks, RowSurvey, fit_moments


def moons(n=600, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


def test_any_blocks_in_any_order_give_the_same_model():
    X, y = moons()
    rows = np.random.default_rng(1).permutation(len(X))
    whole = PSVC(landmarks="random", n_landmarks=30).fit(RowBlocks(X, y))
    cut = [(X[rows[i : i + 70]], y[rows[i : i + 70]]) for i in range(0, len(X), 70)]
    parts = PSVC(landmarks="random", n_landmarks=30).fit(RowBlocks(cut))
    assert_allclose(parts.decision_function(X), whole.decision_function(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("model", [PSVR(kernel="dyadic"), PSVR(landmarks=20, random_state=0)])
def test_a_fit_to_sums_is_the_fit_to_blocks(model):
    X, _ = moons()
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    survey = RowSurvey.of(X, y, labels=False)
    plan = MomentsPlan.make(model, survey)
    sums = plan.moments(X[:200], y[:200]) + plan.moments(X[200:], y[200:])
    by_hand = fit_moments(model, plan, sums).predict(X)
    assert_allclose(by_hand, model.fit(RowBlocks(X, y)).predict(X), rtol=0, atol=1e-8)
