"""Gangs of which not enough are there yet: a scheduler waits for the others, and nothing is to be changed.

Members are created one after the other, so every gang is such a one for a moment. Whoever asks beforehand
whether a gang fits is told what would help instead (judging.py): nobody else is going to come then.
"""

from collections.abc import Mapping, Sequence

from ullage.engine.placement.gangs import GangKey, gang_key, gangs_of
from ullage.engine.placement.running import Running
from ullage.model.cluster import Batch, Snapshot, Workload
from ullage.model.plan import Refusal


def gathering(waiting: Sequence[Workload], snapshot: Snapshot) -> Mapping[GangKey | None, str]:
    """Return what gangs wait for of which too few wait or run; all that wait are to be given."""
    batches = [Batch(each) for each in waiting if each.gang]
    if not batches:
        return {}
    gangs = gangs_of(batches, Running(snapshot))
    return {key: gang.waits_for for key, gang in gangs.items() if gang.missing}


def gathered(refusal: Refusal, workload: Workload, waits_for: Mapping[GangKey | None, str]) -> Refusal:
    """Return why a workload has no place: it waits for others where its gang is not complete yet."""
    key = gang_key(workload)
    return Refusal(refusal.subject, refusal.count, waits_for[key]) if key in waits_for else refusal
