"""Grids of parameters, the table of their scores, and the choice among them."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import rankdata

COARSE, FINE = 4, 7
"""Values of C and of the width in the two rounds of a search from coarse to fine (Hochreiter &
Obermayer 2004, section 3.2)."""
RULES = ("auto", "best", "one_standard_error")


@dataclass(frozen=True, eq=False)
class Candidates:
    """All combinations of some values, with what was found.

    The last three arrays have the shape (n_Cs, n_epsilons, n_gammas, n_folds).
    """

    Cs: np.ndarray
    epsilons: np.ndarray
    gammas: list
    scores: np.ndarray
    n_support: np.ndarray
    fit_time: np.ndarray

    @property
    def params(self):
        """The combinations in the order of scikit-learn's ParameterGrid."""
        combinations = product(self.Cs, self.epsilons, self.gammas)
        return [{"C": float(C), "epsilon": float(e), "gamma": g} for C, e, g in combinations]

    def rows(self, name):
        """One of the arrays as (n_candidates, n_folds)."""
        values = getattr(self, name)
        return values.reshape(-1, values.shape[-1])


def coarse(values):
    """A few values that span the same range evenly on a logarithmic scale."""
    values = list(values)
    if len(values) < 2:
        return values
    return np.geomspace(min(values), max(values), COARSE).tolist()


def fine(best, values):
    """Values around the best one of a coarse grid, up to its neighbours."""
    if len(values) < 2:
        return list(values)
    step = (max(values) / min(values)) ** (1 / (len(values) - 1))
    return np.geomspace(best / step, best * step, FINE).tolist()


def cv_results(rounds):
    """The table of all rounds in the layout of scikit-learn's GridSearchCV."""
    params = [combination for found in rounds for combination in found.params]
    scores = np.concatenate([found.rows("scores") for found in rounds])
    table = {"params": params}
    for name in ("C", "epsilon", "gamma"):
        values = [combination[name] for combination in params]
        table[f"param_{name}"] = np.ma.array(values, mask=np.zeros(len(values), dtype=bool))
    for i, column in enumerate(scores.T):
        table[f"split{i}_test_score"] = column
    table["mean_test_score"] = np.average(scores, axis=1)
    table["std_test_score"] = np.std(scores, axis=1)
    table["rank_test_score"] = rankdata(-table["mean_test_score"], method="min").astype(np.int32)
    for name in ("n_support", "fit_time"):
        values = np.concatenate([found.rows(name) for found in rounds])
        table[f"mean_{name}"], table[f"std_{name}"] = values.mean(axis=1), values.std(axis=1)
    table["iter"] = np.repeat(np.arange(len(rounds)), [len(found.params) for found in rounds])
    return table


def choose(table, rule, slack):
    """Index of the chosen row of the table.

    Parameters
    ----------
    table : dict
        From `cv_results`.
    rule : {"auto", "best", "one_standard_error"}
    slack : float
        With "auto": share of the best score by which that of the chosen one may be worse.
    """
    mean = table["mean_test_score"]
    if not np.isfinite(mean).any():
        raise ValueError("All scores are NaN or infinite; check the scoring and the data.")
    best = int(np.nanargmax(mean))
    if rule == "best" or (rule == "auto" and slack == 0):
        return best
    if rule == "auto":
        good = mean >= mean[best] - slack * abs(mean[best])
        return min(np.flatnonzero(good), key=lambda i: (-table["param_epsilon"][i], -mean[i]))
    folds = [table[name][best] for name in table if name.startswith("split")]
    error = np.std(folds, ddof=1) / np.sqrt(len(folds))
    good = np.flatnonzero(mean >= mean[best] - error)
    return min(good, key=lambda i: (table["mean_n_support"][i], -mean[i]))
