"""Data files as the commands read them."""

import click

from ._run import compare_with_record

PRINT_TABLES = ("path", "select")
"""Commands whose standard output is a table that another program may read."""


def read(run, *, needs_target=True, schema="infer"):
    """The table of a command's data file, with its detections said."""
    from ..io import DataError, read_table

    params = run.params
    path = params["data"]
    unsaid = params.get("target") is None and params.get("target_file") is None
    if needs_target and unsaid and not _has_own_target(path, params["format"]):
        raise click.UsageError(
            "Name the column to predict: --target NAME (or --target-file FILE). "
            f"'psvm check {path}' lists the columns."
        )
    options = reading_options(params)
    options["schema"] = schema
    target = params.get("target")
    with run.watched():
        try:
            table = read_table(path, target=target, **options)
        except DataError:
            if not _is_number(target):
                raise
            table = read_table(path, target=int(target), **options)
    run.reads(path)
    compare_with_record(run)
    for sentence in table.detection:
        run.note(sentence)
    if schema == "infer":
        say_left_out(run, table.schema)
    if needs_target and table.y is None:
        raise click.UsageError(f"{path} holds no target: give --target or --target-file.")
    return table


def say_left_out(run, schema):
    """Name each column that plays no part and why, a line each."""
    left_out = {column.name: column.why for column in schema.columns if column.why}
    run.results["left_out"] = left_out
    say = run.note if run.ctx.command.name in PRINT_TABLES else run.show
    for name, why in left_out.items():
        say(f"left out         {name}: {why}")


def reading_options(params):
    """The options of `read_table` that a command was given."""
    auto = {None: "auto"}
    return {
        "target_file": params["target_file"],
        "transpose": params["transpose"],
        "header": auto.get(params["header"], params["header"]),
        "row_names": auto.get(params["row_names"], params["row_names"]),
        "delimiter": params["delimiter"].replace("\\t", "\t"),
        "decimal": params["decimal"],
        "encoding": params["encoding"],
        "format": params["format"],
        "missing": "nan" if params["missing"] == "impute" else params["missing"],
        "na_values": params["na_values"],
        "keep_default_na": params["keep_default_na"],
        "categorical": params["categorical"],
        "types": {n: kind for n, _, kind in (pair.rpartition("=") for pair in params["types"])},
        "ignore": params["ignore"],
        "sheet": params["sheet"],
        "skip_lines": params["skip_lines"],
        "leave_out": params.get("kernel") != "precomputed",
    }


def _has_own_target(path, format):
    names = (".svm", ".svmlight", ".libsvm", ".npz")
    stem = str(path).lower().removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    return format in ("svmlight", "npz") or stem.endswith(names)


def _is_number(target):
    return target is not None and target.removeprefix("-").isdigit()
