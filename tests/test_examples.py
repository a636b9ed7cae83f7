"""The examples of the gallery draw a figure, and what their pictures claim is so."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def landmarks(found):
    for model in found["models"].values():
        assert 0 < model.n_support_ < 34 and model.score(found["X"], found["y"]) == 1


def indefinite(found):
    rbf, sine = found["models"]["RBF"], found["models"]["sine"]
    assert sine.n_support_ < rbf.n_support_
    assert sine.score(found["X_new"], found["y_new"]) > rbf.score(found["X_new"], found["y_new"])


def sphered(found):
    turned = {}
    for lam, (before, after) in found["models"].items():
        lines = (
            found["line"](before, found["x"], np.ones(2)),
            found["line"](after, found["x"], found["scale"]),
        )
        turned[lam] = np.ptp(lines, axis=0).max()
    # The lines of the Sphered SVM agree to the solver's tolerance of 1e-8 times the condition.
    assert turned[1.0] > 0.3 and turned[0.0] < 1e-4


def rejection(found):
    kept = ~found["rejected"]
    right = found["model"].predict(found["X_new"]) == found["y_new"]
    assert right[kept].mean() > right.mean()


def tanimoto(found):
    assert set(found["planted"]) <= set(found["order"][:4])


CLAIMS = {
    "plot_complex_features": landmarks,
    "plot_indefinite": indefinite,
    "plot_sphered": sphered,
    "plot_rejection": rejection,
    "plot_tanimoto": tanimoto,
}


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize(
    "script", sorted(EXAMPLES.glob("plot_*.py")), ids=lambda script: script.stem
)
def test_examples_draw_a_figure(script, tmp_path, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.close("all")
    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    try:
        found = runpy.run_path(str(script), run_name="__main__")
        assert plt.get_fignums()
        CLAIMS.get(script.stem, lambda found: None)(found)
    finally:
        plt.close("all")


def test_fingerprints():
    command = [sys.executable, EXAMPLES / "fingerprints.py"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    errors = {k: float(v) for k, v in re.findall(r"(.*): ([\d.]+) % error", printed)}
    assert errors["tanimoto, five selected bits"] < 5 < errors["tanimoto, all bits"]
    assert {"17", "404", "900"} <= set(printed.split("\nselected bits: ")[1].split())
