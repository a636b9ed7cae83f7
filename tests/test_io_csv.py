"""Delimited text: numbers, dialects, blocks, errors."""

import csv
import io
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import psvm.io._csv as text_reader
from psvm._core._csv import parse_number
from psvm.io import DataError, read_table
from psvm.io._schema import NA_VALUES


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write_file


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("scratch")


# --- numbers


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_is_read_back(x):
    assert parse_number(repr(x).encode()) == x
    assert np.signbit(parse_number(repr(x).encode())) == np.signbit(x)


@given(st.from_regex(r"[+-]?[0-9]{1,40}(\.[0-9]{0,40})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
@settings(max_examples=500)
def test_numbers_are_correctly_rounded(text):
    """Python's float is correctly rounded."""
    assert parse_number(text.encode()) == float(text)


@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",  # half-way between two doubles
        "9007199254740993.00000000000000000000000000000000001",
        "2.2250738585072011e-308",  # next to the least normal number
        "2.4703282292062327208e-324",  # half of the least number
        "2.4703282292062328e-324",
        "4.9e-324",
        "1.7976931348623157e308",
        "1.7976931348623159e308",  # beyond the largest number
        "0." + "0" * 400 + "1e401",
        "1" + "0" * 400 + "e-400",
        "6.02214076e23",
        "8.41e21",
        "1e23",
        "1448997445238699e0",
        "-0.0",
        ".5",
        "5.",
        "1e-99999999999",
    ],
)
def test_hard_numbers(text):
    assert parse_number(text.encode()) == float(text)


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "1e", "1e+", "1.2.3", "0x10", "1_000", "1 2"])
def test_not_numbers(text):
    assert parse_number(text.encode()) is None


def test_decimal_comma():
    assert parse_number(b"-1,25e2", ord(",")) == -125.0
    # One of the few numbers that 128 bits do not decide.
    assert parse_number(b"9007199254740993,5", ord(",")) == 9007199254740993.5


# --- tables written by Python's csv module

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=8)
CELLS = NAMES.map(str.strip).filter(
    lambda s: s.strip() not in NA_VALUES and parse_number(s.encode()) is None
)


@st.composite
def tables(draw):
    n, p = draw(st.integers(1, 8)), draw(st.integers(1, 5))
    values = st.floats(allow_nan=False, allow_infinity=False, width=64)
    X = draw(st.lists(st.lists(values, min_size=p, max_size=p), min_size=n, max_size=n))
    labels = draw(st.lists(CELLS, min_size=n, max_size=n))
    return np.array(X), labels


@given(
    tables(),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.integers(1, 40),
    st.booleans(),
)
@settings(max_examples=80, deadline=None)
def test_tables_of_any_block_size(scratch, table, delimiter, end, block, last_end):
    """Cutting the text anywhere changes nothing."""
    X, labels = table
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter=delimiter, lineterminator=end)
    writer.writerow([*(f"c {j}" for j in range(X.shape[1])), "kind"])
    writer.writerows([*row, label] for row, label in zip(X.tolist(), labels, strict=True))
    text = buffer.getvalue() if last_end else buffer.getvalue().removesuffix(end)
    path = scratch / "a.csv"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_reader, "BLOCK", block)
        found = read_table(
            path, target="kind", delimiter=delimiter, header=True, row_names=False, decimal="."
        )
    np.testing.assert_array_equal(found.X, X)
    assert found.y.tolist() == labels


def test_same_as_pandas(write):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 7)) * 10.0 ** rng.integers(-300, 300, size=(500, 7))
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    frame["y"] = rng.choice(["u", "v"], size=500)
    path = write(frame.to_csv(index=True))
    expected = pd.read_csv(path, index_col=0, float_precision="round_trip")
    table = read_table(path, target="y")
    np.testing.assert_array_equal(table.X, expected[list("abcdefg")].to_numpy())
    assert table.y.tolist() == expected["y"].tolist()
    assert table.row_names == [str(i) for i in expected.index]


def test_many_columns(write):
    names = ",".join(f"gene{j}" for j in range(100_000))
    row = ",".join(str(j) for j in range(100_000))
    table = read_table(write(f"{names},y\n{row},a\n{row},b\n"), target="y")
    assert table.X.shape == (2, 100_000)
    assert table.X[1, 99_999] == 99_999
    assert table.feature_names[-1] == "gene99999"


def test_memory_is_that_of_the_matrix(write):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 50))
    path = write("\n".join(",".join(map(repr, row)) for row in X.tolist()))
    tracemalloc.start()
    table = read_table(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(table.X, X)
    text = path.stat().st_size
    assert text > 2 * X.nbytes
    # The matrix, the block of text and its first lines, a few rows too many; not the text.
    assert peak < 1.1 * X.nbytes + 5 * text_reader.BLOCK < X.nbytes + text


# --- what is detected


@pytest.mark.parametrize(
    ("text", "X", "features", "rows"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]], None, None),
        ("a,b\n1,2\n3,4\n", [[1, 2], [3, 4]], ["a", "b"], None),
        ("1;2\n3;4\n", [[1, 2], [3, 4]], None, None),
        ("a;b\n1,5;2\n3;4,25\n", [[1.5, 2], [3, 4.25]], ["a", "b"], None),
        ("a\tb\n1\t2\n", [[1, 2]], ["a", "b"], None),
        ("a b\n 1   2 \n3 4", [[1, 2], [3, 4]], ["a", "b"], None),
        ("a|b\n1|2\n", [[1, 2]], ["a", "b"], None),
        ("5\n6\n7\n", [[5], [6], [7]], None, None),
        ("v\n5\n6\n", [[5], [6]], ["v"], None),
        (",a,b\nr,1,2\ns,3,4\n", [[1, 2], [3, 4]], ["a", "b"], ["r", "s"]),
        (",a,b\n0,1,2\n1,3,4\n", [[1, 2], [3, 4]], ["a", "b"], ["0", "1"]),
        ('"a" "b"\n"r" 1 2\n"s" 3 4\n', [[1, 2], [3, 4]], ["a", "b"], ["r", "s"]),
        ("gene,a,b\nx,1,2\ny,3,4\n", [[1, 2], [3, 4]], ["a", "b"], ["x", "y"]),
        ("r1,1,2\nr2,3,4\n", [[1, 2], [3, 4]], None, ["r1", "r2"]),
        ("# a comment\n\na,b\n1,2\n", [[1, 2]], ["a", "b"], None),
        ("a,b\n\n1,2\n   \n3,4\n\n", [[1, 2], [3, 4]], ["a", "b"], None),
        ('"a, x","b ""q"""\n"1","2"\n', [[1, 2]], ["a, x", 'b "q"'], None),
        ("a,b\n 1 , 2 \n+3,-4e0\n", [[1, 2], [3, -4]], ["a", "b"], None),
        ("a,b\r\n1,2\r\n3,4\r\n", [[1, 2], [3, 4]], ["a", "b"], None),
        ("a,b\r1,2\r3,4", [[1, 2], [3, 4]], ["a", "b"], None),
        ("﻿a,b\n1,2\n", [[1, 2]], ["a", "b"], None),
    ],
)
def test_dialects(write, text, X, features, rows):
    table = read_table(write(text))
    np.testing.assert_array_equal(table.X, X)
    assert table.feature_names == features
    assert table.row_names == rows
    assert table.y is None


def test_detection_is_told(write):
    notes = read_table(write("#\nid;a;b\nu;1,5;2\nv;3;4\n")).detection
    assert notes == [
        "The delimiter is a semicolon.",
        "Numbers are written with a decimal comma.",
        "1 blank or comment lines at the beginning are skipped.",
        "Line 2 is the header with the names of the columns.",
        "Column 1 holds the names of the rows.",
    ]


def test_detection_can_be_overruled(write):
    path = write("1;2\n3;4\n")
    assert read_table(path, header=True).feature_names == ["1", "2"]
    assert read_table(path, row_names=True).row_names == ["1", "3"]
    path = write("2001,2002\n1,5\n")
    assert read_table(path, header=True).X.tolist() == [[1, 5]]
    assert read_table(write("id,a\n7,1\n8,2\n"), row_names=False).feature_names == ["id", "a"]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_encodings(write, encoding):
    path = write("größe,y\n1,ä\n2,ö\n".encode(encoding))
    given = {"encoding": "latin-1"} if encoding == "latin-1" else {}
    table = read_table(path, target="y", **given)
    assert table.feature_names == ["größe"]
    assert table.y.tolist() == ["ä", "ö"]


# --- targets


@pytest.mark.parametrize(
    ("column", "y", "kind"),
    [
        (["1", "0", "1"], [1, 0, 1], "i"),
        (["1.5", "0", "2"], [1.5, 0, 2], "f"),
        (["a", "b", "a"], ["a", "b", "a"], "O"),
        (["1", "b", "1"], ["1", "b", "1"], "O"),
    ],
)
def test_targets(write, column, y, kind):
    path = write("x,y,z\n" + "".join(f"{i},{c},{2 * i}\n" for i, c in enumerate(column)))
    for target in ("y", 1, -2, "1"):
        table = read_table(path, target=target)
        assert table.y.tolist() == y
        assert table.y.dtype.kind == kind
        assert table.target_name == "y"
        assert table.feature_names == ["x", "z"]
        assert table.X.tolist() == [[0, 0], [1, 2], [2, 4]]


def test_target_that_turns_into_text_late(write):
    rows = "".join(f"{i},{i % 2}\n" for i in range(1000))
    table = read_table(write(f"x,y\n{rows}0,maybe\n"), target="y")
    assert table.y[0] == "0"
    assert table.y[-1] == "maybe"


@pytest.mark.parametrize("header", [True, False])
def test_target_file(write, header):
    data = write("id,a\nr,1\ns,2\nt,3\n")
    labels = write("name,kind\n" * header + "t,z\nr,x\ns,y\n", "labels.csv")
    table = read_table(data, target_file=labels)
    assert table.y.tolist() == ["x", "y", "z"]
    assert table.target_name == ("kind" if header else None)
    plain = write("kind\n" * header + "u\nv\nw\n", "plain.csv")
    assert read_table(data, target_file=plain).y.tolist() == ["u", "v", "w"]


def test_target_file_of_another_size(write):
    data, labels = write("a,b\n1,2\n3,4\n"), write("x\ny\nz\nu\n", "l.csv")
    with pytest.raises(DataError, match=r"l.csv: There are 4 targets for 2 rows"):
        read_table(data, target_file=labels)
    labels = write("r,x\nq,y\n", "l.csv")
    with pytest.raises(DataError, match="no target for 1 rows, such as 's'"):
        read_table(write("id,a\nr,1\ns,2\n"), target_file=write("r,x\nr2,y\nr,z\n", "l.csv"))


@pytest.mark.parametrize("target", ["kind", "age"])
def test_genes_by_samples(write, target):
    path = write("gene,s1,s2,s3\nkind,x,y,x\ng1,1,2,3\nage,30,40,50\ng2,4,5,6\n")
    ignore = {"kind", "age"} - {target}
    table = read_table(path, transpose=True, target=target, ignore=ignore)
    assert table.X.tolist() == [[1, 4], [2, 5], [3, 6]]
    assert table.feature_names == ["g1", "g2"]
    assert table.row_names == ["s1", "s2", "s3"]
    assert table.y.tolist() == {"kind": ["x", "y", "x"], "age": [30, 40, 50]}[target]


def test_features_for_prediction(write):
    path = write("b,junk,a,y\n1,?,2,x\n3,foo,4,y\n")
    table = read_table(path, features=["a", "b"])
    assert table.X.tolist() == [[2, 1], [4, 3]]
    with pytest.raises(DataError, match=r"no column 'A1' \(one of features\)"):
        read_table(path, features=["A1"])


def test_categories(write):
    path = write("sex,a,city\nf,1,Linz\nm,2,Wien\nf,3,Graz\n")
    table = read_table(path, categorical="onehot", row_names=False)
    assert table.feature_names == ["a", "sex=f", "sex=m", "city=Graz", "city=Linz", "city=Wien"]
    np.testing.assert_array_equal(table.X[:, 1:3], [[1, 0], [0, 1], [1, 0]])
    assert read_table(path, categorical="drop", row_names=False).X.tolist() == [[1], [2], [3]]
    with pytest.raises(DataError, match=r"line 2, column 1: 'f' in column 'sex' is not a number"):
        read_table(path, row_names=False)


def test_category_that_shows_late(write):
    rows = "".join(f"{i},1\n" for i in range(1000))
    table = read_table(write(f"a,b\n{rows}1,two\n"), categorical="onehot", row_names=False)
    assert table.feature_names == ["a", "b=1", "b=two"]
    assert table.X[-1].tolist() == [1, 0, 1]


# --- missing values


@pytest.mark.parametrize("gap", [*NA_VALUES, '""', " "])
def test_missing_values(write, gap):
    path = write(f"a,b\n1,2\n3,{gap}\n5,6\n")
    with pytest.raises(DataError, match=r"line 3, column 2: 1 missing value: .*'b'") as caught:
        read_table(path)
    assert (caught.value.line, caught.value.column) == (3, 2)
    np.testing.assert_array_equal(read_table(path, missing="nan").X, [[1, 2], [3, np.nan], [5, 6]])
    table = read_table(path, missing="drop")
    assert table.X.tolist() == [[1, 2], [5, 6]]
    assert "1 rows with missing values were left out." in table.detection
    assert table.row_numbers.tolist() == [1, 3] and table.row_labels == ["1", "3"]


@pytest.mark.parametrize("gap", ["?", "-", ".", "none", "-999", "n. d."])
def test_markers_of_missing_values(write, gap):
    path = write(f"a,b\n1,2\n3,{gap}\n5,6\n")
    if gap != "-999":
        with pytest.raises(DataError, match="is not a number"):
            read_table(path, missing="nan")
    X = read_table(path, missing="nan", na_values=[gap]).X
    np.testing.assert_array_equal(X, [[1, 2], [3, np.nan], [5, 6]])
    path = write(f"a,b\n1,2\n3,NA\n5,\n7,{gap}\n")
    X = read_table(path, missing="nan", na_values=[gap]).X  # beside the default ones
    np.testing.assert_array_equal(X[:, 1], [2, np.nan, np.nan, np.nan])
    with pytest.raises(DataError, match="'NA' in column 'b' is not a number"):
        read_table(path, missing="nan", na_values=[gap], keep_default_na=False)


def test_missing_targets(write):
    path = write("a,y\n1,x\n2,\n3,z\n")
    with pytest.raises(DataError, match="line 3, column 2: 1 missing value"):
        read_table(path, target="y", missing="nan")
    table = read_table(path, target="y", missing="drop")
    assert (table.X.tolist(), table.y.tolist()) == ([[1], [3]], ["x", "z"])


def test_all_missing_values_are_counted(write):
    rows = "".join(f"{i},\n" for i in range(5000))
    with pytest.raises(DataError, match=r"5000 missing values: line 2, column 2 'b'; .* 4995 more"):
        read_table(write(f"a,b\n{rows}"))


# --- errors


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", None, None, "is empty"),
        ("\n\n  \n", None, None, "is empty"),
        ("a,b\n", None, None, "no rows of data below the header"),
        ("a,a\n1,2\n", 1, 2, "columns 1 and 2 have the same name 'a'"),
        ("a,b\n1,2\n3,x\n", 3, 2, "'x' in column 'b' is not a number"),
        ("a,b\n1,2\n3,4,5\n", 3, 3, "has 3 cells, but 2 are expected"),
        ("a,b\n1,2\n3\n4,5\n", 3, 1, "has 1 cells, but 2 are expected"),
        ('a,b\n1,2\n3,"4\n5,6\n7,8\n', 3, 2, "Stray quote in column 'b'"),
        ('a,b\n1,2\n3,"4\n5",6\n7,8\n', None, None, "Stray quote"),
        ('a,b\n1,2\n3,4"\n5,6\n', 3, 2, "Stray quote in column 'b'"),
        ('a,b\n1,2\n3,"4"x\n5,6\n', 3, 2, "Stray quote in column 'b'"),
        (b"a,b\n1,2\n3,\xe4\n", 3, 2, "has the byte 0xe4, which is not UTF-8"),
        (b"a,b\xe4\n1,2\n", 1, 2, "has the byte 0xe4, which is not UTF-8"),
        ("a,b\n1,2\n3,1e999\n", 3, 2, "too large for a double"),
        ("a,b\n1,2\n3,inf\n", 3, 2, "'inf' in column 'b' is not a number"),
        (b"a,b\n1,2\n\0\0\0", None, None, "not a text file"),
        ("a,b\n1,1.000.000\n", 2, 2, "'1.000.000' in column 'b' is not a number"),
    ],
)
@pytest.mark.parametrize("block", [8, text_reader.BLOCK])
def test_errors_name_line_and_column(write, monkeypatch, text, line, column, message, block):
    monkeypatch.setattr(text_reader, "BLOCK", block)
    path = write(text)
    with pytest.raises(DataError, match=message) as caught:
        read_table(path)
    error = caught.value
    assert error.file == str(path)
    assert str(path) in str(error)
    if line is not None:
        assert (error.line, error.column) == (line, column)
        assert f"line {line}, column {column}" in str(error)


def test_lines_are_counted_through_quoted_cells(write):
    path = write('name,a\n"one\ntwo",1\n"three\r\nfour",2\nx,bad\n')
    with pytest.raises(DataError) as caught:
        read_table(path, header=True, row_names=True)
    assert caught.value.line == 6
    table = read_table(write('name,a\n"one\ntwo",1\n"say ""hi""",2\n'), row_names=True)
    assert table.row_names == ["one\ntwo", 'say "hi"']


def test_labels_that_are_not_utf8(write):
    with pytest.raises(DataError, match=r"line 3, column 2: .*0xf6.*latin-1"):
        read_table(write(b"a,y\n1,x\n2,sch\xf6n\n"), target="y")


def test_a_quote_that_never_closes_does_not_swallow_the_file(write):
    rows = "1,2\n" * 500_000
    with pytest.raises(DataError, match="line 2, column 1: Stray quote"):
        read_table(write(f'name,b\n"r1,3\n{rows}'), row_names=True)


def test_near_misses(write):
    path = write("age,Diagnosis,weight\n1,x,2\n3,y,4\n")
    with pytest.raises(DataError, match=r"no column 'diagnosis'.*Did you mean 'Diagnosis'"):
        read_table(path, target="diagnosis")
    with pytest.raises(DataError, match="They are 'age', 'Diagnosis', 'weight'"):
        read_table(path, target="zzz")


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "ignore"},
        {"categorical": 1},
        {"format": "xls"},
        {"delimiter": ",,"},
        {"decimal": "x"},
        {"header": "yes"},
        {"encoding": "klingon"},
        {"transpose": "no"},
    ],
)
def test_bad_options(write, options):
    (name,) = options
    with pytest.raises(ValueError, match=name):
        read_table(write("1,2\n"), **options)


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError):
        read_table(tmp_path)


@given(st.binary(max_size=200))
@settings(max_examples=150, deadline=None)
def test_garbage_is_refused_or_read(scratch, garbage):
    path = scratch / "g.csv"
    path.write_bytes(garbage)
    try:
        table = read_table(path, format="csv", missing="nan")
    except DataError:
        return
    assert np.isfinite(table.X[~np.isnan(table.X)]).all()


@given(st.text(alphabet='01.,"\n\r e-x\t;', max_size=60), st.integers(1, 20))
@settings(max_examples=250, deadline=None)
def test_nearly_a_table(scratch, text, block):
    """Whatever the blocks, the answer or the error is the same."""
    path = scratch / "n.csv"
    path.write_text(text, newline="")

    def answer():
        try:
            table = read_table(
                path, format="csv", missing="nan", delimiter=",", header=False, row_names=False
            )
        except DataError as error:
            return error.message, error.line, error.column
        return table.X.tolist().__repr__(), table.feature_names, table.row_names

    expected = answer()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_reader, "BLOCK", block)
        assert answer() == expected
