"""Numbers with decimals as Ganeti's tools print them.

The hard thing is halves: these tools round what the shortest text of a number says, to the even digit, where
Python rounds the exact binary value.
"""

from math import inf, isnan


def fixed(value: float, places: int) -> str:
    """Return a number with so many decimals."""
    if isnan(value):
        return "NaN"
    if value in {inf, -inf}:
        return "Infinity" if value > 0 else "-Infinity"
    text = repr(value)
    _, point, decimals = text.partition(".")
    if "e" in text or (point and len(decimals) == places + 1 and decimals[-1] == "5"):
        from decimal import ROUND_HALF_EVEN, Decimal

        return f"{Decimal(text).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN):f}"
    return f"{value:.{places}f}"


def general(value: float, places: int = 6) -> str:
    """Return a number with so many decimals, and with an exponent where it is small or large."""
    if value != 0 and not 0.1 <= abs(value) < 10**7:
        from decimal import ROUND_HALF_EVEN, Decimal

        exact = Decimal(repr(value))
        exponent = exact.adjusted()
        digits = exact.scaleb(-exponent).quantize(Decimal(1).scaleb(-places), ROUND_HALF_EVEN)
        return f"{digits:f}e{exponent}"
    return fixed(value, places)
