"""Standard SVM and Sphered SVM before and after scaling one input (the paper's second figure).

    pip install "psvm[plot]"
    python examples/plot_sphered.py [picture.png]

Both machines are trained on the same two classes, and again after the second input was divided by
ten. Drawn back into the original coordinates, the line of the standard SVM has turned; that of the
Sphered SVM is where it was.
"""

import sys

import numpy as np

from psvm import SpheredSVC

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise ImportError('This example draws a picture: pip install "psvm[plot]"') from error

SCALE = np.array([1.0, 0.1])


def classes(n=6, seed=5):
    rng = np.random.default_rng(seed)
    y = np.repeat([-1, 1], n)
    X = rng.normal(size=(2 * n, 2)) @ [[1.5, 0.6], [0.0, 0.7]]
    return X + np.outer(y, [0.0, 2.0]), y


def line(model, x, scale):
    """The second coordinate, in original units, at which f is zero."""
    origin, slope = (model.decision_function(np.array([p])) for p in ([0.0, 0.0], [1.0, 0.0]))
    up = model.decision_function(np.array([[0.0, 1.0]]))
    a, b, c = slope - origin, up - origin, origin
    return -(a * x * scale[0] + c) / (b * scale[1])


def draw(axes, lam, title, X, y):
    x = np.array([X[:, 0].min() - 0.5, X[:, 0].max() + 0.5])
    before = SpheredSVC(lam, kernel="linear", C=1e4, tol=1e-8).fit(X, y)
    after = SpheredSVC(lam, kernel="linear", C=1e4, tol=1e-8).fit(X * SCALE, y)
    axes.scatter(*X[y < 0].T, marker="o", s=18, c="tab:orange")
    axes.scatter(*X[y > 0].T, marker="^", s=18, c="tab:blue")
    axes.plot(x, line(before, x, np.ones(2)), "k-", lw=3, alpha=0.4, label="original inputs")
    axes.plot(x, line(after, x, SCALE), "r--", label="second input / 10, drawn back")
    axes.set(title=title, xlim=x, ylim=(X[:, 1].min() - 0.5, X[:, 1].max() + 0.5))
    angles = [
        np.degrees(np.arctan(np.diff(line(m, x, s))[0] / np.diff(x)[0]))
        for m, s in ((before, np.ones(2)), (after, SCALE))
    ]
    print(f"{title}: the line has an angle of {angles[0]:.2f}° before and {angles[1]:.2f}° after")


def main(picture=None):
    X, y = classes()
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    draw(panels[0], 1.0, "standard SVM (lam = 1)", X, y)
    draw(panels[1], 0.0, "Sphered SVM (lam = 0)", X, y)
    panels[0].legend(loc="lower right", fontsize=8)
    if picture:
        figure.savefig(picture, dpi=80)
    else:
        plt.show()


if __name__ == "__main__":
    main(*sys.argv[1:2])
