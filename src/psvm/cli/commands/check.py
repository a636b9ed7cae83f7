"""``psvm check``."""

import click

from .. import _options as options


@click.command(
    "check",
    epilog=options.examples(
        "psvm check train.csv --target diagnosis",
    ),
)
@options.data
@options.target
@options.reading
@options.talking
@options.runs
def command(run):
    """Say what is wrong with the file DATA and what was detected; exit code 3 if unusable."""
    from ...io import Severity, check_file
    from .._app import ExitCode, as_options
    from .._read import reading_options

    found = check_file(
        run.params["data"], target=run.params["target"], **reading_options(run.params)
    )
    for finding in found:
        run.show(as_options(str(finding)))
    run.results["findings"] = [
        {"severity": f.severity.value, "message": f.message, "line": f.line, "column": f.column,
         "advice": f.advice}
        for f in found
    ]  # fmt: skip
    run.results["readable"] = all(f.severity is not Severity.ERROR for f in found)
    if not run.results["readable"]:
        run.code = ExitCode.BAD_DATA
