"""Every sequence kernel against its definition, spelt out slowly; strings as objects; errors."""

import gzip
import pickle
import re
import sys
from collections import Counter, defaultdict
from itertools import combinations, product
from math import exp, fsum, log, sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from psvm import PSVC, PSVR, PSVMSelector
from psvm.kernels import (
    LocalAlignment,
    Mismatch,
    Motif,
    NeedlemanWunsch,
    Sequence,
    SmithWaterman,
    Spectrum,
    Subsequence,
    WeightedDegree,
    from_prosite,
    normalized,
    read_fasta,
)
from reference import AGAIN, assert_same_solution

# Sums of fewer than 1e4 products of numbers that are exact or off by a few ulp.
CLOSE = {"rtol": 1e-11, "atol": 1e-13}


# ---------------------------------------------------------------- the definitions


def inner(f, g):
    return fsum(f[u] * g[u] for u in f if u in g)


def words(s, k):
    return [s[i : i + k] for i in range(len(s) - k + 1)]


def spectrum(k):
    return lambda s, t: inner(Counter(words(s, k)), Counter(words(t, k)))


def mismatch(k, m, alphabet):
    everything = ["".join(u) for u in product(alphabet, repeat=k)]

    def features(s):
        return Counter(
            u
            for w in words(s, k)
            for u in everything
            if sum(a != b for a, b in zip(u, w, strict=True)) <= m
        )

    return lambda s, t: inner(features(s), features(t))


def gappy(n, decay):
    def features(s):
        f = defaultdict(float)
        for places in combinations(range(len(s)), n):
            f["".join(s[p] for p in places)] += decay ** (places[-1] - places[0] + 1)
        return f

    return lambda s, t: inner(features(s), features(t))


def degree(D, shift=0):
    def value(s, t):
        total = []
        for d in range(1, D + 1):
            b = 2 * (D - d + 1) / (D * (D + 1))
            for i, j in product(range(len(s) - d + 1), repeat=2):
                if abs(i - j) <= shift and s[i : i + d] == t[j : j + d]:
                    total.append(b * (1 if i == j else 1 / (2 * (abs(i - j) + 1))))
        return fsum(total)

    return value


def motifs(patterns, counts):
    def features(s):
        hits = {
            p: sum(re.compile(p).match(s, i) is not None for i in range(len(s))) for p in patterns
        }
        return hits if counts else {p: float(n > 0) for p, n in hits.items()}

    return lambda s, t: inner(features(s), features(t))


def alignments(s, t, score, opening, extension):
    """Scores of all local alignments: pairs of places that increase in both sequences."""

    def gap(n):
        return 0 if n == 0 else opening + extension * (n - 1)

    def extend(i, j, total):
        yield total
        for p, q in product(range(i + 1, len(s)), range(j + 1, len(t))):
            cost = gap(p - i - 1) + gap(q - j - 1)
            yield from extend(p, q, total + score(s[p], t[q]) - cost)

    yield 0
    for i, j in product(range(len(s)), range(len(t))):
        yield from extend(i, j, score(s[i], t[j]))


def match(a, b):
    return 2 if a == b else -1


def blosum():
    return pytest.importorskip("Bio.Align").substitution_matrices.load("BLOSUM62")


def local_kernel(beta, score, opening=3, extension=1):
    return lambda s, t: fsum(exp(beta * x) for x in alignments(s, t, score, opening, extension))


def best_local(score, opening=3, extension=1):
    return lambda s, t: max(alignments(s, t, score, opening, extension))


def best_global(score, opening=3, extension=1):
    """Best score over all paths from corner to corner, one column of the alignment at a time."""

    def value(s, t):
        def best(i, j, last):
            if i == len(s) and j == len(t):
                return 0.0
            options = []
            if i < len(s) and j < len(t):
                options.append(score(s[i], t[j]) + best(i + 1, j + 1, "pair"))
            if i < len(s):
                options.append(best(i + 1, j, "s") - (extension if last == "s" else opening))
            if j < len(t):
                options.append(best(i, j + 1, "t") - (extension if last == "t" else opening))
            return max(options)

        return best(0, 0, "pair")

    return value


def by_hand(value, A, B):
    return np.array([[value(a, b) for b in B] for a in A], dtype=float)


GAPS = {"gap_open": 3.0, "gap_extend": 1.0}
DNA = {"matrix": (2, -1), **GAPS}
CASES = {
    "spectrum of 1": (Spectrum(1), spectrum(1)),
    "spectrum of 3": (Spectrum(3), spectrum(3)),
    "mismatch 2 1": (Mismatch(2, 1), mismatch(2, 1, "ACGT")),
    "mismatch 3 2": (Mismatch(3, 2, alphabet="TGCA"), mismatch(3, 2, "ACGT")),
    "mismatch 3 0": (Mismatch(3, 0), spectrum(3)),
    "subsequence of 1": (Subsequence(1, 0.7), gappy(1, 0.7)),
    "subsequence of 3": (Subsequence(3, 0.5), gappy(3, 0.5)),
    "subsequence without decay": (Subsequence(2, 1.0), gappy(2, 1.0)),
    "weighted degree": (WeightedDegree(3), degree(3)),
    "weighted degree, long": (WeightedDegree(20), degree(20)),
    "weighted degree, shifted": (WeightedDegree(3, shift=2), degree(3, 2)),
    "weighted degree, any shift": (WeightedDegree(2, shift=100), degree(2, 100)),
    "motifs": (Motif(["A.A", "CG", "T+A"]), motifs(["A.A", "CG", "T+A"], False)),
    "counted motifs": (Motif(["A.A", "C", "T+A"], counts=True), motifs(["A.A", "C", "T+A"], True)),
    "local alignment": (LocalAlignment(0.4, **DNA), local_kernel(0.4, match)),
    "local alignment, free gaps": (
        LocalAlignment(0.3, gap_open=0, gap_extend=0, matrix=(1, -1)),
        local_kernel(0.3, lambda a, b: 1 if a == b else -1, 0, 0),
    ),
}
ALIGNED = {
    "Smith-Waterman": (SmithWaterman, best_local),
    "Needleman-Wunsch": (NeedlemanWunsch, best_global),
}
MAPPED = ["spectrum of 3", "mismatch 3 2", "weighted degree", "motifs", "counted motifs"]


def random_strings(n, seed, length=8, alphabet="ACGT"):
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(alphabet), size=length)) for _ in range(n)]


def raw(kernel):
    return clone(kernel).set_params(normalize=False)


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_the_definition(name):
    kernel, value = CASES[name]
    A, B = random_strings(6, 0, 7), random_strings(4, 1, 7)
    assert_allclose(raw(kernel)(A, B), by_hand(value, A, B), **CLOSE)


@pytest.mark.parametrize("name", CASES)
def test_normalised_values(name):
    kernel, value = CASES[name]
    A, B = random_strings(6, 0, 7), random_strings(4, 1, 7)
    a, b = ([value(x, x) for x in C] for C in (A, B))
    expected = np.array(
        [
            [value(x, z) / sqrt(p * q) if p * q > 0 else 0.0 for z, q in zip(B, b, strict=True)]
            for x, p in zip(A, a, strict=True)
        ]
    )
    assert_allclose(kernel(A, B), expected, **CLOSE)
    assert_allclose(np.diag(kernel(A)), np.sign(a), rtol=1e-14)


@pytest.mark.parametrize("name", CASES)
def test_one_set_and_two(name):
    """K(A) is symmetric and K(A, B) a block of K(A + B), whatever letters occur where."""
    kernel = CASES[name][0]
    A, B = random_strings(7, 2, alphabet="ACG"), random_strings(5, 3, alphabet="AGT")
    K = kernel(A + B)
    assert type(K) is np.ndarray and K.dtype == np.float64
    assert_allclose(K, K.T, rtol=1e-14)
    assert_allclose(kernel(A, B), K[:7, 7:], rtol=1e-13, atol=1e-15)
    assert_allclose(kernel(B), K[7:, 7:], rtol=1e-13, atol=1e-15)
    assert_allclose(kernel(A, A), K[:7, :7], rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", CASES)
def test_positive_semidefinite_where_claimed(name):
    kernel = CASES[name][0]
    assert kernel.positive_definite
    A = random_strings(30, 4, 6) + random_strings(10, 5, 6, "AC")
    for k in (kernel, raw(kernel)):
        values = np.linalg.eigvalsh(k(A))
        # Eigenvalues of a computed matrix are off by a few ulp of the largest per row.
        assert values[0] >= -1e-13 * len(A) * values[-1]


def test_indefinite_where_not_claimed():
    assert not LocalAlignment(log=True).positive_definite
    assert not SmithWaterman().positive_definite and not NeedlemanWunsch().positive_definite
    assert not LocalAlignment(matrix=(-1, 1)).positive_definite
    K = LocalAlignment(0.4, matrix=(-1, 1), gap_open=3)(["A", "C"])
    assert np.linalg.eigvalsh(K)[0] < -0.01


@pytest.mark.parametrize("beta", [0.05, 0.2, 0.5, 1.0])
def test_claim_of_the_local_alignment_kernel_is_that_of_its_letters(beta):
    table = blosum()
    kernel = LocalAlignment(beta)
    definite = np.linalg.eigvalsh(np.exp(beta * np.array(table)))[0] >= -1e-12
    assert kernel.positive_definite == definite


def test_bio_in_bioinformatics():
    """The example of the lecture notes: one occurrence of span 3 and two of span 7."""
    for decay in (0.3, 0.5, 0.9):
        kernel = Subsequence(n=3, decay=decay, normalize=False)
        # "BIO" itself has the feature BIO with decay^3 and no other.
        feature = kernel(["BIOINFORMATICS"], ["BIO"])[0, 0] / decay**3
        assert feature == pytest.approx(decay**3 + 2 * decay**7, rel=1e-14)


@pytest.mark.parametrize("name", ALIGNED)
@pytest.mark.parametrize("engine", ["biopython", "parasail"])
def test_alignment_scores(name, engine):
    pytest.importorskip("Bio.Align" if engine == "biopython" else "parasail")
    make, definition = ALIGNED[name]
    A, B = random_strings(5, 0, 5), random_strings(4, 1, 6)
    value = definition(match)
    kernel = make(**DNA, normalize=False, engine=engine)
    assert_array_equal(kernel(A, B), by_hand(value, A, B))
    assert_array_equal(kernel(A), by_hand(value, A, A))
    normal = make(**DNA, engine=engine)(A, B)
    lengths = np.sqrt(np.outer([2 * len(a) for a in A], [2 * len(b) for b in B]))
    assert_allclose(normal, by_hand(value, A, B) / lengths, rtol=1e-14)


@pytest.mark.parametrize("name", ALIGNED)
def test_alignment_scores_of_proteins(name):
    table = blosum()
    make, definition = ALIGNED[name]
    A = random_strings(4, 0, 5, "ARNDWY")
    expected = by_hand(definition(lambda a, b: table[a, b], 11, 1), A, A)
    assert_array_equal(make(normalize=False, engine="biopython")(A), expected)
    assert_array_equal(make(table, normalize=False)(A), expected)
    other = make("PAM250", normalize=False)(A)
    assert not np.array_equal(other, expected)


def test_letters_that_parasail_does_not_take():
    pytest.importorskip("Bio.Align")
    A = ["AC*é", "*éCC"]
    kernel = SmithWaterman(**DNA, normalize=False)
    assert_array_equal(kernel(A), by_hand(best_local(match), A, A))
    with pytest.raises(ValueError, match="ASCII"):
        kernel.set_params(engine="parasail")(A)


def test_fractional_scores_go_to_biopython():
    pytest.importorskip("Bio.Align")
    kernel = SmithWaterman(matrix=(1.5, -1.0), gap_open=2.5, gap_extend=0.5, normalize=False)
    value = best_local(lambda a, b: 1.5 if a == b else -1.0, 2.5, 0.5)
    A = random_strings(4, 0, 5)
    assert_array_equal(kernel(A), by_hand(value, A, A))
    with pytest.raises(ValueError, match="parasail"):
        kernel.set_params(engine="parasail")(A)


def test_local_alignment_of_proteins():
    table = blosum()
    A = random_strings(4, 0, 4, "ARNDWY")
    value = local_kernel(0.2, lambda a, b: table[a, b], 11, 1)
    assert_allclose(LocalAlignment(0.2, normalize=False)(A), by_hand(value, A, A), **CLOSE)
    logs = [[log(value(a, b)) / 0.2 for b in A] for a in A]
    assert_allclose(LocalAlignment(0.2, log=True, normalize=False)(A), logs, **CLOSE)
    d = np.sqrt(np.diag(logs))
    assert_allclose(LocalAlignment(0.2, log=True)(A), logs / np.outer(d, d), **CLOSE)


def test_logarithm_of_long_alignments():
    """The sum exceeds all numbers; its logarithm lies between best score and best + log(number).

    There are fewer than 16^600 local alignments of two sequences of 300 letters.
    """
    s = random_strings(1, 0, 300)
    logs = LocalAlignment(2.0, matrix=(5, -4), log=True, normalize=False)(s)[0, 0]
    best = 5 * 300
    assert best <= logs <= best + 600 * log(16) / 2.0
    assert_allclose(LocalAlignment(2.0, matrix=(5, -4))(s), 1.0, rtol=1e-12)
    with pytest.raises(ValueError, match="log=True"):
        LocalAlignment(2.0, matrix=(5, -4), normalize=False)(s)


def test_large_beta_tends_to_smith_waterman():
    pytest.importorskip("Bio.Align")
    A, B = random_strings(5, 0, 40), random_strings(5, 1, 40)
    best = SmithWaterman(**DNA, normalize=False)(A, B)
    logs = LocalAlignment(20.0, **DNA, log=True, normalize=False)(A, B)
    assert (logs >= best - 1e-9).all()
    # Among fewer than 16^80 alignments the best one counts: log(16^80) / 20 = 11; most are bad.
    assert (logs <= best + 11.1).all()


def test_long_words_do_not_overflow():
    """26^20 exceeds 64 bits: the words are still told apart."""
    rng = np.random.default_rng(0)
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    base = "".join(rng.choice(letters, size=80))
    A = [base, base[40:] + base[:40], base[:30] + "A" + base[31:], "é" + base[1:]]
    for k in (13, 14, 20, 33):
        value = spectrum(k)
        K = Spectrum(k, normalize=False)(A, A[::-1])
        assert_array_equal(K, by_hand(value, A, A[::-1]))
        assert (K != K[0, 0]).any()


@pytest.mark.parametrize("k", [1, 2, 4, 7])
def test_spectrum_equals_count_vectorizer(k):
    A = random_strings(60, 0, 90)
    F = CountVectorizer(analyzer="char", ngram_range=(k, k), lowercase=False).fit_transform(A)
    assert_array_equal(Spectrum(k, normalize=False)(A), (F @ F.T).toarray())


def test_presence():
    assert_array_equal(Spectrum(1, presence=True, normalize=False)(["AAAC"], ["AACC"]), [[2.0]])


TEXT = st.text("AC", min_size=3, max_size=7)
COUPLE = st.tuples(TEXT, TEXT)


@settings(max_examples=60, deadline=None)
@given(COUPLE)
def test_values_on_any_strings(couple):
    s, t = couple
    for name in ("spectrum of 3", "mismatch 2 1", "subsequence of 3", "local alignment"):
        kernel, value = CASES[name]
        assert_allclose(raw(kernel)([s], [t]), [[value(s, t)]], **CLOSE)
    n = min(len(s), len(t))
    for name in ("weighted degree", "weighted degree, shifted"):
        kernel, value = CASES[name]
        assert_allclose(raw(kernel)([s[:n]], [t[:n]]), [[value(s[:n], t[:n])]], **CLOSE)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.text(min_size=2, max_size=6), min_size=1, max_size=5))
def test_any_letters(A):
    value = spectrum(2)
    assert_array_equal(Spectrum(2, normalize=False)(A), by_hand(value, A, A))
    assert_allclose(Subsequence(2, 0.5, normalize=False)(A), by_hand(gappy(2, 0.5), A, A), **CLOSE)


def test_compositions():
    A = random_strings(6, 0)
    k1, k2 = Spectrum(2), WeightedDegree(3)
    assert_allclose((k1 + k2)(A), k1(A) + k2(A), rtol=1e-14)
    assert_allclose((0.5 * k1 * k2)(A), 0.5 * k1(A) * k2(A), rtol=1e-14)
    assert_allclose(normalized(raw(k2))(A), k2(A), rtol=1e-14)
    for kernel, _ in CASES.values():
        assert_allclose(normalized(raw(kernel))(A), kernel(A), rtol=1e-12, atol=1e-15)
        assert_allclose(
            kernel.diagonal(kernel.prepare(kernel.check_objects(A))), np.diag(kernel(A))
        )
    with pytest.raises(ValueError, match="sequence 1 of X has 3 letters"):
        (k1 + k2)(["ACGT", "ACG"])


# ---------------------------------------------------------------- feature maps


@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("name", MAPPED)
def test_inner_products_of_the_features_are_the_kernel(name, norm):
    kernel = clone(CASES[name][0]).set_params(normalize=norm)
    A, B = random_strings(20, 0), random_strings(10, 1)
    features = kernel.feature_map()
    F, G = features.fit_transform(A), features.transform(B)
    assert F.format == "csr" and F.shape[1] == G.shape[1] == len(features.get_feature_names_out())
    assert_allclose((F @ F.T).toarray(), kernel(A), **CLOSE)
    assert_allclose((F @ G.T).toarray(), kernel(A, B), **CLOSE)
    assert_array_equal(clone(features).fit(A).transform(A).toarray(), F.toarray())


def test_names_of_the_features():
    features = Spectrum(2, normalize=False).feature_map().fit(["CAB", "ABA"])
    assert features.get_feature_names_out().tolist() == ["AB", "BA", "CA"]
    assert features.transform(["ABAB", "XYZ"]).toarray().tolist() == [[2, 1, 0], [0, 0, 0]]
    features = WeightedDegree(2, normalize=False).feature_map().fit(["CAB", "CBB"])
    assert features.get_feature_names_out().tolist() == [
        "0:C", "0:CA", "0:CB", "1:A", "1:AB", "1:B", "1:BB", "2:B",
    ]  # fmt: skip
    near = Mismatch(2, 1, alphabet="BA").feature_map().fit(["AA"]).get_feature_names_out()
    assert near.tolist() == ["AA", "AB", "BA"]
    with pytest.raises(ValueError, match="shift=0"):
        WeightedDegree(2, shift=1).feature_map().fit(["AB"])


def test_selected_words_are_those_that_decide():
    A = random_strings(80, 0, 40)
    y = np.array(["TATA" in a for a in A])
    A = [a.replace("TATA", "CTAC") if not t else a for a, t in zip(A, y, strict=True)]
    y[:40] = True
    A[:40] = [a[:18] + "TATA" + a[22:] for a in A[:40]]
    model = make_pipeline(
        Spectrum(4, presence=True, normalize=False).feature_map(),
        PSVC(kernel="dyadic", epsilon=4.0),
    ).fit(A, y)
    names = model[:-1].get_feature_names_out()
    decisive = names[model[-1].support_][np.argmax(np.abs(model[-1].alpha_[model[-1].support_]))]
    assert decisive == "TATA"
    assert model.score(A, y) > 0.95


def planted(motif, n, length, seed):
    """Random DNA; every second sequence has the motif somewhere, no other has."""
    rng = np.random.default_rng(seed)
    sequences = []
    while len(sequences) < n:
        s = "".join(rng.choice(list("ACGT"), size=length))
        if motif in s:
            continue
        place = rng.integers(length - len(motif))
        if len(sequences) % 2:
            s = s[:place] + motif + s[place + len(motif) :]
        sequences.append(s)
    return sequences, np.where(np.arange(n) % 2, "site", "none")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "kernel",
    [Spectrum(5), Spectrum(5, presence=True, normalize=False)],
    ids=["counts", "presence"],
)
def test_selector_names_the_planted_motif(kernel, seed):
    """Of some hundred words the one that was planted is the only or the first one selected."""
    sequences, y = planted("GATTA", 200, 40, seed)
    pipeline = make_pipeline(kernel.feature_map(), PSVMSelector(n_features=1)).fit(sequences, y)
    assert len(pipeline[0].get_feature_names_out()) > 500
    assert pipeline.get_feature_names_out().tolist() == ["GATTA"]
    assert pipeline.transform(sequences).shape == (200, 1)
    selector = PSVMSelector(0.5, epsilon_unit="max").fit(pipeline[0].transform(sequences), y)
    assert pipeline[0].get_feature_names_out()[selector.order_[0]] == "GATTA"


def test_selector_names_motif_and_position():
    """Features of the weighted degree kernel tell where a word stands.

    TATA and the words of three letters in it may be equally rare among the others.
    """
    rng = np.random.default_rng(0)
    random = ["".join(row) for row in rng.choice(list("ACGT"), size=(200, 30))]
    y = np.arange(200) % 2
    sequences = [s[:12] + "TATA" + s[16:] if t else s for s, t in zip(random, y, strict=True)]
    pipeline = make_pipeline(WeightedDegree(4).feature_map(), PSVMSelector(n_features=1))
    (name,) = pipeline.fit(sequences, y).get_feature_names_out()
    assert name in ("12:TATA", "12:TAT", "13:ATA")


def test_selector_on_mismatches_names_a_word_near_the_motif():
    """A mismatch feature counts a word and all its neighbours, at most one letter apart."""
    sequences, y = planted("GATTA", 200, 40, 0)
    pipeline = make_pipeline(Mismatch(5, 1).feature_map(), PSVMSelector(0.6, epsilon_unit="max"))
    names = pipeline.fit(sequences, y).get_feature_names_out()
    apart = [sum(a != b for a, b in zip(name, "GATTA", strict=True)) for name in names]
    assert 0 < len(names) < 50 and min(apart) <= 1


# ---------------------------------------------------------------- sequences as objects


def task(n=60, seed=0, length=20):
    A = random_strings(n, seed, length)
    y = np.arange(n) % 2
    A = [a[:6] + "GATTACA" + a[13:] if t else a for a, t in zip(A, y, strict=True)]
    return A, np.where(y == 1, "site", "none")


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(3),
        Mismatch(4, 1),
        Subsequence(3, 0.5),
        WeightedDegree(4, shift=1),
        Motif(["GAT+A", "AC", "C.G", "T"]),
        LocalAlignment(0.5, matrix=(2, -1), log=True),
        Spectrum(3) + WeightedDegree(3),
        normalized(Spectrum(2, normalize=False)),
    ],
    ids=repr,
)
def test_estimators_take_strings(kernel):
    A, y = task()
    model = PSVC(kernel=kernel, epsilon=1.0).fit(A, y)
    assert model.score(A, y) > 0.75 and 0 < model.n_support_ < len(A)
    assert model.support_objects_.tolist() == [A[j] for j in model.support_]
    measured = PSVC(kernel="precomputed", epsilon=1.0).fit(kernel(A), y)
    new, _ = task(20, 1)
    assert_allclose(
        model.decision_function(new), measured.decision_function(kernel(new, A)), atol=1e-9
    )
    restored = pickle.loads(pickle.dumps(model))
    assert_allclose(restored.decision_function(new), model.decision_function(new), **AGAIN)


def test_smith_waterman_as_it_is():
    pytest.importorskip("Bio.Align")
    A, y = task()
    model = PSVC(kernel=SmithWaterman(**DNA)).fit(A, y)
    assert model.score(A, y) > 0.9


def test_scikit_learn_tools():
    A, y = task(80)
    assert cross_val_score(PSVC(kernel=Spectrum(3)), A, y, cv=4).mean() > 0.7
    search = GridSearchCV(
        PSVC(kernel=Spectrum(), epsilon="aicc"),
        {"kernel__k": [1, 5], "kernel__normalize": [True, False]},
        cv=3,
        error_score="raise",
    ).fit(A, y)
    assert search.best_params_["kernel__k"] == 5
    assert search.best_estimator_.kernel.k == 5
    kernels = {"kernel": [Spectrum(1), WeightedDegree(3)]}
    search = GridSearchCV(PSVC(epsilon=1.0), kernels, cv=3, error_score="raise").fit(A, y)
    assert isinstance(search.best_estimator_.kernel, WeightedDegree)
    numbers = np.array([a.count("A") for a in A], dtype=float)
    assert cross_val_score(PSVR(kernel=Spectrum(1)), A, numbers, cv=3).min() > 0.9


def test_forms_of_input():
    A, y = task()
    series = pd.Series(A, index=[f"id{i}" for i in range(len(A))])
    expected = PSVC(kernel=Spectrum(3), epsilon=1.0).fit(A, y)
    for X in (tuple(A), np.array(A), np.array(A, dtype=object), series, pd.Series(A)):
        model = PSVC(kernel=Spectrum(3), epsilon=1.0).fit(X, pd.Series(y))
        assert_same_solution(model, expected, A)
    named = PSVC(kernel=Spectrum(3), epsilon=1.0).fit(series, y)
    assert [s.name for s in named.support_objects_] == [f"id{j}" for j in named.support_]
    assert cross_val_score(named, series, y, cv=3).shape == (3,)


def test_other_sequences_as_landmarks():
    A, y = task()
    motifs = ["GATTACA" * 2, "CCGGCCGG", "GATTTACA"]
    model = PSVC(kernel=Spectrum(3), landmarks=motifs, epsilon=0.1).fit(A, y)
    assert model.alpha_.shape == (3,) and set(model.support_objects_) <= set(motifs)
    measured = PSVC(kernel="dyadic", epsilon=0.1).fit(Spectrum(3)(A, motifs), y)
    assert_allclose(model.alpha_, measured.alpha_, atol=1e-9)
    copy = pickle.loads(pickle.dumps(clone(model).fit(A, y)))
    assert_same_solution(copy, model, A)
    assert cross_val_score(model, A, y, cv=3).mean() > 0.9


def test_equal_letters_are_one_object_whatever_their_names():
    A, y = task()
    once = PSVC(kernel=Spectrum(3), epsilon=1.0).fit(A, y, sample_weight=np.full(len(A), 2.0))
    twice = [Sequence(a, f"{copy}{i}") for copy in "ab" for i, a in enumerate(A)]
    model = PSVC(kernel=Spectrum(3), epsilon=1.0).fit(twice, np.tile(y, 2))
    assert_array_equal(model.support_, once.support_)
    assert_allclose(model.decision_function(A), once.decision_function(A), atol=1e-9)


@pytest.mark.parametrize("compressed", [False, True])
def test_fasta(tmp_path, compressed):
    text = ">s1 first one\nACGT\r\nAC\n\n>s2\nggta  c\n>\nTTTTT"
    path = tmp_path / ("a.fa.gz" if compressed else "a.fa")
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    records = read_fasta(path)
    assert records == ["ACGTAC", "ggtac", "TTTTT"]
    assert [r.name for r in records] == ["s1", "s2", ""]
    assert records[0].description == "s1 first one"
    assert read_fasta(path, upper=True)[1] == "GGTAC"
    assert pickle.loads(pickle.dumps(records))[1].name == "s2"
    for source in (path, str(path)):
        assert_array_equal(Spectrum(2)(source), Spectrum(2)(records))
    with pytest.raises(
        ValueError, match=r"sequence 1 \('s2'\) of X has the letter 'g' at .* upper"
    ):
        Spectrum(2, alphabet="ACGT")(path)
    (tmp_path / "b.fa").write_text("ACGT\n")
    with pytest.raises(ValueError, match="not a FASTA"):
        read_fasta(tmp_path / "b.fa")


@pytest.mark.parametrize("kernel", [k for k, _ in CASES.values()], ids=CASES.keys())
def test_kernels_are_parameters(kernel):
    copy = clone(kernel)
    assert copy is not kernel and copy == kernel and repr(copy) == repr(kernel)
    A = random_strings(4, 0)
    assert_array_equal(pickle.loads(pickle.dumps(kernel))(A), kernel(A))
    assert kernel(A, []).shape == (4, 0) and kernel([], A).shape == (0, 4)


# ---------------------------------------------------------------- unknown letters and errors


def test_skipped_letters_match_nothing():
    A = ["ACNGTACG", "ACNGTTCG", "NNNNNNNN"]
    tables = [Counter(w for w in words(a, 2) if "N" not in w) for a in A]
    kernel = Spectrum(2, alphabet="dna", unknown="skip", normalize=False)
    assert_array_equal(kernel(A), [[inner(f, g) for g in tables] for f in tables])
    assert_array_equal(kernel.set_params(normalize=True)(A)[2], 0.0)
    # A letter of its own in each sequence matches nothing either.
    B, C = ([a.replace("N", letter) for a in A] for letter in "xy")
    for kernel in (WeightedDegree(3, 1), Subsequence(2, 0.5)):
        expected = raw(kernel)(B, C)
        kernel.set_params(alphabet="ACGT", unknown="skip", normalize=False)
        assert_array_equal(kernel(A, A[:]), expected)
        assert_array_equal(kernel(A), expected)
    near = Mismatch(2, 1, unknown="skip", normalize=False)
    assert_array_equal(near(["ACNA"], A), near(["AC"], A))


WRONG = [
    (Spectrum(3), ["ACGT", "AC"], "sequence 1 of X has 2 letters; Spectrum.* at least 3"),
    (Subsequence(5), ["ACGT"], "sequence 0 of X has 4 letters"),
    (Spectrum(1), ["ACGT", ""], "sequence 1 of X is empty"),
    (SmithWaterman(matrix=(1, -1)), ["", "A"], "sequence 0 of X is empty"),
    (Spectrum(1), [Sequence("", "lacZ")], r"sequence 0 \('lacZ'\) of X is empty"),
    (Mismatch(2, 1), ["ACGT", "ACNT"], "sequence 1 of X has the letter 'N' at position 2"),
    (Mismatch(2, 1), pd.Series(["AC", "AX"], index=["p", "q"]), r"sequence 1 \('q'\) of X .*'X'"),
    (Spectrum(2, alphabet="protein"), ["ACGT", "ACBT"], "letter 'B' .* 'ACDEFGHIKLMNPQRSTVWY'"),
    (WeightedDegree(2), ["ACGT", "ACG"], "sequence 1 of X has 3 letters .* equal length"),
    (Spectrum(2), np.array([["AC"]]), r"one-dimensional.*\(1, 1\)"),
    (Spectrum(2), "ACGT", "one string that is no file"),
    (Spectrum(0), ["A"], "k must be an integer >= 1"),
    (Spectrum(2, normalize="yes"), ["AC"], "normalize must be True or False"),
    (Spectrum(2, alphabet="AAC"), ["AC"], "alphabet must be"),
    (Spectrum(2, alphabet=""), ["AC"], "alphabet must be"),
    (Spectrum(2, unknown="drop"), ["AC"], "unknown must be one of"),
    (Mismatch(2, 2), ["AC"], "m must be an integer >= 0 and <= 1"),
    (Mismatch(2, 1, alphabet=None), ["AC"], "alphabet must be given"),
    (Mismatch(20, 1, alphabet="protein"), ["AC"], "too long"),
    (Subsequence(2, 1.5), ["AC"], "decay must be a finite number > 0 and <= 1"),
    (Subsequence(2, 0), ["AC"], "decay must be"),
    (WeightedDegree(2, shift=0.5), ["AC"], "shift must be an integer"),
    (Motif(["A*"]), ["AC"], "matches the empty string"),
    (Motif(["(A"]), ["AC"], "not a regular expression"),
    (Motif("AC"), ["AC"], "patterns must be a list of strings"),
    (Motif([]), ["AC"], "patterns must be a list of strings"),
    (Motif(["A", "A"]), ["AC"], "different"),
    (Motif(["A-b"], "prosite"), ["AC"], "'b' in pattern 'A-b' is not an element"),
    (LocalAlignment(0), ["AC"], "beta must be"),
    (LocalAlignment(60.0, matrix=(2, -1)), ["AC"], "beta=60.0 is too large"),
    (LocalAlignment(matrix=(2, -1), gap_open=-1), ["AC"], "gap_open must be"),
    (NeedlemanWunsch(matrix=(-1, -1), gap_open=5), ["AC"], "cannot be normalised: sequence 0"),
    (SmithWaterman(matrix=(1, -1), engine="other"), ["AC"], "engine must be one of"),
]


@pytest.mark.parametrize(("kernel", "A", "message"), WRONG)
def test_errors_name_what_is_wrong(kernel, A, message):
    if isinstance(kernel, SmithWaterman | NeedlemanWunsch):
        pytest.importorskip("Bio.Align")
    with pytest.raises(ValueError, match=message):
        kernel(A)


@pytest.mark.parametrize("bad", [None, 3.0, np.nan, b"AC", pd.NA])
def test_only_strings_are_sequences(bad):
    with pytest.raises(TypeError, match=r"strings, but sequence 1 is"):
        Spectrum(1)(["AC", bad])
    with pytest.raises(TypeError, match=r"strings, but sequence 1 is"):
        PSVC(kernel=Spectrum(1)).fit(pd.Series(["AC", bad], dtype=object), [0, 1])


def test_errors_of_the_estimators():
    A, y = task()
    with pytest.raises(ValueError, match="letter 'N'"):
        PSVC(kernel=Mismatch(3, 1)).fit([*A, "NNNN"], [*y, "site"])
    model = PSVC(kernel=Mismatch(3, 1), epsilon=1.0).fit(A, y)
    with pytest.raises(ValueError, match="sequence 0 of X has the letter 'N' at position 3"):
        model.predict(["ACGN"])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        PSVC(kernel=Spectrum(3)).fit(A, y[:-1])
    with pytest.raises(ValueError, match="k must be an integer"):
        PSVC(kernel=Spectrum("3")).fit(A, y)
    with pytest.raises(ValueError, match="sequence 0 of landmarks is empty"):
        PSVC(kernel=Spectrum(3), landmarks=[""]).fit(A, y)
    model = PSVC(kernel=WeightedDegree(3), epsilon=1.0).fit(A, y)
    with pytest.raises(ValueError, match="equal length"):
        model.predict(["ACGT"])


def test_names_of_matrices():
    pytest.importorskip("Bio.Align")
    with pytest.raises(ValueError, match="BLOSUM62"):
        SmithWaterman("BLOSUM")(["ARN"])
    with pytest.raises(ValueError, match="letter 'U' at position 1"):
        LocalAlignment()(["AUC"])


def test_missing_libraries(monkeypatch):
    for module in ("Bio", "Bio.Align", "parasail"):
        monkeypatch.setitem(sys.modules, module, None)
    for kernel in (
        LocalAlignment(matrix="PAM30"),
        SmithWaterman("PAM60"),
        SmithWaterman(matrix=(1, -1)),
    ):
        with pytest.raises(ImportError, match=r'pip install "psvm\[sequences\]"'):
            kernel(["ARN"])


# ---------------------------------------------------------------- PROSITE


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("[AC]-x-V-x(4)-{ED}.", ["AQVQQQQK", "MCKVAAAAC"], ["AQVQQQQE", "AQVQQQ", "DQVQQQQK"]),
        ("<A-x-[ST](2)-x(0,1)-V", ["AGSTV", "AGTTKV"], ["MAGSTV", "AGSV", "AGSTKKV"]),
        ("G-x(2,3)-C>", ["MGKKC", "GKKKC"], ["GKKCM", "GKC"]),
        ("F-[GSTV]-P-R-L-[G>].", ["MFGPRL", "FSPRLGA"], ["FSPRLA"]),
    ],
)
def test_prosite_patterns(pattern, yes, no):
    """The examples of the syntax in the PROSITE user manual."""
    motif = Motif([pattern], "prosite", normalize=False)
    assert_array_equal(motif(yes + no, [yes[0]])[:, 0], [1.0] * len(yes) + [0.0] * len(no))
    assert all(re.search(from_prosite(pattern), s) for s in yes)


def test_overlapping_motifs_count():
    assert_array_equal(Motif(["A.A"], counts=True, normalize=False)(["AAAAA"], ["ACA"]), [[3.0]])
