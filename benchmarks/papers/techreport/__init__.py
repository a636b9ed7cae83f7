"""The technical report: Hochreiter & Obermayer 2004, one module per kind of data."""

from . import genes, kernels, regression, relations, toys, web  # noqa: F401
