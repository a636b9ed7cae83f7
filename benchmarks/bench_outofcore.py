"""A fit to a file that is larger than the memory: Parquet and CSV, with an address space of 1 GB.

The rows are generated into a temporary folder, which is removed at the end. One process fits them
by blocks; the kernel gives it no more than 1 GB of address space (what ``ulimit -v`` sets), in
which Python and all libraries have their place too. Another one without a limit reads all rows
into one array. The models are compared.

    python benchmarks/bench_outofcore.py [--gigabytes 1] [--kinds parquet csv] [--folder PLACE]

``--gigabytes 5`` takes about ten minutes and 5 GB of the disk for each kind, one after the other.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from peak_memory import peak
from psvm import PSVC, RowBlocks
from psvm.io import open_blocks
from report import environment, markdown_table, write_section

N_FEATURES, LANDMARKS, CHUNK = 20, 100, 100_000
NAMES = [f"x{j}" for j in range(N_FEATURES)]
LIMIT, MEMORY = 2**30, 8
"""Bytes of address space, and megabytes of a block."""
CHILD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1",
         "ARROW_DEFAULT_MEMORY_POOL": "system"}  # fmt: skip
"""Arrow's own pool and further arenas reserve addresses that they never use."""


def chunks():
    """Rows without end."""
    rng = np.random.default_rng(0)
    while True:
        X = rng.normal(size=(CHUNK, N_FEATURES))
        noise = 0.3 * rng.normal(size=CHUNK)
        yield X, np.where(X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + noise > 0, "yes", "no")


def generate(path, kind, n_bytes):
    """Write rows until the file has its size; returns their number."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    n_rows, writer = 0, None
    for X, y in chunks():
        table = pa.table({**dict(zip(NAMES, X.T, strict=True)), "label": y})
        if writer is None and kind == "csv":
            writer = csv.CSVWriter(path, table.schema)
        elif writer is None:
            writer = parquet.ParquetWriter(path, table.schema, compression="none")
        writer.write_table(table)
        n_rows += len(y)
        if os.path.getsize(path) >= n_bytes:
            writer.close()
            return n_rows


def measure(path, way):
    """Fit in this process; times, memory and coefficients."""
    if way == "blocks":
        resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    began, used = time.perf_counter(), time.process_time()
    blocks = open_blocks(path, target="label", memory=MEMORY)
    if way == "memory":
        parts = [(block.X, block.y) for block in blocks]
        X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
        del parts
        blocks = RowBlocks(X, y, memory=2**20, names=NAMES)
    model = PSVC(landmarks="random", n_landmarks=LANDMARKS).fit(blocks)
    status = Path("/proc/self/status").read_text()
    return {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - used,
        "resident": peak(),
        "addresses": int(re.search(r"VmPeak:\s*(\d+)", status)[1]) / 1024,
        "epsilon": float(model.epsilon_),
        "coef": (model.alpha_ / model.column_norms_).tolist(),
        "intercept": float(model.intercept_),
        "source": model.solution_.source,
    }


def in_child(path, way):
    command = [sys.executable, __file__, "--one", str(path), way]
    done = subprocess.run(command, env=os.environ | CHILD, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{way}: {done.stderr}")
    answer = json.loads(done.stdout)
    shown = {name: value for name, value in answer.items() if name != "coef"}
    print(f"{path.name} {way}: {shown}", file=sys.stderr)
    return answer


def rows_of(kind, folder, n_bytes):
    """Two lines of the table."""
    path = Path(folder, f"rows.{kind}")
    if shutil.disk_usage(folder).free < 1.5 * n_bytes:
        sys.exit(f"{folder} has no room for {n_bytes / 2**30:.0f} GB.")
    n_rows = generate(path, kind, n_bytes)
    size = os.path.getsize(path) / 2**30
    found = {way: in_child(path, way) for way in ("blocks", "memory")}
    path.unlink()
    coef = {way: np.array(answer["coef"]) for way, answer in found.items()}
    off = np.abs(coef["blocks"] - coef["memory"]).max() / np.abs(coef["memory"]).max()
    for way, answer in found.items():
        yield [
            f"{kind}, {size:.1f} GB, {n_rows:,} rows",
            {"blocks": "by blocks, limit 1 GB", "memory": "in one array, no limit"}[way],
            f"{answer['cpu']:.0f}",
            f"{answer['seconds']:.0f}",
            f"{answer['resident']:.0f}",
            f"{answer['addresses']:.0f}",
            f"{off:.1g}" if way == "blocks" else "",
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--kinds", nargs="+", default=["parquet", "csv"])
    parser.add_argument("--folder", help="where the rows are written")
    parser.add_argument("--one", nargs=2)
    parser.add_argument("--print", action="store_true", help="do not write the page")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one)))
        return
    header = ["rows", "fit", "processor, s", "wall, s", "peak resident, MB", "peak addresses, MB",
              "coefficients differ by"]  # fmt: skip
    lines = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for kind in options.kinds:
            lines += rows_of(kind, folder, options.gigabytes * 2**30)
    text = f"{environment()}\n\n{markdown_table(header, lines)}"
    print(text) if options.print else write_section("outofcore", text)


if __name__ == "__main__":
    main()
