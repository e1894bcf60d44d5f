"""A sequence of snapshots as a trace: who came when, and how long everybody ran.

A snapshot shows moments, so times are known to one step: a workload comes with the first snapshot that has
it. One that ran and is gone later would run for as many steps as it was seen running; one that is gone and
never ran was withdrawn; one that is still there in the last snapshot runs on. Daemons belong to their nodes:
what they take is not there for others.
"""

from collections.abc import Sequence

from ullage.engine.quota.accounts import ENDED, Accounts
from ullage.engine.quota.events import Arrival, CapacityChange
from ullage.engine.redundancy.daemons import is_daemon
from ullage.model.cluster import Snapshot, Workload


class _Seen:
    """A workload over the snapshots: the first that has it, the last, and in how many it ran."""

    def __init__(self, workload: Workload, first: int) -> None:
        self.workload = workload
        self.first = self.last = first
        self.runs_first = workload.holds_capacity
        self.ran = 0


def recorded(snapshots: Sequence[Snapshot], every_seconds: int) -> list[Arrival]:
    """Return who came in a sequence of snapshots that are so many seconds apart."""
    found: dict[str, _Seen] = {}
    for place, snapshot in enumerate(snapshots):
        for workload in snapshot.workloads:
            if workload.state in ENDED or is_daemon(workload) or workload.constraints.scheduling_gates:
                continue
            seen = found.get(workload.key)
            if seen is None:
                seen = found[workload.key] = _Seen(workload, place)
            seen.last = place
            seen.ran += workload.holds_capacity
    return [_arrival(seen, len(snapshots), every_seconds) for seen in found.values()]


def _arrival(seen: _Seen, snapshots: int, every_seconds: int) -> Arrival:
    gone = seen.last + 1 < snapshots
    return Arrival(
        seen.workload,
        seen.first * every_seconds,
        duration_seconds=seen.ran * every_seconds if gone and seen.ran else None,
        leaves_seconds=(seen.last + 1) * every_seconds if gone and not seen.ran else None,
        runs=seen.first == 0 and seen.runs_first,
    )


def capacity_changes(accounts: Sequence[Accounts], every_seconds: int) -> list[CapacityChange]:
    """Return the capacity of each snapshot without what its daemons take, where it is not the one before."""
    found: list[CapacityChange] = []
    for place, each in enumerate(accounts):
        capacity = dict(each.capacity)
        for workload in each.columns.snapshot.workloads:
            if is_daemon(workload) and workload.holds_capacity:
                for name, amount in each.columns.taken(workload).items():
                    if name in capacity:
                        capacity[name] -= amount
        if not found or found[-1].capacity != capacity:
            found.append(CapacityChange(place * every_seconds, capacity))
    return found
