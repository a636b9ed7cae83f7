"""The Sphered Support Vector Machine (`004`): scale-invariant classification."""

from ._estimator import SpheredSVC, SpheredSVCCV

__all__ = ["SpheredSVC", "SpheredSVCCV"]
