"""What depends on the storage of rows that are not a `DataMatrix` yet.

The functions take a dense array or a SciPy sparse matrix or array and give the same answer for the
same numbers, so that their callers need not know which one they hold.
"""

import hashlib
import pickle

import numpy as np
import scipy.sparse as sp

from ._base import block_slices


def storage_of(X):
    """How X is stored, for reports: "dense" or "sparse"."""
    return "sparse" if sp.issparse(X) else "dense"


def can_be_centred(X):
    """Whether the means of the columns can be subtracted without filling in all zeros."""
    return not sp.issparse(X)


def as_dense(X):
    """X as a dense array; a dense one as it is."""
    return X.toarray() if sp.issparse(X) else X


def dense_copy(X):
    """X as a new float64 array by rows."""
    if sp.issparse(X):
        return X.toarray().astype(np.float64)
    return np.array(X, np.float64, order="C")


def by_columns(X):
    """X with the entries of a column side by side if it is dense; a sparse one as it is."""
    return X if sp.issparse(X) else np.asfortranarray(X)


def same_storage(X, Z):
    """X and Z, both dense or both sparse."""
    if sp.issparse(X) != sp.issparse(Z):
        X, Z = sp.csr_array(X), sp.csr_array(Z)
    return X, Z


def stored_values(X):
    """The numbers that are written down: all entries, or those stored in a sparse matrix."""
    return X.data if sp.issparse(X) else np.asarray(X)


def stored_parts(X):
    """Arrays from which all numbers of X can be told, as little-endian numbers."""
    if sp.issparse(X):
        X = sp.csr_array(X)
        return [X.indptr.astype("<i8"), X.indices.astype("<i8"), X.data.astype("<f8")]
    return [np.ascontiguousarray(np.asarray(X, dtype="<f8"))]


def missing_entries(X):
    """Rows and columns of the entries that are NaN, row by row."""
    if not sp.issparse(X):
        return np.nonzero(np.isnan(np.asarray(X, dtype=np.float64)))
    X = X.tocoo()
    row, column = (index[np.isnan(X.data)] for index in X.coords)
    order = np.lexsort((column, row))
    return row[order], column[order]


def fill_missing(X):
    """X with the means of the columns for what is missing; a sparse matrix as it is."""
    if sp.issparse(X):
        return X
    X = np.asarray(X, dtype=np.float64)
    missing = np.isnan(X)
    if not missing.any():
        return X
    known = np.maximum((~missing).sum(axis=0), 1)
    return np.where(missing, np.where(missing, 0.0, X).sum(axis=0) / known, X)


def drop_columns(X, drop):
    """X without the columns `drop`, which are sorted.

    A sparse matrix may have billions of columns, so nothing here is as long.
    """
    if not sp.issparse(X):
        return np.delete(X, drop, axis=1)
    n, p = X.shape
    X = X.tocoo()
    row, column = X.coords
    stay = ~np.isin(column, drop)
    column = column[stay] - np.searchsorted(drop, column[stay])
    return sp.csr_array((X.data[stay], (row[stay], column)), shape=(n, p - len(drop)))


def stored_columns(X):
    """The columns that may have entries: a matrix of them, their places, least and greatest values.

    A sparse matrix may have billions of columns, so nothing here is as long.
    """
    if not sp.issparse(X):
        return X, range(X.shape[1]), X.min(axis=0), X.max(axis=0)
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    n = X.shape[0]
    places, column = np.unique(X.indices, return_inverse=True)
    low, high = np.full(len(places), np.inf), np.full(len(places), -np.inf)
    np.fmin.at(low, column, X.data)
    np.fmax.at(high, column, X.data)
    gaps = np.bincount(column, minlength=len(places)) < n
    low[gaps], high[gaps] = np.minimum(low[gaps], 0), np.maximum(high[gaps], 0)
    X = sp.csr_array((X.data, column, X.indptr), shape=(n, len(places)))
    return X, places, low, high


def weighted_variance(X, weights):
    """Variance of all entries of X with weighted rows."""
    total = weights.sum() * X.shape[1]
    mean = weights @ X.sum(axis=1) / total
    if sp.issparse(X):
        return float((weights @ X.multiply(X).sum(axis=1) / total - mean**2).item())
    return float(weights @ np.square(X - mean).sum(axis=1) / total)


def row_digests(X):
    """Digest of the content of each row, the same for dense and sparse storage.

    Objects that are not vectors count as their letters or as what they are pickled to.
    """
    if X.ndim == 1:
        contents = (x.encode() if isinstance(x, str) else pickle.dumps(x) for x in X.tolist())
        return [_digest(content) for content in contents]
    digests = []
    for values, index, ends in _row_entries(X):
        # slices of bytes are far faster than those of arrays
        content, places = values.tobytes(), index.astype(np.int64).tobytes()
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            part = slice(8 * start, 8 * end)
            digests.append(_digest(content[part] + places[part]))
    return digests


def relation_digests(X):
    """Digest of each object of a square matrix of relations among objects.

    Neither the order of the objects matters, whose rows and columns are permuted and repeated
    together, nor how often one is repeated. Objects that have the same values are told apart by
    the objects that they have them with.
    """
    _, first, number = np.unique(row_digests(X), return_index=True, return_inverse=True)
    distinct = X[first][:, first]
    digests, count, before = [b""] * len(first), 1, 0
    while before < count < len(first):
        digests = _refined(distinct, digests)
        before, count = count, len(set(digests))
    return [digests[i] for i in number.ravel()]


def _refined(X, digests):
    """Digests of the values of each row together with the digests of their columns."""
    kinds = np.unique(digests, return_inverse=True)[1].ravel()
    refined, own = [], iter(digests)
    for values, index, ends in _row_entries(X):
        pairs = values + 1j * kinds[index] if kinds.any() else values
        for part in np.split(pairs, ends[:-1]):
            refined.append(_digest(next(own) + np.sort(part).tobytes()))
    return refined


def _digest(content):
    return hashlib.blake2b(content, digest_size=16).digest()


def _row_entries(X):
    """Values and places of the non-zero entries, as float64, and where those of each row end.

    Some rows at a time.
    """
    if not sp.issparse(X):
        for rows in block_slices(X.shape[0], 8 * max(X.shape[1], 1)):
            block = np.asarray(X[rows], dtype=np.float64)
            row, index = np.nonzero(block)
            ends = np.cumsum(np.bincount(row, minlength=len(block)))
            yield block[row, index], index, ends.tolist()
        return
    X = sp.csr_matrix(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    yield X.data, X.indices, X.indptr[1:].tolist()
