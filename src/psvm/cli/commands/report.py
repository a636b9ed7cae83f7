"""``psvm report``."""

from dataclasses import replace

import click

from .. import _options as options


@click.command(
    "report",
    epilog=options.examples(
        "psvm report train.csv --target diagnosis --output r.html",
        "psvm report train.csv --target diagnosis --output r.html --interactive",
    ),
)
@options.data
@options.target
@click.option("--output", type=options.OUTPUT, required=True, help="File for the page (.html).")
@click.option("--model", type=options.FILE, help="A saved model of this data. [a new search]")
@click.option("--tune/--no-tune", default=True, show_default=True,
              help="Search for parameters, or use the given ones.")  # fmt: skip
@click.option("--n-features", type=click.IntRange(1), default=10, show_default=True,
              help="Number of top features.")  # fmt: skip
@click.option("--interactive", is_flag=True,
              help="Write an interactive page beside it, to which figures are linked.")  # fmt: skip
@options.folds
@options.positive
@options.probability
@options.modelling
@options.reading
@options.general
@options.talking
@options.runs
def command(run):
    """Write a report about DATA and its model: one HTML page that needs no network."""
    from pathlib import Path

    from ...report import write_report
    from .._choices import choose_task, feature_names, make_model
    from .._files import check_writable
    from .._read import read
    from .._results import describe_model, warn_of_rare_levels
    from .._search import describe_search, make_search

    params = run.params
    if not params["output"].lower().endswith((".html", ".htm")):
        raise click.UsageError(
            f"A report is an HTML page: --output must end with .html, got {params['output']!r}. "
            "A browser prints it as PDF."
        )
    page = Path(params["output"]).with_suffix(".explore.html") if params["interactive"] else None
    check_writable(params["output"], page)
    if params["model"]:
        model, table, y = _saved(run)
    else:
        table = read(run)
        task, y = choose_task(run, table.y, table.target_name)
        warn_of_rare_levels(run, table)
        model = (make_search if params["tune"] else make_model)(run, table, task)
        with run.watched():
            model.fit(table.X, y)
        if params["tune"]:
            describe_search(run, model)
        describe_model(run, model, table)
    with run.watched():
        write_report(
            model, table.X, y, params["output"],
            title=f"{table.target_name or 'target'} in {table.source.rsplit('/', 1)[-1]}",
            feature_names=feature_names(table), row_names=table.row_labels,
            cv=params["folds"], positive=params["positive"], n_features=params["n_features"],
            random_state=run.seed, n_jobs=run.jobs, command=run.command, interactive=page,
            notes=run.said,
        )  # fmt: skip
    run.wrote(params["output"])
    run.results["output"] = params["output"]
    run.show(f"report           {params['output']}")
    if page is not None:
        run.results["interactive"] = str(page)
        run.show(f"interactive page {page}")


def _saved(run):
    """A saved model with the data of its fit."""
    from .._new_rows import load_with_schema, read_new_rows

    path = run.params["model"]
    with run.watched():
        model, schema = load_with_schema(path)
    if run.params["target"] is None:
        run.params["target"] = schema.target
    table, reasons = read_new_rows(run, schema)
    able = reasons == ""
    if table.y is None:
        raise click.UsageError("Name the target: --target or --target-file.")
    labels = [label for label, ok in zip(table.row_labels, able, strict=True) if ok]
    y = table.y[able]
    y = y if hasattr(model, "classes_") else y.astype(float)
    return model, replace(table, X=table.X[able], y=y, row_names=labels), y
