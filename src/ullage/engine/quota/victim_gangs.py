"""Gangs among those that run: a gang that would have too few left goes as one, or not at all.

Members beyond the minimum of a gang go one by one, each a victim by itself. The rest is one victim: it may be
taken where its quota is above its bound before any of it goes; in mode nos it is over-quota as soon as one
member is. Its priority is the highest of its members, its place in label order that of the last of them.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from ullage.engine.quota.book import QUEUE_LABEL, Member
from ullage.model.cluster import Workload
from ullage.model.resources import NOTHING


class RunningGang(NamedTuple):
    """The members of a gang that run, and how many of them can go while the others stay of use."""

    members: tuple[Member, ...]
    spare: int

    def whole(self, candidates: Collection[str]) -> tuple[Member, ...]:
        """Return all members where they can go as one: each is a candidate, and all are of one quota."""
        if len({each.quota for each in self.members}) > 1:
            return ()
        return self.members if all(each.key in candidates for each in self.members) else ()


Gangs = Mapping[str, RunningGang]
NO_GANGS: Final[Gangs] = {}
ONE_BY_ONE: Final = frozenset(("", "ReplicaSet"))
"""Owners whose pods a queue takes in one by one."""


def gang_of(workload: Workload) -> str:
    """Return the gang that a workload runs and goes with, by a name that no other has; '' for none.

    A queue of Kueue takes in and evicts all pods of a job as one.
    """
    if workload.gang:
        return f"{workload.namespace}/{workload.gang}"
    kind = workload.owner.partition("/")[0]
    if QUEUE_LABEL in workload.labels and kind not in ONE_BY_ONE:
        return f"{workload.namespace}/{workload.owner}"
    return ""


def by_gang(members: Iterable[Member]) -> dict[str, list[Member]]:
    """Return the members of gangs by their gang."""
    found: dict[str, list[Member]] = {}
    for member in members:
        if member.gang:
            found.setdefault(member.gang, []).append(member)
    return found


def running_gangs(
    gangs: Mapping[str, Iterable[Member]], gone: Collection[str] = ()
) -> dict[str, RunningGang]:
    """Return the gangs of which several run when some have gone; of one with too few, none is to spare."""
    found = {}
    for name, members in gangs.items():
        there = tuple(each for each in members if each.key not in gone)
        if len(there) > 1:
            least = max(each.gang_min for each in there) or len(there)
            found[name] = RunningGang(there, max(0, len(there) - least))
    return found


def as_one_member(members: tuple[Member, ...]) -> Member:
    """Return members of one quota that go together as one that counts for all; the last is its last."""
    takes = NOTHING
    for each in members:
        takes = takes + each.takes
    last = members[-1]
    return last._replace(
        key=f"{last.key}#all",
        amounts=tuple(sum(each) for each in zip(*(one.amounts for one in members), strict=True)),
        takes=takes,
        node="",
        priority=max(each.priority for each in members),
        budgets=tuple(budget for each in members for budget in each.budgets),
    )
