"""``psvm predict``."""

import click

from .. import _options as options

ROWS = 1000
"""Rows that are predicted at once: progress is counted by them."""
PLURALS = {"score": "scores", "probability": "probabilities"}


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

    Columns are found by name, whatever their order; further columns do not matter. A model that was
    fitted with --probability gives the probability of each class as well.
    """
    import numpy as np

    from .._files import check_writable, write_rows
    from .._new_rows import load_with_schema, read_new_rows, say_error

    path = run.params["model"]
    check_writable(run.params["output"])
    with run.watched():
        model, schema = load_with_schema(path)
    run.reads(path)
    table, reasons = read_new_rows(run, schema)
    able = reasons == ""
    headers, columns = ["row"], [table.row_labels]
    with run.watched():
        for name, values in _answers(run, model, table.X[able]).items():
            whole = np.full(len(able), None, dtype=object)
            whole[able] = values
            headers.append(name or schema.target or "prediction")
            columns.append(whole)
    predicted = columns[1]
    if not able.all():
        first = able.argmin()
        run.warn(
            f"{(~able).sum()} of {len(able)} rows cannot be predicted, such as "
            f"{table.row_labels[first]} ({reasons[first]}); their prediction is empty."
        )
        headers.append("reason")
        columns.append(reasons)
    if table.y is not None:
        say_error(run, model, table.y, predicted, able)
    rows = [["" if cell is None else cell for cell in row] for row in zip(*columns, strict=True)]
    run.results |= {"n_rows": len(rows), "n_predicted": int(able.sum())}
    if run.params["output"]:
        write_rows(run.params["output"], headers, rows)
        run.wrote(run.params["output"])
        run.results["output"] = run.params["output"]
        run.show(f"predictions      {able.sum()} in {run.params['output']}")
    else:
        run.results |= {"rows": table.row_labels, "predictions": predicted, "reasons": reasons}
        for name, values in zip(headers[2:], columns[2:], strict=True):
            kind, _, label = name.partition(" of ")
            if kind in PLURALS:
                run.results.setdefault(PLURALS[kind], {})[label] = values
        run.table("Predictions", headers, rows)


def _answers(run, model, X):
    """Names and values of the columns of the output; the prediction has no name of its own."""
    from ..._progress import steps

    if not X.shape[0]:
        return {None: []}
    found = {}
    starts = range(0, X.shape[0], ROWS)
    for start in steps(starts, "block of rows"):
        for name, values in _answer(run, model, X[start : start + ROWS]):
            found.setdefault(name, []).extend(values)
    return found


def _answer(run, model, X):
    """The same of some rows."""
    predicted = model.predict(X)
    yield None, predicted.tolist()
    if run.params["scores"] and hasattr(model, "decision_function"):
        scores = model.decision_function(X).reshape(len(predicted), -1)
        classes = model.classes_[1:] if scores.shape[1] == 1 else model.classes_
        for label, values in zip(classes, scores.T.tolist(), strict=True):
            yield f"score of {label}", values
    if hasattr(model, "predict_proba"):
        for label, values in zip(model.classes_, model.predict_proba(X).T.tolist(), strict=True):
            yield f"probability of {label}", values
