"""Estimators of scikit-learn as blocks of bytes that skops writes and reads, without pickle."""

from __future__ import annotations

import numpy as np

from ._errors import CannotSave, ModelFileError

OTHERS = (
    "functools.partial",
    "numpy.dtype",
    "psvm.estimators._moments_plan.MomentsPlan",
    "psvm.estimators._row_survey.RowSample",
    "psvm.estimators._row_survey.RowSurvey",
    "psvm.matrix._fold_moments.FoldMoments",
    "psvm.matrix._moments.Moments",
    "psvm.selection._protocol.SizeSearch",
    "psvm.selection._stability.StandIns",
    "psvm.solvers._dual.DualSolution",
    "psvm.solvers._group.GroupSolution",
    "psvm.solvers._solution.Solution",
    "psvm.solvers._solution.Status",
    "scipy.sparse._csc.csc_array",
    "scipy.sparse._csc.csc_matrix",
    "scipy.sparse._csr.csr_array",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
)
"""What fitted models contain beside the classes and functions that a model file may hold."""


def names_of(registry):
    """The types that skops must trust, by name."""
    known = [*registry.classes, *registry.functions]
    known = [value for value in known if hasattr(value, "__qualname__")]  # not ufuncs
    known = [f"{value.__module__}.{value.__qualname__}" for value in known]
    return sorted({*OTHERS, *known})


def dump(value, where, registry):
    """An estimator as bytes."""
    name = type(value).__name__
    try:
        from skops import io
    except ImportError:
        raise CannotSave(
            f"{where} cannot be saved: {name} of scikit-learn is written by skops, which is not "
            "installed. Install it: pip install 'psvm[skops]'."
        ) from None
    try:
        data = io.dumps(value)
        unknown = set(io.get_untrusted_types(data=data)) - set(names_of(registry))
    except Exception as error:
        raise CannotSave(
            f"{where} cannot be saved: skops cannot write {name} ({error})."
        ) from error
    if unknown:
        raise CannotSave(
            f"{where} cannot be saved: {name} contains {', '.join(sorted(unknown))}, which model "
            "files may not hold."
        )
    return np.frombuffer(data, dtype=np.uint8)


def load(data, registry):
    """The estimator of these bytes."""
    try:
        from skops import io
    except ImportError:
        raise ImportError(
            "The file contains estimators of scikit-learn that skops has written. Install it: "
            "pip install 'psvm[skops]'."
        ) from None
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8:
        raise ModelFileError("a block of skops is not an array of bytes.")
    return io.loads(data.tobytes(), trusted=names_of(registry))
