"""The classes that a model file may hold. Loading looks names up here and imports nothing else."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import TypeVar

import numpy as np

from .. import kernels, preprocessing
from .._validation import shown
from ..comparators import KernelFisherDiscriminant, LeastSquaresSVC, LeastSquaresSVR
from ..estimators import PSVC, PSVR, Calibration, Labels, Sigmoid, Steps
from ..evaluation import RejectOption
from ..io import TableEncoder
from ..kernels import Kernel
from ..model_selection import PSVCCV, PSVRCV
from ..selection import (
    FeatureGroup,
    GeneSelector,
    KnockoffSelector,
    NuSVCThroughOrigin,
    PresentCall,
    PSVMSelector,
    QuantileNormalizer,
    RangeClipper,
    Relations,
    Scaled,
    StabilityParameters,
    StabilitySelector,
    floored_log2,
)
from ..solvers import SMO, WorkingSet
from ..sphered import SpheredSVC, SpheredSVCCV
from . import _checks as checks
from ._pack import (
    pack_psvm,
    pack_search,
    pack_sphered,
    unpack_psvm,
    unpack_search,
    unpack_selector,
    unpack_sphered,
)
from ._registry import Entry, Registry, SchemaEntry

KernelClass = TypeVar("KernelClass", bound=type[Kernel])
SOLUTIONS = frozenset(("solution_", "solutions_", "loo_decision_"))
"""Certificates and values as long as the training data; their numbers are kept elsewhere."""
NOT_NEEDED = frozenset(
    ("landmarks_", "_prepared_support", "plan_", "sums_", "_survey", "fold_errors_")
)
"""May be as long as the training data, serves more rows only, or is made again."""


@functools.cache
def registry():
    """The registry, with everything of psvm and what it needs of scikit-learn."""
    found = Registry()
    sources = (_kernels, _sklearn, _predictors, _selection, _preprocessing, _parts)
    for entry in (entry for source in sources for entry in source()):
        found.add(entry)
    for name in ("log", "log1p", "log2", "log10", "sqrt"):
        found.add_function(f"numpy.{name}", getattr(np, name))
    found.add_function("psvm.floored_log2", floored_log2)
    return found


def _kernels():
    for name in kernels.__all__:
        cls = getattr(kernels, name)
        if isinstance(cls, type) and issubclass(cls, Kernel) and cls is not Kernel:
            yield Entry(f"psvm.kernels.{name}", cls, check=checks.check_kernel)


def _sklearn():
    for path, check in checks.SKLEARN.items():
        module, name = path.rsplit(".", 1)
        cls = getattr(import_module(f"sklearn.{module}"), name)
        drop = frozenset(checks.MADE_AGAIN.get(path, ()))
        yield Entry(f"sklearn.{path}", cls, drop, check=check)


def _predictors():
    psvm = {
        "drop": SOLUTIONS | NOT_NEEDED,
        "pack": pack_psvm,
        "unpack": unpack_psvm,
    }
    search = {"drop": SOLUTIONS | {"cv_results_"}, "pack": pack_search, "unpack": unpack_search}
    sphered = {"drop": SOLUTIONS, "pack": pack_sphered, "unpack": unpack_sphered}
    plain = {"drop": SOLUTIONS}
    for cls, check, how in (
        (PSVC, checks.check_psvm, psvm),
        (PSVR, checks.check_psvm, psvm),
        (PSVCCV, checks.check_search, search),
        (PSVRCV, checks.check_search, search),
        (SpheredSVC, checks.check_sphered, sphered),
        (SpheredSVCCV, checks.check_sphered, sphered),
        (KernelFisherDiscriminant, checks.check_fisher, plain),
        (LeastSquaresSVC, checks.check_least_squares_classifier, plain),
        (LeastSquaresSVR, checks.check_least_squares_regressor, plain),
        (RejectOption, checks.check_reject_option, plain),
    ):
        yield Entry(f"psvm.{cls.__name__}", cls, check=check, **how)


def _selection():
    genes = SOLUTIONS | {"search_", "epsilons_"}
    yield Entry("psvm.GeneSelector", GeneSelector, genes, check=checks.check_gene_selector)
    drop = SOLUTIONS | {"landmarks_"}
    how = {"unpack": unpack_selector, "check": checks.check_selector}
    yield Entry("psvm.PSVMSelector", PSVMSelector, drop, **how)
    yield Entry("psvm.StabilitySelector", StabilitySelector, check=checks.check_stability)
    yield Entry("psvm.KnockoffSelector", KnockoffSelector, check=checks.check_knockoff_selector)
    for cls, check in (
        (FeatureGroup, checks.check_feature_group),
        (StabilityParameters, checks.check_stability_parameters),
        (NuSVCThroughOrigin, checks.check_through_origin),
        (PresentCall, checks.check_present_call),
        (QuantileNormalizer, checks.check_shapes({"reference_": "p"})),
        (RangeClipper, checks.check_shapes({"lowest_": "p", "highest_": "p"})),
    ):
        yield Entry(f"psvm.selection.{cls.__name__}", cls, check=check)


def _preprocessing():
    for name in preprocessing.__all__:
        cls = getattr(preprocessing, name)
        yield Entry(f"psvm.preprocessing.{name}", cls, check=checks.PREPROCESSING[name])
    yield SchemaEntry()
    yield Entry("psvm.io.TableEncoder", TableEncoder, check=checks.check_table_encoder)


def _parts():
    """What estimators consist of. The names are those in files, whatever a class is called."""
    for cls in (SMO, WorkingSet):
        yield Entry(f"psvm.{cls.__name__}", cls)
    for name, cls, check in (
        ("psvm.Labels", Labels, checks.check_labels),
        ("psvm.Calibration", Calibration, checks.check_calibration),
        ("psvm.Sigmoid", Sigmoid, checks.check_curve),
        ("psvm.Steps", Steps, checks.check_steps),
        ("psvm.kernels.FeatureMap", kernels.FeatureMap, checks.check_feature_map),
        ("psvm.kernels.FisherScores", kernels.FisherScores, checks.check_fisher_scores),
        ("psvm.kernels.PositionLogOdds", kernels.PositionLogOdds, checks.check_log_odds),
        ("psvm.kernels.ProfileWords", kernels.ProfileWords, checks.check_named_counts),
        ("psvm.kernels.WeisfeilerLehman", kernels.WeisfeilerLehman, checks.check_named_counts),
        ("psvm.kernels.MorganFingerprints", kernels.MorganFingerprints, checks.check_fingerprints),
        ("psvm.prepared.FeatureTable", kernels.FeatureTable, checks.check_feature_table),
        ("psvm.prepared.Parts", kernels.PreparedParts, checks.check_parts),
        ("psvm.prepared.Prepared", kernels.PreparedSequences, checks.check_prepared_sequences),
    ):
        yield Entry(name, cls, check=check)
    yield Entry("psvm.selection.Relations", Relations, check=checks.check_relations)
    drop = frozenset(("train",))
    yield Entry("psvm.selection.Scaled", Scaled, drop, check=checks.check_scaled)


def register(cls: KernelClass) -> KernelClass:
    """Allow your own kernel class in model files.

    Its parameters are written; they must be numbers, strings, arrays, or lists, tuples and dicts of
    these. The class must be registered under the same name when the file is loaded.

    Parameters
    ----------
    cls : type
        A subclass of `psvm.kernels.Kernel`.

    Returns
    -------
    type
        The class, so that it can be used as a decorator.

    Examples
    --------
    >>> import numpy as np
    >>> import psvm.persistence
    >>> from psvm.kernels import Kernel
    >>> @psvm.persistence.register
    ... class Overlap(Kernel):
    ...     '''Sum of the smaller one of each pair of entries.'''
    ...     def evaluate(self, X, Z):
    ...         return np.minimum(X[:, None], Z[None]).sum(axis=2)
    """
    if not (isinstance(cls, type) and issubclass(cls, Kernel)):
        raise TypeError(
            f"Only kernel classes can be registered: cls must be a subclass of "
            f"psvm.kernels.Kernel, got {shown(cls)}."
        )
    name = f"{cls.__module__}.{cls.__qualname__}"
    registry().add(Entry(name, cls, check=checks.check_kernel))
    return cls
