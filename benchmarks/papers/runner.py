"""What the tables of the papers share: cells kept in a journal, claims, verdicts and the page.

A table is a function that takes a `Run` and returns a `Section`::

    @table("SMO", "Table 1")
    def table_1(run):
        splits = range(100 if run.full else 10)
        errors = run.map(split_error, [("heart", i) for i in splits])
        ...
        return Section(claims={"the P-SVM errs least": ours < theirs}, why=..., text=...)

`split_error` computes one cell. Its arguments are strings and numbers; what it returns is kept as
JSON: numbers, or lists or dicts of them. A cell is computed once: the journal gives it back, also
after Ctrl-C or a kill, and the quick cells are a part of the full ones. It is computed again when
its function changes, or a function or constant of these scripts that it uses; delete the journal
after a change of the package. Cells run in processes of their own, one BLAS thread each.
"""

import inspect
import re
import time
import warnings
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import psvm
from psvm._journal import Journal, fingerprint
from report import environment, markdown_table


class Verdict(Enum):
    """What a run says of a table."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    UNTRIED = "cannot be tried"


class Section(NamedTuple):
    """What is shown of a table.

    claims: what the paper says, each with whether the run agrees; none if it cannot be tried.
    why: one sentence that explains the verdict, with numbers of the run.
    text: settings, where they differ from the paper's, and the table, in Markdown.
    """

    claims: dict
    why: str
    text: str

    @property
    def verdict(self):
        kept = [bool(holds) for holds in self.claims.values()]
        if not kept:
            return Verdict.UNTRIED
        if all(kept):
            return Verdict.HOLDS
        return Verdict.IN_PART if any(kept) else Verdict.FAILS


class Table(NamedTuple):
    """A table or figure of a paper, and the function that makes its section."""

    paper: str
    title: str
    about: str
    make: object


TABLES = []
"""All tables, in the order of the page."""


def table(paper, title, about):
    """Register a function as the maker of a table; `about` says in a few words what it shows."""

    def register(make):
        TABLES.append(Table(paper, title, about, make))
        return make

    return register


class Cell(NamedTuple):
    """The result of a cell and the seconds of processor time that it took."""

    value: np.ndarray
    seconds: np.ndarray


class Missing(Exception):
    """A cell is not in the journal."""


class Run:
    """One run over the tables, quick or full.

    Parameters
    ----------
    full : bool
        All splits of the papers instead of the first few.
    path : path-like or None
        The journal of finished cells.
    n_jobs : int
        Processes; 0 means that cells are only looked up, and `Missing` is raised.
    """

    def __init__(self, full=False, path=None, n_jobs=1):
        self.full, self.n_jobs = full, n_jobs
        self.journal = Journal(path, f"papers, psvm {psvm.__version__}", Cell)
        self.seconds = 0.0

    def finished(self):
        """The full run, as far as the journal has its cells."""
        whole = Run(full=True, n_jobs=0)
        whole.journal = self.journal
        return whole

    def map(self, function, tasks):
        """Results of ``function(*task)`` in the order of the tasks; each is computed only once."""
        recipe = fingerprint(*_recipe(function, {}).values())
        keys = [(function.__name__, recipe, *task) for task in tasks]
        missing = [key for key in dict.fromkeys(keys) if key not in self.journal.done]
        if missing and not self.n_jobs:
            raise Missing(missing[0])
        calls = (delayed(_cell)(function, key) for key in missing)
        parallel = Parallel(n_jobs=self.n_jobs or 1, return_as="generator_unordered")
        for done, (key, value, seconds) in enumerate(parallel(calls), start=1):
            self.journal.add(key, Cell(np.array(value), np.array(seconds)))
            print(f"{function.__name__} {done} of {len(missing)}: {seconds:.1f} s", flush=True)
        found = [self.journal.done[key] for key in keys]
        self.seconds += sum(float(cell.seconds) for cell in found)
        return [cell.value.tolist() for cell in found]


def _recipe(function, found):
    """Sources of a function and of the functions of these scripts that it calls, and constants."""
    if function.__qualname__ in found:
        return found
    found[function.__qualname__] = inspect.getsource(function)
    for name in sorted(_names(function.__code__)):
        value = inspect.unwrap(function.__globals__.get(name))
        if inspect.isfunction(value) and not value.__module__.startswith(LIBRARIES):
            _recipe(value, found)
        elif isinstance(value, int | float | str | tuple | list | dict | np.ndarray):
            found[name] = re.sub(r" at 0x\w+", "", repr(value))
    return found


LIBRARIES = ("psvm", "numpy", "scipy", "sklearn", "threadpoolctl", "itertools")


def _names(code):
    """Global names that a function or a function inside it uses."""
    inner = (const for const in code.co_consts if inspect.iscode(const))
    return set(code.co_names).union(*(_names(const) for const in inner))


def _cell(function, key):
    """Compute a cell with one BLAS thread."""
    began = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        value = function(*key[2:])
    return key, value, time.process_time() - began


def mean_sd(values, digits=2):
    """Mean and standard deviation as they stand in the papers."""
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ({spread:.{digits}f})"


def within(ours, paper, share):
    """Whether our figure differs from the paper's by at most this share of it."""
    return bool(abs(ours - paper) <= share * abs(paper))


def page(run, tables):
    """The page as Markdown: an overview, then a section for each table."""
    parts, overview, total = [], [], 0.0
    for entry in tables:
        section, full, seconds = most_splits(entry, run)
        total += seconds
        anchor = f"{entry.paper} {entry.title}".lower().replace(".", "").replace(",", "")
        link = f"[{entry.title}](#{anchor.replace(' ', '-')})"
        overview.append([entry.paper, link, entry.about, section.verdict.value])
        parts.append(_section(entry, section, full, seconds))
        print(f"{entry.paper}, {entry.title}: {section.verdict.value}. {section.why}", flush=True)
    mode = "make papers-full" if run.full else "make papers"
    header = ["paper", "part", "about", "verdict"]
    return "\n\n".join(
        [
            "# The papers, reproduced or refuted",
            INTRODUCTION,
            f"Written by `{mode}`: {environment()}",
            f"All cells took {total:.0f} s of processor time, one thread each.",
            markdown_table(header, overview),
            *parts,
        ]
    )


def most_splits(entry, run):
    """The section, whether it has all splits, and the seconds of its cells.

    A quick run takes all splits where an earlier full run has left them in the journal.
    """
    before = run.seconds
    if not run.full:
        whole = run.finished()
        with suppress(Missing):
            return entry.make(whole), True, whole.seconds
    return entry.make(run), run.full, run.seconds - before


INTRODUCTION = """Every table and figure of the papers for which data exists, run again with this
package. `make papers` takes a quarter of an hour on two cores and uses a part of the splits;
`make papers-full` uses all of them, takes several hours and can be interrupted and continued. What
it has finished `make papers` uses as well; each section says which splits it has. Numbers come from
the run.

A verdict follows from the claims of its section, which also says why: *holds* if all of them do,
*holds in part* if some do, *does not hold* if none does, *cannot be tried* if the data is not
public. The papers are named
SMO (Knebel, Hochreiter & Obermayer 2008), Report (the technical report of Hochreiter & Obermayer
2004 behind their paper of 2006), NIPS (Hochreiter & Obermayer 2003), Sphered (Hochreiter, Mohr &
Obermayer 2004) and Lecture (notes on bioinformatics); see
[references](reference/references.md)."""


def _section(entry, section, full, seconds):
    claims = [[claim, "yes" if holds else "no"] for claim, holds in section.claims.items()]
    return "\n\n".join(
        [
            f"## {entry.paper} {entry.title}",
            f"{entry.about}. **{section.verdict.value.capitalize()}**: {section.why}",
            *([markdown_table(["claim", "holds"], claims)] if claims else []),
            section.text,
            f"{'All' if full else 'A part of the'} splits; {seconds:.0f} s of processor time.",
        ]
    )
