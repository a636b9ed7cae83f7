"""What is asked for, checked, and what the P-SVM and an SVM make of it."""

import base64
import time
import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.svm import SVC, SVR

from ... import PSVC, PSVR
from ...estimators import solutions
from ...kernels import make_kernel

MOST_POINTS, MOST_CLASSES = 500, 4
SIZE, CURVE = 60, 240
"""Cells along a side of the regions, and places of a regression curve."""
KERNELS = ("rbf", "laplacian", "poly", "linear", "sine")
TUBE, LONGEST = 0.05, 200_000
"""Half width of the tube of an SVR, and the steps after which LIBSVM gives up."""
RANGES = {"gamma": (1e-3, 1e4), "C": (1e-6, 1e9), "epsilon": (1e-6, 1.0), "C_svm": (1e-6, 1e9)}


@dataclass(frozen=True)
class Question:
    """Points between -1 and 1, their classes, and the parameters."""

    points: np.ndarray
    labels: np.ndarray
    regression: bool
    kernel: str
    gamma: float
    C: float
    epsilon: float
    """As a share of the smallest one that selects nothing."""
    C_svm: float


def make_question(asked):
    """A question of what was sent; a ValueError says what is wrong with it."""
    if not isinstance(asked, dict):
        raise ValueError("The question must be a JSON object.")
    points = _numbers(asked, "points", 2)
    labels = _numbers(asked, "labels", 1)
    regression = asked.get("regression", False)
    if not isinstance(regression, bool):
        raise ValueError("regression must be true or false.")
    if not 1 <= len(points) <= MOST_POINTS or points.shape[1:] != (2,):
        raise ValueError(f"points must hold 1 to {MOST_POINTS} pairs of numbers.")
    if len(labels) != len(points) or not np.isin(labels, range(MOST_CLASSES)).all():
        raise ValueError(f"labels must hold a number from 0 to {MOST_CLASSES - 1} for each point.")
    if np.abs(points).max() > 1:
        raise ValueError("points must lie between -1 and 1.")
    if asked.get("kernel") not in KERNELS:
        raise ValueError(f"kernel must be one of {', '.join(KERNELS)}.")
    given = {name: _parameter(asked, name, *ends) for name, ends in RANGES.items()}
    return Question(points, labels.astype(int), regression, asked["kernel"], **given)


def _numbers(asked, name, ndim):
    try:
        values = np.array(asked.get(name), dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(())
    if values.ndim != ndim or not np.isfinite(values).all():
        raise ValueError(f"{name} must be a list of finite numbers.")
    return values


def _parameter(asked, name, least, most):
    value = asked.get(name)
    if name == "C" and value is None:
        return np.inf
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}.")
    return float(value)


def answer(question):
    """What both machines say, as values for JSON."""
    if question.regression:
        return _curves(question)
    if len(np.unique(question.labels)) < 2:
        raise ValueError("Put points of at least two classes.")
    return _regions(question)


def grid():
    """The centres of the cells of the regions, row by row from the top."""
    centres = (np.arange(SIZE) + 0.5) * 2 / SIZE - 1
    return np.column_stack([np.tile(centres, SIZE), np.repeat(-centres, SIZE)])


def psvm_model(question):
    """The P-SVM that is asked for, as the papers have it."""
    options = {"theta": question.gamma, "coef0": 1.0, "threshold": "mean"}
    shared = {"kernel": question.kernel, "gamma": question.gamma, "C": question.C, **options}
    made = PSVR if question.regression else PSVC
    return made(epsilon=question.epsilon, epsilon_unit="max", **shared)


def _regions(question):
    X, y, G = question.points, question.labels, grid()
    model, ours = _timed(psvm_model(question), X, y)
    values, wrong = model.decision_function(G), int((model.predict(X) != y).sum())
    ours |= {"classes": _codes(model.predict(G)), "values": _values(values), "wrong": wrong}
    K, K_G = _svm_matrices(question, X, G)
    svc = SVC(C=question.C_svm, kernel="precomputed", max_iter=LONGEST)
    svc, theirs = _timed(svc, K, y)
    values, wrong = svc.decision_function(K_G), int((svc.predict(K) != y).sum())
    theirs |= {"classes": _codes(svc.predict(K_G)), "values": _values(values), "wrong": wrong}
    theirs["support"] = svc.support_.tolist()
    return {"size": SIZE, "psvm": {**ours, **_certificate(model)}, "svm": theirs}


def _curves(question):
    X, y = question.points[:, :1], question.points[:, 1]
    if len(X) < 2 or np.ptp(y) == 0:
        raise ValueError("Put points of at least two heights.")
    G = np.linspace(-1, 1, CURVE)[:, None]
    model, ours = _timed(psvm_model(question), X, y)
    ours |= {"curve": model.predict(G).tolist(), "rmse": _rmse(model.predict(X), y)}
    K, K_G = _svm_matrices(question, X, G)
    svr = SVR(C=question.C_svm, epsilon=TUBE, kernel="precomputed", max_iter=LONGEST)
    svr, theirs = _timed(svr, K, y)
    theirs |= {"curve": svr.predict(K_G).tolist(), "rmse": _rmse(svr.predict(K), y)}
    theirs |= {"support": svr.support_.tolist(), "tube": TUBE}
    return {"size": CURVE, "psvm": {**ours, **_certificate(model)}, "svm": theirs}


def _timed(model, X, y):
    """The fitted model and the milliseconds it took; warnings become part of the answer."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(X, y)
        spent = 1000 * (time.perf_counter() - start)
    return model, {"ms": spent, "warnings": [str(w.message) for w in caught][:1]}


def _certificate(model):
    found = solutions(model)
    return {
        "support": model.support_.tolist(),
        "objective": float(sum(s.objective for s in found)),
        "gap": float(model.dual_gap_),
        "epsilon": float(np.max(model.epsilon_)),
    }


def _svm_matrices(question, X, G):
    """The kernel among the points, and between the cells and the points."""
    gamma = question.gamma
    options = {"gamma": gamma, "theta": gamma, "degree": 3, "coef0": 1.0, "rho": 1.0, "zeta": 1.0}
    kernel = make_kernel(question.kernel, **options)
    return kernel(X, X), kernel(G, X)


def _rmse(found, y):
    return float(np.sqrt(np.mean(np.square(found - y))))


def _codes(classes):
    return base64.b64encode(classes.astype(np.uint8).tobytes()).decode()


def _values(values):
    """Decision values of two classes; nothing of several."""
    if values.ndim > 1:
        return None
    return base64.b64encode(values.astype("<f4").tobytes()).decode()
