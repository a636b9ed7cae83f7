"""Plots as objects, and a report about a model as one HTML page."""

from ._displays import (
    EpsilonPathDisplay,
    SearchDisplay,
    SpectrumDisplay,
    StabilityDisplay,
    SupportDisplay,
)
from ._report import write_report
from ._style import draw

__all__ = [
    "EpsilonPathDisplay",
    "SearchDisplay",
    "SpectrumDisplay",
    "StabilityDisplay",
    "SupportDisplay",
    "write_report",
]


def __dir__():
    return __all__
