"""All other formats, compression, writing, checking, and files that are whole or not there."""

import bz2
import contextlib
import gzip
import importlib.util
import lzma
import os
import pickle
import resource
import signal
import stat
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import psvm.io
from psvm.io import DataError, Severity, Table, atomic_write, check_file, read_table, write_table
from psvm.kernels import Sequence

has_arrow = importlib.util.find_spec("pyarrow") is not None
needs_arrow = pytest.mark.skipif(not has_arrow, reason="pyarrow is not installed")
X = np.array([[1.5, 0.0, -2.0], [0.1, 1e-300, 3.0], [7.0, 0.0, 1 / 3]])
LABELS = np.array(["a", "b", "a"], dtype=object)
TEXT = "u,v,y\n1,2,a\n3,4.5,b\n"


def same(table, other):
    dense = [t.X.toarray() if sp.issparse(t.X) else t.X for t in (table, other)]
    np.testing.assert_array_equal(*dense)


# --- compression


def zipped(path, data):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.csv", data)


PACKERS = {
    "gz": lambda path, data: path.write_bytes(gzip.compress(data)),
    "bz2": lambda path, data: path.write_bytes(bz2.compress(data)),
    "xz": lambda path, data: path.write_bytes(lzma.compress(data)),
    "zip": zipped,
}


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("named", [True, False])
def test_compressed_files(tmp_path, kind, named):
    path = tmp_path / (f"a.csv.{kind}" if named else "a.csv")
    PACKERS[kind](path, TEXT.encode())
    table = read_table(path, target="y")
    assert table.X.tolist() == [[1, 2], [3, 4.5]]
    assert table.y.tolist() == ["a", "b"]
    assert table.detection[0].startswith("The file is compressed by")


def test_zstandard(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.csv.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(TEXT.encode()))
    assert read_table(path, target="y").X.tolist() == [[1, 2], [3, 4.5]]


@pytest.mark.parametrize("kind", PACKERS)
def test_damaged_compressed_files(tmp_path, kind):
    """Cut anywhere or with a wrong byte: refused, or (a byte that does not matter) read."""
    path = tmp_path / f"a.{kind}"
    PACKERS[kind](path, TEXT.encode() * 3)
    whole = path.read_bytes()
    for n in range(len(whole)):
        path.write_bytes(whole[:n])
        with pytest.raises(DataError):
            read_table(path, target="y", format="csv")
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 0x55]) + whole[i + 1 :])
        try:
            read_table(path, target="y", format="csv", categorical="drop")
        except DataError as error:
            assert str(path) in str(error)


def test_archive_of_two_files(tmp_path):
    path = tmp_path / "two.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("b.csv", TEXT)
    with pytest.raises(DataError, match="holds 2 files"):
        read_table(path)


# --- formats


@pytest.mark.parametrize(
    "name",
    [
        "t.csv",
        "t.tsv",
        "t.csv.gz",
        "t.csv.bz2",
        "t.tab.xz",
        "t.npz",
        pytest.param("t.parquet", marks=needs_arrow),
        pytest.param("t.feather", marks=needs_arrow),
        "t.h5ad",
    ],
)
@pytest.mark.parametrize("y", [LABELS, np.array([0, 1, 0]), np.array([0.5, 1 / 3, -2.0])])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.filterwarnings("ignore::Warning")  # those of anndata about its own future
def test_all_is_kept(tmp_path, name, y, store):
    names = ["first, one", 'the "second"', "dritte Größe"]
    table = Table(store(X), y, names, ["r 1", "r2", "r3"], "target name")
    assert write_table(table, tmp_path / name) == []
    target = None if name.endswith("npz") else "target name"
    again = read_table(tmp_path / name, target=target)
    same(again, table)
    assert again.y.tolist() == y.tolist()
    assert (again.y.dtype.kind == "O") == (y.dtype.kind == "O")
    assert again.feature_names == names
    assert again.row_names == ["r 1", "r2", "r3"]
    assert again.target_name == "target name"
    assert again.detection


@pytest.mark.parametrize("name", ["t.svm", "t.libsvm.gz", "t.npy", "t.mtx", "t.mtx.gz"])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_numbers_are_kept(tmp_path, name, store):
    notes = write_table(store(X), tmp_path / name, y=[3, 1, 2], feature_names=list("abc"))
    assert any("names" in note for note in notes)
    table = read_table(tmp_path / name)
    same(table, Table(X))
    if "svm" in name:
        assert table.y.tolist() == [3, 1, 2]
    else:
        assert "target" in notes[0]


def test_svmlight(tmp_path):
    path = tmp_path / "heart_scale"
    path.write_text("+1 1:0.5 3:-1 # comment\n-1 2:2\n")
    table = read_table(path)
    assert table.format == "svmlight"
    assert table.X.toarray().tolist() == [[0.5, 0, -1], [0, 2, 0]]
    assert table.y.tolist() == [1, -1]
    assert read_table(path, features=["x0", "x1", "x2", "x3"]).X.shape == (2, 4)
    dump_svmlight_file(X, [1, 2, 1], str(path), zero_based=True)
    same(read_table(path), Table(X))
    path.write_text("+1 1:0.5\n-1 2:x\n")
    with pytest.raises(DataError, match="line 2: '-1 2:x'"):
        read_table(path, format="svmlight")


def test_numpy_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    table = read_table(tmp_path / "a.npy", target=-1)
    assert (table.X.tolist(), table.y.tolist()) == ([[0, 1], [3, 4]], [2, 5])
    sp.save_npz(tmp_path / "s.npz", sp.csc_matrix(X))
    np.save(tmp_path / "y.npy", [1, 2, 1])
    table = read_table(tmp_path / "s.npz", target_file=tmp_path / "y.npy")
    same(table, Table(X))
    assert table.y.tolist() == [1, 2, 1]
    np.savez(tmp_path / "n.npz", M=X, classes=np.array(["p", "q", "p"]))
    assert read_table(tmp_path / "n.npz", target="classes").y.tolist() == ["p", "q", "p"]
    with pytest.raises(DataError, match=r"no array 'klasses'.*Did you mean 'classes'"):
        read_table(tmp_path / "n.npz", target="klasses")


def test_arrays_of_objects_are_not_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    trap = np.array([Trap()], dtype=object)
    np.save(tmp_path / "a.npy", trap, allow_pickle=True)
    np.savez(tmp_path / "a.npz", X=trap)
    (tmp_path / "b.npy").write_bytes(pickle.dumps(Trap()))
    for name in ("a.npy", "a.npz", "b.npy"):
        with pytest.raises(DataError):
            read_table(tmp_path / name)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("shape", [(3,), (2, 2, 2), ()])
def test_arrays_that_are_no_matrix(tmp_path, shape):
    np.save(tmp_path / "a.npy", np.zeros(shape))
    with pytest.raises(DataError, match="dimensions"):
        read_table(tmp_path / "a.npy")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_matrices_with_holes(tmp_path, bad):
    Z = X.copy()
    Z[1, 2] = bad
    np.save(tmp_path / "a.npy", Z)
    with pytest.raises(DataError, match="infinite" if np.isinf(bad) else "row 2, column 3"):
        read_table(tmp_path / "a.npy")
    if np.isnan(bad):
        assert read_table(tmp_path / "a.npy", missing="drop").X.tolist() == X[[0, 2]].tolist()


MARKET = {
    "coordinate real general": ("2 3 2\n1 1 1.5\n2 3 -1e-3\n", [[1.5, 0, 0], [0, 0, -1e-3]]),
    "coordinate integer general": ("1 2 1\n1 2 7\n", [[0, 7]]),
    "coordinate pattern symmetric": ("2 2 2\n1 1\n2 1\n", [[1, 1], [1, 0]]),
    "coordinate real symmetric": ("2 2 2\n2 1 3\n2 2 4\n", [[0, 3], [3, 4]]),
    "coordinate real skew-symmetric": ("2 2 1\n2 1 3\n", [[0, -3], [3, 0]]),
    "array real general": ("2 2\n1\n2\n3\n4\n", [[1, 3], [2, 4]]),
    "array integer symmetric": ("2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
    "array real skew-symmetric": ("3 3\n1\n2\n3\n", [[0, -1, -2], [1, 0, -3], [2, 3, 0]]),
}


def market(kind, text):
    return f"%%MatrixMarket matrix {kind}\n{text}"


@pytest.mark.parametrize("kind", MARKET)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_matrix_market(tmp_path, kind, ends):
    """By hand from the definition of the format, and as SciPy reads it."""
    text, expected = MARKET[kind]
    text = market(kind, "% a comment\n\n" + text).replace("\n", ends)
    path = tmp_path / "m.mtx"
    for version in (text, text.rstrip(), text.replace(" ", " \t "), text + ends * 3):
        path.write_bytes(version.encode())
        same(read_table(path), Table(np.array(expected, dtype=float)))
    path.write_bytes(gzip.compress(text.encode()))
    same(read_table(path, transpose=True), Table(np.array(expected, dtype=float).T))
    path.write_text(text)
    Z = scipy.io.mmread(path)
    np.testing.assert_array_equal(Z.toarray() if sp.issparse(Z) else Z, expected)


@pytest.mark.parametrize("shape", [(40, 30), (1, 1), (5, 2**33)])
@pytest.mark.parametrize("symmetric", [False, True])
def test_matrix_market_of_any_numbers(tmp_path, shape, symmetric):
    """What SciPy writes, to the last bit; also where indices take 64 bits."""
    rng = np.random.default_rng(0)
    n = 1 if shape == (1, 1) else 25
    at = [rng.integers(size, size=n) for size in shape]
    S = sp.coo_array((rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, size=n), at), shape)
    S = sp.coo_array(S.tocsr())
    if symmetric and shape[0] == shape[1]:
        S = sp.coo_array(S + S.T)
    scipy.io.mmwrite(tmp_path / "m.mtx", S, precision=17, symmetry="AUTO")
    X = read_table(tmp_path / "m.mtx").X
    assert X.shape == S.shape
    np.testing.assert_array_equal(X.tocoo().coords, S.tocsr().tocoo().coords)
    np.testing.assert_array_equal(X.data, S.tocsr().data)


@pytest.mark.parametrize(
    ("kind", "text", "line", "message"),
    [
        ("coordinate real general", "2 2 1\n1 x 3\n", 3, "'x'"),
        ("coordinate real general", "2 2 1\n\n\n1 3 3\n", 5, "'3' is outside the matrix"),
        ("coordinate real general", "2 2 1\n0 1 3\n", 3, "outside"),
        ("coordinate real general", "2 2 1\n99999999999999999999 1 3", 3, "outside"),
        ("coordinate real general", "2 2 1\n1 1 3 4\n", 3, "followed by '4'"),
        ("coordinate real general", "2 2 1\n1 1 3\0\n", 3, "followed by"),
        ("coordinate real general", "2 2 1\n1 1 1. 5\n", 3, "followed by '5'"),
        ("coordinate real general", "2 2 1\n1 1 \n", 3, "the end of the line"),
        ("coordinate real general", "2 2 1\n1 1 1e\n", 3, "'1e'"),
        ("coordinate real general", "2 2 1\n1 1 inf\n", 3, "'inf'"),
        ("coordinate real general", "2 2 1\n1 1 -", 3, "'-'"),
        ("coordinate real general", "2 2 1\n1 1 NA\n", 3, "'NA'"),
        ("coordinate real general", "2 2 1\n1 1 nano\n", 3, "followed by 'o'"),
        ("coordinate real general", "2 2 2\n1 1 3.000000\n", 4, "ends too early"),
        ("coordinate real general", "2 2 1\n1 1 3\n2 2 4\n", 4, "there are more"),
        ("coordinate real general", "2 2\n1 1 3\n", 2, "rows, columns and entries"),
        ("coordinate real general", "2 2 -1\n", 2, "rows, columns and entries"),
        ("coordinate real general", "% no size\n", 3, "is missing"),
        ("coordinate real general", "0 5 0\n", 2, "empty"),
        ("coordinate real general", f"2 2 {10**12}\n1 1 1\n", 2, "too short"),
        ("coordinate real general", f"{10**12} 2 1\n1 1 1\n", 2, "only 1 entries"),
        ("coordinate real symmetric", "2 3 1\n1 1 1\n", 2, "cannot have 2 rows"),
        ("coordinate real skew-symmetric", "2 2 1\n1 1 1\n", None, "diagonal"),
        ("coordinate integer general", "2 2 1\n1 1 1.5\n", None, "integers.* 1.5"),
        ("array real general", f"{10**6} {10**6}\n1\n", 2, "too short"),
        ("array real general", "2 1 1\n1\n2\n", 2, "rows and columns"),
        ("array pattern general", "1 1\n1\n", 1, "pattern"),
        ("coordinate complex general", "1 1 1\n1 1 1 2\n", 1, "is complex"),
        ("array complex hermitian", "1 1\n1 0\n", 1, "is complex"),
        ("coordinate rational general", "1 1 1\n1 1 1\n", 1, "'rational' is not one of real"),
        ("", "", 1, "not a Matrix Market file"),
    ],
)
def test_damaged_matrix_market(tmp_path, kind, text, line, message):
    path = tmp_path / "m.mtx"
    path.write_text(market(kind, text))
    with pytest.raises(DataError, match=message) as caught:
        read_table(path)
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_missing_values_of_matrix_market(tmp_path):
    path = tmp_path / "m.mtx"
    path.write_text(market("array real general", "2 2\n1\nnan\n3\n4\n"))
    assert read_table(path, missing="drop").X.tolist() == [[1, 3]]
    with pytest.raises(DataError, match="row 2, column 1"):
        read_table(path)


@needs_arrow
def test_parquet_with_text(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2], "kind": ["x", "y"], "b": [0.5, None]}), path)
    with pytest.raises(DataError, match="column 2: The column 'kind' is of the type string"):
        read_table(path)
    with pytest.raises(DataError, match="column 3: 1 missing value: row 2, column 3 'b'"):
        read_table(path, target="kind")
    table = read_table(path, categorical="onehot", ignore=["b"])
    assert table.feature_names == ["a", "kind=x", "kind=y"]
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="not a readable parquet file"):
        read_table(path)


def test_fasta(tmp_path):
    path = tmp_path / "s.fa.gz"
    path.write_bytes(gzip.compress(b">p1 family=globin x\nACD\nEF\n>p2 family=kinase\nWY\n"))
    table = read_table(path, target="family")
    assert table.X.tolist() == ["ACDEF", "WY"]
    assert isinstance(table.X[0], Sequence)
    assert table.y.tolist() == ["globin", "kinase"]
    assert table.row_names == ["p1", "p2"]
    assert read_table(path, target=r"p(\d)").y.tolist() == [1, 2]
    labels = tmp_path / "l.csv"
    labels.write_text("p2,b\np1,a\n")
    assert read_table(path, target_file=labels).y.tolist() == ["a", "b"]
    write_table(table, tmp_path / "again.fa")
    assert read_table(tmp_path / "again.fa", target="family").y.tolist() == ["globin", "kinase"]
    with pytest.raises(DataError, match="no target 'kind'"):
        read_table(path, target="kind")


@pytest.mark.filterwarnings("ignore::Warning")  # those of anndata about its own future
def test_anndata_target(tmp_path):
    write_table(X, tmp_path / "a.h5ad", y=LABELS, target_name="state")
    with pytest.raises(DataError, match="Did you mean 'state'"):
        read_table(tmp_path / "a.h5ad", target="stat")
    (tmp_path / "bad.h5ad").write_bytes((tmp_path / "a.h5ad").read_bytes()[:3000])
    with pytest.raises(DataError, match="not a readable h5ad file"):
        read_table(tmp_path / "bad.h5ad")


def test_missing_libraries_are_named(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1....PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r'pip install "psvm\[io\]"'):
        read_table(tmp_path / "a.parquet")
    (finding,) = check_file(tmp_path / "a.parquet")
    assert finding.severity is Severity.ERROR


def test_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(psvm.io._limits, "SMALL", 2**25)
    path = tmp_path / "bomb.npz"
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w") as f,
    ):
        for _ in range(40):
            f.write(bytes(2**20))
    assert path.stat().st_size < 2**21
    with pytest.raises(DataError, match="unfolds to"):
        read_table(path)


def test_files_that_unfold_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(psvm.io._limits, "SMALL", 2**20)
    for kind, pack in PACKERS.items():
        path = tmp_path / f"a.csv.{kind}"
        pack(path, b"1,2\n" * 2**20)
        with pytest.raises(DataError, match="over 100 times its size"):
            read_table(path)


def test_declared_shapes_are_compared_with_the_bytes(tmp_path):
    """A header that lies must not cost memory."""
    header = "{{'descr': {!r}, 'fortran_order': False, 'shape': {}, }}"
    lies = [
        ("<f8", "(1000000000, 1000000)"),
        ("<f8", "(3, 2)"),
        ("<U1000000000", "(2, 2)"),
        ("<f8", "(1000000000000, 0)"),
        ("<U0", "(1000000000000, 2)"),
        ("<f8", "(-1, 2)"),
        ("<f8", "(True, 2)"),
        ("<f8", "(2.0, 2)"),
        ("<f8", "2"),
        ("<f8", "(" + "1," * 70 + ")"),
        ("<f8", "(1, 2"),
        ("|O", "(2, 2)"),
        ("(1000000000,)f8", "(2, 2)"),
        ("f8,f8,x", "(2, 2)"),
    ]
    for number, (descr, shape) in enumerate(lies):
        text = header.format(descr, shape).encode().ljust(117) + b"\n"
        data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(32)
        path = tmp_path / f"{number}.npy"
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"not a readable npy array|empty"):
            read_table(path)
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("X.npy", data)
        with pytest.raises(DataError):
            read_table(tmp_path / "a.npz")
    for head in (
        b"",
        b"\x93NUMPY\x01",
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff{",
        b"\x93NUMPY\x09\x00",
    ):
        path.write_bytes(head)
        with pytest.raises(DataError):
            read_table(path, format="npy")


def test_numpy_formats_old_and_new(tmp_path):
    """All versions of the format, both orders, and integers as Python 2 wrote them."""
    path = tmp_path / "a.npy"
    for version in ((1, 0), (2, 0), (3, 0)):
        for array in (X, np.asfortranarray(X), X.astype(">f4"), X > 0, X.astype(np.int8)):
            with path.open("wb") as file:
                np.lib.format.write_array(file, array, version)
            table = read_table(path)
            np.testing.assert_array_equal(table.X, array.astype(float))
            table.X[0, 0] = 5.0  # it is ours to change
    np.save(path, X)
    path.write_bytes(path.read_bytes().replace(b"(3, 3),  ", b"(3L, 3L),"))
    np.testing.assert_array_equal(read_table(path).X, X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shape": np.array([3, 2])}, "damaged"),
        ({"shape": np.array([3, 10**12, 1])}, "not the shape"),
        ({"shape": np.array(3.5)}, "not the shape"),
        ({"shape": np.array([4, 3])}, "damaged"),
        ({"indices": np.array([0, 2, -1, 1, 2, 0, 2])}, "damaged"),
        ({"indices": np.array([0.0, 2.0])}, "integers"),
        ({"indptr": np.array([[0, 2], [4, 7]])}, "integers"),
        ({"indptr": np.array([0, 9, 0, 0])}, "damaged"),
        ({"indptr": np.array([0, 9, 0, 0]), "format": np.array(b"csc")}, "damaged"),
        ({"indptr": np.array([1, 2, 4, 7])}, "damaged"),
        ({"indptr": np.array([0, 4, 2, 7], dtype=np.uint64)}, "damaged"),
        ({"indices": np.array([0, 2, 1, 1, 2, 0, 2**63], dtype=np.uint64)}, "damaged"),
        ({"data": np.ones(6)}, "damaged"),
        ({"data": np.array(["a"] * 7)}, "not numbers"),
        ({"format": np.array(b"coo")}, "'coo' are not read"),
        ({"format": np.array([b"csr"])}, "are not read"),
        ({"format": np.array(b"csc"), "shape": np.array([10**9, 3])}, "only 7 entries"),
        ({"y": np.array([1, 2])}, "2 targets for 3 rows"),
        ({"y": np.array([[1], [2], [3]])}, "'y' must be a vector"),
        ({"y": np.array([1j, 2, 3])}, "'y' must be a vector"),
        ({"feature_names": np.array(["a"])}, "1 names for 3 columns"),
        ({"row_names": np.array("a")}, "'row_names' must be a vector"),
    ],
)
def test_damaged_sparse_npz(tmp_path, change, message):
    S = sp.csr_array(X)
    arrays = {"format": b"csr", "shape": S.shape, "data": S.data, "indices": S.indices}
    np.savez(tmp_path / "a.npz", **{**arrays, "indptr": S.indptr})
    same(read_table(tmp_path / "a.npz"), Table(X))
    np.savez(tmp_path / "a.npz", **{**arrays, "indptr": S.indptr, **change})
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "a.npz")


@pytest.mark.parametrize("kinds", [("<f2", "<i4", "<i4"), (">f4", ">i8", ">i4"), ("?", "u1", "u8")])
def test_sparse_npz_of_any_type(tmp_path, kinds):
    S = sp.csc_array(X > 0)
    parts = dict(zip(("data", "indices", "indptr"), (S.data, S.indices, S.indptr), strict=True))
    parts = {name: a.astype(k) for (name, a), k in zip(parts.items(), kinds, strict=True)}
    np.savez(tmp_path / "a.npz", format=b"csc", shape=S.shape, **parts)
    same(read_table(tmp_path / "a.npz"), Table((X > 0).astype(float)))


def test_text_that_is_none(tmp_path):
    """Python cannot make a string of any four bytes."""
    path = tmp_path / "a.npz"
    np.savez(path, X=X, y=np.array(["a", "b", "c"]))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for wrong in (b"\xff\xff\xff\x7f", b"\x00\xd8\x00\x00"):
        members["y.npy"] = members["y.npy"][:-4] + wrong
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        with pytest.raises(DataError, match="code points"):
            read_table(path)


def test_matrices_of_billions_of_columns(tmp_path):
    """Nothing is made for columns without entries, not even names."""
    widest = 2**31 - 1
    path = tmp_path / "a.svm"
    path.write_text(f"1 {widest}:1\n-1 2:2\n-1 2:3 3:nan\n")
    with pytest.raises(DataError, match="row 3, column 3"):
        read_table(path)
    table = read_table(path, missing="drop", ignore=["x1", f"x{widest - 1}"])
    assert (table.X.shape, table.X.nnz, table.y.tolist()) == ((2, widest - 2), 0, [1, -1])
    table = read_table(path, missing="nan", ignore=["x0"])
    assert table.X[1, 0] == 2
    with pytest.raises(DataError, match=f"no column 'y'.*{widest} columns.*'x0', 'x1'"):
        read_table(path, missing="nan", ignore=["y"])
    with pytest.raises(DataError, match="entries"):
        read_table(path, missing="nan", transpose=True, target_file=path)
    found = check_file(path, missing="nan")
    assert f"{widest - 3} columns have no entries" in " ".join(f.message for f in found)
    path.write_text(f"1 {widest + 1}:1\n")
    with pytest.raises(DataError, match=r"line 1: .*index is greater than"):
        read_table(path)
    market_path = tmp_path / "a.mtx"
    market_path.write_text(
        market("coordinate real general", f"2 {10**17 - 1} 1\n2 {10**17 - 1} 4\n")
    )
    table = read_table(market_path, target=-1)
    assert (table.X.shape, table.y.tolist()) == ((2, 10**17 - 2), [0, 4])


def test_columns_of_sparse_files_are_checked(tmp_path):
    """As in a dense file, but for columns without any entry."""
    Z = np.array([[1.0, 0, 2, 5, 0], [1, 0, 3, 0, -1], [1, 0, 4e6, 0, 0]])
    write_table(sp.csr_array(Z), tmp_path / "a.npz")
    text = " ".join(f.message for f in check_file(tmp_path / "a.npz"))
    assert "Column 1 is constant (1)" in text
    assert "1 columns have no entries" in text
    assert "differ by a factor of 3999998" in text
    assert "Column 3 is constant" not in text


def test_error_in_a_long_svmlight_file(tmp_path):
    path = tmp_path / "a.svm"
    for place in (1, 2, 500, 999, 1000):
        lines = ["1 1:2 3:4"] * 1000
        lines[place - 1] = "1 1:2 3:"
        path.write_text("\n".join(lines))
        with pytest.raises(DataError) as caught:
            read_table(path)
        assert caught.value.line == place


def test_transposed_files_with_targets(tmp_path):
    """A target is that of the samples, which are the columns then."""
    wide = X[:2]
    path = tmp_path / "a.svm"
    write_table(wide, path, y=[1, -1])
    with pytest.raises(DataError, match="2 targets for 3 rows of the transposed matrix"):
        read_table(path, transpose=True)
    (tmp_path / "y.csv").write_text("1\n2\n3\n")
    table = read_table(path, transpose=True, target_file=tmp_path / "y.csv")
    assert (table.X.shape, table.y.tolist()) == ((3, 2), [1, 2, 3])
    np.savez(tmp_path / "a.npz", X=wide, y=[1, 2, 3], feature_names=list("uvw"))
    with pytest.raises(DataError, match="3 targets for 2 rows"):
        read_table(tmp_path / "a.npz")
    table = read_table(tmp_path / "a.npz", transpose=True)
    assert (table.X.shape, table.y.tolist(), table.row_names) == ((3, 2), [1, 2, 3], list("uvw"))
    np.savez(tmp_path / "a.npz", X=wide, y=[1, 2])
    with pytest.raises(DataError, match="2 targets for 3 rows"):
        read_table(tmp_path / "a.npz", transpose=True)


@needs_arrow
def test_transposed_parquet(tmp_path):
    table = Table(X, None, ["s1", "s2", "s3"], ["g1", "g2", "g3"])
    write_table(table, tmp_path / "a.parquet")
    table = read_table(tmp_path / "a.parquet", transpose=True, target="g2", ignore=["g3"])
    assert table.X.ravel().tolist() == X[0].tolist()
    assert table.y.tolist() == X[1].tolist()
    assert (table.feature_names, table.row_names) == (["g1"], ["s1", "s2", "s3"])


def test_columns_are_ignored_in_all_formats(tmp_path):
    for name in ("a.npz", "a.h5ad", pytest.param("a.parquet", marks=needs_arrow).values[0]):
        if name == "a.parquet" and not has_arrow:
            continue
        write_table(Table(X, None, ["u", "v", "w"]), tmp_path / name)
        table = read_table(tmp_path / name, ignore=["v"])
        assert table.feature_names == ["u", "w"]
        np.testing.assert_array_equal(table.X, X[:, [0, 2]])


def test_categories_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(psvm.io._limits, "SMALL", 2**20)
    path = tmp_path / "a.csv"
    path.write_text("u,v\n" + "".join(f"{i},w{i}\n" for i in range(3000)))
    with pytest.raises(DataError, match="'v' has 3000 different values"):
        read_table(path, categorical="onehot", row_names=False)


@pytest.mark.parametrize("kind", ["zip", "gz", "bz2", "xz"])
def test_archives_that_lie(tmp_path, kind):
    """Whatever a decoder raises is a DataError; what is read is a table."""
    path = tmp_path / f"a.csv.{kind}"
    PACKERS[kind](path, TEXT.encode() * 50)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        data = bytearray(whole)
        for i in rng.integers(len(data), size=3):
            data[i] = rng.integers(256)
        path.write_bytes(data)
        try:
            read_table(path, target="y")
        except DataError as error:
            assert str(path) in str(error)


def test_zstandard_frames(tmp_path):
    """All frames are read, and an end that is missing is noticed."""
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "a.csv.zst"
    rows = np.random.default_rng(0).integers(10**9, size=(60_000, 2))
    text = "".join(f"{a},{b}\n" for a, b in rows.tolist()).encode()
    middle = text.index(b"\n", len(text) // 2) + 1
    first, second = (
        zstandard.ZstdCompressor().compress(part) for part in (text[:middle], text[middle:])
    )
    path.write_bytes(first + second)
    np.testing.assert_array_equal(read_table(path).X, rows)
    path.write_bytes(first + second[:-1000])
    with pytest.raises(DataError, match="ends too early"):
        read_table(path)


@pytest.mark.parametrize(
    ("encoding", "error"),
    [("utf-16", DataError), ("base64", ValueError), ("none", ValueError), ("idna", DataError)],
)
def test_encodings_that_do_not_fit(tmp_path, encoding, error):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,\xff2\n")
    with pytest.raises(error):
        read_table(path, encoding=encoding)


@pytest.mark.parametrize(
    "options",
    [
        {"features": 5}, {"features": "ab"}, {"ignore": "ab"}, {"ignore": 1}, {"encoding": None},
        {"target": [1]}, {"target": 1.5}, {"row_names": 2.5}, {"header": 2}, {"decimal": 1},
    ],
)  # fmt: skip
def test_options_of_a_wrong_type(tmp_path, options):
    path = tmp_path / "a.csv"
    path.write_text(TEXT)
    (name,) = options
    for call in (read_table, check_file):
        with pytest.raises((TypeError, ValueError), match=name):
            call(path, **options)


# --- HDF5 in a child process


@pytest.mark.parametrize(
    ("then", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "the HDF5 library crashed"),
        ("time.sleep(60)", "took more than"),
        ("print('{', flush=True)", "the HDF5 library crashed"),
    ],
)
def test_a_crash_of_hdf5_is_an_error(tmp_path, monkeypatch, then, message):
    """Whatever happens to the child, the parent goes on."""
    pytest.importorskip("h5py")
    script = tmp_path / "child.py"
    script.write_text(f"import os, signal, time\nprint('ready', flush=True)\n{then}\n")
    monkeypatch.setattr(psvm.io._h5ad, "SCRIPT", script)
    monkeypatch.setattr(psvm.io._h5ad, "SECONDS", 0.3)
    path = tmp_path / "a.h5ad"
    path.write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(DataError, match=message):
        read_table(path)


@pytest.mark.parametrize("index", ["_index", "cells"])
def test_layouts_of_anndata(tmp_path, index):
    """Columns as several versions of anndata store them."""
    h5py = pytest.importorskip("h5py")
    text = h5py.string_dtype()
    columns = {
        "plain": [3, 1, 2],
        "words": ["p", "q", "p"],
        "sorts": ["v", "u", "v"],
        "older": ["v", "u", "v"],
        "nullable": [1, 0, 1],
    }
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        file["X"] = X.astype(np.float32)
        for frame in ("obs", "var"):
            group = file.create_group(frame)
            group.attrs["_index"] = index
            group.create_dataset(index, data=["r1", "r2", "r3"], dtype=text)
        obs = file["obs"]
        obs["plain"] = np.array(columns["plain"])
        obs.create_dataset("words", data=columns["words"], dtype=text)
        obs.create_dataset("__categories/older", data=["u", "v"], dtype=text)
        obs["older"] = np.array([1, 0, 1], dtype=np.int8)
        obs["older"].attrs["categories"] = obs["__categories/older"].ref
        sorts = obs.create_group("sorts")
        sorts["codes"] = np.array([1, 0, 1], dtype=np.int8)
        sorts.create_dataset("categories", data=["u", "v"], dtype=text)
        nullable = obs.create_group("nullable")
        nullable["values"], nullable["mask"] = np.array([1, 0, 1]), np.array([False] * 3)
        gap = obs.create_group("gap")
        gap["codes"] = np.array([1, 0, -1], dtype=np.int8)
        gap.create_dataset("categories", data=["u", "v"], dtype=text)
    for name, expected in columns.items():
        table = read_table(path, target=name)
        assert table.y.tolist() == expected
        assert table.row_names == ["r1", "r2", "r3"]
    np.testing.assert_array_equal(table.X, X.astype(np.float32))
    with pytest.raises(DataError, match="'gap' is missing in row 3"):
        read_table(path, target="gap")


def test_tables_of_old_anndata(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5ad"
    S = sp.csc_array(X)
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["h5sparse_format"], group.attrs["h5sparse_shape"] = "csc", S.shape
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(S, part)
        file["obs"] = np.array([(b"r1", 1), (b"r2", 0), (b"r3", 1)], dtype="S2,i1")
        file["var"] = np.array([(b"u",), (b"v",), (b"w",)], dtype="S2,")
        file.create_dataset("uns/f1_categories", data=["no", "yes"], dtype=h5py.string_dtype())
    table = read_table(path, target="f1")
    same(table, Table(X))
    assert table.y.tolist() == ["yes", "no", "yes"]
    assert (table.row_names, table.feature_names) == (["r1", "r2", "r3"], ["u", "v", "w"])


def test_h5ad_that_declares_too_much(tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5ad"
    with h5py.File(path, "w") as file:
        file.create_dataset("X", shape=(10**7, 10**5), dtype="f4", chunks=(100, 100))
        for frame in ("obs", "var"):
            file.create_group(frame)
    with pytest.raises(DataError, match="declares 4000000000000 bytes"):
        read_table(path)


def test_a_model_is_no_data(tmp_path):
    psvm.save(psvm.PSVR(epsilon=0.1).fit(X, [1.0, 2.0, 3.0]), tmp_path / "m.psvm")
    with pytest.raises(DataError, match="model file"):
        read_table(tmp_path / "m.psvm")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [1, 2]}, "y has 2 entries for 3 rows"),
        ({"feature_names": ["a"]}, "1 names for 3 columns"),
        ({"row_names": ["a"]}, "row_names has 1 entries"),
        ({"format": "xls"}, "format must be"),
        ({"format": "fasta"}, "fasta files hold sequences"),
        ({"format": "svmlight", "y": LABELS}, "code the classes"),
    ],
)
def test_writing_what_cannot_be(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        write_table(X, tmp_path / "a.csv", **change)
    assert list(tmp_path.iterdir()) == []


# --- checking


def test_check_finds_all_errors(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text('a,b,c\n1,2,3\n4,x,6\n7,8\n1,"2,3\n9,,9\n1,2,3,4\n5,6,7\n')
    found = check_file(path)
    places = [(f.severity, f.line, f.column) for f in found]
    assert places == [
        (Severity.ERROR, 3, 2),
        (Severity.ERROR, 4, 2),
        (Severity.ERROR, 5, 2),
        (Severity.ERROR, 7, 4),
        (Severity.ERROR, 6, 2),
    ]
    assert all(f.message and f.advice for f in found)
    assert "error, line 3, column 2: 'x' in column 'b'" in str(found[0])


def test_check_gives_up_on_hopeless_files(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n1,2\n" + "x,y\n" * 1000)
    found = check_file(path)
    assert [finding.line for finding in found] == [3, 4, 5, None]
    assert "18 more cells of column 1" in found[2].message
    assert "more than 20 errors" in found[-1].message


def test_check_looks_at_the_data(tmp_path):
    path = tmp_path / "odd.csv"
    rows = "".join(f"{i},{i},7,{1e6 * i},{'rare' if i == 3 else 'often'}\n" for i in range(9))
    path.write_text(f"a,b,c,d,y\n{rows}1,1,7,1000000,often\n")
    found = check_file(path, target="y")
    text = " ".join(f.message for f in found if f.severity is Severity.WARNING)
    assert not any(f.severity is Severity.ERROR for f in found)
    for part in ("'c' is constant", "'b' repeats column 'a'", "ranges", "rows repeat", "'rare'"):
        assert part in text
    assert found[-1].severity is Severity.INFO


def test_check_finds_the_target_among_the_columns(tmp_path):
    path = tmp_path / "leak.csv"
    rows = "".join(f"{i % 7},{2 * (i < 3)},{'few' if i < 3 else 'many'}\n" for i in range(40))
    path.write_text(f"a,b,y\n{rows}")
    found = [f for f in check_file(path, target="y") if f.severity is Severity.WARNING]
    (leak,) = [f for f in found if "almost the target" in f.message]
    assert (leak.column, leak.message) == (2, "Column 'b' is almost the target itself.")
    text = " ".join(f.message for f in found)
    assert "The class 'few' has only 3 of 40 rows" in text
    assert "has 12 times as many rows" in text


@pytest.mark.parametrize("scale", [1e-308, 1e300, 1e308])
def test_check_takes_numbers_of_any_size(tmp_path, scale):
    path = tmp_path / "extreme.csv"
    path.write_text("a,b,y\n" + "".join(f"{scale / 9 * i!r},{i % 3},{i}\n" for i in range(9)))
    assert all(f.severity is not Severity.ERROR for f in check_file(path, target="y"))


def test_check_of_a_good_file(tmp_path):
    path = tmp_path / "good.csv"
    path.write_text("a,b\n1,2\n3,5\n2,2\n")
    assert {f.severity for f in check_file(path)} == {Severity.INFO}
    (finding, *_) = check_file(path, target="c")
    assert "no column 'c'" in finding.message


# --- files that are whole or not there


def test_atomic_write_after_an_error(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError), atomic_write(path, "w") as file:
        file.write("new")
        raise RuntimeError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_atomic_write_keeps_links_and_modes(tmp_path):
    path, link = tmp_path / "a.txt", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(link, "w") as file:
        file.write("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with atomic_write("/dev/null", "w") as file:
        file.write("x")


def run(code, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_write(tmp_path, how):
    path = tmp_path / "a.bin"
    path.write_text("old")
    child = run(
        """
        import signal, sys, time
        from psvm.io import atomic_write
        # In the background of a shell SIGINT is ignored, which is inherited.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with atomic_write(sys.argv[1]) as file:
            file.write(b"half")
            file.flush()
            print("now", flush=True)
            time.sleep(60)
        """,
        path,
    )
    assert child.stdout.readline() == "now\n"
    child.send_signal(how)
    child.communicate()
    assert path.read_text() == "old"
    if how == signal.SIGINT:
        assert list(tmp_path.iterdir()) == [path]


def test_full_disk(tmp_path):
    """A limit of the size of files is as good as a full disk."""
    path = tmp_path / "a.bin"
    path.write_text("old")
    child = run(
        f"""
        import resource, signal, sys
        from psvm.io import atomic_write
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, {resource.RLIM_INFINITY}))
        try:
            with atomic_write(sys.argv[1]) as file:
                file.write(bytes(5000))
        except OSError as error:
            print(error)
        """,
        path,
    )
    out, _ = child.communicate()
    assert "File too large" in out
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_no_such_folder(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "none" / "a"):
        pass


# --- spreadsheets


def write_workbook(path, sheets):
    """An Excel file, as plain as it can be: cells are numbers, words or None."""
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    place = "http://schemas.openxmlformats.org"
    parts = {
        "_rels/.rels": f'<Relationships xmlns="{place}/package/2006/relationships"><Relationship '
        f'Id="r1" Type="{place}/officeDocument/2006/relationships/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
    }
    listed, related, types = "", "", ""
    for i, (name, rows) in enumerate(sheets.items(), 1):
        body = ""
        for r, row in enumerate(rows, 1):
            cells = "".join(_xml_cell(f"{chr(65 + j)}{r}", v) for j, v in enumerate(row))
            body += f'<row r="{r}">{cells}</row>'
        parts[f"xl/worksheets/sheet{i}.xml"] = (
            f'<worksheet xmlns="{place}/spreadsheetml/2006/main"><sheetData>{body}</sheetData>'
            "</worksheet>"
        )
        listed += f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>'
        related += (
            f'<Relationship Id="r{i}" Type="{place}/officeDocument/2006/relationships/worksheet" '
            f'Target="worksheets/sheet{i}.xml"/>'
        )
        types += (
            f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{kind}.worksheet+xml"/>'
        )
    parts["xl/workbook.xml"] = (
        f'<workbook xmlns="{place}/spreadsheetml/2006/main" '
        f'xmlns:r="{place}/officeDocument/2006/relationships"><sheets>{listed}</sheets></workbook>'
    )
    parts["xl/_rels/workbook.xml.rels"] = (
        f'<Relationships xmlns="{place}/package/2006/relationships">{related}</Relationships>'
    )
    parts["[Content_Types].xml"] = (
        f'<Types xmlns="{place}/package/2006/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>{types}'
        "</Types>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')


def _xml_cell(place, value):
    if value is None:
        return ""
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value!r}</v></c>'


SHEET = [["id", "a", "sex", "y"], *(
    [f"p{i}", None if i == 3 else i / 7, "fm"[i % 2], "uv"[i % 3 == 0]] for i in range(12)
)]  # fmt: skip


def test_a_workbook_is_the_table_of_its_first_sheet(tmp_path):
    pytest.importorskip("python_calamine", reason="Excel files need python-calamine")
    write_workbook(tmp_path / "t.xlsx", {"Empty": [], "Patients": SHEET, "Notes": [["x"]]})
    text = "\n".join(",".join("" if v is None else str(v) for v in row) for row in SHEET)
    (tmp_path / "t.csv").write_text(text + "\n")
    how = {"target": "y", "schema": "infer", "missing": "nan"}
    table, expected = (read_table(tmp_path / name, **how) for name in ("t.xlsx", "t.csv"))
    np.testing.assert_array_equal(table.X, expected.X)
    assert table.y.tolist() == expected.y.tolist() and table.row_names == expected.row_names
    assert table.schema == expected.schema and table.format == "xlsx"
    note = "The sheet 'Patients' of the workbook is read; others are 'Empty', 'Notes'."
    assert note in table.detection
    with pytest.raises(DataError, match="line 5, column 2: 1 missing value"):
        read_table(tmp_path / "t.xlsx", target="y", schema="infer")
    with pytest.raises(ValueError, match="xlsx files are read, but not written"):
        write_table(table, tmp_path / "u.xlsx")


def test_a_sheet_is_found_by_name_or_number(tmp_path):
    pytest.importorskip("python_calamine", reason="Excel files need python-calamine")
    path = tmp_path / "t.xlsx"
    second = [["a", "b"], [1, 2], [3, 4], [5, 7]]
    write_workbook(path, {"Patients": SHEET, "2024": second, "Empty": []})
    for sheet in ("2024", "2", 2):
        assert read_table(path, sheet=sheet).X.tolist() == second[1:]
    for sheet in ("Sheet1", "0", 0, "4", 4, -1):
        with pytest.raises(ValueError, match=r"'Patients', '2024', 'Empty'|must be an integer"):
            read_table(path, sheet=sheet)
    with pytest.raises(DataError, match="The sheet 'Empty' is empty"):
        read_table(path, sheet="Empty")
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(DataError, match="Only a workbook has sheets"):
        read_table(tmp_path / "t.csv", sheet="2024")
    with pytest.raises(ValueError, match="sheet must be an integer"):
        read_table(path, sheet=1.5)


def test_a_workbook_without_its_package_or_without_sense(tmp_path, monkeypatch):
    write_workbook(tmp_path / "t.xlsx", {"Patients": SHEET})
    whole = (tmp_path / "t.xlsx").read_bytes()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "python_calamine", None)
        with pytest.raises(ImportError, match=r'pip install "psvm\[io\]"'):
            read_table(tmp_path / "t.xlsx")
    pytest.importorskip("python_calamine", reason="Excel files need python-calamine")
    write_workbook(tmp_path / "none.xlsx", {"Empty": []})
    with pytest.raises(DataError, match="The workbook is empty"):
        read_table(tmp_path / "none.xlsx")
    (tmp_path / "t.xls").write_bytes(b"\xd0\xcf\x11\xe0" + bytes(600))
    with pytest.raises(DataError, match="not a readable workbook"):
        read_table(tmp_path / "t.xls")
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), size=3):
            damaged[place] ^= int(rng.integers(1, 256))
        (tmp_path / "d.xlsx").write_bytes(damaged)
        with contextlib.suppress(DataError):
            read_table(tmp_path / "d.xlsx", format="xlsx", missing="nan")
