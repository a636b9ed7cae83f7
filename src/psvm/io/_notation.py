"""Numbers as people and spreadsheets write them, one column at a time.

Decimal commas, thousands separators, percent, currency, units ("12 kg"), bounds ("<5"), negative
numbers in parentheses. Whether "1,234" is a thousand or a little more than one follows from other
cells: first of the column, then of the table. If they do not say, or contradict each other, that is
a problem that shows two cells; nothing is guessed.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .._core._csv import parse_number

BLANKS = " \u00a0\u2009\u202f"
CURRENCIES = frozenset((
    "€", "$", "£", "¥", "₹", "₽", "₩", "₺", "₪", "zł", "kr", "Kč", "Fr.", "Fr", "Rs", "Rs.",
    "R$", "US$", "A$", "C$", "EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK",
    "DKK", "PLN", "CZK", "HUF", "CAD", "AUD", "NZD", "BRL", "RUB", "KRW", "TRY", "ZAR", "MXN",
))  # fmt: skip
UNITS = CURRENCIES | frozenset((
    "%", "‰", "°", "°C", "°F", "kg", "g", "mg", "µg", "μg", "ug", "ng", "lb", "lbs", "oz", "t",
    "km", "m", "cm", "mm", "µm", "μm", "um", "nm", "in", "ft", "mi", "yd", "l", "L", "ml", "mL",
    "dl", "dL", "µl", "μl", "s", "ms", "min", "h", "hr", "hrs", "d", "y", "yr", "yrs", "Hz",
    "kHz", "MHz", "GHz", "W", "kW", "MW", "V", "mV", "kV", "mA", "J", "kJ", "kcal", "cal", "Pa",
    "kPa", "hPa", "bar", "mbar", "mmHg", "psi", "mol", "mmol", "µmol", "nmol", "mol/l",
    "mmol/l", "mmol/L", "µmol/l", "mg/dl", "mg/dL", "g/dl", "g/dL", "g/l", "g/L", "mg/l",
    "mg/L", "ng/ml", "ng/mL", "U/l", "U/L", "IU/l", "kB", "KB", "MB", "GB", "TB", "m2", "m²",
    "m3", "m³", "cm2", "cm²", "cm3", "cm³", "km/h", "m/s", "mph", "kg/m2", "kg/m²", "bpm", "k",
    "K", "M",
))  # fmt: skip
"""Units that may follow a number without a blank; others need one."""
MOST_UNITS = 3
"""Of more different words behind numbers none is taken for a unit."""
CELL = re.compile(
    rf"(?P<bound>(?:[<>≤≥]=?)[{BLANKS}]?)?(?P<open>\()?(?P<sign>[-+−–])?[{BLANKS}]?"
    rf"(?P<prefix>{'|'.join(map(re.escape, sorted(CURRENCIES, key=len, reverse=True)))})?"
    rf"[{BLANKS}]?(?P<inner>[-+−])?"
    rf"(?P<number>[.,]?[0-9](?:[0-9.,'’{BLANKS}]*[0-9])?[.,]?(?:[eE][-+]?[0-9]+)?)(?P<minus>-)?"
    rf"(?:(?P<gap>[{BLANKS}]?)(?P<suffix>[^\W\d_][^\s\d<>(),;:]{{0,14}}[23]?|[%‰°€$£¥₹₽₩₺₪][CF]?))?"
    rf"(?P<close>\))?"
)
GROUP = rf"['’{BLANKS}]"
FORMS = {
    decimal: re.compile(
        rf"(?P<whole>[0-9]*|[0-9]{{1,3}}(?P<group>{GROUP}|{re.escape(other)})[0-9]{{3}}"
        rf"(?:(?P=group)[0-9]{{3}})*)(?:{re.escape(decimal)}(?P<rest>[0-9]*))?(?P<power>[eE].*)?"
    )
    for decimal, other in ((".", ","), (",", "."))
}
UNCLEAR = re.compile(r"[0-9]{1,3}([.,])[0-9]{3}")
"""A number that is one under both readings, but not the same."""


@dataclass(frozen=True)
class Written:
    """A cell that is a number.

    Attributes
    ----------
    values : dict
        Its value for each decimal sign with which it is a number.
    unit : str
    bounded : bool
        Whether it is a bound such as "<5".
    mark : str or None
        The sign between one to three digits and exactly three digits, as in "1,234".
    groups : frozenset of str
        The signs ``.`` and ``,`` that must separate thousands in it.
    long : bool
        Whether it has more than three digits in a row before the decimal sign.
    """

    values: dict
    unit: str
    bounded: bool
    mark: str | None
    groups: frozenset
    long: bool


@lru_cache(100_000)
def read_cell(cell):
    """A cell as `Written`, or None if it is no number."""
    match = CELL.fullmatch(cell)
    if match is None or (match["open"] is None) != (match["close"] is None):
        return None
    if match["prefix"] and match["suffix"]:
        return None
    unit = match["prefix"] or match["suffix"] or ""
    if match["suffix"] and not match["gap"] and unit not in UNITS:
        return None
    signs = [sign for sign in (match["sign"], match["inner"], match["minus"]) if sign]
    if len(signs) + (match["open"] is not None) > 1:
        return None
    negative = match["open"] is not None or any(sign in "-−–" for sign in signs)
    number, values, groups = match["number"], {}, frozenset()
    for decimal, form in FORMS.items():
        found = form.fullmatch(number)
        if found is None or not (found["whole"] or found["rest"]):
            continue
        whole = re.sub(rf"[.,'’{BLANKS}]", "", found["whole"] or "0")
        text = f"{whole}.{found['rest'] or '0'}{found['power'] or ''}"
        value = parse_number(text.encode())
        values[decimal] = -value if negative else value
        if found["group"] in (".", ","):
            groups |= {found["group"]}
    if not values:
        return None
    both = UNCLEAR.fullmatch(number)
    leading = re.match(r"[0-9]*", number)[0]
    # A zero or none leads no group of thousands.
    mark = both[1] if both and not leading.startswith("0") else None
    if both and mark is None:
        values = {both[1]: values[both[1]]}
    return Written(
        values, unit, bool(match["bound"]), mark, frozenset() if both else groups,
        len(leading) > 3,
    )  # fmt: skip


def looks_numeric(cell):
    """Whether a cell may be a number, however it is written."""
    return read_cell(cell.strip()) is not None


class Mixed(Exception):
    """Cells of a column that do not go together, or that can be read in two ways."""

    def __init__(self, message, cell, advice=""):
        super().__init__(message)
        self.message, self.cell, self.advice = message, cell, advice


class NumberColumn:
    """A column of text whose cells all are numbers.

    Parameters
    ----------
    cells : Counter
        How often each cell comes.
    """

    def __init__(self, cells):
        self.counts = cells
        self.written = {cell: read_cell(cell) for cell in cells}
        self.unit = self._unit()
        self.guess = ""
        """A sentence about how cells are read that may mean two numbers."""
        self.decimals = set(self._decimals())
        """Decimal signs with which all cells are numbers; more than one if it is not clear."""

    @classmethod
    def of(cls, cells):
        """The numbers in cells, None if some are words or no numbers are meant."""
        counts = Counter(cell for cell in cells if cell is not None)
        if not counts or any(read_cell(cell) is None for cell in counts):
            return None
        written = {cell: read_cell(cell) for cell in counts}
        units = {one.unit for one in written.values()}
        if len(units) > MOST_UNITS and not units <= UNITS | {""}:
            return None  # words, such as "12 May"
        bounded = sum(counts[cell] for cell, one in written.items() if one.bounded)
        return None if 2 * bounded > sum(counts.values()) else cls(counts)

    def _first(self, holds):
        return next((cell for cell, one in self.written.items() if holds(one)), None)

    def _unit(self):
        units = Counter()
        for cell, one in self.written.items():
            units[one.unit] += self.counts[cell]
        if len(units) > 1:
            (most, _), (other, _) = units.most_common(2)
            a = self._first(lambda one: one.unit == most)
            b = self._first(lambda one: one.unit == other)
            raise Mixed(
                f"{a!r} and {b!r} have different units", b,
                "Write all cells in one unit.",
            )  # fmt: skip
        return next(iter(units))

    def _decimals(self):
        possible = {".", ","}
        for one in self.written.values():
            possible &= one.values.keys()
        if not possible:
            a = self._first(lambda one: one.values.keys() == {"."})
            b = self._first(lambda one: one.values.keys() == {","})
            self._refuse(a, b)
        return possible

    def _refuse(self, a, b):
        """Show two cells, the rarer of which is the one to look at."""
        first, second = sorted((a, b), key=lambda cell: -self.counts[cell])
        raise Mixed(
            f"{first!r} and {second!r} are written in different ways: only one of them has its "
            "decimals behind a comma", second,
            "Write all cells in one way.",
        )  # fmt: skip

    @property
    def marks(self):
        """The signs that may separate thousands or decimals."""
        return {one.mark for one in self.written.values()} - {None}

    @property
    def evidence(self):
        """The decimal sign that the cells show by themselves; None if they do not."""
        if len(self.decimals) > 1:
            return None
        plain = all(one.values.keys() == {".", ","} for one in self.written.values())
        return None if plain else next(iter(self.decimals))

    def decimal(self, given, known, hint):
        """The decimal sign of the column.

        Parameters
        ----------
        given : str or None
            What the user says.
        known : set of str
            What other cells of the table show, and what the column had before.
        hint : str or None
            What the delimiter of the file speaks for.
        """
        if len(self.decimals) == 1:
            (decimal,) = self.decimals
            self._check_grouping(decimal, given)
            return decimal
        if not self.marks:
            return "."
        cell = self._first(lambda one: one.mark is not None)
        if len(self.marks) > 1:
            self._refuse(*(self._first(lambda one, m=m: one.mark == m) for m in ".,"))
        (mark,) = self.marks
        usual = "." if mark == "." else hint
        known = {given} if given else known or ({usual} if usual else set())
        if len(known) == 1:
            (decimal,) = known
            long = self._first(lambda one: one.long)
            if decimal == mark or long is None:
                sign = {".": "point", ",": "comma"}
                self.guess = "" if given else (
                    f"{cell!r} is read as {self.written[cell].values[decimal]:.10g}: nothing in "
                    f"the column itself shows whether its {sign[mark]} is a decimal sign. If "
                    f"{'not' if decimal == mark else 'so'}, use decimal="
                    f"{',' if decimal == '.' else '.'!r}"
                )  # fmt: skip
                return decimal
        read = read_cell(cell).values
        raise Mixed(
            f"{cell!r} may be {read['.']:g} or {read[',']:g}: nothing shows whether the decimal "
            "sign is a point or a comma", cell,
            "Say so with decimal='.' or decimal=','.",
        )  # fmt: skip

    def _check_grouping(self, decimal, given):
        """Refuse "1,234" beside "1.5", unless other cells have thousands written like that."""
        other = {".": ",", ",": "."}[decimal]
        cell = self._first(lambda one: one.mark == other)
        if cell is None or given == decimal:
            return
        if self._first(lambda one: other in one.groups and one.mark is None) is None:
            plain = self._first(lambda one: one.values.keys() == {decimal} and one.mark is None)
            self._refuse(plain, cell)
        long = self._first(lambda one: one.long)
        if long is not None:
            self._refuse(long, cell)

    def values(self, cells, decimal):
        """The values of cells; NaN where they are missing."""
        value = {cell: one.values[decimal] for cell, one in self.written.items()}
        value[None] = np.nan
        return np.array([value[cell] for cell in cells], dtype=np.float64)

    @property
    def bounds(self):
        """The cells that are bounds, with their numbers of rows."""
        return {cell: self.counts[cell] for cell, one in self.written.items() if one.bounded}
