"""Three jobs of a P-SVM: classify dyadic data, predict numbers, select features; and a report."""

import sys
import time
from pathlib import Path

from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.model_selection import train_test_split

from psvm import PSVC, PSVR
from psvm.report import write_report


def show(title, model, began, quality):
    took = time.perf_counter() - began
    print(f"{title}\n  {quality}")
    print(f"  support objects {model.n_support_} of {len(model.alpha_)}")
    print(
        f"  epsilon {model.epsilon_:.4g}, duality gap {model.dual_gap_:.2g} at an objective of",
        end="",
    )
    print(f" {model.solution_.objective:.4g}, {model.solution_.status.value}")
    print(f"  fitted in {took:.2f} s\n")


def classify():
    """Rows are images, columns are pixels: the matrix is used as it was measured."""
    K, digit = load_digits(return_X_y=True)
    K, y = K[(digit == 3) | (digit == 8)], digit[(digit == 3) | (digit == 8)]
    K, K_test, y, y_test = train_test_split(K, y, test_size=0.5, random_state=0)
    began = time.perf_counter()
    model = PSVC(kernel="dyadic").fit(K, y)
    accuracy = f"accuracy on {len(y_test)} other images {model.score(K_test, y_test):.3f}"
    show("Classification of dyadic data: 3 or 8, images x pixels", model, began, accuracy)


def predict_numbers():
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
    began = time.perf_counter()
    model = PSVR().fit(X, y)
    quality = f"R^2 on {len(y_test)} other patients {model.score(X_test, y_test):.3f}"
    best = min(model.candidates_, key=lambda candidate: candidate["loss"])
    quality += f"\n  smallest loss of {len(model.candidates_)} candidates: {best['kernel']} kernel"
    show("Regression, kernel chosen: progression of diabetes", model, began, quality)


def select():
    data = load_breast_cancer(as_frame=True)
    y = data.target_names[data.target]
    K, K_test, y, y_test = train_test_split(data.data, y, test_size=0.3, random_state=0)
    began = time.perf_counter()
    model = PSVC(kernel="dyadic", epsilon=3.0).fit(K, y)
    accuracy = f"accuracy on {len(y_test)} other patients {model.score(K_test, y_test):.3f}"
    accuracy += f"\n  selected: {', '.join(model.support_objects_)}"
    show("Feature selection by a large epsilon: breast cancer", model, began, accuracy)
    return model, K, y


if __name__ == "__main__":
    classify()
    predict_numbers()
    model, K, y = select()
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo")
    folder.mkdir(parents=True, exist_ok=True)
    title = "Breast cancer: feature selection"
    page = write_report(model, K, y, folder / "report.html", title=title)
    print(f"The report of the last run is at {page.resolve()}")
