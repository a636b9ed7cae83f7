"""
Abstain when in doubt
=====================

A classifier that may reject objects makes fewer errors on the rest. The error-reject curve shows
how many.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons

from psvm import PSVC
from psvm.evaluation import ErrorRejectDisplay, RejectOption

X, y = make_moons(300, noise=0.35, random_state=0)
X_new, y_new = make_moons(3000, noise=0.35, random_state=1)
model = PSVC(probability=True).fit(X, y)

# %%
# Left: the curve for all thresholds. Right: what a threshold of 0.8 on the probability rejects.

fig, (ax, right) = plt.subplots(1, 2, figsize=(9.5, 4.3), layout="constrained")
ErrorRejectDisplay.from_estimator(model, X_new, y_new, ax=ax, name="PSVC")
careful = RejectOption(model, rule="threshold", threshold=0.8).fit(X, y)
rejected = careful.rejects(X_new)
for label, marker, colour in ((0, "o", "#E69F00"), (1, "^", "#0072B2")):
    part = (y_new == label) & ~rejected
    right.scatter(*X_new[part].T, s=6, marker=marker, color=colour, label=f"class {label}")
right.scatter(*X_new[rejected].T, s=8, marker="x", color="0.4", label="rejected")
right.set(xticks=[], yticks=[], title=f"{100 * rejected.mean():.0f} % rejected")
right.legend(fontsize=8)
plt.show()
