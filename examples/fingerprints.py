"""Activity of molecules from fingerprints: the Tanimoto kernel and the bits that decide.

With a file of SMILES and activities (a column of SMILES, a name, and 0 or 1) and RDKit, from that:

    python examples/fingerprints.py molecules.smi

Without, random fingerprints of 1,024 bits in series of analogues, as in a QSAR study: a molecule is
active if it has two planted bits, or a third one. Analogues share almost all bits, so that overall
similarity misleads, and the selected bits tell.
"""

import sys

import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from psvm import PSVC, PSVMSelector
from psvm.kernels import MorganFingerprints, read_smiles

PLANTED = [17, 404, 900]


def planted(seed=0, n_scaffolds=20, n_analogues=10, n_bits=1024):
    """Series of analogues: a scaffold's bits with some changes, active by three of them."""
    rng = np.random.default_rng(seed)
    scaffolds = rng.random((n_scaffolds, n_bits)) < 0.04
    X = np.repeat(scaffolds, n_analogues, axis=0)
    X ^= rng.random(X.shape) < 0.005
    X[:, PLANTED] = rng.random((len(X), 3)) < [0.6, 0.6, 0.2]
    return X.astype(float), (X[:, 17] & X[:, 404]) | X[:, 900]


def from_file(path):
    """Fingerprints of the molecules of a file, whose names end with their activity."""
    molecules = read_smiles(path)
    y = np.array([molecule.name.split()[-1] == "1" for molecule in molecules])
    return MorganFingerprints().fit_transform(molecules), y


if __name__ == "__main__":
    X, y = from_file(sys.argv[1]) if len(sys.argv) > 1 else planted()
    print(f"{X.shape[0]} molecules, {y.mean():.0%} of them active, {X.shape[1]} bits")
    print(f"guess: {100 * min(y.mean(), 1 - y.mean()):.1f} % error")
    chosen = make_pipeline(PSVMSelector(n_features=5), PSVC(kernel="tanimoto"))
    for name, model in (
        ("tanimoto, all bits", PSVC(kernel="tanimoto")),
        ("jaccard, all bits", PSVC(kernel="jaccard")),
        ("rbf, all bits", PSVC()),
        ("bits themselves", PSVC(kernel="dyadic")),
        ("tanimoto, five selected bits", chosen),
    ):
        error = 100 - 100 * cross_val_score(model, X, y, cv=5).mean()
        print(f"{name}: {error:.1f} % error")
    selector = PSVMSelector(n_features=5).fit(X, y)
    print("selected bits:", *np.sort(np.flatnonzero(selector.get_support())))
