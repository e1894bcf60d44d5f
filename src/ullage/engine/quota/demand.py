"""Who asks to run under quotas: those who wait already, and what a question adds to all there are."""

from collections.abc import Sequence

from ullage.engine.quota.accounts import Accounts
from ullage.engine.quota.book import Member
from ullage.model.cluster import Batch, Workload

Counted = tuple[Workload, int]
"""A workload as it counts, and for how many replicas it does."""


def demand_of(accounts: Accounts, asked: Sequence[Batch], counted: Sequence[Counted] = ()) -> list[Member]:
    """Return who asks to run: those that wait already, and what is asked for beyond all there are.

    What is asked for counts as it is, or as those `counted` of its name; what is beyond them as the last.
    """
    parts: dict[str, list[Counted]] = {}
    for each in counted:
        parts.setdefault(each[0].key, []).append(each)
    waiting = dict(accounts.waiting)
    more_of_them = []
    for batch in asked:
        workload = batch.workload
        *others, (last, _) = parts.get(batch.key) or [(workload, batch.replicas)]
        if workload.key in waiting:
            waiting[workload.key] = accounts.member_of(last)
        itself = workload.key in waiting or workload.key in accounts.running
        known = accounts.replicas.get((workload.namespace, f"{workload.kind}/{workload.name}"), 0)
        more = batch.replicas - (1 if itself else known)
        for part, count in (*others, (last, more)):
            if more > 0:
                member, number = accounts.member_of(part), min(count, more)
                amounts = tuple(amount * number for amount in member.amounts)
                more_of_them.append(member._replace(amounts=amounts))
                more -= number
    return [*waiting.values(), *more_of_them]
