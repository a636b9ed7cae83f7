"""Kernels as small objects: ``kernel(X, Z)`` is the matrix of all values, ``k1 + k2`` a kernel."""

from ._base import Constant, Kernel, Normalized, Product, Sum, normalized
from ._vector import RBF, Laplacian, Linear, Plummer, Polynomial, Sine, make_kernel

__all__ = [
    "RBF",
    "Constant",
    "Kernel",
    "Laplacian",
    "Linear",
    "Normalized",
    "Plummer",
    "Polynomial",
    "Product",
    "Sine",
    "Sum",
    "make_kernel",
    "normalized",
]
