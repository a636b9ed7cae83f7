"""
Find the motif in sequences
===========================

Every second sequence contains GATTACA with one letter changed at random. Counts of words are
features with names, and the order in which they enter the path spells the motif.
"""

import matplotlib.pyplot as plt
import numpy as np

import psvm
from psvm.kernels import Spectrum

rng = np.random.default_rng(0)
sequences = ["".join(row) for row in rng.choice(list("ACGT"), size=(300, 80))]
y = np.arange(300) % 2
for i in np.flatnonzero(y):
    word = list("GATTACA")
    word[rng.integers(7)] = rng.choice(list("ACGT"))
    place = rng.integers(73)
    sequences[i] = sequences[i][:place] + "".join(word) + sequences[i][place + 7 :]

# %%
# The path of word counts against the class.

words = Spectrum(k=4).feature_map().fit(sequences)
path = psvm.epsilon_path(words.transform(sequences), np.where(y, 1.0, -1.0), max_features=12)
names = words.get_feature_names_out()[path.order[:12]]
entry = [path.epsilons[np.argmax(path.alphas.toarray()[:, j] != 0)] for j in path.order[:12]]
fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
inside = [name in "GATTACA" for name in names]
colours = ["#0072B2" if i else "#BBBBBB" for i in inside]
ax.barh(
    range(12), entry, color=colours, hatch=["" if i else "//" for i in inside], edgecolor="white"
)
ax.set_yticks(range(12), names, family="monospace")
ax.invert_yaxis()
ax.set(xlabel="epsilon at which the word enters", title="Words of GATTACA (plain) enter first")
plt.show()
