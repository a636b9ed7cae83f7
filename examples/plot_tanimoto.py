"""
Molecules: Tanimoto similarity and the bits that decide
=======================================================

Random fingerprints in series of analogues, as in a QSAR study: a molecule is active if it has two
planted bits, or a third one. Analogues share almost all bits, so overall similarity misleads,
while the exact path finds the planted bits.
"""

import matplotlib.pyplot as plt
import numpy as np

import psvm
from psvm.kernels import Tanimoto

rng = np.random.default_rng(0)
planted = [17, 404, 900]
X = np.repeat(rng.random((20, 1024)) < 0.04, 10, axis=0)
X ^= rng.random(X.shape) < 0.005
X[:, planted] = rng.random((200, 3)) < [0.6, 0.6, 0.2]
active = (X[:, 17] & X[:, 404]) | X[:, 900]
X = X.astype(float)

# %%
# Left: the Tanimoto similarities show the series. Right: bits in the order in which they enter.

fig, (ax, right) = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
image = ax.imshow(Tanimoto()(X, X), cmap="cividis")
ax.set(title="Tanimoto similarity", xlabel="molecules", ylabel="molecules")
fig.colorbar(image, ax=ax, shrink=0.8)
path = psvm.epsilon_path(X, np.where(active, 1.0, -1.0), max_features=8)
order = path.order[:8]
alphas = path.alphas.toarray()
entry = [path.epsilons[np.argmax(alphas[:, j] != 0)] for j in order]
true = np.isin(order, planted)
right.barh(
    range(8),
    entry,
    color=np.where(true, "#0072B2", "#BBBBBB"),
    hatch=["" if t else "//" for t in true],
    edgecolor="white",
)
right.set_yticks(range(8), [f"bit {j}" for j in order])
right.invert_yaxis()
right.set(xlabel="epsilon at which the bit enters", title="Planted bits (plain) enter first")
plt.show()
