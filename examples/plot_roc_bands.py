"""
ROC curves with bands
=====================

How sure is a ROC curve? Pointwise bootstrap bands of two models on test objects that neither has
seen, and the area with DeLong's interval.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psvm import PSVC
from psvm.comparators import KernelFisherDiscriminant
from psvm.evaluation import roc_area, roc_band

X, y = load_breast_cancer(return_X_y=True)
X, X_new, y, y_new = train_test_split(X[:, :5], y, test_size=0.5, random_state=0)

# %%
# The two bands overlap: on 285 objects the difference is not established.

fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
for name, machine in (("P-SVM", PSVC()), ("kernel Fisher", KernelFisherDiscriminant())):
    model = make_pipeline(StandardScaler(), machine).fit(X, y)
    scores = model.decision_function(X_new)
    low, high = roc_area(y_new, scores).interval
    band = roc_band(y_new, scores, random_state=0)
    band.plot(ax, name=f"{name}, area {low:.3f} to {high:.3f}")
plt.show()
