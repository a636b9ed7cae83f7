"""The search of good parameters."""

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from ..estimators import unwrap
from ._choices import as_parameter, choose_kernel, for_classes, preprocess


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
        **for_classes(run, task),
        **given,
    )
    return preprocess(run, table, kernel, search)


def describe_search(run, model):
    """Say what is best, what was chosen and why; from now on the search keeps no file."""
    search = unwrap(model).search
    search.set_params(results_file=None)
    table, classifies = search.cv_results_, hasattr(search, "classes_")
    # Scores with fewer rows only say which gamma is worth trying with all.
    whole = table["n_resources"] == table["n_resources"].max()
    best = int(np.nanargmax(np.where(whole, table["mean_test_score"], -np.inf)))
    loss = "log_loss" if classifies and search.cv is None else "RMSE"
    run.results |= {
        "n_settings": len(table["params"]),
        "chosen": _setting(table, search.best_index_, loss),
        "best": _setting(table, best, loss),
    }
    how = "leave-one-out values" if search.cv is None else f"{search.n_splits_} folds"
    of = " of the decision values" if classifies and loss == "RMSE" else ""
    by = f"{loss.replace('_', ' ')}{of}"
    run.show(f"tried            {run.results['n_settings']} settings, by the {by} ({how})")
    why = ", also the best"
    if _shown(run.results["best"]) != _shown(run.results["chosen"]):
        run.show(f"best             {_shown(run.results['best'])}")
        fewer = run.results["chosen"]["n_support"] < run.results["best"]["n_support"]
        simpler = "with fewer support objects" if fewer else "with a safer width of the kernel"
        why = f": not clearly worse than the best, {simpler}"
    run.show(f"chosen           {_shown(run.results['chosen'])}{why}")
    epsilon = search.best_params_["epsilon"]
    if epsilon > 0 and np.ndim(search.epsilon_) == 0:
        largest = search.epsilon_ / epsilon
        run.note(
            f"epsilon is {search.epsilon_:.4g}, a share of {epsilon:.3g} of {largest:.4g}, the "
            "smallest value that selects nothing."
        )


def _setting(table, i, loss):
    """A row of the table of a search by the names that commands use."""
    params = {name: value for name, value in table["params"][i].items() if value != np.inf}
    params = {"epsilon_share": params.pop("epsilon"), **params}
    if isinstance(params["gamma"], str):
        del params["gamma"]
    value, number = -float(table["mean_test_score"][i]), float(table["mean_n_support"][i])
    return params | {loss: value if loss == "log_loss" else value**0.5, "n_support": number}


def _shown(setting):
    """A setting as text."""
    names = {"n_support": "support objects"}
    shown = {names.get(name, name.replace("_", " ")): value for name, value in setting.items()}
    return ", ".join(f"{name} {value:.3g}" for name, value in shown.items())


def without_search(model):
    """The chosen model alone, as it is saved."""
    parts = unwrap(model)
    best = parts.machine
    return Pipeline([*parts.steps, (type(best).__name__.lower(), best)]) if parts.steps else best
