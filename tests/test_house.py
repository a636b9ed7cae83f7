"""The house: which room may import which, how a room is entered, and what each one shows."""

import ast
import re
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest
from sklearn.datasets import make_moons

import psvm

SRC = Path(psvm.__file__).parent
CONTRIBUTING = Path(__file__).parents[1] / "CONTRIBUTING.md"

LAYERS = [
    ["_core"],
    ["_candidates", "_docstrings", "_fitted", "_progress", "_threads", "_typing", "_validation"],
    ["_atomic", "_folds", "_journal", "_parallel", "_parameters", "_plotting", "_summary"],
    ["matrix"],
    ["kernels", "preprocessing"],
    ["problem"],
    ["solvers"],
    ["choice"],
    ["estimators"],
    ["evaluation", "model_selection", "selection", "sphered", "comparators", "io"],
    ["persistence"],
    ["report"],
    ["cli"],
]
"""From the ground up: each room imports only rooms of the lines above its own."""
FLOOR = {room: floor for floor, rooms in enumerate(LAYERS) for room in rooms}


class Import(NamedTuple):
    """A name of one room in a module of another one."""

    file: str
    line: int
    room: str
    """Who imports."""
    home: str
    """The room of the name."""
    path: tuple
    """Modules inside the home, down to the name."""

    def __str__(self):
        return f"{self.file}:{self.line}: {self.room} imports {'.'.join((self.home, *self.path))}"


def modules():
    """All modules, as paths below src/psvm."""
    return sorted(path.relative_to(SRC) for path in SRC.rglob("*.py"))


def tree(path):
    return ast.parse((SRC / path).read_text(encoding="utf-8"))


def room_of(path):
    return path.with_suffix("").parts[0]


def targets(node, path):
    """Dotted paths below psvm of what a statement imports; nothing for other packages."""
    if isinstance(node, ast.Import):
        names = [tuple(alias.name.split(".")) for alias in node.names]
        return [name[1:] for name in names if name[0] == "psvm"]
    module = tuple(node.module.split(".")) if node.module else ()
    if node.level:
        package = path.parts[:-1]
        base = package[: len(package) - node.level + 1] + module
    elif module[0] == "psvm":
        base = module[1:]
    else:
        return []
    return [(*base, alias.name) for alias in node.names]


def imports():
    """What rooms import of each other: at module level, in functions and for type checkers."""
    homes = {name: room for room, names in psvm._ROOMS.items() for name in names}
    for path in modules():
        for node in ast.walk(tree(path)):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            for first, *rest in filter(None, targets(node, path)):
                home, rest = (homes[first], (first,)) if first in homes else (first, tuple(rest))
                if home != room_of(path):
                    yield Import(str(path), node.lineno, room_of(path), home, rest)


def entries():
    """The rooms, and the modules in the hall."""
    folders = {path.parent.name for path in SRC.glob("*/__init__.py")}
    return folders | {path.stem for path in SRC.glob("*.py") if path.stem != "__init__"}


def test_every_room_has_its_layer():
    assert Counter(room for rooms in LAYERS for room in rooms) == Counter(entries())


def test_imports_point_downwards():
    upward = [
        str(found)
        for found in imports()
        if found.room != "__init__" and FLOOR[found.home] >= FLOOR[found.room]
    ]
    assert not upward, "\n".join(upward)


def _by_the_door(path):
    return len(path) < 2 and not any(part.startswith("_") for part in path)


def test_rooms_are_entered_by_their_doors():
    """`from ..room import name`, and no name that is private; the compiled loops have no door."""
    wrong = [
        str(found) for found in imports() if found.home != "_core" and not _by_the_door(found.path)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_private_name_is_reached_through_a_room():
    """`from .. import room` and then `room._name`."""
    wrong = []
    for path in modules():
        nodes = list(ast.walk(tree(path)))
        names = {
            alias.asname or alias.name
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias, target in zip(node.names, targets(node, path), strict=False)
            if len(target) == 1
        }
        wrong += [
            f"{path}:{node.lineno}: {ast.unparse(node)}"
            for node in nodes
            if isinstance(node, ast.Attribute) and re.match("_[^_]", node.attr)
            if isinstance(node.value, ast.Name) and node.value.id in names
        ]
    assert not wrong, "\n".join(wrong)


def test_no_class_name_twice():
    names = Counter()
    for path in modules():
        names.update(n.name for n in ast.walk(tree(path)) if isinstance(n, ast.ClassDef))
    for path in SRC.rglob("*.pyx"):
        text = path.read_text(encoding="utf-8")
        names.update(re.findall(r"^(?:cdef )?class (\w+)", text, re.MULTILINE))
    assert [name for name, count in names.items() if count > 1] == []


def public_modules():
    """Rooms and modules without an underscore; the commands of the command line are no library."""
    for path in modules():
        parts = path.with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        inside = parts[:1] == ("cli",) and len(parts) > 1
        if parts and not inside and not any(part.startswith("_") for part in parts):
            yield ".".join(("psvm", *parts))


@pytest.mark.parametrize("name", list(public_modules()))
def test_a_module_shows_what_a_user_may_use(name):
    if name == "psvm.cli":
        pytest.importorskip("click")
    module = import_module(name)
    assert module.__all__ == list(dict.fromkeys(module.__all__))
    assert sorted(module.__all__) == dir(module)
    assert all(hasattr(module, shown) for shown in module.__all__)
    assert not any(shown.startswith("_") for shown in module.__all__)


def test_the_hall_shows_its_names_and_rooms():
    rooms = {name.split(".")[1] for name in public_modules()} - {"cli"}
    assert set(psvm._ROOMS) == rooms
    assert dir(psvm) == sorted({*psvm.__all__, *rooms, "__version__"})
    assert len(psvm.__dir__()) == len(dir(psvm)) == len(set(psvm.__dir__()))
    assert all(hasattr(psvm, name) for name in dir(psvm))


def test_the_map_in_contributing_is_the_tree():
    text = CONTRIBUTING.read_text(encoding="utf-8")
    shown = re.search(r"^    src/psvm/\n((?:      .*\n)+)", text, re.MULTILINE).group(1)
    listed = [line.split()[0] for line in shown.splitlines() if line[6] != " "]
    folders = {path.parent.name + "/" for path in SRC.glob("*/__init__.py")}
    files = {path.name for path in SRC.glob("*.py")} - {"__init__.py"}
    assert sorted(listed) == sorted(folders | files)


def calls_to_the_compiled_loop(model):
    """Functions of psvm from `fit` to one that enters a compiled loop, each time anew."""
    chains = []

    def record(frame, event, argument):
        if event == "call" and frame.f_code.co_name in ("solve_small", "exact_path"):
            chain = []
            while frame is not None:
                if Path(frame.f_code.co_filename).is_relative_to(SRC):
                    chain.append(frame.f_code.co_name)
                frame = frame.f_back
            chains.append(chain[::-1])

    X, y = make_moons(100, noise=0.2, random_state=0)
    sys.setprofile(record)
    try:
        model.fit(X, y)
    finally:
        sys.setprofile(None)
    assert chains
    return chains


@pytest.mark.parametrize(
    ("model", "most"),
    [
        (psvm.PSVC(epsilon=1.0), 11),
        (psvm.PSVC(kernel="dyadic", epsilon=1.0), 11),
        (psvm.PSVC(), 13),
        (psvm.PSVR(), 13),
    ],
)
def test_few_functions_lead_from_fit_to_the_compiled_loop(model, most):
    chains = calls_to_the_compiled_loop(model)
    assert max(map(len, chains)) <= most, max(chains, key=len)
