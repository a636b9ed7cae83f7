"""``psvm completion``."""

import click
from click.shell_completion import get_completion_class

from .. import _options as options


@click.command(
    "completion",
    epilog=options.examples(
        "psvm completion bash >> ~/.bashrc",
        "psvm completion zsh >> ~/.zshrc",
        "psvm completion fish > ~/.config/fish/completions/psvm.fish",
    ),
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell):
    """Print the completion script of SHELL, for its start-up file."""
    from .._app import app

    click.echo(get_completion_class(shell)(app, {}, "psvm", "_PSVM_COMPLETE").source())
