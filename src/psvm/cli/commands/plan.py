"""``psvm plan``."""

import click

from .. import _options as options

KERNELS = ("rbf", "linear", "poly", "laplacian", "plummer", "sine", "dyadic")


@click.command(
    "plan",
    epilog=options.examples(
        "psvm plan public.csv --target diagnosis --public -o shared.npz",
        "psvm plan ours.csv --target diagnosis --landmarks 50 -o shared.npz",
    ),
)
@options.data
@click.option("--target", required=True, help="Name or number of the column to be predicted.")
@click.option("-o", "--output", type=options.OUTPUT, required=True, help="File for the plan.")
@click.option("--landmarks", type=click.IntRange(1), default=100, show_default=True,
              help="Largest number of landmarks.")  # fmt: skip
@click.option("--public", is_flag=True,
              help="All sites may see the rows: some of them become landmarks. Without this option "
              "the landmarks are means of clusters of rows.")  # fmt: skip
@options.min_rows
@click.option("--kernel", type=click.Choice(KERNELS), default="rbf", show_default=True,
              help="How rows are described. dyadic: by the columns as they are.")  # fmt: skip
@click.option("--gamma", type=options.Gamma(), default="scale", show_default=True,
              help="Width parameter of rbf, laplacian and poly.")  # fmt: skip
@click.option("--scale/--no-scale", default=None,
              help="Scale the features to variance 1? [for kernels of vectors]")  # fmt: skip
@click.option("--task", type=click.Choice(["auto", "classification", "regression"]),
              default="auto", show_default=True, help="The kind of target.")  # fmt: skip
@options.folds
@options.memory
@options.general
@options.talking
@options.runs
def command(run):
    """Make the plan with which several sites sum their rows, from the rows of DATA.

    The plan fixes columns, classes, kernel, scale and landmarks. Each site runs psvm moments with
    it; psvm fit makes one model of all sums. See docs/howto/sites.md for what the files reveal.
    """
    from ...persistence import save_plan
    from .._files import check_writable
    from .._sites import make_plan

    output = run.params["output"]
    check_writable(output)
    plan = make_plan(run)
    save_plan(plan, output)
    run.wrote(output)
    run.results |= {"output": output, "n_columns": plan.n_columns, "key": plan.key}
    run.show(f"columns of sums  {plan.n_columns}")
    run.show(f"plan             {output}")
