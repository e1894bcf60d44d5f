"""The free volumes of a storage class, and which of them a workload's claims would get on each node.

Claims of a workload are served the smallest first, each with the smallest free volume that suits it. That is
the same on all nodes which reach the same volumes, so it is decided once for each such set of nodes, and
again only where a volume that is reached from there was taken or given back.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ullage.engine.placement.counters import Dependent
from ullage.engine.placement.node_columns import Codes, Flags
from ullage.engine.placement.selectors import Requirements, selects
from ullage.engine.placement.volume_places import Places, Reach
from ullage.model.storage import PersistentVolume

AVAILABLE = "Available"


class Wanted(NamedTuple):
    """What a claim asks of a volume."""

    size_bytes: int
    access_modes: frozenset[str] = frozenset()
    volume_mode: str = "Filesystem"
    requirements: Requirements | None = None

    def suits(self, volume: PersistentVolume) -> bool:
        """Whether a free volume of its class would do."""
        return (
            volume.size_bytes >= self.size_bytes
            and volume.volume_mode == self.volume_mode
            and self.access_modes <= frozenset(volume.access_modes)
            and (self.requirements is None or selects(self.requirements, volume.labels))
        )


class _Group:
    """Volumes that are reached from the same nodes, the free ones smallest first."""

    __slots__ = ("free", "sets")

    def __init__(self) -> None:
        self.free: list[tuple[int, str]] = []
        self.sets: list[int] = []


class Pool:
    """The volumes of one class that no claim has; `codes` says which set of groups each node reaches.

    `watchers` have looked at it since it last changed.
    """

    def __init__(self, volumes: Iterable[PersistentVolume], places: Places) -> None:
        self._volumes: dict[str, PersistentVolume] = {}
        self._group_of: dict[str, _Group] = {}
        self._matchings: dict[tuple[Wanted, ...], Matching] = {}
        self._suits: dict[Wanted, bool] = {}
        self.watchers: set[Dependent] = set()
        groups: dict[object, tuple[_Group, Reach | None]] = {}
        for volume in volumes:
            if volume.claim or volume.phase != AVAILABLE:
                continue
            group, _ = groups.setdefault(volume.node_affinity, (_Group(), places.of_volume(volume)))
            self._volumes[volume.name] = volume
            self._group_of[volume.name] = group
            insort(group.free, (volume.size_bytes, volume.name))
        self.sets: list[tuple[_Group, ...]] = []
        self.codes: Codes = np.zeros(places.count, np.int32)
        self._find_sets(list(groups.values()), places.count)

    def _find_sets(self, groups: list[tuple[_Group, Reach | None]], count: int) -> None:
        everywhere = tuple(number for number, (_, reach) in enumerate(groups) if reach is None)
        reached: dict[int, list[int]] = {}
        for number, (_, reach) in enumerate(groups):
            for row in reach.rows.tolist() if reach is not None else ():
                reached.setdefault(row, []).append(number)
        known = {everywhere: 0}
        codes = np.zeros(count, np.int32)
        for row, numbers in reached.items():
            codes[row] = known.setdefault((*everywhere, *numbers), len(known))
        self.codes = codes
        for code, members in enumerate(known):
            self.sets.append(tuple(groups[number][0] for number in members))
            for group in self.sets[-1]:
                group.sets.append(code)

    def suits(self, wanted: Wanted) -> bool:
        """Whether some volume, free or taken by now, would do for a claim."""
        found = self._suits.get(wanted)
        if found is None:
            found = self._suits[wanted] = any(map(wanted.suits, self._volumes.values()))
        return found

    def smallest(self, wanted: Wanted, code: int, without: set[str]) -> PersistentVolume | None:
        """Return the smallest free volume for a claim on a set of nodes, the first by name of equal ones."""
        best: tuple[int, str] | None = None
        for group in self.sets[code]:
            for place in range(bisect_left(group.free, (wanted.size_bytes, "")), len(group.free)):
                found = group.free[place]
                if best is not None and found > best:
                    break
                if found[1] not in without and wanted.suits(self._volumes[found[1]]):
                    best = found
                    break
        return None if best is None else self._volumes[best[1]]

    def matching(self, claims: tuple[Wanted, ...]) -> "Matching":
        """Return what these claims of one workload, smallest first, would get."""
        found = self._matchings.get(claims)
        if found is None:
            found = self._matchings[claims] = Matching(self, claims)
        return found

    def take(self, volume: PersistentVolume) -> None:
        """Note that a free volume has a claim now."""
        group = self._group_of[volume.name]
        del group.free[bisect_left(group.free, (volume.size_bytes, volume.name))]
        self._changed(group)

    def give(self, volume: PersistentVolume) -> None:
        """Note that a volume is free again."""
        group = self._group_of[volume.name]
        insort(group.free, (volume.size_bytes, volume.name))
        self._changed(group)

    def _changed(self, group: _Group) -> None:
        for matching in self._matchings.values():
            matching.outdated.update(group.sets)
        for each in self.watchers:
            each.stale = True
        self.watchers.clear()


class Matching:
    """Which claims of a workload get no free volume, on each set of nodes."""

    def __init__(self, pool: Pool, claims: tuple[Wanted, ...]) -> None:
        self._pool = pool
        self._claims = claims
        self._unserved: Flags = np.zeros((len(claims), len(pool.sets)), np.bool_)
        self.outdated = set(range(len(pool.sets)))

    def unserved(self) -> Flags:
        """Return whether each claim [claim, node] gets no free volume."""
        for code in self.outdated:
            self._unserved[:, code] = [volume is None for volume in self._chosen(code)]
        self.outdated.clear()
        flags: Flags = self._unserved[:, self._pool.codes]
        return flags

    def chosen(self, row: int) -> Sequence[PersistentVolume | None]:
        """Return the volume that each claim would get on a node."""
        return self._chosen(int(self._pool.codes[row]))

    def _chosen(self, code: int) -> list[PersistentVolume | None]:
        taken: set[str] = set()
        chosen = []
        for claim in self._claims:
            volume = self._pool.smallest(claim, code, taken)
            if volume is not None:
                taken.add(volume.name)
            chosen.append(volume)
        return chosen
