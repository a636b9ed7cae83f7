"""Dense and sparse storage: one room asks which one it is, and gives the same answer for both."""

import ast
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import psvm
from psvm import matrix

SOURCE = Path(psvm.__file__).parent
QUESTIONS = {"issparse", "isspmatrix", "spmatrix", "sparray"}
CONVERSIONS = {"toarray", "todense", "tocsr"}
ALLOWED = {
    "matrix/": "the room that knows",
    "_typing.py": "the types of annotations",
    "_validation.py": "checks of arguments, below that room",
    "io/_formats.py": "readers make sparse tables",
    "io/_matrix_market.py": "readers make sparse tables",
    "io/_table.py": "a sparse table as a DataFrame",
    "io/_write.py": "writers put the arrays of a sparse table into files",
    "persistence/_codec.py": "the arrays of a sparse matrix in a model file",
}


def storage_questions(path):
    """Lines that ask how a matrix is stored, or convert it."""
    for node in ast.walk(ast.parse(path.read_text())):
        name = None
        if isinstance(node, ast.Attribute):
            name = node.attr
        elif isinstance(node, ast.Name):
            name = node.id
        elif isinstance(node, ast.alias):
            name = node.name
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("hasattr", "getattr"):
            name = getattr(node.args[1], "value", None)
        if name in QUESTIONS | CONVERSIONS:
            yield node.lineno, name


def test_nobody_else_asks_how_a_matrix_is_stored():
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        lines = list(storage_questions(path))
        if lines:
            found[path.relative_to(SOURCE).as_posix()] = lines
    assert any(name.startswith("matrix/") for name in found)  # the search finds something
    places = tuple(ALLOWED)
    assert {name: lines for name, lines in found.items() if not name.startswith(places)} == {}
    assert [place for place in ALLOWED if not any(name.startswith(place) for name in found)] == []


@pytest.fixture(params=[sp.csr_matrix, sp.csc_matrix, sp.csr_array, sp.csc_array, sp.coo_array])
def pair(rng, request):
    """The same numbers, dense and sparse."""
    X = np.where(rng.random((13, 7)) < 0.3, rng.normal(size=(13, 7)), 0.0)
    X[4] = X[:, 2] = 0.0
    return X, request.param(X)


def test_conversions(pair):
    X, S = pair
    for dense in (matrix.as_dense(X), matrix.as_dense(S), matrix.dense_copy(S)):
        assert isinstance(dense, np.ndarray)
        np.testing.assert_array_equal(dense, X)
    copy = matrix.dense_copy(np.asfortranarray(X))
    assert copy.flags.c_contiguous and not np.shares_memory(copy, X)
    assert matrix.as_dense(X) is X and matrix.by_columns(S) is S
    assert matrix.by_columns(X).flags.f_contiguous
    assert (matrix.storage_of(X), matrix.storage_of(S)) == ("dense", "sparse")
    assert matrix.can_be_centred(X) and not matrix.can_be_centred(S)


def test_contents(pair, rng):
    X, S = pair
    assert np.count_nonzero(matrix.stored_values(X)) == len(matrix.stored_values(S))
    assert matrix.row_digests(X) == matrix.row_digests(S)
    np.testing.assert_array_equal(
        matrix.as_dense(matrix.drop_columns(S, np.array([0, 3]))),
        matrix.drop_columns(X, np.array([0, 3])),
    )
    weights = rng.uniform(size=len(X))
    repeated = np.average(np.square(X - np.average(X, axis=0, weights=weights).mean()), axis=0,
                          weights=weights).mean()  # fmt: skip
    for stored in (X, S):
        np.testing.assert_allclose(matrix.weighted_variance(stored, weights), repeated, rtol=1e-12)


def test_columns_with_entries(pair):
    X, S = pair
    stored, places, low, high = matrix.stored_columns(S)
    np.testing.assert_array_equal(matrix.as_dense(stored), X[:, places])
    np.testing.assert_array_equal(places, np.flatnonzero(X.any(axis=0)))
    assert 2 not in places
    for j, least, greatest in zip(*matrix.stored_columns(X)[1:], strict=True):
        if j in places:
            at = list(places).index(j)
            assert (low[at], high[at]) == (least, greatest)


def test_missing_entries(pair):
    X, S = pair
    row, column = (index[:3] for index in np.nonzero(X))
    X[row, column] = np.nan
    S = type(S)(X)
    for stored in (X, S):
        np.testing.assert_array_equal(matrix.missing_entries(stored), (row, column))
    filled = matrix.fill_missing(X)
    for i, j in zip(row, column, strict=True):
        known = X[~np.isnan(X[:, j]), j]
        np.testing.assert_allclose(filled[i, j], known.mean(), rtol=1e-12)
    assert matrix.fill_missing(S) is S


def test_contents_for_a_digest_tell_matrices_apart(pair):
    X, S = pair
    Y = X + np.eye(*X.shape)
    for stored, other in ((X, Y), (S, type(S)(Y))):
        first, second = (
            b"".join(part.tobytes() for part in matrix.stored_parts(Z)) for Z in (stored, other)
        )
        again = b"".join(part.tobytes() for part in matrix.stored_parts(stored.copy()))
        assert first == again != second
