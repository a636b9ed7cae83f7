"""Transformers of pairwise matrices, and the encoder of tables."""

from sklearn.base import BaseEstimator

from ...io import Kind, Schema
from ._state import is_number


def _check_centering(state):
    state.array("column_means_", (state.features(),), kinds="f")
    state.require(is_number(state.get("mean_")), "its mean is no number")


def _check_spectrum(state):
    p = state.features()
    state.array("eigenvalues_", (p,), kinds="f")
    state.require(is_number(state.get("shift_")), "its shift is no number")
    if state.get("projection_") is not None:
        state.array("projection_", (p, p), kinds="f")
    shifts = state.model.method == "shift"
    state.require(shifts == (state.get("projection_") is None), "its projection is missing")


def _check_gaussian(state):
    state.features()
    gamma = state.get("gamma_")
    state.require(is_number(gamma) and gamma > 0, "its gamma is no positive number")


def _check_roots(state):
    roots = state.array("roots_", (state.features(),), kinds="f")
    state.require((roots > 0).all(), "its roots are not positive")


def _check_symmetrize(state):
    state.features()


PREPROCESSING = {
    "DoubleCentering": _check_centering,
    "GaussianOfDistance": _check_gaussian,
    "SpectrumCorrection": _check_spectrum,
    "Symmetrize": _check_symmetrize,
    "UnitDiagonal": _check_roots,
}
"""The check of each class."""


def check_table_encoder(state):
    """Columns that are as many as its transformer takes, and levels that it knows."""
    p, schema = state.features(), state.get("schema_")
    state.require(isinstance(schema, Schema) and schema.n_columns == p, "its schema is wrong")
    names = getattr(state.model, "feature_names_in_", None)
    names = None if names is None else names.tolist()
    state.require(names == schema.feature_names, "its names are not those of its schema")
    step = state.get("transformer_")
    needed = schema.has_categories or schema.missing == "impute"
    state.require(needed == (step is not None), "its transformer is missing")
    if needed:
        state.part("transformer_", BaseEstimator, "transform")
        state.require(step.n_features_in_ == p, "its transformer has other columns")
    if schema.has_categories:
        parts = dict((name, step) for name, step, _ in getattr(step, "transformers_", ()))
        coded = [column for column in schema.used if column.kind is Kind.CATEGORY]
        encoder = parts.get("categories")
        state.require(hasattr(encoder, "transform"), "its encoder is missing")
        encoder = encoder[-1] if hasattr(encoder, "steps") else encoder
        known = len(getattr(encoder, "categories_", ())) == len(coded)
        state.require(known, "its levels do not fit its schema")
