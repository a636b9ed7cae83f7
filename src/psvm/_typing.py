"""Types that annotations of several rooms share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike as ArrayLike
from numpy.typing import DTypeLike as DTypeLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
else:  # neither is needed before something is drawn or shown as a table
    Axes = DataFrame = Figure = Any

Method = TypeVar("Method", bound=Callable[..., Any])

MatrixLike: TypeAlias = ArrayLike | sp.sparray | sp.spmatrix
"""An array, nested lists, a DataFrame or a sparse matrix."""
Stored: TypeAlias = np.ndarray | sp.csr_array
"""Rows of a matrix, as they were given."""
KernelLike: TypeAlias = str | Callable[[Any, Any], Any]
"""The name of a kernel, an object of `psvm.kernels` or a function of two arrays."""
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
ClassWeight: TypeAlias = Mapping[Any, float] | Literal["balanced"] | None
StrPath: TypeAlias = str | os.PathLike[str]
Scoring: TypeAlias = str | Callable[..., float] | None
Estimator: TypeAlias = Any
"""An estimator of scikit-learn, which has no types."""


class Splitter(Protocol):
    """A cross-validation splitter of scikit-learn."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        """Yield the rows for training and those for testing."""


CVLike: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]] | None
"""A number of folds, a splitter, or the folds themselves."""


def available_if(check: Callable[[Any], Any]) -> Callable[[Method], Method]:
    """Do as scikit-learn's decorator of that name, and keep the type of the method."""
    from sklearn.utils.metaestimators import available_if as decorator

    return decorator(check)
