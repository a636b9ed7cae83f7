"""What `evaluate`, `significance` and `stability` of `GeneSelector` return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import binomtest, false_discovery_control

from ._error_bounds import StabilityParameters
from ._stability import FeatureGroup


@dataclass(frozen=True, eq=False)
class SelectionEvaluation:
    """Honest error of a selection protocol.

    Attributes
    ----------
    error : float
        Share of wrong predictions for samples that took no part in anything before.
    inner_error : float
        Mean over the folds of the error by which the number of features was chosen; too small.
    n_samples : int
        Number of predicted samples.
    indices, predictions : ndarray
        The samples in the order in which they were predicted, and the predictions.
    supports : list of ndarray
        The features that each fold selected, best first.
    params : list of dict
        The parameters of the classifier that each fold chose.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import GeneSelector
    >>> X = np.random.default_rng(0).normal(size=(30, 50))
    >>> y = X[:, 3] > 0
    >>> result = GeneSelector(n_features=[1, 2], smoothing=0, cv=3).evaluate(X, y, cv=3)
    >>> low, high = result.confidence_interval()
    >>> low <= result.error <= high
    True
    """

    error: float
    inner_error: float
    n_samples: int
    indices: np.ndarray
    predictions: np.ndarray
    supports: list[np.ndarray]
    params: list[dict[str, Any]]

    @classmethod
    def create(
        cls,
        y: np.ndarray,
        splits: Any,
        predictions: Any,
        inner_errors: Any,
        supports: Any,
        params: Any,
    ) -> Self:
        """Put the folds together."""
        indices = np.concatenate([test for _, test in splits])
        predictions = np.concatenate(predictions)
        return cls(
            error=float(np.mean(predictions != y[indices])),
            inner_error=float(np.mean(inner_errors)),
            n_samples=len(np.unique(indices)),
            indices=indices,
            predictions=predictions,
            supports=list(supports),
            params=list(params),
        )

    def confidence_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Wilson's interval for the error, which treats the predictions as independent.

        Parameters
        ----------
        level : float, default=0.95
            Probability with which such an interval covers the true error.

        Returns
        -------
        tuple of float
        """
        wrong = round(self.error * self.n_samples)
        interval = binomtest(wrong, self.n_samples).proportion_ci(level, method="wilson")
        return float(interval.low), float(interval.high)

    def __repr__(self):
        low, high = self.confidence_interval()
        return (
            f"SelectionEvaluation(error={self.error:.3f}, 95% interval {low:.3f} to {high:.3f}, "
            f"inner_error={self.inner_error:.3f} (biased), n_samples={self.n_samples})"
        )


@dataclass(frozen=True, eq=False)
class SelectionSignificance:
    """Selections beside those for shuffled labels.

    Attributes
    ----------
    frequency : ndarray of shape (n_features,)
        Share of the folds that select a feature.
    score : ndarray of shape (n_features,)
        Share of the folds and epsilons that select a feature.
    p_values : ndarray of shape (n_features,)
        Share of the scores for shuffled labels, of all features and shuffles together, that are at
        least as large; the score itself counts as one of them.
    q_values : ndarray of shape (n_features,)
        False discovery rates after Benjamini and Hochberg.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import GeneSelector
    >>> X = np.random.default_rng(0).normal(size=(40, 50))
    >>> y = X[:, 3] > 0
    >>> result = GeneSelector(cv=4).significance(X, y, random_state=0)
    >>> np.flatnonzero(result.q_values < 0.1)
    array([3])
    """

    frequency: np.ndarray
    score: np.ndarray
    p_values: np.ndarray
    q_values: np.ndarray

    @classmethod
    def create(cls, frequency: np.ndarray, score: np.ndarray, null: np.ndarray) -> Self:
        """Compare scores with those of shuffles, an array of shape (shuffles, features)."""
        null = np.sort(null, axis=None)
        exceeding = len(null) - np.searchsorted(null, score * (1 - 1e-12), side="left")
        p_values = (1 + exceeding) / (1 + len(null))
        return cls(frequency, score, p_values, false_discovery_control(p_values))


@dataclass(frozen=True, eq=False)
class SelectionStability:
    """How often halves of the samples select genes, with a bound of the false selections.

    Attributes
    ----------
    frequency : ndarray of shape (n_features,)
        Share of the halves that select a gene; 0 if the preprocessing drops it.
    selected : ndarray of int
        The genes with a frequency of at least ``parameters.threshold``, the most frequent first.
    parameters : StabilityParameters
        Among them `pfer`, the bound of the expected number of false genes in `selected`.
    groups : list of FeatureGroup
        The genes that any half selects, in groups of highly correlated ones.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import GeneSelector
    >>> X = np.random.default_rng(0).normal(size=(60, 50))
    >>> y = X[:, 3] > 0
    >>> result = GeneSelector().stability(X, y, pfer=0.5, random_state=0)
    >>> result.selected, bool(result.parameters.pfer <= 0.5)
    (array([3]), True)
    """

    frequency: np.ndarray
    selected: np.ndarray
    parameters: StabilityParameters
    groups: list[FeatureGroup]

    def __repr__(self):
        return f"SelectionStability({len(self.selected)} selected, {self.parameters})"
