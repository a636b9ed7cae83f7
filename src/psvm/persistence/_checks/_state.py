"""The attributes of a loaded object, taken one by one."""

import math
import numbers

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._errors import ModelFileError


LABELS = (str, numbers.Real | np.bool_)
"""Labels of one of these kinds can be compared with each other."""


class State:
    """The attributes of an object, taken one by one with checks that name what is wrong."""

    def __init__(self, model):
        self.model = model
        self._name = type(model).__name__

    def require(self, condition, what):
        """Refuse the model unless a condition holds."""
        if not condition:
            raise ModelFileError(f"the model makes no sense: {what} ({self._name}).")

    def has(self, name):
        """Whether an attribute is there and not None."""
        return getattr(self.model, name, None) is not None

    def get(self, name):
        """An attribute that must be there."""
        self.require(hasattr(self.model, name), f"{name} is missing")
        return getattr(self.model, name)

    def count(self, name, least=0):
        """An integer."""
        value = self.get(name)
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        self.require(whole and value >= least, f"{name} is {value!r}")
        return int(value)

    def number(self, name):
        """A finite number."""
        value = self.get(name)
        self.require(is_number(value) and math.isfinite(value), f"{name} is {value!r}")
        return float(value)

    def part(self, name, kind, *methods):
        """A fitted object of a class that has some methods."""
        return self.fitted(self.get(name), name, kind, *methods)

    def fitted(self, value, name, kind, *methods):
        """The same for a value that is no attribute."""
        self.require(isinstance(value, kind), f"{name} is {type(value).__name__}")
        check_is_fitted(value)
        for method in methods:
            self.require(hasattr(value, method), f"{name} has no {method}")
        return value

    def array(self, name, shape, *, kinds="iuf", nan=False):
        """An array of finite numbers of a shape, in which None is any length."""
        return self.checked(self.get(name), name, shape, kinds=kinds, nan=nan)

    def checked(self, value, name, shape, *, kinds="iuf", nan=False):
        """The same for a value that is no attribute."""
        self.require(isinstance(value, np.ndarray), f"{name} is not an array")
        fits = len(value.shape) == len(shape) and all(
            n is None or n == m for n, m in zip(shape, value.shape, strict=True)
        )
        self.require(fits, f"{name} has shape {value.shape}")
        usual = value.dtype.kind != "f" or value.dtype in (np.float64, np.float32)
        ok = value.dtype.kind in kinds and usual
        self.require(ok, f"{name} has the wrong dtype {value.dtype}")
        if value.dtype.kind == "f":
            bad = np.isinf(value) if nan else ~np.isfinite(value)
            self.require(not bad.any(), f"{name} has entries that are not finite")
        return value

    def places(self, name, below, length=None):
        """Increasing indices below a number."""
        value = self.array(name, (length,), kinds="i")
        ok = is_increasing(value) and (len(value) == 0 or (value[0] >= 0 and value[-1] < below))
        self.require(ok, "the places of its support are wrong")
        return value

    def order(self, name, n):
        """Every index below a number once."""
        value = self.array(name, (n,), kinds="i")
        self.require(np.array_equal(np.sort(value), np.arange(n)), f"{name} is not a permutation")

    def features(self):
        """The number of features, and their names if there are any."""
        p = self.count("n_features_in_", least=1)
        if "feature_names_in_" in vars(self.model):
            names = self.get("feature_names_in_")
            ok = isinstance(names, np.ndarray) and names.shape == (p,)
            ok = ok and all(isinstance(name, str) for name in names)
            self.require(ok, "the names of its features are wrong")
        return p

    def classes(self, name="classes_", least=2):
        """Different labels in increasing order."""
        value = self.get(name)
        ok = isinstance(value, np.ndarray) and value.ndim == 1 and len(value) >= least
        self.require(ok, f"{name} are not labels")
        items = value.tolist() if value.dtype.kind == "O" else []
        ok = any(all(isinstance(v, kind) for v in items) for kind in LABELS)
        self.require(ok and is_increasing(value), f"{name} are not distinct labels in order")
        return value

    def same_classes(self, classes, other, name):
        """Labels that another object must have too."""
        ok = isinstance(other, np.ndarray) and np.array_equal(classes, other)
        self.require(ok, f"the classes of {name} are different")


def is_number(value):
    """Whether a value is a real number."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def is_increasing(array):
    """Whether each entry is greater than the one before; not so with NaN."""
    return bool((array[1:] > array[:-1]).all()) and not (array != array).any()


def n_pairs(n_classes):
    """Number of pairs of classes."""
    return n_classes * (n_classes - 1) // 2
