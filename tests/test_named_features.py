"""Scores and named features of sequences, profiles, graphs and molecules, against definitions."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import psvm
from psvm import PSVC, PSVMSelector
from psvm.kernels import (
    FisherScores,
    Jaccard,
    LocalityImproved,
    Mismatch,
    MorganFingerprints,
    PositionLogOdds,
    ProfileWords,
    Sequence,
    Spectrum,
    Subsequence,
    Tanimoto,
    WeisfeilerLehman,
    read_smiles,
)

NO_RDKIT = 'needs RDKit: pip install "psvm[chem]"'
NO_NETWORKX = 'needs networkx: pip install "psvm[graphs]"'


def words(n, length, seed, letters="ACGT"):
    rng = np.random.default_rng(seed)
    return ["".join(row) for row in rng.choice(list(letters), size=(n, length))]


# ---------------------------------------------------------------- options of the notes' kernels


def contained(x, k):
    return {x[i : i + k] for i in range(len(x) - k + 1)}


def test_spectrum_as_in_the_notes():
    """Presence, and words of up to k letters: common words, counted by hand."""
    X = [*words(6, 9, 0), "AC", "G"]
    K = Spectrum(3, False, presence=True, shorter=True)(X)
    sets = [set().union(*(contained(x, k) for k in (1, 2, 3))) for x in X]
    assert_array_equal(K, [[len(a & b) for b in sets] for a in sets])
    counted = sum(Spectrum(k, False)(X[:6]) for k in (1, 2, 3))
    assert_array_equal(Spectrum(3, False, shorter=True)(X[:6]), counted)
    features = Spectrum(3, False, shorter=True).feature_map().fit(X)
    names = features.get_feature_names_out()
    assert sorted(names) == list(names) and {len(n) for n in names} == {1, 2, 3}
    assert_array_equal(features.transform(X) @ features.transform(X).T.toarray(),
                       Spectrum(3, False, shorter=True)(X))  # fmt: skip
    with pytest.raises(ValueError, match="has 2 letters"):
        Spectrum(3)(X)


def test_mismatch_as_in_the_notes():
    X = words(5, 8, 1)
    near = [
        {
            "".join(w)
            for w in product("ACGT", repeat=3)
            if any(sum(a != b for a, b in zip(w, v, strict=True)) <= 1 for v in contained(x, 3))
        }
        for x in X
    ]
    K = Mismatch(3, 1, normalize=False, presence=True)(X)
    assert_array_equal(K, [[len(a & b) for b in near] for a in near])


def test_subsequences_of_up_to_n_letters():
    X = ["BIOINFORMATICS", "BIO", "B"]
    K = Subsequence(3, 0.5, False, shorter=True)
    assert_allclose(K(X[:2]), sum(Subsequence(n, 0.5, False)(X[:2]) for n in (1, 2, 3)))
    assert_allclose(K(X)[2, 2], 0.25)


# ---------------------------------------------------------------- locality


def locality(x, z, window, inner, outer, shift):
    def win(p, q):
        total = 0.0
        for j in range(-window, window + 1):
            inside = all(0 <= place + j < len(x) for place in (p, q))
            if inside and x[p + j] == z[q + j]:
                total += (window + 1 - abs(j)) / (window + 1) ** 2
        return total**inner

    n = len(x)
    total = sum(win(p, p) for p in range(n))
    if shift:
        total += 0.5 * sum(win(p + shift, p) + win(p, p + shift) for p in range(n - shift))
    return total**outer


@pytest.mark.parametrize("window, inner, outer, shift", [(0, 1, 1, 0), (2, 3, 1, 0), (1, 2, 2, 3)])
def test_locality_improved(window, inner, outer, shift):
    X = words(7, 10, 3)
    kernel = LocalityImproved(window, inner, outer, shift, normalize=False)
    expected = [[locality(x, z, window, inner, outer, shift) for z in X] for x in X]
    # within a shifted window only letters that both parts have can match
    if shift:
        expected = [[shifted_locality(x, z, window, inner, outer, shift) for z in X] for x in X]
    assert_allclose(kernel(X), expected, rtol=1e-12)
    K = LocalityImproved(window, inner, outer, shift)(words(40, 10, 5))
    assert_allclose(K.diagonal(), 1.0)
    assert np.linalg.eigvalsh(K)[0] > -1e-12


def shifted_locality(x, z, window, inner, outer, shift):
    parts = [(1.0, x, z), (0.5, x[shift:], z[:-shift]), (0.5, x[:-shift], z[shift:])]
    total = sum(w * locality(a, b, window, inner, 1, 0) for w, a, b in parts)
    return total**outer


def test_locality_needs_equal_lengths(tmp_path):
    with pytest.raises(ValueError, match="equal lengths"):
        LocalityImproved()(["ACG", "AC"])
    X = words(20, 8, 1)
    y = [x[3] in "AC" for x in X]
    model = PSVC(kernel=LocalityImproved(1, 2), epsilon=0.1).fit(X, y)
    psvm.save(model, tmp_path / "m.psvm")
    assert_array_equal(psvm.load(tmp_path / "m.psvm").predict(X), model.predict(X))


# ---------------------------------------------------------------- scores


def chain_logs(logits, x, order, letters="ACGT"):
    """Log likelihood of a chain whose probabilities are softmax(logits)."""
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    total = 0.0
    for i in range(order, len(x)):
        context = 0
        for letter in x[i - order : i]:
            context = context * len(letters) + letters.index(letter)
        total += logs[context, letters.index(x[i])]
    return total


@pytest.mark.parametrize("order", [0, 1, 2])
def test_fisher_scores_are_the_gradient(order):
    """Central differences of the log likelihood of an independent chain; I of the definition."""
    X = words(12, 15, order)
    scores = FisherScores(order, whiten=False).fit(X)
    logits = np.log(scores.probabilities_)
    S, step = scores.transform(X), 1e-5
    for i in (0, 5):
        assert_allclose(scores.score_samples(X)[i], chain_logs(logits, X[i], order))
        for j in range(0, logits.size, 7):
            up, down = logits.copy(), logits.copy()
            up.flat[j] += step
            down.flat[j] -= step
            slope = (chain_logs(up, X[i], order) - chain_logs(down, X[i], order)) / (2 * step)
            assert_allclose(S[i, j], slope, atol=1e-8)
    # s' I^+ t with I = E n(c) (diag p - p p') for each context
    P, E = scores.probabilities_, scores.expected_
    blocks = [np.linalg.pinv(e * (np.diag(p) - np.outer(p, p))) for p, e in zip(P, E, strict=True)]
    parts = S.reshape(len(S), -1, 4)
    expected = sum(parts[:, c] @ inverse @ parts[:, c].T for c, inverse in enumerate(blocks))
    white = FisherScores(order).fit_transform(X)
    assert_allclose(white @ white.T, expected, rtol=1e-8, atol=1e-8)
    assert len(scores.get_feature_names_out()) == 4 ** (order + 1)


def test_fisher_scores_tell_chains_apart_and_the_positive_class_trains(tmp_path):
    rng = np.random.default_rng(0)
    X, y = [], np.arange(60) % 2
    for label in y:
        letters = [0]
        for _ in range(60):  # class 1 repeats letters more often
            letters.append(letters[-1] if rng.random() < 0.3 * label else rng.integers(4))
        X.append("".join("ACGT"[a] for a in letters))
    model = make_pipeline(FisherScores(1), PSVC(kernel="linear"))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.8
    model.fit(X, y)
    psvm.save(model, tmp_path / "m.psvm")
    assert_array_equal(psvm.load(tmp_path / "m.psvm").decision_function(X[:9]),
                       model.decision_function(X[:9]))  # fmt: skip
    ones = FisherScores(1, positive=1).fit(X, y)
    some = FisherScores(1).fit([x for x, label in zip(X, y, strict=True) if label])
    assert_array_equal(ones.probabilities_, some.probabilities_)
    for options, target, message in (
        ({"positive": 7}, y, "No sequence has the label"),
        ({"positive": 1}, None, "y must be given"),
        ({"alphabet": None}, y, "alphabet must be given"),
        ({"pseudocount": 0}, y, "pseudocount must be"),
        ({"order": -1}, y, "order must be"),
    ):
        with pytest.raises(ValueError, match=message):
            FisherScores(**options).fit(X, target)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_log_odds_by_position(order, tmp_path):
    X, y = words(50, 6, order), np.arange(50) % 2
    scores = PositionLogOdds(order, pseudocount=0.5).fit(X, y)
    S = scores.transform(X)
    assert S.shape == (50, 6)
    for i, place in product((0, 3, 17), range(6)):
        before = X[i][max(0, place - order) : place]
        logs = []
        for label in (0, 1):
            same = [
                x[place]
                for x, c in zip(X, y, strict=True)
                if c == label and x[max(0, place - order) : place] == before
            ]
            logs.append(np.log((same.count(X[i][place]) + 0.5) / (len(same) + 4 * 0.5)))
        assert_allclose(S[i, place], logs[1] - logs[0], atol=1e-12)
    model = make_pipeline(PositionLogOdds(order), PSVC(kernel="poly", epsilon=0.5)).fit(X, y)
    psvm.save(model, tmp_path / "m.psvm")
    assert_array_equal(psvm.load(tmp_path / "m.psvm").predict(X), model.predict(X))
    with pytest.raises(ValueError, match="equal lengths"):
        scores.transform(["ACGTACGT"])
    with pytest.raises(ValueError, match="two classes"):
        PositionLogOdds(order).fit(X, np.arange(50) % 3)


# ---------------------------------------------------------------- profiles


def test_profile_words_by_enumeration():
    rng = np.random.default_rng(0)
    profiles = [rng.dirichlet(np.ones(4), size=n) for n in (5, 8)]
    features = ProfileWords(3, 2.5, alphabet="dna")
    F = features.fit_transform(profiles).toarray()
    for row, P in zip(F, profiles, strict=True):
        expected = Counter()
        for start in range(len(P) - 2):
            for word in product(range(4), repeat=3):
                if np.prod([P[start + i, a] for i, a in enumerate(word)]) >= np.exp(-2.5):
                    expected["".join("ACGT"[a] for a in word)] += 1
        found = dict(zip(features.get_feature_names_out(), row, strict=True))
        assert {n: v for n, v in found.items() if v} == expected
    with pytest.raises(ValueError, match=r"X\[0\] has the shape \(2, 4\)"):
        features.transform([np.ones((2, 4)) / 4])
    with pytest.raises(ValueError, match="probabilities"):
        features.transform([np.full((3, 4), 2.0)])


def test_a_profile_of_one_sequence_is_its_spectrum():
    X = words(6, 10, 2)
    profiles = [np.eye(4)[["ACGT".index(a) for a in x]] for x in X]
    F = ProfileWords(3, 1.0, alphabet="dna").fit_transform(profiles)
    assert_array_equal((F @ F.T).toarray(), Spectrum(3, False)(X))


# ---------------------------------------------------------------- graphs


class Graph:
    """What a graph needs to have."""

    def __init__(self, labels, edges, bonds=None):
        self.nodes = {i: {"label": label} for i, label in enumerate(labels)}
        self.adj = {i: {} for i in self.nodes}
        for number, (a, b) in enumerate(edges):
            self.adj[a][b] = self.adj[b][a] = {"bond": bonds[number]} if bonds else {}


def subtree(graph, node, depth):
    """The name of a subtree by recursion."""
    label = graph.nodes[node]["label"]
    if depth == 0 or not graph.adj[node]:
        return label + "()" * depth
    return f"{label}({','.join(sorted(subtree(graph, b, depth - 1) for b in graph.adj[node]))})"


def test_subtrees(tmp_path):
    rng = np.random.default_rng(0)
    graphs, y = [], np.arange(40) % 2
    for label in y:
        n = 8
        edges = {tuple(sorted(e)) for e in rng.integers(n, size=(10, 2)).tolist() if e[0] != e[1]}
        edges = [*edges, (n, n + 1), (n + 1, 0)]
        graphs.append(Graph([*rng.choice(list("CN"), size=n), "C", "O" if label else "C"], edges))
    features = WeisfeilerLehman(depth=2)
    F = features.fit_transform(graphs)
    for row, graph in zip(F.toarray(), graphs, strict=True):
        expected = Counter(subtree(graph, v, d) for d in range(3) for v in graph.nodes)
        found = zip(features.get_feature_names_out(), row, strict=True)
        assert {n: v for n, v in found if v} == expected
    model = make_pipeline(clone(features), PSVMSelector(n_features=1)).fit(graphs, y)
    assert "O" in model.get_feature_names_out()[0]
    model = make_pipeline(clone(features), PSVC(kernel="cosine", epsilon=0.5)).fit(graphs, y)
    psvm.save(model, tmp_path / "m.psvm")
    assert_array_equal(psvm.load(tmp_path / "m.psvm").predict(graphs), model.predict(graphs))


def test_edges_may_have_labels():
    graph = Graph("CO", [(0, 1)], bonds=["="])
    names = WeisfeilerLehman(1, edge_label="bond").fit([graph]).get_feature_names_out()
    assert set(names) == {"C", "O", "C(=O)", "O(=C)"}
    new = Graph("CS", [(0, 1)])
    features = WeisfeilerLehman(1).fit([graph])
    assert features.transform([new]).toarray().sum() == 1  # only the label C is known
    with pytest.raises(TypeError, match=r"X\[0\] must be a graph of networkx"):
        features.transform([[1, 2]])


def test_networkx_and_grakel_agree():
    """The subtree kernel of GraKeL, a transformer that needs no adapter: its own pipeline."""
    nx = pytest.importorskip("networkx", reason=NO_NETWORKX)
    grakel = pytest.importorskip("grakel", reason='needs GraKeL: pip install "psvm[graphs]"')
    rng = np.random.default_rng(0)
    graphs = [nx.gnm_random_graph(7, 9, seed=i) for i in range(24)]
    for graph in graphs:
        nx.set_node_attributes(graph, {v: rng.choice(list("CNO")) for v in graph}, "label")
    F = WeisfeilerLehman(depth=2).fit_transform(graphs)
    theirs = list(grakel.graph_from_networkx(graphs, node_labels_tag="label"))
    kernel = grakel.kernels.WeisfeilerLehman(n_iter=2, base_graph_kernel=grakel.VertexHistogram)
    assert_array_equal((F @ F.T).toarray(), kernel.fit_transform(theirs))
    y = np.arange(24) % 2
    model = make_pipeline(kernel, PSVC(kernel="precomputed", epsilon=0.5)).fit(theirs, y)
    assert model.predict(theirs[:3]).shape == (3,)


# ---------------------------------------------------------------- molecules


MOLECULES = """SMILES name
CCO ethanol
# acids
CC(=O)O acetic acid
CCC(=O)O propionic acid
OC(=O)c1ccccc1 benzoic acid
CCCO
c1ccccc1 benzene
"""


def test_read_smiles(tmp_path):
    path = tmp_path / "m.smi"
    path.write_text(MOLECULES)
    molecules = read_smiles(path)
    assert len(molecules) == 6 and molecules[1] == "CC(=O)O"
    assert [m.name for m in molecules][-2:] == ["", "benzene"]
    assert molecules[1].name == "acetic acid"
    path.write_text("# nothing\n")
    with pytest.raises(ValueError, match="has no molecules"):
        read_smiles(path)


@pytest.mark.parametrize("counts", [False, True])
def test_fingerprints_are_those_of_rdkit(tmp_path, counts):
    pytest.importorskip("rdkit", reason=NO_RDKIT)
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    path = tmp_path / "m.smi"
    path.write_text(MOLECULES)
    molecules = read_smiles(path)
    F = MorganFingerprints(2, 512, counts=counts).fit_transform(molecules)
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=512)
    make = generator.GetCountFingerprint if counts else generator.GetFingerprint
    theirs = [make(Chem.MolFromSmiles(m)) for m in molecules]
    expected = [DataStructs.BulkTanimotoSimilarity(a, theirs) for a in theirs]
    assert_allclose((Jaccard() if counts else Tanimoto())(F), expected, rtol=1e-12)
    acid = ["(=O)O" in m for m in molecules]
    model = make_pipeline(MorganFingerprints(n_bits=512), PSVC(kernel="tanimoto", epsilon=0.1))
    model.fit(molecules, acid)
    psvm.save(model, tmp_path / "m.psvm")
    assert psvm.load(tmp_path / "m.psvm").predict(["CCCC(=O)O", "CCCCO"]).tolist() == [True, False]
    with pytest.raises(ValueError, match=r"molecule 1 \('odd'\) of X is no SMILES"):
        model.predict(["CC", Sequence("C(C", "odd")])


def test_without_rdkit(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(ImportError, match=r"psvm\[chem\]"):
        MorganFingerprints().fit(["CCO"])


@pytest.mark.parametrize("cls", [FisherScores, PositionLogOdds])
def test_scores_of_no_sequences_and_of_too_many_words(cls):
    X, y = words(8, 5, 0), np.arange(8) % 2
    fitted = cls().fit(X, y)
    assert fitted.transform([]).shape == (0, fitted.transform(X).shape[1])
    with pytest.raises(ValueError, match="X must have sequences to fit"):
        cls().fit([], [])
    with pytest.raises(ValueError, match=r"order=5 is too large for 20 letters.* 6.4e\+07 words"):
        cls(5, alphabet="protein").fit(["ACDEFGH"] * 8, y)


def test_labels_and_alphabets_that_make_no_sense():
    with pytest.raises(ValueError, match="y contains NaN"):
        PositionLogOdds().fit(words(4, 5, 0), [0.0, np.nan, 0.0, np.nan])
    with pytest.raises(ValueError, match="alphabet must have distinct letters, got 'ACAC'"):
        ProfileWords(1, alphabet="ACAC").fit([np.full((2, 4), 0.25)])
