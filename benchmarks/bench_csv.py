"""Time and peak memory of reading a large CSV file, beside pandas and pyarrow.

Each reader runs in a process of its own; the file is generated in a temporary directory.
"""

import argparse
import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from report import environment, markdown_table, write_section

COLUMNS = 100
READERS = {
    "psvm.io.read_table": "from psvm.io import read_table\nX = lambda p: read_table(p).X",
    "pandas.read_csv": "import pandas\nX = lambda p: pandas.read_csv(p).to_numpy()",
    'pandas.read_csv(float_precision="round_trip")': (
        "import pandas\nX = lambda p: pandas.read_csv(p, float_precision='round_trip').to_numpy()"
    ),
    "pyarrow.csv.read_csv": (
        "import pyarrow, pyarrow.csv, numpy\npyarrow.set_cpu_count(1)\n"
        "X = lambda p: numpy.column_stack([c.to_numpy() for c in pyarrow.csv.read_csv(p).columns])"
    ),
}
WORKER = """
import json, re, sys, time
{reader}
def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
before, began = peak(), time.perf_counter()
matrix = X(sys.argv[1])
seconds = time.perf_counter() - began
answer = {{"seconds": seconds, "peak": peak() - before, "matrix": matrix.nbytes / 2**20,
          "sum": matrix[:, 0].sum().hex()}}
print(json.dumps(answer))
"""


def generate(path, size):
    """Standard normal numbers with all digits: the same rows until there are `size` bytes."""
    rows = np.random.default_rng(0).normal(size=(5000, COLUMNS)).tolist()
    text = "".join(",".join(map(repr, row)) + "\n" for row in rows)
    with open(path, "w") as file:
        file.write(",".join(f"x{j}" for j in range(COLUMNS)) + "\n")
        while file.tell() < size:
            file.write(text)


def run(reader, path):
    code = WORKER.format(reader=READERS[reader])
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=1.0, help="size of the file in GB")
    parser.add_argument("--runs", type=int, default=3, help="runs of each reader, interleaved")
    parser.add_argument("--only", help="readers whose names contain this")
    parser.add_argument("--dry", action="store_true", help="print the table and write nothing")
    options = parser.parse_args()
    names = [name for name in READERS if not options.only or options.only in name]
    if importlib.util.find_spec("pyarrow") is None:
        names = [name for name in names if "pyarrow" not in name]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "large.csv")
        began = time.perf_counter()
        generate(path, options.size * 1e9)
        size = Path(path).stat().st_size
        print(f"generated {size / 1e9:.2f} GB in {time.perf_counter() - began:.0f} s", flush=True)
        found = {name: [] for name in names}
        for _ in range(options.runs):
            for name in names:
                found[name].append(run(name, path))
                print(name, found[name][-1], flush=True)
    matrix = found[names[0]][0]["matrix"]
    ours = statistics.median(answer["seconds"] for answer in found[names[0]])
    rows = []
    for name in names:
        seconds = statistics.median(answer["seconds"] for answer in found[name])
        peak = max(answer["peak"] for answer in found[name])
        exact = "yes" if found[name][0]["sum"] == found[names[0]][0]["sum"] else "no"
        rows.append(
            (
                f"`{name}`",
                f"{seconds:.1f}",
                f"{seconds / ours:.1f}",
                f"{peak:.0f}",
                f"{peak / matrix:.2f}",
                exact,
            )
        )
    header = ("reader", "seconds", "ratio", "peak MB", "peak / matrix", "same sum of a column")
    text = (
        f"{environment()}\n\npandas {version('pandas')}. "
        f"A file of {size / 1e9:.2f} GB with {COLUMNS} columns of numbers with "
        f"all digits; the matrix has {matrix:.0f} MB. One thread; median of {options.runs} "
        "interleaved runs, the largest peak memory beyond what the process had after its imports. "
        "To the last bit the same sum of the first column as that of correctly rounded numbers?\n\n"
        + markdown_table(header, rows)
    )
    print(re.sub(r"\n+", "\n", text))
    if not options.dry:
        write_section("csv", text)


if __name__ == "__main__":
    main()
