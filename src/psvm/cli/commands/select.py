"""``psvm select``."""

import click

from .. import _options as options


@click.command(
    "select",
    epilog=options.examples(
        "psvm select train.csv --target y --n-features 5",
        "psvm select genes.tsv.gz --transpose --target-file classes.csv --output s.csv",
    ),
)
@options.data
@options.target
@click.option("--n-features", type=click.IntRange(1), help="Most features to select. [by epsilon]")
@click.option("--task", type=click.Choice(["auto", "classification", "regression"]),
              default="auto", show_default=True, help="The kind of target.")  # fmt: skip
@click.option("--output", type=options.OUTPUT, help="A CSV file for the list.")
@options.reading
@options.general
@options.talking
@options.runs
def command(run):
    """Select features of DATA that are related to the target.

    Features are listed in the order in which they enter, with the share of random halves of the
    rows that select them again, and the unselected features most correlated with them.
    """
    from ...io import is_numeric
    from ...selection import rank_features
    from .._choices import choose_task, encoded
    from .._files import check_writable, write_rows
    from .._read import read

    check_writable(run.params["output"])
    table = read(run)
    if not is_numeric(table.X):
        raise ValueError(f"{table.source} holds sequences; features are columns of numbers.")
    task, y = choose_task(run, table.y, table.target_name)
    if run.params["n_features"] is None:
        run.note("The number of features follows from the cross-validated epsilon (--n-features).")
    X, names = encoded(table)
    with run.watched():
        found = rank_features(
            X, y, n_features=run.params["n_features"], task=task,
            random_state=run.seed, n_jobs=run.jobs,
        )  # fmt: skip
    headers = ["place", "feature", "importance", "stability", "stand-ins"]
    rows = [
        (place + 1, names[j], float(size), float(share), _listed(stand_in, names))
        for place, (j, size, share, stand_in) in enumerate(
            zip(found.indices, found.importance, found.stability, found.stand_ins, strict=True)
        )
    ]
    run.results["features"] = [dict(zip(headers, row, strict=True)) for row in rows]
    run.results["epsilon"] = found.selector.epsilon_
    run.table("Selected features", headers, rows)
    if not rows:
        run.warn("No column is related to the target.")
    if run.params["output"]:
        write_rows(run.params["output"], headers, rows)
        run.wrote(run.params["output"])


def _listed(stand_in, names):
    if stand_in is None:
        return ""
    pairs = zip(stand_in.indices, stand_in.correlations, strict=True)
    return "; ".join(f"{names[j]} ({r:+.2f})" for j, r in pairs)
