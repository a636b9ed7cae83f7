"""Kernels of fingerprints, histograms, profiles and series, and Matérn's, against definitions."""

from itertools import product
from math import exp, fsum, sqrt, tanh

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.special import gamma as gamma_function
from scipy.special import kv
from scipy.stats import wasserstein_distance
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gaussian
from sklearn.metrics import pairwise

import psvm
from psvm import PSVC
from psvm.cli._options import KERNELS as ON_THE_COMMAND_LINE
from psvm.kernels import (
    DTW,
    NAMES,
    RBF,
    AdditiveChi2,
    Chi2,
    Cosine,
    GlobalAlignment,
    HistogramIntersection,
    Jaccard,
    Kernel,
    Linear,
    Matern,
    RationalQuadratic,
    Tanh,
    Tanimoto,
    Wasserstein,
    normalized,
)
from psvm.kernels._names import BY_NAME

EPS = np.finfo(float).eps


def dot(x, z):
    return fsum(a * b for a, b in zip(x, z, strict=True))


def square(x, z):
    return fsum((a - b) ** 2 for a, b in zip(x, z, strict=True))


def cosine(x, z):
    norms = sqrt(dot(x, x) * dot(z, z))
    return dot(x, z) / norms if norms else 0.0


def tanimoto(x, z):
    union = dot(x, x) + dot(z, z) - dot(x, z)
    return dot(x, z) / union if union else 1.0


def jaccard(x, z):
    union = fsum(map(max, x, z))
    return fsum(map(min, x, z)) / union if union else 1.0


def chi2(x, z):
    return fsum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b)


def earth_mover(x, z):
    places = range(len(x))
    return wasserstein_distance(places, places, x, z) if any(x) and any(z) else np.nan


def matern(nu, gamma=0.3):
    def value(x, z):
        t = sqrt(4 * nu * gamma * square(x, z))
        return 2 ** (1 - nu) / gamma_function(nu) * t**nu * kv(nu, t) if t else 1.0

    return value


def paths(n, m):
    """All warping paths from (0, 0) to (n - 1, m - 1)."""
    if (n, m) == (1, 1):
        return [[(0, 0)]]
    before = [(n - 1, m), (n, m - 1), (n - 1, m - 1)]
    return [[*path, (n - 1, m - 1)] for a, b in before if min(a, b) >= 1 for path in paths(a, b)]


def warping_cost(x, z, window=np.inf):
    costs = (
        fsum((x[i] - z[j]) ** 2 for i, j in path)
        for path in paths(len(x), len(z))
        if all(abs(i - j) <= max(window, abs(len(x) - len(z))) for i, j in path)
    )
    return min(costs)


def alignment_sum(x, z, gamma):
    def local(a, b):
        s = exp(-gamma * (a - b) ** 2)
        return s / (2 - s)

    return fsum(np.prod([local(x[i], z[j]) for i, j in path]) for path in paths(len(x), len(z)))


def alignment(x, z, gamma=0.3):
    own = alignment_sum(x, x, gamma) * alignment_sum(z, z, gamma)
    return alignment_sum(x, z, gamma) / sqrt(own)


KERNELS = {
    "sigmoid": (Tanh(gamma=0.3, coef0=-0.2), lambda x, z: tanh(0.3 * dot(x, z) - 0.2)),
    "cosine": (Cosine(), cosine),
    "rational quadratic": (
        RationalQuadratic(gamma=0.3, exponent=1.7),
        lambda x, z: (1 + 0.3 * square(x, z) / 1.7) ** -1.7,
    ),
    "matern 1/2": (Matern(0.3, nu=0.5), matern(0.5)),
    "matern 3/2": (Matern(0.3, nu=1.5), matern(1.5)),
    "matern 5/2": (Matern(0.3, nu=2.5), matern(2.5)),
    "matern 0.8": (Matern(0.3, nu=0.8), matern(0.8)),
    "matern 4": (Matern(0.3, nu=4), matern(4)),
    "tanimoto": (Tanimoto(), tanimoto),
    "jaccard": (Jaccard(), jaccard),
    "intersection": (HistogramIntersection(), lambda x, z: fsum(map(min, x, z))),
    "chi2": (Chi2(gamma=0.6), lambda x, z: exp(-0.6 * chi2(x, z))),
    "additive chi2": (AdditiveChi2(), lambda x, z: -chi2(x, z)),
    "wasserstein": (Wasserstein(gamma=0.6), lambda x, z: exp(-0.6 * earth_mover(x, z))),
    "dtw": (DTW(gamma=0.3), lambda x, z: exp(-0.3 * warping_cost(x, z))),
    "dtw within 1": (DTW(gamma=0.3, window=1), lambda x, z: exp(-0.3 * warping_cost(x, z, 1))),
    "alignment": (GlobalAlignment(gamma=0.3), alignment),
    "alignment sums": (
        GlobalAlignment(gamma=0.3, normalize=False),
        lambda x, z: alignment_sum(x, z, 0.3),
    ),
}
INDEFINITE = {"sigmoid", "additive chi2", "dtw", "dtw within 1"}
NON_NEGATIVE = {"jaccard", "intersection", "chi2", "additive chi2", "wasserstein"}
STORAGES = {"C": np.ascontiguousarray, "F": np.asfortranarray, "csr": sp.csr_array}


def rows(n, seed, d=4):
    """Numbers of at least 0, many of them 0, and a row of zeros."""
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 30, size=(n, d)) / 10
    X[rng.random(X.shape) < 0.35] = 0.0
    return X


def with_mass(X):
    return X[X.any(axis=1)]


def by_hand(function, X, Z):
    return np.array([[function(x, z) for z in Z.tolist()] for x in X.tolist()])


@pytest.mark.parametrize("name", KERNELS)
def test_values(name):
    kernel, function = KERNELS[name]
    X, Z = rows(15, 0), rows(8, 5)
    if name == "wasserstein":
        X, Z = with_mass(X), with_mass(Z)
    else:
        X[3], Z[2], Z[4] = 0.0, 0.0, X[6]
    expected = by_hand(function, X, Z)
    for make_x, make_z in product(STORAGES.values(), STORAGES.values()):
        K = kernel(make_x(X), make_z(Z))
        assert type(K) is np.ndarray and K.dtype == np.float64
        # Some ten operations on numbers below 36 = 4 * 3^2; paths add up 300 of them. Squares
        # enter the square root of the Matérn kernels with a share of 1e-8, if not exactly.
        assert_allclose(K, expected, rtol=1e-9 if "matern" in name else 1e-12, atol=1e-13)


@pytest.mark.parametrize("name", KERNELS)
def test_single_precision(name):
    """Both arguments single: single values, off by eps of sums up to 4 * 3^2 = 36."""
    kernel = KERNELS[name][0]
    X, Z = with_mass(rows(90, 0)).astype(np.float32), with_mass(rows(20, 5)).astype(np.float32)
    for make in (np.asarray, sp.csr_array):
        K = kernel(make(X), make(Z))
        expected = kernel(X.astype(float), Z.astype(float))
        assert K.dtype == np.float32 and kernel(make(X), Z.astype(float)).dtype == np.float64
        tolerance = 36 * 8 * np.finfo(np.float32).eps
        # the derivative of a Matérn kernel of order 1/2 by the square is large for close pairs
        assert_allclose(K, expected, rtol=tolerance, atol=100 * tolerance)


@pytest.mark.parametrize("name", KERNELS)
def test_objects(name):
    """Symmetric, with its diagonal, in parts, without rows, cloned, and with its arguments left."""
    kernel, function = KERNELS[name]
    X = with_mass(rows(80, 1))
    X.flags.writeable = False
    K = kernel(X)
    assert_allclose(K, K.T, rtol=1e-9, atol=1e-13)
    prepared = kernel.prepare(X)
    assert_allclose(kernel.diagonal(prepared), K.diagonal(), rtol=1e-12, atol=1e-13)
    assert_allclose(Kernel.diagonal(kernel, prepared), K.diagonal(), rtol=1e-12, atol=1e-13)
    assert_allclose(kernel.diagonal(prepared)[:5], [function(x, x) for x in X[:5].tolist()])
    index = np.array([3, 1, 8])
    assert_allclose(kernel.evaluate(prepared[index], prepared[2:4]), kernel(X[index], X[2:4]))
    assert kernel(X[:0], X).shape == (0, len(X)) and kernel(X, X[:0]).shape == (len(X), 0)
    assert clone(kernel) == kernel and eval(repr(kernel)) == kernel


@pytest.mark.parametrize("name", KERNELS)
def test_positive_definite_is_what_it_says(name):
    kernel = KERNELS[name][0]
    assert kernel.positive_definite == (name not in INDEFINITE)
    rng = np.random.default_rng(3)
    X = rng.exponential(size=(60, 5)) if name in NON_NEGATIVE else rng.normal(size=(60, 5))
    values = np.linalg.eigvalsh(kernel(X))
    if kernel.positive_definite:
        assert values[0] >= -60 * EPS * 10 * values[-1]
    else:
        assert values[0] < -1e-6 * values[-1]


def test_tanimoto_of_counts_with_signs_is_positive_definite():
    X = np.random.default_rng(0).normal(size=(80, 3))
    assert np.linalg.eigvalsh(Tanimoto()(X))[0] > -1e-13


def test_reference_implementations():
    X, Z = rows(40, 0, d=7), rows(30, 9, d=7)
    for ours, theirs in (
        (Cosine(), pairwise.cosine_similarity(X, Z)),
        (Tanh(0.2, 0.5), pairwise.sigmoid_kernel(X, Z, gamma=0.2, coef0=0.5)),
        (Chi2(0.4), pairwise.chi2_kernel(X, Z, gamma=0.4)),
        (AdditiveChi2(), pairwise.additive_chi2_kernel(X, Z)),
        (RationalQuadratic(0.5 / 1.3**2, 0.6), gaussian.RationalQuadratic(1.3, 0.6)(X, Z)),
        *(
            (Matern(0.5 / 1.3**2, nu), gaussian.Matern(1.3, nu=nu)(X, Z))
            for nu in (0.5, 1.5, 2.5, 0.7, 3.0)
        ),
    ):
        assert_allclose(ours(X, Z), theirs, rtol=1e-9, atol=1e-12)
    B, C = X > 0.8, Z > 0.8
    expected = 1 - cdist(B, C, "jaccard")
    assert_allclose(Tanimoto()(B, C), expected, rtol=1e-14)
    assert_allclose(Jaccard()(sp.csr_array(B), sp.csr_array(C)), expected, rtol=1e-14)


def test_both_similarities_of_fingerprints_agree_on_bits_and_differ_on_counts():
    bits = np.random.default_rng(0).random((20, 50)) < 0.2
    counts = np.random.default_rng(0).integers(0, 4, size=(20, 50))
    assert_allclose(Tanimoto()(bits), Jaccard()(bits), rtol=1e-14)
    assert np.abs(Tanimoto()(counts) - Jaccard()(counts)).max() > 0.05


def test_limits():
    """Large exponents and orders are the RBF kernel; half a window of none is it exactly."""
    X, Z = rows(20, 0), rows(10, 1)
    rbf = RBF(0.3)(X, Z)
    # (1 + a / n)^-n = exp(-a + a^2 / 2n - ...)
    assert_allclose(RationalQuadratic(0.3, 1e6)(X, Z), rbf, rtol=1e-3, atol=1e-6)
    assert np.abs(Matern(0.3, nu=50)(X, Z) - rbf).max() < 0.02
    assert_allclose(DTW(0.3, window=0)(X, Z), rbf, rtol=1e-12)
    assert (DTW(0.3)(X, Z) >= DTW(0.3, window=1)(X, Z)).all()


@pytest.mark.parametrize("nu", [0.3, 0.999, 1.001, 7.3, 50])
def test_matern_near_zero(nu):
    """No NaN, never more than 1, and falling, from distances that are all but 0."""
    X = np.r_[0.0, np.geomspace(1e-160, 1e3, 400)][:, None]
    values = Matern(1.0, nu)(X[:1], X)[0]
    assert values[0] == 1.0 and values[-1] < 1e-20
    assert (values <= 1 + 1e-12).all() and (np.diff(values) <= 1e-12).all()


def test_wasserstein_is_the_distance_of_scipy_whatever_the_mass():
    X = with_mass(rows(12, 0, d=9))
    D = -np.log(Wasserstein()(X, 3.0 * X))
    assert_allclose(D, by_hand(earth_mover, X, X), atol=1e-13)
    with pytest.raises(ValueError, match="row 1 has the sum 0"):
        Wasserstein()([[1.0, 0.0], [0.0, 0.0]])


@pytest.mark.parametrize("kernel", [DTW(0.3, padding=-1), GlobalAlignment(0.3, padding=-1)])
def test_series_of_different_lengths(kernel):
    rng = np.random.default_rng(0)
    series = [rng.normal(size=n).tolist() for n in (1, 2, 3, 4, 5)]
    padded = np.array([x + [-1.0] * (5 - len(x)) for x in series])
    slow = alignment if isinstance(kernel, GlobalAlignment) else None
    expected = [
        [slow(x, z) if slow else exp(-0.3 * warping_cost(x, z)) for z in series] for x in series
    ]
    assert_allclose(kernel(padded), expected, rtol=1e-12)
    assert_allclose(kernel(padded[1:], padded[:3]), np.array(expected)[1:, :3], rtol=1e-12)
    with pytest.raises(ValueError, match="row 1 has none"):
        kernel([[1.0, 2.0], [-1.0, -1.0]])


def test_series_with_channels():
    """Two channels that are equal count twice; a window is one of points in time."""
    X = np.random.default_rng(0).normal(size=(6, 5))
    twice = np.repeat(X, 2, axis=1)
    assert_allclose(DTW(0.3, 1, channels=2)(twice), DTW(0.6, 1)(X), rtol=1e-12)
    both = GlobalAlignment(0.3, channels=2)(twice)
    assert_allclose(both, GlobalAlignment(0.6)(X), rtol=1e-12)
    with pytest.raises(ValueError, match="no multiple of 2"):
        DTW(channels=2)(X)


def test_long_series_neither_overflow_nor_vanish():
    """There are more than 10^450 paths through 600 points."""
    X = np.zeros((2, 600))
    X[1, 300:] = 0.01
    K = GlobalAlignment(gamma=0.5)(X)
    assert_allclose(K.diagonal(), 1.0, rtol=1e-10)
    assert 0.5 < K[0, 1] < 1.0
    with pytest.raises(ValueError, match="NaN or infinity"):
        GlobalAlignment(normalize=False)(X)


@pytest.mark.parametrize("name", sorted(NON_NEGATIVE))
def test_negative_entries_are_an_error_that_says_what_to_do(name):
    kernel = KERNELS[name][0]
    with pytest.raises(ValueError, match=r"X has the entry -2: .* at least 0\. Do not standardise"):
        kernel([[1.0, -2.0]])
    with pytest.raises(ValueError, match="entries of at least 0"):
        PSVC(kernel=kernel).fit([[1.0, -2.0], [2.0, 3.0]], [0, 1])


def test_bad_parameters():
    for kernel, message in (
        (Matern(nu=0), "nu must be a finite number > 0"),
        (Matern(nu=51), "nu must be"),
        (RationalQuadratic(exponent=-1), "exponent must be"),
        (Chi2(gamma=0), "gamma must be"),
        (DTW(window=-1), "window must be"),
        (DTW(channels=0), "channels must be"),
        (GlobalAlignment(padding="x"), "padding must be"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            kernel([[1.0, 2.0]])


# ---------------------------------------------------------------- in models


X_TRAIN = rows(60, 2, d=6) + 0.1
Y_TRAIN = X_TRAIN[:, 0] + X_TRAIN[:, 1] > X_TRAIN[:, 2] + X_TRAIN[:, 3]


@pytest.mark.parametrize("name", NAMES)
def test_by_name_in_models_files_and_numpy_code(name, tmp_path):
    """What a file or the exported code gives back are the decision values of the kernel object."""
    model = PSVC(kernel=name, epsilon=0.5, gamma=0.2).fit(X_TRAIN, Y_TRAIN)
    assert 0 < model.n_support_ and model.score(X_TRAIN, Y_TRAIN) > 0.7
    new = rows(20, 8, d=6) + 0.1
    expected = model.decision_function(new)
    same = PSVC(kernel=clone(model._kernel), epsilon=0.5).fit(sp.csr_array(X_TRAIN), Y_TRAIN)
    assert_allclose(same.decision_function(new), expected, rtol=1e-6, atol=1e-6)
    psvm.save(model, tmp_path / "m.psvm")
    assert_array_equal(psvm.load(tmp_path / "m.psvm").decision_function(new), expected)
    if name in ("dtw", "global_alignment"):
        with pytest.raises(TypeError, match="cannot be written as NumPy code"):
            psvm.persistence.export_numpy(model)
        return
    scope = {}
    exec(psvm.persistence.export_numpy(model), scope)
    size = np.abs(model.alpha_ / model.column_norms_).sum() * 10
    assert_allclose(scope["decision_function"](new), expected, rtol=1e-9, atol=1e-12 * size)


def test_matern_of_other_orders_has_no_numpy_code():
    model = PSVC(kernel=Matern(0.2, nu=0.8), epsilon=0.5).fit(X_TRAIN, Y_TRAIN)
    with pytest.raises(TypeError, match=r"nu = 0\.5, 1\.5 or 2\.5 can"):
        psvm.persistence.export_numpy(model)


def test_every_name_is_on_the_command_line():
    assert set(NAMES) <= set(ON_THE_COMMAND_LINE)
    assert set(ON_THE_COMMAND_LINE) - set(NAMES) == {"auto", "precomputed", "dyadic", "spectrum"}


def test_they_combine(tmp_path):
    kernel = normalized(GlobalAlignment(0.2) + 0.5 * Tanimoto()) * Linear() + Wasserstein(0.1)
    model = PSVC(kernel=kernel, epsilon=0.5).fit(X_TRAIN, Y_TRAIN)
    psvm.save(model, tmp_path / "m.psvm")
    loaded = psvm.load(tmp_path / "m.psvm")
    assert_array_equal(loaded.decision_function(X_TRAIN), model.decision_function(X_TRAIN))
    search = psvm.PSVCCV(kernel="chi2").fit(X_TRAIN, Y_TRAIN)
    assert search.score(X_TRAIN, Y_TRAIN) > 0.8


@pytest.mark.parametrize("name", sorted(NAMES))
def test_sparse_rows_of_both_precisions(name, rng):
    """Entries are exact in float32; norms and cumulative sums of these rows are rounded to it."""
    X = rng.integers(1, 9, size=(6, 4)) * (rng.random((6, 4)) < 0.7) + np.eye(6, 4)
    X = np.maximum(X, [1, 0, 0, 0])
    kernel = BY_NAME[name][0]()
    A = sp.csr_array(X)
    for other in (kernel(A, A.astype(np.float32)), kernel(A.astype(np.float32), A)):
        assert other.dtype == np.float64
        assert_allclose(other, kernel(X, X), rtol=1e-6, atol=1e-6)


def test_errors_of_series_name_their_argument():
    X, Z = np.ones((2, 3)), np.ones((2, 4))
    with pytest.raises(ValueError, match="Z has 4 columns, no multiple of 3"):
        DTW(channels=3)(X, Z)
    with pytest.raises(ValueError, match="Z must have series with some points"):
        GlobalAlignment(padding=0)(X, np.zeros((2, 3)))
