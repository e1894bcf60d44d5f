"""What others could claim of the use of each quota, if all who may evict asked for everything.

Whether anything of a quota can be claimed is decided here; which of its workloads go, and for whom, tell
risks. The hard thing is mode fair, where labels say nothing about it: a quota within its min can be above its
share as soon as others ask. A share against those who ask for everything is the least it can come to.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from ullage.engine.quota.book import Amounts, Book, Member
from ullage.engine.quota.rights import NEVER
from ullage.engine.quota.standing import Standing
from ullage.model.quantity import INT64_MAX
from ullage.model.resources import NOTHING

EVERYTHING: Final = INT64_MAX >> 2
"""No quota asks for more of anything."""


def claimable(
    standing: Standing, waiting: Iterable[Member], capacity: Mapping[str, int]
) -> tuple[Amounts, ...]:
    """Return what of the use of each quota, with all below it, others could claim back."""
    book = standing.book
    found = [[0] * len(book.resources) for _ in book.quotas]
    if "fair" in book.modes:
        asking = [
            everything(book, place, capacity) for place in range(len(book.quotas)) if evicts(book, place)
        ]
        least = standing.entitlements((*waiting, *asking), capacity)
        for place, mode in enumerate(book.modes):
            if mode == "fair":
                found[place] = [
                    0 if most is None else max(0, used - most)
                    for used, most in zip(standing.used[place], least[place], strict=True)
                ]
    for place in book.nos_places:
        for above in book.chains[place]:
            if book.modes[above] == "nos":
                found[above] = [
                    one + more for one, more in zip(found[above], _above_min(standing, place), strict=True)
                ]
    return tuple(map(tuple, found))


def everything(book: Book, place: int, capacity: Mapping[str, int]) -> Member:
    """Return one of a quota that asks for all there is of what is shared."""
    offered = book.amounts({name: capacity.get(name, 0) for name in book.shared})
    return Member(
        "", place, tuple(0 if each >= INT64_MAX else min(each, EVERYTHING) for each in offered), NOTHING
    )


def evicts(book: Book, place: int) -> bool:
    """Whether a quota ever claims from others."""
    return book.quotas[place].evicts_others != NEVER


def _above_min(standing: Standing, place: int) -> list[int]:
    """Return what a quota in mode nos uses above its min, up to what others leave of theirs."""
    book = standing.book
    found = []
    for used, least, unused, resource in zip(
        standing.own_used[place],
        book.own_mins[place],
        standing.unused(),
        range(len(book.resources)),
        strict=True,
    ):
        above = 0 if least is None else max(0, used - least)
        found.append(min(above, unused) if resource in book.shared_places else 0)
    return found
