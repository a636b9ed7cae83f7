"""Every code block of README and docs runs as it is printed, and every public name has its page."""

import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import webbrowser
from pathlib import Path

import pytest

import psvm

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
GENERATED = ("auto_examples", "reference/api", "reference/backreferences")
PAGES = [
    ROOT / "README.md",
    *sorted(
        page
        for page in DOCS.rglob("*.md")
        if not page.relative_to(DOCS).as_posix().startswith(GENERATED)
    ),
]
BLOCK = re.compile(r"^```(python|sh|text|toml)\n(.*?)^```$", re.S | re.M)
CHECK = doctest.OutputChecker()
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Set-up of a machine, which the tests themselves rely on.
NOT_RUN = ("pip ", "make ", "git ", "python -m venv", "psvm play")


def importable(name):
    """Whether a package is there and works with the others; old versions may not."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def blocks(page):
    """Language, code and place of the fenced blocks of a page, with the output that follows."""
    text = page.read_text()
    found = list(BLOCK.finditer(text))
    for i, block in enumerate(found):
        language, code = block.groups()
        needs = re.search(r"<!-- needs ([\w.]+) -->\n$", text[: block.start()])
        if language in ("text", "toml") or (needs and not importable(needs[1])):
            continue
        after = found[i + 1] if i + 1 < len(found) else None
        follows = after and after[1] == "text" and not text[block.end() : after.start()].strip()
        place = f"{page.name}:{text[: block.start()].count(chr(10)) + 2}"
        yield language, code, after[2] if follows else None, place


def python(code, names, place):
    line = int(place.rpartition(":")[2])
    exec(compile("\n" * (line - 1) + code, place, "exec"), names)


def shell(code):
    from psvm.cli import main

    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if not words or line.startswith(NOT_RUN):
            continue
        if words[0] == "cd":
            os.chdir(words[1])
            continue
        assert words[0] == "psvm", f"not a command of psvm: {line}"
        code = main(words[1:])
        assert code == 0, f"{line}: exit code {code}"


def runs(page, folder, monkeypatch):
    """Run the blocks of a page in an empty folder, one after the other, with common names."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    names = {"__name__": "__main__"}
    for language, code, output, place in blocks(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            python(code, names, place) if language == "python" else shell(code)
        if output is not None:
            got = printed.getvalue()
            same = CHECK.check_output(output, got, LOOSE)
            assert same, f"{place} should print\n{output}\nand prints\n{got}"
    doctests = doctest.DocTestParser().get_doctest(page.read_text(), names, page.name, None, 0)
    result = doctest.DocTestRunner(optionflags=LOOSE).run(doctests)
    assert not result.failed


def has_code(page):
    return any(True for _ in blocks(page)) or ">>>" in page.read_text()


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize(
    "page", [p for p in PAGES if has_code(p)], ids=lambda p: p.relative_to(ROOT).as_posix()
)
def test_code_of_pages_runs(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    try:
        runs(page, tmp_path, monkeypatch)
    finally:
        plt.close("all")


def test_every_public_name_has_a_page(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import public_names

    rooms = {f"psvm.{room}" for room in psvm._ROOMS if getattr(psvm, room).__all__}
    assert rooms <= set(public_names.ROOMS)
    for room, title in public_names.ROOMS.items():
        page = public_names.page(room, title)
        here, also = public_names.names(room)
        assert all(f"\n   {name}\n" in page for name in here)
        assert all(f"`psvm.{name}`" in page and name in psvm.__all__ for name in also)


def test_every_page_is_in_a_table_of_contents():
    """A page that no table of contents names cannot be found."""
    named = {DOCS / "index.md"}
    for page in DOCS.rglob("*.md"):
        for tree in re.findall(r"^:::\{toctree\}\n(.*?)^:::$", page.read_text(), re.S | re.M):
            for line in tree.splitlines():
                name = re.sub(r".*<(.+)>$", r"\1", line.strip())
                if name and not name.startswith(":"):
                    named.add((page.parent / f"{name}.md").resolve())
    pages = {page for page in PAGES if page.is_relative_to(DOCS)}
    assert not pages - named
