"""Compare three models, draw ROC curves with bands, and let the best one abstain.

    pip install "psvm[plot]"
    python examples/plot_evaluation.py [picture.png]

The models are tested on the same splits against the P-SVM by the corrected resampled t-test. The
curves belong to test objects that no model has seen.
"""

import sys

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from psvm import PSVC
from psvm.comparators import KernelFisherDiscriminant
from psvm.evaluation import ErrorRejectDisplay, compare, roc_band

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise ImportError('This example draws a picture: pip install "psvm[plot]"') from error


def main(picture=None):
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :10]  # the mean values only, so that there are errors to see
    machines = {
        "P-SVM": PSVC(epsilon=0.5),
        "SVM": SVC(),
        "kernel Fisher": KernelFisherDiscriminant(),
    }
    models = {name: make_pipeline(StandardScaler(), m) for name, m in machines.items()}
    cv = StratifiedKFold(10, shuffle=True, random_state=0)
    print(compare(models, X, y, cv=cv, tests=["corrected_t", "mcnemar"]))

    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    figure, panels = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for name in ("P-SVM", "kernel Fisher"):
        model = models[name].fit(X, y)
        band = roc_band(y_test, model.decision_function(X_test), random_state=0)
        band.plot(panels[0], name=name)
        display = ErrorRejectDisplay.from_estimator(
            model, X_test, y_test, response_method="decision_function", name=name, ax=panels[1]
        )
        curve = display.curve
        fifth = curve.error[curve.share_rejected <= 0.2][-1]
        print(f"{name}: error {curve.error[0]:.3f}, without the least sure fifth {fifth:.3f}")
    panels[0].set_title("ROC curves with pointwise 95 % bands")
    panels[1].set_title("Error-reject curves")
    if picture:
        figure.savefig(picture, dpi=80)
    else:
        plt.show()


if __name__ == "__main__":
    main(*sys.argv[1:2])
