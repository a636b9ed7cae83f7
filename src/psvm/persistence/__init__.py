"""Models in files, without pickle, and as text or NumPy code."""

from ._errors import ModelFileError
from ._export_numpy import export_numpy
from ._export_text import export_text
from ._known import register, trusted_types
from ._models import load, model_info, save
from ._moments import file_kind, load_moments, load_plan, save_moments, save_plan

__all__ = [
    "ModelFileError",
    "export_numpy",
    "export_text",
    "load",
    "load_moments",
    "load_plan",
    "model_info",
    "register",
    "save",
    "save_moments",
    "save_plan",
    "trusted_types",
]


def __dir__():
    return __all__
