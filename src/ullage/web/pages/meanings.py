"""What every term of a number means, and how it comes about: the places that figures of pages lead to."""

from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.service.words import listed, plural
from ullage.web.pages.links import anchor_of

if TYPE_CHECKING:
    from ullage.engine.capacity.summary import Summary
    from ullage.model.resources import Resources, ResourceTypes
    from ullage.service.quota_list import QuotaFigures


class Meaning(NamedTuple):
    """A term: the place on the page, its name, what it comes to, and why."""

    anchor: str
    name: str
    amount: str
    told: str


def resource_meanings(whole: "Summary", name: str, types: "ResourceTypes") -> list[Meaning]:
    """Return every term of a resource of the whole cluster, in the order of the arithmetic."""
    show = types[name].readable
    some = plural(whole.spare_nodes, "node")
    spare = (
        f"what failover needs: the largest sum of free and committed over any {some} of each group"
        if whole.spare_nodes
        else "nothing is kept for failover: the policy says so"
    )
    terms: tuple[tuple[str, Resources, str], ...] = (
        ("capacity", whole.capacity, f"what {plural(whole.nodes, 'node')} have, as the source tells it"),
        ("reserve", whole.reserve, "kept back for the system: the policy or the source says so, by node"),
        ("allocatable", whole.allocatable, "capacity - reserve"),
        ("limit", whole.limit, "ratio x allocatable, rounded down, by node: what may be promised"),
        ("committed", whole.committed, "promised to workloads, or really used where the policy counts that"),
        ("standby", whole.standby, "held free on nodes for the failover of others"),
        ("free", whole.free, "limit - committed, never below 0, of nodes that take something new"),
        ("blocked", whole.blocked, "the same of nodes that take nothing new: cordoned, offline or draining"),
        ("spare", whole.spare, spare),
        ("ullage", whole.ullage, "free - spare: what can still be promised"),
    )
    found = [
        Meaning(
            word, word, show(amounts.of(name)) if name in amounts or word in _ALWAYS else "no bound", told
        )
        for word, amounts, told in terms
        if word != "standby" or whole.standby
    ]
    ratio = Meaning("ratio", "ratio", "by node", "how far allocatable is over-committed; 1 is not at all")
    return [*found[:3], ratio, *found[3:]]


_ALWAYS: Final = frozenset(("capacity", "reserve", "allocatable", "committed", "standby"))


def quota_meanings(quota: "QuotaFigures", types: "ResourceTypes") -> list[Meaning]:
    """Return every term of a quota, with its amounts of all resources."""
    terms: tuple[tuple[str, Resources, str], ...] = (
        ("used", quota.used, "what its workloads and those of all quotas below it are promised"),
        ("min", quota.min, "guaranteed to it: written in the quota"),
        ("borrowed", quota.borrowed, "used - min, where that is more than nothing"),
        ("lent", quota.lent, "what others use of its min"),
        ("entitlement", quota.entitlement, "what it may claim: its min and its share of what others leave"),
        ("max", quota.max, "nothing runs beyond it: written in the quota; without one there is no bound"),
        ("claimable", quota.claimable, "what others could claim back of what it uses, if all of them asked"),
    )
    found = [
        Meaning(anchor_of(word), word, listed(types, amounts) if amounts else "-", told)
        for word, amounts, told in terms
    ]
    return [
        *found,
        Meaning("workloads", "workloads", str(quota.workloads), "its own, without those of quotas below it"),
        Meaning(
            "over-quota",
            "over quota",
            str(len(quota.over_quota)),
            "workloads beyond min in label order: the first to go when owners claim",
        ),
    ]
