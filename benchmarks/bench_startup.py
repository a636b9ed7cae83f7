"""Processor time of small commands, beside that of the imports which they cannot do without.

Each runs in a process of its own, in turn. The table has 40 rows: what is measured is the start.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy as np

from report import environment, markdown_table, write_section

READING = "import numpy, scipy.sparse, click"
FITTING = "import sklearn.base, sklearn.pipeline, sklearn.model_selection, click"
COMMANDS = {
    "psvm check": (["check", "t.csv", "--target", "y"], READING),
    "psvm convert": (["convert", "t.csv", "t.npz", "--target", "y"], READING),
    "psvm fit": (["fit", "t.csv", "--target", "y", "--model", "m.psvm"], FITTING),
    "psvm fit --no-cv": (["fit", "t.csv", "--target", "y", "--model", "n.psvm", "--no-cv"],
                         FITTING),
    "psvm predict": (["predict", "m.psvm", "t.csv"], FITTING),
}  # fmt: skip
"""Commands, and the imports of NumPy, SciPy, scikit-learn and click that stand behind them."""
MAIN = "import sys; from psvm.cli import main; sys.exit(main(sys.argv[1:]))"


def write_rows(path, n=40):
    X = np.random.default_rng(0).normal(size=(n, 3))
    lines = [f"{a:.3f},{b:.3f},{c:.3f},{'uv'[int(a + b > 0)]}" for a, b, c in X]
    with open(path, "w") as file:
        file.write("\n".join(["a,b,c,y", *lines]) + "\n")


def seconds(code, arguments, folder):
    """Processor time of a process, its own and that of the system for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="runs of each command, in turn")
    parser.add_argument("--dry", action="store_true", help="print the table and write nothing")
    options = parser.parse_args()
    times = {name: ([], []) for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        write_rows(os.path.join(folder, "t.csv"))
        for _ in range(options.runs + 1):  # the first one fills the caches of the system
            for name, (arguments, imports) in COMMANDS.items():
                times[name][0].append(seconds(MAIN, arguments, folder))
                times[name][1].append(seconds(imports, [], folder))
    rows = []
    for name, (ours, floor) in times.items():
        ours, floor = ours[1:], floor[1:]
        ratios = [a / b for a, b in zip(ours, floor, strict=True)]
        medians = [f"{statistics.median(v):.2f}" for v in (ours, floor, ratios)]
        rows.append([f"`{name}`", *medians, f"`{COMMANDS[name][1]}`"])
    header = ["command", "seconds", "imports alone", "ratio", "imports"]
    text = f"{environment()}\n\n{markdown_table(header, rows)}"
    print(text)
    if not options.dry:
        write_section("startup", text)


if __name__ == "__main__":
    main()
