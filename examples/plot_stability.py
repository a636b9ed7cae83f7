"""
Stability of selected genes
===========================

Which genes are selected again when half of the samples are left out? Five of 1,000 random genes
carry the signal; ``rank_features`` repeats the selection on random halves.
"""

import matplotlib.pyplot as plt
import numpy as np

from psvm.selection import rank_features

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 1000))
signal = X[:, :5] @ [1.2, -1.0, 1.0, -0.8, 0.8]
y = np.where(signal + 0.5 * rng.normal(size=80) > 0, "sick", "well")
names = np.array([f"gene {j}" for j in range(1000)])
ranking = rank_features(X, y, n_features=12)

# %%
# Dark bars are the genes that truly matter.

order, stable = ranking.indices, ranking.stability
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
true = order < 5
ax.barh(
    range(len(order)),
    100 * stable,
    color=np.where(true, "#0072B2", "#BBBBBB"),
    hatch=["" if t else "//" for t in true],
    edgecolor="white",
)
ax.set_yticks(range(len(order)), names[order])
ax.invert_yaxis()
ax.set(xlabel="selected in % of random halves", title="Plain bars: genes that carry the signal")
plt.show()
