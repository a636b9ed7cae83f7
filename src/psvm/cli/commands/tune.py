"""``psvm tune``."""

import click

from .. import _options as options


@click.command(
    "tune",
    epilog=options.examples(
        "psvm tune train.csv --target y --model m.psvm",
        "psvm tune train.csv --target y --model m.psvm --results search.jsonl",
    ),
)
@options.data
@options.target
@click.option("--model", type=options.OUTPUT, required=True, help="File for the model.")
@click.option(
    "--results",
    type=options.OUTPUT,
    help="A file that keeps finished parts: an interrupted search continues from there.",
)
@click.option("--folds", type=click.IntRange(2),
              help="Number of folds. [leave-one-out values of all rows]")  # fmt: skip
@options.probability
@options.modelling
@options.reading
@options.general
@options.talking
@options.runs
def command(run):
    """Compare kernels and their widths for DATA by held-out rows, and save the best model.

    After Ctrl-C the same command with the same --results continues where it stopped.
    """
    from .._choices import choose_task
    from .._files import check_writable
    from .._read import read
    from .._results import describe_model, save_model, warn_of_rare_levels
    from .._search import describe_search, make_search, without_search

    check_writable(run.params["model"], run.params["results"])
    table = read(run)
    task, y = choose_task(run, table.y, table.target_name)
    warn_of_rare_levels(run, table)
    params = run.params
    search = make_search(run, table, task, params["folds"], results_file=params["results"])
    with run.watched():
        search.fit(table.X, y)
    describe_search(run, search)
    describe_model(run, search, table)
    save_model(run, without_search(search), table, task, run.params["model"])
