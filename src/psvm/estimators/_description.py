"""Training objects described as the parameters of an estimator say."""

import warnings

import numpy as np

from ..choice import Description
from ..matrix import (
    KernelMatrix,
    as_matrix,
    looks_like_distances,
    object_digests,
    row_digests,
    row_hashes,
    unordered_hashes,
)
from ._kernel import MEASURED, UserKernel, choose_kernel, kernel_name
from ._landmarks import MOST, drawn_rows, landmarks_for, n_drawn

DISTANCES = (
    "The precomputed matrix looks like distances: its diagonal is 0 and nothing is negative. It is "
    "used as similarities. psvm.preprocessing.DoubleCentering in a pipeline before the estimator "
    "makes similarities of distances."
)


def describe(
    X,
    weights,
    kernel,
    *,
    landmarks=None,
    rows=None,
    digests=None,
    order=None,
    cache_size=1000,
    dtype=float,
):
    """Describe training objects.

    Parameters
    ----------
    X : validated objects, or the matrix K itself
    weights : ndarray of shape (L,)
    kernel : Kernel, "precomputed" or "dyadic"
        The names say that X is K, whose columns are the training objects or others.
    landmarks : objects, default=None
        What describes; None means the distinct training objects.
    rows : ndarray of int, default=None
        Which of the training objects describe; None means all.
    digests : list of bytes, default=None
        From `digests_of`. They are found where they are needed to tell equal objects.
    order : ndarray of shape (L,), default=None
        From `fold_order`.
    cache_size : float, default=1000
        Memory for kernel values in MB.
    dtype : {float64, float32}
        Precision of kernel values.

    Returns
    -------
    Description
    """
    identity = own = None
    if isinstance(kernel, str):
        matrix, objects = as_matrix(X), None
        if kernel == "precomputed":
            own = np.arange(X.shape[0])
            identity = _equal_objects(X, digests)
        kernel = None
    else:
        described = prepared = kernel.prepare(rounded(X, kernel, dtype))
        objects = X if landmarks is None else landmarks
        if landmarks is None:
            digests = digests_of(X, kernel) if digests is None else digests
            identity, own = np.unique(digests, return_inverse=True)[1], np.arange(X.shape[0])
            if rows is not None:
                own, described = rows, prepared[rows]
        else:
            described = kernel.prepare(rounded(landmarks, kernel, dtype))
        matrix = KernelMatrix(kernel.evaluate, prepared, described, cache_size, dtype)
    columns = np.arange(matrix.shape[1])
    return Description(matrix, weights, digests, identity, own, columns, objects, kernel, order)


def describe_for(model, X, weights, target, digests=None):
    """Describe training objects as the parameters of a `PSVC` or `PSVR` say.

    `target` says whether small classes need objects of their own.
    """
    if kernel_name(model.kernel) == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed matrix must be a square matrix, got {X.shape[0]} x "
            f"{X.shape[1]}. Use kernel='dyadic' if columns and rows are different objects."
        )
    if kernel_name(model.kernel) == "precomputed" and looks_like_distances(X):
        warnings.warn(DISTANCES, stacklevel=2)
    drawn = model.landmarks is None and not is_measured(model) and X.shape[0] > MOST
    asked = isinstance(model.epsilon, str) or model.threshold == "loo"
    asked = asked or getattr(model, "probability", False)
    if digests is None and (drawn or asked):
        digests = digests_of(X, model.kernel)
    kernel = choose_kernel(model, X, weights)
    options = {"digests": digests, "cache_size": model.cache_size, "dtype": model.dtype}
    if isinstance(model.epsilon, str) and model.epsilon == "cv":
        options["order"] = fold_order(X, digests, weights, model.kernel)
    if drawn:
        numbers = np.unique(digests, return_inverse=True)[1]
        counted = np.flatnonzero(weights > 0)
        codes = None if target.paired is None else target.paired[counted]
        n_distinct = len(np.unique(numbers[counted]))
        rows = counted[drawn_rows(numbers[counted], codes, n_drawn(n_distinct))]
        return describe(X, weights, kernel, rows=rows, **options)
    landmarks = landmarks_for(model, X, weights, kernel)
    return describe(X, weights, kernel, landmarks=landmarks, **options)


def digests_of(X, kernel):
    """The content of each row; of a square matrix, in any order of its columns."""
    if kernel_name(kernel) == "precomputed" and X.ndim == 2 and X.shape[0] == X.shape[1]:
        return object_digests(X)
    return row_hashes(X) if _is_numeric(X) else row_digests(X)


def _equal_objects(K, digests):
    """Equal numbers for objects that have the same relations to all others."""
    if len(np.unique(row_hashes(K))) == K.shape[0]:
        return np.arange(K.shape[0])
    digests = object_digests(K) if digests is None else digests
    return np.unique(digests, return_inverse=True)[1]


def fold_order(X, digests, weights, kernel):
    """Numbers by which rows are dealt to folds; None if these are the digests.

    They depend neither on the order and signs of the columns nor on rows without weight.
    """
    rows, square = np.flatnonzero(weights > 0), kernel_name(kernel) == "precomputed"
    if not _is_numeric(X) or (square and len(rows) == len(weights)):
        return None
    order = np.zeros(len(weights), dtype=np.uint64)
    if square:
        order[rows] = np.unique(object_digests(X[rows][:, rows]), return_inverse=True)[1]
        return order
    _, first, number = np.unique(np.asarray(digests)[rows], return_index=True, return_inverse=True)
    order[rows] = unordered_hashes(X[rows[first]])[number]
    return order


def _is_numeric(X):
    """Whether the rows are vectors of numbers."""
    return getattr(X, "ndim", 1) == 2 and getattr(X, "dtype", np.dtype(object)).kind in "biuf"


def rounded(X, kernel, dtype):
    """Vectors in the precision of the kernel values; as they are for a user's function."""
    ours = kernel.takes_vectors and not isinstance(kernel, UserKernel)
    return X.astype(dtype, copy=False) if ours else X


def is_measured(model):
    """Whether X is the matrix itself."""
    return kernel_name(model.kernel) in MEASURED
