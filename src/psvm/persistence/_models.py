"""`save` and `load`: models as files that hold numbers and names, and no code."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._typing import Estimator, StrPath
from .._validation import check_path
from ..estimators import unwrap
from ..io import TableEncoder
from ._codec import Decoder, Encoder
from ._container import DIGEST, read_container, why, write_container
from ._errors import ModelFileError
from ._known import registry


def save(
    model: Estimator,
    path: StrPath,
    *,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted model to a file without pickle.

    The file holds the support objects and everything else that prediction needs, as arrays and JSON
    with a checksum; see docs/reference/models.md. It is read back before it takes the place of an
    old one: what cannot be loaded is an error here, and any error leaves the old file unchanged.

    Parameters
    ----------
    model : estimator
        An estimator of psvm, or a pipeline of psvm estimators and some of scikit-learn's.
    path : str or path-like
    extra : dict, default=None
        Anything that JSON can hold; `psvm.persistence.model_info` returns it.

    Examples
    --------
    >>> import pathlib, tempfile, psvm
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> model = psvm.PSVC(epsilon=1.0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "moons.psvm")
    ...     psvm.save(model, path)
    ...     again = psvm.load(path)
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    check_path("path", path)
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"model must be a fitted estimator, got {type(model).__name__}.")
    check_is_fitted(model)
    try:
        json.dumps(extra, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"extra must be something that JSON can hold. {error}") from error
    encoder = Encoder(registry())
    encoded = encoder.encode(model, "the model")
    metadata = {
        "psvm": version("psvm"),
        "sklearn": sklearn.__version__,
        "numpy": np.__version__,
        "not_kept": encoder.not_kept,
        "extra": extra,
        "model": encoded,
    }
    write_container(path, metadata, encoder.arrays, make=_made)


def load(path: StrPath) -> Estimator:
    """Read a model that `save` has written.

    Nothing in the file is executed. Checksum, version, names, dtypes, shapes and sizes are checked.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    estimator
        Its predictions equal those of the saved model bit for bit. It has no `solution_`, and its
        per-column attributes have only the entries of the support.

    Raises
    ------
    psvm.persistence.ModelFileError
        If the file is not a model file, is damaged or comes from a newer version.

    Examples
    --------
    >>> import pathlib, tempfile, psvm
    >>> model = psvm.PSVR(kernel="linear", epsilon=0.1).fit([[0.0], [1.0]], [0.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "line.psvm")
    ...     psvm.save(model, path)
    ...     psvm.load(path)
    PSVR(epsilon=0.1, kernel='linear')
    """
    check_path("path", path)
    metadata, arrays = read_container(path)
    return _decode(path, metadata, arrays)


def _decode(path, metadata, arrays):
    try:
        model, n_foreign = _made(metadata, arrays)
    except ImportError:
        raise
    except Exception as error:
        text = why(error)
        raise ModelFileError(f"{os.fspath(path)}: the model cannot be read: {text}") from error
    if n_foreign:
        _warn_of_versions(path, metadata)
    return model


def _made(metadata, arrays):
    """The model, and the number of its parts that skops has read."""
    decoder = Decoder(registry(), arrays)
    model = decoder.decode(metadata["model"])
    if not isinstance(model, BaseEstimator):
        raise ModelFileError("it holds no model.")
    check_is_fitted(model)
    return model, decoder.n_foreign


def _warn_of_versions(path, metadata):
    """Skops keeps private attributes of scikit-learn, which may change their meaning."""
    written, here = metadata.get("sklearn"), sklearn.__version__
    if written != here:
        warnings.warn(
            f"{os.fspath(path)} holds parts of scikit-learn {written}, but {here} is installed: "
            "compare some predictions before you rely on them.",
            UserWarning,
            stacklevel=4,
        )


def model_info(path: StrPath) -> dict[str, Any]:
    """What a model file holds.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    dict
        file, size (bytes), sha256, format_version, psvm, sklearn, class, parameters, summary (what
        is known of the fit), arrays (number and bytes), not_kept (parameters that matter only for
        fitting and were left out), extra and schema.

    Examples
    --------
    >>> import pathlib, tempfile, psvm, psvm.persistence
    >>> model = psvm.PSVR(epsilon=0.1).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "square.psvm")
    ...     psvm.save(model, path)
    ...     info = psvm.persistence.model_info(path)
    >>> info["class"], info["summary"]["n_features_in"]
    ('psvm.estimators.PSVR', 1)
    """
    check_path("path", path)
    metadata, arrays = read_container(path)
    model = _decode(path, metadata, arrays)
    with open(path, "rb") as file:
        file.seek(-DIGEST, os.SEEK_END)
        digest = file.read().decode()
    return {
        "file": os.fspath(path),
        "size": os.path.getsize(path),
        "sha256": digest,
        "format_version": metadata["version"],
        "psvm": metadata.get("psvm"),
        "sklearn": metadata.get("sklearn"),
        "class": _public_name(type(model)),
        "parameters": {k: repr(v) for k, v in model.get_params(deep=False).items()},
        "summary": summarise(model),
        "arrays": {"number": len(arrays), "bytes": sum(a.nbytes for a in arrays)},
        "not_kept": metadata.get("not_kept", []),
        "extra": metadata.get("extra"),
        "schema": _schema(model),
    }


def _public_name(cls):
    """The name of a class without the private modules on the way."""
    parts = [part for part in cls.__module__.split(".") if not part.startswith("_")]
    return ".".join([*parts, cls.__qualname__])


def _schema(model):
    """What the model knows of the columns of its tables, as JSON can hold it."""
    first = next((step for _, step in unwrap(model).steps), None)
    return first.schema_.to_dict() if isinstance(first, TableEncoder) else None


SUMMARY = (
    "n_features_in_",
    "n_support_",
    "n_features_",
    "classes_",
    "epsilon_",
    "lam_",
    "C_",
    "intercept_",
    "loo_error_",
    "dual_gap_",
    "kkt_violation_",
    "n_iter_",
    "best_score_",
    "best_params_",
    "inner_error_",
)


def summarise(model):
    """The fitted attributes that are short, without their underscore, as JSON can hold them."""
    parts = unwrap(model)
    subject = parts.machine if parts.search is None else parts.search
    found = {}
    for name in SUMMARY:
        value = getattr(subject, name, None)
        if value is not None:
            found[name.rstrip("_")] = _plain(value)
    return found


def _plain(value):
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return (value.astype(str) if value.dtype.kind in "mM" else value).tolist()
    return value
