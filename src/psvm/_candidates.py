"""The candidates that a fit has compared by held-out rows, as a table for people."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier

COLUMNS = "support objects", "seconds"
UNSAID = "standard error", "error of difference", "seconds"


class Candidates(NamedTuple):
    """What a fit has compared by held-out rows."""

    headers: list[str]
    rows: list[list]
    """Numbers, and names of kernels, in the order of the comparison."""
    chosen: int
    best: int
    measure: str
    """What the column of losses or scores is, with how it was found."""

    @property
    def order(self):
        """Places of the rows, the best first."""
        place = self.headers.index("loss" if "loss" in self.headers else "score")
        sign = 1.0 if "loss" in self.headers else -1.0
        values = sign * np.array([row[place] for row in self.rows])
        return np.argsort(values, kind="stable")

    def said(self, place):
        """A row in words."""
        words = zip(self.headers, self.rows[place], strict=True)
        return ", ".join(
            f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in words
            if name not in UNSAID and value != ""
        )

    @property
    def count(self):
        """How many there were, as the beginning of a sentence."""
        return "1 candidate was" if len(self.rows) == 1 else f"{len(self.rows)} candidates were"

    @property
    def verdict(self):
        """What was chosen, and why."""
        text = f"Chosen: {self.said(self.chosen)}"
        if len(self.rows) == 1:
            return f"{text}."
        if self.chosen == self.best:
            return f"{text}, the best."
        return (
            f"{text}: the fewest support objects within one standard error of the best, which is "
            f"{self.said(self.best)}."
        )


def candidates(model):
    """The `Candidates` of a fit of ``kernel="auto"`` or of a search; None if there were none."""
    if getattr(model, "walks_", None) is not None:
        return _of_search(model)
    return _of_model(model) if hasattr(model, "candidates_") else None


def _of_model(model):
    table = model.candidates_
    rows = [
        [
            c["kernel"], "" if c["kernel"] == "linear" else float(c["gamma"]), float(c["loss"]),
            float(c["error"]), float(c["n_support"]), float(c["time"]),
        ]
        for c in table
    ]  # fmt: skip
    losses = np.array([c["loss"] for c in table])
    best = int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))
    how = {"auto": "leave-one-out values", "cv": "five folds"}.get(model.epsilon)
    measure = f"{_loss(model, True)} of {how}"
    if how is None:
        measure = "corrected Akaike criterion"
    headers = ["kernel", "gamma / scale", "loss", "error of difference", *COLUMNS]
    return Candidates(headers, rows, best, best, measure)


def _of_search(search):
    table = search.cv_results_
    names = [name for name in ("kernel", "gamma", "C") if _varies(table[f"param_{name}"], name)]
    scored = search.scoring is not None
    values = np.asarray(table["mean_test_score"], dtype=float) * (1.0 if scored else -1.0)
    rows = [
        [
            *(_entry(table[f"param_{name}"][i]) for name in names), float(values[i]),
            float(table["std_test_score"][i]), float(table["mean_n_support"][i]),
            float(table["mean_fit_time"][i]),
        ]
        for i in range(len(values))
    ]  # fmt: skip
    best = int(np.argmax(table["mean_test_score"]))
    left_out = not search.n_splits_
    how = "leave-one-out values" if left_out else f"{search.n_splits_} folds"
    measure = _loss(search, left_out)
    if scored:
        measure = search.scoring if isinstance(search.scoring, str) else "score of the scorer"
    headers = [*names, "score" if scored else "loss", "standard error", *COLUMNS]
    return Candidates(headers, rows, int(search.best_index_), best, f"{measure} of {how}")


def _loss(model, left_out):
    """The loss that compares candidates."""
    if is_classifier(model):
        labels = getattr(model, "best_estimator_", model)._labels
        wrong = labels.scheme == "multilabel" and not left_out
        return "share of wrong labels" if wrong else "log loss"
    return "squared error (that of a constant is 1)" if left_out else "squared error"


def _varies(values, name):
    """Whether a column says something: gammas are numbers, bounds are finite, kernels differ."""
    if name == "kernel":
        return True
    if name == "C":
        return bool(np.isfinite(np.asarray(values, dtype=float)).any())
    return any(not isinstance(value, str) for value in values)


def _entry(value):
    """A number, or the name of a kernel; nothing where a kernel has no gamma."""
    if isinstance(value, float | np.floating):
        return float(value)
    return "" if value in ("scale", "auto") else str(value)
