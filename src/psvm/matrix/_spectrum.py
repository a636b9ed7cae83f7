"""How far a square matrix of relations is from a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from .._plotting import new_axes
from .._typing import Axes, MatrixLike
from .._validation import check_array, check_choice, check_positive_integer


@dataclass(frozen=True)
class MatrixSpectrum:
    """Eigenvalues and asymmetry of a matrix, made by `matrix_spectrum`.

    Attributes
    ----------
    eigenvalues : ndarray of shape (n,)
        Eigenvalues of the symmetric part, the largest first.
    asymmetry : float
        ``||K - K'|| / (||K|| + ||K'||)`` in the Frobenius norm: 0 for a symmetric, 1 for an
        antisymmetric matrix.

    Examples
    --------
    >>> from psvm import matrix_spectrum
    >>> print(matrix_spectrum([[0.0, 2.0], [2.0, 0.0]]))
    2 eigenvalues from 2 to -2; 50.0 % are negative, with 50.0 % of the absolute sum; asymmetry 0
    """

    eigenvalues: np.ndarray
    asymmetry: float

    @property
    def _negative(self):
        """Which eigenvalues are negative beyond rounding."""
        size = np.abs(self.eigenvalues)
        return self.eigenvalues < -len(size) * np.finfo(float).eps * size.max()

    @property
    def negative_share(self) -> float:
        """Share of the eigenvalues that are negative."""
        return float(np.mean(self._negative))

    @property
    def negative_mass(self) -> float:
        """Share of the negative eigenvalues in the sum of all absolute eigenvalues."""
        total = np.abs(self.eigenvalues).sum()
        return float(np.abs(self.eigenvalues[self._negative]).sum() / total) if total > 0 else 0.0

    @property
    def positive_semidefinite(self) -> bool:
        """Whether the matrix could be the Gram matrix of a positive definite kernel."""
        symmetric = self.asymmetry <= len(self.eigenvalues) * np.finfo(float).eps
        return bool(symmetric and not self._negative.any())

    def __str__(self):
        return (
            f"{len(self.eigenvalues)} eigenvalues from {self.eigenvalues[0]:.4g} to "
            f"{self.eigenvalues[-1]:.4g}; {100 * self.negative_share:.1f} % are negative, with "
            f"{100 * self.negative_mass:.1f} % of the absolute sum; asymmetry {self.asymmetry:.3g}"
        )

    def plot(self, ax: Axes | None = None, *, most: int = 100) -> Axes:
        """Scree plot: absolute eigenvalues in decreasing order, negative ones in another colour.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        most : int, default=100
            Largest number of eigenvalues that are drawn.

        Returns
        -------
        matplotlib Axes
        """
        check_positive_integer("most", most)
        ax = new_axes(ax, "A scree plot")
        order = np.argsort(-np.abs(self.eigenvalues), kind="stable")[:most]
        place, negative = np.arange(1, len(order) + 1), self._negative[order]
        for chosen, colour, label in ((~negative, "C0", "positive"), (negative, "C3", "negative")):
            if chosen.any():
                ax.bar(place[chosen], np.abs(self.eigenvalues[order][chosen]), 0.9, color=colour,
                       label=label)  # fmt: skip
        ax.set(xlabel="rank", ylabel="absolute eigenvalue")
        ax.legend(title=f"{100 * self.negative_share:.0f} % negative")
        return ax


def matrix_spectrum(
    K: MatrixLike, *, kind: Literal["similarity", "dissimilarity"] = "similarity"
) -> MatrixSpectrum:
    """Eigenvalues and asymmetry of a square matrix of relations.

    They tell how far the matrix is from a positive semidefinite kernel. The P-SVM accepts any
    matrix. The negative eigenvalues show how much a method that needs a positive semidefinite
    kernel would have to discard.

    Parameters
    ----------
    K : {array-like, sparse matrix} of shape (n, n)
        The matrix.
    kind : {"similarity", "dissimilarity"}, default="similarity"
        Dissimilarities D are turned into the similarities ``-1/2 J D^2 J`` of classical scaling,
        with ``J = I - 11'/n``: no eigenvalue of these is negative if and only if the D are
        Euclidean distances.

    Returns
    -------
    MatrixSpectrum

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import matrix_spectrum
    >>> from psvm.kernels import RBF, Sine
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> matrix_spectrum(RBF()(X)).positive_semidefinite
    True
    >>> report = matrix_spectrum(Sine()(X))
    >>> bool(report.negative_share > 0.3 and report.asymmetry < 1e-12)
    True
    """
    check_choice("kind", kind, ("similarity", "dissimilarity"))
    K = check_array("K", K, accept_sparse=True, dtype=np.float64)
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"K must be square, got {K.shape[0]} x {K.shape[1]}: only relations of objects among "
            "themselves have eigenvalues."
        )
    K = K.toarray() if sp.issparse(K) else K
    norm = np.linalg.norm(K)
    asymmetry = float(np.linalg.norm(K - K.T) / (2 * norm)) if norm > 0 else 0.0
    S = (K + K.T) / 2
    if kind == "dissimilarity":
        S *= S
        S -= S.mean(axis=0)
        S -= S.mean(axis=1, keepdims=True)
        S *= -0.5
    return MatrixSpectrum(scipy.linalg.eigvalsh(S)[::-1], asymmetry)
