"""What a model file holds of `PSVC` and `PSVR`, and what must hold of it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .._fitted import LEFT_OUT, Classes, Count, Given, Instance, Maybe, Places, n_pairs
from .._fitted import written as names_of
from ..choice import Calibration
from ..kernels import check_kernel, check_vectors
from ._description import is_measured
from ._target import Labels

PER_COLUMN = ("alpha_", "column_means_", "column_norms_")
"""Fitted attributes with an entry for each column of K."""
MOST_COLUMNS = 2**48


class WrittenMixin:
    """A file holds the entries of `PER_COLUMN` at the support; the kernel translates it again."""

    _fitted: ClassVar = {
        "classes_": Maybe(Classes(least=1)),
        "_labels": Maybe(Instance(Labels)),
        "_n_columns": Count("columns"),
        "support_": Places("support", below="columns"),
        "n_support_": Count("support"),
        "_at_support": Instance(dict),
        "offset_": Given(),
        "epsilon_": Given(),
        "support_objects_": Given(),
        "_kernel": Maybe(Given()),
        "calibration_": Maybe(Instance(Calibration)),
        **dict.fromkeys(("loo_error_", "dual_gap_", "kkt_violation_"), Maybe(Given())),
        "n_iter_": Maybe(Count()),
        **dict.fromkeys(
            (
                *PER_COLUMN,
                *("landmarks_", "_prepared_support", "loo_decision_", "solution_", "solutions_"),
                *("plan_", "sums_", "_survey", "candidates_"),
            ),
            LEFT_OUT,
        ),
    }

    def _packed(self):
        attributes = vars(self)
        if "support_" not in attributes:
            return {}
        kept = attributes.get("_at_support", {})
        found = {name: attributes[name] for name in names_of(type(self)) if name in attributes}
        if "alpha_" in attributes:
            found["_n_columns"] = attributes["alpha_"].shape[-1]
        found["_at_support"] = {
            name: attributes[name][..., self.support_] if name in attributes else kept[name]
            for name in PER_COLUMN
        }
        return found

    def _check_fitted(self, state):
        """Coefficients of each machine for each support object."""
        state.require(self._n_columns < MOST_COLUMNS, f"it has {self._n_columns} columns")
        m = self._n_machines(state)
        several = () if m is None else (m,)
        values = self._at_support
        state.require(set(values) == set(PER_COLUMN), "its coefficients are missing")
        for name, value in values.items():
            state.checked(value, name, *several, "support", kinds="f")
        norms = values["column_norms_"][values["alpha_"] != 0]
        state.require((norms > 0).all(), "a column with a coefficient has no norm")
        for name in ("offset_", "epsilon_"):
            if m is None:
                state.number(name)
            else:
                state.array(name, m, kinds="f")
        self._check_support(state)

    def _n_machines(self, state):
        """The number of machines; None for one that is not in a list."""
        if not hasattr(self, "decision_function"):
            return len(self.offset_) if np.ndim(self.offset_) else None
        labels = state.get("_labels")
        n = len(labels.classes)
        state.same_classes(state.get("classes_"), labels.classes, "its labels")
        if self.probability:
            found = state.get("calibration_")
            state.require(found is not None, "calibration_ is missing")
            fits = (found.scheme, found.n_classes) == (labels.scheme, n)
            state.require(fits, "the classes of its probabilities are different")
        if labels.scheme == "ovo":
            return None if n == 2 else n_pairs(n)
        return n

    def _check_support(self, state):
        objects, measured = self.support_objects_, is_measured(self)
        state.require(hasattr(objects, "shape"), "its support objects are not an array")
        ok = objects.shape[:1] == (self.n_support_,)
        state.require(ok, "the number of its support objects is wrong")
        state.require(measured != hasattr(self, "_kernel"), "its kernel is missing")
        if measured:
            state.require(self._n_columns == state.features(), "its columns are wrong")
            return
        check_kernel(state, self._kernel, self._takes_vectors)
        check_vectors(state, self._kernel, objects)
        self._prepare_support()
