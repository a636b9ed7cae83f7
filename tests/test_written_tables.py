"""Tables as people write them, with known truth: each cell is right, or the doubt is said."""

import csv
import re
import warnings
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
import pytest

from command import as_json, run, write
from psvm.io import DataError, Kind, TableEncoder, read_table

LOCALES = {
    # decimal sign, thousands separators, delimiters
    "American": (".", (",", ""), (",", "\t", "|")),
    "German": (",", (".", ""), (";", "\t")),
    "French": (",", ("\u202f", "\u00a0", " ", ""), (";", "\t")),
    "Swiss": (".", ("'", "’", ""), (",", ";", "\t")),
    "program": (".", ("",), (",", "\t", ";")),
}
UNITS = ("{} kg", "{}kg", "{} %", "{}%", "€ {}", "{} €", "${}", "{} EUR", "{} mg/dl", "{} items")
MISSING = ("", "NA", "n/a", "NULL")
WORDS = (("Yes", "No"), ("north", "south", "east"), ("low", "medium", "high"), ("True", "False"))


@dataclass
class Style:
    """How the numbers of a column are written."""

    decimal: str
    group: str
    digits: int
    """Behind the decimal sign."""
    unit: str = "{}"
    negative: str = "-{}"

    def write(self, value):
        """A cell, of a Decimal."""
        whole, _, rest = f"{abs(value):.{self.digits}f}".partition(".")
        if self.group:
            whole = f"{int(whole):,}".replace(",", self.group)
        text = self.unit.format(whole + (self.decimal + rest if rest else ""))
        return self.negative.format(text) if value < 0 else text


@dataclass
class Written:
    """A table and its truth."""

    names: list
    rows: list
    delimiter: str
    truth: dict = field(default_factory=dict)
    """Values of columns of numbers, words of others; None where a cell is missing."""
    faults: set = field(default_factory=set)
    """Columns in which two conventions are mixed."""


def random_table(rng):
    """A table as somebody may have it, in which a reader can know what is meant."""
    while True:
        table, signs = draw_table(rng)
        shown = {decimal for decimal, shows in signs if shows}
        if all(shows or not shown or decimal in shown for decimal, shows in signs):
            return table


def draw_table(rng):
    """A table, and for each column of numbers its decimal sign and whether its cells show it."""
    locale = LOCALES[rng.choice(list(LOCALES))]
    n = int(rng.integers(12, 50))
    table, columns, signs = Written([], [], str(rng.choice(locale[2]))), [], []
    for j in range(int(rng.integers(2, 7))):
        name = f"{'abcdefg'[j]}{rng.choice(['', ' size', '_2'])}"
        other = LOCALES[rng.choice(list(LOCALES))] if rng.random() < 0.1 else locale
        if rng.random() < 0.75:
            cells, table.truth[name], fault = numbers(rng, n, other)
            if any(re.search("[.,]", cell) for cell in cells):
                signs.append((other[0], telling(cells)))
            table.faults |= {name} if fault else set()
        else:
            cells, table.truth[name] = words(rng, n)
        columns.append(cells)
        table.names.append(name)
    table.rows = [list(row) for row in zip(*columns, strict=True)]
    return table, signs


def telling(cells):
    """Whether cells show what their signs mean: in "1,234" the comma may be either of two."""
    marked = [cell for cell in cells if re.search("[.,]", cell)]
    return not marked or any(not unclear(cell) for cell in marked)


def unclear(cell, sign="[.,]"):
    """Whether a sign is between up to three and just three digits, and no zero leads."""
    return re.fullmatch(rf"\D*[1-9]\d{{0,2}}{sign}\d{{3}}\D*", cell) is not None


def random_style(rng, locale):
    decimal, groups, _ = locale
    unit = str(rng.choice(UNITS)) if rng.random() < 0.4 else "{}"
    negative = str(rng.choice(["-{}", "−{}", "({})"])) if rng.random() < 0.3 else "-{}"
    return Style(
        decimal, str(rng.choice(groups)), int(rng.choice([0, 0, 1, 2, 2, 3])), unit, negative
    )


def numbers(rng, n, locale):
    style, size = random_style(rng, locale), 10.0 ** rng.integers(1, 7)
    sign = -1 if rng.random() < 0.3 else 0
    values = [Decimal(f"{v:.{style.digits}f}") for v in rng.uniform(sign * size, size, n)]
    cells = [style.write(value) for value in values]
    truth = [float(f"{value:.{style.digits}f}") for value in values]
    if rng.random() < 0.1:  # bounds, whose numbers are the truth
        for i in rng.choice(n, 2, replace=False):
            if not cells[i].startswith(("-", "−", "(")):
                cells[i] = f"<{cells[i]}"
    fault = rng.random() < 0.1 and telling(cells) and re.search("[.,]", "".join(cells))
    if fault:  # some cells of another hand
        other = random_style(rng, LOCALES[rng.choice(list(LOCALES))])
        for i in rng.choice(n, int(rng.integers(1, 4)), replace=False):
            value = Decimal(f"{values[i]:.{other.digits}f}")
            if not unclear(other.write(value), f"[{style.decimal}]"):  # else it may be of the same
                cells[i], truth[i] = other.write(value), float(f"{value:.{other.digits}f}")
    return (*gaps(rng, cells, truth), bool(fault))


def words(rng, n):
    levels = WORDS[rng.integers(len(WORDS))]
    truth = [levels[k] for k in rng.integers(len(levels), size=n)]
    cells = list(truth)
    if rng.random() < 0.3:
        cells = [c.lower() if rng.random() < 0.2 else c.upper() if rng.random() < 0.1 else c
                 for c in cells]  # fmt: skip
    return gaps(rng, cells, truth)


def gaps(rng, cells, truth):
    """Some missing cells."""
    if rng.random() < 0.3:
        for i in rng.choice(len(cells), 2, replace=False):
            cells[i], truth[i] = str(rng.choice(MISSING)), None
    return cells, truth


def what_became_of(table, path):
    """Whether it is "right" or "reported"; else a sentence about a cell that is silently wrong."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=table.delimiter)
        writer.writerows([table.names, *table.rows])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = read_table(path, schema="infer", missing="nan", row_names=False)
        except DataError as error:
            assert str(error)
            return "reported"
    said = " ".join(str(one.message) for one in said)
    used = {column.name: (k, column) for k, column in enumerate(found.schema.used)}
    left_out = {column.name: column.why for column in found.schema.columns if column.why}
    outcome = "right"
    for name, truth in table.truth.items():
        if name not in used:
            assert left_out[name]
            outcome = "reported"
            continue
        k, column = used[name]
        if any(wrong(found.X[i, k], column, value) for i, value in enumerate(truth)):
            if f"{name!r}" not in said:
                i = next(i for i, v in enumerate(truth) if wrong(found.X[i, k], column, v))
                cell = table.rows[i][table.names.index(name)]
                return f"{cell!r} in column {name!r} is {found.X[i, k]} ({column}), not {truth[i]}"
            outcome = "reported"
    return outcome


def wrong(value, column, truth):
    """Whether a cell is not what it should be; a word may have been put under its spelling."""
    if truth is None or np.isnan(value):
        return (truth is None) != bool(np.isnan(value))
    if column.kind is Kind.CATEGORY:
        return column.levels[int(value)].casefold() != str(truth).casefold()
    return value != truth


def read_many(seeds, folder):
    """How many tables are right or reported; of those without a fault, and of the others."""
    counts = Counter()
    for seed in seeds:
        table = random_table(np.random.default_rng(seed))
        outcome = what_became_of(table, folder / "t.csv")
        assert outcome in ("right", "reported"), f"table {seed}: {outcome}"
        counts["faulty" if table.faults else "clean", outcome] += 1
    return counts


def test_every_cell_of_a_table_is_right_or_reported(tmp_path):
    counts = read_many(range(150), tmp_path)
    assert counts["clean", "right"] > 3 * counts["clean", "reported"], counts
    assert counts["faulty", "reported"] > 10, counts


@pytest.mark.slow
def test_every_cell_of_2000_tables_is_right_or_reported(tmp_path):
    counts = read_many(range(1000, 3000), tmp_path)
    print(counts)
    assert counts["clean", "right"] > 3 * counts["clean", "reported"], counts


# --- the same from the table in memory


def frames_of(table, schema, pd):
    """The table as libraries have it: text as in the file, and values of the right types."""
    text = pd.DataFrame(table.rows, columns=table.names).astype(object)
    yield "text", text[text.columns[::-1]]
    percent = {column.name for column in schema.used if column.unit == "%"}
    values = pd.DataFrame(table.truth)
    yield "values", values.assign(**{name: text[name] for name in percent}).convert_dtypes()
    pyarrow = pytest.importorskip("pyarrow")
    yield "Arrow", pyarrow.Table.from_pandas(text)
    try:
        import polars
    except ImportError:
        return
    yield "Polars", polars.from_pandas(text)


def compare_frames(seeds, folder):
    """Encode tables from the file and from memory; returns how many."""
    pd, compared = pytest.importorskip("pandas"), 0
    for seed in seeds:
        table = random_table(np.random.default_rng(seed))
        if what_became_of(table, folder / "t.csv") != "right":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"schema": "infer", "missing": "nan", "row_names": False}
            found = read_table(folder / "t.csv", **options)
            encoder = TableEncoder(schema=found.schema).fit(found.X)
            expected = encoder.transform(found.X)
            for what, frame in frames_of(table, found.schema, pd):
                np.testing.assert_array_equal(encoder.transform(frame), expected, f"{seed} {what}")
            again = read_table(folder / "t.csv", schema=found.schema, missing="nan")
            np.testing.assert_array_equal(encoder.transform(again.X), expected, f"{seed} again")
        compared += 1
    return compared


def test_tables_in_memory_are_encoded_as_the_file_is(tmp_path):
    assert compare_frames(range(60), tmp_path) > 40


@pytest.mark.slow
def test_500_tables_in_memory_are_encoded_as_the_file_is(tmp_path):
    assert compare_frames(range(1000, 1700), tmp_path) >= 500


# --- one convention at a time


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["18.611,82", "892.075,10", "5,5"], [18611.82, 892075.1, 5.5]),
        (["1,234,567.5", "892,075", "12"], [1234567.5, 892075, 12]),
        (["61.7%", "5%", "100%"], [61.7, 5, 100]),
        (["27 %", "3 %", "4,5 %"], [27, 3, 4.5]),
        (["€ 92.59", "€ 1,092.59", "-€ 3"], [92.59, 1092.59, -3]),
        (["12 kg", "13.5 kg", "9 kg"], [12, 13.5, 9]),
        (["(1,234.50)", "17.25", "-3.75"], [-1234.5, 17.25, -3.75]),
        (["1 234,5", "12 345,0", "7"], [1234.5, 12345, 7]),
        (["1'234.5", "999.0", "7"], [1234.5, 999, 7]),
        (["−5", "4.5", "1e3"], [-5, 4.5, 1000]),
        (["0,123", "1,234", "2,5"], [0.123, 1.234, 2.5]),
        (["80 mg/dl", "95 mg/dl", "112.5 mg/dl"], [80, 95, 112.5]),
    ],
)
def test_numbers_as_spreadsheets_write_them(tmp_path, cells, values):
    rows = [[cell, k % 7, 0.5 * k] for k, cell in enumerate(cells * 5)]
    write(tmp_path / "t.csv", ["x", "a", "b"], rows)
    table = read_table(tmp_path / "t.csv", schema="infer")
    assert table.feature_names == ["x", "a", "b"]
    np.testing.assert_array_equal(table.X[:, 0], values * 5)
    # As the target they are numbers as well.
    assert read_table(tmp_path / "t.csv", target="x").y.tolist() == values * 5


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["12 kg", "300 g", "7 kg"], "'12 kg' and '300 g' have different units"),
        (["61.7%", "5%", "0.617"], "'61.7%' and '0.617' have different units"),
        (["1.5", "2.75", "3,5"], "'1.5' and '3,5' are written in different ways"),
        (["1.5", "3.25", "1,234"], "'1.5' and '1,234' are written in different ways"),
        (["1.234,5", "7,5", "8.25"], "'1.234,5' and '8.25' are written in different ways"),
    ],
)
def test_mixed_conventions_are_an_error_that_shows_two_cells(tmp_path, cells, message, capsys):
    rows = [[cell, k % 7, "uv"[k % 2]] for k, cell in enumerate([*cells[:2] * 5, cells[2]])]
    write(tmp_path / "t.csv", ["x", "a", "y"], rows, ";")
    with pytest.raises(DataError, match=f"column 1: In column 'x' {re.escape(message)}"):
        read_table(tmp_path / "t.csv", schema="infer", row_names=False)
    assert run("check", tmp_path / "t.csv", "--target", "y") == 3
    assert message in capsys.readouterr().out
    assert run("fit", tmp_path / "t.csv", "--target", "y", "--model", tmp_path / "m.psvm") == 3
    assert not (tmp_path / "m.psvm").exists()


def test_what_only_the_user_can_know_is_asked(tmp_path, capsys):
    rows = [[f"{k + 1},{100 + k}", k % 7] for k in range(12)]
    path = write(tmp_path / "t.csv", ["x", "a"], rows)
    with pytest.raises(DataError, match=r"'1,100' may be 1100 or 1\.1: nothing shows whether"):
        read_table(path, schema="infer")
    thousands = read_table(path, schema="infer", decimal=".").X[:, 0]
    np.testing.assert_array_equal(thousands, [1000 * (k + 1) + 100 + k for k in range(12)])
    # Another column shows it: it is read so, and said.
    write(path, ["x", "a"], [[row[0], k + 0.5] for k, row in enumerate(rows)])
    with pytest.warns(UserWarning, match=r"In column 'x' '1,100' is read as 1100: nothing in the"):
        np.testing.assert_array_equal(read_table(path, schema="infer").X[:, 0], thousands)
    # Points that commas elsewhere show to mean thousands are read again as such.
    rows = [[f"{k + 1}.{100 + k}", f"{k},5"] for k in range(12)]
    write(path, ["x", "a"], rows, ";")
    with pytest.warns(UserWarning, match="In column 'x' '1.100' is read as 1100"):
        np.testing.assert_array_equal(read_table(path, schema="infer").X[:, 0], thousands)
    write(path, ["x", "a"], [[row[0], k] for k, row in enumerate(rows)], ";")
    with pytest.warns(UserWarning, match="The points of 'x' are taken for decimal signs. If they"):
        assert read_table(path, schema="infer").X[0, 0] == 1.1


def test_bounds_are_numbers_and_classes_with_bounds_are_classes(tmp_path):
    rows = [["<5" if k % 6 == 0 else 5 + k, ("<=50K", ">50K")[k % 2]] for k in range(30)]
    path = write(tmp_path / "t.csv", ["crp", "income"], rows)
    with pytest.warns(UserWarning, match="'<5' in column 'crp' is read as 5: .* in 5 rows"):
        table = read_table(path, target="income", schema="infer")
    assert table.X[:, 0].tolist() == [5 if k % 6 == 0 else 5 + k for k in range(30)]
    assert set(table.y) == {"<=50K", ">50K"}


@pytest.mark.filterwarnings("ignore:Words that differ in capitals:UserWarning")
def test_spellings_of_one_word_are_one_level(tmp_path, capsys):
    words = ["Yes", "yes", "No", "YES", "no", "Yes", "No ", "Yes"]
    rows = [[words[k % 8], k % 7, ("Aa", "AA", "aa")[k % 3], words[(k * 3) % 8]] for k in range(48)]
    path = write(tmp_path / "t.csv", ["x", "a", "gene", "y"], rows)
    with pytest.warns(UserWarning, match="in column 'x': 'YES' for 'Yes', 'no' for 'No', 'yes' fo"):
        table = read_table(path, target="y", schema="infer")
    levels = {column.name: column.levels for column in table.schema.used}
    assert levels["x"] == ("No", "Yes") and set(table.y) == {"No", "Yes"}
    assert levels["gene"] == ("AA", "Aa", "aa")  # capitals are all that tells these apart
    apart = read_table(path, target="y", schema="infer", types={"x": "category"})
    assert len(apart.schema.used[0].levels) == 5
    model = tmp_path / "m.psvm"
    assert run("fit", path, "--target", "y", "--epsilon", "1", "--no-cv", "--model", model) == 0
    write(tmp_path / "new.csv", ["x", "a", "gene", "y"], [["yES", 3, "Aa", "NO"]])
    capsys.readouterr()
    code, result = as_json(capsys, "predict", model, tmp_path / "new.csv", "--target", "y")
    assert code == 0 and result["unknown_labels"] == []
    assert not any("not in the training data" in note for note in result["notes"])


def test_a_file_of_prices_is_learnt(tmp_path, capsys):
    """A price that is revenue / 500, with both as a spreadsheet shows them."""
    rng = np.random.default_rng(3)
    revenue = rng.uniform(1e4, 9e5, 120).round(2)
    german = [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in revenue]
    rows = [[cell, f"{share:.1f}%", f"€ {price:,.2f}"]
            for cell, share, price in zip(german, rng.uniform(0, 90, 120),
                                          revenue / 500 + rng.normal(scale=20, size=120),
                                          strict=True)]  # fmt: skip
    path = write(tmp_path / "t.csv", ["revenue", "share", "price"], rows)
    fit = ("fit", path, "--target", "price", "--model", tmp_path / "m.psvm")
    code, result = as_json(capsys, *fit)
    assert code == 0 and result["left_out"] == {} and result["R2"] > 0.95
    # New files in which numbers have another unit are refused.
    rows = [[row[0], row[1].rstrip("%"), row[2]] for row in rows]
    write(path, ["revenue", "share", "price"], rows)
    assert run("predict", tmp_path / "m.psvm", path) == 3
    assert "'85.2' does not fit: the training data is in '%'" in capsys.readouterr().err


def test_each_column_that_is_left_out_is_named_with_the_reason(tmp_path, capsys):
    rng = np.random.default_rng(0)
    names = ["code", "same", "number", "note", *(f"c{j}" for j in range(12)), "x", "y"]
    rows = [[f"P{k}", 7, 1000 + k, f"note {k // 2}", *range(12), x := round(rng.normal(), 3),
             "pq"[x > 0]] for k in range(40)]  # fmt: skip
    path = write(tmp_path / "t.csv", names, rows)
    fit = ("fit", path, "--target", "y", "--epsilon", "1", "--model", tmp_path / "m.psvm")
    assert run(*fit) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("left out")]
    assert [line.split()[2] for line in said] == [f"{name}:" for name in names[:-2]]
    assert said[0].endswith("code: it names the rows") and said[1].endswith("same: it is constant")
    assert said[3].endswith("note: 20 different values in 40 rows")
    _, result = as_json(capsys, *fit)
    assert result["left_out"]["number"] == "its numbers name the rows" and len(said) == 16
