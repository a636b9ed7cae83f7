"""The data matrix: one protocol, several storages, one place that chooses among them."""

from __future__ import annotations

import scipy.sparse as sp

from .._typing import MatrixLike
from .._validation import as_array, check_stored
from ._base import BLOCK_BYTES, FEW, DataMatrix, block_slices, times, with_norms
from ._block import ColumnBlock
from ._dense import DenseMatrix
from ._kernel import KernelMatrix
from ._sparse import SparseMatrix
from ._spectrum import MatrixSpectrum, matrix_spectrum
from ._standardized import Standardized, joint_rmatvec

__all__ = [
    "DataMatrix",
    "DenseMatrix",
    "KernelMatrix",
    "MatrixSpectrum",
    "SparseMatrix",
    "Standardized",
    "as_matrix",
    "matrix_spectrum",
]


def __dir__():
    return __all__


def as_matrix(K: MatrixLike | DataMatrix) -> DataMatrix:
    """Wrap K as a `DataMatrix`; the only place where the storage of K is looked at.

    Parameters
    ----------
    K : ndarray, scipy.sparse matrix or array, or DataMatrix
        The data matrix.

    Returns
    -------
    DataMatrix
    """
    if isinstance(K, DataMatrix):
        return K
    K = check_stored("K", K) if sp.issparse(K) else as_array("K", K)
    if K.ndim != 2 or K.dtype.kind not in "biuf":
        raise ValueError(
            f"K must be a matrix of real numbers, got {K.dtype} data of shape {K.shape}."
        )
    return SparseMatrix(K) if sp.issparse(K) else DenseMatrix(K)
