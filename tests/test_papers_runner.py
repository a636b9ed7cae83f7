"""The runner behind docs/papers.md: cells are computed once, and claims give the verdict."""

import importlib.util
import json
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
from papers.runner import CellError, Cells, Run, Section, Table, Verdict, _recipe, page
from papers.techreport.search import SmallEpsilon, best_point, coarse_to_fine
from psvm import solve
from psvm._journal import fingerprint

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
        path = filter(None, [str(BENCHMARKS), os.environ.get("PYTHONPATH")])
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
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


# ---------------------------------------------------------------- cells


def lookup(function, tasks, path):
    """The cells of a journal; none is computed."""
    with Cells(path) as journal:
        return Run(journal=journal, n_jobs=0).map(function, tasks)


def test_cells_are_json_whether_computed_or_read(tmp_path):
    def cell(share, pair):
        return {
            1: np.float64(share),
            "count": np.int64(3),
            "flag": np.bool_(True),
            "mixed": ("heart", 0.5),
            "ragged": [[1], [2, np.arange(2)]],
        }

    tasks = [(np.float64(0.25), (1, "a"))]
    mixed = {"mixed": ["heart", 0.5], "ragged": [[1], [2, [0, 1]]]}
    expected = [{"1": 0.25, "count": 3, "flag": True, **mixed}]
    with Cells(tmp_path / "cells") as journal:
        assert Run(journal=journal).map(cell, tasks) == expected
    assert lookup(cell, tasks, tmp_path / "cells") == expected


def test_equal_tasks_of_other_types_are_other_cells():
    assert Run().map(repr_of, [(1,), (1.0,), (True,)]) == ["1", "1.0", "True"]


def repr_of(value):
    return repr(value)


def test_tables_cannot_change_the_cells_of_others():
    run = Run()
    (found,) = run.map(listed, [(1,)])
    found.append(2)
    assert run.map(listed, [(1,)]) == [[1]]


def listed(value):
    return [value]


def fails_at_one(i):
    if i == 1:
        raise ZeroDivisionError("too small")
    time.sleep(0.5)
    return i


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_failed_cell_is_named_and_those_beside_it_are_kept(tmp_path, n_jobs):
    path, tasks = tmp_path / "cells", [(i,) for i in range(50)]
    with Cells(path) as journal, pytest.raises(CellError) as error:
        Run(journal=journal, n_jobs=n_jobs).map(fails_at_one, tasks)
    assert str(error.value).startswith("fails_at_one(1,) failed:\nTraceback")
    assert "ZeroDivisionError: too small" in str(error.value)
    assert lookup(fails_at_one, [(0,)], path) == [0]
    assert len(path.read_text().splitlines()) < 25  # no further cells were begun


def test_journal_has_one_run_at_a_time(tmp_path):
    path = tmp_path / "cells"
    with Cells(path), pytest.raises(ValueError, match=r"--journal '.*cells' is in use by another"):
        Cells(path)
    Cells(path).close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda line: line.replace("0.5", "0.6"), "line 2: it differs from what was written"),
        (lambda line: line[:-20], "line 2: it is not JSON"),
        (lambda line: signed({"key": ["a"], "seconds": 0.1}), "line 2: it has no 'value'"),
        (lambda line: signed({"value": 1, "seconds": 0.1}), "line 2: it has no 'key'"),
    ],
)
def test_damaged_journal_names_the_option(tmp_path, change, message):
    path = tmp_path / "cells"
    with Cells(path) as journal:
        Run(journal=journal).map(repr_of, [(0.5,)])
    header, line = path.read_text().splitlines()
    path.write_text(f"{header}\n{change(line)}\n")
    with pytest.raises(ValueError, match=f"--journal '.*' is damaged: {message}.*Delete this line"):
        Cells(path)


def signed(entry):
    return json.dumps({**entry, "digest": fingerprint(entry)})


# ---------------------------------------------------------------- what a cell depends on


def recipe(folder, script, library="def helper():\n    return 1\n"):
    """Digest of the function `cell` of a script, beside which there is a module `library_toy`."""
    (folder / "library_toy.py").write_text(library)
    (folder / "script_toy.py").write_text(script)
    found = {}
    for name in ("library_toy", "script_toy"):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        found[name] = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found[name])
    importlib.invalidate_caches()
    return fingerprint(_recipe(found["script_toy"].cell, set()))


@pytest.fixture
def toys(monkeypatch, tmp_path):
    """A folder for scripts whose modules are forgotten afterwards."""
    for name in ("library_toy", "script_toy"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return tmp_path


USES = {
    "function": "def f(): return 1\ndef cell(): return f()",
    "constant": "X = 1\ndef cell(): return X",
    "list in a list": "X = [[1]]\ndef cell(): return X",
    "set": "X = {'a', 1}\ndef cell(): return X",
    "long array": "import numpy as np\nX = np.arange(5000) // 2500 * 1\ndef cell(): return X",
    "method": "class A:\n    def f(self): return 1\ndef cell(): return A().f()",
    "constant of a method": "X = 1\nclass A:\n    def f(self): return X\ndef cell(): return A()",
    "base class": "class B:\n    x = 1\nclass A(B):\n    pass\ndef cell(): return A()",
    "instance": "class A:\n    def __init__(self, x): self.x = x\nX = A(1)\ndef cell(): return X",
    "function in a dict": "def f(): return 1\nX = {'f': f}\ndef cell(): return X",
    "class in a tuple": "class A:\n    x = 1\nX = (A,)\ndef cell(): return X",
    "second lambda": "X = [\n    lambda: 0,\n    lambda: 1,\n]\ndef cell(): return X",
    "closure": "def make(x): return lambda: x\nf = make(1)\ndef cell(): return f()",
    "default": "def f(x=len('a') + 1): return x\ndef cell(): return f()",
    "partial": "from functools import partial\nX = partial(pow, 1)\ndef cell(): return X",
    "cached": "from functools import cache\n@cache\ndef f(): return 1\ndef cell(): return f()",
}


@pytest.mark.parametrize("name", USES)
def test_recipe_follows_what_a_cell_uses(toys, name):
    script = USES[name] + "\n"
    first, again = recipe(toys, script), recipe(toys, "# a comment\nunused = 5\n" + script)
    assert first == again
    assert recipe(toys, re.sub(r"\b1\b(?!.*\b1\b)", "2", script, flags=re.DOTALL)) != first


@pytest.mark.parametrize(
    "script",
    [
        "import library_toy\ndef cell(): return library_toy.helper()\n",
        "from library_toy import helper\ndef cell(): return helper()\n",
        # one name in two modules
        "import library_toy as b\ndef helper(): return b.helper()\ndef cell(): return helper()\n",
    ],
)
def test_recipe_follows_other_modules(toys, script):
    changed = "def helper():\n    return 2\n"
    assert recipe(toys, script) != recipe(toys, script, changed)
    assert recipe(toys, script) == recipe(toys, script)


def test_recipe_has_only_names_of_installed_packages():
    assert _recipe(solve, set()) == "psvm.solvers._solve.solve"
    assert _recipe(np.linalg.norm, set()).startswith("numpy.linalg.")
    assert _recipe(KeyError, set()) == "builtins.KeyError"


# ---------------------------------------------------------------- the page and the command


def test_cell_of_two_tables_counts_once(monkeypatch, capsys):
    seconds = iter(range(0, 1000, 10))
    monkeypatch.setattr("papers.runner.time.process_time", lambda: next(seconds))

    def make(run):
        return Section({"it is": run.map(repr_of, [(i,) for i in range(3)]) != []}, "so.", "text")

    text = page(Run(), [Table("Toy", f"Table {i}", "Cells", make) for i in (1, 2)])
    assert "All cells took 30 s of processor time" in text
    assert text.count("splits; 30 s of processor time.") == 2
    told = capsys.readouterr().out
    assert re.search(r"This run took 0\.\d minutes \(--jobs 1\) and computed 3 of 3 cells\.", told)
    assert "This run took" not in text


@pytest.fixture
def command(tmp_path, capsys):
    """What the command says when it refuses its arguments."""
    pytest.importorskip("cvxpy")
    main = importlib.import_module("run_papers").main

    def run(*arguments):
        journal = [] if "--journal" in arguments else ["--journal", str(tmp_path / "cells")]
        with pytest.raises(SystemExit) as error:
            main([*map(str, arguments), *journal])
        return f"{error.value.code}{capsys.readouterr().err}"

    return run


def test_command_refuses_before_any_work(command, tmp_path):
    assert "--jobs: must be a whole number of at least 1, got '0'" in command("--jobs", 0)
    assert "--jobs: must be a whole number of at least 1, got '-1'" in command("--jobs", -1)
    assert command("--only", "SMO", "Typo").startswith("--only Typo: no such table. There are: SMO")
    nowhere = tmp_path / "nowhere" / "page.md"
    assert command("--output", nowhere).startswith("--output: [Errno 2] There is no such directory")
    assert command("--output", tmp_path).startswith("--output: [Errno 21] It is a directory")


@pytest.mark.skipif(data_dir() is None, reason="no benchmark data: set PSVM_DATA to its folder")
def test_command_names_the_journal(command, tmp_path):
    page, path = tmp_path / "page.md", tmp_path / "other"
    path.write_text('{"search": "papers, psvm 0.0.1"}\n')
    said = command("--journal", path, "--output", page)
    assert said.startswith(
        f"--journal {str(path)!r} holds cells of another version of psvm. Use an"
    )
    assert command("--journal", tmp_path, "--output", page).startswith("--journal: [Errno")
    with Cells(tmp_path / "cells"):
        assert "is in use by another run" in command("--output", page)
    assert not page.exists()


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
