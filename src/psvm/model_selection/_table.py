"""The table of scores, and the choice among its rows."""

import numpy as np

DIGITS = 10
"""Digits of scores that count: models that are the same are not told apart by rounding."""
MOST_DIGITS = 300
"""More of them behind the point overflow."""
SHARE, MOST = 0.5, 0.05
"""Of a standard error of the difference by which the sparsest candidate may be worse; also the one
with the widest kernel, but by no more than that share of the score."""
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
    falling = -np.where(np.isnan(mean), -np.inf, mean)  # NaN has the last rank, as in scikit-learn
    ranks = 1 + np.searchsorted(np.sort(falling), falling)
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


def choose(table, rule, start=np.inf):
    """Index of the chosen row of the table, among those of the round with the most rows.

    Parameters
    ----------
    table : dict
        From `cv_results`.
    rule : {"best", "one_standard_error", "sparsest", "widest", "narrowest"}
        "sparsest": the fewest support objects among all whose mean score is less than the best by
        at most half a standard error of the difference. That is much smaller than
        the one of the score itself: rows that are hard to predict are hard for all candidates.
        "widest": the same among those with the smallest gamma whose best is no worse than that.
        "narrowest": the same, but a gamma below `start` must be better than the next larger one by
        more than a standard error of the difference.
    start : float, default=inf
    """
    mean, sizes = without_rounding(table["mean_test_score"]), table["n_resources"]
    mean = np.where(sizes == sizes.max(), mean, np.nan)
    if not np.isfinite(mean).any():
        raise ValueError("All scores are NaN or infinite; check the scoring and the data.")
    best = int(np.nanargmax(mean))
    if rule in ("widest", "narrowest"):
        best = _widest(table, mean, best) if rule == "widest" else _narrowest(table, best, start)
        mean = np.where(table["param_gamma"].data == table["params"][best]["gamma"], mean, np.nan)
    if rule == "best":
        return best
    folds = _folds(table)
    if rule == "one_standard_error":
        error = _standard_error(folds[:, best])
    else:
        error = SHARE * _standard_error(folds - folds[:, [best]])
    good = np.flatnonzero(mean >= mean[best] - error)
    return min(good, key=lambda i: (table["mean_n_support"][i], -mean[i]))


def _widest(table, mean, best):
    """Index of the best candidate with the smallest gamma that is hardly worse than the best."""
    gammas = table["param_gamma"].data
    for gamma in np.unique(gammas[np.isfinite(mean)]):
        index = best_with(table, gamma)
        if is_near(table, index, best, SHARE, MOST):
            return index
    return best


def _narrowest(table, best, start):
    """Index of the best candidate with the first gamma that is clearly better than the next."""
    all_gammas = table["param_gamma"].data[table["n_resources"] == table["n_resources"].max()]
    for gamma in np.unique(all_gammas):
        if table["params"][best]["gamma"] < min(gamma, start):
            index = best_with(table, gamma)
            if not is_near(table, index, best, 1.0):
                break
            best = index
    return best


def best_with(table, gamma):
    """Index of the best candidate with a gamma, among those of the round with the most rows."""
    mean, sizes = table["mean_test_score"], table["n_resources"]
    here = (table["param_gamma"].data == gamma) & (sizes == sizes.max()) & np.isfinite(mean)
    return int(np.argmax(np.where(here, mean, -np.inf)))


def is_near(table, index, best, errors, share=np.inf):
    """Whether a candidate is worse by no more than some standard errors of the difference.

    It may not be worse by more than a share of the score either.
    """
    folds = _folds(table)
    worse = folds[:, best] - folds[:, index]
    most = share * abs(table["mean_test_score"][best])
    return worse.mean() <= min(errors * _standard_error(worse), most)


def _folds(table):
    """Scores of the folds, of shape (k, n_candidates)."""
    return np.array([table[name] for name in table if name.startswith("split")])


def _standard_error(folds):
    """Standard errors of means over the first axis."""
    return np.std(folds, axis=0, ddof=1) / np.sqrt(len(folds))
