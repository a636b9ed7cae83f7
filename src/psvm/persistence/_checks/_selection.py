"""Selections of features, and what is done to the columns before."""

import numpy as np
from sklearn.base import BaseEstimator

from ...selection import FeatureGroup, Relations, StabilityParameters
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


def check_stability(state):
    """What the halves select, and what follows from it."""
    p = state.features()
    entries = state.array("entries_", (None, None), kinds="i")
    ok = entries.size > 0 and entries.min() >= -1 and entries.max() < p
    state.require(ok, "its entries are wrong")
    parameters, groups = state.get("parameters_"), state.get("groups_")
    state.require(isinstance(parameters, StabilityParameters), "its parameters are missing")
    ok = entries.shape == (parameters.n_subsamples, parameters.q)
    state.require(ok, "its entries have a wrong shape")
    state.array("frequencies_", (p,), kinds="f")
    counts = np.bincount(entries[entries >= 0], minlength=p)
    _check_ranks(state, p, int((counts >= parameters.n_needed).sum()))
    ok = isinstance(groups, list) and all(isinstance(group, FeatureGroup) for group in groups)
    ok = ok and all(group.features.max() < p for group in groups)
    state.require(ok, "its groups are wrong")


def check_knockoff_selector(state):
    """Statistics of all features."""
    p = state.features()
    W = state.array("statistics_", (None, p), kinds="f")
    thresholds = state.get("thresholds_")  # infinite ones take nothing
    ok = isinstance(thresholds, np.ndarray) and thresholds.shape == W.shape[:1]
    ok = ok and thresholds.dtype == np.float64 and (thresholds > 0).all()
    state.require(ok, "its thresholds are wrong")
    state.array("e_values_", (p,), kinds="f")
    state.array("frequencies_", (p,), kinds="f")
    ranking = state.array("ranking_", (p,), kinds="i")
    _check_ranks(state, p, int((ranking == 1).sum()))


def check_feature_group(state):
    """Some features."""
    features = state.array("features", (None,), kinds="i")
    state.require(len(features) > 0 and features.min() >= 0, "its features are wrong")
    names = state.get("names")
    ok = names is None or (isinstance(names, np.ndarray) and names.shape == features.shape)
    state.require(ok, "its names are wrong")
    state.require(isinstance(state.get("frequency"), float), "its frequency is wrong")


def check_stability_parameters(state):
    """Numbers in their ranges."""
    for name in ("q", "n_features", "n_subsamples"):
        state.require(state.count(name) > 0, f"{name} is wrong")
    for name in ("threshold", "pfer"):
        value = state.get(name)
        state.require(isinstance(value, float) and value > 0, f"{name} is wrong")


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


def check_through_origin(state):
    """A row of coefficients for two classes, or one for each."""
    n_classes = len(state.classes())
    state.array("coef_", (1 if n_classes == 2 else n_classes, state.features()), kinds="f")


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
