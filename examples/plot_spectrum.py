"""
The spectrum of a matrix of relations
=====================================

How far is a matrix from a positive definite kernel? Three similarities of the same points: an RBF
kernel, a sine kernel, and shortest-path-like city-block distances turned around.
"""

import matplotlib.pyplot as plt
import numpy as np

from psvm import matrix_spectrum
from psvm.kernels import RBF, Sine

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
matrices = {
    "RBF": RBF(gamma=0.5)(X, X),
    "sine": Sine(theta=2.0)(X, X),
    "- city-block distance": -np.abs(X[:, None] - X[None]).sum(axis=2),
}

# %%
# Eigenvalues from the largest to the smallest.

fig, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), layout="constrained")
for ax, (name, K) in zip(axes, matrices.items(), strict=True):
    report = matrix_spectrum(K)
    values = np.sort(report.eigenvalues)[::-1]
    ax.bar(range(80), values, width=1.0, color=np.where(values < 0, "#D55E00", "#0072B2"))
    ax.axhline(0, color="black", lw=0.6)
    ax.set(title=name, xlabel=f"negative mass {report.negative_mass:.2f}")
    ax.set_yscale("symlog", linthresh=0.1)
plt.show()
