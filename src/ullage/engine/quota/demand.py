"""Who asks to run under quotas: those who wait already, and what a question adds to all there are."""

from collections.abc import Sequence

from ullage.engine.placement.running import sets_of
from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import Member
from ullage.model.cluster import Batch


def demand_of(accounts: Accounts, asked: Sequence[Batch]) -> list[Member]:
    """Return who asks to run: those that wait already, and what is asked for beyond all there are."""
    waiting = dict(accounts.waiting)
    there = _replicas_there(accounts) if asked else {}
    more_of_them = []
    for batch in asked:
        workload = batch.workload
        member = accounts.member_of(workload)
        if workload.key in waiting:
            waiting[workload.key] = member
        itself = workload.key in waiting or workload.key in accounts.running
        known = there.get((workload.namespace, f"{workload.kind}/{workload.name}"), 0)
        more = batch.replicas - (1 if itself else known)
        if more > 0:
            more_of_them.append(member._replace(amounts=tuple(amount * more for amount in member.amounts)))
    return [*waiting.values(), *more_of_them]


def _replicas_there(accounts: Accounts) -> dict[tuple[str, str], int]:
    """Return how many workloads of each set run or wait."""
    counts: dict[tuple[str, str], int] = {}
    for workload in accounts.columns.snapshot.workloads:
        if workload.owner and (workload.key in accounts.running or workload.key in accounts.waiting):
            for owner in sets_of(workload.owner):
                key = (workload.namespace, owner)
                counts[key] = counts.get(key, 0) + 1
    return counts
