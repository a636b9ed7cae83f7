"""Every command as a user would run it: its files, its words, its exit code."""

import csv
import errno
import fcntl
import gzip
import os
import pty
import resource
import select
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
import tomllib
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import psvm
from command import as_json, run, write

pytest.importorskip("matplotlib")

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
PSVM = [sys.executable, "-m", "psvm.cli"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Two classes that a and b tell apart, c and d noise; train and new rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)).round(4)
    y = np.where(X[:, 0] - X[:, 1] > 0, "sick", "well")
    rows = [[*x, label] for x, label in zip(X.tolist(), y, strict=True)]
    write("train.csv", ["a", "b", "c", "d", "diagnosis"], rows[:60])
    write("new.csv", ["d", "c", "b", "a", "extra"], [[*r[3::-1], 0] for r in rows[60:]])
    target = 2 * X[:, 0] - X[:, 1] + 0.3 * X[:, 3]  # with noise, so that a search comes to an end
    numbers = np.column_stack([X[:, :3], target.round(4)])
    write("numbers.csv", ["a", "b", "c", "y"], numbers.tolist())
    return X, y


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.reader(file))


def test_fit_and_predict_as_the_readme_says(data, capsys):
    X, y = data
    assert run("fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm") == 0
    assert run("predict", "m.psvm", "new.csv", "--output", "p.csv", "--scores") == 0
    header, *rows = rows_of("p.csv")
    assert header == ["row", "diagnosis", "score of well"]
    predicted = [row[1] for row in rows]
    assert np.mean(predicted == y[60:]) > 0.8
    model = psvm.load("m.psvm")
    np.testing.assert_array_equal(predicted, model.predict(X[60:]))
    np.testing.assert_array_equal([float(row[2]) for row in rows], model.decision_function(X[60:]))


def test_choices_are_said_when_asked_for_and_a_pipe_is_quiet(data, capsys):
    fit = ("fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm")
    assert run(*fit) == 0
    assert capsys.readouterr().err == ""
    assert run(*fit, "--verbose") == 0
    said = capsys.readouterr().err
    for words in ("2 classes", "--task", "Laplacian", "--kernel auto", "standardised", "comma"):
        assert words in said
    assert run(*fit, "--verbose", "--epsilon", "0.5") == 0
    said = capsys.readouterr().err
    for words in ("RBF", "--kernel rbf", "standardised", "header"):
        assert words in said
    assert run(*fit, "--quiet") == 0
    assert capsys.readouterr() == ("", "")


def test_settings_and_log_repeat_the_run(data, capsys, tmp_path):
    fit = ("fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm", "--epsilon", "0.5")
    assert run(*fit) == 0
    first = (tmp_path / "m.psvm").read_bytes()
    settings = tomllib.loads((tmp_path / "m.psvm.toml").read_text())
    assert settings["fit"]["kernel"] == "rbf" and settings["fit"]["epsilon"] == 0.5
    assert settings["fit"]["data"] == "train.csv"
    assert settings["record"]["command"] == "psvm " + " ".join(fit)
    log = (tmp_path / "m.psvm.log").read_text()
    assert "exit code 0" in log and "2 classes" in log and psvm.__version__ in log
    os.unlink("m.psvm")
    os.chdir("/")
    assert run("fit", "--config", tmp_path / "m.psvm.toml") == 0
    again = psvm.load(tmp_path / "m.psvm")
    (tmp_path / "first.psvm").write_bytes(first)
    X = data[0]
    np.testing.assert_array_equal(
        again.decision_function(X), psvm.load(tmp_path / "first.psvm").decision_function(X)
    )
    with open(tmp_path / "train.csv", "a") as file:
        file.write("1,2,3,4,sick\n")
    capsys.readouterr()
    assert run("fit", "--config", tmp_path / "m.psvm.toml") == 0
    assert "contents have changed" in capsys.readouterr().err


def test_an_option_has_precedence_over_the_configuration(data, tmp_path):
    (tmp_path / "run.toml").write_text(
        '[fit]\ndata = "train.csv"\ntarget = "diagnosis"\nmodel = "m.psvm"\nepsilon = 0.5\n'
    )
    assert run("fit", "--config", "run.toml", "--epsilon", "2") == 0
    assert psvm.load("m.psvm")[-1].epsilon_ == 2.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[fit]\nbogus = 1\n", "no setting 'bogus'"),
        ("[cv]\nseed = 1\n", "no table [fit]"),
        ("= nothing", "not a TOML file"),
    ],
)
def test_a_wrong_configuration_is_a_usage_error(data, tmp_path, capsys, text, words):
    (tmp_path / "run.toml").write_text(text)
    assert run("fit", "--config", "run.toml") == 2
    assert words in capsys.readouterr().err


def test_regression_is_seen_by_its_numbers(data, capsys):
    code, result = as_json(capsys, "cv", "numbers.csv", "--target", "y", "--folds", "4")
    assert code == 0 and result["measure"] == "RMSE"
    assert result["RMSE_interval"][0] <= result["RMSE"] <= result["RMSE_interval"][1]
    assert result["RMSE"] < result["RMSE_baseline"] and len(result["RMSE_folds"]) == 4


def test_cv_writes_all_predictions(data, capsys):
    assert run("cv", "train.csv", "--target", "diagnosis", "--output", "cv.csv", "--seed", "3") == 0
    _, *rows = rows_of("cv.csv")
    wrong = np.mean([row[2] != row[3] for row in rows])
    assert f"accuracy         {100 * (1 - wrong):.1f} %" in capsys.readouterr().out
    assert sorted(int(row[0]) for row in rows) == list(range(1, 61))


def test_tune_saves_the_best_and_goes_on_from_its_results(data, capsys, tmp_path):
    tune = ("tune", "train.csv", "--target", "diagnosis", "--results", "s.jsonl", "--folds", "3")
    code, first = as_json(capsys, *tune, "--model", "m.psvm")
    assert code == 0 and len(first["candidates"]) > 4
    assert first["measure"] == "log loss of 3 folds"
    assert first["best"]["loss"] == min(row["loss"] for row in first["candidates"])
    size = (tmp_path / "s.jsonl").stat().st_size
    code, again = as_json(capsys, *tune, "--model", "n.psvm")
    assert again["candidates"] == first["candidates"] and again["chosen"] == first["chosen"]
    assert (tmp_path / "s.jsonl").stat().st_size == size
    assert run("predict", "m.psvm", "new.csv", "--output", "p.csv") == 0


def test_select_finds_what_matters(data, capsys):
    code, result = as_json(
        capsys, "select", "train.csv", "--target", "diagnosis", "--n-features", "2"
    )
    assert code == 0
    assert {f["feature"] for f in result["features"]} == {"a", "b"}
    assert all(f["stability"] > 0.8 for f in result["features"])
    assert run("select", "train.csv", "--target", "diagnosis", "--output", "s.csv") == 0
    assert rows_of("s.csv")[1][1] in ("a", "b")


def test_select_with_a_bound_of_the_number_of_false_selections(data, capsys):
    X, y = data
    arguments = "select", "train.csv", "--target", "diagnosis"
    code, result = as_json(capsys, *arguments, "--stability", "--pfer", "1", "--seed", "3")
    expected = psvm.StabilitySelector(pfer=1, random_state=3).fit(X[:60], y[:60])
    assert code == 0 and result["stability"]["q"] == expected.parameters_.q
    assert result["stability"]["pfer"] == pytest.approx(expected.parameters_.pfer)
    names = [feature["feature"] for feature in result["features"]]
    assert names == [list("abcd")[j] for j in expected.order_[: expected.n_features_]]
    frequencies = [feature["frequency"] for feature in result["features"]]
    assert frequencies == expected.frequencies_[expected.order_[: expected.n_features_]].tolist()
    assert run(*arguments, "--q", "2", "--output", "s.csv") == 0
    assert "false selections expected (2 of 4 features" in capsys.readouterr().out
    assert rows_of("s.csv")[0][:3] == ["place", "feature", "frequency"]


def test_select_with_a_false_discovery_rate(data, capsys):
    X, y = data
    arguments = "select", "train.csv", "--target", "diagnosis"
    code, result = as_json(capsys, *arguments, "--fdr", "0.5")
    expected = psvm.KnockoffSelector(0.5, random_state=0).fit(X[:60], y[:60])
    assert code == 0 and result["fdr"] == 0.5
    chosen = expected.order_[: expected.n_features_]
    assert [f["feature"] for f in result["features"]] == [list("abcd")[j] for j in chosen]
    assert run(*arguments, "--fdr", "0.1") == 3
    said = capsys.readouterr().err
    assert "takes 10 features or more" in said
    assert "Use a larger --fdr, or --stability." in said
    assert run(*arguments, "--fdr", "0.1", "--pfer", "1") == 3
    assert "only one of --stability and --fdr" in capsys.readouterr().err
    assert run(*arguments, "--q", "2", "--pfer", "1", "--threshold", "0.8") == 3
    assert "Give two of" in capsys.readouterr().err


def test_path_is_that_of_the_library(data, capsys, tmp_path):
    X, y = data
    code, result = as_json(
        capsys, "path", "train.csv", "--target", "diagnosis", "--output", "p.csv", "--plot", "p.svg"
    )
    expected = psvm.epsilon_path(X[:60], np.where(y[:60] == "well", 1.0, -1.0))
    assert code == 0 and result["epsilon_max"] == pytest.approx(expected.epsilon_max)
    names = [entry["feature"] for entry in result["order"]]
    assert names == [list("abcd")[j] for j in expected.order]
    assert (tmp_path / "p.svg").read_text().lstrip().startswith("<?xml")
    assert rows_of("p.csv")[0][0] == "epsilon"


def test_compare_puts_others_beside_it(data, capsys):
    code, result = as_json(capsys, "compare", "train.csv", "--target", "diagnosis", "--folds", "3")
    assert code == 0
    errors = {m["method"]: 100 - m["accuracy"] for m in result["methods"]}
    assert set(errors) == {"P-SVM", "SVM", "linear", "forest", "guess"}
    assert errors["P-SVM"] < errors["guess"]


def test_report_is_a_whole_page(data, tmp_path):
    assert run("report", "train.csv", "--target", "diagnosis", "--output", "r.html", "--no-tune",
               "--folds", "3") == 0  # fmt: skip
    text = (tmp_path / "r.html").read_text()
    assert text.endswith("</html>\n") and "psvm report train.csv" in text
    assert (tmp_path / "r.html.toml").exists()


def test_explore_writes_a_page_with_the_names_of_the_file(data, capsys, tmp_path):
    code, result = as_json(capsys, "explore", "train.csv", "--target", "diagnosis", "--epsilon",
                           "0.5")  # fmt: skip
    assert code == 0 and result["output"] == "train.explore.html"
    text = (tmp_path / "train.explore.html").read_text()
    assert result["bytes"] == len(text.encode()) and "diagnosis in train.csv" in text
    assert (tmp_path / "train.explore.html.toml").exists()
    assert run("explore", "train.csv", "--target", "diagnosis", "--kernel", "rbf", "--output",
               "k.html", "--no-open", "--quiet") == 0  # fmt: skip
    assert "PSVC(" in (tmp_path / "k.html").read_text()


def test_report_links_its_figures_with_an_interactive_page(data, tmp_path):
    assert run("report", "train.csv", "--target", "diagnosis", "--output", "r.html", "--no-tune",
               "--folds", "3", "--interactive") == 0  # fmt: skip
    assert 'href="r.explore.html#epsilon=' in (tmp_path / "r.html").read_text()
    assert (tmp_path / "r.explore.html").exists()


def test_check_names_what_is_wrong(data, capsys, tmp_path):
    assert run("check", "train.csv", "--target", "diagnosis") == 0
    (tmp_path / "ragged.csv").write_text("a,b,y\n1,2,x\n3,y\n5,6,x\n7,8,y\n")
    capsys.readouterr()
    code, result = as_json(capsys, "check", "ragged.csv", "--target", "y")
    assert code == 3 and not result["readable"]
    assert [f["line"] for f in result["findings"] if f["severity"] == "error"] == [3]


def test_info_tells_of_a_model(data, capsys):
    run("fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm")
    capsys.readouterr()
    code, result = as_json(capsys, "info", "m.psvm")
    assert code == 0 and result["summary"]["classes"] == ["sick", "well"]
    assert result["schema"]["names"] == ["a", "b", "c", "d", "diagnosis"]


def test_convert_data_and_models(data, capsys, tmp_path):
    assert run("convert", "train.csv", "train.npz", "--target", "diagnosis") == 0
    assert run("convert", "train.npz", "back.tsv") == 0
    fit = ("--kernel", "dyadic", "--epsilon", "1", "--model", "m.psvm")
    assert run("fit", "train.csv", "--target", "diagnosis", *fit) == 0
    assert run("convert", "m.psvm", "m.txt") == 0
    assert run("convert", "m.psvm", "m.py") == 0
    space = {}
    exec((tmp_path / "m.py").read_text(), space)
    X = data[0]
    np.testing.assert_array_equal(space["predict"](X), psvm.load("m.psvm").predict(X))
    assert run("convert", "m.psvm", "m.docx") == 2


def test_demo_and_completion(tmp_path, monkeypatch, capsys):
    for shell in ("bash", "zsh", "fish"):
        assert run("completion", shell) == 0
        assert "_PSVM_COMPLETE" in capsys.readouterr().out
    monkeypatch.chdir(tmp_path)
    assert run("demo", "--folder", "d") == 0
    printed = capsys.readouterr().out
    assert f"The report is at {tmp_path / 'd' / 'report.html'}" in printed
    assert {"m.psvm", "p.csv", "report.html"} <= {p.name for p in (tmp_path / "d").iterdir()}


def test_three_classes_and_a_transposed_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True)
    lines = ["\t".join(["gene", *(f"s{i}" for i in range(150))])]
    lines += ["\t".join([f"g{j}", *map(str, X[:, j])]) for j in range(4)]
    (tmp_path / "genes.tsv.gz").write_bytes(gzip.compress("\n".join(lines).encode() + b"\n"))
    write("classes.csv", ["sample", "kind"], [[f"s{i}", "abc"[k]] for i, k in enumerate(y)])
    fit = (
        "fit",
        "genes.tsv.gz",
        "--transpose",
        "--target-file",
        "classes.csv",
        "--model",
        "m.psvm",
    )
    assert run(*fit) == 0
    assert run("predict", "m.psvm", "genes.tsv.gz", "--output", "p.csv") == 0
    assert np.mean([r[1] == "abc"[k] for r, k in zip(rows_of("p.csv")[1:], y, strict=True)]) > 0.95


def test_relations_sequences_and_wide_tables_choose_their_kernel(
    tmp_path, monkeypatch, capsys, rng
):
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(40, 60))
    y = np.where(X[:, 3] > 0, "p", "q")
    names = [f"o{i}" for i in range(40)]
    write(
        "wide.csv",
        [*(f"g{j}" for j in range(60)), "y"],
        [[*x, t] for x, t in zip(X, y, strict=True)],
    )
    K = X @ X.T
    write("square.csv", ["", *names], [[n, *k] for n, k in zip(names, K, strict=True)])
    write("y.csv", ["name", "y"], list(zip(names, y, strict=True)))
    letters = [["ACGT", "AAAC"][label == "p"] for label in y]
    words = ["".join(rng.choice(list(some), size=20)) for some in letters]
    fasta = "".join(f">{n}\n{w}\n" for n, w in zip(names, words, strict=True))
    (tmp_path / "s.fasta").write_text(fasta)
    for arguments, kernel in (
        (["wide.csv", "--target", "y"], "dyadic"),
        (["square.csv", "--target-file", "y.csv"], "precomputed"),
        (["s.fasta", "--target-file", "y.csv"], "spectrum"),
    ):
        assert run("fit", *arguments, "--model", "m.psvm") == 0
        settings = tomllib.loads((tmp_path / "m.psvm.toml").read_text())
        assert settings["fit"]["kernel"] == kernel


def test_missing_and_categorical_cells(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [[i % 7, "" if i == 3 else i % 5, "fm"[i % 2], "yn"[i % 7 > 3]] for i in range(40)]
    write("t.csv", ["a", "b", "sex", "y"], rows)
    fit = ("fit", "t.csv", "--target", "y", "--model", "m.psvm")
    assert run(*fit) == 3
    said = capsys.readouterr().err
    assert ("t.csv" in said and "--missing 'drop'" in said) or "--categorical 'onehot'" in said
    assert run(*fit, "--missing", "impute", "--categorical", "onehot") == 0
    assert run("predict", "m.psvm", "t.csv", "--output", "p.csv") == 0
    assert len(rows_of("p.csv")) == 41
    assert run(*fit, "--missing", "drop", "--categorical", "drop") == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["fit", "train.csv", "--model", "m.psvm"], 2, "--target NAME"),
        (["fit", "none.csv", "--target", "y", "--model", "m.psvm"], 2, "does not exist"),
        (["fit", "train.csv", "--target", "diagnose", "--model", "m.psvm"], 3, "diagnosis"),
        (["fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm", "--epsilon", "-1"], 2,
         "at least 0"),
        (["fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm", "--task",
          "regression"], 3, "needs numbers"),
        (["fit", "train.csv", "--target", "diagnosis", "--model", "none/m.psvm"], 1,
         "no such directory"),
        (["predict", "train.csv", "train.csv"], 3, "train.csv"),
        (["predct", "m.psvm"], 2, "Did you mean 'predict'"),
        (["fit", "train.csv", "--bogus"], 2, "--bogus"),
    ],
)  # fmt: skip
def test_errors_are_a_sentence_and_a_code(data, capsys, arguments, code, words):
    assert run(*arguments) == code
    said = capsys.readouterr().err
    assert words in said and "Traceback" not in said
    assert not os.path.exists("m.psvm")


def test_a_fit_that_does_not_converge_says_so(data, capsys, monkeypatch):
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    def warn(solution, **_):
        warnings.warn("The solver stopped (max_iter).", ConvergenceWarning, stacklevel=2)

    monkeypatch.setattr("psvm.estimators._base.warn_if_not_optimal", warn)
    assert run("fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm") == 4
    assert "stopped (max_iter)" in capsys.readouterr().err
    assert os.path.exists("m.psvm")


def test_bad_files_are_refused_with_their_place(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    good = "a,b,y\n" + "".join(f"{i},{i % 3},{'uv'[i % 2]}\n" for i in range(20))
    (tmp_path / "quote.csv").write_text(good.replace("7,1,v", '"7,1,v'))
    (tmp_path / "bytes.csv").write_bytes(good.encode().replace(b"u\n", b"\xff\xfe\x81\n", 1))
    for name in ("quote.csv", "bytes.csv"):
        code = run("fit", name, "--target", "y", "--model", "m.psvm")
        said = capsys.readouterr().err
        assert code in (0, 3) and "Traceback" not in said
        if code == 3:
            assert name in said
    assert run("fit", "quote.csv", "--target", "y", "--model", "m.psvm") == 3


def test_a_hundred_thousand_columns(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    X = rng.integers(0, 100, size=(12, 100_000))
    y = np.where(X[:, 777] > np.median(X[:, 777]), "p", "q")
    with open("wide.csv", "w") as file:
        file.write(",".join(f"g{j}" for j in range(100_000)) + ",y\n")
        for x, label in zip(X, y, strict=True):
            file.write(",".join(map(str, x.tolist())) + f",{label}\n")
    assert run("fit", "wide.csv", "--target", "y", "--model", "m.psvm", "--epsilon", "2") == 0
    assert run("predict", "m.psvm", "wide.csv", "--output", "p.csv") == 0
    assert len(rows_of("p.csv")) == 13


def test_damaged_models_are_refused(data, capsys, tmp_path):
    run("fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm")
    whole = (tmp_path / "m.psvm").read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    cases = {"short.psvm": whole[: len(whole) // 2], "flip.psvm": bytes(flipped), "none.psvm": b""}
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
    with zipfile.ZipFile(tmp_path / "bomb.psvm", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("model.json", b"\0" * 50_000_000)
    capsys.readouterr()
    for name in (*cases, "bomb.psvm"):
        for command in (["predict", name, "new.csv"], ["info", name]):
            assert run(*command) == 3
            said = capsys.readouterr()
            assert name in said.err and "Traceback" not in said.err and said.out == ""


def test_a_directory_without_permission(data, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    assert run("fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm") == 1
    said = capsys.readouterr().err
    assert "may not be written" in said and "Choose a directory" in said


def limited():
    """What a full disk looks like to a process: no file grows beyond 4 kB."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def test_a_full_disk_leaves_nothing_behind(data, tmp_path):
    (tmp_path / "m.psvm").write_text("the old one")
    found = subprocess.run(
        [*PSVM, "fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm"],
        capture_output=True, text=True, env={**ENVIRONMENT, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=limited,
    )  # fmt: skip
    assert found.returncode == 1
    assert "m.psvm: File too large. This file was not written" in found.stderr
    assert "Traceback" not in found.stderr
    assert (tmp_path / "m.psvm").read_text() == "the old one"
    assert not [p for p in tmp_path.iterdir() if ".part" in p.name or p.name.endswith(".log")]


def test_a_disk_that_is_full_after_the_model_says_what_is_there(data, capsys, monkeypatch):
    flush, seen = os.fsync, []

    def full(handle):
        seen.extend([handle] * stat.S_ISREG(os.fstat(handle).st_mode))
        if len(seen) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(handle)

    monkeypatch.setattr(os, "fsync", full)
    assert run("fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm", "--no-cv") == 1
    said = capsys.readouterr().err
    assert "m.psvm.toml: No space left on device. This file was not written" in said
    assert "files that were written before it are complete" in said
    assert [p.name for p in Path().iterdir() if "m.psvm" in p.name] == ["m.psvm"]
    psvm.load("m.psvm")


def test_pipes_get_the_result_alone(data):
    run("fit", "train.csv", "--target", "diagnosis", "--model", "m.psvm")
    command = f"{' '.join(PSVM)} predict m.psvm new.csv | head -2"
    found = subprocess.run(command, shell=True, capture_output=True, text=True, env=ENVIRONMENT)
    assert found.stdout.splitlines()[0] == "row\tdiagnosis" and found.stderr == ""


class Terminal:
    """A command in a terminal, with all that it writes there."""

    def __init__(self, *arguments, command=PSVM):
        self.text = ""
        self.process, self.end = None, None
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.process = subprocess.Popen(
            [*command, *arguments], stdin=slave, stdout=slave, stderr=slave, close_fds=True,
            env={**ENVIRONMENT, "TERM": "xterm", "COLUMNS": "100"}, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        os.close(slave)
        self.end = master

    def read_until(self, words, patience=600):
        """Read until the words appear, which is an error if they never do; None: all output."""
        deadline = time.monotonic() + patience
        while words is None or words not in self.text:
            if not select.select([self.end], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise TimeoutError(self.text)
            try:
                part = os.read(self.end, 65536)
            except OSError:
                part = b""
            if not part:
                assert words is None, f"{words!r} was not shown: {self.text}"
                break
            self.text += part.decode(errors="replace")
        return self.text

    def wait(self):
        self.read_until(None)
        os.close(self.end)
        return self.process.wait()


ENDLESS = """
import sys
import time
from pathlib import Path

from psvm.cli import main
from psvm.model_selection._search import Search

by_folds, journal = Search._by_folds, Path("s.jsonl")


def endless(self, candidate):
    while journal.read_bytes().count(b"\\n") > 1:  # the first line says whose results these are
        time.sleep(0.01)
    return by_folds(self, candidate)


Search._by_folds = endless
sys.exit(main())
"""
"""The command psvm, but a search never ends once its first candidate is in the file."""


def test_a_terminal_shows_progress_and_ctrl_c_leaves_a_search_to_go_on(data, tmp_path):
    tune = ("tune", "numbers.csv", "--target", "y", "--model", "m.psvm", "--results", "s.jsonl",
            "--folds", "3")  # fmt: skip
    before = {p.name for p in tmp_path.iterdir()}
    first = Terminal(*tune, command=[sys.executable, "-c", ENDLESS])
    first.read_until("1 of 5 candidates")
    os.killpg(first.process.pid, signal.SIGINT)
    assert first.wait() == 130
    assert "Interrupted" in first.text and "Traceback" not in first.text
    assert "regression" in first.text  # choices are said on a terminal
    assert "left" in first.text
    kept = (tmp_path / "s.jsonl").read_bytes()
    assert kept.count(b"\n") == 2 and {p.name for p in tmp_path.iterdir()} == before | {"s.jsonl"}
    second = Terminal(*tune)
    assert second.wait() == 0
    assert (tmp_path / "m.psvm").exists()
    assert (tmp_path / "s.jsonl").read_bytes().startswith(kept)


def test_help_is_there_for_every_command(capsys):
    from psvm.cli._app import COMMANDS

    assert run("--help") == 0
    listed = capsys.readouterr().out
    for name in COMMANDS:
        assert name in listed
        assert run(name, "--help") == 0
        text = capsys.readouterr().out
        assert "Examples:" in text and f"psvm {name}" in text


NEEDS_NO_MODEL = ("sklearn", "joblib", "scipy.stats", "scipy.optimize", "pandas", "pyarrow",
                  "matplotlib", "rich.console")  # fmt: skip
DRAWS_NOTHING = ("matplotlib", "pyarrow.parquet", "dask", "anndata", "sklearn.ensemble")


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["check", "t.csv", "--target", "y"], NEEDS_NO_MODEL),
        (["convert", "t.csv", "t.npz", "--target", "y"], NEEDS_NO_MODEL),
        (["fit", "t.csv", "--target", "y", "--model", "m.psvm"], DRAWS_NOTHING),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_commands_import_only_what_they_need(arguments, unwanted, tmp_path):
    """Start-up is import time: what reads a file does without scikit-learn."""
    rows = "".join(f"{i % 7},{i * i % 5},{'uv'[i % 7 > 3]}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("a,b,y\n" + rows)
    code = (
        "import sys; from psvm.cli import main; code = main(sys.argv[2:]); "
        "print(code, [m for m in sys.argv[1].split() if m in sys.modules])"
    )
    command = [sys.executable, "-c", code, " ".join(unwanted), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert found.stdout.splitlines()[-1] == "0 []", found.stderr


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from psvm.cli import main; main(['--help']); main(['fit', '--help']); "
        "print([m for m in ('numpy', 'sklearn', 'matplotlib', 'scipy') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.stdout.splitlines()[-1] == "[]"
