"""Square matrices of distances or similarities made into kernels, and new rows alike."""

from ._relations import (
    DoubleCentering,
    GaussianOfDistance,
    SpectrumCorrection,
    Symmetrize,
    UnitDiagonal,
)

__all__ = [
    "DoubleCentering",
    "GaussianOfDistance",
    "SpectrumCorrection",
    "Symmetrize",
    "UnitDiagonal",
]


def __dir__():
    return __all__
