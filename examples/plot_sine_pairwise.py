"""
An indefinite kernel where it belongs
=====================================

70 objects, 28 and 42 of two classes that alternate with the distance from the origin. The pairwise
matrix of the indefinite sine kernel fits such data better than that of the RBF kernel: fewer
support objects (circled) and a smaller error on new objects. The parameters of both are chosen by
cross-validation. After the second toy problem of Hochreiter and Obermayer.

    python examples/plot_sine_pairwise.py [file.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from psvm import PSVC, matrix_spectrum
from psvm.kernels import RBF, Sine

SEARCH = {
    "RBF": (RBF(), {"kernel__gamma": [0.1, 0.3, 1.0, 3.0, 10.0]}),
    "sine": (Sine(), {"kernel__theta": [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0]}),
}


def label(X):
    """Class 2 where the sine of the distance from the origin is positive."""
    return np.where(np.sin(2.0 * np.linalg.norm(X, axis=1)) > 0, 2, 1)


def objects(rng, n_first, n_second):
    X = rng.uniform(-3, 3, size=(20 * (n_first + n_second), 2))
    X = X[np.abs(np.sin(2.0 * np.linalg.norm(X, axis=1))) > 0.15]  # a gap between the classes
    y = label(X)
    index = np.concatenate([np.flatnonzero(y == 1)[:n_first], np.flatnonzero(y == 2)[:n_second]])
    return X[index], y[index]


def search(kernel, grid, X, y):
    epsilons = np.sqrt(len(y)) * np.array([0.02, 0.05, 0.1, 0.2])
    cv = StratifiedKFold(7, shuffle=True, random_state=0)
    return GridSearchCV(PSVC(kernel=kernel), grid | {"epsilon": epsilons}, cv=cv).fit(X, y)


def draw(ax, title, model, X, y, error):
    x = np.linspace(-3, 3, 250)
    grid = np.stack(np.meshgrid(x, x), axis=-1).reshape(-1, 2)
    f = model.decision_function(grid).reshape(250, 250)
    ax.contourf(x, x, f > 0, levels=[-0.5, 0.5, 1.5], colors=["white", "lightgrey"])
    for c, face in ((1, "white"), (2, "black")):
        ax.scatter(*X[y == c].T, s=18, facecolors=face, edgecolors="black", zorder=2)
    ax.scatter(*model.support_objects_.T, s=90, facecolors="none", edgecolors="C3", zorder=3)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal", xlim=(-3, 3), ylim=(-3, 3))
    ax.set_xlabel(f"{model.n_support_} support objects, test error {100 * error:.1f} %")


def main():
    rng = np.random.default_rng(0)
    X, y = objects(rng, 28, 42)
    X_test, y_test = objects(rng, 2000, 3000)
    fig, axes = plt.subplots(1, 3, figsize=(11, 3.7), layout="constrained")
    for ax, (name, (kernel, grid)) in zip(axes, SEARCH.items(), strict=False):
        model = search(kernel, grid, X, y).best_estimator_
        error = 1 - model.score(X_test, y_test)
        title = " ".join([name, *(f"{k} {v:g}" for k, v in model.kernel.get_params().items())])
        draw(ax, title, model, X, y, error)
        print(f"{title}: {model.n_support_} support objects, error {error:.3f}")
    spectrum = matrix_spectrum(model.kernel(X))
    spectrum.plot(axes[2], most=40)
    axes[2].set_title("spectrum of the sine kernel")
    print(f"sine: {spectrum}")
    if len(sys.argv) > 1:
        fig.savefig(sys.argv[1], dpi=90)
    else:
        plt.show()


if __name__ == "__main__":
    main()
