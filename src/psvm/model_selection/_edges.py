"""Warnings of a choice at the end of a grid, beyond which there may be a better one."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ._grid import LARGEST, LEVEL

FEWEST = 3
"""A grid of fewer values has no inside."""


def warn_of_edges(options, table, index, epsilons, at_bound):
    """Warn if the chosen row of a table is at the end of a grid.

    Parameters
    ----------
    options : PSVCCV or PSVRCV
    table : dict
        The `cv_results_`.
    index : int
        The chosen row.
    epsilons : ndarray
        All shares of epsilon_max that a path may have, decreasing.
    at_bound : bool
        Whether any variable of the chosen model is at the bound C.
    """
    chosen = table["params"][index]
    for text in (
        _at_edge_of_epsilon(chosen["epsilon"], epsilons, options),
        _at_edge(table, index, "gamma", "gammas"),
        _at_edge(table, index, "C", "Cs") if at_bound else None,
    ):
        if text is not None:
            warnings.warn(text, ConvergenceWarning, stacklevel=4)


def _at_edge_of_epsilon(chosen, epsilons, options):
    if len(epsilons) < FEWEST or chosen == 0:
        return None
    if chosen == epsilons[-1]:
        remedy = (
            "Give epsilons smaller values"
            if np.ndim(options.epsilons)
            else ("Increase epsilons" if options.min_ratio is None else "Decrease min_ratio")
        )
        return (
            f"The chosen epsilon is the smallest of the grid, {chosen:.3g} of epsilon_max: a "
            f"smaller one may be better. {remedy}."
        )
    if chosen == epsilons[0] < LARGEST:
        return (
            f"The chosen epsilon is the largest of the grid, {chosen:.3g} of epsilon_max: a larger "
            "one may be better. Give epsilons larger values."
        )
    return None


def _at_edge(table, index, name, parameter):
    """The same of C or gamma, unless the score has levelled off."""
    values = np.unique(table[f"param_{name}"].data[_walked(table, name)])
    chosen = table["params"][index][name]
    if len(values) < FEWEST or chosen not in (values[0], values[-1]) or chosen == np.inf:
        return None
    if has_levelled_off(table, name, _ends(values, chosen)):
        return None
    size = "smallest" if chosen == values[0] else "largest"
    return (
        f"The chosen {name} is the {size} that was tried, {chosen:.3g}: a "
        f"{size.replace('est', 'er')} one may be better. Give {parameter} such values."
    )


def has_levelled_off(table, name, ends):
    """Whether the value at the end of a grid is hardly better than its neighbour."""
    places = [_walked(table, name) & (table[f"param_{name}"].data == value) for value in ends]
    # C may have been tried with one gamma alone.
    other = table["param_gamma" if name == "C" else "param_C"].data
    common = np.intersect1d(*(other[here] for here in places))
    if len(common):
        places = [here & np.isin(other, common) for here in places]
    here, neighbour = (_best(table["mean_test_score"][place]) for place in places)
    return here - neighbour <= LEVEL * abs(here)


def _walked(table, name):
    """The candidates of the round in which all values of C or gamma were tried.

    If some rows were enough for gamma, all rows have the chosen one alone.
    """
    sizes = table["n_resources"]
    return sizes == (sizes.max() if name == "C" else sizes.min())


def _ends(values, chosen):
    """The value at an end, and the one beside it."""
    return values[:2] if chosen == values[0] else values[:-3:-1]


def _best(mean):
    return np.max(np.where(np.isnan(mean), -np.inf, mean))
