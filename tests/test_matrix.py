"""One contract for every storage of K, and for the standardising wrapper over it.

Everything expected is recomputed with NumPy from a plain dense float64 copy of the same numbers.
Rounding is bounded as in the textbooks: a sum of n products is off by at most
``n * eps * sum(|products|)``.
"""

import tracemalloc
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import fsum

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.linalg import norm
from numpy.testing import assert_allclose, assert_array_equal

from psvm.kernels import RBF, Linear
from psvm.matrix import (
    DaskMatrix,
    DataMatrix,
    DenseMatrix,
    KernelMatrix,
    SparseMatrix,
    Standardized,
    _base,
    _dense,
    as_matrix,
)
from reference import Exact

EPS = np.finfo(float).eps
MB = 2**20
L, P = 57, 23
BLOCK_ENTRIES = 50
"""Stored entries of a small block of a sparse matrix."""


@dataclass
class Case:
    """A backend, the same numbers as a plain array, and by how much an entry may differ."""

    matrix: DataMatrix
    K: np.ndarray
    entry: float = 0.0


@pytest.fixture
def small_blocks(monkeypatch):
    """Cut even the small matrices of the contract into several blocks."""

    def fives(n, item_bytes, **size):
        return [slice(start, min(start + 5, n)) for start in range(0, n, 5)]

    monkeypatch.setattr("psvm.matrix._dense.PARTS", 10**6)

    for module in ("_base", "_dense", "_kernel", "_standardized"):
        monkeypatch.setattr(f"psvm.matrix.{module}.block_slices", fives)


def numbers(seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(L, P)) * rng.uniform(0.1, 10, size=P) + rng.normal(size=P)
    if dtype is bool:
        return K > 0
    return np.round(10 * K).astype(dtype) if np.dtype(dtype).kind in "iu" else K.astype(dtype)


def sparse_numbers(dtype=float):
    K = numbers(1, dtype).copy()
    K[np.random.default_rng(2).random(K.shape) < 0.8] = 0
    K[:, [4, 11]] = 0  # empty columns
    K[:, 7] = numbers(1, dtype)[:, 7]  # and one with hardly any zero
    assert np.count_nonzero(K) < 0.3 * K.size
    assert not K[:, 4].any() and np.count_nonzero(K[:, 7]) > 0.4 * L
    return K


def mapped(directory, dtype, order, mode="r"):
    K = numbers(dtype=dtype)
    path = directory / "K.npy"
    np.save(path, np.asarray(K, order=order))
    K_mapped = np.load(path, mmap_mode=mode)
    assert isinstance(K_mapped, np.memmap) and K_mapped.flags.writeable == (mode == "r+")
    return K_mapped


def read_only():
    K = numbers()
    K.flags.writeable = False
    return K


def unaligned():
    K = np.frombuffer(b"x" + numbers().tobytes(), dtype=np.uint8)[1:].view(np.float64)
    K = K.reshape(L, P)
    assert not K.flags.aligned
    return K


def not_contiguous(K):
    assert not (K.flags.c_contiguous or K.flags.f_contiguous)
    return K


DENSE = {
    "C": lambda _: numbers(),
    "F": lambda _: np.asfortranarray(numbers()),
    "float32 C": lambda _: numbers(dtype=np.float32),
    "float32 F": lambda _: np.asfortranarray(numbers(dtype=np.float32)),
    "float16": lambda _: numbers(dtype=np.float16),
    "int64": lambda _: numbers(dtype=np.int64),
    "int8 F": lambda _: np.asfortranarray(numbers(dtype=np.int8)),
    "uint8": lambda _: np.random.default_rng(0).integers(0, 256, (L, P)).astype(np.uint8),
    "bool": lambda _: numbers(dtype=bool),
    "other byte order": lambda _: numbers().astype(">f8"),
    "read-only": lambda _: read_only(),
    "unaligned": lambda _: unaligned(),
    "np.matrix": lambda _: numbers().view(np.matrix),
    "list": lambda _: numbers().tolist(),
    "memory-mapped C": lambda directory: mapped(directory(), np.float64, "C"),
    "memory-mapped F": lambda directory: mapped(directory(), np.float64, "F"),
    "memory-mapped float32": lambda directory: mapped(directory(), np.float32, "C"),
    "memory-mapped writable": lambda directory: mapped(directory(), np.float64, "C", mode="r+"),
    "some columns": lambda _: not_contiguous(np.hstack([numbers(), numbers(3)])[:, :P]),
    "some rows of F": lambda _: not_contiguous(np.asfortranarray(np.vstack([numbers()] * 2))[:L]),
    "every second": lambda _: not_contiguous(np.repeat(np.repeat(numbers(), 2, 0), 2, 1)[::2, ::2]),
    "backwards": lambda _: numbers()[::-1, ::-1],
    "broadcast row": lambda _: np.broadcast_to(numbers()[0], (L, P)),
    "broadcast column": lambda _: np.broadcast_to(numbers()[:, :1], (L, P)),
    "one column": lambda _: numbers()[:, :1].copy(),
    "one column, view": lambda _: numbers()[:, 3:4],
    "two rows": lambda _: numbers()[:2].copy(),
}


def with_explicit_zeros():
    K = sp.csr_array(sparse_numbers())
    K.data[::3] = 0
    assert np.count_nonzero(K.data == 0) > 10 and K.nnz == len(K.data)
    return K


def coo_with_duplicates():
    i, j = np.nonzero(sparse_numbers())
    x = sparse_numbers()[i, j]
    K = sp.coo_array((np.r_[x, 2 * x], (np.r_[i, i], np.r_[j, j])), shape=(L, P))
    assert K.nnz == 2 * len(x)
    return K


def compressed_with_duplicates(kind):
    """Every place twice, unsorted and read-only, as other programs may leave it."""
    K = kind(sparse_numbers())
    lines = [slice(start, stop) for start, stop in pairwise(K.indptr)]
    places = np.concatenate([np.tile(K.indices[line][::-1], 2) for line in lines])
    values = np.concatenate([np.outer([1, 3], K.data[line][::-1]).ravel() for line in lines])
    K2 = kind((values, places, 2 * K.indptr), shape=K.shape)
    assert K2.nnz == 2 * K.nnz and not K2.has_canonical_format
    assert_allclose(K2.toarray(), 4 * K.toarray(), rtol=EPS)
    for array in (K2.data, K2.indices, K2.indptr):
        array.flags.writeable = False
    return K2


def with_gaps():
    """Values and places that are not contiguous, as parts of other arrays."""
    K = sp.csc_array(sparse_numbers())
    K.data, K.indices = np.repeat(K.data, 2)[::2], np.repeat(K.indices, 3)[::3]
    assert not (K.data.flags.c_contiguous or K.indices.flags.c_contiguous)
    return K


def long_indices():
    K = sp.csr_array(sparse_numbers())
    K.indices, K.indptr = K.indices.astype(np.int64), K.indptr.astype(np.int64)
    return K


SPARSE = {
    **{
        f"{kind.__name__} {np.dtype(dtype).name}": lambda _, kind=kind, dtype=dtype: kind(
            sparse_numbers(dtype)
        )
        for kind in (sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix)
        for dtype in (np.float64, np.float32, np.int32)
    },
    "csr bool": lambda _: sp.csr_array(sparse_numbers(bool)),
    "csc int8": lambda _: sp.csc_array(sparse_numbers(np.int8)),
    "coo_matrix": lambda _: sp.coo_matrix(sparse_numbers()),
    "coo_array int": lambda _: sp.coo_array(sparse_numbers(np.int64)),
    "lil": lambda _: sp.lil_array(sparse_numbers()),
    "explicit zeros": lambda _: with_explicit_zeros(),
    "coo with duplicates": lambda _: coo_with_duplicates(),
    "csr with duplicates": lambda _: compressed_with_duplicates(sp.csr_array),
    "csc with duplicates": lambda _: compressed_with_duplicates(sp.csc_array),
    "with gaps": lambda _: with_gaps(),
    "long indices": lambda _: long_indices(),
    "nothing stored": lambda _: sp.csr_array((L, P)),
    "everything stored": lambda _: sp.csc_array(numbers()),
    "one column": lambda _: sp.csr_array(sparse_numbers()[:, 7:8]),
}

BUDGETS = {"no": 0, "some": 9 * L * 8 / MB, "full": L * P * 8 / MB}
VECTORS = {
    "dense": lambda n, seed: np.random.default_rng(seed).normal(size=(n, 3)),
    "csr": lambda n, seed: sp.random_array((n, 30), density=0.1, random_state=seed, format="csr"),
    "csc matrix": lambda n, seed: sp.csc_matrix(
        sp.random_array((n, 30), density=0.1, random_state=seed, format="csc")
    ),
}


def plain(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def rbf_by_hand(X, Z, gamma):
    return np.exp(-gamma * ((plain(X)[:, None] - plain(Z)[None]) ** 2).sum(axis=2))


def kernel_case(vectors, budget):
    X, Z = VECTORS[vectors](L, 5), VECTORS[vectors](P, 6)
    matrix = KernelMatrix(RBF(gamma=0.3), X, Z, cache_size=BUDGETS[budget])
    # ||x||^2 + ||z||^2 - 2 <x, z> is a sum of at most 3 * 30 products, each rounded.
    XX, ZZ = (plain(X) ** 2).sum(axis=1), (plain(Z) ** 2).sum(axis=1)
    return Case(matrix, rbf_by_hand(X, Z, 0.3), 100 * EPS * 0.3 * (XX.max() + ZZ.max()))


def in_chunks(K):
    """A dask array with chunks of the rows of K, some of them without any."""
    da = pytest.importorskip("dask.array")
    rows = da.from_array(np.arange(L), chunks=((20, 0, 12, L - 32),))
    meta = sp.csr_matrix((0, 0)) if sp.issparse(K) else K[:0]
    return rows.map_blocks(
        lambda rows: K[rows], new_axis=1, chunks=(rows.chunks[0], (P,)), dtype=K.dtype, meta=meta
    )


DASK = {
    "dense": numbers,
    "float32": lambda: numbers(dtype=np.float32),
    "sparse": lambda: sp.csr_array(sparse_numbers()),
}

CASES = {
    **{f"dask: {name}": (make, DaskMatrix) for name, make in DASK.items()},
    **{f"dense: {name}": (make, DenseMatrix) for name, make in DENSE.items()},
    **{f"sparse: {name}": (make, SparseMatrix) for name, make in SPARSE.items()},
    **{
        f"kernel: {vectors}, {budget} cache": ((vectors, budget), KernelMatrix)
        for vectors in VECTORS
        for budget in BUDGETS
    },
}


@pytest.fixture(params=CASES)
def case(request, small_blocks):
    make, kind = CASES[request.param]
    if kind is KernelMatrix:
        case = kernel_case(*make)
    elif kind is DaskMatrix:
        K = make()
        case = Case(as_matrix(in_chunks(K)), np.array(plain(K), dtype=np.float64))
    else:
        K = make(lambda: request.getfixturevalue("tmp_path"))
        case = Case(as_matrix(K), np.array(plain(K), dtype=np.float64))
        if kind is DenseMatrix and isinstance(K, np.ndarray):
            assert np.shares_memory(case.matrix.K, K)
        if kind is SparseMatrix and K.format in ("csr", "csc"):
            assert case.matrix.K is K
        if kind is SparseMatrix:
            case.matrix = SparseMatrix(case.matrix.K, block_entries=BLOCK_ENTRIES)
    assert type(case.matrix) is kind
    return case


@pytest.fixture(params=["ones", "random"])
def weights(request, case):
    n = len(case.K)
    w = np.ones(n) if request.param == "ones" else np.random.default_rng(7).uniform(0.1, 3.0, n)
    if request.param == "random" and n > 2:
        w[::4] = 0.0
        w[20:30] = 0.0  # whole blocks of rows
    return w


def test_products(case):
    assert case.matrix.shape == case.K.shape
    assert as_matrix(case.matrix) is case.matrix
    rng = np.random.default_rng(3)
    for product, K in ((case.matrix.matvec, case.K), (case.matrix.rmatvec, case.K.T)):
        n = K.shape[1]
        block = rng.normal(size=(n, 4))
        for a in (block[:, 0], block[:, :1], block, np.asfortranarray(block), block[::-1, ::2]):
            Ka = product(a)
            assert type(Ka) is np.ndarray and Ka.dtype == np.float64
            assert Ka.shape == (K @ a).shape
            bound = n * EPS * (np.abs(K) @ np.abs(a)) + case.entry * np.abs(a).sum(axis=0)
            assert (np.abs(Ka - K @ a) <= 2 * bound).all()  # both sides are rounded


def indices(p):
    return [
        slice(None),
        slice(p // 3, p // 2 + 1),
        slice(0, min(5, p)),  # a block of the kernel matrix
        slice(0, p, 2),
        slice(2, 2),
        *arrays(p),
    ]


def arrays(p):
    lists = [[p - 1], [p - 1, 0, p // 2], [p // 2, 0, p // 2, p // 2], [-1, -p], []]
    return [np.array(index, dtype=int) for index in lists]


@pytest.mark.parametrize("after_pass", [False, True], ids=["fresh", "after a pass"])
def test_columns(case, after_pass):
    if after_pass:
        case.matrix.matvec(np.zeros(case.K.shape[1]))
    for index in 2 * indices(case.K.shape[1]):
        K_b = case.matrix.columns(index)
        assert type(K_b) is np.ndarray and K_b.dtype == np.float64
        assert K_b.shape == case.K[:, index].shape
        assert_allclose(K_b, case.K[:, index], rtol=0, atol=case.entry)
        K_b += 1e3  # it belongs to the caller: the second turn finds the matrix unchanged


def statistics(K, weights):
    """Means, centred norms and norms by correctly rounded sums."""
    total = fsum(weights)
    means = np.array([fsum(weights * x) for x in K.T]) / total
    norms = np.sqrt([fsum(weights * x**2) for x in (K - means).T])
    return means, norms, np.sqrt([fsum(weights * x**2) for x in K.T])


def test_column_statistics(case, weights):
    means, norms, sizes = case.matrix.column_statistics(weights)
    expected = statistics(case.K, weights)
    # Each weighted entry is rounded a few times, and so is the mean that is subtracted.
    root = np.sqrt(weights.sum())
    bound = 8 * EPS * expected[2] + 2 * case.entry * root
    assert (np.abs(means - expected[0]) * root <= bound).all()
    assert (np.abs(norms - expected[1]) <= bound).all()
    assert (np.abs(sizes - expected[2]) <= bound).all()


def test_surveys(case, rng):
    """Statistics of several weights, some of which leave out the rows that make a column vary."""
    rows = len(case.K)
    W = np.vstack([np.ones(rows), 1 - np.eye(rows)[:9], rng.integers(0, 3, size=(3, rows))])
    W[~W.any(axis=1)] = 1.0
    V = rng.normal(size=W.shape)
    for weights, v, (found, product) in zip(W, V, case.matrix.surveys(W, V), strict=True):
        expected = statistics(case.K, weights)
        root = np.sqrt(weights.sum())
        # As above; the squares are of deviations from a point half their norm away at most.
        bound = 16 * EPS * expected[2] + 2 * case.entry * root
        assert (np.abs(found[0] - expected[0]) * root <= bound).all()
        assert (np.abs(found[1] - expected[1]) <= bound).all()
        assert (np.abs(found[2] - expected[2]) <= bound).all()
        size = np.abs(case.K).T @ np.abs(v)
        entry = case.entry * np.abs(v).sum()
        assert (np.abs(product - case.K.T @ v) <= rows * EPS * size + entry).all()


@dataclass
class Expected:
    """K̃ by hand, and the norm of the rounding error that a column of it may have."""

    K: np.ndarray
    raw: np.ndarray
    means: np.ndarray
    norms: np.ndarray
    error: np.ndarray


def standardized(case, weights):
    means, norms, sizes = statistics(case.K, weights)
    constant = norms <= 1e-12 * sizes
    norms = np.where(constant, 0.0, norms)
    raw = (case.K - means) / np.where(constant, np.inf, norms)
    # Sums of n terms as large as the column before it was centred.
    error = max(case.K.shape) * EPS * sizes + 4 * case.entry * np.sqrt(weights.sum())
    error = np.where(constant, 0.0, error / np.where(constant, 1.0, norms))
    return Expected(np.sqrt(weights)[:, None] * raw, raw, means, norms, error)


def test_correlations_come_with_the_statistics(case, weights):
    y = np.random.default_rng(1).normal(size=len(weights)) + 3.0
    K, expected = Standardized(case.matrix, weights, y=y), standardized(case, weights)
    target = np.sqrt(weights) * (y - weights @ y / weights.sum())
    # As for every product: each column may be off by its error.
    bound = (expected.error + len(y) * EPS) * np.linalg.norm(target)
    for values in (K.correlations(y), K.correlations(y), K.correlations(y.copy())):
        assert (np.abs(values - expected.K.T @ target) <= bound).all()


def test_standardized_attributes(case, weights):
    K = Standardized(case.matrix, weights)
    expected = standardized(case, weights)
    assert K.shape == case.K.shape
    assert_array_equal(K.weights, weights)
    bound = 8 * EPS * np.abs(case.K).max(axis=0) + case.entry
    assert (np.abs(K.means - expected.means) <= bound).all()
    assert_array_equal(K.norms == 0, expected.norms == 0)
    assert (np.abs(K.norms - expected.norms) <= expected.error * expected.norms).all()
    y = np.random.default_rng(0).normal(size=len(weights)) + 5.0
    mean = fsum(weights * y) / fsum(weights)
    assert K.mean(y) == pytest.approx(mean, rel=len(y) * EPS)
    assert_allclose(K.target(y), np.sqrt(weights) * (y - mean), atol=1e3 * EPS)


def test_standardized_products(case, weights):
    K, expected = Standardized(case.matrix, weights), standardized(case, weights)
    rng = np.random.default_rng(4)
    a = rng.normal(size=K.shape[1])
    assert norm(K.matvec(a) - expected.K @ a) <= 2 * expected.error @ np.abs(a)
    for v in (rng.normal(size=K.shape[0]), np.asfortranarray(rng.normal(size=(K.shape[0], 3)))):
        product = K.rmatvec(v)
        assert product.shape == (expected.K.T @ v).shape
        bound = 2 * np.multiply.outer(expected.error, norm(v, axis=0))
        assert (np.abs(product - expected.K.T @ v) <= bound).all()


def test_standardized_columns(case, weights):
    K, expected = Standardized(case.matrix, weights), standardized(case, weights)
    for index in indices(K.shape[1]):
        columns, error = K.columns(index), expected.error[index]
        assert columns.shape == expected.K[:, index].shape
        assert (norm(columns - expected.K[:, index], axis=0) <= error).all()
        # What standardised means: unit norm, and orthogonal to the constant vector.
        assert (np.abs(norm(columns, axis=0) - (expected.norms[index] > 0)) <= error).all()
        assert (np.abs(np.sqrt(weights) @ columns) <= np.sqrt(weights.sum()) * error).all()


def test_gram_columns(case, weights):
    K, expected = Standardized(case.matrix, weights), standardized(case, weights)
    for index in arrays(K.shape[1]):
        Q, Q_expected = K.gram_columns(index), (expected.K.T @ expected.K)[:, index]
        assert Q.shape == Q_expected.shape
        # The error of either column against the other one, whose norm is 1; twice.
        error = expected.error[:, None] + expected.error[index]
        assert (np.abs(Q - Q_expected) <= 2 * error).all()
        assert_array_equal(Q[index, np.arange(len(index))], expected.norms[index] > 0)


def test_gram_matrix(case):
    K, expected = Standardized(case.matrix), standardized(case, np.ones(len(case.K)))
    Q = K.gram_columns(np.arange(K.shape[1]))
    assert_array_equal(np.diag(Q), expected.norms > 0)
    assert (np.abs(Q - Q.T) <= 4 * (expected.error[:, None] + expected.error)).all()


def test_whole_gram_matrix(case, weights):
    K, expected = Standardized(case.matrix, weights), standardized(case, weights)
    Q = K.gram()
    # As for its columns; taking the means out of a sparse product may cost one digit more.
    error = expected.error[:, None] + expected.error
    assert (np.abs(Q - expected.K.T @ expected.K) <= 20 * error).all()
    assert_array_equal(np.diag(Q), expected.norms > 0)


@pytest.mark.parametrize("full", [0.0, 2.0], ids=["dense columns", "stored as K"])
def test_column_block(case, weights, full):
    matrix = case.matrix
    if isinstance(matrix, SparseMatrix):
        matrix = SparseMatrix(matrix.K, full=full, block_entries=BLOCK_ENTRIES)
    K, expected = Standardized(matrix, weights), standardized(case, weights)
    block, taken = K.column_block(), np.empty(0, dtype=int)
    steps = np.array_split(np.random.default_rng(8).permutation(K.shape[1]), 3)
    for new, dropped in zip(steps, (3, 0, 2), strict=True):
        taken = np.concatenate([taken, new])
        first = len(taken) - len(new)
        block.extend(new)
        G = block.products(first)
        G_expected = expected.K[:, taken].T @ expected.K[:, new]
        assert type(G) is np.ndarray and G.shape == G_expected.shape
        # As for whole columns of Q; taking the means out may cost one bit of each column.
        error = expected.error[taken][:, None] + expected.error[new]
        assert (np.abs(G - G_expected) <= 4 * error).all()
        kept = np.arange(dropped, len(taken))
        block.keep(kept)
        taken = taken[kept]
        a = np.random.default_rng(9).normal(size=len(taken))
        off = norm(block.matvec(a) - expected.K[:, taken] @ a)
        assert off <= 2 * expected.error[taken] @ np.abs(a)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_large_means_cost_a_sparse_block_no_digits(kind):
    # A column without zeros whose mean is 1e6 times its deviation, among sparse ones.
    K = sparse_numbers()
    K[:, 5] = 1e6 + np.random.default_rng(0).normal(size=L)
    K[:, 6] = K[:, 5] + np.random.default_rng(1).normal(size=L)
    matrix = SparseMatrix(kind(K), full=2.0)
    expected = standardized(Case(matrix, K), np.ones(L))
    block, index = Standardized(matrix).column_block(), np.array([7, 5, 0, 6])
    block.extend(index)
    G = block.products(0)
    # The rounded mean, an error of 1e6 eps in a column of deviation 1, and the rounded sums.
    assert_allclose(G, expected.K[:, index].T @ expected.K[:, index], rtol=0, atol=1e6 * 4 * EPS)


def test_rows_to_compare_columns_on(case):
    rows = case.matrix.sample_rows(10)
    assert len(np.unique(rows)) == len(rows) <= 10
    assert ((rows >= 0) & (rows < len(case.K))).all()
    assert len(rows) or np.count_nonzero(case.K) < 0.4 * case.K.size


def test_occupied_columns(case):
    index = np.arange(0, case.K.shape[1], 2)
    found = case.matrix.occupied(index)
    assert_array_equal(found, index[np.isin(index, found)])
    assert set(index[case.K[:, index].any(axis=0)]) <= set(found)
    assert len(case.matrix.occupied(index[:0])) == 0


def test_submatrix(case, weights):
    K = Standardized(case.matrix, weights)
    rows, index = np.arange(K.shape[0])[::-1][:3], np.arange(K.shape[1])[::-2]
    whole = K.columns(index)[rows]
    # The same entries, up to another evaluation of a kernel.
    assert_allclose(K.submatrix(rows, index), whole, rtol=0, atol=1e-9 * np.abs(whole).max())


def test_coefficients_of_raw_columns(case, weights):
    K, expected = Standardized(case.matrix, weights), standardized(case, weights)
    alpha = np.random.default_rng(5).normal(size=K.shape[1])
    coef, shift = K.coef(alpha)
    assert isinstance(shift, float) and coef.shape == alpha.shape
    assert_array_equal(coef[expected.norms == 0], 0.0)
    off = np.sqrt(weights) * (case.K @ coef + shift - expected.raw @ alpha)
    assert norm(off) <= 2 * expected.error @ np.abs(alpha)


def test_weights_default_to_one(case):
    plainly, weighted = Standardized(case.matrix), Standardized(case.matrix, np.ones(len(case.K)))
    assert_array_equal(plainly.norms, weighted.norms)
    assert_array_equal(plainly.weights, weighted.weights)


@pytest.mark.parametrize("kind", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
def test_a_weight_is_a_repetition(kind):
    K = sparse_numbers()
    weights = np.random.default_rng(8).integers(0, 4, size=L)
    assert set(weights) == {0, 1, 2, 3}
    weighted = Standardized(as_matrix(kind(K)), weights.astype(float))
    repeated = Standardized(as_matrix(kind(np.repeat(K, weights, axis=0))))
    # Two sums of the same numbers in another order.
    assert_allclose(weighted.means, repeated.means, rtol=0, atol=8 * EPS * np.abs(K).max())
    assert_allclose(weighted.norms, repeated.norms, rtol=8 * EPS)
    Q, Q_repeated = (M.gram_columns(np.arange(P)) for M in (weighted, repeated))
    error = standardized(Case(None, K), weights).error.max()
    assert_allclose(Q, Q_repeated, rtol=0, atol=8 * error)


CONSTANTS = [0.0, 1.0, 0.1, -1 / 3, 1e8, -1e8 / 3, 1e-8, 1e15 / 7]
STORAGES = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "float32": lambda K: K.astype(np.float32),
    "csr": sp.csr_array,
    "csc": sp.csc_array,
    "kernel": lambda K: KernelMatrix(Linear(), K, np.eye(K.shape[1])),  # <x, e_j> is exact
}


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("storage", STORAGES)
def test_constant_columns_are_found_however_long(storage, weighted):
    n = 300_000
    weights = np.random.default_rng(0).uniform(0.1, 1.0, n) if weighted else np.ones(n)
    weights[::7] = 0.0
    K = np.tile(CONSTANTS, (n, 1))
    K[0] = 3.0  # of weight zero: it does not count
    # The premise: a plain sum is off by more than the share that counts as no variance.
    plain_mean = np.cumsum(weights * K[:, 2])[-1] / np.cumsum(weights)[-1]
    assert weighted or abs(plain_mean / 0.1 - 1) > 1e-12
    K = np.column_stack([K, np.arange(n) % 2])
    S = Standardized(as_matrix(STORAGES[storage](K)), weights)
    assert_array_equal(S.norms > 0, [False] * len(CONSTANTS) + [True])
    constants = np.array(CONSTANTS, dtype=np.float32 if storage == "float32" else np.float64)
    assert_allclose(S.means[:-1], constants, rtol=16 * EPS)  # merged from at most 21 blocks
    v = np.random.default_rng(1).normal(size=n)
    assert_array_equal(S.rmatvec(v)[:-1], 0.0)
    assert_array_equal(S.columns(np.arange(len(CONSTANTS))), 0.0)
    assert_array_equal(S.matvec(np.r_[np.ones(len(CONSTANTS)), 0.0]), 0.0)
    Q = S.gram_columns(np.array([0, len(CONSTANTS)]))
    assert_array_equal(Q[:, 0], 0.0)
    assert_array_equal(Q[:, 1], np.eye(len(CONSTANTS) + 1)[-1])


@pytest.mark.parametrize("stored", [sp.csr_array, sp.csc_array])
def test_a_constant_column_in_the_rows_that_count(stored):
    """Zeros in rows without weight are no variance; one zero in a row with weight is."""
    weights = np.random.default_rng(3).uniform(0.1, 1.0, 1001)
    weights[:2] = 0.0
    K = np.ones((1001, 2))
    K[:2] = 0.0
    K[2, 1] = 0.0
    S = Standardized(as_matrix(stored(K)), weights)
    assert S.norms[0] == 0.0
    W = weights.sum()
    assert S.norms[1] == pytest.approx(np.sqrt(weights[2] * (1 - weights[2] / W)), rel=1e-12)


@pytest.mark.parametrize("ratio", [1e2, 1e5, 1e8, 1e10])
@pytest.mark.parametrize("storage", [name for name in STORAGES if name != "float32"])
def test_digits_of_columns_with_a_large_mean(storage, ratio):
    """With R = mean / standard deviation, what is kept of 16 digits.

    Norms: all but a few, whatever R: they are computed from centred values, and the difference of
    two close numbers is exact. Columns of K̃: the rounding of the mean, eps R, stays, so
    16 - log10(R) digits. Products with K̃: sums of L numbers of size R, of which L eps R may be
    rounding; in practice sqrt(L) instead of L.
    """
    rng = np.random.default_rng(9)
    K = (rng.normal(size=(L, 3)) + ratio * np.array([1.0, -1.0, 1 / 3])) * [1.0, 10.0, 1e-3]
    v = rng.normal(size=L)
    exact = [[Fraction(x) for x in column] for column in K.T.tolist()]
    S = Standardized(as_matrix(STORAGES[storage](K)))
    columns, product = S.columns(slice(None)), S.rmatvec(v)
    for j, x in enumerate(exact):
        mean = sum(x) / L
        square = sum((value - mean) ** 2 for value in x)
        s = float(square) ** 0.5
        R = abs(float(mean)) / (s / np.sqrt(L))
        assert R > 0.3 * ratio
        assert S.norms[j] == pytest.approx(s, rel=8 * EPS)
        assert abs(float(Fraction(S.means[j]) - mean)) <= 2 * EPS * abs(float(mean))
        column = np.array([float(value - mean) for value in x]) / s
        # |K̃ entry| is about 1 / sqrt(L), and eps R of it is lost.
        assert np.abs(columns[:, j] - column).max() <= (2 * R + 16) * EPS / np.sqrt(L) * 2
        dot = float(sum(Fraction(a) * Fraction(b) for a, b in zip(column, v, strict=True)))
        assert abs(product[j] - dot) <= 2 * L * EPS * (R + 1) * norm(v)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "uneven weights"])
@pytest.mark.parametrize("ratio", [1e7, 1e10])
@pytest.mark.parametrize("storage", [name for name in STORAGES if name != "float32"])
def test_large_means_and_uneven_weights_cost_products_no_digits(storage, ratio, weighted):
    """Columns that are too delicate for products with K are standardised first."""
    rng = np.random.default_rng(10)
    K = rng.normal(size=(L, 5)) + ratio * np.array([1.0, -1.0, 0.0, 1 / 3, 0.0])
    K[:, 4] = 3.0  # and one without variance
    weights = 10.0 ** rng.choice([-6, 0, 6], size=L) if weighted else np.ones(L)
    weights[::5] = 0.0
    exact = Exact(K, np.zeros(L), weights)
    usable = exact.losses < 1e11
    assert usable.sum() > 2 and not usable[4]
    K_s = exact.K_s.astype(float) * usable  # correctly rounded
    S = Standardized(as_matrix(STORAGES[storage](K)), weights, usable)
    a, v, Y = rng.normal(size=5), K_s @ rng.normal(size=5), rng.normal(size=(L, 2))
    v -= np.sqrt(weights) * (np.sqrt(weights) @ v) / weights.sum()
    bound = 64 * EPS  # for sums of L products
    assert norm(S.matvec(a) - K_s @ a) <= bound * np.abs(a).sum()
    assert np.abs(S.rmatvec(v) - K_s.T @ v).max() <= bound * norm(v)
    assert np.abs(S.rmatvec(Y) - K_s.T @ Y).max() <= bound * norm(Y)
    for Q in (S.gram(), S.gram_columns(np.arange(5))):
        assert np.abs(Q - K_s.T @ K_s).max() <= bound
    r, product = S.evaluate(a, v)
    assert norm(r - (v - K_s @ a)) <= bound * (norm(v) + np.abs(a).sum())
    assert np.abs(product - K_s.T @ r).max() <= bound * (norm(v) + np.abs(a).sum())
    for both in Standardized.joint_rmatvec([S, S], [v, v]):
        assert np.abs(both - K_s.T @ v).max() <= bound * norm(v)
    y = rng.normal(size=L)
    known = Standardized(S.matrix, weights, usable, y=y)
    expected = K_s.T @ known.target(y)
    assert np.abs(known.correlations(y) - expected).max() <= bound * norm(known.target(y))


@pytest.mark.parametrize(
    "stored", [sp.csr_array, sp.csc_array, np.ascontiguousarray, np.asfortranarray]
)
def test_empty_columns_are_not_looked_at(stored, monkeypatch):
    """Only tiny columns are: empty ones are many, and a dense block of them is large."""
    K = sparse_numbers()
    K[:, 3] = 1e-200 * numbers(1)[:, 3]
    matrix, asked = as_matrix(stored(K)), []
    columns = matrix.columns
    monkeypatch.setattr(matrix, "columns", lambda index: asked.append(index) or columns(index))
    S = Standardized(matrix)
    assert_array_equal(np.concatenate(asked), [3])
    assert S.norms[3] == pytest.approx(1e-200 * L**0.5 * numbers(1)[:, 3].std(), rel=1e-12)
    assert (S.norms[[4, 11]] == 0).all()


def test_a_column_that_takes_no_part_may_be_too_small():
    K = numbers()
    K[:, 2] *= 1e-300
    assert Standardized(as_matrix(K), usable=np.arange(P) != 2).norms[2] == 0
    with pytest.raises(ValueError, match="Column 2 of K is too small"):
        Standardized(as_matrix(K))


def peak(function):
    """Bytes allocated at most while the function runs."""
    function()  # imports and caches of the first call do not count
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def every_product(K):
    def run():
        S = Standardized(as_matrix(K))
        S.rmatvec(S.matvec(np.ones(S.shape[1])))
        S.gram_columns(np.array([0, 1]))

    return run


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(500_000, 10), (2000, 2000)], ids=["tall", "square"])
@pytest.mark.parametrize("storage", ["memory", "file"])
def test_dense_is_never_copied(dtype, order, shape, storage, tmp_path):
    K = np.ones(shape, dtype=dtype, order=order)
    K[::2] = 2
    if storage == "file":
        np.save(tmp_path / "K.npy", K)
        K = np.load(tmp_path / "K.npy", mmap_mode="r")
    # Converted blocks (a column at least, in F order), parts of sums up to an eighth of K, vectors.
    blocks = 3 * max(_dense.CACHED_BYTES, 8 * shape[0] if order == "F" else 0) + K.nbytes / 8
    vectors = 12 * 8 * sum(shape)
    assert peak(every_product(K)) <= blocks + vectors
    if shape[0] == shape[1]:
        assert blocks + vectors < 8 * K.size / 4  # the premise: a copy would not fit
    # The statistics alone need fewer vectors, also small beside a tall matrix.
    used = peak(lambda: Standardized(as_matrix(K)).norms)
    assert used <= blocks + 4 * 8 * sum(shape)
    assert used < 8 * K.size


def test_a_wide_matrix_is_never_copied():
    K = np.ones((400, 20_000), dtype=np.float32)
    assert peak(every_product(K)) < K.nbytes / 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_sparse_is_neither_copied_nor_made_dense(kind, dtype):
    K = sp.random_array((20_000, 2000), density=0.02, random_state=0, format="csr")
    K.data = np.ceil(10 * K.data)
    K = kind(K.astype(dtype))
    stored = K.data.nbytes + K.indices.nbytes
    dense = 8 * K.shape[0] * K.shape[1]
    assert stored < dense / 20  # the indices of SciPy 1.13 have eight bytes
    matrix = SparseMatrix(K, block_entries=2**14)
    blocks = 12 * 8 * 2**14
    # Two columns, and SciPy's copy of K.T's head; vectors of both lengths.
    vectors = 12 * 8 * sum(K.shape)
    assert blocks + vectors < stored  # the premise: a copy would not fit
    assert peak(lambda: Standardized(matrix).norms) <= blocks + vectors
    assert peak(every_product(matrix)) <= blocks + vectors < dense / 10


@pytest.mark.parametrize("duplicates", [False, True])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_the_users_sparse_matrix_is_not_changed(kind, duplicates):
    K = compressed_with_duplicates(kind) if duplicates else kind(sparse_numbers())
    before = [array.copy() for array in (K.data, K.indices, K.indptr)]
    every_product(K)()
    for array, expected in zip((K.data, K.indices, K.indptr), before, strict=True):
        assert_array_equal(array, expected)


def test_all_gram_columns_of_a_sparse_matrix_without_a_dense_one():
    K = sp.random_array((200_000, 200), density=0.001, random_state=0, format="csc")
    S = Standardized(as_matrix(K))
    dense = 8 * K.shape[0] * K.shape[1]
    # A block of columns, its weighted copy, and one that scipy makes of it.
    assert peak(lambda: S.gram_columns(np.arange(200))) <= 4.2 * 4 * _base.BLOCK_BYTES < dense / 2


class Counting:
    """A kernel that counts its values."""

    def __init__(self, kernel):
        self.kernel, self.count = kernel, 0

    def __call__(self, X, Z):
        K = self.kernel(X, Z)
        self.count += K.size
        return K

    def take(self):
        """The count since the last call."""
        count, self.count = self.count, 0
        return count


def counted(cache_size, n=1000, p=3000):
    X, Z = (
        np.random.default_rng(0).normal(size=(n, 2)),
        np.random.default_rng(1).normal(size=(p, 2)),
    )
    kernel = Counting(RBF(0.5))
    return kernel, KernelMatrix(kernel, X, Z, cache_size)


def test_full_cache_evaluates_each_value_once():
    kernel, K = counted(cache_size=24)
    n, p = K.shape
    assert 8 * n * p > 2 * _base.BLOCK_BYTES  # several blocks
    assert 8 * n * p <= 24 * MB
    for _ in range(3):
        K.matvec(np.ones(p))
        K.rmatvec(np.ones(n))
        K.column_statistics(np.ones(n))
    assert kernel.take() == n * p
    Standardized(K).gram_columns(np.array([0, p - 1, 5]))
    K.columns(slice(10, 2000))
    assert kernel.take() == 0


def test_no_cache_evaluates_each_value_once_per_pass():
    kernel, K = counted(cache_size=0)
    n, p = K.shape
    for _ in range(3):
        K.matvec(np.ones(p))
        assert kernel.take() == n * p
        K.rmatvec(np.ones((n, 2)))
        assert kernel.take() == n * p
    K.columns(np.array([5, 1, 2999]))
    assert kernel.take() == 3 * n
    K.columns(slice(10, 20))
    assert kernel.take() == 10 * n
    K.columns(np.array([], dtype=int))
    assert kernel.take() == 0


@pytest.mark.parametrize("cache_size", [1, 9, 17])
def test_partial_cache_stays_within_its_budget_and_uses_it(cache_size):
    kernel, K = counted(cache_size)
    n, p = K.shape
    K.matvec(np.ones(p))
    assert kernel.take() == n * p
    evaluated = []
    for _ in range(3):
        K.rmatvec(np.ones(n))
        evaluated.append(kernel.take())
    assert len(set(evaluated)) == 1
    kept = 8 * (n * p - evaluated[0])
    # Not more than the budget; and the first block that did not fit is the only gap.
    assert cache_size * MB - _base.BLOCK_BYTES < kept <= cache_size * MB


@pytest.mark.parametrize("cache_size", [0, 9])
def test_memory_of_the_cache(cache_size):
    tracemalloc.start()
    try:
        _, K = counted(cache_size)
        for _ in range(2):
            K.matvec(np.ones(K.shape[1]))
        now, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert now <= (cache_size + 1) * MB  # and the vectors X and Z
    # While a block is evaluated: the block, and the flags which of its values are finite.
    assert most <= cache_size * MB + 2.5 * _base.BLOCK_BYTES < 8 * K.shape[0] * K.shape[1] + 9 * MB


@pytest.mark.parametrize("cache_size", [0, 100])
def test_what_a_kernel_returns_is_not_changed(cache_size):
    table = np.random.default_rng(0).normal(size=(30, 20))
    before = table.copy()

    def lookup(X, Z):
        return table[:, Z[0, 0] : Z[-1, 0] + 1]  # a view

    K = Standardized(KernelMatrix(lookup, np.zeros((30, 1)), np.arange(20)[:, None], cache_size))
    K.columns(slice(0, 20))
    K.columns(slice(3, 5))
    K.gram_columns(np.array([4]))
    assert_array_equal(table, before)


BAD_KERNELS = {
    "transposed": lambda X, Z: np.ones((len(Z), len(X))),
    "one value": lambda X, Z: 1.0,
    "a vector": lambda X, Z: np.ones(len(X)),
    "too few": lambda X, Z: np.ones((len(X), 1)),
    "sparse": lambda X, Z: sp.csr_array((len(X), len(Z))),
}


@pytest.mark.parametrize("name", BAD_KERNELS)
def test_a_kernel_of_the_wrong_shape(name):
    K = KernelMatrix(BAD_KERNELS[name], np.zeros((7, 2)), np.zeros((4, 2)))
    for use in (lambda: K.matvec(np.ones(4)), lambda: K.columns(np.array([1, 2]))):
        with pytest.raises(
            ValueError, match=r"returned (shape .* expected \(7, \d\)|a sparse matrix)"
        ):
            use()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_kernel_that_is_not_finite(value):
    def kernel(X, Z):
        K = np.ones((len(X), len(Z)), dtype=np.float32)
        K[3, -1] = value
        return K

    K = KernelMatrix(kernel, np.zeros((7, 2)), np.zeros((4, 2)))
    for use in (lambda: Standardized(K), lambda: K.columns(np.array([0]))):
        with pytest.raises(ValueError, match="kernel returned NaN or infinity"):
            use()


def test_a_kernel_may_return_single_precision_or_integers():
    X = np.arange(6)[:, None]
    for dtype in (np.float32, np.int8, bool):
        K = KernelMatrix(lambda X, Z, dtype=dtype: (X < Z.T).astype(dtype), X, X)
        assert K.columns(slice(None)).dtype == np.float64
        assert_array_equal(K.matvec(np.ones(6)), [5, 4, 3, 2, 1, 0])


@pytest.mark.parametrize("storage", ["C", "F", "csr", "csc", "kernel"])
@pytest.mark.parametrize("largest", [1e160, 1e308])
def test_squares_beyond_double_precision(storage, largest):
    K = numbers()
    K[3, 2] = largest
    with pytest.raises(ValueError, match="squares exceed double precision"):
        Standardized(as_matrix(STORAGES[storage](K)))


# ---------------------------------------------------------------- parts


@pytest.mark.parametrize("storage", ["C", "F", "float32", "csr", "csc", "kernel", "lazy", "other"])
def test_part_of_a_matrix(storage, rng):
    K = numbers().astype(np.float32).astype(float)
    kernel = {"kernel": 100, "lazy": 0}.get(storage)
    if kernel is not None:
        matrix = KernelMatrix(Linear(), K, np.eye(P), kernel)
    elif storage == "other":
        matrix = Halves(K)
    else:
        make = {"C": np.ascontiguousarray, "F": np.asfortranarray, "float32": np.float32}
        stored = {"csr": sp.csr_array, "csc": sp.csc_array}
        matrix = as_matrix((make | stored)[storage](K))
    rows, columns = rng.permutation(L)[:20], rng.permutation(P)[:9]
    part, expected = matrix.part(rows, columns), K[np.ix_(rows, columns)]
    a, v = rng.normal(size=(9, 2)), rng.normal(size=20)
    assert part.shape == (20, 9)
    assert_allclose(part.columns(slice(None)), expected, atol=1e-14)
    assert_allclose(part.matvec(a), expected @ a, atol=1e-12)
    assert_allclose(part.rmatvec(v), expected.T @ v, atol=1e-12)


class Halves(DataMatrix):
    """A storage that knows nothing but what is required."""

    def __init__(self, K):
        self.K, self.shape = K / 2, K.shape

    def matvec(self, a):
        return 2 * (self.K @ a)

    def rmatvec(self, v):
        return 2 * (self.K.T @ v)

    def columns(self, index):
        return 2 * self.K[:, index]


@pytest.mark.parametrize("storage", [np.ascontiguousarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("n_columns", [7, 300])
def test_one_heavy_row_costs_no_digits_of_the_norms(storage, n_columns, rng):
    """The mean is near that row, and not near the others by which it is guessed."""
    K = rng.normal(size=(4, n_columns))
    weights = np.array([1e3, 1e10, 1e3, 1e3])
    found = Standardized(as_matrix(storage(K)), weights)
    exact, w = K.astype(np.longdouble), weights.astype(np.longdouble)
    if np.finfo(np.longdouble).eps >= np.finfo(float).eps:
        pytest.skip("no extended precision here")
    # differences to the heavy row are exact to their last digit, and so is their mean
    deviation = exact - exact[1]
    deviation -= w @ deviation / w.sum()
    norms = np.sqrt(w @ deviation**2)
    # rounding of the numbers is up to 1e4 times as large beside their deviations
    np.testing.assert_allclose(found.norms, norms.astype(float), rtol=1e-11)
