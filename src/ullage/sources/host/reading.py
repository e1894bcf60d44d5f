"""Bounded reading of what kernels and tools print: lines, whole numbers, decimals.

Every parser of this source builds on these, so that garbage of any size ends as an InputError which names
the place, and no number leaves the range of 64 bits.
"""

from ullage.model.errors import InputError

INT64_MAX = 2**63 - 1
TEXT_CHARACTERS_MAX = 16 * 1024 * 1024
KIB = 1024
MIB = 1024 * 1024


def lines_of(text: str, *, where: str, lines_max: int) -> list[str]:
    """Return the lines of a text without the empty end; too many of them is bad input."""
    if len(text) > TEXT_CHARACTERS_MAX:
        raise InputError(f"{len(text)} characters, more than {TEXT_CHARACTERS_MAX}", where=where)
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if len(lines) > lines_max:
        raise InputError(f"{len(lines)} lines, more than {lines_max}", where=where)
    return lines


def whole_number(text: str, *, where: str, unit: int = 1) -> int:
    """Return `text` (ASCII digits only) times `unit` as an integer of at most 63 bits."""
    if not (text.isascii() and text.isdigit()) or len(text) > 19:
        raise InputError(f"{shown(text)} is not a whole number", where=where)
    return in_range(int(text) * unit, where=where)


def in_range(number: int, *, where: str) -> int:
    """Return the number if 63 bits hold it."""
    if not 0 <= number <= INT64_MAX:
        raise InputError(f"{number} is out of range", where=where)
    return number


def decimal_parts(text: str, *, where: str, digits: int) -> int:
    """Return a decimal such as 0.52 in units of 10**-digits; more digits than that are bad input."""
    whole, _, fraction = text.partition(".")
    if not whole or len(fraction) > digits:
        raise InputError(f"{shown(text)} is not a number with at most {digits} decimals", where=where)
    return whole_number(whole + fraction.ljust(digits, "0"), where=where)


def shown(text: str, length_max: int = 60) -> str:
    """Return the text quoted for a message, on one line and cut to a readable length."""
    return repr(text if len(text) <= length_max else text[:length_max] + "…")
