"""Why a workload waits, or where else it could run: every node with what keeps it off, and what would help.

The hard thing is what stands in the way before any node does: a pod that is held back by a gate or refused by
a quota is judged on the nodes all the same, so that one sees what comes next.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np

from ullage.engine.capacity.admission import admit, shortfall_of
from ullage.engine.columns import Columns
from ullage.engine.placement.before import BeforePlacement
from ullage.engine.placement.binding_rules import BindingRule, binding_rules
from ullage.engine.placement.device_claims import REMEDY, what_it_claims, without_device_claims
from ullage.engine.placement.fit import fit
from ullage.engine.placement.reasons import Reasons, reasons_of
from ullage.engine.placement.rules import EVERY, SIZE_REASON
from ullage.engine.placement.shapes import Integers, Shape
from ullage.engine.trial import Trial
from ullage.model.cluster import FORTHCOMING, Batch, Snapshot, Workload
from ullage.model.constraints import Record
from ullage.model.delta import Delta, apply
from ullage.model.errors import InputError
from ullage.model.plan import Refusal, Remedy
from ullage.model.resources import NOTHING, Resources
from ullage.model.settings import rules_for
from ullage.model.verdict import Shortfall, Verdict
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, unknown
from ullage.service.held import columns_of
from ullage.service.used import UsedPart, used_parts

if TYPE_CHECKING:
    from ullage.engine.usage.book import Book

SAME_NAMES_TOLD: Final = 3
FINAL_STATES: Final = frozenset(("error", "deleted"))


class NodeJudged(Record, frozen=True):
    """Whether a node would take a workload now, the first thing that keeps it off, and what it lacks."""

    node: str
    takes: bool
    reason: str = ""
    missing: Resources = NOTHING


class PodExplanation(Record, frozen=True):
    """The answer to `ullage explain pod/P`; nodes come with those that take it first, then the nearest.

    `held_back` is what stops it before any node is looked at; `verdict` has the terms of the node that would
    be chosen, or that is nearest, where that lacks resources. For a workload that runs, nodes are judged as
    if it had left its own. `evicts` are those that its quota gives it the right to take the place of,
    `breaks` the disruption budgets that do not let them go now, `waits_for` those on their way out in whose
    place it runs once they are gone. `used` is told where usage is asked for.
    """

    cluster: str
    revision: int
    policy: str
    workload: str
    workload_kind: str
    state: str
    node: str
    owner: str
    scheduler: str
    priority: int
    requests: Resources
    held_back: str
    taking: int
    first_choice: str
    tally: Mapping[str, int]
    nodes: tuple[NodeJudged, ...]
    rules: tuple[BindingRule, ...]
    verdict: Verdict | None
    shortfalls: tuple[Shortfall, ...]
    remedies: tuple[Remedy, ...]
    remedy: str
    not_simulated: tuple[str, ...]
    evicts: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    standby: str = ""
    waits_for: tuple[str, ...] = ()
    used: tuple[UsedPart, ...] = ()


def explain_pod(snapshot: Snapshot, name: str, asked: Asked, book: "Book | None" = None) -> Answer:
    """Answer why a workload waits, or where else it could run, and where usage is known, what it uses."""
    from ullage.service.explain_pod_page import pod_page

    workload = find_workload(snapshot, name, asked.namespace)
    report = pod_report(snapshot, workload)
    if book is not None:
        report = msgspec.structs.replace(report, used=used_parts(book, workload))
    types = snapshot.resource_types
    return Answer(
        lambda: pod_page(report, types, asked),
        lambda: versioned("PodExplanation", report, types),
        shortened=lambda: pod_page(report, types, asked, shortened=True),
    )


def find_workload(snapshot: Snapshot, name: str, namespace: str = "") -> Workload:
    """Return the workload that NAMESPACE/NAME means, or NAME in a namespace, or in the only one with it."""
    within, slash, short = name.rpartition("/")
    if slash and namespace and within != namespace:
        raise InputError(
            f"pod/{name} is not in namespace {namespace!r}", remedy="leave out -n, or the prefix"
        )
    if slash or namespace:
        key = name if slash else f"{namespace}/{short}"
        found = snapshot.workloads.get(key)
        if found is None:
            raise unknown("pod", key, _near(snapshot, short, within or namespace))
        return found
    alike = [each for each in snapshot.workloads if each.name == short]
    if not alike:
        raise unknown("pod", name, _near(snapshot, short, ""))
    if len(alike) > 1 and name in snapshot.workloads:
        return snapshot.workloads[name]
    if len(alike) > 1:
        keys = [f"pod/{each.key}" for each in alike[:SAME_NAMES_TOLD]]
        count = len(alike)
        raise InputError(f"{count} namespaces have a pod {name!r}", remedy=f"write {' or '.join(keys)}")
    return alike[0]


def _near(snapshot: Snapshot, name: str, namespace: str) -> Iterable[str]:
    """Return the keys worth a suggestion: those of the namespace or with the name, else all."""
    keys = [each.key for each in snapshot.workloads if each.namespace == namespace or each.name == name]
    return keys or [each.key for each in snapshot.workloads]


def pod_report(snapshot: Snapshot, workload: Workload) -> PodExplanation:
    """Return everything that keeps a workload from a node, or would where it runs already."""
    columns = columns_of(snapshot)
    report = PodExplanation(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        workload=workload.key,
        workload_kind=workload.kind,
        state=workload.told_state,
        node=workload.node,
        owner=workload.owner,
        scheduler=workload.scheduler,
        priority=workload.priority,
        requests=columns.taken(workload),
        held_back="",
        taking=0,
        first_choice="",
        tally={},
        nodes=(),
        rules=(),
        verdict=None,
        shortfalls=(),
        remedies=(),
        remedy="",
        not_simulated=(*_not_simulated(snapshot, workload), *snapshot.unknowns),
        standby=workload.standby,
    )
    if workload.state in FINAL_STATES:
        return report
    report = _judged(report, columns, workload)
    return report if workload.holds_capacity else _with_remedies(report, columns, workload)


def _free(workload: Workload) -> Workload:
    """Return a workload without its gates and the devices that it claims."""
    constraints = msgspec.structs.replace(workload.constraints, scheduling_gates=())
    return without_device_claims(msgspec.structs.replace(workload, constraints=constraints))


def _judged(report: PodExplanation, columns: Columns, workload: Workload) -> PodExplanation:
    """Return the report with every node judged, and the rules that bind."""
    snapshot = columns.snapshot
    if workload.holds_capacity and workload.standby:
        # With it goes what its standby holds for it.
        columns = Columns(apply(snapshot, Delta(dropped={"workloads": (workload.key,)})))
    placement = rules_for(snapshot.policy, snapshot.resource_types).placement
    trial = Trial(columns, placement, keeps_spare=not workload.holds_capacity)
    if workload.holds_capacity and not workload.standby:
        trial.evict(workload)
    elif not workload.holds_capacity:
        workload = BeforePlacement(snapshot).completed(workload)
    shape = trial.shape_of(workload)
    chosen = trial.pick(shape)
    reasons = reasons_of(trial, shape)
    judged = _nodes(trial, shape, reasons, chosen)
    nearest = trial.row_of[judged[0].node] if judged else -1
    taking = msgspec.structs.replace(workload, requests=shape.requests)
    shown = chosen >= 0 or (nearest >= 0 and bool(judged[0].missing))
    verdict = admit(trial.place_of(nearest), taking) if shown and not workload.holds_capacity else None
    return msgspec.structs.replace(
        report,
        requests=shape.requests,
        taking=sum(each.takes for each in judged),
        first_choice=trial.nodes[chosen].name if chosen >= 0 else "",
        tally=reasons.tally(),
        nodes=judged,
        rules=binding_rules(trial, shape, workload.key),
        verdict=verdict,
        shortfalls=verdict.shortfalls if verdict else (),
    )


class _Distance(NamedTuple):
    """How far a node is from taking a shape: what keeps it off, what is short, and by which part."""

    refused: bool
    rules: int
    kinds: int
    parts: int
    name: str


PARTS: Final = 1 << 20
"""What is missing of a request is told apart in parts of this."""


def _nodes(trial: Trial, shape: Shape, reasons: Reasons, chosen: int) -> tuple[NodeJudged, ...]:
    """Return every node: the one that is chosen, others that take it, then the nearest first."""
    against = _rules_against(shape)
    found: list[tuple[_Distance, NodeJudged]] = []
    for row, node in enumerate(trial.nodes):
        place = trial.place_of(row)
        shorts = [shortfall_of(place, name, amount) for name, amount in shape.requests.items()]
        missing = {each.resource: each.missing.value for each in shorts if each is not None}
        part = max((amount * PARTS // shape.requests[name] for name, amount in missing.items()), default=0)
        reason = reasons.of(row)
        distance = _Distance(bool(reason), int(against[row]), len(missing), part, node.name)
        first = distance._replace(rules=-1) if row == chosen else distance
        found.append((first, NodeJudged(node.name, not reason, reason, Resources(missing))))
    return tuple(judged for _, judged in sorted(found, key=lambda pair: pair[0]))


def _rules_against(shape: Shape) -> Integers:
    """Return how many things but its size and what runs there keep a shape off each node."""
    against = (~shape.open).astype(np.int64)
    for rule in (*shape.local_rules, *shape.wide_rules):
        if not rule.reason.startswith(SIZE_REASON):
            against += ~rule.allows(EVERY)
    return against


def _with_remedies(report: PodExplanation, columns: Columns, workload: Workload) -> PodExplanation:
    """Return the report of a workload that waits with what holds it back, and what was tried and helps."""
    (outcome,) = fit(columns, (Batch(_free(workload)),)).outcomes
    refusal = outcome.refusal
    gates = workload.constraints.scheduling_gates
    gated = f"held back by scheduling gates ({', '.join(sorted(gates))})" if gates else ""
    claimed = what_it_claims(workload)
    bound = refusal.reason if refusal is not None and report.taking else ""
    return msgspec.structs.replace(
        report,
        held_back="; ".join(filter(None, (gated, claimed, bound))),
        remedies=refusal.remedies if refusal else (),
        remedy=_remedy(refusal, gated, claimed),
        evicts=tuple(each.workload for each in outcome.evicted),
        breaks=tuple(sorted({name for each in outcome.evicted for name in each.breaks})),
        waits_for=tuple(each.workload for each in outcome.waits_for),
    )


def _remedy(refusal: Refusal | None, gated: str, claimed: str) -> str:
    """Return what is to be done that is no change which could be tried."""
    untried = refusal.remedy if refusal is not None and not refusal.remedies else ""
    known = ("remove its scheduling gates" if gated else "", REMEDY if claimed else "", untried)
    return "; ".join(filter(None, known))


def _not_simulated(snapshot: Snapshot, workload: Workload) -> tuple[str, ...]:
    """Return what this answer leaves aside."""
    notes = []
    waits = sum(each.state == "init" for each in snapshot.workloads) - (workload.state == "init")
    if waits:
        notes.append(f"others that wait ({waits}): none of them is placed first")
    if workload.told_state == FORTHCOMING and workload.standby:
        notes.append(f"its standby, which is reserved on {workload.standby}: nodes are judged without one")
    elif workload.standby:
        notes.append(f"disks: they are on {workload.standby} too; elsewhere they are copied first")
    if workload.gang:
        enough = f"at least {workload.gang_min} of which are" if workload.gang_min else "which is"
        notes.append(f"the rest of its gang {workload.gang}, {enough} placed with it or not at all")
    under_quota = any(workload.namespace in quota.namespaces for quota in snapshot.quotas)
    if workload.state == "init" and not under_quota:
        notes.append("eviction of others, where priority would allow it")
    return tuple(notes)
