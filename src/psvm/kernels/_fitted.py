"""Checks of kernels in fitted models, and of objects in the form that a kernel reads."""

from ._base import Kernel, Normalized, PreparedParts, Product, Sum
from ._sequence_features import FeatureKernel, FeatureTable
from ._sequence_pairs import PairKernel, PreparedSequences
from ._series import GlobalAlignment


def check_kernel(state, kernel, takes_vectors):
    """A kernel, which takes what the model takes."""
    state.require(isinstance(kernel, Kernel), "its kernel is not a Kernel")
    kernel.check_parameters()
    same = bool(kernel.takes_vectors) == takes_vectors
    state.require(same, "its kernel takes other objects")


def check_vectors(state, kernel, objects):
    """Objects that the kernel takes as they are."""
    state.require(hasattr(objects, "shape"), "its support objects are not an array")
    if kernel.takes_vectors:
        ok = objects.shape[1:] == (state.features(),)
        state.require(ok, "its vectors have a wrong length")
    checked = kernel.check_objects(objects)
    ok = checked.shape == objects.shape and checked.dtype == objects.dtype
    state.require(ok, "its support objects are of the wrong kind")


def check_prepared(state, kernel, prepared, n):
    """N objects in the form that a kernel reads, which compiled code trusts."""
    kind = _kind_of_prepared(kernel)
    shape = getattr(prepared, "shape", None)
    ok = isinstance(shape, tuple) and shape[:1] == (n,)
    state.require(ok, f"it does not have {n} support objects")
    state.require(kind is None or type(prepared) is kind, "its support objects are of a wrong kind")
    if kind is PreparedParts:
        _check_parts(state, kernel, prepared, n)
    elif kind is PreparedSequences:
        kernel.check_objects(prepared.sequences)
    elif kind is None and kernel.takes_vectors:
        check_vectors(state, kernel, prepared)


def _kind_of_prepared(kernel):
    """The class of what a kernel prepares; None if it takes the objects as they are."""
    if isinstance(kernel, FeatureKernel):
        return FeatureTable
    if isinstance(kernel, PairKernel):
        return PreparedSequences
    pairs = (GlobalAlignment, Normalized, Sum, Product)
    return PreparedParts if type(kernel) in pairs else None


def _check_parts(state, kernel, prepared, n):
    state.require(len(prepared.parts) == 2, "its support objects are of a wrong kind")
    first, second = prepared.parts
    if isinstance(kernel, Normalized):
        check_prepared(state, kernel.kernel, first, n)
        state.checked(second, "a norm", n, kinds="f")
    elif isinstance(kernel, GlobalAlignment):
        check_vectors(state, kernel, first)
        state.checked(second, "a logarithm", n, kinds="f")
    else:
        check_prepared(state, kernel.k1, first, n)
        check_prepared(state, kernel.k2, second, n)
