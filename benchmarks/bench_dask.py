"""Fits to dask collections on two worker processes beside the same fits in one process.

First table: 50 features, 500 landmarks, epsilon chosen; chunks of 10,000 rows that are made when
they are asked for. Processor time is that of the client and of all workers, less what they use in
the same time without any work. "sent" is what workers sent to each other and to the client.
"killed" ends one of the workers by its process id while the rows are summed. Second table: a
sparse matrix with 20 entries in each row, in dyadic form, whose chunks stay on the workers.

    python benchmarks/bench_dask.py [--largest 800000] [--print]
"""

import argparse
import logging
import os
import pickle
import signal
import tempfile
import time
from functools import partial
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import scipy.sparse as sp
from distributed import Client, LocalCluster

from psvm import PSVC, PSVR, RowBlocks
from report import environment, markdown_table, write_section

N_FEATURES, CHUNK, LANDMARKS = 50, 10_000, 500
WIDE, STORED = (200_000, 20_000), 20
INFORMATIVE = 40


def make_rows(seed, n=CHUNK):
    """A block of rows: a curved boundary in some of the features, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_FEATURES))
    f = np.square(X[:, :5]).sum(axis=1) - 5 + 2 * X[:, 5] + X[:, 6] * X[:, 7]
    return X, f + rng.standard_normal(n) > 0


def make_chunk(seed, folder, doomed):
    """X and y of a block; the worker that makes the one with the number `doomed` ends itself."""
    number = len(os.listdir(folder))
    Path(folder, f"{time.time_ns()}-{os.getpid()}").touch()
    if number == doomed:
        os.kill(os.getpid(), signal.SIGKILL)
    return make_rows(seed)


def collections(n_rows, folder, doomed):
    """X and y as dask arrays."""
    task, X, y = dask.delayed(make_chunk, nout=2), [], []
    for seed in range(n_rows // CHUNK):
        rows, labels = task(seed, folder, doomed)
        X.append(da.from_delayed(rows, (CHUNK, N_FEATURES), dtype=float))
        y.append(da.from_delayed(labels, (CHUNK,), dtype=bool))
    return da.concatenate(X), da.concatenate(y)


def make_wide(number):
    """A chunk of a sparse matrix."""
    rng = np.random.default_rng(int(number[0]))
    places = rng.integers(0, WIDE[1], STORED * CHUNK)
    ends = np.arange(0, STORED * CHUNK + 1, STORED)
    return sp.csr_array((rng.random(len(places)), places, ends), shape=(CHUNK, WIDE[1]))


def wide():
    """The sparse matrix as a dask array and as a whole, and a target."""
    n_chunks = WIDE[0] // CHUNK
    K = da.from_array(np.arange(n_chunks), chunks=1).map_blocks(
        make_wide,
        new_axis=1,
        chunks=((CHUNK,) * n_chunks, WIDE[1:]),
        meta=sp.csr_matrix((0, 0)),
    )
    whole = sp.vstack([make_wide([number]) for number in range(n_chunks)], format="csr")
    rng = np.random.default_rng(0)
    y = whole[:, :INFORMATIVE] @ rng.normal(size=INFORMATIVE) + 0.5 * rng.normal(size=WIDE[0])
    return K, whole, y


def measure(fit, client=None):
    """What a function returns, processor seconds of all processes, and seconds on the clock."""
    before, began, clock = workers(client), time.process_time(), time.perf_counter()
    model = fit()
    took, passed = time.process_time() - began, time.perf_counter() - clock
    # A new worker has used what it has used since it began.
    took += sum(now - before.get(name, 0.0) for name, now in workers(client).items())
    return model, took - (0.0 if client is None else IDLE[0] * passed), passed


IDLE = [0.0]
"""Processor seconds in a second without work, once they are measured."""


def workers(client):
    """Processor seconds of the workers by their process ids."""
    return {} if client is None else dict(client.run(_used).values())


def _used():
    return os.getpid(), time.process_time()


def sent(client):
    """Megabytes that the workers have sent so far."""
    return sum(client.run(_sent).values()) / 2**20


def _sent(dask_worker):
    return sum(transfer["compressed"] for transfer in dask_worker.transfer_outgoing_log)


def cost_of_a_task(client, n_tasks=2000):
    """Milliseconds of all processes for a task that does nothing, in sums of eight."""
    tasks = [dask.delayed(_nothing, pure=False)() for _ in range(n_tasks)]
    sums = [dask.delayed(sum, pure=False)(tasks[i : i + 8]) for i in range(0, n_tasks, 8)]
    _, seconds, passed = measure(partial(dask.compute, *sums), client)
    count = n_tasks + len(sums)
    return 1000 * seconds / count, 1000 * passed / count


def _nothing():
    return 0


def difference(model, other):
    """The largest difference of decision values, as a share of the largest value."""
    X, _ = make_rows(2**31 - 1)
    mine, its = model.decision_function(X), other.decision_function(X)
    return np.abs(mine - its).max() / np.abs(its).max()


def model_of_rows():
    return PSVC(landmarks=make_rows(2**31)[0][:LANDMARKS])


def tall_table(client, largest):
    rows, alone, (used, passed_by) = [], {}, cost_of_a_task(client)
    sizes = [n for n in (50_000, 200_000, 800_000) if n <= largest]
    # The kill comes last: a new worker takes a while before it works.
    for n_rows, name in [*((n, "two workers") for n in sizes), (sizes[0], "killed")]:
        if n_rows not in alone:
            blocks = RowBlocks(partial(_blocks, n_rows))
            one, seconds, _ = measure(lambda: model_of_rows().fit(blocks))  # noqa: B023
            alone[n_rows] = one, seconds
            rows.append([f"{n_rows:,}", "one process", f"{seconds:.1f}", *[""] * 4])
        doomed = 5 * n_rows // (3 * CHUNK) if name == "killed" else -1
        with tempfile.TemporaryDirectory() as folder:
            X, y = collections(n_rows, folder, doomed)
            fit, before = partial(model_of_rows().fit, X, y), sent(client)
            model, seconds, passed = measure(fit, client)
            again = len(os.listdir(folder)) - 3 * n_rows // CHUNK
        one, its = alone[n_rows]
        cells = f"{seconds:.1f}", f"{seconds / its:.2f}", f"{sent(client) - before:.0f}"
        if name == "killed":  # the worker took its counts along
            cells = [""] * 3
        rows.append([f"{n_rows:,}", name, *cells, again, f"{difference(model, one):.0e}"])
        print(rows[-1], f"{passed:.0f} s on the clock", flush=True)
    travels = len(pickle.dumps(model.sums_)) / 2**20, len(pickle.dumps(model.plan_)) / 2**20
    header = ["rows", "fit", "processor, s", "ratio", "sent, MB", "chunks made again", "difference"]
    note = (
        f"The sums of a chunk are {travels[0]:.1f} MB and the plan is {travels[1]:.2f} MB; the "
        f"X of a chunk is {8 * CHUNK * N_FEATURES / 2**20:.1f} MB. A task that does nothing takes "
        f"{used:.1f} ms of processor time in all processes, and {passed_by:.1f} ms on the clock."
    )
    return markdown_table(header, rows) + "\n\n" + note


def _blocks(n_rows):
    return (make_rows(seed) for seed in range(n_rows // CHUNK))


def wide_table(client, search):
    K, whole, y = wide()
    rows = []
    settings = {"epsilon = 10": {"epsilon": 10.0}}
    if search:
        settings["epsilon chosen"] = {}
    for name, options in settings.items():
        found = {}
        for where, X in (("one process", whole), ("two workers", K)):
            model = PSVR(kernel="dyadic", **options)
            found[where], seconds, passed = measure(
                partial(model.fit, X, y), client if X is K else None
            )
            apart = np.abs(found[where].alpha_ - found["one process"].alpha_).max()
            gap = model.dual_gap_ / abs(model.solution_.objective)
            cells = f"{seconds:.1f}", f"{passed:.1f}", model.n_support_, f"{gap:.0e}"
            rows.append([name, where, *cells, f"{apart / np.abs(model.alpha_).max():.0e}"])
            print(rows[-1], flush=True)
    header = ["fit", "", "processor, s", "clock, s", "support", "gap / objective", "difference"]
    return markdown_table(header, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=800_000)
    parser.add_argument("--search", action="store_true", help="choose epsilon of the wide matrix")
    parser.add_argument("--print", action="store_true", help="do not write the page")
    options = parser.parse_args()
    where = {"host": "127.0.0.1", "scheduler_port": 0, "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, silence_logs=logging.CRITICAL, **where
        ) as cluster,
        Client(cluster) as client,
    ):
        client.run(partial(__import__, "psvm.estimators"))
        IDLE[0] = measure(partial(time.sleep, 10), client)[1] / 10
        print(f"idle: {IDLE[0]:.3f} s in a second", flush=True)
        parts = [environment(), tall_table(client, options.largest)]
        parts.append(wide_table(client, options.search))
    text = "\n\n".join(parts)
    print(text) if options.print else write_section("dask", text)


if __name__ == "__main__":
    main()
