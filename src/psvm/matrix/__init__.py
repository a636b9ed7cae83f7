"""The data matrix: one protocol, several storages, one place that chooses among them."""

from ._base import BLOCK_BYTES, FEW, DataMatrix, block_slices, times, with_norms
from ._dask_matrix import DaskMatrix
from ._dask_rows import DaskRows, dask_columns
from ._delayed import import_dask, is_dask
from ._dense import DenseMatrix
from ._distances import (
    SquaredDistances,
    chi2_tiles,
    city_block_tiles,
    row_products,
    row_slices,
    row_sums,
)
from ._factory import as_matrix, check_matrix
from ._fold_moments import FoldMoments, FoldSums
from ._kernel import KernelMatrix
from ._moments import SMALL, Moments, moments_of
from ._row_blocks import RowBlock, RowBlocks, check_block, gathered_blocks, moments_of_blocks
from ._row_factor import RowFactor, triangle
from ._sparse import SparseMatrix
from ._spectrum import MatrixSpectrum, matrix_spectrum
from ._standardized import Standardized
from ._storage import (
    as_dense,
    by_columns,
    can_be_centred,
    column_moments,
    dense_copy,
    drawn_hashes,
    drop_columns,
    fill_missing,
    hashed_folds,
    looks_like_distances,
    missing_entries,
    object_digests,
    row_digests,
    row_hashes,
    scaled_columns,
    stacked_rows,
    storage_of,
    stored_bytes,
    stored_columns,
    stored_parts,
    stored_values,
    unordered_hashes,
    weighted_variance,
)

__all__ = [
    "DaskMatrix",
    "DataMatrix",
    "DenseMatrix",
    "FoldMoments",
    "KernelMatrix",
    "MatrixSpectrum",
    "Moments",
    "RowBlock",
    "RowBlocks",
    "RowFactor",
    "SparseMatrix",
    "Standardized",
    "as_matrix",
    "matrix_spectrum",
]


def __dir__():
    return __all__
