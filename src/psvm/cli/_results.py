"""What commands say about fitted models."""

import numpy as np

from ..estimators import solutions, unwrap_psvm, weights
from ..io import is_numeric


def describe_model(run, model, names):
    """Record and show support objects and certificate of a fitted model."""
    machine = unwrap_psvm(model, names).machine
    alpha = weights(machine)
    worst = max(solutions(machine), key=lambda s: s.kkt_violation)
    epsilon = np.atleast_1d(machine.epsilon_)
    shared = (epsilon == epsilon[0]).all()
    run.results |= {
        "epsilon": machine.epsilon_,
        "n_support": machine.n_support_,
        "n_objects": len(alpha),
        "status": worst.status.value,
        "gap": machine.dual_gap_,
        "kkt_violation": machine.kkt_violation_,
    }
    run.show(f"support objects  {machine.n_support_} of {len(alpha)}")
    run.show(f"epsilon          {', '.join(f'{e:.6g}' for e in epsilon[: 1 if shared else 5])}")
    run.show(
        f"certificate      {worst.status.value}, duality gap {machine.dual_gap_:.3g}, KKT "
        f"violation {machine.kkt_violation_:.3g}"
    )


def save_model(run, model, table, task, path):
    """Write a model with what prediction from files needs to know."""
    from .. import save

    extra = {
        "feature_names": table.feature_names,
        "n_columns": int(table.X.shape[1]) if is_numeric(table.X) else None,
        "target_name": table.target_name,
        "task": task,
        "format": table.format,
        "command": run.command,
        "missing": run.params["missing"],
        "categorical": run.params["categorical"],
        "transpose": run.params["transpose"],
    }
    save(model, path, extra=extra)
    run.wrote(path)
    run.results["model"] = str(path)
    run.show(f"model            {path}")
