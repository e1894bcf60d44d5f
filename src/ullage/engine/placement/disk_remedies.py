"""What would help where local disks are in the way: a smaller volume, or one more drive.

Sizes are found by halving, and every one of them is tried with all replicas. For each try a shape is compiled
anew, so that what it supposes stays with it.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from ullage.engine.placement.batches import all_fit
from ullage.engine.placement.local_disks import DiskRule, LocalDisks, rule_of
from ullage.engine.placement.refused_batch import RefusedBatch
from ullage.engine.placement.rules import EVERY
from ullage.engine.storage.extents import MEBIBYTE, volume_bytes
from ullage.model.disk_plan import DiskCapacity, DiskRequest, drive_class_of
from ullage.model.drives import DRIVE_CLASSES, EXTENT_BYTES, DriveClass
from ullage.model.plan import Remedy
from ullage.model.quantity import print_bytes, readable_bytes

REPLICAS_MAX: Final = 64
"""Replicas up to which remedies of disks are tried."""
NODES_MAX: Final = 8
"""Nodes on which one more drive is tried."""
ADDED: Final = "one-more-drive"


class DiskRemedies:
    """What would help a batch whose volumes have no place, on a trial as it was before the batch."""

    def __init__(self, batch: RefusedBatch) -> None:
        self._batch = batch
        self._disks: LocalDisks | None = None
        self._requests: tuple[DiskRequest, ...] = ()
        rule = rule_of(batch.shape)
        if rule is not None and batch.replicas <= REPLICAS_MAX:
            self._disks, self._requests = rule.disks, rule.wanted()

    def find(self) -> Iterator[Remedy]:
        """Yield the volumes that could be smaller, and the smallest drive that would do."""
        disks = self._disks
        if disks is None:
            return
        for request in self._requests:
            size_bytes = self._largest(request)
            if size_bytes:
                text = f"ask for {_exactly(size_bytes)} at most for volume {request.name}: {self._batch.then}"
                yield Remedy("volume", text, volume=request.name, size_bytes=size_bytes)
        yield from self._added(disks)

    def _fits(self, change: Callable[[DiskRule], None] = lambda _: None) -> bool:
        """Whether all replicas fit with a change to what their volumes want."""
        shape = self._batch.variant()
        rule = rule_of(shape)
        if rule is not None:
            change(rule)
        return all_fit(self._batch.trial, shape, self._batch.replicas)

    def _largest(self, request: DiskRequest) -> int:
        """Return the largest size below what is asked for, in MiB, with which all fit; 0 for none."""

        def fits(mebibytes: int) -> bool:
            return self._fits(lambda rule: rule.resize(request.name, mebibytes * MEBIBYTE))

        return MEBIBYTE * _last(fits, (request.size_bytes - 1) // MEBIBYTE)

    def _added(self, disks: LocalDisks) -> Iterator[Remedy]:
        """Yield the smallest drive of each class that would do, on the first node of those it may be on."""
        needed_bytes = sum(volume_bytes(each.size_bytes) for each in self._requests) * self._batch.rest
        rows = self._rows()
        for drive_class in self._classes():
            extents, best = needed_bytes // EXTENT_BYTES + 3, ""
            for row in rows:
                lacks = partial(self._lacks, disks, row, drive_class)
                if extents > 1 and not lacks(extents - 1):
                    extents, best = _last(lacks, extents - 1) + 1, self._batch.trial.nodes[row].name
            if best:
                size_bytes = extents * EXTENT_BYTES
                text = f"add a drive of class {drive_class} with {_exactly(size_bytes)} to {best}"
                yield Remedy(
                    "drive",
                    f"{text}: {self._batch.then}",
                    nodes=(best,),
                    drive_class=drive_class,
                    size_bytes=size_bytes,
                )

    def _lacks(self, disks: LocalDisks, row: int, drive_class: DriveClass, extents: int) -> bool:
        """Whether not all replicas fit if a node had one more drive of so many extents."""
        name = self._batch.trial.nodes[row].name
        disks.add_drive(row, DiskCapacity(ADDED, name, drive_class, extents * EXTENT_BYTES))
        fits = self._fits()
        disks.add_drive(row, None)
        return not fits

    def _classes(self) -> list[DriveClass]:
        """Return the classes of drives that its volumes could use; the system's group has none."""
        wanted = {drive_class_of(each.storage_class) for each in self._requests}
        any_drive = any(each.storage_class == "ANY" for each in self._requests)
        return [each for each in DRIVE_CLASSES if each in wanted or (any_drive and each == DRIVE_CLASSES[0])]

    def _rows(self) -> list[int]:
        """Return nodes where disks alone are in the way, the first of them by name."""
        trial, shape = self._batch.trial, self._batch.shape
        rule = rule_of(shape)
        others = shape.open & ~trial.lost
        for each in (*shape.local_rules, *shape.wide_rules):
            if each is not rule:
                others = others & each.allows(EVERY)
        room = trial.room.has_room(shape, EVERY)
        if room is not None:
            others = others & room
        return [int(row) for row in others.nonzero()[0][:NODES_MAX]]


def _last(holds: Callable[[int], bool], bound: int) -> int:
    """Return the largest number from 1 to a bound for which something holds; 0 where it does for none.

    What holds for a number holds for all smaller ones.
    """
    if bound < 1 or not holds(1):
        return 0
    low, high = 1, bound + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _exactly(size_bytes: int) -> str:
    """Return a size as people read it; with the exact one beside it where that is rounded."""
    shown, exact = readable_bytes(size_bytes), print_bytes(size_bytes)
    return exact if shown == exact else f"{exact} ({shown})"
