"""What placements of a trial hold of local disks, and which disk serves which of their volumes."""

from collections.abc import Iterator
from typing import NamedTuple

from ullage.engine.placement.local_disks import DiskRule
from ullage.engine.placement.node_disks import growth_hold
from ullage.engine.placement.outcome import Served
from ullage.engine.placement.shapes import Shape
from ullage.model.cluster import Workload
from ullage.model.disk_plan import DiskHold, DiskRequest, DiskWitness, NodeDisks
from ullage.model.drives import PlacedVolume


class _Placed(NamedTuple):
    """What one placement takes of disks; or it has its own volumes `back` that it had left there."""

    served: tuple[Served, ...] = ()
    holds: tuple[DiskHold, ...] = ()
    back: tuple[PlacedVolume, ...] = ()


class DiskHolder:
    """What workloads of one shape hold of disks, by node.

    A running workload that is taken off its node was not placed here: what goes with it is noted as gone, and
    is back when it comes back.
    """

    def __init__(self, rule: DiskRule, workload: Workload) -> None:
        self._rule = rule
        self._disks = rule.disks
        self._workload = workload
        self._placed: dict[int, list[_Placed]] = {}
        self._gone: dict[int, list[tuple[PlacedVolume, ...]]] = {}

    def add(self, row: int, count: int) -> None:
        """Take note of so many more workloads on a node."""
        for _ in range(abs(count)):
            if count > 0:
                self._come(row)
            else:
                self._go(row)

    def _come(self, row: int) -> None:
        gone = self._gone.get(row)
        if gone:
            self._disks.come_back(row, gone.pop())
            return
        if self._disks.keeping_for:
            back = self._disks.freed_of(row, self._disks.keeping_for)
            if back:
                self._disks.come_back(row, back)
            self._placed.setdefault(row, []).append(_Placed(back=back))
            return
        wanted = self._rule.wanted()
        chosen = self._rule.chosen(row)
        growing = self._rule.growing(row)
        if isinstance(chosen, DiskWitness):
            chosen, growing = NodeDisks(chosen.node, {}), ()
        holds = tuple(_held(each, chosen) for each in wanted if each.name in chosen.chosen)
        served = [
            Served(
                hold.request,
                hold.node,
                hold.capacity,
                hold.storage_class,
                hold.size_bytes,
                fresh=hold.capacity in chosen.opened,
            )
            for hold in holds
        ]
        served += [
            Served(each.request, each.node, each.place, each.storage_class, each.size_bytes, fresh=False)
            for each in growing
        ]
        grows = {each.request for each in growing}
        served += [
            Served(
                each.request.name,
                each.node,
                each.place,
                each.request.storage_class,
                each.request.size_bytes,
                fresh=False,
            )
            for each in self._rule.promised_now()
            if each.request.name not in grows and self._disks.row_of(each.node) == row
        ]
        holds += tuple(growth_hold(each) for each in growing)
        if holds:
            self._disks.hold(row, holds)
            self._disks.serve(self._rule.owner, row, 1)
        self._placed.setdefault(row, []).append(_Placed(tuple(served), holds))

    def _go(self, row: int) -> None:
        if self._placed.get(row):
            _, holds, back = self._placed[row].pop()
            if holds:
                self._disks.give_back(row, holds)
                self._disks.serve(self._rule.owner, row, -1)
            if back:
                self._disks.leave(row, back)
            return
        gone = self._gone.setdefault(row, [])
        running = self._disks.going_with(self._workload, row)
        volumes = running[len(gone)] if len(gone) < len(running) else ()
        gone.append(volumes)
        self._disks.leave(row, volumes)

    def served(self, row: int, count: int, before: int = 0) -> Iterator[Served]:
        """Yield the disks of the last so many workloads placed on a node, leaving out the very last ones."""
        found = self._placed.get(row, [])
        for served, _, _ in found[max(0, len(found) - before - count) : len(found) - before]:
            yield from served


def served_on(shape: Shape, row: int, count: int, *, before: int = 0) -> list[Served]:
    """Return the disks of the last so many workloads of a shape on a node, but for those after them."""
    return [
        served
        for holder in shape.takes
        if isinstance(holder, DiskHolder)
        for served in holder.served(row, count, before)
    ]


def _held(request: DiskRequest, chosen: NodeDisks) -> DiskHold:
    """Return what a volume holds of the disk that was chosen for it."""
    place = chosen.chosen[request.name]
    return DiskHold("", request.name, chosen.node, place, request.storage_class, request.size_bytes)
