"""Tables as people have them: from the file to the prediction no number is wrong without a word."""

import csv
import json
import os
import warnings

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import psvm
from command import as_json, run, write
from psvm.io import Column, DataError, Kind, Schema, TableEncoder, read_table
from psvm.persistence import ModelFileError


def load_schema(path):
    return psvm.load(path)[0].schema_


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def patients(folder, rng):
    """Rows of an identifier in the middle, numbers, categories and two classes."""
    rows = []
    for i in range(60):
        age, sex, dose = round(rng.normal(50, 9), 2), "fm"[i % 2], round(rng.normal(), 3)
        place = ("north", "south", "east")[i % 3]
        sick = "sick" if dose + 0.5 * (sex == "f") > 0 else "healthy"
        rows.append({"age": age, "sex": sex, "code": f"P-{900 - 7 * i}", "dose": dose,
                     "place": place, "state": sick})  # fmt: skip
    return rows


def save_rows(path, rows, names=None):
    names = list(rows[0]) if names is None else names
    return write(path, names, [[row[name] for name in names] for row in rows])


# --- names


def test_two_genes_of_one_name_are_refused_in_both_orientations(folder, capsys):
    genes = [["g1", 1, 2, 3], ["g2", 4, 5, 7], ["g1", 2, 2, 9]]
    write("genes.tsv", ["gene", "s1", "s2", "s3"], genes, "\t")
    write("y.csv", ["sample", "y"], [["s1", "a"], ["s2", "b"], ["s3", "a"]])
    with pytest.raises(DataError, match="lines 2 and 4 have the same name 'g1'"):
        read_table("genes.tsv", transpose=True)
    fit = ("fit", "genes.tsv", "--transpose", "--target-file", "y.csv", "--model", "m.psvm")
    assert run(*fit) == 3
    assert "lines 2 and 4 have the same name 'g1'" in capsys.readouterr().err
    write("columns.csv", ["g1", "g2", "g1"], [[1, 2, 3]])
    with pytest.raises(DataError, match="columns 1 and 3 have the same name 'g1'"):
        read_table("columns.csv")
    np.savez("a.npz", X=np.eye(3), y=[0, 1, 0], feature_names=["g1", "g2", "g1"])
    with pytest.raises(DataError, match="columns 1 and 3 have the same name 'g1'"):
        read_table("a.npz", schema="infer")


def test_columns_are_found_by_name_and_never_by_place(folder, capsys, rng):
    X = rng.normal(size=(30, 3)).round(3)
    y = np.where(X[:, 0] > 0, "p", "q")
    write("t.csv", ["2", "b", "0", "y"], [[*x, t] for x, t in zip(X, y, strict=True)])
    fit = ("fit", "t.csv", "--target", "y", "--epsilon", "1", "--model", "m.psvm")
    assert run(*fit) == 0
    write("new.csv", ["0", "more", "2", "b"], [[x[2], 5, x[0], x[1]] for x in X])
    assert run("predict", "m.psvm", "new.csv", "--output", "p.csv", "--scores", "-v") == 0
    assert "does not know are ignored: more" in capsys.readouterr().err
    expected = psvm.load("m.psvm").decision_function(X)
    np.testing.assert_array_equal([float(r["score of q"]) for r in rows_of("p.csv")], expected)
    # A column called "2" must not be the third one.
    write("less.csv", ["0", "more", "b"], [[x[2], 5, x[1]] for x in X])
    assert run("predict", "m.psvm", "less.csv") == 3
    assert "There is no column '2'; the model needs 3 columns" in capsys.readouterr().err


def test_files_without_names_are_matched_by_place(folder, capsys, rng):
    X = rng.normal(size=(30, 3)).round(3)
    y = np.where(X[:, 0] > 0, 1, 0)
    np.savetxt("t.csv", np.column_stack([y, X]), delimiter=",", fmt="%.3f")
    np.savetxt("new.csv", X, delimiter=",", fmt="%.3f")
    fit = ("fit", "t.csv", "--target", "0", "--epsilon", "1", "--model", "m.psvm")
    assert run(*fit) == 0
    expected = psvm.load("m.psvm").decision_function(X)
    for name in ("t.csv", "new.csv"):  # with the target and without it
        assert run("predict", "m.psvm", name, "--output", "p.csv", "--scores") == 0
        found = [float(row["score of 1"]) for row in rows_of("p.csv")]
        np.testing.assert_array_equal(found, expected)
    np.savetxt("wide.csv", np.column_stack([X, X]), delimiter=",", fmt="%.3f")
    capsys.readouterr()
    assert run("predict", "m.psvm", "wide.csv") == 3
    assert "There are 6 columns, but the model was fitted to 3" in capsys.readouterr().err


def test_identifiers_keep_their_rows_wherever_they_stand(patients, capsys):
    save_rows("t.csv", patients)
    fit = ("fit", "t.csv", "--target", "state", "--model", "m.psvm")
    assert run(*fit) == 0
    assert "left out         code: its values name the rows" in capsys.readouterr().out
    assert load_schema("m.psvm").row_names == "code"
    save_rows("new.csv", patients[:10][::-1], ["place", "dose", "code", "age", "sex"])
    assert run("predict", "m.psvm", "new.csv", "--output", "p.csv") == 0
    assert [r["row"] for r in rows_of("p.csv")] == [r["code"] for r in patients[:10][::-1]]
    code, result = as_json(capsys, "predict", "m.psvm", "new.csv")
    assert code == 0 and result["rows"] == [r["code"] for r in patients[:10][::-1]]
    assert len(result["predictions"]) == 10
    save_rows("one.csv", patients[:1], ["code", "place", "dose", "age", "sex"])
    code, result = as_json(capsys, "predict", "m.psvm", "one.csv")
    assert result["rows"] == [patients[0]["code"]]


def test_support_objects_are_called_by_the_names_of_their_rows(patients, capsys):
    pytest.importorskip("matplotlib")
    save_rows("t.csv", patients)
    fit = ("fit", "t.csv", "--target", "state", "--epsilon", "3", "--model", "m.psvm")
    code, result = as_json(capsys, *fit)
    model = psvm.load("m.psvm")
    names = [patients[j]["code"] for j in model[-1].support_]
    assert code == 0 and names and result["support"] == names
    assert run("convert", "m.psvm", "m.txt") == 0
    with open("m.txt") as file:
        text = file.read()
    assert all(name in text for name in names)
    report = ("report", "t.csv", "--model", "m.psvm", "--output", "r.html", "--folds", "3")
    assert run(*report) == 0
    with open("r.html") as file:
        page = file.read()
    assert all(name in page for name in names) and "row 1<" not in page


def test_rows_are_counted_from_one_as_in_the_file(folder, capsys, rng):
    X = rng.normal(size=(30, 2)).round(3)
    rows = [[*x, "pq"[int(x[0] > 0)]] for x in X.tolist()]
    rows[4][1] = ""
    write("t.csv", ["a", "b", "y"], rows)
    fit = ("fit", "t.csv", "--target", "y", "--missing", "drop", "--epsilon", "2")
    code, result = as_json(capsys, *fit, "--model", "m.psvm")
    places = psvm.load("m.psvm")[-1].support_
    assert code == 0
    assert result["support"] == [str(j + 1 if j < 4 else j + 2) for j in places]


# --- missing values


def test_a_row_that_cannot_be_predicted_keeps_its_place(folder, capsys, rng):
    X = rng.normal(size=(40, 2)).round(3)
    rows = [[*x, "pq"[int(x[0] > 0)]] for x in X.tolist()]
    whole = write("whole.csv", ["a", "b", "y"], rows)
    gaps = [list(row) for row in rows]
    gaps[3][1], gaps[7][0] = "", "NA"
    write("gaps.csv", ["a", "b", "y"], gaps)
    for missing, data in (("drop", "gaps.csv"), ("error", whole)):
        fit = ("fit", data, "--target", "y", "--missing", missing, "--model", "m.psvm")
        assert run(*fit) == 0
        capsys.readouterr()
        predict = ("predict", "m.psvm", "gaps.csv", "--output", "p.csv", "--scores")
        assert run(*predict) == 0
        assert "2 of 40 rows cannot be predicted, such as 4 (missing: b)" in capsys.readouterr().err
        found = rows_of("p.csv")
        assert [row["row"] for row in found] == [str(i + 1) for i in range(40)]
        assert [(i, row["y"], row["reason"]) for i, row in enumerate(found) if row["reason"]] == [
            (3, "", "missing: b"), (7, "", "missing: a")
        ]  # fmt: skip
        able = [i for i in range(40) if i not in (3, 7)]
        expected = psvm.load("m.psvm").decision_function(X[able])
        np.testing.assert_array_equal([float(found[i]["score of q"]) for i in able], expected)
        _, result = as_json(capsys, *predict[:3])
        assert result["predictions"][3] is None and result["reasons"][7] == "missing: a"
        assert (result["n_rows"], result["n_predicted"]) == (40, 38)
    assert run("predict", "m.psvm", "gaps.csv", "--missing", "error") == 3
    assert "2 missing values: line 5, column 2 'b'" in capsys.readouterr().err
    assert run("predict", "m.psvm", "gaps.csv", "--missing", "impute") == 2
    assert "fit it with --missing impute" in capsys.readouterr().err


def test_missing_means_the_same_for_numbers_and_words(patients, capsys):
    patients[5]["sex"], patients[9]["age"], patients[11]["place"] = "", "NA", "None"
    save_rows("t.csv", patients)
    fit = ("fit", "t.csv", "--target", "state", "--model", "m.psvm")
    assert run(*fit) == 3
    said = capsys.readouterr().err
    assert "3 missing values: line 7, column 2 'sex'; line 11, column 1 'age'" in said
    assert run(*fit, "--missing", "drop", "-v") == 0
    assert "3 rows with missing values were left out" in capsys.readouterr().err
    for missing in ("drop", "impute"):
        assert run(*fit, "--missing", missing) == 0
        levels = {column.name: column.levels for column in load_schema("m.psvm").columns}
        assert levels["sex"] == ("f", "m") and levels["place"] == ("east", "north", "south")
    _, result = as_json(capsys, "predict", "m.psvm", "t.csv")
    assert result["n_predicted"] == 60


def test_imputation_is_part_of_the_model_and_so_happens_inside_folds(patients):
    patients[5]["sex"], patients[9]["age"] = "", ""
    save_rows("t.csv", patients)
    fit = ("fit", "t.csv", "--target", "state", "--missing", "impute", "--model", "m.psvm")
    assert run(*fit) == 0
    transformer = psvm.load("m.psvm")[0].transformer_
    ages = [row["age"] for row in patients if row["age"] != ""]
    imputer = transformer.named_transformers_["numbers"]
    assert imputer.statistics_[0] == pytest.approx(np.median(ages), rel=1e-15)
    assert isinstance(transformer.named_transformers_["categories"][-1], OneHotEncoder)


def test_a_class_called_none_is_a_class(folder, capsys, rng):
    X = rng.normal(size=(60, 2)).round(3)
    words = ("none", "mild", "severe")
    rows = [[*x, words[i % 3]] for i, x in enumerate(X.tolist())]
    write("t.csv", ["a", "b", "y"], rows)
    assert run("fit", "t.csv", "--target", "y", "--model", "m.psvm", "--epsilon", "0.1") == 0
    assert psvm.load("m.psvm").classes_.tolist() == ["mild", "none", "severe"]
    rows = [[*row[:2], "None" if row[2] == "none" else row[2]] for row in rows]
    write("t.csv", ["a", "b", "y"], rows)
    capsys.readouterr()
    assert run("fit", "t.csv", "--target", "y", "--model", "m.psvm", "--epsilon", "0.1") == 0
    assert "'None' is taken for a class of the target 'y', in 20 rows" in capsys.readouterr().err
    assert psvm.load("m.psvm").classes_.tolist() == ["None", "mild", "severe"]
    code, result = as_json(capsys, "predict", "m.psvm", "t.csv", "--target", "y")
    assert code == 0 and result["unknown_labels"] == []
    fit = ("fit", "t.csv", "--target", "y", "--model", "m.psvm", "--na-values", "None")
    fit = (*fit, "--epsilon", "0.1")
    assert run(*fit) == 3 and run(*fit, "--missing", "drop") == 0
    assert psvm.load("m.psvm").classes_.tolist() == ["mild", "severe"]


def test_a_column_of_numbers_and_a_few_words_is_an_error_and_markers_can_be_said(patients, capsys):
    patients[3]["age"] = "?"
    save_rows("t.csv", patients)
    fit = ("fit", "t.csv", "--target", "state", "--model", "m.psvm")
    assert run(*fit) == 3
    said = capsys.readouterr().err
    assert "line 5, column 1: '?' in column 'age' is not a number, but most" in said
    assert "--na-values '?'" in said
    assert run(*fit, "--na-values", "?", "--missing", "impute") == 0
    assert {"?", "NA"} < set(load_schema("m.psvm").na_values)
    code, result = as_json(capsys, "predict", "m.psvm", "t.csv")
    assert code == 0 and result["n_predicted"] == 60  # the markers are those of the model


def test_markers_are_added_to_those_of_pandas_or_replace_them(patients, capsys):
    patients[3]["age"], patients[5]["age"] = "?", "NA"
    save_rows("t.csv", patients)
    fit = ("fit", "t.csv", "--target", "state", "--model", "m.psvm", "--missing", "impute")
    assert run(*fit, "--na-values", "?") == 0
    assert run(*fit, "--na-values", "?", "--no-default-na") == 3
    assert "'NA' in column 'age' is not a number" in capsys.readouterr().err
    assert run(*fit, "--na-values", "?", "--na-values", "NA", "--no-default-na") == 0
    assert load_schema("m.psvm").na_values == ("?", "NA")
    # Prediction adds to the markers of the model.
    patients[7]["age"] = "-99"
    save_rows("new.csv", patients)
    capsys.readouterr()
    code, result = as_json(capsys, "predict", "m.psvm", "new.csv", "--na-values", "-99")
    assert code == 0 and result["n_predicted"] == 60


def test_a_marker_that_is_given_is_missing_in_the_target_too(patients, capsys):
    for row in patients[::4]:
        row["state"] = "None"
    save_rows("t.csv", patients)
    fit = ("fit", "t.csv", "--target", "state", "--model", "m.psvm", "--missing", "drop")
    assert run(*fit) == 0
    assert "'None' is taken for a class of the target" in capsys.readouterr().err
    assert "None" in load_schema("m.psvm").target_levels
    assert run(*fit, "--na-values", "None") == 0
    assert "is taken for a class" not in capsys.readouterr().err
    assert "None" not in load_schema("m.psvm").target_levels
    assert run(*fit, "--no-default-na") == 0  # then it is a word like any other
    assert "is taken for a class" not in capsys.readouterr().err
    assert "None" in load_schema("m.psvm").target_levels


@pytest.mark.parametrize("word", ["inf", "?", "1,5", "-inf"])
def test_a_first_column_of_numbers_with_one_word_is_no_column_of_names(tmp_path, word, capsys):
    """Taken for names of the rows, the numbers would be lost without a word."""
    rows = [f"{1.5 * i};{i % 4};{'uv'[i % 2]}" for i in range(30)]
    rows[3] = f"{word};2;v"
    (tmp_path / "t.csv").write_text("dose;b;y\n" + "\n".join(rows) + "\n")
    fit = ("fit", tmp_path / "t.csv", "--target", "y", "--model", tmp_path / "m.psvm")
    assert run(*fit) == 3
    said = capsys.readouterr().err
    if word == "1,5":
        assert "line 5, column 1: In column 'dose' '0.0' and '1,5' are written in differen" in said
    else:
        assert f"line 5, column 1: '{word}' in column 'dose'" in said
    assert run("check", tmp_path / "t.csv", "--target", "y") == 3
    assert f"'{word}'" in capsys.readouterr().out


def test_a_target_of_dates_is_refused_unless_they_are_classes(tmp_path, capsys):
    rows = [f"{i % 5},{i % 3},2024-01-{i % 2 + 1:02d}" for i in range(30)]
    (tmp_path / "t.csv").write_text("a,b,visit\n" + "\n".join(rows) + "\n")
    fit = ("fit", tmp_path / "t.csv", "--target", "visit", "--model", tmp_path / "m.psvm")
    assert run(*fit) == 3
    assert "Target 'visit' holds dates, e.g. '2024-01-01'" in capsys.readouterr().err
    assert run("check", tmp_path / "t.csv", "--target", "visit") == 3
    assert "The target 'visit' holds dates" in capsys.readouterr().out
    assert run(*fit, "--task", "classification", "--no-cv") in (0, 5)


@pytest.mark.parametrize("corner", ["gene", "id", ""])
@pytest.mark.parametrize("transpose", [True, False])
def test_columns_may_be_called_by_numbers(tmp_path, corner, transpose):
    """Samples or wavelengths: the line of their names is no row of data."""
    (tmp_path / "t.csv").write_text(f"{corner},1001,1002,1003\nA,0.5,1.5,2\nB,3,4,5.5\n")
    table = read_table(tmp_path / "t.csv", transpose=transpose)
    assert table.X.tolist() == ([[0.5, 3], [1.5, 4], [2, 5.5]] if transpose
                                else [[0.5, 1.5, 2], [3, 4, 5.5]])  # fmt: skip
    numbers, letters = ["1001", "1002", "1003"], ["A", "B"]
    names = (table.row_names, table.feature_names)
    assert names == ((numbers, letters) if transpose else (letters, numbers))


def test_words_in_a_transposed_table_are_an_error_that_says_what_to_do(tmp_path, capsys):
    rows = ["gene,s1,s2,s3,s4,s5,s6", "sex,f,m,f,m,f,m", "y,1,2,1,2,1,2", "g,0.1,0.7,0.2,0.9,0,1"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    fit = ("fit", tmp_path / "t.csv", "--transpose", "--target", "y", "--no-cv", "--model",
           tmp_path / "m.psvm")  # fmt: skip
    assert run(*fit) == 3
    said = capsys.readouterr().err
    assert "line 2, column 2: 'f'" in said and "A transposed table holds numbers only" in said
    assert "--ignore 'sex'" in said and "name the row 'sex' as the target" in said
    assert run("check", tmp_path / "t.csv", "--transpose", "--target", "y") == 3
    assert "A transposed table holds numbers only" in capsys.readouterr().out
    assert run(*fit, "--ignore", "sex") == 0
    # Prediction needs neither the words nor the target.
    capsys.readouterr()
    code, result = as_json(capsys, "predict", tmp_path / "m.psvm", tmp_path / "t.csv")
    assert code == 0 and result["rows"] == ["s1", "s2", "s3", "s4", "s5", "s6"]


def test_a_level_that_looks_like_a_missing_value_is_named(patients, capsys):
    for row in patients[::5]:
        row["place"] = "?"
    save_rows("t.csv", patients)
    fit = ("fit", "t.csv", "--target", "state", "--model", "m.psvm")
    assert run(*fit) == 0
    said = capsys.readouterr().err
    assert "'?' is taken for a level of place" in said and "--na-values '?'" in said
    assert run(*fit, "--na-values", "?") == 3
    assert "12 missing values: line 2, column 5 'place'" in capsys.readouterr().err
    assert run(*fit, "--na-values", "?", "--missing", "impute") == 0
    assert "?" not in load_schema("m.psvm").used[-1].levels


# --- categories


def test_unseen_levels_are_named(patients, capsys):
    save_rows("t.csv", patients)
    assert run("fit", "t.csv", "--target", "state", "--model", "m.psvm") == 0
    patients[0]["place"], patients[1]["sex"] = "mars", "x"
    save_rows("new.csv", patients)
    capsys.readouterr()
    assert run("predict", "m.psvm", "new.csv", "--output", "p.csv") == 0
    said = capsys.readouterr().err
    assert "Some levels were not in the training data: sex: x; place: mars" in said


def test_labels_that_the_model_does_not_know_are_said(patients, capsys):
    save_rows("t.csv", patients)
    assert run("fit", "t.csv", "--target", "state", "--model", "m.psvm") == 0
    code, result = as_json(capsys, "predict", "m.psvm", "t.csv", "--target", "state")
    assert code == 0 and result["accuracy"] > 70
    for row in patients:
        row["state"] = int(row["state"] == "sick")
    save_rows("coded.csv", patients)
    assert run("predict", "m.psvm", "coded.csv", "--target", "state", "--output", "p.csv") == 0
    said = capsys.readouterr().err
    assert "labels that the model does not know (0, 1); it knows healthy, sick" in said
    code, result = as_json(capsys, "predict", "m.psvm", "coded.csv", "--target", "state")
    assert "accuracy" not in result and result["unknown_labels"] == ["0", "1"]


def test_rare_levels_share_a_column_and_are_named(folder, capsys, rng):
    rows = [
        [x, "abc"[i % 3], "pq"[int(x > 0)]] for i, x in enumerate(rng.normal(size=300).round(3))
    ]
    rows[7][1], rows[9][1] = "rare", "odd"
    write("t.csv", ["a", "kind", "y"], rows)
    assert run("fit", "t.csv", "--target", "y", "--model", "m.psvm") == 0
    assert "count as one rare level: kind: odd, rare" in capsys.readouterr().err
    schema, model = load_schema("m.psvm"), psvm.load("m.psvm")
    names = ["a", "kind=a", "kind=b", "kind=c", "kind=rare levels"]
    assert model[0].get_feature_names_out().tolist() == names
    assert model[0].rare_levels_ == {"kind": ["odd", "rare"]}
    table = read_table("t.csv", schema=schema)
    assert model[0].transform(table.X)[[7, 9], -1].tolist() == [1, 1]


def test_what_tells_nothing_is_left_out_and_said(folder, capsys, rng):
    X = rng.normal(size=(40, 2)).round(3)
    rows = [[7, 1000 + i, *x, "same", f"note {i // 2}", "pq"[int(x[0] > 0)]]
            for i, x in enumerate(X.tolist())]  # fmt: skip
    names = ["constant", "record", "a", "b", "word", "note", "y"]
    write("t.csv", names, rows)
    fit = ("fit", "t.csv", "--target", "y", "--model", "m.psvm")
    assert run(*fit) == 0
    said = capsys.readouterr().out
    for words in (
        "constant: it is constant",
        "record: its numbers name the rows",
        "word: it is constant",
        "note: 20 different values in 40 rows",
    ):
        assert words in said
    schema = load_schema("m.psvm")
    assert schema.feature_names == ["a", "b"] and schema.row_names == "record"
    assert run(*fit, "--type", "record=number", "--type", "note=category") == 0
    schema = load_schema("m.psvm")
    assert schema.feature_names == ["record", "a", "b", "note"]
    write("less.csv", ["b", "a"], [[x[1], x[0]] for x in X])  # what is left out may be absent
    assert run(*fit) == 0 and run("predict", "m.psvm", "less.csv") == 0


def test_dates_are_refused_or_turned_into_numbers(patients, capsys):
    for i, row in enumerate(patients):
        row["visit"] = f"2024-0{1 + i % 9}-{10 + i % 17}"
    save_rows("t.csv", patients)
    fit = ("fit", "t.csv", "--target", "state", "--model", "m.psvm")
    assert run(*fit) == 3
    said = capsys.readouterr().err
    assert "'2024-01-10' in column 'visit' is a date" in said and "--type" in said
    assert run(*fit, "--ignore", "visit") == 0
    assert run(*fit, "--type", "visit=date") == 0
    table = read_table("t.csv", schema=load_schema("m.psvm"))
    days = np.array([row["visit"] for row in patients], "datetime64[D]").astype(float)
    np.testing.assert_array_equal(table.X[:, table.feature_names.index("visit")], days)
    assert run(*fit, "--type", "visit") == 2
    for form, day in (("1.2.2024", 19754), ("2024/2/1", 19754), ("2024-02-01T06:00Z", 19754.25)):
        write("d.csv", ["d", "a", "y"], [[form, 1, 0], [form, 2, 1]])
        assert read_table("d.csv", schema="infer", types={"d": "date"}).X[0, 0] == day
    write("d.csv", ["a", "d", "y"], [[1, "1/2/2024", 0], [2, "3/4/2024", 1]])
    with pytest.raises(DataError, match="is a date"):
        read_table("d.csv", schema="infer")
    with pytest.raises(DataError, match="'1/2/2024' is not a date such as 2024-03-01"):
        read_table("d.csv", schema="infer", types={"d": "date"})


def test_quotes_within_quoted_cells(folder, capsys):
    lines = ["note,a,y"]
    lines += [f'"said ""ok"", visit {i}",{i * i % 7},{"uv"[i % 2]}' for i in range(20)]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    fit = ("fit", "t.csv", "--target", "y", "--model", "m.psvm", "--epsilon", "0.1")
    assert run(*fit) == 0
    code, result = as_json(capsys, "predict", "m.psvm", "t.csv")
    assert code == 0 and result["rows"][3] == 'said "ok", visit 3'
    (folder / "t.csv").write_text("\n".join(["a,note,y", '1,"said ""ok""",0', "2,3,1"]) + "\n")
    with pytest.raises(DataError, match="""'said "ok"' in column 'note' is not a number"""):
        read_table("t.csv")


def test_a_report_is_a_page(patients, capsys):
    save_rows("t.csv", patients)
    assert run("report", "t.csv", "--target", "state", "--output", "r.pdf") == 2
    assert "--output must end with .html" in capsys.readouterr().err


# --- the same in Python


def test_the_transformer_is_that_of_scikit_learn(patients):
    pd = pytest.importorskip("pandas")
    patients[5]["sex"], patients[9]["age"] = "", ""
    frame = pd.read_csv(save_rows("t.csv", patients))
    table = read_table("t.csv", target="state", schema="infer", missing="nan")
    assert table.row_names == frame["code"].tolist()
    expected = ColumnTransformer([
        ("n", SimpleImputer(strategy="median"), ["age", "dose"]),
        ("c", make_pipeline(SimpleImputer(strategy="most_frequent"),
                            OneHotEncoder(sparse_output=False)), ["sex", "place"]),
    ])  # fmt: skip
    expected = expected.fit_transform(frame)
    encoder = TableEncoder(schema=table.schema)
    for X in (table.X, frame, table.to_frame(), frame[frame.columns[::-1]]):
        np.testing.assert_array_equal(encoder.fit_transform(X), expected)
    own = TableEncoder().fit(frame.drop(columns="state"))
    np.testing.assert_array_equal(own.transform(frame), expected)
    assert encoder.get_feature_names_out().tolist() == [
        "age", "dose", "sex=f", "sex=m", "place=east", "place=north", "place=south"
    ]  # fmt: skip


def test_a_schema_survives_a_file(patients):
    save_rows("t.csv", patients)
    table = read_table("t.csv", target="state", schema="infer")
    steps = (TableEncoder(schema=table.schema), StandardScaler(), psvm.PSVC(epsilon=1.0))
    model = make_pipeline(*steps).fit(table.X, table.y)
    psvm.save(model, "m.psvm")
    assert load_schema("m.psvm") == table.schema
    again = psvm.load("m.psvm")
    np.testing.assert_array_equal(
        again.decision_function(table.X), model.decision_function(table.X)
    )
    assert table.schema == Schema.from_dict(json.loads(json.dumps(table.schema.to_dict())))
    with pytest.raises(TypeError, match=r"schema must be a psvm\.io\.Schema"):
        TableEncoder(schema={}).fit(table.X)


@pytest.mark.parametrize(
    "change",
    [
        {"names": [1]}, {"special": {"99": ["number", True, [], ""]}}, {"missing": "maybe"},
        {"special": {"0": ["gene", True, [], ""]}}, {"n_columns": 99}, {"na_values": "NA"},
        {"special": {"0": ["number"]}}, {"row_names": 3}, {"special": None},
    ],
)  # fmt: skip
def test_a_damaged_schema_is_refused(patients, monkeypatch, change):
    save_rows("t.csv", patients)
    table = read_table("t.csv", target="state", schema="infer")
    with pytest.raises(ValueError):
        Schema.from_dict({**table.schema.to_dict(), **change})
    model = make_pipeline(TableEncoder(schema=table.schema), psvm.PSVC(epsilon=1.0))
    model.fit(table.X, table.y)
    damaged = {**table.schema.to_dict(), **change}
    monkeypatch.setattr(Schema, "to_dict", lambda self: damaged)
    with pytest.raises(ModelFileError, match=r"m\.psvm was not written"):
        psvm.save(model, "m.psvm")
    assert not os.path.exists("m.psvm")


def test_models_that_were_saved_without_a_schema(folder, rng, capsys):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(rng.normal(size=(30, 3)).round(3), columns=list("abc"))
    y = np.where(X["a"] > 0, "p", "q")
    model = psvm.PSVC(epsilon=1.0).fit(X, y)
    psvm.save(model, "m.psvm")
    X[["c", "a", "b"]].to_csv("new.csv", index=False)
    code, result = as_json(capsys, "predict", "m.psvm", "new.csv")
    assert code == 0 and result["predictions"] == model.predict(X).tolist()


def test_words_of_options(folder):
    (folder / "t.csv").write_text("a,b\n1,x\n2,y\n3,x\n4,y\n")
    for wrong in ({"types": {"a": "gene"}}, {"types": ["a"]}, {"na_values": "NA"},
                  {"na_values": [1]}, {"schema": "guess"}, {"schema": {}}):  # fmt: skip
        with pytest.raises((TypeError, ValueError)):
            read_table("t.csv", **wrong)
    assert read_table("t.csv", schema="infer").schema.columns == (
        Column("a", Kind.NUMBER), Column("b", Kind.CATEGORY, levels=("x", "y"))
    )  # fmt: skip
    with pytest.raises(DataError, match="'x' in column 'b' is not a number"):
        read_table("t.csv", schema="infer", categorical="error")
    assert read_table("t.csv", schema="infer", categorical="drop").feature_names == ["a"]
    with pytest.raises(DataError, match="No column is left to learn"), warnings.catch_warnings():
        read_table("t.csv", target="a", schema="infer", types={"b": "text"})
