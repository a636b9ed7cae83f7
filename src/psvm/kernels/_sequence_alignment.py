"""Kernels of sequences by alignment: local alignment kernel, Smith-Waterman, Needleman-Wunsch."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any, Literal

import numpy as np

from .._core._sequences import local_alignment
from .._validation import check_choice, check_flag, check_number, shown
from ._sequence import code_points
from ._sequence_features import rank
from ._sequence_pairs import PairKernel, PreparedSequences

LARGEST_SCORE = 2**20
"""Scores and gap costs that parasail can add up."""
LARGEST_EXPONENT = 100
"""Largest ``beta * score`` of a pair of letters: products of a few such factors are numbers."""


class AlignmentKernel(PairKernel):
    """What the alignment kernels share: the scores of letters and gaps."""

    @property
    def letters(self) -> Any:
        return None if isinstance(self.matrix, tuple) else self._substitutions.alphabet

    @property
    def _substitutions(self):
        """The matrix of scores, an `Array` of Biopython."""
        return load_matrix(self.matrix) if isinstance(self.matrix, str) else self.matrix

    def check_parameters(self) -> None:
        check_flag("normalize", self.normalize)
        check_number("gap_open", self.gap_open, least=0)
        check_number("gap_extend", self.gap_extend, least=0)
        if isinstance(self.matrix, tuple) and len(self.matrix) == 2:
            for name, value in zip(("match", "mismatch"), self.matrix, strict=True):
                check_number(f"the {name} score of matrix", value)
            return
        table = load_matrix(self.matrix) if isinstance(self.matrix, str) else self.matrix
        alphabet = getattr(table, "alphabet", None)
        if not isinstance(alphabet, str) or np.shape(table) != (len(alphabet), len(alphabet)):
            raise ValueError(
                "matrix must be a name that Biopython knows, a tuple (match, mismatch) or a square "
                f"Array of Biopython with a string as its alphabet, got {shown(self.matrix)}."
            )

    def _scores(self, letters):
        """The square of scores of some letters, given as code points."""
        if isinstance(self.matrix, tuple):
            return np.where(np.eye(len(letters), dtype=bool), *map(float, self.matrix))
        table = self._substitutions
        place = [table.alphabet.index(chr(letter)) for letter in letters]
        return np.array(table, dtype=float)[np.ix_(place, place)]


class LocalAlignment(AlignmentKernel):
    """Local alignment kernel: the sum of ``exp(beta score)`` over all local alignments.

    Smith-Waterman takes the best local alignment, this kernel all of them, the empty one too
    (Vert, Saigo and Akutsu 2004). It is positive definite if the matrix ``exp(beta S)`` of the
    letters is, but a sequence is then almost orthogonal to all others unless beta is small; its
    logarithm is the kernel that one uses in practice.

    Parameters
    ----------
    beta : float, default=0.5
        How much the best alignments outweigh the others.
    gap_open : float, default=11.0
        Cost of the first letter of a gap.
    gap_extend : float, default=1.0
        Cost of each further letter.
    matrix : str, tuple or Bio.Align.substitution_matrices.Array, default="BLOSUM62"
        Scores of pairs of letters: a name that Biopython knows, ``(match, mismatch)`` for any
        letters, or an array of Biopython.
    log : bool, default=False
        Whether to take ``log(k) / beta``, which tends to the Smith-Waterman score for large beta
        and is not positive definite.
    normalize : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))`` (after the logarithm).

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.kernels import LocalAlignment
    >>> kernel = LocalAlignment(beta=1.0, matrix=(1, -1), normalize=False)
    >>> np.allclose(kernel(["A"], ["A", "AA"]), [[1 + np.e, 1 + 2 * np.e]])
    True
    """

    def __init__(
        self,
        beta: float = 0.5,
        gap_open: float = 11.0,
        gap_extend: float = 1.0,
        matrix: Any = "BLOSUM62",
        *,
        log: bool = False,
        normalize: bool = True,
    ) -> None:
        self.beta = beta
        self.gap_open = gap_open
        self.gap_extend = gap_extend
        self.matrix = matrix
        self.log = log
        self.normalize = normalize

    @property
    def positive_definite(self) -> bool:
        """Whether the logarithm is not taken and ``exp(beta S)`` is positive semidefinite."""
        if self.log:
            return False
        if isinstance(self.matrix, tuple):
            return self.matrix[0] >= self.matrix[1]
        S = np.array(self._substitutions, dtype=float)
        values = np.linalg.eigvalsh(np.exp(self.beta * S)) if np.array_equal(S, S.T) else [-1.0]
        return bool(values[0] >= -1e-12 * values[-1])

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("beta", self.beta, above=0)
        check_flag("log", self.log)
        scores = self.matrix if isinstance(self.matrix, tuple) else self._substitutions
        if self.beta * np.max(scores) > LARGEST_EXPONENT:
            raise ValueError(
                f"beta={self.beta!r} is too large: beta times the largest score must be at most "
                f"{LARGEST_EXPONENT}."
            )

    def prepare(self, X: Any) -> Any:
        # The logarithm is what can be represented; exponentials are taken after normalising.
        prepared = PreparedSequences(X, np.zeros(len(X)))
        if self.normalize:
            prepared.values = self._diagonal(X)
        return prepared

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        logs = self._pairs(X.sequences, Z.sequences)
        if not self.log:
            logs -= 0.5 * X.values[:, None]
            logs -= 0.5 * Z.values
            return self._exponential(logs)
        if not self.normalize:
            return logs / self.beta
        return logs / np.sqrt(np.multiply.outer(X.values, Z.values))

    def diagonal(self, X: Any) -> np.ndarray:
        if self.normalize:
            return np.ones(len(X.sequences))
        logs = self._diagonal(X.sequences)
        return logs / self.beta if self.log else self._exponential(logs)

    def _exponential(self, logs):
        if logs.max(initial=0.0) > np.log(np.finfo(float).max):
            raise ValueError(
                f"{self!r} exceeds the range of numbers. Use log=True, normalize=True or a "
                "smaller beta."
            )
        return np.exp(logs, out=logs)

    def _pairs(self, X, Z):
        K = np.empty((len(X), len(Z)))
        if K.size == 0:
            return K
        x, x_starts = code_points(X)
        z, z_starts = code_points(Z)
        letters, codes = rank(np.concatenate([x, z]))
        codes = codes.astype(np.int32)
        local_alignment(
            codes[: len(x)],
            x_starts,
            codes[len(x) :],
            z_starts,
            np.exp(self.beta * self._scores(letters)),
            np.exp(-self.beta * self.gap_open),
            np.exp(-self.beta * self.gap_extend),
            X is Z,
            K,
        )
        return K


class _Score(AlignmentKernel):
    """The score of the best alignment, by parasail if it is there, else by Biopython."""

    positive_definite = False

    def __init__(
        self,
        matrix: Any = "BLOSUM62",
        gap_open: float = 11.0,
        gap_extend: float = 1.0,
        *,
        normalize: bool = True,
        engine: Literal["auto", "biopython", "parasail"] = "auto",
    ) -> None:
        self.matrix = matrix
        self.gap_open = gap_open
        self.gap_extend = gap_extend
        self.normalize = normalize
        self.engine = engine

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("engine", self.engine, ("auto", "biopython", "parasail"))
        if self.engine == "parasail" and not self._integral:
            raise ValueError(
                f"engine='parasail' needs integers up to {LARGEST_SCORE} as scores and gap costs."
            )

    @property
    def _integral(self):
        scores = self.matrix if isinstance(self.matrix, tuple) else self._substitutions
        gaps = [float(self.gap_open), float(self.gap_extend)]
        numbers = np.append(np.ravel(np.asarray(scores, dtype=float)), gaps)
        whole = numbers == np.round(numbers)
        return bool(np.all(whole & (np.abs(numbers) <= LARGEST_SCORE)))

    def _pairs(self, X, Z):
        score = self._make_scorer(np.concatenate([X, Z]))
        K = np.empty((len(X), len(Z)))
        for i, x in enumerate(X):
            if X is Z:
                K[i, : i + 1] = K[: i + 1, i] = [score(x, z) for z in Z[: i + 1]]
            else:
                K[i] = [score(x, z) for z in Z]
        return K

    def _diagonal(self, X):
        score = self._make_scorer(X)
        return np.array([score(x, x) for x in X], dtype=float)

    def _make_scorer(self, X):
        """A function from two strings with letters of X to their score."""
        letters, _ = rank(code_points(X)[0])
        alphabet, scores = "".join(map(chr, letters)), self._scores(letters)
        if self._uses_parasail(alphabet):
            return self._with_parasail(alphabet, scores)
        align = extra("Bio.Align")
        aligner = align.PairwiseAligner(mode=self.mode)
        aligner.substitution_matrix = align.substitution_matrices.Array(alphabet, 2, scores)
        aligner.open_gap_score, aligner.extend_gap_score = -self.gap_open, -self.gap_extend
        # Biopython has its own idea of subclasses of str.
        return lambda x, z: aligner.score(str(x), str(z))

    def _uses_parasail(self, alphabet):
        # It has a star of its own, and one byte per letter.
        plain = alphabet.isascii() and "*" not in alphabet
        if self.engine == "parasail" and not plain:
            raise ValueError(f"engine='parasail' takes ASCII letters only, got {alphabet!r}.")
        if self.engine == "auto":
            return plain and self._integral and has_parasail()
        return self.engine == "parasail"

    def _with_parasail(self, alphabet, scores):
        parasail = extra("parasail")
        matrix = parasail.matrix_create(alphabet, 1, 0, case_sensitive=True)
        for i, j in np.ndindex(scores.shape):
            matrix[i, j] = int(scores[i, j])
        align = getattr(parasail, self._function)
        gap_open, gap_extend = int(self.gap_open), int(self.gap_extend)
        return lambda x, z: align(str(x), str(z), gap_open, gap_extend, matrix).score


class SmithWaterman(_Score):
    """Score of the best local alignment; not positive definite, which a P-SVM does not need.

    It is computed by parasail if that is installed and all scores are integers, else by
    Biopython. One of them is needed: ``pip install "psvm[sequences]"``.

    Parameters
    ----------
    matrix : str, tuple or Bio.Align.substitution_matrices.Array, default="BLOSUM62"
        Scores of pairs of letters: a name that Biopython knows ("BLOSUM62", "PAM250", ...),
        ``(match, mismatch)`` for any letters, or an array of Biopython.
    gap_open : float, default=11.0
        Cost of the first letter of a gap.
    gap_extend : float, default=1.0
        Cost of each further letter.
    normalize : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))``.
    engine : {"auto", "biopython", "parasail"}, default="auto"
        The library that aligns.

    Examples
    --------
    >>> from psvm.kernels import SmithWaterman
    >>> kernel = SmithWaterman(matrix=(2, -1), gap_open=3, normalize=False)
    >>> kernel(["ACGT"], ["ACGT", "TTACT"])
    array([[8., 4.]])
    """

    mode, _function = "local", "sw_striped_sat"


class NeedlemanWunsch(_Score):
    """Score of the best global alignment; not positive definite, which a P-SVM does not need.

    Gaps at the ends cost as much as others. It is computed by parasail if that is installed and all
    scores are integers, else by Biopython. One of them is needed:
    ``pip install "psvm[sequences]"``.

    Parameters
    ----------
    matrix : str, tuple or Bio.Align.substitution_matrices.Array, default="BLOSUM62"
        Scores of pairs of letters: a name that Biopython knows ("BLOSUM62", "PAM250", ...),
        ``(match, mismatch)`` for any letters, or an array of Biopython.
    gap_open : float, default=11.0
        Cost of the first letter of a gap.
    gap_extend : float, default=1.0
        Cost of each further letter.
    normalize : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))``.
    engine : {"auto", "biopython", "parasail"}, default="auto"
        The library that aligns.

    Examples
    --------
    >>> from psvm.kernels import NeedlemanWunsch
    >>> kernel = NeedlemanWunsch(matrix=(2, -1), gap_open=3, normalize=False)
    >>> kernel(["ACGT"], ["ACGT", "TTACT"])
    array([[ 8., -1.]])
    """

    mode, _function = "global", "nw_striped_sat"


@cache
def load_matrix(name):
    """Scores of letters that Biopython knows by name."""
    load = extra("Bio.Align").substitution_matrices.load
    names = load()
    if name not in names:  # Biopython would open any file of that name
        raise ValueError(
            f"matrix must be one of {', '.join(names)}, an Array of Biopython or a tuple "
            f"(match, mismatch); got {shown(name)}."
        )
    return load(name)


def extra(module):
    """Import a module of the extra "sequences"."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(
            f'{module.split(".")[0]} is needed: pip install "psvm[sequences]"'
        ) from None


def has_parasail():
    """Whether parasail can be imported."""
    return importlib.util.find_spec("parasail") is not None
