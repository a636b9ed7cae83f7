"""Files as blocks of rows: the same rows as in memory, and errors that name their place."""

import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from psvm import PSVC, PSVR, RowBlocks
from psvm.io import DataError, open_blocks

N, P = 3000, 6
NAMES = [f"f{j}" for j in range(P)]
SMALL = 0.02
"""Megabytes of a block: the matrix of N rows is seven times as large."""


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, P))
    y = np.where(X[:, 0] ** 2 + X[:, 1] > 0.7, "yes", "no")
    weights = rng.integers(1, 4, size=N).astype(float)
    return X, y, weights


def write_csv(path, X, y, weights=None, delimiter=",", decimal="."):
    header = [*NAMES, *(["w"] if weights is not None else []), "label"]
    lines = [delimiter.join(header)]
    for i in range(len(X)):
        cells = [repr(float(v)).replace(".", decimal) for v in X[i]]
        cells += [] if weights is None else [repr(float(weights[i])).replace(".", decimal)]
        lines.append(delimiter.join([*cells, str(y[i])]))
    path.write_text("\n".join(lines) + "\n")


def arrow_table(X, y, weights=None):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    columns = {name: X[:, j] for j, name in enumerate(NAMES)}
    columns |= {} if weights is None else {"w": weights}
    return pa.table(columns | {"label": y})


def write(kind, path, X, y, weights=None):
    """The rows as a file of a kind."""
    if kind == "csv":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
        write_csv(path, X, y, weights)
    elif kind == "parquet":
        table = arrow_table(X, y, weights)
        import pyarrow.parquet as parquet

        parquet.write_table(table, path, row_group_size=1700)
    elif kind == "feather":
        table = arrow_table(X, y, weights)
        from pyarrow import feather

        feather.write_feather(table, path, chunksize=1700)
    elif kind == "h5ad":
        write_anndata(path, X, y, weights)
    elif kind == "hdf5":
        h5py = pytest.importorskip("h5py", reason="h5py is not installed")
        with h5py.File(path, "w") as file:
            write_arrays(file.create_dataset, X, y, weights)
    else:
        zarr = pytest.importorskip("zarr", reason="zarr is not installed")
        group = zarr.open(str(path), mode="w")
        write_arrays(lambda name, data: group.__setitem__(name, data), X, y, weights)


def write_arrays(put, X, y, weights):
    put("X", data=X)
    put("label", data=(y == "yes").astype(int))
    if weights is not None:
        put("w", data=weights)


def write_anndata(path, X, y, weights=None):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    import pandas as pd

    obs = {"label": pd.Categorical(y)} | ({} if weights is None else {"w": weights})
    index = [f"cell{i}" for i in range(X.shape[0])]
    obs = pd.DataFrame(obs, index=index)
    var = pd.DataFrame(index=NAMES[: X.shape[1]])
    anndata.AnnData(X, obs=obs, var=var).write_h5ad(path)


KINDS = ("csv", "parquet", "feather", "h5ad", "hdf5", "zarr")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_larger_than_the_budget_has_the_rows_in_order(kind, data, tmp_path):
    X, y, weights = data
    path = tmp_path / f"rows.{kind}"
    write(kind, path, X, y, weights)
    blocks = open_blocks(path, target="label", weight="w", memory=SMALL)
    found = list(blocks)
    assert len(found) > 5
    assert max(block.X.nbytes for block in found) <= 1.5 * SMALL * 2**20
    # Decimal digits as Python writes them give back the same number.
    assert_array_equal(np.vstack([block.X for block in found]), X)
    labels = y if kind not in ("hdf5", "zarr") else (y == "yes").astype(int)
    assert_array_equal(np.concatenate([block.y for block in found]), labels)
    assert_array_equal(np.concatenate([block.sample_weight for block in found]), weights)
    assert found[0].where == f"{path}, rows 1 to {len(found[0].X)}"
    assert found[-1].where.endswith(f"to {N}")
    if kind in ("hdf5", "zarr"):
        assert blocks.feature_names is None
    else:
        assert blocks.feature_names.tolist() == NAMES
    assert sum(len(block.X) for block in blocks) == N  # and once more


def fitted(blocks, **options):
    return PSVC(landmarks="random", n_landmarks=25, **options).fit(blocks)


def same_model(a, b):
    """Both have the same landmarks and epsilon; the rest differs by the rounding of sums."""
    assert_allclose(a.epsilon_, b.epsilon_, rtol=1e-10)
    assert_array_equal(a.support_objects_, b.support_objects_)
    assert_allclose(a.alpha_, b.alpha_, rtol=0, atol=1e-10 * np.abs(b.alpha_).max())
    assert_allclose(a.intercept_, b.intercept_, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "h5ad"])
def test_the_model_of_a_file_is_that_of_memory(kind, data, tmp_path):
    X, y, weights = data
    path = tmp_path / f"rows.{kind}"
    write(kind, path, X, y, weights)
    blocks = open_blocks(path, target="label", weight="w", memory=SMALL)
    model = fitted(blocks, epsilon=0.02, epsilon_unit="max")
    whole = fitted(RowBlocks(X, y, weights), epsilon=0.02, epsilon_unit="max")
    assert 5 < len(whole.support_) < 25
    same_model(model, whole)
    assert model.feature_names_in_.tolist() == NAMES


def test_files_in_any_order_and_a_folder_give_the_same_model(data, tmp_path, decides):
    X, y, _ = data
    folder = tmp_path / "parts"
    (folder / "more").mkdir(parents=True)
    paths = [folder / "a.parquet", folder / "b.csv", folder / "more" / "c.feather"]
    for path, rows in zip(paths, np.array_split(np.arange(N), 3), strict=True):
        write(path.suffix[1:], path, X[rows], y[rows])
    (folder / ".hidden.csv").write_text("no table")
    (folder / "_SUCCESS").write_text("")
    assert decides(lambda: fitted(RowBlocks(X, y)))
    whole = fitted(RowBlocks(X, y))
    for source in (paths, paths[::-1], folder):
        blocks = open_blocks(source, target="label", memory=SMALL)
        assert sum(len(block.X) for block in blocks) == N
        same_model(fitted(blocks), whole)


def test_columns_are_found_by_name(data, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    X, y, _ = data
    write_csv(tmp_path / "a.csv", X[:100], y[:100])
    lines = [",".join(line.split(",")[::-1]) for line in (tmp_path / "a.csv").read_text().split()]
    (tmp_path / "b.csv").write_text("\n".join(lines) + "\n")
    both = open_blocks([tmp_path / "a.csv", tmp_path / "b.csv"], target="label")
    first, second = both
    assert_array_equal(first.X, second.X)
    some = open_blocks(tmp_path / "a.csv", target="label", features=["f3", "f1"])
    assert_array_equal(next(iter(some)).X, X[:100, [3, 1]])
    assert some.feature_names.tolist() == ["f3", "f1"]


def test_a_table_is_read_as_it_is_written(data, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    X, y, _ = data
    write_csv(tmp_path / "a.csv", X[:200], y[:200], delimiter=";", decimal=",")
    block = next(iter(open_blocks(tmp_path / "a.csv", target="label")))
    assert_array_equal(block.X, X[:200])
    number = open_blocks(tmp_path / "a.csv", target="f0", features=["f1"])
    assert_array_equal(next(iter(number)).y, X[:200, 0])


def test_compressed_text(data, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    import gzip

    X, y, _ = data
    write_csv(tmp_path / "a.csv", X, y)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress((tmp_path / "a.csv").read_bytes()))
    found = list(open_blocks(tmp_path / "a.csv.gz", target="label", memory=SMALL))
    assert len(found) > 5
    assert_array_equal(np.vstack([block.X for block in found]), X)


def test_npy_is_memory_mapped(data, tmp_path):
    X, _, _ = data
    np.save(tmp_path / "a.npy", X)
    blocks = open_blocks(tmp_path / "a.npy", target=-1, memory=SMALL)
    found = list(blocks)
    assert len(found) > 5
    assert_array_equal(np.vstack([block.X for block in found]), X[:, :-1])
    assert_array_equal(np.concatenate([block.y for block in found]), X[:, -1])
    assert blocks.feature_names is None
    model = PSVR(landmarks="random", n_landmarks=20, epsilon=1.0).fit(blocks)
    whole = PSVR(landmarks="random", n_landmarks=20, epsilon=1.0)
    same_model(model, whole.fit(RowBlocks(X[:, :-1], X[:, -1])))


def test_sparse_anndata_stays_sparse(data, tmp_path):
    X, y, _ = data
    X = np.where(np.abs(X) > 1, X, 0.0)
    write_anndata(tmp_path / "a.h5ad", sp.csr_matrix(X), y)
    found = list(open_blocks(tmp_path / "a.h5ad", target="label", memory=SMALL))
    assert len(found) > 3 and all(sp.issparse(block.X) for block in found)
    assert_array_equal(np.vstack([block.X.toarray() for block in found]), X)
    write_anndata(tmp_path / "b.h5ad", sp.csc_matrix(X), y)
    with pytest.raises(DataError, match=r"b\.h5ad: X is stored by columns"):
        open_blocks(tmp_path / "b.h5ad", target="label")


def test_columns_beside_a_matrix_are_no_features(data, tmp_path):
    X, y, weights = data
    write_anndata(tmp_path / "a.h5ad", X, y, weights)
    blocks = open_blocks(tmp_path / "a.h5ad", target="label")
    assert next(iter(blocks)).X.shape[1] == P and blocks.feature_names.tolist() == NAMES
    with pytest.raises(DataError, match=r"There is no column 'w' \(one of features\)"):
        open_blocks(tmp_path / "a.h5ad", target="label", features=["f0", "w"])


def test_anndata_in_zarr(data, tmp_path):
    pytest.importorskip("zarr", reason="zarr is not installed")
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    import pandas as pd

    X, y, _ = data
    obs = pd.DataFrame({"label": pd.Categorical(y)}, index=[f"c{i}" for i in range(N)])
    adata = anndata.AnnData(sp.csr_matrix(X), obs=obs, var=pd.DataFrame(index=NAMES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the version of the format
        adata.write_zarr(tmp_path / "a.zarr")
    found = list(open_blocks(tmp_path / "a.zarr", target="label", memory=SMALL))
    assert_array_equal(np.vstack([block.X.toarray() for block in found]), X)
    assert_array_equal(np.concatenate([block.y for block in found]), y)


# --- what is wrong, and where


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather", "h5ad", "zarr"])
def test_a_missing_value_is_named_with_its_place(kind, data, tmp_path):
    X, y, _ = data
    X = X.copy()
    X[2345, 4] = np.nan
    path = tmp_path / f"rows.{kind}"
    write(kind, path, X, y)
    name = "x4" if kind == "zarr" else "f4"
    text = rf"rows\.{kind}: The value of the column '{name}' is missing in row 2346 \(rows \d+ to"
    with pytest.raises(DataError, match=text):
        list(open_blocks(path, target="label", memory=SMALL))


def test_a_missing_target_is_named_with_its_place(data, tmp_path):
    X, y, _ = data
    y = y.astype(object)
    y[1234] = None
    write("parquet", tmp_path / "a.parquet", X, y)
    with pytest.raises(DataError, match=r"the column 'label' is missing in row 1235"):
        list(open_blocks(tmp_path / "a.parquet", target="label", memory=SMALL))


def test_text_among_numbers_is_named_with_its_place(data, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    X, y, _ = data
    write_csv(tmp_path / "a.csv", X, y)
    lines = (tmp_path / "a.csv").read_text().splitlines()
    cells = lines[2001].split(",")
    lines[2001] = ",".join([*cells[:2], "high", *cells[3:]])
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match=r"'high' in column 'f2' is not a number") as caught:
        list(open_blocks(tmp_path / "a.csv", target="label", memory=SMALL))
    assert (caught.value.line, caught.value.column) == (2002, 3)
    lines[2001] = ",".join(cells[:-1])
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(DataError, match="Expected 7 columns, got 6") as caught:
        list(open_blocks(tmp_path / "a.csv", target="label", memory=SMALL))
    assert caught.value.line == 2002


@pytest.mark.parametrize("kind", ["csv", "parquet", "h5ad"])
def test_columns_are_checked_before_any_row_is_read(kind, data, tmp_path):
    X, y, _ = data
    path = tmp_path / f"a.{kind}"
    write(kind, path, X[:50], y[:50])
    with pytest.raises(DataError, match=r"There is no column 'lable'.*Did you mean 'label'"):
        open_blocks(path, target="lable")
    with pytest.raises(DataError, match=r"There is no column 'f9' \(one of features\)"):
        open_blocks(path, target="label", features=["f0", "f9"])
    if kind != "h5ad":  # there the labels are beside the matrix
        with pytest.raises(DataError, match=r"The column 'label' .*, not numbers"):
            open_blocks(path, target="f0")
    with pytest.raises(DataError, match="The target 'f0' is one of the features"):
        open_blocks(path, target="f0", features=["f0"])


def test_files_must_have_the_same_columns(data, tmp_path):
    X, y, _ = data
    write("parquet", tmp_path / "a.parquet", X[:50], y[:50])
    write("parquet", tmp_path / "b.parquet", X[:50], y[:50], np.ones(50))
    both = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    with pytest.raises(DataError, match=r"b\.parquet: The column 'w' is not in .*a\.parquet"):
        open_blocks(both, target="label")
    with pytest.raises(DataError, match=r"a\.parquet: There is no column 'w'"):
        open_blocks(both[::-1], target="label")
    assert len(list(open_blocks(both, target="label", features=NAMES))) == 2


def test_labels_that_look_like_numbers(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    (tmp_path / "a.csv").write_text("a,kind\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(200)))
    block = next(iter(open_blocks(tmp_path / "a.csv", target="kind")))
    assert block.y.dtype.kind == "i"
    block = next(iter(open_blocks(tmp_path / "a.csv", target="kind", target_type="text")))
    assert set(block.y) == {"0", "1"}
    with open(tmp_path / "a.csv", "a") as file:
        file.write("1.5,other\n")
    with pytest.raises(DataError, match="The target 'kind' has text"):
        list(open_blocks(tmp_path / "a.csv", target="kind"))


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_blocks(tmp_path / "none.parquet", target="y")
    with pytest.raises(DataError, match="no Parquet, Feather or CSV files"):
        open_blocks(tmp_path, target="y")
    with pytest.raises(ValueError, match="source has no files"):
        open_blocks([], target="y")
    with pytest.raises(TypeError, match="source must be a path"):
        open_blocks(7, target="y")
    with pytest.raises(TypeError, match="features must be a list"):
        open_blocks(tmp_path, target="y", features="f0")
    with pytest.raises(ValueError, match="memory must be"):
        open_blocks(tmp_path, target="y", memory=0)
    (tmp_path / "a.svm").write_text("1 1:2 3:4\n")
    with pytest.raises(DataError, match="svmlight are not read by blocks"):
        open_blocks(tmp_path / "a.svm", target="y")
    (tmp_path / "a.npy").write_bytes(b"\x93NUMPY\x01\x00damaged")
    with pytest.raises(DataError, match="not a readable npy array"):
        open_blocks(tmp_path / "a.npy", target=0)


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [("pyarrow", "a.parquet", "io"), ("h5py", "a.h5ad", "anndata"), ("zarr", "a.zarr", "zarr")],
)
def test_an_optional_package_that_is_not_there(package, name, extra, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    path = tmp_path / name
    if extra == "zarr":
        path.mkdir()
        (path / "zarr.json").write_text("{}")
    else:
        path.write_bytes(b"")
    with pytest.raises(ImportError, match=rf'{package} is needed.*"psvm\[{extra}\]"'):
        open_blocks(path, target="y")


def test_damaged_parquet(data, tmp_path):
    X, y, _ = data
    write("parquet", tmp_path / "a.parquet", X, y)
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match=r"a\.parquet: The file cannot be read"):
        open_blocks(tmp_path / "a.parquet", target="label")


@pytest.mark.parametrize("kind", ["hdf5", "zarr"])
def test_arrays_on_disk_beside_y_in_memory(kind, data, tmp_path):
    """`RowBlocks` cuts anything that has a shape and gives slices of rows."""
    X, y, _ = data
    path = tmp_path / f"a.{kind}"
    write(kind, path, X, y)
    if kind == "hdf5":
        import h5py as module

        opened = module.File(path, "r")
    else:
        import zarr as module

        opened = module.open(str(path), mode="r")
    found = list(RowBlocks(opened["X"], y, memory=SMALL))
    assert len(found) > 5
    assert_array_equal(np.vstack([block.X for block in found]), X)
