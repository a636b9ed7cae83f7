"""The search of good parameters."""

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from ..estimators import unwrap
from ._choices import as_parameter, choose_kernel, preprocess


def make_search(run, table, task, folds=None, results_file=None):
    """A search over epsilon and, if the kernel has one and none is given, gamma.

    Without a number of folds, rows are judged by their leave-one-out values.
    """
    from .. import PSVCCV, PSVRCV

    params, kernel = run.params, choose_kernel(run, table)
    given = {}
    if folds is not None:
        splitter = StratifiedKFold if task == "classification" else KFold
        given["cv"] = splitter(folds, shuffle=True, random_state=run.seed)
    if params["epsilon"] not in ("auto", "cv", "aicc"):
        raise ValueError("A search chooses epsilon: leave --epsilon out, or use psvm fit.")
    if params["gamma"] != "scale":
        given["gammas"] = [params["gamma"]]
    search = (PSVCCV if task == "classification" else PSVRCV)(
        kernel=as_parameter(kernel),
        Cs=[params["C"]],
        n_jobs=run.jobs,
        random_state=run.seed,
        results_file=results_file,
        **given,
    )
    return preprocess(run, table, kernel, search)


def describe_search(run, model):
    """Say what was found; from now on the search keeps no file."""
    search = unwrap(model).search
    search.set_params(results_file=None)
    score = search.best_score_
    best = {name: value for name, value in search.best_params_.items() if value != np.inf}
    shown = (f"{n} {v:.4g}" if isinstance(v, float) else f"{n} {v}" for n, v in best.items())
    run.results |= {"best_params": search.best_params_, "best_score": score,
                    "n_settings": len(search.cv_results_["params"])}  # fmt: skip
    run.note("Here epsilon is a share of the smallest value that selects nothing.")
    run.show(f"best of {run.results['n_settings']:<8} {', '.join(shown)} (score {score:.4g})")


def without_search(model):
    """The chosen model alone, as it is saved."""
    parts = unwrap(model)
    best = parts.machine
    return Pipeline([*parts.steps, (type(best).__name__.lower(), best)]) if parts.steps else best
