"""The runner behind docs/papers.md: cells are computed once, and claims give the verdict."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from datasets import data_dir
from papers.runner import Run, Section, Table, Verdict, page
from papers.techreport.search import SmallEpsilon, best_point, coarse_to_fine
from psvm import solve

SCRIPT = """
import sys, time
from pathlib import Path
from papers.runner import Run, Section, Table, page

LOG = {log!r}

def cell(name, i):
    with open(LOG, "a") as log:
        print(name, i, file=log)
    time.sleep({pause})
    return {{"value": i / 3, "list": [1, i]}}

def make(run):
    found = run.map(cell, [("a", i) for i in range(8 if run.full else 3)])
    total = sum(f["value"] for f in found)
    return Section({{"it adds up": True}}, f"the sum is {{total!r}}.", repr(found))

text = page(Run("full" in sys.argv, {journal!r}, n_jobs=1), [Table("Toy", "Table 1", "Sums", make)])
Path({output!r}).write_text(text)
"""


class Toy:
    """A run of its own process, whose journal is in a folder."""

    def __init__(self, folder, pause=0.0):
        folder.mkdir(exist_ok=True)
        self.log, self.journal, self.page = folder / "log", folder / "journal", folder / "page"
        names = {"log": self.log, "journal": self.journal, "output": self.page}
        self.script = folder / "toy_papers.py"
        self.script.write_text(
            SCRIPT.format(pause=pause, **{key: str(path) for key, path in names.items()})
        )

    def start(self, *arguments):
        environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS)}
        return subprocess.Popen([sys.executable, self.script, *arguments], env=environment)

    def lines(self, path):
        return path.read_text().splitlines() if path.exists() else []


BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


def without_times(text):
    return re.sub(r"[\d.]+ s\b", "", text)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL on this system")
def test_killed_run_is_continued_with_the_same_page(tmp_path):
    whole, killed = Toy(tmp_path / "whole"), Toy(tmp_path / "killed", pause=0.5)
    assert whole.start("full").wait() == 0
    process = killed.start("full")
    while len(killed.lines(killed.journal)) < 3:  # the heading and two cells
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not killed.page.exists()
    done = len(killed.lines(killed.journal)) - 1
    assert 2 <= done < 8
    assert killed.start("full").wait() == 0
    assert without_times(killed.page.read_text()) == without_times(whole.page.read_text())
    # No cell of the journal ran again; the one that the kill cut off did, if there was one.
    runs = killed.lines(killed.log)
    assert len(set(runs)) == 8
    assert all(runs.count(f"a {i}") == 1 for i in range(done))
    assert len(runs) <= 9


@pytest.mark.skipif(data_dir() is None, reason="no benchmark data: set PSVM_DATA to its folder")
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for a process on this system")
def test_interrupted_command_is_continued_with_the_same_page(tmp_path):
    def start(name, journal):
        options = ["--only", "Report Figure 7", "Lecture Table 6.1", "--full", "--jobs", "1"]
        files = ["--output", tmp_path / name, "--journal", tmp_path / journal]
        command = [sys.executable, BENCHMARKS / "run_papers.py", *options, *files]
        with (tmp_path / "messages").open("wb") as messages:
            return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=messages)

    def cells():
        journal = tmp_path / "stopped.jsonl"
        return len(journal.read_bytes().splitlines()) if journal.exists() else 0

    assert start("whole.md", "whole.jsonl").wait() == 0
    process = start("stopped.md", "stopped.jsonl")
    while cells() < 5:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait() == 1
    assert b"the same command goes on" in (tmp_path / "messages").read_bytes()
    assert not (tmp_path / "stopped.md").exists()
    assert start("stopped.md", "stopped.jsonl").wait() == 0
    stopped, whole = ((tmp_path / f"{name}.md").read_text() for name in ("stopped", "whole"))
    assert without_times(stopped) == without_times(whole)
    assert whole.count("**Holds") == 2


def test_search_finds_the_first_best_point():
    rng = np.random.default_rng(0)
    losses = rng.integers(0, 5, size=(30, 4))  # small integers have ties
    assert best_point(losses.__getitem__, [(i,) for i in range(30)]) == (
        losses.sum(axis=1).argmin(),
    )


def test_fine_grid_is_around_the_best_coarse_point():
    tried = []

    def losses(value, first, second):
        tried.append((value, first, second))
        yield (np.log10(value) - 0.4) ** 2 + (np.log10(first) + 0.3) ** 2 + (second - 2) ** 2

    found = coarse_to_fine(losses, (0.1, 1.0, 10.0), (0.1, 1.0), (1, 2))
    assert found == pytest.approx((10 ** (1 / 3), 10 ** (-1 / 3), 2))
    assert len(tried) == 3 * 2 * 2 + 7 * 7
    assert all(second == 2 for *_, second in tried[12:])


def test_machine_of_the_report_has_columns_of_variance_one():
    rng = np.random.default_rng(0)
    K, y = rng.normal(size=(40, 12)) + 3, rng.normal(size=40)
    model = SmallEpsilon(0.05, "regression").fit(K, y)
    # The problem with columns of variance one by scaling: alpha of it is t times smaller.
    Z = (K - K.mean(axis=0)) / K.std(axis=0)
    t = np.sqrt(len(K))
    alpha = solve(K, y, 0.05 * t, epsilon=0.01 / t, tol=1e-8).alpha / t
    assert np.abs(alpha).max() == pytest.approx(0.05)  # the premise: a bound is active
    gradient = Z.T @ (Z @ alpha - y)
    free = (np.abs(alpha) < 0.05) & (alpha != 0)
    assert free.any()
    np.testing.assert_allclose(gradient[free], -0.01 * np.sign(alpha[free]), atol=1e-5)
    # tol = 1e-3 of the machine is relative to the gradient of zero, at most 40 here
    np.testing.assert_allclose(model.predict(K), Z @ alpha + y.mean(), atol=0.05)


def test_full_run_reuses_the_quick_cells(tmp_path):
    toy = Toy(tmp_path)
    assert toy.start().wait() == 0
    assert toy.start("full").wait() == 0
    assert toy.lines(toy.log) == [f"a {i}" for i in range(8)]
    # and a quick run then takes all splits, without computing one
    assert toy.start().wait() == 0
    assert len(toy.lines(toy.log)) == 8
    assert f"the sum is {sum(i / 3 for i in range(8))!r}." in toy.page.read_text()
    assert "All splits; " in toy.page.read_text()


def test_cells_of_changed_functions_are_computed_again(tmp_path):
    toy = Toy(tmp_path)
    assert toy.start().wait() == 0
    toy.script.write_text(toy.script.read_text().replace("i / 3", "i / 4"))
    assert toy.start().wait() == 0
    assert toy.lines(toy.log) == 2 * [f"a {i}" for i in range(3)]
    assert "the sum is 0.75." in toy.page.read_text()


@pytest.mark.parametrize(
    ("claims", "verdict"),
    [
        ({"a": True, "b": True}, Verdict.HOLDS),
        ({"a": True, "b": False}, Verdict.IN_PART),
        ({"a": False, "b": False}, Verdict.FAILS),
        ({}, Verdict.UNTRIED),
    ],
)
def test_verdict_follows_from_the_claims(claims, verdict):
    section = Section(claims, "a reason.", "a table")
    assert section.verdict is verdict
    text = page(Run(), [Table("Toy", "Table 1", "Sums", lambda run: section)])
    assert f"| Sums | {verdict.value} |" in text
    assert f"**{verdict.value.capitalize()}**: a reason." in text
    assert all(f"| {claim} | {'yes' if kept else 'no'} |" in text for claim, kept in claims.items())
