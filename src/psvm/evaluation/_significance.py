"""Is one model better than the other? Tests on the values of two models on the same splits.

In all of them the first argument belongs to the first model and differences are first minus
second; for errors a negative difference means that the first model is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import stats

from .._typing import ArrayLike
from .._validation import as_array, check_choice, check_flag, check_number, check_vector, is_number

FEW = 25
"""Up to so many objects on which the models disagree, McNemar's test is exact."""
MOST = 2**53
"""Counts up to here are exact as doubles."""
EXACT = 50
"""Up to so many differences the distribution of the signed ranks is computed exactly."""


@dataclass(frozen=True)
class Significance:
    """Result of a test of two models.

    Attributes
    ----------
    method : str
        Name of the test.
    statistic : float
        Its statistic.
    pvalue : float
        Probability of such a statistic or a more extreme one, in both directions, if the models
        do not differ.
    difference : float
        Estimated difference, first minus second model.
    interval : (float, float) or None
        Confidence interval of the difference; None where the test gives none.
    confidence_level : float
        Level of the interval.

    Examples
    --------
    >>> from psvm.evaluation import paired_t_test
    >>> print(paired_t_test([0.10, 0.12, 0.08, 0.14], [0.12, 0.15, 0.11, 0.15]))
    paired t-test (optimistic): statistic -4.7, p = 0.0182, difference -0.0225 (95 % interval \
-0.03773 to -0.007265)
    """

    method: str
    statistic: float
    pvalue: float
    difference: float
    interval: tuple[float, float] | None
    confidence_level: float

    def __str__(self):
        text = f"{self.method}: statistic {self.statistic:.4g}, p = {self.pvalue:.3g}, "
        text += f"difference {self.difference:.4g}"
        if self.interval is None:
            return text
        low, high = self.interval
        return f"{text} ({100 * self.confidence_level:g} % interval {low:.4g} to {high:.4g})"


@dataclass(frozen=True, eq=False)
class SplitSignificance:
    """Tests of two models on many splits, with control of the false discovery rate.

    Attributes
    ----------
    statistic, pvalue, difference : ndarray of shape (n_splits,)
        Results of the single splits.
    adjusted : ndarray of shape (n_splits,)
        p-values adjusted for the number of splits.
    level : float
        Rate of false discoveries up to which a split counts as significant.

    Examples
    --------
    >>> from psvm.evaluation import split_proportion_test
    >>> result = split_proportion_test([10, 12, 20], [30, 29, 21], 100)
    >>> result.n_first_better, result.global_pvalue < 0.01
    (2, True)
    """

    statistic: np.ndarray
    pvalue: np.ndarray
    difference: np.ndarray
    adjusted: np.ndarray
    level: float

    @property
    def n_first_better(self) -> int:
        """Number of splits where the first model is significantly better."""
        return int(np.sum((self.adjusted <= self.level) & (self.difference < 0)))

    @property
    def n_second_better(self) -> int:
        """Number of splits where the second model is significantly better."""
        return int(np.sum((self.adjusted <= self.level) & (self.difference > 0)))

    @property
    def global_pvalue(self) -> float:
        """The smallest adjusted p-value: that of the hypothesis of no difference in any split."""
        return float(self.adjusted.min())

    def __str__(self):
        return (
            f"significant at a false discovery rate of {100 * self.level:g} %: first better in "
            f"{self.n_first_better}, second better in {self.n_second_better} of "
            f"{len(self.pvalue)} splits"
        )


def proportion_test(
    wrong_a: int, wrong_b: int, n_a: int, n_b: int | None = None, *, confidence_level: float = 0.95
) -> Significance:
    """Difference of two proportions of errors.

    The z-test with the pooled proportion, as in [1]_. It treats both proportions as independent:
    for two models on the same objects `mcnemar_test` uses more information.

    Parameters
    ----------
    wrong_a, wrong_b : int
        Numbers of errors.
    n_a : int
        Number of test objects of the first model.
    n_b : int, default=None
        Number of test objects of the second model; None means the same number.
    confidence_level : float, default=0.95
        Level of the interval, which is Newcombe's from two Wilson intervals [2]_.

    Returns
    -------
    Significance

    References
    ----------
    .. [1] T. G. Dietterich: Approximate statistical tests for comparing supervised classification
       learning algorithms. Neural Computation 10 (1998).
    .. [2] R. G. Newcombe: Interval estimation for the difference between independent proportions.
       Statistics in Medicine 17 (1998), method 10.

    Examples
    --------
    >>> from psvm.evaluation import proportion_test
    >>> print(proportion_test(20, 35, 100))
    difference of two proportions: statistic -2.375, p = 0.0175, difference -0.15 (95 % interval \
-0.2681 to -0.02611)
    """
    n_b = n_a if n_b is None else n_b
    check_level(confidence_level)
    _check_counts("wrong_a", wrong_a, "n_a", n_a)
    _check_counts("wrong_b", wrong_b, "n_b", n_b)
    share_a, share_b = wrong_a / n_a, wrong_b / n_b
    pooled = (wrong_a + wrong_b) / (n_a + n_b)
    deviation = np.sqrt(pooled * (1 - pooled) * (1 / n_a + 1 / n_b))
    z = (share_a - share_b) / deviation if deviation > 0 else 0.0
    low_a, high_a = _wilson(wrong_a, n_a, confidence_level)
    low_b, high_b = _wilson(wrong_b, n_b, confidence_level)
    difference = share_a - share_b
    return Significance(
        method="difference of two proportions",
        statistic=float(z),
        pvalue=float(2 * stats.norm.sf(abs(z))),
        difference=difference,
        interval=(
            float(difference - np.hypot(share_a - low_a, high_b - share_b)),
            float(difference + np.hypot(high_a - share_a, share_b - low_b)),
        ),
        confidence_level=confidence_level,
    )


def split_proportion_test(
    wrong_a: ArrayLike,
    wrong_b: ArrayLike,
    n_test: ArrayLike,
    *,
    level: float = 0.05,
    method: Literal["bh", "by"] = "bh",
) -> SplitSignificance:
    """Difference of two proportions on each split, with control of the false discovery rate.

    This is how the papers of the P-SVM compare classifiers over many pairs of training and test
    sets: each pair is tested by itself, and the number of pairs in which one of the models is
    significantly better is counted.

    Parameters
    ----------
    wrong_a, wrong_b : array-like of shape (n_splits,)
        Numbers of errors on each split.
    n_test : int or array-like of shape (n_splits,)
        Numbers of test objects.
    level : float, default=0.05
        The rate of false discoveries that is allowed.
    method : {"bh", "by"}, default="bh"
        Benjamini-Hochberg, for independent or positively dependent tests, or Benjamini-Yekutieli,
        for any dependence.

    Returns
    -------
    SplitSignificance

    Examples
    --------
    >>> from psvm.evaluation import split_proportion_test
    >>> print(split_proportion_test([10, 12, 20], [30, 29, 21], 100))
    significant at a false discovery rate of 5 %: first better in 2, second better in 0 of 3 splits
    """
    check_choice("method", method, ("bh", "by"))
    check_level(level, "level")
    a, b = _two("wrong_a", wrong_a, "wrong_b", wrong_b)
    n = np.broadcast_to(n_test, a.shape) if is_number(n_test) else check_vector("n_test", n_test)
    if n.shape != a.shape:
        raise ValueError(
            f"n_test must be one number or one for each of the {len(a)} splits, got {len(n)}."
        )
    for wrong_a, wrong_b, size in zip(a, b, n, strict=True):
        _check_counts("wrong_a", wrong_a, "n_test", size)
        _check_counts("wrong_b", wrong_b, "n_test", size)
    tests = [proportion_test(*split) for split in zip(a, b, n, strict=True)]
    pvalue = np.array([t.pvalue for t in tests])
    return SplitSignificance(
        statistic=np.array([t.statistic for t in tests]),
        pvalue=pvalue,
        difference=np.array([t.difference for t in tests]),
        adjusted=stats.false_discovery_control(pvalue, method=method),
        level=level,
    )


def paired_t_test(a: ArrayLike, b: ArrayLike, *, confidence_level: float = 0.95) -> Significance:
    """Cross-validated paired t-test: the plain one, which is too optimistic.

    The training sets of the folds overlap, so that the differences are not independent, and their
    variance over the folds is smaller than that of their mean over new data. If the models do not
    differ, it says "significant" too often: use `corrected_t_test`.

    Parameters
    ----------
    a, b : array-like of shape (n_splits,)
        Errors (or scores) of both models on the same splits.
    confidence_level : float, default=0.95

    Returns
    -------
    Significance

    Examples
    --------
    >>> from psvm.evaluation import paired_t_test
    >>> paired_t_test([0.10, 0.12, 0.08, 0.14], [0.12, 0.15, 0.11, 0.15]).pvalue.__round__(4)
    0.0182
    """
    d = _differences(a, b)
    return _t_test("paired t-test (optimistic)", d, 1 / len(d), confidence_level)


def corrected_t_test(
    a: ArrayLike, b: ArrayLike, *, n_train: float, n_test: float, confidence_level: float = 0.95
) -> Significance:
    """Corrected resampled t-test of Nadeau and Bengio.

    The variance of the mean difference of k splits is taken as ``(1/k + n_test/n_train) s^2``
    instead of ``s^2 / k``, because the training sets overlap. Proposed for random splits [1]_; for
    (repeated) k-fold cross-validation the same correction is in use [2]_.

    Parameters
    ----------
    a, b : array-like of shape (n_splits,)
        Errors (or scores) of both models on the same splits.
    n_train, n_test : float
        (Mean) number of training and of test objects of a split.
    confidence_level : float, default=0.95

    Returns
    -------
    Significance

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio: Inference for the generalization error. Machine Learning 52 (2003).
    .. [2] R. R. Bouckaert, E. Frank: Evaluating the replicability of significance tests for
       comparing learning algorithms. PAKDD (2004).

    Examples
    --------
    >>> from psvm.evaluation import corrected_t_test
    >>> a, b = [0.10, 0.12, 0.08, 0.14], [0.12, 0.15, 0.11, 0.15]
    >>> corrected_t_test(a, b, n_train=75, n_test=25).pvalue.__round__(4)
    0.0543
    """
    check_number("n_train", n_train, above=0)
    check_number("n_test", n_test, above=0)
    d = _differences(a, b)
    return _t_test("corrected resampled t-test", d, 1 / len(d) + n_test / n_train, confidence_level)


def five_by_two_t_test(
    a: ArrayLike, b: ArrayLike, *, confidence_level: float = 0.95
) -> Significance:
    """5x2cv paired t-test of Dietterich.

    Five times two-fold cross-validation. The statistic compares the difference of the very first
    fold with the variances within the five pairs of folds; it has five degrees of freedom.

    Parameters
    ----------
    a, b : array-like of shape (5, 2) or (10,)
        Errors (or scores) of both models: five repetitions of two folds.
    confidence_level : float, default=0.95

    Returns
    -------
    Significance
        Its `difference` is that of the first fold.

    References
    ----------
    T. G. Dietterich: Approximate statistical tests for comparing supervised classification
    learning algorithms. Neural Computation 10 (1998).

    Examples
    --------
    >>> from psvm.evaluation import five_by_two_t_test
    >>> a = [[0.10, 0.12], [0.11, 0.09], [0.12, 0.13], [0.10, 0.10], [0.08, 0.12]]
    >>> b = [[0.14, 0.15], [0.13, 0.15], [0.14, 0.16], [0.16, 0.14], [0.12, 0.13]]
    >>> five_by_two_t_test(a, b).pvalue.__round__(4)
    0.0723
    """
    check_level(confidence_level)
    d, variances = _five_by_two(a, b)
    deviation = np.sqrt(variances.mean())
    statistic = ratio(d[0, 0], deviation)
    half = stats.t.ppf((1 + confidence_level) / 2, 5) * deviation
    return Significance(
        method="5x2cv t-test",
        statistic=statistic,
        pvalue=float(2 * stats.t.sf(abs(statistic), 5)),
        difference=float(d[0, 0]),
        interval=(float(d[0, 0] - half), float(d[0, 0] + half)),
        confidence_level=confidence_level,
    )


def five_by_two_f_test(a: ArrayLike, b: ArrayLike) -> Significance:
    """5x2cv combined F-test of Alpaydin, which uses all ten differences.

    Parameters
    ----------
    a, b : array-like of shape (5, 2) or (10,)
        Errors (or scores) of both models: five repetitions of two folds.

    Returns
    -------
    Significance
        Its `difference` is the mean; there is no interval.

    References
    ----------
    E. Alpaydin: Combined 5x2cv F test for comparing supervised classification learning algorithms.
    Neural Computation 11 (1999).

    Examples
    --------
    >>> from psvm.evaluation import five_by_two_f_test
    >>> a = [[0.10, 0.12], [0.11, 0.09], [0.12, 0.13], [0.10, 0.10], [0.08, 0.12]]
    >>> b = [[0.14, 0.15], [0.13, 0.15], [0.14, 0.16], [0.16, 0.14], [0.12, 0.13]]
    >>> five_by_two_f_test(a, b).pvalue.__round__(4)
    0.0499
    """
    d, variances = _five_by_two(a, b)
    statistic = ratio(np.sum(d**2), 2 * variances.sum())
    return Significance(
        method="5x2cv F-test",
        statistic=statistic,
        pvalue=float(stats.f.sf(statistic, 10, 5)),
        difference=float(d.mean()),
        interval=None,
        confidence_level=0.95,
    )


def wilcoxon_test(a: ArrayLike, b: ArrayLike, *, confidence_level: float = 0.95) -> Significance:
    """Wilcoxon signed rank test.

    For values of independent data sets, or as a robust look at splits, with the same reservation as
    for the plain t-test. Differences of zero are left out of the statistic. For up to 50
    differences the p-value is exact, ties included; for more it is a normal approximation. The
    estimated difference is the median of all means of two differences (Hodges and Lehmann), and the
    interval consists of the shifts that the test would not reject.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        Errors (or scores) of both models on the same splits or data sets.
    confidence_level : float, default=0.95

    Returns
    -------
    Significance

    Examples
    --------
    >>> from psvm.evaluation import wilcoxon_test
    >>> print(wilcoxon_test([11, 14, 9, 21, 17, 30], [15, 20, 11, 22, 25, 33]))
    Wilcoxon signed rank test: statistic 0, p = 0.0312, difference -4 (95 % interval -8 to -1)
    """
    check_level(confidence_level)
    d = _differences(a, b)
    statistic, pvalue = 0.0, 1.0
    if d.any():
        statistic, pvalue = _signed_rank_test(d[d != 0])
    i, j = np.triu_indices(len(d))
    means = np.sort((d[i] + d[j]) / 2)
    k = _rank_quantile(len(d), (1 - confidence_level) / 2)
    interval = (-np.inf, np.inf) if k == 0 else (float(means[k - 1]), float(means[-k]))
    return Significance(
        method="Wilcoxon signed rank test",
        statistic=float(statistic),
        pvalue=float(pvalue),
        difference=float(np.median(means)),
        interval=interval,
        confidence_level=confidence_level,
    )


def mcnemar_test(
    wrong_a: ArrayLike,
    wrong_b: ArrayLike,
    *,
    exact: bool | None = None,
    correction: bool = True,
    confidence_level: float = 0.95,
) -> Significance:
    """McNemar's test of two classifiers on the same test objects.

    Only objects on which exactly one of the two classifiers is wrong count.

    Parameters
    ----------
    wrong_a, wrong_b : array-like of bool of shape (n_objects,)
        Which objects each classifier gets wrong.
    exact : bool, default=None
        Binomial test instead of the chi-squared approximation. None: with at most 25 objects on
        which the classifiers disagree.
    correction : bool, default=True
        Continuity correction of the chi-squared statistic.
    confidence_level : float, default=0.95
        Level of the interval: Wald's with half an object added to each of the four cells [1]_.

    Returns
    -------
    Significance
        `statistic` is chi-squared, or the smaller of the two counts if the test is exact.

    References
    ----------
    .. [1] A. Agresti, Y. Min: Simple improved confidence intervals for comparing matched
       proportions. Statistics in Medicine 24 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.evaluation import mcnemar_test
    >>> y = np.array([0, 0, 0, 1, 1, 1, 1, 0, 1, 0])
    >>> a = np.array([0, 0, 1, 1, 1, 1, 1, 0, 1, 0])
    >>> b = np.array([1, 1, 0, 0, 1, 0, 0, 1, 1, 0])
    >>> mcnemar_test(a != y, b != y).pvalue
    0.125
    """
    check_level(confidence_level)
    check_flag("correction", correction)
    a, b = _two("wrong_a", wrong_a, "wrong_b", wrong_b)
    if not np.isin(np.concatenate([a, b]), (0, 1)).all():
        raise ValueError(
            "wrong_a and wrong_b must be True where a prediction is wrong, else False."
        )
    only_a, only_b = int(np.sum(a > b)), int(np.sum(b > a))
    discordant = only_a + only_b
    if exact is None:
        exact = discordant <= FEW
    check_flag("exact", exact)
    if exact:
        statistic = float(min(only_a, only_b))
        pvalue = stats.binomtest(int(statistic), discordant).pvalue if discordant else 1.0
    else:
        excess = max(abs(only_a - only_b) - bool(correction), 0)
        statistic = excess**2 / discordant if discordant else 0.0
        pvalue = stats.chi2.sf(statistic, 1)
    n, x, y = len(a) + 2, only_a + 0.5, only_b + 0.5
    half = stats.norm.ppf((1 + confidence_level) / 2) * np.sqrt(x + y - (x - y) ** 2 / n) / n
    return Significance(
        method="McNemar's test" + (" (exact)" if exact else ""),
        statistic=statistic,
        pvalue=float(pvalue),
        difference=(only_a - only_b) / len(a),
        interval=(float((x - y) / n - half), float((x - y) / n + half)),
        confidence_level=confidence_level,
    )


def _t_test(method, d, factor, confidence_level):
    """A t-test of the mean of d, whose variance is `factor` times that of the differences."""
    check_level(confidence_level)
    if len(d) < 2:
        raise ValueError("A t-test needs the values of at least two splits.")
    mean, df = d.mean(), len(d) - 1
    deviation = np.sqrt(factor * d.var(ddof=1))
    statistic = ratio(mean, deviation)
    half = stats.t.ppf((1 + confidence_level) / 2, df) * deviation
    return Significance(
        method=method,
        statistic=statistic,
        pvalue=float(2 * stats.t.sf(abs(statistic), df)),
        difference=float(mean),
        interval=(float(mean - half), float(mean + half)),
        confidence_level=confidence_level,
    )


def ratio(a, b):
    """``a / b``; no difference is no evidence, also without variance."""
    if b > 0:
        return float(a / b)
    return float(np.sign(a) * np.inf) if a != 0 else 0.0


def _signed_rank_test(d):
    """The smaller one of both sums of ranks, and its p-value."""
    ranks = stats.rankdata(np.abs(d))
    statistic = min(ranks[d > 0].sum(), ranks[d < 0].sum())
    if len(d) > EXACT:
        return statistic, stats.wilcoxon(d).pvalue
    # Twice the ranks are whole numbers also where ties share them.
    tail = _distribution_of_sums(np.rint(2 * ranks).astype(int))[: round(2 * statistic) + 1].sum()
    return statistic, min(2 * tail, 1.0)


def _distribution_of_sums(ranks):
    """Probabilities of the sums 0, 1, ... when each rank counts with probability one half."""
    probability = np.ones(1)
    for rank in ranks:
        step = np.zeros(rank + 1)
        step[[0, rank]] = 0.5
        probability = np.convolve(probability, step)
    return probability


def _rank_quantile(n, tail):
    """The largest k with ``P(W < k) <= tail`` for the sum W of signed ranks of n differences."""
    if n > EXACT:
        deviation = np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return max(int(n * (n + 1) / 4 - stats.norm.isf(tail) * deviation), 0)
    probability = _distribution_of_sums(range(1, n + 1))
    return int(np.searchsorted(np.cumsum(probability), tail, side="right"))


def _five_by_two(a, b):
    """Differences of five repetitions of two folds, and the variance within each repetition."""
    a, b = as_array("a", a), as_array("b", b)
    if a.shape not in ((5, 2), (10,)) or b.shape != a.shape:
        raise ValueError(
            "a and b must hold the values of five repetitions of two folds, in the shape (5, 2) or "
            f"(10,), got {a.shape} and {b.shape}."
        )
    d = _differences(a.ravel(), b.ravel()).reshape(5, 2)
    return d, np.sum((d - d.mean(axis=1, keepdims=True)) ** 2, axis=1)


def _differences(a, b):
    """``a - b`` without the rounding errors that would make equal differences different."""
    a, b = _two("a", a, "b", b)
    scale = max(np.abs(a).max(), np.abs(b).max())
    return np.round((a - b) / scale, 12) * scale if scale > 0 else a - b


def _two(name_a, a, name_b, b):
    a, b = check_vector(name_a, a), check_vector(name_b, b)
    if len(a) != len(b):
        raise ValueError(
            f"{name_a} and {name_b} must belong to the same splits or objects, got {len(a)} and "
            f"{len(b)} values."
        )
    return a, b


def _wilson(wrong, n, level):
    return stats.binomtest(int(wrong), int(n)).proportion_ci(level, method="wilson")


def _check_counts(name, wrong, of, n):
    """Check that errors and test objects are whole numbers, not more errors than objects."""
    check_number(of, n, above=0, most=MOST)
    check_number(name, wrong, least=0, most=MOST)
    if wrong > n or wrong != int(wrong) or n != int(n):
        raise ValueError(
            f"{name} and {of} must be whole numbers of errors and of test objects, got {wrong!r} "
            f"of {n!r}."
        )


def check_level(value, name="confidence_level"):
    check_number(name, value, above=0, below=1)
