"""The data dictionary of `psvm check`: every column, every problem, and what to do next."""

import shlex

import numpy as np
import pytest

from command import as_json, run, write
from psvm.io import Kind, Severity, describe_file, read_table

NAMES = ["code", "age", "sex", "city", "visit", "crp", "score", "batch", "therapy", "marker"]
NAMES.append("state")


@pytest.fixture
def messy(tmp_path, monkeypatch, rng):
    """A table with everything that people have."""
    monkeypatch.chdir(tmp_path)
    sick = np.arange(60) % 3 == 0
    rows = [
        [
            f"P{i:03d}", "" if i % 12 == 0 else 20 + i, "fm"[i % 2], ["Wien", "Linz", "?"][i % 3],
            f"2024-{i % 12 + 1:02d}-{i % 28 + 1:02d}", "low" if i % 8 == 1 else 0.5 + i,
            -999 if i % 9 == 0 else round(10 * rng.random(), 2), 7,
            "treated" if sick[i] else "none given", round(rng.normal() + 2 * sick[i], 3),
            "sick" if sick[i] else "healthy",
        ]
        for i in range(60)
    ]  # fmt: skip
    write("t.csv", NAMES, [*rows, rows[4]])
    return [*rows, rows[4]]


def test_every_column_has_a_line(messy):
    found = describe_file("t.csv", target="state")
    kinds = {column.name: column.kind for column in found.columns}
    number, category = Kind.NUMBER, Kind.CATEGORY
    assert kinds == {
        "code": Kind.IDENTIFIER, "age": number, "sex": category, "city": category,
        "visit": Kind.DATE, "crp": Kind.TEXT, "score": number, "batch": number,
        "therapy": category, "marker": number, "state": Kind.TARGET,
    }  # fmt: skip
    by_name = {column.name: column for column in found.columns}
    ages = [row[1] for row in messy if row[1] != ""]
    assert by_name["age"].values == f"{min(ages)} to {max(ages)}"
    assert by_name["age"].missing == pytest.approx(100 * (1 - len(ages) / 61))
    assert by_name["sex"].use == "2 columns of 0 and 1"
    assert "constant" in by_name["batch"].use and by_name["state"].use == "the target"
    assert found.n_rows == 61 and found.classes == {"healthy": 41, "sick": 20}


def test_check_finds_all_problems_at_once(messy, capsys):
    code, result = as_json(capsys, "check", "t.csv", "--target", "state")
    assert code == 3 and not result["readable"]
    text = " ".join(f"{f['message']} {f['advice']}" for f in result["findings"])
    for words in (
        "'visit' holds dates",
        "8 of 61 cells of column 'crp' are not numbers: 'low' 8x",
        "5 cells are missing, in 5 of 61 rows",
        "'?' in column 'city' (20 rows) looks like a missing value",
        "-999 in column 'score' looks like a missing value",
        "Column 'therapy' is almost the target itself",
        "1 of 61 rows repeat other rows",
    ):
        assert words in text
    places = {f["message"].split("'")[1]: f["column"] for f in result["findings"] if f["column"]}
    assert places["visit"] == 5 and places["therapy"] == 9


def test_the_command_to_copy_works(messy, capsys):
    _, result = as_json(capsys, "check", "t.csv", "--target", "state")
    program, *arguments = shlex.split(result["next"])
    assert program == "psvm" and run(*arguments, "--no-cv") == 0
    capsys.readouterr()
    _, result = as_json(capsys, *["check", *arguments[1:-2]])
    assert result["readable"]


def test_the_command_names_a_target_if_none_is_given(messy, capsys):
    write("u.csv", ["a", "outcome", "b"], [[i % 7, "uv"[i % 2], i * i % 11] for i in range(40)])
    code, result = as_json(capsys, "check", "u.csv")
    assert code == 0 and "--target outcome" in result["next"]


def test_a_text_column_does_not_end_the_check(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [[f"free text {i}", i / 7, "xy"[i % 2]] for i in range(200)]
    write("t.csv", ["a", "note", "y"], [[b, a, c] for a, b, c in rows])
    code, result = as_json(capsys, "check", "t.csv", "--target", "y")
    assert code == 0 and len(result["columns"]) == 3 and result["n_rows"] == 200
    assert not any(f["severity"] == "error" for f in result["findings"])


def test_rows_that_cannot_be_read_and_the_dictionary_of_the_others(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,y\n1,2,u\n3,v\n5,6,u\n7,8,v\n")
    code, result = as_json(capsys, "check", "t.csv", "--target", "y")
    assert code == 3 and [f["line"] for f in result["findings"] if f["severity"] == "error"] == [3]
    assert [c["values"] for c in result["columns"]] == ["1 to 7", "2 to 8", "u 2x, v 1x"]


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_a_column_that_determines_the_target_is_suspected(tmp_path, monkeypatch, rng, kind):
    monkeypatch.chdir(tmp_path)
    y = rng.permutation(60)
    noise = rng.normal(size=60).round(3)
    labels = np.array(["low", "mid", "high"])[y // 20] if kind == "classes" else y * y
    rank = np.exp(y / 10)  # monotone but far from linear in the target
    write("t.csv", ["noise", "rank", "y"], np.column_stack([noise, rank, labels]).tolist())
    found = [f for f in describe_file("t.csv", target="y").findings if "determines" in f.message]
    assert [f.column for f in found] == [2] and found[0].severity is Severity.WARNING


def test_repeated_names_are_named_with_their_places(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,a,y\n" + "1,2,3,u\n4,5,7,v\n" * 6)
    found = describe_file(tmp_path / "t.csv", target="y")
    (error,) = [f for f in found.findings if f.severity is Severity.ERROR]
    assert "columns 1 and 3 have the same name 'a'" in error.message


def test_wide_tables_are_summed_up(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(20, 300)).round(3)
    header = ["name", *(f"g{j}" for j in range(300)), "y"]
    write("t.csv", header, [[f"s{i}", *x, "uv"[i % 2]] for i, x in enumerate(X.tolist())])
    assert run("check", "t.csv", "--target", "y") == 0
    text = capsys.readouterr().out
    assert "300 columns of numbers are used" in text and "g250" not in text
    _, result = as_json(capsys, "check", "t.csv", "--target", "y")
    assert len(result["columns"]) == 302


def test_other_formats_and_target_files(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    np.savez("t.npz", X=X, y=y)
    found = describe_file("t.npz")
    assert len(found.columns) == 4 and found.classes == {"0": 10, "1": 10}
    genes = [[f"g{j}", *X[:, j]] for j in range(3)]
    write("genes.csv", ["gene", *(f"s{i}" for i in range(20))], genes)
    write("y.csv", ["sample", "y"], [[f"s{i}", "uv"[i % 2]] for i in range(20)])
    found = describe_file("genes.csv", transpose=True, target_file="y.csv")
    assert found.n_rows == 20 and found.classes == {"u": 10, "v": 10} and len(found.columns) == 3
    (tmp_path / "s.fasta").write_text("".join(f">s{i}\nACGT{'ACGT'[i % 4]}\n" for i in range(20)))
    code, result = as_json(capsys, "check", "s.fasta", "--target-file", "y.csv")
    assert code == 0 and result["n_rows"] == 20 and result["classes"] == {"u": 10, "v": 10}
    assert "psvm fit s.fasta --target-file y.csv" in result["next"]


def test_the_dictionary_agrees_with_the_schema(messy):
    options = {"types": {"visit": "date"}, "na_values": ["low", "?", "-999"], "missing": "nan"}
    table = read_table("t.csv", target="state", schema="infer", **options)
    found = describe_file("t.csv", target="state", **options)
    assert not any(f.severity is Severity.ERROR for f in found.findings)
    for column, described in zip(table.schema.columns, found.columns, strict=True):
        assert (column.name, column.kind) == (described.name, described.kind)
        left_out = described.use.startswith("left out") or described.kind is Kind.TARGET
        assert column.used != left_out
    numbers = [c for c in found.columns if c.use != "the target" and not c.use.startswith("left")]
    missing = 100 * np.isnan(table.X).mean(axis=0)
    np.testing.assert_allclose([c.missing for c in numbers], missing)
