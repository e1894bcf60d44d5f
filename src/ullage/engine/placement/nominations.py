"""Whether those for whom others were evicted keep the places that they were to have.

The place of each is its own: judged anew, a small one would take a part of what was made free for a large
one, for whom others would then have to go. So each is judged on its node first. Who cannot have that place
without further evictions has any, behind those who can; who only waits there takes what is free elsewhere
now, as long as it takes it from nobody who keeps a place. A more important one that comes later goes before
those that priority would evict for it at once: else somebody went for nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.outcome import Outcome
from ullage.model.cluster import Batch

ROUNDS_MAX: Final = 3
"""How often it is looked who can leave a place beside the others that do."""


class Early(NamedTuple):
    """Whose turn comes before the turns of all others: who was nominated, and who is more important."""

    batches: Sequence[Batch]
    nominated: Mapping[str, str]
    outranked: Collection[str] = ()

    def turns(self, places: Mapping[str, str]) -> dict[str, int]:
        """Return the order: of those who were nominated, who keeps a place; then whoever priority orders."""

        def turn(batch: Batch) -> tuple[int, int, bool, bool]:
            moved = batch.key not in places
            if batch.key in self.nominated and batch.key not in self.outranked:
                return int(moved), 0, False, False
            return 2, -batch.workload.priority, batch.key not in self.nominated, moved

        by_turn = {batch.key: turn(batch) for batch in self.batches}
        number_of = {each: number for number, each in enumerate(sorted(set(by_turn.values())))}
        return {key: number_of[each] for key, each in by_turn.items()}


def early(batches: Sequence[Batch], nominated: Mapping[str, str], counted: Collection[str]) -> Early:
    """Return who goes first; priority is for those whom no quota has `counted`."""
    asked = [batch for batch in batches if batch.key in nominated]
    free = [batch for batch in batches if batch.key not in counted]
    nominees = [batch for batch in free if batch.key in nominated]
    if not nominees:
        return Early(asked, nominated)
    lowest = min(each.workload.priority for each in nominees)
    above = [each for each in free if each.key not in nominated and each.workload.priority > lowest]
    highest = max((each.workload.priority for each in above), default=lowest)
    outranked = {each.key for each in nominees if each.workload.priority < highest}
    return Early([*asked, *above], nominated, outranked)


def kept_places(columns: Columns, first: Early) -> dict[str, str]:
    """Return who keeps which node of those that were nominated; a gang has its places together or not."""
    nodes = {batch.key: first.nominated.get(batch.key, "") for batch in first.batches}
    places = {
        batch.key: nodes[batch.key]
        for batch in first.batches
        if nodes[batch.key] and not batch.workload.gang and not batch.workload.node
    }
    if not places:
        return {}
    found = _judged(columns, first, places)
    kept = {key: node for key, node in places.items() if found[key].placed and not found[key].evicted}
    waits = {key for key in kept if found[key].waits_for}
    if not waits:
        return kept
    found = _judged(columns, first, {})
    leave = {key for key in waits if _runs_now(found[key])}
    for _ in range(ROUNDS_MAX):
        if not leave:
            break
        stay = {key: node for key, node in kept.items() if key not in leave}
        found = _judged(columns, first, stay)
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


def _judged(columns: Columns, first: Early, places: Mapping[str, str]) -> dict[str, Outcome]:
    answer = fit(
        columns,
        at_places(first.batches, places),
        names_remedies=False,
        first=first.turns(places),
        by_priority=True,
    )
    return {outcome.subject: outcome for outcome in answer.outcomes}


def _runs_now(outcome: Outcome) -> bool:
    return bool(outcome.placed) and not outcome.evicted and not outcome.waits_for
