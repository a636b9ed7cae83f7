"""``psvm check``."""

import click

from .. import _options as options

MOST_COLUMNS = 60
"""Columns that are all listed; of more, those that are used as numbers are counted."""
MOST_TRIES = 4
"""Descriptions of a file after each of which more options are advised."""
TARGETS = ("target", "class", "label", "outcome", "diagnosis", "response", "y")
"""Names that a target often has."""


@click.command(
    "check",
    epilog=options.examples(
        "psvm check train.csv --target diagnosis",
        "psvm check genes.tsv.gz --transpose --target-file classes.csv",
    ),
)
@options.data
@options.target
@options.reading
@options.talking
@options.runs
def command(run):
    """Describe each column of the file DATA, say what is wrong, and what to do next.

    Exit code 3 if psvm fit could not use the file with these options.
    """
    from ...io import Severity, describe_file
    from .._app import ExitCode, as_options
    from .._read import reading_options

    target = run.params["target"]
    reading = reading_options(run.params)
    with run.watched():
        found = describe_file(run.params["data"], target=target, **reading)
        if found.n_rows == 0 and target is not None and target.removeprefix("-").isdigit():
            target = int(target)
            found = describe_file(run.params["data"], target=target, **reading)
    if found.n_rows:
        run.show(f"{found.n_rows} rows, {len(found.columns)} columns" * bool(found.columns)
                 or f"{found.n_rows} rows")  # fmt: skip
    _show_columns(run, found.columns)
    if found.classes:
        shares = (f"{k} {n} ({100 * n / sum(found.classes.values()):.1f} %)"
                  for k, n in list(found.classes.items())[:10])  # fmt: skip
        more = f" and {len(found.classes) - 10} more" if len(found.classes) > 10 else ""
        run.show(f"classes of {found.target}: {', '.join(shares)}{more}")
    for finding in found.findings:
        run.show(as_options(str(finding)))
    readable = all(f.severity is not Severity.ERROR for f in found.findings)
    with run.watched():
        command = _command(run, found, target, reading)
    if command:
        run.show(f"next: {command}")
    run.results |= {
        "n_rows": found.n_rows,
        "columns": [
            {"name": c.name, "type": c.kind.value, "values": c.values, "missing": c.missing,
             "use": c.use}
            for c in found.columns
        ],
        "target": found.target,
        "classes": found.classes,
        "findings": [
            {"severity": f.severity.value, "message": f.message, "line": f.line,
             "column": f.column, "advice": as_options(f.advice)}
            for f in found.findings
        ],
        "readable": readable,
        "next": command,
    }  # fmt: skip
    if not readable:
        run.code = ExitCode.BAD_DATA


def _show_columns(run, columns):
    """The data dictionary."""
    plain, others = [], []
    for column in columns:
        numbers = column.use == "used" and column.kind.value == "number"
        (plain if numbers else others).append(column)
    shown = columns
    if len(columns) > MOST_COLUMNS:
        gaps = [c.missing for c in plain]
        if plain:
            run.show(
                f"{len(plain)} columns of numbers are used, such as {plain[0].name} "
                f"({plain[0].values}); missing in them: at most {max(gaps):.1f} %"
            )
        shown = others[:MOST_COLUMNS]
        if len(others) > MOST_COLUMNS:
            run.show(f"{len(others)} other columns, the first {MOST_COLUMNS} of them:")
    rows = [(c.name, c.kind.value, c.values, f"{c.missing:.1f} %", c.use) for c in shown]
    if rows:
        run.table("Columns", ["column", "type", "values", "missing", "use"], rows)


def _command(run, found, target, reading):
    """The command that fits a model, with all that the file needs; None if none is known to work.

    What is advised is tried: the file is described again with it.
    """
    import shlex

    from ...io import Severity, describe_file

    if not found.n_rows or found.options is None:
        return None
    more = []
    if found.target is None:
        names = [c.name for c in found.columns if c.kind.value != "identifier"]
        if not names:
            return None
        likely = [name for name in names if name.lower() in TARGETS]
        target = likely[0] if likely else names[-1]
        more = ["--target", target]
        found = describe_file(run.params["data"], target=target, **reading)
    advised = {}
    for _ in range(MOST_TRIES):
        if all(finding.severity is not Severity.ERROR for finding in found.findings):
            break
        wanted = _merged(advised, found.options or {})
        if wanted == advised:
            return None
        advised = wanted
        options = _merged(reading, advised)
        found = describe_file(run.params["data"], target=target, **options)
    else:
        return None
    given = [a for a in run.ctx.obj[1:] if a not in ("--json", "-q", "--quiet", "-v", "--verbose")]
    words = ["psvm", "fit", *given, *more]
    if "missing" in advised:
        words += ["--missing", {"nan": "impute"}.get(advised["missing"], advised["missing"])]
    for marker in dict.fromkeys(advised.get("na_values", ())):
        words += ["--na-values", marker]
    for name, kind in advised.get("types", {}).items():
        words += ["--type", f"{name}={kind}"]
    return shlex.join([*words, "--model", "m.psvm"])


def _merged(options, advice):
    """Options with those of an advice, which add to lists and dicts."""
    found = dict(options)
    for name, value in advice.items():
        if name == "na_values":
            value = list(dict.fromkeys([*(found.get(name) or ()), *value]))
        elif name == "types":
            value = {**(found.get(name) or {}), **value}
        found[name] = value
    return found
