"""Sensible choices for a user who made none, each with a sentence that says so."""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..estimators import AUTO, MEASURED
from ..io import TableEncoder, are_dates, is_numeric, relates_rows
from ..matrix import can_be_centred
from ..preprocessing import DoubleCentering

NOT_SCALED = (*MEASURED, "spectrum", "cosine", "tanimoto", "jaccard", "histogram_intersection",
              "chi2", "additive_chi2", "wasserstein", "dtw", "global_alignment")  # fmt: skip
"""Kernels for which columns are left as they are: their zeros or their common units matter."""
NEVER_SCALED = (*MEASURED, "spectrum", "jaccard", "histogram_intersection", "chi2", "additive_chi2",
                "wasserstein")  # fmt: skip
"""Those that are not defined for standardised columns."""
MOST_CLASSES = 10
"""Whole numbers with at most so many different values are taken for classes."""


def choose_task(run, y, name):
    """Classification or regression, and y as it needs it."""
    task, what = run.params["task"], f"Target {name!r}" if name else "The target"
    numeric = y.dtype.kind in "fiu"
    values, counts = np.unique(y, return_counts=True)
    if task == "auto":
        if not numeric and are_dates(values):
            raise ValueError(
                f"{what} holds dates, e.g. {values[0]!r}. Write it as numbers or as classes; with "
                "--task classification each date is a class."
            )
        few = y.dtype.kind in "iu" and len(values) <= MOST_CLASSES
        whole = y.dtype.kind == "f" and len(values) == 2
        task = "classification" if few or whole or not numeric else "regression"
        shown = ", ".join(f"{v} {c}x" for v, c in zip(values[:6], counts[:6], strict=True))
        why = f"{len(values)} classes ({shown}{', …' if len(values) > 6 else ''})"
        if task == "regression":
            why = f"numbers from {values[0]:.6g} to {values[-1]:.6g}"
        run.choose("task", task, f"{what}: {why}, so the task is {task} (--task).")
    if task == "regression" and not numeric:
        raise ValueError(f"{what} holds words, e.g. {values[0]!r}; regression needs numbers.")
    if len(values) < 2:
        raise ValueError(f"{what} has only one value, {values[0]!r}: there is nothing to learn.")
    return task, y.astype(np.float64) if task == "regression" else y


def choose_kernel(run, table):
    """The kernel by the kind of data."""
    kernel, X = run.params["kernel"], table.X
    sequences = not is_numeric(X)
    if kernel == "auto":
        kernel, reason = _kernel_for(run, table, sequences)
        run.choose("kernel", kernel, f"{reason} (--kernel {kernel}).")
    if sequences != (kernel == "spectrum"):
        kind = "sequences" if sequences else "a matrix of numbers"
        raise ValueError(f"{table.source} holds {kind}, which --kernel {kernel} cannot use.")
    return kernel


def _kernel_for(run, table, sequences):
    X, names = table.X, table.feature_names
    if sequences:
        return "spectrum", "Sequences: described by their words of three letters"
    if not table.schema.has_categories and relates_rows(X, names, table.row_names):
        return "precomputed", "A square matrix of relations among the rows: used as it is"
    if X.shape[1] > X.shape[0]:
        return "dyadic", "More columns than rows: the columns themselves describe the rows"
    return kernel_of_vectors(run)


def kernel_of_vectors(run):
    """The kernel of rows of numbers, and the reason."""
    if isinstance(run.params["epsilon"], str) and run.params["gamma"] == "scale":
        return AUTO, "Rows described by other rows: Gaussian, Laplacian and linear kernels compared"
    return "rbf", "Rows described by their distances to other rows, an RBF kernel"


def make_model(run, table, task):
    """The estimator of a command, with what is done to the columns before."""
    from .. import PSVC, PSVR

    params, kernel = run.params, choose_kernel(run, table)
    machine = (PSVC if task == "classification" else PSVR)(
        kernel=as_parameter(kernel),
        epsilon=params["epsilon"],
        C=params["C"],
        gamma=params["gamma"],
        standardize=kernel == AUTO and params.get("scale") is not False,
        random_state=run.seed,
        **for_classes(run, task),
    )
    return preprocess(run, table, kernel, machine)


def for_classes(run, task):
    """The parameters of a classifier that were given: its probabilities, weights of classes."""
    given = {"probability": run.params.get("probability") or None}
    given["class_weight"] = run.params.get("class_weight")
    given = {name: value for name, value in given.items() if value is not None}
    if given and task != "classification":
        option = next(iter(given)).replace("_", "-")
        raise ValueError(f"--{option} is for classification; this is regression (--task).")
    return given


def as_parameter(kernel):
    """The kernel as the estimators take it."""
    from ..kernels import Spectrum

    return Spectrum(k=3) if kernel == "spectrum" else kernel


def preprocess(run, table, kernel, machine):
    """A pipeline that fills in and standardises columns, if needed."""
    first = [] if kernel == "precomputed" else first_steps(table)
    steps = [*first, *_centring(run, kernel)]
    scale = run.params.get("scale")
    if kernel == AUTO:
        if scale is None:
            run.choose("scale", True, "Columns are standardised within the kernels (--no-scale).")
        scale = False
    if scale is None:
        scale = kernel not in NOT_SCALED
        if scale:
            run.choose("scale", True, "Columns are standardised for the kernel (--no-scale).")
    elif scale and kernel in NEVER_SCALED:
        raise ValueError(f"--scale makes no sense with --kernel {kernel}.")
    if scale:
        steps.append(StandardScaler(with_mean=can_be_centred(table.X)))
    return make_pipeline(*steps, machine) if steps else machine


def _centring(run, kernel):
    """What makes similarities of distances."""
    if not run.params.get("distances"):
        return []
    if kernel != "precomputed":
        raise ValueError(
            f"--distances is for a square matrix of relations, not for --kernel {kernel}."
        )
    return [DoubleCentering()]


def first_steps(table):
    """What makes numbers of the columns, and finds them by name in new tables."""
    return [TableEncoder(schema=table.schema)] if is_numeric(table.X) else []


def encoded(table):
    """The columns as numbers without gaps, and their names."""
    if not is_numeric(table.X):
        return table.X, None
    encoder = TableEncoder(schema=table.schema)
    return encoder.fit_transform(table.X), encoder.get_feature_names_out().tolist()


def feature_names(table):
    """Names of the columns, or numbers as names."""
    if not is_numeric(table.X):
        return None
    return table.feature_names or [f"column {j + 1}" for j in range(table.X.shape[1])]
