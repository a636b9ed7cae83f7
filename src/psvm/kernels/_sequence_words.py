"""Kernels of sequences by their words of k letters: spectrum and mismatch."""

from __future__ import annotations

from itertools import combinations, product
from math import comb
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from .._parameters import Flag, Integer
from .._validation import check_integer
from ._sequence_features import (
    LARGEST_CODE,
    FeatureKernel,
    FeatureTable,
    counts,
    kmers,
    rank,
    spell,
)

MOST_NEIGHBOURS = 2**18
"""Words within m mismatches of one; each word of the data takes eight bytes for each of them."""


class Spectrum(FeatureKernel):
    """Spectrum kernel: inner product of the counts of all k-mers.

    A sequence shorter than k is an error.

    Parameters
    ----------
    k : int, default=3
        Length of the words.
    normalize : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))``; a sequence without any word has the value 0
        with all others.
    alphabet : str, default=None
        The letters, or "dna", "rna" or "protein"; None means the letters that occur. Upper and
        lower case are different letters.
    unknown : {"error", "skip"}, default="error"
        Whether a letter outside the alphabet is an error, or words with it are not counted.
    presence : bool, default=False
        Whether a word counts once, however often it occurs.
    shorter : bool, default=False
        Whether words of fewer letters count as well. Then k is an upper limit, and no sequence is
        too short.

    Examples
    --------
    >>> from psvm.kernels import Spectrum
    >>> Spectrum(k=2, normalize=False)(["ACAC", "CCAC"])
    array([[5., 3.],
           [3., 3.]])
    """

    _constraints: ClassVar = {"k": Integer(least=1), "presence": Flag(), "shorter": Flag()}

    def __init__(
        self,
        k: int = 3,
        normalize: bool = True,
        *,
        alphabet: str | None = None,
        unknown: Literal["error", "skip"] = "error",
        presence: bool = False,
        shorter: bool = False,
    ) -> None:
        self.k = k
        self.normalize = normalize
        self.alphabet = alphabet
        self.unknown = unknown
        self.presence = presence
        self.shorter = shorter

    @property
    def shortest(self) -> int:
        return 1 if self.shorter else self.k

    def feature_table(self, X: np.ndarray) -> FeatureTable:
        points, starts = self._encode(X)
        matrices, names = [], []
        for length in range(1 if self.shorter else self.k, self.k + 1):
            columns, indptr, _, words = kmers(points, starts, length)
            matrices.append(counts(columns, indptr, len(words)))
            names.append(spell(words))
        F, names = matrices[0], names[0] if len(names) == 1 else np.concatenate(names)
        if len(matrices) > 1:
            order = np.argsort(names)
            F, names = sp.csr_array(sp.hstack(matrices, format="csr")[:, order]), names[order]
        if self.presence:
            F.data[:] = 1.0
        return self._table(F, names)


class Mismatch(FeatureKernel):
    """Mismatch kernel: a k-mer counts for all words that differ from it in at most m letters.

    Time and memory are proportional to the number of words per k-mer, which is the sum of
    ``binomial(k, i) (|alphabet| - 1)^i`` for i up to m. A sequence shorter than k is an error.

    Parameters
    ----------
    k : int, default=5
        Length of the words.
    m : int, default=1
        Largest number of mismatches, less than k.
    alphabet : str, default="ACGT"
        The letters, or "dna", "rna" or "protein". Upper and lower case are different letters.
    normalize : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))``; a sequence without any word has the value 0
        with all others.
    unknown : {"error", "skip"}, default="error"
        Whether a letter outside the alphabet is an error, or words with it are not counted.
    presence : bool, default=False
        Whether a word counts once, however many k-mers are near it.

    Examples
    --------
    >>> from psvm.kernels import Mismatch
    >>> Mismatch(k=2, m=1, normalize=False)(["AC"], ["AC", "AG", "GT"])
    array([[7., 4., 2.]])
    """

    _constraints: ClassVar = {"k": Integer(least=1), "presence": Flag()}

    def __init__(
        self,
        k: int = 5,
        m: int = 1,
        alphabet: str = "ACGT",
        normalize: bool = True,
        *,
        unknown: Literal["error", "skip"] = "error",
        presence: bool = False,
    ) -> None:
        self.k = k
        self.m = m
        self.alphabet = alphabet
        self.normalize = normalize
        self.unknown = unknown
        self.presence = presence

    @property
    def shortest(self) -> int:
        return self.k

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("m", self.m, most=self.k - 1)
        if self.alphabet is None:
            raise ValueError("alphabet must be given: all its letters count as mismatches.")
        if self.k * np.log2(len(self.letters)) > np.log2(LARGEST_CODE):
            raise ValueError(
                f"k={self.k} is too long for an alphabet of {len(self.letters)} letters: there "
                "must be at most 2^62 words."
            )
        near = sum(comb(self.k, i) * (len(self.letters) - 1) ** i for i in range(int(self.m) + 1))
        if near > MOST_NEIGHBOURS:
            raise ValueError(
                f"m={self.m} is too large: {near} words are within m mismatches of each word, and "
                f"at most {MOST_NEIGHBOURS} can be held. Use a smaller m or k."
            )

    def feature_table(self, X: np.ndarray) -> FeatureTable:
        points, starts = self._encode(X)
        columns, indptr, _, words = kmers(points, starts, self.k)
        alphabet = np.array([ord(letter) for letter in self.letters])
        near = self._neighbours(np.searchsorted(alphabet, words), len(alphabet))
        codes, places = rank(near)
        starts = np.arange(len(words) + 1) * near.shape[1]
        M = sp.csr_array((np.ones(near.size), places.ravel(), starts), (len(words), len(codes)))
        digits = codes[:, None] // len(alphabet) ** np.arange(self.k)[::-1] % len(alphabet)
        F = sp.csr_array(counts(columns, indptr, len(words)) @ M)
        if self.presence:
            F.data[:] = 1.0
        return self._table(F, spell(alphabet[digits]))

    def _neighbours(self, digits, base):
        """Codes of all words within m mismatches of each word, one row per word."""
        powers = base ** np.arange(self.k)[::-1]
        codes = digits @ powers
        near = [codes]
        for n_changed in range(1, self.m + 1):
            for where in combinations(range(self.k), n_changed):
                old = digits[:, where]
                for step in product(range(1, base), repeat=n_changed):
                    near.append(codes + ((old + step) % base - old) @ powers[list(where)])
        return np.stack(near, axis=1)
