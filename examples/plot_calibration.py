"""
Probabilities from leave-one-out values
=======================================

``probability=True`` fits a sigmoid to the leave-one-out decision values, without five more fits.
The curve of predicted against observed frequencies stays close to the diagonal.
"""

import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_classification

from psvm import PSVC

X, y = make_classification(3400, n_features=8, n_informative=4, flip_y=0.15, random_state=2)
model = PSVC(probability=True).fit(X[:400], y[:400])

# %%
# 3,000 objects that the model has not seen.

fig, ax = plt.subplots(figsize=(5, 5), layout="constrained")
CalibrationDisplay.from_estimator(model, X[400:], y[400:], n_bins=10, ax=ax, name="PSVC")
plt.show()
