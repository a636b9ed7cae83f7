"""The public function `psvm.solve`: every storage, every complaint, no copy of K."""

import re
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import psvm
import reference
from psvm import SMO, Status
from psvm.matrix import DataMatrix, DenseMatrix, as_matrix
from reference import Case, Exact

L, P = 30, 12


def integer_case():
    """Entries that every storage holds exactly, half of them 0; one constant column."""
    rng = np.random.default_rng(0)
    K = rng.integers(-5, 6, size=(L, P)) * (rng.random((L, P)) < 0.5)
    K[:, 4] = 3
    weights = rng.choice([0.0, 1.0, 2.5], size=L)
    case = Case(K.astype(float), K @ rng.normal(size=P) + rng.normal(size=L), 14.0, 0.0, weights)
    return case.with_(epsilon=0.02 * case.epsilon_max)


CASE = integer_case()
TOL = 1e-9


def read_only(K):
    K = K.copy()
    K.flags.writeable = False
    return K


def strided(K):
    wide = np.full((2 * L, 3 * P), np.nan)
    wide[::2, ::3] = K
    return wide[::2, ::3]


def unaligned(K):
    raw = np.zeros(K.nbytes + 1, dtype=np.uint8)
    view = raw[1:].view(np.float64).reshape(K.shape)
    view[:] = K
    assert not view.flags.aligned
    return view


def split_entries(K):
    """Each entry stored as two halves: what csr calls not canonical."""
    K = sp.csr_array(K)
    split = sp.csr_array(
        (np.repeat(K.data / 2, 2), np.repeat(K.indices, 2), 2 * K.indptr), shape=K.shape
    )
    assert split.nnz == 2 * K.nnz
    return split


def unsorted(K):
    K = sp.csr_array(K)
    for start, stop in zip(K.indptr[:-1], K.indptr[1:], strict=True):
        K.indices[start:stop] = K.indices[start:stop][::-1].copy()
        K.data[start:stop] = K.data[start:stop][::-1].copy()
    K.has_sorted_indices = False
    return K


def explicit_zeros(K):
    full = sp.csr_array(np.where(K == 0, 1.0, K))
    full.data[(K == 0).ravel()] = 0.0
    assert full.nnz == K.size
    return full


STORAGES = {
    "C order": np.ascontiguousarray,
    "F order": np.asfortranarray,
    "float32": lambda K: K.astype(np.float32),
    "float32 F": lambda K: np.asfortranarray(K, dtype=np.float32),
    "float16": lambda K: K.astype(np.float16),
    "big endian": lambda K: K.astype(">f8"),
    "int64": lambda K: K.astype(np.int64),
    "int8": lambda K: K.astype(np.int8),
    "object": lambda K: K.astype(object),
    "read-only": read_only,
    "strided": strided,
    "negative strides": lambda K: K[::-1, ::-1].copy()[::-1, ::-1],
    "unaligned": unaligned,
    "list": lambda K: K.tolist(),
    "DataFrame": pd.DataFrame,
    "DataMatrix": as_matrix,
    "csr_array": sp.csr_array,
    "csc_array": sp.csc_array,
    "csr_matrix": sp.csr_matrix,
    "csc_matrix": sp.csc_matrix,
    "coo_array": sp.coo_array,
    "lil_matrix": sp.lil_matrix,
    "csr float32": lambda K: sp.csr_array(K.astype(np.float32)),
    "csc int": lambda K: sp.csc_array(K.astype(np.int32)),
    "csr split entries": split_entries,
    "csr unsorted": unsorted,
    "csr explicit zeros": explicit_zeros,
}


def solve(K, case=CASE, **options):
    options.setdefault("epsilon", case.epsilon)
    options.setdefault("sample_weight", case.weights)
    return psvm.solve(K, case.y, case.C, tol=TOL, **options)


def assert_matches(case, solution):
    alpha = solution.alpha
    assert solution.status is Status.OPTIMAL
    assert case.worst(alpha) <= case.threshold(TOL) + case.rounding(alpha)
    # Two points with violations <= t differ by at most 2 sqrt(P) t / lambda_min(Q).
    varies = np.any(case.K_s != 0, axis=0)
    lowest = np.linalg.svd(case.K_s[:, varies], compute_uv=False).min() ** 2
    expected = psvm.solve(
        case.K, case.y, case.C, epsilon=case.epsilon, sample_weight=case.weights, tol=TOL
    )
    t = case.threshold(TOL) + case.rounding(alpha)
    assert np.linalg.norm(alpha - expected.alpha) <= 2 * np.sqrt(P) * t / lowest


def test_premise():
    assert 0.3 < np.mean(CASE.K == 0) < 0.7
    assert (np.all(CASE.K_s == 0, axis=0) == (np.arange(P) == 4)).all()
    assert (CASE.weights == 0).any()
    alpha = solve(CASE.K).alpha
    assert (alpha != 0).sum() > 4
    assert (np.abs(alpha) == CASE.C).any()


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("weighted", [False, True])
def test_storage(storage, weighted):
    case = CASE if weighted else CASE.with_(weights=None)
    K = STORAGES[storage](case.K)
    solution = solve(K, case)
    assert_matches(case, solution)
    assert solution.alpha[4] == 0  # the constant column


def test_memory_map(tmp_path):
    path = tmp_path / "K.npy"
    np.save(path, CASE.K)
    K = np.load(path, mmap_mode="r")
    assert isinstance(K, np.memmap)
    assert_matches(CASE, solve(K))


@pytest.mark.parametrize("kind", ["list", "Series", "int", "object", "read-only", "strided"])
def test_vectors_of_any_kind(kind):
    y = np.round(10 * CASE.y)
    make = {
        "list": lambda v: v.tolist(),
        "Series": pd.Series,
        "int": lambda v: v.astype(int),
        "object": lambda v: v.astype(object),
        "read-only": read_only,
        "strided": lambda v: np.repeat(v, 2)[::2],
    }[kind]
    case = CASE.with_(y=y, weights=np.round(2 * CASE.weights))
    solution = psvm.solve(
        case.K, make(y), case.C, epsilon=case.epsilon, sample_weight=make(case.weights), tol=TOL
    )
    assert_matches(case, solution)


def test_constant_columns_of_sparse_matrices_under_weights():
    # Sums of weights in two orders differ in the last digit, which must not look like variance.
    for seed in range(50):
        rng = np.random.default_rng(seed)
        K = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.3)
        weights = rng.uniform(0.1, 2, size=60)
        weights[7] = 0
        K[:, 1] = rng.normal()
        K[:, 2] = rng.normal()
        K[7, 2] = 0  # constant but for a row that does not count
        y = rng.normal(size=60)
        solution = psvm.solve(sp.csc_array(K), y, epsilon=0.01, sample_weight=weights)
        assert not solution.alpha[[1, 2]].any()
        assert solution.alpha.any()


@pytest.mark.parametrize("storage", ["C order", "csr_array"])
@pytest.mark.parametrize("weighted", [False, True])
def test_prediction(storage, weighted):
    case = CASE if weighted else CASE.with_(weights=None)
    solution = solve(STORAGES[storage](case.K), case)
    w = np.ones(L) if case.weights is None else case.weights
    m = np.average(case.K, axis=0, weights=w)
    s = np.sqrt(w @ (case.K - m) ** 2)
    new = np.random.default_rng(1).normal(size=(7, P))
    # f(x) = sum_j alpha_j (k(x, z_j) - m_j) / s_j + b with the training statistics
    used = s > 0
    f = (new - m)[:, used] / s[used] @ solution.alpha[used] + np.average(case.y, weights=w)
    np.testing.assert_allclose(new @ solution.coef + solution.intercept, f, rtol=1e-10)


def test_solution_describes_itself():
    solution = solve(CASE.K)
    np.testing.assert_array_equal(solution.support, np.flatnonzero(solution.alpha))
    assert (solution.C, solution.epsilon) == (CASE.C, CASE.epsilon)
    assert "optimal" in repr(solution)
    assert solution.time > 0
    assert solution.n_iter > 0


def test_defaults():
    assert solve(CASE.K, solver="auto").status is Status.OPTIMAL
    lasso = psvm.solve(CASE.K, CASE.y, epsilon=CASE.epsilon)
    assert lasso.C == np.inf
    with pytest.raises(TypeError):
        psvm.solve(CASE.K, CASE.y)  # epsilon has no default
    with pytest.raises(TypeError):
        psvm.solve(CASE.K, CASE.y, 1.0, 0.1)  # options have names


# ---------------------------------------------------------------------------------------------
# Scales of columns, of weights and of means


STORED = (np.ascontiguousarray, np.asfortranarray, sp.csr_array, sp.csc_array)


def badly_scaled(rng, what):
    """A small problem whose columns, weights or means span most of double precision."""
    shape = (5, 258) if rng.random() < 0.1 else rng.integers((3, 1), (14, 9))
    K = rng.normal(size=shape)
    L, P = K.shape
    y, weights = K[:, :2].sum(axis=1) + rng.normal(size=L), np.ones(L)
    if "columns" in what:
        powers = rng.choice([-270, -200, -165, -160, -150, -50, 0, 0, 100, 150], size=P)
        K *= 10.0 ** (powers if rng.random() < 0.7 else powers[:1])
    if "weights" in what:
        powers = rng.choice([-100, -50, -10, -3, 0, 0, 0, 3, 10, 50, 100], size=L)
        weights *= 10.0 ** (powers if rng.random() < 0.7 else powers[:1])
        weights[1:][rng.random(L - 1) < 0.1] = 0.0
        K[rng.random(K.shape) < rng.choice([0.0, 0.5])] = 0.0
    if "means" in what:
        K += 10.0 ** rng.choice([0, 4, 6, 8, 10]) * rng.choice([1, 1, -1, 0], size=P)
    return K, y, weights


def check_badly_scaled(seeds, what):
    """Every claim of optimality is judged in 250 digits; a refusal says why."""
    optimal = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        K, y, weights = badly_scaled(rng, what)
        exact, tol = Exact(K, y, weights), rng.choice([1e-4, 1e-8])
        if ((exact.losses > 1e11) & (exact.losses < 1e13)).any():
            continue  # rounding may decide what is constant
        epsilon = rng.choice([0.0, 1e-3, 0.1, 0.5]) * exact.epsilon_max
        C = exact.epsilon_max if exact.epsilon_max > 0 and rng.random() < 0.5 else np.inf
        stored, solver = STORED[rng.integers(4)](K), SMO() if rng.random() < 0.3 else "auto"
        options = {"epsilon": epsilon, "sample_weight": weights, "tol": tol, "solver": solver}
        try:
            solution = psvm.solve(stored, y, C, **options)
        except ValueError as error:
            assert "columns" in what, (seed, error)
            assert re.search("too small|too large|exceed double precision", str(error)), seed
            continue
        assert solution.status is Status.OPTIMAL, seed
        optimal += 1
        # Sums of some hundred products round by less than 64 units in the last place. Products
        # with raw columns lose the digits of norm over deviation, unless these are many: beyond
        # 1e6 / sqrt(L) none are lost.
        losses = exact.losses[exact.losses <= 1e6 / np.sqrt(len(y))]
        total = float(np.sqrt((exact.y_c.astype(float) ** 2).sum())) + np.abs(solution.alpha).sum()
        rounding = 64 * np.finfo(float).eps * losses.max(initial=1.0) * total
        threshold = reference.threshold(tol, epsilon, exact.epsilon_max)
        assert exact.worst(solution.alpha, C, epsilon) <= threshold + rounding, seed
    assert optimal > 0.3 * len(seeds)


SCALES = ["columns", "weights", "columns and weights", "means"]


@pytest.mark.parametrize("what", SCALES)
def test_optimal_is_true_at_any_scale(what):
    check_badly_scaled(range(60), what)


@pytest.mark.slow
@pytest.mark.parametrize("what", SCALES)
def test_optimal_is_true_at_any_scale_of_many(what):
    check_badly_scaled(range(1000, 2500), what)


@pytest.mark.parametrize("storage", ["C order", "F order", "csr_array", "csc_array"])
@pytest.mark.parametrize("power", [-270, -200, -165, -150, 0, 150])
def test_the_unit_of_a_column_does_not_matter(storage, power):
    unit = np.ones(P)
    unit[[0, 2, 5]] = 10.0**power
    case = CASE.with_(weights=None)
    solution = solve(STORAGES[storage](unit * CASE.K), case)
    assert_matches(case, solution)
    np.testing.assert_allclose(solution.coef * unit, solve(case.K, case).coef, rtol=1e-6)


@pytest.mark.parametrize("storage", ["C order", "F order", "csr_array", "csc_array"])
def test_columns_beyond_double_precision_are_named(storage):
    K = CASE.K.copy()
    K[:, 3] *= 1e-300
    with pytest.raises(ValueError, match="Column 3 of K is too small for double precision"):
        psvm.solve(STORAGES[storage](K), CASE.y, epsilon=0.1)
    with pytest.raises(ValueError, match="coefficients would exceed double precision"):
        psvm.solve(STORAGES[storage](1e-270 * CASE.K), 1e100 * CASE.y, epsilon=0.1)
    with pytest.raises(ValueError, match="sample_weight is too large"):
        psvm.solve(Untouchable(), CASE.y, epsilon=0.1, sample_weight=np.full(L, 1e308))


# ---------------------------------------------------------------------------------------------
# Bad input


class Untouchable(DataMatrix):
    """A matrix that nobody may look at before the other arguments are checked."""

    shape = (L, P)

    def fail(self, *arguments):
        raise AssertionError("work has started")

    matvec = rmatvec = columns = column_statistics = fail


def spoilt(value):
    K = CASE.K.copy()
    K[3, 2] = value
    return K


@pytest.mark.parametrize(
    "K",
    [
        spoilt(np.nan),
        spoilt(np.inf),
        spoilt(-np.inf),
        spoilt(np.nan).astype(np.float32),
        sp.csr_array(spoilt(np.nan)),
        sp.csc_matrix(spoilt(np.inf)),
        spoilt(np.nan).tolist(),
        CASE.K[0],
        CASE.K[None],
        3.0,
        None,
        CASE.K[:0],
        CASE.K[:, :0],
        sp.csr_array((L, 0)),
        CASE.K + 1j,
        sp.csr_array(CASE.K + 1j),
        CASE.K.astype(str),
        np.full((L, P), "a"),
        np.full((L, P), "a", dtype=object),
        np.full((L, P), None, dtype=object),
        np.zeros((L, P), dtype="M8[s]"),
        [[1.0, 2.0], [1.0]],
        pd.DataFrame({"a": ["x"] * L}),
        1e200 * CASE.K,
        sp.csr_array(1e200 * CASE.K),
    ],
)
def test_bad_matrix(K):
    with pytest.raises(ValueError, match=r"\bK\b"):
        psvm.solve(K, CASE.y, epsilon=0.1)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_numpy_matrix_is_refused_as_in_scikit_learn():
    with pytest.raises(TypeError, match=r"np\.matrix"):
        psvm.solve(np.asmatrix(CASE.K), CASE.y, epsilon=0.1)


def vector(n, value=1.0, first=1.0):
    v = np.full(n, value)
    v[0] = first
    return v


BAD_VECTORS = [
    lambda n: vector(n, first=np.nan),
    lambda n: vector(n, first=np.inf),
    lambda n: vector(n).astype(str),
    lambda n: ["a"] * n,
    lambda n: np.full(n, "a", dtype=object),
    lambda n: np.full(n, None),
    lambda n: vector(n) + 1j,
    lambda n: np.zeros(n, dtype="M8[s]"),
    lambda n: vector(n + 1),
    lambda n: vector(n - 1),
    lambda n: vector(n)[:, None],
    lambda n: vector(n)[None],
    lambda n: [],
    lambda n: 1.0,
    lambda n: "text",
    lambda n: [[1.0], [1.0, 2.0]],
    lambda n: sp.csr_array(vector(n)[None]),
    lambda n: {"a": 1.0},
]


@pytest.mark.parametrize("bad", BAD_VECTORS)
def test_bad_vectors(bad):
    K = Untouchable()
    with pytest.raises(ValueError, match=r"\by\b"):
        psvm.solve(K, bad(L), epsilon=0.1)
    with pytest.raises(ValueError, match="sample_weight"):
        psvm.solve(K, CASE.y, epsilon=0.1, sample_weight=bad(L))
    with pytest.raises(ValueError, match="warm_start"):
        psvm.solve(K, CASE.y, epsilon=0.1, warm_start=bad(P))


def test_bad_target():
    with pytest.raises(ValueError, match=r"\by\b"):
        psvm.solve(Untouchable(), None, epsilon=0.1)
    for scale, message in ((1e300, "y has entries too large"), (1e-160, "of y .* are too small")):
        with pytest.raises(ValueError, match=message):
            psvm.solve(CASE.K, scale * CASE.y, epsilon=0.1)


def test_bad_weights():
    for bad in (vector(L, first=-1.0), np.zeros(L)):
        with pytest.raises(ValueError, match="sample_weight"):
            psvm.solve(Untouchable(), CASE.y, epsilon=0.1, sample_weight=bad)


def test_warm_start_of_another_problem():
    other = psvm.solve(CASE.K[:, :5], CASE.y, epsilon=0.1)
    with pytest.raises(ValueError, match="warm_start"):
        psvm.solve(Untouchable(), CASE.y, epsilon=0.1, warm_start=other)


@pytest.mark.parametrize(
    ("parameter", "values"),
    [
        ("C", [0, -1, -np.inf, np.nan, None, "1", True, np.True_, 1j, [1.0], 10**400]),
        ("epsilon", [-1e-9, np.nan, np.inf, None, "0.1", False, 1j, np.zeros(3), 10**400]),
        ("tol", [0, -1, np.nan, np.inf, None, "1", True]),
        ("max_iter", [0, -1, 1.5, 10.0, "1", True, np.nan]),
        ("max_time", [0, -1, np.nan, np.inf, "1", True]),
        ("solver", [None, "smo", "AUTO", SMO, 3, np.array(["auto"])]),
    ],
)
def test_bad_parameters(parameter, values):
    for bad in values:
        with pytest.raises(ValueError, match=rf"\b{parameter}\b"):
            psvm.solve(Untouchable(), CASE.y, **({"epsilon": 0.1} | {parameter: bad}))


def test_numbers_of_any_kind():
    for number in (1, np.float32(1), np.int64(1), np.float64(1)):
        solution = psvm.solve(CASE.K, CASE.y, number, epsilon=number, tol=np.float32(1e-3))
        assert (solution.C, solution.epsilon) == (1.0, 1.0)


# ---------------------------------------------------------------------------------------------
# K is neither changed nor copied


@pytest.mark.parametrize("storage", [s for s in STORAGES if s not in ("list", "DataMatrix")])
def test_K_is_not_changed(storage):
    K, before = STORAGES[storage](CASE.K), STORAGES[storage](CASE.K)
    solve(K, solver=SMO(pair=False))
    if sp.issparse(K):
        assert K.format == before.format
        assert K.nnz == before.nnz
        K, before = K.toarray(), before.toarray()
    np.testing.assert_array_equal(np.asarray(K), np.asarray(before))


def test_arguments_are_not_changed():
    y, weights, start = CASE.y.copy(), CASE.weights.copy(), np.full(P, 1e3)
    solve(CASE.K, warm_start=start)
    np.testing.assert_array_equal(y, CASE.y)
    np.testing.assert_array_equal(weights, CASE.weights)
    np.testing.assert_array_equal(start, 1e3)


@pytest.mark.parametrize("storage", ["C order", "F order", "float32", "int64", "csr", "csc"])
def test_K_is_not_copied(storage):
    # 61 MiB in double precision. Blocks of 8 MiB are allowed: converted columns, the same centred
    # and weighted, and a converted block of K to multiply them with.
    rng = np.random.default_rng(0)
    n, p = 20_000, 400
    if storage in ("csr", "csc"):
        K = sp.random(n, p, density=0.01, random_state=0, format=storage)
    elif storage == "int64":
        K = rng.integers(-9, 10, size=(n, p))
    else:
        K = STORAGES[storage](rng.normal(size=(n, p)))
    y = np.asarray(K[:, [0]].sum(axis=1)).ravel() + 0.1 * rng.normal(size=n)
    largest = psvm.solve(K, y, epsilon=1e6)  # nothing is solved: imports and caches
    assert not largest.alpha.any()
    tracemalloc.start()
    try:
        solution = psvm.solve(K, y, epsilon=0.5 * np.linalg.norm(y - y.mean()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert solution.alpha.any()  # columns of Q were evaluated
    assert peak < 5 * 8 * 2**20 < 8 * n * p


def test_contiguous_arrays_are_used_as_they_are():
    for K in (CASE.K, np.asfortranarray(CASE.K), CASE.K.astype(np.float32)):
        matrix = as_matrix(K)
        assert isinstance(matrix, DenseMatrix)
        assert np.shares_memory(matrix.K, K)
    for K in (sp.csr_array(CASE.K), sp.csc_matrix(CASE.K)):
        assert np.shares_memory(as_matrix(K).K.data, K.data)
