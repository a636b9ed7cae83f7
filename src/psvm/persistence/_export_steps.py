"""The steps of a pipeline before its machine, as lines of NumPy code that change X."""

from __future__ import annotations

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from ..io import TableEncoder
from ..selection import KnockoffSelector, PSVMSelector, StabilitySelector, floored_log2

IGNORED, REFUSED = -1, -2
"""What becomes of an unknown level: no column is 1, or an error."""
FUNCTIONS = {
    "encoded(": '''

def encoded(X, table):
    """A column of 0 and 1 for each level, or group of rare levels, of each column of X."""
    columns = []
    for x, (places, kept, unknown) in zip(X.T, table):
        # NaN, which is not equal to itself, has the key Ellipsis
        found = [places.get(v if v == v else ..., unknown) for v in x.tolist()]
        if -2 in found:
            raise ValueError(f"X has the unknown level {x.tolist()[found.index(-2)]!r}.")
        columns += [np.array(found) == place for place in kept]
    return np.array(columns, dtype=np.float64).reshape(len(columns), len(X)).T
''',
    "filled(": '''

def filled(X, missing, values):
    """X with a value in the missing cells of each column: NaN, or what else marks them."""
    def gap(cell):
        return cell != cell if missing != missing else cell is missing or cell == missing

    columns = [[v if gap(c) else c for c in x.tolist()] for x, v in zip(X.T, values)]
    return np.array(columns, dtype=X.dtype).reshape(X.T.shape).T
''',
    "nonzero(": '''

def nonzero(norms):
    """The norms of rows, 1 instead of 0."""
    return np.where(norms == 0, 1.0, norms)
''',
}
"""Functions that the lines call."""
NORMS = {
    "l1": "np.abs({X}).sum(axis=1, keepdims=True)",
    "l2": "np.sqrt(({X} ** 2).sum(axis=1, keepdims=True))",
    "max": "np.abs({X}).max(axis=1, keepdims=True)",
}


class StepWriter:
    """Writes what steps do as lines of code and constants.

    Attributes
    ----------
    lines : list of str
        Each changes a variable.
    constants : dict of str to str
        Names, and values as source code.
    """

    def __init__(self):
        self.lines, self.constants = [], {}

    def write(self, step, X="X"):
        """What a fitted step does to the variable X."""
        if step is None or isinstance(step, str):
            if step == "drop":
                raise ValueError("A dropped part has no columns.")
            return
        for kinds, method in _METHODS:
            if isinstance(step, kinds):
                method(self, step, X)
                return
        raise _refused(step)

    def _constant(self, name, text):
        name = f"{name}_{len(self.constants)}"
        self.constants[name] = text
        return name

    def _array(self, name, value):
        return self._constant(name, literal(np.asarray(value)))

    def _scale(self, step, X):
        centre = getattr(step, "center_", getattr(step, "mean_", None))
        centred = getattr(step, "with_centering", getattr(step, "with_mean", False))
        if centred and centre is not None:
            self.lines.append(f"{X} = {X} - {self._array('CENTRE', centre)}")
        if step.scale_ is not None:
            self.lines.append(f"{X} = {X} / {self._array('SCALE', step.scale_)}")

    def _range(self, step, X):
        scale, shift = self._array("SCALE", step.scale_), self._array("SHIFT", step.min_)
        self.lines.append(f"{X} = {X} * {scale} + {shift}")
        if step.clip:
            low, high = map(float, step.feature_range)
            self.lines.append(f"{X} = np.clip({X}, {low!r}, {high!r})")

    def _normalize(self, step, X):
        self.lines.append(f"{X} = {X} / nonzero({NORMS[step.norm].format(X=X)})")

    def _apply(self, step, X):
        if step.func is floored_log2:
            floor = float(step.kw_args["floor"])
            self.lines.append(f"{X} = np.log2(np.maximum({X}, {floor!r}))")
        elif isinstance(step.func, np.ufunc) and getattr(np, step.func.__name__, 0) is step.func:
            self.lines.append(f"{X} = np.{step.func.__name__}({X})")
        elif step.func is not None:
            raise _refused(step)

    def _select(self, step, X):
        if getattr(step, "_relations", None) is not None:  # relations to landmarks
            raise _refused(step)
        kept = self._array("SELECTED", step.get_support(indices=True))
        self.lines.append(f"{X} = {X}[:, {kept}]")

    def _impute(self, step, X):
        if step.add_indicator:
            raise _refused(step)
        values, missing = step.statistics_, step.missing_values
        known = np.array([v == v and v is not None for v in values.tolist()], dtype=bool)
        if not known.all() and step.strategy != "constant" and not step.keep_empty_features:
            self.lines.append(f"{X} = {X}[:, {self._array('FILLED', np.flatnonzero(known))}]")
            values = values[known]
        gap = missing is None or missing != missing
        if has_words(step):
            marker = 'float("nan")' if gap and missing is not None else repr(missing)
            self.lines.append(f"{X} = filled({X}, {marker}, {values.tolist()!r})")
            return
        values = self._array("VALUES", values.astype(np.float64))
        where = f"np.isnan({X})" if gap else f"{X} == {float(missing)!r}"
        self.lines.append(f"{X} = np.where({where}, {values}, {X})")

    def _encode(self, step, X):
        rare = getattr(step, "infrequent_categories_", None)
        rare = [None] * len(step.categories_) if rare is None else rare
        dropped = [None] * len(rare) if step.drop_idx_ is None else step.drop_idx_
        rows = [
            _level_table(*column, step.handle_unknown)
            for column in zip(step.categories_, rare, dropped, strict=True)
        ]
        text = "\n".join(f"    {row!r}," for row in rows)
        self.lines.append(
            f"{X} = encoded({X}, {self._constant('LEVELS', f'[{chr(10)}{text}{chr(10)}]')})"
        )

    def _split(self, step, X):
        """Each transformer gets its columns; their results stand side by side."""
        every, names = np.arange(step.n_features_in_), getattr(step, "feature_names_in_", None)
        words, parts = has_words(step), []
        for _, part, columns in step.transformers_:
            if np.isscalar(columns) or callable(columns):
                raise _refused(step)
            if len(columns) and isinstance(columns[0], str):
                columns = [names.tolist().index(name) for name in columns]
            places = every[columns]
            if (isinstance(part, str) and part == "drop") or not len(places):
                continue
            name = f"{X}{len(self.constants)}"
            numbers = ".astype(np.float64)" if words and not has_words(part) else ""
            self.lines.append(f"{name} = {X}[:, {self._array('COLUMNS', places)}]{numbers}")
            self.write(part, name)
            parts.append(name)
        self.lines.append(f"{X} = np.column_stack([{', '.join(parts)}])")

    def _run(self, step, X):
        for _, part in step.steps:
            self.write(part, X)

    def _of_table(self, step, X):
        if not step.schema_.plain:
            raise TypeError(
                "The columns of a table that are not plain numbers cannot be written as NumPy code."
            )
        if step.transformer_ is not None:
            self.write(step.transformer_, X)


_METHODS = (
    ((StandardScaler, RobustScaler), StepWriter._scale),
    ((MinMaxScaler,), StepWriter._range),
    ((Normalizer,), StepWriter._normalize),
    ((FunctionTransformer,), StepWriter._apply),
    (
        (PSVMSelector, StabilitySelector, KnockoffSelector, VarianceThreshold),
        StepWriter._select,
    ),
    ((SimpleImputer,), StepWriter._impute),
    ((OneHotEncoder,), StepWriter._encode),
    ((ColumnTransformer,), StepWriter._split),
    ((Pipeline,), StepWriter._run),
    ((TableEncoder,), StepWriter._of_table),
)


def _refused(step):
    known = [kind.__name__ for kinds, _ in _METHODS for kind in kinds]
    return TypeError(
        f"{type(step).__name__} cannot be written as NumPy code with these parameters. Before the "
        f"machine may be {', '.join(known[:-1])} and {known[-1]}."
    )


def _level_table(levels, rare, dropped, handling):
    """The place of each level, the places that have a column, and the place of other levels."""
    rare = set() if rare is None else set(rare.tolist())
    keys = [level if level == level else ... for level in levels.tolist()]
    often = [level for level in keys if level not in rare]
    places = {**dict.fromkeys(keys, len(often)), **{level: i for i, level in enumerate(often)}}
    kept = list(range(len(often) + bool(rare)))
    if dropped is not None:
        kept.remove(places[keys[int(dropped)]])
    others = len(often) if rare and handling != "ignore" else IGNORED
    return places, kept, REFUSED if handling == "error" else others


def has_words(step):
    """Whether a step takes cells that are no numbers."""
    if isinstance(step, OneHotEncoder):
        return any(levels.dtype.kind not in "biuf" for levels in step.categories_)
    if isinstance(step, SimpleImputer):
        return any(isinstance(value, str) for value in step.statistics_.tolist())
    inner = ()
    if isinstance(step, Pipeline):
        inner = [part for _, part in step.steps]
    elif isinstance(step, ColumnTransformer):
        inner = [part for _, part, columns in step.transformers_ if len(columns)]
    return any(map(has_words, inner))


def literal(array):
    """An array of numbers as source code, with all digits."""
    if array.ndim == 0:
        return repr(float(array))
    rows = np.atleast_2d(array).tolist()
    dtype = "np.intp" if array.dtype.kind in "iu" else "np.float64"
    lines = ["[" + ", ".join(map(_number, row)) + "]" for row in rows]
    if array.ndim == 1:
        return f"np.array({lines[0]}, dtype={dtype})"
    text = "\n    ".join(f"{line}," for line in lines)
    return f"np.array([\n    {text}\n], dtype={dtype}).reshape({array.shape})"


def _number(value):
    return repr(value) if np.isfinite(value) else f"float({repr(value)!r})"
