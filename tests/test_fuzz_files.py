"""Damaged data files of every format: a table, a DataError or a refusal, but never a crash.

Valid files are damaged at random (seeded) and read by a child process with little memory. Damage
is done to the bytes of a file or, so that it gets past checksums, to what is packed in it.
"""

import bz2
import gzip
import io
import json
import lzma
import os
import queue
import re
import resource
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest

MEMORY = 2**30
"""Bytes that reading a file may take beyond those of the libraries."""
SECONDS = 10
"""Processor time that reading a file may take."""
PATIENCE = 120
"""Seconds without a sign of life from a child, on a machine that may be busy with other things."""

N, P = 12, 5
NUMBERS = re.compile(rb"\d+")
ODD_NUMBERS = (
    b"0", b"-1", b"1", b"7", b"255", b"65536", b"2147483647", b"2147483648", b"4294967295",
    b"1000000000000", b"9223372036854775807", b"99999999999999999999", b"1e400", b"nan", b"inf",
    b"1.5", b"0x10", b"", b"1 2", b"--3", b"1e", b".", b"9" * 400,
)  # fmt: skip
ODD_BYTES = (b"\0", b" ", b"\n", b"\r", b"\t", b'"', b",", b"%", b">", b":", b"\xff", b"\xc3")


# --- valid files


def unpacked(data):
    return {"": data}, lambda parts: parts[""]


def packed(compress, data):
    return {"": data}, lambda parts: compress(parts[""])


def zipped(data):
    """Damage to a member gets a checksum of its own."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def pack(parts):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, part in parts.items():
                archive.writestr(name, part)
        return file.getvalue()

    return members, pack


def one_member(data):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inside.csv", data)
    return file.getvalue()


def text_files(X, y, names):
    lines = [",".join(["id", *names, "kind"])]
    lines += [f"r{i},{','.join(map(str, row))},{y[i]}" for i, row in enumerate(X.tolist())]
    csv = "\n".join(lines).encode() + b"\n"
    quoted = re.sub(rb"(?m)^([^,\n]+),", rb'"\1, ""x""",', csv)
    numbers = "\n".join(" ".join(map(str, row)) for row in X.tolist()).encode()
    genes = "\n".join(
        ["gene\t" + "\t".join(f"s{i}" for i in range(N))]
        + ["kind\t" + "\t".join(y)]
        + [f"{name}\t" + "\t".join(map(str, X[:, j].tolist())) for j, name in enumerate(names)]
    ).encode()
    labelled = [{"target": "kind"}, {"target": "kind", "missing": "drop", "categorical": "drop"}]
    onehot = [*labelled, {"categorical": "onehot"}, {"missing": "nan"}, {"transpose": True}]
    yield "a.csv", unpacked(csv), onehot
    yield "b.csv", unpacked(quoted), labelled
    yield "c.csv", unpacked(csv.replace(b",", b";").replace(b".", b",")), labelled
    yield "d.tsv", unpacked(csv.replace(b",", b"\t").replace(b"\n", b"\r\n")), labelled
    yield "e.csv", unpacked(csv.decode().encode("utf-16")), [*labelled, {"encoding": "utf-16"}]
    encoded = [{"target": "kind", "encoding": name} for name in ("latin-1", "utf-32", "utf-7")]
    yield "f.csv", unpacked(csv), encoded
    yield "g.txt", unpacked(numbers), [{}, {"target": -1}, {"delimiter": " "}]
    yield "h.tsv", unpacked(genes), [{"target": "kind", "transpose": True}]
    yield "i.csv.gz", packed(gzip.compress, csv), labelled
    yield "j.csv.bz2", packed(bz2.compress, csv), labelled
    yield "k.csv.xz", packed(lzma.compress, csv), labelled
    yield "l.csv.zip", zipped(one_member(csv)), labelled


def zstandard_files(X):
    zstandard = pytest.importorskip("zstandard")
    text = "\n".join(",".join(map(str, row)) for row in X.tolist()).encode()
    yield "a.csv.zst", packed(zstandard.ZstdCompressor(write_checksum=True).compress, text), [{}]


def svmlight_files(X, y):
    rows = [
        f"{1 if y[i] == 'a' else -1} " + " ".join(f"{j + 1}:{v!r}" for j, v in enumerate(row) if v)
        for i, row in enumerate(X.tolist())
    ]
    text = "\n".join(rows).encode() + b"\n"
    with_queries = re.sub(rb"(?m)^(\S+) ", rb"\1 qid:3 ", text).replace(b"\n", b" # x\n")
    options = [{}, {"transpose": True}, {"ignore": ["x1"]}, {"missing": "drop"}]
    yield "a.svm", unpacked(text), options
    yield "b.svm", unpacked(with_queries), options
    yield "c.libsvm.gz", packed(gzip.compress, text), options


def numpy_bytes(array, **keywords):
    file = io.BytesIO()
    np.save(file, array, **keywords)
    return file.getvalue()


def numpy_files(X, y, names):
    import scipy.sparse as sp

    options = [{}, {"target": -1}, {"transpose": True}, {"missing": "drop"}]
    yield "a.npy", unpacked(numpy_bytes(X)), options
    yield "b.npy", unpacked(numpy_bytes(np.asfortranarray(X.astype(np.float32)))), options
    yield "c.npy.gz", packed(gzip.compress, numpy_bytes((X > 0).astype(np.int16))), options
    named = [{}, {"transpose": True}, {"target": "y"}, {"ignore": ["x1"]}, {"missing": "drop"}]
    file = io.BytesIO()
    np.savez_compressed(file, X=X, y=np.array(y), feature_names=names, target_name="kind")
    yield "d.npz", zipped(file.getvalue()), named
    for name, matrix in (("e.npz", sp.csr_array(X)), ("f.npz", sp.csc_matrix(X))):
        file = io.BytesIO()
        sp.save_npz(file, matrix)
        yield name, zipped(file.getvalue()), [{}, {"transpose": True}, {"missing": "drop"}]


def market_files(X):
    import scipy.io
    import scipy.sparse as sp

    S = X[:P] + X[:P].T
    matrices = {
        "a.mtx": sp.coo_array(X),
        "b.mtx": X,
        "c.mtx": sp.coo_array(S),
        "d.mtx": S,
        "e.mtx": sp.coo_array(np.triu(S) - np.triu(S).T),
        "f.mtx": sp.coo_array((X > 0).astype(int)),
        "g.mtx.gz": sp.coo_array(X),
        "h.mtx": X * 1j,
    }
    options = [{}, {"target": -1}, {"transpose": True}, {"ignore": ["x0"]}, {"missing": "drop"}]
    for name, matrix in matrices.items():
        file = io.BytesIO()
        scipy.io.mmwrite(file, matrix, comment="made\nby hand", symmetry=None)
        text = file.getvalue()
        if name == "f.mtx":  # a pattern has no values
            text = re.sub(rb"(?m)^(\d+ \d+) 1$", rb"\1", text.replace(b"integer", b"pattern"))
        pack = packed(gzip.compress, text) if name.endswith("gz") else unpacked(text)
        yield name, pack, options


def arrow_files(X, y, names):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    columns = dict(zip(names, X.T, strict=True))
    columns["count"] = pa.array([None, *range(N - 1)])
    columns["kind"] = pa.array(y)
    columns["sort"] = pa.array(y).dictionary_encode()
    columns["__index_level_0__"] = [f"r{i}" for i in range(N)]
    table = pa.table(columns)
    options = [
        {"target": "kind", "missing": "nan", "categorical": "onehot"},
        {"target": "kind", "missing": "drop", "categorical": "drop"},
        {"transpose": True, "categorical": "drop", "missing": "nan"},
    ]
    for name, how in (("a", "snappy"), ("b", "zstd"), ("c", "none")):
        file = io.BytesIO()
        parquet.write_table(table, file, compression=how, use_dictionary=name == "a")
        yield f"{name}.parquet", unpacked(file.getvalue()), options
    for name, how in (("a", "lz4"), ("b", "uncompressed"), ("c", "zstd")):
        file = io.BytesIO()
        feather.write_feather(table, file, compression=how)
        yield f"{name}.feather", unpacked(file.getvalue()), options


def sequence_files(y):
    records = [f">p{i} kind={label}\nACDEFG\nHIKLM{'NP' * i}\n" for i, label in enumerate(y)]
    text = "".join(records).encode()
    options = [{}, {"target": "kind"}, {"target": r"p(\d+)"}]
    yield "a.fasta", unpacked(text), options
    yield "b.fa.gz", packed(gzip.compress, text), options


def anndata_files(folder, X, y, names):
    pytest.importorskip("h5py")
    import h5py
    import scipy.sparse as sp

    def strings(group, name, values):
        group.create_dataset(name, data=np.array(values, dtype=object), dtype=h5py.string_dtype())

    for name, matrix in (("a", X), ("b", sp.csr_array(X)), ("c", sp.csc_array(X))):
        path = folder / "valid.h5ad"
        with h5py.File(path, "w") as file:
            if name == "a":
                file.create_dataset("X", data=matrix, chunks=(4, P), compression="gzip")
            else:
                group = file.create_group("X")
                group.attrs["encoding-type"] = f"{matrix.format}_matrix"
                group.attrs["shape"] = matrix.shape
                for part in ("data", "indices", "indptr"):
                    group.create_dataset(part, data=getattr(matrix, part))
            for frame, labels in (("obs", [f"r{i}" for i in range(N)]), ("var", names)):
                group = file.create_group(frame)
                group.attrs["_index"] = "_index"
                strings(group, "_index", labels)
            strings(file["obs"], "kind", y)
            sort = file["obs"].create_group("sort")
            sort.create_dataset("codes", data=np.arange(N, dtype=np.int8) % 2)
            strings(sort, "categories", ["u", "v"])
        yield f"{name}.h5ad", unpacked(path.read_bytes()), [{"target": "kind"}, {"target": "sort"}]


def valid_files(folder):
    """Name, parts and a way to pack them, and options to read with; for each family of formats."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((N, P)) < 0.3, 0, rng.normal(size=(N, P)).round(3))
    y, names = ["a", "b"] * (N // 2), ["first", "second", "Größe", "x y", "last"]
    return {
        "text": list(text_files(X, y, names)) + list(zstandard_files(X)),
        "svmlight": list(svmlight_files(X, y)),
        "numpy": list(numpy_files(X, y, names)),
        "market": list(market_files(X)),
        "arrow": list(arrow_files(X, y, names)),
        "fasta": list(sequence_files(y)),
        "h5ad": list(anndata_files(folder, X, y, names)),
    }


# --- damage


def cut(rng, data, other):
    return data[: rng.integers(len(data))]


def flip(rng, data, other):
    data = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 6)):
        data[place] ^= 1 << rng.integers(8)
    return bytes(data)


def insert(rng, data, other):
    place = rng.integers(len(data) + 1)
    return data[:place] + rng.bytes(rng.integers(1, 40)) + data[place:]


def delete(rng, data, other):
    start, stop = np.sort(rng.integers(len(data) + 1, size=2))
    return data[:start] + data[min(stop, start + rng.integers(1, 60)) :]


def duplicate(rng, data, other):
    start, stop = np.sort(rng.integers(len(data) + 1, size=2))
    return data[:stop] + data[start:stop] * rng.integers(1, 4) + data[stop:]


def splice(rng, data, other):
    place, start = rng.integers(len(data) + 1), rng.integers(len(other))
    return data[:place] + other[start : start + rng.integers(1, 200)] + data[place:]


def renumber(rng, data, other):
    found = list(NUMBERS.finditer(data))
    if not found:
        return flip(rng, data, other)
    # Sizes are declared at the beginning.
    match = found[rng.integers(min(len(found), 10) if rng.random() < 0.5 else len(found))]
    return data[: match.start()] + rng.choice(ODD_NUMBERS) + data[match.end() :]


def overwrite(rng, data, other):
    """Put an integer that means trouble in place of the bytes of another one."""
    width = int(rng.choice([1, 2, 4, 8]))
    value = int(rng.choice([0, 1, -1, 2 ** (8 * width - 1) - 1, -(2 ** (8 * width - 1)), 1000]))
    value = value.to_bytes(width + 2, "little", signed=True)[:width]
    place = rng.integers(len(data))
    return data[:place] + value + data[place + width :]


def sprinkle(rng, data, other):
    for _ in range(rng.integers(1, 4)):
        place = rng.integers(len(data) + 1)
        skip = rng.integers(2)
        data = data[:place] + ODD_BYTES[rng.integers(len(ODD_BYTES))] + data[place + skip :]
    return data


def recode(rng, data, other):
    text = data.decode("utf-8", "replace")
    return text.encode(rng.choice(["utf-16-le", "utf-16", "utf-32", "cp1252"]), "replace")


DAMAGE = (cut, flip, insert, delete, duplicate, splice, renumber, overwrite, sprinkle, recode)


def damaged(rng, parts, pack, other):
    """The bytes of a file, damaged once or a few times within or without."""
    parts = dict(parts)
    for _ in range(rng.choice([1, 1, 2, 3])):
        name = list(parts)[rng.integers(len(parts))]
        if parts[name] and rng.random() < 0.6:
            parts[name] = DAMAGE[rng.integers(len(DAMAGE))](rng, parts[name], other)
    data = pack(parts)
    if data and (rng.random() < 0.4 or parts == {}):
        data = DAMAGE[rng.integers(len(DAMAGE))](rng, data, other)
    return data


def make_cases(folder, seed, n_files):
    """Write damaged files; returns what to read and how, in the order of the families."""
    rng = np.random.default_rng(seed)
    families = valid_files(folder)
    everything = [pack(parts) for family in families.values() for _, (parts, pack), _ in family]
    cases = []
    for family, n in n_files.items():
        for k in range(n):
            name, (parts, pack), options = families[family][k % len(families[family])]
            path = folder / f"{len(cases)}-{name}"
            other = everything[rng.integers(len(everything))]
            path.write_bytes(damaged(rng, parts, pack, other))
            cases.append((str(path), options[rng.integers(len(options))]))
    return cases


# --- reading, in a child


def work(folder):
    """Read the files of a list, and say before and after each what happens."""
    import h5py  # noqa: F401
    import pyarrow.feather
    import pyarrow.parquet  # noqa: F401

    import psvm.io

    with open("/proc/self/statm") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, resource.RLIM_INFINITY))
    with open(os.path.join(folder, "cases.json")) as file:
        cases = json.load(file)
    for number, (path, options) in cases:
        print(json.dumps({"start": number}), flush=True)
        before = sum(os.times()[:4])
        verdict = read(psvm.io, path, options)
        seconds = sum(os.times()[:4]) - before
        print(json.dumps({"end": number, "verdict": verdict, "seconds": seconds}), flush=True)


def read(io_module, path, options):
    """What reading gives: "table", "DataError", "refusal", or what should not be."""
    try:
        table = io_module.read_table(path, **options)
        verdict = consistent(table)
        io_module.check_file(path, **options)
    except io_module.DataError as error:
        return "DataError" if path in str(error) and error.message else f"no place: {error}"
    except (ValueError, TypeError, ImportError) as error:
        return f"refusal: {type(error).__name__}: {error}"
    except BaseException as error:
        return f"wrong: {type(error).__name__}: {error}"
    return verdict


def consistent(table):
    n = table.X.shape[0]
    lengths = [len(v) for v in (table.y, table.row_names) if v is not None]
    if table.X.ndim == 2 and table.feature_names is not None:
        lengths.append(len(table.feature_names) - table.X.shape[1] + n)
    return "table" if n > 0 and set(lengths) <= {n} else f"wrong: lengths {lengths} for {n} rows"


def start(folder):
    """A child at work, and a queue of what it says, with None at the end."""
    with (folder / "stderr").open("w") as stderr:
        child = subprocess.Popen(
            [sys.executable, __file__, str(folder)],
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
    lines = queue.Queue()

    def listen():
        with child.stdout as stream:
            for line in stream:
                lines.put(json.loads(line))
        lines.put(None)

    threading.Thread(target=listen, daemon=True).start()
    return child, lines


def read_some(folder, waiting, verdicts):
    """Verdicts of one child; returns the number of the file that ended it, None if none did."""
    child, lines = start(folder)
    current = None
    try:
        while (line := lines.get(timeout=PATIENCE)) is not None:
            current = line.get("start")
            if "end" in line:
                slow = line["seconds"] > SECONDS
                verdict = f"wrong: {line['seconds']:.1f} s" if slow else line["verdict"]
                verdicts[line["end"]] = verdict
                del waiting[line["end"]]
        reason = f"wrong: exit code {child.wait()}"
    except queue.Empty:
        reason = f"wrong: silent for {PATIENCE} s"
    finally:
        child.kill()
        child.wait()
    if current is not None:
        verdicts[current] = reason
    return current


def read_all(folder, cases):
    """Verdicts on all cases, of as many children as it takes."""
    verdicts, waiting = {}, dict(enumerate(cases))
    while waiting:
        (folder / "cases.json").write_text(json.dumps(list(waiting.items())))
        fatal = read_some(folder, waiting, verdicts)
        if fatal is None:
            assert not waiting, (folder / "stderr").read_text()
        else:
            del waiting[fatal]
    return verdicts


def fuzz(folder, seed, n_files):
    cases = make_cases(folder, seed, n_files)
    verdicts = read_all(folder, cases)
    assert len(verdicts) == len(cases) == sum(n_files.values())
    bad = {
        (os.path.basename(cases[k][0]), str(cases[k][1])): verdict
        for k, verdict in verdicts.items()
        if verdict not in ("table", "DataError") and not verdict.startswith("refusal: ")
    }
    empty = [v for v in verdicts.values() if v.startswith("refusal: ") and len(v.split()) < 4]
    return verdicts, bad, empty


linux = pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="limits memory by /proc")
libraries = [pytest.importorskip(name) for name in ("pyarrow", "h5py")]


def test_valid_files_are_read(tmp_path):
    """The premise: without damage each file is a table, or is refused for what it is."""
    import psvm.io

    for family in valid_files(tmp_path).values():
        for name, (parts, pack), options in family:
            path = tmp_path / name
            path.write_bytes(pack(parts))
            if name == "h.mtx":
                with pytest.raises(psvm.io.DataError, match="complex"):
                    psvm.io.read_table(path)
            else:
                assert consistent(psvm.io.read_table(path, **options[0])) == "table", name


SHORT = {
    "text": 130, "svmlight": 60, "numpy": 120, "market": 120, "arrow": 90, "fasta": 20, "h5ad": 12,
}  # fmt: skip


@linux
def test_damaged_files(tmp_path):
    verdicts, bad, empty = fuzz(tmp_path, 1, SHORT)
    assert not bad
    assert not empty
    assert {"table", "DataError"} <= set(verdicts.values())


@pytest.mark.slow
@linux
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("family", SHORT)
def test_thousands_of_damaged_files(tmp_path, family, seed):
    n = 60 if family == "h5ad" else 400
    _, bad, empty = fuzz(tmp_path, seed + 100, {family: n})
    assert not bad
    assert not empty


if __name__ == "__main__":
    work(sys.argv[1])
