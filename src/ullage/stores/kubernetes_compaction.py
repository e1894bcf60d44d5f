"""Old steps go, the state stays: etcd is no archive, and a ledger is to be read in a second.

Now and then the state is kept, in as many objects as it needs, and steps that are older than the newest kept
state that all wanted steps follow on are removed. The hard thing is the order: steps are removed one after
the other, the oldest first, each when the one before is gone for sure. Writers rely on it.
"""

from typing import Final

from ullage.stores.kubernetes_chain import Chain, parts_of
from ullage.stores.kubernetes_objects import ExistsError, Part, PlanObjects, Step, document_of, read_object

KEEP_STATE_STEPS: Final = 500
"""So many steps after a kept state, the next one is."""
STEPS_KEPT_MIN: Final = 1000
"""So many steps are kept, however old they are."""
SECONDS_KEPT: Final = 3600
"""Steps of the last hour are kept, which is how long a key is known at least: a retry comes within that."""
STEPS_KEPT_MAX: Final = 10_000
"""Of more steps than this the older ones go, however young they are."""


def is_due(chain: Chain) -> bool:
    """Whether the state is to be kept again."""
    last = chain.kept[-1].revision if chain.kept else 0
    return chain.revision - last >= KEEP_STATE_STEPS


def first_wanted(chain: Chain) -> int:
    """Return the oldest step that is to be kept."""
    last = chain.revision
    wanted = last - STEPS_KEPT_MIN + 1
    least = max(last - STEPS_KEPT_MAX + 1, 1)
    young_from = chain.state.at_seconds - SECONDS_KEPT
    while wanted > least and wanted - 1 in chain.steps and chain.steps[wanted - 1].at_seconds > young_from:
        wanted -= 1
    return max(wanted, 1)


async def compact(objects: PlanObjects, chain: Chain) -> tuple[int, Chain]:
    """Keep the state as it is in a chain, remove what is old; return how much went, and what is there.

    Raises as the objects do: what was not done is done the next time.
    """
    for part in parts_of(chain.state, chain.hash):
        try:
            await objects.create(document_of(part))
        except ExistsError:
            continue  # by somebody who did the same
    found = [read_object(each) for each in await objects.read_all()]
    now = Chain(found)
    wanted = first_wanted(now)
    bases = [each.revision for each in now.kept if each.revision < wanted]
    if not bases:
        return 0, now
    base, newest = bases[-1], now.kept[-1].revision
    whole = {part.name for each in now.kept for part in each.parts}
    steps = sorted(each.revision for each in found if isinstance(each, Step) and each.revision <= base)
    parts = [
        each
        for each in found
        if isinstance(each, Part)
        and (each.revision < base or (each.name not in whole and each.revision < newest))
    ]
    by_revision = {each.revision: each for each in found if isinstance(each, Step)}
    for revision in steps:
        await objects.delete(by_revision[revision].name)
    for part in parts:
        await objects.delete(part.name)
    now.forget(base)
    now.kept = [each for each in now.kept if each.revision >= base]
    return len(steps) + len(parts), now
