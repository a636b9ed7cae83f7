"""One-vs-one on its own: pairs, votes, ties, and agreement with scikit-learn."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier

from psvm.estimators._target import class_pairs, class_scores, fit_pairs


def test_any_binary_fit_gives_the_classifier_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    machines = fit_pairs(
        lambda rows, target: LogisticRegression(max_iter=1000).fit(X[rows], target), y, 3
    )
    decisions = np.column_stack([machine.decision_function(X) for machine in machines])
    reference = OneVsOneClassifier(LogisticRegression(max_iter=1000)).fit(X, y)
    scores = class_scores(decisions, 3)
    np.testing.assert_allclose(scores, reference.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(scores.argmax(axis=1), reference.predict(X))


def test_each_pair_sees_its_two_classes():
    code = np.array([2, 0, 1, 2, 1, 0])
    seen = fit_pairs(lambda rows, target: (rows.tolist(), target.tolist()), code, 3)
    assert class_pairs(3) == [(0, 1), (0, 2), (1, 2)]
    assert seen[1] == ([0, 1, 3, 5], [1.0, -1.0, 1.0, -1.0])


@given(n_classes=st.integers(3, 6), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_a_vote_outweighs_every_decision_value(n_classes, seed):
    f = np.random.default_rng(seed).normal(scale=1e6, size=(20, len(class_pairs(n_classes))))
    votes = np.zeros((20, n_classes), dtype=int)
    for k, (i, j) in enumerate(class_pairs(n_classes)):
        votes[f[:, k] <= 0, i] += 1
        votes[f[:, k] > 0, j] += 1
    np.testing.assert_array_equal(np.rint(class_scores(f, n_classes)), votes)


def test_ties_go_to_the_larger_values_and_then_to_the_first_class():
    cycle = np.array([[1.0, -2.0, 1.0], [1.0, -1.0, 1.0]])  # one vote each
    scores = class_scores(cycle, 3)
    assert scores[0].argmax() == 0
    np.testing.assert_array_equal(scores[1], scores[1, 0])
    assert scores[1].argmax() == 0
