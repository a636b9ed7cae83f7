"""What the parameters of an estimator may be: one table of constraints for each class.

The table of a class, ``_constraints``, maps the names of parameters to constraints and adds to the
tables of its bases. A constraint is called with the name and the value of a parameter and raises
an error that names both if the value is not allowed; any function that does so is one, too.
"""

from dataclasses import dataclass

from ._validation import (
    LARGEST,
    check_choice,
    check_flag,
    check_has,
    check_integer,
    check_jobs,
    check_list,
    check_number,
    check_path,
    check_seed,
    check_storage,
)


def check_parameters(estimator):
    """Check the parameters of an estimator, each by itself.

    Parameters
    ----------
    estimator : object
        Its class has a table `_constraints`. Entries for parameters that it does not have play no
        part: bases may know more parameters than a class.
    """
    for name, constraint in constraints(type(estimator)).items():
        if hasattr(estimator, name):
            constraint(name, getattr(estimator, name))


def constraints(cls):
    """The constraints of a class by parameter: its own, and those of its bases for the others."""
    merged = {}
    for base in reversed(cls.__mro__):
        merged |= vars(base).get("_constraints", {})
    return merged


@dataclass(frozen=True, kw_only=True)
class Number:
    """A real number within bounds, finite unless `infinite` is set."""

    above: float | None = None
    least: float | None = None
    most: float | None = None
    below: float | None = None
    infinite: bool = False

    def __call__(self, name, value):
        check_number(name, value, **vars(self))


@dataclass(frozen=True, kw_only=True)
class Integer:
    """An integer within bounds."""

    least: int = 0
    most: int = LARGEST

    def __call__(self, name, value):
        check_integer(name, value, **vars(self))


class Choice:
    """One of a few strings."""

    def __init__(self, *choices):
        self.choices = choices

    def __call__(self, name, value):
        check_choice(name, value, self.choices)


class Flag:
    """True or False."""

    def __call__(self, name, value):
        check_flag(name, value)


class Seed:
    """What random numbers come from: None, an integer or a RandomState."""

    def __call__(self, name, value):
        check_seed(name, value)


class Storage:
    """A dtype in which kernel values can be kept."""

    def __call__(self, name, value):
        check_storage(name, value)


class Jobs:
    """A number of jobs as in joblib: None or an integer other than 0."""

    def __call__(self, name, value):
        check_jobs(value)


class FilePath:
    """What can be the path of a file."""

    def __call__(self, name, value):
        check_path(name, value)


class Has:
    """An object with some methods."""

    def __init__(self, *methods, what):
        self.methods, self.what = methods, what

    def __call__(self, name, value):
        check_has(name, value, *self.methods, what=self.what)


class Either:
    """A string that is one of a few, or else what the other constraint allows."""

    def __init__(self, choice, other):
        self.choice, self.other = choice, other

    def __call__(self, name, value):
        constraint = self.choice if isinstance(value, str) else self.other
        constraint(name, value)


class Optional:
    """None, or the other value that means nothing, or else what the constraint allows."""

    def __init__(self, constraint, nothing=None):
        self.constraint, self.nothing = constraint, nothing

    def __call__(self, name, value):
        if value is not self.nothing:
            self.constraint(name, value)


class Each:
    """A list of values, each of which the constraint allows."""

    def __init__(self, constraint):
        self.constraint = constraint

    def __call__(self, name, value):
        for entry in check_list(name, value):
            self.constraint(name, entry)


class Later:
    """Anything: the value is checked together with the data, or with other parameters."""

    def __call__(self, name, value):
        pass


LIMITS = {
    "tol": Number(above=0),
    "max_iter": Optional(Integer(least=1)),
    "max_time": Optional(Number(above=0)),
}
"""Of every solver."""
