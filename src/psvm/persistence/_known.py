"""The classes that a model file may hold. Loading looks names up here and imports nothing else."""

from __future__ import annotations

import functools
import inspect
from typing import TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from .. import (
    choice,
    comparators,
    estimators,
    evaluation,
    kernels,
    model_selection,
    preprocessing,
    selection,
    solvers,
    sphered,
)
from .._validation import shown
from ..io import TableEncoder
from ..kernels import Kernel
from ..selection import floored_log2
from ._registry import Entry, Registry, SchemaEntry
from ._sklearn import ENTRIES
from ._skops import names_of

KernelClass = TypeVar("KernelClass", bound=type[Kernel])
ROOMS = (
    *(kernels, preprocessing, solvers, choice, estimators, evaluation, model_selection),
    *(selection, sphered, comparators),
)


@functools.cache
def registry():
    """The registry, with everything of psvm and what it needs of scikit-learn."""
    found = Registry()
    for entry in (*ENTRIES, *_own()):
        found.add(entry)
    for name in ("log", "log1p", "log2", "log10", "sqrt"):
        found.add_function(f"numpy.{name}", getattr(np, name))
    found.add_function("psvm.floored_log2", floored_log2)
    return found


def _own():
    """Public estimators with a table `_fitted`, and the parts of which they consist."""
    for room in ROOMS:
        for name, cls in vars(room).items():
            if not isinstance(cls, type) or not hasattr(cls, "_fitted") or inspect.isabstract(cls):
                continue
            if name in room.__all__ or not issubclass(cls, BaseEstimator):
                yield Entry(f"{room.__name__}.{name}", cls)
    yield SchemaEntry()
    yield Entry("psvm.io.TableEncoder", TableEncoder)


def trusted_types() -> list[str]:
    """Names of the types that skops must trust to load the models of psvm.

    skops is one of the formats of MLflow, too. The list contains the classes of psvm and of those
    parts of scikit-learn, SciPy and NumPy of which fitted models consist, and what `register` has
    added.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from psvm.persistence import trusted_types
    >>> "psvm.estimators._estimators.PSVC" in trusted_types()
    True
    """
    return names_of(registry())


def register(cls: KernelClass) -> KernelClass:
    """Allow your own kernel class in model files.

    Its parameters are written; they must be numbers, strings, arrays, or lists, tuples and dicts of
    these. The class must be registered under the same name when the file is loaded.

    Parameters
    ----------
    cls : type
        A subclass of `psvm.kernels.Kernel`.

    Returns
    -------
    type
        The class, so that it can be used as a decorator.

    Examples
    --------
    >>> import numpy as np
    >>> import psvm.persistence
    >>> from psvm.kernels import Kernel
    >>> @psvm.persistence.register
    ... class Overlap(Kernel):
    ...     '''Sum of the smaller one of each pair of entries.'''
    ...     def evaluate(self, X, Z):
    ...         return np.minimum(X[:, None], Z[None]).sum(axis=2)
    """
    if not (isinstance(cls, type) and issubclass(cls, Kernel)):
        raise TypeError(
            f"Only kernel classes can be registered: cls must be a subclass of "
            f"psvm.kernels.Kernel, got {shown(cls)}."
        )
    registry().add(Entry(f"{cls.__module__}.{cls.__qualname__}", cls))
    return cls
