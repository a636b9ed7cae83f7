"""What is written of each estimator of psvm, and how it is put together again."""

import importlib
import importlib.util
from functools import partial

from sklearn.base import BaseEstimator

from .. import selection
from ..estimators import PER_COLUMN, BasePSVM, Labels
from ..kernels import FeatureMap, _base, _sequence_features, _sequence_pairs
from ..selection import _protocol, preprocessing
from ..sphered import _base as sphered_base
from ._consistency import PSVM
from ._registry import Entry

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
        _add(registry, name, cls, **how)
    _add(registry, "psvm.selection.Scaled", _protocol.Scaled, drop=frozenset(("train",)))
    for name in ("QuantileNormalizer", "RangeClipper", "PresentCall"):
        _add(registry, f"psvm.selection.{name}", getattr(preprocessing, name))
    _add(registry, "psvm.kernels.FeatureMap", FeatureMap)
    registry.add_function("psvm.floored_log2", preprocessing._floored_log2)
    prepared = (_sequence_features.FeatureTable, _sequence_pairs.Prepared, _base._Parts)
    for cls in prepared:
        _add(registry, f"psvm.prepared.{cls.__name__.strip('_')}", cls)
    _add(registry, "psvm.Labels", Labels)


def _add(registry, name, cls, **how):
    registry.add(Entry(name, cls, check=PSVM[name], **how))


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


def pack_psvm(state):
    """Only the entries of the support; the kernel translates the support objects again."""
    if "support_" not in state:
        return state
    state = dict(state)
    kept = state.pop("_at_support", {})
    if "alpha_" in state:
        state["_n_columns"] = state["alpha_"].shape[-1]
    for name in PER_COLUMN:
        state[name] = state[name][..., state["support_"]] if name in state else kept[name]
    return state


def unpack_psvm(model, state):
    """Only the entries of the support are held; the others are filled in for who asks for them."""
    if "support_" in state:
        state["_at_support"] = {name: state.pop(name) for name in PER_COLUMN}
    vars(model).update(state)


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
        state["_rows"] = partial(functions[rows.pop("function")], **rows)
    vars(model).update(state)
