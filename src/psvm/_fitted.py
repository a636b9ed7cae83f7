"""What a fitted object consists of: one table for each class, which saving and loading read.

The table of a class, ``_fitted``, maps attributes to what they hold, and adds to the tables of its
bases. A model file contains these attributes and no others; `LEFT_OUT` marks those that `fit` sets
and no file contains. An entry is a constraint of `psvm._parameters`, or one of the classes below,
which know the other attributes. `GENERAL` belongs to every class.

What no table can say, the method ``_check_fitted(state)`` of a class checks. A class whose
attributes are written in another form has ``_packed()``, which returns what is written, or
``_unpack(state)``, which sets the attributes.

Dimensions have names: "p" is the number of features, "c" of classes, "pairs" of pairs of classes;
any other name is bound where it occurs first.
"""

import math
import numbers

import numpy as np
from sklearn.utils.validation import check_is_fitted

LABELS = (str, numbers.Real | np.bool_)
"""Labels of one of these kinds can be compared with each other."""


class UnsoundError(ValueError):
    """Attributes that do not fit each other."""


def table_of(cls):
    """The attributes of a class, and what they hold."""
    merged = dict(GENERAL)
    for base in reversed(cls.__mro__):
        merged |= vars(base).get("_fitted", {})
    return merged


def written(cls):
    """Names of the attributes of a class that a file contains."""
    return [name for name, entry in table_of(cls).items() if entry is not LEFT_OUT]


def state_of(model):
    """What is written of an object, by name."""
    if hasattr(model, "_packed"):
        return model._packed()
    return {name: vars(model)[name] for name in written(type(model)) if name in vars(model)}


def check_fitted(model, table=None):
    """Raise an `UnsoundError` for attributes that do not fit each other."""
    state = State(model)
    for name, entry in (table_of(type(model)) if table is None else table).items():
        if entry is LEFT_OUT or (isinstance(entry, Maybe) and not state.has(name)):
            continue
        state.hold(name, state.get(name), entry.entry if isinstance(entry, Maybe) else entry)
    if hasattr(model, "_check_fitted"):
        model._check_fitted(state)


class State:
    """The attributes of an object, taken one by one with checks that name what is wrong."""

    def __init__(self, model):
        self.model, self.sizes = model, {}
        self._name = type(model).__name__

    def require(self, condition, what):
        """Refuse the model unless a condition holds."""
        if not condition:
            raise UnsoundError(f"the model makes no sense: {what} ({self._name}).")

    def has(self, name):
        """Whether an attribute is there and not None."""
        return getattr(self.model, name, None) is not None

    def get(self, name):
        """An attribute that must be there."""
        self.require(hasattr(self.model, name), f"{name} is missing")
        return getattr(self.model, name)

    def hold(self, name, value, entry):
        """Refuse the model unless a value is what an entry of a table says."""
        if hasattr(entry, "check"):
            entry.check(self, name, value)
            return
        try:
            entry(name, value)
        except (ValueError, TypeError) as error:
            self.require(False, str(error).rstrip("."))

    def size(self, dimension):
        """The number of a dimension, None if it is still free."""
        if dimension in ("c", "pairs"):
            c = len(self.get("classes_"))
            return c if dimension == "c" else n_pairs(c)
        if dimension == "p":
            return self.features()
        return self.sizes.get(dimension) if isinstance(dimension, str) else dimension

    def number(self, name):
        """A finite number."""
        value = self.get(name)
        self.require(is_number(value) and math.isfinite(value), f"{name} is {value!r}")
        return float(value)

    def fitted(self, value, name, kind, *methods):
        """A fitted object of a class that has some methods."""
        self.require(isinstance(value, kind), f"{name} is {type(value).__name__}")
        check_is_fitted(value)
        for method in methods:
            self.require(hasattr(value, method), f"{name} has no {method}")
        return value

    def array(self, name, *shape, kinds="iuf", nan=False):
        """An array of finite numbers of a shape, in which None is any length."""
        return self.checked(self.get(name), name, *shape, kinds=kinds, nan=nan)

    def checked(self, value, name, *shape, kinds="iuf", nan=False):
        """The same for a value that is no attribute."""
        self.require(isinstance(value, np.ndarray), f"{name} is not an array")
        self.require(self._fits(value.shape, shape), f"{name} has shape {value.shape}")
        usual = value.dtype.kind != "f" or value.dtype in (np.float64, np.float32)
        ok = value.dtype.kind in kinds and usual
        self.require(ok, f"{name} has the wrong dtype {value.dtype}")
        if value.dtype.kind == "f":
            bad = np.isinf(value) if nan else ~np.isfinite(value)
            self.require(not bad.any(), f"{name} has entries that are not finite")
        return value

    def _fits(self, found, dimensions):
        if len(found) != len(dimensions):
            return False
        for n, dimension in zip(found, dimensions, strict=True):
            expected = self.size(dimension)
            if expected is None and isinstance(dimension, str):
                self.sizes[dimension] = n
            elif expected is not None and expected != n:
                return False
        return True

    def features(self):
        """The number of features."""
        p = self.get("n_features_in_")
        whole = isinstance(p, numbers.Integral) and not isinstance(p, bool)
        self.require(whole and p >= 1, f"n_features_in_ is {p!r}")
        return int(p)

    def same_classes(self, classes, other, name):
        """Labels that another object must have too."""
        ok = isinstance(other, np.ndarray) and np.array_equal(classes, other)
        self.require(ok, f"the classes of {name} are different")


class Maybe:
    """What may be missing or None."""

    def __init__(self, entry):
        self.entry = entry


class Given:
    """Anything; the class checks it, or nobody relies on it."""

    def check(self, state, name, value):
        pass


class Count:
    """An integer, which is the length of a dimension if it has a name."""

    def __init__(self, dimension=None, *, least=0):
        self.dimension, self.least = dimension, least

    def check(self, state, name, value):
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        state.require(whole and value >= self.least, f"{name} is {value!r}")
        expected = state.size(self.dimension)
        state.require(expected in (None, value), f"{name} is wrong")
        if self.dimension is not None:
            state.sizes[self.dimension] = int(value)


class ArrayOf:
    """An array of numbers with these dimensions, between bounds."""

    def __init__(self, *dimensions, kinds="f", nan=False, above=-np.inf, least=-np.inf):
        self.dimensions, self.options = dimensions, {"kinds": kinds, "nan": nan}
        self.above, self.least = above, least

    def check(self, state, name, value):
        state.checked(value, name, *self.dimensions, **self.options)
        if value.dtype.kind in "iuf" and value.size:
            least = np.nanmin(value)
            state.require(not least <= self.above, f"{name} has entries that are not positive")
            state.require(not least < self.least, f"{name} has negative entries")


class Places:
    """Indices in increasing order, below the length of a dimension."""

    def __init__(self, dimension=None, *, below=None):
        self.dimension, self.below = dimension, below

    def check(self, state, name, value):
        state.checked(value, name, self.dimension, kinds="i")
        below = state.size(self.below)
        ok = is_increasing(value) and (len(value) == 0 or value[0] >= 0)
        ok = ok and (below is None or len(value) == 0 or value[-1] < below)
        state.require(ok, f"{name}: the places of its support are wrong")


class Permutation:
    """Every index below the length of a dimension once."""

    def __init__(self, dimension):
        self.dimension = dimension

    def check(self, state, name, value):
        state.checked(value, name, self.dimension, kinds="i")
        ok = np.array_equal(np.sort(value), np.arange(len(value)))
        state.require(ok, f"{name} is not a permutation")


class Classes:
    """Different labels in increasing order."""

    def __init__(self, least=2):
        self.least = least

    def check(self, state, name, value):
        ok = isinstance(value, np.ndarray) and value.ndim == 1 and len(value) >= self.least
        state.require(ok, f"{name} are not labels")
        items = value.tolist() if value.dtype.kind == "O" else []
        ok = any(all(isinstance(v, kind) for v in items) for kind in LABELS)
        state.require(ok and is_increasing(value), f"{name} are not distinct labels in order")


class Names:
    """A name for each entry of a dimension, sorted if that is asked for."""

    def __init__(self, dimension=None, *, ordered=False):
        self.dimension, self.ordered = dimension, ordered

    def check(self, state, name, value):
        what = "the names of its features are wrong"
        ok = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "UO"
        state.require(ok and all(isinstance(v, str) for v in value.tolist()), what)
        state.require(state._fits(value.shape, (self.dimension,)), what)
        if self.ordered:
            ok = value.dtype.kind == "U" and is_increasing(value)
            state.require(ok, "the names of its features are not sorted")


class FittedPart:
    """A fitted object of a class, with some methods."""

    def __init__(self, kind, *methods):
        self.kind, self.methods = kind, methods

    def check(self, state, name, value):
        state.fitted(value, name, self.kind, *self.methods)


class Instance:
    """An object of a class."""

    def __init__(self, *kinds):
        self.kinds = kinds

    def check(self, state, name, value):
        ok = isinstance(value, self.kinds)
        state.require(ok, f"{name} is not {' or '.join(k.__name__ for k in self.kinds)}")


LEFT_OUT = Given()
"""What `fit` sets and no file contains: as long as the training data, or not needed."""
GENERAL = {
    "n_features_in_": Maybe(Count("p", least=1)),
    "feature_names_in_": Maybe(Names("p")),
    "classes_": Maybe(Classes()),
}
"""Attributes that every class may have."""


def is_number(value):
    """Whether a value is a real number."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def is_increasing(array):
    """Whether each entry is greater than the one before; not so with NaN."""
    return bool((array[1:] > array[:-1]).all()) and not (array != array).any()


def n_pairs(n_classes):
    """Number of pairs of classes."""
    return n_classes * (n_classes - 1) // 2
