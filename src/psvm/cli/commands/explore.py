"""``psvm explore``."""

import click

from .. import _options as options


@click.command(
    "explore",
    epilog=options.examples(
        "psvm explore train.csv --target diagnosis",
        "psvm explore train.csv --target diagnosis --kernel rbf --output page.html --no-open",
    ),
)
@options.data
@options.target
@click.option("--output", type=options.OUTPUT,
              help="Where the page goes. [the name of DATA with .explore.html]")  # fmt: skip
@click.option("--open/--no-open", "open_page", default=None,
              help="Show it in the browser? [if stdout is a terminal]")  # fmt: skip
@click.option("--max-features", type=click.IntRange(1), default=100, show_default=True,
              help="The path ends before more than this have a weight.")  # fmt: skip
@options.folds
@options.modelling
@options.reading
@options.general
@options.talking
@options.runs
def command(run):
    """Make an interactive page about DATA: move epsilon, and see what is selected and what it says.

    One HTML file that needs no server and no network. Columns describe the rows as they are, unless
    a --kernel is given. With a number as --epsilon the page starts there.
    """
    import sys
    import webbrowser
    from pathlib import Path

    from ...report import explore
    from .._choices import choose_task, feature_names, make_model
    from .._files import check_writable
    from .._read import read
    from .._results import warn_of_rare_levels

    params = run.params
    params["output"] = params["output"] or f"{Path(params['data']).name.split('.')[0]}.explore.html"
    check_writable(params["output"])
    table = read(run)
    task, y = choose_task(run, table.y, table.target_name)
    warn_of_rare_levels(run, table)
    if params["kernel"] == "auto":
        _choose_kernel(run, table)
    model = make_model(run, table, task)
    target = table.target_name or "target"
    with run.watched():
        page = explore(
            table.X, y, model=model, cv=params["folds"], max_features=params["max_features"],
            title=f"{target} in {table.source.rsplit('/', 1)[-1]}", target_name=target,
            feature_names=feature_names(table), row_names=table.row_labels,
        )  # fmt: skip
        path = page.save(params["output"])
    run.wrote(path)
    run.results |= {"output": str(path), "bytes": path.stat().st_size}
    run.show(f"page             {path}")
    if params["open_page"] if params["open_page"] is not None else sys.stdout.isatty():
        webbrowser.open(path.resolve().as_uri())


def _choose_kernel(run, table):
    """Columns describe, if there are any."""
    from ...io import is_numeric, relates_rows

    if is_numeric(table.X) and not relates_rows(table.X, table.feature_names, table.row_names):
        run.params["kernel"] = "dyadic"
        run.choose("kernel", "dyadic", "The columns themselves describe the rows (--kernel).")
