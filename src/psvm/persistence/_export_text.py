"""Models as text that people read."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from .._typing import Estimator
from .._validation import check_has, check_list
from ..estimators import PER_COLUMN, BasePSVM, support_values
from ..io import TableEncoder
from ..matrix import as_dense
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
