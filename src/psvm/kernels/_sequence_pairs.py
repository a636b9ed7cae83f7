"""Kernels of sequences that are computed pair by pair: weighted degree and gappy subsequences."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from scipy.ndimage import correlate1d

from .._core._sequences import subsequences, weighted_degree
from .._fitted import ArrayOf, Given
from .._parameters import Flag, Integer, Number
from ._sequence import SequenceKernel, called, check_equal_lengths
from ._sequence_features import FeatureMap, FeatureTable, counts, kmers, rank, spell


class PairKernel(SequenceKernel):
    """A kernel that is computed pair by pair, and normalised afterwards."""

    @abstractmethod
    def _pairs(self, X, Z):
        """Values of all pairs, not normalised; each pair once if X is Z."""

    def prepare(self, X: Any) -> Any:
        prepared = PreparedSequences(X, np.ones(len(X)))
        if self.normalize:
            roots = np.sqrt(self._positive_diagonal(prepared))
            prepared.values = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
        return prepared

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        K = self._pairs(X.sequences, Z.sequences)
        K *= X.values[:, None]
        K *= Z.values
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        return self._diagonal(X.sequences) * X.values**2

    def _diagonal(self, X):
        return np.array([self._pairs(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(len(X))])

    def _positive_diagonal(self, prepared):
        values = self._diagonal(prepared.sequences)
        if (values < 0).any():
            i = int(np.argmin(values))
            raise ValueError(
                f"{self!r} cannot be normalised: {called(prepared.sequences, i)} has the value "
                f"{values[i]:.3g} with itself. Use normalize=False."
            )
        return values


class PreparedSequences:
    """Sequences and a number for each, with which its values are normalised; indexed together."""

    _fitted: ClassVar = {
        "sequences": Given(),
        "values": ArrayOf("sequences"),
        "shape": Given(),
    }

    def __init__(self, sequences, values):
        self.sequences, self.values = sequences, values
        self.shape = (len(sequences),)

    def __getitem__(self, index):
        return PreparedSequences(self.sequences[index], self.values[index])

    def _check_fitted(self, state):
        """As many numbers as sequences."""
        sequences = self.sequences
        ok = isinstance(sequences, np.ndarray) and sequences.dtype == object
        ok = ok and sequences.shape == self.values.shape == self.shape
        state.require(ok, "it has another shape")
        state.require(all(isinstance(x, str) for x in sequences), "it has no sequences")


class WeightedDegree(PairKernel):
    """Weighted degree kernel: words of up to `degree` letters at the same position.

    ``k(x, z) = sum_d b_d sum_l [x and z have the same word of length d at position l]`` with
    ``b_d = 2 (degree - d + 1) / (degree (degree + 1))``. With a shift, a word of x may stand up
    to `shift` places before or behind that of z: such a pair counts ``1 / (2 (s + 1))`` at distance
    s (Rätsch, Sonnenburg and Schölkopf 2005). This is positive definite, because the matrix of
    these weights is: ``1/2 + sum_s cos(s t) / (s + 1) >= 0`` for all t.

    All sequences must have the same length.

    Parameters
    ----------
    degree : int, default=3
        Length of the longest words.
    shift : int, default=0
        Largest distance of two positions.
    normalize : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))``.
    alphabet : str, default=None
        The letters, or "dna", "rna" or "protein"; None means the letters that occur. Upper and
        lower case are different letters.
    unknown : {"error", "skip"}, default="error"
        Whether a letter outside the alphabet is an error or matches nothing, not even itself.

    Examples
    --------
    >>> from psvm.kernels import WeightedDegree
    >>> WeightedDegree(degree=2, normalize=False)(["ACGT"], ["ACGT", "ACTT"]).round(3)
    array([[3.667, 2.333]])
    """

    positive_definite = True

    _constraints: ClassVar = {"degree": Integer(least=1), "shift": Integer()}

    def __init__(
        self,
        degree: int = 3,
        shift: int = 0,
        normalize: bool = True,
        *,
        alphabet: str | None = None,
        unknown: Literal["error", "skip"] = "error",
    ) -> None:
        self.degree = degree
        self.shift = shift
        self.normalize = normalize
        self.alphabet = alphabet
        self.unknown = unknown

    def check_objects(self, X: Any, name: str = "X") -> Any:
        X = super().check_objects(X, name)
        check_equal_lengths(X, len(X[0]) if len(X) else 0, name)
        return X

    def _weights(self, longest):
        """``b_d`` for ``d = 1, ..., degree``, as far as words of up to `longest` letters go."""
        D = float(self.degree)
        return 2.0 * (D - np.arange(min(self.degree, longest))) / (D * (D + 1))

    def _pairs(self, X, Z):
        K = np.empty((len(X), len(Z)))
        if K.size == 0:
            return K
        check_equal_lengths(Z, len(X[0]), "Z")
        x, z = (self._encode(part)[0].reshape(len(part), -1) for part in (X, Z))
        distances = np.arange(min(self.shift, x.shape[1] - 1) + 1)
        shift_weights = np.where(distances == 0, 1.0, 0.5 / (distances + 1))
        gain = np.concatenate([[0.0], np.cumsum(self._weights(x.shape[1]))])
        weighted_degree(x, z, gain, shift_weights, X is Z, K)
        return K

    def feature_map(self) -> FeatureMap:
        """A transformer to sparse features, words with positions such as "12:ACG".

        Only without a shift.

        Returns
        -------
        FeatureMap
        """
        return FeatureMap(self)

    def feature_table(self, X: np.ndarray) -> FeatureTable:
        """The table of checked sequences."""
        if self.shift:
            raise ValueError(f"{self!r} has no sparse features; they need shift=0.")
        points, starts = self._encode(X)
        matrices, names = [], []
        for d, weight in enumerate(self._weights(starts[1] if len(X) else 0), start=1):
            columns, indptr, places, words = kmers(points, starts, d)
            position = places - np.repeat(starts[:-1], np.diff(indptr))
            pairs, columns = rank(position * len(words) + columns)
            position, word = np.divmod(pairs, max(len(words), 1))
            names.append(np.char.add(np.char.mod("%d:", position), spell(words)[word]))
            matrices.append(np.sqrt(weight) * counts(columns, indptr, len(pairs)))
        F, names = sp.hstack(matrices, format="csr"), np.concatenate(names)
        order = np.argsort(names)
        scale = self.prepare(X).values
        F.data *= np.repeat(scale, np.diff(F.indptr))
        return FeatureTable(F[:, order], names[order])


class Subsequence(PairKernel):
    """String kernel of all subsequences of n letters, gaps allowed.

    The feature of a word u of n letters is the sum of ``decay^span`` over all its occurrences,
    where the span counts the letters from the first to the last one: BIO in BIOINFORMATICS has
    the value ``decay^3 + 2 decay^7``. The kernel is the inner product of these features, found by
    dynamic programming in time ``n |x| |z|`` (Lodhi et al. 2002). A sequence shorter than n is an
    error.

    Parameters
    ----------
    n : int, default=3
        Length of the subsequences.
    decay : float, default=0.5
        Factor per letter of the span, in (0, 1].
    normalize : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))``.
    alphabet : str, default=None
        The letters, or "dna", "rna" or "protein"; None means the letters that occur. Upper and
        lower case are different letters.
    unknown : {"error", "skip"}, default="error"
        Whether a letter outside the alphabet is an error or matches nothing, not even itself.
    shorter : bool, default=False
        Whether subsequences of fewer letters count as well. Then n is an upper limit, and no
        sequence is too short.

    Examples
    --------
    >>> from psvm.kernels import Subsequence
    >>> kernel = Subsequence(n=3, decay=0.5, normalize=False)
    >>> kernel(["BIOINFORMATICS"], ["BIO"]) / 0.5**3 == 0.5**3 + 2 * 0.5**7
    array([[ True]])
    """

    positive_definite = True

    _constraints: ClassVar = {
        "n": Integer(least=1),
        "decay": Number(above=0, most=1),
        "shorter": Flag(),
    }

    def __init__(
        self,
        n: int = 3,
        decay: float = 0.5,
        normalize: bool = True,
        *,
        alphabet: str | None = None,
        unknown: Literal["error", "skip"] = "error",
        shorter: bool = False,
    ) -> None:
        self.n = n
        self.decay = decay
        self.normalize = normalize
        self.alphabet = alphabet
        self.unknown = unknown
        self.shorter = shorter

    @property
    def shortest(self) -> int:
        return 1 if self.shorter else self.n

    def _pairs(self, X, Z):
        K, total = np.empty((2, len(X), len(Z)))
        total[:] = 0.0
        if K.size:
            x, z = self._encode(X), self._encode(Z)
            for n in range(1 if self.shorter else self.n, self.n + 1):
                subsequences(*x, *z, n, self.decay, X is Z, K)
                total += K
        return total


class LocalityImproved(PairKernel):
    """Locality-improved kernel of sequences of equal length: matches within windows.

    ``k(x, z) = (sum_p win_p(x, z))^outer`` with ``win_p = (sum_j w_j [x_(p+j) = z_(p+j)])^inner``
    over ``|j| <= window`` (Zien et al. 2000). The weights fall to both ends of a window,
    ``w_j = (window + 1 - |j|) / (window + 1)^2``, and add up to one. With a `shift`, windows of x
    and of z that are so many letters apart count by half: 3 allows for shifts of the reading frame.
    This is positive definite, because the matrix of these weights is: ``1 + cos(t) >= 0``.

    Parameters
    ----------
    window : int, default=3
        Letters before and behind a position.
    inner : int, default=4
        Degree of the matches within a window, which makes them depend on each other.
    outer : int, default=1
        Degree of their sum.
    shift : int, default=0
        Distance of windows that are compared as well; 0 for none.
    normalize : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))``.
    alphabet : str, default=None
        The letters, or "dna", "rna" or "protein"; None means the letters that occur. Upper and
        lower case are different letters.
    unknown : {"error", "skip"}, default="error"
        Whether a letter outside the alphabet is an error or matches nothing, not even itself.

    Examples
    --------
    >>> from psvm.kernels import LocalityImproved
    >>> LocalityImproved(window=1, inner=2, normalize=False)(["ACG"], ["ACG", "ATG"])
    array([[2.125, 0.75 ]])
    """

    positive_definite = True

    _constraints: ClassVar = {
        "window": Integer(),
        "inner": Integer(least=1),
        "outer": Integer(least=1),
        "shift": Integer(),
    }

    def __init__(
        self,
        window: int = 3,
        inner: int = 4,
        outer: int = 1,
        shift: int = 0,
        normalize: bool = True,
        *,
        alphabet: str | None = None,
        unknown: Literal["error", "skip"] = "error",
    ) -> None:
        self.window = window
        self.inner = inner
        self.outer = outer
        self.shift = shift
        self.normalize = normalize
        self.alphabet = alphabet
        self.unknown = unknown

    def check_objects(self, X: Any, name: str = "X") -> Any:
        X = super().check_objects(X, name)
        check_equal_lengths(X, len(X[0]) if len(X) else 0, name)
        return X

    def _pairs(self, X, Z):
        K = np.zeros((len(X), len(Z)))
        if K.size == 0:
            return K
        check_equal_lengths(Z, len(X[0]), "Z")
        x, z = (self._encode(part)[0].reshape(len(part), -1) for part in (X, Z))
        length, s = x.shape[1], self.shift
        for row, letters in zip(K, x, strict=True):
            row += self._windows(letters, z)
            if 0 < s < length:
                row += 0.5 * self._windows(letters[s:], z[:, :-s])
                row += 0.5 * self._windows(letters[:-s], z[:, s:])
        return K**self.outer

    def _windows(self, letters, z):
        """``sum_p win_p`` of one sequence with several."""
        reach = min(self.window, len(letters) - 1)
        weights = (self.window + 1.0 - np.abs(np.arange(-reach, reach + 1))) / (
            self.window + 1
        ) ** 2
        matches = ((z == letters) & (letters >= 0)).astype(float)
        return (correlate1d(matches, weights, axis=1, mode="constant") ** self.inner).sum(axis=1)
