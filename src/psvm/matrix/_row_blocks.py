"""Rows that are read block by block, wherever they are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._typing import ArrayLike, StrPath
from .._validation import (
    as_array,
    check_array,
    check_flag,
    check_number,
    check_stored,
    check_weights,
    shown,
)
from ._delayed import is_dask
from ._moments import Moments
from ._storage import stacked_rows

MEGABYTE = 2**20
GATHERED = 8192
"""Rows that are worked on together, at least: small blocks are joined."""


class RowBlock(NamedTuple):
    """Some rows, one after the other in their source."""

    X: Any
    y: Any
    """Labels or numbers, one or a line of them for each row."""
    sample_weight: Any = None
    where: str = "block"
    """Where the rows come from, for errors: a file, the number of a block, a range of rows."""


class RowBlocks:
    """Rows of data in blocks, to fit `PSVC` and `PSVR` if X does not fit into memory.

    Only one block is in memory at a time. Each is checked when it is read, and an error names the
    block and its rows.

    Parameters
    ----------
    source : array, memory map, sparse matrix, dask collection, list, callable or iterable
        The rows X, which are cut into blocks, or whose chunks are the blocks; or blocks as tuples
        ``(X, y)`` or ``(X, y, weights)`` in a list or any other collection that can be read
        repeatedly, or from a callable that returns a new iterator of blocks each time. An iterator,
        such as a generator, can be read only once; landmarks and scaling then come from its first
        blocks.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Labels or regression targets, if `source` is X.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, if `source` is X.
    memory : float, default=64
        Largest size of a block of X in megabytes, if `source` is X.
    names : list of str, default=None
        Names of the columns; None takes those of the first block if it is a DataFrame.
    checkpoint : str or path-like, default=None
        A file that keeps the sums so far. An interrupted fit continues from there; the file is
        removed at the end.
    qr : bool, default=False
        Whether a fit refines the solution by a triangular factor of the rows, for columns that are
        almost combinations of each other. It takes one more pass.

    Attributes
    ----------
    rereadable : bool
        Whether the rows can be read more than once.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVC, RowBlocks
    >>> def blocks():
    ...     for seed in range(5):
    ...         rng = np.random.default_rng(seed)
    ...         X = rng.normal(size=(400, 2))
    ...         yield X, np.where(np.hypot(*X.T) < 1, "near", "far")
    >>> model = PSVC(landmarks=50).fit(RowBlocks(blocks))
    >>> model.predict([[0.1, 0.2], [2.0, 1.0]])
    array(['near', 'far'], dtype='<U4')
    """

    rereadable: bool

    def __init__(
        self,
        source: Any | Callable[[], Iterator[Any]] | Iterable[Any],
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        memory: float = 64.0,
        names: list[str] | None = None,
        checkpoint: StrPath | None = None,
        qr: bool = False,
    ) -> None:
        check_number("memory", memory, above=0)
        check_flag("qr", qr)
        self.checkpoint, self.qr = checkpoint, qr
        self.memory, self._names, self._used = memory, names, False
        self.feature_names: np.ndarray | None = None
        self._chunks: Any = None
        if is_dask(source):
            self._chunks = _chunks_of(source, y, sample_weight, checkpoint, qr)
            self._open, self.rereadable = self._chunks.__iter__, True
        elif y is not None:
            self._open, self.rereadable = _cutter(source, y, sample_weight, memory), True
        elif _has_shape(source):
            raise ValueError(
                "RowBlocks needs a matrix X with y, or blocks (X, y) in a list, from a callable "
                "or from an iterator."
            )
        elif sample_weight is not None:
            raise ValueError("The weights of blocks belong in the blocks: (X, y, weights).")
        else:
            self._open, self.rereadable = _opener(source)

    @property
    def rows(self) -> Any:
        """These blocks; of a dask collection `DaskRows`, which are summed where they are."""
        return self if self._chunks is None else self._chunks

    def __iter__(self) -> Iterator[RowBlock]:
        if self._used and not self.rereadable:
            raise ValueError(
                "The iterator of blocks has been read already. Give RowBlocks a callable that "
                "returns a new one each time, such as the generator function itself."
            )
        self._used, width, start = True, None, 0
        for number, given in enumerate(self._open()):
            block = _as_block(given, number, start)
            if number == 0:
                names = getattr(block.X, "columns", None) if self._names is None else self._names
                self.feature_names = None if names is None else np.asarray(names, dtype=object)
            block = check_block(block, width)
            start, width = start + block.X.shape[0], block.X.shape[1]
            if block.X.shape[0]:
                yield block
        if start == 0:
            raise ValueError("There are no rows in the blocks.")


def _chunks_of(X, y, sample_weight, checkpoint, qr):
    """The rows of a dask collection with the options of a fit."""
    from ._dask_rows import DaskRows

    if y is None:
        raise ValueError("RowBlocks of a dask collection need y.")
    if checkpoint is not None:
        raise ValueError("checkpoint is for blocks that are read one by one, not for chunks.")
    chunks = DaskRows(X, y, sample_weight)
    chunks.qr = qr
    return chunks


def moments_of_blocks(blocks):
    """The `Moments` of the columns of X and of numbers y, by one pass over blocks."""
    total = None
    for block in gathered_blocks(blocks):
        if block.y.dtype.kind not in "biuf":
            raise ValueError(f"{block.where}: y must hold numbers, got {block.y.dtype} data.")
        if block.sample_weight is None or block.sample_weight.any():
            part = Moments.of(block.X, block.y, block.sample_weight)
            total = part if total is None else total + part
    if total is None:
        raise ValueError("There are no rows with weight.")
    return total


def gathered_blocks(blocks):
    """The same rows in blocks of GATHERED rows or more, but for the last one."""
    waiting, count = [], 0
    for block in blocks:
        waiting.append(block)
        count += block.X.shape[0]
        if count >= GATHERED:
            yield _joined(waiting)
            waiting, count = [], 0
    if waiting:
        yield _joined(waiting)


def _joined(blocks):
    """One block of several."""
    if len(blocks) == 1:
        return blocks[0]
    weights = None
    if any(block.sample_weight is not None for block in blocks):
        weights = np.concatenate(
            [np.ones(b.X.shape[0]) if b.sample_weight is None else b.sample_weight for b in blocks]
        )
    return RowBlock(
        stacked_rows([block.X for block in blocks]),
        np.concatenate([block.y for block in blocks]),
        weights,
        f"{blocks[0].where} to {blocks[-1].where}",
    )


def check_block(block, width=None):
    """A block with checked arrays; errors name it. `width` is the number of columns, if known."""
    X, y, weights, where = _as_block(block, 0, 0)
    try:
        X = check_array(
            "X",
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
            ensure_min_samples=0,
        )
        y = as_array("y", y)
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        if y.ndim not in (1, 2) or len(y) != X.shape[0]:
            raise ValueError(f"y has the shape {y.shape}, but X has {X.shape[0]} rows.")
        weights = None if X.shape[0] == 0 else check_weights(weights, X.shape[0], some=False)
    except (ValueError, TypeError) as error:
        raise type(error)(f"{where}: {error}") from error
    if width is not None and X.shape[1] != width:
        raise ValueError(f"{where}: X has {X.shape[1]} columns, but {width} are expected.")
    check_finite(X, y, where)
    return RowBlock(X, y, weights, where)


def check_finite(X, y, where):
    """Refuse NaN and infinity, and say where the first one is."""
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(values.sum()) or np.isfinite(values).all()
    if not fine:
        if sp.issparse(X):
            place = np.argmax(~np.isfinite(X.data))
            row, column = np.searchsorted(X.indptr, place, side="right") - 1, X.indices[place]
        else:
            row, column = np.argwhere(~np.isfinite(X))[0]
        raise ValueError(
            f"{where}: there is NaN or infinity in row {row + 1} of the block, column "
            f"{column + 1} of X. "
            "Impute it, or leave out the row."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = np.argwhere(~np.isfinite(y))[0][0]
        raise ValueError(f"{where}: there is NaN or infinity in row {row + 1} of the block, in y.")


def _as_block(given, number, start):
    """A tuple of a source as a block that knows where it is from."""
    if isinstance(given, RowBlock):
        return given
    if not isinstance(given, tuple | list) or len(given) not in (2, 3):
        raise TypeError(
            f"blocks must be tuples (X, y) or (X, y, weights), one of them is {shown(given)}."
        )
    X, y, weights = (*given, None)[:3]
    rows = X.shape[0] if _has_shape(X) and X.shape else np.size(X, 0) if np.ndim(X) else 0
    return RowBlock(X, y, weights, f"block {number + 1} (rows {start + 1} to {start + rows})")


def _has_shape(X):
    """Whether X is an array of some kind."""
    return isinstance(getattr(X, "shape", None), tuple)


def _opener(source):
    """A function that begins to read blocks, and whether it can be called again."""
    if callable(source):
        return source, True
    if not isinstance(source, Iterable) or isinstance(source, str | bytes | dict):
        raise TypeError(
            "RowBlocks takes a matrix X with y, or blocks (X, y) in a list, from a callable or "
            f"from an iterator, got {shown(source)}."
        )
    return (lambda: iter(source)), not isinstance(source, Iterator)


def _cutter(X, y, sample_weight, memory):
    """A function that cuts a matrix into blocks."""
    X = check_stored("source", X)
    if not _has_shape(X):
        X = as_array("source", X)
    if len(X.shape) != 2:
        raise ValueError(f"source must have rows and columns, got the shape {tuple(X.shape)}.")
    L = X.shape[0]
    y = y if hasattr(y, "iloc") else as_array("y", y)
    if not y.shape or y.shape[0] != L:
        raise ValueError(f"y has the shape {y.shape}, but X has {L} rows.")
    weights = check_weights(sample_weight, L)
    if sp.issparse(X):
        X = X.tocsr()
        row_bytes = 12 * X.nnz / max(L, 1)
    else:
        row_bytes = 8 * X.shape[1]
    step = max(int(min(memory * MEGABYTE / max(row_bytes, 1), max(L, 1))), 16)
    get = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    labels = y.iloc if hasattr(y, "iloc") else y

    def blocks():
        for start in range(0, L, step):
            rows = slice(start, min(start + step, L))
            some = None if weights is None else weights[rows]
            where = f"rows {start + 1} to {rows.stop}"
            yield RowBlock(get(rows), labels[rows], some, where)

    return blocks
