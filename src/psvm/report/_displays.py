"""Plots as objects: compute once with ``from_...``, draw with ``plot`` as often as wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._plotting import new_axes
from .._typing import ArrayLike, Axes, Estimator, Figure, MatrixLike
from .._validation import (
    check_has,
    check_integer,
    check_list,
    check_number,
    check_positive_integer,
    check_vector,
    shown,
)
from ..estimators import (
    described_matrix,
    numeric_target,
    square_matrix,
    support_names,
    unwrap_psvm,
    weights,
)
from ..matrix import MatrixSpectrum, as_dense, matrix_spectrum
from ..selection import StabilitySelector
from ..solvers import EpsilonPath, epsilon_path
from ._style import BLUE, DASHES, GREY, PALETTE, SEQUENTIAL, VERMILLION, label

MOST_TICKS = 12


class EpsilonPathDisplay:
    """The variables against epsilon, with their number and the chosen epsilon.

    Parameters
    ----------
    path : EpsilonPath
        From `psvm.epsilon_path`.
    names : sequence of str, default=None
        Names of the descriptive objects; numbers by default.
    epsilon : float, default=None
        The epsilon that was chosen, marked by a line.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where the variables are drawn.
    lines_ : list of matplotlib Line2D
        One per variable.
    counts_ax_ : matplotlib Axes
        Where the number of non-zero variables is drawn.

    Examples
    --------
    >>> import numpy as np, psvm
    >>> from psvm.report import EpsilonPathDisplay
    >>> K = np.random.default_rng(0).normal(size=(50, 5))
    >>> path = psvm.epsilon_path(K, 3 * K[:, 3] - 2 * K[:, 1])
    >>> display = EpsilonPathDisplay.from_path(path, names=list("abcde"))
    >>> [line.get_label() for line in display.lines_[:2]]
    ['d', 'b']
    """

    ax_: Axes
    figure_: Figure
    lines_: list[Any]
    counts_ax_: Axes

    def __init__(
        self, path: EpsilonPath, *, names: Sequence[str] | None = None, epsilon: float | None = None
    ) -> None:
        if not isinstance(path, EpsilonPath):
            raise TypeError(f"path must be an EpsilonPath, got {shown(path)}.")
        if names is not None and len(check_list("names", names)) != path.alphas.shape[1]:
            raise ValueError(f"names must hold {path.alphas.shape[1]} names, got {len(names)}.")
        if epsilon is not None:
            check_number("epsilon", epsilon, least=0, most=1e100)  # what matplotlib can draw
        self.path, self.names, self.epsilon = path, names, epsilon

    @classmethod
    def from_path(
        cls,
        path: EpsilonPath,
        *,
        names: Sequence[str] | None = None,
        epsilon: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a path.

        Parameters
        ----------
        path : EpsilonPath
        names : sequence of str, default=None
        epsilon : float, default=None
        ax : matplotlib Axes, default=None

        Returns
        -------
        EpsilonPathDisplay
        """
        return cls(path, names=names, epsilon=epsilon).plot(ax)

    @classmethod
    def from_estimator(
        cls, estimator: Estimator, X: MatrixLike, y: ArrayLike, *, ax: Axes | None = None
    ) -> Self:
        """Draw the path of the problem that a fitted estimator solved.

        Parameters
        ----------
        estimator : PSVC, PSVR, or a pipeline or search of one
            Fitted to a regression target or two classes.
        X, y : array-like
            The data of the fit.
        ax : matplotlib Axes, default=None

        Returns
        -------
        EpsilonPathDisplay
        """
        parts = unwrap_psvm(estimator)
        K, names = described_matrix(parts, X)
        path = epsilon_path(K, numeric_target(parts.machine, y), parts.machine.C)
        return cls.from_path(path, names=names, epsilon=parts.machine.epsilon_, ax=ax)

    def plot(self, ax: Axes | None = None, *, n_labels: int = 8) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        n_labels : int, default=8
            Number of variables with a colour and a name: the first to enter.

        Returns
        -------
        EpsilonPathDisplay
        """
        check_integer("n_labels", n_labels)
        ax = new_axes(ax, type(self).__name__)
        path, knots = self.path, self.path.knots
        values = as_dense(path.knot_alphas[:, path.order])
        lines = ax.plot(knots, values, color=GREY, linewidth=0.5, alpha=0.6)
        _emphasise(lines, path.order, self.names, n_labels)
        log = len(knots) > 0 and knots[-1] > 0
        ax.set(xlabel="epsilon", ylabel="alpha", xscale="log" if log else "linear")
        ax.invert_xaxis()
        if self.epsilon is not None:
            ax.axvline(self.epsilon, color="black", linestyle="--", linewidth=1)
            ax.annotate("chosen", (self.epsilon, 1), xycoords=("data", "axes fraction"),
                        xytext=(3, -10), textcoords="offset points", fontsize=8)  # fmt: skip
        counts = ax.twinx()
        numbers = np.diff(path.knot_alphas.indptr)
        counts.step(knots, numbers, where="post", color="black", linestyle=":", linewidth=1)
        counts.set(ylabel="non-zero variables (dotted)", ylim=(0, None))
        counts.spines["right"].set_visible(True)
        if lines:
            place = {"loc": "center left", "bbox_to_anchor": (1.12, 0.5)}
            ax.legend(fontsize=8, title="first to enter", title_fontsize=8, **place)
        self.ax_, self.figure_, self.counts_ax_, self.lines_ = ax, ax.figure, counts, lines
        return self


class StabilityDisplay:
    """How often features are selected, against the number of features that each half selects.

    Parameters
    ----------
    selector : StabilitySelector
        Fitted.
    names : sequence of str, default=None
        Names of the features; by default those of the fit, or their numbers.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    lines_ : list of matplotlib Line2D
        One per feature, the most frequent first.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import StabilitySelector
    >>> from psvm.report import StabilityDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 40))
    >>> selector = StabilitySelector(q=4, random_state=0).fit(X, X[:, 3] - X[:, 8])
    >>> display = StabilityDisplay.from_estimator(selector)
    >>> sorted(line.get_label() for line in display.lines_[:2])
    ['3', '8']
    """

    ax_: Axes
    figure_: Figure
    lines_: list[Any]

    def __init__(self, selector: StabilitySelector, *, names: Sequence[str] | None = None) -> None:
        if not isinstance(selector, StabilitySelector):
            raise TypeError(f"selector must be a StabilitySelector, got {shown(selector)}.")
        check_is_fitted(selector)
        if names is None:
            names = getattr(selector, "feature_names_in_", None)
        elif len(check_list("names", names)) != selector.n_features_in_:
            raise ValueError(f"names must hold {selector.n_features_in_} names, got {len(names)}.")
        self.selector, self.names = selector, names

    @classmethod
    def from_estimator(
        cls,
        selector: StabilitySelector,
        *,
        names: Sequence[str] | None = None,
        n_features: int = 50,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the stability paths of a fitted selector.

        Parameters
        ----------
        selector : StabilitySelector
            Fitted.
        names : sequence of str, default=None
        n_features : int, default=50
            The most frequent features, as many as this, are drawn.
        ax : matplotlib Axes, default=None

        Returns
        -------
        StabilityDisplay
        """
        return cls(selector, names=names).plot(ax, n_features=n_features)

    def plot(self, ax: Axes | None = None, *, n_features: int = 50, n_labels: int = 8) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        n_features : int, default=50
            The most frequent features, as many as this, are drawn.
        n_labels : int, default=8
            The first of them have colours and names, as many as this.

        Returns
        -------
        StabilityDisplay
        """
        check_positive_integer("n_features", n_features)
        check_integer("n_labels", n_labels)
        ax = new_axes(ax, type(self).__name__)
        found = self.selector.parameters_
        features = self.selector.order_[:n_features]
        shares = as_dense(self.selector.paths_[:, features])
        values = np.vstack([np.zeros(len(features)), shares])
        lines = ax.plot(np.arange(len(values)), values, color=GREY, linewidth=0.5, alpha=0.6)
        _emphasise(lines, features, self.names, n_labels)
        ax.axhline(found.threshold, color="black", linestyle="--", linewidth=1)
        ax.annotate(f"threshold: {found.pfer:.2g} false expected at most", (0, found.threshold),
                    xytext=(3, 3), textcoords="offset points", fontsize=8)  # fmt: skip
        ax.set(
            xlabel="features that each half selects", ylabel="share of the halves", ylim=(0, 1.02)
        )
        if n_labels:
            ax.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.02, 0.5))
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, lines
        return self


def _emphasise(lines, variables, names, n_labels):
    """Colours and names for the first lines."""
    for place, (line, variable) in enumerate(zip(lines[:n_labels], variables, strict=False)):
        line.set(
            color=PALETTE[place % len(PALETTE)],
            linestyle=DASHES[place // 2 % len(DASHES)],
            linewidth=1.6,
            alpha=1.0,
            label=label(variable if names is None else names[variable]),
        )


class SupportDisplay:
    """The largest weights of the support objects as bars.

    Parameters
    ----------
    alpha : ndarray of shape (n_support,)
        The weights.
    names : sequence of str
        Names of the support objects.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    bars_ : matplotlib BarContainer
        The bars, the largest at the top.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from psvm import PSVC
    >>> from psvm.report import SupportDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = PSVC(kernel="dyadic", epsilon=3.0).fit(X, y)
    >>> len(SupportDisplay.from_estimator(model).bars_) == model.n_support_
    True
    """

    ax_: Axes
    figure_: Figure
    bars_: Any

    def __init__(self, alpha: np.ndarray, names: Sequence[str]) -> None:
        self.alpha, self.names = check_vector("alpha", alpha), check_list("names", names)
        if len(self.alpha) != len(self.names):
            raise ValueError(
                f"alpha and names must have the same length, got {len(self.alpha)} and "
                f"{len(self.names)}."
            )

    @classmethod
    def from_estimator(
        cls, estimator: Estimator, *, ax: Axes | None = None, most: int = 15
    ) -> Self:
        """Draw the support objects of a fitted estimator.

        Parameters
        ----------
        estimator : PSVC, PSVR, or a pipeline or search of one
        ax : matplotlib Axes, default=None
        most : int, default=15
            Largest number of bars.

        Returns
        -------
        SupportDisplay
        """
        parts = unwrap_psvm(estimator)
        alpha = weights(parts.machine)[parts.machine.support_]
        return cls(alpha, support_names(parts)).plot(ax, most=most)

    def plot(self, ax: Axes | None = None, *, most: int = 15) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        most : int, default=15
            Largest number of bars.

        Returns
        -------
        SupportDisplay
        """
        check_positive_integer("most", most)
        ax = new_axes(ax, type(self).__name__)
        order = np.argsort(-np.abs(self.alpha), kind="stable")[:most]
        values = self.alpha[order]
        places = np.arange(len(order))
        colours = np.where(values >= 0, BLUE, VERMILLION)
        self.bars_ = ax.barh(places, values, color=colours, height=0.75)
        ax.set_yticks(places, [label(self.names[j]) for j in order])
        ax.invert_yaxis()
        ax.axvline(0, color="black", linewidth=0.8)
        rest = len(self.alpha) - len(order)
        ax.set_xlabel(f"alpha ({rest} smaller ones not shown)" if rest else "alpha")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SearchDisplay:
    """The scores of a search over one or two parameters, the best over all other parameters.

    Parameters
    ----------
    results : dict
        The `cv_results_` of a search.
    params : sequence of str, default=None
        One or two parameters to show; by default the last two of those that vary.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.
    scores_ : ndarray
        What is drawn: the best score for each value (pair of values) of the parameters.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.model_selection import GridSearchCV
    >>> from psvm import PSVC
    >>> from psvm.report import SearchDisplay
    >>> X, y = make_moons(60, noise=0.2, random_state=0)
    >>> grid = {"gamma": [0.1, 1.0, 10.0], "epsilon": [0.1, 1.0]}
    >>> search = GridSearchCV(PSVC(), grid, cv=3).fit(X, y)
    >>> SearchDisplay.from_estimator(search).scores_.shape
    (2, 3)
    """

    ax_: Axes
    figure_: Figure
    scores_: np.ndarray

    def __init__(self, results: Mapping[str, Any], *, params: Sequence[str] | None = None) -> None:
        if not isinstance(results, dict) or "mean_test_score" not in results:
            raise TypeError(f"results must be the cv_results_ of a search, got {shown(results)}.")
        self.results = results
        self.params = varying(results)[-2:] if params is None else check_list("params", params)
        unknown = [name for name in self.params if name not in _param_names(results)]
        if unknown or not 0 < len(self.params) <= 2:
            raise ValueError(
                f"params must be one or two of {_param_names(results)} (those with several "
                f"values by default), got {shown(self.params)}."
            )

    @classmethod
    def from_estimator(
        cls, search: Estimator, *, params: Sequence[str] | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw the results of a fitted search.

        Parameters
        ----------
        search : estimator with `cv_results_`
            Such as `GridSearchCV`.
        params : sequence of str, default=None
            One or two parameters to show.
        ax : matplotlib Axes, default=None

        Returns
        -------
        SearchDisplay
        """
        check_has("search", search, "fit", what="a fitted search")
        check_is_fitted(search, "cv_results_")
        return cls(search.cv_results_, params=params).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        SearchDisplay
        """
        ax = new_axes(ax, type(self).__name__)
        values = [_values(self.results, name) for name in self.params]
        scores, spread, best = self._best(values)
        if len(values) == 1:
            self._draw_line(ax, values[0], scores, spread, best[0])
        else:
            self._draw_surface(ax, values, scores, best)
        self.ax_, self.figure_, self.scores_ = ax, ax.figure, scores
        return self

    def _best(self, values):
        """Best mean score for each value of the parameters, its deviation, and the best of all."""
        columns = [self.results[f"param_{name}"] for name in self.params]
        mean = np.asarray(self.results["mean_test_score"], dtype=float)
        std = np.asarray(self.results.get("std_test_score", np.zeros(len(mean))), dtype=float)
        scores = np.full([len(v) for v in values], np.nan)
        spread = np.zeros(scores.shape)
        # Scores with fewer rows give way to those with all.
        whole = with_all_rows(self.results)
        for rows in (~whole, whole):
            latest = np.full(scores.shape, np.nan)
            for row in np.flatnonzero(rows & np.isfinite(mean)):
                cell = tuple(v.index(c[row]) for v, c in zip(values, columns, strict=True))
                if not latest[cell] >= mean[row]:
                    latest[cell] = scores[cell] = mean[row]
                    spread[cell] = std[row]
        return scores, spread, np.unravel_index(np.nanargmax(latest), scores.shape)

    def _draw_line(self, ax, values, scores, spread, best):
        places = np.arange(len(values))
        ax.errorbar(places, scores, yerr=spread, color=BLUE, marker="o", capsize=3)
        ax.plot(places[best], scores[best], "*", color=VERMILLION, markersize=14, label="best")
        ax.set_xticks(places, [_tick(v) for v in values], rotation=45 if len(values) > 8 else 0)
        ax.set(xlabel=_short(self.params[0]), ylabel="mean score of the folds")
        ax.legend()

    def _draw_surface(self, ax, values, scores, best):
        shown = ax.imshow(scores, cmap=SEQUENTIAL, aspect="auto", origin="lower")
        bar = ax.figure.colorbar(shown, ax=ax)
        bar.set_label("mean score of the folds")
        ax.plot(best[1], best[0], "*", color="white", markeredgecolor="black", markersize=15)
        for axis, ticks in ((ax.yaxis, values[0]), (ax.xaxis, values[1])):
            step = 1 + (len(ticks) - 1) // MOST_TICKS
            axis.set_ticks(range(0, len(ticks), step), [_tick(v) for v in ticks[::step]])
        ax.tick_params("x", rotation=45)
        ax.set(ylabel=_short(self.params[0]), xlabel=_short(self.params[1]))
        ax.set_title("the star marks the best", fontsize=9)
        for side in ax.spines.values():
            side.set_visible(False)


def with_all_rows(results):
    """Which settings were tried with the most rows: all of them, unless a search says otherwise."""
    rows = np.asarray(results.get("n_resources", np.zeros(len(results["mean_test_score"]))))
    return rows == rows.max()


def varying(results):
    """Names of the parameters with several values."""
    return [name for name in _param_names(results) if len(_values(results, name)) > 1]


def _param_names(results):
    return [key.removeprefix("param_") for key in results if key.startswith("param_")]


def _values(results, name):
    """The distinct values of a parameter, in order where they have one."""
    found = []
    for value in results[f"param_{name}"]:
        if value is not np.ma.masked and value not in found:
            found.append(value)
    try:
        return sorted(found)
    except TypeError:
        return found


def _tick(value):
    return f"{value:.3g}" if isinstance(value, float) else label(value, 16)


def _short(name):
    """The last part of a parameter of a pipeline."""
    return name.rsplit("__", 1)[-1]


class SpectrumDisplay:
    """The eigenvalues of a square matrix of relations.

    Parameters
    ----------
    spectrum : MatrixSpectrum
        From `psvm.matrix_spectrum`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it is drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.kernels import Sine
    >>> from psvm.report import SpectrumDisplay
    >>> X = np.random.default_rng(0).normal(size=(30, 2))
    >>> SpectrumDisplay.from_matrix(Sine()(X)).ax_.get_ylabel()
    'absolute eigenvalue'
    """

    ax_: Axes
    figure_: Figure

    def __init__(self, spectrum: MatrixSpectrum) -> None:
        self.spectrum = spectrum

    @classmethod
    def from_matrix(
        cls,
        K: MatrixLike,
        *,
        kind: Literal["similarity", "dissimilarity"] = "similarity",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the eigenvalues of a matrix.

        Parameters
        ----------
        K : {array-like, sparse matrix} of shape (n, n)
        kind : {"similarity", "dissimilarity"}, default="similarity"
        ax : matplotlib Axes, default=None

        Returns
        -------
        SpectrumDisplay
        """
        return cls(matrix_spectrum(K, kind=kind)).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Estimator, X: MatrixLike, *, ax: Axes | None = None) -> Self:
        """Draw the eigenvalues of the matrix among the descriptive objects of a fitted estimator.

        Parameters
        ----------
        estimator : PSVC, PSVR, or a pipeline or search of one
            Not with ``kernel="dyadic"``, whose rows and columns are different objects.
        X : array-like
            The data of the fit.
        ax : matplotlib Axes, default=None

        Returns
        -------
        SpectrumDisplay
        """
        return cls.from_matrix(square_matrix(unwrap_psvm(estimator), X), ax=ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        SpectrumDisplay
        """
        ax = new_axes(ax, type(self).__name__)
        self.spectrum.plot(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
