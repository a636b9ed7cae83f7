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
    assert seen == psvm._HOME


@pytest.mark.parametrize("name", psvm.__all__)
def test_public_names_have_examples(name):
    assert ">>>" in getattr(psvm, name).__doc__
