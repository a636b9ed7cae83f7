"""Fits to files that do not fit into memory."""

import click
import numpy as np

from ..io import Table, numbers_schema, open_blocks
from ._choices import NOT_SCALED, choose_task, for_classes, kernel_of_vectors
from ._run import compare_with_record

FOR_TABLES = ("target_file", "transpose", "header", "row_names", "delimiter", "decimal", "encoding",
              "format", "sheet", "skip_lines", "missing", "na_values", "keep_default_na",
              "categorical", "types", "ignore")  # fmt: skip
"""Options of reading that whole tables have."""


def read_blocks(run, **options):
    """The data of a command as blocks of rows."""
    params = run.params
    blocks = open_blocks(
        params["data"], target=params["target"], memory=params["memory"] or 64.0, **options
    )
    run.reads(params["data"])
    compare_with_record(run)
    return blocks


def fit_large(run):
    """A model of the rows of a file that are read by blocks, and what `save_model` needs."""
    from .. import PSVC, PSVR

    params = run.params
    refuse_options(run, FOR_TABLES, "cannot be used with --memory")
    if params["target"] is None:
        raise click.UsageError("Name the column to predict: --target NAME.")
    kernel, scale = params["kernel"], params["scale"]
    if kernel == "auto":
        kernel, reason = kernel_of_vectors(run)
        run.choose("kernel", kernel, f"{reason} (--kernel {kernel}).")
    blocks = read_blocks(run)
    first = next(iter(blocks))
    task, _ = choose_task(run, first.y, params["target"])
    classifies = task == "classification"
    model = (PSVC if classifies else PSVR)(
        kernel=kernel,
        epsilon=params["epsilon"],
        C=params["C"],
        gamma=params["gamma"],
        standardize=kernel not in NOT_SCALED if scale is None else scale,
        random_state=run.seed,
        **for_classes(run, task),
    )
    with run.watched():
        model.fit(blocks)
    forget_names(model)
    names, n_columns = blocks.feature_names, first.X.shape[1]
    names = None if names is None else names.tolist()
    table = Table(
        np.empty((0, n_columns)),
        feature_names=names,
        target_name=params["target"],
        format="csv",
        schema=numbers_schema(names, n_columns),
    )
    return model, table, task


def forget_names(model):
    """Have a model take arrays: commands find the columns by the names beside the model."""
    vars(model).pop("feature_names_in_", None)


def refuse_options(run, names, why):
    """Refuse options that were given and mean nothing here."""
    for option in run.ctx.command.params:
        given = run.ctx.get_parameter_source(option.name)
        if option.name in names and given is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{'/'.join([*option.opts, *option.secondary_opts])} {why}.")
