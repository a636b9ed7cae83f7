"""Models from sums over rows: no row is needed any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from .._progress import progress, steps
from .._threads import threads
from .._validation import check_kind, shown
from ..matrix import FoldMoments, RowBlocks, RowFactor
from ..solvers import (
    Clock,
)
from ._base import BasePSVM, check_psvm
from ._moments_certificate import certify
from ._moments_machines import HeldOutSample, Machines
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

    With ``epsilon="auto"`` or "cv" the exact paths of all folds' training parts are followed, and
    the largest epsilon is chosen whose squared error of held-out rows is near the smallest one.
    Both follow from the sums.

    Parameters
    ----------
    model : PSVC or PSVR
        Its parameters about C, epsilon, relaxation, threshold, tolerance and probabilities are
        used; what concerns the kernel is in the plan.
    plan : MomentsPlan
        What was summed.
    sums : FoldMoments
        Sums over all rows, from `MomentsPlan.moments`.
    survey : RowSurvey, default=None
        Its sample of the rows has held-out values, which the threshold of two classes and
        probabilities come from. Without it the threshold has held-out residuals of mean 0, and
        there are no probabilities.
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
    >>> fit_moments(model, plan, plan.moments(K, y)).support_
    array([3, 8])
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
        clock = Clock(solver.max_time)
        groups = [
            Machines(model, plan, sums, targets, solver.tol, clock)
            for targets in _targets_together(model, plan)
        ]
        for group in steps(groups, "machine"):
            group.fit()
            if factor is not None:
                group.refine(factor)
        if blocks is not None:
            certify(groups, plan, blocks)
        for group in groups:
            group.warn()
        held_out = None if survey is None else HeldOutSample(plan, survey.sample)
        machines = [machine for group in groups for machine in group.machines(held_out)]
    _keep(model, plan, sums, survey, machines, _errors(groups))
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
    if plan.classes is not None:
        for place in range(plan.n_targets):
            if sums.total.target_squares[place] == 0:
                raise ValueError("One of the classes has no rows with weight.")


def _targets_together(model, plan):
    """Targets whose machines are solved together."""
    every = list(range(plan.n_targets))
    several = plan.classes is not None and len(plan.classes) > 2
    if several and model.multi_class in ("auto", "shared") and np.isinf(model.C):
        return [every]
    return [[target] for target in every]


def _keep(model, plan, sums, survey, machines, errors):
    """Set the fitted attributes."""
    vars(model).pop("feature_names_in_", None)
    model.n_features_in_ = plan.n_features
    if plan.feature_names is not None:
        model.feature_names_in_ = plan.feature_names
    model._keep(machines, plan, plan.target)
    model.plan_, model.sums_, model._survey = plan, sums, survey
    if errors is not None:
        model.fold_errors_ = errors
        weights = [fold.weight for fold in sums.folds if fold is not None]
        model.held_out_error_ = float(np.average(errors, weights=weights))
    if plan.classes is not None:
        model._labels, model.classes_ = plan.target, plan.classes
    model._tell(model.solutions_)


def _errors(groups):
    """Squared errors of held-out rows in each fold, the mean of all machines."""
    if not all(group.parts and group.all.largest > 0 for group in groups):
        return None
    counts = [len(group.targets) for group in groups]
    return np.average([group.losses for group in groups], axis=0, weights=counts)
