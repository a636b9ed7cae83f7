"""The few estimators of scikit-learn that need no other package in a model file.

They are those of the command line and the usual scalers. Their files hold public attributes only;
what else scikit-learn keeps is made again by `fit`, from a few rows with the same result. Whatever
cannot be made again in this way is written by skops, like all other estimators (`_skops`).
"""

import warnings
from collections import UserList
from importlib import import_module

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from .._fitted import (
    GENERAL,
    ArrayOf,
    Count,
    Given,
    Instance,
    Maybe,
    UnsoundError,
    check_fitted,
    is_number,
)
from ..selection import floored_log2
from ._errors import CannotMakeAgain
from ._registry import OUTPUT, Entry

LISTS = list | tuple | UserList
LARGEST_TABLE = 2**24
"""Cells of a table from which an encoder is made again."""


class When:
    """What must be there if a parameter is set, and may be anything else if it is not."""

    def __init__(self, parameter, entry):
        self.parameter, self.entry = parameter, entry

    def check(self, state, name, value):
        if getattr(state.model, self.parameter):
            self.entry.check(state, name, value)


class SklearnEntry(Entry):
    """How an estimator of scikit-learn is written.

    Parameters
    ----------
    path : str
        Its name below sklearn.
    table : dict
        Its public attributes and what they hold.
    check : callable, default=None
        ``check(model)`` raises an error for parameters that make no sense.
    remake : callable, default=None
        ``remake(model, state)`` returns an estimator with these attributes.
    """

    def __init__(self, path, table, *, check=None, remake=None):
        module, name = path.rsplit(".", 1)
        super().__init__(f"sklearn.{path}", getattr(import_module(f"sklearn.{module}"), name))
        self.table, self.check, self.remake = {**GENERAL, **table}, check, remake

    def _state(self, value):
        """Public attributes, from which all others can be made again."""
        state = self._read(value)
        if not state:  # a parameter that is not fitted, or a pipeline
            return state
        again = self.cls(**value.get_params(deep=False))
        try:
            self._fill(again, state)
        except Exception as error:
            raise CannotMakeAgain(f"{self.cls.__name__} cannot be made again: {error}") from error
        if not _same(again, value):
            raise CannotMakeAgain(f"{self.cls.__name__} would have other attributes.")
        return state

    def _read(self, value):
        own = vars(value)
        names = [name for name in self.table if name in own or name not in GENERAL]
        found = {name: getattr(value, name, None) for name in names}  # some are properties
        if "transformers_" in found:
            found["transformers_"] = [_with_list(*part) for part in found["transformers_"]]
        return {name: v for name, v in found.items() if v is not None or name in own}

    def _names(self):
        return self.table

    def _fill(self, model, state):
        if self.remake is None:
            vars(model).update(state)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = self.remake(model, state)
            params = model.get_params(deep=False)
            vars(model).update({k: v for k, v in vars(made).items() if k not in params})
            names = [name for name in GENERAL if name in state]
            vars(model).update({name: state[name] for name in names})
            if not _same(self._read(model), state):
                raise UnsoundError(f"{self.cls.__name__} would have other attributes.")
        check_fitted(model, self.table)
        if self.check is not None:
            self.check(model)


def _with_list(name, step, columns):
    """A part of a ColumnTransformer, whose columns scikit-learn keeps in several kinds of lists."""
    lists = isinstance(columns, UserList | np.ndarray)
    return name, step, list(columns) if lists else columns


def _same(a, b):
    """Whether values are equal, NaN to NaN, down to attributes and the entries of arrays."""
    if isinstance(a, BaseEstimator) and type(a) is type(b):
        mine, its = ({k: v for k, v in vars(m).items() if k != OUTPUT} for m in (a, b))
        return a is b or _same(mine, its)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        alike = a.shape == b.shape and a.dtype == b.dtype
        return alike and _same(a.ravel().tolist(), b.ravel().tolist())
    if isinstance(a, LISTS) and isinstance(b, LISTS):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, np.dtype) and isinstance(b, np.dtype):
        return a == b or {a.kind, b.kind} <= set("biuf")  # of the rows; they are not converted
    return a is b or bool(a == b) or (is_number(a) and is_number(b) and a != a and b != b)


def _check_pipeline(model):
    """Names and estimators, all of which but the last transform."""
    steps = model.steps
    pairs = isinstance(steps, list) and all(isinstance(s, tuple) and len(s) == 2 for s in steps)
    names = [step[0] for step in steps] if pairs else []
    ok = names and all(isinstance(n, str) and "__" not in n for n in names)
    if not ok or len(set(names)) < len(names):
        raise UnsoundError("the steps of a pipeline are not pairs of a name and an estimator.")
    for i, (name, step) in enumerate(steps):
        passes = step is None or step == "passthrough"
        transforms = i == len(steps) - 1 or hasattr(step, "transform")
        if not passes and not (isinstance(step, BaseEstimator) and transforms):
            raise UnsoundError(f"the step {name!r} of a pipeline is not an estimator.")


def _check_function(model):
    """Keywords that the function takes."""
    given = model.kw_args or {}
    expected = {"floor"} if model.func is floored_log2 else set()
    if set(given) != expected or not all(map(is_number, given.values())) or model.inv_kw_args:
        raise UnsoundError("the keywords of a function are wrong.")


def _remake_imputer(model, state):
    """The statistics of one row are the row."""
    row = state["statistics_"]
    if all(map(is_number, row.tolist())):  # a constant is kept as an object
        row = np.array(row.tolist())
    return type(model)(**model.get_params(deep=False)).fit(row[None])


def _remake_encoder(model, state):
    """Frequent levels occur twice, rare ones once."""
    levels, rare = state["categories_"], state.get("infrequent_categories_")
    rare = [None] * len(levels) if rare is None else rare
    columns = []
    for column, few in zip(levels, rare, strict=True):
        known = set() if few is None else set(few.tolist())
        often = column[[level not in known for level in column.tolist()]]
        columns.append(np.concatenate([column, often]))
    n = max(map(len, columns))
    if n * len(columns) > LARGEST_TABLE:
        raise UnsoundError(f"its levels take a table of {n} x {len(columns)} cells")
    table = np.stack([np.append(c, np.repeat(c[-1:], n - len(c))) for c in columns], axis=1)
    params = model.get_params(deep=False)
    if "infrequent_categories_" in state:
        params = {**params, "min_frequency": 2, "max_categories": None}
    return type(model)(**params).fit(table)


def _remake_columns(model, state):
    """A fit to one row, with the fitted transformers."""
    parts = state["transformers_"]
    ok = isinstance(parts, list) and all(isinstance(p, tuple) and len(p) == 3 for p in parts)
    ok = ok and all(isinstance(p[2], list) for p in parts)
    if not ok or model.remainder not in ("drop", "passthrough"):
        raise UnsoundError("its transformers are not names, estimators and lists of columns")
    names, p = state.get("feature_names_in_"), state["n_features_in_"]
    if not 0 < p <= LARGEST_TABLE:
        raise UnsoundError(f"it has {p} columns")
    row = np.zeros(p, dtype=object)
    for _, step, columns in parts:
        levels = _first_levels(step)
        for i, column in enumerate(columns):
            place = names.tolist().index(column) if isinstance(column, str) else column
            row[place] = 0.0 if levels is None else levels[i]
    if names is None:
        given = np.array([row.tolist()])
        given = given.astype(object) if given.dtype.kind == "U" else given
    else:
        import pandas as pd

        given = pd.DataFrame([row], columns=names).infer_objects()
    frozen = [
        (name, step if isinstance(step, str) else FrozenEstimator(step), columns)
        for name, step, columns in parts
        if name != "remainder"
    ]
    params = {**model.get_params(deep=False), "transformers": frozen}
    made = type(model)(**params).fit(given)
    made.transformers_, made.sparse_output_ = parts, state["sparse_output_"]
    return made


def _first_levels(step):
    """A level of each column that a transformer encodes; None for numbers."""
    encoder = step.steps[-1][1] if isinstance(step, Pipeline) else step
    levels = getattr(encoder, "categories_", None)
    return None if levels is None else [column[0] for column in levels]


VALUES, ANYTHING = ArrayOf("p", nan=True), Given()
FEATURES = Count("p", least=1)
ENTRIES = (
    SklearnEntry("pipeline.Pipeline", {}, check=_check_pipeline),
    SklearnEntry("preprocessing.FunctionTransformer", {}, check=_check_function),
    SklearnEntry("preprocessing.Normalizer", {}),
    SklearnEntry("feature_selection.VarianceThreshold", {"variances_": VALUES}),
    SklearnEntry(
        "preprocessing.StandardScaler",
        {
            "mean_": When("with_mean", VALUES),
            "scale_": When("with_std", VALUES),
            "var_": ANYTHING,
            "n_samples_seen_": ANYTHING,
        },
    ),
    SklearnEntry(
        "preprocessing.RobustScaler",
        {"center_": When("with_centering", VALUES), "scale_": When("with_scaling", VALUES)},
    ),
    SklearnEntry(
        "preprocessing.MinMaxScaler",
        {
            **dict.fromkeys(("scale_", "min_"), VALUES),
            **dict.fromkeys(("data_min_", "data_max_", "data_range_"), VALUES),
            "n_samples_seen_": ANYTHING,
        },
    ),
    SklearnEntry(
        "impute.SimpleImputer",
        {"n_features_in_": FEATURES, "statistics_": ArrayOf("p", kinds="iufO", nan=True)},
        remake=_remake_imputer,
    ),
    SklearnEntry(
        "preprocessing.OneHotEncoder",
        {
            "n_features_in_": FEATURES,
            "categories_": Instance(list),
            "infrequent_categories_": Maybe(Instance(list)),
            "drop_idx_": ANYTHING,
        },
        remake=_remake_encoder,
    ),
    SklearnEntry(
        "compose.ColumnTransformer",
        {
            "n_features_in_": FEATURES,
            "transformers_": Instance(list),
            "sparse_output_": Instance(bool),
        },
        remake=_remake_columns,
    ),
)
"""How they are written."""
