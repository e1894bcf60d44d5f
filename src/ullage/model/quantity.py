"""Quantities: exact amounts as people and manifests write them, and back.

A parsed quantity is an integer number of billionths (nano), because that is the finest step Kubernetes
keeps; what is finer is rounded away from zero, so that asking for something never becomes asking for
nothing. Scaling to a resource type's own step rounds the same way. The hard part is that no step may
lose or wrap: everything is a Python integer, and whatever does not fit 64 bits is refused.
"""

import re
from typing import Final

from ullage.model.errors import InputError, TooLargeError

INT64_MAX: Final = 2**63 - 1
NANO_EXPONENT: Final = 9
LENGTH_MAX: Final = 256
"""Characters a quantity may have: enough for every 64-bit value with all its decimals."""

_DECIMAL_EXPONENTS: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "K": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_BINARY_SHIFTS: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_SUFFIXES: Final = "n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent such as e3"
_NUMBER: Final = re.compile(r"[+-]?([0-9]*)(?:(\.)([0-9]*))?")
_EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)")
_EXPONENT_DIGITS_MAX: Final = 6
_EXPONENT_MAX: Final = 300
"""Ten to this power times any allowed digits is far beyond 64 bits, or far below one billionth."""


def parse_nano(text: str) -> int:
    """Return the exact value of a quantity in billionths, finer digits rounded away from zero."""
    if len(text) > LENGTH_MAX:
        raise InputError(
            f"quantity {text[:20]!r}… has {len(text)} characters", remedy=f"use at most {LENGTH_MAX}"
        )
    number = _NUMBER.match(text)
    assert number is not None  # noqa: S101 - every part of the pattern is optional
    whole, point, decimals = number.group(1), number.group(2), number.group(3) or ""
    if not whole and not decimals:
        raise _unexpected(text, number.end() if point is None else number.start(2), "a digit")
    digits = int(whole + decimals)
    if text[0] == "-":
        digits = -digits
    suffix = text[number.end() :]
    shift = _BINARY_SHIFTS.get(suffix)
    if shift is not None:
        return _in_int64(_scale(digits << shift, NANO_EXPONENT - len(decimals)), text)
    exponent = _DECIMAL_EXPONENTS.get(suffix)
    if exponent is None:
        exponent = _parse_exponent(text, number.end())
    return _in_int64(_scale(digits, exponent + NANO_EXPONENT - len(decimals)), text)


def parse_amount(text: str, scale_exponent: int = 0) -> int:
    """Return a quantity as an integer count of 10**-scale_exponent, rounded away from zero."""
    return rescale(parse_nano(text), scale_exponent, text)


def rescale(nano: int, scale_exponent: int, text: str = "") -> int:
    """Return billionths as an integer count of 10**-scale_exponent, rounded away from zero."""
    amount = _scale(nano, scale_exponent - NANO_EXPONENT)
    if abs(amount) > INT64_MAX:
        raise _too_large(text or str(nano))
    return amount


def print_bytes(amount: int) -> str:
    """Return a number of bytes with the largest of Ki … Ei that divides it exactly."""
    if amount:
        for suffix, shift in reversed(_BINARY_SHIFTS.items()):
            if amount % (1 << shift) == 0:
                return f"{amount >> shift}{suffix}"
    return str(amount)


def print_scaled(amount: int, scale_exponent: int) -> str:
    """Return a count of 10**-scale_exponent: plain when whole, else with the coarsest exact of m, u, n."""
    nano = amount * 10 ** (NANO_EXPONENT - scale_exponent)
    for suffix, step in (("", 10**9), ("m", 10**6), ("u", 10**3)):
        if nano % step == 0:
            return f"{nano // step}{suffix}"
    return f"{nano}n"


def print_decimal(amount: int) -> str:
    """Return a count with the largest of k … E that divides it exactly."""
    if amount:
        for suffix, exponent in (("E", 18), ("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3)):
            if amount % 10**exponent == 0:
                return f"{amount // 10**exponent}{suffix}"
    return str(amount)


def readable_bytes(amount: int) -> str:
    """Return bytes for people: the largest unit that is not above it, at most two decimals."""
    return _readable(amount, [(1 << shift, suffix) for suffix, shift in reversed(_BINARY_SHIFTS.items())])


def readable_count(amount: int, scale_exponent: int = 0) -> str:
    """Return a count for people: 9876 stays as it is, 1234500 becomes 1.23M, 2500 milli becomes 2.5."""
    whole = 10**scale_exponent
    if abs(amount) < 10_000 * whole:
        return print_scaled(amount, scale_exponent) if abs(amount) < whole else _two_decimals(amount, whole)
    steps = (("E", 18), ("P", 15), ("T", 12), ("G", 9), ("M", 6), ("k", 3))
    return _readable(amount, [(10**exponent * whole, suffix) for suffix, exponent in steps])


def _readable(amount: int, steps: list[tuple[int, str]]) -> str:
    for step, suffix in steps:
        if abs(amount) >= step:
            return _two_decimals(amount, step) + suffix
    return str(amount)


def _two_decimals(amount: int, step: int) -> str:
    """Round half up to hundredths and drop trailing zeros: 1536/1024 is 1.5."""
    hundredths = (abs(amount) * 200 + step) // (2 * step)
    text = f"{hundredths // 100}.{hundredths % 100:02d}".rstrip("0").rstrip(".")
    return f"-{text}" if amount < 0 and hundredths else text


def _parse_exponent(text: str, position: int) -> int:
    suffix = text[position:]
    found = _EXPONENT.fullmatch(suffix)
    if found is None:
        raise _bad_suffix(text, position)
    if len(found.group(1).lstrip("+-").lstrip("0")) > _EXPONENT_DIGITS_MAX:
        raise InputError(f"quantity {text!r}: the exponent is beyond any resource", remedy="write it out")
    return int(found.group(1))


def _scale(digits: int, exponent: int) -> int:
    """Return digits * 10**exponent as an integer, rounded away from zero."""
    power: int
    if exponent >= 0:
        # Cut off at a power that surely overflows: ten to a million would be computed for nothing.
        power = 10 ** min(exponent, _EXPONENT_MAX)
        return digits * power
    power = 10 ** min(-exponent, LENGTH_MAX + _EXPONENT_MAX)
    return -(-digits // power) if digits > 0 else digits // power


def _in_int64(nano: int, text: str) -> int:
    if abs(nano) > INT64_MAX * 10**NANO_EXPONENT:
        raise _too_large(text)
    return nano


def _too_large(text: str) -> InputError:
    kind = InputError if text.startswith("-") else TooLargeError
    return kind(f"quantity {text!r} does not fit 64 bits", remedy="use a smaller amount")


def _bad_suffix(text: str, position: int) -> InputError:
    suffix = text[position:]
    canonical = {*_BINARY_SHIFTS, *_DECIMAL_EXPONENTS} - {"", "K", "m"}
    by_lower_case = {known.lower(): known for known in canonical}
    meant = by_lower_case.get(suffix.lower().removesuffix("b"))
    hint = f"did you mean {meant!r}? " if meant is not None else ""
    if not suffix[:1].isalpha():
        return _unexpected(text, position, "the end or a suffix")
    return InputError(
        f"quantity {text!r}: unknown suffix {suffix!r} at character {position + 1}",
        remedy=f"{hint}known are {_SUFFIXES}",
    )


def _unexpected(text: str, position: int, expected: str) -> InputError:
    found = repr(text[position]) if position < len(text) else "the end"
    return InputError(
        f"quantity {text!r}: {found} at character {position + 1} where {expected} is expected",
        remedy="write digits, then nothing or a suffix, for example 500m, 2.5 or 40Mi",
    )
