"""A trace or a record played under the cluster's own quotas and under others: who won, and who lost.

Both are played by the same rules and counted until the same moment, so that they differ in nothing but the
policy and the quotas. Workloads are grouped by the quota they have now; where they have none, by the other.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ullage.engine.columns import Columns
from ullage.engine.quota.accounts import Accounts, counted_request
from ullage.engine.quota.arriving_gangs import as_gangs
from ullage.engine.quota.book import NO_QUOTA
from ullage.engine.quota.events import Arrival, CapacityChange, jobs_of, setting_of
from ullage.engine.quota.gpu_sizes import GpuSizes
from ullage.engine.quota.outcome import JobOutcome, Outcome
from ullage.engine.quota.recorded import capacity_changes, recorded
from ullage.engine.quota.replay import Replay
from ullage.engine.quota.replay_figures import Figures, figures_of, renamed, total_of
from ullage.engine.steps import Steps, part_of
from ullage.model.cluster import Quota, Snapshot
from ullage.model.errors import InputError
from ullage.model.policy import Layer
from ullage.model.resources import NOTHING
from ullage.model.table import Table
from ullage.service.answer import Answer
from ullage.service.asked import Asked, check_namespace, policy_for, read_as_it_is, read_types
from ullage.service.progress import listener

EVERY_SECONDS: Final = 300
UNDER_NO_QUOTA: Final = "no quota"
NOT_SIMULATED: Final = (
    "nodes: the cluster is one pool, so its room is never in pieces",
    "disruption budgets and other constraints",
    "checkpoints: who is evicted starts from its beginning",
)


class Choice(NamedTuple):
    """What is played (a trace, or snapshots in order), and what is other than now.

    Without a minimum run time, each policy has its own.
    """

    paths: tuple[str, ...] = ()
    quotas: str = ""
    quota_mode: str = ""
    run_min_seconds: int | None = None
    every_seconds: int = EVERY_SECONDS


class Recording(NamedTuple):
    """The cluster with its quotas, the snapshots of its record if there is one, and who comes."""

    snapshot: Snapshot
    snapshots: tuple[Snapshot, ...]
    arrivals: tuple[Arrival, ...]
    end_seconds: int
    notes: tuple[str, ...]


class Played(NamedTuple):
    """A recording under one policy: its figures by group, and what came of every workload."""

    name: str
    accounts: Accounts
    outcome: Outcome
    figures: Mapping[str, Figures]
    total: Figures


class Comparison(NamedTuple):
    """What is shown: the recording as it is, and under another policy if one was named."""

    recording: Recording
    own: Played
    other: Played | None
    capacity: Mapping[str, int]
    resources: tuple[str, ...]

    def moved(self) -> list[tuple[JobOutcome, JobOutcome]]:
        """Return the workloads whose delay differs, by how much, then by name."""
        if self.other is None:
            return []
        pairs = zip(self.own.outcome.jobs, self.other.outcome.jobs, strict=True)
        found = [(one, two) for one, two in pairs if one.delay_seconds != two.delay_seconds]
        return sorted(
            found, key=lambda pair: (-abs(pair[1].delay_seconds - pair[0].delay_seconds), pair[0].key)
        )


def quota_replay(asked: Asked, choice: Choice) -> Answer:
    """Answer what a trace or a record would have come to under other quotas."""
    from ullage.service.quota_replay_page import quota_replay_page
    from ullage.service.quota_replay_report import quota_replay_data

    recording = _recording(asked, choice)
    check_namespace(recording.snapshot, asked.namespace)
    found = compared(recording, asked, choice)
    types = recording.snapshot.resource_types
    return Answer(
        lambda: quota_replay_page(found, types, asked),
        lambda: quota_replay_data(found, types),
        shortened=lambda: quota_replay_page(found, types, asked, shortened=True),
    )


def compared(recording: Recording, asked: Asked, choice: Choice) -> Comparison:
    """Play a recording as it is and, where something else is named, under that."""
    other = _other(recording.snapshot, asked, choice)
    if not recording.snapshot.quotas and (other is None or not other.quotas):
        raise InputError(
            f"{recording.snapshot.name or 'the cluster'} has no quotas", remedy="name some with --quotas FILE"
        )
    plays = [
        (snapshot, _accounts(recording, snapshot))
        for snapshot in (recording.snapshot, *([other] if other is not None else []))
    ]
    replays = [
        _replay(recording, accounts, choice, part_of(listener(), number, len(plays)))
        for number, (_, accounts) in enumerate(plays)
    ]
    end = max([recording.end_seconds, *(replay.now_seconds for replay in replays)])
    groups = _groups(recording, [accounts[0] for _, accounts in plays])
    names = sorted({name for _, accounts in plays for name in accounts[0].book.resources})
    counts = _counts(recording, names)
    played = []
    for (snapshot, accounts), replay in zip(plays, replays, strict=True):
        outcome = replay.outcome(end)
        book = accounts[0].book
        figures = figures_of(outcome, book, groups, counts, renamed(plays[0][1][0].book, book))
        total = total_of(figures.values())
        played.append(Played(_title(snapshot, recording, choice), accounts[0], outcome, figures, total))
    return Comparison(
        recording,
        played[0],
        played[1] if len(played) > 1 else None,
        _capacity_seconds(plays[0][1], choice.every_seconds, end),
        tuple(names),
    )


def _recording(asked: Asked, choice: Choice) -> Recording:
    from ullage.sources.traces import trace_of

    own = msgspec.structs.replace(asked, policy="")
    if not choice.paths:
        raise InputError(
            "nothing to play", remedy="name a trace, or snapshots in order: ullage quota replay FILE..."
        )
    types = read_types(asked.types)
    trace = trace_of(choice.paths[0], types)
    if trace is None:
        return _record(own, choice)
    if len(choice.paths) > 1:
        raise InputError("more than one trace", remedy="join them, or name snapshots only")
    snapshot = read_as_it_is(own)
    notes = [*trace.notes]
    if len(snapshot.workloads):
        notes.append(
            f"{len(snapshot.workloads)} workloads that the cluster has now: the trace finds it empty"
        )
    return Recording(_emptied(snapshot), (), _gangs(trace.arrivals, notes), 0, tuple(notes))


def _record(own: Asked, choice: Choice) -> Recording:
    from ullage.sources.given import is_there
    from ullage.sources.traces import record_files

    paths = record_files(choice.paths)
    if own.cluster:
        path = choice.paths[0]
        problem = "is no trace" if is_there(path) else "cannot be read: no such file or directory"
        remedy = "with -c name a trace; a record of snapshots goes without -c: its first is the cluster"
        raise InputError(problem, where=path, remedy=remedy)
    snapshots = tuple(read_as_it_is(msgspec.structs.replace(own, cluster=path)) for path in paths)
    first = snapshots[0]
    notes = [f"what happened between snapshots, which are taken as {choice.every_seconds} s apart"]
    if any(each.quotas != first.quotas for each in snapshots):
        notes.append("quotas that changed in the record: those of the first snapshot are played")
    arrivals = _gangs(recorded(snapshots, choice.every_seconds), notes)
    end = len(snapshots) * choice.every_seconds
    return Recording(_emptied(first), snapshots, arrivals, end, tuple(notes))


def _gangs(arrivals: Sequence[Arrival], notes: list[str]) -> tuple[Arrival, ...]:
    """Return arrivals with gangs as one each; what is not played of them is told."""
    if any(each.workload.gang_min for each in arrivals):
        notes.append("gangs of which a part is enough: all that come together start together")
    return tuple(as_gangs(arrivals))


def _emptied(snapshot: Snapshot) -> Snapshot:
    return msgspec.structs.replace(snapshot, workloads=Table())


def _other(snapshot: Snapshot, asked: Asked, choice: Choice) -> Snapshot | None:
    """Return the cluster under what is named; None where nothing is."""
    if not asked.policy and not choice.quotas and not choice.quota_mode:
        return None
    policy = policy_for(asked.policy, snapshot, "") if asked.policy else snapshot.policy
    if choice.quota_mode:
        policy = policy.with_layer(Layer("--quota-mode", cluster={"quota-mode": choice.quota_mode}))
    quotas = _quotas(choice.quotas, snapshot) if choice.quotas else snapshot.quotas
    return msgspec.structs.replace(snapshot, policy=policy, quotas=quotas)


def _quotas(path: str, snapshot: Snapshot) -> Table[Quota]:
    """Return the quotas of a file: objects, or those of a cluster that it holds."""
    from ullage.sources.documents import read_documents
    from ullage.sources.opening import Options, open_source
    from ullage.sources.quota_documents import is_quota_document, with_quotas

    documents = list(read_documents(path))
    if documents and all(map(is_quota_document, documents)):
        found = with_quotas(msgspec.structs.replace(snapshot, quotas=Table()), documents).quotas
    else:
        found = open_source(path, options=Options(types=snapshot.resource_types)).read().quotas
    if not found:
        raise InputError("no quotas", where=path, remedy="name a file with quotas")
    return found


def _accounts(recording: Recording, snapshot: Snapshot) -> list[Accounts]:
    """Return the accounts of the empty cluster first, then those of each snapshot, under one policy."""
    under = [
        msgspec.structs.replace(each, policy=snapshot.policy, quotas=snapshot.quotas)
        for each in recording.snapshots
    ]
    return [Accounts(Columns(each)) for each in (snapshot, *under)]


def _changes(accounts: Sequence[Accounts], every_seconds: int) -> list[CapacityChange]:
    return capacity_changes(accounts[1:] or accounts, every_seconds)


def _replay(
    recording: Recording, accounts: Sequence[Accounts], choice: Choice, steps: Steps | None
) -> Replay:
    changes = _changes(accounts, choice.every_seconds)
    setting = setting_of(accounts[0])._replace(capacity=changes[0].capacity)
    jobs = jobs_of(accounts[0], recording.arrivals)
    run_min = choice.run_min_seconds
    if run_min is None:
        run_min = accounts[0].run_time.least_seconds
    replay = Replay(setting, jobs, changes=changes[1:], run_min_seconds=run_min)
    replay.run(steps)
    return replay


def _capacity_seconds(accounts: Sequence[Accounts], every_seconds: int, end_seconds: int) -> dict[str, int]:
    """Return the resource-seconds that the cluster offered."""
    changes = _changes(accounts, every_seconds)
    ends = [*(change.at_seconds for change in changes[1:]), end_seconds]
    found: dict[str, int] = {}
    for change, until in zip(changes, ends, strict=True):
        for name, amount in change.capacity.items():
            found[name] = found.get(name, 0) + amount * max(0, until - change.at_seconds)
    return found


def _groups(recording: Recording, accounts: Sequence[Accounts]) -> dict[str, str]:
    """Return the group of every workload: the name of its quota now, else of its quota then."""
    found: dict[str, str] = {}
    for arrival in recording.arrivals:
        name = UNDER_NO_QUOTA
        for each in accounts:
            place = each.book.place_of(arrival.workload.namespace, arrival.workload.labels)
            if place != NO_QUOTA:
                name = each.book.quotas[place].name
                break
        found[arrival.key] = name
    return found


def _counts(recording: Recording, names: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return what every workload counts of the resources that are shown."""
    gigabytes = GpuSizes(recording.snapshot).waiting
    found: dict[str, dict[str, int]] = {}
    for arrival in recording.arrivals:
        total = NOTHING
        for workload, count in arrival.parts:
            total += counted_request(workload, gigabytes) * count
        found[arrival.key] = {name: total.of(name) for name in names if total.of(name)}
    return found


def _title(snapshot: Snapshot, recording: Recording, choice: Choice) -> str:
    """Return what a replay is called: its policy, and what else it has of its own."""
    parts = [snapshot.policy.name]
    if snapshot is not recording.snapshot:
        parts += [f"quotas of {choice.quotas}"] if choice.quotas else []
        parts += [f"quota-mode {choice.quota_mode}"] if choice.quota_mode else []
    return ", ".join(parts)
