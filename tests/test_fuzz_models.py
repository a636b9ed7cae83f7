"""Damaged model files with right checksums: a ModelFileError, a ValueError, or a sound answer.

Valid files of every kind of model are taken apart, and values, shapes, dtypes, counts, names and
structure are changed independently of each other. A child process with a limit on its memory and
on the processor time of each file loads and predicts; it says which file it is at, so that the
parent knows which one killed it.
"""

import copy
import io
import json
import pickle
import random
import signal
import subprocess
import sys
import traceback
import warnings
import zipfile
from collections import Counter
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

SECONDS, BYTES = 10, 2**30
"""What one file may take."""
SHORT, LONG = 30, 150
"""Mutants of each model."""


def make_models():
    """Fitted models of every kind, and data to predict."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import ColumnTransformer
    from sklearn.datasets import make_moons
    from sklearn.feature_selection import VarianceThreshold
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import (
        MinMaxScaler,
        Normalizer,
        OneHotEncoder,
        RobustScaler,
        StandardScaler,
    )
    from sklearn.svm import SVC

    import psvm
    from psvm import (
        PSVC,
        PSVR,
        GeneSelector,
        KnockoffSelector,
        PSVMSelector,
        SpheredSVC,
        SpheredSVCCV,
        StabilitySelector,
    )
    from psvm import kernels as k
    from psvm.comparators import KernelFisherDiscriminant, LeastSquaresSVC, LeastSquaresSVR
    from psvm.evaluation import RejectOption
    from psvm.selection import PresentCall, QuantileNormalizer, log_transformer

    X, code = make_moons(40, noise=0.2, random_state=0)
    two, three = np.where(code, "yes", "no"), np.digitize(X[:, 0], [-0.2, 1.0])
    number, gram = X[:, 0] * X[:, 1], X @ X.T
    rng = np.random.default_rng(0)
    genes = np.exp(rng.normal(size=(30, 12)))
    state = np.where(genes[:, 3] > genes[:, 7], "sick", "well")
    words = ["".join(rng.choice(list("ACGT"), size=12)) for _ in range(20)]
    half, third = np.arange(20) % 2, np.arange(20) % 3
    words = np.array(words, dtype=object)
    tables = k.Spectrum(2) + 0.5 * k.normalized(k.Spectrum(3, normalize=False))

    def gene_selector(**options):
        model = GeneSelector(n_features=[2, 3], smoothing=0, cv=3, **options)
        return model.fit(genes, state), genes

    cells = np.column_stack([X, np.arange(40) % 3, np.arange(40) % 7 // 6])

    def encoded(remainder, *before, **options):
        encoder = make_pipeline(*before, OneHotEncoder(sparse_output=False, **options))
        parts = [("numbers", StandardScaler(), [0, 1]), ("categories", encoder, [2, 3])]
        return make_pipeline(ColumnTransformer(parts, remainder=remainder), PSVC(epsilon=0.5))

    def pipeline(*steps):
        return make_pipeline(*steps).fit(X, two), X

    found = {
        "psvc": (PSVC(epsilon=0.5).fit(X, two), X),
        "psvc three": (PSVC(epsilon=0.5).fit(X, three), X),
        "psvc ovr": (PSVC(epsilon=0.5, multi_class="ovr").fit(X, three), X),
        "psvc labels": (PSVC(epsilon=0.5).fit(X, np.column_stack([code, X[:, 0] > 0])), X),
        "psvc sparse": (PSVC(epsilon=0.5, kernel="laplacian").fit(sp.csr_array(X), code), X),
        "psvc sigmoid": (PSVC(epsilon=0.5, probability="sigmoid").fit(X, three), X),
        "psvc isotonic": (PSVC(epsilon=0.5, probability="isotonic").fit(X, two), X),
        "psvc single": (PSVC(epsilon=0.5, dtype=np.float32, kernel="poly").fit(X, two), X),
        "psvc dyadic": (PSVC(epsilon=1.0, kernel="dyadic").fit(genes, state), genes),
        "psvc precomputed": (PSVC(epsilon=0.5, kernel="precomputed").fit(gram, two), gram),
        "psvr": (PSVR(epsilon=0.1, kernel="plummer").fit(X, number), X),
        "psvr two": (PSVR(epsilon=0.1, kernel="sine").fit(X, X[:, ::-1]), X),
        "psvr sum": (PSVR(epsilon=0.1, kernel=2 * k.RBF(2.0) + k.Linear()).fit(X, number), X),
        "psvccv": (psvm.PSVCCV(gammas=[1.0], cv=3).fit(X, two), X),
        "psvrcv": (psvm.PSVRCV(gammas=[1.0], cv=3).fit(X, number), X),
        "sphered": (SpheredSVC().fit(X, three), X),
        "sphered linear": (SpheredSVC(kernel="linear").fit(X, two), X),
        "sphered precomputed": (SpheredSVC(kernel="precomputed").fit(gram, two), gram),
        "sphered words": (SpheredSVC(kernel=tables).fit(words, half), words),
        "spheredcv": (SpheredSVCCV(lams=[0.1, 0.9], cv=3).fit(X, two), X),
        "fisher": (KernelFisherDiscriminant().fit(X, three), X),
        "fisher words": (KernelFisherDiscriminant(kernel=k.Spectrum(2)).fit(words, half), words),
        "least squares": (LeastSquaresSVC(kernel="precomputed").fit(gram, three), gram),
        "least squares words": (LeastSquaresSVC(kernel=tables).fit(words, third), words),
        "least squares pairs": (LeastSquaresSVC(kernel=k.Subsequence(2)).fit(words, half), words),
        "least squares numbers": (LeastSquaresSVR().fit(sp.csr_array(X), number), X),
        "selector": (PSVMSelector(n_features=3).fit(genes, state), genes),
        "stability": (StabilitySelector(q=2, n_subsamples=4).fit(genes, state), genes),
        "knockoffs": (KnockoffSelector(0.9).fit(genes, state), genes),
        "genes": gene_selector(),
        "genes prepared": gene_selector(
            preprocessing=make_pipeline(log_transformer(2.0), QuantileNormalizer())
        ),
        "genes called": gene_selector(
            preprocessing=PresentCall(lambda Z: np.where(Z > 0.5, 0.0, 1.0), q2=1),
            classifier=SVC(),
        ),
        "reject": (
            RejectOption(PSVC(kernel="dyadic", epsilon=1.0)).fit(genes, state),
            genes,
        ),
        "reject threshold": (
            RejectOption(PSVC(epsilon=0.5), rule="threshold", threshold=0.3).fit(X, three),
            X,
        ),
        "calibrated": (
            CalibratedClassifierCV(PSVC(epsilon=1.0), method="isotonic", cv=3).fit(X, three),
            X,
        ),
        "feature map": (k.Spectrum(2).feature_map().fit(words), words),
        "scalers": pipeline(SimpleImputer(), StandardScaler(), MinMaxScaler(), PSVC(epsilon=0.5)),
        "more scalers": pipeline(
            RobustScaler(), VarianceThreshold(), Normalizer(), LogisticRegression()
        ),
        "ridge": (make_pipeline(StandardScaler(), Ridge()).fit(X, number), X),
        "table": (encoded("drop", handle_unknown="ignore").fit(cells, two), cells),
        "table of rare levels": (
            encoded("passthrough", handle_unknown="infrequent_if_exist", min_frequency=0.3).fit(
                cells, two
            ),
            cells,
        ),
        "table imputed": (encoded("drop", SimpleImputer()).fit(cells, two), cells),
    }
    aligned = [k.SmithWaterman(matrix=(2, -1)), k.NeedlemanWunsch()] if find_spec("Bio") else []
    for kernel in (
        *aligned,
        k.Spectrum(2),
        k.Mismatch(3, 1),
        k.Subsequence(2),
        k.WeightedDegree(2, shift=1),
        k.Motif(["A.C", "GG"]),
        k.LocalAlignment(matrix=(1, -1)),
        k.normalized(k.Spectrum(2, normalize=False)) * k.Mismatch(2, 1),
    ):
        model = PSVC(kernel=kernel, epsilon=0.1).fit(words, half)
        found[f"psvc {type(kernel).__name__.lower()}"] = model, words
    return found


# --- mutants


class Mutant:
    """The parts of a model file, some of which are changed at random."""

    def __init__(self, file, others, rng):
        with zipfile.ZipFile(file) as archive:
            self.metadata = json.loads(archive.read("model.json"))
            n = len(self.metadata["arrays"])
            names = [f"arrays/{i}.npy" for i in range(n)]
            self.arrays = [np.load(io.BytesIO(archive.read(name))) for name in names]
        self.others, self.rng = others, rng
        self.headers = {}
        self.huge = False

    def change(self):
        """One to three changes."""
        kinds = [self._value] * 4 + [self._structure] * 2 + [self._entries] * 3
        kinds += [self._shape] * 4 + [self._dtype] * 2 + [self._header]
        for kind in self.rng.choices(kinds, k=self.rng.choice([1, 1, 1, 2, 3])):
            kind()

    def bytes(self):
        """The file, with sizes and checksum that are right."""
        described = [{"dtype": a.dtype.str, "shape": list(a.shape)} for a in self.arrays]
        described = [self.headers.get(i, d) for i, d in enumerate(described)]
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.comment = b"0" * 64
            metadata = {**self.metadata, "arrays": described}
            archive.writestr("model.json", json.dumps(metadata))
            for i, array in enumerate(self.arrays):
                archive.writestr(f"arrays/{i}.npy", self._npy(array, described[i]))
        data = buffer.getvalue()[:-64]
        return data + sha256(data).hexdigest().encode()

    def _npy(self, array, described):
        file = io.BytesIO()
        header = {"descr": described["dtype"], "fortran_order": False}
        np.lib.format.write_array_header_1_0(file, {**header, "shape": tuple(described["shape"])})
        return file.getvalue() + np.ascontiguousarray(array).tobytes()

    def _places(self):
        """All places in the description of the model, as pairs of a container and a key."""
        found = [(self.metadata, "model")]
        for container, key in found:
            value = container[key]
            if isinstance(value, list | dict):
                keys = range(len(value)) if isinstance(value, list) else value
                found += [(value, k) for k in keys]
        return found

    def _value(self):
        container, key = self.rng.choice(self._places())
        container[key] = self._junk(container[key])

    def _junk(self, old):
        rng, n = self.rng, len(self.arrays)
        number = isinstance(old, int | float) and not isinstance(old, bool)
        if number and rng.random() < 0.6:
            factor = rng.choice([0, -1, 2, 1e3, 1e8, 1e300])
            self.huge |= factor == 1e300
            return type(old)(rng.choice([old + 1, old - 1, old * factor]))
        plain = [None, True, False, -1, 0, 1, 2, 100, 2**31, 2**62, -0.5, 1.5, "", "x", "rbf"]
        plain += ["linear", "precomputed", "dyadic", "ovr", "é" * 5, "threshold", [], {}, [[]]]
        tagged = [
            {"type": "array", "index": rng.randrange(n + 1)},
            {"type": "float", "value": rng.choice(["nan", "inf", "-inf"])},
            {"type": "scalar", "dtype": rng.choice(["<f8", "<i8", "<U9", "|b1"]), "value": 3},
            {"type": "tuple", "items": [1, 2]},
            {"type": "dict", "items": [["a", 1]]},
            {"type": "dtype", "value": rng.choice(["<f4", "<i2", "<U7"]), "class": False},
            {"type": "objects", "shape": [2], "items": ["a", "b"]},
            {"type": "sequence", "value": ["ACGT", "", ""]},
            {"type": "default"},
        ]
        here = copy.deepcopy(rng.choice([c[k] for c, k in self._places()]))
        return rng.choice([rng.choice(plain), rng.choice(tagged), here, self._foreign()])

    def _foreign(self):
        """A value of another model."""
        other = Mutant(self.rng.choice(self.others), self.others, self.rng)
        container, key = self.rng.choice(other._places())
        return container[key]

    def _structure(self):
        rng, places = self.rng, self._places()[1:]
        if not places:
            return
        container, key = rng.choice(places)
        action = rng.choice(["delete", "rename", "repeat", "swap"])
        if action == "delete":
            del container[key]
        elif action == "rename" and isinstance(container, dict):
            others = [c for c, _ in self._places() if isinstance(c, dict)]
            container[rng.choice([*rng.choice(others), "x_"])] = container.pop(key)
        elif action == "repeat" and isinstance(container, list):
            container.insert(key, copy.deepcopy(container[key]))
        else:
            other, place = rng.choice(places)
            value = copy.deepcopy(other[place])
            other[place] = copy.deepcopy(container[key])
            container[key] = value

    def _pick(self):
        """An array that can be made fifty times as large."""
        small = [i for i, array in enumerate(self.arrays) if array.size < 10_000]
        return self.rng.choice(small) if small else None

    def _entries(self):
        """Change some entries of an array."""
        i, rng = self._pick(), self.rng
        if i is None or self.arrays[i].size == 0:
            return
        array = self.arrays[i] = self.arrays[i].copy()
        kind = array.dtype.kind
        if kind == "f":
            value = rng.choice([np.nan, np.inf, 0.0, -1.0, 1e6, 1e300])
            self.huge |= value == 1e300
        elif kind in "iu":
            top = np.iinfo(array.dtype).max
            value = rng.choice([0, 1, min(1000, top), top, array.max(), np.iinfo(array.dtype).min])
        else:
            value = rng.choice(["", "zz", "A"]) if kind == "U" else rng.random() < 0.5
        if rng.random() < 0.2:
            array[...] = value
        elif rng.random() < 0.3:
            array[...] = array[..., ::-1] if array.ndim else array
        else:
            array.flat[rng.randrange(array.size)] = value

    def _shape(self):
        i, rng = self._pick(), self.rng
        if i is None:
            return
        array = self.arrays[i]
        changes = [array.ravel, lambda: array[None], lambda: array[..., None], lambda: array.T]
        changes += [lambda: array[..., :0], lambda: array.reshape(-1)[:1].reshape(())]
        if array.ndim:
            axis = rng.randrange(array.ndim)
            half = [slice(None)] * axis + [slice(None, array.shape[axis] // 2)]
            changes += [
                lambda: array[tuple(half)],
                lambda: np.delete(array, -1, axis=axis),
                lambda: np.repeat(array, 2, axis=axis),
                lambda: np.concatenate([array, np.take(array, [-1], axis=axis)], axis=axis),
                lambda: np.repeat(array, 50, axis=axis),
            ]
        try:
            self.arrays[i] = np.ascontiguousarray(rng.choice(changes)())
        except (IndexError, ValueError):  # nothing there to repeat or to leave out
            self.arrays[i] = np.zeros((0, 3))

    def _dtype(self):
        i, rng = self._pick(), self.rng
        if i is None:
            return
        dtype = rng.choice(["<f8", "<f4", ">f8", "<i4", "<i8", "<u2", "|i1", "|b1", "<U3", "<U40"])
        with np.errstate(all="ignore"):
            try:
                self.arrays[i] = self.arrays[i].astype(dtype)
            except (TypeError, ValueError):
                self.arrays[i] = np.zeros(self.arrays[i].shape, dtype)

    def _header(self):
        """A header and a description that agree, but not with the bytes."""
        i, rng = self._pick(), self.rng
        if i is not None:
            array = self.arrays[i]
            shape = rng.choice([[10**9], [*array.shape, 1], [0], [-1], [array.size], []])
            dtype = rng.choice(["<f8", "<i8", "<U100000000", "<f4", array.dtype.str])
            self.headers[i] = {"dtype": dtype, "shape": shape}


# --- the child


def try_file(path, data, huge):
    """What a file does: it is refused, the model refuses to predict, it predicts, or it is bad."""
    import psvm
    from psvm.persistence import ModelFileError

    try:
        model = psvm.load(path)
    except ModelFileError as error:
        return "bad: memory" if ran_out(error) else "refused"
    try:
        for method in ("predict", "transform", "decision_function", "predict_proba"):
            if hasattr(model, method):
                value = getattr(model, method)(data)
                complaint = wrong(value, data, huge)
                if complaint:
                    return f"bad: {method} of {type(model).__name__} {complaint}"
    except ValueError as error:
        return "bad: memory" if ran_out(error) else "no prediction"
    return "prediction"


def ran_out(error):
    """Whether an error comes from a lack of memory."""
    while error is not None:
        if isinstance(error, MemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def wrong(value, data, huge):
    """What is wrong with a prediction; finite numbers whose products are infinite are not."""
    n = data.shape[0] if hasattr(data, "shape") else len(data)
    value = value.toarray() if sp.issparse(value) else value
    if not isinstance(value, np.ndarray) or value.ndim not in (1, 2) or len(value) != n:
        return f"is {type(value).__name__} of shape {np.shape(value)}"
    if value.dtype.kind == "f" and not np.isfinite(value).all() and not huge:
        return "is not finite"
    return None


def mutants(folder, n):
    """Names of the models and numbers of their mutants."""
    return [(path.stem, i) for path in sorted(folder.glob("*.psvm")) for i in range(n)]


def child(folder, n, start):
    """Try the mutants from a number on; a line for each, that it begins and then what it did."""
    import resource

    import psvm  # noqa: F401

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    folder = Path(folder)
    files = sorted(folder.glob("*.psvm"))
    with open("/proc/self/statm") as statm:
        pages = int(statm.read().split()[0])
    limit = pages * resource.getpagesize() + BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for name, i in mutants(folder, n)[start:]:
        data = pickle.loads((folder / f"{name}.data").read_bytes())
        mutant = Mutant(folder / f"{name}.psvm", files, random.Random(f"{name} {i}"))
        mutant.change()
        path = folder / "mutant"
        path.write_bytes(mutant.bytes())
        print("begins", flush=True)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            outcome = try_file(path, data, mutant.huge)
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            outcome = f"bad: {error!r} at {Path(place.filename).name}:{place.lineno}"
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(outcome), flush=True)


# --- the parent


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    import psvm

    folder = tmp_path_factory.mktemp("models")
    for name, (model, data) in make_models().items():
        psvm.save(model, folder / f"{name}.psvm")
        (folder / f"{name}.data").write_bytes(pickle.dumps(data))
    return folder


def run(folder, n):
    """Try n mutants of each model: how many did what, and the bad ones by name and number."""
    every, found = mutants(folder, n), []
    while len(found) < len(every):
        command = [sys.executable, __file__, str(folder), str(n), str(len(found))]
        done = subprocess.run(command, capture_output=True, text=True)
        lines = done.stdout.splitlines()
        found += [json.loads(line) for line in lines[1::2]]
        if len(found) < len(every):  # the last one that began has ended the process
            assert lines and done.returncode != 0, done.stderr
            found.append(f"bad: ended with {done.returncode}")
    total = Counter(outcome.split(":")[0] for outcome in found)
    print(dict(total))
    bad = [f"{who}: {o}" for who, o in zip(every, found, strict=True) if o.startswith("bad")]
    return total, bad


def declared(model, state):
    """Arrays of a model, and the axes that its class declares to be of features or classes."""
    from psvm._fitted import ArrayOf, Maybe, table_of

    for name, entry in table_of(type(model)).items():
        entry = entry.entry if isinstance(entry, Maybe) else entry
        value = state.get(name)
        if isinstance(entry, ArrayOf) and isinstance(value, dict) and value["type"] == "array":
            for axis, dimension in enumerate(entry.dimensions):
                if dimension in ("p", "c", "pairs"):
                    yield name, value["index"], axis


def test_declared_dimensions_hold(folder, tmp_path):
    """Each array whose number of features or classes is declared, longer and shorter by one."""
    import psvm
    from psvm.persistence import ModelFileError
    from psvm.persistence._container import read_container, write_container

    seen = set()
    for path in sorted(folder.glob("*.psvm")):
        model, (metadata, arrays) = psvm.load(path), read_container(path)
        for name, index, axis in declared(model, metadata["model"].get("state", {})):
            longer = np.concatenate([arrays[index], np.take(arrays[index], [-1], axis)], axis)
            for changed in (longer, np.delete(arrays[index], -1, axis)):
                others = [changed if i == index else array for i, array in enumerate(arrays)]
                write_container(tmp_path / "m.psvm", metadata, others)
                with pytest.raises(ModelFileError, match="no sense"):
                    psvm.load(tmp_path / "m.psvm")
            seen.add((type(model).__name__, name))
    assert len(seen) >= 12


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs limits of Linux")


@linux
def test_damaged_models_short(folder):
    total, bad = run(folder, SHORT)
    assert bad == []
    assert all(total[kind] > 0 for kind in ("refused", "no prediction", "prediction"))


@linux
@pytest.mark.slow
def test_damaged_models_long(folder):
    assert run(folder, LONG)[1] == []


if __name__ == "__main__":
    child(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
