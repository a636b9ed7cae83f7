"""Checks of parameters that name what is wrong and what to do."""

import numbers

import numpy as np


def check_number(name, value, *, above=None, least=None, infinite=False):
    """Check that a parameter is a real number, greater than `above` or at least `least`."""
    number = isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))
    if number and isinstance(value, numbers.Integral):
        number = abs(value) < 2**1024  # float(value) exists
    bound = f" > {above}" if above is not None else f" >= {least}" if least is not None else ""
    ok = (
        number
        and not np.isnan(value)
        and (infinite or np.isfinite(value))
        and (above is None or value > above)
        and (least is None or value >= least)
    )
    if not ok:
        finite = "" if infinite else "finite "
        raise ValueError(f"{name} must be a {finite}number{bound}, got {value!r}.")


def check_vector(name, value):
    """Check that an argument is a vector of finite real numbers; returns it as float64."""
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a vector of real numbers, got {value!r}.") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must contain real numbers, got {array.dtype} data.")
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"{name} must be one-dimensional and not empty, got an array of shape {array.shape}."
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return array


def check_positive_integer(name, value):
    """Check that a parameter is an integer of at least 1."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{name} must be an integer >= 1, got {value!r}.")


def check_choice(name, value, choices):
    """Check that a parameter is one of a few strings."""
    if not (isinstance(value, str) and value in choices):
        options = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {options}, got {value!r}.")


def check_flag(name, value):
    """Check that a parameter is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")


def check_storage(name, value):
    """Check that a parameter is a dtype in which kernel values can be kept."""
    try:
        ok = np.dtype(value) in (np.float64, np.float32) and value is not None
    except TypeError:
        ok = False
    if not ok:
        raise ValueError(f"{name} must be float64 or float32, got {value!r}.")
