"""``psvm predict``."""

import click

from .. import _options as options


@click.command(
    "predict",
    epilog=options.examples(
        "psvm predict m.psvm new.csv --output p.csv",
        "psvm predict m.psvm new.csv --scores | head",
    ),
)
@click.argument("model", type=options.FILE)
@options.data
@click.option("--output", type=options.OUTPUT, help="A CSV file for the predictions; else stdout.")
@click.option("--scores", is_flag=True, help="Decision values as well.")
@click.option("--target", help="If the rows have the true value in this column: the error.")
@options.reading
@options.talking
@options.runs
def command(run):
    """Predict the rows of DATA with a saved MODEL.

    Columns are found by name, whatever their order; further columns do not matter.
    """
    import numpy as np

    from ... import load
    from ...persistence import model_info
    from .._files import check_writable, write_rows
    from .._read import one_hot, read, source_columns

    path = run.params["model"]
    check_writable(run.params["output"])
    with run.watched():
        model, extra = load(path), model_info(path)["extra"] or {}
    run.reads(path)
    for name in ("missing", "categorical", "transpose"):  # as for the fit, unless said otherwise
        if run.ctx.get_parameter_source(name) is click.core.ParameterSource.DEFAULT:
            run.params[name] = extra.get(name, run.params[name])
    names = extra.get("feature_names")
    if run.params["categorical"] == "onehot" and names:
        table = one_hot(read(run, needs_target=False, features=source_columns(names)), names)
    else:
        table = read(run, needs_target=False, features=names)
    with run.watched():
        predicted = model.predict(table.X)
    names = table.row_names or [str(i + 1) for i in range(len(predicted))]
    headers, columns = (
        ["row", extra.get("target_name") or "prediction"],
        [names, predicted.tolist()],
    )
    if run.params["scores"] and hasattr(model, "decision_function"):
        scores = model.decision_function(table.X)
        scores = scores.reshape(len(predicted), -1)
        classes = model.classes_[1:] if scores.shape[1] == 1 else model.classes_
        headers += [f"score of {label}" for label in classes]
        columns += scores.T.tolist()
    rows = list(zip(*columns, strict=True))
    if table.y is not None:
        _say_error(run, extra.get("task"), table.y, predicted)
    run.results["n_rows"] = len(rows)
    if run.params["output"]:
        write_rows(run.params["output"], headers, rows)
        run.wrote(run.params["output"])
        run.results["output"] = run.params["output"]
        run.show(f"{len(rows)} predictions  {run.params['output']}")
    else:
        run.results["predictions"] = np.asarray(predicted)
        run.table("Predictions", headers, rows)


def _say_error(run, task, y, predicted):
    import numpy as np

    if task == "regression":
        name, error = "root mean squared error", float(np.sqrt(np.mean((y - predicted) ** 2)))
    else:
        name, error = "error rate", float(np.mean(y.astype(str) != predicted.astype(str)))
    run.results[name.replace(" ", "_")] = error
    run.note(f"{name.capitalize()} on these rows: {error:.4g}")
