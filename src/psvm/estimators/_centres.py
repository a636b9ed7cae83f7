"""Landmarks that are nobody's row."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import ArrayLike
from .._validation import check_array, check_integer, check_seed, random_numbers
from ..matrix import row_hashes
from ._sites import LEAST


def cluster_centres(
    X: ArrayLike, n_clusters: int = 100, *, least: int = LEAST, random_state: Any = None
) -> np.ndarray:
    """Means of clusters of at least 20 distinct rows, as landmarks that others may know.

    Columns count alike for the distances of the clusters, whatever their units. Clusters of fewer
    rows are left out, so that there may be fewer centres than asked for.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    n_clusters : int, default=100
        The number of clusters; at most one for every ``2 least`` distinct rows.
    least : int, default=20
        Distinct rows that a mean is taken over at least.
    random_state : int, Generator, RandomState or None, default=None
        Where k-means starts.

    Returns
    -------
    ndarray of shape (n_centres, n_features)
        In the units of X.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.estimators import cluster_centres
    >>> X = np.random.default_rng(0).normal(size=(1000, 3))
    >>> Z = cluster_centres(X, 15, random_state=0)
    >>> Z.shape
    (15, 3)
    """
    from sklearn.cluster import KMeans

    X = check_array("X", X, dtype=np.float64)
    check_integer("n_clusters", n_clusters, least=1)
    check_integer("least", least, least=1)
    check_seed("random_state", random_state)
    hashes = row_hashes(X)
    n_distinct = len(np.unique(hashes))
    if n_distinct < least:
        raise ValueError(
            f"X has {n_distinct} distinct rows, but a centre is the mean of at least {least}."
        )
    scale = X.std(axis=0)
    scale[scale == 0] = 1.0
    n_clusters = max(min(n_clusters, n_distinct // (2 * least)), 1)
    labels = KMeans(n_clusters, n_init=1, random_state=random_numbers(random_state)).fit_predict(
        X / scale
    )
    members = (np.flatnonzero(labels == label) for label in range(n_clusters))
    kept = [rows for rows in members if len(np.unique(hashes[rows])) >= least]
    return np.array([X[rows].mean(axis=0) for rows in kept])
