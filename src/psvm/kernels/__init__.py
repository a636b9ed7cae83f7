"""Kernels as small callable objects: ``kernel(X, Z)`` is the block of all values."""

from ._vector import RBF, Linear, Plummer, Polynomial, Sine, make_kernel

__all__ = ["RBF", "Linear", "Plummer", "Polynomial", "Sine", "make_kernel"]
