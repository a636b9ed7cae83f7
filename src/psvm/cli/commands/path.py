"""``psvm path``."""

import click

from .. import _options as options


@click.command(
    "path",
    epilog=options.examples(
        "psvm path train.csv --target y --max-features 10 --plot path.svg",
    ),
)
@options.data
@options.target
@click.option("--max-features", type=click.IntRange(1), default=20, show_default=True,
              help="Largest number of columns with a weight on the path.")  # fmt: skip
@click.option("--task", type=click.Choice(["auto", "classification", "regression"]),
              default="auto", show_default=True, help="The kind of target.")  # fmt: skip
@click.option(
    "--output", type=options.OUTPUT, help="A CSV file: epsilons x weights alpha of columns."
)
@click.option("--plot", type=options.OUTPUT, help="File for a plot: .svg, .pdf or .png.")
@options.reading
@options.talking
@options.runs
def command(run):
    """Follow the solutions along decreasing epsilon: which column of DATA enters when.

    Output and plot show the weights alpha of centred columns of length 1, so that their sizes can
    be compared.
    """
    import numpy as np

    from ... import epsilon_path
    from ...io import is_numeric
    from ...matrix import as_dense
    from .._choices import choose_task, encoded
    from .._files import check_writable, write_rows
    from .._read import read

    check_writable(run.params["output"], run.params["plot"])
    table = read(run)
    if not is_numeric(table.X):
        raise ValueError(f"{table.source} holds sequences; a path needs columns of numbers.")
    task, y = choose_task(run, table.y, table.target_name)
    if task == "classification":
        classes, code = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise ValueError(
                f"A path needs two classes or numbers; there are {len(classes)} classes."
            )
        run.note(f"Weights are positive for class {classes[1]}.")
        y = 2.0 * code - 1.0
    X, names = encoded(table)
    with run.watched():
        path = epsilon_path(X, y, max_features=run.params["max_features"])
    first = [as_dense(path.alphas[:, [j]] != 0).argmax() for j in path.order]
    headers = ["place", "feature", "enters at epsilon", "share of the largest"]
    rows = [
        (place + 1, names[j], float(path.epsilons[max(i - 1, 0)]),
         float(path.epsilons[max(i - 1, 0)] / path.epsilon_max))
        for place, (j, i) in enumerate(zip(path.order, first, strict=True))
    ]  # fmt: skip
    run.results |= {
        "epsilon_max": path.epsilon_max,
        "epsilons": path.epsilons,
        "n_selected": path.n_selected,
        "order": [dict(zip(headers, row, strict=True)) for row in rows],
        "status": path.status.value,
        "largest_gap": float(path.gaps.max(initial=0.0)),
    }
    run.table("Columns as they enter", headers, rows)
    if run.params["output"]:
        entered = path.order
        weights = np.column_stack([path.epsilons, as_dense(path.alphas[:, entered])])
        heads = ["epsilon", *(names[j] for j in entered)]
        write_rows(run.params["output"], heads, weights.tolist())
        run.wrote(run.params["output"])
    if run.params["plot"]:
        _plot(run, path, names)


def _plot(run, path, names):
    from pathlib import Path

    from ...io import atomic_write
    from ...report import EpsilonPathDisplay, draw

    target = Path(run.params["plot"])
    display = EpsilonPathDisplay(path, names=names)
    data = draw(display.plot, (7.4, 4.0), target.suffix.removeprefix(".") or "svg")
    with atomic_write(target, "wb") as file:
        file.write(data)
    run.wrote(target)
