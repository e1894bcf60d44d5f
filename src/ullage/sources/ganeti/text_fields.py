"""Fields of Ganeti's text format: what each kind of text means, and which texts mean nothing.

Files of thousands of lines are read in milliseconds because a kind remembers every text that it has read:
few different ones occur, and a known one costs a dictionary lookup.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeVar

from ullage.model.errors import InputError
from ullage.model.ganeti import MIB

MIB_MAX: Final = 1 << 42
COUNT_MAX: Final = 1 << 31
CPUS_MAX: Final = 1 << 20
RATIO_MAX: Final = 1_000_000
NUMBER_CHARACTERS_MAX: Final = 40
LEAST: Final = Fraction(1, 10**99)
"""Ratios and speeds nearer to zero need more of an exponent than fields may have."""
DIGITS: Final = frozenset("0123456789")
DECIMAL: Final = DIGITS | frozenset("+-.eE")
EXPONENT_CHARACTERS_MAX: Final = 3

Value = TypeVar("Value")
Reader = Callable[[str], Any]


class FieldError(ValueError):
    """A text that no field of its kind may hold: what is wrong and what would be right."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy


class Field(NamedTuple):
    """A column: its name, how a text of it is read, and its text where the line ends before it."""

    name: str
    read: Reader
    default: str | None = None


class Kind(dict[str, Value]):
    """What texts of one kind mean: read once, remembered, and refused with a FieldError."""

    def __init__(self, read: Callable[[str], Value]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> Value:
        """Read a text that was not met before."""
        value = self[text] = self._read(text)
        return value


class Table:
    """The columns of a section: those without a default first."""

    def __init__(self, *fields: Field) -> None:
        self._fields = fields
        self._readers = tuple(each.read for each in fields)
        self._defaults = tuple(each.default for each in fields)

    def read(self, texts: list[str], place: str, number: int | str = "") -> list[Any]:
        """Return what the texts of a line mean, with defaults for those left out; any beyond are ignored."""
        if len(texts) < len(self._readers):
            texts = self._completed(texts, f"{place}{number}")
        try:
            return [read(text) for read, text in zip(self._readers, texts, strict=False)]
        except FieldError:
            raise self._located(texts, f"{place}{number}") from None

    def _completed(self, texts: list[str], where: str) -> list[str]:
        defaults = [each for each in self._defaults[len(texts) :] if each is not None]
        if len(texts) + len(defaults) < len(self._fields):
            raise InputError(
                f"the line ends before field {self._fields[len(texts)].name}",
                where=where,
                remedy=f"the fields are {'|'.join(each.name for each in self._fields)}",
            )
        return texts + defaults

    def _located(self, texts: Sequence[str], where: str) -> InputError:
        """Return the error of a line with the name of the first field that cannot be read."""
        for field, text in zip(self._fields, texts, strict=False):
            try:
                field.read(text)
            except FieldError as error:
                return InputError(error.what, where=f"{where}, field {field.name}", remedy=error.remedy)
        return InputError("the line cannot be read", where=where)


def whole(text: str, maximum: int, *, remedy: str, signed: bool = False) -> int:
    """Return a whole number of decimal digits, at most a maximum; a minus only where signed."""
    digits = text[1:] if signed and text[:1] == "-" else text
    if not digits or not DIGITS.issuperset(digits):
        is_negative = len(text) > 1 and text[0] == "-" and DIGITS.issuperset(text[1:])
        raise FieldError(f"{quoted(text)} is {'below zero' if is_negative else 'no number'}", remedy)
    if len(digits) > NUMBER_CHARACTERS_MAX or int(digits) > maximum:
        raise FieldError(f"{quoted(text)} is too large", f"the most is {maximum}")
    return int(text)


def fraction(text: str, maximum: int, *, remedy: str, signed: bool = False) -> Fraction:
    """Return a decimal number exactly as it is written, at most a maximum."""
    if len(text) > NUMBER_CHARACTERS_MAX or not DECIMAL.issuperset(text):
        raise FieldError(f"{quoted(text)} is no number", remedy)
    exponent = text.lower().partition("e")[2]
    if len(exponent) > EXPONENT_CHARACTERS_MAX:
        raise FieldError(f"{quoted(text)} is out of range", f"the most is {maximum}")
    try:
        value = Fraction(text)
    except ValueError:
        raise FieldError(f"{quoted(text)} is no number", remedy) from None
    if abs(value) > maximum:
        raise FieldError(f"{quoted(text)} is too large", f"the most is {maximum}")
    if value < 0 and not signed:
        raise FieldError(f"{quoted(text)} is below zero", remedy)
    return value


def size(text: str) -> int:
    """Return the bytes of a size in MiB."""
    return whole(text, MIB_MAX, remedy="write MiB as digits") * MIB


def free_size(text: str) -> int:
    """Return the bytes of a size in MiB that is below zero where more was promised than there is."""
    return whole(text, MIB_MAX, remedy="write MiB as digits", signed=True) * MIB


def total_size(text: str) -> int:
    """Return the bytes of a size in MiB that may have decimals."""
    if text.isdecimal() and text.isascii():
        return size(text)
    return int(fraction(text, MIB_MAX, remedy="write MiB as digits") * MIB)


def count(text: str) -> int:
    """Return a count."""
    return whole(text, COUNT_MAX, remedy="write a whole number")


def free_count(text: str) -> int:
    """Return a count that is below zero where more was promised than there is."""
    return whole(text, COUNT_MAX, remedy="write a whole number", signed=True)


def cpus(text: str) -> int:
    """Return the thousandths of whole processors."""
    return whole(text, CPUS_MAX, remedy="write processors as digits") * 1000


def total_cpus(text: str) -> int:
    """Return the thousandths of processors that may have decimals."""
    if text.isdecimal() and text.isascii():
        return cpus(text)
    return int(fraction(text, CPUS_MAX, remedy="write processors as digits") * 1000)


def ratio(text: str) -> Fraction:
    """Return a number that is zero or above."""
    return _double(text, fraction(text, RATIO_MAX, remedy="write a number such as 1.5"))


def any_ratio(text: str) -> Fraction:
    """Return a number of either sign: a negative ratio of processors sets no bound."""
    return _double(text, fraction(text, RATIO_MAX, remedy="write a number such as 4.0", signed=True))


def speed(text: str) -> Fraction:
    """Return a number above zero."""
    value = ratio(text)
    if not value:
        raise FieldError(f"{quoted(text)} is not above zero", "write a number such as 1.5")
    return value


def _double(text: str, value: Fraction) -> Fraction:
    """Return the decimal that Ganeti's tools, which reckon with doubles, would write for a number."""
    if value and abs(value) < LEAST:
        raise FieldError(f"{quoted(text)} is out of range", "the least above zero is 1e-99")
    return Fraction(repr(float(value)))


def name(text: str) -> str:
    """Return a name, which is not empty."""
    if not text:
        raise FieldError("the name is empty", "write a name")
    return text


def text_of(text: str) -> str:
    """Return any text as it is."""
    return text


def listed(text: str) -> tuple[str, ...]:
    """Return the texts between commas."""
    return tuple(text.split(",")) if text else ()


def yes(text: str) -> bool:
    """Return whether Y is written, not N."""
    if text not in {"Y", "N"}:
        raise FieldError(f"{quoted(text)} is neither Y nor N", "write Y or N")
    return text == "Y"


def one_of(choices: Sequence[str], what: str) -> Callable[[str], str]:
    """Return a reader of one of some words."""
    known = frozenset(choices)

    def read(text: str) -> str:
        if text not in known:
            raise FieldError(f"{quoted(text)} is no {what}", f"write one of {', '.join(choices)}")
        return text

    return read


def quoted(text: str, characters_max: int = 60) -> str:
    """Return a text of the input in quotes, its end left out where it is long."""
    return repr(text if len(text) <= characters_max else f"{text[:characters_max]}…")
