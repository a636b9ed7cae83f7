"""Kernels of sequences by the patterns that occur in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

import numpy as np
import scipy.sparse as sp

from .._validation import check_choice, check_flag, shown
from ._sequence_features import FeatureKernel, FeatureTable


class Motif(FeatureKernel):
    """Motif kernel: inner product of the occurrences of patterns.

    Parameters
    ----------
    patterns : list of str
        Regular expressions, or PROSITE patterns such as "[AC]-x-V-x(4)-{ED}.".
    syntax : {"regex", "prosite"}, default="regex"
        What the patterns are.
    counts : bool, default=False
        Whether to count the positions where a pattern begins to match, overlapping ones too,
        instead of asking whether there is any.
    normalize : bool, default=True
        Whether to divide by ``sqrt(k(x, x) k(z, z))``; a sequence without any motif has the value 0
        with all others.

    Examples
    --------
    >>> from psvm.kernels import Motif
    >>> Motif(["TATA+T", "CC.GG"], normalize=False)(["GTATAATG", "CCAGG", "CCTATAAAT"], ["TATAT"])
    array([[1.],
           [0.],
           [1.]])
    """

    def __init__(
        self,
        patterns: Iterable[str],
        syntax: Literal["regex", "prosite"] = "regex",
        *,
        counts: bool = False,
        normalize: bool = True,
    ) -> None:
        self.patterns = patterns
        self.syntax = syntax
        self.counts = counts
        self.normalize = normalize

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("syntax", self.syntax, ("regex", "prosite"))
        check_flag("counts", self.counts)
        if (
            not isinstance(self.patterns, list | tuple | np.ndarray)
            or len(np.shape(self.patterns)) != 1
            or not len(self.patterns)
            or not all(isinstance(pattern, str) for pattern in self.patterns)
        ):
            raise ValueError(f"patterns must be a list of strings, got {shown(self.patterns)}.")
        if len(set(self.patterns)) < len(self.patterns):
            raise ValueError("patterns must be different from each other.")
        for pattern in self.patterns:
            if self._compile(pattern).fullmatch(""):
                raise ValueError(f"{pattern!r} of patterns matches the empty string everywhere.")

    def _compile(self, pattern):
        expression = from_prosite(pattern) if self.syntax == "prosite" else pattern
        try:
            return re.compile(expression)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(
                f"{pattern!r} of patterns is not a regular expression: {error}."
            ) from None

    def feature_table(self, X: np.ndarray) -> FeatureTable:
        names = np.array(sorted(self.patterns), dtype=str)
        F = np.zeros((len(X), len(names)))
        for j, pattern in enumerate(names):
            motif = self._compile(str(pattern))
            if self.counts:
                F[:, j] = [count_matches(motif, x) for x in X]
            else:
                F[:, j] = [motif.search(x) is not None for x in X]
        return self._table(sp.csr_array(F), names)


def count_matches(motif, x):
    """At how many positions of a string a regular expression begins to match."""
    number, match = 0, motif.search(x)
    while match is not None:
        number, match = number + 1, motif.search(x, match.start() + 1)
    return number


ELEMENT = re.compile(
    r"""(?P<begin><?)
        (?P<what>x|[A-Z]|\[<?[A-Z]+>?\]|\{[A-Z]+\})
        (?:\((?P<least>\d+)(?:,(?P<most>\d+))?\))?
        (?P<end>>?)""",
    re.VERBOSE,
)


def from_prosite(pattern: str) -> str:
    r"""The regular expression of a PROSITE pattern.

    Parameters
    ----------
    pattern : str
        Elements with hyphens between them: a letter, ``x`` for any, ``[AC]`` for one of some,
        ``{AC}`` for none of some, each with an optional number ``(3)`` or range ``(2,4)`` of
        repetitions; ``<`` in front and ``>`` behind for the ends of the sequence; a full stop.

    Returns
    -------
    str

    Examples
    --------
    >>> from psvm.kernels import from_prosite
    >>> from_prosite("<A-x-[ST](2)-x(0,1)-{V}.")
    '\\AA.[ST]{2}.{0,1}[^V]'
    """
    if not isinstance(pattern, str):
        raise TypeError(f"pattern must be a string, got {shown(pattern)}.")
    parts = []
    for element in pattern.strip().rstrip(".").split("-"):
        match = ELEMENT.fullmatch(element)
        if match is None:
            raise ValueError(
                f"{element!r} in pattern {pattern!r} is not an element of a PROSITE pattern."
            )
        what = match["what"]
        if what == "x":
            what = "."
        elif what.startswith("{"):
            what = f"[^{what[1:-1]}]"
        elif "<" in what or ">" in what:
            # An end of the sequence may stand in place of one of the letters.
            ends = [r"\A"] * what.startswith("[<") + [r"\Z"] * what.endswith(">]")
            what = "(?:" + "|".join([f"[{what.strip('[<>]')}]", *ends]) + ")"
        least, most = match["least"], match["most"]
        times = "" if least is None else f"{{{least},{most}}}" if most else f"{{{least}}}"
        parts += [r"\A" * len(match["begin"]), what, times, r"\Z" * len(match["end"])]
    return "".join(parts)
