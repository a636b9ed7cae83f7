"""``psvm play``."""

import click

from .. import _options as options


@click.command(
    "play",
    epilog=options.examples(
        "psvm play",
        'psvm play "http://127.0.0.1:8000/#points=..."',
    ),
)
@click.argument("link", required=False)
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True,
              help="Port of the server; 0: a free one.")  # fmt: skip
@click.option("--open/--no-open", "open_page", default=True, show_default=True,
              help="Show the page in the browser.")  # fmt: skip
@options.talking
@options.runs
def command(run):
    """Put points by mouse or touch, and see what the P-SVM and an SVM make of them.

    LINK is a shared link, whose points are shown. The page is served to this machine only; Ctrl-C
    or closing the page ends it.
    """
    import re
    import webbrowser

    link = run.params["link"] or ""
    fragment = link.partition("#")[2]
    if link and not re.fullmatch(r"[\w.,=&+-]+", fragment, re.ASCII):
        raise click.UsageError(f"{link!r} is not a link of psvm play: it has no points after a #.")
    try:
        from .._play import serve
    except ImportError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise ImportError(
            'psvm play needs starlette and uvicorn: pip install "psvm[play]"'
        ) from error

    def ready(address):
        address += f"#{fragment}" if fragment else ""
        click.echo(f"{address}\nCtrl-C ends it, and so does closing the page.", err=False)
        if run.params["open_page"]:
            webbrowser.open(address)

    try:
        serve(run.params["port"], ready)
    except KeyboardInterrupt:
        run.note("Ended by Ctrl-C.")
