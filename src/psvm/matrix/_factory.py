"""The factory of data matrices: the storage of K is looked at here, once."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .._typing import MatrixLike
from .._validation import as_stored, check_array, check_stored
from ._base import DataMatrix
from ._delayed import is_dask
from ._dense import DenseMatrix
from ._sparse import SparseMatrix


def as_matrix(K: MatrixLike | DataMatrix) -> DataMatrix:
    """Wrap K as a `DataMatrix`; the only place that depends on how K is stored.

    Parameters
    ----------
    K : ndarray, scipy.sparse matrix or array, dask array, or DataMatrix
        The data matrix.

    Returns
    -------
    DataMatrix
    """
    if isinstance(K, DataMatrix):
        return K
    if is_dask(K):
        from ._dask_matrix import DaskMatrix  # it makes matrices of its chunks

        return DaskMatrix(K)
    K = as_stored("K", K)
    if K.ndim != 2 or K.dtype.kind not in "biuf":
        raise ValueError(
            f"K must be a matrix of real numbers, got {K.dtype} data of shape {K.shape}."
        )
    return SparseMatrix(K) if sp.issparse(K) else DenseMatrix(K)


def check_matrix(K):
    """`as_matrix` of what a user gives, which may be a list or a table, or no matrix at all."""
    if isinstance(K, DataMatrix) or is_dask(K):
        return as_matrix(K)
    if type(K) is np.ndarray and K.ndim == 2 and K.size and K.dtype.kind in "fiu":
        return as_matrix(K)  # NaN and infinity show in the column statistics
    K = check_stored("K", K)
    try:
        if not (isinstance(K, np.ndarray) or sp.issparse(K)) or K.dtype.kind not in "fiu":
            K = check_array("K", K, accept_sparse=("csr", "csc"), dtype="numeric")
        else:
            check_array("K", K, accept_sparse=True, dtype=None, ensure_all_finite=False)
    except ValueError as error:
        raise ValueError(f"K is not a valid matrix. {error}") from error
    if K.dtype.kind not in "biuf":
        raise ValueError(f"K must contain real numbers, got {K.dtype} data.")
    return as_matrix(K)
