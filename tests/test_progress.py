"""Progress: silence at first, then one line with the time left, and no trace of failed work.

The clock is one that the tests set, and they ask for the line instead of a ticking thread.
"""

import io
import re
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_moons
from sklearn.dummy import DummyClassifier

from psvm import (
    PSVC,
    PSVCCV,
    GeneSelector,
    KnockoffSelector,
    PSVMSelector,
    SpheredSVCCV,
    StabilitySelector,
    _progress,
    cross_val_error,
)
from psvm._parallel import results
from psvm._progress import Line, duration, finished, opened, progress, say, steps
from psvm.evaluation import compare, cross_validate, permutation_test
from psvm.selection import rank_features


class Time:
    """A clock that the test sets."""

    now = 100.0

    def __call__(self):
        return self.now

    def pass_(self, seconds):
        self.now += seconds


class Terminal(io.StringIO):
    def isatty(self):
        return True

    @property
    def seen(self):
        """The lines as they stand there: what was written over is gone."""
        lines = []
        for line in self.getvalue().split("\n"):
            cells = []
            for part in line.split("\r"):
                cells[: len(part)] = part
            lines.append("".join(cells).rstrip())
        return lines


@pytest.fixture
def time():
    return Time()


@pytest.fixture(params=[Terminal, io.StringIO], ids=["terminal", "file"])
def stream(request):
    return request.param()


def seconds_left(text):
    """The time left at the end of a text, in seconds."""
    number, unit = re.search(r"about ([\d.e+]+) (\w+) left\s*$", text).groups()
    return float(number) * dict(_progress.UNITS)[unit]


def test_two_seconds_of_silence(time, stream):
    with opened(Line("fast", stream, time)) as line:
        for _ in steps(range(19), "step"):
            time.pass_(0.1)
            line.draw()
    assert stream.getvalue() == ""


def test_then_how_far_it_is_and_how_long_it_takes(time, stream):
    def results():
        for _ in range(4):
            time.pass_(1.0)
            yield

    with opened(Line("PSVCCV", stream, time)) as line:
        for gamma in steps(range(5), "gamma"):
            for number, _ in enumerate(finished(results(), "folds", 4)):
                if (gamma, number) == (2, 1):
                    line.draw()
    shown, done = re.findall(r"\[[^\r\n]*[^\s]", stream.getvalue())
    assert shown == "[PSVCCV] gamma 3 of 5, 2 of 4 folds | 50 % | 10 s, about 10 s left"
    assert done == "[PSVCCV] done in 20 s"


def test_a_terminal_has_one_line(time):
    terminal = Terminal()
    with opened(Line("work", terminal, time)) as line:
        for _ in steps(range(100), "a step with a name of changing length"):
            time.pass_(2.0)
            line.draw()
            assert len(terminal.seen) == 1 and terminal.seen[0].startswith("[work] ")
    assert terminal.seen == ["[work] done in 3.3 min", ""]


def test_a_long_line_is_cut_to_the_width_of_the_terminal(time, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    terminal = Terminal()
    with opened(Line("work", terminal, time)) as line:
        say("word " * 20)
        time.pass_(3)
        line.draw()
        assert len(terminal.seen[0]) <= 29
    assert terminal.seen == ["[work] done in 3 s", ""]


def test_a_file_gets_few_lines(time):
    file = io.StringIO()
    with opened(Line("work", file, time)) as line:
        for _ in steps(range(10_000), "step"):
            time.pass_(1.0)
            line.draw()
    lines = file.getvalue().splitlines()
    assert len(lines) <= 2 + np.log2(10_000 / _progress.PATIENCE)
    assert lines[-1] == "[work] done in 2.8 h"


def test_a_share_that_is_told_gives_the_time_left(time):
    line, told = Line("work", Terminal(), time), [0.0]
    with opened(line):
        for number in steps(iter(range(100)), "reading", share=lambda: told[0]):
            if number == 5:
                assert line.text(5.0) == "[work] reading | 25 % | 5 s, about 15 s left"
                break
            told[0] += 0.05
            time.pass_(1.0)


def test_the_time_left_falls_also_during_a_step(time):
    line, left = Line("work", Terminal(), time), []
    with opened(line):
        for _ in steps(range(10), "step"):
            for _ in range(5):
                time.pass_(2.0)
                text = line.text(time.now - line.began)
                if "left" in text:
                    left.append(seconds_left(text))
    assert left == sorted(left, reverse=True) and len(set(left)) > 20
    assert left[0] == 88  # 9 of 10 steps of 10 s, of which the first has lasted for 2 s
    assert left[-1] == 2


def test_a_slow_step_makes_the_estimate_grow(time):
    line = Line("work", Terminal(), time)
    with opened(line):
        for number in steps(range(4), "step"):
            time.pass_(1.0 if number == 0 else 100.0)
            if number == 1:
                # If this step ended now, two would have taken 101 s, and two would be left.
                assert seconds_left(line.text(101.0)) == pytest.approx(101, rel=0.05)
                break


def test_costs_of_steps_count(time):
    line, work = Line("path", Terminal(), time), [1, 2, 3, 4]
    with opened(line):
        for cost in steps(work, "point", work=work):
            text = line.text(time.now - line.began)
            assert ("left" in text) == (cost > 1)
            if cost > 1:
                assert f"{sum(work[: cost - 1]) * 10} %" in text
                assert seconds_left(text) == 7 * sum(work[cost - 1 :])
            time.pass_(7.0 * cost)


def test_steps_that_cost_nothing_do_not_count(time):
    """As those whose results were read from a file."""
    line = Line("search", Terminal(), time)
    with opened(line):
        for number in steps(range(4), "gamma", work=[0, 0, 5, 5]):
            if number == 2:
                assert "%" not in line.text(9.0)
            if number == 3:
                assert "gamma 4 of 4 | 50 %" in line.text(9.0)


def test_the_beginning_of_the_work_says_nothing_about_its_pace(time):
    line = Line("work", Terminal(), time)
    with opened(line):
        time.pass_(1000.0)
        for number in steps(range(2), "step"):
            if number == 1:
                assert line.text(1005.0).endswith("50 % | 17 min, about 5 s left")
            time.pass_(5.0)


def test_an_unknown_end_has_no_time_left(time):
    line = Line("PSVC", Terminal(), time)
    with opened(line):
        for _ in steps(iter(range(3)), "point"):
            for _ in finished(range(2), "folds", 2):
                say("epsilon 0.1 of the largest")
                time.pass_(3.0)
                text = line.text(time.now - line.began)
                assert "%" not in text and "left" not in text
    assert re.fullmatch(r"\[PSVC\] point 3, 2 of 2 folds, epsilon 0.1 of the largest \| 18 s", text)


def test_what_was_said_goes_with_its_step(time):
    line = Line("work", Terminal(), time)
    with opened(line):
        for number in steps(range(2), "step"):
            assert "remark" not in line.text(1.0)
            say("remark")
            assert f"step {number + 1} of 2, remark" in line.text(1.0)
        assert line.text(5.0) == "[work] 5 s"


def test_an_estimate_is_vague_at_the_beginning(time):
    line = Line("work", Terminal(), time)
    with opened(line):
        for number in steps(range(1000), "step"):
            time.pass_(1.234)
            if number == 11:
                assert line.text(14.8).endswith("about 20 min left")
                break


@given(st.floats(0, 1e7), st.integers(1, 2))
def test_durations_have_few_digits(seconds, digits):
    text = duration(seconds, digits)
    number, unit = text.split(" ")
    assert len(number.replace(".", "").rstrip("0")) <= digits or float(number) >= 100
    size = dict(_progress.UNITS)[unit]
    error = abs(float(number) * size - max(seconds, 1))
    assert error <= 0.5 * 10 ** (1 - digits) * max(seconds, 1) + (0.51 if unit == "s" else 1e-6)


def test_an_error_leaves_nothing_on_a_terminal(time):
    for terminal in (Terminal(), io.StringIO()):
        with pytest.raises(KeyboardInterrupt), opened(Line("work", terminal, time)) as line:
            for number in steps(range(5), "step"):
                time.pass_(3.0)
                line.draw()
                if number == 1:
                    raise KeyboardInterrupt
        if line.terminal:
            assert terminal.seen == [""] and terminal.getvalue().endswith("\r")
        else:
            assert "done" not in terminal.getvalue()
        assert _progress._line() is None


def test_loops_that_end_early(time):
    line = Line("work", Terminal(), time)
    with opened(line):
        for _ in steps(range(2), "step"):
            for _ in steps(range(9), "part"):
                break
            with pytest.raises(OSError):
                for _ in steps(range(9), "share"):
                    _full("text")
        # Two loops side by side: the outer one takes the inner one along.
        assert list(zip(steps(range(3), "a"), steps(range(3), "b"), strict=True))
        assert line.text(1.0) == "[work] 1 s"


@pytest.mark.parametrize("broken", [None, "closed", "full"])
def test_work_goes_on_without_a_stream(time, broken, monkeypatch):
    stream = io.StringIO()
    if broken == "closed":
        stream.close()
    if broken == "full":
        monkeypatch.setattr(stream, "write", _full)
    if broken is None:
        monkeypatch.setattr("sys.stderr", None)
    with opened(Line("work", None if broken is None else stream, time)) as line:
        for _ in steps(range(5), "step"):
            time.pass_(2.0)
            line.draw()


def _full(text):
    raise OSError(28, "No space left on device")


def test_without_a_line_loops_are_as_they_are():
    assert list(steps("abc", "letter")) == list(finished("abc", "letters", 3)) == list("abc")
    say("nothing")
    with progress("silent", False):
        assert _progress._line() is None


def test_work_inside_of_work_has_no_line_of_its_own(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    with progress("outer"), progress("inner"), progress("silent", False):
        pass
    assert re.findall(r"\[(\w+)\] done", capsys.readouterr().err) == ["outer"]


def test_other_threads_are_silent(time):
    terminal, seen = Terminal(), []

    def work(number):
        seen.append(_progress._line())
        return list(steps(range(number), "inner"))

    with opened(Line("work", terminal, time)) as line:
        thread = threading.Thread(target=lambda: seen.append(_progress._line()))
        thread.start()
        thread.join()
        assert seen == [None]
        found = results(work, [(n,) for n in range(6)], 2, prefer="threads")
        assert [next(found), next(found)] == [[], [0]]
        assert "2 of 6 folds" in line.text(1.0)
        assert list(found) == [list(range(n)) for n in range(2, 6)]
    assert seen == [None] * 7


def test_threads_have_lines_of_their_own(time):
    """Each counts its own steps."""
    ready, texts = threading.Barrier(2), {}

    def work(name, count):
        with opened(Line(name, Terminal(), time)) as line:
            for _ in steps(range(count), "step"):
                ready.wait()
            for number in steps(range(count), "step"):
                if number == count - 1:
                    texts[name] = line.text(1.0)

    threads = [threading.Thread(target=work, args=(name, 3)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == {name: f"[{name}] step 3 of 3 | 67 % | 1 s" for name in "ab"}


def test_the_ticking_thread_draws_and_ends(monkeypatch):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    monkeypatch.setattr(_progress, "PERIOD", 0.001)
    before, drawn = threading.active_count(), threading.Event()
    line = Line("work", Terminal())
    monkeypatch.setattr(line, "draw", drawn.set)
    with opened(line), line.ticking():
        assert drawn.wait(60)
    assert threading.active_count() == before


# ---------------------------------------------------------------- who shows it

X, y = make_moons(40, noise=0.2, random_state=0)
GENES = {"n_features": [1, 2], "smoothing": 0, "cv": 3, "n_epsilons": 3}
WORK = {
    "PSVC": lambda verbose: PSVC(verbose=verbose).fit(X, y),
    "PSVCCV": lambda verbose: PSVCCV(gammas=[1.0], verbose=verbose).fit(X, y),
    "PSVMSelector": lambda verbose: PSVMSelector(verbose=verbose).fit(X, y),
    "StabilitySelector": lambda verbose: StabilitySelector(1, verbose=verbose).fit(X, y),
    "KnockoffSelector": lambda verbose: KnockoffSelector(0.9, verbose=verbose).fit(X, y),
    "SpheredSVCCV": lambda verbose: SpheredSVCCV(lams=[0.5], verbose=verbose).fit(X, y),
    "GeneSelector": lambda verbose: GeneSelector(**GENES, verbose=verbose).fit(X, y),
    "cross_val_error": lambda verbose: cross_val_error(PSVC(epsilon=1.0, verbose=verbose), X, y),
    "cross_validate": lambda verbose: cross_validate(DummyClassifier(), X, y, verbose=verbose),
    "compare": lambda verbose: compare([DummyClassifier()], X, y, cv=2, verbose=verbose),
    "permutation_test": lambda verbose: permutation_test(
        DummyClassifier(), X, y, n_permutations=3, verbose=verbose
    ),
    "rank_features": lambda verbose: rank_features(X, y, n_features=1, verbose=verbose),
}


@pytest.mark.parametrize("name", WORK)
def test_verbose_shows_the_progress_of_long_work(name, capsys, monkeypatch):
    monkeypatch.setattr(_progress, "PATIENCE", 0.0)
    WORK[name](False)
    assert capsys.readouterr() == ("", "")
    WORK[name](True)
    assert f"[{name}] done in" in capsys.readouterr().err
    monkeypatch.setattr(_progress, "PATIENCE", 1e6)
    WORK[name](True)
    assert capsys.readouterr().err == ""


def test_machines_and_points_of_the_path_are_counted(time, monkeypatch):
    said = []
    monkeypatch.setattr("psvm.choice._walk.say", said.append)
    labels = np.arange(40) % 3
    line, texts = Line("work", Terminal(), time), []
    advance = line.advance
    monkeypatch.setattr(line, "advance", lambda level: (texts.append(level.text), advance(level)))
    with opened(line):
        PSVC(kernel="rbf").fit(X, labels)
    assert texts == ["machine 1 of 3", "machine 2 of 3", "machine 3 of 3"]
    assert said[0] == "epsilon 1 of the largest, 0 support objects"


def test_a_model_counts_candidates(time, monkeypatch):
    line, texts = Line("work", Terminal(), time), set()
    advance = line.advance
    monkeypatch.setattr(line, "advance", lambda level: (texts.add(level.text), advance(level)))
    with opened(line):
        PSVC().fit(X, y)
    assert {f"candidate {i} of 5" for i in range(1, 6)} <= texts


def test_a_search_counts_candidates(time, monkeypatch):
    line, texts = Line("work", Terminal(), time), set()
    advance = line.advance

    def advanced(level):
        texts.add(line.text(1.0))
        advance(level)

    monkeypatch.setattr(line, "advance", advanced)
    with opened(line):
        PSVCCV(kernel="rbf", gammas=[0.1, 1.0], cv=3).fit(X, y)
    assert any(t.startswith("[work] 1 of 2 candidates") for t in texts)


# ---------------------------------------------------------------- the commands on a terminal

T = ("--target", "y")
COMMANDS = {
    "check": ("check", "big.csv", *T),
    "convert": ("convert", "big.csv", "t.npz", *T),
    "fit": ("fit", "t.csv", *T, "--model", "n.psvm"),
    "fit, blocks": ("fit", "big.csv", *T, "--memory", "0.2", "--model", "n.psvm", "--epsilon", "9"),
    "fit, sums": ("fit", "s.moments", "--model", "n.psvm"),
    "predict": ("predict", "m.psvm", "big.csv"),
    "cv": ("cv", "t.csv", *T),
    "tune": ("tune", "t.csv", *T, "--model", "n.psvm"),
    "select": ("select", "t.csv", *T),
    "path": ("path", "t.csv", *T),
    "compare": ("compare", "t.csv", *T),
    "report": ("report", "t.csv", *T, "--model", "m.psvm", "--output", "r.html"),
    "info": ("info", "m.psvm"),
    "plan": ("plan", "big.csv", *T, "--landmarks", "3", "-o", "q.npz"),
    "moments": ("moments", "big.csv", *T, "--landmarks-from", "p.npz", "-o", "u.moments"),
}
UNKNOWN_END = {
    "path": "epsilon ",
    "fit, blocks": "block ",
    "plan": "block ",
    "moments": "block ",
}
"""Work whose end nobody knows says where it is."""
SHORT = {"info", "fit, sums"}
"""One look into a file, or one machine from sums: the line has the time alone."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Small and larger tables, a model, a plan and sums."""
    pytest.importorskip("click")
    pytest.importorskip("rich")
    from psvm.cli import main

    folder, rng = tmp_path_factory.mktemp("progress"), np.random.default_rng(0)
    for name, n in (("t.csv", 40), ("big.csv", 30_000)):
        Z = rng.normal(size=(n, 3))
        rows = [f"{a:.12f},{b:.12f},{c:.12f},{'uv'[int(a + b > 0)]}\n" for a, b, c in Z]
        (folder / name).write_text("a,b,c,y\n" + "".join(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["fit", "t.csv", *T, "--model", "m.psvm", "--no-cv", "-q"]) == 0
        assert main(["plan", "big.csv", *T, "--landmarks", "3", "-o", "p.npz", "-q"]) == 0
        moments = ["moments", "big.csv", *T, "--landmarks-from", "p.npz", "-o", "s.moments", "-q"]
        assert main(moments) == 0
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_shows_how_far_it_is(name, files, monkeypatch):
    """Every look at the work is shown, as if it had lasted for long."""
    from psvm.cli import main

    monkeypatch.chdir(files)
    monkeypatch.setattr(_progress, "PATIENCE", 1e-9)
    monkeypatch.setattr(Line, "advance", drawing(Line.advance))
    monkeypatch.setattr(Line, "close", drawing(Line.close))
    monkeypatch.setattr("psvm.io._csv.BLOCK", 2**16)
    monkeypatch.setattr(Line, "__init__", with_slow_clock(Line.__init__))
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert main([str(part) for part in COMMANDS[name]]) in (0, 5), terminal.getvalue()
    drawn = [t.strip() for t in re.split(r"[\r\n]", terminal.getvalue()) if t.startswith("[psvm ")]
    assert any(f"[psvm {COMMANDS[name][0]}] done in" in text for text in drawn)
    if name in UNKNOWN_END:
        assert any(UNKNOWN_END[name] in text for text in drawn)
    elif name not in SHORT:
        assert any(re.search(r" \d+ % \| .* about .* left$", text) for text in drawn), drawn


def drawing(method):
    def drawn(line, *arguments):
        line.draw()
        method(line, *arguments)

    return drawn


def with_slow_clock(init):
    """A clock that goes on by a second at each look."""

    def initialised(line, name, stream=None, clock=None):
        seconds = iter(range(10**9))
        init(line, name, stream, lambda: float(next(seconds)))

    return initialised
