"""Values to JSON and arrays, and back: only kinds that are listed here, and registered classes."""

import math

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ..kernels import Sequence
from ._errors import CannotMakeAgain, CannotSave, ModelFileError
from ._skops import dump, load

DEEPEST = 60
"""Levels of nesting."""


KINDS = "biufUmM"
"""Kinds of NumPy's dtypes that arrays may have: booleans, numbers, strings, times."""
LONGEST = 2**22
"""Bytes of one entry of an array: strings of a million letters."""


def _root(cls):
    return cls.__module__.partition(".")[0]


class Encoder:
    """Turns values into what JSON can hold; arrays are put into a list.

    Parameters
    ----------
    registry : Registry

    Attributes
    ----------
    arrays : list of ndarray
    not_kept : list of str
        Parameters that only matter for fitting and could not be written.
    """

    def __init__(self, registry):
        self.registry = registry
        self.arrays, self.not_kept = [], []

    def encode(self, value, where):
        """The encoded value; `where` says in an error whose it is."""
        for kinds, method in _ENCODERS:
            if isinstance(value, kinds):
                return method(self, value, where)
        entry = self.registry.entry_of(value)
        foreign = isinstance(value, BaseEstimator) and _root(type(value)) == "sklearn"
        if entry is not None:
            try:
                return entry.encode(self, value, where)
            except CannotMakeAgain:
                foreign = True
        if foreign:
            self.arrays.append(dump(value, where, self.registry))
            return {"type": "skops", "index": len(self.arrays) - 1}
        raise CannotSave(f"{where} cannot be saved: {self.registry.why_not(value)}")

    def _array(self, value, where):
        if value.dtype == object:
            items = [self.encode(item, where) for item in value.ravel()]
            return {"type": "objects", "shape": list(value.shape), "items": items}
        if value.dtype.kind not in KINDS or value.dtype.itemsize > LONGEST:
            raise CannotSave(f"{where} cannot be saved: it is an array of {value.dtype}.")
        if type(value) not in (np.ndarray, np.memmap):
            raise CannotSave(f"{where} cannot be saved: it is a {type(value).__name__}.")
        self.arrays.append(np.asarray(value))
        return {"type": "array", "index": len(self.arrays) - 1}

    def _sparse(self, value, where):
        if value.format not in ("csr", "csc"):
            value = value.tocsr()
        kind = "array" if isinstance(value, sp.sparray) else "matrix"
        parts = [self.encode(p, where) for p in (value.data, value.indices, value.indptr)]
        return {
            "type": "sparse",
            "kind": f"{value.format}_{kind}",
            "shape": list(value.shape),
            "parts": parts,
        }

    def _scalar(self, value, where):
        plain = value.view(np.int64) if value.dtype.kind in "mM" else value
        item = self.encode(plain.item(), where)
        return {"type": "scalar", "dtype": value.dtype.str, "value": item}

    def _float(self, value, where):
        return value if math.isfinite(value) else {"type": "float", "value": repr(value)}

    def _sequence(self, value, where):
        return {"type": "sequence", "value": [str(value), value.name, value.description]}

    def _plain(self, value, where):
        return value

    def _string(self, value, where):
        return str(value)

    def _list(self, value, where):
        return [self.encode(item, where) for item in value]

    def _tuple(self, value, where):
        return {"type": "tuple", "items": [self.encode(item, where) for item in value]}

    def _dict(self, value, where):
        pairs = [[self.encode(k, where), self.encode(v, where)] for k, v in value.items()]
        return {"type": "dict", "items": pairs}

    def _dtype(self, value, where):
        if value.kind not in KINDS:
            raise CannotSave(f"{where} cannot be saved: it is the dtype {value}.")
        return {"type": "dtype", "value": value.str, "class": False}

    def _class(self, value, where):
        if not issubclass(value, np.generic):
            return self._other(value, where)
        return {**self._dtype(np.dtype(value), where), "class": True}

    def _other(self, value, where):
        raise CannotSave(f"{where} cannot be saved: {self.registry.why_not(value)}")


_ENCODERS = (
    ((np.generic,), Encoder._scalar),
    ((bool, int, type(None)), Encoder._plain),
    ((float,), Encoder._float),
    ((Sequence,), Encoder._sequence),
    ((str,), Encoder._string),
    ((np.ndarray,), Encoder._array),
    ((sp.spmatrix, sp.sparray), Encoder._sparse),
    ((list,), Encoder._list),
    ((tuple,), Encoder._tuple),
    ((dict,), Encoder._dict),
    ((np.dtype,), Encoder._dtype),
    ((type,), Encoder._class),
)


class Decoder:
    """The inverse of `Encoder`; whatever is not as it should be is an error.

    Attributes
    ----------
    n_foreign : int
        Number of estimators that skops has read.
    """

    def __init__(self, registry, arrays):
        self.registry, self.arrays = registry, arrays
        self.n_foreign = 0
        self._depth = 0

    def decode(self, value):
        """The value that was encoded."""
        if isinstance(value, bool | int | float | str | None):
            return value
        self._depth += 1
        if self._depth > DEEPEST:
            raise ModelFileError("the values are nested too deeply.")
        try:
            if isinstance(value, list):
                return [self.decode(item) for item in value]
            return self._tagged(value)
        finally:
            self._depth -= 1

    def _tagged(self, value):
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str):
            raise ModelFileError(f"a value has an unknown kind: {str(value)[:60]}.")
        method = _DECODERS.get(kind)
        return self.registry.decode(self, value) if method is None else method(self, value)

    def _array(self, value):
        index = value["index"]
        if isinstance(index, bool) or not isinstance(index, int):
            raise ModelFileError("the number of an array is not an integer.")
        if not 0 <= index < len(self.arrays):
            raise ModelFileError(f"there is no array {index}.")
        return self.arrays[index]

    def _skops(self, value):
        self.n_foreign += 1
        return load(self._array(value), self.registry)

    def _objects(self, value):
        items = self.decode(value["items"])
        shape = tuple(value["shape"])
        if any(not isinstance(n, int) or n < 0 for n in shape) or math.prod(shape) != len(items):
            raise ModelFileError(f"there are {len(items)} objects for the shape {shape}.")
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            array[i] = item
        return array.reshape(shape)

    def _sparse(self, value):
        makers = {
            "csr_array": sp.csr_array,
            "csc_array": sp.csc_array,
            "csr_matrix": sp.csr_matrix,
            "csc_matrix": sp.csc_matrix,
        }
        parts = [self.decode(part) for part in value["parts"]]
        if any(not isinstance(p, np.ndarray) or p.ndim != 1 for p in parts) or len(parts) != 3:
            raise ModelFileError("a sparse matrix must consist of three vectors.")
        if parts[0].dtype.kind not in "biuf" or any(p.dtype.kind != "i" for p in parts[1:]):
            raise ModelFileError("a sparse matrix has parts of wrong dtypes.")
        matrix = makers[value["kind"]](tuple(parts), shape=tuple(value["shape"]))
        matrix.check_format(full_check=True)
        return matrix

    def _scalar(self, value):
        dtype = _checked_dtype(value["dtype"])
        item = self.decode(value["value"])
        if not isinstance(item, bool | int | float | str):
            raise ModelFileError("a scalar is not a number or string.")
        if dtype.kind == "U" and dtype.itemsize > 4 * max(len(str(item)), 1):
            raise ModelFileError(f"a scalar of {len(str(item))} letters has the dtype {dtype}.")
        if dtype.kind in "mM":
            return np.array(item, dtype=np.int64).view(dtype)[()]
        return np.array(item, dtype=dtype)[()]

    def _float(self, value):
        return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[value["value"]]

    def _sequence(self, value):
        parts = value["value"]
        if len(parts) != 3 or not all(isinstance(part, str) for part in parts):
            raise ModelFileError("a sequence must be three strings.")
        return Sequence(*parts)

    def _tuple(self, value):
        return tuple(self.decode(value["items"]))

    def _dict(self, value):
        pairs = [(self.decode(k), self.decode(v)) for k, v in value["items"]]
        return dict(pairs)

    def _dtype(self, value):
        dtype = _checked_dtype(value["value"])
        return dtype.type if value["class"] else dtype


def _checked_dtype(text):
    dtype = np.dtype(text) if isinstance(text, str) and len(text) < 20 else np.dtype(object)
    if dtype.kind not in KINDS or dtype.itemsize > LONGEST:
        raise ModelFileError(f"the dtype {text!r} is not allowed.")
    return dtype


_DECODERS = {
    "array": Decoder._array,
    "skops": Decoder._skops,
    "objects": Decoder._objects,
    "sparse": Decoder._sparse,
    "scalar": Decoder._scalar,
    "float": Decoder._float,
    "sequence": Decoder._sequence,
    "tuple": Decoder._tuple,
    "dict": Decoder._dict,
    "dtype": Decoder._dtype,
}
