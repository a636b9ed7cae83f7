"""One run of a command: what it says, to whom, and what it leaves behind for a repetition."""

import datetime
import hashlib
import json
import math
import shlex
import sys
import warnings
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import click

from .._progress import duration, progress
from . import _settings
from ._app import ExitCode, as_options

NOT_SETTINGS = ("config", "json", "quiet", "verbose")


class Run:
    """Says what was chosen and found, shows progress, and writes log and settings.

    Sentences and progress go to stderr, and only if that is a terminal or they are asked for: a
    pipe gets the result and nothing else.
    """

    def __init__(self, ctx):
        self.ctx, self.params = ctx, ctx.params
        self.seed, self.jobs = self.params.get("seed"), self.params.get("jobs")
        self.began = datetime.datetime.now(datetime.UTC)
        self.talks = self.params["verbose"] or (sys.stderr.isatty() and not self.params["quiet"])
        self.code, self.chosen, self.results, self.said = ExitCode.FINE, {}, {}, []
        self._inputs, self._output, self._printed = [], None, []

    def note(self, text):
        """Say what was detected or chosen."""
        self.said.append(str(text))
        if self.talks:
            click.echo(f"  {text}", err=True)

    def warn(self, text):
        """Say what the user should know, also when piped."""
        self.said.append(f"Warning: {text}")
        if not self.params["quiet"] and not self.params["json"]:
            click.secho(f"Warning: {text}", fg="yellow", err=True)

    def show(self, text=""):
        """Print a result for people."""
        self._printed.append(text)

    def table(self, title, headers, rows):
        """Print a table for people: framed on a terminal, separated by tabs in a pipe."""
        self._printed.append((title, headers, rows))

    def choose(self, name, value, reason):
        """Record and say a choice that was made for the user."""
        self.chosen[name] = value
        self.note(reason)

    def show_time(self):
        """Record and print how long it took."""
        seconds = (datetime.datetime.now(datetime.UTC) - self.began).total_seconds()
        self.results["seconds"] = round(seconds, 3)
        self.show(f"time             {duration(seconds)}")

    @property
    def shows_progress(self):
        """Whether somebody sits in front of a terminal, or asked for it, and reads no JSON."""
        return self.talks and not (self.params["quiet"] or self.params["json"])

    @contextmanager
    def watched(self):
        """Show progress and collect warnings; one about convergence becomes the exit code."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with progress(f"psvm {self.ctx.command.name}", self.shows_progress):
                yield
        for text in dict.fromkeys(str(w.message) for w in caught):
            self.warn(as_options(text))
        if caught:
            from sklearn.exceptions import ConvergenceWarning

            if any(issubclass(w.category, ConvergenceWarning) for w in caught):
                self.code = ExitCode.NOT_CONVERGED

    def reads(self, path):
        """Record an input."""
        self._inputs.append(path)

    def wrote(self, path):
        """Record an output; the first one has log and settings beside it."""
        self._output = self._output or Path(path)

    @property
    def command(self):
        """The command line that repeats this run."""
        return shlex.join(["psvm", *self.ctx.obj])

    def finish(self):
        """Print the result, write log and settings, and return the exit code."""
        if self._output is not None and self._output.is_file():
            self._write_settings()
            self._write_log()
        if self.params["json"]:
            results = {"command": self.ctx.command.name, **self.results, "notes": self.said}
            click.echo(json.dumps(_plain(results), indent=2, allow_nan=False))
        elif not self.params["quiet"]:
            for item in self._printed:
                _print(item)
        return self.code

    def _write_settings(self):
        from ..io import atomic_write

        folder, types = self._output.parent, {p.name: p.type for p in self.ctx.command.params}
        settings = {}
        for name, value in {**self.params, **self.chosen}.items():
            if name in NOT_SETTINGS or value in (None, ()):
                continue
            if isinstance(types.get(name), click.Path):
                value = _settings.relative(value, folder)
            settings[name] = list(value) if isinstance(value, tuple) else value
        record = {
            "psvm": version("psvm"),
            "command": self.command,
            "date": self.began.isoformat(timespec="seconds"),
        }
        digests = {f"sha256_{i + 1}": _digest(path) for i, path in enumerate(self._inputs)}
        name = self.ctx.command.name
        text = _settings.dump({name: settings, "record": record | digests})
        path = f"{self._output}.toml"
        with atomic_write(path, "w", encoding="utf-8") as file:
            file.write(
                f"# Repeat with: {shlex.join(['psvm', name, '--config', Path(path).name])}\n"
            )
            file.write(text)

    def _write_log(self):
        from ..io import atomic_write

        ended = datetime.datetime.now(datetime.UTC)
        lines = [f"{self.began.isoformat(timespec='seconds')} {self.command}"]
        lines += [f"psvm {version('psvm')}, Python {sys.version.split()[0]}, {sys.platform}"]
        lines += self.said
        lines += [json.dumps(_plain(self.results))]
        lines += [f"{ended.isoformat(timespec='seconds')} exit code {int(self.code)}"]
        with atomic_write(f"{self._output}.log", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


def compare_with_record(run):
    """Say so if the data has changed since the run that is repeated."""
    recorded = run.ctx.meta.get("psvm.recorded", {})
    for i, path in enumerate(run._inputs):
        known = recorded.get(f"sha256_{i + 1}")
        if known and known != _digest(path):
            run.warn(f"{path} is not the file of the recorded run: its contents have changed.")


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _print(item):
    if isinstance(item, str):
        click.echo(item)
        return
    title, headers, rows = item
    rows = [[_cell(value) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [headers, *rows]:
            click.echo("\t".join(" ".join(cell.split("\t")) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for header in headers:
        table.add_column(header)
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)


def _cell(value):
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plain(value):
    """What JSON can hold; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)
