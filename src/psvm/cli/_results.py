"""What commands say about fitted models."""

from dataclasses import replace

import numpy as np
from sklearn.pipeline import Pipeline

from .._candidates import candidates
from ..estimators import (
    is_measured,
    linear_kernel,
    solutions,
    support_names,
    unwrap,
    unwrap_psvm,
    weights,
)
from ..io import TableEncoder, is_numeric
from ._app import ExitCode
from ._choices import feature_names

MOST_NAMED = 5
"""Support objects that are named on a terminal."""


def machine_names(model, table):
    """Names of the columns that the machine at the end of a fitted model sees."""
    steps = unwrap(model).steps
    if steps and isinstance(steps[0][1], TableEncoder):
        return steps[0][1].get_feature_names_out().tolist()
    return feature_names(table)


def describe_candidates(run, model):
    """Record and show what a fit has compared, what was chosen and why."""
    compared = candidates(model)
    if compared is None:
        return
    names = [header.replace(" / ", "_per_").replace(" ", "_") for header in compared.headers]
    rows = [dict(zip(names, row, strict=True)) for row in compared.rows]
    run.results |= {
        "candidates": rows,
        "measure": compared.measure,
        "chosen": rows[compared.chosen],
        "best": rows[compared.best],
    }
    run.show(f"tried            {len(rows)} candidates, by the {compared.measure}")
    run.table(
        "Candidates, best first", compared.headers, [compared.rows[i] for i in compared.order]
    )
    run.show(compared.verdict)


def describe_model(run, model, table):
    """Record and show support objects and certificate of a fitted model."""
    parts = unwrap_psvm(model, machine_names(model, table), table.row_labels or None)
    machine = parts.machine
    if parts.search is None:
        describe_candidates(run, machine)
    alpha = weights(machine)
    worst = max(solutions(machine), key=lambda s: s.kkt_violation)
    epsilon = np.atleast_1d(machine.epsilon_)
    shared = (epsilon == epsilon[0]).all()
    run.results |= {
        "epsilon": machine.epsilon_,
        "n_support": machine.n_support_,
        "n_objects": len(alpha),
        "support": support_names(parts),
        "status": worst.status.value,
        "gap": machine.dual_gap_,
        "kkt_violation": machine.kkt_violation_,
    }
    what = "features" if is_measured(machine) and machine.kernel == "dyadic" else "objects"
    names = _largest(run.results["support"], alpha[machine.support_])
    numbered = table.X.shape[0] > 0 and table.row_names is None and not is_measured(machine)
    called = f": {'rows ' * numbered}{names}" if names else ""
    run.show(f"support {what:9}{machine.n_support_} of {len(alpha)}{called}")
    run.show(f"epsilon          {', '.join(f'{e:.6g}' for e in epsilon[: 1 if shared else 5])}")
    run.show(
        f"certificate      {worst.status.value}, duality gap {machine.dual_gap_:.3g}, KKT "
        f"violation {machine.kkt_violation_:.3g}"
    )
    if not machine.n_support_:
        _say_constant(run, machine)


def _largest(names, alpha):
    """The names of the largest weights."""
    order = np.argsort(-np.abs(alpha), kind="stable")
    more = f" and {len(order) - MOST_NAMED} more" if len(order) > MOST_NAMED else ""
    return ", ".join(names[j] for j in order[:MOST_NAMED]) + more


def _say_constant(run, machine):
    """Say that a model predicts the same for all rows, and why."""
    if isinstance(machine.epsilon, str):
        why = (
            "for no epsilon do the columns predict the target better than its "
            f"{'frequencies' if hasattr(machine, 'classes_') else 'mean'} alone. Check that the "
            "target belongs to these rows; other columns or a --kernel may help"
        )
    else:
        why = (
            f"epsilon {machine.epsilon:g} is so large that nothing is selected. Give a smaller "
            "one, or leave --epsilon out"
        )
    run.results["constant"] = True
    run.warn(f"The model is constant, it predicts the same for every row: {why}.")
    run.code = run.code or ExitCode.CONSTANT


def warn_of_rare_levels(run, table):
    """Name the levels that are put together."""
    if not table.schema.has_categories:
        return
    rare = TableEncoder(schema=table.schema).fit(table.X).rare_levels_
    if rare:
        shown = "; ".join(f"{name}: {', '.join(levels)}" for name, levels in rare.items())
        run.warn(f"Levels in less than 1 % of the rows count as one rare level: {shown}.")


def novelty_threshold(model, X):
    """Half of the least similarity of a training row to the support objects besides itself.

    Half, because by chance some new rows of the same kind are outside the range of a few training
    rows. None if there are no support objects, or no rows at hand because they were read by blocks.
    """
    from ..evaluation import similarity_threshold

    machine = unwrap(model).machine
    if not X.shape[0] or not machine.n_support_ or machine.kernel == "dyadic":
        return None
    if linear_kernel(machine) is not None:  # a direction is no neighbourhood
        return None
    least = similarity_threshold(model, X)
    return least / 2 if least > 0 else least


def save_model(run, model, table, task, path):
    """Write a model with what prediction from files needs to know."""
    from .. import save

    parts = unwrap_psvm(model, machine_names(model, table), table.row_labels or None)
    classes = getattr(model, "classes_", None)
    schema = replace(
        table.schema,
        target=table.target_name,
        target_levels=None if classes is None else tuple(np.asarray(classes).tolist()),
    )
    extra = {
        "task": task,
        "format": table.format,
        "command": run.command,
        "least_similarity": novelty_threshold(model, table.X),
        "support": None if is_measured(parts.machine) else support_names(parts),
    }
    save(of_tables(model, schema, table.X), path, extra=extra)
    run.wrote(path)
    run.results["model"] = str(path)
    run.show(f"model            {path}")


def of_tables(model, schema, X):
    """A fitted model that takes tables with the columns of a schema."""
    if not is_numeric(X):
        return model
    steps = model.steps if isinstance(model, Pipeline) else [(type(model).__name__.lower(), model)]
    first = steps[0][1]
    if isinstance(first, TableEncoder):
        first.set_params(schema=schema).schema_ = schema
        return model
    return Pipeline([("tableencoder", TableEncoder(schema=schema).fit(X)), *steps])
