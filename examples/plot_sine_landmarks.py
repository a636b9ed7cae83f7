"""
Objects and landmarks are different sets
========================================

34 objects of two classes are described by 50 other, random points (crosses: those that the P-SVM
selects). K is 34 x 50; the polynomial and the RBF kernel are positive definite, the sine kernel
``sin(theta ||x - z||)`` is not, and does as well. After the first toy problem of Hochreiter and
Obermayer.

    python examples/plot_sine_landmarks.py [file.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from psvm import PSVC
from psvm.kernels import RBF, Polynomial, Sine

KERNELS = {
    "poly, degree 4": Polynomial(coef0=1.0, degree=4),
    "RBF, gamma 1": RBF(gamma=1.0),
    "sine, theta 2": Sine(theta=2.0),
}


def objects(rng):
    """17 points around the origin and at two corners, 17 between them."""
    first = np.concatenate(
        [
            rng.normal(0.0, 0.25, size=(7, 2)),
            rng.normal((1.4, 1.4), 0.2, size=(5, 2)),
            rng.normal((-1.4, -1.4), 0.2, size=(5, 2)),
        ]
    )
    angle = np.concatenate([rng.uniform(1.8, 3.0, 9), rng.uniform(-1.4, -0.2, 8)])
    second = np.c_[1.3 * np.cos(angle), 1.3 * np.sin(angle)] + rng.normal(0, 0.12, size=(17, 2))
    return np.vstack([first, second]), np.repeat([1, 2], 17)


def draw(ax, title, model, X, y):
    x = np.linspace(-2.2, 2.2, 200)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    f = model.decision_function(grid).reshape(200, 200)
    ax.contourf(x, x, f > 0, levels=[-0.5, 0.5, 1.5], colors=["white", "lightgrey"])
    for label, face in ((1, "white"), (2, "black")):
        ax.scatter(*X[y == label].T, s=22, facecolors=face, edgecolors="black", zorder=2)
    ax.scatter(*model.support_objects_.T, marker="x", s=30, color="C3", zorder=3)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal", xlim=(-2.2, 2.2), ylim=(-2.2, 2.2))
    ax.set_xlabel(f"{model.n_support_} of 50 describe, {np.sum(model.predict(X) != y)} errors")


def main():
    rng = np.random.default_rng(1)
    X, y = objects(rng)
    Z = rng.uniform(-2, 2, size=(50, 2))
    fig, axes = plt.subplots(1, len(KERNELS), figsize=(9, 3.6), layout="constrained")
    for ax, (title, kernel) in zip(axes, KERNELS.items(), strict=True):
        model = PSVC(kernel=kernel, landmarks=Z, epsilon=0.3).fit(X, y)
        draw(ax, title, model, X, y)
        print(f"{title}: {model.n_support_} of 50, accuracy {model.score(X, y):.2f}")
    if len(sys.argv) > 1:
        fig.savefig(sys.argv[1], dpi=90)
    else:
        plt.show()


if __name__ == "__main__":
    main()
