"""What a selector selects if it is not the columns of X: objects to which X is related."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._fitted import Given, Names
from ..kernels import Kernel
from ..matrix import KernelMatrix


@dataclass(frozen=True, eq=False)
class Relations:
    """The columns ``k(x, z_j)`` of a kernel and descriptive objects."""

    kernel: Kernel
    objects: Any
    """The z_j."""
    names: np.ndarray
    """What they are called."""

    _fitted: ClassVar = {"kernel": Given(), "objects": Given(), "names": Names("objects")}

    def matrix(self, X, index=slice(None)):
        """K of checked objects X and some of the descriptive ones."""
        kernel = self.kernel
        return KernelMatrix(kernel.evaluate, kernel.prepare(X), kernel.prepare(self.objects[index]))

    def values(self, X, index):
        """The same as an array of shape (n_samples, n_objects)."""
        if len(index) == 0:
            return np.empty((X.shape[0], 0))
        return np.ascontiguousarray(self.matrix(X, index).columns(slice(None)))

    def _check_fitted(self, state):
        """A name for each landmark."""
        state.require(hasattr(self.objects, "shape"), "its landmarks are not an array")
        ok = self.objects.shape[:1] == self.names.shape and len(self.names) > 0
        state.require(ok, "the names of its landmarks are wrong")


def name_objects(given, objects):
    """Labels of a DataFrame or Series, names of sequences; else "object0", "object1" and so on."""
    if hasattr(given, "iloc"):
        labels = list(given.index)
    else:
        labels = [getattr(z, "name", "") for z in objects] if objects.ndim == 1 else []
    named = all(isinstance(label, str) and label for label in labels)
    if not named or len(set(labels)) < objects.shape[0]:
        labels = [f"object{j}" for j in range(objects.shape[0])]
    return np.array(labels, dtype=object)
