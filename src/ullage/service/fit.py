"""Does it fit: which workloads have a place and where; for the others why not, and what would help."""

from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.before import BeforePlacement
from ullage.engine.placement.fit import FitAnswer
from ullage.engine.placement.fit import fit as place
from ullage.engine.placement.outcome import Outcome
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.plan import Plan, Refusal
from ullage.model.resources import GPU_MILLI, NOTHING, Resources
from ullage.model.verdict import Verdict
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, read_cluster
from ullage.service.wanted import Choice, Wanted, with_objects
from ullage.service.words import plural

EXACT_SECONDS: Final = 2
"""How long an exact search may take for each part that is refused at first."""


class FitQuestion(NamedTuple):
    """What is asked for: files of workloads or one shape, how many of each, and whether all or none.

    `placement` overrides how the policy chooses nodes; a `seed` decides ties by chance instead of by name.
    """

    paths: tuple[str, ...] = ()
    shape: str = ""
    replicas: int | None = None
    atomic: bool = False
    pod_template: str = ""
    placement: str = ""
    seed: int | None = None
    exact_seconds: int = EXACT_SECONDS


NO_QUESTION: Final = FitQuestion()


class NodeCount(Record, frozen=True):
    """How many replicas go to a node."""

    node: str
    replicas: int


class Eviction(Record, frozen=True):
    """A running workload that is evicted for another: where it runs, in which quota, and what it frees."""

    workload: str
    node: str
    quota: str
    label: str
    requests: Resources


class LaterClaim(Record, frozen=True):
    """A quota that could evict what borrows, up to what it leaves unused of its min."""

    quota: str
    could_claim: Resources


class OutcomeReport(Record, frozen=True):
    """What became of one workload; `verdict` holds the terms of the first node that takes it.

    Where it is refused, they are those of the node that comes nearest. `held` is what a workload that is
    resized has already. `certificate` says whether it was placed by scores or by exact search, or whether
    its refusal is proven. `evicted` are those that go for it, `fewest_proven` if there is no better set of
    them; `over_quota` of those placed are above their quota's min and may be evicted by `later_claims`.
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
    certificate: str
    certificate_note: str = ""
    evicted: tuple[Eviction, ...] = ()
    fewest_proven: bool = True
    over_quota: int = 0
    later_claims: tuple[LaterClaim, ...] = ()


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
    choice = Choice(question.paths, question.shape, question.replicas, question.pod_template)
    choice.check(standard_input=(asked.cluster,))
    snapshot = read_cluster(asked)
    waits = not question.paths and not question.shape
    if waits:
        check_namespace(snapshot, asked.namespace)
    wanted = choice.wanted(snapshot, asked.namespace)
    if waits and not wanted.batches:
        return _nothing_waits(snapshot, asked)
    return fit_of(snapshot, wanted._replace(atomic=wanted.atomic or question.atomic), asked, question)


def _nothing_waits(snapshot: Snapshot, asked: Asked) -> Answer:
    """Answer that there is nothing to judge, and how something is asked about."""
    from ullage.service.fit_page import empty_page

    types = snapshot.resource_types
    columns = Columns(snapshot)
    report = fit_report(columns, place(columns, ()), Wanted((), atomic=False, types=types))
    return Answer(lambda: empty_page(report, types, asked), lambda: versioned("FitReport", report, types))


def fit_of(snapshot: Snapshot, wanted: Wanted, asked: Asked, question: FitQuestion = NO_QUESTION) -> Answer:
    """Answer whether workloads fit into a cluster; both were read already."""
    from ullage.service.fit_page import fit_page

    if not wanted.batches:
        raise InputError("there is no workload in it", where="-f", remedy="name a file with a pod template")
    snapshot = msgspec.structs.replace(with_objects(snapshot, wanted.objects), resource_types=wanted.types)
    columns = Columns(snapshot)
    found = place(
        columns,
        wanted.batches,
        atomic=wanted.atomic,
        placement=question.placement,
        seed=question.seed,
        exact_seconds=question.exact_seconds,
    )
    report = fit_report(columns, found, wanted)
    return Answer(
        lambda: fit_page(report, columns, asked),
        lambda: versioned("FitReport", report, wanted.types),
        found.fits,
        shortened=lambda: fit_page(report, columns, asked, shortened=True),
    )


def fit_report(columns: Columns, found: FitAnswer, wanted: Wanted) -> FitReport:
    """Return every number of an answer of the engine."""
    snapshot = columns.snapshot
    return FitReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        fits=found.fits,
        atomic=wanted.atomic,
        outcomes=tuple(_outcome(each, columns) for each in found.outcomes),
        plan=found.plan,
        not_simulated=(*_not_simulated(snapshot, wanted), *wanted.notes, *snapshot.unknowns),
    )


def _outcome(outcome: Outcome, columns: Columns) -> OutcomeReport:
    running = columns.snapshot.workloads.get(outcome.subject) if outcome.action == "resize" else None
    return OutcomeReport(
        workload=outcome.subject,
        kind=outcome.kind,
        action=outcome.action,
        state=outcome.state,
        replicas=outcome.replicas,
        placed=outcome.placed,
        requests=outcome.requests,
        held=columns.taken(running) if running else NOTHING,
        nodes=tuple(NodeCount(node, count) for node, count in outcome.nodes),
        verdict=outcome.verdict,
        refusal=outcome.refusal,
        certificate=outcome.certificate,
        certificate_note=outcome.certificate_note,
        evicted=tuple(Eviction(*each) for each in outcome.evicted),
        fewest_proven=outcome.fewest_proven,
        over_quota=outcome.over_quota,
        later_claims=tuple(LaterClaim(*each) for each in outcome.threats),
    )


def _not_simulated(snapshot: Snapshot, wanted: Wanted) -> tuple[str, ...]:
    """Return what this answer leaves aside, each with how much of it is concerned here."""
    namespaces = {batch.workload.namespace for batch in wanted.batches}
    outside = namespaces.difference(*(quota.namespaces for quota in snapshot.quotas))
    return (
        *_devices_assumed(snapshot, wanted),
        *(["eviction of others, where priority would allow it"] if outside else []),
        *BeforePlacement(snapshot).notes(sorted(namespaces)),
    )


def _devices_assumed(snapshot: Snapshot, wanted: Wanted) -> tuple[str, ...]:
    """Return what is assumed about shares that run already, where someone asks for one."""
    if not any(batch.workload.requests.of(GPU_MILLI) for batch in wanted.batches):
        return ()
    sharing = sum(each.holds_capacity and bool(each.requests.of(GPU_MILLI)) for each in snapshot.workloads)
    line = "on which devices running shares lie: the source does not say, best fit is assumed"
    return (f"{line} ({plural(sharing, 'workload')} concerned)",) if sharing else ()
