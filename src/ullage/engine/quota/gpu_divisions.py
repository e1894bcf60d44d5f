"""The ways to divide a gang among nodes of several sizes of GPUs.

What a gang counts in all depends on how many of it go to which size, so that each way is a claim of its own.
Members that differ only in name are divided by number. The hard thing is how many ways there are: up to a
limit all of them, beyond it those on one size and some between two.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from ullage.engine.quota.claim_rooms import Wanted
from ullage.engine.quota.gpu_parts import Part
from ullage.model.cluster import Workload

if TYPE_CHECKING:
    from ullage.engine.quota.claims import Claims

WAYS_MAX: Final = 64
"""Ways up to which all are tried; where many could be evicted, which takes longer, up to a part of them."""
WAYS_OF_MANY_MAX: Final = 8
MANY: Final = 400
"""Workloads that could be evicted from which on each way takes longer."""
KINDS_MAX: Final = 8
"""Kinds of members that are told apart; members of more kinds are divided alike."""

Division = tuple[tuple[Wanted, ...], ...]
"""For each of those wanted the parts of it, on nodes of one size of GPUs each."""


class Divisions(NamedTuple):
    """Ways to divide a gang; `complete` if there are no others."""

    all: tuple[Division, ...]
    complete: bool


class _Kind(NamedTuple):
    """Members that differ only in name: which of those wanted they are, and how many sizes they may go to."""

    one: Workload
    places: list[int]
    sizes: int


def divisions(claims: "Claims", wanted: Sequence[Wanted]) -> Divisions:
    """Return the ways to divide those that are wanted, the smallest sizes first."""
    parts = [claims.parts(each.workload, each.shape) for each in wanted]
    kinds = _kinds(wanted, parts)
    most = WAYS_MAX if len(claims.accounts.evictable) <= MANY else WAYS_OF_MANY_MAX
    totals = [sum(wanted[place].replicas for place in kind.places) for kind in kinds]
    every = (_counts(total, kind.sizes) for total, kind in zip(totals, kinds, strict=True))
    found = list(islice(product(*(list(islice(each, most + 1)) for each in every)), most + 1))
    complete = len(found) <= most and len(kinds) < KINDS_MAX
    if not complete:
        found = list(_some(totals, [kind.sizes for kind in kinds], most))
    return Divisions(tuple(_dealt(wanted, parts, kinds, counts) for counts in found), complete)


def _kinds(wanted: Sequence[Wanted], parts: Sequence[Sequence[Part]]) -> list[_Kind]:
    kinds: list[_Kind] = []
    for place, each in enumerate(wanted):
        one = msgspec.structs.replace(each.workload, name="", owner="", created_seconds=None)
        sizes = len(parts[place])
        alike = next((kind for kind in kinds if kind.sizes == sizes and kind.one == one), None)
        if alike is None and len(kinds) == KINDS_MAX:
            alike = kinds[-1]
        if alike is None:
            kinds.append(_Kind(one, [place], sizes))
        else:
            alike.places.append(place)
    return kinds


def _counts(total: int, sizes: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to divide a number among sizes, with most on the first of them first."""
    if sizes == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _counts(total - first, sizes - 1):
            yield (first, *rest)


def _some(totals: Sequence[int], sizes: Sequence[int], most: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield ways on one size each, then ways between two sizes that follow each other, at most so many."""
    last = max(sizes) - 1
    steps = max(1, (most - last - 1) // max(1, last))
    shares = [(size, 0) for size in range(last + 1)]
    shares += [(size, step) for size in range(last) for step in range(1, steps + 1)]
    for size, step in shares[:most]:
        found = []
        for total, count in zip(totals, sizes, strict=True):
            here, there = min(size, count - 1), min(size + 1, count - 1)
            moved = total * step // (steps + 1)
            counts = [0] * count
            counts[here] += total - moved
            counts[there] += moved
            found.append(tuple(counts))
        yield tuple(found)


def _dealt(
    wanted: Sequence[Wanted],
    parts: Sequence[Sequence[Part]],
    kinds: Sequence[_Kind],
    counts: Sequence[Sequence[int]],
) -> Division:
    """Return the parts of each of those wanted, where so many of each kind go to each size.

    Of a kind that has members of fewer sizes, these go to the last size that they have.
    """
    found: list[tuple[Wanted, ...]] = [()] * len(wanted)
    for kind, numbers in zip(kinds, counts, strict=True):
        left = list(numbers)
        for place in kind.places:
            rest = wanted[place].replicas
            dealt = []
            last = len(parts[place]) - 1
            for size, part in enumerate(parts[place]):
                count = rest if size == last else min(left[size], rest)
                if size < len(left):
                    left[size] -= count
                rest -= count
                if count:
                    dealt.append(Wanted(part.workload, part.shape, count))
            found[place] = tuple(dealt)
    return tuple(found)
