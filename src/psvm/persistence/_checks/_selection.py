"""Selections of features, and what is done to the columns before."""

import numpy as np
from sklearn.base import BaseEstimator

from ...selection import Relations
from ._kernels import check_vectors, checked_kernel


def check_selector(state):
    """A value for each feature or landmark."""
    relations = state.get("_relations")
    if relations is None:
        p = state.features()
    else:
        state.require(isinstance(relations, Relations), "its relations are not Relations")
        kernel, objects = checked_kernel(state, relations.kernel), relations.objects
        if kernel.takes_vectors:
            fits = objects.shape[1:] == (state.features(),)
            state.require(fits, "its landmarks have a wrong length")
        check_vectors(state, kernel, objects)
        p = objects.shape[0]
    importance = state.array("importance_", (p,), kinds="f")
    _check_ranks(state, p, int((importance > 0).sum()))


def check_relations(state):
    """A name for each landmark."""
    objects, names = state.get("objects"), state.get("names")
    state.require(hasattr(objects, "shape"), "its landmarks are not an array")
    ok = isinstance(names, np.ndarray) and names.shape == objects.shape[:1] and len(names) > 0
    ok = ok and all(isinstance(name, str) for name in names)
    state.require(ok, "the names of its landmarks are wrong")


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
