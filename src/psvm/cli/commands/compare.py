"""``psvm compare``."""

import click

from .. import _options as options


@click.command(
    "compare",
    epilog=options.examples(
        "psvm compare train.csv --target y --folds 10",
    ),
)
@options.data
@options.target
@options.folds
@click.option(
    "--output",
    type=options.OUTPUT,
    help="A CSV file with the accuracy in % or the RMSE of each fold.",
)
@options.modelling
@options.reading
@options.general
@options.talking
@options.runs
def command(run):
    """Compare the P-SVM with other methods on the same folds of DATA.

    The p-values come from a t-test of the errors (squared errors for regression) that is corrected
    for the shared training rows.
    """
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    from ...evaluation import compare
    from .._choices import choose_task, make_model
    from .._files import check_writable, write_rows
    from .._peers import make_peers
    from .._read import read

    check_writable(run.params["output"])
    table = read(run)
    task, y = choose_task(run, table.y, table.target_name)
    models = {"P-SVM": make_model(run, table, task), **make_peers(run, table, task)}
    folds = StratifiedKFold if task == "classification" else KFold
    cv = folds(run.params["folds"], shuffle=True, random_state=run.seed)
    with run.watched():
        found = compare(models, table.X, y, cv=cv, tests=["corrected_t"], n_jobs=run.jobs)
    classes = task == "classification"
    measure = "accuracy" if classes else "RMSE"
    values = 100 * (1 - found.values) if classes else np.sqrt(found.values)
    headers = ["method", measure, "deviation", "support", "p"]
    rows = [
        (name, float(v.mean()), float(v.std(ddof=1)), float(s.mean()), float(p))
        for name, v, s, p in zip(
            found.names, values, found.n_support, found.pvalues("corrected_t"), strict=True
        )
    ]
    run.results |= {
        "measure": measure,
        "unit": "%" if classes else "that of the target",
        "methods": [dict(zip(headers, r, strict=True)) for r in rows],
    }
    shown = [h + " in %" * (classes and h in ("accuracy", "deviation")) for h in headers]
    run.table(f"{run.params['folds']} folds", shown, rows)
    if run.params["output"]:
        heads = ["method", *(f"fold {i + 1}" for i in range(found.values.shape[1]))]
        rows = [[n, *v] for n, v in zip(found.names, values.tolist(), strict=True)]
        write_rows(run.params["output"], heads, rows)
        run.wrote(run.params["output"])
