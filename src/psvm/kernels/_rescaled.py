"""A kernel of vectors whose features are scaled first."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import ArrayLike
from .._validation import check_vector, shown
from ..matrix import can_be_centred, scaled_columns
from ._base import Kernel


class Rescaled(Kernel):
    """``k((x - centre) / scale, (z - centre) / scale)``: features in units of their own.

    Parameters
    ----------
    kernel : Kernel
        A kernel of vectors.
    scale : array-like of shape (n_features,)
        Positive numbers, such as `sklearn.preprocessing.StandardScaler.scale_`.
    centre : array-like of shape (n_features,), default=None
        What is subtracted first; None subtracts nothing. It makes no difference to a kernel of
        distances, and sparse vectors need None.

    Examples
    --------
    >>> from psvm.kernels import Linear, Rescaled
    >>> Rescaled(Linear(), scale=[1.0, 10.0])([[1.0, 20.0]], [[3.0, 10.0]])
    array([[5.]])
    """

    def __init__(self, kernel: Kernel, scale: ArrayLike, centre: ArrayLike | None = None) -> None:
        self.kernel = kernel
        self.scale = scale
        self.centre = centre

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite

    def check_parameters(self) -> None:
        if not isinstance(self.kernel, Kernel) or not self.kernel.takes_vectors:
            raise ValueError(f"kernel must be a kernel of vectors, got {shown(self.kernel)}.")
        self.kernel.check_parameters()
        scale = check_vector("scale", self.scale)
        if not (scale > 0).all():
            raise ValueError("scale must hold positive numbers.")
        if self.centre is not None and check_vector("centre", self.centre).shape != scale.shape:
            raise ValueError(f"centre must have {len(scale)} entries like scale.")

    def check_objects(self, X: Any, name: str = "X") -> Any:
        X = self.kernel.check_objects(X, name)
        if X.shape[1] != len(np.asarray(self.scale)):
            raise ValueError(
                f"{name} has {X.shape[1]} features, but scale has {len(np.asarray(self.scale))}."
            )
        if self.centre is not None and not can_be_centred(X):
            raise ValueError(
                f"{name} is sparse and cannot be centred; use centre=None or its toarray()."
            )
        return X

    def prepare(self, X: Any) -> Any:
        return self.kernel.prepare(scaled_columns(X, self.centre, self.scale))

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        return self.kernel.evaluate(X, Z)

    def evaluate_into(self, X: Any, Z: Any, out: np.ndarray) -> None:
        self.kernel.evaluate_into(X, Z, out)

    def diagonal(self, X: Any) -> np.ndarray:
        return self.kernel.diagonal(X)

    def __eq__(self, other):
        same = isinstance(other, Rescaled) and self.kernel == other.kernel
        pairs = ((self.scale, other.scale), (self.centre, other.centre)) if same else ()
        return same and all(
            (a is None) == (b is None) and (a is None or np.array_equal(a, b)) for a, b in pairs
        )
