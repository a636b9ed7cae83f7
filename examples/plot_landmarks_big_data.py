"""
Landmarks on big data
=====================

30,000 rows are described by a few landmarks. The sums over the rows are formed once; error and
time depend on the number of landmarks.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from psvm import PSVC

rng = np.random.default_rng(0)


def rows(n):
    X = rng.uniform(-3, 3, size=(n, 2))
    f = np.sin(X[:, 0] * 2) + np.cos(X[:, 1] * 2)
    return X, (f + 0.3 * rng.normal(size=n) > 0).astype(int)


(X, y), (X_new, y_new) = rows(30_000), rows(5_000)

# %%
# Random landmarks, one thread or many: the shape of the curve is the same.

numbers, errors, seconds = [10, 20, 40, 80, 160], [], []
for n in numbers:
    began = time.perf_counter()
    model = PSVC(kernel="rbf", gamma=1.0, landmarks="random", n_landmarks=n).fit(X, y)
    seconds.append(time.perf_counter() - began)
    errors.append(100 * (1 - model.score(X_new, y_new)))

fig, (ax, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
ax.plot(numbers, errors, "o-")
ax.set(xscale="log", xlabel="landmarks", ylabel="error in %", title="30,000 rows")
right.plot(numbers, seconds, "s-", color="#E69F00")
right.set(xscale="log", yscale="log", xlabel="landmarks", ylabel="seconds of a fit")
for a in (ax, right):
    a.set_xticks(numbers, numbers)
    a.minorticks_off()
plt.show()
