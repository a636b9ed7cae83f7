"""The numerics tests on every processor that this one can imitate: `make test-machines`.

OpenBLAS has kernels for many processors and takes those of the processor it runs on; the
environment variable OPENBLAS_CORETYPE asks for others. Their sums differ by rounding. Each
combination of kernels, number of threads and environment runs the numerics tests in processes of
its own, and a table of all of them closes the run.

    python tests/machines.py [--part] PYTHON [PYTHON ...]

Each PYTHON is the interpreter of an environment that psvm is installed in. With ``--part`` the
first of them takes two kernels that are not the processor's own and the others the processor's
own, all with one thread.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

# What the processor needs to run the kernels, in the words of /proc/cpuinfo; oldest first.
KERNELS = {
    "x86_64": {
        "Prescott": {"pni"},
        "Nehalem": {"sse4_2"},
        "Sandybridge": {"avx"},
        "Haswell": {"avx2", "fma"},
        "Zen": {"avx2", "fma"},
        "SkylakeX": {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"},
    },
    "aarch64": {
        "ARMV8": {"asimd"},
        "NEOVERSEN1": {"asimd", "atomics", "asimddp"},
        "NEOVERSEV1": {"sve", "i8mm", "bf16"},
    },
}
TESTS = Path(__file__).resolve().parent
# Files, words, pages and the source itself: nothing in these depends on the kernels.
ASIDE = (
    "test_cli.py",
    "test_explore.py",
    "test_fuzz_*.py",
    "test_house.py",
    "test_io_*.py",
    "test_models.py",
    "test_parameters.py",
    "test_play.py",
    "test_report.py",
    "test_sites.py",
    "test_storage.py",
    "test_typing.py",
)

ASK = """
import numpy.linalg, scipy.linalg, threadpoolctl
from importlib.metadata import version
print(*(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn")), sep=", ")
blas = [b for b in threadpoolctl.threadpool_info() if b["user_api"] == "blas"]
print(*sorted({b.get("architecture") or b["internal_api"] for b in blas}))
"""


def candidates():
    """The names of the kernels that the processor can run; none where its flags are unknown."""
    try:
        info = Path("/proc/cpuinfo").read_text()
    except OSError:
        return []
    flags = set(re.search(r"^(?:flags|Features)\s*:(.*)$", info, re.M)[1].split())
    known = KERNELS.get(platform.machine(), {})
    return [name for name, needed in known.items() if needed <= flags]


def ask(python, kernels=None):
    """Versions in an environment and the kernels that its NumPy and SciPy use when asked so."""
    asked = {"OPENBLAS_CORETYPE": kernels} if kernels else {}
    return subprocess.run(
        [python, "-c", ASK], env=os.environ | asked, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def distinct(python):
    """One name for each set of kernels that the libraries of an environment contain."""
    names = {}
    for name in candidates():
        used = ask(python, name)[1]
        if used in names:
            print(f"{name} gives the kernels of {names[used]} in {python}")
        names.setdefault(used, name)
    return names


def run(python, kernels, threads):
    """Numbers of tests run and failed."""
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    env = os.environ | dict.fromkeys(variables, str(threads))
    if kernels:
        env["OPENBLAS_CORETYPE"] = kernels
    processes = max(1, (os.cpu_count() or 1) // threads)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.xml"
        options = ["-q", "-n", str(processes), "-m", "not slow", f"--junit-xml={log}"]
        aside = [f"--ignore-glob={TESTS / name}" for name in ASIDE]
        subprocess.run([python, "-m", "pytest", *options, *aside, TESTS], env=env, check=False)
        if not log.exists():
            return 0, 1
        (suite,) = ElementTree.parse(log).iter("testsuite")
    found = {name: int(suite.get(name)) for name in ("tests", "skipped", "failures", "errors")}
    return found["tests"] - found["skipped"], found["failures"] + found["errors"]


def plan(pythons, part):
    """Environment, kernels in use, name that asks for them, threads."""
    for place, python in enumerate(pythons):
        own, names = ask(python)[1], distinct(python)
        if not part:
            chosen = names or {own: None}
        elif place == 0:
            others = [used for used in names if used != own]
            chosen = {used: names[used] for used in (*others[:1], *others[1:][-1:])}
        else:
            chosen = {own: None}
        for used, name in chosen.items():
            for threads in (1,) if part else (1, 2):
                yield python, used, name, threads


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="store_true")
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    arguments = parser.parse_args()
    versions = {python: ask(python)[0] for python in arguments.pythons}
    rows = []
    for python, used, name, threads in plan(arguments.pythons, arguments.part):
        print(f"\n{versions[python]}, {used} kernels, {threads} threads", flush=True)
        rows.append((versions[python], used, threads, *run(python, name, threads)))
    width = max(len(row[0]) for row in rows)
    print(f"\n{'dependencies':{width}}  kernels      threads   tests  failed")
    for versions, used, threads, tests, failed in rows:
        print(f"{versions:{width}}  {used:11}  {threads:7}  {tests:6}  {failed:6}")
    return any(row[-1] or not row[-2] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
