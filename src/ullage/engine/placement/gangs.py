"""Gangs: workloads that are placed together, and how many of them there must be before any is placed.

Members that run already count. The hard thing is not to count twice: a batch stands for those of its replicas
that run, and for the workload itself where it is asked for again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from ullage.engine.placement.running import Running
from ullage.model.cluster import MEMBERS_UNSAID, Batch, Workload

HELD_BACK: Final = "the others of its gang have no place"
GangKey = tuple[str, str]
"""Namespace and name: what the members of a gang have in common."""


class Gang(NamedTuple):
    """A gang of which some are enough: how many, how many run besides, and how many are asked for."""

    name: str
    members_min: int
    running: int
    asked: int

    @property
    def missing(self) -> int:
        """How many more must be asked for."""
        return max(self.members_min - self.running - self.asked, 0)

    def is_enough(self, placed: int) -> bool:
        """Whether any may be placed where so many of those that are asked for have a place."""
        return self.running + placed >= self.members_min

    @property
    def is_unsaid(self) -> bool:
        """Whether nobody has said yet how many are enough."""
        return self.members_min >= MEMBERS_UNSAID

    @property
    def too_few_asked(self) -> str:
        """Say that too few are asked for."""
        if self.is_unsaid:
            return f"its PodGroup {self.name} is not there yet, which says how many of its gang are enough"
        run = f", of which {self.running} run" if self.running else ""
        return f"its gang {self.name} needs {self.members_min} and has {self.running + self.asked}{run}"

    @property
    def waits_for(self) -> str:
        """Say what a gang waits for of which too few are there."""
        if self.is_unsaid:
            return self.too_few_asked
        there = self.running + self.asked
        run = f", of which {self.running} run" if self.running else ""
        are = f"{there} of {self.members_min} {'is' if there == 1 else 'are'} there"
        return f"its gang {self.name} waits for its other members: {are}{run}"

    def remedy(self, *, fits: bool = False, more: bool = False) -> str:
        """Say what helps where too few are asked for: these may fit, and those that are missing, too."""
        if self.is_unsaid:
            return f"create the PodGroup {self.name}"
        ways = [f"ask for {self.missing} more of its gang"] if fits and more else []
        ways += [f"lower the minimum of its gang to {self.running + self.asked}"] if fits else []
        return ", or ".join(ways) or f"give its gang {self.missing} more members, and room for all of them"

    def too_few_placed(self, placed: int) -> str:
        """Say that too few have a place, where so many of those have one that do not run yet."""
        have = self.running + placed
        placed_words = f"{have} {'has' if have == 1 else 'have'} a place"
        return f"its gang {self.name} needs {self.members_min} and {placed_words}"


Gangs = Mapping[GangKey | None, Gang]


def gang_key(workload: Workload) -> GangKey | None:
    """Return the gang of a workload, None where it is of none."""
    return (workload.namespace, workload.gang) if workload.gang else None


def units_of(batches: Sequence[Batch]) -> Iterator[list[Batch]]:
    """Yield batches that stand or fall together; a gang is judged where its first workload is."""
    gangs: dict[GangKey, list[Batch]] = {}
    for batch in batches:
        key = gang_key(batch.workload)
        if key is not None:
            gangs.setdefault(key, []).append(batch)
    for batch in batches:
        key = gang_key(batch.workload)
        if key is None:
            yield [batch]
        elif key in gangs:
            yield gangs.pop(key)


def gangs_of(batches: Sequence[Batch], running: Running, *, more: bool = False) -> Gangs:
    """Return the gangs among batches that say how many are enough.

    Where `more` of them are asked for, all that run are besides.
    """
    found: dict[GangKey | None, Gang] = {}
    for unit in units_of(batches):
        first = unit[0].workload
        key = gang_key(first)
        members_min = max(batch.workload.gang_min for batch in unit)
        if key is None or not members_min:
            continue
        own: set[str] = set()
        if not more:
            own = {batch.key for batch in unit}
            own |= {replica.key for batch in unit for replica in running.replicas_of(batch.workload)}
        besides = len(running.gang_of(first) - own)
        found[key] = Gang(first.gang, members_min, besides, sum(batch.replicas for batch in unit))
    return found
