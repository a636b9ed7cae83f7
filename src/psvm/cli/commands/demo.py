"""``psvm demo``."""

import click

from .. import _options as options


@click.command(
    "demo",
    epilog=options.examples(
        "psvm demo",
        "psvm demo --folder here",
    ),
)
@click.option("--folder", type=click.Path(file_okay=False), default="psvm-demo", show_default=True,
              help="Where the files go; it is made if it is not there.")  # fmt: skip
@options.talking
@options.runs
def command(run):
    """Show the commands at work on bundled data: patients x measurements."""
    import shlex
    from pathlib import Path

    from .._app import ExitCode
    from .._app import run as run_command

    folder = Path(run.params["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    train, new = _write_data(folder)
    model, page = folder / "m.psvm", folder / "report.html"
    for arguments in (
        ["check", train, "--target", "diagnosis"],
        ["fit", train, "--target", "diagnosis", "--model", model],
        ["predict", model, new, "--target", "diagnosis", "--output", folder / "p.csv"],
        ["select", train, "--target", "diagnosis", "--n-features", "5"],
        ["report", train, "--target", "diagnosis", "--output", page],
    ):
        arguments = [str(argument) for argument in arguments]
        if not run.params["json"]:
            click.secho(f"$ {shlex.join(['psvm', *arguments])}", bold=True)
        quiet = ["--quiet"] if run.params["json"] or run.params["quiet"] else []
        code = run_command([*arguments, *quiet])
        if code != ExitCode.FINE:
            run.code = code
            return
    run.results |= {"folder": str(folder), "report": str(page.resolve())}
    run.show(f"The report is at {page.resolve()}")


def _write_data(folder):
    """Patients to learn from, and new ones."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from ...io import write_table

    data = load_breast_cancer()
    names = data.target_names[data.target].astype(object)
    parts = train_test_split(data.data, names, test_size=0.3, random_state=0)
    paths = folder / "train.csv", folder / "new.csv"
    for path, X, y in zip(paths, parts[:2], parts[2:], strict=True):
        write_table(X, path, y=y, feature_names=list(data.feature_names), target_name="diagnosis")
    return paths
