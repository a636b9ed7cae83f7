"""What the README shows is what one gets; every docstring example runs."""

import ast
import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path

import pytest

import psvm

ROOT = Path(__file__).resolve().parent.parent


def test_first_example_prints_what_the_readme_says():
    code, output = re.findall(
        r"```(?:python|text)\n(.*?)```", (ROOT / "README.md").read_text(), re.S
    )[:2]
    assert len(code.strip().splitlines()) <= 10
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, {})
    assert printed.getvalue() == output


def test_citation_has_the_version():
    version = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.M)[1]
    assert version == psvm.__version__


PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


def anchors(page):
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = page.read_text()
    for name, anchor in re.findall(r"\]\((?!http)([^)#\s]*)#?([^)\s]*)\)", text):
        target = page.parent / name if name else page
        assert target.is_file(), name
        assert not anchor or anchor in anchors(target), f"{name}#{anchor}"
    for name in re.findall(r"`((?:tests|benchmarks|examples)/[\w/.]+)`", text):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`psvm/([\w/.]+)`", text):
        assert (Path(psvm.__file__).parent / name).exists(), name


MODULES = ["psvm", *(m.name for m in pkgutil.walk_packages(psvm.__path__, "psvm."))]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_type_checkers_see_the_public_names():
    tree = ast.parse(Path(psvm.__file__).read_text())
    seen = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    rooms = {name for name, module in seen.items() if module is None}
    assert rooms == set(psvm._ROOMS)
    assert {name: module for name, module in seen.items() if module} == psvm._HOME


@pytest.mark.parametrize("name", psvm.__all__)
def test_public_names_have_examples(name):
    assert ">>>" in getattr(psvm, name).__doc__
