"""Plots as objects, and a report about a model as one HTML page."""

from ._displays import (
    EpsilonPathDisplay,
    SearchDisplay,
    SpectrumDisplay,
    StabilityDisplay,
    SupportDisplay,
)
from ._explore import Exploration, explore
from ._page import asset
from ._report import write_report
from ._single_page import single_page
from ._style import draw

__all__ = [
    "EpsilonPathDisplay",
    "Exploration",
    "SearchDisplay",
    "SpectrumDisplay",
    "StabilityDisplay",
    "SupportDisplay",
    "explore",
    "write_report",
]


def __dir__():
    return __all__
