"""`explore`: from data to one page in which epsilon can be moved."""

from __future__ import annotations

import tempfile
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ..._atomic import atomic_write, check_writable
from ..._progress import progress
from ..._threads import threads
from ..._typing import ArrayLike, CVLike, Estimator, MatrixLike, StrPath
from ..._validation import (
    check_flag,
    check_has,
    check_kind,
    check_list,
    check_members,
    check_number,
    check_path,
    check_positive_integer,
    check_rows,
    check_text,
)
from .._page import asset
from .._single_page import single_page
from ._contents import contents
from ._machines import make_machines
from ._subject import make_subject


@dataclass(frozen=True, eq=False, repr=False)
class Exploration:
    """One interactive page about data, from `explore`. A notebook shows it.

    Attributes
    ----------
    html : str
        The text of the page, which needs nothing else.

    Examples
    --------
    >>> import psvm
    >>> page = psvm.explore([[1.0, 0.0], [2.0, 1.0], [3.0, 5.0], [4.0, 2.0]], [0, 0, 1, 1], cv=2)
    >>> page.html.startswith("<!DOCTYPE html>")
    True
    """

    html: str

    def save(self, path: StrPath) -> Path:
        """Write the page to a file, as a whole or not at all.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        pathlib.Path
        """
        check_path("path", path)
        check_writable(path)
        with atomic_write(path, "w", encoding="utf-8") as file:
            file.write(self.html)
        return Path(path)

    def open(self) -> Path:
        """Show the page in the browser, from a temporary file.

        Returns
        -------
        pathlib.Path
            The file, which stays.
        """
        path = self.save(Path(tempfile.mkdtemp(prefix="psvm-"), "explore.html"))
        webbrowser.open(path.resolve().as_uri())
        return path

    def _repr_html_(self):
        """The page in a frame of its own, whose scripts see nothing of the notebook."""
        return (
            '<iframe title="psvm explore" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:900px;border:0" srcdoc="{escape(self.html)}"></iframe>'
        )

    def __repr__(self):
        return f"Exploration({len(self.html.encode()) / 1e6:.2f} MB of HTML)"


def explore(
    X: MatrixLike,
    y: ArrayLike,
    *,
    model: Estimator | None = None,
    cv: CVLike = 5,
    max_features: int = 100,
    min_ratio: float = 1e-3,
    title: str | None = None,
    target_name: str = "y",
    feature_names: Sequence[str] | None = None,
    row_names: Sequence[str] | None = None,
    verbose: bool = False,
) -> Exploration:
    """Make one interactive page: move epsilon and see what is selected and what it says.

    The page holds the exact path of solutions along epsilon, so that any epsilon is shown at once:
    the selected features or support objects with their alpha, the path, the cross-validated error,
    predictions, what each support object contributes to the value of a row, stand-ins of
    features, two features against each other, and the line of Python that makes the model. It is
    one file that needs no server and no network.

    Rows have no weights here, the constant is the mean of the target, and solutions are not
    relaxed: what the page shows at an epsilon is what `psvm.solve` gives there.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or sequences
        The data.
    y : array-like of shape (n_samples,)
        The target: classes or numbers. Several classes have a path each, against the rest.
    model : PSVC, PSVR, or a pipeline or search of one, default=None
        Says how rows are described: kernel, C, and what is done to the columns before. Its clone
        is fitted if it is not fitted. None means that the columns of X themselves describe
        (``kernel="dyadic"``).
    cv : int, cross-validation generator or iterable, default=5
        Folds of the error along the path. An epsilon stands for the same correlation in all of
        them: it is scaled by the square root of the number of rows.
    max_features : int, default=100
        The path ends before more than this many variables are non-zero.
    min_ratio : float, default=1e-3
        End of the path as a share of the smallest epsilon that selects nothing.
    title : str, default=None
        Title of the page.
    target_name : str, default="y"
        What is predicted, for labels.
    feature_names : sequence of str, default=None
        Names of the columns; those of a DataFrame by default.
    row_names : sequence of str, default=None
        Names of the rows; their numbers from 1 by default.
    verbose : bool, default=False
        Show progress on stderr, if it takes more than two seconds.

    Returns
    -------
    Exploration
        With `save` and `open`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import psvm
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> page = psvm.explore(X, y, target_name="benign")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page.save(pathlib.Path(folder, "explore.html")).stat().st_size < 2e6
    True
    """
    if model is not None:
        check_has("model", model, "fit", "predict", what="a PSVC or PSVR")
    check_text("title", title)
    check_kind("target_name", target_name, str)
    check_positive_integer("max_features", max_features)
    check_number("min_ratio", min_ratio, above=0, below=1)
    check_flag("verbose", verbose)
    names = None if feature_names is None else check_list("feature_names", feature_names)
    rows = None if row_names is None else check_list("row_names", row_names)
    check_members("y", y)
    X = check_rows(X, y)
    with threads(), progress("explore", verbose):
        subject = make_subject(model, X, y, names=names, rows=rows, target=target_name)
        machines = make_machines(
            subject.K,
            subject.own,
            subject.targets,
            subject.C,
            classifier=subject.classes is not None,
            cv=cv,
            max_features=max_features,
            min_ratio=min_ratio,
        )
    title = title or f"Explore {target_name}"
    text = single_page(
        title,
        css=asset("page.css") + asset("_explore/explore.css"),
        body=asset("_explore/explore.html"),
        data=contents(subject, machines, title),
        script=asset("_explore/explore.js"),
    )
    return Exploration(text)
