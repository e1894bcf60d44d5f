"""Claims that get their volume when a node is chosen: where they can get one, and what a placement decides.

A replica's own claim is decided anew for each replica. A claim with a key is shared by all who name it: the
first placement decides it, the others follow, and it is open again when the last of them is taken back.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ullage.engine.placement.attachments import Attachments
from ullage.engine.placement.counters import Dependent
from ullage.engine.placement.node_columns import Flags
from ullage.engine.placement.rules import EVERY, Rows
from ullage.engine.placement.shapes import Shape
from ullage.engine.placement.volume_places import Places, Reach
from ullage.engine.placement.volume_pools import Pool, Wanted
from ullage.model.storage import PersistentVolume


class Attached(NamedTuple):
    """A volume as those see it who count what is attached: its driver, and the claim it is known by."""

    driver: str
    claim: str


class Offer(NamedTuple):
    """What there is for an open claim.

    `pool` has free volumes, `meant` is a volume that names the claim already; `provided` are the nodes for
    which `driver` can make a volume, None for all of them; `too_large` says that it can be made for none.
    """

    pool: Pool | None
    meant: PersistentVolume | None
    provided: Flags | None
    driver: str
    too_large: str = ""


class OpenClaim:
    """A claim without a volume; `key` is empty where each replica has one of its own.

    `left` is what goes when a running workload goes whose replacement has this claim in its stead.
    """

    def __init__(
        self,
        name: str,
        key: str,
        wanted: Wanted,
        offer: Offer,
        *,
        places: Places,
        left: Attached | None = None,
    ) -> None:
        self.name = name
        self.key = key
        self.wanted = wanted
        self.offer = offer
        self.left = left
        self.users = 0
        self.dependents: list[Shape] = []
        self.decided: list[Reach] | None = None
        self.volume: PersistentVolume | None = None
        self._places = places
        self._is_pinned = False

    @property
    def told(self) -> str:
        """Its name, and where it is so that it asks for more than can be made."""
        return f"{self.name} ({self.offer.too_large})" if self.offer.too_large else self.name

    @property
    def attached(self) -> Attached:
        """How its volume counts once it is attached."""
        return Attached(self.offer.driver if self.volume is None else self.volume.driver, self.key)

    def pin(self, row: int) -> None:
        """Bind it for good to the node that was chosen for it earlier, -1 for one that is gone."""
        self._is_pinned = True
        self.decided = [self._places.nowhere() if row < 0 else self._places.at(row)]

    def use(self, row: int, volume: PersistentVolume | None) -> None:
        """Note one more user; the first decides its volume, or the node where one is made."""
        self.users += 1
        if self.decided is not None:
            return
        if volume is None:
            self.decided = [self._places.at(row)]
        else:
            reaches = self._places.of_volume(volume), self._places.in_zone(volume)
            self.decided = [reach for reach in reaches if reach is not None]
            self.volume = volume
            self.take(volume)
        self._changed()

    def leave(self) -> None:
        """Note one user less; when the last has gone, the claim is open again."""
        self.users -= 1
        if self.users or self._is_pinned:
            return
        if self.volume is not None:
            self.give(self.volume)
        self.decided = self.volume = None
        self._changed()

    def take(self, volume: PersistentVolume) -> None:
        """Take a volume out of its pool."""
        if self.offer.pool is not None and volume is not self.offer.meant:
            self.offer.pool.take(volume)

    def give(self, volume: PersistentVolume) -> None:
        """Put a volume back into its pool."""
        if self.offer.pool is not None and volume is not self.offer.meant:
            self.offer.pool.give(volume)

    def _changed(self) -> None:
        for shape in self.dependents:
            shape.stale = True
            shape.scores = None

    def reached(self, count: int) -> Flags:
        """Return the nodes on which it can be had, leaving aside what else a workload takes from the pool."""
        provided = np.ones(count, np.bool_) if self.offer.provided is None else self.offer.provided
        if self.decided is None:
            meant = self.offer.meant
            reach = None if meant is None else self._places.of_volume(meant)
            if meant is None:
                return provided
            return np.ones(count, np.bool_) if reach is None else provided | reach.mask(EVERY)
        allowed = np.ones(count, np.bool_) if self.volume is not None else provided.copy()
        for each in self.decided:
            allowed &= each.mask(EVERY)
        return allowed

    def meant_on(self, row: int) -> PersistentVolume | None:
        """Return the volume that names the claim, if it can be reached from a node."""
        meant = self.offer.meant
        reach = None if meant is None else self._places.of_volume(meant)
        return meant if reach is None or reach.has(row) else None


class Binding:
    """All open claims of a workload must get their volumes on the same node."""

    local = False
    once = False

    def __init__(self, claims: Iterable[OpenClaim], shape: Shape, count: int) -> None:
        self.claims = sorted(claims, key=lambda claim: claim.wanted.size_bytes)
        self._shape = shape
        self._count = count
        self.reason = f"no volume for claim {', '.join(claim.told for claim in self.claims)}"

    def allows(self, rows: Rows) -> Flags:
        """Return the nodes on which each claim gets a free volume, or one can be made for it."""
        allowed = np.ones(self._count, np.bool_)
        by_pool = self._by_pool()
        pooled = {id(claim) for claims in by_pool.values() for claim in claims}
        for claim in self.claims:
            if id(claim) not in pooled:
                allowed &= claim.reached(self._count)
        for pool, claims in by_pool.items():
            pool.watchers.add(self._shape)
            matching = pool.matching(tuple(claim.wanted for claim in claims))
            for claim, unserved in zip(claims, matching.unserved(), strict=True):
                if claim.offer.provided is not None:
                    allowed &= ~unserved | claim.offer.provided
        return allowed[rows]

    def chosen(self, row: int) -> dict[OpenClaim, PersistentVolume | None]:
        """Return the volume that each claim gets on a node; None for one that is to be made."""
        found = {claim: claim.meant_on(row) for claim in self.claims}
        for pool, claims in self._by_pool().items():
            volumes = pool.matching(tuple(claim.wanted for claim in claims)).chosen(row)
            found.update(zip(claims, volumes, strict=True))
        return found

    def _by_pool(self) -> dict[Pool, list[OpenClaim]]:
        """Return the claims that look for a free volume, the smallest first."""
        found: dict[Pool, list[OpenClaim]] = {}
        for claim in self.claims:
            if claim.decided is None and claim.offer.meant is None and claim.offer.pool is not None:
                found.setdefault(claim.offer.pool, []).append(claim)
        return found


class ClaimUse:
    """How many workloads use each claim that one at a time may use."""

    def __init__(self) -> None:
        self.users: dict[str, int] = {}
        self.dependents: dict[str, list[Dependent]] = {}

    def add(self, claim: str, count: int) -> None:
        """Note so many more users."""
        self.users[claim] = self.users.get(claim, 0) + count
        for each in self.dependents.get(claim, ()):
            each.stale = True


class SinglePod:
    """Nobody else may use a claim that takes one pod only (ReadWriteOncePod)."""

    local = False
    once = False

    def __init__(self, uses: ClaimUse, claim: str, count: int) -> None:
        self.reason = f"claim {claim} is in use and takes one pod only"
        self.claim = claim
        self._uses = uses
        self._count = count

    def allows(self, rows: Rows) -> Flags:
        """Return all nodes or none."""
        flags: Flags = np.full(self._count, not self.is_in_use)[rows]
        return flags

    @property
    def is_in_use(self) -> bool:
        """Whether somebody uses the claim."""
        return self._uses.users.get(self.claim, 0) > 0


class VolumeHold:
    """What a placed workload holds by its volumes: free volumes, open claims, attachments, single use.

    A running workload that is taken off its node decided nothing here: when it comes back, nothing is decided
    either. So what was placed here is kept by row, and what has gone is counted by row.
    """

    def __init__(
        self,
        attachments: Attachments,
        uses: ClaimUse,
        binding: Binding,
        *,
        fixed: Sequence[Attached],
        single: Sequence[str],
    ) -> None:
        self._attachments = attachments
        self._uses = uses
        self._fixed = fixed
        self._single = single
        self._claims = binding.claims
        self._binding = binding
        self._placed: dict[int, list[dict[OpenClaim, PersistentVolume | None]]] = {}
        self._gone: dict[int, int] = {}

    def add(self, row: int, count: int) -> None:
        """Take note of so many more workloads on a node."""
        for attached in self._fixed:
            self._attachments.add(*attached, row, count)
        for claim in self._single:
            self._uses.add(claim, count)
        if self._claims:
            for _ in range(abs(count)):
                if count > 0:
                    self._come(row)
                else:
                    self._go(row)

    def _come(self, row: int) -> None:
        if self._gone.get(row):
            self._gone[row] -= 1
            self._count_running(row, 1)
            return
        chosen = self._binding.chosen(row)
        self._placed.setdefault(row, []).append(chosen)
        for claim in self._claims:
            volume = chosen.get(claim)
            if claim.key:
                claim.use(row, volume)
                self._attachments.change_driver(claim.key, claim.attached.driver)
                self._attachments.add(*claim.attached, row, 1)
            else:
                if volume is not None:
                    claim.take(volume)
                self._attachments.add(_driver(claim, volume), "", row, 1)

    def _go(self, row: int) -> None:
        if not self._placed.get(row):
            self._gone[row] = self._gone.get(row, 0) + 1
            self._count_running(row, -1)
            return
        chosen = self._placed[row].pop()
        for claim in self._claims:
            volume = chosen.get(claim)
            if claim.key:
                self._attachments.add(*claim.attached, row, -1)
                claim.leave()
                self._attachments.change_driver(claim.key, claim.attached.driver)
            else:
                if volume is not None:
                    claim.give(volume)
                self._attachments.add(_driver(claim, volume), "", row, -1)

    def chosen(self, row: int, count: int, before: int) -> Iterator[tuple[str, PersistentVolume]]:
        """Yield the claims, with their volumes, of the last so many workloads on a node but those after them.

        These are the claims that get a free one; one that is shared has the volume that was chosen first.
        """
        found = self._placed.get(row, [])
        for placed in found[max(0, len(found) - before - count) : len(found) - before]:
            for claim, volume in placed.items():
                has = claim.volume if claim.key else volume
                if has is not None:
                    yield claim.name, has

    def _count_running(self, row: int, count: int) -> None:
        for claim in self._claims:
            attached = claim.attached if claim.key else claim.left
            if attached is not None:
                self._attachments.add(*attached, row, count)


def _driver(claim: OpenClaim, volume: PersistentVolume | None) -> str:
    return claim.offer.driver if volume is None else volume.driver
