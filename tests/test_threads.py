"""Threads change neither results nor the limits that others set, and survive errors."""

import multiprocessing
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_info, threadpool_limits

import psvm
from psvm import _threads
from psvm._threads import map_blocks, threads
from psvm.matrix import DenseMatrix


@pytest.fixture
def two(monkeypatch):
    """Two threads, whatever the machine and its limits are."""
    monkeypatch.setattr(_threads, "_allowed", lambda: 2)


def problem(n=700, p=900, seed=0):
    rng = np.random.default_rng(seed)
    K = rng.normal(size=(n, p))
    return K, K[:, :5].sum(axis=1) + rng.normal(size=n)


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_the_order_of_results_is_that_of_the_blocks(two):
    met = set()
    barrier = threading.Barrier(2, timeout=10)

    def function(block):
        if block < 2:
            barrier.wait()  # so that both threads take part
        met.add(threading.get_ident())
        return block**2

    with threads():
        assert map_blocks(function, range(50)) == [k**2 for k in range(50)]
    assert len(met) == 2


def test_outside_of_the_context_there_is_one_thread(two):
    met = set(map_blocks(lambda _: threading.get_ident(), range(50)))
    assert met == {threading.get_ident()}


def test_threads_do_not_multiply(two):
    def inner(_):
        with threads():
            return set(map_blocks(lambda _: threading.get_ident(), range(5)))

    with threads():
        assert all(len(found) == 1 for found in map_blocks(inner, range(8)))


def test_an_error_of_any_thread_is_raised_and_nothing_is_left_running(two):
    before = threading.active_count()

    def function(block):
        raise KeyError(block)

    with threads(), pytest.raises(KeyError):
        map_blocks(function, range(10))
    assert threading.active_count() == before


def test_limits_of_blas_are_restored(two):
    with threadpool_limits(1):
        before = blas_threads()
        with pytest.raises(RuntimeError), threads():
            raise RuntimeError
        with threads():
            assert set(blas_threads()) == {1}
        assert blas_threads() == before


@pytest.mark.parametrize("limit", [1, 2])
def test_limits_of_threadpoolctl_hold(limit):
    with threadpool_limits(limit):
        assert _threads._allowed() <= limit


@pytest.mark.parametrize("limit", [1, 2])
def test_limits_of_joblib_hold(limit):
    """The limit of the workers, whatever OMP_NUM_THREADS says here."""
    with parallel_config(backend="loky", n_jobs=2, inner_max_num_threads=limit):
        (count,) = Parallel()([delayed(_threads._allowed)()])
    assert 1 <= count <= limit


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_solution_does_not_depend_on_the_number_of_threads(order, dtype, monkeypatch):
    """To the last bit: the blocks and the order in which their results are added are fixed, and
    BLAS, which gets the same blocks, has one thread.
    """
    K, y = problem()
    K = np.array(K, dtype=dtype, order=order)
    matrix = DenseMatrix(K, pass_bytes=2**18, shared_bytes=2**18)  # several blocks
    found = []
    for count in (1, 2, 3):
        monkeypatch.setattr(_threads, "_allowed", lambda count=count: count)
        found.append(psvm.solve(matrix, y, epsilon=3.0).alpha)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert np.count_nonzero(found[0]) > 5


def test_estimators_do_not_depend_on_the_number_of_threads(monkeypatch):
    """To the last bit, for the same reason."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=len(X))
    monkeypatch.setattr("psvm.matrix._kernel.SHARED_BYTES", 0)
    found = []
    for count in (1, 2):
        monkeypatch.setattr(_threads, "_allowed", lambda count=count: count)
        model = psvm.PSVR(epsilon=0.5).fit(X, y)
        found.append(model.predict(X))
    np.testing.assert_array_equal(*found)


def test_overflow_warns_in_no_thread(two):
    K = np.full((600, 2000), 1e200)
    K[::2] = -1e200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="exceed double precision"):
            psvm.solve(K, np.arange(600.0), epsilon=1.0)


def test_a_kernel_of_the_user_is_called_in_turn(two):
    busy = threading.Lock()

    def kernel(X, Z):
        assert busy.acquire(blocking=False)
        try:
            return X @ Z.T
        finally:
            busy.release()

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    model = psvm.PSVR(kernel=kernel, epsilon=1.0).fit(X, X[:, 0])
    assert np.corrcoef(model.predict(X), X[:, 0])[0, 1] > 0.9


def test_fits_in_several_threads_of_the_user(two):
    K, y = problem()
    expected = psvm.solve(K, y, epsilon=3.0).alpha
    found = Parallel(n_jobs=3, prefer="threads")(
        delayed(psvm.solve)(K, y, epsilon=3.0) for _ in range(6)
    )
    for solution in found:
        np.testing.assert_array_equal(solution.alpha, expected)


def _solve_in_child(K, y, queue):
    queue.put(psvm.solve(K, y, epsilon=3.0).alpha)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_can_solve(two):
    K, y = problem()
    expected = psvm.solve(K, y, epsilon=3.0).alpha
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_solve_in_child, args=(K, y, queue))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=60), expected)
    child.join()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_single_precision_storage(kind):
    """Sums are in double precision: a matrix of floats gives what the same numbers give."""
    K, y = problem()
    K[np.abs(K) < 0.5] = 0
    floats = K.astype(np.float32)
    a = psvm.solve(kind(floats), y, epsilon=3.0, tol=1e-8).alpha
    b = psvm.solve(floats.astype(np.float64), y, epsilon=3.0, tol=1e-8).alpha
    np.testing.assert_allclose(a, b, atol=1e-6 * np.abs(b).max())
