"""The real benchmark data: where it is, and the sets as the experiments use them.

The folder is the environment variable PSVM_DATA, else ``../shared/data`` beside the repository.
"""

import os
from pathlib import Path

import numpy as np
from sklearn.preprocessing import minmax_scale

ROOT = Path(__file__).resolve().parent.parent


def data_dir():
    """The folder with the data, or None."""
    named = os.environ.get("PSVM_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    return folder if folder.is_dir() else None


def load(name):
    """One archive, such as ``load("uci/abalone")``; FileNotFoundError if the data is not there."""
    folder = data_dir()
    if folder is None:
        raise FileNotFoundError("no benchmark data: set PSVM_DATA to its folder")
    with np.load(folder / f"{name}.npz") as archive:
        return dict(archive)


def raetsch(name):
    """X, y, training and test splits of a set of the Rätsch repository."""
    d = load(f"uci/raetsch_{name}")
    return d["X"].astype(float), d["y"].astype(float), d["train"], d["test"]


def regression(name):
    """X and y of a regression set."""
    d = load(f"uci/{name}")
    return d["X"].astype(float), d["y"].astype(float)


def paper_settings(name):
    """What Knebel et al. 2008 solve in Table 1: X, y and the estimator's parameters."""
    if name == "abalone":
        X, y = regression("abalone")
        return X, y, {"kernel": "rbf", "gamma": 1.0, "C": 5000.0, "epsilon": 0.003}
    if name == "space_ga":
        X, y = regression("space_ga")
        X = minmax_scale(X, (-1, 1))
        return X, y, {"kernel": "rbf", "gamma": 1.0, "C": 1000.0, "epsilon": 0.0006}
    if name == "heart":
        X, y = regression("heart_statlog")
        X = minmax_scale(X, (-1, 1))
        return X, y, {"kernel": "rbf", "gamma": 0.05, "C": 1000.0, "epsilon": 0.44}
    # arcene: Table 1 uses the 100 training rows, Table 2 training and validation rows together
    d = load("uci/arcene")
    parts = ("train",) if name == "arcene" else ("train", "valid")
    X = np.vstack([d[f"X_{part}"] for part in parts]).astype(float)
    y = np.concatenate([d[f"y_{part}"] for part in parts]).astype(float)
    return X, y, {"kernel": "linear", "C": 100.0, "epsilon": 0.002}
