"""The data dictionary of `psvm check`: every column, every problem, and what to do next."""

import shlex

import numpy as np
import pytest

import psvm
from command import as_json, run, write
from psvm.io import DataError, Kind, Severity, describe_file, read_table

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


# --- what is advised


def test_a_wide_table_is_described_without_comparing_its_columns(tmp_path, monkeypatch, capsys):
    """To look for 20,000 columns in a list of them took ten times as long as the fit."""
    names = [*(f"g{j}" for j in range(300)), "y"]
    rows = [[*(i * j % 13 for j in range(1, 301)), "uv"[i % 2]] for i in range(20)]
    path = write(tmp_path / "t.csv", names, rows)

    def refuse(self, other):
        raise AssertionError("columns are compared")

    monkeypatch.setattr("psvm.io._describe.ColumnDescription.__eq__", refuse)
    assert run("check", path, "--target", "y") == 0
    assert "columns of numbers are used" in capsys.readouterr().out


HEADER, ROWS = "a,b,y", "".join(f"{i % 7},{i * i % 5},{'uv'[i % 2]}\n" for i in range(40))


@pytest.mark.parametrize(
    ("above", "n_lines", "shown"),
    [
        ("Report of the clinic\n", 1, "'Report of the clinic'"),
        ("Report of the clinic,,\n,,\n", 2, "'Report of the clinic'"),
        ("Clinic, June 2024\nprinted,,\n\n", 3, "'Clinic June 2024'; 'printed'"),
        (',"2023, first half",\n', 1, "'2023, first half'"),
        ("# a comment\nTitle\n", 2, "'Title'"),
    ],
)
def test_lines_above_the_header_are_recognised_and_said(tmp_path, capsys, above, n_lines, shown):
    path = tmp_path / "t.csv"
    path.write_text(f"{above}{HEADER}\n{ROWS}")
    table = read_table(path, target="y", schema="infer")
    assert table.feature_names == ["a", "b"] and table.X.shape == (40, 2)
    assert (
        f"The first {n_lines} lines are skipped, since they stand above the header: {shown}."
        in (table.detection)
    )
    assert f"Line {n_lines + 1} is the header with the names of the columns." in table.detection
    assert run("check", path, "--target", "y") == 0
    assert "since they stand above the header" in capsys.readouterr().out
    by_number = read_table(path, target="y", schema="infer", skip_lines=n_lines)
    np.testing.assert_array_equal(by_number.X, table.X)
    fit = (
        "fit",
        path,
        "--target",
        "y",
        "--epsilon",
        "0.01",
        "--no-cv",
        "--model",
        tmp_path / "m.psvm",
    )
    assert run(*fit, "--skip-lines", n_lines) == 0
    assert run("predict", tmp_path / "m.psvm", path, "--output", tmp_path / "p.csv") == 0
    path.write_text(f"{above}{HEADER}\n{ROWS}1,x,u\n")
    with pytest.raises(DataError, match=f"line {n_lines + 42}, column 2"):
        read_table(path, target="y")


def test_a_table_whose_first_rows_are_its_own_is_not_cut(tmp_path):
    for text in ("a,b,y\n1,,\n,,u\n2,3,v\n", "1,,u\n2,3,v\n4,5,u\n", ",s1,s2\ng1,3,4\ng2,5,6\n"):
        (tmp_path / "t.csv").write_text(text)
        detection = read_table(tmp_path / "t.csv", missing="nan", categorical="drop").detection
        assert not any("above the header" in note for note in detection)
    (tmp_path / "t.txt").write_text("s1 s2\ng1 3 4\ng2 5 6\ng3 7 8\n")  # as R writes tables
    assert read_table(tmp_path / "t.txt").feature_names == ["s1", "s2"]


def test_a_title_in_a_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Report of the clinic"])
    sheet.merge_cells("A1:C1")
    for row in (["a", "b", "y"], *([i % 7, i * i % 5, "uv"[i % 2]] for i in range(40))):
        sheet.append(row)
    book.save(tmp_path / "t.xlsx")
    table = read_table(tmp_path / "t.xlsx", target="y", schema="infer")
    assert table.feature_names == ["a", "b"] and len(table.X) == 40


def advised(capsys, *arguments):
    """The command that check prints, as arguments."""
    _, result = as_json(capsys, "check", *arguments)
    return None if result["next"] is None else shlex.split(result["next"])[1:]


def test_the_advised_command_keeps_columns_with_a_few_odd_cells(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = {3: "n.d.", 9: "?", 20: "broken", 31: "n.d."}
    rows = [[words.get(i, i / 3), i * i % 5, "uv"[i % 2]] for i in range(60)]
    write("t.csv", ["dose", "b", "y"], rows, ";")
    command = advised(capsys, "t.csv", "--target", "y", "--delimiter", ";", "--no-row-names")
    assert command[:7] == ["fit", "t.csv", "--target", "y", "--delimiter", ";", "--no-row-names"]
    assert "--ignore" not in command and command.count("--na-values") == 3
    assert run(*command, "--no-cv", "--epsilon", "0.01") == 0
    assert "dose" in psvm.load("m.psvm")[0].feature_names_in_


def test_no_command_is_advised_that_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for text in ("a,b,y\n1,2,u\n3,4\n5,6,v\n7,8,u\n", "a,y\n5 kg,u\n7 g,v\n8 kg,u\n9 g,v\n",
                 "a,b,y\n1,2,u\n3,4,u\n5,6,u\n7,8,u\n"):  # fmt: skip
        (tmp_path / "t.csv").write_text(text)
        assert advised(capsys, "t.csv", "--target", "y") is None
    rows = [["" if i % 9 == 0 else i, f"2024-01-{1 + i % 28:02d}", "" if i == 5 else "uv"[i % 2]]
            for i in range(40)]  # fmt: skip
    write("t.csv", ["a", "day", "y"], rows)  # each of three problems is seen in turn
    command = advised(capsys, "t.csv")
    assert run(*command, "--no-cv", "--epsilon", "0.01") == 0


def test_a_forgotten_transpose_is_recognised(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    genes = [[f"g{j}", *(i * j % 7 for i in range(12))] for j in range(20)]
    write("genes.csv", ["gene", *(f"s{i}" for i in range(12))], genes)
    write("y.csv", ["sample", "class"], [[f"s{i}", "uv"[i % 2]] for i in range(12)])
    fit = ("fit", "genes.csv", "--target-file", "y.csv", "--epsilon", "0.01", "--model", "m.psvm")
    assert run(*fit) == 3
    said = capsys.readouterr().err
    assert "There are 12 targets for 20 rows" in said  # the header is none of them
    assert "These are the names of its columns: read it with --transpose." in said
    assert run(*fit, "--transpose") == 0
    samples = [[f"s{i}", *(row[i + 1] for row in genes)] for i in range(12)]
    write("samples.csv", ["sample", *(row[0] for row in genes)], samples)
    capsys.readouterr()
    assert run("fit", "samples.csv", *fit[2:], "--transpose") == 3
    assert "the names of its rows: read it without --transpose." in capsys.readouterr().err
