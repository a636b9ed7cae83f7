"""What is written of the fitted attributes of psvm's estimators, and how they are made again."""

from functools import partial

from ..estimators import PER_COLUMN
from ..sphered import kernel_rows, shift_rows, take_columns


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
    """Only the entries of the support; the kernel translates the support objects again.

    In files `offset_` is called intercept_.
    """
    if "support_" not in state:
        return state
    state = dict(state)
    kept = state.pop("_at_support", {})
    state["intercept_"] = state.pop("offset_")
    if "alpha_" in state:
        state["_n_columns"] = state["alpha_"].shape[-1]
    for name in PER_COLUMN:
        state[name] = state[name][..., state["support_"]] if name in state else kept[name]
    return state


def unpack_psvm(model, state):
    """Only the entries of the support are held; the others are filled in for who asks for them."""
    if "support_" in state:
        state["_at_support"] = {name: state.pop(name) for name in PER_COLUMN}
        state["offset_"] = state.pop("intercept_")
    vars(model).update(state)


def unpack_selector(model, state):
    """The landmarks are those of the relations, also where they were given."""
    vars(model).update(state)
    if "_relations" in state:
        relations = state["_relations"]
        model.landmarks_ = getattr(relations, "objects", None)
        if model.landmarks is None:
            model.landmarks = model.landmarks_


def pack_sphered(state):
    """The function that makes rows as a dict."""
    state = dict(state)
    if "_rows" in state:
        rows = state.pop("_rows")
        state["_rows_"] = {"function": _ROWS[rows.func], **rows.keywords}
        state.pop("alpha_", None)
    return state


_ROWS = {shift_rows: "shift", take_columns: "take", kernel_rows: "evaluate"}


def unpack_sphered(model, state):
    """Make the function again."""
    if "_rows_" in state:
        rows = state.pop("_rows_")
        functions = {name: function for function, name in _ROWS.items()}
        state["_rows"] = partial(functions[rows.pop("function")], **rows)
    vars(model).update(state)
