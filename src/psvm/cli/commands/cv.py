"""``psvm cv``."""

import click

from .. import _options as options


@click.command(
    "cv",
    epilog=options.examples(
        "psvm cv train.csv --target diagnosis --folds 10 --jobs 2",
    ),
)
@options.data
@options.target
@options.folds
@options.positive
@click.option("--output", type=options.OUTPUT, help="A CSV file for the predictions of all folds.")
@options.modelling
@options.reading
@options.general
@options.talking
@options.runs
def command(run):
    """Cross-validate a model of DATA: its error on rows it has not seen, with a 95 % interval."""
    from ...evaluation import cross_validate
    from .._app import ExitCode
    from .._choices import choose_task, make_model
    from .._figures import describe_cross_validation
    from .._files import check_writable, write_rows
    from .._read import read

    check_writable(run.params["output"])
    table = read(run)
    task, y = choose_task(run, table.y, table.target_name)
    model = make_model(run, table, task)
    with run.watched():
        result = cross_validate(
            model, table.X, y, cv=run.params["folds"], positive=run.params["positive"],
            random_state=run.seed, n_jobs=run.jobs,
        )  # fmt: skip
    describe_cross_validation(run, result)
    if result.constant:
        run.results["constant"] = True
        run.warn("The model of every fold is constant: it predicts the same for every row.")
        run.code = run.code or ExitCode.CONSTANT
    if run.params["output"]:
        rows = zip(table.row_labels, result.folds + 1, y, result.predictions, strict=True)
        write_rows(run.params["output"], ["row", "fold", "true", "predicted"], rows)
        run.wrote(run.params["output"])
        run.results["output"] = run.params["output"]
        run.show(f"predictions      {run.params['output']}")
    run.show_time()
