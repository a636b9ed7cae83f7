"""The command `psvm`. Nothing heavy is imported before a command needs it."""

import sys

__all__ = ["main"]


def __dir__():
    return __all__


def main(arguments=None):
    """Run the command line and return its exit code."""
    try:
        import click
        import rich
    except ImportError:
        print('The command psvm needs click and rich: pip install "psvm[cli]"', file=sys.stderr)
        return 1
    from ._app import run

    return run(arguments)
