"""Sequences as scores of models of them: Fisher scores of a Markov chain, log odds by position."""

from __future__ import annotations

from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._fitted import ArrayOf
from .._parameters import Flag, Integer, Later, Number, check_parameters
from .._typing import ArrayLike
from .._validation import check_members, shown
from ..matrix import as_dense
from ._sequence import check_equal_lengths
from ._sequence_words import Spectrum

MOST_WORDS = 5_000_000
"""Words of order + 1 letters, all of which have a column or a place in memory."""


class _SequenceScores(TransformerMixin, BaseEstimator):
    """What both share: words of order + 1 letters of an alphabet."""

    _constraints: ClassVar[dict] = {
        "order": Integer(most=8),
        "pseudocount": Number(above=0),
        "alphabet": Later(),
    }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    @property
    def _words(self):
        """The kernel that checks sequences and counts their words."""
        return Spectrum(self.order + 1, False, alphabet=self.alphabet)

    def _check(self):
        check_parameters(self)
        if self.alphabet is None:
            raise ValueError("alphabet must be given: all its letters have a probability.")
        self._words.check_parameters()
        n_letters = len(self._words.letters)
        if n_letters ** (self.order + 1) > MOST_WORDS:
            raise ValueError(
                f"order={self.order} is too large for {n_letters} letters: there are "
                f"{float(n_letters) ** (self.order + 1):.2g} words, each with a probability. "
                f"At most {MOST_WORDS} are possible."
            )

    def _sequences(self, X, fit=False):
        """Sequences as an array; a fit needs one at least."""
        X = self._words.check_objects(X)
        if fit and not len(X):
            raise ValueError(f"X must have sequences to fit {type(self).__name__}, got none.")
        return X

    def _check_fitted(self, state):
        """Numbers for each letter after each context."""
        self._check()
        n_letters = len(self._words.letters)
        ok = state.size("letters") == n_letters
        ok = ok and state.size("contexts") == n_letters ** int(self.order)
        state.require(ok, "it has another alphabet")


class FisherScores(_SequenceScores):
    """Fisher scores of a Markov chain: how a sequence would change its parameters.

    ``P(a | c)`` is the probability of letter a after the `order` letters c, found from the
    training sequences. The score of a sequence is the gradient of its log likelihood with respect
    to the logarithms of the ``P(a | c)``, up to a constant for each c:
    ``n(c, a) - n(c) P(a | c)`` with the numbers n of words in it. With `whiten` it is divided by
    the root of ``E n(c) P(a | c)``, so that inner products are the Fisher kernel ``s' I^-1 t`` with
    the Fisher information I (Jaakkola et al. 1999); without, they are the plain kernel ``s't``.
    Follow it by ``PSVC(kernel="linear")``.

    Parameters
    ----------
    order : int, default=1
        Letters on which the next one depends.
    alphabet : str, default="dna"
        The letters, or "dna", "rna" or "protein".
    pseudocount : float, default=1.0
        Added to the number of each word, so that no probability is 0.
    whiten : bool, default=True
        Whether the scores are divided by the roots of the Fisher information.
    positive : label, default=None
        The class whose sequences train the chain, as the family of proteins in the paper; None
        means all training sequences.

    Attributes
    ----------
    probabilities_ : ndarray of shape (n_contexts, n_letters)
        ``P(a | c)``.
    expected_ : ndarray of shape (n_contexts,)
        Number of words that begin with c in a training sequence, on average.

    Examples
    --------
    >>> from psvm.kernels import FisherScores
    >>> scores = FisherScores(order=0, alphabet="AB", whiten=False)
    >>> scores.fit_transform(["AAB", "ABB"])
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    >>> scores.get_feature_names_out()
    array(['A', 'B'], dtype=object)
    """

    probabilities_: np.ndarray
    expected_: np.ndarray

    _constraints: ClassVar = {"whiten": Flag(), "positive": Later()}

    _fitted: ClassVar = {
        "probabilities_": ArrayOf("contexts", "letters", above=0),
        "expected_": ArrayOf("contexts", above=0),
    }

    def __init__(
        self,
        order: int = 1,
        *,
        alphabet: str = "dna",
        pseudocount: float = 1.0,
        whiten: bool = True,
        positive: Any = None,
    ) -> None:
        self.order = order
        self.alphabet = alphabet
        self.pseudocount = pseudocount
        self.whiten = whiten
        self.positive = positive

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the probabilities.

        Parameters
        ----------
        X : sequences
        y : array-like of labels, default=None
            Needed with `positive`.

        Returns
        -------
        self : FisherScores
        """
        self._check()
        N = self._counts(self._sequences(X, fit=True))
        if self.positive is not None:
            if y is None:
                raise ValueError(f"y must be given with positive={self.positive!r}.")
            if np.ndim(self.positive) > 0:
                raise ValueError(f"positive must be one label, got {shown(self.positive)}.")
            chosen = check_members("y", y) == self.positive
            if len(chosen) != len(N) or not chosen.any():
                raise ValueError(f"No sequence has the label positive={self.positive!r} in y.")
            N = N[chosen]
        totals = N.sum(axis=0) + self.pseudocount
        self.expected_ = totals.sum(axis=1) / len(N)
        self.probabilities_ = totals / totals.sum(axis=1, keepdims=True)
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Scores of sequences.

        Parameters
        ----------
        X : sequences

        Returns
        -------
        ndarray of shape (n_sequences, n_contexts * n_letters)
        """
        check_is_fitted(self)
        N = self._counts(self._sequences(X))
        scores = N - N.sum(axis=2, keepdims=True) * self.probabilities_
        if self.whiten:
            scores /= np.sqrt(self.expected_[:, None] * self.probabilities_)
        return scores.reshape(len(scores), self.probabilities_.size)

    def score_samples(self, X: ArrayLike) -> np.ndarray:
        """Log likelihood of sequences, given their first letters.

        Parameters
        ----------
        X : sequences

        Returns
        -------
        ndarray of shape (n_sequences,)
        """
        check_is_fitted(self)
        return (self._counts(self._sequences(X)) * np.log(self.probabilities_)).sum(axis=(1, 2))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns: the letters before, and the letter.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return self._names.astype(object)

    @property
    def _names(self):
        return np.array(["".join(w) for w in product(self._words.letters, repeat=self.order + 1)])

    def _counts(self, X):
        """Numbers of words by sequence, context and last letter."""
        words = self._words
        N = as_dense(words.feature_table(X).columns(self._names))
        n_letters = len(words.letters)
        return N.reshape(len(X), n_letters**self.order, n_letters)


class PositionLogOdds(_SequenceScores):
    """Log odds of two classes at each position of sequences of equal length.

    With order 0 these are the scores of a position-specific scoring matrix (PSSM); with order 1
    those of Salzberg (1997), ``log P(x_i | x_(i-1), second class) / P(x_i | x_(i-1), first)``,
    found for each position i by itself. Each position becomes a number, and the sum of them is a
    log likelihood ratio. Zien et al. (2000) follow it by a polynomial kernel.

    Parameters
    ----------
    order : int, default=1
        Letters on which the next one depends; fewer at the beginning.
    alphabet : str, default="dna"
        The letters, or "dna", "rna" or "protein".
    pseudocount : float, default=1.0
        Added to each number of letters, so that no probability is 0.

    Attributes
    ----------
    log_odds_ : ndarray of shape (n_positions, n_contexts, n_letters)
        The log odds.
    classes_ : ndarray of shape (2,)
        The labels.

    Examples
    --------
    >>> from psvm.kernels import PositionLogOdds
    >>> scores = PositionLogOdds(order=0, alphabet="AB")
    >>> scores.fit_transform(["AA", "AB", "BA", "BB"], [0, 0, 1, 1]).round(2)
    array([[-1.1,  0. ],
           [-1.1,  0. ],
           [ 1.1,  0. ],
           [ 1.1,  0. ]])
    """

    log_odds_: np.ndarray
    classes_: np.ndarray

    _fitted: ClassVar = {"log_odds_": ArrayOf(None, "contexts", "letters")}

    def __init__(self, order: int = 1, *, alphabet: str = "dna", pseudocount: float = 1.0) -> None:
        self.order = order
        self.alphabet = alphabet
        self.pseudocount = pseudocount

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the log odds.

        Parameters
        ----------
        X : sequences of equal length
        y : array-like of shape (n_sequences,)
            Labels of two classes.

        Returns
        -------
        self : PositionLogOdds
        """
        self._check()
        X = self._sequences(X, fit=True)
        contexts, letters = self._codes(X, len(X[0]))
        y = check_members("y", y)
        self.classes_ = np.unique(y)
        if len(y) != len(letters) or len(self.classes_) != 2:
            raise ValueError(
                f"y must have a label for each of {len(letters)} sequences and two classes, got "
                f"{len(y)} labels of {len(self.classes_)} classes."
            )
        n_letters = len(self._words.letters)
        shape = 2, letters.shape[1], n_letters**self.order, n_letters
        N = np.full(shape, float(self.pseudocount))
        places = np.arange(letters.shape[1])
        for c, label in enumerate(self.classes_):
            chosen = y == label
            np.add.at(N[c], (places, contexts[chosen], letters[chosen]), 1.0)
        logs = np.log(N / N.sum(axis=3, keepdims=True))
        self.log_odds_ = logs[1] - logs[0]
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Log odds of the letters of sequences.

        Parameters
        ----------
        X : sequences of equal length

        Returns
        -------
        ndarray of shape (n_sequences, n_positions)
        """
        check_is_fitted(self)
        contexts, letters = self._codes(self._sequences(X), len(self.log_odds_))
        return self.log_odds_[np.arange(letters.shape[1]), contexts, letters]

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns: the positions, counted from 0.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return np.array([f"position{i}" for i in range(len(self.log_odds_))], dtype=object)

    def _codes(self, X, length):
        """For each letter the number of the letters before, and its own."""
        check_equal_lengths(X, length, "X")
        places = {letter: code for code, letter in enumerate(self._words.letters)}
        codes = [[places[letter] for letter in x] for x in X]
        letters = np.array(codes, dtype=np.intp).reshape(len(X), length)
        contexts = np.zeros_like(letters)
        for back in range(1, self.order + 1):
            contexts[:, back:] += letters[:, :-back] * len(places) ** (back - 1)
        return contexts, letters

    def _check_fitted(self, state):
        super()._check_fitted(state)
        state.require(state.size("c") == 2, "it does not have two classes")
