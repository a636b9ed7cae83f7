"""Models as Python source that predicts by NumPy alone."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._typing import Estimator
from .._validation import check_has
from ..choice import LEAST_PROBABILITY, Sigmoid
from ..estimators import (
    PER_COLUMN,
    BasePSVM,
    is_measured,
    support_values,
    unwrap,
)
from ..kernels import Rescaled
from ..matrix import as_dense
from ._export_kernels import expression, kernel_functions
from ._export_steps import FUNCTIONS, StepWriter, has_words, literal


def export_numpy(model: Estimator) -> str:
    """Python source with ``predict(X)`` for a fitted model; it needs only NumPy.

    Parameters
    ----------
    model : PSVC, PSVR, or a pipeline or search of one
        With a kernel of vectors or a measured matrix. Before it a pipeline may impute, encode
        categories, scale and select: `ColumnTransformer`, `SimpleImputer`, `OneHotEncoder`, the
        scalers of scikit-learn, `Normalizer`, `VarianceThreshold`, logarithms and selectors of
        psvm.

    Returns
    -------
    str
        The code contains ``predict(X)`` and, for a classifier, ``decision_function(X)`` and
        ``predict_proba(X)`` if the model has probabilities. Numbers are written with all their
        digits. X is an array, or a DataFrame if the model was fitted to one; its columns are then
        found by name.

    Examples
    --------
    >>> import psvm.persistence
    >>> model = psvm.PSVR(kernel="linear", epsilon=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> scope = {}
    >>> exec(psvm.persistence.export_numpy(model), scope)
    >>> bool(abs(scope["predict"]([[5.0]]) - model.predict([[5.0]]))[0] < 1e-12)
    True
    """
    check_has("model", model, "fit")
    check_is_fitted(model)
    parts = unwrap(model)
    before, machine = [step for _, step in parts.steps], parts.machine
    if not isinstance(machine, BasePSVM):
        raise TypeError(
            f"{type(machine).__name__} cannot be written as NumPy code; only PSVR and PSVC can."
        )
    writer = StepWriter()
    last: dict[str, str] = {}
    for step in before:
        writer.write(step)
    columns = _columns(machine, last, writer.lines)
    first = next((step for step in before if hasattr(step, "n_features_in_")), machine)
    names = getattr(first, "feature_names_in_", None)
    constants = {
        "N_FEATURES": repr(int(first.n_features_in_)),
        "FEATURES": repr(None if names is None else names.tolist()),
        **writer.constants,
    }
    for short, name in zip(("ALPHA", "MEAN", "NORM"), PER_COLUMN, strict=True):
        constants[short] = literal(support_values(machine, name))
    constants |= {"OFFSET": literal(np.asarray(machine.offset_)), **last}
    lines = "".join(f"    {line}\n" for line in writer.lines)
    calls = "".join(text for call, text in FUNCTIONS.items() if call in lines)
    return _TEMPLATE.format(
        name=type(machine).__name__,
        version=version("psvm"),
        constants="\n".join(f"{name} = {text}" for name, text in constants.items()),
        functions=calls + kernel_functions(columns),
        dtype="object" if any(map(has_words, before)) else "np.float64",
        changes=lines,
        columns=columns,
        values=_ONE if np.ndim(machine.offset_) == 0 else _SEVERAL,
        predict=_predict(machine),
    )


_TEMPLATE = '''"""{name} as plain NumPy code, written by psvm {version}.

f(x) = sum_j alpha_j (k(x, z_j) - mean_j) / norm_j + offset over the support objects z_j.
"""

import numpy as np

{constants}
{functions}

def values(X):
    """f(x) of each row of X; if there are several machines, one column for each."""
    X = X[FEATURES] if FEATURES and hasattr(X, "columns") else X
    X = np.asarray(X, dtype={dtype})
    if X.ndim != 2 or X.shape[1] != N_FEATURES:
        raise ValueError(f"X must have {{N_FEATURES}} columns, got the shape {{X.shape}}.")
{changes}    K = {columns}
{values}
{predict}'''
_ONE = """    return (K - MEAN) @ (ALPHA / NORM) + OFFSET
"""
_SEVERAL = """    # A column without part in a machine has alpha = 0 and norm 0.
    coef = np.divide(ALPHA, NORM, out=np.zeros(ALPHA.shape), where=ALPHA != 0)
    return np.stack([(K - m) @ a for m, a in zip(MEAN, coef)], axis=1) + OFFSET
"""

_VOTES = '''

def votes(decisions):
    """Votes of the pairs of classes; the sums of their values break ties."""
    count, sums = np.zeros((2, len(decisions), len(CLASSES)))
    pairs = [(i, j) for i in range(len(CLASSES)) for j in range(i + 1, len(CLASSES))]
    for f, (i, j) in zip(decisions.T, pairs):
        count[:, i] += f <= 0
        count[:, j] += f > 0
        sums[:, i] -= f
        sums[:, j] += f
    return count + sums / (3 * (np.abs(sums) + 1))
'''
_SIGMOIDS = '''

def curves(f):
    """Probabilities of the machines, from their values."""
    return 0.5 + 0.5 * np.tanh(0.5 * (f * SLOPES + OFFSETS))
'''
_STEPS = '''

def curves(f):
    """Probabilities of the machines, from their values."""
    return np.column_stack([np.interp(v, *curve) for v, curve in zip(f.T, CURVES)])
'''
_COUPLED = '''

def coupled(pairwise):
    """Probabilities of the classes from those of all pairs (Wu, Lin and Weng 2004)."""
    n = len(CLASSES)
    systems = np.zeros((len(pairwise), n + 1, n + 1))
    systems[:, :-1, -1] = systems[:, -1, :-1] = 1.0
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    for r, (i, j) in zip(np.clip(pairwise, LEAST, 1 - LEAST).T, pairs):
        systems[:, i, i] += r**2
        systems[:, j, j] += (1 - r) ** 2
        systems[:, i, j] = systems[:, j, i] = -r * (1 - r)
    right = np.zeros((len(pairwise), n + 1, 1))
    right[:, -1] = 1.0
    p = np.maximum(np.linalg.solve(systems, right)[:, :-1, 0], 0.0)
    return p / p.sum(axis=1, keepdims=True)
'''
_PROBABILITIES = '''

def predict_proba(X):
    """Probabilities of the classes."""
    f = values(X)
    p = curves(f.reshape(len(f), -1))
    return {answer}
'''


def _predict(machine):
    """Classes or values, decision values and probabilities."""
    if not hasattr(machine, "classes_"):
        return '\ndef predict(X):\n    """Predicted values."""\n    return values(X)\n'
    scheme = machine._labels.scheme
    if scheme == "multilabel":
        scores, answer = "values(X)", "(values(X) > 0).astype(int)"
    elif len(machine.classes_) == 2:
        scores, answer = "values(X)", "CLASSES[(values(X) > 0).astype(int)]"
    else:
        best = "values(X)" if scheme == "ovr" else "votes(values(X))"
        pairs = scheme == "ovo" and machine.decision_function_shape == "ovo"
        scores, answer = "-values(X)" if pairs else best, f"CLASSES[{best}.argmax(axis=1)]"
    probabilities = ""
    if machine.probability:
        probabilities = _probabilities(machine.calibration_)
        if machine.calibration_.rises:
            answer = "CLASSES[predict_proba(X).argmax(axis=1)]"
    functions = (_VOTES if "votes(" in scores + answer else "") + probabilities
    return f'''
CLASSES = {_labels(np.asarray(machine.classes_))}
{functions}

def decision_function(X):
    """Decision values."""
    return {scores}


def predict(X):
    """Predicted classes."""
    return {answer}
'''


def _probabilities(calibration):
    """What turns decision values into probabilities."""
    curves, two = calibration.curves, calibration.n_classes == 2
    text = f"LEAST = {LEAST_PROBABILITY!r}\n"
    if isinstance(curves[0], Sigmoid):
        text += f"SLOPES = {literal(np.array([curve.slope for curve in curves]))}\n"
        text += f"OFFSETS = {literal(np.array([curve.offset for curve in curves]))}\n{_SIGMOIDS}"
    else:
        rows = [f"    ({literal(c.knots)}, {literal(c.values)}),\n" for c in curves]
        text += f"CURVES = [\n{''.join(rows)}]\n{_STEPS}"
    if calibration.scheme == "ovr":
        answer = "np.maximum(p, LEAST) / np.maximum(p, LEAST).sum(axis=1, keepdims=True)"
    else:
        answer = "np.column_stack([1 - p, p])" if two else "coupled(p)"
    coupled = _COUPLED if answer == "coupled(p)" else ""
    return text + coupled + _PROBABILITIES.format(answer=answer)


def _labels(classes):
    """Class labels as source code, of the same type."""
    if classes.dtype.kind in "mM":
        numbers = classes.view(np.int64).tolist()
        return f"np.array({numbers!r}, dtype=np.int64).view({classes.dtype.str!r})"
    items = [str(c) if isinstance(c, str) else c for c in classes.tolist()]
    kind = "" if classes.dtype.kind == "U" else f", dtype={classes.dtype.name!r}"
    return f"np.array({items!r}{kind})"


def _columns(machine, constants, lines):
    """The expression of the columns of the support objects, after `lines` that change X."""
    if is_measured(machine):
        constants["SUPPORT"] = literal(machine.support_)
        return "X[:, SUPPORT]"
    Z = machine.support_objects_
    if getattr(Z, "ndim", 1) != 2:
        raise TypeError("Kernels of sequences cannot be written as NumPy code.")
    Z, kernel = as_dense(Z), machine._kernel
    if isinstance(kernel, Rescaled):
        centre = np.zeros(Z.shape[1]) if kernel.centre is None else np.asarray(kernel.centre)
        scale = np.broadcast_to(kernel.scale, centre.shape)
        constants |= {"CENTRE": literal(centre), "SCALE": literal(scale)}
        Z, kernel = (Z - centre) / scale, kernel.kernel
        lines.append("X = (X - CENTRE) / SCALE")
    constants["Z"] = literal(Z)
    return "np.zeros((len(X), 0))" if len(Z) == 0 else expression(kernel)
