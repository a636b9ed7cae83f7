"""The spectrum of a matrix of relations against matrices whose spectrum is known."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from psvm import matrix_spectrum
from psvm.kernels import RBF, Sine


def with_eigenvalues(values, rng):
    Q = np.linalg.qr(rng.normal(size=(len(values), len(values))))[0]
    return Q * values @ Q.T


def test_known_eigenvalues(rng):
    values = np.array([5.0, 3.0, 1.0, 0.0, -1.0, -2.0])
    report = matrix_spectrum(with_eigenvalues(values, rng))
    assert_allclose(report.eigenvalues, values, atol=6 * 5 * np.finfo(float).eps * 10)
    assert report.negative_share == 2 / 6
    assert report.negative_mass == pytest.approx(3 / 12, rel=1e-13)
    assert not report.positive_semidefinite
    assert "33.3 % are negative, with 25.0 %" in str(report)


def test_asymmetry(rng):
    A = rng.normal(size=(7, 7))
    S, T = A + A.T, A - A.T
    assert matrix_spectrum(S).asymmetry == 0.0
    assert matrix_spectrum(T).asymmetry == pytest.approx(1.0, rel=1e-14)
    # S and T are orthogonal: ||S + T||^2 = ||S||^2 + ||T||^2
    expected = np.linalg.norm(T) / np.hypot(np.linalg.norm(S), np.linalg.norm(T))
    report = matrix_spectrum(S + T)
    assert report.asymmetry == pytest.approx(expected, rel=1e-13)
    assert_allclose(report.eigenvalues, np.linalg.eigvalsh(S)[::-1], atol=1e-13)
    assert not matrix_spectrum(np.eye(7) + 1e-3 * T).positive_semidefinite


def test_distances_of_vectors_are_euclidean(rng):
    """Classical scaling: the eigenvalues are those of the centred Gram matrix."""
    X = rng.normal(size=(20, 3))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    report = matrix_spectrum(D, kind="dissimilarity")
    X = X - X.mean(axis=0)
    expected = np.linalg.eigvalsh(X @ X.T)[::-1]
    assert_allclose(report.eigenvalues, expected, atol=1e-12 * expected[0])
    assert report.positive_semidefinite
    # distances themselves have one positive eigenvalue only
    assert matrix_spectrum(D).negative_share == 19 / 20


def test_distances_on_a_circle_are_not_euclidean():
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    D = np.abs(angle[:, None] - angle)
    D = np.minimum(D, 2 * np.pi - D)
    assert matrix_spectrum(D, kind="dissimilarity").negative_share > 0


def test_kernels(rng):
    X = rng.normal(size=(40, 2))
    assert matrix_spectrum(RBF()(X)).positive_semidefinite
    sine = matrix_spectrum(Sine()(X))
    # The trace is zero: both signs have the same mass.
    assert sine.negative_mass == pytest.approx(0.5, rel=1e-12)


def test_sparse_lists_and_zeros():
    report = matrix_spectrum(sp.csr_array([[2.0, 0.0], [0.0, -1.0]]))
    assert_allclose(report.eigenvalues, [2.0, -1.0])
    assert_allclose(matrix_spectrum([[2, 0], [0, -1]]).eigenvalues, [2.0, -1.0])
    zero = matrix_spectrum(np.zeros((3, 3)))
    assert zero.asymmetry == zero.negative_mass == zero.negative_share == 0.0
    assert zero.positive_semidefinite


def test_bad_input():
    with pytest.raises(ValueError, match="square, got 2 x 3"):
        matrix_spectrum(np.ones((2, 3)))
    with pytest.raises(ValueError, match="kind must be one of"):
        matrix_spectrum(np.eye(2), kind="distance")
    with pytest.raises(ValueError, match="NaN"):
        matrix_spectrum([[np.nan]])


def test_scree_plot(rng):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    values = np.array([5.0, 3.0, 1.0, -2.0, -4.0])
    report = matrix_spectrum(with_eigenvalues(values, rng))
    ax = report.plot(most=4)
    heights = {bar.get_x() + bar.get_width() / 2: bar.get_height() for bar in ax.patches}
    assert_allclose([heights[i] for i in sorted(heights)], [5, 4, 3, 2], rtol=1e-12)
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["positive", "negative"]
    assert report.plot(ax) is ax
    assert len(matrix_spectrum(np.eye(3)).plot().patches) == 3
    pyplot.close("all")


def test_plot_without_matplotlib_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy, psvm\n"
        "try:\n    psvm.matrix_spectrum(numpy.eye(2)).plot()\n"
        "except ImportError as error:\n    print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "psvm[plot]"' in run.stdout
