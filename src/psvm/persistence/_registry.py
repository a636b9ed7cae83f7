"""How objects of a class are written, and the classes that a model file may hold."""

import dataclasses
from collections.abc import Callable

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from ..io import Schema
from ..kernels import Kernel
from ._checks import State
from ._codec import CannotSave
from ._errors import ModelFileError

FIT_ONLY = frozenset(
    (
        "callback",
        "cache_size",
        "class_weight",
        "cv",
        "epsilons",
        "lams",
        "mask",
        "max_iter",
        "max_time",
        "memory",
        "n_jobs",
        "p_values",
        "param_grid",
        "random_state",
        "results_file",
        "covariance",
        "landmarks",
        "scoring",
        "solver",
        "verbose",
    )
)
"""Parameters without which a fitted model predicts the same."""
NEVER_KEPT = frozenset(("p_values", "landmarks"))
"""Those of them that may be as large as the training data; they are kept only if they are words
or numbers."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """How objects of one class are written.

    Attributes
    ----------
    name : str
        The name in the file.
    cls : type
    drop : frozenset of str
        Attributes that prediction does not need.
    pack : callable or None
        ``pack(state)`` turns the attributes into those that are written.
    unpack : callable or None
        ``unpack(model, state)`` is its inverse.
    check : callable or None
        ``check(State(model))`` raises an error for a fitted model that makes no sense.
    """

    name: str
    cls: type
    drop: frozenset = frozenset()
    pack: Callable | None = None
    unpack: Callable | None = None
    check: Callable | None = None

    def encode(self, encoder, value, where):
        """The encoded object: its parameters and its state."""
        where = f"{where} ({self.cls.__name__})"
        params = self._params(value)
        state = {k: v for k, v in vars(value).items() if k not in params and k not in self.drop}
        if self.pack is not None:
            state = self.pack(state)
        # Sorted, because a loaded model may have its attributes in another order.
        state = dict(sorted(state.items()))
        return {
            "type": "object",
            "class": self.name,
            "params": {k: self._param(encoder, k, v, where) for k, v in params.items()},
            "state": {k: encoder.encode(v, f"{k} of {where}") for k, v in state.items()},
        }

    def _params(self, value):
        if dataclasses.is_dataclass(value):
            return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        return value.get_params(deep=False) if hasattr(value, "get_params") else {}

    def _param(self, encoder, name, value, where):
        plain = isinstance(value, str | bool | int | float | None)
        if name in NEVER_KEPT and not plain:
            encoder.not_kept.append(name)
            return {"type": "default"}
        try:
            return encoder.encode(value, f"{name} of {where}")
        except CannotSave:
            if name not in FIT_ONLY:
                raise
            encoder.not_kept.append(name)
            return {"type": "default"}

    def decode(self, decoder, params, state):
        """The object, all of whose attributes fit each other; constructors only keep parameters."""
        kept = {k: v for k, v in params.items() if v != {"type": "default"}}
        model = self._construct({k: decoder.decode(v) for k, v in kept.items()})
        state = {k: decoder.decode(v) for k, v in state.items()}
        for name in state:
            # What the class has is not the file's to say: methods, and constants they rely on.
            if not name.isidentifier() or name.startswith("__") or hasattr(self.cls, name):
                raise ModelFileError(f"{name!r} is not an attribute of {self.name}.")
        if hasattr(model, "_parameter_constraints"):
            model._validate_params()
        if self.unpack is None:
            vars(model).update(state)
        else:
            self.unpack(model, state)
        fitted = any(name.endswith("_") for name in state)
        if self.check is not None and (fitted or not self._can_be_unfitted):
            self.check(State(model))
        return model

    @property
    def _can_be_unfitted(self):
        """Whether an object without fitted attributes may be the parameter of another one."""
        always = Kernel | Pipeline | FunctionTransformer
        return issubclass(self.cls, BaseEstimator) and not issubclass(self.cls, always)

    def _construct(self, params):
        if issubclass(self.cls, BaseEstimator) or dataclasses.is_dataclass(self.cls):
            return self.cls(**params)
        return self.cls.__new__(self.cls)


class Registry:
    """The allowed classes and functions by name."""

    def __init__(self):
        self._by_name, self._by_class = {}, {}
        self._functions = {}

    def add(self, entry):
        """Allow a class."""
        self._by_name[entry.name] = self._by_class[entry.cls] = entry

    def add_function(self, name, function):
        """Allow a function, which is written as its name."""
        self._functions[name] = function

    def entry_of(self, value):
        """How a value is written; None if it may not be."""
        for name, function in self._functions.items():
            if value is function:
                return _FunctionEntry(name)
        return self._by_class.get(type(value))

    def decode(self, decoder, value):
        """An object or function of a name that is known."""
        if value["type"] == "function":
            name = value["name"]
            if not isinstance(name, str) or name not in self._functions:
                raise ModelFileError(f"the function {name!r} is not known.")
            return self._functions[name]
        if value["type"] != "object":
            raise ModelFileError(f"the kind {value['type']!r} of a value is not known.")
        name = value["class"]
        entry = self._by_name.get(name) if isinstance(name, str) else None
        decoder.classes.add(str(name))
        if entry is None:
            raise ModelFileError(
                f"the class {str(name)[:80]!r} is not known. If it is your own kernel, allow it "
                "with psvm.persistence.register; otherwise the file may come from another version."
            )
        return entry.decode(decoder, value["params"], value["state"])

    def why_not(self, value):
        """Why a value cannot be written, and what to do."""
        if isinstance(value, Kernel):
            return (
                f"{type(value).__name__} is your own kernel. Allow it with "
                "psvm.persistence.register, before saving and before loading."
            )
        if callable(value) and not isinstance(value, BaseEstimator):
            return (
                f"{value!r} is Python code, and model files hold none. Use a kernel of "
                "psvm.kernels, a Kernel class that you register with psvm.persistence.register, or "
                "a precomputed matrix."
            )
        return (
            f"objects of the class {type(value).__module__}.{type(value).__qualname__} are not "
            "allowed in model files."
        )


@dataclasses.dataclass(frozen=True)
class _FunctionEntry:
    name: str

    def encode(self, encoder, value, where):
        return {"type": "function", "name": self.name}


@dataclasses.dataclass(frozen=True)
class SchemaEntry:
    """How the description of the columns of a table is written: as the schema says itself."""

    name: str = "psvm.io.Schema"
    cls: type = Schema
    check: Callable = Schema.from_dict

    def encode(self, encoder, value, where):
        """Its content in place of attributes."""
        content = encoder.encode(value.to_dict(), where)
        return {"type": "object", "class": self.name, "params": {}, "state": content}

    def decode(self, decoder, params, state):
        """The schema, which checks itself."""
        return Schema.from_dict(decoder.decode(state))
