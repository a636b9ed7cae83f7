"""Tables of constraints and shared docstrings: complete, and what they say is so."""

import inspect
import re
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression

import psvm
from psvm import comparators, estimators, evaluation, selection
from psvm._docstrings import PLACEHOLDER, document, paragraphs
from psvm._parameters import (
    Choice,
    Each,
    Either,
    Flag,
    Integer,
    Number,
    Optional,
    check_parameters,
    constraints,
)
from psvm.solvers import Solver

ESTIMATORS = {
    cls
    for room in (psvm, comparators, evaluation, selection)
    for cls in (getattr(room, name) for name in room.__all__)
    if isinstance(cls, type) and issubclass(cls, BaseEstimator | Solver)
}
every_estimator = pytest.mark.parametrize(
    "cls", sorted(ESTIMATORS, key=lambda cls: cls.__name__), ids=lambda cls: cls.__name__
)


def signature(cls):
    """Parameters and their defaults."""
    found = inspect.signature(cls).parameters
    return {name: parameter.default for name, parameter in found.items()}


def make(cls):
    required = "estimator" in signature(cls)
    return cls(LogisticRegression()) if required else cls()


def test_there_are_estimators():
    assert {psvm.PSVC, psvm.SpheredSVCCV, psvm.SMO, selection.PresentCall} < ESTIMATORS


@every_estimator
def test_every_parameter_is_in_the_table(cls):
    table = constraints(cls)
    if cls in (psvm.PSVCCV, psvm.PSVRCV):  # parameters that they pass on are checked by the model
        table |= constraints(cls._model)
    assert set(signature(cls)) <= set(table)


@every_estimator
def test_defaults_are_allowed(cls):
    check_parameters(make(cls))


class Machine:
    _constraints: ClassVar = {"C": Number(above=0), "kernel": Choice("rbf"), "unknown": Flag()}

    def __init__(self, **parameters):
        vars(self).update(parameters)


class Measured(Machine):
    _constraints: ClassVar = {
        "kernel": Choice("rbf", "dyadic"),
        "gamma": Either(Choice("scale"), Number(above=0)),
        "Cs": Optional(Each(Integer(least=1))),
        "probability": Optional(Choice("sigmoid"), nothing=False),
    }


def test_tables_add_up_and_the_nearest_counts():
    good = {"C": 1.0, "kernel": "rbf", "gamma": "scale", "Cs": None, "probability": False}
    check_parameters(Machine(C=1, kernel="rbf"))  # there is no parameter `unknown`
    check_parameters(Measured(**good))
    check_parameters(Measured(**good | {"kernel": "dyadic", "Cs": [1, 2], "gamma": 0.5}))
    with pytest.raises(ValueError, match=r"^kernel must be one of 'rbf', got 'dyadic'\.$"):
        check_parameters(Machine(C=1, kernel="dyadic"))
    for name, value, message in (
        ("C", 0, "C must be a finite number > 0, got 0."),
        ("kernel", "sine", "kernel must be one of 'rbf', 'dyadic', got 'sine'."),
        ("gamma", "auto", "gamma must be one of 'scale', got 'auto'."),
        ("gamma", None, "gamma must be a finite number > 0, got None."),
        ("Cs", [3, 0], "Cs must be an integer >= 1, got 0."),
        ("Cs", 3, "Cs must be a list of values, got 3."),
        ("probability", None, "probability must be one of 'sigmoid', got None."),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            check_parameters(Measured(**good | {name: value}))


# ---------------------------------------------------------------- docstrings


def section(cls, title):
    """Names in a section of a docstring, each with the rest of its line."""
    text = inspect.getdoc(cls)
    body = re.search(rf"^{title}\n-+\n(.*?)(?=\n\n\w[^\n]*\n-+\n|\Z)", text, re.S | re.M)
    lines = re.findall(r"^(\w+(?:, \w+)*)(?: : (.*))?$", body[1] if body else "", re.M)
    return {name: rest for names, rest in lines for name in names.split(", ")}


@every_estimator
def test_docstrings_name_all_parameters(cls):
    documented = section(cls, "Parameters")
    assert set(documented) == set(signature(cls))
    assert not PLACEHOLDER.search(inspect.getdoc(cls))


VALUES = {"inf": np.inf, "float64": np.float64, "(inf,)": (np.inf,)}


@every_estimator
def test_documented_defaults_are_those_of_the_signature(cls):
    for name, rest in section(cls, "Parameters").items():
        stated = re.search(r"default=(.+)$", rest)
        if stated and ", " not in stated[1]:  # some lines are about several parameters
            value = VALUES[stated[1]] if stated[1] in VALUES else eval(stated[1])
            assert signature(cls)[name] == value, name


def test_paragraphs_are_filled_in_where_their_names_stand():
    text = paragraphs("""
    rho, zeta : float
        Offset and exponent.
    kernel : {"rbf"}
        Its {kind}.

        Another line.
    """)

    @document(text, kind="name")
    class Model:
        """A {"set"} of words.

        Parameters
        ----------
        {kernel, rho, zeta}
        {gamma}
        """

    doc = inspect.getdoc(Model).splitlines()
    assert doc[0] == 'A {"set"} of words.'
    assert doc[4:10] == [
        'kernel : {"rbf"}',
        "    Its name.",
        "",
        "    Another line.",
        "rho, zeta : float",
        "    Offset and exponent.",
    ]
    assert doc[10].startswith("gamma : ")
    with pytest.raises(KeyError, match="nobody"):

        @document(text)
        class Wrong:
            """Line.

            {nobody}
            """


def test_docstrings_may_be_stripped():
    """As with ``python -OO``."""

    @document()
    class Model:
        pass

    assert Model.__doc__ is None


RNG = np.random.default_rng(0)
X, CODE = RNG.normal(size=(60, 12)), np.arange(60) % 2
X[:, 0] += CODE
LINEAR = psvm.PSVR(kernel="linear", epsilon=0.1)
RANDOM = {
    "landmarks": lambda r: (
        psvm.PSVC(epsilon=0.0, landmarks="random", n_landmarks=9, random_state=r)
        .fit(X, CODE)
        .support_objects_
    ),
    "kmeans": lambda r: psvm.PSVR(landmarks=9, random_state=r).fit(X, X[:, 0]).support_objects_,
    "selector": lambda r: (
        psvm.PSVMSelector(landmarks="random", n_landmarks=9, random_state=r).fit(X, CODE).landmarks_
    ),
    "stability": lambda r: (
        psvm.StabilitySelector(q=3, n_subsamples=6, random_state=r).fit(X, CODE).entries_
    ),
    "knockoffs": lambda r: psvm.KnockoffSelector(0.9, random_state=r).fit(X, CODE).statistics_,
    "gaussian": lambda r: selection.gaussian_knockoffs(X, random_state=r),
    "centres": lambda r: estimators.cluster_centres(X, 3, least=2, random_state=r),
    "cross-validation": lambda r: (
        evaluation.cross_validate(LINEAR, X, X[:, 0], cv=3, random_state=r).folds
    ),
    "ranking": lambda r: selection.rank_features(X, CODE, random_state=r).stability,
}


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_of_a_generator(name):
    """The same generator gives the same result, and goes on as a RandomState does."""
    draw, generator = RANDOM[name], np.random.default_rng(3)
    first, before = draw(generator), np.random.default_rng(3).bit_generator.state
    assert generator.bit_generator.state != before
    np.testing.assert_array_equal(draw(np.random.default_rng(3)), first)
    others = [draw(generator) for _ in range(5)]
    assert name == "centres" or any(not np.array_equal(other, first) for other in others)


def test_what_gives_no_random_numbers():
    with pytest.raises(ValueError, match=r"a numpy\.random\.Generator or a numpy\.random\.Random"):
        psvm.PSVC(landmarks="random", random_state="seed").fit(X, CODE)


def test_estimators_with_a_generator_are_cloned_and_saved(tmp_path):
    model = psvm.PSVC(landmarks="random", n_landmarks=9, random_state=np.random.default_rng(3))
    twin = clone(model).fit(X, CODE)  # which has a copy of the generator
    np.testing.assert_array_equal(twin.support_objects_, model.fit(X, CODE).support_objects_)
    psvm.save(model, tmp_path / "m.psvm")
    loaded = psvm.load(tmp_path / "m.psvm")
    assert loaded.random_state is None
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
