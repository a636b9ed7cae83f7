"""scikit-learn's SVMs, whose compiled code trusts shapes, places and dtypes."""

import numbers

import numpy as np
import scipy.sparse as sp

from ._state import n_pairs


def check_svm(state):
    """The compiled code of scikit-learn's SVMs trusts shapes, places and dtypes."""
    model, p = state.model, state.features()
    n_classes, Z = len(state.classes()), state.get("support_vectors_")
    measured, sparse = model.kernel == "precomputed", state.get("_sparse")
    state.require(isinstance(model.kernel, str), "its kernel is not a name")
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
    state.require(ok, "its degree is not a valid integer")
    for name in ("_gamma", "nu", "epsilon", "C"):
        state.number(name)


def _check_sigmoids(state, pairs):
    """Two numbers for each pair of classes if there are probabilities; else none."""
    effective = getattr(state.model, "_effective_probability", False)
    state.require(isinstance(effective, bool), "_effective_probability is not a boolean")
    asked = effective or state.model.probability is True
    some = len(state.get("_probA")) > 0
    state.require(some or not asked, "_probA and _probB are missing")
    for name in ("_probA", "_probB"):
        _doubles(state, name, (pairs if some else 0,))


def _doubles(state, name, shape):
    state.require(state.array(name, shape, kinds="f").dtype == np.float64, f"{name} is not float64")


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
