"""
An indefinite kernel where it belongs
=====================================

Two classes that alternate with the distance from the origin. The sine kernel ``sin(theta ||x -
z||)`` fits them but is not positive definite; the P-SVM takes it as it is. After the second toy
problem of Hochreiter and Obermayer.
"""

import matplotlib.pyplot as plt
import numpy as np

from psvm import PSVC
from psvm.kernels import RBF, Sine

rng = np.random.default_rng(3)


def rings(n):
    X = rng.uniform(-1.2, 1.2, size=(n, 2))
    return X, (np.floor(np.linalg.norm(X, axis=1) * 4) % 2).astype(int)


(X, y), (X_new, y_new) = rings(110), rings(2000)

# %%
# Both kernels with the width that has the smallest leave-one-out error.

candidates = {
    "RBF": [RBF(gamma=g) for g in (30.0, 60.0, 120.0)],
    "sine": [Sine(theta=t) for t in (8.0, 10.0, 12.5, 16.0)],
}
x = np.linspace(-1.2, 1.2, 160)
grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
models = {}
for ax, (name, kernels) in zip(axes, candidates.items(), strict=True):
    model = min((PSVC(kernel=k).fit(X, y) for k in kernels), key=lambda m: m.loo_error_)
    models[name] = model
    f = model.decision_function(grid).reshape(160, 160)
    ax.contourf(x, x, f > 0, levels=[-0.5, 0.5, 1.5], colors=["white", "lightgrey"])
    ax.scatter(*X[y == 0].T, s=14, marker="o", color="#E69F00")
    ax.scatter(*X[y == 1].T, s=16, marker="^", color="#0072B2")
    ax.scatter(*X[model.support_].T, s=70, facecolors="none", edgecolors="black")
    error = 100 * (1 - model.score(X_new, y_new))
    ax.set(title=f"{name}: {model.n_support_} support objects, error {error:.0f} %")
    ax.set(xticks=[], yticks=[], aspect="equal")
plt.show()
