"""Models that rows are added to and taken from."""

import numpy as np
from sklearn.base import is_classifier

from .._progress import progress
from .._threads import threads
from ..matrix import RowBlock, RowBlocks, check_block
from ._base import check_psvm
from ._fit_moments import fit_moments
from ._kernel import validate
from ._moments_plan import MomentsPlan
from ._passes import in_parts, rows_of, sum_rows, survey_rows
from ._row_survey import survey_of


def add_rows(model, X, y, sample_weight, *, classes=None):
    """Fit a model to the rows it has seen and to more of them; the first ones make its plan."""
    check_psvm(model)
    labels, plan = is_classifier(model), getattr(model, "plan_", None)
    rows = _as_rows(model, X, y, sample_weight, first=plan is None)
    _check_options(rows)
    with threads(), progress(type(model).__name__, model.verbose):
        survey, rows = survey_rows(rows, labels=labels)
        if plan is None:
            survey = survey if classes is None else survey.with_classes(classes)
            plan = MomentsPlan.make(model, survey, feature_names=rows.feature_names)
            (sums,) = sum_rows([plan], rows)
        else:
            _check_classes(plan, classes)
            (more,) = sum_rows([plan], rows)
            survey, sums = model._survey + survey, model.sums_ + more
        return fit_moments(model, plan, sums, survey=survey)


def take_rows(model, X, y, sample_weight):
    """Fit a model without some of the rows that it has seen."""
    if not hasattr(model, "sums_"):
        raise ValueError("Only a model of sums over rows can forget: use partial_fit.")
    block = validate(model, X, reset=False), y, sample_weight, "rows"
    block = check_block(RowBlock(*block), model.plan_.n_features)
    with threads(), progress(type(model).__name__, model.verbose):
        sums = model.sums_ - model.plan_.sum([block])
        survey = model._survey.without(survey_of(block, is_classifier(model)))
        return fit_moments(model, model.plan_, sums, survey=survey)


def _as_rows(model, X, y, sample_weight, first):
    """Rows of a matrix as `RowBlocks`; those that are read in parts as they are."""
    if in_parts(X):
        return rows_of(X, y, sample_weight, "partial_fit")
    X, y = validate(model, X, y, y_numeric=not is_classifier(model), multi_output=True, reset=first)
    names = getattr(model, "feature_names_in_", None)
    return RowBlocks(X, y, sample_weight, names=names)


def _check_options(rows):
    """Refuse options that these rows cannot have."""
    if rows.checkpoint is not None or rows.qr:
        raise ValueError("checkpoint and qr are options of a fit, not of partial_fit.")


def _check_classes(plan, classes):
    if classes is not None and not np.array_equal(np.unique(classes), plan.classes):
        raise ValueError("classes must be the same in each call of partial_fit.")
