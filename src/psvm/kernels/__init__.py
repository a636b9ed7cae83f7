"""Kernels as small objects: ``kernel(X, Z)`` is the matrix of all values, ``k1 + k2`` a kernel."""

from ._base import Constant, Kernel, Normalized, PreparedParts, Product, Sum, normalized
from ._rescaled import Rescaled
from ._sequence import Sequence, parse_fasta, read_fasta
from ._sequence_alignment import LocalAlignment, NeedlemanWunsch, SmithWaterman
from ._sequence_features import FeatureKernel, FeatureMap, FeatureTable
from ._sequence_motif import Motif, from_prosite
from ._sequence_pairs import PairKernel, PreparedSequences, Subsequence, WeightedDegree
from ._sequence_words import Mismatch, Spectrum
from ._vector import RBF, Laplacian, Linear, Plummer, Polynomial, Sine, make_kernel

__all__ = [
    "RBF",
    "Constant",
    "FeatureMap",
    "Kernel",
    "Laplacian",
    "Linear",
    "LocalAlignment",
    "Mismatch",
    "Motif",
    "NeedlemanWunsch",
    "Normalized",
    "Plummer",
    "Polynomial",
    "Product",
    "Rescaled",
    "Sequence",
    "Sine",
    "SmithWaterman",
    "Spectrum",
    "Subsequence",
    "Sum",
    "WeightedDegree",
    "from_prosite",
    "make_kernel",
    "normalized",
    "read_fasta",
]


def __dir__():
    return __all__
