"""``psvm info``."""

import click

from .. import _options as options


@click.command(
    "info",
    epilog=options.examples(
        "psvm info m.psvm",
        "psvm info m.psvm --json",
        "psvm info site.moments",
    ),
)
@click.argument("model", type=options.FILE)
@options.talking
@options.runs
def command(run):
    """Show what is in MODEL: a model file, a plan or the sums of a site. Nothing is executed."""
    from ...persistence import model_info
    from .._sites import describe_file

    with run.watched():
        info = describe_file(run.params["model"]) or model_info(run.params["model"])
    run.results |= info
    for name, value in info.items():
        if isinstance(value, dict):
            run.show(f"{name}:")
            for key, inner in value.items():
                run.show(f"  {key:20} {_short(inner)}")
        else:
            run.show(f"{name:22} {_short(value)}")


def _short(value, most=70):
    text = str(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"
