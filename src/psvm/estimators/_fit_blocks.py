"""A fit to rows that are read in parts: blocks, or chunks on workers."""

from copy import copy

import numpy as np
from sklearn.base import is_classifier

from .._atomic import check_writable
from .._folds import N_FOLDS
from .._progress import progress, steps
from .._threads import threads
from .._validation import check_path
from ..choice import LARGEST_GRAM
from ..matrix import can_be_centred, gathered_blocks
from ..solvers import Clock
from ._base import check_psvm
from ._candidates import best_trial, is_open
from ._checkpoint import Checkpoint
from ._description import digests_of, is_measured
from ._fit_moments import fit_moments
from ._kernel import kernel_name
from ._landmarks import MOST
from ._moments_plan import MomentsPlan
from ._passes import factor_rows, gathered_rows, sum_rows, survey_rows
from ._plan_parts import check_takes_vectors, random_rows, scaling_of
from ._target import target_of

COMPARED = 2_000
"""Distinct rows with which candidates are compared."""


def streams(model, X, target):
    """Whether rows in memory are summed block by block, as rows in blocks are.

    There are more of them than describe, and nothing asks for all rows at once.
    """
    if X.shape[0] <= MOST or model.warm_start or not isinstance(model.solver, str):
        return False
    name = kernel_name(model.kernel)
    every = isinstance(model.landmarks, str) and model.landmarks == "all"
    if target.scheme == "multilabel" or name == "precomputed" or every:
        return False
    if name == "dyadic":
        return X.shape[1] <= LARGEST_GRAM and can_be_centred(X)
    return getattr(model.kernel, "takes_vectors", True)


def fit_blocks(model, rows):
    """Fit a `PSVC` or `PSVR` to rows that are read in parts.

    Rows that can be read again are read three times: for the survey, for the sums, and for the
    certificate. An iterator is read once, and its first blocks are the survey. So few rows that all
    of them describe are taken into memory.

    Parameters
    ----------
    model : PSVC or PSVR
    rows : RowBlocks or DaskRows

    Returns
    -------
    PSVC or PSVR
        The model, fitted.
    """
    check_psvm(model)
    check_takes_vectors(model.kernel)
    if rows.qr and not rows.rereadable:
        raise ValueError("qr=True reads the rows once more, which an iterator does not allow.")
    if rows.checkpoint is not None:
        check_path("checkpoint", rows.checkpoint)
        check_writable(rows.checkpoint)
    with threads(), progress(type(model).__name__, model.verbose):
        return fit_survey(model, *survey_rows(rows, labels=is_classifier(model)))


def fit_survey(model, survey, rows):
    """Fit a `PSVC` or `PSVR` to rows that have been surveyed."""
    if fits_in_memory(survey, rows):
        return _fit_few(model, rows, survey)
    vars(model).pop("candidates_", None)
    if is_open(model):
        return _fit_best(model, survey, rows)
    plan = MomentsPlan.make(
        model,
        survey,
        n_folds=N_FOLDS if model.epsilon == "cv" else 0,
        feature_names=rows.feature_names,
    )
    checkpoint = None
    if rows.checkpoint is None:
        (sums,) = sum_rows([plan], rows)
    else:
        checkpoint = Checkpoint(rows.checkpoint, plan)
        plan = checkpoint.plan
        sums = _sum_on(plan, rows, checkpoint)
    # Kernel values in single precision are not the same twice.
    certify = rows.rereadable and plan.dtype == np.float64
    factor = factor_rows(plan, rows) if rows.qr else None
    again = rows if certify else None
    fit_moments(model, plan, sums, survey=survey, blocks=again, factor=factor)
    if checkpoint is not None:
        checkpoint.remove()
    return model


def fits_in_memory(survey, rows):
    """Whether all distinct rows describe, so that the rows may be in memory together."""
    whole = survey.bound is None and getattr(rows, "ended", True)
    return whole and 0 < survey.n_distinct <= MOST


def _fit_few(model, rows, survey):
    """Fit a model to rows that are few enough to be in memory."""
    X, y, weights = gathered_rows(rows, survey)
    names, solver = rows.feature_names, check_psvm(model)
    if not is_measured(model):
        X = X.astype(np.float64, copy=False)  # as rows in memory
    vars(model).pop("feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = np.asarray(names, dtype=object)
    model.n_features_in_ = X.shape[1]
    # the checks of rows in memory, without their names
    target, weights = target_of(model, y, weights)
    model._fit(X, target, weights, solver)
    if X.shape[0] < survey.n_rows:
        # the numbers of distinct rows are not those of the rows
        model.landmarks_ = None
        vars(model).pop("loo_decision_", None)
    return model


def _fit_best(model, survey, rows):
    """Compare candidates with some rows, and fit the best one to all."""
    X, y, weights = some_rows(survey)
    target, weights = target_of(model, y, weights)
    solver = check_psvm(model)
    parts = X, target, weights, solver, Clock(solver.max_time), scaling_of(survey)
    racer = copy(model)
    if isinstance(model.landmarks, str) and model.landmarks == "random":
        racer.landmarks = random_rows(survey.sample, model.n_landmarks)
    chosen, _, table = best_trial(racer, *parts, digests_of(X, "rbf"))
    asked = model.kernel, model.standardize
    model.kernel, model.standardize = chosen.kernel, False
    try:
        fit_survey(model, survey, rows)
    finally:
        model.kernel, model.standardize = asked
    model.candidates_ = table
    return model


def some_rows(survey):
    """X, y and weights of rows with which candidates are compared, drawn by content."""
    sample = survey.sample
    distinct = np.unique(sample.hashes)
    some = np.flatnonzero(sample.hashes <= distinct[:COMPARED][-1])
    return sample.X[some], sample.y[some], sample.weights[some]


def _sum_on(plan, blocks, checkpoint):
    """The sums of a plan over blocks, which go on from a `Checkpoint`."""
    sums = plan.start()
    done = checkpoint.resume(sums)
    # The blocks in the sums are skipped one by one as well: their rows are compared.
    for number, block in enumerate(steps(gathered_blocks(blocks), "block")):
        if number < done:
            checkpoint.skip(block)
            if number == done - 1:
                checkpoint.check()
            continue
        plan.add(sums, block)
        checkpoint.add(block, sums)
    if checkpoint.n_blocks < done:
        raise ValueError(f"There are fewer blocks than in {checkpoint.path}.")
    return sums.moments(plan.key)
