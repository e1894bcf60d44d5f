"""Hosts by class: those that are the same in all terms which machines change in few steps, such as counts."""

from typing import Final, NamedTuple

import numpy as np

from ullage.engine.balance.columns import Columns, Integers

CLASSES_MAX: Final = 24
AMOUNTS_MAX: Final = 4


class Classes(NamedTuple):
    """Hosts in the order of their classes, where each class starts there, and of which class each host is.

    Hosts that are offline have a number beyond the last class.
    """

    hosts: Integers
    starts: Integers
    of: Integers


def stepped_terms(columns: Columns) -> tuple[list[int], Integers]:
    """Return the terms in which machines ask for few different amounts, and which ones each asks for."""
    linear = columns.linear
    kinds = np.zeros(len(columns.movers), np.int64)
    found = []
    for at, term in enumerate(linear.value_terms):
        if "load" not in term.name and "spindles" not in term.name:
            continue
        both = linear.primary[:, at] + 1j * linear.standby[:, at]
        different, codes = np.unique(both, return_inverse=True)
        if len(different) <= AMOUNTS_MAX:
            found.append(at)
            _, kinds = np.unique(kinds * len(different) + codes, return_inverse=True)
    return found, kinds


def classes_of(columns: Columns, stepped: list[int]) -> Classes | None:
    """Return the classes of hosts; None where there are none, or too many."""
    if not stepped:
        return None
    online = np.flatnonzero(columns.online)
    keys = np.zeros(len(online), np.int64)
    for term in stepped:
        for row in (columns.values[term], columns.linear.inverse[term]):
            _, codes = np.unique(row[online], return_inverse=True)
            _, keys = np.unique(keys * (codes.max(initial=0) + 1) + codes, return_inverse=True)
            if keys.max(initial=0) >= CLASSES_MAX:
                return None
    count = int(keys.max(initial=0)) + 1
    order = np.argsort(keys, kind="stable")
    of = np.full(columns.size + 1, count)
    of[online] = keys
    return Classes(online[order], np.searchsorted(keys[order], np.arange(count)), of)
