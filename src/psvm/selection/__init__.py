"""Selection of features: the P-SVM, the gene selection protocol, and rankings to compare with."""

from . import rankings
from ._anndata import select
from ._genes import GeneSelector
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
from ._results import SelectionEvaluation, SelectionSignificance
from ._selector import PSVMSelector

__all__ = [
    "FeatureRanking",
    "GeneSelector",
    "PSVMSelector",
    "PresentCall",
    "QuantileNormalizer",
    "RangeClipper",
    "SelectionEvaluation",
    "SelectionSignificance",
    "StandIns",
    "log_transformer",
    "rank_features",
    "rankings",
    "select",
    "stand_ins",
]


def __dir__():
    return __all__
