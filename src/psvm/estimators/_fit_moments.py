"""Models from sums over rows: no row is needed any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn.base import is_classifier

from .._progress import progress, steps
from .._threads import threads
from .._validation import check_kind, shown
from ..matrix import FoldMoments, RowBlocks, RowFactor
from ..solvers import Clock
from ._base import BasePSVM, check_psvm
from ._landmarks import by_rows
from ._moments_certificate import row_products
from ._moments_groups import JudgedSample, groups_of
from ._moments_plan import MomentsPlan
from ._row_survey import RowSurvey


def fit_moments(
    model: Any,
    plan: MomentsPlan,
    sums: FoldMoments,
    *,
    survey: RowSurvey | None = None,
    blocks: RowBlocks | None = None,
    factor: RowFactor | None = None,
) -> Any:
    """Fit a model to sums over rows.

    With ``epsilon="auto"`` leave-one-out values of rows in the survey choose epsilon. Without a
    survey, or with "cv", the folds of the sums do: the squared error of the rows of a fold follows
    from its sums.

    Parameters
    ----------
    model : PSVC or PSVR
        Its parameters about C, epsilon, rule, threshold, tolerance and probabilities are
        used; what concerns the kernel is in the plan.
    plan : MomentsPlan
        What was summed.
    sums : FoldMoments
        Sums over all rows, from `MomentsPlan.moments`.
    survey : RowSurvey, default=None
        Its sample of the rows is judged one by one, which gives epsilon, the threshold and
        probabilities. Without it they come from the folds, and there are no probabilities.
    blocks : RowBlocks, default=None
        The same rows once more, from which the certificate in `solution_` is recomputed. Without
        them it is recomputed from the sums, with a bound of their rounding.
    factor : RowFactor, default=None
        From `MomentsPlan.factor`: the solution is refined by it where sums have lost digits.

    Returns
    -------
    PSVC or PSVR
        The model, fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVR, MomentsPlan, RowSurvey, fit_moments
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(500, 20))
    >>> y = 2 * K[:, 3] - K[:, 8] + 0.1 * rng.normal(size=500)
    >>> model = PSVR(kernel="dyadic")
    >>> plan = MomentsPlan.make(model, RowSurvey.of(K, y, labels=False))
    >>> model = fit_moments(model, plan, plan.moments(K, y))
    >>> sorted(np.argsort(-np.abs(model.alpha_))[:2].tolist())
    [3, 8]
    """
    check_kind("model", model, BasePSVM)
    check_kind("plan", plan, MomentsPlan)
    check_kind("sums", sums, FoldMoments)
    check_kind("survey", survey, RowSurvey, none=True)
    if blocks is not None and (not isinstance(blocks, Iterable) or hasattr(blocks, "ndim")):
        raise TypeError(f"blocks must be RowBlocks or None, got {shown(blocks)}.")
    check_kind("factor", factor, RowFactor, none=True)
    solver = check_psvm(model)
    _check_fits(model, plan, sums, survey, factor)
    with threads(), progress(type(model).__name__, model.verbose):
        if plan.kernel is not None and by_rows(model.landmarks):
            model._tell_landmarks(sums.n_rows, plan.n_columns)
        clock = Clock(solver.max_time)
        sample = None if survey is None else JudgedSample(plan, survey.sample)
        groups = groups_of(model, plan, sums, sample, solver)
        walks: list = []
        for group in steps(groups, "machine"):
            group.solve(model, clock, walks)
            if factor is not None:
                group.refine(factor)
        if blocks is not None:
            for group, products in zip(groups, row_products(groups, plan, blocks), strict=True):
                group.certify(*products)
        for group in groups:
            group.warn()
        machines = [machine for group in groups for machine in group.finish(model)]
    vars(model).pop("feature_names_in_", None)
    model.n_features_in_ = plan.n_features
    if plan.feature_names is not None:
        model.feature_names_in_ = plan.feature_names
    model._keep(machines, plan, plan.target_for(model))
    model.plan_, model.sums_, model._survey = plan, sums, survey
    if plan.classes is not None:
        model._labels, model.classes_ = plan.target_for(model), plan.classes
    if sample is not None:
        target = sample.target(model)
        model._keep_left_out(machines, target, sample.weights, lambda: model._values(sample.X))
    model._tell(model.solutions_, walks)
    return model


def _check_fits(model, plan, sums, survey, factor):
    """Refuse parts that do not go together."""
    if sums.plan != plan.key or (factor is not None and factor.plan != plan.key):
        raise ValueError("The sums were made by another plan.")
    if is_classifier(model) != (plan.classes is not None):
        kind = "labels" if plan.classes is not None else "numbers"
        raise ValueError(f"{type(model).__name__} cannot be fitted to sums over rows with {kind}.")
    if getattr(model, "probability", False) and survey is None:
        raise ValueError(
            "probability needs a sample of the rows with their held-out values; give fit_moments "
            "the survey."
        )
    if plan.classes is None:
        return
    if survey is None and plan.target_for(model).shares:
        raise ValueError(
            "multi_class='shared' needs a sample of the rows with their held-out values; give "
            "fit_moments the survey, or use multi_class='ovo'."
        )
    for place in range(plan.n_targets):
        if sums.total.target_squares[place] == 0:
            raise ValueError("One of the classes has no rows with weight.")
