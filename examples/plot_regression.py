"""
Regression with few support objects
===================================

PSVR beside SVR on a noisy curve. Both follow it; the P-SVM keeps a handful of objects. With
``rule="sparse"`` it takes the largest epsilon whose loss is not clearly worse than the smallest.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVR

from psvm import PSVR

rng = np.random.default_rng(0)
X = np.sort(rng.uniform(-5, 5, size=(150, 1)), axis=0)
y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=150)
x = np.linspace(-5, 5, 400)[:, None]

# %%
# Circles mark support objects.

fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for ax, model in zip(
    axes, (PSVR(kernel="rbf", gamma=1.0, rule="sparse"), SVR(gamma=1.0)), strict=True
):
    model.fit(X, y)
    ax.plot(X, y, ".", color="0.6", ms=4)
    ax.plot(x, np.sinc(x), "k:", lw=1, label="truth")
    ax.plot(x, model.predict(x), color="#0072B2", lw=2, label=type(model).__name__)
    s = model.support_
    ax.scatter(X[s], y[s], s=40, facecolors="none", edgecolors="#D55E00")
    ax.set_title(f"{type(model).__name__}: {len(s)} support objects")
    ax.legend(fontsize=8)
plt.show()
