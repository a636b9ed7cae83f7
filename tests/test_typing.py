"""What is public has types; `mypy` looks at whether they are right (`typed_usage.py`)."""

import ast
import inspect
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path

import psvm

ROOMS = ["psvm", *(f"psvm.{room}" for room in psvm._ROOMS), "psvm.selection.rankings"]
OPERATORS = {"__init__", "__call__", "__add__", "__radd__", "__mul__", "__rmul__"}


def public():
    """All public functions and classes, each once."""
    rooms = [import_module(room) for room in ROOMS]
    objects = (getattr(room, name) for room in rooms for name in room.__all__)
    return list(dict.fromkeys(thing for thing in objects if callable(thing)))


def ours(cls):
    """A class and its bases, without those of other libraries."""
    return [base for base in cls.__mro__ if base.__module__.startswith("psvm")]


def function_of(member):
    """The plain function behind a member of a class, None for what is no method."""
    for kind, name in ((property, "fget"), (cached_property, "func"), (classmethod, "__func__")):
        if isinstance(member, kind):
            member = getattr(member, name)
    member = inspect.unwrap(member)
    return member if inspect.isfunction(member) else None


def functions():
    """Public functions and methods; not those that scikit-learn gives its estimators."""
    found = set()
    for thing in public():
        if not inspect.isclass(thing):
            found.add(inspect.unwrap(thing))
            continue
        for base in ours(thing):
            for name, member in vars(base).items():
                if name in OPERATORS or not name.startswith("_"):
                    found.add(function_of(member))
    return sorted(found - {None}, key=lambda f: (f.__module__, f.__qualname__))


def without_types(function):
    """The parameters of a function that have no type, and "return" if the result has none."""
    signature, empty = inspect.signature(function), inspect.Parameter.empty
    names = [n for n, p in signature.parameters.items() if p.annotation is empty]
    if "." in function.__qualname__:
        names = [n for n in names if n not in ("self", "cls")]
    return names + ["return"] * (signature.return_annotation is empty)


def test_parameters_and_results_have_types():
    missing = [
        f"{function.__module__}.{function.__qualname__}: {', '.join(names)}"
        for function in functions()
        if (names := without_types(function))
    ]
    assert not missing, "\n".join(missing)


def attributes(cls):
    """The names under the heading "Attributes" of a docstring."""
    heading = r"^Attributes\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)"
    section = re.search(heading, inspect.getdoc(cls) or "", re.MULTILINE | re.DOTALL)
    lines = section.group(1).splitlines() if section else []
    heads = [line.partition(" : ")[0] for line in lines if re.match(r"\w", line)]
    return [name for head in heads for name in head.split(", ")]


def test_documented_attributes_have_types():
    missing = []
    for cls in filter(inspect.isclass, public()):
        known = {name for base in ours(cls) for name in inspect.get_annotations(base)}
        known |= {name for base in ours(cls) for name in vars(base)}  # properties and descriptors
        missing += [f"{cls.__name__}.{name}" for name in attributes(cls) if name not in known]
    assert not missing, "\n".join(missing)


def test_that_they_are_found():
    found = {function.__qualname__ for function in functions()}
    assert {"PSVC.fit", "PSVC.predict_proba", "Solution.support", "EpsilonPath.order"} <= found
    assert {"alpha_", "classes_", "column_means_"} <= set(attributes(psvm.PSVC))
    assert {"path", "plot"}.isdisjoint(attributes(psvm.report.EpsilonPathDisplay))
    assert {"gap", "C", "epsilon"} <= set(attributes(psvm.Solution))


def test_a_type_checker_sees_all_names_of_the_package():
    tree = ast.parse(Path(psvm.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    names = [(alias.name, alias.asname) for node in block.body for alias in node.names]
    assert all(name == shown for name, shown in names)  # else it is not exported
    assert sorted(name for name, _ in names) == sorted({*psvm.__all__, *psvm._ROOMS})
