"""What is told of batches beside a gang of which some are enough: no advice that it could not follow."""

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.gangs import Gang, GangKey, Gangs, gang_key
from ullage.engine.placement.outcome import Outcome
from ullage.engine.placement.remedies import NOTHING_HELPS
from ullage.model.cluster import Batch
from ullage.model.plan import Refusal, Remedy

REMEDIES_TOLD: Final = 3


class TooFew(NamedTuple):
    """Why none of a gang is placed of which too few are asked for, and what to do."""

    reason: str
    remedy: str


def naming(refusal: Refusal, remedies: tuple[Remedy, ...]) -> Refusal:
    """Return a refusal that names remedies, or says that none of those tried helps."""
    texts = "; or ".join(each.text for each in remedies[:REMEDIES_TOLD]) or NOTHING_HELPS
    return msgspec.structs.replace(refusal, remedy=texts, remedies=remedies)


def _with_enough(outcome: Outcome, gang: Gang, placed: int) -> Outcome:
    """Return an outcome without the advice to ask for fewer than its gang needs.

    `placed` is how many of the other batches of the gang have a place.
    """
    refusal = outcome.refusal
    if refusal is None or not refusal.remedies:
        return outcome
    kept = tuple(
        each for each in refusal.remedies if each.kind != "replicas" or gang.is_enough(placed + each.replicas)
    )
    if kept == refusal.remedies:
        return outcome
    if kept:
        return outcome._replace(refusal=naming(refusal, kept))
    have = placed + outcome.placed
    lacking = gang.members_min - gang.running - have
    remedy = f"make room for {lacking} more: {gang.too_few_placed(have)}"
    return outcome._replace(refusal=msgspec.structs.replace(refusal, remedy=remedy, remedies=()))


def with_enough_of_gangs(batches: Sequence[Batch], found: Sequence[Outcome], gangs: Gangs) -> list[Outcome]:
    """Return outcomes without the advice to ask for fewer than gangs need."""
    keys = [gang_key(batch.workload) for batch in batches]
    placed = Counter[GangKey | None]()
    for key, outcome in zip(keys, found, strict=True):
        placed[key] += outcome.placed
    return [
        outcome if key not in gangs else _with_enough(outcome, gangs[key], placed[key] - outcome.placed)
        for key, outcome in zip(keys, found, strict=True)
    ]


def of_gang(outcome: Outcome, gangs: Gangs) -> Outcome:
    """Return an outcome beside a gang of which a part is enough: that all have no place proves nothing."""
    if gangs and outcome.certificate == "impossible" and outcome.certificate_note:
        gang = next(iter(gangs.values()))
        note = f"{gang.members_min} of gang {gang.name} would be enough, and are not searched for"
        return outcome._replace(certificate="unknown", certificate_note=note)
    return outcome
