"""Random tables from the file to the prediction, row by row beside scikit-learn's own pieces.

A table is written in some dialect, fitted by the command line, and predicted with rows and columns
in another order. The same rows go through a pipeline that is made here from the cells as they were
invented: nothing of it has read a file.
"""

import copy
import csv
import gzip
import io
from dataclasses import dataclass, field

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import psvm

pytest.importorskip("click")
pytest.importorskip("rich")
from psvm.cli import main
from psvm.io._schema import NA_VALUES

WORDS = ("ja", "nein", "a b", "none", "7b", 'said "ok"', "x,y", "u;v", "café", "Größe", "-", "?")
NAMES = ("age", "3", "dose, mg", "0", "größe", 'the "x"', "a b", "x1", "b-1", "T", "wt", "q", "zz")
MARKERS = [marker for marker in NA_VALUES if marker]


@dataclass
class Invented:
    """A table as a list of columns, and how it is written."""

    names: list
    kinds: list
    """One of "number", "category", "identifier", "constant" for each column."""
    rows: list
    """Values: a float, a word, or None where it is missing."""
    target: list
    missing: str
    markers: list
    dialect: dict
    options: list = field(default_factory=list)
    transposed: bool = False
    """Whether the columns are the lines of the file; these are numbers and one identifier."""

    def used(self, kind):
        return [j for j, k in enumerate(self.kinds) if k == kind]

    def has_gap(self, row):
        used = [*self.used("number"), *self.used("category")]
        return any(row[j] is None for j in used)


def invent(rng):
    n = int(rng.integers(24, 60))
    transposed = rng.random() < 0.15
    kinds = ["number"] * rng.integers(1, 4) + ["category"] * rng.integers(0, 4)
    kinds += ["identifier"] * rng.integers(0, 2) + ["constant"] * rng.integers(0, 2)
    if transposed:
        kinds = ["number"] * rng.integers(2, 5) + ["identifier"]
    kinds = [str(kind) for kind in rng.permutation(kinds)]
    names = [str(name) for name in rng.permutation(NAMES)[: len(kinds)]]
    called = str(rng.choice(["gene", "id", ""])) if transposed else "record"
    names = [called if k == "identifier" else v for k, v in zip(kinds, names, strict=True)]
    columns = [COLUMNS[kind](rng, n) for kind in kinds]
    rows = [list(row) for row in zip(*columns, strict=True)]
    signal = np.array([row[kinds.index("number")] for row in rows])
    signal = signal - np.median(signal) + 0.3 * rng.normal(size=n)
    target = [round(float(v), 3) for v in signal]
    if rng.random() < 0.7:
        classes = [str(w) for w in rng.permutation(["well", "ill", "none", "a b", "café"])[:3]]
        cuts = np.quantile(signal, [0.4, 0.7] if rng.random() < 0.3 else [0.5])
        target = [classes[k] for k in np.searchsorted(cuts, signal)]
    missing = str(rng.choice(["error", "drop", "impute"]))
    own = ["n. d.", "-99"] if rng.random() < 0.3 else []
    replaced = bool(own) and rng.random() < 0.5
    markers = own if replaced else [*MARKERS, *own]
    table = Invented(names, kinds, rows, target, missing, markers, invent_dialect(rng))
    table.options = [a for m in own for a in ("--na-values", m)] + ["--no-default-na"] * replaced
    table.transposed = transposed
    table.options += ["--transpose"] * transposed
    return table


def numbers(rng, n):
    values = rng.normal(scale=10.0 ** rng.integers(-2, 4), size=n)
    values = values.round(4) if rng.random() < 0.8 else rng.integers(0, 9, size=n) * 1.0
    values[:2] = 1.5, 2.25  # not constant, and no identifiers
    return values.tolist()


def categories(rng, n):
    levels = rng.permutation(WORDS)[: rng.integers(2, 6)]
    cells = [str(levels[k]) for k in rng.integers(0, len(levels), size=n)]
    cells[: len(levels)] = [str(level) for level in levels]
    return cells


def identifiers(rng, n):
    numbers = [int(i) for i in rng.choice(90_000, size=n, replace=False) + 10_000]
    return numbers if rng.random() < 0.3 else [f"P{i}" for i in numbers]


def constants(rng, n):
    return [str(rng.choice(WORDS))] * n if rng.random() < 0.5 else [3.5] * n


COLUMNS = {"number": numbers, "category": categories, "identifier": identifiers,
           "constant": constants}  # fmt: skip


def invent_dialect(rng):
    delimiter = str(rng.choice([",", ";", "\t"]))
    return {
        "delimiter": delimiter,
        "decimal": "," if delimiter != "," and rng.random() < 0.4 else ".",
        "encoding": str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1"])),
        "quoting": csv.QUOTE_ALL if rng.random() < 0.3 else csv.QUOTE_MINIMAL,
        "lineterminator": str(rng.choice(["\n", "\r\n"])),
        "packed": bool(rng.random() < 0.2),
    }


def write(path, table, order, columns, rng, *, extra=False, target=True, gaps=0.0):
    """Write some rows and columns in some order; returns the rows as they are written."""
    d = table.dialect
    names = [*table.names, "target"] if target else list(table.names)
    names = [names[j] for j in columns] + ["more"] * extra
    text = io.StringIO()
    writer = csv.writer(text, delimiter=d["delimiter"], quoting=d["quoting"],
                        lineterminator=d["lineterminator"])  # fmt: skip
    written, grid = [], [names]
    for i in order:
        row = list(table.rows[i])
        for j in (*table.used("number"), *table.used("category")):
            row[j] = None if rng.random() < gaps else row[j]
        written.append(row)
        cells = [*row, table.target[i]] if target else row
        more = "7" if table.transposed else "whatever 7"
        grid.append([cell(cells[j], table, rng) for j in columns] + [more] * extra)
    if table.transposed:
        corner = table.names[table.used("identifier")[0]]
        grid = sorted(zip(*grid, strict=True), key=lambda line: line[0] != corner)
    writer.writerows(grid)
    raw = text.getvalue().encode(d["encoding"])
    path.write_bytes(gzip.compress(raw) if d["packed"] else raw)
    return written


def cell(value, table, rng):
    if value is None:
        return str(rng.choice(["", *table.markers]))
    if isinstance(value, float):
        return repr(value).replace(".", table.dialect["decimal"])
    return str(value)


def encoder(table, rows):
    """Scikit-learn's pieces, fitted to rows of numbers and words."""
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=0.01, sparse_output=False
    )
    fill = SimpleImputer(strategy="most_frequent")
    words = make_pipeline(fill, one_hot) if table.missing == "impute" else one_hot
    parts = [("n", SimpleImputer(strategy="median"), table.used("number"))]
    parts += [("c", words, table.used("category"))] * bool(table.used("category"))
    return ColumnTransformer(parts).fit(as_array(rows))


def own_fit(X, target, kernel):
    """The same model from encoded rows."""
    machine = psvm.PSVC if isinstance(target[0], str) else psvm.PSVR
    machine = machine(kernel=kernel, epsilon=1.0, random_state=0)
    return make_pipeline(StandardScaler(), machine).fit(X, np.array(target))


def check(seed, folder, capsys):
    """Compare one random table; returns what became of it."""
    rng = np.random.default_rng(seed)
    table = invent(rng)
    n, p, kernel = len(table.rows), len(table.names), str(rng.choice(["rbf", "linear"]))
    train, new, output = folder / "train.csv", folder / "new.csv", folder / "p.csv"
    options = [*table.options, "--missing", table.missing]
    if table.dialect["encoding"] == "latin-1":
        options += ["--encoding", "latin-1"]
    gaps = 0.0 if table.missing == "error" else 0.05
    # The corner of a transposed table is the name of nothing.
    ends = {table.kinds[0], table.kinds[-1]} if table.transposed else set()
    repeated = rng.random() < 0.05 and p > 1 and "identifier" not in ends
    if repeated:
        table.names[-1] = table.names[0]
    written = write(train, table, range(n), range(p + 1), rng, gaps=gaps)
    model = folder / "m.psvm"
    model.unlink(missing_ok=True)
    fit = ["fit", train, "--target", "target", "--kernel", kernel, "--epsilon", "1",
           "--model", model, *options, "-q"]  # fmt: skip
    code = main([str(a) for a in fit])
    said = capsys.readouterr().err
    if repeated:
        assert code == 3 and "have the same name" in said and not model.exists()
        return "repeated"
    assert code in (0, 5), said  # 5: the model is constant, and compared like any other
    able = [i for i in range(n) if table.missing == "impute" or not table.has_gap(written[i])]
    kept = [written[i] for i in able]
    pieces, saved = encoder(table, kept), psvm.load(model)
    X = pieces.transform(as_array(kept))
    saved = saved[1:] if table.used("category") else saved
    again = own_fit(X, [table.target[i] for i in able], kernel)
    if len(getattr(again, "classes_", "ab")) == 2:
        # Both solutions are within the tolerance of the solver, 1e-4, of the best one.
        close = 1e-2 * np.abs(values_of(again, X)).max()
        np.testing.assert_allclose(values_of(saved, X), values_of(again, X), atol=close, rtol=0)

    if table.used("category") and rng.random() < 0.3:
        table.rows[0][table.used("category")[0]] = "a new level"
    order, columns = rng.permutation(n)[: rng.integers(1, n)], rng.permutation(p)
    if rng.random() < 0.2 and not table.transposed:  # some rows, and so identifiers, twice
        order = rng.choice(n, size=len(order))
    given = write(new, table, order, columns, rng, extra=rng.random() < 0.5, target=False, gaps=0.1)
    arguments = ["predict", model, new, "--scores", "--output", output, "-q"]
    arguments += ["--encoding", "latin-1"] * (table.dialect["encoding"] == "latin-1")
    assert main([str(a) for a in arguments]) == 0, capsys.readouterr().err
    with open(output, newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    compare(table, given, found, lambda rows: pieces.transform(as_array(rows)), saved)
    return "compared"


def values_of(model, X):
    """What a model answers: decision values or numbers, one row for each row."""
    answer = getattr(model, "decision_function", model.predict)(X)
    return answer.reshape(len(X), -1)


def compare(table, given, found, encode, model):
    """Every row is there, in its place and with its name, and has the values of its own cells."""
    names = table.used("identifier")
    labels = [str(row[names[0]]) if names else str(i + 1) for i, row in enumerate(given)]
    assert [row["row"] for row in found] == labels
    able = [table.missing == "impute" or not table.has_gap(row) for row in given]
    assert [row["target"] != "" for row in found] == able
    assert [not row.get("reason") for row in found] == able
    found = [answer for answer, ok in zip(found, able, strict=True) if ok]
    if not found:
        return
    X = encode([row for row, ok in zip(given, able, strict=True) if ok])
    values, classes = values_of(model, X), getattr(model, "classes_", None)
    if classes is None:
        scores = [[float(answer["target"])] for answer in found]
        np.testing.assert_allclose(scores, values, rtol=1e-9, atol=1e-9)
        return
    shown = classes[1:] if len(classes) == 2 else classes
    scores = np.array([[float(row[f"score of {label}"]) for label in shown] for row in found])
    # With three classes a score counts votes of pairs, which rounding decides near zero.
    pairs = clone_with_pairs(model).decision_function(X).reshape(len(X), -1)
    clear = np.abs(pairs).min(axis=1) > 1e-9
    np.testing.assert_allclose(scores[clear], values[clear], rtol=1e-9, atol=1e-9)
    predicted = np.array([answer["target"] for answer in found])
    np.testing.assert_array_equal(predicted[clear], model.predict(X)[clear].astype(str))


def clone_with_pairs(model):
    """The same fitted model, whose decision values are those of pairs of classes."""
    model = copy.deepcopy(model)
    model[-1].set_params(decision_function_shape="ovo")
    return model


def as_array(rows):
    """Rows of numbers and words as scikit-learn takes them, NaN where a cell is missing."""
    X = np.array(rows, dtype=object)
    X[np.equal(X, None)] = np.nan
    return X


def test_random_tables(tmp_path, capsys):
    done = [check(seed, tmp_path, capsys) for seed in range(60)]
    assert done.count("compared") > 50 and "repeated" in done


@pytest.mark.slow
def test_many_random_tables(tmp_path, capsys):
    for seed in range(2000):
        try:
            check(seed, tmp_path, capsys)
        except Exception as error:
            raise AssertionError(f"The table of seed {seed} is wrong.") from error
