"""
How epsilon is chosen: the leave-one-out curve
==============================================

For each epsilon of a walk the error of all rows is known without their own part in the model, at
no further cost. The default takes the epsilon with the smallest loss; ``rule="sparse"`` takes the
largest one that is not clearly worse.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from psvm import PSVC
from psvm.kernels import Laplacian

X, y = make_moons(250, noise=0.3, random_state=1)
X_new, y_new = make_moons(4000, noise=0.3, random_state=2)

# %%
# Fit at each epsilon, and compare the leave-one-out error with that on 4,000 new objects.

shares = np.geomspace(0.7, 0.002, 25)
kernel = Laplacian(gamma=1.0)
models = [PSVC(kernel=kernel, epsilon=s, epsilon_unit="max").fit(X, y) for s in shares]
best, sparse = PSVC(kernel=kernel).fit(X, y), PSVC(kernel=kernel, rule="sparse").fit(X, y)
top = models[0].epsilon_ / shares[0]

fig, (ax, below) = plt.subplots(2, 1, figsize=(7.5, 5.5), sharex=True, layout="constrained")
ax.plot(shares, [100 * m.loo_error_ for m in models], "o-", label="leave-one-out", ms=4)
ax.plot(
    shares, [100 * (1 - m.score(X_new, y_new)) for m in models], "s--", label="new objects", ms=4
)
for line in (ax, below):
    line.axvline(best.epsilon_ / top, color="black", lw=1, ls=":", label='rule="best"')
    line.axvline(sparse.epsilon_ / top, color="0.4", lw=1, ls="--", label='rule="sparse"')
ax.set(xscale="log", ylabel="error in %")
ax.legend()
below.plot(shares, [m.n_support_ for m in models], "^-", color="#009E73", ms=4)
below.set(xlabel="epsilon / epsilon_max", ylabel="support objects")
below.invert_xaxis()
plt.show()
