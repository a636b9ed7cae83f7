"""Transformers of pairwise matrices."""

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
