"""The group of commands, and what becomes of errors."""

import errno
import importlib
import os
import re
import sys
from enum import IntEnum
from importlib.metadata import version

import click

COMMANDS = {
    "check": "Describe a data file and say what is wrong with it.",
    "compare": "Compare the P-SVM with other methods on the same folds.",
    "completion": "Print the completion script of a shell.",
    "convert": "Convert data to another format, or a model to text or Python.",
    "cv": "Cross-validate: an honest error, with an interval.",
    "demo": "Run the commands on example data.",
    "explore": "Make an interactive page: move epsilon, see what is selected.",
    "fit": "Fit a model and save it.",
    "info": "Show what is in a model file.",
    "moments": "Sum the rows of a site for a fit to several sites.",
    "path": "Follow the solutions along epsilon: which column enters when.",
    "plan": "Make the plan with which several sites sum their rows.",
    "play": "Put points by mouse and see what the P-SVM and an SVM make of them.",
    "predict": "Predict new rows with a saved model.",
    "report": "Write an HTML report with pictures.",
    "select": "Select features, with stability and stand-ins.",
    "tune": "Search for good parameters, fit a model and save it.",
}
"""Names and first lines, so that the list of commands needs none of their modules."""


class ExitCode(IntEnum):
    """Exit codes."""

    FINE = 0
    ERROR = 1
    USAGE = 2
    BAD_DATA = 3
    NOT_CONVERGED = 4
    CONSTANT = 5
    INTERRUPTED = 130


class Commands(click.Group):
    """A group that imports a command when it is called for."""

    def list_commands(self, ctx):
        """Names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx, name):
        """The command, imported now."""
        if name not in COMMANDS:
            return None
        return importlib.import_module(f"psvm.cli.commands.{name}").command

    def resolve_command(self, ctx, args):
        """Find a command, or say which one might be meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            if near:
                error.message += f" Did you mean '{near[0]}'?"
            raise

    def format_commands(self, ctx, formatter):
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Examples: psvm fit train.csv --target diagnosis --model m.psvm; psvm report train.csv "
    "--target diagnosis --output r.html; psvm demo. Exit codes: 0 success, 1 cannot write or other "
    "error, 2 wrong usage, 3 bad data or model file, 4 did not converge, 5 the "
    "model is constant, 130 Ctrl-C.",
)
@click.version_option(version("psvm"), prog_name="psvm")
def app():
    """The Potential Support Vector Machine: from a data file to a model and a report."""


def run(arguments=None):
    """Run a command; errors become a sentence and an exit code."""
    try:
        arguments = list(sys.argv[1:] if arguments is None else arguments)
        code = app.main(arguments, prog_name="psvm", standalone_mode=False, obj=arguments)
        return int(code or ExitCode.FINE)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say("Interrupted. No unfinished file was left behind.")
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.FINE
    except OSError as error:
        _say(f"Error: {_os_error(error)}")
        return ExitCode.ERROR
    except ImportError as error:
        _say(f"Error: {error}")
        return ExitCode.ERROR
    except MemoryError:
        _say("Error: there is not enough memory.")
        return ExitCode.ERROR
    except ValueError as error:  # DataError and ModelFileError are such
        _say(f"Error: {as_options(str(error))}")
        return ExitCode.BAD_DATA


def as_options(text):
    """Advice of the library in the words of the command line."""
    text = text.replace("missing='nan'", "missing='impute'")
    text = re.sub(r"\bna_values=\[(('.*?'|\".*?\")(, ('.*?'|\".*?\"))*)\]", _as_markers, text)
    text = text.replace("with transpose=True", "with --transpose")
    text = text.replace("without transpose=True", "without --transpose")
    text = re.sub(r"\bignore=\[('.*?'|\".*?\")\]", r"--ignore \1", text)
    text = re.sub(r"\btypes=\{'(.*?)': '(\w+)'\}", r"--type '\1=\2'", text)
    text = text.replace(
        "Use a larger fdr, or StabilitySelector", "Use a larger --fdr, or --stability"
    )
    text = re.sub(r"psvm\.preprocessing\.DoubleCentering .* makes", "--distances makes", text)
    return re.sub(r"\b(missing|categorical|delimiter|decimal|encoding|format)=", r"--\1 ", text)


def _as_markers(match):
    """A list of markers as options."""
    return " ".join(f"--na-values {word}" for word in re.findall(r"'.*?'|\".*?\"", match[1]))


def _say(text):
    print(text, file=sys.stderr)


FULL = (
    " This file was not written, and an old one is as it was; files that were written before it "
    "are complete. Free some space and run it again."
)


def _os_error(error):
    """An error of the system as a sentence with its file."""
    where = f"{error.filename}: " if error.filename else ""
    advice = {
        errno.ENOSPC: FULL,
        errno.EFBIG: FULL,
        errno.EACCES: " Choose a directory you may write to.",
        errno.EROFS: " Choose a directory you may write to.",
    }.get(error.errno, "")
    text = error.strerror or str(error)
    return f"{where}{text.rstrip('.')}.{advice}"
