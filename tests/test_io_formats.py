"""All other formats, compression, writing, checking, and files that are whole or not there."""

import bz2
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
from psvm.io import (
    DataError,
    Severity,
    Table,
    atomic_write,
    check_file,
    read_table,
    write_table,
)
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


def test_matrix_market(tmp_path):
    path = tmp_path / "m.mtx"
    scipy.io.mmwrite(path, sp.coo_array(X), precision=17)
    table = read_table(path, transpose=True)
    same(table, Table(X.T))
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 3\n")
    with pytest.raises(DataError, match="line 3") as caught:
        read_table(path)
    assert caught.value.line == 3


@needs_arrow
def test_parquet_with_text(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": [1, 2], "kind": ["x", "y"], "b": [0.5, None]}), path)
    with pytest.raises(DataError, match="column 2: The column 'kind' is of the type string"):
        read_table(path)
    with pytest.raises(DataError, match="1 missing values, the first one in row 2, column 2"):
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
        import runpy, signal, sys, time
        # In the background of a shell SIGINT is ignored, which is inherited.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        atomic_write = runpy.run_path(sys.argv[2])["atomic_write"]
        with atomic_write(sys.argv[1]) as file:
            file.write(b"half")
            file.flush()
            print("now", flush=True)
            time.sleep(60)
        """,
        path,
        psvm.io._atomic.__file__,
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
        import resource, runpy, signal, sys
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, {resource.RLIM_INFINITY}))
        atomic_write = runpy.run_path(sys.argv[2])["atomic_write"]
        try:
            with atomic_write(sys.argv[1]) as file:
                file.write(bytes(5000))
        except OSError as error:
            print(error)
        """,
        path,
        psvm.io._atomic.__file__,
    )
    out, _ = child.communicate()
    assert "File too large" in out
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_no_such_folder(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "none" / "a"):
        pass
