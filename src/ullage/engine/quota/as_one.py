"""A gang as one claim: its right is judged on what it asks for in all, and victims are chosen for all of it.

Who is on the way out is waited for before anybody more is evicted, as for one workload. The hard thing is GPU
memory, which counts by the node: where nodes have GPUs of several sizes, a gang is divided among them in
every way there is, and the best is taken; where there are too many ways, some are tried, nothing is proven.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ullage.engine.placement.outcome import Evicted, Leaving, Outcome
from ullage.engine.quota.book import Member
from ullage.engine.quota.by_gpu_size import dearness
from ullage.engine.quota.claim_rooms import Wanted, summed
from ullage.engine.quota.claims import Claims
from ullage.engine.quota.decision import Decision
from ullage.engine.quota.gpu_divisions import Division, divisions
from ullage.model.plan import Refusal

if TYPE_CHECKING:
    from ullage.engine.quota.judging import QuotaJudging


CHANGED_WAYS_MAX: Final = 8
"""Ways to divide a gang up to which all are tried again under each change of quotas; else only the best."""


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
    ways = divisions(judging.claims, wanted)
    best, found = _best(judging, wanted, ways.all)
    found = found._replace(decision=found.decision._replace(proven=found.decision.proven and ways.complete))
    if found.nodes or not found.decision.refusals:
        return found
    again = ways.all if len(ways.all) <= CHANGED_WAYS_MAX else [best]
    return found._replace(refusal=_with_changes(judging, wanted, found, best, again))


def _best(
    judging: "QuotaJudging", wanted: Sequence[Wanted], ways: Sequence[Division]
) -> tuple[Division, Together]:
    """Return the way to divide a gang for which the best victims go, and what is then decided; it is done.

    It is proven if every way was, or nobody has to go.
    """
    if len(ways) == 1:
        return ways[0], _decided(judging, wanted, ways[0])
    mark = judging.claims.mark_both()
    tried: list[Together] = []
    for way in ways:
        tried.append(_decided(judging, wanted, way))
        judging.claims.undo_both(mark)
        if tried[-1].nodes and not tried[-1].goes and not tried[-1].waited:
            break
    best = min(range(len(tried)), key=lambda place: _dearness(tried[place]))
    found = _decided(judging, wanted, ways[best])
    free = bool(found.nodes) and not found.goes
    proven = free or all(each.decision.proven for each in tried)
    return ways[best], found._replace(decision=found.decision._replace(proven=proven))


def _dearness(together: Together) -> tuple[object, ...]:
    return dearness(together.decision, runs=bool(together.nodes), waited=len(together.waited))


def _decided(judging: "QuotaJudging", asked: Sequence[Wanted], way: Division) -> Together:
    claims = judging.claims
    counted = [part for parts in way for part in parts]
    if any(
        part.workload is not one.workload for one, parts in zip(asked, way, strict=True) for part in parts
    ):
        claims.ask_as(*((part.workload, part.replicas) for part in counted))
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
        return Together(decision, tuple(asked), barred=judging.barred(decision))
    names = iter(found.nodes)
    return Together(
        decision,
        tuple(asked),
        tuple(tuple(next(names) for part in parts for _ in range(part.replicas)) for parts in way),
        found.victims,
        tuple(waited),
        tuple(judging.told(victim, labels) for victim in found.victims),
        tuple(judging.told_leaving(each) for each in waited),
    )


def _with_changes(
    judging: "QuotaJudging",
    wanted: Sequence[Wanted],
    found: Together,
    best: Division,
    ways: Sequence[Division],
) -> Refusal:
    """Return the refusal of a gang with the changes of quotas under which all of it runs."""
    whole = summed([part for parts in best for part in parts])
    refusal = judging.refusal(whole, sum(each.replicas for each in wanted), found.decision)

    def attempt(changed: Claims) -> Outcome:
        start = changed.mark_both()
        _, other = _best(judging.under(changed), wanted, ways)
        changed.undo_both(start)
        one = Outcome(whole.key, whole.kind, 1, 1 if other.nodes else 0, "ok", ())
        return one._replace(evicted=other.evicted, waits_for=other.waits_for)

    return judging.changes.named(refusal, whole, 1, attempt)
