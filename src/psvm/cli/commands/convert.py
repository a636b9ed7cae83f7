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
    """Convert DATA to the format given by the suffix of OUTPUT.

    A model file becomes readable text (.txt) or Python code that needs only NumPy (.py).
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
        raise click.UsageError("A model becomes .txt (readable text) or .py (only NumPy).")
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
    from ...io import TableEncoder
    from ...persistence import model_info

    steps, extra = unwrap(model).steps, model_info(path)["extra"] or {}
    if not steps or not isinstance(steps[0][1], TableEncoder):
        return {}
    names = steps[0][1].get_feature_names_out().tolist()
    return {"feature_names": names, "support_names": extra.get("support") or _used(model, names)}


def _used(model, names):
    """Names of the columns that are support objects."""
    from ...estimators import is_measured, unwrap

    machine = unwrap(model).machine
    if names is None or not is_measured(machine):
        return None
    return [names[j] for j in machine.support_]
