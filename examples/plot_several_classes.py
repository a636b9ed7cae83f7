"""
Several classes, and machines that share support objects
========================================================

By default each pair of classes has a machine with support objects of its own. With
``multi_class="shared"`` there is a machine for each class, and all choose from one set of objects.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from psvm import PSVC

X, y = make_blobs(240, centers=[(-2, 0), (2, 0), (0, 3), (0, -3)], cluster_std=1.1, random_state=0)

# %%
# Regions and support objects of both.

x = np.linspace(-5, 5, 150)
z = np.linspace(-6, 6, 150)
grid = np.stack(np.meshgrid(x, z), axis=-1).reshape(-1, 2)
fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
for ax, multi_class in zip(axes, ("ovo", "shared"), strict=True):
    model = PSVC(multi_class=multi_class).fit(X, y)
    region = model.predict(grid).reshape(150, 150)
    ax.contourf(
        x,
        z,
        region,
        levels=[-0.5, 0.5, 1.5, 2.5, 3.5],
        colors=["#CFE5F2", "#FDE7C0", "#CDEBE0", "#F3DFEA"],
    )
    for label, marker in enumerate("o^sD"):
        ax.scatter(*X[y == label].T, s=10, marker=marker, color="0.25")
    ax.scatter(*X[model.support_].T, s=60, facecolors="none", edgecolors="#D55E00")
    ax.set(title=f'"{multi_class}": {model.n_support_} support objects', xticks=[], yticks=[])
plt.show()
