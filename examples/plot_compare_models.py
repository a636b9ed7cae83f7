"""
Compare models with honest tests
================================

All models see the same splits. The corrected resampled t-test respects that training sets
overlap; points are the errors of single splits.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from psvm import PSVC
from psvm.comparators import KernelFisherDiscriminant
from psvm.evaluation import compare

X, y = load_breast_cancer(return_X_y=True)
machines = {
    "P-SVM": PSVC(),
    "SVM": SVC(),
    "kernel Fisher": KernelFisherDiscriminant(),
    "logistic regression": LogisticRegression(),
}
models = {name: make_pipeline(StandardScaler(), m) for name, m in machines.items()}
cv = StratifiedKFold(8, shuffle=True, random_state=0)
report = compare(models, X[:, :10], y, cv=cv, tests=["corrected_t"])
print(report)

# %%
# One point a split, the bar is the mean.

fig, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for i, errors in enumerate(100 * report.values):
    ax.plot(np.full(8, i) + np.linspace(-0.15, 0.15, 8), errors, "o", color="0.6", ms=4)
    ax.hlines(errors.mean(), i - 0.25, i + 0.25, color="#0072B2", lw=3)
ax.set_xticks(range(len(models)), models)
ax.set(ylabel="error in %", title="Errors on eight splits")
plt.show()
