"""How like its support objects an object is: what a model says about others is a guess."""

import numpy as np

from .._validation import kernel_values
from ..matrix import as_dense, row_digests
from ._base import BasePSVM
from ._description import is_measured
from ._landmarks import by_rows


def check_similar(machine):
    """Raise an error if a model has no support objects with which others could be compared."""
    if not isinstance(machine, BasePSVM):
        raise ValueError(f"{machine!r} has no support objects; PSVC and PSVR have.")
    if machine._kernel_name == "dyadic":
        raise ValueError(
            "With kernel='dyadic' the columns are no objects with which others could be compared."
        )
    if not len(machine.support_):
        raise ValueError("The model has no support objects: it is constant.")


def largest_similarity(machine, X, *, leave_out=False):
    """The largest similarity of each object to a support object.

    Values of a positive definite kernel are divided by ``sqrt(k(x, x) k(z, z))``. With `leave_out`,
    X are the training objects, and one that is a support object is compared with the others;
    -inf if there are none.
    """
    check_similar(machine)
    X = machine._validate(X, reset=False)
    if is_measured(machine):
        K = np.array(as_dense(X[:, machine.support_]), dtype=np.float64)
        if leave_out:
            K[np.arange(X.shape[0])[:, None] == machine.support_] = -np.inf
        return K.max(axis=1)
    kernel, Z = machine._kernel, machine._prepared_support
    prepared = machine._prepare(X)
    K = np.array(kernel_values(kernel.evaluate, prepared, Z), dtype=np.float64)
    if kernel.positive_definite:
        squares = np.multiply.outer(kernel.diagonal(prepared), kernel.diagonal(Z))
        np.divide(K, np.sqrt(squares), out=K, where=squares > 0)
    if leave_out and by_rows(machine.landmarks):
        own, others = (np.array(row_digests(M)) for M in (X, machine.support_objects_))
        K[own[:, None] == others] = -np.inf
    return K.max(axis=1)
