"""`write_report`: from a fitted model and its data to one page."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from sklearn.base import is_classifier

from .._plotting import check_matplotlib
from .._progress import progress
from .._typing import ArrayLike, Estimator, MatrixLike, StrPath
from .._validation import (
    check_flag,
    check_has,
    check_integer,
    check_list,
    check_members,
    check_path,
    check_positive_integer,
    check_rows,
    check_text,
    shown,
)
from ..estimators import is_measured, solutions, unwrap_psvm
from ..evaluation import cross_validate
from ..io import atomic_write, is_numeric
from ..matrix import fill_missing, stored_parts
from ..selection import StabilitySelector, rank_features
from . import _sections as sections
from ._blocks import Link, Report, Section, Text
from ._data import as_numbers, check_names, suspicions
from ._explore import explore
from ._page import render

PACKAGES = ("psvm", "numpy", "scipy", "scikit-learn", "matplotlib")


def write_report(
    model: Estimator,
    X: MatrixLike,
    y: ArrayLike,
    path: StrPath,
    *,
    title: str | None = None,
    feature_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    cv: int = 5,
    positive: Any = None,
    n_features: int = 10,
    random_state: int = 0,
    n_jobs: int | None = None,
    command: str | None = None,
    interactive: StrPath | None = None,
    notes: Sequence[str] = (),
    verbose: bool = False,
) -> Path:
    """Write a report about a fitted model as one HTML page that needs no network.

    It shows the data and what is suspicious about it, the cross-validated error with an
    interval, confusion matrix and ROC curve or predicted against true values, hyper-parameters
    and search surface, path along epsilon, spectrum of a pairwise matrix, support objects, top
    features with their stability, an error bound and stand-ins, the certificate of the
    solution, and how to repeat it. Needs matplotlib: ``pip install "psvm[plot]"``.

    Parameters
    ----------
    model : PSVC, PSVR, or a pipeline or search of one
        Fitted. Clones of it are fitted for the cross-validation.
    X, y : array-like
        The data of the fit.
    path : str or path-like
        File for the page. It is written completely or not at all.
    title : str, default=None
    feature_names : sequence of str, default=None
        Names of the columns; those of a DataFrame by default.
    row_names : sequence of str, default=None
        Names of the rows, used for support objects; numbers from 1 by default.
    cv : int, default=5
        Number of folds.
    positive : label, default=None
        Of two classes the one that is looked for, see `psvm.evaluation.cross_validate`.
    n_features : int, default=10
        Number of top features.
    random_state : int, default=0
        Seed of folds and halves.
    n_jobs : int, default=None
        Number of processes.
    command : str, default=None
        The command that repeats it.
    interactive : str or path-like, default=None
        Where an interactive page about the same data and model goes (see `explore`), to which the
        figures are linked. It must lie beside the report, in the same directory.
    notes : sequence of str, default=()
        Sentences for the top of the section about the data.
    verbose : bool, default=False
        Show progress with the time left on stderr, if it takes more than two seconds.

    Returns
    -------
    pathlib.Path
        Path of the page.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_breast_cancer
    >>> from psvm import PSVC
    >>> from psvm.report import write_report
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = PSVC(kernel="dyadic", epsilon=3.0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = write_report(model, X, y, pathlib.Path(folder, "report.html"))
    ...     "Cross-validated error" in page.read_text()
    True
    """
    check_matplotlib("The report")
    check_path("path", path)
    check_has("model", model, "fit")
    check_text("title", title)
    check_text("command", command)
    for note in notes if isinstance(notes, tuple) and not notes else check_list("notes", notes):
        if not isinstance(note, str):
            raise ValueError(f"notes must hold sentences, got {shown(note)}.")
    check_positive_integer("n_features", n_features)
    if feature_names is not None:
        feature_names = check_list("feature_names", feature_names)
    if row_names is not None:
        row_names = check_list("row_names", row_names)
    check_integer("random_state", random_state)
    check_flag("verbose", verbose)
    check_members("y", y)
    X = check_rows(X, y)
    path = Path(path)
    page = None if interactive is None else _beside(interactive, path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no directory {os.fspath(path.parent)!r} for the report.")
    with progress("write_report", verbose):
        report = _make(
            model,
            X,
            y,
            title=title,
            names=feature_names,
            rows=row_names,
            cv=cv,
            positive=positive,
            n_features=n_features,
            random_state=random_state,
            n_jobs=n_jobs,
            command=command,
            notes=notes,
            page=page,
        )
        if page is not None:
            explored = explore(
                X, y, model=model, title=title, cv=cv, feature_names=feature_names,
                row_names=row_names,
            )  # fmt: skip
            explored.save(page)
    text = render(report)
    with atomic_write(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _beside(interactive, path):
    """The path of the interactive page, if links from the report can find it."""
    check_path("interactive", interactive)
    page = Path(interactive)
    if page.resolve().parent != path.resolve().parent or page.resolve() == path.resolve():
        raise ValueError(
            f"interactive must be another file in the directory of the report, "
            f"{os.fspath(path.parent)!r}, got {shown(interactive)}."
        )
    return page


def _make(
    model, X, y, *, title, names, rows, command, notes, page, cv, positive, n_features, **options
):
    y, classifier = np.asarray(y), is_classifier(model)
    check_names(X, names, rows)
    numbers, names = as_numbers(model, X, names)
    parts = unwrap_psvm(model, names, rows)
    result = cross_validate(model, X, y, cv=cv, positive=positive, **options)
    scaled = len(parts.steps) > 0 or is_measured(parts.machine)
    warnings = suspicions(numbers, y, classifier, names, scaled=scaled)
    found = [
        sections.data_section(numbers, y, classifier, warnings, notes),
        sections.error_section(result, classifier),
        sections.parameter_section(parts),
        sections.matrix_section(parts, X),
        sections.path_section(parts, X, y),
        sections.support_section(parts),
        _features(parts, numbers, y, names, n_features, classifier, options),
        sections.certificate_section(parts),
        sections.repeat_section(command, versions(), digest(X, y), model),
    ]
    machine = parts.machine
    if page is not None:
        found = [_linked(section, page.name, machine) for section in found]
    highlights = [
        (f"{result.measure}, cross-validated", result.shown),
        ("support objects", f"{machine.n_support_} of {np.shape(machine.alpha_)[-1]}"),
        ("certificate", _certificate(machine)),
        ("data", _size(X, y, numbers)),
    ]
    what = "classification" if classifier else "regression"
    return Report(title or f"P-SVM {what}", highlights, [s for s in found if s is not None])


LINKS = {
    "Cross-validated error": ("error", "Move epsilon and see the error change"),
    "Path along epsilon": ("path", "Move epsilon along the path"),
    "Support objects": ("selected", "See the support objects of any epsilon"),
    "Top features": ("stand-ins", "See two features against each other, and stand-ins"),
}
"""Sections that the interactive page shows as well: the place there, and a sentence."""


def _linked(section, name, machine):
    """A section with the way to its part of the interactive page, at the epsilon of the model."""
    if section is None or section.title not in LINKS:
        return section
    place, text = LINKS[section.title]
    start = f"epsilon={machine.epsilon_!r}&" if np.ndim(machine.epsilon_) == 0 else ""
    link = Link(f"{text}: the interactive page", f"{quote(name)}#{start}at={place}")
    return Section(section.title, [*section.blocks, link])


def _size(X, y, numbers):
    """Numbers of rows and columns; of categories those of their encoding, too."""
    if not is_numeric(X):
        return f"{len(y)} rows"
    encoded = f" ({numbers.shape[1]} encoded)" * (numbers.shape[1] != X.shape[1])
    return f"{len(y)} rows, {X.shape[1]} columns{encoded}"


def _certificate(machine):
    states = dict.fromkeys(solution.status.value for solution in solutions(machine))
    return ", ".join([*states, f"gap {machine.dual_gap_:.1g}"])


def _features(parts, X, y, names, n_features, classifier, options):
    if not is_numeric(X) or parts.machine.kernel == "precomputed":
        return None
    task = "classification" if classifier else "regression"
    X_filled = fill_missing(X)
    ranking = rank_features(X_filled, y, n_features=n_features, task=task, **options)
    if not len(ranking.indices):
        return Section("Top features", [Text("No feature says anything about the target.")])
    stable = None
    if not classifier or np.unique(y, return_counts=True)[1].min() > 1:
        stable = StabilitySelector(task=task, **options).fit(X_filled, y)
    return sections.feature_section(ranking, stable, X, names)


def versions():
    """Versions of what the numbers depend on."""
    from importlib.metadata import version

    found = {name: version(name) for name in PACKAGES}
    return {"Python": platform.python_version(), **found, "system": platform.platform()}


def digest(X, y):
    """SHA-256 of the data, the same for the same numbers."""
    total = hashlib.sha256()
    if is_numeric(X):
        parts = stored_parts(X)
    else:
        parts = [np.frombuffer("\n".join(map(str, X)).encode(), dtype=np.uint8)]
    for part in parts:
        total.update(part.tobytes())
    total.update("\n".join(map(str, np.asarray(y).tolist())).encode())
    return total.hexdigest()
