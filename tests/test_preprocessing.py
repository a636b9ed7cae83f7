"""Transformers of pairwise matrices: definitions, new rows, pipelines, files, and the warning."""

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer
from sklearn.utils import get_tags

import psvm
from psvm import PSVC, PSVR
from psvm.preprocessing import (
    DoubleCentering,
    GaussianOfDistance,
    SpectrumCorrection,
    Symmetrize,
    UnitDiagonal,
)

TRANSFORMERS = [
    DoubleCentering(),
    DoubleCentering(squared=True),
    SpectrumCorrection("clip"),
    SpectrumCorrection("flip"),
    SpectrumCorrection("shift"),
    GaussianOfDistance(),
    GaussianOfDistance(gamma=0.3),
    UnitDiagonal(),
    Symmetrize(),
]


@pytest.fixture
def points(rng):
    return rng.normal(size=(30, 4)), rng.normal(size=(12, 4))


def indefinite(rng, n=25):
    A = rng.normal(size=(n, n))
    A = A + A.T + 9 * np.eye(n)
    w = np.linalg.eigvalsh(A)
    assert w[0] < -1 and w[-1] > 1
    return A


def test_centred_distances_are_inner_products(points):
    X, Z = points
    centre = X.mean(axis=0)
    for squared in (False, True):
        step = DoubleCentering(squared=squared)
        D, new = (cdist(M, X) ** (2 if squared else 1) for M in (X, Z))
        # squares below 100, so rounding below 1e-13
        assert_allclose(step.fit_transform(D), (X - centre) @ (X - centre).T, atol=1e-12)
        assert_allclose(step.transform(new), (Z - centre) @ (X - centre).T, atol=1e-12)


def test_centring_is_that_of_scikit_learn_on_any_matrix(rng):
    S = rng.random((9, 9))
    B = rng.random((4, 9))
    ours, theirs = DoubleCentering(squared=True).fit(S), KernelCenterer().fit(-0.5 * S)
    assert_allclose(ours.transform(S), theirs.transform(-0.5 * S), atol=1e-14)
    assert_allclose(ours.transform(B), theirs.transform(-0.5 * B), atol=1e-14)


@pytest.mark.parametrize("method", ["clip", "flip", "shift"])
def test_spectra(rng, method):
    A = indefinite(rng)
    w = np.linalg.eigvalsh(A)
    step = SpectrumCorrection(method)
    K = step.fit_transform(A)
    expected = {"clip": np.maximum(w, 0), "flip": np.abs(w), "shift": w - w[0]}[method]
    assert_allclose(np.linalg.eigvalsh(K), np.sort(expected), atol=1e-12)
    assert_allclose(K, K.T, atol=1e-12)
    assert_allclose(step.eigenvalues_, w, atol=1e-12)
    if method != "shift":
        # the same eigenvectors: K and A commute, and new rows undergo the same map
        assert_allclose(K @ A, A @ K, atol=1e-10)
        assert_allclose(step.transform(A), K, atol=1e-11)
    else:
        assert_allclose(K - A, step.shift_ * np.eye(len(A)), atol=1e-12)
        assert_array_equal(step.transform(A), A)


def test_a_semidefinite_matrix_stays_as_it_is(points):
    X, Z = points
    K, new = X @ X.T, Z @ X.T
    for method in ("clip", "flip", "shift"):
        step = SpectrumCorrection(method)
        assert_allclose(step.fit_transform(K), K, atol=1e-11)
        # within the span of the training objects; elsewhere a row has no part in any eigenvector
        assert_allclose(step.transform(new), new, atol=1e-11)


def test_gaussians(points):
    X, Z = points
    D, new = cdist(X, X), cdist(Z, X)
    step = GaussianOfDistance()
    different = D[np.triu_indices(len(X), 1)] ** 2
    assert_allclose(step.fit_transform(D), np.exp(-(D**2) / np.median(different)))
    assert_allclose(step.transform(new), np.exp(-(new**2) / np.median(different)))
    assert_allclose(GaussianOfDistance(0.3).fit(D).transform(new), np.exp(-0.3 * new**2))
    assert GaussianOfDistance().fit(np.zeros((3, 3))).gamma_ == 1.0


def test_unit_diagonal(points):
    X, Z = points
    cosine = X @ X.T / np.linalg.norm(X, axis=1) / np.linalg.norm(X, axis=1)[:, None]
    step = UnitDiagonal()
    assert_allclose(step.fit_transform(X @ X.T), cosine, rtol=1e-12, atol=1e-14)
    new = step.transform(Z @ X.T, diagonal=(Z**2).sum(axis=1))
    norms = np.linalg.norm(Z, axis=1)[:, None] * np.linalg.norm(X, axis=1)
    assert_allclose(new, Z @ X.T / norms, rtol=1e-12, atol=1e-14)
    assert_allclose(step.transform(X @ X.T, diagonal=(X**2).sum(axis=1)), cosine, atol=1e-14)
    # without it a row is off by one factor
    ratio = step.transform(Z @ X.T) / new
    assert_allclose(ratio, np.repeat(ratio[:, :1], len(X), axis=1), rtol=1e-10)
    with pytest.raises(ValueError, match="object 2 with itself is 0"):
        UnitDiagonal().fit(np.diag([1.0, 1.0, 0.0]))
    with pytest.raises(ValueError, match="diagonal has 2 entries, but X has 12 rows"):
        step.transform(Z @ X.T, diagonal=[1.0, 1.0])


@pytest.mark.parametrize("step", TRANSFORMERS, ids=str)
def test_new_rows_are_transformed_like_training_rows(rng, step):
    """Except for what a row of new x training objects does not tell: see the docstrings."""
    A = indefinite(rng)
    K = clone(step).fit_transform(A)
    fitted = clone(step).fit(A)
    if isinstance(step, UnitDiagonal):
        again = fitted.transform(A, diagonal=A.diagonal())
    else:
        again = fitted.transform(A)
    if step != TRANSFORMERS[4] and getattr(step, "method", "") != "shift":
        assert_allclose(again, K, atol=1e-11)
    # one row at a time is the same
    some = fitted.transform(A[3:5])
    assert_allclose(fitted.transform(A[3:4]), some[:1], atol=1e-12)
    assert get_tags(fitted).input_tags.pairwise


@pytest.mark.parametrize("step", TRANSFORMERS, ids=str)
def test_in_pipelines_and_files(rng, step, tmp_path):
    """A cross-validation of the pipeline is the one by hand: rows and columns of a fold."""
    A = indefinite(rng, 60)
    y = A[:, 0] + A[:, 1] > 0
    model = make_pipeline(clone(step), PSVC(kernel="precomputed", epsilon=0.5))
    folds = StratifiedKFold(3)
    by_hand = []
    for fit, new in folds.split(A, y):
        first = clone(step)
        machine = PSVC(kernel="precomputed", epsilon=0.5)
        machine.fit(first.fit_transform(A[np.ix_(fit, fit)]), y[fit])
        by_hand.append(machine.score(first.transform(A[np.ix_(new, fit)]), y[new]))
    assert_allclose(cross_val_score(model, A, y, cv=folds), by_hand)
    model.fit(A, y)
    psvm.save(model, tmp_path / "m.psvm")
    loaded = psvm.load(tmp_path / "m.psvm")
    assert_array_equal(loaded.decision_function(A[:7]), model.decision_function(A[:7]))


def test_names_of_columns_stay(points):
    X, _ = points
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(cdist(X, X), columns=[f"o{j}" for j in range(len(X))])
    step = DoubleCentering().fit(frame)
    assert step.get_feature_names_out().tolist() == list(frame.columns)


@pytest.mark.parametrize("step", TRANSFORMERS, ids=str)
def test_bad_matrices(step):
    with pytest.raises(ValueError, match="X must be the square matrix"):
        clone(step).fit(np.ones((3, 4)))
    with pytest.raises(ValueError, match="features"):
        clone(step).fit(np.eye(4) + 1).transform(np.ones((2, 3)))
    with pytest.raises((ValueError, TypeError), match=r"sparse|dense"):
        clone(step).fit(sp.csr_array(np.eye(3)))


def test_bad_parameters():
    for step, message in (
        (SpectrumCorrection("clap"), "method must be one of"),
        (GaussianOfDistance(gamma=-1), "gamma must be"),
        (GaussianOfDistance(gamma="mean"), "gamma must be one of"),
        (DoubleCentering(squared=2), "squared must be"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            step.fit(np.eye(3))


# ---------------------------------------------------------------- distances used as similarities


def nested_shells(rng, n=80):
    """Two classes that differ by the distance from the origin: the squares tell, a sum does not."""
    X = rng.normal(size=(n, 3))
    y = np.arange(n) % 2
    return X / np.linalg.norm(X, axis=1)[:, None] * (1 + y[:, None]), y


@pytest.mark.parametrize("model", [PSVC(kernel="precomputed", epsilon=0.5),
                                   PSVR(kernel="precomputed", epsilon=0.5)])  # fmt: skip
def test_distances_are_told(rng, model):
    X, y = nested_shells(rng)
    D = cdist(X, X)
    with pytest.warns(UserWarning, match=r"looks like distances.*DoubleCentering"):
        model.fit(D, y)
    with pytest.warns(UserWarning, match="looks like distances"):
        model.fit(sp.csr_array(D), y)


def test_similarities_and_graphs_are_not(rng):
    X, y = nested_shells(rng)
    graph = (cdist(X, X) < 0.8).astype(float) - np.eye(len(X))
    assert not graph.diagonal().any() and graph.min() == 0 and 0 < graph.mean() < 0.5
    model = PSVC(kernel="precomputed", epsilon=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for K in (X @ X.T, np.sin(cdist(X, X) * 3), -cdist(X, X), graph, sp.csr_array(graph)):
            model.fit(K, y)
        make_pipeline(DoubleCentering(), model).fit(cdist(X, X), y)
        PSVC(kernel="dyadic", epsilon=0.5).fit(cdist(X, X), y)


def test_on_the_command_line(rng, tmp_path, capsys):
    """A warning in the words of the command line, and the option that it names."""
    pytest.importorskip("click")
    from psvm.cli import main

    X, y = nested_shells(rng, 40)
    names = [f"o{i}" for i in range(len(y))]
    rows = [[n, *row, c] for n, row, c in zip(names, cdist(X, X).tolist(), y, strict=True)]
    lines = [",".join(map(str, row)) for row in [["", *names, "label"], *rows]]
    data, model = tmp_path / "d.csv", tmp_path / "m.psvm"
    data.write_text("\n".join(lines) + "\n")
    fit = ["fit", str(data), "--target", "label", "--no-cv", "--model", str(model)]
    assert main([*fit, "--epsilon", "1"]) in (0, None)
    said = capsys.readouterr().err
    assert "looks like distances" in said and "--distances makes similarities" in said
    assert main([*fit, "--epsilon", "1", "--distances"]) in (0, None)
    assert capsys.readouterr().err == ""
    loaded = psvm.load(model)
    assert isinstance(loaded[1], DoubleCentering)
    assert main(["predict", str(model), str(data), "--json"]) in (0, None)
    predicted = json.loads(capsys.readouterr().out)["predictions"]
    assert_array_equal(predicted, loaded.predict(cdist(X, X)))
    assert main([*fit, "--kernel", "rbf", "--distances"]) not in (0, None)
    assert "--distances is for a square matrix" in capsys.readouterr().err


@pytest.mark.parametrize("scaler", [DoubleCentering(), GaussianOfDistance(), GaussianOfDistance(1)])
def test_squares_that_are_no_numbers(scaler):
    D = 1e200 * (1 - np.eye(3))
    with pytest.raises(ValueError, match=r"X has the entry 1e\+200, whose square"):
        scaler.fit(D)
    with pytest.raises(ValueError, match=r"X has the entry 1e\+200, whose square"):
        scaler.fit(1 - np.eye(3)).transform(D)
