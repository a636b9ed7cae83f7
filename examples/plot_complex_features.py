"""
Objects and landmarks are different sets
========================================

34 objects of two classes are described by 50 other, random points, which the papers call complex
features. Crosses are those that the P-SVM selects. K is 34 x 50. The polynomial and the RBF
kernel are positive definite, the sine kernel ``sin(theta ||x - z||)`` is not, and works as well.
After the first toy problem of Hochreiter and Obermayer.
"""

import matplotlib.pyplot as plt
import numpy as np

from psvm import PSVC
from psvm.kernels import RBF, Polynomial, Sine

rng = np.random.default_rng(1)
first = [
    rng.normal(0.0, 0.25, size=(7, 2)),
    rng.normal((1.4, 1.4), 0.2, size=(5, 2)),
    rng.normal((-1.4, -1.4), 0.2, size=(5, 2)),
]
angle = np.concatenate([rng.uniform(1.8, 3.0, 9), rng.uniform(-1.4, -0.2, 8)])
second = np.c_[1.3 * np.cos(angle), 1.3 * np.sin(angle)] + rng.normal(0, 0.12, size=(17, 2))
X, y = np.vstack([*first, second]), np.repeat([1, 2], 17)
landmarks = rng.uniform(-2, 2, size=(50, 2))

# %%
# The kernel relates each object to each landmark; epsilon selects among the landmarks.

kernels = {
    "poly, degree 4": Polynomial(coef0=1.0, degree=4),
    "RBF, gamma 1": RBF(gamma=1.0),
    "sine, theta 2": Sine(theta=2.0),
}
x = np.linspace(-2.2, 2.2, 150)
grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
fig, axes = plt.subplots(1, 3, figsize=(10, 3.9), layout="constrained")
models = {}
for ax, (title, kernel) in zip(axes, kernels.items(), strict=True):
    model = models[title] = PSVC(kernel=kernel, landmarks=landmarks, epsilon=0.3).fit(X, y)
    f = model.decision_function(grid).reshape(150, 150)
    ax.contourf(x, x, f > 0, levels=[-0.5, 0.5, 1.5], colors=["white", "lightgrey"])
    for label, face in ((1, "white"), (2, "black")):
        ax.scatter(*X[y == label].T, s=22, facecolors=face, edgecolors="black")
    ax.scatter(*model.support_objects_.T, marker="x", s=36, color="#D55E00")
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")
    errors = np.sum(model.predict(X) != y)
    ax.set_xlabel(f"{model.n_support_} of 50 landmarks, {errors} errors")
plt.show()
