"""The gallery examples run, and what their pictures claim is so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def run(name, picture):
    pytest.importorskip("matplotlib")
    command = [sys.executable, EXAMPLES / name, picture]
    env = os.environ | {"MPLBACKEND": "Agg"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout


def test_landmarks(tmp_path):
    printed = run("plot_sine_landmarks.py", tmp_path / "a.png")
    counts = [int(n) for n in re.findall(r"(\d+) of 50, accuracy 1.00", printed)]
    assert len(counts) == 3 and all(0 < n < 34 for n in counts)
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_pairwise(tmp_path):
    printed = run("plot_sine_pairwise.py", tmp_path / "a.png")
    found = re.findall(r"(\d+) support objects, error ([\d.]+)", printed)
    (n_rbf, e_rbf), (n_sine, e_sine) = ((int(n), float(e)) for n, e in found)
    assert n_sine < n_rbf and e_sine < e_rbf
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_sphered(tmp_path):
    printed = run("plot_sphered.py", tmp_path / "a.png")
    angles = [float(a) for a in re.findall(r"(-?[\d.]+)°", printed)]
    # The angles are equal up to the solver's tolerance of 1e-8, and are printed with two digits.
    assert abs(angles[0] - angles[1]) > 5 and abs(angles[2] - angles[3]) < 0.015
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_evaluation(tmp_path):
    printed = run("plot_evaluation.py", tmp_path / "a.png")
    lines = printed.splitlines()
    assert [line.split("  ")[0] for line in lines[:4]] == [
        "model",
        "P-SVM (reference)",
        "SVM",
        "kernel Fisher",
    ]
    for whole, part in re.findall(
        r"error ([\d.]+), without the least sure fifth ([\d.]+)", printed
    ):
        assert float(part) < float(whole) / 2
    assert (tmp_path / "a.png").stat().st_size > 5000


def test_fingerprints():
    command = [sys.executable, EXAMPLES / "fingerprints.py"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    errors = {k: float(v) for k, v in re.findall(r"(.*): ([\d.]+) % error", printed)}
    assert errors["tanimoto, five selected bits"] < 5 < errors["tanimoto, all bits"]
    assert {"17", "404", "900"} <= set(printed.split("\nselected bits: ")[1].split())
