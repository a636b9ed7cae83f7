"""Several sites: the model of all rows from sums, files of sums, and what is not given away."""

import json
import random
import signal
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import psvm
from psvm import PSVC, PSVR, MomentsPlan, RowSurvey, SiteMoments, fit_sites
from psvm.estimators import _passes, cluster_centres
from psvm.kernels import RBF, Laplacian, Linear
from psvm.persistence import ModelFileError, load_moments, load_plan, save_moments, save_plan
from test_fuzz_models import Mutant

NAMES = ["age", "dose", "bmi"]


def rows(n, seed, shift=0.0):
    """Rows of a site; the shift changes the balance of the classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + shift
    noise = 0.3 * rng.normal(size=n)
    return X, np.where(np.hypot(X[:, 0], X[:, 1]) + noise < 1, "ill", "well")


@pytest.fixture(scope="module")
def three():
    """Three sites whose shares of ill people differ."""
    parts = [rows(900, 1), rows(1600, 2, 0.8), rows(1200, 3, [0.0, -0.5, 2.0])]
    shares = [np.mean(y == "ill") for _, y in parts]
    assert max(shares) > 1.5 * min(shares)
    return parts


def make_plan(model=None, seed=99, standardize=True, names=NAMES, **options):
    X, y = rows(400, seed)
    model = PSVC(landmarks="random", n_landmarks=30) if model is None else model
    labels = isinstance(model, PSVC)
    survey = RowSurvey.of(X, y if labels else X[:, 0], labels=labels)
    if model.kernel != "dyadic":
        model.set_params(standardize=standardize)
    return MomentsPlan.make(model, survey, feature_names=names, **options)


def pooled(parts):
    return np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def sites_of(plan, parts, **options):
    return [
        SiteMoments.of(plan, [(X[:300], y[:300]), (X[300:], y[300:])], name=f"site {i}", **options)
        for i, (X, y) in enumerate(parts)
    ]


def assert_same_model(a, b, atol=1e-10):
    """Coefficients agree to 1e-10 of the largest one: sums of thousands of terms, rounded."""
    assert_allclose(a.epsilon_, b.epsilon_, rtol=1e-10)
    assert_array_equal(a.support_objects_, b.support_objects_)
    largest = np.abs(b.alpha_).max()
    assert_allclose(a.alpha_, b.alpha_, rtol=0, atol=atol * largest)
    assert_allclose(a.intercept_, b.intercept_, rtol=0, atol=atol)


WEIGHTS = {
    "alternating": lambda i: np.where(i % 2, 1e9, 1e-9),
    "one row": lambda i: np.where(i == 0, 1e9, 1e-9),
    "two rows": lambda i: np.where(i < 2, 1e9, 1e-9),
    "of all sizes": lambda i: 10.0 ** (i % 19 - 9),
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("model", [PSVC(n_landmarks=10), PSVR(kernel="dyadic")], ids=str)
def test_sums_of_any_weights_are_saved(tmp_path, model, weights):
    """Beside a weight of 1e9 the products of the other rows are less than their rounding."""
    plan = make_plan(model)
    X, y = rows(200, 1)
    target = y if isinstance(model, PSVC) else X[:, 0]
    try:
        site = SiteMoments.of(plan, [(X, target, WEIGHTS[weights](np.arange(200)))])
    except ValueError as error:  # the smallest number of rows may hold for weights as well
        assert "rows" in str(error)
        return
    save_moments(site, tmp_path / "site")
    loaded = load_moments(tmp_path / "site")
    assert_array_equal(loaded.sums.total.cross, site.sums.total.cross)


# --- the model


def test_sites_get_the_model_of_all_rows_together(three, decides):
    plan = make_plan()
    X, y = pooled(three)
    together = [SiteMoments.of(plan, [(X, y)])]
    assert decides(lambda: fit_sites(PSVC(), together), by=1e-9)
    whole = fit_sites(PSVC(), together)
    assert whole.n_support_ > 3
    sites = sites_of(plan, three)
    assert_same_model(fit_sites(PSVC(), sites), whole)
    assert_same_model(fit_sites(PSVC(), sites[::-1]), whole)


def test_sites_get_the_model_of_the_rows_in_memory(three):
    """The rows of K themselves, in another solver, without plan, folds or sums."""
    plan = make_plan()
    X, y = pooled(three)
    options = {"epsilon": 0.02, "epsilon_unit": "max", "threshold": "mean"}
    model = fit_sites(PSVC(**options), sites_of(plan, three))
    K = plan.kernel(X, plan.objects)
    whole = PSVC(kernel="dyadic", **options).fit(K, y)
    assert_array_equal(model.support_, whole.support_)
    largest = np.abs(whole.alpha_).max()
    # The tolerance of the solver in memory bounds the distance, not rounding.
    assert_allclose(model.alpha_, whole.alpha_, rtol=0, atol=1e-6 * largest)
    K_support = plan.kernel(X[:50], plan.objects)
    values = model.decision_function(named(model, X[:50]))
    assert_allclose(values, whole.decision_function(K_support), rtol=0, atol=1e-5)


def named(model, X):
    """X for a model that was fitted with names."""
    vars(model).pop("feature_names_in_", None)
    return X


def test_whole_sites_are_held_out(three):
    plan = make_plan()
    sites = sites_of(plan, three)
    model = fit_sites(PSVC(), sites, held_out="site")
    assert len(model.sums_.folds) == 3
    for fold, (_, y) in enumerate(three):
        # The training rows without a site are those of the others.
        assert_allclose(model.sums_.without(fold, [0]).weight, 3700 - len(y))
    assert_same_model(fit_sites(PSVC(), sites[::-1], held_out="site"), model)
    with pytest.raises(ValueError, match="two or more groups"):
        fit_sites(PSVC(), sites[:1], held_out="site")


def test_numbers_and_columns_as_they_are(three):
    model = PSVR(kernel="dyadic")
    plan = make_plan(model, standardize=False)
    parts = [(X, 2 * X[:, 1] - X[:, 0]) for X, _ in three]
    model = PSVR(kernel="dyadic", epsilon=1e-6, epsilon_unit="max")
    fitted = fit_sites(model, sites_of(plan, parts))
    # Correlations of the residuals are a millionth of the largest one of the target.
    X, y = parts[0]
    assert_allclose(fitted.predict(named(fitted, X)), y, rtol=0, atol=1e-4)


# --- what is not given away


def parts_of(site):
    """The sums that are in the file, or None."""
    return (*site.sums.folds, *site.sums.rest)


def counts(site):
    """Weights of the parts of a site, by class for labels of unit weight."""
    found = []
    for part in parts_of(site):
        if part is not None:
            share = (1 + part.target_means[0]) / 2
            found += [part.weight * share, part.weight * (1 - share)]
    return np.array(found)


@pytest.mark.parametrize("n", [150, 300, 900, 3000])
def test_no_part_of_a_file_has_few_rows(n):
    plan = make_plan()
    X, y = rows(n, 5)
    site = SiteMoments.of(plan, [(X, y)])
    found = counts(site)
    assert_allclose(found.sum(), n)
    assert ((found < 1e-6) | (found > 19.999)).all()
    whole = plan.moments(X, y).total
    total = site.sums.total
    assert_allclose(total.cross, whole.cross, rtol=0, atol=1e-10 * np.abs(whole.cross).max())
    few = min(np.sum(y == "ill"), np.sum(y == "well"))
    assert (len([f for f in site.sums.folds if f is not None]) == 1) == (few < 150)


def test_rows_that_are_landmarks_do_not_stand_out():
    """They are in no fold; sums over a few of them would tell their labels."""
    plan = make_plan()
    X, y = rows(3000, 6)
    X[:3] = plan.objects[:3]
    assert [part.weight for part in plan.moments(X, y).rest] == [3]
    site = SiteMoments.of(plan, [(X, y)])
    assert site.sums.rest == (None,) and site.sums.n_rows == 3000
    assert all(fold is not None for fold in site.sums.folds)
    assert_allclose(site.sums.total.weight, 3000)


def test_few_rows_are_not_summed():
    plan = make_plan()
    X, y = rows(400, 7)
    ill, well = np.flatnonzero(y == "ill"), np.flatnonzero(y == "well")
    some = np.concatenate([ill[:9], well[:10]])
    with pytest.raises(ValueError, match="clinic: there are 19 distinct rows with weight"):
        SiteMoments.of(plan, [(X[some], y[some])], name="clinic")
    some = np.concatenate([ill[:19], well[:60]])
    with pytest.raises(ValueError, match="19 distinct rows of the class 'ill'"):
        SiteMoments.of(plan, [(X[some], y[some])])
    assert SiteMoments.of(plan, [(X[some], y[some])], least=19).sums.n_rows == 79
    alone = SiteMoments.of(plan, [(X[well], y[well])])  # the other class is at other sites
    assert alone.sums.n_rows == len(well)


def test_copies_and_rows_without_weight_do_not_count():
    plan = make_plan()
    X, y = rows(400, 7)
    copies = np.repeat(np.arange(15), 10)
    with pytest.raises(ValueError, match="there are 15 distinct rows"):
        SiteMoments.of(plan, [(X[copies], y[copies])])
    weights = np.zeros(400)
    weights[:15] = 2.0
    with pytest.raises(ValueError, match="there are 15 distinct rows"):
        SiteMoments.of(plan, [(X, y, weights)])


def effective(X, weights):
    """The effective number of distinct rows, by a dict."""
    by_row = {}
    for row, weight in zip(map(bytes, X), weights, strict=True):
        by_row[row] = by_row.get(row, 0.0) + weight
    return sum(by_row.values()) ** 2 / sum(w * w for w in by_row.values())


def test_a_row_with_nearly_all_the_weight_does_not_hide_among_others(monkeypatch):
    plan = make_plan()
    X, y = rows(400, 7)
    weights = np.ones(400)
    weights[0] = 1e6
    with pytest.raises(ValueError, match=r"there are 1\.001 distinct rows with weight"):
        SiteMoments.of(plan, [(X, y, weights)])
    copies = np.concatenate([np.zeros(4000, dtype=int), np.arange(400)])  # repetition is weight
    assert effective(X[copies], np.ones(4400)) < 2
    with pytest.raises(ValueError, match=r"there are 1\.2\d* distinct rows with weight"):
        SiteMoments.of(plan, [(X[copies], y[copies])])
    first = np.flatnonzero(y == y[0])
    weights[0] = 60.0  # enough of all rows, few of its class
    assert effective(X, weights) > 20 > effective(X[first], weights[first])
    with pytest.raises(ValueError, match=f"distinct rows of the class {str(y[0])!r}"):
        SiteMoments.of(plan, [(X, y, weights)])
    weights[0] = 3.0
    site = SiteMoments.of(plan, [(X, y, weights)])
    assert_allclose(site.sums.total.weight, 402)
    monkeypatch.setattr("psvm.estimators._sites.KEPT", 150)  # weights of other rows are bounded
    assert_allclose(SiteMoments.of(plan, [(X, y, weights)]).sums.total.weight, 402)
    weights[0] = 1e6
    with pytest.raises(ValueError, match=r"there are 1\.00\d distinct rows with weight"):
        SiteMoments.of(plan, [(X, y, weights)])


def test_no_fold_of_a_file_has_few_rows_by_weight():
    """A heavy row makes its fold too small, so that folds are added up."""
    plan = make_plan()
    X, y = rows(3000, 5)
    weights = np.ones(3000)
    weights[0] = 150.0
    assert sum(fold is not None for fold in SiteMoments.of(plan, [(X, y)]).sums.folds) > 1
    site = SiteMoments.of(plan, [(X, y, weights)])
    folds = plan.folds_of(X)
    some = (folds == folds[0]) & (y == y[0])
    assert effective(X[some], weights[some]) < 20
    assert sum(fold is not None for fold in site.sums.folds) == 1
    assert_allclose(site.sums.total.weight, 3149)


def test_epsilon_needs_something_to_hold_out():
    sites = sites_of(make_plan(), [rows(120, 8), rows(120, 9)])
    with pytest.raises(ValueError, match="All rows are in one fold"):
        fit_sites(PSVC(), sites[:1])
    assert fit_sites(PSVC(epsilon=0.5), sites[:1]).epsilon_ == 0.5
    assert fit_sites(PSVC(), sites, held_out="site").epsilon_ > 0


def test_centres_are_means_of_many_rows():
    X, _ = rows(2000, 10)
    X[:, 2] *= 1000.0
    Z = cluster_centres(X, 40, random_state=0)
    assert 5 < len(Z) <= 40
    # Each is a mean of at least 20 rows, so none is a row or near to one in a corner.
    nearest = np.abs((X[None] - Z[:, None]) / X.std(axis=0)).max(axis=2).min(axis=1)
    assert (nearest > 0).all()
    assert len(cluster_centres(X[:100], 40, random_state=0)) <= 2
    with pytest.raises(ValueError, match="X has 19 distinct rows"):
        cluster_centres(np.repeat(X[:19], 5, axis=0), 3)
    repeated = cluster_centres(np.vstack([X, np.full((500, 3), 50.0)]), 30, random_state=0)
    assert (np.abs(repeated - 50.0).max(axis=1) > 1e-9).all()  # 500 copies are one row


# --- plans that differ


def test_sums_of_different_plans_are_refused(three):
    (site, other), Z = sites_of(make_plan(), three[:2]), make_plan().objects

    def refused(plan, reason):
        X, y = three[1]
        changed = SiteMoments.of(plan, [(X[:, : plan.n_features], y)], name="b")
        with pytest.raises(ValueError, match=f"site 0 and b were .* different plans: {reason}"):
            fit_sites(PSVC(), [site, changed])

    def given(objects, **options):
        return PSVC(landmarks=objects, **options)

    refused(make_plan(seed=98), "the landmarks differ")
    refused(make_plan(given(Z[:20])), "30 and 20 landmarks")
    refused(make_plan(given(Z, gamma=2.0)), r"the kernels are RBF.* of scaled features and RBF\(")
    refused(make_plan(given(Z), standardize=False), "the kernels are")
    refused(make_plan(given(Z, class_weight="balanced")), "the weights of the classes differ")
    refused(make_plan(given(Z), n_folds=7), "5 and 7 folds")
    refused(make_plan(given(Z), names=["age", "dosis", "bmi"]), "feature 1 is 'dose' and 'dosis'")
    refused(make_plan(given(Z), names=None), "only one has names")
    X, y = rows(400, 99)
    survey = RowSurvey.of(X, np.char.upper(y), labels=True)
    upper = MomentsPlan.make(
        PSVC(landmarks=Z, gamma=1.0, standardize=True), survey, feature_names=NAMES
    )
    changed = SiteMoments.of(upper, [(three[1][0], np.char.upper(three[1][1]))], name="b")
    lower = SiteMoments.of(make_plan(given(Z, gamma=1.0)), [three[0]], name="a")
    with pytest.raises(ValueError, match="the classes are 'ill', 'well' and 'ILL', 'WELL'"):
        fit_sites(PSVC(), [lower, changed])
    assert fit_sites(PSVC(), [site, other]) is not None


def test_what_does_not_go_together_is_refused(three):
    plan = make_plan()
    sites = sites_of(plan, three)
    with pytest.raises(ValueError, match="site 0 and site 0 hold the same sums"):
        fit_sites(PSVC(), [sites[0], sites[1], sites[0]])
    with pytest.raises(ValueError, match="which kernel='dyadic' of the model is not"):
        fit_sites(PSVC(kernel="dyadic"), sites)
    with pytest.raises(ValueError, match="PSVR cannot be fitted"):
        fit_sites(PSVR(), sites)
    with pytest.raises(TypeError, match="list of SiteMoments"):
        fit_sites(PSVC(), [])
    with pytest.raises(TypeError, match="list of SiteMoments"):
        fit_sites(PSVC(), 1)
    with pytest.raises(ValueError, match="held_out must be one of 'fold', 'site'"):
        fit_sites(PSVC(), sites, held_out="row")
    with pytest.raises(ValueError, match="the label 'dead'"):
        SiteMoments.of(plan, [(three[0][0], np.where(three[0][1] == "ill", "dead", "well"))])


# --- files


def plans():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(12, 3))
    X = rng.normal(size=(300, 3))
    numbers = np.column_stack([X[:, 0], X[:, 1] * X[:, 2]])
    three_classes = np.digitize(X[:, 0], [-0.4, 0.4])
    sparse = sp.csr_array(np.where(np.abs(X) > 0.8, X, 0.0))
    return {
        "rbf": (PSVC(landmarks=Z, standardize=True), X, np.where(X[:, 0] > 0, "b", "a"), {}),
        "shared": (PSVC(landmarks=Z, kernel=Laplacian(0.5)), X, three_classes, {}),
        "weighted": (PSVC(landmarks=Z, class_weight="balanced"), X, X[:, 0] > 0.7, {}),
        "sum": (PSVR(landmarks=Z, kernel=RBF(0.5) + Linear()), X, numbers[:, 1], {"n_folds": 3}),
        "outputs": (PSVR(landmarks=Z, dtype=np.float32), X, numbers, {"feature_names": NAMES}),
        "dyadic": (PSVR(kernel="dyadic"), X, numbers[:, 0], {}),
        "sparse": (PSVC(landmarks="random", n_landmarks=9), sparse, X[:, 0] > 0, {}),
    }


def site_of(name):
    model, X, y, options = plans()[name]
    survey = RowSurvey.of(X, y, labels=isinstance(model, PSVC))
    plan = MomentsPlan.make(model, survey, **options)
    return SiteMoments.of(plan, [(X, y)], least=5, name=name), model


@pytest.mark.parametrize("name", plans())
def test_a_file_gives_back_what_was_written(name, tmp_path):
    site, model = site_of(name)
    save_plan(site.plan, tmp_path / "shared.npz")
    plan = load_plan(tmp_path / "shared.npz")
    assert plan.key == site.plan.key
    save_moments(site, tmp_path / "a.moments")
    again = load_moments(tmp_path / "a.moments")
    assert again.plan.key == again.sums.plan == plan.key
    assert again.name == str(tmp_path / "a.moments")
    for one, other in zip(parts_of(site), parts_of(again), strict=True):
        assert (one is None) == (other is None)
        for part in () if one is None else ("weight", "origin", "rest", "cross", "n_targets"):
            assert_array_equal(getattr(one, part), getattr(other, part))
    assert (again.sums.n_rows, again.sums.n_terms) == (site.sums.n_rows, site.sums.n_terms)
    epsilon = model.set_params(epsilon=1.0)
    first, second = (fit_sites(epsilon, [s]).alpha_.copy() for s in (site, again))
    assert_array_equal(first, second)  # the same bits go in
    save_moments(again, tmp_path / "b.moments")
    assert (tmp_path / "a.moments").read_bytes() == (tmp_path / "b.moments").read_bytes()


def test_files_hold_no_rows(tmp_path):
    site, _ = site_of("rbf")
    save_moments(site, tmp_path / "a.moments")
    _, X, _, _ = plans()["rbf"]
    with zipfile.ZipFile(tmp_path / "a.moments") as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert not any(x.tobytes() in content for x in X)
    assert any(z.tobytes() in content for z in site.plan.objects)  # the search finds something


def test_each_kind_of_file_is_told_apart(tmp_path):
    site, model = site_of("rbf")
    save_plan(site.plan, tmp_path / "shared.npz")
    save_moments(site, tmp_path / "a.moments")
    psvm.save(fit_sites(model, [site]), tmp_path / "m.psvm")
    with pytest.raises(ModelFileError, match="holds a plan of sums, not sums of a site"):
        load_moments(tmp_path / "shared.npz")
    with pytest.raises(ModelFileError, match="holds a model, not a plan of sums"):
        load_plan(tmp_path / "m.psvm")
    with pytest.raises(ModelFileError, match="holds sums of a site, not a model"):
        psvm.load(tmp_path / "a.moments")
    (tmp_path / "x").write_text("text")
    with pytest.raises(ModelFileError, match="not a model file"):
        load_plan(tmp_path / "x")
    with pytest.raises(TypeError, match="plan must be a MomentsPlan"):
        save_plan(site, tmp_path / "x")
    with pytest.raises(TypeError, match="site must be SiteMoments"):
        save_moments(site.plan, tmp_path / "x")


def test_code_is_not_written(tmp_path):
    X, y = rows(400, 99)
    model = PSVC(landmarks="random", n_landmarks=5, kernel=lambda X, Z: X @ Z.T)
    plan = MomentsPlan.make(model, RowSurvey.of(X, y, labels=True))
    with pytest.raises(TypeError, match="cannot be saved"):
        save_plan(plan, tmp_path / "shared.npz")
    assert list(tmp_path.iterdir()) == []


def test_damaged_bytes_are_refused(tmp_path):
    site, _ = site_of("rbf")
    path = tmp_path / "a.moments"
    save_moments(site, path)
    content = path.read_bytes()
    rng = random.Random(0)
    for _ in range(100):
        damaged = bytearray(content)
        for _ in range(rng.choice([1, 1, 3])):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        if rng.random() < 0.3:
            damaged = damaged[: rng.randrange(len(damaged))]
        path.write_bytes(damaged)
        if bytes(damaged) != content:
            with pytest.raises(ModelFileError):
                load_moments(path)


class MomentsMutant(Mutant):
    """The parts of a file of sums, some of which are changed at random."""

    def _places(self):
        found = [(self.metadata, "content")]
        for container, key in found:
            value = container[key]
            if isinstance(value, list | dict):
                keys = range(len(value)) if isinstance(value, list) else value
                found += [(value, k) for k in keys]
        return found

    def _foreign(self):
        other = type(self)(self.rng.choice(self.others), self.others, self.rng)
        container, key = self.rng.choice(other._places())
        return container[key]


@pytest.mark.filterwarnings("ignore")
def test_changed_files_with_right_checksums(tmp_path):
    """Refused, or sums that can be fitted: no other error, and nothing that is not finite."""
    files = []
    for name in plans():
        files.append(tmp_path / f"{name}.moments")
        save_moments(site_of(name)[0], files[-1])
    outcomes = {"refused": 0, "fitted": 0}
    for i in range(140):
        rng = random.Random(i)
        mutant = MomentsMutant(files[i % len(files)], files, rng)
        mutant.change()
        path = tmp_path / "mutant"
        path.write_bytes(mutant.bytes())
        with np.errstate(all="ignore"):
            outcomes[outcome_of(path, mutant.huge)] += 1
    assert outcomes["refused"] > 50
    assert outcomes["fitted"] > 5


def outcome_of(path, huge):
    try:
        site = load_moments(path)
    except ModelFileError:
        return "refused"
    kind = PSVR if site.plan.classes is None else PSVC
    kernel = "dyadic" if site.plan.kernel is None else "rbf"
    try:
        model = fit_sites(kind(kernel=kernel, epsilon=0.1, epsilon_unit="max"), [site])
    except ValueError:
        return "refused"
    assert huge or np.isfinite(model.alpha_).all()
    return "fitted"


# --- the command


@pytest.fixture
def run(tmp_path, monkeypatch):
    for package in ("click", "rich", "pyarrow"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    from psvm.cli import main

    monkeypatch.chdir(tmp_path)
    return lambda *arguments: int(main([str(a) for a in arguments]))


def write_csv(path, X, y):
    lines = [",".join([*NAMES, "diagnosis"])]
    lines += [",".join([*map(repr, x.tolist()), label]) for x, label in zip(X, y, strict=True)]
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


def test_the_commands_from_rows_to_a_model(run, three, capsys):
    write_csv("public.csv", *rows(400, 99))
    assert run("plan", "public.csv", "--target", "diagnosis", "--public", "--landmarks", 30,
               "-o", "shared.npz") == 0  # fmt: skip
    files = []
    for i, (X, y) in enumerate(three):
        write_csv(f"{i}.csv", X, y)
        files.append(f"{i}.moments")
        assert run("moments", f"{i}.csv", "--target", "diagnosis", "--landmarks-from",
                   "shared.npz", "-o", files[-1]) == 0  # fmt: skip
    assert run("fit", *files, "--epsilon", 0.5, "--model", "m.psvm") == 0
    assert "3, 3700 rows" in capsys.readouterr().out
    plan = load_plan("shared.npz")
    X, y = pooled(three)
    whole = fit_sites(PSVC(epsilon=0.5), [SiteMoments.of(plan, [(X, y)])])
    model = psvm.load("m.psvm")
    assert_allclose(
        model.decision_function(X),
        whole.decision_function(named(whole, X)),
        rtol=0,
        atol=1e-9,
    )
    capsys.readouterr()
    assert run("info", "0.moments", "--json") == 0
    info = json.loads(capsys.readouterr().out)
    assert (info["rows"], info["classes"], info["features"]) == (900, ["ill", "well"], NAMES)
    assert info["key"] == plan.key
    assert run("info", "shared.npz") == 0
    assert "psvm-plan" in capsys.readouterr().out
    assert run("predict", "m.psvm", "0.csv", "--target", "diagnosis", "--output", "p.csv") == 0
    assert run("fit", *files, "--held-out", "site", "--model", "by_site.psvm") == 0
    assert run("fit", "--config", "by_site.psvm.toml") == 0
    expected = fit_sites(PSVC(), [load_moments(file) for file in files], held_out="site")
    assert_allclose(psvm.load("by_site.psvm")[-1].epsilon_, expected.epsilon_, rtol=1e-10)


def test_commands_that_do_not_work_out(run, capsys, tmp_path):
    X, y = rows(300, 11)
    write_csv("a.csv", X, y)
    assert run("plan", "a.csv", "--target", "diagnosis", "-o", "shared.npz") == 0
    plan = load_plan("shared.npz")
    assert not any((X == z).all(axis=1).any() for z in plan.objects)  # means, and no rows
    write_csv("few.csv", X[:15], y[:15])
    assert run("plan", "few.csv", "--target", "diagnosis", "-o", "few.npz") == 3
    assert "use --public" in capsys.readouterr().err
    moments = ("--target", "diagnosis", "--landmarks-from", "shared.npz", "-o")
    assert run("moments", "few.csv", *moments, "few.moments") == 3
    assert "few.csv: there are 15 distinct rows" in capsys.readouterr().err
    assert not (tmp_path / "few.moments").exists()
    assert run("moments", "a.csv", *moments, "a.moments") == 0
    assert run("fit", "a.moments", "a.csv", "--model", "m.psvm") == 3
    assert run("fit", "a.csv", "a.csv", "--target", "diagnosis", "--model", "m.psvm") == 2
    assert run("fit", "a.moments", "--kernel", "rbf", "--model", "m.psvm") == 2
    assert "--kernel is fixed by the plan" in capsys.readouterr().err
    assert run("moments", "a.csv", *moments[:2], "--landmarks-from", "a.moments", "-o", "b") == 3
    assert "holds sums of a site, not a plan" in capsys.readouterr().err
    assert not (tmp_path / "m.psvm").exists()


def test_a_fit_to_a_file_by_blocks(run, three):
    X, y = pooled(three)
    write_csv("large.csv", X, y)
    options = ("--target", "diagnosis", "--model")
    assert run("fit", "large.csv", "--memory", "0.01", *options, "m.psvm") == 0
    model = psvm.load("m.psvm")[-1]
    whole = PSVC(kernel="rbf", standardize=True, random_state=0).fit(psvm.RowBlocks(X, y))
    assert_allclose(model.epsilon_, whole.epsilon_, rtol=1e-10)
    assert run("predict", "m.psvm", "large.csv", "--output", "p.csv") == 0
    assert run("fit", "large.csv", "--memory", "1", "--missing", "drop", *options, "n.psvm") == 2


@pytest.mark.parametrize("command", ["plan", "moments", "fit"])
def test_ctrl_c_leaves_nothing_behind(command, run, tmp_path, monkeypatch, capsys):
    """The signal comes while rows are surveyed (plan) or summed; an older result stays whole."""
    write_csv("a.csv", *rows(9000, 11))
    assert run("plan", "a.csv", "--target", "diagnosis", "-o", "shared.npz") == 0
    Path("old").write_bytes(b"what was there")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    arguments = {
        "plan": ("-o", "old"),
        "moments": ("--landmarks-from", "shared.npz", "-o", "old"),
        "fit": ("--memory", "0.05", "--model", "old"),
    }
    seen, where = [], (_passes, "survey_of") if command == "plan" else (MomentsPlan, "add")
    work = getattr(*where)

    def interrupted(*arguments):
        seen.append(command)
        work(*arguments)
        signal.raise_signal(signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        monkeypatch.setattr(*where, interrupted)
        code = run(command, "a.csv", "--target", "diagnosis", *arguments[command])
    finally:
        signal.signal(signal.SIGINT, handler)
    assert code == 130 and seen == [command]
    told = capsys.readouterr().err
    assert "Interrupted" in told and "Traceback" not in told
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
