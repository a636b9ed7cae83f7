"""Estimators of scikit-learn whose fitted state is numbers, arrays and strings."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from ...selection import floored_log2
from ._state import is_increasing, is_number
from ._svm import check_svm

SHAPES = {
    "feature_selection.VarianceThreshold": {"variances_": "p~"},
    "preprocessing.MinMaxScaler": {"scale_": "p~", "min_": "p~"},
    "preprocessing.Normalizer": {},
    "preprocessing.RobustScaler": {"center_": "p~?with_centering", "scale_": "p~?with_scaling"},
    "preprocessing.StandardScaler": {"mean_": "p~?with_mean", "scale_": "p~?with_std"},
}
"""Attributes of estimators that need no more than shapes: p is the number of features, ~ allows
NaN, ? None unless that parameter is set."""


def check_shapes(shapes):
    """The check of a row of SHAPES."""

    def check(state):
        p = state.features()
        for name, shape in shapes.items():
            parameter = shape.partition("?")[2]
            if state.has(name) or not parameter or getattr(state.model, parameter):
                state.array(name, (p,), nan="~" in shape)

    return check


def check_linear(state):
    """A row of coefficients for each function; a number or vector of constants."""
    p, coef = state.features(), state.get("coef_")
    if sp.issparse(coef):
        state.require(coef.shape[1:] == (p,), "coef_ has a wrong shape")
        rows = coef.shape[0]
    else:
        state.require(np.ndim(coef) in (1, 2), "coef_ has a wrong shape")
        rows = coef.shape[0] if np.ndim(coef) == 2 else 1
        state.array("coef_", (rows, p) if np.ndim(coef) == 2 else (p,))
    if is_number(state.get("intercept_")):
        state.number("intercept_")
    else:
        state.array("intercept_", (rows,))
    if hasattr(state.model, "decision_function"):
        n = len(state.classes())
        state.require(rows == (1 if n == 2 else n), "coef_ does not fit the classes")


def check_discriminant(state):
    """Linear functions, and the projection of `transform`."""
    check_linear(state)
    p = state.features()
    if state.model.solver == "svd":
        state.array("xbar_", (p,))
    projects = state.model.solver != "lsqr"
    state.require(projects == state.has("scalings_"), "scalings_ does not fit its solver")
    if projects:
        state.array("scalings_", (p, None))
        state.count("_max_components")


def check_centroids(state):
    """A centroid for each class, and what its discriminant needs."""
    p, n = state.features(), len(state.classes())
    state.array("centroids_", (n, p), kinds="f")
    _check_priors(state, n)
    if hasattr(state.model, "decision_function"):
        spread = state.array("within_class_std_dev_", (p,), kinds="f")
        state.require((spread >= 0).all(), "a spread is negative")


def check_bayes(state):
    """A Gaussian of each feature for each class."""
    p, n = state.features(), len(state.classes())
    state.array("theta_", (n, p), kinds="f")
    variances = state.array("var_", (n, p), kinds="f")
    state.require((variances > 0).all(), "a variance is not positive")
    _check_priors(state, n)


def _check_priors(state, n):
    priors = state.array("class_prior_", (n,), kinds="f")
    state.require((priors > 0).all(), "a class has no probability")


def check_imputer(state):
    """A value for each feature, and the kind of data that it fills."""
    p = state.features()
    kinds = "iuf" if state.get("statistics_").dtype.kind != "O" else "O"
    values = state.array("statistics_", (p,), kinds=kinds, nan=True)
    if kinds == "O":
        state.require(all(isinstance(v, str | float | int) for v in values), "its values are wrong")
    dtypes = [state.get("_fit_dtype"), getattr(state.model, "_fill_dtype", np.dtype(float))]
    state.require(all(isinstance(d, np.dtype) for d in dtypes), "its dtypes are wrong")
    numeric = all(d.kind in "iuf" for d in dtypes)
    state.require(numeric == (kinds != "O"), "its dtypes do not fit its values")
    state.require(not state.has("indicator_"), "it has an indicator")


def check_function_transformer(state):
    """Keywords that the function takes."""
    model = state.model
    floored = model.func is floored_log2
    given = model.kw_args or {}
    state.require(set(given) == ({"floor"} if floored else set()), "its keywords are wrong")
    state.require(all(is_number(v) for v in given.values()), "its keywords are wrong")
    state.require(not model.inv_kw_args, "its keywords are wrong")


def check_isotonic(state):
    """Knots in increasing order; the interpolation is made again from them."""
    x = state.array("X_thresholds_", (None,), kinds="f")
    state.array("y_thresholds_", (len(x),), kinds="f")
    state.require(len(x) > 0 and is_increasing(x), "its knots are not in order")
    ends = [state.number("X_min_"), state.number("X_max_")]
    state.require(ends == x[[0, -1]].tolist(), "its range is not that of its knots")
    state.model._build_f(state.model.X_thresholds_, state.model.y_thresholds_)


def check_sigmoid(state):
    """Two numbers."""
    state.number("a_")
    state.number("b_")


def check_calibrated(state):
    """A classifier and a curve for each class."""
    classes = state.classes("classes")
    inner = state.part("estimator", BaseEstimator, "predict")
    state.same_classes(classes, getattr(inner, "classes_", None), "the calibrated classifier")
    answers = [m for m in ("decision_function", "predict_proba") if hasattr(inner, m)]
    state.require(answers, "its classifier has no decision values")
    state.require(state.get("method") in ("sigmoid", "isotonic"), "its method is unknown")
    curves = state.get("calibrators")
    expected = 1 if len(classes) == 2 else len(classes)
    state.require(isinstance(curves, list) and len(curves) == expected, "its curves are wrong")
    for curve in curves:
        state.fitted(curve, "a calibrator", BaseEstimator, "predict")
        known = type(curve).__name__ in ("_SigmoidCalibration", "IsotonicRegression")
        state.require(known, f"a calibrator is {type(curve).__name__}")
        clips = getattr(curve, "out_of_bounds", "clip") == "clip"
        state.require(clips, "a calibrator does not know all values")


def check_calibrator(state):
    """At least one calibrated classifier, all for the same classes."""
    classes, found = state.classes(), state.get("calibrated_classifiers_")
    state.require(isinstance(found, list) and found, "its calibrated classifiers are missing")
    for one in found:
        state.require(type(one).__name__ == "_CalibratedClassifier", "it has no curves")
        state.require(hasattr(one, "classes"), "it has no curves")
        state.same_classes(classes, one.classes, "a calibrated classifier")


def check_binarizer(state):
    """Classes of which one is the target."""
    state.classes()
    kind = state.get("y_type_")
    state.require(kind in ("binary", "multiclass"), f"y_type_ is {kind!r}")


def check_ridge_classifier(state):
    """Linear functions for the classes that a binarizer knows."""
    check_linear(state)
    binarizer = state.part("_label_binarizer", BaseEstimator, "inverse_transform")
    known = getattr(binarizer, "classes_", None)
    state.same_classes(state.classes(), known, "its binarizer")


def check_pipeline(state):
    """Names and estimators, all of which but the last transform."""
    steps = state.model.steps
    state.require(isinstance(steps, list) and steps, "its steps are missing")
    for step in steps:
        ok = isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        state.require(ok, "a step is not a pair of a name and an estimator")
    state.model._validate_names([name for name, _ in steps])
    for _, step in steps:
        ok = isinstance(step, BaseEstimator) or step is None or step == "passthrough"
        state.require(ok, "a step is not an estimator")
    for _, step in steps[:-1]:
        ok = not isinstance(step, BaseEstimator) or hasattr(step, "transform")
        state.require(ok, "a step does not transform")


def check_encoder(state):
    """Levels of each feature in order, and which of them are rare."""
    p, model = state.features(), state.model
    state.require(isinstance(model.categories, str), "its levels are given")
    state.require(model.drop is None and not state.has("drop_idx_"), "it drops levels")
    for name in ("categories_", "_infrequent_indices", "_default_to_infrequent_mappings"):
        found = state.get(name)
        state.require(isinstance(found, list) and len(found) == p, f"{name} is wrong")
    sizes = []
    for levels, rare, places in zip(
        model.categories_, model._infrequent_indices, model._default_to_infrequent_mappings,
        strict=True,
    ):  # fmt: skip
        levels = state.checked(levels, "a list of levels", (None,), kinds="iufUO", nan=True)
        words = levels.dtype.kind == "O"
        ok = not words or all(isinstance(level, str) for level in levels.tolist())
        state.require(ok and len(levels) and is_increasing(levels), "levels are not in order")
        sizes.append(len(levels))
        state.require((rare is None) == (places is None), "rare levels are wrong")
        if rare is not None:
            _check_rare(state, levels, rare, places)
            sizes[-1] -= len(rare) - 1
    state.require(model._n_features_outs == sizes, "the number of its columns is wrong")
    state.require(type(state.get("_infrequent_enabled")) is bool, "it is damaged")


def _check_rare(state, levels, rare, places):
    """The place of each level: the rare ones share the last."""
    n = len(levels)
    state.checked(rare, "rare levels", (None,), kinds="i")
    ok = is_increasing(rare) and len(rare) and rare[0] >= 0 and rare[-1] < n
    state.require(ok, "rare levels are wrong")
    expected = np.full(n, n - len(rare))
    expected[np.setdiff1d(np.arange(n), rare)] = np.arange(n - len(rare))
    state.checked(places, "places of levels", (n,), kinds="i")
    state.require(np.array_equal(places, expected), "rare levels are wrong")


def check_column_transformer(state):
    """Fitted transformers with columns that are there; the rest is made from these."""
    p, model = state.features(), state.model
    names = getattr(model, "feature_names_in_", np.array([])).tolist()
    state.require(model.remainder in ("drop", "passthrough"), "its remainder is unknown")
    parts, inputs = state.get("transformers_"), {}
    state.require(isinstance(parts, list) and parts, "its transformers are missing")
    for part in parts:
        state.require(isinstance(part, tuple) and len(part) == 3, "a transformer is not a triple")
        name, step, columns = part
        state.require(isinstance(name, str) and name not in inputs, "a name is wrong")
        state.require(isinstance(columns, list), "its columns are not a list")
        ok = all(c in names if isinstance(c, str) else type(c) is int and 0 <= c < p
                 for c in columns)  # fmt: skip
        state.require(ok, "a column is missing")
        inputs[name] = [names.index(c) if isinstance(c, str) else c for c in columns]
        if step != "drop":
            state.fitted(step, name, BaseEstimator, "transform")
            ok = getattr(step, "n_features_in_", len(columns)) == len(columns)
            state.require(ok, f"{name} has another number of columns")
    state.require(type(state.get("sparse_output_")) is bool, "it is damaged")
    rest = next((part for part in parts if part[0] == "remainder"), None)
    model._columns = [columns for name, _, columns in parts if name != "remainder"]
    model._remainder = rest or ("remainder", model.remainder, [])
    model._transformer_to_input_indices = {"remainder": [], **inputs}


SKLEARN = {
    "calibration.CalibratedClassifierCV": check_calibrator,
    "calibration._CalibratedClassifier": check_calibrated,
    "calibration._SigmoidCalibration": check_sigmoid,
    "compose.ColumnTransformer": check_column_transformer,
    "discriminant_analysis.LinearDiscriminantAnalysis": check_discriminant,
    "impute.SimpleImputer": check_imputer,
    "isotonic.IsotonicRegression": check_isotonic,
    "linear_model.LinearRegression": check_linear,
    "linear_model.LogisticRegression": check_linear,
    "linear_model.Ridge": check_linear,
    "linear_model.RidgeClassifier": check_ridge_classifier,
    "naive_bayes.GaussianNB": check_bayes,
    "neighbors.NearestCentroid": check_centroids,
    "pipeline.Pipeline": check_pipeline,
    "preprocessing.FunctionTransformer": check_function_transformer,
    "preprocessing.LabelBinarizer": check_binarizer,
    "preprocessing.OneHotEncoder": check_encoder,
    "svm.LinearSVC": check_linear,
    "svm.NuSVC": check_svm,
    "svm.SVC": check_svm,
    **{name: check_shapes(shapes) for name, shapes in SHAPES.items()},
}
"""Estimators of scikit-learn whose fitted state is numbers, arrays and strings."""
MADE_AGAIN = {
    "compose.ColumnTransformer": {
        "_columns",
        "_name_to_fitted_passthrough",
        "_remainder",
        "_transformer_to_input_indices",
        "output_indices_",
    },
    "isotonic.IsotonicRegression": {"f_"},
}
"""Attributes that are not written; the checks make those that prediction needs."""
