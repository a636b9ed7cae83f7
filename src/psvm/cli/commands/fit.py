"""``psvm fit``."""

import click

from .. import _options as options


@click.command(
    "fit",
    epilog=options.examples(
        "psvm fit train.csv --target diagnosis --model m.psvm",
        "psvm fit genes.tsv.gz --transpose --target-file classes.csv --model g.psvm",
        "psvm fit --config m.psvm.toml",
    ),
)
@options.data
@options.target
@click.option("--model", type=options.OUTPUT, required=True, help="Where the model goes.")
@options.modelling
@options.reading
@options.general
@options.talking
@options.runs
def command(run):
    """Fit a model to the rows of DATA and save it.

    What is not given is chosen and said: classification or regression by the target, the kernel by
    the shape of the data, epsilon by cross-validation. Settings and log go beside the model.
    """
    from .._choices import choose_task, make_model
    from .._files import check_writable
    from .._read import read
    from .._results import describe_model, save_model, warn_of_rare_levels

    check_writable(run.params["model"])
    table = read(run)
    task, y = choose_task(run, table.y, table.target_name)
    warn_of_rare_levels(run, table)
    model = make_model(run, table, task)
    with run.watched():
        model.fit(table.X, y)
    describe_model(run, model, table)
    save_model(run, model, table, task, run.params["model"])
