"""Does it fit: which workloads have a place and where; for the others why not, and what would help."""

from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.placement.before import BeforePlacement
from ullage.engine.placement.bench import Bench
from ullage.engine.placement.fit import FitAnswer
from ullage.engine.placement.fit import fit as place
from ullage.engine.placement.outcome import Outcome
from ullage.engine.quota.book import NO_QUOTA, QUEUE_LABEL, Book
from ullage.engine.quota.judging import is_under_quota
from ullage.engine.quota.run_time import RunTime
from ullage.model.cluster import Snapshot
from ullage.model.constraints import Record
from ullage.model.errors import InputError
from ullage.model.plan import Plan, Refusal
from ullage.model.policy import Layer
from ullage.model.resources import GPU_MILLI, NOTHING, Resources
from ullage.model.settings import rules_for
from ullage.model.verdict import Verdict
from ullage.service.answer import Answer, versioned
from ullage.service.asked import Asked, check_namespace, placed_within, read_everybody
from ullage.service.fit_payers import QuotaPays, payers_of
from ullage.service.held import bench_of
from ullage.service.progress import listener
from ullage.service.wanted import Choice, Wanted, with_objects
from ullage.service.words import plural

EXACT_SECONDS: Final = 2
"""How long an exact search may take for each part that is refused at first."""


class Commit(NamedTuple):
    """That an answer is to be held in the ledger: for how long, and under which key it is asked for.

    One that `extends` holds what is held already for as long too. With `waits`, what does not fit stands in
    line and is held when there is room.
    """

    hold_seconds: int
    key: str = ""
    extends: bool = False
    waits: bool = False


class FitQuestion(NamedTuple):
    """What is asked for: files of workloads or one shape, how many of each, and whether all or none.

    `placement` overrides how the policy chooses nodes, `run_min_seconds` how long everybody runs before it
    may be evicted; a `seed` decides ties by chance instead of by name. With a `commit`, what fits is held.
    """

    paths: tuple[str, ...] = ()
    shape: str = ""
    replicas: int | None = None
    atomic: bool = False
    pod_template: str = ""
    placement: str = ""
    seed: int | None = None
    exact_seconds: int = EXACT_SECONDS
    run_min_seconds: int | None = None
    commit: Commit | None = None


NO_QUESTION: Final = FitQuestion()


class NodeCount(Record, frozen=True):
    """How many replicas go to a node."""

    node: str
    replicas: int


class Eviction(Record, frozen=True):
    """A running workload that is evicted for another: where it runs, in which quota, and what it frees.

    Its `gang` is named where all of it goes; `breaks` are the disruption budgets that do not let it go now.
    """

    workload: str
    node: str
    quota: str
    label: str
    requests: Resources
    gang: str = ""
    breaks: tuple[str, ...] = ()


class SparedWorkload(Record, frozen=True):
    """A running workload that would be evicted if it had run for the minimum: it may in `left_seconds`."""

    workload: str
    node: str
    quota: str
    left_seconds: int


class WaitedFor(Record, frozen=True):
    """A workload on its way out, whose place or share another takes once it is gone."""

    workload: str
    node: str
    quota: str
    requests: Resources


class LaterClaim(Record, frozen=True):
    """A quota, or several together, that could evict what was placed, and how much they may claim at most."""

    claimants: tuple[str, ...]
    could_claim: Resources


class ServedVolume(Record, frozen=True):
    """A volume of a replica and the local disk that serves it; `fresh` where a drive is opened for it."""

    volume: str
    node: str
    place: str
    storage_class: str
    size_bytes: int
    fresh: bool


class OutcomeReport(Record, frozen=True):
    """What became of one workload; `verdict` holds the terms of the first node that takes it.

    Where it is refused, they are those of the node that comes nearest. `held` is what a workload that is
    resized has already. `certificate` says whether it was placed by scores or by exact search, or whether
    its refusal is proven. `evicted` are those that go for it, in `evicting_turns` where replicas claim one
    after the other (0: all at once), `fewest_proven` if in no turn there is a better set of
    them, and fewer than `evicted_min` never do; `over_quota` of those placed are above their quota's min, as
    are `pushed` who run and are not now. Those of `later_claims` may evict what is placed, whatever its
    label, once it has run for `spared_for_seconds`.
    `spared` would have gone if they had run for longer; it runs once those it `waits_for` are gone. `disks`
    are the local disks that serve its volumes.
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
    evicting_turns: int = 0
    evicted_min: int = 0
    over_quota: int = 0
    pushed: tuple[str, ...] = ()
    spared_for_seconds: int = 0
    later_claims: tuple[LaterClaim, ...] = ()
    later_claims_complete: bool = True
    spared: tuple[SparedWorkload, ...] = ()
    waits_for: tuple[WaitedFor, ...] = ()
    disks: tuple[ServedVolume, ...] = ()


class FitReport(Record, frozen=True):
    """The answer to `ullage fit`.

    `queues_missing` are those that workloads name and the cluster does not have among its queues,
    `queues_unseen` those that they name where the source knows no queues at all. `payers` are the quotas that
    count what is asked for, with what they use before and after.
    """

    cluster: str
    revision: int
    policy: str
    fits: bool
    atomic: bool
    outcomes: tuple[OutcomeReport, ...]
    plan: Plan
    not_simulated: tuple[str, ...]
    queues_missing: tuple[str, ...] = ()
    queues_unseen: tuple[str, ...] = ()
    payers: tuple[QuotaPays, ...] = ()


def fit(asked: Asked, question: FitQuestion) -> Answer:
    """Answer whether workloads fit into a cluster."""
    choice = Choice(question.paths, question.shape, question.replicas, question.pod_template)
    choice.check(standard_input=(asked.cluster,))
    if question.commit is not None:
        from ullage.service.fit_commit import fit_and_commit

        return fit_and_commit(asked, question, question.commit)
    snapshot = read_everybody(asked)
    waits = not question.paths and not question.shape
    if waits:
        check_namespace(snapshot, asked.namespace)
    wanted = choice.wanted(snapshot, asked.namespace)
    if waits and not wanted.batches:
        return nothing_waits(snapshot, asked)
    batches = placed_within(snapshot, asked.selector, wanted.batches)
    wanted = wanted._replace(batches=batches, atomic=wanted.atomic or question.atomic)
    return fit_of(snapshot, wanted, asked, question)


def nothing_waits(snapshot: Snapshot, asked: Asked) -> Answer:
    """Answer that there is nothing to judge, and how something is asked about."""
    from ullage.service.fit_page import empty_page

    types = snapshot.resource_types
    bench = bench_of(snapshot)
    report = fit_report(bench, place(bench.columns, (), bench=bench), Wanted((), atomic=False, types=types))
    return Answer(lambda: empty_page(report, types, asked), lambda: versioned("FitReport", report, types))


def fit_of(snapshot: Snapshot, wanted: Wanted, asked: Asked, question: FitQuestion = NO_QUESTION) -> Answer:
    """Answer whether workloads fit into a cluster; both were read already."""
    from ullage.service.fit_page import fit_page

    bench = bench_of(prepared(snapshot, wanted, question), snapshot)
    columns = bench.columns
    found = judged(bench, wanted, question)
    report = fit_report(bench, found, wanted)
    return Answer(
        lambda: fit_page(report, columns, asked),
        lambda: versioned("FitReport", report, wanted.types),
        found.fits,
        shortened=lambda: fit_page(report, columns, asked, shortened=True),
    )


def prepared(snapshot: Snapshot, wanted: Wanted, question: FitQuestion) -> Snapshot:
    """Return a cluster with what comes with the workloads, under the rules of the question."""
    if not wanted.batches:
        raise InputError("there is no workload in it", where="-f", remedy="name a file with a pod template")
    snapshot = with_objects(snapshot, wanted.objects)
    if wanted.types is not snapshot.resource_types:
        snapshot = msgspec.structs.replace(snapshot, resource_types=wanted.types)
    if question.run_min_seconds is not None:
        snapshot = with_run_min(snapshot, question.run_min_seconds)
    return snapshot


def judged(bench: Bench, wanted: Wanted, question: FitQuestion) -> FitAnswer:
    """Return what becomes of workloads in a cluster that was prepared for them."""
    return place(
        bench.columns,
        wanted.batches,
        atomic=wanted.atomic,
        placement=question.placement,
        seed=question.seed,
        exact_seconds=question.exact_seconds,
        bench=bench,
        steps=listener(),
    )


def with_run_min(snapshot: Snapshot, seconds: int) -> Snapshot:
    """Return the snapshot under another minimum run time."""
    layer = Layer("--run-min", cluster={"quota-run-min": str(seconds)})
    return msgspec.structs.replace(snapshot, policy=snapshot.policy.with_layer(layer))


def fit_report(bench: Bench, found: FitAnswer, wanted: Wanted) -> FitReport:
    """Return every number of an answer of the engine."""
    columns = bench.columns
    snapshot = columns.snapshot
    missing = _queues_missing(snapshot, wanted)
    has_queues = any(quota.queues for quota in snapshot.quotas)
    return FitReport(
        cluster=snapshot.name,
        revision=snapshot.revision,
        policy=snapshot.policy.name,
        fits=found.fits,
        atomic=wanted.atomic,
        outcomes=tuple(_outcome(each, columns) for each in found.outcomes),
        plan=found.plan,
        not_simulated=tuple(
            dict.fromkeys((*_not_simulated(snapshot, bench.book, wanted), *wanted.notes, *snapshot.unknowns))
        ),
        queues_missing=missing if has_queues else (),
        queues_unseen=() if has_queues else missing,
        payers=payers_of(bench, found.outcomes, wanted.batches),
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
        evicting_turns=outcome.evicting_turns,
        evicted_min=outcome.evicted_min,
        over_quota=outcome.over_quota,
        pushed=outcome.pushed,
        spared_for_seconds=_least_seconds(columns.snapshot) if outcome.threats else 0,
        later_claims=tuple(LaterClaim(*each) for each in outcome.threats),
        later_claims_complete=outcome.threats_complete,
        spared=tuple(SparedWorkload(*each) for each in outcome.spared),
        waits_for=tuple(WaitedFor(*each) for each in outcome.waits_for),
        disks=tuple(ServedVolume(*each) for each in outcome.disks),
    )


def _least_seconds(snapshot: Snapshot) -> int:
    """Return how long what starts now is spared, where it is known when that is."""
    run_time = RunTime(
        rules_for(snapshot.policy, snapshot.resource_types).quota_run_min_seconds, snapshot.taken_seconds
    )
    return run_time.least_seconds if run_time.is_known else 0


def _not_simulated(snapshot: Snapshot, book: Book, wanted: Wanted) -> tuple[str, ...]:
    """Return what this answer leaves aside, each with how much of it is concerned here."""
    namespaces = {batch.workload.namespace for batch in wanted.batches}
    places = [book.place_of(batch.workload.namespace, batch.workload.labels) for batch in wanted.batches]
    outside = [batch for batch, place in zip(wanted.batches, places, strict=True) if place == NO_QUOTA]
    return (
        *_devices_assumed(snapshot, wanted),
        *(["eviction of others, where priority would allow it"] if outside else []),
        *_run_time_open(snapshot, book, wanted),
        *BeforePlacement(snapshot).notes(sorted(namespaces)),
    )


def _queues_missing(snapshot: Snapshot, wanted: Wanted) -> tuple[str, ...]:
    """Return the queues of Kueue that workloads name and that no quota stands behind, by name."""
    known = {queue for quota in snapshot.quotas for queue in quota.queues}
    named = {
        f"{workload.namespace}/{queue}"
        for workload in (batch.workload for batch in wanted.batches)
        if (queue := workload.labels.get(QUEUE_LABEL)) and not workload.node and not workload.admitted
    }
    return tuple(sorted(named - known))


def _run_time_open(snapshot: Snapshot, book: Book, wanted: Wanted) -> tuple[str, ...]:
    """Return what is not known about who has run for the minimum, where that could protect somebody."""
    least = rules_for(snapshot.policy, snapshot.resource_types).quota_run_min_seconds
    if not least or not is_under_quota(book, wanted.batches):
        return ()
    if snapshot.taken_seconds is None:
        return (f"who ran for less than {least} s: the source does not say when it was taken",)
    run_time = RunTime(least, snapshot.taken_seconds)
    unknown = sum(run_time.is_open(each) for each in snapshot.workloads if each.holds_capacity)
    line = f"who ran for less than {least} s: for {plural(unknown, 'workload')} the start is not known"
    return (line,) if unknown else ()


def _devices_assumed(snapshot: Snapshot, wanted: Wanted) -> tuple[str, ...]:
    """Return what is assumed about shares that run already, where someone asks for one."""
    if not any(batch.workload.requests.of(GPU_MILLI) for batch in wanted.batches):
        return ()
    sharing = sum(each.holds_capacity and bool(each.requests.of(GPU_MILLI)) for each in snapshot.workloads)
    line = "on which devices running shares lie: the source does not say, best fit is assumed"
    return (f"{line} ({plural(sharing, 'workload')} concerned)",) if sharing else ()
