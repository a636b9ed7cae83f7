"""
Decision regions beside SVC
===========================

Both classifiers on three data sets. Circles mark support objects: the P-SVM needs a fraction of
those of the SVM for about the same regions. It chooses kernel and epsilon by leave-one-out values,
here the sparsest model along each path that is not clearly worse than the best.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles, make_gaussian_quantiles, make_moons
from sklearn.svm import SVC

from psvm import PSVC

sets = {
    "moons": make_moons(200, noise=0.25, random_state=0),
    "circles": make_circles(200, noise=0.15, factor=0.5, random_state=0),
    "quantiles": make_gaussian_quantiles(n_samples=200, n_features=2, n_classes=2, random_state=0),
}

# %%
# A grid of points is classified to draw the regions.


def draw(ax, name, model, X, y):
    x = np.linspace(X[:, 0].min() - 0.5, X[:, 0].max() + 0.5, 120)
    z = np.linspace(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5, 120)
    grid = np.stack(np.meshgrid(x, z), axis=-1).reshape(-1, 2)
    f = model.decision_function(grid).reshape(120, 120)
    ax.contourf(x, z, f > 0, levels=[-0.5, 0.5, 1.5], colors=["#FDE7C0", "#CFE5F2"])
    ax.contour(x, z, f, levels=[0], colors="black", linewidths=1)
    ax.scatter(*X[y == 0].T, s=12, marker="o", color="#E69F00")
    ax.scatter(*X[y == 1].T, s=14, marker="^", color="#0072B2")
    ax.scatter(*X[model.support_].T, s=60, facecolors="none", edgecolors="black", linewidths=0.8)
    ax.set(title=f"{name}: {len(model.support_)} support objects", xticks=[], yticks=[])


fig, axes = plt.subplots(2, 3, figsize=(10, 6.4), layout="constrained")
for column, (X, y) in zip(axes.T, sets.values(), strict=True):
    draw(column[0], "PSVC", PSVC(rule="sparse").fit(X, y), X, y)
    draw(column[1], "SVC", SVC().fit(X, y), X, y)
plt.show()
