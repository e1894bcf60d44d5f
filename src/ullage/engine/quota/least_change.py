"""The least amounts to which a bound is raised so that something holds, in a stated order and with a proof.

Fewer resources come before more of them; then the lower amounts, resource by resource in the order of their
names, each in steps of its own. So no amount of a least change can be lowered. The hard thing is that what
holds at an amount may not hold above it (others are guaranteed more as well): a guess is made by halving, and
then everything before it in the order is tried. Only where tries suffice for that, it is proven to be least.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from math import prod
from typing import Final, NamedTuple

BOX_MAX: Final = 10_000
"""Amounts, of all resources together, up to which all that come before a guess are listed."""
SETS_MAX: Final = 64
"""Sets of resources that are raised all the way to see which of them matter."""

Amounts = Mapping[str, int]


class Range(NamedTuple):
    """How a bound on one resource can be raised from `before`, by `step`s; below `needed` nothing holds.

    More than `enough` is not looked at; `likely` are amounts near which the least often lies.
    """

    name: str
    before: int
    needed: int
    enough: int
    likely: tuple[int, ...] = ()
    step: int = 1

    @property
    def amounts(self) -> range:
        """All amounts that come into question, some steps above `before`."""
        steps = max(0, -((self.before - self.needed) // self.step))
        return range(self.before + steps * self.step, self.enough + self.step, self.step)


class Least(NamedTuple):
    """Amounts by name, of all ranges; `proven` if nothing before them in the order holds."""

    amounts: Amounts
    proven: bool


class Tries:
    """A question that is asked a limited number of times, and never twice about the same amounts."""

    def __init__(self, holds: Callable[[Amounts], bool], left: int) -> None:
        self._holds = holds
        self._known: dict[tuple[int, ...], bool] = {}
        self.left = left

    def holds(self, amounts: Amounts) -> bool:
        """Whether it holds with these amounts; not, where no try is left."""
        key = tuple(amounts.values())
        if key not in self._known:
            if self.left <= 0:
                return False
            self.left -= 1
            self._known[key] = self._holds(amounts)
        return self._known[key]

    def new(self, amounts: Amounts) -> bool:
        """Whether it was not asked about these amounts yet."""
        return tuple(amounts.values()) not in self._known


def guess(ranges: Sequence[Range], tries: Tries) -> Amounts | None:
    """Return amounts with which it holds, near the least; None where none were found."""
    for chosen in _sets(ranges):
        found: Amounts = {
            each.name: each.amounts[-1] if each.name in chosen else each.before for each in ranges
        }
        if tries.holds(found):
            for each in ranges:
                if each.name in chosen:
                    found = _lowered(found, each, tries)
            return found
    return None


def least(ranges: Sequence[Range], tries: Tries, found: Amounts | None) -> Least | None:
    """Return the first amounts in the order with which it holds; `found` are some, if any are known."""
    unproven = Least(found, proven=False) if found is not None else None
    if prod(len(each.amounts) for each in ranges) > BOX_MAX:
        at_once = found is not None and _is_first(ranges, found)
        return Least(found, proven=True) if found is not None and at_once else unproven
    most = _rank(ranges, found) if found is not None else None
    before = [each for each in _all(ranges) if most is None or _rank(ranges, each) < most]
    if sum(tries.new(each) for each in before) > tries.left:
        return unproven
    for each in sorted(before, key=lambda amounts: _rank(ranges, amounts)):
        if tries.holds(each):
            return Least(each, proven=True)
    return Least(found, proven=True) if found is not None else None


def _sets(ranges: Sequence[Range]) -> Iterator[frozenset[str]]:
    """Yield sets of resources that could be raised, in the order; all of them is the last."""
    must = [each.name for each in ranges if each.needed > each.before]
    others = [each.name for each in reversed(ranges) if each.name not in must]
    given = 0
    for size in range(len(others) + 1):
        for more in combinations(others, size):
            given += 1
            if given < SETS_MAX or size == len(others):
                yield frozenset((*must, *more))


def _lowered(found: Amounts, one: Range, tries: Tries) -> Amounts:
    """Return amounts with that of one resource as low as halving brings it."""
    amounts = one.amounts
    refused, enough = -1, amounts.index(found[one.name])
    likely = [amounts.index(each) for each in one.likely if each in amounts]
    while enough - refused > 1 and tries.left > 0:
        tried = likely.pop(0) if likely else (refused + enough) // 2
        if refused < tried < enough:
            if tries.holds({**found, one.name: amounts[tried]}):
                enough = tried
            else:
                refused = tried
    return {**found, one.name: amounts[enough]}


def _rank(ranges: Sequence[Range], amounts: Amounts) -> tuple[int, tuple[int, ...]]:
    """Return the place of amounts in the order."""
    values = tuple(amounts[each.name] for each in ranges)
    return sum(value > each.before for value, each in zip(values, ranges, strict=True)), values


def _is_first(ranges: Sequence[Range], amounts: Amounts) -> bool:
    """Whether no amounts that come into question are before these."""
    return all(amounts[each.name] == each.amounts.start for each in ranges)


def _all(ranges: Sequence[Range]) -> Iterator[Amounts]:
    for values in product(*(each.amounts for each in ranges)):
        yield {each.name: value for each, value in zip(ranges, values, strict=True)}
