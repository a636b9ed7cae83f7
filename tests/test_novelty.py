"""Objects that are unlike all support objects: similarities by hand, rejection, files, commands."""

import csv

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import psvm
from psvm import PSVC, PSVR
from psvm.evaluation import RejectOption, support_similarity
from psvm.kernels import RBF, Linear, Sine, Spectrum, Tanimoto

X, Y = make_moons(80, noise=0.1, random_state=0)
FAR = np.array([[9.0, 9.0], [-20.0, 3.0]])


@pytest.mark.parametrize("kernel", [RBF(1.0), Linear(), Sine(1.0), 2.0 * RBF(1.0)], ids=str)
def test_similarities_by_hand(kernel):
    model = PSVC(kernel=kernel, epsilon=0.5).fit(X, Y)
    Z = model.support_objects_
    assert 1 < len(Z) < len(X)

    def similarity(A):
        K = kernel(A, Z)
        if not kernel.positive_definite:
            return K
        own = [kernel(a[None])[0, 0] for a in A]
        return K / np.sqrt(np.outer(own, [kernel(z[None])[0, 0] for z in Z]))

    # the roots of the norms round by some eps
    assert_allclose(support_similarity(model, FAR), similarity(FAR).max(axis=1), rtol=1e-12)
    left_out = similarity(X)
    for column, row in enumerate(model.support_):
        left_out[row, column] = -np.inf
    values = support_similarity(model, X, leave_out=True)
    assert_allclose(values, left_out.max(axis=1), rtol=1e-12, atol=1e-12)


def test_precomputed_and_landmarks_and_pipelines():
    K = RBF(1.0)(X)
    model = PSVC(kernel="precomputed", epsilon=0.5).fit(K, Y)
    same = PSVC(kernel=RBF(1.0), epsilon=0.5).fit(X, Y)
    assert_array_equal(model.support_, same.support_)
    for leave_out in (False, True):
        ours = support_similarity(model, K, leave_out=leave_out)
        assert_allclose(ours, support_similarity(same, X, leave_out=leave_out), rtol=1e-9)
    others = PSVC(landmarks=X[::5] + 0.01, epsilon=0.5).fit(X, Y)
    both = [support_similarity(others, X, leave_out=leave_out) for leave_out in (False, True)]
    assert_array_equal(*both)
    piped = make_pipeline(StandardScaler(), PSVR(epsilon=0.5)).fit(X, Y)
    scaled = piped[0].transform(X)
    assert_array_equal(support_similarity(piped, X), support_similarity(piped[1], scaled))


@pytest.mark.parametrize("quantile", [0.0, 0.05, 0.2])
def test_reject_option(quantile, tmp_path):
    """That share of the training objects is rejected, and all that is far away."""
    model = RejectOption(PSVC(epsilon=0.5), rule="novelty", quantile=quantile).fit(X, Y)
    values = support_similarity(model.estimator_, X, leave_out=True)
    assert abs(np.mean(values < model.similarity_threshold_) - quantile) <= 1 / len(X)
    assert model.rejects(FAR).all() and model.predict(FAR).tolist() == [-1, -1]
    assert model.rejects(X).mean() <= quantile + 1 / len(X)
    psvm.save(model, tmp_path / "m.psvm")
    loaded = psvm.load(tmp_path / "m.psvm")
    assert_array_equal(loaded.predict(np.r_[X, FAR]), model.predict(np.r_[X, FAR]))


def test_sequences():
    words = ["ACGTACGT", "ACGTACGA", "ACGTTCGT", "GGCCGGCC", "GGCCGGCA", "GGCTGGCC"]
    model = RejectOption(PSVC(kernel=Spectrum(3), epsilon=0.1), rule="novelty", quantile=0.5)
    model.fit(words, [0, 0, 0, 1, 1, 1])
    assert model.rejects(["TTTTTTTT", "ACGTACGG"]).tolist() == [True, False]


@pytest.mark.parametrize(
    "model, message",
    [
        (PSVC(kernel="dyadic", epsilon=0.5), "kernel='dyadic' the columns are no objects"),
        (PSVC(epsilon=1e6), "no support objects: it is constant"),
        (make_pipeline(StandardScaler()), "predict"),
    ],
    ids=["dyadic", "constant", "no predictor"],
)
def test_what_has_no_support_objects(model, message):
    fitted = model.fit(X, Y)
    with pytest.raises((ValueError, TypeError), match=message):
        support_similarity(fitted, X)


def test_bad_quantile():
    with pytest.raises(ValueError, match="quantile must be"):
        RejectOption(PSVC(epsilon=0.5), rule="novelty", quantile=1.5).fit(X, Y)


def test_one_class_svm_takes_our_kernels():
    """The matrix of the kernel is that of the object; a precomputed one for other objects."""
    ours = OneClassSVM(kernel=RBF(0.5), nu=0.1).fit(X)
    theirs = OneClassSVM(kernel="rbf", gamma=0.5, nu=0.1).fit(X)
    assert_allclose(ours.decision_function(FAR), theirs.decision_function(FAR), atol=1e-6)
    bits = np.random.default_rng(0).random((40, 30)) < 0.2
    assert OneClassSVM(kernel=Tanimoto()).fit(bits).predict(bits).shape == (40,)


def write(path, rows):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(rows)


def test_predict_marks_rows_that_are_unlike_all(tmp_path, monkeypatch, capsys):
    pytest.importorskip("click")
    from psvm.cli import main

    monkeypatch.chdir(tmp_path)
    write("train.csv", [["a", "b", "y"], *([*x, "ab"[c]] for x, c in zip(X, Y, strict=True))])
    write("new.csv", [["a", "b"], *X[:5].tolist(), *FAR.tolist()])
    fit = ["fit", "train.csv", "--target", "y", "--no-cv", "--model", "m.psvm"]
    assert int(main([*fit, "--kernel", "rbf", "--epsilon", "0.5"]) or 0) == 0
    capsys.readouterr()
    assert int(main(["predict", "m.psvm", "new.csv", "--output", "p.csv"]) or 0) == 0
    assert "2 of 7 rows" in capsys.readouterr().err
    with open("p.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["row", "y", "novel"]
    assert [row[2] for row in rows] == [""] * 5 + ["yes"] * 2
    assert int(main(["predict", "m.psvm", "train.csv", "--output", "q.csv"]) or 0) == 0
    with open("q.csv", newline="") as file:
        assert next(csv.reader(file)) == ["row", "y"]
