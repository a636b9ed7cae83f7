"""``psvm moments``."""

import click

from .. import _options as options


@click.command(
    "moments",
    epilog=options.examples(
        "psvm moments site.csv --target diagnosis --landmarks-from shared.npz -o site.moments",
    ),
)
@options.data
@click.option("--target", required=True, help="Name or number of the column to be predicted.")
@click.option("--weight", help="Name or number of a column of weights of the rows.")
@click.option("--landmarks-from", type=options.FILE, required=True, metavar="PLAN",
              help="The plan that all sites share, from psvm plan.")  # fmt: skip
@click.option("-o", "--output", type=options.OUTPUT, required=True, help="File for the sums.")
@options.min_rows
@options.memory
@options.talking
@options.runs
def command(run):
    """Sum the rows of DATA for a fit to the sums of several sites.

    OUTPUT holds sums but no rows; nothing is written if there are too few rows. Do not share its
    log. See docs/howto/sites.md for what the sums reveal.
    """
    from ...persistence import save_moments
    from .._files import check_writable
    from .._sites import sum_site

    output = run.params["output"]
    check_writable(output)
    site = sum_site(run)
    save_moments(site, output)
    run.wrote(output)
    apart = sum(fold is not None for fold in site.sums.folds)
    run.results |= {"output": output, "n_rows": site.sums.n_rows, "n_folds": apart}
    if apart < len(site.sums.folds):
        run.note("The folds have too few rows to be separate: all rows are in one fold.")
    run.show(f"rows             {site.sums.n_rows}")
    run.show(f"sums             {output}")
