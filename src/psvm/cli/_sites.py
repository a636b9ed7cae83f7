"""Plans, sums and fits of several sites."""

import numpy as np

from ..estimators import cluster_centres, survey_rows
from ..io import Table, numbers_schema
from ..persistence import file_kind, load_moments, load_plan
from ._choices import NOT_SCALED, choose_task
from ._out_of_core import forget_names, read_blocks, refuse_options
from ._run import compare_with_record

PLAN, MOMENTS = "psvm-plan", "psvm-moments"
IN_THE_PLAN = ("target", "target_file", "task", "kernel", "gamma", "scale", "transpose", "memory")
"""Options that are settled when sums are made."""


def make_plan(run):
    """The plan that the options of a command mean for the rows of its data."""
    from .. import PSVC, PSVR, MomentsPlan

    params, kernel = run.params, run.params["kernel"]
    blocks = read_blocks(run)
    task, _ = choose_task(run, next(iter(blocks)).y, params["target"])
    labels = task == "classification"
    with run.watched():
        survey, _ = survey_rows(blocks, labels=labels)
        _check_enough(survey, params)
        scale = params["scale"]
        model = (PSVC if labels else PSVR)(
            kernel=kernel,
            gamma=params["gamma"],
            standardize=kernel not in NOT_SCALED if scale is None else scale,
            random_state=run.seed,
            **({} if kernel == "dyadic" else _landmarks(run, survey)),
        )
        return MomentsPlan.make(
            model,
            survey,
            n_folds=params["folds"],
            feature_names=blocks.feature_names,
        )


def _check_enough(survey, params):
    """Means and variances of the rows are in the plan."""
    if not params["public"] and survey.n_rows < params["min_rows"]:
        raise ValueError(
            f"{params['data']}: there are {survey.n_rows} rows, but means over fewer than "
            f"{params['min_rows']} rows are not shared (--min-rows). If all sites may see the "
            "rows, use --public."
        )


def _landmarks(run, survey):
    """Parameters of the model: rows that are public, or centres of many rows."""
    params, X = run.params, survey.sample.X
    if params["public"]:
        return {"landmarks": "random", "n_landmarks": params["landmarks"]}
    centres = cluster_centres(
        X, params["landmarks"], least=params["min_rows"], random_state=run.seed
    )
    run.note(f"{len(centres)} landmarks are means of at least {params['min_rows']} rows each.")
    return {"landmarks": centres}


def sum_site(run):
    """The sums over the rows of a command's data by the plan that it is given."""
    from .. import SiteMoments

    params = run.params
    plan = load_plan(params["landmarks_from"])
    run.reads(params["landmarks_from"])
    text = plan.classes is not None and plan.classes.dtype.kind in "OU"
    names = plan.feature_names
    blocks = read_blocks(
        run,
        weight=params["weight"],
        features=None if names is None else names.tolist(),
        target_type="text" if text else "number",
    )
    with run.watched():
        return SiteMoments.of(plan, blocks, least=params["min_rows"], name=params["data"])


def describe_file(path):
    """What a plan or the sums of a site hold; None for other files."""
    kind = file_kind(path)
    if kind not in (PLAN, MOMENTS):
        return None
    site = load_moments(path) if kind == MOMENTS else None
    plan = load_plan(path) if site is None else site.plan
    info = {
        "file": path,
        "holds": kind,
        "key": plan.key,
        "kernel": "dyadic" if plan.kernel is None else repr(plan.kernel),
        "columns": plan.n_columns,
        "features": plan.n_features if plan.feature_names is None else plan.feature_names.tolist(),
        "classes": None if plan.classes is None else plan.classes.tolist(),
        "folds": plan.n_folds,
    }
    if site is not None:
        apart = sum(fold is not None for fold in site.sums.folds)
        info |= {"rows": site.sums.n_rows, "folds_with_rows": apart}
    return info


def holds_moments(path):
    """Whether a file has the sums of a site."""
    return file_kind(path) == MOMENTS


def fit_files(run):
    """The model of the sums in the files of a command, and what `save_model` needs to know."""
    from .. import PSVC, PSVR, fit_sites

    params = run.params
    refuse_options(run, IN_THE_PLAN, "is fixed by the plan of the sums")
    refuse_options(run, ("probability", "class_weight"), "needs rows, but the files hold only sums")
    # Older versions of click do not look for several files in the settings of --config.
    params["more"] = tuple(params["more"] or run.ctx.lookup_default("more") or ())
    paths = [params["data"], *params["more"]]
    sites = [load_moments(path) for path in paths]
    for path in paths:
        run.reads(path)
    compare_with_record(run)
    plan = sites[0].plan
    model = (PSVR if plan.classes is None else PSVC)(
        kernel="dyadic" if plan.kernel is None else plan.kernel,
        epsilon=params["epsilon"],
        C=params["C"],
        random_state=run.seed,
    )
    with run.watched():
        fit_sites(model, sites, held_out=params["held_out"])
    forget_names(model)
    run.results |= {"n_sites": len(sites), "n_rows": sum(site.sums.n_rows for site in sites)}
    run.show(f"sites            {len(sites)}, {run.results['n_rows']} rows")
    names = None if plan.feature_names is None else plan.feature_names.tolist()
    table = Table(
        np.empty((0, plan.n_features)),
        feature_names=names,
        format="moments",
        schema=numbers_schema(names, plan.n_features),
    )
    return model, table, "regression" if plan.classes is None else "classification"
