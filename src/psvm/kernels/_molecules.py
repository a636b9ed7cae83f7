"""Molecules as fingerprints, by RDKit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._fitted import Count
from .._parameters import Flag, Integer, check_parameters
from .._typing import ArrayLike, StrPath
from .._validation import check_path
from ._sequence import Sequence, called, check_sequences


def read_smiles(path: StrPath) -> list[Sequence]:
    r"""Read a file of SMILES: a molecule in each line, with a name behind it if it has one.

    A first line "smiles" or "SMILES ..." is a header, and lines that begin with # are comments. The
    molecules are not checked; `MorganFingerprints` does so.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    list of Sequence
        Strings with `name`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from psvm.kernels import read_smiles
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.smi")
    ...     _ = path.write_text("CCO ethanol\nc1ccccc1\tbenzene\n")
    ...     molecules = read_smiles(path)
    >>> molecules, molecules[1].name
    (['CCO', 'c1ccccc1'], 'benzene')
    """
    check_path("path", path)
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise ValueError(f"{os.fspath(path)!r} is not a file of SMILES: {error}.") from error
    words = [line.split(maxsplit=1) for line in lines if line.strip() and line[0] != "#"]
    if words and words[0][0].lower() == "smiles":
        words = words[1:]
    if not words:
        raise ValueError(f"{os.fspath(path)!r} has no molecules.")
    return [Sequence(word, *(name.strip() for name in rest)) for word, *rest in words]


class MorganFingerprints(TransformerMixin, BaseEstimator):
    """Molecules, written as SMILES, to circular fingerprints; needs RDKit, the extra `chem`.

    Each bit stands for surroundings of atoms up to a radius, as in ECFP. Follow it by
    ``PSVC(kernel="tanimoto")``, or "jaccard" for counts.

    Parameters
    ----------
    radius : int, default=2
        Bonds to the farthest atom; 2 is ECFP4.
    n_bits : int, default=2048
        Length of a fingerprint.
    counts : bool, default=False
        Whether to count how often the surroundings of a bit occur.

    Attributes
    ----------
    n_features_out_ : int
        Number of bits.

    Examples
    --------
    >>> from psvm.kernels import MorganFingerprints, Tanimoto
    >>> bits = MorganFingerprints().fit_transform(["CCO", "CCN", "CCO"])  # doctest: +SKIP
    >>> Tanimoto()(bits).round(2)  # doctest: +SKIP
    array([[1.  , 0.33, 1.  ],
           [0.33, 1.  , 0.33],
           [1.  , 0.33, 1.  ]])
    """

    n_features_out_: int

    _constraints: ClassVar = {
        "radius": Integer(most=100),
        "n_bits": Integer(least=1, most=2**24),
        "counts": Flag(),
    }

    _fitted: ClassVar = {"n_features_out_": Count(least=1)}

    def __init__(self, radius: int = 2, n_bits: int = 2048, *, counts: bool = False) -> None:
        self.radius = radius
        self.n_bits = n_bits
        self.counts = counts

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Check the molecules; there is nothing to learn.

        Parameters
        ----------
        X : array-like of str
            SMILES.
        y : None
            Ignored.

        Returns
        -------
        self : MorganFingerprints
        """
        check_parameters(self)
        self._molecules(X)
        self.n_features_out_ = self.n_bits
        return self

    def transform(self, X: ArrayLike) -> sp.csr_array:
        """Fingerprints of molecules.

        Parameters
        ----------
        X : array-like of str
            SMILES.

        Returns
        -------
        csr_array of shape (n_molecules, n_bits)
        """
        check_is_fitted(self)
        molecules = self._molecules(X)
        generator = _rdkit().rdFingerprintGenerator.GetMorganGenerator(
            radius=self.radius, fpSize=self.n_bits
        )
        prints = [generator.GetCountFingerprint(m).GetNonzeroElements() for m in molecules]
        indptr = np.cumsum([0, *map(len, prints)])
        indices = np.array([bit for p in prints for bit in p], dtype=np.int32)
        values = np.array([n for p in prints for n in p.values()], dtype=np.float64)
        data = values if self.counts else np.ones_like(values)
        F = sp.csr_array((data, indices, indptr), shape=(len(prints), self.n_bits))
        F.sort_indices()
        return F

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the columns: "bit0", "bit1" and so on.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return np.array([f"bit{j}" for j in range(self.n_features_out_)], dtype=object)

    def _molecules(self, X):
        """The molecules as RDKit holds them, or an error that names the first that is none."""
        chem, X = _rdkit(), check_sequences(X)
        block = chem.rdBase.BlockLogs()  # its messages go to stderr; ours has the same to say
        molecules = [chem.MolFromSmiles(str(x)) for x in X]
        del block
        if None in molecules:
            i = molecules.index(None)
            what = called(X, i).replace("sequence", "molecule")
            raise ValueError(f"{what} of X is no SMILES that RDKit can read: {str(X[i])[:80]!r}.")
        return molecules

    def _check_fitted(self, state):
        check_parameters(self)
        state.require(self.n_features_out_ == self.n_bits, "it has another number of bits")


def _rdkit():
    try:
        from rdkit import Chem
        from rdkit.Chem import rdFingerprintGenerator  # noqa: F401, a submodule of Chem
    except ImportError as error:
        raise ImportError(
            'Fingerprints of molecules need RDKit: pip install "psvm[chem]".'
        ) from error
    return Chem
