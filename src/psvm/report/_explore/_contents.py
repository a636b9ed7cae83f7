"""What the interactive page holds: paths, and as much of the data as its size allows."""

import base64

import numpy as np

from ...matrix import Standardized, as_matrix

MOST_ROWS = 2000
"""Rows whose predictions the page shows."""
KEPT, EXACT = 180_000, 75_000
"""Entries of the standardised matrix on the page, and up to how many they have double precision."""
EXTRA = 50_000
"""Entries of columns that are there to be looked at only, with 16 bits each."""
MOST_NAMES = 5000
"""Columns up to which those that never enter can be searched by name."""
N_STAND_INS = 5
STEPS = 65_535
"""Levels of numbers that are stored with 16 bits."""


def contents(subject, machines, title):
    """A dict of plain values and encoded arrays, which becomes the JSON of the page.

    Parameters
    ----------
    subject : Subject
    machines : list of ExploredMachine
    title : str
    """
    entered = np.array(list(dict.fromkeys(j for m in machines for j in m.path.order.tolist())))
    K = Standardized(as_matrix(subject.K))
    rows = _shown_rows(machines[0].y, len(entered))
    values = K.submatrix(rows, entered)
    exact = values.size <= EXACT
    place = np.full(K.shape[1], -1)
    place[entered] = np.arange(len(entered))
    stand_ins = _stand_ins(K, entered, subject.features)
    extra, columns = _extra_columns(subject, stand_ins, place, rows, machines[0].y)
    names = subject.column_names
    return {
        "title": title,
        "what": subject.what,
        "classifier": subject.classes is not None,
        "classes": subject.classes,
        "target": subject.target,
        "rows": [subject.row_names[i] for i in rows],
        "labels": None if subject.labels is None else subject.labels[rows].tolist(),
        "epsilon": subject.epsilon,
        "n_rows": K.shape[0],
        "n_columns": K.shape[1],
        "names": [names[j] for j in entered],
        "others": _others(names, place),
        "means": numbers(K.means[entered]),
        "norms": numbers(K.norms[entered]),
        "K": numbers(values.T, "f8" if exact else "f4"),
        "stand_ins": [[[names[j], round(float(r), 4)] for j, r in found] for found in stand_ins],
        "extra": extra,
        "columns": coarse(columns),
        "machines": [
            _machine(m, place, rows, line) for m, line in zip(machines, subject.python, strict=True)
        ],
    }


def _machine(machine, place, rows, python):
    path, alphas = machine.path, machine.path.knot_alphas
    return {
        "name": machine.name,
        "python": python,
        "y": numbers(machine.y[rows]),
        "b": float(np.mean(machine.y)),
        "knots": numbers(path.knots),
        "starts": numbers(alphas.indptr, "u4"),
        "index": numbers(place[alphas.indices], "u4"),
        "alpha": numbers(alphas.data),
        "order": place[path.order].tolist(),
        "epsilons": numbers(machine.epsilons),
        "held_out": coarse(machine.held_out[:, rows]),
        "errors": numbers(machine.errors),
        "standard_errors": numbers(machine.standard_errors),
        "chosen": machine.chosen,
        "baseline": machine.baseline,
    }


def _shown_rows(y, n_columns):
    """The rows that are shown: all, or some that are spread over the values of the target."""
    most = min(MOST_ROWS, max(KEPT // n_columns, 1))
    if len(y) <= most:
        return np.arange(len(y))
    places = np.linspace(0, len(y) - 1, most).round().astype(np.intp)
    return np.sort(np.argsort(y, kind="stable")[places])


def _stand_ins(K, entered, wanted):
    """For each column that entered, the others most correlated with it, largest first."""
    if not wanted:
        return [[] for _ in entered]
    found = []
    for j, r in zip(entered, K.gram_columns(entered).T, strict=True):
        r[j] = 0.0
        best = np.argsort(-np.abs(r), kind="stable")[:N_STAND_INS]
        found.append([(int(i), r[i]) for i in best if r[i] != 0])
    return found


def _extra_columns(subject, stand_ins, place, rows, y):
    """Names and values of columns to look at: stand-ins, or the features behind a kernel."""
    n = max(EXTRA // len(rows), 2)
    if subject.features:
        index = [j for found in stand_ins for j, _ in found if place[j] < 0]
        index, matrix, names = list(dict.fromkeys(index))[:n], subject.K, subject.column_names
    elif subject.X is not None:
        matrix, names = subject.X, subject.feature_names
        l = np.abs(Standardized(as_matrix(matrix), y=y).correlations(y))
        index = np.sort(np.argsort(-l, kind="stable")[:n]).tolist()
    else:
        return [], np.empty((0, len(rows)))
    if not index:
        return [], np.empty((0, len(rows)))
    columns = as_matrix(matrix).submatrix(rows, np.array(index))
    return [names[j] for j in index], columns.T


def _others(names, place):
    """Names of the columns that never enter, if they are few enough to be searched."""
    left = np.flatnonzero(place < 0)
    return [names[j] for j in left] if len(left) <= MOST_NAMES else None


def numbers(values, kind="f8"):
    """An array as text: its type, and its little-endian bytes in base 64."""
    data = np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()
    return {"kind": kind, "data": base64.b64encode(data).decode()}


def coarse(values):
    """Rows of numbers with 16 bits each, and the least and greatest value of each row."""
    if not values.size:
        return {"low": [], "high": [], "levels": numbers([], "u2")}
    low, high = values.min(axis=1), values.max(axis=1)
    width = np.where(high > low, high - low, 1.0)
    levels = np.rint((values - low[:, None]) / width[:, None] * STEPS)
    return {"low": low.tolist(), "high": (low + width).tolist(), "levels": numbers(levels, "u2")}
