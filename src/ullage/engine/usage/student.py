"""Student's distribution: how likely more than a bound is, when mean and spread are known from few days.

Tails are taken from the continued fraction of the incomplete beta function, for whole arrays at once.
"""

from math import lgamma, log
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STEPS: Final = 500
_CLOSE: Final = 1e-13
_TINY: Final = 1e-300
_HALVINGS: Final = 80


def tail(bounds: Floats, freedom: int) -> Floats:
    """Return the probability of more than each bound, with so many degrees of freedom."""
    bounds = np.asarray(bounds, np.float64)
    finite = np.where(np.isfinite(bounds), bounds, 0.0)
    share = freedom / (freedom + finite * finite)
    half: Floats = _beta(share, freedom / 2, 0.5) / 2
    found = np.where(finite >= 0, half, 1 - half)
    return np.where(np.isfinite(bounds), found, np.where(bounds > 0, 0.0, 1.0))


def bound(probability: float, freedom: int) -> float:
    """Return the bound that is exceeded with a probability of at most a half."""
    low, high = 0.0, 1.0
    while float(tail(np.array([high]), freedom)[0]) > probability:
        low, high = high, 2 * high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if float(tail(np.array([middle]), freedom)[0]) > probability:
            low = middle
        else:
            high = middle
    return high


def _beta(x: Floats, a: float, b: float) -> Floats:
    """Return the regularised incomplete beta function of shares from 0 to 1."""
    turned = x > (a + 1) / (a + b + 2)
    direct = _fraction(np.where(turned, 0.0, x), a, b)
    other = 1 - _fraction(np.where(turned, 1 - x, 0.0), b, a)
    found: Floats = np.where(turned, other, direct)
    return found


def _fraction(x: Floats, a: float, b: float) -> Floats:
    """Return the same for shares that are small enough: Lentz' way through the continued fraction."""
    inside = np.clip(x, _TINY, 1 - 1e-16)
    scale = lgamma(a + b) - lgamma(a) - lgamma(b) - log(a)
    front = np.exp(scale + a * np.log(inside) + b * np.log1p(-inside))
    upper = np.ones_like(inside)
    lower = 1 / _away(1 - (a + b) * inside / (a + 1))
    found = lower.copy()
    for step in range(1, _STEPS):
        even = step * (b - step) * inside / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * inside / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            lower = 1 / _away(1 + term * lower)
            upper = _away(1 + term / upper)
            found *= lower * upper
        if np.abs(lower * upper - 1).max(initial=0.0) < _CLOSE:
            break
    return np.where(x > 0, front * found, 0.0)


def _away(values: Floats) -> Floats:
    """Return values, none of them nothing."""
    return np.where(np.abs(values) < _TINY, _TINY, values)
