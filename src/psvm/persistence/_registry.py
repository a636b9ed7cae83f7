"""How objects of a class are written, and the classes that a model file may hold."""

import dataclasses

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from .._fitted import check_fitted, state_of, written
from ..io import Schema
from ..kernels import Kernel
from ._errors import CannotSave, ModelFileError

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


class Entry:
    """How objects of a class are written: their parameters, and what its table `_fitted` states.

    Parameters
    ----------
    name : str
        The name in the file.
    cls : type
    """

    def __init__(self, name, cls):
        self.name, self.cls = name, cls

    def encode(self, encoder, value, where):
        """The encoded object."""
        where = f"{where} ({self.cls.__name__})"
        params = self._params(value)
        # Sorted, because a loaded model may have its attributes in another order.
        state = {k: v for k, v in sorted(self._state(value).items()) if k not in params}
        output = _output_of(value)
        return {
            "type": "object",
            "class": self.name,
            "params": {k: self._param(encoder, k, v, where) for k, v in params.items()},
            "state": {k: encoder.encode(v, f"{k} of {where}") for k, v in state.items()},
            **({} if output is None else {"output": output}),
        }

    def _state(self, value):
        return state_of(value)

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

    def decode(self, decoder, value):
        """The object, all of whose attributes fit each other; constructors only keep parameters."""
        kept = {k: v for k, v in value["params"].items() if v != {"type": "default"}}
        model = self._construct({k: decoder.decode(v) for k, v in kept.items()})
        state = {k: decoder.decode(v) for k, v in value["state"].items()}
        for name in state:
            if name not in self._names():
                raise ModelFileError(f"{name!r} is not an attribute of {self.name}.")
        if hasattr(model, "_parameter_constraints"):
            model._validate_params()
        if any(name.endswith("_") for name in state) or not self._can_be_unfitted:
            self._fill(model, state)
        if "output" in value:
            model.set_output(transform=value["output"])
        return model

    def _names(self):
        return written(self.cls)

    def _fill(self, model, state):
        """Give the object its attributes and check them."""
        if hasattr(model, "_unpack"):
            model._unpack(state)
        else:
            vars(model).update(state)
        check_fitted(model)

    @property
    def _can_be_unfitted(self):
        """Whether an object without fitted attributes may be the parameter of another one."""
        always = Kernel | Pipeline | FunctionTransformer
        return issubclass(self.cls, BaseEstimator) and not issubclass(self.cls, always)

    def _construct(self, params):
        if issubclass(self.cls, BaseEstimator) or dataclasses.is_dataclass(self.cls):
            return self.cls(**params)
        return self.cls.__new__(self.cls)


OUTPUT = "_sklearn_output_config"
"""Where scikit-learn keeps what `set_output` asks for; nothing else tells it."""


def _output_of(value):
    """The container that `set_output` asks a transformer for; None if it was not called."""
    return vars(value).get(OUTPUT, {}).get("transform")


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

    @property
    def classes(self):
        """The allowed classes."""
        return list(self._by_class)

    @property
    def functions(self):
        """The allowed functions."""
        return list(self._functions.values())

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
        if entry is None:
            raise ModelFileError(
                f"the class {str(name)[:80]!r} is not known. If it is your own kernel, allow it "
                "with psvm.persistence.register; otherwise the file may come from another version."
            )
        return entry.decode(decoder, value)

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

    def encode(self, encoder, value, where):
        """Its content in place of attributes."""
        content = encoder.encode(value.to_dict(), where)
        return {"type": "object", "class": self.name, "params": {}, "state": content}

    def decode(self, decoder, value):
        """The schema, which checks itself."""
        return Schema.from_dict(decoder.decode(value["state"]))
