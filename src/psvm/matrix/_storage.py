"""What depends on the storage of rows that are not a `DataMatrix` yet.

The functions take a dense array or a SciPy sparse matrix or array and give the same answer for the
same numbers, so that their callers need not know which one they hold.
"""

import hashlib
import pickle

import numpy as np
import scipy.sparse as sp

from .._core._dense import row_moments
from ._base import DataMatrix, block_slices, row_statistics, typical_rows

HASHED_BYTES = 2**19
"""Entries that are hashed together: they stay in the cache."""
ROUNDS = 4
"""Times that objects of a square matrix are told apart by what they have with the others."""


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


def looks_like_distances(K):
    """Whether a square matrix has a diagonal of 0, nothing negative, and mostly positive entries.

    A graph has such a diagonal as well, but few neighbours.
    """
    n = K.shape[0]
    if n < 3 or K.diagonal().any():
        return False
    values = stored_values(K)
    return 2 * np.count_nonzero(values) > n * (n - 1) and values.min() >= 0


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


def row_digests(X, *, unordered=False):
    """Digest of the content of each row, the same for dense and sparse storage.

    With `unordered` a row counts as the set of its values, for pairwise matrices, whose columns
    are permuted and repeated together with the rows. Objects that are not vectors count as their
    letters or as what they are pickled to.
    """
    if isinstance(X, DataMatrix):
        return X.digests()
    if X.ndim == 1:
        contents = (x.encode() if isinstance(x, str) else pickle.dumps(x) for x in X.tolist())
        return [hashlib.blake2b(content, digest_size=16).digest() for content in contents]
    digests = []
    for values, index, ends in _row_entries(X):
        places, starts = index.astype(np.int64).tobytes(), [0, *ends[:-1]]
        content = values.tobytes()  # slices of bytes are far faster than those of arrays
        for start, end in zip(starts, ends, strict=True):
            if unordered:
                some = np.unique(values[start:end]).tobytes()
            else:
                some = content[8 * start : 8 * end] + places[8 * start : 8 * end]
            digests.append(hashlib.blake2b(some, digest_size=16).digest())
    return digests


LAST, HALF = np.uint64(12), np.uint64(1 << 11)
"""Bits of a double that are rounded away before it is hashed, and half of the last that stays."""


def row_hashes(X):
    """A number of 64 bits for the content of each row, equal for equal rows.

    Faster than `row_digests` by far. The last twelve bits of the entries play no part: processors
    differ in them.
    """
    keys = _scrambled(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    return _scrambled(_row_sums(X, keys))


def unordered_hashes(X):
    """A number of 64 bits for each of distinct rows, whatever the order and signs of the columns.

    A row counts as the set of the sizes of its entries. Where that does not tell all rows apart, a
    column counts as the set of the pairs of a value and the number of its row, up to the sign of
    all of them, then a row as the set of the pairs of a value and its column, and so on.
    """
    X = sp.csr_array(X, dtype=np.float64) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    hashes = _scrambled(_row_sums(abs(X), np.ones(X.shape[1], dtype=np.uint64)))
    for _ in range(ROUNDS):
        if len(np.unique(hashes)) == len(hashes):
            break
        keys = _scrambled(hashes) | np.uint64(1)
        plus, minus = (_row_sums(Z, keys) for Z in (X.T, -X.T))
        columns = _scrambled(np.minimum(plus, minus) + _scrambled(np.maximum(plus, minus)))
        columns, signs = columns | np.uint64(1), np.where(plus < minus, 1.0, -1.0)
        # Of a column that is its own mirror image only the sizes count.
        mirror = plus == minus
        hashes += _row_sums(X * signs, columns, ~mirror) + _row_sums(abs(X), columns, mirror)
        hashes = _scrambled(hashes)
    return hashes


def _row_sums(X, keys, columns=slice(None)):
    """The sum of the mixed entries of each row, of some columns."""
    X = sp.csr_array(X) if sp.issparse(X) else X
    X, keys = X[:, columns], keys[columns]
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    if sp.issparse(X):
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        sums = np.zeros(len(X.data) + 1, dtype=np.uint64)
        np.cumsum(_mixed(X.data, keys[X.indices]), out=sums[1:])
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    for rows in block_slices(X.shape[0], 8 * max(X.shape[1], 1), size=HASHED_BYTES):
        hashes[rows] = _mixed(X[rows], keys).sum(axis=1, dtype=np.uint64)
    return hashes


def hashed_folds(hashes, n_folds):
    """The fold of each row from its hash, which tells nothing about the order of the hashes."""
    return (_scrambled(hashes ^ np.uint64(0x94D049BB133111EB)) % np.uint64(n_folds)).astype(np.intp)


def drawn_hashes(hashes, count):
    """The places of so many distinct hashes, increasing, drawn by their content.

    The draw has nothing to do with the order of the hashes, by which landmarks and folds are drawn.
    Of fewer hashes it takes those that it takes of all, as far as they are there.
    """
    if len(hashes) <= count:
        return np.arange(len(hashes))
    order = np.argsort(_scrambled(hashes ^ np.uint64(0xD6E8FEB86659FD93)), kind="stable")
    return np.sort(order[:count])


def stored_bytes(*arrays):
    """Bytes that arrays and sparse matrices hold: what dask must know of what it moves."""
    total = 0
    for X in arrays:
        parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        total += sum(part.nbytes for part in parts)
    return total


def stacked_rows(parts):
    """Rows of several matrices in one; sparse if one of them is."""
    if any(sp.issparse(part) for part in parts):
        return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts]))
    return np.concatenate(parts)


def scaled_columns(X, centre, scale):
    """``(X - centre) / scale`` in the precision of X; a sparse matrix only without a centre."""
    inverse = (1.0 / np.asarray(scale)).astype(X.dtype)
    if sp.issparse(X):
        return sp.csr_array(X.multiply(inverse[None]))
    if centre is None:
        return X * inverse
    X = X - np.asarray(centre, dtype=X.dtype)
    X *= inverse
    return X


def column_moments(X, weights):
    """Weighted means of the columns and their centred sums of squares."""
    total = weights.sum()
    if not sp.issparse(X):
        X = np.ascontiguousarray(X)
        sample = X[typical_rows(weights)]
        return row_statistics(lambda c: row_moments(X, weights, c), sample, weights)
    means = weights @ X / total
    X = sp.csr_array(X)
    spread = X.data - means[X.indices]
    row_weights = np.repeat(weights, np.diff(X.indptr))
    n = X.shape[1]
    squares = np.bincount(X.indices, row_weights * np.square(spread), n)
    missing = total - np.bincount(X.indices, row_weights, n)
    return means, squares + np.maximum(missing, 0.0) * np.square(means)


def _mixed(values, keys):
    """Numbers of 64 bits from values of columns and the keys of these; 0 from 0."""
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)  # -0.0 is 0.0
    mixed = (bits + HALF) >> LAST
    mixed *= keys
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed


def object_digests(K):
    """Digest of each object of a square matrix of relations, whatever the order of the objects.

    An object counts as the set of its values, then as that of the pairs of a value and the digest
    of the other object, and so on as long as that tells more objects apart: values may be few, as
    those of ratings are. Those that still have the same digest are told apart by their place unless
    they have the same relation to everything else, which makes them one object.
    """
    digests = row_digests(K, unordered=True)
    if len(set(digests)) == len(digests):
        return digests
    K = as_dense(K).astype(np.float64) + 0.0  # -0.0 is 0.0
    for _ in range(ROUNDS):
        found = len(set(digests))
        refined = _refined(K, digests)
        if len(set(refined)) == found:
            break
        digests = refined
    seen, told_apart = {}, []
    for i, digest in enumerate(digests):
        places = seen.setdefault(digest, {})
        place = places.setdefault(K[i].tobytes() + K[:, i].tobytes(), len(places))
        told_apart.append(digest if place == 0 else digest + place.to_bytes(8, "big"))
    return told_apart


def _refined(K, digests):
    """Digests of the sets of what each object has with each digest."""
    colours = np.frombuffer(b"".join(digest[:8] for digest in digests), dtype=">u8")
    refined = []
    for rows in block_slices(len(K), 8 * len(K)):
        there, back = (np.ascontiguousarray(M).view(np.uint64) for M in (K[rows], K[:, rows].T))
        pairs = _scrambled(_scrambled(there) + back) + colours.astype(np.uint64)
        for digest, row in zip(digests[rows], _scrambled(pairs), strict=True):
            content = digest + np.unique(row).tobytes()
            refined.append(hashlib.blake2b(content, digest_size=16).digest())
    return refined


def _scrambled(x):
    """Numbers of 64 bits, each made into another (splitmix64): sums of them hardly ever agree."""
    x = (x + np.uint64(0x9E3779B97F4A7C15)).view(np.uint64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


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
