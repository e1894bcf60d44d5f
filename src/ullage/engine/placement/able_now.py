"""Who of those that were placed can run at once, while all that are to go for others are still there.

One look at a cluster places each on the state that those before it left: also into what somebody leaves who
is evicted for another, or is on the way out. Such a place is not there yet. So those that seem able to run
are judged once more, each on its node, as the cluster is now, and may take the place of nobody.
"""

from collections.abc import Iterable

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.fit import fit
from ullage.engine.placement.outcome import Outcome
from ullage.model.cluster import Batch, Workload


def able_now(columns: Columns, placed: Iterable[tuple[str, Workload, str]]) -> dict[str, Outcome]:
    """Return what becomes of those that can run on their nodes now, in the order in which they are placed.

    Each is given with the name of those it was judged with, as they are alike, and its node.
    """
    alike: dict[tuple[str, str], list[Workload]] = {}
    for subject, workload, node in placed:
        alike.setdefault((subject, node), []).append(workload)
    members = {each[0].key: each for each in alike.values()}
    batches = [Batch(_alone(each[0], node), len(each)) for (_, node), each in alike.items()]
    turns = {batch.key: number for number, batch in enumerate(batches)}
    answer = fit(columns, batches, names_remedies=False, first=turns, by_priority=True, only_now=True)
    return {
        member.key: outcome
        for outcome in answer.outcomes
        for member in members[outcome.subject][: outcome.placed]
    }


def _alone(workload: Workload, node: str) -> Workload:
    """Return a workload for one node that evicts nobody; whether its gang runs is for others to say."""
    return msgspec.structs.replace(workload, node=node, preempts=False, gang="", gang_min=0)
