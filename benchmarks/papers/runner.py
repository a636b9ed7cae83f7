"""What the tables of the papers share: cells kept in a journal, claims, verdicts and the page.

A table is a function that takes a `Run` and returns a `Section`::

    @table("SMO", "Table 1")
    def table_1(run):
        splits = range(100 if run.full else 10)
        errors = run.map(split_error, [("heart", i) for i in splits])
        ...
        return Section(claims={"the P-SVM errs least": ours < theirs}, why=..., text=...)

`split_error` computes one cell. Its arguments are strings and numbers; what it returns is kept as
JSON: numbers, or lists or dicts of them. JSON makes lists of tuples and strings of keys. A cell is
computed once: the journal gives it back, also after Ctrl-C or a kill, and the quick cells are a
part of the full ones. It is computed again when its function changes, or a function, class or
constant of these scripts that it uses; delete the journal after a change of the package. Cells run
in processes of their own, one BLAS thread each.
"""

import inspect
import json
import os
import re
import sys
import textwrap
import time
import traceback
import warnings
from contextlib import suppress
from copy import deepcopy
from enum import Enum
from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import psvm
from psvm._journal import Journal, as_json, fingerprint
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
    cheap: bool = False
    """Whether the quick run takes all splits as well."""


TABLES = []
"""All tables, in the order of the page."""


def table(paper, title, about, cheap=False):
    """Register a function as the maker of a table; `about` says in a few words what it shows."""

    def register(make):
        TABLES.append(Table(paper, title, about, make, cheap))
        return make

    return register


class Cell(NamedTuple):
    """The result of a cell as JSON, and the seconds of processor time that it took."""

    value: object
    seconds: float


class Cells(Journal):
    """The journal of finished cells."""

    name = "--journal"
    other = "cells of another version of psvm"

    def __init__(self, path):
        super().__init__(path, f"papers, psvm {psvm.__version__}", Cell)

    def restore(self, values):
        """A cell; its value stays the JSON that it is."""
        return Cell(*values)


class Missing(Exception):
    """A cell is not in the journal."""


class CellError(Exception):
    """A cell could not be computed."""


class Run:
    """One run over the tables, quick or full.

    Parameters
    ----------
    full : bool
        All splits of the papers instead of the first few.
    journal : Cells or path-like or None
        The finished cells, or the file that has them.
    n_jobs : int
        Processes; 0 means that cells are only looked up, and `Missing` is raised.

    Attributes
    ----------
    used : dict
        Seconds of the cells that tables have asked for, by their keys.
    computed : int
        How many of them were not in the journal.
    """

    def __init__(self, full=False, journal=None, n_jobs=1):
        self.full, self.n_jobs = full, n_jobs
        self.journal = journal if isinstance(journal, Cells) else Cells(journal)
        self.used, self.computed = {}, 0

    def map(self, function, tasks):
        """Results of ``function(*task)`` in the order of the tasks; each is computed only once."""
        recipe = fingerprint(_recipe(function, set()))
        # JSON tells the tasks 1, 1.0 and true apart, which are equal in Python.
        keys = [(function.__name__, recipe, json.dumps(as_json(task))) for task in tasks]
        missing = dict(zip(keys, tasks, strict=True))
        missing = {key: task for key, task in missing.items() if key not in self.journal.done}
        if missing and not self.n_jobs:
            raise Missing(*next(iter(missing)))
        self._compute(function, missing)
        self.used |= {key: self.journal.done[key].seconds for key in keys}
        return [deepcopy(self.journal.done[key].value) for key in keys]

    def _compute(self, function, missing):
        """Add cells to the journal. After an error no cell is begun; those in progress are kept."""
        errors = []
        calls = (delayed(_cell)(function, *item) for item in missing.items() if not errors)
        parallel = Parallel(n_jobs=self.n_jobs or 1, return_as="generator_unordered")
        for done, (key, cell, error) in enumerate(parallel(calls), start=1):
            if error:
                errors.append(error)
                continue
            self.journal.add(key, cell)
            self.computed += 1
            print(f"{function.__name__} {done} of {len(missing)}: {cell.seconds:.1f} s", flush=True)
        if errors:
            raise CellError("\n".join(errors))


def _cell(function, key, task):
    """Compute a cell with one BLAS thread: its key, the cell, and the error if there was one."""
    began = time.process_time()
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            value = as_json(function(*task))
    except Exception:
        return key, None, f"{function.__name__}{tuple(task)} failed:\n{traceback.format_exc()}"
    return key, Cell(value, time.process_time() - began), None


def _recipe(value, seen):
    """Nested lists of text that change when a function, class or constant of these scripts does.

    Functions and classes have their source and the recipes of what they use; those of installed
    packages only their names. What a function imports itself is not followed.

    seen: functions and classes that have their recipe already.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return fingerprint(value)
    if isinstance(value, np.ndarray | dict | list | tuple):
        items = value.items() if isinstance(value, dict) else value
        return [type(value).__name__, *(_recipe(item, seen) for item in items)]
    if isinstance(value, set | frozenset):
        return sorted(repr(_recipe(item, seen)) for item in value)
    if isinstance(value, partial):
        return [_recipe(part, seen) for part in (value.func, value.args, value.keywords)]
    if inspect.isfunction(value) or inspect.isclass(value):
        return _recipe_of_code(value, seen)
    if hasattr(value, "__wrapped__"):  # by lru_cache
        return _recipe(value.__wrapped__, seen)
    if isinstance(value, os.PathLike):
        return "a path"  # a cell is the same in another folder
    if _is_ours(type(value).__module__):
        return [_recipe(type(value), seen), _recipe(vars(value), seen)]
    return re.sub(r" at 0x\w+", "", repr(value))


def _recipe_of_code(value, seen):
    """The recipe of a function or class."""
    name = f"{value.__module__}.{value.__qualname__}"
    if value in seen or not _is_ours(value.__module__):
        return name
    seen.add(value)
    if inspect.isclass(value):
        source = inspect.getsource(value)
        names, bound = _names(compile(textwrap.dedent(source), name, "exec")), ()
        space = vars(sys.modules[value.__module__])
    else:
        source, names = inspect.getsource(value.__code__), _names(value.__code__)
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        bound, space = (value.__defaults__, value.__kwdefaults__, cells), value.__globals__
    return [name, source, _recipe(bound, seen), *_recipes_of_names(names, space, seen)]


def _recipes_of_names(names, space, seen):
    """Recipes of the names of a module that code uses; those of modules that it uses follow."""
    for name in sorted(names & space.keys()):
        if not inspect.ismodule(space[name]):
            yield [name, _recipe(space[name], seen)]
        elif _is_ours(space[name].__name__):
            yield [name, *_recipes_of_names(names - {name}, vars(space[name]), seen)]


def _names(code):
    """Global names and attributes that code uses, or a function inside it."""
    inner = (const for const in code.co_consts if inspect.iscode(const))
    names = {name for name in code.co_names if not name.startswith("__")}
    return names.union(*(_names(const) for const in inner))


def _is_ours(module):
    """Whether a module is a script, not a part of Python, of psvm or of another package."""
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    package = module.partition(".")[0]
    return package not in {*sys.stdlib_module_names, "psvm"} and "-packages" not in file


def mean_sd(values, digits=2):
    """Mean and standard deviation as they stand in the papers."""
    spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
    return f"{np.mean(values):.{digits}f} ({spread:.{digits}f})"


def within(ours, paper, share):
    """Whether our figure differs from the paper's by at most this share of it."""
    return bool(abs(ours - paper) <= share * abs(paper))


def page(run, tables):
    """The page as Markdown: an overview, then a section for each table."""
    began, parts, overview = time.perf_counter(), [], []
    for entry in tables:
        section, own = most_splits(entry, run)
        run.used |= own.used
        run.computed += own.computed
        anchor = f"{entry.paper} {entry.title}".lower().replace(".", "").replace(",", "")
        link = f"[{entry.title}](#{anchor.replace(' ', '-')})"
        overview.append([entry.paper, link, entry.about, section.verdict.value])
        parts.append(_section(entry, section, own))
        print(f"{entry.paper}, {entry.title}: {section.verdict.value}. {section.why}", flush=True)
    # Not on the page, which is the same after an interruption.
    print(
        f"This run took {(time.perf_counter() - began) / 60:.1f} minutes (--jobs {run.n_jobs}) and "
        f"computed {run.computed} of {len(run.used)} cells.",
        flush=True,
    )
    mode = "make papers-full" if run.full else "make papers"
    header = ["paper", "part", "about", "verdict"]
    return "\n\n".join(
        [
            "# The papers, reproduced or refuted",
            INTRODUCTION,
            f"Written by `{mode}`: {environment()}",
            f"All cells took {sum(run.used.values()):.0f} s of processor time, one thread each.",
            markdown_table(header, overview),
            *parts,
        ]
    )


def most_splits(entry, run):
    """The section, and the run over its cells alone.

    A quick run takes all splits where an earlier full run has left them in the journal.
    """
    if not run.full:
        whole = Run(full=True, journal=run.journal, n_jobs=0)
        with suppress(Missing):
            return entry.make(whole), whole
    own = Run(run.full or entry.cheap, run.journal, run.n_jobs)
    return entry.make(own), own


INTRODUCTION = """Every table and figure of the papers for which data exists, run again with this
package. `make papers` takes 15 to 20 minutes on two cores and uses a part of the splits;
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


def _section(entry, section, run):
    claims = [[claim, "yes" if holds else "no"] for claim, holds in section.claims.items()]
    return "\n\n".join(
        [
            f"## {entry.paper} {entry.title}",
            f"{entry.about}. **{section.verdict.value.capitalize()}**: {section.why}",
            *([markdown_table(["claim", "holds"], claims)] if claims else []),
            section.text,
            f"{'All' if run.full else 'A part of the'} splits; {sum(run.used.values()):.0f} s of "
            "processor time.",
        ]
    )
