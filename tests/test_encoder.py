"""A model of a table: the same predictions from the file and from the table in memory."""

import csv
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psvm
from command import run, write
from psvm.io import DataError, Kind, TableEncoder, read_table

pd = pytest.importorskip("pandas")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def visits(n, seed):
    """Rows with numbers, words, dates and gaps, which all say something about the target."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        age, dose = round(rng.normal(50, 9), 2), round(rng.normal(), 3)
        sex, place = "fm"[rng.integers(2)], ("north", "south", "east")[rng.integers(3)]
        day = f"2024-0{1 + rng.integers(9)}-{10 + rng.integers(17)}"
        score = dose + (sex == "f") - (place == "east") + 0.3 * rng.normal()
        rows.append([age, sex, f"P{i * 7 + 3}", dose, place, day, "ill" if score > 0 else "well"])
        if rng.random() < 0.2:
            rows[-1][rng.choice([0, 1, 3, 4])] = ""
    return rows


NAMES = ["age", "sex", "code", "dose", "place", "visit", "state"]


@pytest.fixture
def model(folder):
    """A model that the command line has fitted."""
    write("train.csv", NAMES, visits(90, 1))
    fit = ("fit", "train.csv", "--target", "state", "--missing", "impute", "--type", "visit=date")
    assert run(*fit, "--epsilon", "1", "--no-cv", "--model", "m.psvm") == 0
    return psvm.load("m.psvm")


def predicted(name):
    """Predictions and scores of the command line, row by row."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run("predict", "m.psvm", name, "--scores", "--output", "p.csv") == 0
    with open("p.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [r["state"] for r in rows], np.array([float(r["score of well"]) for r in rows])


def frames_of(frame):
    """A DataFrame, with its columns in other orders and types, and as other libraries have it."""
    yield "as read", frame
    yield "reversed", frame[frame.columns[::-1]]
    yield "needed only", frame[["place", "dose", "visit", "age", "sex"]]
    yield "dates", frame.assign(visit=pd.to_datetime(frame["visit"]))
    words = {name: "category" for name in ("sex", "place")}
    yield "categories", frame.astype(words).convert_dtypes()
    arrow = pytest.importorskip("pyarrow")
    yield "Arrow", arrow.Table.from_pandas(frame)
    try:
        import polars
    except ImportError:
        return
    yield "Polars", polars.from_pandas(frame)


def test_a_model_of_the_command_line_takes_the_table_that_was_the_file(model):
    rows = visits(60, 2)
    rows[3][1], rows[5][4] = "x", "west"  # levels that the training data does not have
    write("new.csv", NAMES, rows)
    labels, scores = predicted("new.csv")
    assert len(set(labels)) == 2 and any("" in row[:5] for row in rows)
    frame = pd.read_csv("new.csv", float_precision="round_trip")
    for what, X in frames_of(frame):
        with pytest.warns(UserWarning, match="not in the training data"):
            assert model.predict(X).tolist() == labels, what
        with pytest.warns(UserWarning, match="not in the training data"):
            np.testing.assert_array_equal(model.decision_function(X), scores, what)


def test_a_matrix_will_do_only_if_all_columns_are_numbers(model, folder, rng):
    X = np.zeros((2, 5))
    with pytest.raises(TypeError, match=r"not plain numbers \(sex, place, visit\): X must be a Da"):
        model.predict(X)
    with pytest.raises(DataError, match="There is no column 'age'"):
        model.predict(pd.DataFrame(X, columns=list("abcde")))
    X = rng.normal(size=(40, 3)).round(3)
    y = np.where(X[:, 0] > 0, "p", "q")
    write("n.csv", ["a", "b", "c", "y"], [[*x, t] for x, t in zip(X, y, strict=True)])
    assert run("fit", "n.csv", "--target", "y", "--epsilon", "1", "--model", "n.psvm") == 0
    plain = psvm.load("n.psvm")
    frame = pd.DataFrame(X, columns=list("abc"))
    for table in (frame, frame[["c", "a", "b"]], pd.read_csv("n.csv")):
        np.testing.assert_array_equal(plain.decision_function(table), plain.decision_function(X))
    with pytest.raises(ValueError, match="X has 2 features, but TableEncoder is expecting 3"):
        plain.predict(X[:, :2])
    frame.loc[1, "b"] = np.nan
    with pytest.raises(DataError, match="1 missing values: row 2, column 'b'"):
        plain.predict(frame)


def test_numbers_that_are_levels_are_found_by_their_value(folder, rng):
    """A category of numbers, given by its type: pandas reads numbers, or floats beside gaps."""
    rows = [["0a1b"[i % 2] and f"0{i % 3}", x, "pq"[int(x + i % 3 > 1)]]
            for i, x in enumerate(rng.normal(size=60).round(3))]  # fmt: skip
    write("train.csv", ["ward", "a", "state"], rows)
    fit = ("fit", "train.csv", "--target", "state", "--type", "ward=category", "--epsilon", "1")
    assert run(*fit, "--missing", "impute", "--model", "m.psvm") == 0
    model = psvm.load("m.psvm")
    frame = pd.read_csv("train.csv", float_precision="round_trip")
    assert frame["ward"].dtype.kind == "i"
    code = model.decision_function(frame)
    words = frame.assign(ward=[row[0] for row in rows])
    np.testing.assert_array_equal(code, model.decision_function(words))
    gaps = frame.assign(ward=frame["ward"].astype(float).where(frame.index != 4))
    np.testing.assert_array_equal(np.delete(code, 4), np.delete(model.decision_function(gaps), 4))


def test_it_is_fitted_inside_folds_and_goes_everywhere(folder):
    """Medians and rare levels are those of the training rows, in other processes as well."""
    write("train.csv", NAMES, visits(90, 1))
    options = {"target": "state", "schema": "infer", "missing": "nan", "types": {"visit": "date"}}
    table = read_table("train.csv", **options)
    model = make_pipeline(
        TableEncoder(schema=table.schema), StandardScaler(), psvm.PSVC(epsilon=1.0)
    )
    from_file = cross_val_predict(model, table.X, table.y, cv=3, method="decision_function")
    frame = pd.read_csv("train.csv", float_precision="round_trip")
    folds = cross_val_predict(model, frame, table.y, cv=3, method="decision_function", n_jobs=2)
    np.testing.assert_array_equal(from_file, folds)
    encoder = TableEncoder(schema=table.schema).fit(table.X[30:])
    ages = frame["age"][30:]
    place = [column.name for column in table.schema.used].index("age")
    filled = encoder.transform(table.X)[frame["age"].isna(), place]
    assert len(filled) and (filled == np.median(ages.dropna())).all()
    again = pickle.loads(pickle.dumps(encoder))
    np.testing.assert_array_equal(again.transform(frame), encoder.transform(table.X))
    assert type(pickle.loads(pickle.dumps(table.X[3:]))) is type(table.X)
    assert clone(encoder).schema == table.schema


def test_what_a_data_frame_holds_follows_from_its_types():
    frame = pd.DataFrame({
        "number": [1.5, None, 3, 4] * 3, "whole": pd.array([1, 2, None, 4] * 3, "Int64"),
        "flag": [True, False, True, True] * 3, "word": ["a", "b", "a", None] * 3,
        "grade": pd.Categorical(["low", "high", "low", "high"] * 3), "name": list("xyzuvwabcdef"),
        "day": pd.to_datetime(["2024-01-01", "2024-01-02", None, "2024-01-05"] * 3),
        "same": [7] * 12,
    })  # fmt: skip
    encoder = TableEncoder().fit(frame)
    kinds = {column.name: column.kind for column in encoder.schema_.used}
    assert kinds == {
        "number": Kind.NUMBER, "whole": Kind.NUMBER, "flag": Kind.NUMBER, "word": Kind.CATEGORY,
        "grade": Kind.CATEGORY, "day": Kind.DATE,
    }  # fmt: skip
    why = {column.name: column.why for column in encoder.schema_.columns if not column.used}
    assert why == {"name": "its values name the rows", "same": "it is constant"}
    assert encoder.get_feature_names_out().tolist() == [
        "number", "whole", "flag", "day", "word=a", "word=b", "grade=high", "grade=low"
    ]  # fmt: skip
    expected = [[3, 2, 1, 19724, 1, 0, 0, 1], [4, 4, 1, 19727, 1, 0, 1, 0]]
    np.testing.assert_array_equal(encoder.transform(frame)[2:4], expected)
    with pytest.raises(DataError, match="'span' is of the type timedelta64"):
        TableEncoder().fit(pd.DataFrame({"a": [1, 2], "span": pd.to_timedelta([1, 2], "D")}))
    with pytest.raises(DataError, match="infinite numbers, such as in row 2 of column 'a'"):
        TableEncoder().fit(pd.DataFrame({"a": [1, np.inf, 3]}))
    with pytest.raises(ValueError, match="there is no data"):
        TableEncoder().fit(frame[:0])
    with pytest.raises(DataError, match="1 missing values: row 1, column 'a'"):
        TableEncoder(missing="error").fit(pd.DataFrame({"a": [1, 2, 3]})).transform(
            pd.DataFrame({"a": [np.nan]})
        )


# --- tables that estimators cannot use


def test_words_and_dates_are_refused_by_the_name_of_their_column():
    y = np.arange(20) % 2
    frame = pd.DataFrame({"mass": np.arange(20.0), "island": ["Torgersen", "Biscoe"] * 10})
    dates = pd.DataFrame({"mass": np.arange(20.0), "day": pd.date_range("2024-01-01", periods=20)})
    for model in (psvm.PSVC(), psvm.PSVR(), psvm.PSVCCV(cv=3), psvm.PSVMSelector()):
        for X in (frame, frame.astype({"island": "category"})):
            with pytest.raises(ValueError, match="words in column 'island', such as 'Torgersen'"):
                model.fit(X, y)
        with pytest.raises(
            TypeError, match=r"dates or spans of time in column 'day'.*TableEncoder"
        ):
            model.fit(dates, y)
        with pytest.raises(TypeError, match="dates or spans of time in an array"):
            model.fit(dates[["day"]].to_numpy(), y)
    for X in (frame, dates):  # what is advised works
        make_pipeline(TableEncoder(), StandardScaler(), psvm.PSVC(epsilon=0.1)).fit(X, y)


def test_numbers_that_are_too_large_are_refused_by_the_name_of_their_column(folder, rng, capsys):
    rows = [[x, 1e305 * x, "uv"[i % 2]] for i, x in enumerate(rng.normal(size=40).round(3))]
    write("t.csv", ["a", "b", "y"], rows)
    assert run("fit", "t.csv", "--target", "y", "--model", "m.psvm") == 3
    assert "Column 'b' holds numbers as large as" in capsys.readouterr().err


def test_relations_whose_rows_and_columns_have_other_orders_are_refused(rng):
    names = [f"P{i}" for i in range(30)]
    points = rng.normal(size=(30, 2))
    y = np.where(points[:, 0] > 0, "p", "q")
    K = pd.DataFrame(points @ points.T, index=names, columns=names)
    model = psvm.PSVC(kernel="precomputed", epsilon=1.0)
    order = rng.permutation(30)
    for wrong in (K.iloc[:, order], K.iloc[order]):
        with pytest.raises(
            ValueError, match=r"in different orders: row \d+ is .* X.loc\[X.columns"
        ):
            model.fit(wrong, y)
        with pytest.raises(ValueError, match="in different orders"):
            psvm.preprocessing.DoubleCentering().fit(wrong)
    shuffled = K.iloc[:, order]
    model.fit(shuffled.loc[shuffled.columns], y[order])
    assert set(model.support_objects_) <= set(names)
    expected = psvm.PSVC(kernel="precomputed", epsilon=1.0).fit(K, y)
    assert set(model.support_objects_) == set(expected.support_objects_)
    assert model.predict(K.iloc[order][:7][shuffled.columns]).shape == (7,)  # rows in any order
