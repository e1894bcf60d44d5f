"""What would let a gang run that has no place: changes for all of it, not for one member after the other.

Members that are alike are judged as one batch, whose remedies speak of all of them. Where some are not alike,
the remedy of one batch need not do: it is applied, the gang is judged again, and what the next batch lacks is
added, until the gang runs. So all that is told was tried, as a whole.
"""

from collections.abc import Sequence
from itertools import count, islice
from typing import Final, NamedTuple

import msgspec

from ullage.engine.placement.bench import Bench
from ullage.engine.placement.fit import fit
from ullage.engine.placement.gang_outcomes import REMEDIES_TOLD
from ullage.engine.placement.gangs import HELD_BACK
from ullage.engine.placement.limit_ranges import with_requests
from ullage.engine.placement.outcome import Outcome
from ullage.engine.placement.remedies import constraints_without
from ullage.engine.placement.smaller_members import smaller_members
from ullage.engine.placement.spare_nodes import node_like
from ullage.engine.quota.changes import NO_CHANGE
from ullage.engine.redundancy.daemons import daemons_of, daemons_on
from ullage.model.cluster import Batch, Node, Snapshot, Workload
from ullage.model.delta import Delta
from ullage.model.plan import Refusal, Remedy
from ullage.model.resources import Resources

STEPS_MAX: Final = 6
"""Changes that are tried together."""
NOTHING_HELPS: Final = f"no changes of those tried, up to {STEPS_MAX} together, let its gang run"


class _State(NamedTuple):
    """A cluster, and what a gang asks of it."""

    bench: Bench
    batches: tuple[Batch, ...]

    def refused(self) -> list[Outcome]:
        """Return what becomes of the batches of a gang that cannot run; nothing where it can."""
        found = fit(self.bench.columns, self.batches, by_priority=True, bench=self.bench).outcomes
        outcomes = {each.subject: each for each in found}
        can_run = any(each.placed for each in found) or not any(each.refusal for each in found)
        return [] if can_run else [outcomes[batch.key] for batch in self.batches]


def is_lacking(bench: Bench, members: Sequence[Workload]) -> bool:
    """Whether a gang needs some of those who wait before any of them may run."""
    return _needed(bench, members) > 0


def explained_gang(bench: Bench, members: Sequence[Workload]) -> dict[str, Refusal | None]:
    """Return why each member of a gang has no place, and what would let the gang run; None where it can."""
    groups = _alike(members)
    needed = min(_needed(bench, members), len(members))
    batches = [Batch(group[0], len(group)) for group in groups]
    if len(groups) == 1:
        batches = [Batch(members[0], needed)]
    state = _State(bench, tuple(batches))
    found = state.refused()
    if not found:
        return dict.fromkeys(each.key for each in members)
    subject, refusal = _first(found)
    remedy = refusal.remedy
    then = f"all {needed} of its gang then fit" if needed == len(members) else "enough of its gang then fit"
    if len(groups) > 1 and _can_be_tried(refusal):
        remedy = _remedy(state, subject, refusal.remedies, then)
    if len(groups) == 1 and not refusal.remedies:
        remedy = _of_the_rest(state, members[:needed], needed - refusal.count, then) or remedy
    if len(groups) == 1 and remedy == NO_CHANGE:
        remedy = _lowered(state, batches[0]) or remedy
    told: dict[str, Refusal | None] = {}
    for group, outcome in zip(groups, found, strict=True):
        own = outcome.refusal or refusal
        reason = own.reason
        placed = outcome.replicas - own.count
        if outcome.refusal is None:
            reason = f"{HELD_BACK}: {subject}: {reason}"
        elif placed:
            reason = (
                f"{placed} of {outcome.replicas} like it in its gang have a place, the others none: {reason}"
            )
        for member in group:
            told[member.key] = Refusal(member.key, 1, reason, own.shortfalls, remedy)
    return told


def _can_be_tried(refusal: Refusal) -> bool:
    return bool(refusal.remedies) and all(each.kind != "quota" for each in refusal.remedies)


def _of_the_rest(state: _State, members: Sequence[Workload], placed: int, then: str) -> str:
    """Return in words what lets a gang run of which a part has places: what helps the others, beside it.

    Members that are alike are one batch, and what would help is not looked for where a part of it has places.
    """
    if not placed:
        return ""
    parts = (Batch(members[0], placed), Batch(members[placed], len(members) - placed))
    apart = state._replace(batches=parts)
    found = apart.refused()
    if not found:
        return ""
    subject, refusal = _first(found)
    return _remedy(apart, subject, refusal.remedies, then) if _can_be_tried(refusal) else ""


def _lowered(state: _State, batch: Batch) -> str:
    """Return in words how much less members that are alike could ask for, each, to run where nobody goes."""

    def runs(requests: Resources) -> bool:
        workload = with_requests(batch.workload, requests)
        if workload is None:
            return False
        tried = (msgspec.structs.replace(batch, workload=workload),)
        found = fit(state.bench.columns, tried, names_remedies=False, by_priority=True, bench=state.bench)
        return all(each.placed == each.replicas and not each.evicted for each in found.outcomes)

    types = state.bench.columns.snapshot.resource_types
    ways = smaller_members(batch.workload, types, runs)
    return "; or ".join(f"{way}: all {batch.replicas} then fit" for way in ways)


def _needed(bench: Bench, members: Sequence[Workload]) -> int:
    least = max(each.gang_min for each in members)
    return least - len(bench.running.gang_of(members[0])) if least else len(members)


def _alike(members: Sequence[Workload]) -> list[list[Workload]]:
    """Return members by what they ask for; labels tell them apart only where rules look at them."""
    groups: dict[tuple[object, ...], list[Workload]] = {}
    for each in members:
        looks_at_others = each.constraints.affinity is not None or each.constraints.topology_spread
        parts = (
            each.kind, each.priority, each.preempts, each.admitted, each.node, id(each.requests),
            id(each.limits), id(each.constraints), id(each.labels) if looks_at_others else 0,
        )  # fmt: skip
        groups.setdefault((each.key,) if each.volumes else parts, []).append(each)
    return list(groups.values())


def _first(found: Sequence[Outcome]) -> tuple[str, Refusal]:
    return next((each.subject, each.refusal) for each in found if each.refusal is not None)


def _remedy(state: _State, subject: str, remedies: Sequence[Remedy], then: str) -> str:
    """Return in words what lets a gang run: each remedy of a batch of it, and what it takes besides.

    Those of the fewest changes come first, and none that another one suffices for.
    """
    ways: list[list[str]] = []
    for steps in sorted((_until_it_runs(state, subject, each) for each in remedies), key=len):
        if steps and not any(set(way) <= set(steps) for way in ways):
            ways.append(steps)
    texts = [f"{' and '.join(steps)}: {then}" for steps in ways[:REMEDIES_TOLD]]
    return "; or ".join(texts) or NOTHING_HELPS


def _until_it_runs(state: _State, subject: str, remedy: Remedy) -> list[str]:
    """Return the changes, a remedy first, after which a gang runs; nothing where it still does not."""
    steps: list[str] = []
    while len(steps) < STEPS_MAX:
        after = _applied(state, subject, remedy)
        if after is None:
            return []
        whose = f" ({_names(state, subject)})" if after.bench is state.bench else ""
        steps.append(f"{remedy.text.rpartition(': ')[0]}{whose}")
        found = after.refused()
        if not found:
            return steps
        subject, refusal = _first(found)
        if not refusal.remedies:
            return []
        state, remedy = after, refusal.remedies[0]
    return []


def _names(state: _State, subject: str) -> str:
    """Return whom a change is for that one of a batch stands for."""
    others = next(batch.replicas for batch in state.batches if batch.key == subject) - 1
    return f"{subject} and {others} like it" if others else subject


def _applied(state: _State, subject: str, remedy: Remedy) -> _State | None:
    """Return the cluster, or what is asked of it, after a remedy of a batch; None where it is not tried."""
    snapshot = state.bench.columns.snapshot
    if remedy.kind in {"evict", "wait"}:
        return _after(state, Delta(dropped={"workloads": remedy.evicted or remedy.waits_for}))
    if remedy.kind == "node" and remedy.node is not None:
        added = _new_nodes(remedy.node, remedy.count, snapshot)
        return _after(state, Delta(nodes=added, workloads=tuple(daemons_on(added, daemons_of(snapshot)))))
    if remedy.kind == "open" and remedy.toleration is None and not remedy.without:
        opened = tuple(msgspec.structs.replace(snapshot.nodes[name], state="ready") for name in remedy.nodes)
        return _after(state, Delta(nodes=opened))
    changed = [_changed(batch, remedy) if batch.key == subject else batch for batch in state.batches]
    batches = tuple(batch for batch in changed if batch is not None)
    return state._replace(batches=batches) if len(batches) == len(changed) else None


def _after(state: _State, delta: Delta) -> _State:
    return state._replace(bench=Bench(state.bench.columns.copy().advance(delta)))


def _new_nodes(model: Node, wanted: int, snapshot: Snapshot) -> tuple[Node, ...]:
    every = (node_like(model, number) for number in count())
    return tuple(islice((each for each in every if each.name not in snapshot.nodes), wanted))


def _changed(batch: Batch, remedy: Remedy) -> Batch | None:
    """Return a batch that asks for something else; None where a remedy does not say that it should."""
    asked = batch.workload
    workload: Workload | None = None
    if remedy.kind == "request":
        workload = with_requests(asked, remedy.requests)
    elif remedy.toleration is not None:
        tolerations = (*asked.constraints.tolerations, remedy.toleration)
        constraints = msgspec.structs.replace(asked.constraints, tolerations=tolerations)
        workload = msgspec.structs.replace(asked, constraints=constraints)
    elif opened := constraints_without(asked.constraints, remedy.without):
        workload = msgspec.structs.replace(asked, constraints=opened)
    return msgspec.structs.replace(batch, workload=workload) if workload is not None else None
