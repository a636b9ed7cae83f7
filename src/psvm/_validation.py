"""Checks of parameters and data that name what is wrong and what to do.

scikit-learn is imported by the checks that call it: it takes longer than most files do, and reading
one needs none of these checks.
"""

import numbers
import os
import re
from collections.abc import Iterable, Mapping, Sized

import numpy as np
import scipy.sparse as sp

LONGEST = 200
"""Characters of a wrong value that an error shows."""
SHOWN = 5
"""Rows that an error names."""
LARGEST = 2**63 - 1
"""The largest integer that compiled code can hold."""
NUMBERS = (int, float, np.integer, np.floating)


def shown(value):
    """A wrong value as an error shows it: never too long, whatever it is."""
    if isinstance(value, int) and value.bit_length() > 1024:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value)
    except Exception:  # of a container of such integers, or of a user's class
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def is_number(value):
    """Whether a value is a real number that a double can hold, and not a boolean."""
    if not isinstance(value, NUMBERS) or isinstance(value, bool):
        return False
    return not isinstance(value, int) or abs(value) < 2**1023


def check_number(name, value, *, above=None, least=None, most=None, below=None, infinite=False):
    """Check that a parameter is a real number within bounds."""
    number = float(value) if is_number(value) else np.nan
    ok = (
        not np.isnan(number)
        and (infinite or np.isfinite(number))
        and (above is None or number > above)
        and (least is None or number >= least)
        and (most is None or number <= most)
        and (below is None or number < below)
    )
    if not ok:
        finite = "" if infinite else "finite "
        limits = ((" >", above), (" >=", least), (" <=", most), (" <", below))
        bounds = " and".join(f"{sign} {limit}" for sign, limit in limits if limit is not None)
        raise ValueError(f"{name} must be a {finite}number{bounds}, got {shown(value)}.")


def check_integer(name, value, *, least=0, most=LARGEST):
    """Check that a parameter is an integer, at least `least` and at most `most`."""
    ok = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not ok or not least <= value <= most:
        limit = "" if ok and value < least else f" and <= {most}" * (ok or most < LARGEST)
        raise ValueError(f"{name} must be an integer >= {least}{limit}, got {shown(value)}.")


def check_positive_integer(name, value, *, most=LARGEST):
    """Check that a parameter is an integer of at least 1."""
    check_integer(name, value, least=1, most=most)


def check_choice(name, value, choices):
    """Check that a parameter is one of a few strings."""
    if not (isinstance(value, str) and value in choices):
        options = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {options}, got {shown(value)}.")


def check_text(name, value):
    """Check that an argument is a string or None."""
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{name} must be a string or None, got {shown(value)}.")


def check_flag(name, value):
    """Check that a parameter is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}.")


def check_storage(name, value):
    """Check that a parameter is a dtype in which kernel values can be kept."""
    try:
        ok = value is not None and np.dtype(value) in (np.float64, np.float32)
    except Exception:  # NumPy raises what it likes for an object that is no dtype
        ok = False
    if not ok:
        raise ValueError(f"{name} must be float64 or float32, got {shown(value)}.")


def check_seed(name, value):
    """Check that a parameter gives random numbers: None, an integer, a Generator or RandomState."""
    try:
        random_numbers(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be None, an integer from 0 to 2**32 - 1, a numpy.random.Generator or a "
            f"numpy.random.RandomState, got {shown(value)}."
        ) from None


def random_numbers(random_state):
    """What `random_state` stands for, as scikit-learn takes it; a Generator gives its own bits."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    return check_random_state(random_state)


def check_jobs(value):
    """Check the parameter `n_jobs`: None or an integer other than 0."""
    if value is None:
        return
    ok = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not ok or value == 0 or abs(value) > LARGEST:
        raise ValueError(f"n_jobs must be None or an integer other than 0, got {shown(value)}.")


def is_iterable(value):
    """Whether a value has items, one after the other; those of a sparse matrix are no such list."""
    return isinstance(value, Iterable) and not sp.issparse(value)


def check_list(name, value):
    """Check that a parameter is a list, a tuple or a vector and not empty; returns a list."""
    ok = is_iterable(value) and isinstance(value, Sized)
    if not ok or isinstance(value, str | bytes | Mapping) or getattr(value, "ndim", 1) != 1:
        raise ValueError(f"{name} must be a list of values, got {shown(value)}.")
    if not len(value):
        raise ValueError(f"{name} must be a list of values, got an empty one.")
    return list(check_stored(name, value))


def check_rows(X, y, name="y"):
    """Check that X has a row, or is a list with an object, for each entry of y; returns X."""
    from sklearn.utils.validation import _num_samples

    X = check_stored("X", X)
    try:
        rows = _num_samples(X)
    except TypeError:
        raise TypeError(f"X must be a matrix or a list of objects, got {shown(X)}.") from None
    if rows != len(y):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {rows} rows, but "
            f"{name} has {len(y)} entries."
        )
    return X


def check_members(name, value):
    """Check that an argument is a vector of labels, one per row; returns it as an array."""
    array = as_array(name, value)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"{name} must be one-dimensional and not empty, got an array of shape {array.shape}."
        )
    target_type(name, array)
    return array


def check_path(name, value):
    """Check that an argument can be the path of a file."""
    if not isinstance(value, str | os.PathLike) or "\0" in str(value) or not str(value):
        raise TypeError(f"{name} must be a string or a path, got {shown(value)}.")


def check_kind(name, value, *kinds, none=False):
    """Check that an argument is an object of one of some classes, or None if that is allowed."""
    if not isinstance(value, kinds) and not (none and value is None):
        allowed = " or ".join(kind.__name__ for kind in kinds)
        raise TypeError(f"{name} must be {allowed}{' or None' * none}, got {shown(value)}.")


def check_has(name, value, *methods, what="an estimator"):
    """Check that an argument is an object, not a class, with some methods."""
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if isinstance(value, type) or missing:
        raise TypeError(f"{name} must be {what} with {', '.join(methods)}, got {shown(value)}.")


def check_vector(name, value):
    """Check that an argument is a vector of finite real numbers; returns it as float64."""
    array = as_array(name, value)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"{name} must be a vector of real numbers, got {shown(value)}."
            ) from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must contain real numbers, got {array.dtype} data.")
    if array.ndim != 1 or len(array) == 0:
        raise ValueError(
            f"{name} must be one-dimensional and not empty, got an array of shape {array.shape}."
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return array


def check_weights(sample_weight, L, *, some=True):
    """Weights as a float64 array, or None; unless `some` is False one must be positive."""
    if sample_weight is None:
        return None
    weights = check_vector("sample_weight", sample_weight)
    if weights.shape != (L,):
        raise ValueError(
            f"sample_weight must have one entry for each of the {L} rows, got an array of shape "
            f"{weights.shape}."
        )
    if (weights < 0).any():
        raise ValueError("sample_weight must not be negative.")
    if weights.max() > np.finfo(float).max / (4 * L):
        raise ValueError("sample_weight is too large to be summed in double precision; scale it.")
    if some and not weights.any():
        raise ValueError("sample_weight is zero for all rows; at least one must be positive.")
    return weights


def refuse_sparse(value, message):
    """Raise a ValueError with this message if the value is a sparse matrix."""
    if sp.issparse(value):
        raise ValueError(message)


def as_stored(name, value):
    """An argument as a dense array of any type or as a sparse matrix, checked."""
    return check_stored(name, value) if sp.issparse(value) else as_array(name, value)


def as_array(name, value):
    """An argument as a dense array of any type; nothing of it is masked."""
    refuse_sparse(value, f"{name} must be a dense array, got a sparse one. Use its toarray().")
    value = check_stored(name, value)
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of numbers, got {shown(value)}.") from None


def check_stored(name, value):
    """Check what scikit-learn takes on trust: masks, fields, and the indices of a sparse matrix.

    Returns the value; of the sparse formats that compiled code cannot check, a csr array.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise ValueError(
            f"{name} contains missing values: {np.ma.count_masked(value)} masked entries. Impute "
            "them or leave out their rows."
        )
    if isinstance(value, np.ndarray) and value.dtype.kind == "V":
        raise ValueError(f"{name} is a structured array; give its fields as columns.")
    if not sp.issparse(value):
        return value
    if value.ndim != 2 or not _lies_inside(value):
        raise ValueError(
            f"{name} is not a valid sparse matrix: its indices do not lie within its shape "
            f"{value.shape} or within its arrays."
        )
    return value if value.format in ("csr", "csc") else check_stored(name, value.tocsr())


def _lies_inside(K):
    """Whether the arrays of a sparse matrix fit each other and its shape.

    Compiled code follows them wherever they lead, and SciPy's `check_format` does not look at
    `indptr` if its last entry is 0.
    """
    if K.format == "coo":
        return all(_within(*pair) for pair in zip(K.coords, K.shape, strict=True))
    if K.format not in ("csr", "csc", "bsr"):
        return True  # its arrays are checked when it has become csr
    blocks = K.blocksize if K.format == "bsr" else (1, 1)
    n_major, n_minor = (n // b for n, b in zip(K.shape, blocks, strict=True))
    if K.format == "csc":
        n_major, n_minor = n_minor, n_major
    indptr = K.indptr
    return bool(
        _within(indptr, min(len(K.indices), len(K.data)) + 1)
        and len(indptr) == n_major + 1
        and indptr[0] == 0
        and (indptr[1:] >= indptr[:-1]).all()
        and _within(K.indices[: indptr[-1]], n_minor)
    )


def _within(places, size):
    """Whether an array holds integers from 0 to ``size - 1``."""
    if places.ndim != 1 or places.dtype.kind not in "iu":
        return False
    return len(places) == 0 or (places.min() >= 0 and places.max() < size)


def plain_target(y):
    """A column of nullable integers or booleans as NumPy's; scikit-learn makes floats of them.

    One with missing values stays as it is, for the check that follows.
    """
    dtype = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biu" and not y.isna().any():
        return np.asarray(y, dtype=dtype)
    return y


def check_array(name, value, **options):
    """scikit-learn's `check_array` of what `check_stored` accepts; its errors name the argument."""
    from sklearn.utils import check_array as sklearn_check_array

    value = check_stored(name, value)
    return named(name, sklearn_check_array, value, input_name=name, **options)


def check_X_y(X, y, **options):
    """scikit-learn's `check_X_y` likewise."""
    from sklearn.utils import check_X_y as sklearn_check_X_y

    X, y = check_stored("X", X), plain_target(check_stored("y", y))
    return named("X or y", sklearn_check_X_y, X, y, **options)


def validate_data(estimator, X, y="no_validation", **options):
    """scikit-learn's `validate_data` likewise."""
    from sklearn.utils.validation import validate_data as sklearn_validate_data

    X = check_stored("X", X)
    _refuse_dates(X)
    if isinstance(y, str) and y == "no_validation":
        return named("X", sklearn_validate_data, estimator, X, **options)
    y = plain_target(check_stored("y", y))
    return named("X or y", sklearn_validate_data, estimator, X, y, **options)


def named(name, check, *arguments, **options):
    """What a check of scikit-learn returns; its errors tell which argument they are about."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # sums of huge numbers
            return check(*arguments, **options)
    except ValueError as error:
        if "could not convert" in str(error):
            _refuse_words(arguments)
        if re.search(rf"\b(X|y|{name})\b", str(error)):
            raise
        raise ValueError(f"{name} cannot be used. {error}") from error
    except (TypeError, OverflowError, AttributeError, IndexError) as error:
        # Of an object that looks like an array and is none.
        raise TypeError(f"{name} must be an array of numbers. {error}") from error


ENCODE = (
    "Encode the table, for example with make_pipeline(psvm.io.TableEncoder(), StandardScaler(), "
    "...), or leave the column out."
)


def _columns(X):
    """Names and columns of a DataFrame; nothing of others."""
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        return [(f"column {name!r}", X.iloc[:, j]) for j, name in enumerate(X.columns)]
    return []


def _refuse_dates(X):
    """Complain about dates and spans of time, which NumPy turns into numbers of nanoseconds."""
    columns = _columns(X) or [("an array", X)]
    for where, column in columns:
        if getattr(getattr(column, "dtype", None), "kind", "") in ("m", "M"):
            raise TypeError(
                f"X holds dates or spans of time in {where} ({column.dtype}), not numbers. {ENCODE}"
            )


def _refuse_words(arguments):
    """Name the column with words, if X is a DataFrame."""
    X = next((value for value in arguments if _columns(value)), None)
    for where, column in _columns(X):
        if column.dtype.kind == "O" or str(column.dtype).startswith(("str", "categ")):
            words = [value for value in column.tolist() if isinstance(value, str)]
            if words:
                raise ValueError(
                    f"X holds words in {where}, such as {words[0]!r}, not numbers. {ENCODE}"
                ) from None


def check_alignment(X):
    """Refuse a square DataFrame whose rows and columns have the same names in different orders."""
    rows, columns = getattr(X, "index", None), getattr(X, "columns", None)
    if rows is None or columns is None or np.shape(X)[0] != np.shape(X)[1]:
        return
    rows, columns = list(rows), list(columns)
    if rows != columns and len(set(rows)) == len(rows) and set(rows) == set(columns):
        place = next(i for i, (a, b) in enumerate(zip(rows, columns, strict=True)) if a != b)
        raise ValueError(
            f"X names the same objects in its rows and columns, but in different orders: row "
            f"{place + 1} is {rows[place]!r} and column {place + 1} is {columns[place]!r}. Give "
            "X.loc[X.columns]."
        )


def check_labels(name, y, kind=None):
    """The distinct labels of classes and the number of the label of each row.

    `kind` is the `target_type`, if it is known.
    """
    from sklearn.utils import column_or_1d
    from sklearn.utils.multiclass import check_classification_targets

    kind = target_type(name, y) if kind is None else kind
    if kind not in ("binary", "multiclass"):
        check_classification_targets(y)
    return np.unique(column_or_1d(y, warn=True), return_inverse=True)


def target_type(name, y):
    """scikit-learn's `type_of_target` of what can be sorted."""
    from sklearn.utils.multiclass import type_of_target

    try:
        with np.errstate(invalid="ignore"):  # it turns NaN into an integer before it refuses it
            kind = type_of_target(y, input_name=name)
    except TypeError as error:
        raise TypeError(
            f"{name} must hold labels that can be sorted, all strings or all numbers. {error}"
        ) from error
    if kind == "unknown":
        raise ValueError(f"Unknown label type: {name} holds neither numbers nor strings.")
    return kind


def class_factors(class_weight, y):
    """The weight of each row that `class_weight` means."""
    from sklearn.utils.class_weight import compute_sample_weight

    if isinstance(class_weight, dict):
        for label, weight in class_weight.items():
            check_number(f"class_weight[{shown(label)}]", weight, least=0)
    elif class_weight is None:
        return np.ones(len(y))
    else:
        check_choice("class_weight", class_weight, ("balanced",))
    try:
        return compute_sample_weight(class_weight, y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"class_weight does not suit the labels. {error}") from error


def kernel_values(evaluate, X, Z, *, finite=False):
    """Values of a kernel, checked: a user's function may return anything."""
    with np.errstate(all="ignore"):
        K = evaluate(X, Z)
    expected = (X.shape[0], Z.shape[0])
    refuse_sparse(K, "The kernel returned a sparse matrix; return its toarray().")
    try:
        K = np.asarray(K)
        K = K.astype(np.float64) if K.dtype.kind == "O" else K
    except (TypeError, ValueError, OverflowError):
        K = np.asarray("no number")
    if K.dtype.kind not in "biuf":
        raise ValueError(f"The kernel returned {K.dtype} data; it must return real numbers.")
    if K.shape != expected:
        raise ValueError(
            f"The kernel returned shape {K.shape}, expected {expected}: kernel(X, Z) must return "
            f"one value for each of {expected[0]} objects and {expected[1]} descriptive objects."
        )
    with np.errstate(invalid="ignore"):
        overflows = finite and K.size and not np.isfinite([K.min(), K.max()]).all()
    if overflows:
        raise ValueError(
            "The kernel returned NaN or infinity. Scale the data or change the kernel's parameters."
        )
    return K


def check_decisions(values, kernel):
    """Check that all values of a model are finite: no class and no number belongs to NaN."""
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(wrong):
        more = ", ..." if len(wrong) > SHOWN else ""
        rows = ", ".join(map(str, wrong[:SHOWN])) + more
        raise ValueError(
            f"The values of {len(wrong)} rows of X are NaN or infinite (rows {rows}): "
            f"kernel={shown(kernel)} overflows or is not defined there. Scale X as in training, or "
            "leave these rows out."
        )
    return values
