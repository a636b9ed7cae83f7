"""Predictors of psvm."""

import numpy as np
from sklearn.base import BaseEstimator

from ..._parameters import check_parameters
from ...choice import Calibration, Sigmoid, Steps
from ...estimators import (
    PER_COLUMN,
    Labels,
    check_similar,
    is_measured,
    kernel_name,
    unwrap,
)
from ...estimators import check_psvm as check_psvm_parameters
from ...evaluation import REJECT_RULES, RESPONSE_METHODS, check_columns
from ...sphered import kernel_rows, shift_rows, take_columns
from ._kernels import check_prepared, check_vectors, checked_kernel
from ._state import is_increasing, is_number, n_pairs


def check_labels(state):
    """Classes, and a scheme that they allow."""
    scheme = state.get("scheme")
    state.require(scheme in ("ovo", "ovr", "multilabel"), f"its scheme is {scheme!r}")
    classes = state.classes("classes", least=1 if scheme == "multilabel" else 2)
    state.require(scheme != "ovr" or len(classes) > 2, "its scheme is 'ovr' for two classes")
    state.require(state.get("code") is None, "it has the labels of rows")


def check_curve(state):
    """A sigmoid that does not fall."""
    state.require(state.number("slope") >= 0, "its slope is negative")
    state.number("offset")


def check_steps(state):
    """Probabilities that do not fall, at knots in increasing order."""
    knots = state.array("knots", (None,), kinds="f")
    values = state.array("values", (len(knots),), kinds="f")
    state.require(len(knots) > 0 and is_increasing(knots), "its knots are not in order")
    rise = (np.diff(values, prepend=0.0, append=1.0) >= 0).all()
    state.require(rise, "its values are not probabilities in order")


def check_calibration(state):
    """A curve for each machine, all of one kind."""
    scheme, n, curves = state.get("scheme"), state.count("n_classes", least=2), state.get("curves")
    state.require(scheme in ("ovo", "ovr"), f"its scheme is {scheme!r}")
    m = n_pairs(n) if scheme == "ovo" else n
    state.require(isinstance(curves, tuple) and len(curves) == m, "its curves are wrong")
    kinds = {type(curve) for curve in curves}
    state.require(kinds in ({Sigmoid}, {Steps}), "its curves are of a wrong kind")


def check_psvm(state):
    """Coefficients of each machine for each support object."""
    model = state.model
    check_psvm_parameters(model)
    n = state.count("_n_columns")
    state.require(n < 2**48, f"it has {n} columns")
    support = state.places("support_", below=n)
    s = len(support)
    state.require(state.count("n_support_") == s, "n_support_ is wrong")
    m = _n_machines(state)
    shape = (s,) if m is None else (m, s)
    for name in PER_COLUMN:
        state.checked(model._at_support[name], name, shape, kinds="f")
    norms = model._at_support["column_norms_"][model._at_support["alpha_"] != 0]
    state.require((norms > 0).all(), "a column with a coefficient has no norm")
    for name in ("offset_", "epsilon_"):
        if m is None:
            state.number(name)
        else:
            state.array(name, (m,), kinds="f")
    # NaN if all rows are interpolated
    state.require(is_number(getattr(model, "loo_error_", 0.0)), "its leave-one-out error is wrong")
    _check_support_objects(state, s)


def _n_machines(state):
    """The number of machines; None for one that is not in a list."""
    if not hasattr(state.model, "decision_function"):
        offset = state.get("offset_")
        return len(offset) if np.ndim(offset) else None
    labels = state.get("_labels")
    state.require(isinstance(labels, Labels), "its labels are missing")
    n = len(labels.classes)
    classes = state.classes(least=1 if labels.scheme == "multilabel" else 2)
    state.same_classes(classes, labels.classes, "its labels")
    if state.model.probability:
        found = state.get("calibration_")
        state.require(isinstance(found, Calibration), "calibration_ is not a Calibration")
        fits = (found.scheme, found.n_classes) == (labels.scheme, n)
        state.require(fits, "the classes of its probabilities are different")
    if labels.scheme == "ovo":
        return None if n == 2 else n_pairs(n)
    return n


def _check_support_objects(state, s):
    model, objects = state.model, state.get("support_objects_")
    state.require(hasattr(objects, "shape"), "its support objects are not an array")
    state.require(objects.shape[:1] == (s,), "the number of its support objects is wrong")
    measured = is_measured(model)
    state.require(measured != hasattr(model, "_kernel"), "its kernel is missing")
    if measured:
        state.require(state.count("_n_columns") == state.features(), "its columns are wrong")
        return
    kernel = checked_kernel(state, state.get("_kernel"))
    if kernel.takes_vectors:
        state.require(objects.shape[1:] == (state.features(),), "its vectors have a wrong length")
    check_vectors(state, kernel, objects)
    model._prepare_support()


def check_search(state):
    """A model of the right class."""
    model = state.model
    best = state.part("best_estimator_", model._model, "predict")
    if hasattr(best, "classes_"):
        state.same_classes(best.classes_, state.get("classes_"), "the chosen model")
    if getattr(model, "probability", False):
        state.require(best.probability, "the chosen model has no probabilities")


SPHERED_ROWS = {shift_rows: {"origin"}, take_columns: {"objects"}, kernel_rows: {"kernel", "Z"}}
"""What the functions need that make rows of new objects."""


def check_sphered(state):
    """Coefficients of each pair of classes for each object of the basis."""
    model = state.model
    check_parameters(model)
    pairs = n_pairs(len(state.classes()))
    coef = state.array("dual_coef_", (pairs, None), kinds="f")
    n = coef.shape[1]
    state.array("intercept_", (pairs,), kinds="f")
    state.array("basis_", (n,), kinds="i")
    rows = state.get("_rows")
    function, given = rows.func, rows.keywords
    state.require(set(given) == SPHERED_ROWS[function], "its rows are wrong")
    measured = kernel_name(model.kernel) == "precomputed"
    state.require((function is take_columns) == measured, "its rows differ")
    if function is shift_rows:
        p = state.features()
        state.require(n == p and model._takes_vectors, "its coefficients are wrong")
        if not is_number(given["origin"]):
            state.checked(given["origin"], "its origin", (p,))
    elif function is take_columns:
        objects = state.checked(given["objects"], "its objects", (n,), kinds="i")
        inside = n == 0 or (objects.min() >= 0 and objects.max() < state.features())
        state.require(inside, "its objects are wrong")
    else:
        kernel = checked_kernel(state, given["kernel"])
        p = state.features() if kernel.takes_vectors else None
        check_prepared(state, kernel, given["Z"], n, p)


def check_comparator(state):
    """Coefficients of each function for each support object."""
    model = state.model
    check_parameters(model)
    coef = state.array("dual_coef_", (None, None), kinds="f")
    m, s = coef.shape
    state.array("intercept_", (m,), kinds="f")
    state.require(state.count("n_support_") == s, "n_support_ is wrong")
    kernel, measured = state.get("_kernel"), kernel_name(model.kernel) == "precomputed"
    state.require(measured == (kernel is None), "its kernel is missing")
    below = state.features() if measured else np.iinfo(np.int64).max
    state.places("support_", below, length=s)
    if not measured:
        checked_kernel(state, kernel)
        p = state.features() if kernel.takes_vectors else None
        check_prepared(state, kernel, state.get("_prepared"), s, p)
    return m


def check_fisher(state):
    """A Gaussian for each class in the space of the functions."""
    n, m = len(state.classes()), check_comparator(state)
    state.require(m == n - 1, "its coefficients do not fit its classes")
    state.array("means_", (n, m), kinds="f")
    priors = state.array("priors_", (n,), kinds="f")
    state.require((priors > 0).all(), "a class has no probability")
    np.linalg.cholesky(state.array("covariances_", (n, m, m), kinds="f"))


def check_least_squares_classifier(state):
    """A function for each pair of classes."""
    shape = state.model.decision_function_shape
    state.require(shape in ("ovr", "ovo"), f"decision_function_shape is {shape!r}")
    pairs = n_pairs(len(state.classes()))
    state.require(check_comparator(state) == pairs, "its coefficients do not fit its classes")


def check_least_squares_regressor(state):
    """One function."""
    state.require(check_comparator(state) == 1, "its coefficients are wrong")


def _check_range(state, inner):
    """Finite numbers, of one value or of each of several."""
    state.require(hasattr(inner, "decision_function"), "its classifier has no decision values")
    for name in ("range_centre_", "range_radius_"):
        value = state.get(name)
        several = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1
        ok = (several or is_number(value)) and np.isfinite(value).all()
        state.require(ok, f"{name} is not finite")


def check_reject_option(state):
    """A classifier with the same classes, to which the rule applies."""
    model = state.model
    inner = state.part("estimator_", BaseEstimator, "predict")
    state.same_classes(state.classes(), getattr(inner, "classes_", None), "its classifier")
    label = state.get("reject_label_")
    state.require(isinstance(label, str) or is_number(label), f"reject_label_ is {label!r}")
    state.require(model.rule in REJECT_RULES, f"its rule is {model.rule!r}")
    ok = model.rule != "threshold" or is_number(model.threshold)
    state.require(ok, f"its threshold is {model.threshold!r}")
    if model.rule == "no_information":
        check_columns(inner)
        return
    if model.rule == "novelty":
        check_similar(unwrap(inner).machine)
        ok = is_number(state.get("similarity_threshold_"))
        state.require(ok, "its least similarity is no number")
        return
    if model.rule == "range":
        _check_range(state, inner)
        return
    methods = [m for m in RESPONSE_METHODS[1:] if hasattr(inner, m)]
    state.require(methods, "its classifier has no decision values")
    state.require(model.response_method in ("auto", *methods), "its response_method is missing")
