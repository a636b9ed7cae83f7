"""Selection of features: the P-SVM, the gene selection protocol, and rankings to compare with."""

from . import rankings
from ._anndata import select
from ._error_bounds import StabilityParameters, stability_parameters
from ._genes import GeneSelector
from ._knockoff_selector import KnockoffSelector
from ._knockoffs import gaussian_knockoffs
from ._nu_svm import LinearNuSVC, NuSVCThroughOrigin
from ._preprocessing import (
    PresentCall,
    QuantileNormalizer,
    RangeClipper,
    floored_log2,
    log_transformer,
)
from ._protocol import Scaled
from ._ranked import FeatureRanking, rank_features
from ._redundancy import StandIns, stand_ins
from ._relations import Relations
from ._results import SelectionEvaluation, SelectionSignificance, SelectionStability
from ._selector import PSVMSelector
from ._stability import FeatureGroup, StabilitySelector

__all__ = [
    "FeatureGroup",
    "FeatureRanking",
    "GeneSelector",
    "KnockoffSelector",
    "LinearNuSVC",
    "NuSVCThroughOrigin",
    "PSVMSelector",
    "PresentCall",
    "QuantileNormalizer",
    "RangeClipper",
    "SelectionEvaluation",
    "SelectionSignificance",
    "SelectionStability",
    "StabilityParameters",
    "StabilitySelector",
    "StandIns",
    "gaussian_knockoffs",
    "log_transformer",
    "rank_features",
    "rankings",
    "select",
    "stability_parameters",
    "stand_ins",
]


def __dir__():
    return __all__
