"""Models that rows are added to and taken from."""

import numpy as np
from sklearn.base import is_classifier

from .._progress import progress
from .._threads import threads
from ..matrix import RowBlock, RowBlocks, check_block, is_dask
from ._base import check_psvm
from ._fit_blocks import sum_blocks, survey_blocks
from ._fit_moments import fit_moments
from ._kernel import validate
from ._moments_plan import MomentsPlan
from ._row_survey import survey_of


def add_rows(model, X, y, sample_weight, *, classes=None, standardize=False):
    """Fit a model to the rows it has seen and to more of them; the first ones make its plan."""
    check_psvm(model)
    labels, plan = is_classifier(model), getattr(model, "plan_", None)
    blocks = _as_blocks(model, X, y, sample_weight, first=plan is None)
    with threads(), progress(type(model).__name__, model.verbose):
        survey, blocks = survey_blocks(blocks, labels=labels)
        if plan is None:
            survey = survey if classes is None else survey.with_classes(classes)
            plan = MomentsPlan.make(
                model, survey, standardize=standardize, feature_names=blocks.feature_names
            )
            sums = sum_blocks(plan, blocks)
        else:
            if standardize:
                raise ValueError("standardize is an option of the first rows only.")
            _check_classes(plan, classes)
            survey, sums = model._survey + survey, model.sums_ + sum_blocks(plan, blocks)
        return fit_moments(model, plan, sums, survey=survey)


def take_rows(model, X, y, sample_weight):
    """Fit a model without some of the rows that it has seen."""
    if not hasattr(model, "sums_"):
        raise ValueError("Only a model that was fitted by partial_fit or to RowBlocks can forget.")
    block = validate(model, X, reset=False), y, sample_weight, "rows"
    block = check_block(RowBlock(*block), model.plan_.n_features)
    with threads(), progress(type(model).__name__, model.verbose):
        sums = model.sums_ - model.plan_.sum([block])
        survey = model._survey.without(survey_of(block, is_classifier(model)))
        return fit_moments(model, model.plan_, sums, survey=survey)


def _as_blocks(model, X, y, sample_weight, first):
    """Rows of a matrix as `RowBlocks`."""
    if isinstance(X, RowBlocks):
        if y is not None or sample_weight is not None:
            raise ValueError("The blocks have y and the weights in them.")
        return X
    if is_dask(X):
        raise ValueError(
            "partial_fit takes a matrix or RowBlocks, not a dask collection. Use fit for all of "
            "its rows, or partial_fit chunk by chunk."
        )
    X, y = validate(model, X, y, y_numeric=not is_classifier(model), multi_output=True, reset=first)
    names = getattr(model, "feature_names_in_", None)
    return RowBlocks(X, y, sample_weight, names=names)


def _check_classes(plan, classes):
    if classes is not None and not np.array_equal(np.unique(classes), plan.classes):
        raise ValueError("classes must be the same in each call of partial_fit.")
