"""Choosing parameters by held-out rows, and the error of one model without its held-out rows."""

from ._candidates import EVERY
from ._estimators import PSVCCV, PSVRCV
from ._leave_out import HeldOut, cross_val_error

__all__ = ["PSVCCV", "PSVRCV", "HeldOut", "cross_val_error"]


def __dir__():
    return __all__
