"""Threads: how many may run, and a map over blocks of a matrix that uses them."""

import threading
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache

_available = ContextVar("available", default=1)
_limiting = threading.Lock()


@contextmanager
def threads():
    """Within this context `map_blocks` uses the threads that BLAS has outside of it.

    BLAS itself runs on one thread meanwhile: the blocks of one pass are independent, while the
    small products of a solver are faster without helpers. So the limits of threadpoolctl, of
    OMP_NUM_THREADS and its like, and of joblib's workers hold as they do for BLAS. Only one
    context at a time has several threads, so that they never multiply.
    """
    if not _limiting.acquire(blocking=False):
        yield
        return
    try:
        token = _available.set(_allowed())
        try:
            with _blas().limit(limits=1):
                yield
        finally:
            _available.reset(token)
    finally:
        _limiting.release()


def _allowed():
    """The smallest of the limits of all thread pools and of the processors at hand."""
    limits = [pool.num_threads for pool in _pools().lib_controllers]
    return min([*limits, _n_processors()]) if limits else 1


@cache
def _pools():
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@cache
def _blas():
    return _pools().select(user_api="blas")


@cache
def _n_processors():
    import joblib

    return joblib.cpu_count()


def map_blocks(function, blocks):
    """``[function(block) for block in blocks]``, in an order that is for the threads to choose.

    The calling thread works as well, and each thread takes the next block when it is ready for
    one: where other programs keep a processor busy, the others go on.
    """
    blocks = list(blocks)
    if len(blocks) == 1:
        return [function(blocks[0])]
    n_threads = min(_available.get(), len(blocks))
    results = [None] * len(blocks)
    waiting = iter(range(len(blocks)))
    errors = []

    def work():
        token = _available.set(1)
        try:
            for number in waiting:
                results[number] = function(blocks[number])
        except BaseException as error:
            errors.append(error)
            for _ in waiting:
                pass
        finally:
            _available.reset(token)

    helpers = [
        threading.Thread(target=copy_context().run, args=(work,), daemon=True)
        for _ in range(n_threads - 1)
    ]
    started = []
    try:
        for helper in helpers:
            helper.start()
            started.append(helper)
        work()
    finally:  # also after Ctrl-C nothing is left running
        for _ in waiting:
            pass
        for helper in started:
            helper.join()
    if errors:
        raise errors[0]
    return results
