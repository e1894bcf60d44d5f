"""A gang as one claim: its right is judged on what it asks for in all, and victims are chosen for all of it.

Who is on the way out is waited for before anybody more is evicted, as for one workload. The hard thing is GPU
memory, which counts by the node: where nodes have GPUs of several sizes, a gang is tried on each size by
itself, and nothing is proven.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ullage.engine.placement.outcome import Evicted, Leaving, Outcome
from ullage.engine.quota.book import Member
from ullage.engine.quota.claim_rooms import Wanted
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.decision import Decision
from ullage.model.cluster import Workload
from ullage.model.plan import Refusal
from ullage.model.resources import NOTHING

if TYPE_CHECKING:
    from ullage.engine.quota.judging import QuotaJudging


class Together(NamedTuple):
    """What is decided of a gang: nodes for each of those wanted, or none and what stands against them.

    `goes` leave for it, `waited` are on their way out already; `evicted` and `waits_for` tell of them.
    """

    decision: Decision
    wanted: tuple[Wanted, ...]
    nodes: tuple[tuple[str, ...], ...] = ()
    goes: tuple[Member, ...] = ()
    waited: tuple[Member, ...] = ()
    evicted: tuple[Evicted, ...] = ()
    waits_for: tuple[Leaving, ...] = ()
    refusal: Refusal | None = None
    barred: str = ""


def as_one(judging: "QuotaJudging", wanted: Sequence[Wanted]) -> Together:
    """Return what becomes of replicas of one quota that run together or not at all; if they do, it is done.

    What quotas refuse names the changes of them that let all run.
    """
    claims = judging.claims
    mark = claims.mark_both()
    sizes = _by_size(claims, wanted)
    tried: list[Together] = []
    for counted in sizes:
        tried.append(_decided(judging, wanted, counted))
        if len(sizes) > 1:
            claims.undo_both(mark)
    best = min(range(len(tried)), key=lambda place: _dearness(tried[place]))
    found = tried[best]
    if len(sizes) > 1:
        found = _decided(judging, wanted, sizes[best])
        found = found._replace(decision=found.decision._replace(proven=False))
    if found.nodes or not found.decision.refusals:
        return found
    return found._replace(refusal=_with_changes(judging, wanted, found))


def _dearness(together: Together) -> tuple[bool, int, int]:
    return not together.nodes, len(together.goes), len(together.waited)


def _by_size(claims: Claims, wanted: Sequence[Wanted]) -> list[list[Wanted]]:
    """Return what is wanted as it counts on nodes of each size of GPUs."""
    parts = [claims.parts(each.workload, each.shape) for each in wanted]
    found = []
    for number in range(max(len(each) for each in parts)):
        chosen = [each[min(number, len(each) - 1)] for each in parts]
        found.append(
            [
                Wanted(part.workload, part.shape, each.replicas)
                for part, each in zip(chosen, wanted, strict=True)
            ]
        )
    return found


def _decided(judging: "QuotaJudging", asked: Sequence[Wanted], counted: Sequence[Wanted]) -> Together:
    claims = judging.claims
    for each, one in zip(counted, asked, strict=True):
        if each.workload is not one.workload:
            claims.ask_as(each.workload)
    labels = judging.labels()
    mark = claims.mark_both()
    decision, now = claims.decide_together(counted)
    leaving = claims.leaving()
    found, waited = now, list[Member]()
    if leaving and (now is None or now.victims):
        claims.undo_both(mark)
        claims.let_go(leaving)
        decision, found = claims.decide_together(counted)
        if found is not None:
            same = now is not None and (now.nodes, now.victims) == (found.nodes, found.victims)
            whole = decision.claim.members[0]._replace(amounts=decision.claim.amounts)
            evicting = bool(found.victims) and not same
            nodes = Counter(found.nodes)
            waited = [each for each in leaving if claims.is_in_the_way(each, whole, nodes, evicting=evicting)]
    if found is None:
        claims.undo_both(mark)
        return Together(decision, tuple(counted), barred=judging.barred(decision))
    names = iter(found.nodes)
    return Together(
        decision,
        tuple(counted),
        tuple(tuple(next(names) for _ in range(each.replicas)) for each in counted),
        found.victims,
        tuple(waited),
        tuple(judging.told(victim, labels) for victim in found.victims),
        tuple(judging.told_leaving(each) for each in waited),
    )


def _with_changes(judging: "QuotaJudging", wanted: Sequence[Wanted], found: Together) -> Refusal:
    """Return the refusal of a gang with the changes of quotas under which all of it runs."""
    whole = _summed(found.wanted)
    refusal = judging.refusal(whole, sum(each.replicas for each in wanted), found.decision)

    def attempt(changed: Claims) -> Outcome:
        start = changed.mark_both()
        other = _decided(judging.under(changed), wanted, found.wanted)
        changed.undo_both(start)
        one = Outcome(whole.key, whole.kind, 1, 1 if other.nodes else 0, "ok", ())
        return one._replace(evicted=other.evicted, waits_for=other.waits_for)

    return judging.changes.named(refusal, whole, 1, attempt)


def _summed(wanted: Sequence[Wanted]) -> Workload:
    """Return one workload that asks for all that is wanted."""
    requests = NOTHING
    for each in wanted:
        for _ in range(each.replicas):
            requests = requests + each.workload.requests
    return msgspec.structs.replace(wanted[0].workload, requests=requests, containers=())
