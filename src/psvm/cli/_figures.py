"""What a cross-validation says, in the same names and units for every command."""

from ..evaluation import percent

IN_PERCENT = ("balanced_accuracy",)
MOST_CLASSES = 20
"""Classes up to which the confusion matrix is printed."""


def describe_cross_validation(run, result):
    """Record and show how good a model is on rows it has not seen, beside the baseline."""
    run.results |= result.figures
    _line(
        run, result.measure, f"{result.shown}, cross-validated in {len(result.fold_errors)} folds"
    )
    classes = result.classes
    if classes is None:
        _line(run, "baseline", f"{result.format(result.baseline)}, always the mean")
        _line(run, "R2", f"{result.r2:.4g}")
    else:
        _line(run, "baseline", f"{result.format(result.baseline)}, always the largest class")
    if result.sensitivity is not None:
        (other,) = (label for label in classes.tolist() if label != result.positive)
        _line(run, "sensitivity", f"{percent(result.sensitivity)} of {result.positive} found")
        _line(run, "specificity", f"{percent(result.specificity)} of {other} found")
    if result.ranking:
        _line(run, "ranking", ranking(result))
    if classes is not None and len(classes) <= MOST_CLASSES:
        rows = [
            [label, *counts]
            for label, counts in zip(classes.tolist(), result.confusion.tolist(), strict=True)
        ]
        headers = ["true \\ predicted", *map(str, classes.tolist())]
        run.table("Confusion matrix", headers, rows)
    for text in result.warnings:
        run.warn(f"In a fold: {text}")
    if not (result.better or result.constant):
        run.warn(
            f"The {result.measure} is not clearly better than the baseline: "
            f"{result.shown} against {result.format(result.baseline)}."
        )


def ranking(result):
    """The figures that the sizes of the classes do not decide, as text."""
    names = {"balanced_accuracy": "balanced accuracy", "average_precision": "average precision"}
    return ", ".join(
        f"{names.get(name, name)} {f'{value:.1f} %' if name in IN_PERCENT else f'{value:.3f}'}"
        for name, value in result.ranking.items()
    )


def _line(run, name, text):
    run.show(f"{name:16} {text}")
