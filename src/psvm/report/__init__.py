"""Plots as objects, and a report about a model as one HTML page."""

from ._displays import EpsilonPathDisplay, SearchDisplay, SpectrumDisplay, SupportDisplay
from ._evaluate import CrossValidation, cross_validate
from ._features import FeatureRanking, rank_features
from ._report import write_report

__all__ = [
    "CrossValidation",
    "EpsilonPathDisplay",
    "FeatureRanking",
    "SearchDisplay",
    "SpectrumDisplay",
    "SupportDisplay",
    "cross_validate",
    "rank_features",
    "write_report",
]
