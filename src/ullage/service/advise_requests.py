"""Right-sized requests: what workloads should ask for by what they used, and what following that comes to."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from ullage.engine.usage.advice import WorkloadAdvice, advise, needed, saving_of
from ullage.engine.usage.evidence import Evidence, Listed
from ullage.engine.usage.owners import Owner, names_of, owner_of
from ullage.engine.usage.requests import ContainerAdvice, Rules, Sized
from ullage.engine.usage.requests_applied import Applied, Room, applied
from ullage.engine.usage.requests_patch import after_patch, patch_of, removes_limits, why_no_patch
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.resources import Amount, Resources, ResourceTypes
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, read_cluster, unknown
from ullage.service.held import columns_of
from ullage.service.observed import read_needed_usage
from ullage.service.progress import listener
from ullage.service.wanted import PODS, wanted_shape
from ullage.service.words import canonical_map

DEFAULT_SHAPE: Final = "cpu=1,memory=4Gi"
NOT_SIMULATED: Final = (
    "use that changes with the request: runtimes size their heaps and threads by it",
    "room for the pods that a roll-out starts before it ends the old ones",
)
REMOVES: Final = (
    "limits are removed by null, which `kubectl patch` understands and `kubectl apply` does not: "
    "patch each object with --patch-file"
)


class RequestsQuestion(NamedTuple):
    """How advice is made; percentages are numbers of 100. `workloads` are named KIND/NAME, none for all."""

    usage: str = ""
    cpu_percentile: Fraction = Fraction(95)
    memory_margin: Fraction = Fraction(15)
    days_min: Fraction = Fraction(7)
    saving_min: Fraction = Fraction(10)
    removes_cpu_limits: bool = False
    only_growth: bool = False
    workloads: tuple[str, ...] = ()
    shape: str = DEFAULT_SHAPE
    patches: bool = False

    def rules(self) -> Rules:
        """Return the same as the engine takes it."""
        return Rules(
            self.cpu_percentile,
            self.memory_margin / 100,
            self.days_min,
            self.saving_min / 100,
            removes_cpu_limits=self.removes_cpu_limits,
            only_growth=self.only_growth,
        )


def question_of(wanted: Mapping[str, Any]) -> RequestsQuestion:
    """Return a question of its options; numbers are as exact as they are written."""
    numbers = ("cpu_percentile", "memory_margin", "days_min", "saving_min")
    exact: dict[str, Any] = {name: Fraction(str(wanted[name])) for name in numbers}
    rest = {name: value for name, value in wanted.items() if name not in {*numbers, "cpu_limits"}}
    return RequestsQuestion(**rest, **exact, removes_cpu_limits=wanted["cpu_limits"] == "remove")


class EvidenceStatus(Record, frozen=True):
    """What advice rests on; `percentile` is the chosen one of the replica that needs most.

    `max` includes peaks that the source noted; `step_seconds` is how far points are apart on the whole;
    `growth_a_day` is by how much the logarithm of the daily peaks of memory rises, 0 where it does not.
    """

    replicas: int
    points: int
    dropped_points: int
    window_seconds: int
    step_seconds: int
    confidence: Fraction
    mean: Amount
    percentile: Amount
    max: Amount
    sees_peaks: bool
    sees_starts: bool
    growth_a_day: float


class SizedStatus(Record, frozen=True):
    """What is advised for one resource: grow, shrink, limit (that alone changes) or keep, and why."""

    resource: str
    verdict: str
    request: Amount
    limit: Amount | None
    advised_request: Amount
    advised_limit: Amount | None
    evidence: EvidenceStatus
    reasons: tuple[str, ...]


class ContainerStatus(Record, frozen=True):
    """A container of a workload."""

    container: str
    role: str
    resources: tuple[SizedStatus, ...]


class WorkloadStatus(Record, frozen=True):
    """What is advised for a workload; `freed` is what all its pods give back, `grown` what they need more.

    `patch` is what kubectl takes; where there is none although something changes, `no_patch` says why.
    """

    workload: str
    namespace: str
    kind: str
    name: str
    pods: int
    changes: bool
    skipped: str
    notes: tuple[str, ...]
    freed: Resources
    grown: Resources
    containers: tuple[ContainerStatus, ...]
    patch: Mapping[str, Any] | None = None
    no_patch: str = ""


class RoomStatus(Record, frozen=True):
    """What is free and can still be promised, how many more of a shape fit, and how many of those waiting."""

    free: Resources
    ullage: Resources
    more: int
    waiting_placed: int


class MoveStatus(Record, frozen=True):
    """A pod that outgrows its node; without `to_node` it has no place, for a reason."""

    workload: str
    from_node: str
    to_node: str = ""
    reason: str = ""


class RequestsReport(Record, frozen=True):
    """The answer to `ullage advise requests`: advice, the saving, and the room when it was followed."""

    cluster: str
    revision: int
    policy: str
    cpu_percentile: Fraction
    memory_margin: Fraction
    days_min: Fraction
    fits: bool
    freed: Resources
    grown: Resources
    shape: Resources
    waiting: int
    before: RoomStatus
    after: RoomStatus
    outgrown: tuple[MoveStatus, ...]
    workloads: tuple[WorkloadStatus, ...]
    not_simulated: tuple[str, ...]


def advise_requests(asked: Asked, question: RequestsQuestion) -> Answer:
    """Answer what workloads should ask for."""
    from ullage.service.advise_requests_page import requests_page

    rules = question.rules()
    snapshot = read_cluster(asked)
    check_namespace(snapshot, asked.namespace)
    wanted = tuple(each.lower() for each in question.workloads)

    def streams(listed: Listed) -> set[int]:
        return needed(snapshot, listed, asked.namespace, wanted)

    book = read_needed_usage(question.usage, asked, snapshot, streams)
    advice = advise(snapshot, book, rules, asked.namespace, wanted, steps=listener())
    _check_found(wanted, advice, snapshot, asked)
    types = snapshot.resource_types
    report = requests_report(snapshot, advice, question)
    patches = [dict(each.patch) for each in report.workloads if each.patch is not None]
    if question.patches:
        return Answer(
            lambda: requests_page(report, types, asked, question),
            lambda: patches,
            is_document=True,
            is_stream=True,
            document_format="yaml",
            is_list=True,
            notes=(*_unpatched(report), *([REMOVES] if removes_limits(patches) else [])),
        )
    return Answer(
        lambda: requests_page(report, types, asked, question),
        lambda: versioned("RequestsReport", report, types),
        report.fits,
        shortened=lambda: requests_page(report, types, asked, question, shortened=True),
    )


def _check_found(
    wanted: Sequence[str], advice: Sequence[WorkloadAdvice], snapshot: Snapshot, asked: Asked
) -> None:
    known = {name for each in advice for name in names_of(each.crew.owner)}
    for name in wanted:
        if name not in known:
            owners = {owner_of(each) for each in snapshot.workloads}
            near = {each.key for each in owners if not asked.namespace or each.namespace == asked.namespace}
            raise unknown("workload", name, near)


def _unpatched(report: RequestsReport) -> list[str]:
    found: dict[str, int] = {}
    for each in report.workloads:
        if each.no_patch:
            found[each.no_patch] = found.get(each.no_patch, 0) + 1
    return [f"{count} without a patch: {why}" for why, count in sorted(found.items())]


def requests_report(
    snapshot: Snapshot, advice: Sequence[WorkloadAdvice], question: RequestsQuestion
) -> RequestsReport:
    """Return every number of the answer."""
    types = snapshot.resource_types
    pods = any(PODS in node.capacity for node in snapshot.nodes)
    (shape,) = wanted_shape(question.shape, types, pods=pods).batches
    result = applied(columns_of(snapshot), advice, shape)
    freed, grown = saving_of(advice)
    return RequestsReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        cpu_percentile=question.cpu_percentile,
        memory_margin=question.memory_margin,
        days_min=question.days_min,
        fits=not result.homeless,
        freed=freed,
        grown=grown,
        shape=shape.workload.requests,
        waiting=result.waiting,
        before=_room(result.before),
        after=_room(result.after),
        outgrown=_outgrown(result),
        workloads=tuple(_workload(each, types) for each in advice),
        not_simulated=(*NOT_SIMULATED, *snapshot.unknowns),
    )


def shape_text(report: RequestsReport, types: ResourceTypes) -> str:
    """Return the shape in which room is counted, as it is written."""
    return canonical_map(types, report.shape.only(set(report.shape) - {PODS}))


def _room(room: Room) -> RoomStatus:
    return RoomStatus(room.summary.free, room.summary.ullage, room.more, room.waiting_placed)


def _outgrown(result: Applied) -> tuple[MoveStatus, ...]:
    return (
        *(MoveStatus(each.workload, each.node, reason=each.reason) for each in result.homeless),
        *(MoveStatus(*each) for each in result.moved),
    )


def _workload(advice: WorkloadAdvice, types: ResourceTypes) -> WorkloadStatus:
    owner: Owner = advice.crew.owner
    freed = advice.freed
    notes = advice.notes
    if advice.changes and after_patch(owner):
        notes = (*notes, after_patch(owner))
    return WorkloadStatus(
        workload=owner.subject,
        namespace=owner.namespace,
        kind=owner.kind,
        name=owner.name,
        pods=advice.pods,
        changes=advice.changes,
        skipped=advice.skipped,
        notes=notes,
        freed=freed.at_least_zero().without_zeros(),
        grown=(Resources() - freed).at_least_zero().without_zeros(),
        containers=tuple(_container(each) for each in advice.containers),
        patch=patch_of(advice, types),
        no_patch=why_no_patch(owner) if advice.changes else "",
    )


def _container(advice: ContainerAdvice) -> ContainerStatus:
    part = advice.container
    return ContainerStatus(part.name, part.role, tuple(_sized(each) for each in advice.sized))


def _sized(sized: Sized) -> SizedStatus:
    def amount(value: int | None) -> Amount | None:
        return None if value is None else Amount(sized.resource, value)

    return SizedStatus(
        sized.resource,
        sized.verdict,
        Amount(sized.resource, sized.request),
        amount(sized.limit),
        Amount(sized.resource, sized.advised_request),
        amount(sized.advised_limit),
        _evidence(sized.evidence, sized.resource),
        sized.reasons,
    )


def _evidence(seen: Evidence, resource: str) -> EvidenceStatus:
    return EvidenceStatus(
        seen.replicas,
        seen.points,
        seen.dropped,
        seen.window_seconds,
        seen.step_seconds,
        seen.confidence,
        Amount(resource, seen.mean),
        Amount(resource, seen.percentile),
        Amount(resource, seen.most),
        seen.sees_peaks,
        seen.sees_starts,
        seen.growth,
    )
