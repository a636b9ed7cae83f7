"""``psvm select``."""

import click

from .. import _options as options


@click.command(
    "select",
    epilog=options.examples(
        "psvm select train.csv --target y --n-features 5",
        "psvm select genes.tsv.gz --transpose --target-file classes.csv --output s.csv",
        "psvm select train.csv --target y --stability --pfer 1",
        "psvm select train.csv --target y --fdr 0.1",
    ),
)
@options.data
@options.target
@click.option("--n-features", type=click.IntRange(1), help="How many at most. [by epsilon]")
@click.option(
    "--stability",
    is_flag=True,
    help="Those that most random halves of the rows select, with a bound of the expected "
    "number of false selections.",
)
@click.option(
    "--pfer", type=click.FloatRange(0, min_open=True), help="That bound; implies --stability. [1]"
)
@click.option(
    "--threshold",
    type=click.FloatRange(0.5, 1, min_open=True),
    help="Share of the halves; implies --stability. [0.75]",
)
@click.option(
    "--q",
    type=click.IntRange(1),
    help="Features that each half selects; implies --stability. [by the bound]",
)
@click.option(
    "--fdr",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Those that win against knockoffs, with this false discovery rate.",
)
@click.option("--task", type=click.Choice(["auto", "classification", "regression"]),
              default="auto", show_default=True, help="The kind of target.")  # fmt: skip
@click.option("--output", type=options.OUTPUT, help="A CSV file for the list.")
@options.reading
@options.general
@options.talking
@options.runs
def command(run):
    """Select features of DATA that are related to the target.

    They come in the order in which they enter, with the share of random halves of the rows in which
    they are selected again, and the unselected ones most correlated with them. With --stability or
    --fdr the expected number or share of false selections is bounded.
    """
    from ...io import is_numeric
    from .._choices import choose_task, encoded
    from .._files import check_writable, write_rows
    from .._read import read

    check_writable(run.params["output"])
    bounded = _bounded(run)
    table = read(run)
    if not is_numeric(table.X):
        raise ValueError(f"{table.source} holds sequences; features are columns of numbers.")
    task, y = choose_task(run, table.y, table.target_name)
    X, names = encoded(table)
    if bounded is not None:
        headers, rows = bounded(run, X, y, names, task)
    else:
        headers, rows = _ranked(run, X, y, names, task)
    run.results["features"] = [dict(zip(headers, row, strict=True)) for row in rows]
    run.table("Selected features", headers, rows)
    if not rows:
        run.warn(
            "No column says anything about the target."
            if bounded is None
            else "No column is selected with this bound."
        )
    if run.params["output"]:
        write_rows(run.params["output"], headers, rows)
        run.wrote(run.params["output"])


def _bounded(run):
    """The kind of selection with a bound of its error that was asked for, or None."""
    params = run.params
    stability = [name for name in ("q", "threshold", "pfer") if params[name] is not None]
    asked = {
        "--stability": params["stability"] or bool(stability),
        "--fdr": params["fdr"] is not None,
        "--n-features": params["n_features"] is not None,
    }
    if sum(asked.values()) > 1:
        names = " and ".join(name for name, given in asked.items() if given)
        raise ValueError(f"Give only one of {names}: each decides what is selected.")
    if len(stability) == 3:
        raise ValueError("Give two of --q, --threshold and --pfer; the third follows from them.")
    if asked["--stability"]:
        return _stable
    return _against_knockoffs if asked["--fdr"] else None


def _stable(run, X, y, names, task):
    """The features that most halves select."""
    from ...selection import StabilitySelector

    given = {name: run.params[name] for name in ("q", "threshold", "pfer")}
    selector = StabilitySelector(**given, task=task, random_state=run.seed, n_jobs=run.jobs)
    with run.watched():
        selector.fit(X, y)
    found = selector.parameters_
    run.show(f"bound            {found}")
    run.results["stability"] = {
        "q": found.q,
        "threshold": found.threshold,
        "pfer": found.pfer,
        "n_subsamples": found.n_subsamples,
        "assumption": found.assumption,
    }
    groups = {int(j): group.features for group in selector.groups_ for j in group.features}
    shares = {int(j): group.frequency for group in selector.groups_ for j in group.features}
    rows = [
        (place + 1, names[j], float(selector.frequencies_[j]), float(shares[int(j)]),
         "; ".join(names[k] for k in groups[int(j)] if k != j))
        for place, j in enumerate(selector.order_[: selector.n_features_])
    ]  # fmt: skip
    run.results["groups"] = [
        {"features": [names[j] for j in group.features], "frequency": group.frequency}
        for group in selector.groups_
        if group.frequency >= found.threshold
    ]
    return ["place", "feature", "frequency", "frequency of its group", "others in its group"], rows


def _against_knockoffs(run, X, y, names, task):
    """The features that win against their knockoffs."""
    from ...selection import KnockoffSelector

    selector = KnockoffSelector(run.params["fdr"], task=task, random_state=run.seed)
    with run.watched():
        selector.fit(X, y)
    run.show(
        f"bound            at most {100 * selector.fdr:g} % of the selected features expected to "
        "be false, if the columns are about Gaussian"
    )
    run.results["fdr"] = selector.fdr
    chosen = selector.order_[: selector.n_features_]
    rows = [
        (place + 1, names[j], float(selector.statistics_[0, j])) for place, j in enumerate(chosen)
    ]
    return ["place", "feature", "statistic"], rows


def _ranked(run, X, y, names, task):
    """The features of one selection, with their stability."""
    from ...selection import rank_features

    if run.params["n_features"] is None:
        run.note("The number of features follows from the cross-validated epsilon (--n-features).")
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
    run.results["epsilon"] = found.selector.epsilon_
    return headers, rows


def _listed(stand_in, names):
    if stand_in is None:
        return ""
    pairs = zip(stand_in.indices, stand_in.correlations, strict=True)
    return "; ".join(f"{names[j]} ({r:+.2f})" for j, r in pairs)
