"""The table of scores, and the choice among its rows."""

import numpy as np
from scipy.stats import rankdata

DIGITS = 10
"""Digits of scores that count: models that are the same are not told apart by rounding."""
MOST_DIGITS = 300
"""More of them behind the point overflow."""
SHARE = 0.5
"""Of a standard error of the difference by which the sparsest candidate may be worse."""
RULES = ("auto", "best", "one_standard_error")


def cv_results(rounds, sizes):
    """The table of all rounds in the layout of scikit-learn's GridSearchCV.

    The rounds have learnt from so many rows each: `sizes`.
    """
    params = [combination for found in rounds for combination in found.params]
    scores = np.concatenate([found.scores for found in rounds])
    table = {"params": params}
    for name in ("C", "epsilon", "gamma"):
        values = [combination[name] for combination in params]
        table[f"param_{name}"] = np.ma.array(values, mask=np.zeros(len(values), dtype=bool))
    for i, column in enumerate(scores.T):
        table[f"split{i}_test_score"] = column
    table["mean_test_score"] = np.average(scores, axis=1)
    table["std_test_score"] = np.std(scores, axis=1)
    mean = table["mean_test_score"]
    last = -np.inf  # NaN has the last rank, as in scikit-learn
    ranks = rankdata(-np.where(np.isnan(mean), last, mean), method="min")
    table["rank_test_score"] = ranks.astype(np.int32)
    for name in ("n_support", "fit_time"):
        values = np.concatenate([getattr(found, name) for found in rounds])
        table[f"mean_{name}"], table[f"std_{name}"] = values.mean(axis=1), values.std(axis=1)
    lengths = [len(found.params) for found in rounds]
    table["iter"] = np.repeat(np.arange(len(rounds)), lengths)
    table["n_resources"] = np.repeat(sizes, lengths)
    return table


def without_rounding(scores):
    """Scores without the last digits, in which those of one model may differ."""
    best = abs(scores[np.isfinite(scores)].max(initial=-np.inf))
    digits = DIGITS - int(np.ceil(np.log10(best))) if 0 < best < np.inf else DIGITS
    return np.round(scores, min(digits, MOST_DIGITS))


def choose(table, rule):
    """Index of the chosen row of the table, among those of the round with the most rows.

    Parameters
    ----------
    table : dict
        From `cv_results`.
    rule : {"best", "one_standard_error", "sparsest"}
        "sparsest": the fewest support objects among all whose mean score is less than the best by
        at most half a standard error of the difference. That is much smaller than
        the one of the score itself: rows that are hard to predict are hard for all candidates.
    """
    mean, sizes = without_rounding(table["mean_test_score"]), table["n_resources"]
    mean = np.where(sizes == sizes.max(), mean, np.nan)
    if not np.isfinite(mean).any():
        raise ValueError("All scores are NaN or infinite; check the scoring and the data.")
    best = int(np.nanargmax(mean))
    if rule == "best":
        return best
    folds = np.array([table[name] for name in table if name.startswith("split")])
    if rule == "one_standard_error":
        error = _standard_error(folds[:, best])
    else:
        error = SHARE * _standard_error(folds - folds[:, [best]])
    good = np.flatnonzero(mean >= mean[best] - error)
    return min(good, key=lambda i: (table["mean_n_support"][i], -mean[i]))


def _standard_error(folds):
    """Standard errors of means over the first axis."""
    return np.std(folds, axis=0, ddof=1) / np.sqrt(len(folds))
