"""Kernels, and objects in the form that a kernel reads."""

import numpy as np
import scipy.sparse as sp

from ..._parameters import check_parameters
from ...kernels import (
    FeatureKernel,
    FeatureTable,
    GlobalAlignment,
    Kernel,
    Normalized,
    PairKernel,
    PreparedParts,
    PreparedSequences,
    Product,
    Spectrum,
    Sum,
)
from ._state import is_increasing


def check_kernel(state):
    """Parameters that the kernel takes."""
    state.model.check_parameters()


def checked_kernel(state, kernel):
    """The kernel of a model, which takes what the model takes."""
    state.require(isinstance(kernel, Kernel), "its kernel is not a Kernel")
    kernel.check_parameters()
    same = bool(kernel.takes_vectors) == state.model._takes_vectors
    state.require(same, "its kernel takes other objects")
    return kernel


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
    kind = _kind_of_prepared(kernel)
    shape = getattr(prepared, "shape", None)
    ok = isinstance(shape, tuple) and shape[:1] == (n,)
    state.require(ok, f"it does not have {n} support objects")
    state.require(kind is None or type(prepared) is kind, "its support objects are of a wrong kind")
    if kind is PreparedParts:
        _check_parts(state, kernel, prepared, n, p)
    elif kind is PreparedSequences:
        kernel.check_objects(prepared.sequences)
    elif kind is None and kernel.takes_vectors:
        state.require(shape[1:] == (p,), "its vectors have a wrong length")
        check_vectors(state, kernel, prepared)


def _kind_of_prepared(kernel):
    """The class of what a kernel prepares; None if it takes the objects as they are."""
    if isinstance(kernel, FeatureKernel):
        return FeatureTable
    if isinstance(kernel, PairKernel):
        return PreparedSequences
    pairs = (GlobalAlignment, Normalized, Sum, Product)
    return PreparedParts if type(kernel) in pairs else None


def check_vectors(state, kernel, objects):
    """Objects that the kernel takes as they are."""
    checked = kernel.check_objects(objects)
    ok = checked.shape == objects.shape and checked.dtype == objects.dtype
    state.require(ok, "its support objects are of the wrong kind")


def _check_parts(state, kernel, prepared, n, p):
    state.require(len(prepared.parts) == 2, "its support objects are of a wrong kind")
    first, second = prepared.parts
    if isinstance(kernel, Normalized):
        check_prepared(state, kernel.kernel, first, n, p)
        state.checked(second, "a norm", (n,), kinds="f")
    elif isinstance(kernel, GlobalAlignment):
        state.require(getattr(first, "shape", None) == (n, p), "its vectors have a wrong length")
        check_vectors(state, kernel, first)
        state.checked(second, "a logarithm", (n,), kinds="f")
    else:
        check_prepared(state, kernel.k1, first, n, p)
        check_prepared(state, kernel.k2, second, n, p)


def check_feature_table(state):
    """As many sorted names as columns."""
    matrix, names = state.get("matrix"), state.get("names")
    ok = sp.issparse(matrix) and matrix.format == "csr" and matrix.dtype == np.float64
    state.require(ok and np.isfinite(matrix.data).all(), "its features are not a csr matrix")
    _check_names(state, names)
    state.require(matrix.shape == state.get("shape"), "it has another shape")
    state.require(matrix.shape[1:] == names.shape, "there is not one name for each column")


def _check_names(state, names):
    ok = isinstance(names, np.ndarray) and names.ndim == 1 and names.dtype.kind == "U"
    state.require(ok and is_increasing(names), "the names of its features are not sorted")


def check_prepared_sequences(state):
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


def check_named_counts(state):
    """Sorted names."""
    _check_names(state, state.get("names_"))


def check_fisher_scores(state):
    """A positive probability of each letter after each context."""
    n_letters = _n_letters(state)
    n_contexts = n_letters ** int(state.model.order)
    for name, shape in (("probabilities_", (n_contexts, n_letters)), ("expected_", (n_contexts,))):
        positive = (state.array(name, shape, kinds="f") > 0).all()
        state.require(positive, f"{name} has entries that are not positive")


def check_log_odds(state):
    """Numbers for each letter after each context at each position."""
    n_letters = _n_letters(state)
    state.array("log_odds_", (None, n_letters ** int(state.model.order), n_letters), kinds="f")
    state.require(len(state.classes()) == 2, "it does not have two classes")


def _n_letters(state):
    check_parameters(state.model)
    letters = Spectrum(1, alphabet=state.model.alphabet)
    letters.check_parameters()
    state.require(letters.letters is not None, "its alphabet is missing")
    return len(letters.letters)


def check_fingerprints(state):
    """As many features as bits."""
    check_parameters(state.model)
    same = state.count("n_features_out_", least=1) == state.model.n_bits
    state.require(same, "it has another number of bits")
