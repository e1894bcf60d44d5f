"""How many more: of each shape or workload alone, and of whole sets of them together."""

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.before import BeforePlacement
from ullage.engine.placement.headroom import Headroom, headroom_of_sets
from ullage.engine.placement.headroom import headroom as count_more
from ullage.model.cluster import Batch, Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.resources import Resources
from ullage.model.settings import rules_for
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, read_meant
from ullage.service.fit import NodeCount
from ullage.service.held import columns_of
from ullage.service.progress import listener
from ullage.service.wanted import PODS, Wanted, read_wanted, shape_notes, wanted_shape, with_objects
from ullage.service.words import canonical_map

SHAPES_MAX: Final = 100


class HeadroomQuestion(NamedTuple):
    """What is counted: shapes, or the workloads of files; each alone, or whole sets of all of them.

    `tiered` shrinks one shape as the cluster fills; without a shape, the largest of a Ganeti policy.
    """

    shapes: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    together: bool = False
    placement: str = ""
    pod_template: str = ""
    tiered: bool = False


class WorkloadHeadroom(Record, frozen=True):
    """How many more of one workload fit alone, on which nodes, and how many nodes each reason closes then.

    `bounded` is false where counting stopped although more would fit; `refusal` is what its namespace has
    against more of them.
    """

    workload: str
    kind: str
    requests: Resources
    more: int
    bounded: bool
    nodes: tuple[NodeCount, ...]
    reasons: Mapping[str, int]
    refusal: str = ""


class SetHeadroom(Record, frozen=True):
    """How many whole sets fit; the next one lacks a place for `missing`, for a reason."""

    replicas: Mapping[str, int]
    more: int
    bounded: bool
    missing: str = ""
    reason: str = ""


class HeadroomReport(Record, frozen=True):
    """The answer to `ullage headroom`."""

    cluster: str
    revision: int
    policy: str
    placement: str
    workloads: tuple[WorkloadHeadroom, ...]
    sets: SetHeadroom | None
    not_simulated: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether there is room for at least one of everything that was asked about."""
        return all(each.more for each in self.workloads) if self.sets is None else bool(self.sets.more)


def headroom(asked: Asked, question: HeadroomQuestion) -> Answer:
    """Answer how many more of something fit into a cluster."""
    if question.tiered:
        return _tiered(asked, question)
    if bool(question.shapes) == bool(question.paths):
        what = "both -f and --shape are given" if question.paths else "nothing to count is named"
        raise InputError(what, remedy="use either --shape cpu=4,memory=8Gi or -f FILE")
    if asked.cluster == "-" and "-" in question.paths:
        raise InputError(
            "standard input cannot be cluster and workloads", remedy="use a file for one of them"
        )
    snapshot = read_meant(asked)
    check_namespace(snapshot, asked.namespace)
    if question.shapes:
        wanted = _shapes(snapshot, question, asked.namespace)
    else:
        wanted = read_wanted(
            question.paths, snapshot, namespace=asked.namespace, pod_template=question.pod_template
        )
    return headroom_of(snapshot, wanted, asked, question)


def _tiered(asked: Asked, question: HeadroomQuestion) -> Answer:
    from ullage.service.headroom_tiered import tiered

    if question.paths or question.together or len(question.shapes) > 1:
        raise InputError(
            "--tiered shrinks one shape", remedy="use it with --shape once, without -f and --together"
        )
    snapshot = read_meant(asked)
    check_namespace(snapshot, asked.namespace)
    return tiered(snapshot, asked, question.shapes, question.placement)


def _shapes(snapshot: Snapshot, question: HeadroomQuestion, namespace: str) -> Wanted:
    """Return shapes as workloads that are called by what they ask for; in a set one may be named twice."""
    if len(question.shapes) > SHAPES_MAX:
        raise InputError(f"more than {SHAPES_MAX} shapes", where="--shape", remedy="name fewer of them")
    types = snapshot.resource_types
    pods = any(PODS in node.capacity for node in snapshot.nodes)
    batches: dict[str, Batch] = {}
    for text in question.shapes:
        (batch,) = wanted_shape(text, types, pods=pods).batches
        requests = batch.workload.requests
        shown = requests if requests.of(PODS) != 1 else requests.only(set(requests) - {PODS})
        name = canonical_map(types, shown) or "nothing"
        if name in batches and not question.together:
            raise InputError(f"{name} is named twice", where="--shape", remedy="name it once")
        workload = msgspec.structs.replace(batch.workload, name=name, namespace=namespace)
        replicas = batches[name].replicas + 1 if name in batches else 1
        batches[name] = Batch(workload, replicas)
    return Wanted(tuple(batches.values()), atomic=False, types=types, notes=shape_notes(snapshot))


def headroom_of(snapshot: Snapshot, wanted: Wanted, asked: Asked, question: HeadroomQuestion) -> Answer:
    """Answer how many more of workloads fit; cluster and workloads were read already."""
    from ullage.service.headroom_page import headroom_page

    if not wanted.batches:
        raise InputError("there is no workload in it", where="-f", remedy="name a file with a pod template")
    snapshot = with_objects(snapshot, wanted.objects)
    if wanted.types is not snapshot.resource_types:
        snapshot = msgspec.structs.replace(snapshot, resource_types=wanted.types)
    report = headroom_report(columns_of(snapshot), wanted, question)
    return Answer(
        lambda: headroom_page(report, wanted.types, asked),
        lambda: versioned("HeadroomReport", report, wanted.types),
        report.fits,
        shortened=lambda: headroom_page(report, wanted.types, asked, shortened=True),
    )


def headroom_report(columns: Columns, wanted: Wanted, question: HeadroomQuestion) -> HeadroomReport:
    """Return every number of the answer."""
    snapshot = columns.snapshot
    placement = question.placement or rules_for(snapshot.policy, snapshot.resource_types).placement
    found = count_more(columns, wanted.batches, placement=placement, steps=listener())
    return HeadroomReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        placement=placement,
        workloads=tuple(
            _workload(columns, batch, each) for batch, each in zip(wanted.batches, found, strict=True)
        ),
        sets=_sets(columns, wanted, placement) if question.together else None,
        not_simulated=(*_not_simulated(snapshot, wanted, question), *wanted.notes, *snapshot.unknowns),
    )


def _workload(columns: Columns, batch: Batch, found: Headroom) -> WorkloadHeadroom:
    return WorkloadHeadroom(
        workload=batch.key,
        kind=batch.workload.kind,
        requests=columns.taken(batch.workload),
        more=found.replicas,
        bounded=found.bounded,
        nodes=tuple(NodeCount(node, count) for node, count in found.nodes),
        reasons=found.reasons,
        refusal=found.refusal,
    )


def _sets(columns: Columns, wanted: Wanted, placement: str) -> SetHeadroom:
    found = headroom_of_sets(columns, wanted.batches, placement=placement)
    replicas = {batch.key: batch.replicas for batch in wanted.batches}
    return SetHeadroom(replicas, found.sets, found.bounded, *found.missing)


def _not_simulated(snapshot: Snapshot, wanted: Wanted, question: HeadroomQuestion) -> tuple[str, ...]:
    namespaces = {batch.workload.namespace for batch in wanted.batches}
    asked = [batch.workload.constraints for batch in wanted.batches]
    gated = any(each.scheduling_gates for each in asked)
    claiming = any(each.resource_claims for each in asked)
    bound = question.together or any(each.affinity or each.topology_spread for each in asked)
    return (
        "eviction of others, where priority would allow it",
        *(["scheduling gates: counted as if they were removed"] if gated else []),
        *(["devices by resource claims: counted as if nobody asked for them"] if claiming else []),
        *(
            ["other orders of placing, which may hold more where rules or several sizes bind"]
            if bound
            else []
        ),
        *BeforePlacement(snapshot).notes(sorted(namespaces)),
    )
