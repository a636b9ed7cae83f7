"""The search of good parameters."""

from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from ..estimators import AUTO, unwrap
from ..model_selection import EVERY
from ._choices import as_parameter, choose_kernel, for_classes, preprocess
from ._results import describe_candidates


def make_search(run, table, task, folds=None, results_file=None):
    """A search over kernels, gamma if none is given, and epsilon.

    Without a number of folds, candidates are compared by leave-one-out values of all rows.
    """
    from .. import PSVCCV, PSVRCV

    params, kernel = run.params, choose_kernel(run, table)
    given, raw = {}, kernel == AUTO and params["scale"] is False
    if folds is not None:
        splitter = StratifiedKFold if task == "classification" else KFold
        given["cv"] = splitter(folds, shuffle=True, random_state=run.seed)
    if params["epsilon"] != "auto":
        raise ValueError("A search chooses epsilon itself: leave --epsilon out, or use psvm fit.")
    if params["gamma"] != "scale":
        given["gammas"] = [params["gamma"]]
    search = (PSVCCV if task == "classification" else PSVRCV)(
        kernel=list(EVERY) if raw else as_parameter(kernel),
        Cs=[params["C"]],
        n_jobs=run.jobs,
        random_state=run.seed,
        results_file=results_file,
        **for_classes(run, task),
        **given,
    )
    return preprocess(run, table, kernel, search)


def describe_search(run, model):
    """Say what was tried, what was chosen and why; from now on the search keeps no file."""
    unwrap(model).search.set_params(results_file=None)
    describe_candidates(run, unwrap(model).search)


def without_search(model):
    """The chosen model alone, as it is saved."""
    parts = unwrap(model)
    best = parts.machine
    return Pipeline([*parts.steps, (type(best).__name__.lower(), best)]) if parts.steps else best
