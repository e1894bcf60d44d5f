"""How much more a quota may run: what each bound leaves, the least of them, and what it may claim beyond."""

from collections.abc import Mapping
from typing import NamedTuple

from ullage.engine.quota.book import Terms
from ullage.engine.quota.rights import Rules


class QuotaRoom(NamedTuple):
    """By resource what each bound leaves, None where it names none; `admitted` is the least, never below 0.

    The bounds of max and of the borrowing limit are the nearest of all quotas up to the root.
    """

    max: Terms
    borrowing_limit: Terms
    sum_of_min: Terms
    nodes: Terms
    admitted: Terms


def quota_room(rules: Rules, quota: int, room: Mapping[str, int]) -> QuotaRoom:
    """Return what would be admitted to a quota without an eviction; `room` is what nodes have left in all."""
    book, standing = rules.book, rules.standing
    by_max: list[int | None] = [None] * len(book.resources)
    by_limit = list(by_max)
    by_sum = list(by_max)
    for above in book.chains[quota]:
        for place, used in enumerate(standing.used[above]):
            most, limit = book.maxes[above][place], book.most_borrowed[above][place]
            if most is not None:
                by_max[place] = _least(by_max[place], most - used)
            if limit is not None:
                by_limit[place] = _least(by_limit[place], (book.mins[above][place] or 0) + limit - used)
    if book.modes[quota] == "nos":
        sums, use = standing.book.sum_of_mins, standing.sum_of_use()
        for place in range(len(book.resources)):
            if any(book.mins[each][place] is not None for each in book.nos_places):
                by_sum[place] = sums[place] - use[place]
    by_nodes = [room.get(name) for name in book.resources]
    admitted = []
    for bounds in zip(by_max, by_limit, by_sum, by_nodes, strict=True):
        stated = [each for each in bounds if each is not None]
        admitted.append(max(0, min(stated)) if stated else None)
    return QuotaRoom(tuple(by_max), tuple(by_limit), tuple(by_sum), tuple(by_nodes), tuple(admitted))


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)
