"""Models as text: to be read by people, or to predict by NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .. import kernels as k
from .._typing import Estimator
from .._validation import check_has, check_list
from ..estimators import PER_COLUMN, BasePSVM, is_measured, support_values, unwrap
from ..io import TableEncoder
from ..matrix import as_dense
from ..selection import PSVMSelector
from ._models import summarise


def export_text(
    model: Estimator,
    *,
    feature_names: Sequence[str] | None = None,
    support_names: Sequence[str] | None = None,
) -> str:
    r"""A fitted model as readable text.

    Parameters
    ----------
    model : estimator
        `PSVC` or `PSVR`, with the support objects in a table, and the weights of the features if f
        is linear in them; any other estimator of psvm or a pipeline, with its parameters and the
        short ones of its fitted attributes.
    feature_names : sequence of str, default=None
        Names of the features of the machine; numbers from 1 by default. The weights
        are those of the features before a `StandardScaler`.
    support_names : sequence of str, default=None
        Names of the support objects.

    Returns
    -------
    str

    Examples
    --------
    >>> import psvm.persistence
    >>> K, y = [[0.0], [0.0], [2.0], [2.0]], [0.0, 0.0, 4.0, 4.0]
    >>> model = psvm.PSVR(kernel="dyadic", epsilon=1.0).fit(K, y)
    >>> print(psvm.persistence.export_text(model, feature_names=["dose"]).split("\n\n", 3)[-1])
    features (f(x) = sum of weight * feature + intercept)
    feature    weight
    dose       1.5
    intercept  0.5
    <BLANKLINE>
    support objects (f(x) = sum of alpha (k(x, z) - mean) / norm + offset)
    column  alpha  mean  norm  object
    1       3.0    1.0   2.0   0
    <BLANKLINE>
    """
    check_has("model", model, "fit")
    check_is_fitted(model)
    names = None if feature_names is None else check_list("feature_names", feature_names)
    called = None if support_names is None else check_list("support_names", support_names)
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps]
        texts = [_as_text(step) for step in steps[:-1]]
        return "\n".join([*texts, _as_text(steps[-1], steps[:-1], names, called)])
    return _as_text(model, (), names, called)


def _as_text(model, before=(), names=None, called=None):
    """The text of one estimator, which comes after some others."""
    if isinstance(model, TableEncoder):
        columns = [f"  {column}" for column in model.schema_.used]
        return "\n".join(["TableEncoder", "", "columns", *columns]) + "\n"
    lines = [f"{type(model).__name__} (psvm {version('psvm')})", "", "parameters"]
    lines += [f"  {name} = {value!r}" for name, value in model.get_params(deep=False).items()]
    lines += ["", "result"]
    lines += [f"  {name} = {value!r}" for name, value in summarise(model).items()]
    if isinstance(model, BasePSVM) and np.ndim(model.offset_) == 0:
        lines += ["", *_weights_table(model, before, names), *_support_table(model, called)]
    return "\n".join(lines) + "\n"


def _weights_table(model, before, names):
    """The weights of the features in the units that they had before they were scaled."""
    coef = getattr(model, "coef_", None)
    if coef is None:
        return
    intercept = model.intercept_
    for step in reversed(before):
        if not isinstance(step, StandardScaler):
            break
        coef = coef if step.scale_ is None else coef / step.scale_
        intercept -= 0.0 if not step.with_mean else float(step.mean_ @ coef)
    if names is None or len(names) != len(coef):
        names = getattr(model, "feature_names_in_", range(1, len(coef) + 1))
    yield "features (f(x) = sum of weight * feature + intercept)"
    kept = np.flatnonzero(coef)
    rows = [("feature", "weight"), *((str(names[j]), repr(float(coef[j]))) for j in kept)]
    yield from _aligned([*rows, ("intercept", repr(float(intercept)))])
    yield ""


def _support_table(model, called=None):
    if hasattr(model, "_kernel"):
        yield f"kernel\n  {model._kernel!r}\n"
    yield "support objects (f(x) = sum of alpha (k(x, z) - mean) / norm + offset)"
    rows = [("column", "alpha", "mean", "norm", "object")]
    objects = as_dense(model.support_objects_)
    columns = (support_values(model, name) for name in PER_COLUMN)
    if called is None or len(called) != len(model.support_):
        called = [str(j + 1) for j in model.support_]
    for name, z, *numbers in zip(called, objects, *columns, strict=True):
        rows.append((name, *(repr(float(v)) for v in numbers), _object_text(z)))
    yield from _aligned(rows)


def _aligned(rows):
    """Lines of cells below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()


def _object_text(z):
    if isinstance(z, np.ndarray):
        return " ".join(repr(float(v)) for v in z)
    name = getattr(z, "name", "")
    return f"{name} {z}" if name else str(z)


def export_numpy(model: Estimator) -> str:
    """Python source with ``predict(X)`` for a fitted model; it needs only NumPy.

    Parameters
    ----------
    model : PSVC, PSVR, or a pipeline or search of one
        With a kernel of vectors or a measured matrix. The steps before may be `StandardScaler`,
        `MinMaxScaler`, `SimpleImputer` or `PSVMSelector`.

    Returns
    -------
    str
        The code contains ``predict(X)`` and, for a classifier, ``decision_function(X)``.
        Numbers are written with all their digits.

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
    if not isinstance(machine, BasePSVM) or getattr(machine, "probability", False):
        raise TypeError(
            f"{type(machine).__name__} cannot be written as NumPy code; only PSVR and PSVC without "
            "`probability` can."
        )
    arrays: dict[str, np.ndarray] = {}
    changes = [_change(step, number, arrays) for number, step in enumerate(before)]
    for short, name in zip(("ALPHA", "MEAN", "NORM"), PER_COLUMN, strict=True):
        arrays[short] = support_values(machine, name)
    arrays["OFFSET"] = np.asarray(machine.offset_)
    body = _columns(machine, arrays)
    return _TEMPLATE.format(
        name=type(machine).__name__,
        version=version("psvm"),
        n_features=before[0].n_features_in_ if before else machine.n_features_in_,
        arrays="\n".join(f"{name} = {_literal(value)}" for name, value in arrays.items()),
        functions=_functions(body),
        changes="".join(f"    {line}\n" for line in changes if line),
        columns=body,
        values=_ONE if np.ndim(machine.offset_) == 0 else _SEVERAL,
        predict=_predict(machine),
    )


_TEMPLATE = '''"""{name} as plain NumPy code, written by psvm {version}.

f(x) = sum_j alpha_j (k(x, z_j) - mean_j) / norm_j + offset over the support objects z_j.
"""

import numpy as np

N_FEATURES = {n_features}
{arrays}
{functions}

def values(X):
    """f(x) of each row of X; if there are several machines, one column for each."""
    X = np.asarray(X, dtype=np.float64)
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
_SQUARES = '''

def squares(X, Z):
    """Squared distances of all rows of X from all rows of Z."""
    return np.stack([((X - z) ** 2).sum(axis=1) for z in Z], axis=1)
'''
_SUMS = '''

def sums(X, Z):
    """Sums of absolute differences of all rows of X and all rows of Z."""
    return np.stack([np.abs(X - z).sum(axis=1) for z in Z], axis=1)
'''
_NORMALIZED = '''

def normalized(kernel, X, Z):
    """kernel(X, Z) divided by the roots of kernel(x, x) and kernel(z, z)."""
    x = np.array([kernel(x[None], x[None])[0, 0] for x in X])
    z = np.array([kernel(z[None], z[None])[0, 0] for z in Z])
    roots = np.sqrt(np.multiply.outer(x, z))
    return np.divide(kernel(X, Z), roots, out=np.zeros_like(roots), where=roots > 0)
'''


_TOTALS = '''

def totals(X, Z):
    """Sums of all entries of a row of X and of one of Z."""
    return X.sum(axis=1)[:, None] + Z.sum(axis=1)
'''
_SHARES = '''

def shares(part, whole):
    """part / whole, 1 where the whole is 0."""
    return np.divide(part, whole, out=np.ones_like(whole), where=whole > 0)
'''
_TANIMOTO = '''

def tanimoto(X, Z):
    """Products over squares of all rows of X and all rows of Z."""
    K = X @ Z.T
    return shares(K, (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - K)
'''
_CHI2 = '''

def chi2(X, Z):
    """Sums of (x - z)^2 / (x + z) of all rows of X and all rows of Z, without terms 0 / 0."""
    def sums_with(z):
        return np.divide((X - z) ** 2, X + z, out=np.zeros(X.shape), where=X + z > 0).sum(axis=1)

    return np.stack([sums_with(z) for z in Z], axis=1)
'''
_CUMULATED = '''

def cumulated(X):
    """Cumulative sums of rows that are divided by their sum."""
    return np.cumsum(X / X.sum(axis=1, keepdims=True), axis=1)
'''


def _functions(body):
    """The functions that an expression calls."""
    found = {
        "squares(": _SQUARES,
        "sums(": _SUMS,
        "normalized(": _NORMALIZED,
        "totals(": _TOTALS,
        "shares(": _SHARES,
        "tanimoto(": _SHARES + _TANIMOTO,
        "chi2(": _CHI2,
        "cumulated(": _CUMULATED,
    }
    return "".join(text for call, text in found.items() if call in body)


def _predict(machine):
    if not hasattr(machine, "classes_"):
        return '\ndef predict(X):\n    """Predicted values."""\n    return values(X)\n'
    classes = ", ".join(repr(c) for c in np.asarray(machine.classes_).tolist())
    scheme = machine._labels.scheme
    if scheme == "multilabel":
        scores, answer = "values(X)", "(values(X) > 0).astype(int)"
    elif len(machine.classes_) == 2:
        scores, answer = "values(X)", "CLASSES[(values(X) > 0).astype(int)]"
    else:
        best = "values(X)" if scheme == "ovr" else "votes(values(X))"
        pairs = scheme == "ovo" and machine.decision_function_shape == "ovo"
        scores, answer = "-values(X)" if pairs else best, f"CLASSES[{best}.argmax(axis=1)]"
    functions = _VOTES if "votes(" in scores + answer else ""
    return f'''
CLASSES = np.array([{classes}])
{functions}

def decision_function(X):
    """Decision values."""
    return {scores}


def predict(X):
    """Predicted classes."""
    return {answer}
'''


def _columns(machine, arrays):
    """The expression of the columns of the support objects."""
    if is_measured(machine):
        arrays["SUPPORT"] = machine.support_
        return "X[:, SUPPORT]"
    Z = machine.support_objects_
    if getattr(Z, "ndim", 1) != 2:
        raise TypeError("Kernels of sequences cannot be written as NumPy code.")
    arrays["Z"] = as_dense(Z)
    if Z.shape[0] == 0:
        return "np.zeros((len(X), 0))"
    return _expression(machine._kernel)


def _expression(kernel):
    """A kernel as a NumPy expression of X and Z."""
    kind = type(kernel)
    if kind is k.Sum:
        return f"({_expression(kernel.k1)} + {_expression(kernel.k2)})"
    if kind is k.Product:
        return f"({_expression(kernel.k1)} * {_expression(kernel.k2)})"
    if kind is k.Normalized:
        return f"normalized(lambda X, Z: {_expression(kernel.kernel)}, X, Z)"
    if kind is k.Matern:
        return _matern(kernel)
    expressions = {
        k.Linear: "(X @ Z.T)",
        k.Polynomial: "({gamma} * (X @ Z.T) + {coef0}) ** {degree}",
        k.RBF: "np.exp(-{gamma} * squares(X, Z))",
        k.Laplacian: "np.exp(-{gamma} * sums(X, Z))",
        k.Plummer: "(np.sqrt(squares(X, Z)) + {rho}) ** -{zeta}",
        k.Sine: "np.sin({theta} * np.sqrt(squares(X, Z)))",
        k.Constant: "np.full((len(X), len(Z)), {value})",
        k.Tanh: "np.tanh({gamma} * (X @ Z.T) + {coef0})",
        k.Cosine: "normalized(lambda X, Z: X @ Z.T, X, Z)",
        k.RationalQuadratic: "(1.0 + {gamma} / {exponent} * squares(X, Z)) ** -{exponent}",
        k.Tanimoto: "tanimoto(X, Z)",
        k.Jaccard: "shares(totals(X, Z) - sums(X, Z), totals(X, Z) + sums(X, Z))",
        k.HistogramIntersection: "(0.5 * (totals(X, Z) - sums(X, Z)))",
        k.AdditiveChi2: "(-chi2(X, Z))",
        k.Chi2: "np.exp(-{gamma} * chi2(X, Z))",
        k.Wasserstein: "np.exp(-{gamma} * sums(cumulated(X), cumulated(Z)))",
    }
    if kind not in expressions:
        raise TypeError(f"The kernel {kernel!r} cannot be written as NumPy code.")
    p = {name: repr(float(v)) for name, v in kernel.get_params(deep=False).items()}
    return expressions[kind].format(**p)


def _matern(kernel):
    """The expression of a Matérn kernel without Bessel functions."""
    polynomials = {0.5: "1.0", 1.5: "(1.0 + {t})", 2.5: "(1.0 + {t} + {t} ** 2 / 3.0)"}
    if kernel.nu not in polynomials:
        raise TypeError(
            f"The kernel {kernel!r} cannot be written as NumPy code; nu = 0.5, 1.5 or 2.5 can."
        )
    t = f"np.sqrt({4.0 * kernel.nu * kernel.gamma!r} * squares(X, Z))"
    return f"({polynomials[kernel.nu].format(t=t)} * np.exp(-{t}))"


def _change(step, number, arrays):
    """A line of code that does what a step of a pipeline does."""
    if isinstance(step, TableEncoder) and step.schema_.plain:
        step = step.transformer_
    if step is None:
        return ""
    if isinstance(step, StandardScaler):
        shift = np.zeros(step.n_features_in_) if step.mean_ is None else step.mean_
        scale = np.ones(step.n_features_in_) if step.scale_ is None else step.scale_
        arrays[f"SHIFT_{number}"] = shift if step.with_mean else np.zeros_like(scale)
        arrays[f"SCALE_{number}"] = scale
        return f"X = (X - SHIFT_{number}) / SCALE_{number}"
    if isinstance(step, MinMaxScaler) and not step.clip:
        arrays[f"SHIFT_{number}"], arrays[f"SCALE_{number}"] = step.min_, step.scale_
        return f"X = X * SCALE_{number} + SHIFT_{number}"
    if isinstance(step, SimpleImputer) and not np.isnan(step.statistics_).any():
        arrays[f"FILL_{number}"] = step.statistics_
        return f"X = np.where(np.isnan(X), FILL_{number}, X)"
    if isinstance(step, PSVMSelector):
        arrays[f"SELECTED_{number}"] = step.get_support(indices=True)
        return f"X = X[:, SELECTED_{number}]"
    what = type(step).__name__ if isinstance(step, TableEncoder) else repr(step)
    raise TypeError(f"The step {what} cannot be written as NumPy code.")


def _literal(array):
    """An array as source code, with all digits."""
    if array.ndim == 0:
        return repr(float(array))
    rows = np.atleast_2d(array).tolist()
    dtype = "np.intp" if array.dtype.kind in "iu" else "np.float64"
    lines = ["[" + ", ".join(map(repr, row)) + "]" for row in rows]
    if array.ndim == 1:
        return f"np.array({lines[0]}, dtype={dtype})"
    text = "\n    ".join(f"{line}," for line in lines)
    return f"np.array([\n    {text}\n], dtype={dtype}).reshape({array.shape})"
