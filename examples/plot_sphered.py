"""
Sphering: units do not matter
=============================

A standard SVM and a Sphered SVM are trained on the same two classes, and again after the second
input was divided by ten. Drawn back into the original coordinates, the line of the standard SVM
has turned; that of the Sphered SVM is where it was. After the second figure of the paper.
"""

import matplotlib.pyplot as plt
import numpy as np

from psvm import SpheredSVC

rng = np.random.default_rng(5)
y = np.repeat([-1, 1], 6)
X = rng.normal(size=(12, 2)) @ [[1.5, 0.6], [0.0, 0.7]] + np.outer(y, [0.0, 2.0])
scale = np.array([1.0, 0.1])


def line(model, x, scale):
    """The second coordinate, in original units, at which the decision function is zero."""
    c, right, up = (model.decision_function(np.array([p])) for p in ([0, 0], [1, 0], [0, 1]))
    return -((right - c) * x * scale[0] + c) / ((up - c) * scale[1])


# %%
# lam = 1 is the standard SVM, lam = 0 the Sphered SVM.

x = np.array([X[:, 0].min() - 0.5, X[:, 0].max() + 0.5])
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
models = {}
for ax, lam, title in zip(axes, (1.0, 0.0), ("standard SVM", "Sphered SVM"), strict=True):
    before = SpheredSVC(lam, kernel="linear", C=1e4, tol=1e-8).fit(X, y)
    after = SpheredSVC(lam, kernel="linear", C=1e4, tol=1e-8).fit(X * scale, y)
    models[lam] = before, after
    ax.scatter(*X[y < 0].T, marker="o", s=18, color="#E69F00")
    ax.scatter(*X[y > 0].T, marker="^", s=18, color="#0072B2")
    ax.plot(x, line(before, x, np.ones(2)), "k-", lw=3, alpha=0.4, label="original inputs")
    ax.plot(x, line(after, x, scale), "--", color="#D55E00", label="second input / 10, drawn back")
    ax.set(title=f"{title} (lam = {lam:.0f})", xlim=x, ylim=(X[:, 1].min() - 1, X[:, 1].max() + 1))
axes[0].legend(loc="lower right", fontsize=8)
plt.show()
