"""Does it fit: which workloads have a place and where; for the others why not, and what would help."""

from typing import NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.fit import FitAnswer, Outcome
from ullage.engine.placement.fit import fit as place
from ullage.model.cluster import Snapshot, Workload
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.plan import Plan, Refusal
from ullage.model.resources import NOTHING, Resources
from ullage.model.verdict import Verdict
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, read_cluster
from ullage.service.wanted import PODS, Wanted, read_wanted, wanted_shape, with_replicas
from ullage.service.words import plural


class FitQuestion(NamedTuple):
    """What is asked for: files of workloads or one shape, how many of each, and whether all or none."""

    paths: tuple[str, ...] = ()
    shape: str = ""
    replicas: int | None = None
    atomic: bool = False
    pod_template: str = ""


class NodeCount(Record, frozen=True):
    """How many replicas go to a node."""

    node: str
    replicas: int


class OutcomeReport(Record, frozen=True):
    """What became of one workload; `verdict` holds the terms of the first node that takes it.

    `held` is what a workload that is resized has already.
    """

    workload: str
    kind: str
    action: str
    state: str
    replicas: int
    placed: int
    requests: Resources
    held: Resources
    nodes: tuple[NodeCount, ...]
    verdict: Verdict | None
    refusal: Refusal | None


class FitReport(Record, frozen=True):
    """The answer to `ullage fit`."""

    cluster: str
    revision: int
    policy: str
    fits: bool
    atomic: bool
    outcomes: tuple[OutcomeReport, ...]
    plan: Plan
    not_simulated: tuple[str, ...]


def fit(asked: Asked, question: FitQuestion) -> Answer:
    """Answer whether workloads fit into a cluster."""
    if bool(question.paths) == bool(question.shape):
        raise InputError(
            "name what should fit" if not question.paths else "-f and --shape are both given",
            remedy="use either -f FILE or --shape cpu=4,memory=8Gi",
        )
    if asked.cluster == "-" and "-" in question.paths:
        raise InputError(
            "standard input cannot be cluster and workloads", remedy="use a file for one of them"
        )
    snapshot = read_cluster(asked)
    types = snapshot.resource_types
    if question.shape:
        wanted = wanted_shape(
            question.shape, types, pods=any(PODS in node.capacity for node in snapshot.nodes)
        )
    else:
        wanted = read_wanted(
            question.paths, snapshot, namespace=asked.namespace, pod_template=question.pod_template
        )
    wanted = with_replicas(wanted, question.replicas)
    return fit_of(snapshot, wanted._replace(atomic=wanted.atomic or question.atomic), asked)


def fit_of(snapshot: Snapshot, wanted: Wanted, asked: Asked) -> Answer:
    """Answer whether workloads fit into a cluster; both were read already."""
    from ullage.service.fit_page import fit_page

    if not wanted.batches:
        raise InputError("there is no workload in it", where="-f", remedy="name a file with a pod template")
    snapshot = msgspec.structs.replace(snapshot, resource_types=wanted.types)
    columns = Columns(snapshot)
    found = place(columns, wanted.batches, atomic=wanted.atomic)
    report = _report(snapshot, found, wanted)
    return Answer(
        lambda: fit_page(report, columns, asked),
        lambda: versioned("FitReport", report, wanted.types),
        found.fits,
    )


def _report(snapshot: Snapshot, found: FitAnswer, wanted: Wanted) -> FitReport:
    return FitReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        fits=found.fits,
        atomic=wanted.atomic,
        outcomes=tuple(_outcome(each, snapshot) for each in found.outcomes),
        plan=found.plan,
        not_simulated=(*_not_simulated(snapshot, wanted), *wanted.notes, *snapshot.unknowns),
    )


def _outcome(outcome: Outcome, snapshot: Snapshot) -> OutcomeReport:
    running = snapshot.workloads.get(outcome.subject) if outcome.action == "resize" else None
    return OutcomeReport(
        workload=outcome.subject,
        kind=outcome.kind,
        action=outcome.action,
        state=outcome.state,
        replicas=outcome.replicas,
        placed=outcome.placed,
        requests=outcome.requests,
        held=running.requests if running else NOTHING,
        nodes=tuple(NodeCount(node, count) for node, count in outcome.nodes),
        verdict=outcome.verdict,
        refusal=outcome.refusal,
    )


def _not_simulated(snapshot: Snapshot, wanted: Wanted) -> tuple[str, ...]:
    """Return what this answer leaves aside, each with how much of it is concerned here."""
    workloads = [batch.workload for batch in wanted.batches]
    volumes = sum(bool(each.volumes) for each in workloads)
    namespaces = {each.namespace for each in workloads}
    quotas = sum(bool(namespaces.intersection(quota.namespaces)) for quota in snapshot.quotas)
    return (
        _left_aside("affinity between pods, spread and host ports", sum(map(_is_bound, workloads))),
        f"quotas ({quotas} of {len(snapshot.quotas)} concerned)" if quotas else "quotas",
        _left_aside("volumes", volumes),
        "eviction of others",
    )


def _is_bound(workload: Workload) -> bool:
    """Whether a workload asks for something that is not judged yet."""
    asked = workload.constraints
    near = asked.affinity is not None and (asked.affinity.pod_affinity or asked.affinity.pod_anti_affinity)
    return bool(near or asked.topology_spread or asked.host_ports or asked.scheduling_gates)


def _left_aside(what: str, concerned: int) -> str:
    return f"{what} ({plural(concerned, 'workload')} concerned)" if concerned else what
