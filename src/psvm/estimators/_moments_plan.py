"""What is summed over rows: the kernel, what describes, the coding of the target, the folds."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .._folds import N_FOLDS
from .._threads import threads
from .._typing import ArrayLike, MatrixLike, Stored
from .._validation import (
    check_integer,
    check_kind,
    shown,
)
from ..kernels import Kernel
from ..matrix import (
    FoldMoments,
    FoldSums,
    RowBlock,
    RowFactor,
    as_dense,
    block_slices,
    check_block,
    hashed_folds,
    row_hashes,
    triangle,
)
from ._base import BasePSVM, check_psvm
from ._description import rounded
from ._plan_parts import plan_parts
from ._row_survey import RowSurvey
from ._target import Labels, Numbers, labels_for

MOST_FOLDS = 100
"""Each has sums of its own."""
ABOUT = 2000
"""Rows of the sample that tell about where the values of the columns lie."""


@dataclass(frozen=True, eq=False, repr=False)
class MomentsPlan:
    """What is summed over rows, fixed before the first one is seen.

    It holds everything that is the same for all rows: the kernel with its numbers, the descriptive
    objects, how the target is coded, and the number of folds. So each block of rows can be summed
    wherever it is, by `moments`, and the sums add up. A plan can be pickled. Make it by
    `MomentsPlan.make`.

    Parameters
    ----------
    kernel : Kernel or None
        None if the columns of X are the descriptive objects (``kernel="dyadic"``).
    objects : array, sparse matrix or None
        What describes, in the units of X; None with ``kernel="dyadic"``.
    classes : ndarray or None
        The labels of a classification, in order.
    class_factors : ndarray or None
        Weights of the classes, which are multiplied with those of the rows.
    n_outputs : int or None
        The number of columns of a y of numbers; None if it has one dimension.
    object_classes : ndarray of int or None
        The numbers of the classes of the descriptive objects, if they are rows.
    origin : ndarray of shape (P + T,)
        About the means of the columns of K and of the targets, around which is summed.
    n_features : int
        The number of columns of X.
    feature_names : ndarray of str or None
        Their names.
    n_folds : int
        Folds of the cross-validation. The fold of a row depends on its content only, and equal
        rows share a fold. Rows that describe are in no fold: they always train.
    dtype : dtype
        Precision of the kernel values; they are summed in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVC, MomentsPlan, RowSurvey, fit_moments
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.hypot(*X.T) < 1
    >>> parts = [(X[i : i + 500], y[i : i + 500]) for i in range(0, 2000, 500)]
    >>> survey = sum(RowSurvey.of(*part, labels=True) for part in parts)
    >>> plan = MomentsPlan.make(PSVC(landmarks="random"), survey)
    >>> sums = sum(plan.moments(*part) for part in parts)
    >>> sums
    FoldMoments(n_rows=2000, n_folds=5, n_columns=100, n_targets=1)
    >>> model = fit_moments(PSVC(), plan, sums)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    kernel: Kernel | None
    objects: Any
    classes: np.ndarray | None
    class_factors: np.ndarray | None
    n_outputs: int | None
    origin: np.ndarray
    n_features: int
    feature_names: np.ndarray | None = None
    object_classes: np.ndarray | None = None
    n_folds: int = N_FOLDS
    dtype: Any = np.float64
    own: None = field(default=None, init=False)
    """The descriptive objects have no place among the rows."""

    @classmethod
    def make(
        cls,
        model: Any,
        survey: RowSurvey,
        *,
        n_folds: int = N_FOLDS,
        feature_names: Any = None,
    ) -> MomentsPlan:
        """The plan that the parameters of a model mean for rows with this survey.

        Parameters
        ----------
        model : PSVC or PSVR
            Its parameters about kernel, gamma, landmarks and weights of classes are used.
        survey : RowSurvey
            Of all rows, or of some that are like them. All classes must be among them.
        n_folds : int, default=5
            Folds of the cross-validation; 0 for none.
        feature_names : array-like of str, default=None
            Names of the columns of X.

        Returns
        -------
        MomentsPlan
        """
        check_kind("model", model, BasePSVM)
        check_kind("survey", survey, RowSurvey)
        check_integer("n_folds", n_folds, least=0, most=MOST_FOLDS)
        check_psvm(model)
        parts = plan_parts(model, survey, feature_names)
        objects, classes, d = parts["objects"], parts["classes"], len(survey.means)
        T = parts["n_outputs"] or (1 if classes is None or len(classes) == 2 else len(classes))
        P = d if objects is None else objects.shape[0]
        origin, dtype = np.zeros(P + T), np.dtype(model.dtype)
        plan = cls(**parts, origin=origin, n_features=d, n_folds=n_folds, dtype=dtype)
        sample = survey.sample
        some = slice(0, ABOUT)
        weights = sample.weights[some] / sample.weights[some].sum()
        K, Y = plan.columns(sample.X[some]), plan.coded(sample.y[some])
        return replace(plan, origin=np.concatenate([weights @ K, weights @ Y]))

    @property
    def n_targets(self) -> int:
        """T: one for two classes or one number per row, otherwise one for each class or output."""
        if self.classes is not None:
            return 1 if len(self.classes) == 2 else len(self.classes)
        return self.n_outputs or 1

    @property
    def n_classes(self) -> int:
        """The number of classes whose sums are kept apart: pairs of them have machines."""
        return 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)

    @property
    def n_columns(self) -> int:
        """P, the number of columns of K."""
        return len(self.origin) - self.n_targets

    @property
    def places(self) -> tuple[np.ndarray, int]:
        """Places of the columns among all, and how many there are."""
        return np.arange(self.n_columns), self.n_columns

    def target_for(self, model: Any) -> Labels | Numbers:
        """`Labels` or `Numbers` without any rows, with the scheme of a model."""
        if self.classes is None:
            return Numbers(np.empty(0 if self.n_outputs is None else (0, self.n_outputs)))
        return labels_for(model, self.classes, None)

    def columns_of(self, classes: list[int] | None) -> np.ndarray:
        """The columns that belong to rows of some classes; all of them if that is not known."""
        if classes is None or self.object_classes is None:
            return np.arange(self.n_columns)
        return np.flatnonzero(np.isin(self.object_classes, classes))

    @cached_property
    def key(self) -> str:
        """A checksum of the plan: sums with the same one add up."""
        digest = hashlib.blake2b(digest_size=16)
        for part in (*_content(self.kernel), self.objects, self.classes, self.class_factors):
            _feed(digest, part)
        numbers = self.n_outputs, self.origin, self.n_features, self.n_folds, str(self.dtype)
        for part in numbers:
            _feed(digest, part)
        return digest.hexdigest()

    def moments(
        self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> FoldMoments:
        """The sums over some rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            A weight of 2 is the same as the row twice, 0 as without it.

        Returns
        -------
        FoldMoments
        """
        return self.sum([RowBlock(X, y, sample_weight, "rows")])

    def sum(self, blocks: Iterable[RowBlock]) -> FoldMoments:
        """The sums over blocks of rows, which takes less memory than adding up their moments.

        Parameters
        ----------
        blocks : iterable of RowBlock
            Such as `RowBlocks`.

        Returns
        -------
        FoldMoments
        """
        sums = self.start()
        with threads():
            for block in blocks:
                self.add(sums, block)
        return sums.moments(self.key)

    def factor(self, blocks: Iterable[RowBlock]) -> RowFactor:
        """The triangular factor of all rows, which keeps digits that sums lose.

        Parameters
        ----------
        blocks : iterable of RowBlock
            Such as `RowBlocks`.

        Returns
        -------
        RowFactor
        """
        R = np.empty((0, 1 + len(self.origin)))
        with threads():
            for K, Y, weights in self.centred_tiles(blocks):
                rows = np.column_stack([np.ones(len(K)), K, Y])
                rows *= np.sqrt(weights)[:, None]
                R = triangle(np.concatenate([R, rows]))
        if not len(R):
            raise ValueError("There are no rows with weight.")
        return RowFactor(self.origin, R, self.n_targets, self.key)

    def start(self) -> FoldSums:
        """Sums without rows."""
        return FoldSums(self.origin, self.n_targets, self.n_folds, self.n_classes)

    def add(self, sums: FoldSums, block: RowBlock) -> None:
        """Add the rows of a block to sums."""
        block = check_block(block, self.n_features)
        rows, Y, weights = self._rows(block)
        parts = self.folds_of(block.X[rows]) * self.n_classes
        if self.n_classes > 1:
            parts += Y.argmax(axis=1)
        order, n_parts = np.argsort(parts, kind="stable"), (self.n_folds + 1) * self.n_classes
        tiles, room = self._tiles(len(rows))
        for tile in tiles:
            some = order[tile]
            ends = np.searchsorted(parts[some], np.arange(n_parts), side="right")
            sums.add(self._centred(block.X[rows[some]], Y[some], room), weights[some], ends)
        if not np.isfinite(sums.sums).all():
            raise ValueError(
                f"{block.where}: the kernel returned NaN or infinity. Scale X or change the "
                "kernel's parameters."
            )

    def centred_tiles(
        self, blocks: Iterable[RowBlock]
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Rows of K and targets, minus `origin`, and weights, some rows at a time.

        The next ones overwrite them.
        """
        P = self.n_columns
        for block in blocks:
            block = check_block(block, self.n_features)
            rows, Y, weights = self._rows(block)
            tiles, room = self._tiles(len(rows))
            for tile in tiles:
                Z = self._centred(block.X[rows[tile]], Y[tile], room)
                yield Z[:, :P], Z[:, P:], weights[tile]

    def columns(self, X: Stored, out: np.ndarray | None = None) -> np.ndarray:
        """Rows of K as doubles: kernel values of checked rows with what describes."""
        K = np.empty((X.shape[0], self.n_columns)) if out is None else out
        if self.kernel is None:
            K[:] = as_dense(X)
            return K
        prepared = self.kernel.prepare(rounded(X, self.kernel, self.dtype))
        with np.errstate(all="ignore"):
            self.kernel.evaluate_into(prepared, self._described, K)
        return K

    def coded(self, y: np.ndarray, where: str = "y") -> np.ndarray:
        """Targets as numbers, of shape (n, T): -1 and +1 for classes."""
        if self.classes is None:
            shape = () if self.n_outputs is None else (self.n_outputs,)
            if y.dtype.kind not in "biuf" or y.shape[1:] != shape:
                raise ValueError(
                    f"{where}: y must be numbers, {self.n_outputs or 1} for each row, got "
                    f"{y.dtype} data of shape {y.shape}."
                )
            return y.reshape(len(y), self.n_targets).astype(np.float64, copy=False)
        code = self.class_codes(y, where)
        if len(self.classes) == 2:
            return (2.0 * code - 1.0)[:, None]
        Y = np.full((len(y), len(self.classes)), -1.0)
        Y[np.arange(len(y)), code] = 1.0
        return Y

    def folds_of(self, X: Stored) -> np.ndarray:
        """The fold of each row; `n_folds` for those that describe, which are in no fold."""
        if self.n_folds == 0:
            return np.zeros(X.shape[0], dtype=np.intp)
        hashes = row_hashes(X)
        folds = hashed_folds(hashes, self.n_folds)
        if self.objects is not None:
            place = np.searchsorted(self._described_hashes, hashes)
            place = np.minimum(place, len(self._described_hashes) - 1)
            folds[self._described_hashes[place] == hashes] = self.n_folds
        return folds

    def __repr__(self) -> str:
        what = "the columns of X" if self.kernel is None else repr(self.kernel)
        return (
            f"MomentsPlan({what}, n_columns={self.n_columns}, n_targets={self.n_targets}, "
            f"n_folds={self.n_folds})"
        )

    def __getstate__(self):
        cached = ("key", "_described", "_described_hashes")
        return {k: v for k, v in vars(self).items() if k not in cached}

    @cached_property
    def _described(self):
        return self.kernel.prepare(rounded(self.objects, self.kernel, self.dtype))

    @cached_property
    def _described_hashes(self):
        return np.sort(row_hashes(self.objects))

    def _rows(self, block):
        """Rows of a block with weight: their places, targets and weights."""
        X, y, weights, where = block
        Y = self.coded(y, where)
        weights = np.ones(X.shape[0]) if weights is None else weights
        if self.class_factors is not None:
            weights = weights * self.class_factors[self.class_codes(y, where)]
        rows = np.flatnonzero(weights > 0)
        return rows, Y[rows], weights[rows]

    def _tiles(self, n):
        """Slices of rows whose kernel values are in memory together, and room for these.

        All slices use the same room: workers of dask give memory back at once, and fresh pages
        took a third of the time.
        """
        tiles = block_slices(n, 8 * len(self.origin))
        return tiles, np.empty((tiles[0].stop if tiles else 0, len(self.origin)))

    def _centred(self, X, Y, room):
        """``[K, Y]`` minus `origin`, in `room`."""
        P, Z = self.n_columns, room[: X.shape[0]]
        self.columns(X, out=Z[:, :P])
        Z[:, P:] = Y
        Z -= self.origin
        return Z

    def class_codes(self, y: np.ndarray, where: str = "y") -> np.ndarray:
        """The number of the class of each row."""
        if self.classes is None:
            raise ValueError("The plan is one of numbers: there are no classes.")
        if y.ndim != 1:
            raise ValueError(f"{where}: y must have one label for each row, got shape {y.shape}.")
        try:
            code = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        except TypeError as error:
            raise TypeError(
                f"{where}: y must hold labels like those of the plan. {error}"
            ) from error
        wrong = np.flatnonzero(self.classes[code] != y)
        if len(wrong):
            label = y[wrong].tolist()[0]
            raise ValueError(
                f"{where}: the label {shown(label)} in row {wrong[0] + 1} of the block is none "
                f"of the {len(self.classes)} classes of the plan."
            )
        return code


def _content(kernel):
    """The name of a kernel and its parameters, one after the other."""
    if kernel is None:
        return ["columns"]
    parts = [type(kernel).__name__]
    for name, value in sorted(kernel.get_params(deep=False).items()):
        parts += [name, *(_content(value) if isinstance(value, Kernel) else [value])]
    return parts


def _feed(digest, part):
    """Add a number, text or array to a checksum."""
    if hasattr(part, "shape") and part.shape:
        part = as_dense(part)
        digest.update(f"{part.dtype.kind}{part.shape}".encode())
        numeric = part.dtype.kind in "biuf"
        digest.update(part.astype("<f8").tobytes() if numeric else str(part.tolist()).encode())
    else:
        digest.update(repr(part.item() if hasattr(part, "item") else part).encode() + b"\0")
