"""Objects as counts of parts that have names: words of profiles, subtrees of graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._fitted import Names
from .._parameters import Integer, Number, Optional, check_parameters
from .._validation import check_array, check_list, check_text, shown
from ._sequence import ALPHABETS


class NamedCounts(TransformerMixin, BaseEstimator, ABC):
    """A transformer to sparse counts with the names that occur in training; others are ignored."""

    names_: np.ndarray

    _fitted: ClassVar[dict] = {"names_": Names(ordered=True)}

    @abstractmethod
    def _count(self, x, i):
        """The counts of object `x`, number `i`, by name."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.one_d_array = False, True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the names that occur.

        Parameters
        ----------
        X : list of objects
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> sp.csr_array:
        """Find the names that occur and count.

        Parameters
        ----------
        X : list of objects
        y : None
            Ignored.

        Returns
        -------
        csr_array of shape (n_objects, n_names)
        """
        check_parameters(self)
        counts = self._counts(X)
        self.names_ = np.array(sorted(set(chain.from_iterable(counts))), dtype=np.str_)
        return self._matrix(counts)

    def transform(self, X: Any) -> sp.csr_array:
        """Count in new objects.

        Parameters
        ----------
        X : list of objects

        Returns
        -------
        csr_array of shape (n_objects, n_names)
        """
        check_is_fitted(self)
        return self._matrix(self._counts(X))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return self.names_.astype(object)

    def _counts(self, X):
        return [self._count(x, i) for i, x in enumerate(check_list("X", X))]

    def _matrix(self, counts):
        place = {name: j for j, name in enumerate(self.names_.tolist())}
        known = [{place[n]: v for n, v in c.items() if n in place} for c in counts]
        indptr = np.cumsum([0, *map(len, known)])
        indices = np.fromiter(chain.from_iterable(known), dtype=np.int32, count=indptr[-1])
        data = np.fromiter(chain.from_iterable(c.values() for c in known), float, indptr[-1])
        F = sp.csr_array((data, indices, indptr), shape=(len(counts), len(place)))
        F.sort_indices()
        return F


class ProfileWords(NamedCounts):
    """Words that a profile makes likely: the features of the profile kernel (Kuang et al. 2005).

    A profile is a matrix with a row for each position and the probabilities of the letters in it,
    such as those of a PSSM. At each position all words of k letters count whose probability is at
    least ``exp(-threshold)``, the product of those of their letters. Inner products of these counts
    are the profile kernel: follow it by ``PSVC(kernel="linear")``, or "cosine" for the normalised
    one. For a profile of zeros and ones it is that of `Spectrum`.

    Parameters
    ----------
    k : int, default=3
        Length of the words.
    threshold : float, default=3.0
        Largest negative logarithm of the probability of a word.
    alphabet : str, default="protein"
        The letters of the columns in their order, or "dna", "rna" or "protein".

    Attributes
    ----------
    names_ : ndarray of str
        The words that occur, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.kernels import ProfileWords
    >>> profile = np.array([[1.0, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1.0]])
    >>> features = ProfileWords(k=2, threshold=1.0, alphabet="dna")
    >>> features.fit_transform([profile]).toarray()
    array([[1., 1., 1., 1.]])
    >>> features.get_feature_names_out()
    array(['AC', 'AG', 'CT', 'GT'], dtype=object)
    """

    _constraints: ClassVar = {
        "k": Integer(least=1),
        "threshold": Number(least=0),
        "alphabet": check_text,
    }

    def __init__(self, k: int = 3, threshold: float = 3.0, *, alphabet: str = "protein") -> None:
        self.k = k
        self.threshold = threshold
        self.alphabet = alphabet

    def _count(self, x, i):
        letters = ALPHABETS.get(self.alphabet, self.alphabet)
        if len(set(letters)) < len(letters):
            raise ValueError(f"alphabet must have distinct letters, got {shown(self.alphabet)}.")
        P = check_array(f"X[{i}]", x, dtype=np.float64)
        if P.shape[1] != len(letters) or len(P) < self.k:
            raise ValueError(
                f"X[{i}] has the shape {P.shape}; a profile needs {len(letters)} columns, for the "
                f"letters {letters!r}, and at least {self.k} rows."
            )
        if P.min() < 0 or P.max() > 1 + 1e-9:
            raise ValueError(f"X[{i}] must hold probabilities, between 0 and 1.")
        with np.errstate(divide="ignore"):
            costs = -np.log(P)
        counts = Counter()
        for start in range(len(P) - self.k + 1):
            counts.update(_likely_words(costs[start : start + self.k], letters, self.threshold))
        return counts


def _likely_words(costs, letters, most):
    """Words whose letters cost at most so much altogether."""
    found = [("", 0.0)]
    for row in costs:
        # rounding must not decide about a word that costs exactly as much as it may
        found = [
            (word + letter, total + cost)
            for word, total in found
            for letter, cost in zip(letters, row.tolist(), strict=True)
            if total + cost <= most + 1e-9
        ]
    return [word for word, _ in found]


class WeisfeilerLehman(NamedCounts):
    """Subtrees of labelled graphs as counts with names (Weisfeiler and Lehman; Shervashidze 2011).

    A graph is one of networkx, or anything with `nodes` and `adj` like it. Level 0 counts the
    labels of its nodes; level 1 labels with the sorted labels of all neighbours, such as "C(C,O)";
    level 2 replaces these labels by those of level 1, and so on. Inner products of the counts are
    the Weisfeiler-Lehman subtree kernel. The names let a selector tell the substructures that
    decide.

    Parameters
    ----------
    depth : int, default=2
        The last level. Names grow with a power of it.
    label : str, default="label"
        The attribute of a node that is its label. A node without it has the label "*".
    edge_label : str, default=None
        The attribute of an edge that is written before the label of the neighbour, such as
        "C(=O,C)"; None: edges have no labels.

    Attributes
    ----------
    names_ : ndarray of str
        The subtrees that occur, sorted.

    Examples
    --------
    >>> import networkx as nx  # doctest: +SKIP
    >>> from psvm.kernels import WeisfeilerLehman
    >>> graph = nx.path_graph(3)  # doctest: +SKIP
    >>> nx.set_node_attributes(graph, {0: "C", 1: "C", 2: "O"}, "label")  # doctest: +SKIP
    >>> features = WeisfeilerLehman(depth=1)
    >>> features.fit_transform([graph]).toarray()  # doctest: +SKIP
    array([[2., 1., 1., 1., 1.]])
    >>> features.get_feature_names_out().tolist()  # doctest: +SKIP
    ['C', 'C(C)', 'C(C,O)', 'O', 'O(C)']
    """

    _constraints: ClassVar = {
        "depth": Integer(most=8),
        "label": check_text,
        "edge_label": Optional(check_text),
    }

    def __init__(
        self, depth: int = 2, *, label: str = "label", edge_label: str | None = None
    ) -> None:
        self.depth = depth
        self.label = label
        self.edge_label = edge_label

    def _count(self, x, i):
        if not (hasattr(x, "nodes") and hasattr(x, "adj")):
            raise TypeError(
                f"X[{i}] must be a graph of networkx, with nodes and adj, got {shown(x)}."
            )
        own = {node: str(values.get(self.label, "*")) for node, values in x.nodes.items()}
        now, counts = own, Counter(own.values())
        for _ in range(self.depth):
            # a node without neighbours has a name of its own at each level as well
            now = {
                node: f"{own[node] if x.adj[node] else now[node]}({self._around(x, node, now)})"
                for node in own
            }
            counts.update(now.values())
        return counts

    def _around(self, graph, node, names):
        """The names of the neighbours of a node, sorted."""
        neighbours = graph.adj[node].items()
        if self.edge_label is None:
            return ",".join(sorted(names[other] for other, _ in neighbours))
        return ",".join(
            sorted(f"{edge.get(self.edge_label, '')}{names[other]}" for other, edge in neighbours)
        )
