"""``psvm fit``."""

import click

from .. import _options as options


@click.command(
    "fit",
    epilog=options.examples(
        "psvm fit train.csv --target diagnosis --model m.psvm",
        "psvm fit train.csv --target diagnosis --model m.psvm --probability",
        "psvm fit genes.tsv.gz --transpose --target-file classes.csv --model g.psvm",
        "psvm fit large.parquet --target y --memory 64 --model m.psvm",
        "psvm fit a.moments b.moments --held-out site --model m.psvm",
        "psvm fit --config m.psvm.toml",
    ),
)
@options.data
@click.argument("more", type=options.FILE, nargs=-1)
@options.target
@click.option("--model", type=options.OUTPUT, required=True, help="File for the model.")
@click.option("--cv/--no-cv", default=True, show_default=True,
              help="Cross-validate, to estimate the error of the model.")  # fmt: skip
@options.folds
@options.positive
@options.probability
@options.modelling
@click.option("--held-out", type=click.Choice(["fold", "site"]), default="fold",
              show_default=True, help="What to hold out of the sums of sites.")  # fmt: skip
@options.memory
@options.reading
@options.general
@options.talking
@options.runs
def command(run):
    """Fit a model to the rows of DATA or to sums of psvm moments, save it, and show its error.

    Options that are not given are chosen and printed: classification or regression by the target,
    how rows are described by the shape of the data, kernel and epsilon by rows that are held out.
    Settings and log are written next to the model.
    """
    from .._files import check_writable
    from .._out_of_core import fit_large
    from .._results import describe_model, save_model
    from .._sites import fit_files, holds_moments

    check_writable(run.params["model"])
    if holds_moments(run.params["data"]):
        model, table, task = fit_files(run)
    elif run.params["more"]:
        raise click.UsageError("Several files can be fitted only if they are sums of psvm moments.")
    elif run.params["memory"] is not None:
        model, table, task = fit_large(run)
    else:
        model, table, task = _fit_table(run)
    describe_model(run, model, table)
    save_model(run, model, table, task, run.params["model"])
    run.show_time()


def _fit_table(run):
    """A model of a table that is read as a whole."""
    from .._choices import choose_task, make_model
    from .._read import read
    from .._results import warn_of_rare_levels

    table = read(run)
    task, y = choose_task(run, table.y, table.target_name)
    warn_of_rare_levels(run, table)
    model = make_model(run, table, task)
    with run.watched():
        model.fit(table.X, y)
    if run.params["cv"]:
        _cross_validate(run, model, table.X, y)
    return model, table, task


def _cross_validate(run, model, X, y):
    """Say how good the model is on rows it has not seen, if there are enough of them."""
    from ...evaluation import cross_validate
    from .._figures import describe_cross_validation

    try:
        with run.watched():
            result = cross_validate(
                model,
                X,
                y,
                cv=run.params["folds"],
                positive=run.params["positive"],
                random_state=run.seed,
                n_jobs=run.jobs,
            )
    except ValueError as error:
        run.warn(f"The model could not be cross-validated: {error}")
        return
    describe_cross_validation(run, result)
