"""The command line in this process, and the small tables that it is tried on."""

import csv
import json

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")
from psvm.cli import main


def run(*arguments):
    """The exit code of a command."""
    return int(main([str(a) for a in arguments]))


def as_json(capsys, *arguments):
    """The exit code of a command and what it answers as JSON."""
    capsys.readouterr()
    code = run(*arguments, "--json")
    return code, json.loads(capsys.readouterr().out)


def write(path, header, rows, delimiter=","):
    """Write a table; returns its path."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    return str(path)
