"""Fits to dask collections, and predictions for them that stay lazy."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from .._progress import progress, say
from .._validation import check_X_y
from ..choice import LARGEST_GRAM
from ..matrix import DaskMatrix, DaskRows, import_dask, is_dask
from ._base import check_psvm
from ._fit_blocks import fit_blocks
from ._kernel import kernel_name
from ._target import Labels, target_of

NOT_FOR_PREDICTION = (
    *("plan_", "sums_", "_survey", "solution_", "solutions_", "loo_decision_", "landmarks_"),
)
"""Fitted attributes that need not travel to the chunks of new objects."""


def fit_dask(model, rows):
    """Fit a `PSVC` or `PSVR` to dask collections.

    Rows are surveyed, summed and checked chunk by chunk where they are, and sums are added up in a
    tree. A matrix of relations with so many columns that their products are too many is kept by the
    workers instead, and the working-set method asks for products with it (`DaskMatrix`).

    Parameters
    ----------
    model : PSVC or PSVR
    rows : DaskRows

    Returns
    -------
    PSVC or PSVR
        The model, fitted.
    """
    solver = check_psvm(model)
    if kernel_name(model.kernel) != "dyadic" or rows.n_features <= LARGEST_GRAM:
        return fit_blocks(model, rows)
    if rows.qr:
        raise ValueError(f"qr=True is for sums of at most {LARGEST_GRAM:,} columns.")
    return _fit_wide(model, rows, solver)


def _fit_wide(model, rows, solver):
    """Fit to a matrix of relations with many columns by the solvers for any matrix."""
    with progress(type(model).__name__, model.verbose):
        say(f"{len(rows)} chunks")
        y, weights = rows.collect()
        matrix = DaskMatrix(rows)
        L, _ = matrix.shape
        _, y = check_X_y(
            np.zeros((L, 1)),
            y,
            y_numeric=not is_classifier(model),
            ensure_min_samples=2,
            multi_output=True,
        )
        target, weights = target_of(model, y, weights)
        vars(model).pop("feature_names_in_", None)
        if rows.feature_names is not None:
            model.feature_names_in_ = rows.feature_names
        model.n_features_in_ = rows.n_features
        model._fit(matrix, target, weights, solver)
    if is_classifier(model):
        model._labels = Labels(target.classes, None, target.scheme)
        model.classes_ = target.classes
    return model


def answered(model, X, method, answer):
    """What a method of a model says about new objects.

    Parameters
    ----------
    model : PSVC or PSVR
    X : new objects, or a dask collection of them
    method : str
        Its name.
    answer : callable
        What the method returns for the values of all machines.

    Returns
    -------
    ndarray; of a dask collection, a dask array with its chunks
    """
    if not is_dask(X):
        return answer(model._decide(X))
    check_is_fitted(model)
    rows = DaskRows(X)
    if rows.n_features != model.n_features_in_:
        raise ValueError(
            f"X has {rows.n_features} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    dask = import_dask(method)
    example = answer(np.zeros((1, np.size(model.intercept_))))
    task = dask.delayed(_answer_of_chunk, name=method, pure=False)
    light = dask.delayed(_for_prediction(model), traverse=False)
    lengths = rows.lengths or (np.nan,) * len(rows)
    parts = [
        dask.array.from_delayed(
            task(chunk[0], light, method, example), (length, *example.shape[1:]), meta=example[:0]
        )
        for chunk, length in zip(rows.chunks, lengths, strict=True)
    ]
    return dask.array.concatenate(parts, allow_unknown_chunksizes=True)


def _answer_of_chunk(X, model, method, example):
    return getattr(model, method)(X) if X.shape[0] else example[:0]


def _for_prediction(model):
    """The model without what only describes its fit."""
    light = object.__new__(type(model))
    kept = {name: value for name, value in vars(model).items() if name not in NOT_FOR_PREDICTION}
    vars(light).update(kept, verbose=False)
    return light
