"""What is written of each estimator of psvm, and what must hold when it is read."""

import importlib
import importlib.util
from functools import partial

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .. import _multiclass, selection
from .._estimator import BasePSVM
from .._kernel_choice import MEASURED
from ..kernels import FeatureMap, Kernel, _base, _sequence_features, _sequence_pairs
from ..selection import _protocol, preprocessing
from ..sphered import _base as sphered_base
from ._errors import ModelFileError
from ._registry import Entry

PER_COLUMN = {"alpha_": 0.0, "column_means_": np.nan, "column_norms_": np.nan}
"""Of these only the entries of the support are written; the others get this value."""


SOLUTIONS = frozenset(("solution_", "solutions_"))
"""Certificates with vectors as long as the training data; their numbers are kept elsewhere."""


def add_estimators(registry):
    """Register all estimators of psvm, and the parts of which they consist."""
    special = {
        selection.GeneSelector: {"drop": SOLUTIONS | {"search_", "epsilons_"}},
        selection.PSVMSelector: {"drop": SOLUTIONS},
    }
    for name, cls in public_estimators():
        if issubclass(cls, BasePSVM):
            how = {
                "drop": SOLUTIONS | {"_prepared_support"},
                "pack": pack_psvm,
                "unpack": unpack_psvm,
            }
        elif issubclass(cls, sphered_base.BaseSphered):
            how = {"drop": SOLUTIONS, "pack": pack_sphered, "unpack": unpack_sphered}
        else:
            search = {
                "drop": SOLUTIONS | {"cv_results_"},
                "pack": pack_search,
                "unpack": unpack_search,
            }
            how = special.get(cls, search)
        registry.add(Entry(name, cls, **how))
    registry.add(Entry("psvm.selection.Scaled", _protocol.Scaled, drop=frozenset(("train",))))
    for name in ("QuantileNormalizer", "RangeClipper", "PresentCall"):
        registry.add(Entry(f"psvm.selection.{name}", getattr(preprocessing, name)))
    registry.add(Entry("psvm.kernels.FeatureMap", FeatureMap))
    registry.add_function("psvm.floored_log2", preprocessing._floored_log2)
    prepared = (_sequence_features.FeatureTable, _sequence_pairs.Prepared, _base._Parts)
    for cls in prepared:
        registry.add(Entry(f"psvm.prepared.{cls.__name__.strip('_')}", cls))
    if hasattr(_multiclass, "Labels"):
        registry.add(Entry("psvm.Labels", _multiclass.Labels))


def public_estimators():
    """Names and classes of all public estimators."""
    for module in ("psvm", "psvm.model_selection", "psvm.evaluation", "psvm.comparators"):
        if importlib.util.find_spec(module) is None:
            continue
        found = importlib.import_module(module)
        for name in found.__all__:
            cls = getattr(found, name)
            if isinstance(cls, type) and issubclass(cls, BaseEstimator):
                yield f"psvm.{name}", cls


def pack_search(state):
    """Without what is the same in the best model of a search."""
    best = vars(state["best_estimator_"]) if "best_estimator_" in state else {}
    return {k: v for k, v in state.items() if not (k in best and best[k] is v)}


def unpack_search(model, state):
    """A search shows the public attributes of its best model."""
    best = vars(state["best_estimator_"]) if "best_estimator_" in state else {}
    shown = {k: v for k, v in best.items() if k.endswith("_") and not k.startswith("_")}
    vars(model).update({**shown, **state})


def unpack_isotonic(model, state):
    """The interpolation is made again from its knots."""
    vars(model).update(state)
    if "X_thresholds_" in state:
        model._build_f(model.X_thresholds_, model.y_thresholds_)


def _require(condition, what):
    if not condition:
        raise ModelFileError(f"the model makes no sense: {what}.")


def _is_index(array, size):
    """Whether an array holds increasing places below a size."""
    ok = isinstance(array, np.ndarray) and array.ndim == 1 and array.dtype.kind == "i"
    return (
        ok
        and (len(array) == 0 or (array[0] >= 0 and array[-1] < size))
        and bool((np.diff(array) > 0).all())
    )


def pack_psvm(state):
    """Only the entries of the support; the kernel translates the support objects again."""
    state = dict(state)
    if "support_" in state:
        state["_n_columns"] = state["alpha_"].shape[-1]
        for name in PER_COLUMN:
            state[name] = state[name][..., state["support_"]]
    return state


def unpack_psvm(model, state):
    """Fill in what was left out."""
    if "support_" in state:
        support, n = state["support_"], state.pop("_n_columns")
        _require(isinstance(n, int) and 0 <= n < 2**48, f"it has {n!r} columns")
        _require(_is_index(support, n), "the places of its support are wrong")
        for name, rest in PER_COLUMN.items():
            values = state[name]
            _require(
                isinstance(values, np.ndarray) and values.dtype == np.float64,
                f"{name} are no numbers",
            )
            _require(values.shape[-1:] == support.shape, f"{name} has shape {values.shape}")
            state[name] = np.full((*values.shape[:-1], n), rest)
            state[name][..., support] = values
        _check_support_objects(model, state)
    vars(model).update(state)
    if "_kernel" in state:
        model._prepare_support()


def _check_support_objects(model, state):
    objects, support = state["support_objects_"], state["support_"]
    _require(hasattr(objects, "shape"), "its support objects are no array")
    _require(objects.shape[0] == len(support), "the number of its support objects is wrong")
    measured = model.kernel in MEASURED if isinstance(model.kernel, str) else False
    _require(measured != ("_kernel" in state), "its kernel is missing")
    if measured:
        n = state["alpha_"].shape[-1]
        _require(n == state["n_features_in_"], "its number of columns is wrong")
        return
    kernel = state["_kernel"]
    _require(isinstance(kernel, Kernel), "its kernel is none")
    kernel.check_parameters()
    checked = kernel.check_objects(objects)
    _require(checked.shape == objects.shape, "its support objects are of the wrong kind")
    if kernel.takes_vectors:
        _require(objects.shape[1:] == (state["n_features_in_"],), "its vectors have a wrong length")


def pack_sphered(state):
    """The function that makes rows as a dict."""
    state = dict(state)
    if "_rows" in state:
        rows = state.pop("_rows")
        state["_rows_"] = {"function": _ROWS[rows.func], **rows.keywords}
        state.pop("alpha_", None)
    return state


_ROWS = {
    sphered_base._shift: "shift",
    sphered_base._take: "take",
    sphered_base._evaluate: "evaluate",
}


def unpack_sphered(model, state):
    """Make the function again."""
    if "_rows_" in state:
        rows = state.pop("_rows_")
        functions = {name: function for function, name in _ROWS.items()}
        _require(isinstance(rows, dict), "its rows are missing")
        function = functions[rows.pop("function")]
        _check_rows(function, rows, state)
        state["_rows"] = partial(function, **rows)
    vars(model).update(state)


def _check_rows(function, rows, state):
    coef, n_features = state["dual_coef_"], state["n_features_in_"]
    _require(isinstance(coef, np.ndarray) and coef.ndim == 2, "it has no coefficients")
    if function is sphered_base._shift:
        _require(np.shape(rows["origin"])[-1:] in ((), (n_features,)), "its origin is wrong")
        _require(coef.shape[1] == n_features, "its coefficients are wrong")
        return
    if function is sphered_base._take:
        _require(_is_index(rows["objects"], n_features), "its objects are wrong")
        _require(len(rows["objects"]) == coef.shape[1], "its coefficients are wrong")
        return
    kernel, Z = rows["kernel"], rows["Z"]
    _require(isinstance(kernel, Kernel), "its kernel is none")
    kernel.check_parameters()
    kernel.check_objects(Z)
    _require(Z.shape == (coef.shape[1], n_features), "its vectors are wrong")


def check_svm(model, state):
    """The compiled code of scikit-learn's SVMs trusts these shapes."""
    vars(model).update(state)
    if "support_vectors_" not in state:
        return
    n_classes, n_sv = len(state["classes_"]), len(state["support_"])
    Z, pairs = state["support_vectors_"], n_classes * (n_classes - 1) // 2
    numbers = {
        "_dual_coef_": ((n_classes - 1, n_sv), np.float64),
        "dual_coef_": ((n_classes - 1, n_sv), np.float64),
        "_intercept_": ((pairs,), np.float64),
        "intercept_": ((pairs,), np.float64),
        "support_": ((n_sv,), np.int32),
        "_n_support": ((n_classes,), np.int32),
    }
    for name, (shape, dtype) in numbers.items():
        value = state[name]
        if sp.issparse(value):
            _require(value.shape == shape, f"{name} has shape {value.shape}")
            continue
        _require(isinstance(value, np.ndarray), f"{name} is no array")
        _require(value.shape == shape and value.dtype == dtype, f"{name} has shape {value.shape}")
    _require(state["_n_support"].min() >= 0, "its numbers of support vectors are wrong")
    _require(state["_n_support"].sum() == n_sv, "its numbers of support vectors are wrong")
    _require(isinstance(model.kernel, str), "its kernel is no name")
    _require(sp.issparse(Z) == bool(state["_sparse"]), "its vectors are stored in a wrong way")
    if model.kernel != "precomputed":
        _require(Z.shape == (n_sv, state["n_features_in_"]), "its vectors have a wrong shape")
    else:
        _require(len(Z) == 0, "its vectors have a wrong shape")
        _require(
            n_sv == 0
            or 0 <= state["support_"].min() <= state["support_"].max() < state["n_features_in_"],
            "the places of its support are wrong",
        )
    for name in ("_probA", "_probB"):
        _require(state[name].shape in ((0,), (pairs,)), f"{name} has a wrong shape")
