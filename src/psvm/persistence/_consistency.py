"""What must hold of the fitted attributes of every class before a loaded model is returned.

Compiled code trusts shapes, dtypes and places; NumPy fails with errors that say nothing about a
file. So every array is compared with every other here, in one function or row of a table per class.
"""

import math
import numbers

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .. import kernels
from ..estimators import MEASURED, PER_COLUMN, Labels
from ..evaluation import _reject
from ..kernels import Kernel, _base, _sequence_features, _sequence_pairs
from ..selection import preprocessing
from ._errors import ModelFileError


class State:
    """The attributes of an object, taken one by one with checks that name what is wrong."""

    def __init__(self, model):
        self.model = model
        self._name = type(model).__name__

    def require(self, condition, what):
        """Refuse the model unless a condition holds."""
        if not condition:
            raise ModelFileError(f"the model makes no sense: {what} ({self._name}).")

    def has(self, name):
        """Whether an attribute is there and not None."""
        return getattr(self.model, name, None) is not None

    def get(self, name):
        """An attribute that must be there."""
        self.require(hasattr(self.model, name), f"{name} is missing")
        return getattr(self.model, name)

    def count(self, name, least=0):
        """An integer."""
        value = self.get(name)
        whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
        self.require(whole and value >= least, f"{name} is {value!r}")
        return int(value)

    def number(self, name):
        """A finite number."""
        value = self.get(name)
        self.require(is_number(value) and math.isfinite(value), f"{name} is {value!r}")
        return float(value)

    def part(self, name, kind, *methods):
        """A fitted object of a class that has some methods."""
        return self.fitted(self.get(name), name, kind, *methods)

    def fitted(self, value, name, kind, *methods):
        """The same for a value that is no attribute."""
        self.require(isinstance(value, kind), f"{name} is {type(value).__name__}")
        check_is_fitted(value)
        for method in methods:
            self.require(hasattr(value, method), f"{name} has no {method}")
        return value

    def array(self, name, shape, *, kinds="iuf", nan=False):
        """An array of finite numbers of a shape, in which None is any length."""
        return self.checked(self.get(name), name, shape, kinds=kinds, nan=nan)

    def checked(self, value, name, shape, *, kinds="iuf", nan=False):
        """The same for a value that is no attribute."""
        self.require(isinstance(value, np.ndarray), f"{name} is no array")
        fits = len(value.shape) == len(shape) and all(
            n is None or n == m for n, m in zip(shape, value.shape, strict=True)
        )
        self.require(fits, f"{name} has shape {value.shape}")
        usual = value.dtype.kind != "f" or value.dtype in (np.float64, np.float32)
        ok = value.dtype.kind in kinds and usual
        self.require(ok, f"{name} are no numbers of the right kind but {value.dtype}")
        if value.dtype.kind == "f":
            bad = np.isinf(value) if nan else ~np.isfinite(value)
            self.require(not bad.any(), f"{name} has entries that are not finite")
        return value

    def places(self, name, below, length=None):
        """Increasing indices below a number."""
        value = self.array(name, (length,), kinds="i")
        ok = is_increasing(value) and (len(value) == 0 or (value[0] >= 0 and value[-1] < below))
        self.require(ok, "the places of its support are wrong")
        return value

    def order(self, name, n):
        """Every index below a number once."""
        value = self.array(name, (n,), kinds="i")
        self.require(np.array_equal(np.sort(value), np.arange(n)), f"{name} is no order")

    def features(self):
        """The number of features, and their names if there are any."""
        p = self.count("n_features_in_", least=1)
        if "feature_names_in_" in vars(self.model):
            names = self.get("feature_names_in_")
            ok = isinstance(names, np.ndarray) and names.shape == (p,)
            ok = ok and all(isinstance(name, str) for name in names)
            self.require(ok, "the names of its features are wrong")
        return p

    def classes(self, name="classes_", least=2):
        """Different labels in increasing order."""
        value = self.get(name)
        ok = isinstance(value, np.ndarray) and value.ndim == 1 and len(value) >= least
        self.require(ok, f"{name} are no labels")
        kinds = {str} if value.dtype.kind == "U" else {type(v) for v in value.tolist()}
        ok = kinds <= {str} or kinds <= {bool, int, float}
        self.require(ok and is_increasing(value), f"{name} are no different labels in order")
        return value

    def same_classes(self, classes, other, name):
        """Labels that another object must have too."""
        ok = isinstance(other, np.ndarray) and np.array_equal(classes, other)
        self.require(ok, f"the classes of {name} are others")


def is_number(value):
    """Whether a value is a real number."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def is_increasing(array):
    """Whether each entry is greater than the one before; not so with NaN."""
    return bool((array[1:] > array[:-1]).all()) and not (array != array).any()


def n_pairs(n_classes):
    """Number of pairs of classes."""
    return n_classes * (n_classes - 1) // 2


# --- scikit-learn

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
    floored = model.func is preprocessing._floored_log2
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
        state.require(ok, "a step is no pair of a name and an estimator")
    state.model._validate_names([name for name, _ in steps])
    for _, step in steps:
        ok = isinstance(step, BaseEstimator) or step is None or step == "passthrough"
        state.require(ok, "a step is no estimator")
    for _, step in steps[:-1]:
        ok = not isinstance(step, BaseEstimator) or hasattr(step, "transform")
        state.require(ok, "a step does not transform")


def check_svm(state):
    """The compiled code of scikit-learn's SVMs trusts shapes, places and dtypes."""
    model, p = state.model, state.features()
    n_classes, Z = len(state.classes()), state.get("support_vectors_")
    measured, sparse = model.kernel == "precomputed", state.get("_sparse")
    state.require(isinstance(model.kernel, str), "its kernel is no name")
    state.require(sparse is False or (sparse is True and not measured), "its storage is wrong")
    shape = state.get("shape_fit_")
    ok = isinstance(shape, tuple) and len(shape) == 2 and all(type(n) is int for n in shape)
    state.require(ok and shape[1] == p and (not measured or shape[0] == p), "shape_fit_ is wrong")
    support = state.array("support_", (None,), kinds="i")
    inside = len(support) == 0 or (support.min() >= 0 and support.max() < shape[0])
    state.require(support.dtype == np.int32 and inside, "the places of its support are wrong")
    s, pairs = len(support), n_pairs(n_classes)
    per_class = state.array("_n_support", (n_classes,), kinds="i")
    ok = per_class.dtype == np.int32 and per_class.min() >= 0 and per_class.astype(int).sum() == s
    state.require(ok, "its numbers of support vectors are wrong")
    _svm_matrix(state, "support_vectors_", Z, (0 if measured else s, None if measured else p))
    for name in ("_dual_coef_", "dual_coef_"):
        coef = state.get(name)
        _svm_matrix(state, name, coef, (n_classes - 1, s))
        # Their entries are read in order, without a look at their places.
        state.require(not sparse or coef.nnz == (n_classes - 1) * s, f"{name} has a wrong size")
    for name in ("_intercept_", "intercept_"):
        _doubles(state, name, (pairs,))
    _check_sigmoids(state, pairs)
    if state.has("class_weight_"):
        state.array("class_weight_", (n_classes,))
    ok = isinstance(model.degree, numbers.Integral) and model.degree < 2**31
    state.require(ok, "its degree is no integer that fits")
    for name in ("_gamma", "nu", "epsilon", "C"):
        state.number(name)


def _check_sigmoids(state, pairs):
    """Two numbers for each pair of classes if there are probabilities; else none."""
    effective = getattr(state.model, "_effective_probability", False)
    state.require(isinstance(effective, bool), "_effective_probability is no flag")
    asked = effective or state.model.probability is True
    some = len(state.get("_probA")) > 0
    state.require(some or not asked, "_probA and _probB are missing")
    for name in ("_probA", "_probB"):
        _doubles(state, name, (pairs if some else 0,))


def _doubles(state, name, shape):
    state.require(state.array(name, shape, kinds="f").dtype == np.float64, f"{name} are no doubles")


def _svm_matrix(state, name, value, shape):
    """Doubles, dense or as a csr matrix with small indices, as the SVM has been trained."""
    if not state.get("_sparse"):
        _doubles(state, name, shape)
        state.require(value.flags.c_contiguous or value.flags.f_contiguous, f"{name} has gaps")
        return
    ok = sp.issparse(value) and value.format == "csr" and value.shape == shape
    state.require(ok, f"{name} has a wrong shape or form")
    state.checked(value.data, name, (None,), kinds="f")
    dtypes = value.data.dtype, value.indices.dtype, value.indptr.dtype
    state.require(dtypes == (np.float64, np.int32, np.int32), f"{name} has wrong dtypes")


SKLEARN = {
    "calibration.CalibratedClassifierCV": check_calibrator,
    "calibration._CalibratedClassifier": check_calibrated,
    "calibration._SigmoidCalibration": check_sigmoid,
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
    "svm.LinearSVC": check_linear,
    "svm.NuSVC": check_svm,
    "svm.SVC": check_svm,
    **{name: check_shapes(shapes) for name, shapes in SHAPES.items()},
}
"""Estimators of scikit-learn whose fitted state is numbers, arrays and strings."""


# --- kernels


def check_kernel(state):
    """Parameters that the kernel takes."""
    state.model.check_parameters()


def check_prepared(state, kernel, prepared, n, p):
    """Objects in the form that a kernel reads, which compiled code trusts.

    Parameters
    ----------
    state : State
        Of the model that has them.
    kernel : Kernel
    prepared : object
    n : int
        Number of objects.
    p : int or None
        Number of features, if they are vectors.
    """
    kind = {
        kernels.Normalized: _base._Parts,
        kernels.Sum: _base._Parts,
        kernels.Product: _base._Parts,
    }.get(type(kernel))
    if isinstance(kernel, _sequence_features.FeatureKernel):
        kind = _sequence_features.FeatureTable
    elif isinstance(kernel, _sequence_pairs.PairKernel):
        kind = _sequence_pairs.Prepared
    shape = getattr(prepared, "shape", None)
    ok = isinstance(shape, tuple) and shape[:1] == (n,)
    state.require(ok, f"it does not have {n} support objects")
    state.require(kind is None or type(prepared) is kind, "its support objects are of a wrong kind")
    if kind is _base._Parts:
        _check_parts(state, kernel, prepared, n, p)
    elif kind is _sequence_pairs.Prepared:
        kernel.check_objects(prepared.sequences)
    elif kind is None and kernel.takes_vectors:
        state.require(shape[1:] == (p,), "its vectors have a wrong length")
        _check_vectors(state, kernel, prepared)


def _check_vectors(state, kernel, objects):
    checked = kernel.check_objects(objects)
    ok = checked.shape == objects.shape and checked.dtype == objects.dtype
    state.require(ok, "its support objects are of the wrong kind")


def _check_parts(state, kernel, prepared, n, p):
    state.require(len(prepared.parts) == 2, "its support objects are of a wrong kind")
    first, second = prepared.parts
    if isinstance(kernel, kernels.Normalized):
        check_prepared(state, kernel.kernel, first, n, p)
        state.checked(second, "a norm", (n,), kinds="f")
    else:
        check_prepared(state, kernel.k1, first, n, p)
        check_prepared(state, kernel.k2, second, n, p)


def check_feature_table(state):
    """As many sorted names as columns."""
    matrix, names = state.get("matrix"), state.get("names")
    ok = sp.issparse(matrix) and matrix.format == "csr" and matrix.dtype == np.float64
    state.require(ok and np.isfinite(matrix.data).all(), "its features are no csr matrix")
    _check_names(state, names)
    state.require(matrix.shape == state.get("shape"), "it has another shape")
    state.require(matrix.shape[1:] == names.shape, "there is not one name for each column")


def _check_names(state, names):
    ok = isinstance(names, np.ndarray) and names.ndim == 1 and names.dtype.kind == "U"
    state.require(ok and is_increasing(names), "the names of its features are not sorted")


def check_prepared_pairs(state):
    """As many numbers as sequences."""
    sequences, n = state.get("sequences"), len(state.get("sequences"))
    ok = isinstance(sequences, np.ndarray) and sequences.shape == (n,) and sequences.dtype == object
    state.require(ok and all(isinstance(x, str) for x in sequences), "it has no sequences")
    state.array("values", (n,), kinds="f")
    state.require(state.get("shape") == (n,), "it has another shape")


def check_parts(state):
    """Translations of equally many objects."""
    parts = state.get("parts")
    state.require(isinstance(parts, tuple) and parts, "its parts are missing")
    lengths = {getattr(part, "shape", (None,))[:1] for part in parts}
    state.require(lengths == {state.get("shape")}, "its parts have different lengths")


def check_feature_map(state):
    """Sorted names, and a kernel with features."""
    kernel = state.model.kernel
    state.require(hasattr(kernel, "feature_table"), "its kernel has no features")
    _check_names(state, state.get("names_"))


# --- psvm


def check_labels(state):
    """Classes, and a scheme that they allow."""
    scheme = state.get("scheme")
    state.require(scheme in ("ovo", "ovr", "multilabel"), f"its scheme is {scheme!r}")
    classes = state.classes("classes", least=1 if scheme == "multilabel" else 2)
    state.require(scheme != "ovr" or len(classes) > 2, "its scheme is 'ovr' for two classes")
    state.require(state.get("code") is None, "it has the labels of rows")


def check_psvm(state):
    """Coefficients of each machine for each support object."""
    model = state.model
    model._check_parameters()
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
    for name in ("intercept_", "epsilon_"):
        if m is None:
            state.number(name)
        else:
            state.array(name, (m,), kinds="f")
    _check_support_objects(state, s)


def _n_machines(state):
    """The number of machines; None for one that is not in a list."""
    if not hasattr(state.model, "decision_function"):
        intercept = state.get("intercept_")
        return len(intercept) if np.ndim(intercept) else None
    labels = state.get("_labels")
    state.require(isinstance(labels, Labels), "its labels are missing")
    n = len(labels.classes)
    classes = state.classes(least=1 if labels.scheme == "multilabel" else 2)
    state.same_classes(classes, labels.classes, "its labels")
    if state.model.probability:
        calibrator = state.part("calibrator_", BaseEstimator, "predict_proba")
        state.same_classes(classes, getattr(calibrator, "classes_", None), "its probabilities")
    if labels.scheme == "ovo":
        return None if n == 2 else n_pairs(n)
    return n


def _check_support_objects(state, s):
    model, objects = state.model, state.get("support_objects_")
    state.require(hasattr(objects, "shape"), "its support objects are no array")
    state.require(objects.shape[:1] == (s,), "the number of its support objects is wrong")
    measured = isinstance(model.kernel, str) and model.kernel in MEASURED
    state.require(measured != hasattr(model, "_kernel"), "its kernel is missing")
    if measured:
        state.require(state.count("_n_columns") == state.features(), "its columns are wrong")
        return
    kernel = checked_kernel(state, state.get("_kernel"))
    if kernel.takes_vectors:
        state.require(objects.shape[1:] == (state.features(),), "its vectors have a wrong length")
    _check_vectors(state, kernel, objects)
    model._prepare_support()


def checked_kernel(state, kernel):
    """The kernel of a model, which takes what the model takes."""
    state.require(isinstance(kernel, Kernel), "its kernel is none")
    kernel.check_parameters()
    same = bool(kernel.takes_vectors) == state.model._takes_vectors
    state.require(same, "its kernel takes other objects")
    return kernel


def check_search(state):
    """A model of the right class."""
    model = state.model
    best = state.part("best_estimator_", model._model, "predict")
    if hasattr(best, "classes_"):
        state.same_classes(best.classes_, state.get("classes_"), "the chosen model")
    if getattr(model, "probability", False):
        state.require(best.probability, "the chosen model has no probabilities")


def check_sphered(state):
    """Coefficients of each pair of classes for each object of the basis."""
    model = state.model
    model._check_parameters()
    pairs = n_pairs(len(state.classes()))
    coef = state.array("dual_coef_", (pairs, None), kinds="f")
    n = coef.shape[1]
    state.array("intercept_", (pairs,), kinds="f")
    state.array("basis_", (n,), kinds="i")
    rows = state.get("_rows")
    function, given = rows.func.__name__, rows.keywords
    expected = {"_shift": {"origin"}, "_take": {"objects"}, "_evaluate": {"kernel", "Z"}}[function]
    state.require(set(given) == expected, "its rows are wrong")
    state.require((function == "_take") == (model._kernel_name == "precomputed"), "its rows differ")
    if function == "_shift":
        p = state.features()
        state.require(n == p and model._takes_vectors, "its coefficients are wrong")
        if not is_number(given["origin"]):
            state.checked(given["origin"], "its origin", (p,))
    elif function == "_take":
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
    model._check_kernel()
    coef = state.array("dual_coef_", (None, None), kinds="f")
    m, s = coef.shape
    state.array("intercept_", (m,), kinds="f")
    state.require(state.count("n_support_") == s, "n_support_ is wrong")
    kernel, measured = state.get("_kernel"), model._kernel_name == "precomputed"
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


def check_reject_option(state):
    """A classifier with the same classes, to which the rule applies."""
    model = state.model
    inner = state.part("estimator_", BaseEstimator, "predict")
    state.same_classes(state.classes(), getattr(inner, "classes_", None), "its classifier")
    label = state.get("reject_label_")
    state.require(isinstance(label, str) or is_number(label), f"reject_label_ is {label!r}")
    state.require(model.rule in _reject.RULES, f"its rule is {model.rule!r}")
    ok = model.rule == "no_information" or is_number(model.threshold)
    state.require(ok, f"its threshold is {model.threshold!r}")
    if model.rule == "no_information":
        _reject._check_columns(inner)
        return
    methods = [m for m in _reject.METHODS[1:] if hasattr(inner, m)]
    state.require(methods, "its classifier has no decision values")
    state.require(model.response_method in ("auto", *methods), "its response_method is missing")


def check_selector(state):
    """A value for each feature."""
    p = state.features()
    importance = state.array("importance_", (p,), kinds="f")
    _check_ranks(state, p, int((importance > 0).sum()))
    state.require(state.get("_relations") is None, "it has relations to landmarks")


def check_gene_selector(state):
    """Ranks of all features; what is done with the chosen ones before they are classified."""
    p, classes = state.features(), state.classes()
    k = int((state.array("ranking_", (p,), kinds="i") == 1).sum())
    _check_ranks(state, p, k)
    state.require(k > 0, "it has chosen no features")
    scaled = state.get("_scaled")
    state.require(type(scaled).__name__ == "Scaled", "its units are missing")
    state.require(len(scaled.index) == k, "it has another number of columns")
    if state.get("preprocessing_") is None:
        state.require(scaled.index.max() < p, "its columns are wrong")
    else:
        state.part("preprocessing_", BaseEstimator, "transform")
    classifier = state.part("classifier_", BaseEstimator, "predict")
    ok = type(classifier) is type(state.model._model())
    ok = ok and getattr(classifier, "n_features_in_", k) == k
    state.require(ok, "its classifier does not fit")
    state.same_classes(classes, getattr(classifier, "classes_", None), "its classifier")


def _check_ranks(state, p, k):
    state.order("order_", p)
    state.array("ranking_", (p,), kinds="i")
    state.require(state.count("n_features_") == k, "n_features_ is wrong")


def check_scaled(state):
    """Places of columns, their range and their units."""
    index = state.array("index", (None,), kinds="i")
    state.require(len(index) > 0 and index.min() >= 0, "its columns are wrong")
    for name, kind in (("clipper", "RangeClipper"), ("scaler", "StandardScaler")):
        part = state.part(name, BaseEstimator, "transform")
        state.require(type(part).__name__ == kind, f"{name} is {type(part).__name__}")
        state.require(part.n_features_in_ == len(index), f"{name} has other columns")


def check_present_call(state):
    """Which features are kept."""
    p = state.features()
    state.array("_support", (p,), kinds="b")
    state.array("n_reliable_", (p,), kinds="i")


PSVM = {
    "psvm.GeneSelector": check_gene_selector,
    "psvm.KernelFisherDiscriminant": check_fisher,
    "psvm.Labels": check_labels,
    "psvm.LeastSquaresSVC": check_least_squares_classifier,
    "psvm.LeastSquaresSVR": check_least_squares_regressor,
    "psvm.PSVC": check_psvm,
    "psvm.PSVCCV": check_search,
    "psvm.PSVMSelector": check_selector,
    "psvm.PSVR": check_psvm,
    "psvm.PSVRCV": check_search,
    "psvm.RejectOption": check_reject_option,
    "psvm.SpheredSVC": check_sphered,
    "psvm.SpheredSVCCV": check_sphered,
    "psvm.kernels.FeatureMap": check_feature_map,
    "psvm.prepared.FeatureTable": check_feature_table,
    "psvm.prepared.Parts": check_parts,
    "psvm.prepared.Prepared": check_prepared_pairs,
    "psvm.selection.PresentCall": check_present_call,
    "psvm.selection.QuantileNormalizer": check_shapes({"reference_": "p"}),
    "psvm.selection.RangeClipper": check_shapes({"lowest_": "p", "highest_": "p"}),
    "psvm.selection.Scaled": check_scaled,
}
