"""Kernels as small objects: ``kernel(X, Z)`` is the matrix of all values, ``k1 + k2`` a kernel."""

from ._base import Constant, Kernel, Normalized, PreparedParts, Product, Sum, normalized
from ._counts import AdditiveChi2, Chi2, HistogramIntersection, Jaccard, Tanimoto, Wasserstein
from ._fitted import check_kernel, check_prepared, check_vectors
from ._molecules import MorganFingerprints, read_smiles
from ._named_counts import NamedCounts, ProfileWords, WeisfeilerLehman
from ._names import NAMES, WITH_GAMMA, make_kernel
from ._rescaled import Rescaled
from ._sequence import Sequence, parse_fasta, read_fasta
from ._sequence_alignment import LocalAlignment, NeedlemanWunsch, SmithWaterman
from ._sequence_features import FeatureKernel, FeatureMap, FeatureTable
from ._sequence_motif import Motif, from_prosite
from ._sequence_pairs import (
    LocalityImproved,
    PairKernel,
    PreparedSequences,
    Subsequence,
    WeightedDegree,
)
from ._sequence_scores import FisherScores, PositionLogOdds
from ._sequence_words import Mismatch, Spectrum
from ._series import DTW, GlobalAlignment
from ._vector import (
    RBF,
    Cosine,
    Laplacian,
    Linear,
    Matern,
    Plummer,
    Polynomial,
    RationalQuadratic,
    Sine,
    Tanh,
)

__all__ = [
    "DTW",
    "RBF",
    "AdditiveChi2",
    "Chi2",
    "Constant",
    "Cosine",
    "FeatureMap",
    "FisherScores",
    "GlobalAlignment",
    "HistogramIntersection",
    "Jaccard",
    "Kernel",
    "Laplacian",
    "Linear",
    "LocalAlignment",
    "LocalityImproved",
    "Matern",
    "Mismatch",
    "MorganFingerprints",
    "Motif",
    "NeedlemanWunsch",
    "Normalized",
    "Plummer",
    "Polynomial",
    "PositionLogOdds",
    "Product",
    "ProfileWords",
    "RationalQuadratic",
    "Rescaled",
    "Sequence",
    "Sine",
    "SmithWaterman",
    "Spectrum",
    "Subsequence",
    "Sum",
    "Tanh",
    "Tanimoto",
    "Wasserstein",
    "WeightedDegree",
    "WeisfeilerLehman",
    "from_prosite",
    "make_kernel",
    "normalized",
    "read_fasta",
    "read_smiles",
]


def __dir__():
    return __all__
