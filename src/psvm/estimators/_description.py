"""How training objects are described and weighted: the one object behind every fit and fold."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..matrix import (
    DataMatrix,
    KernelMatrix,
    Standardized,
    as_matrix,
    looks_like_distances,
    object_digests,
    row_digests,
)
from ..problem import Problem
from ._kernel import MEASURED, UserKernel, choose_kernel, kernel_name
from ._landmarks import MOST, SHARED_MOST, Draw, landmarks_for
from ._more import gain_of_more

DISTANCES = (
    "The precomputed matrix looks like distances: its diagonal is 0 and nothing is negative. It is "
    "used as similarities. psvm.preprocessing.DoubleCentering in a pipeline before the estimator "
    "makes similarities of distances."
)


@dataclass(frozen=True, eq=False)
class Description:
    """Weighted rows of a data matrix, and what its columns stand for.

    A row of weight 0 is left out: it neither counts nor describes. So folds share the matrix.

    Attributes
    ----------
    matrix : DataMatrix of shape (L, P)
        K.
    weights : ndarray of shape (L,)
    digests : list of bytes or None
        The content of each row, equal for equal rows; None if nobody asks for it.
    identity : ndarray of shape (L,) or None
        Where rows describe: equal numbers for those that describe as one object. None if the
        columns are other objects.
    own : ndarray of shape (P,) or None
        The row by which each column describes; None if the columns are other objects.
    columns : ndarray of shape (P,)
        Places of the columns in the matrix that this is a part of.
    objects : objects or None
        What the columns stand for; None if only their places are known.
    kernel : Kernel or None
        The kernel, if K is not measured.
    """

    matrix: DataMatrix
    weights: np.ndarray
    digests: list | None
    identity: np.ndarray | None
    own: np.ndarray | None
    columns: np.ndarray
    objects: Any = None
    kernel: Kernel | None = None

    @cached_property
    def present(self):
        """For each column a row with weight by which it describes; -1 where there is none.

        Equal rows are one object: a column stays as long as one of them does.
        """
        first, weighted = np.full(self.identity.max() + 1, -1), np.flatnonzero(self.weights > 0)
        first[self.identity[weighted[::-1]]] = weighted[::-1]
        return first[self.identity[self.own]]

    @cached_property
    def groups(self):
        """Numbers of the rows, equal for equal ones."""
        return np.unique(self.digests, return_inverse=True)[1]

    @cached_property
    def usable(self):
        """The columns that take part.

        A row without weight does not describe, and equal ones describe once: weight 2 must equal
        the row twice, also when C is finite.
        """
        if self.own is None:
            return np.ones(self.matrix.shape[1], dtype=bool)
        left = np.flatnonzero(self.present >= 0)
        # The first row with weight stands for its equals, if it has a column.
        left = left[np.argsort(self.own[left] != self.present[left], kind="stable")]
        usable = np.zeros(len(self.own), dtype=bool)
        usable[left[np.unique(self.identity[self.own[left]], return_index=True)[1]]] = True
        return usable

    def problem(self, y, C):
        """The problem of a target, with epsilon = 0; all targets share one standardised matrix."""
        if "_K" not in vars(self):
            vars(self)["_K"] = Standardized(self.matrix, self.weights, self.usable, y)
        return Problem.create(vars(self)["_K"], y, C, 0.0)

    def gram(self):
        """``Q = K̃'K̃`` for few columns, once a problem is stated; all targets share it."""
        if "_Q" not in vars(self):
            vars(self)["_Q"] = vars(self)["_K"].gram(keep=True)  # for leave-one-out values as well
        return vars(self)["_Q"]

    @property
    def formed_gram(self):
        """What `gram` returns, if it has been asked for; else None."""
        return vars(self).get("_Q")

    def counting(self, times):
        """The same with each row counted so many times; 0 leaves it out."""
        return replace(self, weights=self.weights * times)

    def part(self, rows):
        """The training objects `rows`, described by themselves if they describe at all."""
        L, P = self.matrix.shape
        if np.array_equal(rows, np.arange(L)):
            return self
        columns, own = np.arange(P), None
        if self.own is not None:
            place = np.full(L, -1)
            place[rows] = np.arange(len(rows))
            columns = np.flatnonzero(place[self.own] >= 0)
            own = place[self.own[columns]]
        return Description(
            matrix=self.matrix.part(rows, columns),
            weights=self.weights[rows],
            digests=None if self.digests is None else [self.digests[i] for i in rows],
            identity=None if self.identity is None else self.identity[rows],
            own=own,
            columns=self.columns[columns],
        )

    def keeping(self, matrix, index):
        """The same rows, described by the columns `index` alone, which `matrix` holds."""
        return Description(
            matrix=matrix,
            weights=self.weights,
            digests=self.digests,
            identity=self.identity,
            own=None if self.own is None else self.own[index],
            columns=self.columns[index],
        )

    @property
    def places(self):
        """The places of the columns among the variables of a model, and the number of these.

        Training objects have a variable each, whether they describe or not.
        """
        L, P = self.matrix.shape
        return (np.arange(P), P) if self.own is None else (self.own, L)


def describe(
    X, weights, kernel, *, landmarks=None, rows=None, digests=None, cache_size=1000, dtype=float
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
            identity = own = np.arange(X.shape[0])
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
    return Description(matrix, weights, digests, identity, own, columns, objects, kernel)


def describe_for(model, X, weights, target, digests=None, *, some=False):
    """Describe training objects as the parameters of a `PSVC` or `PSVR` say.

    `target` says whether small classes need objects of their own. With `some`, fewer objects
    describe machines that share their support, and the caller finds out whether they are enough.
    """
    if kernel_name(model.kernel) == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed matrix must be a square matrix, got {X.shape[0]} x "
            f"{X.shape[1]}. Use kernel='dyadic' if columns and rows are different objects."
        )
    if kernel_name(model.kernel) == "precomputed" and looks_like_distances(X):
        warnings.warn(DISTANCES, stacklevel=2)
    most = SHARED_MOST if some else MOST
    drawn = model.landmarks is None and not is_measured(model) and X.shape[0] > most
    asked = isinstance(model.epsilon, str) or model.threshold == "loo"
    asked = asked or getattr(model, "probability", False) or model.relaxation != "auto"
    if digests is None and (drawn or asked):
        digests = digests_of(X, model.kernel)
    kernel = choose_kernel(model, X, weights)
    options = {"digests": digests, "cache_size": model.cache_size, "dtype": model.dtype}
    if drawn:
        tasks = target.tasks()
        several = len(tasks) > 1
        pair = target.classifies and not several
        draw = Draw(X, weights, digests, target.paired, several=several, pair=pair)
        if draw.n_distinct > MOST:
            make = partial(describe, X, weights, kernel, **options)
            return described_by_some(make, draw, tasks)
        if draw.n_distinct > most:
            return describe(X, weights, kernel, rows=draw.rows(draw.shared), **options)
    landmarks = landmarks_for(model, X, weights, kernel)
    return describe(X, weights, kernel, landmarks=landmarks, **options)


def described_by_some(make, draw, tasks):
    """The description by some of the training objects: by more of them where that pays.

    Parameters
    ----------
    make : callable
        ``make(rows=rows)`` is the description by these rows.
    draw : Draw
    tasks : list of Task

    Returns
    -------
    Description
    """
    description = make(rows=draw.rows(draw.few))
    if draw.many > draw.few:
        half = np.isin(description.own, draw.rows(draw.few // 2))
        count = draw.worth(gain_of_more(description, half, tasks))
        if count > draw.few:
            return make(rows=draw.rows(count))
    return description


def digests_of(X, kernel):
    """The content of each row; of a square matrix, in any order of its columns."""
    square = kernel_name(kernel) == "precomputed" and X.ndim == 2 and X.shape[0] == X.shape[1]
    return object_digests(X) if square else row_digests(X)


def rounded(X, kernel, dtype):
    """Vectors in the precision of the kernel values; as they are for a user's function."""
    ours = kernel.takes_vectors and not isinstance(kernel, UserKernel)
    return X.astype(dtype, copy=False) if ours else X


def is_measured(model):
    """Whether X is the matrix itself."""
    return kernel_name(model.kernel) in MEASURED
