"""``psvm convert``."""

import click

from .. import _options as options


@click.command(
    "convert",
    epilog=options.examples(
        "psvm convert train.csv train.npz --target y",
        "psvm convert m.psvm m.txt",
        "psvm convert m.psvm m.py",
    ),
)
@click.argument("data", type=options.FILE)
@click.argument("output", type=options.OUTPUT)
@options.target
@options.reading
@options.talking
@options.runs
def command(run):
    """Convert DATA to the format that the name of OUTPUT says.

    A model file becomes text for people (.txt) or Python that predicts with NumPy alone (.py).
    """
    from .._files import check_writable

    data, output = run.params["data"], run.params["output"]
    check_writable(output)
    if _is_model(data):
        _convert_model(run, data, output)
    else:
        from ...io import write_table
        from .._read import read

        table = read(run, needs_target=False, schema=None)
        write_table(table, output)
    run.wrote(output)
    run.results["output"] = output
    run.show(output)


def _is_model(path):
    import zipfile

    if str(path).endswith(".psvm"):
        return True
    if not zipfile.is_zipfile(path):
        return False
    from ...persistence import ModelFileError, model_info

    try:
        model_info(path)
    except ModelFileError:
        return False
    return True


def _convert_model(run, data, output):
    from ... import load
    from ...io import atomic_write
    from ...persistence import export_numpy, export_text

    exports = {".txt": export_text, ".py": export_numpy}
    suffix = output[output.rfind(".") :] if "." in output else ""
    if suffix not in exports:
        raise click.UsageError("A model becomes .txt (for people) or .py (NumPy alone).")
    with run.watched():
        model = load(data)
    names = _names(data, model) if suffix == ".txt" else {}
    try:
        text = exports[suffix](model, **names)
    except TypeError as error:
        raise click.UsageError(str(error)) from None
    run.reads(data)
    with atomic_write(output, "w", encoding="utf-8") as file:
        file.write(text)


def _names(path, model):
    """What a file calls the features and support objects of its model."""
    from ...estimators import unwrap
    from ...persistence import load_schema, model_info

    schema, extra = load_schema(path), model_info(path)["extra"] or {}
    if schema is None:
        return {}
    names = schema.feature_names
    if schema.has_categories:
        names = schema.feature_names_out(unwrap(model).steps[0][1])
    return {"feature_names": names, "support_names": extra.get("support") or _used(model, names)}


def _used(model, names):
    """Names of the columns that are support objects."""
    from ...estimators import is_measured, unwrap

    machine = unwrap(model).machine
    if names is None or not is_measured(machine):
        return None
    return [names[j] for j in machine.support_]
