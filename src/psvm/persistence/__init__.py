"""Models in files, without pickle, and as text or NumPy code."""

from ._errors import ModelFileError
from ._export import export_numpy, export_text
from ._known import register
from ._models import load, load_schema, model_info, save

__all__ = [
    "ModelFileError",
    "export_numpy",
    "export_text",
    "load",
    "load_schema",
    "model_info",
    "register",
    "save",
]


def __dir__():
    return __all__
