"""Gangs among those who come in a replay: members of one name that come together are one arrival.

They start, wait and go as one. The hard thing is what the members do not share: the gang runs as long as the
longest of them, is withdrawn when the last of them is, and has the lowest of their priorities.
"""

from collections.abc import Iterable

import msgspec

from ullage.engine.quota.book import QUEUE_LABEL
from ullage.engine.quota.events import Arrival
from ullage.model.cluster import Workload

Together = tuple[str, str, str, int, bool]
"""What members of one gang share: namespace, gang, queue, when they come, and whether they run already."""


def as_gangs(arrivals: Iterable[Arrival]) -> list[Arrival]:
    """Return arrivals with those of one gang, which come at the same time, as one that has its name."""
    alone: list[Arrival] = []
    gangs: dict[Together, list[Arrival]] = {}
    for arrival in arrivals:
        workload = arrival.workload
        if workload.gang:
            queue = workload.labels.get(QUEUE_LABEL, "")
            together = (workload.namespace, workload.gang, queue, arrival.at_seconds, arrival.runs)
            gangs.setdefault(together, []).append(arrival)
        else:
            alone.append(arrival)
    alone += [members[0] for members in gangs.values() if len(members) == 1]
    taken = {arrival.key for arrival in alone}
    found = list(alone)
    for members in gangs.values():
        if len(members) > 1:
            found.append(_as_one(members, taken))
            taken.add(found[-1].key)
    return found


def _as_one(members: list[Arrival], taken: set[str]) -> Arrival:
    first, *others = sorted(members, key=lambda each: each.key)
    return Arrival(
        msgspec.structs.replace(
            _named(first, taken), priority=min(each.workload.priority for each in members)
        ),
        first.at_seconds,
        _latest([each.duration_seconds for each in members]),
        first.replicas,
        _latest([each.leaves_seconds for each in members]),
        first.runs,
        tuple((each.workload, each.replicas) for each in others),
    )


def _named(first: Arrival, taken: set[str]) -> Workload:
    """Return the first of a gang under its name; one that comes again is told apart by when it does."""
    named = msgspec.structs.replace(first.workload, name=first.workload.gang)
    if named.key in taken:
        named = msgspec.structs.replace(named, name=f"{named.name}-{first.at_seconds}")
    while named.key in taken:
        named = msgspec.structs.replace(named, name=f"{named.name}-gang")
    return named


def _latest(times: list[int | None]) -> int | None:
    """Return the latest time; none where one of them has no end."""
    known = [each for each in times if each is not None]
    return max(known) if len(known) == len(times) else None
