"""Every kernel against a slow double loop over exact differences."""

from itertools import product
from math import exp, fsum, sin, sqrt

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel

from psvm.kernels import (
    RBF,
    Constant,
    Kernel,
    Laplacian,
    Linear,
    Normalized,
    Plummer,
    Polynomial,
    Product,
    Sine,
    Sum,
    make_kernel,
    normalized,
)

EPS = np.finfo(float).eps
CLOSE = 1e-7
"""Squared distances below this share of the squared norms must come from differences."""


def dot(x, z):
    return fsum(a * b for a, b in zip(x, z, strict=True))


def manhattan(x, z):
    return fsum(abs(a - b) for a, b in zip(x, z, strict=True))


def distance(x, z):
    return sqrt(fsum((a - b) ** 2 for a, b in zip(x, z, strict=True)))


KERNELS = {
    "linear": (Linear(), dot),
    "poly": (Polynomial(gamma=0.3, coef0=1.5, degree=3), lambda x, z: (0.3 * dot(x, z) + 1.5) ** 3),
    "poly of degree 2": (Polynomial(gamma=2.0, degree=2), lambda x, z: (2.0 * dot(x, z)) ** 2),
    "rbf": (RBF(gamma=0.7), lambda x, z: exp(-0.7 * distance(x, z) ** 2)),
    "laplacian": (Laplacian(gamma=0.4), lambda x, z: exp(-0.4 * manhattan(x, z))),
    "plummer": (Plummer(rho=0.2, zeta=1.5), lambda x, z: (distance(x, z) + 0.2) ** -1.5),
    "plummer of order 1": (Plummer(rho=0.5), lambda x, z: 1 / (distance(x, z) + 0.5)),
    "sine": (Sine(theta=2.5), lambda x, z: sin(2.5 * distance(x, z))),
}
TRANSLATION_INVARIANT = ["rbf", "laplacian", "plummer", "sine"]

STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "view": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr": sp.csr_array,
    "csc matrix": sp.csc_matrix,
}


def by_hand(function, X, Z):
    return np.array([[function(x, z) for z in Z.tolist()] for x in X.tolist()])


def vectors(n, seed, d=4):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[np.random.default_rng(seed + 1).random(X.shape) < 0.4] = 0.0
    return X


@pytest.mark.parametrize("name", KERNELS)
def test_values(name):
    kernel, function = KERNELS[name]
    X, Z = vectors(17, 0), vectors(9, 10)
    assert 0.2 < np.mean(X == 0) < 0.6
    expected = by_hand(function, X, Z)
    for make_x, make_z in product(STORAGES.values(), STORAGES.values()):
        K = kernel(make_x(X), make_z(Z))
        assert type(K) is np.ndarray and K.dtype == np.float64 and K.flags.writeable
        assert_allclose(K, expected, rtol=1e-14, atol=rounding(X, Z))


def rounding(X, Z):
    """How far a kernel value may be off.

    A dot product or an expanded square is off by at most (d + 3) eps (|x|^2 + |z|^2). With
    respect to these no kernel of the list has a slope above 100 at the distances of the data.
    """
    D = distances_squared(X, Z)
    assert D[D > 0].min() > 0.02
    assert (X**2).sum(axis=1).max() < 16 and (Z**2).sum(axis=1).max() < 16
    return 100 * (X.shape[1] + 3) * EPS * 32


def distances_squared(X, Z):
    return ((X[:, None] - Z[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", KERNELS)
def test_other_types_are_computed_in_double_precision(name, sparse, dtype):
    """127^2 does not fit into eight bits, nor a difference of unsigned numbers."""
    kernel = KERNELS[name][0]
    X = np.random.default_rng(0).integers(0, 128, size=(12, 3))
    X, Z = X.astype(dtype), X[:5][::-1].astype(dtype)
    expected = kernel(X.astype(np.float64), Z.astype(np.float64))
    K = kernel(sp.csr_array(X), sp.csr_array(Z)) if sparse else kernel(X, Z)
    assert K.dtype == np.float64
    # The same numbers, so the same sums up to their order: |x|^2 < 3 * 127^2.
    scale = {"linear": 1.0, "poly": np.abs(expected).max(), "poly of degree 2": 4 * 2 * 3 * 127**2}
    assert_allclose(K, expected, rtol=1e-13, atol=1e-14 * 3 * 127**2 * scale.get(name, 3.0))


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", KERNELS)
def test_single_precision_stays_single_precision(name, sparse):
    """Only where both arguments are; the same numbers as in double precision up to rounding."""
    kernel = KERNELS[name][0]
    X, Z = vectors(1100, 0).astype(np.float32), vectors(40, 10).astype(np.float32)
    Z[:5] = X[:5]
    make = sp.csr_array if sparse else np.asarray
    K, mixed = kernel(make(X), make(Z)), kernel(make(X), Z.astype(np.float64))
    assert K.dtype == np.float32 and mixed.dtype == np.float64
    expected = kernel(X.astype(np.float64), Z.astype(np.float64))
    norms = (X**2).sum(axis=1).max() + (Z**2).sum(axis=1).max()
    # (d + 3) roundings of the norms; slopes: of poly with respect to the product 3 * 0.3 * 16^2,
    # of plummer and sine at distances beyond a thousandth 1000.
    slope = {"poly": 3 * 0.3 * 12**2, "poly of degree 2": 4 * 2 * 32}.get(name, 1000.0)
    tolerance = 7 * np.finfo(np.float32).eps * norms
    assert_allclose(K, expected, rtol=1e-4, atol=tolerance * slope)
    assert np.abs(K[:5, :5].diagonal() - expected[:5, :5].diagonal()).max() <= tolerance * slope


@pytest.mark.parametrize("offset", [0.0, 100.0])
def test_distances_in_single_precision(offset):
    """Close pairs are computed from differences, so that equal vectors have distance zero."""
    X = (np.random.default_rng(0).normal(size=(300, 3)) + offset).astype(np.float32)
    Z = X[::3] + np.float32(1e-3)
    exact = np.array([[distance(x, z) for z in Z.tolist()] for x in X.tolist()])
    D = Plummer(rho=0.0, zeta=-1.0)(X, Z)
    assert D.dtype == np.float32
    # 6.7 sqrt(eps) is the share of the squared norms below which differences are taken, so the
    # square is off by (d + 3) eps relative to that; the root halves it.
    eps = np.finfo(np.float32).eps
    assert_allclose(D, exact, rtol=6 * eps / (6.7 * np.sqrt(eps)))
    assert_array_equal(Sine()(X).diagonal(), 0.0)


@pytest.mark.parametrize("name", KERNELS)
def test_no_rows(name):
    kernel = KERNELS[name][0]
    for make in (np.asarray, sp.csr_array):
        assert kernel(make(np.ones((5, 2))), make(np.ones((0, 2)))).shape == (5, 0)
        assert kernel(make(np.ones((0, 2))), make(np.ones((5, 2)))).shape == (0, 5)


@pytest.mark.parametrize("name", KERNELS)
def test_arguments_are_not_changed(name):
    X, Z = vectors(8, 0) + 100.0, vectors(5, 1) + 100.0
    X_before, Z_before = X.copy(), Z.copy()
    X.flags.writeable = Z.flags.writeable = False
    KERNELS[name][0](X, Z)
    assert_array_equal(X, X_before)
    assert_array_equal(Z, Z_before)


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("mixed", [(False, False), (True, True), (True, False), (False, True)])
def test_equal_rows_have_distance_exactly_zero(offset, mixed):
    X = vectors(30, 3, d=7) * np.pi + offset
    Z = X[::-1][:20].copy()
    X_m, Z_m = (sp.csr_array(M) if s else M for M, s in zip((X, Z), mixed, strict=True))
    same = (X[:, None] == Z[None]).all(axis=2)
    assert same.sum() >= 20
    assert_array_equal(Sine(1.0)(X_m, Z_m)[same], 0.0)
    assert_array_equal(Plummer(rho=0.25, zeta=2.0)(X_m, Z_m)[same], 16.0)
    # The RBF kernel takes the square as it is: its error is that of the sum, see below.
    bound = 30 * EPS * 2 * (X**2).sum(axis=1).max()
    K = RBF(1.0)(X_m, Z_m)
    assert (1 - K[same] <= bound).all() and K.max() <= 1.0


def distances_by_kernel(X, Z):
    """Plummer's kernel with rho = 0 and zeta = -1 is the distance itself."""
    return Plummer(rho=0.0, zeta=-1.0)(X, Z)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("apart", [1.0, 1e-3, 1e-6])
def test_tiny_distances_far_away(offset, apart, sparse):
    """At least eight digits of a distance, wherever the data lie.

    The expanded square is off by n eps times the squared norms, with n = 3 d terms; where it is
    less than `CLOSE` times these it comes from differences. So the distance has a relative error
    of at most ``n eps / (2 CLOSE)``.
    """
    d = 5
    X = np.random.default_rng(0).normal(size=(25, d)) * apart + offset
    Z = np.random.default_rng(1).normal(size=(15, d)) * apart + offset
    expected = by_hand(distance, X, Z)
    assert expected.min() > 0
    D = (
        distances_by_kernel(sp.csr_array(X), sp.csr_array(Z))
        if sparse
        else distances_by_kernel(X, Z)
    )
    assert_allclose(D, expected, rtol=3 * d * EPS / (2 * CLOSE))


def test_distances_on_many_scales():
    """Clusters far apart with tiny distances inside, and an outlier far beyond all of them."""
    rng = np.random.default_rng(2)
    centres = np.array([0.0, 1.0, 1e3, 1e6, 1e12])
    X = (centres[:, None, None] + 1e-4 * rng.normal(size=(5, 6, 3))).reshape(30, 3)
    expected = by_hand(distance, X, X)
    assert expected[expected > 0].min() < 1e-3 and expected.max() > 1e12
    for M in (X, sp.csr_array(X)):
        D = distances_by_kernel(M, M)
        assert_allclose(D, expected, rtol=9 * EPS / (2 * CLOSE))


@pytest.mark.parametrize("offset", [0.0, 1e2, 1e5, 1e8])
def test_rbf_with_a_large_offset(offset):
    """Dense data lose nothing to an offset that all of them share.

    The exponent is off by n eps gamma (|x|^2 + |z|^2), with norms around the mean of z. Sparse
    data are not shifted, and their norms are those around zero.
    """
    d, gamma = 6, 0.2
    X = np.random.default_rng(0).normal(size=(40, d)) + offset
    Z = np.random.default_rng(1).normal(size=(30, d)) + offset
    expected = by_hand(lambda x, z: exp(-gamma * distance(x, z) ** 2), X, Z)
    centred = max((M - offset).__pow__(2).sum(axis=1).max() for M in (X, Z))
    # Where the mean is within two standard deviations nothing is shifted: at most 5 times more.
    bound = 3 * d * EPS * gamma * 2 * 5 * (centred + d)
    assert bound < 1e-12
    assert np.abs(RBF(gamma)(X, Z) - expected).max() <= bound
    largest = max((M**2).sum(axis=1).max() for M in (X, Z))
    K = RBF(gamma)(sp.csr_array(X), sp.csr_array(Z))
    assert (K <= 1.0).all()
    if offset <= 1e5:
        assert np.abs(K - expected).max() <= 3 * d * EPS * gamma * 2 * largest


def test_an_outlier_among_the_descriptive_objects_costs_no_digits():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(20, 3)), rng.normal(size=(2, 3))
    Z[1] = 1e9
    expected = by_hand(KERNELS["rbf"][1], X, Z)
    bound = 9 * EPS * 0.7 * 2 * ((X**2).sum(axis=1).max() + (Z[0] ** 2).sum())
    assert np.abs(RBF(0.7)(X, Z) - expected)[:, 0].max() <= bound
    assert_array_equal(expected[:, 1], 0.0)
    assert_array_equal(RBF(0.7)(X, Z)[:, 1], 0.0)


@pytest.mark.parametrize("name", TRANSLATION_INVARIANT)
def test_rows_are_independent_of_their_block(name):
    """Many rows are worked through in pieces."""
    kernel = KERNELS[name][0]
    X, Z = vectors(1100, 5, d=1024), vectors(3, 6, d=1024) + 5.0
    X += 5.0
    K = kernel(X, Z)
    rows = [0, 1, 500, 1023, 1024, 1025, 1099]
    # |x - z|^2 < 2000 has 3 * 1024 rounded terms, the slope of the kernels is below 3.
    assert_allclose(K[rows], kernel(X[rows], Z), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_symmetric(name, sparse):
    X = vectors(9, 1)
    M = sp.csr_array(X) if sparse else X
    K = KERNELS[name][0](M, M)
    # At distance zero, where the slope is infinite, plummer and sine are exact.
    assert_allclose(K, K.T, rtol=1e-14, atol=2 * rounding(X, X))


def eigenvalues(kernel, d=3):
    K = kernel(*2 * [np.random.default_rng(4).normal(size=(60, d))])
    return np.linalg.eigvalsh((K + K.T) / 2)


@pytest.mark.parametrize(
    "kernel",
    [Linear(), RBF(0.5), Polynomial(1.0, 0.0, 2), Polynomial(0.5, 1.0, 3), Polynomial(1.0, 2.0, 4)],
)
def test_positive_semidefinite(kernel):
    """All coefficients of the polynomials are positive; rounding is n eps times the largest."""
    values = eigenvalues(kernel)
    assert values[0] >= -60 * EPS * values[-1]


def test_linear_has_the_rank_of_the_data():
    values = eigenvalues(Linear(), d=3)
    assert (np.abs(values[:-3]) <= 60 * EPS * values[-1]).all()
    assert values[-3] > 1.0


@pytest.mark.parametrize(
    "kernel", [Sine(1.0), Polynomial(1.0, -5.0, 1)], ids=["sine", "negative coefficient"]
)
def test_indefinite(kernel):
    values = eigenvalues(kernel)
    assert values[0] < -1.0 and values[-1] > 1.0


def test_sine_of_two_points_by_hand():
    """The matrix [[0, s], [s, 0]] has the eigenvalues s and -s."""
    K = Sine(theta=np.pi / 2)(np.array([[0.0], [1.0]]), np.array([[0.0], [1.0]]))
    assert_allclose(K, [[0.0, 1.0], [1.0, 0.0]], rtol=EPS)


def test_make_kernel():
    options = {"gamma": 0.5, "degree": 4, "coef0": 1.0, "theta": 2.0, "rho": 0.1, "zeta": 3.0}
    expected = {
        "linear": dot,
        "poly": lambda x, z: (0.5 * dot(x, z) + 1.0) ** 4,
        "rbf": lambda x, z: exp(-0.5 * distance(x, z) ** 2),
        "plummer": lambda x, z: (distance(x, z) + 0.1) ** -3.0,
        "sine": lambda x, z: sin(2.0 * distance(x, z)),
    }
    X, Z = vectors(6, 0), vectors(4, 10)
    for name, function in expected.items():
        K = make_kernel(name, **options)(X, Z)
        assert_allclose(K, by_hand(function, X, Z), rtol=1e-11, atol=1e-13)
    with pytest.raises(ValueError, match="name must be one of"):
        make_kernel("unknown", **options)


@pytest.mark.parametrize("degree", [0, 1, 2, 3, 7, 64, 65, np.int64(5), 4.0, 0.5])
def test_powers(degree):
    """Products and the power function agree; each product adds a rounding error."""
    X = np.random.default_rng(0).uniform(0.1, 0.9, size=(200, 1))
    K = Polynomial(1.0, 0.5, degree)(X)
    assert_allclose(K, (X @ X.T + 0.5) ** float(degree), rtol=70 * EPS)


def test_laplacian_is_that_of_scikit_learn():
    X, Z = vectors(30, 0), vectors(20, 10)
    assert_allclose(Laplacian(0.3)(X, Z), laplacian_kernel(X, Z, gamma=0.3), rtol=1e-13)


# ---------------------------------------------------------------- kernels as objects


@pytest.mark.parametrize("name", KERNELS)
def test_one_argument_stands_for_both(name):
    kernel, X = KERNELS[name][0], vectors(12, 0)
    for K in (kernel(X, X), kernel(X.tolist())):
        assert_allclose(K, kernel(X), rtol=1e-14, atol=2 * rounding(X, X))


@pytest.mark.parametrize("name", KERNELS)
def test_diagonal(name):
    """Also beyond the blocks in which the diagonal of an unknown kernel is found."""
    kernel, function = KERNELS[name]
    X = vectors(150, 0)
    expected = [function(x, x) for x in X.tolist()]
    assert_allclose(kernel.diagonal(X), expected, rtol=1e-13)
    assert_allclose(Kernel.diagonal(kernel, X), expected, rtol=1e-12, atol=1e-13)
    assert Kernel.diagonal(kernel, X[:0]).shape == (0,)


@pytest.mark.parametrize("name", KERNELS)
def test_parameters_are_those_of_a_scikit_learn_estimator(name):
    kernel = KERNELS[name][0]
    copy = clone(kernel)
    assert copy is not kernel and copy == kernel and repr(copy) == repr(kernel)
    assert eval(repr(kernel)) == kernel
    for key, value in kernel.get_params().items():
        copy.set_params(**{key: value + 1})
        assert copy != kernel
    assert kernel != 3 and Linear() != RBF()


def test_nested_parameters():
    kernel = normalized(0.5 * RBF(gamma=2.0) + Linear())
    parameters = kernel.get_params()
    assert parameters["kernel__k1__k2__gamma"] == 2.0 and parameters["kernel__k1__k1__value"] == 0.5
    copy = clone(kernel).set_params(kernel__k1__k2__gamma=3.0)
    assert kernel.kernel.k1.k2 == RBF(2.0) and copy.kernel.k1.k2 == RBF(3.0)
    assert eval(repr(kernel)) == kernel


COMBINED = {
    "sum": (RBF(0.7) + Linear(), lambda x, z: exp(-0.7 * distance(x, z) ** 2) + dot(x, z)),
    "product": (RBF(0.7) * Linear(), lambda x, z: exp(-0.7 * distance(x, z) ** 2) * dot(x, z)),
    "scaled": (2.5 * Sine(1.0), lambda x, z: 2.5 * sin(distance(x, z))),
    "scaled from the right": (Sine(1.0) * 2, lambda x, z: 2 * sin(distance(x, z))),
    "shifted": (1.0 + Linear(), lambda x, z: 1.0 + dot(x, z)),
    "shifted from the right": (Linear() + np.float64(3), lambda x, z: 3.0 + dot(x, z)),
    "normalized": (
        normalized(Polynomial(0.3, 1.5, 2)),
        lambda x, z: (
            (0.3 * dot(x, z) + 1.5) ** 2 / ((0.3 * dot(x, x) + 1.5) * (0.3 * dot(z, z) + 1.5))
        ),
    ),
    "normalized sum": (
        normalized(Linear() + RBF(1.0)),
        lambda x, z: (
            (dot(x, z) + exp(-(distance(x, z) ** 2))) / sqrt((dot(x, x) + 1) * (dot(z, z) + 1))
        ),
    ),
    "sum of normalized": (
        normalized(Linear() * Linear()) + normalized(normalized(RBF(0.7))),
        lambda x, z: dot(x, z) ** 2 / (dot(x, x) * dot(z, z)) + exp(-0.7 * distance(x, z) ** 2),
    ),
}


@pytest.mark.parametrize("name", COMBINED)
def test_combinations(name):
    kernel, function = COMBINED[name]
    X, Z = vectors(17, 0), vectors(9, 10)
    assert (X != 0).any(axis=1).all() and (Z != 0).any(axis=1).all()
    expected = by_hand(function, X, Z)
    for make_x, make_z in product(STORAGES.values(), STORAGES.values()):
        K = kernel(make_x(X), make_z(Z))
        assert_allclose(K, expected, rtol=1e-12, atol=rounding(X, Z))
    assert_allclose(kernel.diagonal(kernel.prepare(X)), kernel(X).diagonal(), rtol=1e-12)
    # parts of prepared objects are prepared parts
    prepared, index = kernel.prepare(X), np.array([3, 1, 8])
    assert_allclose(kernel.evaluate(prepared[index], prepared[2:4]), kernel(X[index], X[2:4]))
    assert prepared.shape[0] == 17
    assert kernel(X.astype(np.float32)).dtype == np.float32


def test_normalized_needs_positive_squares():
    X = np.array([[1.0, 2.0], [0.0, 0.0]])
    assert_allclose(normalized(Linear())(X), [[1.0, 0.0], [0.0, 0.0]], atol=EPS)
    with pytest.raises(ValueError, match=r"k\(x, x\) is 0 for object 0"):
        normalized(Sine())(X)
    with pytest.raises(ValueError, match=r"k\(x, x\) is -5 for object 1"):
        normalized(Linear() + (-5.0))(X * 10)


def test_flags_of_combinations():
    good, bad = RBF(), Sine()
    for kernel in (good + good, good * good, normalized(good), 2.0 * good, 1.0 + good):
        assert kernel.positive_definite and kernel.takes_vectors
    for kernel in (good + bad, bad * good, normalized(bad), -1.0 * good, Polynomial(degree=1.5)):
        assert not kernel.positive_definite


@pytest.mark.parametrize(
    "kernel",
    [
        Laplacian(0.5),
        Plummer(0.3, 2.0),
        Plummer(1.0, 0.5),
        RBF(0.5) * Linear() + 0.1 * Laplacian(),
        normalized(Polynomial(0.5, 1.0, 3)),
        Constant(2.0),
    ],
)
def test_positive_definite_is_what_it_says(kernel):
    assert kernel.positive_definite
    values = eigenvalues(kernel)
    assert values[0] >= -60 * EPS * values[-1]


@pytest.mark.parametrize(
    ("kernel", "culprit"),
    [
        (RBF(0.0), "gamma"),
        (RBF("wide"), "gamma"),
        (Laplacian(-1.0), "gamma"),
        (Polynomial(degree=-1), "degree"),
        (Polynomial(coef0=np.nan), "coef0"),
        (Plummer(rho=0.0), "rho"),
        (Plummer(zeta=np.inf), "zeta"),
        (Sine(theta=None), "theta"),
        (Constant(np.inf), "value"),
        (RBF(0.0) + Linear(), "gamma"),
        (normalized(RBF(0.0)), "gamma"),
        (Sum(RBF(), 3), "kernel objects"),
        (Product("rbf", RBF()), "kernel objects"),
        (Normalized("rbf"), "kernel object"),
    ],
)
def test_bad_parameters(kernel, culprit):
    with pytest.raises(ValueError, match=culprit):
        kernel([[1.0, 2.0]])


def test_bad_objects():
    with pytest.raises(ValueError, match="X has 2 features, but Z has 1"):
        RBF()([[1.0, 2.0]], [[1.0]])
    with pytest.raises(ValueError, match="Z contains NaN"):
        RBF()([[1.0]], [[np.nan]])
    with pytest.raises(ValueError, match="2D array"):
        RBF()([1.0])
    for combine in (lambda: RBF() + "rbf", lambda: RBF() * [1], lambda: "rbf" + RBF()):
        with pytest.raises(TypeError):
            combine()
