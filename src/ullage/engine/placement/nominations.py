"""Whether those for whom others were evicted keep the places that they were to have.

The place of each is its own: judged anew, a small one would take a part of what was made free for a large
one, for whom others would then have to go. So each is judged on its node first. Who cannot have that place
without further evictions has any, behind those who can; who only waits there takes what is free elsewhere
now, as long as it takes it from nobody who keeps a place.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.outcome import Outcome
from ullage.model.cluster import Batch

ROUNDS_MAX: Final = 3
"""How often it is looked who can leave a place beside the others that do."""


def kept_places(columns: Columns, batches: Sequence[Batch], nominated: Mapping[str, str]) -> dict[str, str]:
    """Return who keeps which node of those that were nominated; a gang has its places together or not."""
    asked = [batch for batch in batches if batch.key in nominated]
    places = {
        batch.key: nominated[batch.key]
        for batch in asked
        if nominated[batch.key] and not batch.workload.gang and not batch.workload.node
    }
    if not places:
        return {}
    found = _judged(columns, asked, places)
    kept = {key: node for key, node in places.items() if found[key].placed and not found[key].evicted}
    waits = {key for key in kept if found[key].waits_for}
    if not waits:
        return kept
    found = _judged(columns, asked, {})
    leave = {key for key in waits if _runs_now(found[key])}
    for _ in range(ROUNDS_MAX):
        if not leave:
            break
        stay = {key: node for key, node in kept.items() if key not in leave}
        found = _judged(columns, asked, stay)
        able = {key for key in leave if _runs_now(found[key])}
        if able == leave:
            return stay
        leave = able
    return kept


def at_places(batches: Sequence[Batch], places: Mapping[str, str]) -> list[Batch]:
    """Return batches of which some are only for their places."""
    return [_at(batch, places[batch.key]) if batch.key in places else batch for batch in batches]


def _at(batch: Batch, node: str) -> Batch:
    workload = msgspec.structs.replace(batch.workload, node=node)
    return msgspec.structs.replace(batch, workload=workload)


def turns(nominated: Mapping[str, str], places: Mapping[str, str]) -> dict[str, int]:
    """Return whose turn is first: of those who were nominated, who keeps a place."""
    return {key: int(key not in places) for key in nominated}


def _judged(columns: Columns, asked: Sequence[Batch], places: Mapping[str, str]) -> dict[str, Outcome]:
    first = {batch.key: int(batch.key not in places) for batch in asked}
    answer = fit(columns, at_places(asked, places), names_remedies=False, first=first, by_priority=True)
    return {outcome.subject: outcome for outcome in answer.outcomes}


def _runs_now(outcome: Outcome) -> bool:
    return bool(outcome.placed) and not outcome.evicted and not outcome.waits_for
