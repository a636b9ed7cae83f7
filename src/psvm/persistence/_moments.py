"""Plans and sums of sites as files that hold numbers and names, and no code."""

from __future__ import annotations

import os
import zipfile
from dataclasses import fields
from functools import partial
from importlib.metadata import version

from .._fitted import State
from .._typing import StrPath
from .._validation import check_path, shown
from ..estimators import MomentsPlan, SiteMoments
from ..matrix import FoldMoments, Moments
from ._codec import Decoder, Encoder
from ._container import FORMATS, METADATA, read_container, why, write_container
from ._errors import ModelFileError
from ._known import registry
from ._sums import check_plan, check_sums

PLAN, MOMENTS = "psvm-plan", "psvm-moments"


def save_plan(plan: MomentsPlan, path: StrPath) -> None:
    """Write a plan to a file without pickle, for the sites that sum their rows with it.

    Parameters
    ----------
    plan : MomentsPlan
        The file contains its landmarks: they must not be confidential rows.
    path : str or path-like

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from psvm import PSVC, MomentsPlan, RowSurvey
    >>> from psvm.persistence import load_plan, save_plan
    >>> rng = np.random.default_rng(0)
    >>> public = RowSurvey.of(rng.normal(size=(40, 3)), np.arange(40) % 2, labels=True)
    >>> plan = MomentsPlan.make(PSVC(landmarks=10, random_state=0), public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "shared.npz")
    ...     save_plan(plan, path)
    ...     load_plan(path).key == plan.key
    True
    """
    check_path("path", path)
    if not isinstance(plan, MomentsPlan):
        raise TypeError(f"plan must be a MomentsPlan, got {shown(plan)}.")
    _write(path, PLAN, {"plan": _plan_content(plan)}, lambda content: _as_plan(content["plan"]))


def load_plan(path: StrPath) -> MomentsPlan:
    """Read a plan that `save_plan` has written; nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    MomentsPlan
        Its sums can be added to those of the saved plan.

    Raises
    ------
    psvm.persistence.ModelFileError
        If the file is not such a file, is damaged or comes from a newer version.
    """
    check_path("path", path)
    return _read(path, PLAN, lambda content: _as_plan(content["plan"]))


def save_moments(site: SiteMoments, path: StrPath) -> None:
    """Write the sums of a site, with their plan, to a file without pickle.

    Parameters
    ----------
    site : SiteMoments
        From `SiteMoments.of`, which checks that there are enough rows.
    path : str or path-like

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from psvm import PSVR, MomentsPlan, RowSurvey, SiteMoments
    >>> from psvm.persistence import load_moments, save_moments
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    >>> plan = MomentsPlan.make(PSVR(kernel="dyadic"), RowSurvey.of(X[:50], y[:50], labels=False))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "site.moments")
    ...     save_moments(SiteMoments.of(plan, [(X, y)]), path)
    ...     load_moments(path).sums.n_rows
    200
    """
    check_path("path", path)
    if not isinstance(site, SiteMoments):
        raise TypeError(f"site must be SiteMoments, got {shown(site)}.")
    sums = site.sums
    parts = {
        "folds": [_moments_content(fold) for fold in sums.folds],
        "rest": [_moments_content(part) for part in sums.rest],
        "n_rows": sums.n_rows,
        "n_terms": sums.n_terms,
    }
    content = {"plan": _plan_content(site.plan), "sums": parts}
    _write(path, MOMENTS, content, lambda content: _as_site(content, site.name))


def load_moments(path: StrPath) -> SiteMoments:
    """Read the sums of a site that `save_moments` has written; nothing in the file is executed.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    SiteMoments
        Its name is the file name.

    Raises
    ------
    psvm.persistence.ModelFileError
        If the file is not such a file, is damaged or comes from a newer version.
    """
    check_path("path", path)
    return _read(path, MOMENTS, lambda content: _as_site(content, os.fspath(path)))


def file_kind(path):
    """What a file holds, "psvm-model", "psvm-plan" or "psvm-moments", if it says so; else None.

    Nothing is checked: reading it does that.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(METADATA) as member:
            head = member.read(200).decode("ascii", "replace")
    except (OSError, zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError):
        return None
    return next((kind for kind in FORMATS if f'"format": "{kind}"' in head), None)


def _write(path, format, content, make):
    encoder = Encoder(registry())
    metadata = {"psvm": version("psvm"), "content": encoder.encode(content, "the plan")}
    write_container(path, metadata, encoder.arrays, format, make=partial(_made, make=make))


def _made(metadata, arrays, make):
    return make(Decoder(registry(), arrays).decode(metadata["content"]))


def _read(path, format, make):
    metadata, arrays = read_container(path, format)
    try:
        return _made(metadata, arrays, make)
    except ImportError:
        raise
    except Exception as error:
        text = why(error)
        raise ModelFileError(f"{os.fspath(path)}: the file cannot be read: {text}") from error


def _plan_content(plan):
    """What makes a plan, and its checksum."""
    content = {field.name: getattr(plan, field.name) for field in fields(plan) if field.init}
    return {**content, "key": plan.key}


def _as_plan(content):
    content = dict(content)
    key = content.pop("key")
    plan = MomentsPlan(**content)
    check_plan(State(plan))
    if plan.key != key:
        raise ModelFileError("the plan is not the one that was saved.")
    return plan


def _moments_content(moments):
    """What makes moments; the number of targets is that of the plan."""
    if moments is None:
        return None
    names = ("weight", "origin", "rest", "cross")
    return {name: getattr(moments, name) for name in names}


def _as_site(content, name):
    plan, sums = _as_plan(content["plan"]), content["sums"]

    def part(given):
        return None if given is None else Moments(**given, n_targets=plan.n_targets)

    folds, rest = (tuple(part(given) for given in sums[name]) for name in ("folds", "rest"))
    found = FoldMoments(folds, rest, sums["n_rows"], plan.key, sums["n_terms"])
    check_sums(State(found), plan)
    return SiteMoments(plan, found, name)
