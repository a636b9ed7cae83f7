"""New rows for a saved model: which can be predicted, and why others cannot."""

import click
import numpy as np

from ..estimators import unwrap
from ..io import TableEncoder, is_numeric, numbers_schema
from ..matrix import missing_entries
from ._read import read


def read_new_rows(run, schema):
    """The table of a command's data file as the model needs it, and the reasons of its gaps.

    Rows with gaps that the model does not fill in have a reason in place of "", so that every row
    of the file keeps its place.
    """
    params = run.params
    said = {
        name: run.ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        for name in ("missing", "transpose")
    }
    fills = schema.missing == "impute"
    if said["missing"] and params["missing"] == "impute" and not fills:
        raise click.UsageError(
            "The model cannot fill in missing values: fit it with --missing impute."
        )
    if not said["transpose"]:
        params["transpose"] = schema.transpose
    fills = fills and not (said["missing"] and params["missing"] == "drop")
    if not (said["missing"] and params["missing"] == "error"):
        params["missing"] = "impute"  # gaps are read as such
    table = read(run, needs_target=False, schema=schema)
    reasons = [""] * table.X.shape[0]
    if is_numeric(table.X) and not fills:
        names = table.feature_names or [f"column {j + 1}" for j in range(table.X.shape[1])]
        for i, j in zip(*missing_entries(table.X), strict=True):
            reasons[i] += f"{', ' if reasons[i] else 'missing: '}{names[j]}"
    return table, np.array(reasons, dtype=object)


def load_with_schema(path):
    """A saved model and its schema; of one without, the names of its columns."""
    from ..persistence import load

    model = load(path)
    parts = unwrap(model)
    first = parts.steps[0][1] if parts.steps else None
    if not isinstance(first, TableEncoder):
        names = getattr(model, "feature_names_in_", None)
        names = None if names is None else [str(name) for name in names]
        return model, numbers_schema(names, getattr(model, "n_features_in_", 0))
    if getattr(parts.machine, "kernel", None) == "precomputed":
        # Folds of relations take columns, too, so that reading them by name comes before.
        model = model[1:] if len(model.steps) > 2 else model[-1]
    return model, first.schema_


def find_novel(path, model, X, able):
    """Which rows are far less like any support object than training rows, if the file tells."""
    from ..evaluation import support_similarity
    from ..persistence import model_info

    novel, extra = np.zeros(len(able), dtype=bool), model_info(path)["extra"]
    least = extra.get("least_similarity") if isinstance(extra, dict) else None
    if isinstance(least, float) and able.any():
        novel[able] = support_similarity(model, X[able]) < least
    return novel


def say_error(run, model, y, predicted, able):
    """The error on rows with a known target, in the words of the model's task."""
    classes = getattr(model, "classes_", None)
    absent = np.array([v is None or v != v for v in y.tolist()], dtype=bool)
    known = able & ~absent
    if classes is None:
        if y.dtype.kind not in "fiu":
            raise ValueError(f"The model predicts numbers; the target is words such as {y[0]!r}.")
        if known.any():
            error = float(np.sqrt(np.mean((y[known] - predicted[known].astype(float)) ** 2)))
            _say(run, "RMSE", error, f"{error:.4g} on {known.sum()} rows")
        return
    y, predicted, classes = _alike(y, predicted, classes)
    foreign = sorted({label for label in y[~absent].tolist()} - set(classes.tolist()))
    if foreign:
        run.warn(
            f"The target has labels that the model does not know ({_listed(foreign)}); it knows "
            f"{_listed(classes.tolist())}. Rows with other labels do not count for the error."
        )
        known &= np.isin(y, classes)
    run.results["unknown_labels"] = foreign
    if known.any():
        right = 100 * float(np.mean(y[known] == predicted[known]))
        _say(run, "accuracy", right, f"{right:.1f} % on {known.sum()} rows")


def _alike(*labels):
    """Labels as numbers if all are, else as strings."""
    numeric = all(np.asarray(v).dtype.kind in "fiub" or _are_numbers(v) for v in labels)
    kind = np.float64 if numeric else np.str_
    return [np.array([np.nan if v is None else v for v in a], dtype=kind) for a in labels]


def _are_numbers(values):
    return all(v is None or isinstance(v, int | float) for v in values)


def _listed(labels, most=8):
    shown = ", ".join(
        f"{label:g}" if isinstance(label, float) else label for label in labels[:most]
    )
    return shown + ", ..." * (len(labels) > most)


def _say(run, name, value, text):
    """Record a figure and show it, beside the predictions if these are on stdout."""
    run.results[name] = value
    say = run.show if run.params.get("output") else run.note
    say(f"{name:16} {text}")
