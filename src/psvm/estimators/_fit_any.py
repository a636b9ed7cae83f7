"""The fit of a `PSVC` or `PSVR`, whatever holds the rows."""

import numpy as np

from ..matrix import DaskRows, RowBlocks
from ._base import check_psvm
from ._fit_blocks import fit_blocks, streams
from ._fit_dask import fit_dask
from ._passes import in_parts, rows_of
from ._target import prepare


def fit_any(model, X, y, sample_weight):
    """Fit a model to rows in memory, in blocks or in chunks on workers."""
    if in_parts(X):
        rows = rows_of(X, y, sample_weight, type(model).__name__)
        return (fit_dask if isinstance(rows, DaskRows) else fit_blocks)(model, rows)
    check_psvm(model)
    X, target, weights = prepare(model, X, y, sample_weight)
    return fit_prepared(model, X, target, weights, sample_weight)


def fit_prepared(model, X, target, weights, sample_weight):
    """Fit a model to validated rows in memory; `weights` contain those of the classes."""
    if streams(model, X, target):
        return fit_blocks(model, blocks_of(model, X, target, sample_weight))
    return model._fit(X, target, weights, check_psvm(model))


def blocks_of(model, X, target, sample_weight):
    """Validated rows in memory as blocks."""
    own = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return RowBlocks(X, target.y, own, names=getattr(model, "feature_names_in_", None))
