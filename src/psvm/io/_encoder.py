"""`TableEncoder`: what becomes of the columns of a table before a machine sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from .._fitted import Given, Instance, Maybe
from .._parameters import Choice, check_parameters
from .._validation import check_stored, named, shown
from ..matrix import fill_missing, missing_entries, storage_of, stored_columns, stored_values
from ._errors import DataError
from ._frames import is_frame, table_of_frame
from ._schema import Kind, Schema, numbers_schema
from ._table import Coded, ReadOptions

RARE = 0.01
"""Levels with a smaller share of the rows are put together."""
SHOWN = 5
LARGEST = 1e150
"""Numbers whose squares, and sums of them, are numbers."""


def _check_schema(name, value):
    if value is not None and not isinstance(value, Schema):
        raise TypeError(f"{name} must be a psvm.io.Schema or None, got {shown(value)}.")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Numbers of a table: categories become columns of 0 and 1, missing cells are filled in.

    The commands put it before each model of a table and save it with the model, so that
    ``psvm.load("m.psvm").predict(frame)`` does with a DataFrame what ``psvm predict`` does with the
    file. Columns are found by name, in any order; other columns do not matter. Numbers come first,
    then a column for each level of a category. Levels in less than 1 % of the rows share a column;
    so do levels that are not in the training data, if there is such a column, and otherwise all
    columns of the category are 0 for them.

    Parameters
    ----------
    schema : Schema, default=None
        What the columns are, as `read_table` finds out with ``schema="infer"``. None finds out
        from the table of the fit: by the types of its columns, and for text by its cells.
    types : dict, default=None
        Types of some columns by name, see `read_table`; without a schema only.
    missing : {"impute", "error"}, default="impute"
        Whether missing cells are filled in, by the median or the most frequent level, or are an
        error. A schema says so itself.
    na_values : list of str, default=None
        More markers of missing values in columns of text, see `read_table`; without a schema only.

    Attributes
    ----------
    schema_ : Schema
        What the columns are, including those that are left out and why.
    transformer_ : ColumnTransformer, SimpleImputer or None
        What fills in and encodes; None if numbers are passed on as they are.
    n_features_in_ : int
        Number of columns in use.
    feature_names_in_ : ndarray of str
        Their names, if they have names.

    Examples
    --------
    >>> import pandas as pd
    >>> from psvm.io import TableEncoder
    >>> frame = pd.DataFrame({"age": [30, None, 50, 40], "sex": list("fmfm")})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'sex=f', 'sex=m']
    >>> encoder.transform(frame[["sex", "age"]])
    array([[30.,  1.,  0.],
           [40.,  0.,  1.],
           [50.,  1.,  0.],
           [40.,  0.,  1.]])
    """

    schema_: Schema
    transformer_: Any
    n_features_in_: int
    feature_names_in_: np.ndarray

    _constraints: ClassVar = {"schema": _check_schema, "missing": Choice("impute", "error")}
    _fitted: ClassVar = {"schema_": Instance(Schema), "transformer_": Maybe(Given())}

    def __init__(
        self,
        *,
        schema: Schema | None = None,
        types: Mapping[str, str] | None = None,
        missing: Literal["impute", "error"] = "impute",
        na_values: Iterable[str] | None = None,
    ) -> None:
        self.schema = schema
        self.types = types
        self.missing = missing
        self.na_values = na_values

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the types of the columns, levels, and what missing cells are filled in with.

        Parameters
        ----------
        X : DataFrame of pandas or Polars, Arrow table, or matrix of numbers
            Or the matrix of a `Table`, with its schema.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """The same, and X as `transform` returns it.

        Parameters
        ----------
        X : as for `fit`
        y : None
            Ignored.

        Returns
        -------
        ndarray or csr_array
        """
        check_parameters(self)
        if self.schema is None:
            X, self.schema_ = self._inferred(X)
            self._refuse_huge(X)
        else:
            self.schema_ = self.schema
            X = self._matrix(X)
        self.n_features_in_ = self.schema_.n_columns
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if self.schema_.named:
            self.feature_names_in_ = np.array(self.schema_.feature_names, dtype=object)
        self.transformer_ = transformer_of(self.schema_)
        return X if self.transformer_ is None else self.transformer_.fit_transform(X)

    def transform(self, X: Any) -> Any:
        """The table as numbers.

        Parameters
        ----------
        X : DataFrame of pandas or Polars, or Arrow table
            With the columns in use, by name. A matrix of numbers if all of them are numbers.

        Returns
        -------
        ndarray or csr_array
        """
        check_is_fitted(self)
        X = self._matrix(X)
        return X if self.transformer_ is None else self.transformer_.transform(X)

    def _check_fitted(self, state):
        """Columns that are as many as the transformer takes, and levels that it knows."""
        p, schema, step = state.features(), self.schema_, self.transformer_
        state.require(schema.n_columns == p, "its schema is wrong")
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else names.tolist()
        state.require(names == schema.feature_names, "its names are not those of its schema")
        needed = schema.has_categories or schema.missing == "impute"
        state.require(needed == (step is not None), "its transformer is missing")
        if needed:
            state.fitted(step, "transformer_", BaseEstimator, "transform")
            state.require(step.n_features_in_ == p, "its transformer has other columns")
        if schema.has_categories:
            parts = {name: part for name, part, _ in getattr(step, "transformers_", ())}
            coded = [column for column in schema.used if column.kind is Kind.CATEGORY]
            encoder = parts.get("categories")
            state.require(hasattr(encoder, "transform"), "its encoder is missing")
            encoder = encoder[-1] if hasattr(encoder, "steps") else encoder
            known = len(getattr(encoder, "categories_", ())) == len(coded)
            state.require(known, "its levels do not fit its schema")

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that `transform` returns, such as "sex=f".

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        schema = self.schema_
        if not schema.named or not schema.columns:
            return np.array([f"column {j + 1}" for j in range(schema.n_columns)], dtype=object)
        names = [column.name for column in schema.used if column.kind is not Kind.CATEGORY]
        for column, codes, rare in self._encoded():
            levels = [code for code in codes if code not in rare]
            names += [f"{column.name}={_level(column, code)}" for code in levels]
            names += [f"{column.name}=rare levels"] if rare else []
        return np.array(names, dtype=object)

    @property
    def rare_levels_(self) -> dict[str, list[str]]:
        """The levels of each category that share a column because they are rare."""
        return {
            column.name: [_level(column, code) for code in sorted(rare)]
            for column, _, rare in self._encoded()
            if rare
        }

    def _encoded(self):
        """Each category, the codes of its levels in the training data, and the rare ones."""
        if not self.schema_.has_categories:
            return
        categories = [column for column in self.schema_.used if column.kind is Kind.CATEGORY]
        encoder = self.transformer_.named_transformers_["categories"]
        encoder = encoder[-1] if hasattr(encoder, "steps") else encoder
        parts = zip(categories, encoder.categories_, encoder.infrequent_categories_, strict=True)
        for column, codes, few in parts:
            yield column, codes.tolist(), set() if few is None else set(few.tolist())

    def _inferred(self, X):
        """Numbers and codes of the table of the fit, and what its columns are."""
        if not is_frame(X):
            X = _numbers(X)
            return X, numbers_schema(None, X.shape[1], missing=self.missing)
        missing = {"impute": "nan"}.get(self.missing, self.missing)
        given = {"types": self.types, "na_values": self.na_values, "missing": missing}
        options = ReadOptions(schema="infer", typed=True, **given)
        table = table_of_frame(X, options)
        return table.X, table.schema

    def _matrix(self, X):
        """Numbers and codes of the columns in use; gaps only if they are filled in."""
        schema = self.schema_
        if is_frame(X):
            options = ReadOptions(schema=schema, typed=True, missing="nan")
            X = table_of_frame(X, options).X
        elif not isinstance(X, Coded):
            if not schema.plain:
                names = [column.name for column in schema.used if not column.plain]
                raise TypeError(
                    f"The model was fitted to a table with columns that are not plain numbers "
                    f"({', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''}): X must "
                    f"be a DataFrame with its columns, got {type(X).__name__}."
                )
            X = _numbers(X)
        if X.shape[1] != schema.n_columns:
            raise ValueError(
                f"X has {X.shape[1]} features, but TableEncoder is expecting {schema.n_columns} "
                "features as input."
            )
        self._refuse_huge(X)
        if schema.missing != "impute":
            self._refuse_gaps(X)
        return np.asarray(X) if storage_of(X) == "dense" else X

    def _refuse_huge(self, X):
        values = stored_values(X)
        if (values > LARGEST).any() or (values < -LARGEST).any():
            _, places, low, high = stored_columns(fill_missing(X))
            size = np.maximum(-low, high)
            place = int(places[size.argmax()])
            names = self.schema_.feature_names
            raise DataError(
                f"Column {place + 1 if names is None else repr(names[place])} holds numbers as "
                f"large as {size.max():.3g}, whose squares are beyond the range of doubles.",
                file="X",
                advice="Scale it, or leave it out.",
            )

    def _refuse_gaps(self, X):
        rows, places = missing_entries(X)
        if len(rows):
            names = self.schema_.feature_names
            where = "; ".join(
                f"row {i + 1}, column {j + 1 if names is None else repr(names[j])}"
                for i, j in zip(rows[:SHOWN].tolist(), places[:SHOWN].tolist(), strict=True)
            )
            raise DataError(
                f"{len(rows)} missing values: {where}{', ...' if len(rows) > SHOWN else ''}.",
                file="X",
                advice="The model does not fill them in: leave these rows out, or fit it with "
                "missing='impute'.",
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


def transformer_of(schema):
    """What fills in missing values and encodes categories, by place; None if nothing does."""
    impute = schema.missing == "impute"
    median = SimpleImputer(strategy="median", keep_empty_features=True)
    if not schema.has_categories:
        return median if impute else None
    kinds = [column.kind is Kind.CATEGORY for column in schema.used]
    plain, coded = np.flatnonzero(np.logical_not(kinds)).tolist(), np.flatnonzero(kinds).tolist()
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=RARE, sparse_output=False
    )
    fill = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    parts = [("numbers", median if impute else "passthrough", plain)] if plain else []
    parts.append(("categories", make_pipeline(fill, encoder) if impute else encoder, coded))
    return ColumnTransformer(parts, verbose_feature_names_out=False)


def _numbers(X):
    """A matrix of numbers, which may have gaps."""
    from sklearn.utils.validation import check_array

    how = {"accept_sparse": "csr", "dtype": np.float64, "ensure_all_finite": "allow-nan"}
    return named("X", check_array, check_stored("X", X), ensure_min_samples=0, **how)


def _level(column, code):
    return column.levels[int(code)] if 0 <= code < len(column.levels) else f"level {code:g}"
