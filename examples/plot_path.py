"""
The exact path along epsilon
============================

Alpha is piecewise linear in epsilon. The path shows which measurement enters when, and how its
weight changes as others join. All knots are computed and certified in one call.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

import psvm

K, y = load_breast_cancer(return_X_y=True, as_frame=True)
path = psvm.epsilon_path(K, np.where(y == 1, 1, -1))

# %%
# Columns that enter first are labelled.

fig, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
alphas = path.alphas.toarray()
early = path.order[:6]
for j in range(K.shape[1]):
    if j not in early:
        ax.plot(path.epsilons, alphas[:, j], color="0.8", lw=0.8)
styles = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1))]
for j, style in zip(early, styles, strict=True):
    ax.plot(path.epsilons, alphas[:, j], ls=style, lw=2, label=K.columns[j])
ax.set(xscale="log", xlabel="epsilon", ylabel="alpha", ylim=(-12, 8))
ax.invert_xaxis()
ax.legend(title="first six to enter", fontsize=8)
plt.show()
